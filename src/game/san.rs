//! A move in short algebraic notation, as the tree keeps it.

use std::fmt;

use shakmaty::{CastlingSide, File, Rank, Square};

/// Standard algebraic notation of one ply with its check or mate mark, such
/// as `Nf3`, `Qa1xb2#`, `exd8=N+`; a null move is `--`.
///
/// Seven bytes hold every one of them, so a tree of plies needs no other
/// memory: the notation lies in one word, first byte lowest, and the highest
/// byte is its length.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct San(u64);

impl San {
    /// The null move, `--`.
    pub const NULL: San = San(u64::from_le_bytes([b'-', b'-', 0, 0, 0, 0, 0, 2]));

    /// The empty notation, to [`push`](San::push) to.
    pub(super) const EMPTY: San = San(0);

    /// The longest notation: `Qa1xb2#`.
    const MAX: usize = 7;

    /// Appends one ASCII byte. The notation of a chess move never asks for
    /// more than seven.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        debug_assert!(self.len() < San::MAX);
        self.0 |= u64::from(byte) << (8 * (self.len() & San::MAX));
        self.0 += 1 << 56;
    }

    /// Appends the letter of a file.
    #[inline]
    pub(super) fn push_file(&mut self, file: File) {
        self.push(b'a' + file as u8);
    }

    /// Appends the digit of a rank.
    #[inline]
    pub(super) fn push_rank(&mut self, rank: Rank) {
        self.push(b'1' + rank as u8);
    }

    /// Appends file and rank of a square.
    #[inline]
    pub(super) fn push_square(&mut self, square: Square) {
        self.push_file(square.file());
        self.push_rank(square.rank());
    }

    /// Castling, without a mark.
    pub(super) fn castling(side: CastlingSide) -> San {
        let text: &[u8] = match side {
            CastlingSide::KingSide => b"O-O",
            CastlingSide::QueenSide => b"O-O-O",
        };
        let mut san = San::EMPTY;
        for &byte in text {
            san.push(byte);
        }
        san
    }

    /// A pawn's capture, without a promotion or mark.
    #[inline]
    pub(super) fn pawn_takes(from: Square, to: Square) -> San {
        let mut san = San::EMPTY;
        san.push_file(from.file());
        san.push(b'x');
        san.push_square(to);
        san
    }

    /// Number of bytes, 2 to 7.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no move has an empty notation")]
    pub fn len(&self) -> usize {
        (self.0 >> 56) as usize
    }

    /// A blank and the notation, as the first [`len`](San::len)` + 1` of
    /// eight bytes: writers copy a word faster than a few bytes.
    #[inline]
    pub fn after_blank(&self) -> [u8; 8] {
        (self.0 << 8 | u64::from(b' ')).to_le_bytes()
    }
}

impl fmt::Display for San {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_le_bytes();
        let notation = bytes.get(..self.len()).unwrap_or_default();
        f.write_str(&String::from_utf8_lossy(notation))
    }
}

impl fmt::Debug for San {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_notation_fits() {
        let mut san = San::EMPTY;
        b"Qa1xb2#".iter().for_each(|&byte| san.push(byte));
        assert_eq!((san.to_string().as_str(), san.len()), ("Qa1xb2#", 7));
        assert_eq!(&san.after_blank(), b" Qa1xb2#");
        assert_eq!(San::NULL.to_string(), "--");
    }
}
