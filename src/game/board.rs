//! Which piece stands where.

use shakmaty::{Bitboard, ByColor, ByRole, Color, Piece, Role, Square, attacks};

/// The pieces on the board: a set of squares for each kind and each side.
///
/// shakmaty's board looks up what stands on a square before it changes it.
/// Who plays a move knows that already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    by_role: ByRole<Bitboard>,
    by_color: ByColor<Bitboard>,
}

impl From<shakmaty::Board> for Board {
    fn from(board: shakmaty::Board) -> Board {
        let (by_role, by_color) = board.into_bitboards();
        Board { by_role, by_color }
    }
}

impl From<&Board> for shakmaty::Board {
    fn from(board: &Board) -> shakmaty::Board {
        let occupied = board.occupied().into_iter();
        let pieces = occupied.filter_map(|square| Some((square, board.piece_at(square)?)));
        pieces.collect()
    }
}

impl Board {
    /// All pieces.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        self.by_color.white | self.by_color.black
    }

    /// The pieces of one side.
    #[inline]
    pub fn by_color(&self, color: Color) -> Bitboard {
        *self.by_color.get(color)
    }

    /// The pieces of a kind, both sides.
    #[inline]
    pub fn by_role(&self, role: Role) -> Bitboard {
        *self.by_role.get(role)
    }

    /// The pieces of a kind and side.
    #[inline]
    pub fn by_piece(&self, piece: Piece) -> Bitboard {
        self.by_role(piece.role) & self.by_color(piece.color)
    }

    /// The king of a side, if it has exactly one.
    #[inline]
    pub fn king_of(&self, color: Color) -> Option<Square> {
        self.by_piece(color.king()).single_square()
    }

    /// The kind of the piece on `square`.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        let is_there = |role: &Role| self.by_role(*role).contains(square);
        Role::ALL.into_iter().find(is_there)
    }

    /// The piece on `square`.
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let color = Color::from_white(self.by_color.white.contains(square));
        Some(self.role_at(square)?.of(color))
    }

    /// The pieces of `attacker` that would attack `square` if the `occupied`
    /// squares were.
    #[inline]
    pub(super) fn attacks_to(
        &self,
        square: Square,
        attacker: Color,
        occupied: Bitboard,
    ) -> Bitboard {
        let ByRole {
            pawn,
            knight,
            bishop,
            rook,
            queen,
            king,
        } = self.by_role;
        self.by_color(attacker)
            & ((attacks::rook_attacks(square, occupied) & (rook | queen))
                | (attacks::bishop_attacks(square, occupied) & (bishop | queen))
                | (attacks::knight_attacks(square) & knight)
                | (attacks::king_attacks(square) & king)
                | (attacks::pawn_attacks(!attacker, square) & pawn))
    }

    /// Puts the piece on an empty square, or takes it off the square where it
    /// stands.
    #[inline]
    pub(super) fn toggle(&mut self, piece: Piece, square: Square) {
        self.by_role.get_mut(piece.role).toggle(square);
        self.by_color.get_mut(piece.color).toggle(square);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_is_that_of_shakmaty() {
        let usual = shakmaty::Board::new();
        let board = Board::from(usual.clone());
        for square in Square::ALL {
            assert_eq!(board.piece_at(square), usual.piece_at(square));
        }
        assert_eq!(shakmaty::Board::from(&board), usual);
    }

    #[test]
    fn a_toggled_piece_comes_and_goes() {
        let usual = Board::from(shakmaty::Board::new());
        let mut board = usual.clone();
        board.toggle(Color::White.queen(), Square::E4);
        assert_eq!(board.piece_at(Square::E4), Some(Color::White.queen()));
        board.toggle(Color::White.queen(), Square::E4);
        assert_eq!(board, usual);
    }
}
