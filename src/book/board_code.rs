//! The bit code of a board, most significant bit first, which CTG and Kvetka
//! share.
//!
//! The squares are in the order a1, a2 … h8. The last bit of a piece is 0 for
//! the side to move and 1 for the other side.
//!
//! | empty | pawn | rook | bishop | knight | queen | king |
//! |---|---|---|---|---|---|---|
//! | `0` | `11`c | `1011`c | `1010`c | `1001`c | `10001`c | `10000`c |
//!
//! The formats differ in the bits behind the squares: en passant and castling.

use shakmaty::Role;

use super::board::Squares;

/// Number of words for the longest code of both formats, 240 bits.
const WORDS: usize = 4;

/// A bit string, filled from the highest bit of each word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: [u64; WORDS],
    /// The word that is being filled.
    pending: u64,
    /// Number of its bits in use, 0 to 63.
    used: u32,
    /// Number of full words.
    full: usize,
}

impl Bits {
    /// Appends the low `count` bits of `value`, at most 8; the other bits must
    /// be zero. `None` if there is no room.
    #[inline]
    pub fn push(&mut self, value: u8, count: u32) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        if self.len() + count as usize > WORDS * 64 {
            return None;
        }
        let free = 64 - self.used;
        let value = u64::from(value);
        if count < free {
            self.pending |= value << (free - count);
            self.used += count;
            return Some(());
        }
        let over = count - free;
        *self.words.get_mut(self.full)? = self.pending | value >> over;
        self.full += 1;
        self.used = over;
        self.pending = if over == 0 { 0 } else { value << (64 - over) };
        Some(())
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.full * 64 + self.used as usize
    }

    /// Returns whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bits as bytes, padded with zeros.
    pub fn to_bytes(mut self) -> [u8; WORDS * 8] {
        if let Some(word) = self.words.get_mut(self.full) {
            *word = self.pending;
        }
        let mut bytes = [0; WORDS * 8];
        for (word, chunk) in self.words.iter().zip(bytes.chunks_exact_mut(8)) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

/// Code and length in bits of each piece: role from 1, plus 8 for the other
/// side.
const CODES: [(u8, u32); 16] = {
    let mut codes = [(0, 1); 16];
    let roles: [(Role, u8, u32); 6] = [
        (Role::Pawn, 0b110, 3),
        (Role::Rook, 0b10110, 5),
        (Role::Bishop, 0b10100, 5),
        (Role::Knight, 0b10010, 5),
        (Role::Queen, 0b10_0010, 6),
        (Role::King, 0b10_0000, 6),
    ];
    let mut at = 0;
    while at < roles.len() {
        #[expect(
            clippy::indexing_slicing,
            reason = "a constant: wrong indices do not compile"
        )]
        {
            let (role, code, len) = roles[at];
            codes[role as usize] = (code, len);
            codes[role as usize + 8] = (code | 1, len);
        }
        at += 1;
    }
    codes
};

/// Appends the squares of a board; `None` if there is no room.
pub fn push_squares(squares: &Squares, bits: &mut Bits) -> Option<()> {
    for file in squares {
        for &piece in file {
            let &(code, len) = CODES.get(usize::from(piece & 15))?;
            bits.push(code, len)?;
        }
    }
    Some(())
}

/// A reader of the bits of a slice, highest bit of the first byte first.
#[derive(Clone, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> BitReader<'a> {
    /// Reads the first `len` bits of `bytes`, fewer if there are not as many.
    pub fn new(bytes: &'a [u8], len: usize) -> BitReader<'a> {
        BitReader {
            bytes,
            at: 0,
            end: len.min(bytes.len() * 8),
        }
    }

    /// Reads one bit; `None` at the end.
    pub fn bit(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit)
    }

    /// Reads `count` bits, at most 8, as a number; `None` if fewer are left.
    pub fn bits(&mut self, count: u32) -> Option<u8> {
        (0..count).try_fold(0, |value, _| Some(value << 1 | self.bit()?))
    }

    /// Skips `count` bits, fewer at the end.
    pub fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.end);
    }

    /// Number of bits left.
    pub fn left(&self) -> usize {
        self.end - self.at
    }
}

