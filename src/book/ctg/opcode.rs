//! The meaning of the byte of a move.
//!
//! The bytes are ChessBase's opcodes of moves under a fixed permutation. 166 of
//! them occur in books or are read by all programs. Those of a third piece of a
//! kind follow from the permutation and were never seen. The other bytes are no
//! moves in a book: the null move, and special codes of games.

use shakmaty::{CastlingSide, Role};

use crate::book::RelativeMove;

/// A king moves by files and ranks modulo 8.
const KING: [(u8, u8, u8); 8] = [
    // byte, files, ranks
    (0x13, 0, 1),
    (0x67, 1, 1),
    (0xBE, 1, 0),
    (0x44, 1, 7),
    (0x0A, 0, 7),
    (0x8C, 7, 7),
    (0x97, 7, 0),
    (0xDF, 7, 1),
];

const KING_SIDE_CASTLING: u8 = 0x6B;

const QUEEN_SIDE_CASTLING: u8 = 0xF6;

/// For each of eight pawns: one step, two steps, capture to the right, capture
/// to the left.
const PAWNS: [[u8; 4]; 8] = [
    [0xEC, 0xDB, 0x8B, 0x0C],
    [0x04, 0x62, 0x96, 0xD1],
    [0x55, 0x9B, 0x7C, 0x27],
    [0xCF, 0xE6, 0xEB, 0x06],
    [0xBB, 0x5F, 0x00, 0xDE],
    [0xCB, 0xB1, 0x2D, 0x82],
    [0x18, 0xC8, 0x5C, 0xC7],
    [0xA3, 0x4A, 0x14, 0x24],
];

const PAWN_STEPS: [(u8, u8); 4] = [(0, 1), (0, 2), (1, 1), (7, 1)];

/// For each of three knights, clockwise, beginning with one file right and two
/// ranks up.
const KNIGHTS: [[u8; 8]; 3] = [
    [0x34, 0x36, 0xE9, 0x8A, 0xDA, 0x0F, 0xF7, 0x85],
    [0x4C, 0xD2, 0xE0, 0x2A, 0x30, 0x01, 0xD3, 0xF3],
    [0x60, 0x3F, 0x43, 0x89, 0xB4, 0x3D, 0x19, 0x2B],
];

const KNIGHT_STEPS: [(u8, u8); 8] = [
    (1, 2),
    (2, 1),
    (2, 7),
    (1, 6),
    (7, 6),
    (6, 7),
    (6, 1),
    (7, 2),
];

/// Moves of one to seven squares along a line. Four squares along both
/// diagonals are equal modulo 8; the second byte for that was never seen.
type LineCodes = [u8; 7];

/// For each of three bishops: up to the right, then down to the right.
const BISHOPS: [[LineCodes; 2]; 3] = [
    [
        [0x2E, 0xC1, 0x0D, 0x6A, 0x15, 0x3A, 0x12],
        [0x26, 0xB2, 0x3C, 0xA7, 0x66, 0xC3, 0x1B],
    ],
    [
        [0xF5, 0xC2, 0xB9, 0x9F, 0x32, 0x09, 0x1D],
        [0x72, 0x79, 0xCC, 0x88, 0xCA, 0x22, 0x54],
    ],
    [
        [0x73, 0x6D, 0xFC, 0x68, 0x3E, 0x16, 0x4F],
        [0x51, 0xE4, 0xB8, 0x48, 0xE2, 0x93, 0xA1],
    ],
];

/// For each of three rooks: up, then right.
const ROOKS: [[LineCodes; 2]; 3] = [
    [
        [0x81, 0xE8, 0x7A, 0x99, 0x87, 0x50, 0xE1],
        [0x7F, 0xCD, 0x98, 0xEF, 0x6E, 0x52, 0x86],
    ],
    [
        [0x7D, 0xF4, 0xE3, 0xC5, 0xA5, 0x7B, 0x69],
        [0xC4, 0xA9, 0x0E, 0xAD, 0xB5, 0xD8, 0x21],
    ],
    [
        [0xA8, 0x10, 0x5E, 0x95, 0x9C, 0xC0, 0xD6],
        [0xF2, 0x40, 0x5D, 0x33, 0x83, 0xBF, 0x0B],
    ],
];

/// For each of three queens: up, right, up to the right, down to the right.
const QUEENS: [[LineCodes; 4]; 3] = [
    [
        [0x05, 0x9D, 0x94, 0x37, 0xB7, 0x9A, 0xFD],
        [0x2F, 0x74, 0x31, 0xE5, 0x39, 0x29, 0x8F],
        [0xF1, 0xA2, 0x45, 0xE7, 0x28, 0x61, 0xED],
        [0x42, 0x80, 0x4B, 0x47, 0x7E, 0xD9, 0xD7],
    ],
    [
        [0x4D, 0xBD, 0xA0, 0xB0, 0xC6, SIX_UP, 0xC9],
        [0xF8, 0x03, 0xFA, 0x08, 0xBC, SIX_RIGHT, 0xF0],
        [0x92, 0xFB, 0xAE, 0x38, 0x41, 0x23, 0x6F],
        [0x63, 0xAB, 0x3B, 0x53, 0xFE, 0x8E, 0xEE],
    ],
    [
        [0x59, 0x65, 0x71, 0xEA, 0x76, 0x57, 0xCE],
        [0x64, 0xD4, 0x9E, 0x17, 0x77, 0x90, 0x07],
        [0x25, 0xBA, 0xDC, 0x35, 0x46, 0x4E, 0xAC],
        [0x1E, 0x6C, 0x2C, 0x02, 0x70, 0x75, 0xD5],
    ],
];

