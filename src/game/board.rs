//! The placement of the pieces.

use shakmaty::{Bitboard, ByColor, ByRole, Color, Piece, Role, Square};

use super::attacks::{between, king_attacks, knight_attacks, on_empty_board, pawn_attacks};

/// The pieces on the board: a set of squares for each kind and side, and the
/// kind of piece on each square.
///
/// shakmaty's board has only the sets and must search them for the piece on a
/// square. Here that is one lookup; and a move is played without a search,
/// because the caller knows the piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    by_role: ByRole<Bitboard>,
    by_color: ByColor<Bitboard>,
    roles: [Option<Role>; 64],
    /// The king of each side that has exactly one.
    kings: ByColor<Option<Square>>,
}

impl From<shakmaty::Board> for Board {
    fn from(board: shakmaty::Board) -> Board {
        let roles = Square::ALL.map(|square| board.role_at(square));
        let (by_role, by_color) = board.into_bitboards();
        let mut board = Board {
            by_role,
            by_color,
            roles,
            kings: ByColor::default(),
        };
        board.find_kings();
        board
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
    /// The squares of all pieces.
    #[inline]
    pub fn occupied(&self) -> Bitboard {
        self.by_color.white | self.by_color.black
    }

    /// The squares of the pieces of one side.
    #[inline]
    pub fn by_color(&self, color: Color) -> Bitboard {
        *self.by_color.get(color)
    }

    /// The squares of the pieces of one kind, of both sides.
    #[inline]
    pub fn by_role(&self, role: Role) -> Bitboard {
        *self.by_role.get(role)
    }

    /// The squares of the pieces of one kind and side.
    #[inline]
    pub fn by_piece(&self, piece: Piece) -> Bitboard {
        self.by_role(piece.role) & self.by_color(piece.color)
    }

    /// The square of a side's king, if it has exactly one.
    #[inline]
    pub fn king_of(&self, color: Color) -> Option<Square> {
        *self.kings.get(color)
    }

    #[inline(never)]
    fn find_kings(&mut self) {
        let kings = |color: Color| self.by_piece(color.king()).single_square();
        self.kings = ByColor::new_with(kings);
    }

    /// The kind of piece on `square`.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "squares are numbered below 64")]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        self.roles[square as usize & 63]
    }

    /// The piece on `square`.
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        let color = Color::from_white(self.by_color.white.contains(square));
        Some(self.role_at(square)?.of(color))
    }

    /// The queens, rooks and bishops of a side that would attack `square` if
    /// the board were otherwise empty.
    #[inline]
    pub(super) fn aimed_at(&self, square: Square, attacker: Color) -> Bitboard {
        let ByRole {
            bishop,
            rook,
            queen,
            ..
        } = self.by_role;
        let straight = on_empty_board(Role::Rook, square) & (rook | queen);
        let diagonal = on_empty_board(Role::Bishop, square) & (bishop | queen);
        self.by_color(attacker) & (straight | diagonal)
    }

    /// The pieces of `attacker` that attack `square` if exactly the `occupied`
    /// squares block.
    pub(super) fn attacks_to(
        &self,
        square: Square,
        attacker: Color,
        occupied: Bitboard,
    ) -> Bitboard {
        let ByRole {
            pawn, knight, king, ..
        } = self.by_role;
        let steps = (knight_attacks(square) & knight)
            | (king_attacks(square) & king)
            | (pawn_attacks(!attacker, square) & pawn);
        let aimed = self.aimed_at(square, attacker);
        (steps & self.by_color(attacker)) | with_free_path(aimed, square, occupied)
    }

    /// Adds a piece on an empty square.
    #[inline]
    pub(super) fn put(&mut self, piece: Piece, square: Square) {
        self.toggle(piece, square);
        self.set(square, Some(piece.role));
    }

    /// Removes the piece on a square.
    #[inline]
    pub(super) fn remove(&mut self, piece: Piece, square: Square) {
        self.toggle(piece, square);
        self.set(square, None);
    }

    /// Moves a piece to an empty square, or not at all.
    #[inline]
    pub(super) fn relocate(&mut self, piece: Piece, from: Square, to: Square) {
        let both = Bitboard::from_square(from) ^ Bitboard::from_square(to);
        self.by_role.get_mut(piece.role).toggle(both);
        self.by_color.get_mut(piece.color).toggle(both);
        self.set(from, None);
        self.set(to, Some(piece.role));
        if piece.role == Role::King {
            let king = self.kings.get_mut(piece.color);
            *king = king.map(|_| to);
        }
    }

    #[inline]
    fn toggle(&mut self, piece: Piece, square: Square) {
        self.by_role.get_mut(piece.role).toggle(square);
        self.by_color.get_mut(piece.color).toggle(square);
        if piece.role == Role::King {
            self.find_kings();
        }
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "squares are numbered below 64")]
    fn set(&mut self, square: Square, role: Option<Role>) {
        self.roles[square as usize & 63] = role;
    }
}

/// The `pieces` from which no `occupied` square lies between them and `square`.
#[inline]
pub(super) fn with_free_path(pieces: Bitboard, square: Square, occupied: Bitboard) -> Bitboard {
    let is_free = |from: &Square| (between(*from, square) & occupied).is_empty();
    pieces.into_iter().filter(is_free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_agrees_with_shakmaty() {
        let usual = shakmaty::Board::new();
        let board = Board::from(usual.clone());
        for square in Square::ALL {
            assert_eq!(board.piece_at(square), usual.piece_at(square));
        }
        assert_eq!(shakmaty::Board::from(&board), usual);
    }

    #[test]
    fn a_piece_is_added_and_removed() {
        let usual = Board::from(shakmaty::Board::new());
        let mut board = usual.clone();
        board.put(Color::White.queen(), Square::E4);
        assert_eq!(board.piece_at(Square::E4), Some(Color::White.queen()));
        board.remove(Color::White.queen(), Square::E4);
        assert_eq!(board, usual);
        board.remove(Color::White.king(), Square::E1);
        assert_eq!(board.king_of(Color::White), None);
        board.put(Color::White.king(), Square::E4);
        assert_eq!(board.king_of(Color::White), Some(Square::E4));
        assert_eq!(board.king_of(Color::Black), Some(Square::E8));
    }
}
