//! `.flags`: two bits per game, which control ChessBase's list of top games.
//! The file is optional.
//!
//! A header of 12 bytes, big-endian: `0f 01 0b 09`, capacity u32, bits per game
//! u32 (2). Then game *n* has bits 2*n* and 2*n* + 1, counted from the lowest
//! bit of the first byte. The lower bit means that it is a top game, the higher
//! bit that this has been decided.

use std::io;

use crate::bytes::{ByteReader, Malformed};
use crate::storage::{ReadBuffer, Storage};

const HEADER_BYTES: usize = 12;

/// An open `.flags` file.
#[derive(Debug)]
pub struct TopGames {
    storage: Box<dyn Storage>,
}

impl TopGames {
    /// Reads the header.
    pub fn open(storage: Box<dyn Storage>) -> io::Result<Result<TopGames, Malformed>> {
        let mut buffer = ReadBuffer::default();
        let header = storage.read_up_to(0, HEADER_BYTES, &mut buffer)?;
        let is_known = is_known(header);
        Ok(is_known.map(|()| TopGames { storage }))
    }

    /// Reports whether the file is shorter than its header claims.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(in crate::cbh) fn verify(&self, report: &mut dyn FnMut(u64, String)) -> io::Result<()> {
        let mut buffer = ReadBuffer::default();
        let mut reader = ByteReader::new(self.storage.read_up_to(4, 4, &mut buffer)?);
        let words = reader.u32_be().unwrap_or(0);
        let present = self.storage.len()?.saturating_sub(HEADER_BYTES as u64);
        if present < 4 * u64::from(words) {
            report(4, format!("{words} words claimed, {present} bytes found"));
        }
        Ok(())
    }

    /// Returns whether game `id` is a top game; false if the file does not
    /// contain it.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub fn is_top_game(&self, id: u32, buffer: &mut ReadBuffer) -> io::Result<bool> {
        Ok(self.bits(id, buffer)? & 1 != 0)
    }
}

impl TopGames {
    /// The two bits of game `id`; 0 if the file does not contain them.
    pub(in crate::cbh) fn bits(&self, id: u32, buffer: &mut ReadBuffer) -> io::Result<u8> {
        let bit = 2 * u64::from(id);
        let byte = self
            .storage
            .read_up_to(HEADER_BYTES as u64 + bit / 8, 1, buffer)?;
        Ok(byte.first().map_or(0, |byte| byte >> (bit % 8) & 0b11))
    }

    /// Sets the two bits of game `id` in a bit array.
    pub(in crate::cbh) fn put_bits(all: &mut Vec<u8>, id: u32, bits: u8) {
        let place = id as usize / 4;
        all.resize(all.len().max(place + 1), 0);
        if let Some(byte) = all.get_mut(place) {
            *byte |= bits << (2 * (id % 4));
        }
    }

    /// Returns a file with these bits, padded to 16 words.
    pub(in crate::cbh) fn file_of(mut bits: Vec<u8>) -> Vec<u8> {
        bits.resize(bits.len().next_multiple_of(64).max(64), 0);
        let words = u32::try_from(bits.len() / 4).unwrap_or(u32::MAX);
        let mut file = vec![0x0f, 0x01, 0x0b, 0x09];
        file.extend(words.to_be_bytes());
        file.extend(2_u32.to_be_bytes());
        file.append(&mut bits);
        file
    }

    /// Returns the offset of the byte for game `id`, and that byte with the
    /// bits of the game cleared, so that nothing is decided. `None` if they are
    /// clear already.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub fn without(&self, id: u32) -> io::Result<Option<(u64, u8)>> {
        let bit = 2 * u64::from(id);
        let offset = HEADER_BYTES as u64 + bit / 8;
        let mut buffer = ReadBuffer::default();
        let byte = self.storage.read_up_to(offset, 1, &mut buffer)?;
        let bits = 0b11 << (bit % 8);
        let set = byte.first().filter(|&byte| byte & bits != 0);
        Ok(set.map(|byte| (offset, byte & !bits)))
    }
}

fn is_known(header: &[u8]) -> Result<(), Malformed> {
    let mut reader = ByteReader::new(header);
    if reader.array()? != [0x0f, 0x01, 0x0b, 0x09] {
        return Err(Malformed::new(0, "an older format, which is not supported"));
    }
    reader.skip(4)?;
    match reader.u32_be()? {
        2 => Ok(()),
        bits => Err(Malformed::new(8, format!("{bits} bits per game, not 2"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    #[test]
    fn the_lower_bit_marks_a_top_game() {
        // Game 1 is a top game, game 2 is decided not to be one, game 4 is one.
        let mut bytes = vec![0x0f, 0x01, 0x0b, 0x09, 0, 0, 0, 16, 0, 0, 0, 2];
        bytes.extend([0b0010_1100, 0b0000_0011]);
        let storage = Box::new(MemoryFile::from(bytes.clone()));
        let top_games = TopGames::open(storage).unwrap().unwrap();
        let found: Vec<u32> = (1..1000)
            .filter(|&id| {
                top_games
                    .is_top_game(id, &mut ReadBuffer::default())
                    .unwrap()
            })
            .collect();
        assert_eq!(found, [1, 4]);
        let without = |id| top_games.without(id).unwrap();
        assert_eq!(without(1), Some((12, 0b0010_0000)));
        assert_eq!(without(2), Some((12, 0b0000_1100)));
        assert_eq!(without(4), Some((13, 0)));
        assert_eq!(
            (without(3), without(1000), without(u32::MAX)),
            (None, None, None)
        );
        let claims_more = |storage: MemoryFile| {
            let mut claims = Vec::new();
            let top_games = TopGames::open(Box::new(storage)).unwrap().unwrap();
            top_games
                .verify(&mut |at, what| claims.push((at, what)))
                .unwrap();
            claims
        };
        let what = "16 words claimed, 2 bytes found".to_owned();
        assert_eq!(claims_more(bytes.clone().into()), [(4, what)]);
        bytes.resize(12 + 64, 0);
        assert_eq!(claims_more(bytes.clone().into()), []);
        bytes[2] = 0x0a;
        let older = TopGames::open(Box::new(MemoryFile::from(bytes))).unwrap();
        assert!(older.is_err());
    }

    #[test]
    fn a_file_of_bits_has_whole_blocks_of_sixteen_words() {
        let mut bits = Vec::new();
        for (id, two) in [(1, 0b11), (2, 0b10), (259, 0b01)] {
            TopGames::put_bits(&mut bits, id, two);
        }
        assert_eq!(TopGames::file_of(bits.clone()).len(), 12 + 128);
        bits.truncate(64);
        let file = TopGames::file_of(bits);
        assert_eq!(
            file[..12],
            [0x0f, 0x01, 0x0b, 0x09, 0, 0, 0, 16, 0, 0, 0, 2]
        );
        assert_eq!(TopGames::file_of(Vec::new()).len(), file.len());
        let top_games = TopGames::open(Box::new(MemoryFile::from(file))).unwrap();
        let top_games = top_games.unwrap();
        let found = [0, 1, 2, 3, 255, 1000].map(|id| {
            let bits = top_games.bits(id, &mut ReadBuffer::default());
            bits.unwrap()
        });
        assert_eq!(found, [0, 0b11, 0b10, 0, 0, 0]);
    }
}
