//! The meaning of the byte of a move.
//!
//! The bytes are numbered in the order pawns, knights, bishops, rooks, queens,
//! king, and for each piece in the order of its moves below. Four squares along
//! both diagonals are equal modulo 8; the published table leaves out the second
//! byte for that, which is read like the first.

use shakmaty::{CastlingSide, Role};

use crate::book::RelativeMove;

/// Distance in files and ranks, modulo 8.
type Shift = (u8, u8);

const PAWN: [Shift; 4] = [(0, 1), (0, 2), (1, 1), (7, 1)];

const KNIGHT: [Shift; 8] = [
    (1, 2),
    (7, 2),
    (2, 1),
    (6, 1),
    (2, 7),
    (6, 7),
    (1, 6),
    (7, 6),
];

/// First lines, then diagonals: a rook has the first half, a bishop the second,
/// a queen both.
const QUEEN: [Shift; 28] = [
    (0, 1),
    (0, 2),
    (0, 3),
    (0, 4),
    (0, 5),
    (0, 6),
    (0, 7),
    (1, 0),
    (2, 0),
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (1, 1),
    (2, 2),
    (3, 3),
    (4, 4),
    (5, 5),
    (6, 6),
    (7, 7),
    (7, 1),
    (6, 2),
    (5, 3),
    (4, 4),
    (3, 5),
    (2, 6),
    (1, 7),
];

const KING: [Shift; 8] = [
    (0, 1),
    (1, 1),
    (7, 1),
    (1, 0),
    (7, 0),
    (0, 7),
    (1, 7),
    (7, 7),
];

/// Returns the meaning of a byte; `None` from 0xC6 on.
pub(super) fn relative_move(code: u8) -> Option<RelativeMove> {
    let (rooks, bishops) = QUEEN.split_at(14);
    let (role, first, steps): (Role, u8, &[Shift]) = match code {
        0x00..=0x1F => (Role::Pawn, 0x00, &PAWN),
        0x20..=0x2F => (Role::Knight, 0x20, &KNIGHT),
        0x30..=0x4B => (Role::Bishop, 0x30, bishops),
        0x4C..=0x67 => (Role::Rook, 0x4C, rooks),
        0x68..=0xBB => (Role::Queen, 0x68, &QUEEN),
        0xBC..=0xC3 => (Role::King, 0xBC, &KING),
        0xC4 => return Some(RelativeMove::Castle(CastlingSide::KingSide)),
        0xC5 => return Some(RelativeMove::Castle(CastlingSide::QueenSide)),
        _ => return None,
    };
    let number = usize::from(code - first);
    let &(files, ranks) = steps.get(number % steps.len())?;
    Some(RelativeMove::Step {
        role,
        nth: u8::try_from(number / steps.len() + 1).ok()?,
        files,
        ranks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_mean_what_the_authors_table_says() {
        let step = |role, nth, files, ranks| {
            let way = RelativeMove::Step {
                role,
                nth,
                files,
                ranks,
            };
            Some(way)
        };
        for (code, expected) in [
            (0x00, step(Role::Pawn, 1, 0, 1)),
            (0x1F, step(Role::Pawn, 8, 7, 1)),
            (0x20, step(Role::Knight, 1, 1, 2)),
            (0x2F, step(Role::Knight, 2, 7, 6)),
            (0x37, step(Role::Bishop, 1, 7, 1)),
            (0x3A, step(Role::Bishop, 1, 4, 4)),
            (0x4B, step(Role::Bishop, 2, 1, 7)),
            (0x4C, step(Role::Rook, 1, 0, 1)),
            (0x67, step(Role::Rook, 2, 7, 0)),
            (0x83, step(Role::Queen, 1, 1, 7)),
            (0xA0, step(Role::Queen, 3, 0, 1)),
            (0xBB, step(Role::Queen, 3, 1, 7)),
            (0xBE, step(Role::King, 1, 7, 1)),
            (0xC3, step(Role::King, 1, 7, 7)),
            (0xC4, Some(RelativeMove::Castle(CastlingSide::KingSide))),
            (0xC5, Some(RelativeMove::Castle(CastlingSide::QueenSide))),
            (0xC6, None),
            (0xFF, None),
        ] {
            assert_eq!(relative_move(code), expected, "{code:#04x}");
        }
    }
}
