//! The `.kin`: the first key of each block.

use std::io;

use super::key::{KEY_BYTES, KvetkaKey};
use crate::book::cache::PageCache;
use crate::storage::{ReadBuffer, Storage};

/// Maximum length of a file that is kept in memory: that of a book of 400 MB.
const KEPT_BYTES: u64 = 4 << 20;

/// Number of cached pieces of a longer file.
const PIECES: usize = 256;

/// Number of keys in a piece.
const PIECE_KEYS: u64 = 186;

const PIECE_BYTES: usize = 186 * KEY_BYTES;

/// The first keys of the blocks.
#[derive(Debug)]
pub(super) struct Kin {
    content: KinContent,
}

#[derive(Debug)]
enum KinContent {
    Kept(Vec<u8>),
    Read(Box<dyn Storage>, PageCache),
}

impl Kin {
    /// Opens a file of `len` bytes, and reads it into memory if it is short.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn open(file: Box<dyn Storage>, len: u64) -> io::Result<Kin> {
        let content = match usize::try_from(len) {
            Ok(bytes) if len <= KEPT_BYTES => {
                KinContent::Kept(file.read(0, bytes, &mut ReadBuffer::default())?.to_vec())
            }
            _ => KinContent::Read(file, PageCache::new(PIECES, PIECE_BYTES)),
        };
        Ok(Kin { content })
    }

    /// Returns the first key of a block; `None` beyond the end.
    pub(super) fn key(&self, block: u64) -> io::Result<Option<KvetkaKey>> {
        let key = |bytes: &[u8], number: u64| {
            let (keys, _) = bytes.as_chunks();
            keys.get(usize::try_from(number).ok()?).copied()
        };
        match &self.content {
            KinContent::Kept(bytes) => Ok(key(bytes, block)),
            KinContent::Read(file, cache) => {
                let offset = block / PIECE_KEYS * PIECE_BYTES as u64;
                let look = |piece: &[u8]| key(piece, block % PIECE_KEYS);
                cache.with(file.as_ref(), offset, look)
            }
        }
    }

    /// Returns the last of the first `blocks` blocks that does not begin after
    /// `key`; `None` if all do.
    pub(super) fn last_not_after(&self, key: &KvetkaKey, blocks: u64) -> io::Result<Option<u64>> {
        let (mut from, mut to) = (0, blocks);
        if let KinContent::Kept(bytes) = &self.content {
            let (keys, _) = bytes.as_chunks::<KEY_BYTES>();
            let keys = usize::try_from(blocks)
                .ok()
                .and_then(|blocks| keys.get(..blocks))
                .unwrap_or(keys);
            let after = keys.partition_point(|first| first <= key);
            return Ok((after as u64).checked_sub(1));
        }
        while from < to {
            let middle = from + (to - from) / 2;
            if self.key(middle)?.is_some_and(|first| first <= *key) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        Ok(from.checked_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    #[test]
    fn keys_of_up_to_4_mib_are_kept_in_memory() {
        for (len, is_expected) in [(4 << 20, true), ((4_u64 << 20) + 1, false)] {
            let file = MemoryFile::from(vec![0; usize::try_from(len).unwrap()]);
            let kin = Kin::open(Box::new(file), len).unwrap();
            assert_eq!(matches!(kin.content, KinContent::Kept(_)), is_expected);
        }
    }

    #[test]
    fn a_block_is_found_in_memory_and_in_pieces() {
        let mut bytes = Vec::new();
        for number in 0..1000_u16 {
            let mut key = [0; KEY_BYTES];
            key[..2].copy_from_slice(&(2 * number + 1).to_be_bytes());
            bytes.extend(key);
        }
        let file = MemoryFile::from(bytes.clone());
        let pieces = KinContent::Read(Box::new(file), PageCache::new(3, PIECE_BYTES));
        for content in [KinContent::Kept(bytes), pieces] {
            let kin = Kin { content };
            assert_eq!(kin.key(999).unwrap().unwrap()[..2], [7, 207]);
            assert_eq!(kin.key(1000).unwrap(), None);
            for wanted in 0..2003_u16 {
                let mut key = [0; KEY_BYTES];
                key[..2].copy_from_slice(&wanted.to_be_bytes());
                for blocks in [1000, 10] {
                    let expected = u64::from(wanted).div_ceil(2);
                    let expected = expected.min(blocks).checked_sub(1);
                    assert_eq!(kin.last_not_after(&key, blocks).unwrap(), expected);
                }
            }
        }
    }
}
