//! What attacks what, by tables that stay in the fastest cache.
//!
//! Whether a piece goes from one square to another is asked in two steps: on
//! an empty board, and whether the squares between are free. A game needs a
//! few kilobytes of these tables; magic tables, which answer in one step,
//! have 700.

use shakmaty::{Bitboard, Role, Square, attacks};

pub(super) use attacks::{king_attacks, knight_attacks, pawn_attacks};

/// What each kind of piece attacks on an empty board, by role and square.
/// Pawns attack nothing here, since it depends on their side.
static ON_EMPTY: [[Bitboard; 64]; 8] = on_empty();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn on_empty() -> [[Bitboard; 64]; 8] {
    let mut table = [[Bitboard::EMPTY; 64]; 8];
    let mut at = 0;
    while at < 64 {
        let square = Square::ALL[at];
        let diagonal = attacks::bishop_attacks(square, Bitboard::EMPTY);
        let straight = attacks::rook_attacks(square, Bitboard::EMPTY);
        table[Role::Knight as usize][at] = attacks::knight_attacks(square);
        table[Role::Bishop as usize][at] = diagonal;
        table[Role::Rook as usize][at] = straight;
        table[Role::Queen as usize][at] = diagonal.with_const(straight);
        table[Role::King as usize][at] = attacks::king_attacks(square);
        at += 1;
    }
    table
}

/// The squares that a piece, which is no pawn, attacks on an empty board.
#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "roles are numbered below 8, squares below 64"
)]
pub(super) fn on_empty_board(role: Role, square: Square) -> Bitboard {
    ON_EMPTY[role as usize & 7][square as usize & 63]
}

/// The squares between two of one line.
static BETWEEN: [[Bitboard; 64]; 64] = all_between();

#[expect(
    clippy::indexing_slicing,
    clippy::large_stack_arrays,
    reason = "evaluated by the compiler"
)]
const fn all_between() -> [[Bitboard; 64]; 64] {
    let mut table = [[Bitboard::EMPTY; 64]; 64];
    let mut at = 0;
    while at < 64 * 64 {
        table[at / 64][at % 64] = attacks::between(Square::ALL[at / 64], Square::ALL[at % 64]);
        at += 1;
    }
    table
}

/// The squares between two of one rank, file or diagonal; else none.
#[inline]
#[expect(clippy::indexing_slicing, reason = "64 squares")]
pub(super) fn between(a: Square, b: Square) -> Bitboard {
    BETWEEN[a as usize & 63][b as usize & 63]
}

/// The rank, file or diagonal of two squares, none if they share none.
#[inline]
pub(super) fn line(a: Square, b: Square) -> Bitboard {
    attacks::ray(a, b)
}

#[cfg(test)]
mod tests {
    use shakmaty::Color;

    use super::*;

    #[test]
    fn what_is_attacked_on_an_empty_board_and_has_a_free_way_is_attacked() {
        let some = 0x8421_0842_1084_2108_u64;
        let boards = (1..64).map(|turned| Bitboard(some.rotate_left(turned)));
        for occupied in boards.chain([Bitboard::EMPTY, Bitboard::FULL]) {
            for from in Square::ALL {
                for role in Role::ALL.into_iter().filter(|role| *role != Role::Pawn) {
                    let is_free = |to: &Square| (between(from, *to) & occupied).is_empty();
                    let reached = on_empty_board(role, from).into_iter().filter(is_free);
                    let expected = attacks::attacks(from, role.of(Color::White), occupied);
                    assert_eq!(reached.collect::<Bitboard>(), expected, "{role:?} {from}");
                }
            }
        }
    }
}
