//! The piece placement of each moment of a game, which most terms can be
//! decided by.
//!
//! The moves of a tree are legal, so pieces are moved without further checks. A
//! full [`Position`] is computed only where the placement equals that of a
//! wanted position, to compare castling rights and en passant captures.

use shakmaty::{Bitboard, Move};

use super::term::home;
use crate::game::{Placement, Position, PositionKey};

/// Squares of pawns that have not moved. If there are pawns on the first or
/// last rank, which is irregular, also all squares that these can come to.
pub(super) fn home_pawns(placement: &Placement) -> Bitboard {
    let [pawns, ..] = placement.roles;
    if (pawns & Bitboard::BACKRANKS).any() {
        return Bitboard::FULL;
    }
    home(pawns, placement.sides)
}

/// A moment of a game: its placement, and its position if requested.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    /// The placement.
    pub(super) placement: Placement,
    /// The position before the moves in `since`.
    position: Position,
    /// Moves after that position.
    since: Vec<Option<Move>>,
}

impl Moment {
    /// The start of a game.
    pub(super) fn start(position: &Position) -> Moment {
        Moment {
            placement: Placement::of(position),
            position: position.clone(),
            since: Vec::new(),
        }
    }

    /// Advances by a move.
    pub(super) fn play(&mut self, m: Option<Move>) {
        self.placement.play(m);
        self.since.push(m);
    }

    /// The position. Each move is played once, however often this is called.
    pub(super) fn position(&mut self) -> &Position {
        for moves in self.since.split_inclusive(Option::is_none) {
            // The moves of a tree are legal.
            self.position.follow(moves.iter().copied().flatten());
            if moves.ends_with(&[None]) {
                self.position.play_null();
            }
        }
        self.since.clear();
        &self.position
    }

    /// The key of the position.
    pub(super) fn key(&mut self) -> PositionKey {
        self.position().key()
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
        (self.home & !home_pawns(placement)).any()
            || counts.any(|(least, side)| side.count() < *least)
            || placement.occupied().count().saturating_sub(plies) > most
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{CastlingMode, Chess, EnPassantMode, Position as _, Square, fen::Fen};

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
        assert_eq!(home_pawns(&usual), Bitboard::from_square(Square::E2));
        let odd = Placement::of(&position("4k3/8/8/8/8/8/8/4KP2 w - - 0 1"));
        assert_eq!(home_pawns(&odd), Bitboard::FULL);
    }
}
