//! The board at a moment of a game: as much of it as most moments need.
//!
//! The moves of a tree are legal, so the pieces are moved without asking; only
//! where the pieces stand as in a wanted position, castling rights and captures
//! in passing are asked of [`Position`].

use shakmaty::{Bitboard, CastlingSide, Color, Move, Role, Square};

use super::term::{home, index};
use crate::game::{Position, PositionKey};

/// Where the pieces stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// By role, pawns first, both sides.
    pub(super) roles: [Bitboard; 6],
    /// White's, Black's.
    pub(super) sides: [Bitboard; 2],
    /// Who is to move.
    pub(super) turn: Color,
}

impl Moment {
    /// That of a position.
    pub(super) fn of(position: &Position) -> Moment {
        let board = position.board();
        let mut roles = [Bitboard::EMPTY; 6];
        for (place, role) in roles.iter_mut().zip(Role::ALL) {
            *place = board.by_role(role);
        }
        Moment {
            roles,
            sides: [Color::White, Color::Black].map(|side| board.by_color(side)),
            turn: position.turn(),
        }
    }

    /// All pieces.
    pub(super) fn occupied(&self) -> Bitboard {
        let [white, black] = self.sides;
        white | black
    }

    /// The pieces of a side.
    pub(super) fn side(&self, side: Color) -> Bitboard {
        let [white, black] = self.sides;
        side.fold_wb(white, black)
    }

    /// How many pieces of each role a side has, pawns first.
    pub(super) fn counts(&self, side: Color) -> [u8; 6] {
        let own = self.side(side);
        self.roles
            .map(|role| u8::try_from((role & own).count()).unwrap_or(u8::MAX))
    }

    /// The pawns that have not moved. Where pawns stand on the first or last
    /// rank, as the rules never have it, all squares where one may still come.
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

/// A moment with what is needed to know its position.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The board there.
    pub(super) moment: Moment,
    /// A position before, `None` if the rules forbade what followed.
    position: Option<Position>,
    /// The moves from there.
    since: Vec<Option<Move>>,
}

impl Place {
    /// The start of a game.
    pub(super) fn start(position: &Position) -> Place {
        Place {
            moment: Moment::of(position),
            position: Some(position.clone()),
            since: Vec::new(),
        }
    }

    /// Goes on by a move.
    pub(super) fn play(&mut self, m: Option<Move>) {
        self.moment.play(m);
        self.since.push(m);
    }

    /// The position here. All calls together play each move once.
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

    /// What tells the position here from others.
    pub(super) fn key(&mut self) -> Option<PositionKey> {
        self.position().map(Position::key)
    }
}

/// What must be there for any of some positions to come: bounds that hold for
/// all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Pieces of White and Black.
    counts: [usize; 2],
    /// The fewest of both together, and the most.
    total: [usize; 2],
    /// Pawns at home in all of them.
    home: Bitboard,
}

impl Bounds {
    /// The bounds of these positions.
    pub(super) fn of<'m>(moments: impl IntoIterator<Item = &'m Moment>) -> Bounds {
        let mut bounds = Bounds {
            counts: [usize::MAX; 2],
            total: [usize::MAX, 0],
            home: Bitboard::FULL,
        };
        for moment in moments {
            for (least, side) in bounds.counts.iter_mut().zip(moment.sides) {
                *least = (*least).min(side.count());
            }
            let count = moment.occupied().count();
            let [least, most] = &mut bounds.total;
            (*least, *most) = ((*least).min(count), (*most).max(count));
            let [pawns, ..] = moment.roles;
            bounds.home &= home(pawns, moment.sides);
        }
        bounds
    }

    /// Whether none of them can come any more, with so many plies to come: each
    /// takes one piece at most.
    pub(super) fn are_past(&self, moment: &Moment, plies: usize) -> bool {
        let [_, most] = self.total;
        let mut counts = self.counts.iter().zip(moment.sides);
        counts.any(|(least, side)| side.count() < *least)
            || moment.occupied().count().saturating_sub(plies) > most
            || (self.home & !moment.home_pawns()).any()
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
                let mut moment = Moment::of(&position(fen));
                moment.play(Some(m));
                let mut after = rules.clone();
                after.play_unchecked(m);
                let after = after.to_setup(EnPassantMode::Legal);
                let after = Position::from_setup(after, CastlingMode::Chess960);
                assert_eq!(moment, Moment::of(&after), "{fen} {m:?}");
            }
        }
    }

    #[test]
    fn a_pawn_on_the_first_rank_may_still_come_home() {
        let usual = Moment::of(&position("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"));
        assert_eq!(usual.home_pawns(), Bitboard::from_square(Square::E2));
        let odd = Moment::of(&position("4k3/8/8/8/8/8/8/4KP2 w - - 0 1"));
        assert_eq!(odd.home_pawns(), Bitboard::FULL);
    }
}
