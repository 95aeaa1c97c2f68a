//! Finds the move that a notation means.

use shakmaty::{Bitboard, File, Move, Rank, Role, Square};

use super::Position;
use super::attacks::on_empty_board;

/// A move as written: the piece, its destination, and as much of its origin as
/// is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceMove {
    /// The moving piece; for a promotion, a pawn.
    pub role: Role,
    /// The file of the origin. For a pawn, `None` means the file of the
    /// destination.
    pub file: Option<File>,
    /// The rank of the origin.
    pub rank: Option<Rank>,
    /// The destination.
    pub to: Square,
    /// The piece that a pawn promotes to.
    pub promotion: Option<Role>,
}

/// Error: a notation does not mean one legal move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSuchMove {
    /// No legal move fits.
    Illegal,
    /// Several legal moves fit.
    Ambiguous,
}

impl Position {
    /// Returns the legal move that fits `wanted`. For castling see
    /// [`castling_move`](Position::castling_move).
    ///
    /// # Errors
    ///
    /// [`NoSuchMove`] if no legal move fits, or several do.
    pub fn find_move(&self, wanted: PieceMove) -> Result<Move, NoSuchMove> {
        let mut fitting = self
            .origins(wanted)
            .into_iter()
            .filter_map(|from| self.move_from(from, wanted))
            .filter(|&m| self.is_legal(m));
        match (fitting.next(), fitting.next()) {
            (None, _) => Err(NoSuchMove::Illegal),
            (Some(m), None) => Ok(m),
            (Some(_), Some(_)) => Err(NoSuchMove::Ambiguous),
        }
    }

    /// As [`find_move`](Position::find_move), for who plays the move and so finds out
    /// whether it is legal: nothing is asked of it if one piece alone could make it.
    pub fn presumed_move(&self, wanted: PieceMove) -> Option<Move> {
        match self.origins(wanted).single_square() {
            Some(from) => self.move_from(from, wanted),
            None => self.find_move(wanted).ok(),
        }
    }

    /// The squares of the pieces that could make the move if nothing stood between.
    fn origins(&self, wanted: PieceMove) -> Bitboard {
        let PieceMove { role, rank, to, .. } = wanted;
        let (reached_from, file) = match role {
            Role::Pawn => (Bitboard::FULL, wanted.file.or(Some(to.file()))),
            role => (on_empty_board(role, to), wanted.file),
        };
        let on_file = file.map_or(Bitboard::FULL, Bitboard::from_file);
        let on_rank = rank.map_or(Bitboard::FULL, Bitboard::from_rank);
        self.board().by_piece(role.of(self.turn())) & reached_from & on_file & on_rank
    }

    fn move_from(&self, from: Square, wanted: PieceMove) -> Option<Move> {
        let PieceMove {
            role,
            to,
            promotion,
            ..
        } = wanted;
        let capture = self.board().role_at(to);
        if role == Role::Pawn && capture.is_none() && from.file() != to.file() {
            return promotion.is_none().then_some(Move::EnPassant { from, to });
        }
        Some(Move::Normal {
            role,
            from,
            capture,
            to,
            promotion,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::san::San;
    use shakmaty::{CastlingMode, Chess, Position as _};

    use super::*;

    fn position(fen: &str) -> Position {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        Position::from_setup(fen.into_setup(), CastlingMode::Standard)
    }

    fn piece(role: Role, file: Option<File>, to: Square) -> PieceMove {
        PieceMove {
            role,
            file,
            rank: None,
            to,
            promotion: None,
        }
    }

    #[test]
    fn a_move_must_be_the_only_one() {
        let rooks = position("4k3/8/8/8/8/8/4K3/R6R w - - 0 1");
        let to_e1 = |file| rooks.find_move(piece(Role::Rook, file, Square::E1));
        assert_eq!(to_e1(None), Err(NoSuchMove::Ambiguous));
        assert_eq!(
            to_e1(Some(File::A)).map(shakmaty::Move::from),
            Ok(Some(Square::A1))
        );
        assert_eq!(to_e1(Some(File::B)), Err(NoSuchMove::Illegal));
    }

    #[test]
    fn a_pinned_piece_is_no_rival() {
        let pinned = position("4r2k/8/8/8/8/8/4N3/N3K3 w - - 0 1");
        let to_c3 = pinned.find_move(piece(Role::Knight, None, Square::C3));
        assert_eq!(to_c3, Err(NoSuchMove::Illegal), "the other one is pinned");
        let to_c2 = pinned.find_move(piece(Role::Knight, None, Square::C2));
        assert_eq!(to_c2.map(shakmaty::Move::from), Ok(Some(Square::A1)));
    }

    #[test]
    fn the_only_piece_that_reaches_a_square_is_presumed_to_go_there() {
        let pinned = position("4r2k/8/8/8/8/8/4N3/N3K2R w - - 0 1");
        let from = |role, to| Some(pinned.presumed_move(piece(role, None, to))?.from());
        assert_eq!(from(Role::Knight, Square::C3), Some(Some(Square::E2)));
        assert_eq!(from(Role::Knight, Square::H1), None);
        let rivals = position("4r2k/8/8/8/1N6/8/4N3/4K3 w - - 0 1");
        let to_d4 = rivals.presumed_move(piece(Role::Knight, None, Square::D3));
        assert_eq!(to_d4.and_then(shakmaty::Move::from), Some(Square::B4));
        let to_c3 = position("4k3/8/8/8/8/8/8/N3K2N w - - 0 1");
        let two = piece(Role::Rook, None, Square::C3);
        assert_eq!(to_c3.presumed_move(two), None);
    }

    #[test]
    fn a_pawn_takes_in_passing_only_where_the_rules_say_so() {
        let passed = position("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1");
        let takes = |to| passed.find_move(piece(Role::Pawn, Some(File::E), to));
        let expected = Move::EnPassant {
            from: Square::E5,
            to: Square::D6,
        };
        assert_eq!(takes(Square::D6), Ok(expected));
        assert_eq!(takes(Square::F6), Err(NoSuchMove::Illegal));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn the_shortest_notation_finds_its_move(choices in prop::collection::vec(any::<u16>(), 1..120)) {
            let mut rules = Chess::new();
            for choice in choices {
                let legal = rules.legal_moves();
                if legal.is_empty() {
                    break;
                }
                let setup = rules.to_setup(shakmaty::EnPassantMode::Always);
                let ours = Position::from_setup(setup, CastlingMode::Standard);
                for &m in &legal {
                    if let San::Normal { role, file, rank, to, promotion, .. } = San::from_move(&rules, m) {
                        let wanted = PieceMove { role, file, rank, to, promotion };
                        prop_assert_eq!(ours.find_move(wanted), Ok(m));
                    }
                }
                rules.play_unchecked(legal[usize::from(choice) % legal.len()]);
            }
        }
    }
}
