//! The pieces on their squares, without the rules.

use shakmaty::{Bitboard, CastlingSide, Color, Move, Role, Square};

use super::Position;

/// The pieces on their squares, and the side to move: all that most questions
/// about a position need. Moves are played without a question whether they are
/// legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Squares by role, pawns first, of both sides.
    pub roles: [Bitboard; 6],
    /// Squares of White and of Black.
    pub sides: [Bitboard; 2],
    /// The side to move.
    pub turn: Color,
}

impl Placement {
    /// The placement of a position.
    pub fn of(position: &Position) -> Placement {
        let board = position.board();
        let mut roles = [Bitboard::EMPTY; 6];
        for (squares, role) in roles.iter_mut().zip(Role::ALL) {
            *squares = board.by_role(role);
        }
        Placement {
            roles,
            sides: [Color::White, Color::Black].map(|side| board.by_color(side)),
            turn: position.turn(),
        }
    }

    /// The squares of all pieces.
    pub fn occupied(&self) -> Bitboard {
        let [white, black] = self.sides;
        white | black
    }

    /// The squares of one side.
    pub fn side(&self, side: Color) -> Bitboard {
        let [white, black] = self.sides;
        side.fold_wb(white, black)
    }

    /// Number of pieces of a side by role, pawns first.
    pub fn counts(&self, side: Color) -> [u8; 6] {
        let own = self.side(side);
        self.roles
            .map(|role| u8::try_from((role & own).count()).unwrap_or(u8::MAX))
    }

    /// Moves the pieces; `None` is a null move. Of a move that is not legal the
    /// result is without a meaning.
    #[inline]
    pub fn play(&mut self, m: Option<Move>) {
        let (us, them) = (self.turn, !self.turn);
        self.turn = them;
        match m {
            Some(Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            }) => {
                if let Some(taken) = capture {
                    self.toggle(them, taken, to);
                }
                self.toggle(us, role, from);
                self.toggle(us, promotion.unwrap_or(role), to);
            }
            Some(Move::EnPassant { from, to }) => {
                self.toggle(
                    them,
                    Role::Pawn,
                    Square::from_coords(to.file(), from.rank()),
                );
                self.toggle(us, Role::Pawn, from);
                self.toggle(us, Role::Pawn, to);
            }
            Some(Move::Castle { king, rook }) => {
                let side = CastlingSide::from_king_side(king < rook);
                let to = |file| Square::from_coords(file, king.rank());
                self.toggle(us, Role::King, king);
                self.toggle(us, Role::Rook, rook);
                self.toggle(us, Role::King, to(side.king_to_file()));
                self.toggle(us, Role::Rook, to(side.rook_to_file()));
            }
            Some(Move::Put { .. }) | None => {}
        }
    }

    /// The kind of piece on a square.
    #[inline]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        let mut kinds = self.roles.iter().zip(Role::ALL);
        kinds.find_map(|(squares, role)| squares.contains(square).then_some(role))
    }

    /// Puts a piece on an empty square, or takes it from there.
    #[inline]
    fn toggle(&mut self, side: Color, role: Role, square: Square) {
        if let Some(board) = self.roles.get_mut(role_index(role)) {
            board.toggle(square);
        }
        let [white, black] = &mut self.sides;
        side.fold_wb(white, black).toggle(square);
    }
}

/// A filter for the moments of a main line that a glance shows: those with at most
/// `most_pieces` pieces, after a move with at least the effect `least`, or from or to
/// one of `squares`.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The least effect of such a move; `None` if the squares alone decide.
    pub least: Option<MoveEffect>,
    /// The squares.
    pub squares: Bitboard,
    /// The most pieces of both sides.
    pub most_pieces: u8,
}

impl Moments {
    /// Every moment is shown.
    pub const ALL: Moments = Moments {
        least: Some(MoveEffect::Squares),
        squares: Bitboard::FULL,
        most_pieces: u8::MAX,
    };

    /// Those of both.
    #[must_use]
    pub fn or(self, other: Moments) -> Moments {
        Moments {
            least: self.least.into_iter().chain(other.least).min(),
            squares: self.squares | other.squares,
            most_pieces: self.most_pieces.max(other.most_pieces),
        }
    }