/// Reads the squares of a board; `None` if the bits end before.
pub fn read_squares(bits: &mut BitReader<'_>) -> Option<Squares> {
    let mut squares = [[0; 8]; 8];
    for square in squares.iter_mut().flatten() {
        *square = read_piece(bits)?;
    }
    Some(squares)
}

fn read_piece(bits: &mut BitReader<'_>) -> Option<u8> {
    if bits.bit()? == 0 {
        return Some(0);
    }
    let role = if bits.bit()? == 1 {
        Role::Pawn
    } else {
        match bits.bits(2)? {
            0b11 => Role::Rook,
            0b10 => Role::Bishop,
            0b01 => Role::Knight,
            _ if bits.bit()? == 1 => Role::Queen,
            _ => Role::King,
        }
    };
    Some(role as u8 | bits.bit()? << 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::CanonicalBoard;
    use crate::game::Position;

    #[test]
    fn bits_come_back_in_the_order_in_which_they_were_pushed() {
        let mut bits = Bits::default();
        assert!(bits.is_empty());
        let parts = (0_u32..44).map(|at| (1 + at % 8, at * 37 % 256));
        let parts = parts.map(|(count, value)| (value & ((1 << count) - 1), count));
        let parts: Vec<(u8, u32)> = parts
            .map(|(value, count)| (u8::try_from(value).unwrap(), count))
            .collect();
        let mut len = 0;
        for (value, count) in &parts {
            bits.push(*value, *count).unwrap();
            len += *count as usize;
            assert_eq!(bits.len(), len);
        }
        bits.push(0, 0).unwrap();
        let bytes = bits.to_bytes();
        let mut reader = BitReader::new(&bytes, len);
        for (value, count) in parts {
            assert_eq!(reader.bits(count), Some(value), "{} left", reader.left());
        }
        assert_eq!((reader.left(), reader.bit()), (0, None));
        while bits.len() < 250 {
            bits.push(1, 1).unwrap();
        }
        assert_eq!((bits.push(0xff, 8), bits.push(0x3f, 6)), (None, Some(())));
        assert_eq!((bits.push(1, 1), bits.len()), (None, 256));
        assert_eq!(bits.to_bytes()[31], 0xff);
        let mut reader = BitReader::new(&[0b0100_0001], 99);
        reader.skip(6);
        assert_eq!((reader.left(), reader.bits(3)), (2, None));
        let mut reader = BitReader::new(&[0b0100_0001], 99);
        reader.skip(99);
        assert_eq!(reader.left(), 0);
    }

    #[test]
    fn pieces_have_the_codes_of_the_table() {
        let board = CanonicalBoard::of(&Position::default()).unwrap();
        let mut bits = Bits::default();
        push_squares(board.squares(), &mut bits).unwrap();
        let bytes = bits.to_bytes();
        let mut reader = BitReader::new(&bytes, bits.len());
        let pieces = [
            "10110", "10010", "10100", "100010", "100000", "10100", "10010", "10110",
        ];
        for piece in &pieces {
            let (others, last) = piece.split_at(piece.len() - 1);
            assert_eq!(last, "0");
            for expected in [*piece, "110", "0000", "111", &format!("{others}1")] {
                for bit in expected.bytes() {
                    assert_eq!(reader.bit(), Some(bit - b'0'), "{piece}");
                }
            }
        }
        assert_eq!(reader.left(), 0);
        let mut reader = BitReader::new(&bytes, bits.len());
        assert_eq!(read_squares(&mut reader).as_ref(), Some(board.squares()));
        let mut cut = BitReader::new(&bytes, bits.len() - 1);
        assert_eq!(read_squares(&mut cut), None);
    }
}
