//! Attack tables small enough for the first-level cache.
//!
//! Whether a piece can go from one square to another takes two lookups: whether
//! it reaches the square on an empty board, and whether the squares between are
//! free. A game uses a few kilobytes of these tables. Magic bitboards, which
//! need one lookup, take 700.

use shakmaty::{Bitboard, Color, Role, Square, attacks};

pub(super) use attacks::{king_attacks, knight_attacks, pawn_attacks};

/// The squares that a piece reaches on an empty board, by row and square. There
/// is a row for each role, empty for pawns. These have two rows, White's and
/// Black's, from each of the numbers below on.
static REACHED: [[Bitboard; 64]; 16] = reached();

/// The rows of pawns: the squares that they attack; those of them where they do not
/// promote; and the squares that they go to without taking or promoting.
const PAWN_ATTACKS: usize = 8;
const PAWN_TAKES: usize = 10;
const PAWN_GOES: usize = 12;

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn reached() -> [[Bitboard; 64]; 16] {
    let mut table = [[Bitboard::EMPTY; 64]; 16];
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
        let mut side = 0;
        while side < 2 {
            let Bitboard(attacked) = attacks::pawn_attacks(Color::ALL[side], square);
            table[PAWN_ATTACKS + side][at] = Bitboard(attacked);
            table[PAWN_TAKES + side][at] = Bitboard(attacked & !Bitboard::BACKRANKS.0);
            let Bitboard(ahead) = pawn_steps(Color::ALL[side], at);
            table[PAWN_GOES + side][at] = Bitboard(ahead & !Bitboard::BACKRANKS.0);
            side += 1;
        }
        at += 1;
    }
    table
}

/// The squares that a pawn goes to without taking; two if it has not moved.
const fn pawn_steps(side: Color, from: usize) -> Bitboard {
    let one = 1 << from;
    Bitboard(match (side, from / 8) {
        (Color::White, 1) => one << 8 | one << 16,
        (Color::White, _) => one << 8,
        (Color::Black, 6) => one >> 8 | one >> 16,
        (Color::Black, _) => one >> 8,
    })
}

#[inline]
#[expect(
    clippy::indexing_slicing,
    reason = "rows are numbered below 16, squares below 64"
)]
fn reached_in(row: usize, square: Square) -> Bitboard {
    REACHED[row & 15][square as usize & 63]
}

/// The squares that a piece attacks on an empty board; none for a pawn, whose
/// notation therefore tells it from no other piece.
#[inline]
pub(super) fn on_empty_board(role: Role, square: Square) -> Bitboard {
    reached_in(role as usize, square)
}

/// The squares in the row of a piece; `of_pawn` is the row of White's pawns.
#[inline]
fn reached_by(side: Color, role: Role, of_pawn: usize, square: Square) -> Bitboard {
    let row = match role {
        Role::Pawn => of_pawn + usize::from(side.is_black()),
        _ => role as usize,
    };
    reached_in(row, square)
}

/// The squares that a piece of a side attacks on an empty board.
#[inline]
pub(super) fn attacked(side: Color, role: Role, square: Square) -> Bitboard {
    reached_by(side, role, PAWN_ATTACKS, square)
}

/// The squares that a piece of a side can go to on an empty board, or to take
/// there; for a pawn those where it does not promote.
#[inline]
pub(super) fn steps(side: Color, role: Role, takes: bool, square: Square) -> Bitboard {
    let of_pawn = if takes { PAWN_TAKES } else { PAWN_GOES };
    reached_by(side, role, of_pawn, square)
}

/// The squares between two squares of one rank, file or diagonal; otherwise
/// empty.
#[inline]
pub(super) fn between(a: Square, b: Square) -> Bitboard {
    // Of a table of their own a game would use as much again of the first-level cache.
    let (a_only, b_only) = (1_u64 << a.to_u32(), 1_u64 << b.to_u32());
    let span = a_only.wrapping_sub(1) ^ b_only.wrapping_sub(1);
    line(a, b) & Bitboard(span & !(a_only | b_only))
}

/// The square that a pawn passes by a double step.
#[inline]
pub(super) fn passed_by_pawn(from: Square, to: Square) -> Option<Square> {
    // Between the second rank and the fourth, or the seventh and the fifth, this bit of
    // the number alone differs, and so it does for no other move of a pawn.
    let from = from.to_u32();
    (from ^ to.to_u32() == 0o20).then(|| Square::new(from ^ 0o30))
}

/// The rank, file or diagonal through two squares; empty if they do not share
/// one.
#[inline]
pub(super) fn line(a: Square, b: Square) -> Bitboard {
    attacks::ray(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_that_pieces_pass_are_those_between() {
        for from in Square::ALL {
            for to in Square::ALL {
                assert_eq!(between(from, to), attacks::between(from, to));
                let goes =
                    |side: Color| steps(side, Role::Pawn, false, from) | pawn_attacks(side, from);
                if Color::ALL.into_iter().any(|side| goes(side).contains(to)) {
                    let passed = between(from, to)
                        .first()
                        .filter(|_| from.file() == to.file());
                    assert_eq!(passed_by_pawn(from, to), passed);
                }
            }
        }
    }

    #[test]
    fn attacks_agree_with_shakmaty() {
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
