//! The piece placement of each moment of a game, which most terms can be
//! decided by.
//!
//! The moves of a tree are legal, so pieces are moved without further checks. A
//! full [`Position`] is computed only where the placement equals that of a
//! wanted position, to compare castling rights and en passant captures.

use shakmaty::{Bitboard, CastlingSide, Color, Move, Role, Square};

use super::term::{home, index};
use crate::game::{Position, PositionKey};

/// Piece placement and side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    /// Squares by role, pawns first, of both sides.
    pub(super) roles: [Bitboard; 6],
    /// Squares of White and of Black.
    pub(super) sides: [Bitboard; 2],
    /// The side to move.
    pub(super) turn: Color,
}

impl Placement {
    /// The placement of a position.
    pub(super) fn of(position: &Position) -> Placement {
        let board = position.board();
        let mut roles = [Bitboard::EMPTY; 6];
        for (moment, role) in roles.iter_mut().zip(Role::ALL) {
            *moment = board.by_role(role);
        }
        Placement {
            roles,
            sides: [Color::White, Color::Black].map(|side| board.by_color(side)),
            turn: position.turn(),
        }
    }

    /// The squares of all pieces.
    pub(super) fn occupied(&self) -> Bitboard {
        let [white, black] = self.sides;
        white | black
    }

    /// The squares of one side.
    pub(super) fn side(&self, side: Color) -> Bitboard {
        let [white, black] = self.sides;
        side.fold_wb(white, black)
    }

    /// Number of pieces of a side by role, pawns first.
    pub(super) fn counts(&self, side: Color) -> [u8; 6] {
        let own = self.side(side);
        self.roles
            .map(|role| u8::try_from((role & own).count()).unwrap_or(u8::MAX))
    }

    /// Squares of pawns that have not moved. If there are pawns on the first or
    /// last rank, which is irregular, also all squares that these can come to.
    pub(super) fn home_pawns(&self) -> Bitboard {
        let [pawns, ..] = self.roles;
        if (pawns & Bitboard::BACKRANKS).any() {
            return Bitboard::FULL;
        }
        home(pawns, self.sides)
    }

    /// Moves the pieces; `None` is a null move.
    pub(super) fn play(&mut self, m: Option<Move>) {
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

    fn toggle(&mut self, side: Color, role: Role, square: Square) {
        if let Some(board) = self.roles.get_mut(index(role)) {
            board.toggle(square);
        }
        let [white, black] = &mut self.sides;
        side.fold_wb(white, black).toggle(square);
    }
}

/// A moment of a game: its placement, and its position if requested.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// The placement.
    pub(super) placement: Placement,
    /// The position before the moves in `since`; `None` if a move was illegal.
    position: Option<Position>,
    /// Moves after that position.
    since: Vec<Option<Move>>,
}

impl Moment {
    /// The start of a game.
    pub(super) fn start(position: &Position) -> Moment {
        Moment {
            placement: Placement::of(position),
            position: Some(position.clone()),
            since: Vec::new(),
        }
    }

    /// Advances by a move.
    pub(super) fn play(&mut self, m: Option<Move>) {
        self.placement.play(m);
        self.since.push(m);
    }

    /// The position; `None` after an illegal move. Each move is played once,
    /// however often this is called.
    pub(super) fn position(&mut self) -> Option<&Position> {
        for m in self.since.drain(..) {
            let Some(position) = &mut self.position else {
                continue;
            };
            match m.map(|m| position.play(m)) {
                None => position.play_null(),
                Some(Ok(_)) => {}
                Some(Err(_)) => self.position = None,
            }
        }
        self.position.as_ref()
    }

    /// The key of the position.
    pub(super) fn key(&mut self) -> Option<PositionKey> {
        self.position().map(Position::key)
    }
}

/// Lower and upper bounds of what must be on the board for any of several
/// placements to be reachable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Number of pieces of White and of Black.
    counts: [usize; 2],
    /// Minimum and maximum number of all pieces.
    total: [usize; 2],
    /// Unmoved pawns that all of the placements have.
    home: Bitboard,
}

impl Bounds {
    /// The bounds of these placements.
    pub(super) fn of<'m>(moments: impl IntoIterator<Item = &'m Placement>) -> Bounds {
        let mut bounds = Bounds {
            counts: [usize::MAX; 2],
            total: [usize::MAX, 0],
            home: Bitboard::FULL,
        };
        for placement in moments {
            for (least, side) in bounds.counts.iter_mut().zip(placement.sides) {
                *least = (*least).min(side.count());
            }
            let count = placement.occupied().count();
            let [least, most] = &mut bounds.total;
            (*least, *most) = ((*least).min(count), (*most).max(count));
            let [pawns, ..] = placement.roles;
            bounds.home &= home(pawns, placement.sides);
        }
        bounds
    }

    /// Returns whether none of the placements can be reached in so many plies,
    /// each of which can capture one piece.
    pub(super) fn are_past(&self, placement: &Placement, plies: usize) -> bool {
        let [_, most] = self.total;
        let mut counts = self.counts.iter().zip(placement.sides);
        counts.any(|(least, side)| side.count() < *least)
            || placement.occupied().count().saturating_sub(plies) > most
            || (self.home & !placement.home_pawns()).any()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{CastlingMode, Chess, EnPassantMode, Position as _, fen::Fen};

    use super::*;

    fn position(fen: &str) -> Position {
        let fen: Fen = fen.parse().unwrap();
        Position::from_setup(fen.into_setup(), CastlingMode::Chess960)
    }

    #[test]
    fn pieces_move_as_the_rules_say() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/pPppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/1PPBBPPP/R3K2R w KQkq - 0 1",
            "1rkr4/8/8/3pP3/8/8/8/R1KR4 w ADbd d6 0 1",
            "rk6/8/8/8/8/8/8/1RK4R b a - 0 1",
        ] {
            let setup = fen.parse::<Fen>().unwrap().into_setup();
            let rules: Chess = setup.position(CastlingMode::Chess960).unwrap();
            for m in rules.legal_moves() {
                let mut placement = Placement::of(&position(fen));
                placement.play(Some(m));
                let mut after = rules.clone();
                after.play_unchecked(m);
                let after = after.to_setup(EnPassantMode::Legal);
                let after = Position::from_setup(after, CastlingMode::Chess960);
                assert_eq!(placement, Placement::of(&after), "{fen} {m:?}");
            }
        }
    }

    #[test]
    fn a_pawn_on_the_first_rank_may_still_come_home() {
        let usual = Placement::of(&position("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"));
        assert_eq!(usual.home_pawns(), Bitboard::from_square(Square::E2));
        let odd = Placement::of(&position("4k3/8/8/8/8/8/8/4KP2 w - - 0 1"));
        assert_eq!(odd.home_pawns(), Bitboard::FULL);
    }
}