    /// Returns whether a moment with so many pieces, after such a move, is one of them.
    #[inline]
    pub fn include(&self, effect: MoveEffect, squares: Bitboard, pieces: u8) -> bool {
        pieces <= self.most_pieces
            && (self.least.is_some_and(|least| effect >= least)
                || !(squares & self.squares).is_empty())
    }
}

/// A moment of a main line as a glance shows it.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse<'p> {
    /// The placement.
    pub placement: &'p Placement,
    /// What the last move changed; everything at the start.
    pub effect: MoveEffect,
    /// Upper bound of the number of plies that follow.
    pub max_plies_left: usize,
}

/// What a move changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MoveEffect {
    /// The squares of pieces.
    Squares,
    /// The square of a pawn, which never returns.
    Pawns,
    /// Which pieces there are.
    Material,
}

/// The index of a kind of piece in arrays by kind, pawns first.
#[inline]
pub fn role_index(role: Role) -> usize {
    role as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_counted_by_side_and_kind() {
        let mut placement = Placement::of(&Position::default());
        let usual = [8, 2, 2, 2, 1, 1];
        assert_eq!(placement.counts(Color::White), usual);
        placement.toggle(Color::White, Role::Queen, Square::D1);
        assert_eq!(placement.counts(Color::White), [8, 2, 2, 2, 0, 1]);
        assert_eq!(placement.counts(Color::Black), usual);
        assert_eq!(placement.occupied().count(), 31);
    }

    #[test]
    fn moves_of_all_kinds_are_played_as_on_the_board() {
        let fen = "r3k2r/1P3p2/3b4/4P3/8/8/8/R3K2R b KQkq - 0 1";
        let start = crate::game::Start::from_fen(fen, shakmaty::CastlingMode::Standard);
        let position = start.unwrap().position;
        let normal = |role, from, capture, to, promotion| Move::Normal {
            role,
            from,
            capture,
            to,
            promotion,
        };
        let castle = |king, rook| Move::Castle { king, rook };
        let double = normal(Role::Pawn, Square::F7, None, Square::F5, None);
        let passing = Move::EnPassant {
            from: Square::E5,
            to: Square::F6,
        };
        let knight = Some(Role::Knight);
        let takes = normal(Role::Pawn, Square::B7, Some(Role::Rook), Square::A8, knight);
        let short = castle(Square::E8, Square::H8);
        let long = castle(Square::E1, Square::A1);
        let lines = [[double, passing], [short, long], [double, takes]];
        for line in lines {
            let (mut played, mut placement) = (position.clone(), Placement::of(&position));
            for m in line {
                played.play(m).unwrap();
                placement.play(Some(m));
                assert_eq!(placement, Placement::of(&played), "{m:?}");
            }
            placement.play(None);
            played.play_null();
            assert_eq!(placement, Placement::of(&played));
            for square in Square::ALL {
                assert_eq!(placement.role_at(square), played.board().role_at(square));
            }
        }
    }

    #[test]
    fn kinds_of_pieces_are_numbered_from_pawns_to_kings() {
        assert_eq!(Role::ALL.map(role_index), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn moments_are_chosen_by_effect_squares_and_pieces() {
        let e4 = Bitboard::from_square(Square::E4);
        let captures = Moments {
            least: Some(MoveEffect::Material),
            squares: Bitboard::EMPTY,
            most_pieces: 5,
        };
        assert!(captures.include(MoveEffect::Material, e4, 5));
        assert!(!captures.include(MoveEffect::Pawns, e4, 5));
        assert!(!captures.include(MoveEffect::Material, e4, 6));
        let on_e4 = Moments {
            least: None,
            squares: e4,
            most_pieces: u8::MAX,
        };
        assert!(on_e4.include(MoveEffect::Squares, Bitboard::FULL, 32));
        assert!(!on_e4.include(MoveEffect::Material, !e4, 32));
        let both = captures.or(on_e4);
        assert!(both.include(MoveEffect::Material, !e4, 32));
        assert!(both.include(MoveEffect::Squares, e4, 32));
        assert!(!both.include(MoveEffect::Pawns, !e4, 2));
        assert!(Moments::ALL.include(MoveEffect::Squares, Bitboard::EMPTY, 32));
    }
}