/// The second queen six ranks up, and six files to the right. Programs disagree
/// about these two bytes.
const SIX_UP: u8 = 0x1A;
const SIX_RIGHT: u8 = 0xF9;

/// The meaning of each byte.
static MOVES: [Option<RelativeMove>; 256] = moves_by_code();

/// Returns the meaning of a byte; `None` if it is no move.
pub(super) fn relative_move(code: u8) -> Option<RelativeMove> {
    MOVES.get(usize::from(code)).copied().flatten()
}

/// Returns the alternative meaning of a byte, for use if the first is no legal
/// move.
pub(super) fn alternative_move(code: u8) -> Option<RelativeMove> {
    match code {
        SIX_UP => relative_move(SIX_RIGHT),
        SIX_RIGHT => relative_move(SIX_UP),
        _ => None,
    }
}

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a constant: wrong indices do not compile"
)]
const fn moves_by_code() -> [Option<RelativeMove>; 256] {
    let mut moves = [None; 256];
    moves[KING_SIDE_CASTLING as usize] = Some(RelativeMove::Castle(CastlingSide::KingSide));
    moves[QUEEN_SIDE_CASTLING as usize] = Some(RelativeMove::Castle(CastlingSide::QueenSide));
    let mut at = 0;
    while at < 8 {
        let (code, files, ranks) = KING[at];
        moves[code as usize] = Some(step(Role::King, 0, files, ranks));
        at += 1;
    }
    let mut nth = 0;
    while nth < 8 {
        let mut at = 0;
        while at < 4 {
            let (files, ranks) = PAWN_STEPS[at];
            moves[PAWNS[nth][at] as usize] = Some(step(Role::Pawn, nth, files, ranks));
            at += 1;
        }
        nth += 1;
    }
    nth = 0;
    while nth < 3 {
        let mut at = 0;
        while at < 8 {
            let (files, ranks) = KNIGHT_STEPS[at];
            moves[KNIGHTS[nth][at] as usize] = Some(step(Role::Knight, nth, files, ranks));
            at += 1;
        }
        at = 1;
        while at < 8 {
            let (near, far, i) = (at as u8, 8 - at as u8, at - 1);
            moves[BISHOPS[nth][0][i] as usize] = Some(step(Role::Bishop, nth, near, near));
            moves[BISHOPS[nth][1][i] as usize] = Some(step(Role::Bishop, nth, near, far));
            moves[ROOKS[nth][0][i] as usize] = Some(step(Role::Rook, nth, 0, near));
            moves[ROOKS[nth][1][i] as usize] = Some(step(Role::Rook, nth, near, 0));
            moves[QUEENS[nth][0][i] as usize] = Some(step(Role::Queen, nth, 0, near));
            moves[QUEENS[nth][1][i] as usize] = Some(step(Role::Queen, nth, near, 0));
            moves[QUEENS[nth][2][i] as usize] = Some(step(Role::Queen, nth, near, near));
            moves[QUEENS[nth][3][i] as usize] = Some(step(Role::Queen, nth, near, far));
            at += 1;
        }
        nth += 1;
    }
    moves
}

#[expect(clippy::cast_possible_truncation, reason = "at most eight")]
const fn step(role: Role, nth: usize, files: u8, ranks: u8) -> RelativeMove {
    RelativeMove::Step {
        role,
        nth: nth as u8 + 1,
        files,
        ranks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_the_tables_means_a_move_of_its_own() {
        let meaning = MOVES.iter().flatten().count();
        // Of the ten kinds of sliding pieces nine go along a diagonal twice.
        assert_eq!(meaning, 2 + 8 + 32 + 24 + 42 + 42 + 84);
        let mut seen: Vec<RelativeMove> = Vec::new();
        let mut twice = 0;
        for way in MOVES.iter().flatten() {
            twice += usize::from(seen.contains(way));
            seen.push(*way);
        }
        assert_eq!(twice, 6, "four squares along either diagonal");
    }

    #[test]
    fn known_bytes_mean_what_they_are_known_to_mean() {
        let step = |role, nth, files, ranks| {
            Some(RelativeMove::Step {
                role,
                nth,
                files,
                ranks,
            })
        };
        assert_eq!(relative_move(0x5F), step(Role::Pawn, 5, 0, 2));
        assert_eq!(relative_move(0xF3), step(Role::Knight, 2, 7, 2));
        assert_eq!(relative_move(0x1B), step(Role::Bishop, 1, 7, 1));
        assert_eq!(relative_move(0x05), step(Role::Queen, 1, 0, 1));
        assert_eq!(relative_move(0x21), step(Role::Rook, 2, 7, 0));
        assert_eq!(
            relative_move(0x6B),
            Some(RelativeMove::Castle(CastlingSide::KingSide))
        );
        assert_eq!(relative_move(0xAF), None, "the null move");
        assert_eq!(alternative_move(0x1A), relative_move(0xF9));
        assert_eq!(alternative_move(0xF9), relative_move(0x1A));
        assert_eq!(alternative_move(0x5F), None);
    }
}
