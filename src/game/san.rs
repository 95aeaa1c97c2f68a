//! Standard algebraic notation (SAN) of a move, as the tree stores it.

use std::fmt;

use shakmaty::{CastlingSide, File, Rank, Role, Square};

/// Standard algebraic notation of one ply with its check or mate mark, such as
/// `Nf3`, `Qa1xb2#`, `exd8=N+`. A null move is `--`.
///
/// All notations have at most seven bytes, so they fit in one word without
/// further memory. The first byte of the notation is the lowest byte; the
/// highest byte is its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct San(u64);

impl San {
    /// The null move, `--`.
    pub const NULL: San = San(u64::from_le_bytes([b'-', b'-', 0, 0, 0, 0, 0, 2]));

    /// The empty notation; append with [`push`](San::push).
    pub(super) const EMPTY: San = San(0);

    /// The mark of a check.
    pub(super) const CHECK: u8 = b'+';

    /// The mark of a mate.
    const MATE: u8 = b'#';

    /// Length of the longest notation, `Qa1xb2#`.
    const MAX: usize = 7;

    /// Appends an ASCII byte. Chess notation never has more than seven.
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

    /// Appends the destination, with `x` before it for a capture.
    pub(super) fn push_target(&mut self, takes: bool, to: Square) {
        if takes {
            self.push(b'x');
        }
        self.push_file(to.file());
        self.push_rank(to.rank());
    }

    /// The letter of a piece as a notation.
    pub(super) fn letter(role: Role) -> San {
        let mut san = San::EMPTY;
        san.push(role.upper_char() as u8);
        san
    }

    /// The unambiguous move of a piece, or the move of a pawn that does not promote,
    /// without a mark.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "roles are numbered below 8, squares below 64"
    )]
    pub(super) fn of_step(role: Role, from: File, takes: bool, to: Square) -> San {
        // Without a branch: which kind moves is as good as random.
        let is_pawn = role == Role::Pawn;
        let targets = &TARGETS[usize::from(is_pawn) << 1 | usize::from(takes)];
        let file = (b'a' + from as u8) * u8::from(is_pawn & takes);
        let first = LETTERS[role as usize & 7] | file;
        San(targets[to as usize & 63] | u64::from(first))
    }

    /// Appends `=` and the letter of the piece that a pawn promotes to.
    #[cold]
    pub(super) fn push_promotion(&mut self, role: Role) {
        self.push(b'=');
        self.push(role.upper_char() as u8);
    }

    /// The notation with the mark of a mate in place of that of a check.
    #[cold]
    pub(super) fn mating(self) -> San {
        let mut bytes = self.0.to_le_bytes();
        let last = self.len().checked_sub(1).and_then(|at| bytes.get_mut(at));
        if let Some(mark) = last.filter(|mark| **mark == San::CHECK) {
            *mark = San::MATE;
        }
        San(u64::from_le_bytes(bytes))
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

    /// Length in bytes, 2 to 7.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no move has an empty notation")]
    pub fn len(&self) -> usize {
        (self.0 >> 56) as usize
    }

    /// A blank and the notation: the first [`len`](San::len)` + 1` of eight
    /// bytes. Copying a whole word is faster than copying a few bytes.
    #[inline]
    pub fn after_blank(&self) -> [u8; 8] {
        (self.0 << 8 | u64::from(b' ')).to_le_bytes()
    }
}

/// The letters of pieces, by role; 0 for pawns.
const LETTERS: [u8; 8] = *b"\0\0NBRQK\0";

/// Notations by the square of destination: of pieces that do not take and that do,
/// of pawns that do not and that do. All but the third lack their first byte.
static TARGETS: [[u64; 64]; 4] = [
    targets([0, 0, 0, 0, 0, 0, 0, 3], 1),
    TAKES,
    targets([0, 0, 0, 0, 0, 0, 0, 2], 0),
    TAKES,
];
const TAKES: [u64; 64] = targets([0, b'x', 0, 0, 0, 0, 0, 4], 2);

/// The bytes of a notation with each square written `at` a place.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn targets(mut bytes: [u8; 8], at: usize) -> [u64; 64] {
    let mut targets = [0; 64];
    let mut square: u8 = 0;
    while square < 64 {
        bytes[at] = b'a' + square % 8;
        bytes[at + 1] = b'1' + square / 8;
        targets[square as usize] = u64::from_le_bytes(bytes);
        square += 1;
    }
    targets
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

    #[test]
    fn the_mark_of_a_check_becomes_that_of_a_mate() {
        let of = |text: &[u8]| {
            let mut san = San::EMPTY;
            for &byte in text {
                san.push(byte);
            }
            san
        };
        for (san, mating) in [
            ("Qh5+", "Qh5#"),
            ("Qa1xb2+", "Qa1xb2#"),
            ("Nf3", "Nf3"),
            ("--", "--"),
        ] {
            assert_eq!(of(san.as_bytes()).mating().to_string(), mating);
            assert_eq!(of(san.as_bytes()).mating().mating(), of(mating.as_bytes()));
        }
    }
}
