//! A move in two bytes: where from, where to, what a pawn becomes.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–5 | from |
//! | 6–11 | to |
//! | 12–13 | promotion: 0 queen, 1 rook, 2 bishop, 3 knight |
//! | 14 | simple encoding only: the line ends here |
//! | 15 | simple encoding only: a variation begins |
//!
//! The compact encoding needs it for promotions and for pieces without a
//! number. Castling of Chess960 has from and to alike, on the square where
//! the king ends.

use shakmaty::{Role, Square};

use super::pieces::{number, square};

/// From and to.
pub(super) fn squares(word: u16) -> (Square, Square) {
    (square((word & 63) as u8), square((word >> 6 & 63) as u8))
}

/// What a pawn becomes; without a meaning for other moves.
pub(super) fn promotion(word: u16) -> Role {
    match word >> 12 & 3 {
        0 => Role::Queen,
        1 => Role::Rook,
        2 => Role::Bishop,
        _ => Role::Knight,
    }
}

/// The word of a move.
pub(super) fn encode(from: Square, to: Square, promotion: Option<Role>) -> u16 {
    let promotion = match promotion {
        Some(Role::Rook) => 1,
        Some(Role::Bishop) => 2,
        Some(Role::Knight) => 3,
        _ => 0,
    };
    promotion << 12 | u16::from(number(to)) << 6 | u16::from(number(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_a_move() {
        let word = encode(Square::A7, Square::B8, Some(Role::Knight));
        assert_eq!(word, 3 << 12 | 15 << 6 | 6, "a7 is square 6, b8 is 15");
        assert_eq!(squares(word), (Square::A7, Square::B8));
        for role in [Role::Queen, Role::Rook, Role::Bishop, Role::Knight] {
            let word = encode(Square::H7, Square::H8, Some(role));
            assert_eq!(promotion(word), role);
        }
    }
}
