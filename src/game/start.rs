//! The start position of a game.

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Setup};

use super::Position;

/// The start of a game: the usual position, or a set-up one.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The position before the first ply.
    pub position: Position,
    /// Whether PGN writes `SetUp` and `FEN`. A base may demand that for the
    /// usual position, too.
    pub is_set_up: bool,
    /// Whether the castling rules are those of Chess960.
    pub is_chess960: bool,
    /// Number of the first move, from 1; 0 means 1.
    pub move_number: u16,
    /// The original FEN, if [`append_fen_to`](Start::append_fen_to) would lose
    /// a part of it: a half-move clock, a move number above 255, castling
    /// rights that do not fit the pieces.
    pub written_fen: Option<String>,
}

/// Maximum number of a first move that a base can store.
const MAX_FIRST_MOVE: u16 = 255;

impl Start {
    /// Returns a set-up start. Castling rights without king and rook in place
    /// are dropped, and an en passant square without a pawn to take.
    pub fn set_up(setup: Setup, mode: CastlingMode, move_number: u16) -> Start {
        Start {
            position: Position::from_setup(setup, mode),
            is_set_up: true,
            is_chess960: mode == CastlingMode::Chess960,
            move_number,
            written_fen: None,
        }
    }

    /// Parses a FEN. The original is kept if the start cannot hold all of it.
    /// `None` if it is no FEN, or the move number is above 65535.
    pub fn from_fen(fen: &str, mode: CastlingMode) -> Option<Start> {
        let setup = Fen::from_ascii(fen.trim().as_bytes()).ok()?.into_setup();
        let (rights, clock, number) = (setup.castling_rights, setup.halfmoves, setup.fullmoves);
        let mut start = Start::set_up(setup, mode, u16::try_from(number.get()).ok()?);
        let keeps_rights = start.position.castling_rights() == rights;
        if !keeps_rights || clock != 0 || start.move_number > MAX_FIRST_MOVE {
            let mut canonical = Vec::new();
            start.append_fen_to(&mut canonical);
            let canonical = String::from_utf8_lossy(&canonical);
            let mut fields: Vec<&str> = canonical.split(' ').take(4).collect();
            let given = fen
                .trim()
                .split([' ', '_'])
                .filter(|field| !field.is_empty());
            if let (Some(castling), Some(given)) = (fields.get_mut(2), given.clone().nth(2))
                && !keeps_rights
            {
                *castling = given;
            }
            start.written_fen = Some(format!("{} {clock} {number}", fields.join(" ")));
        }
        Some(start)
    }

    /// The same, with the FEN kept if a base cannot store the number of the
    /// first move.
    #[must_use]
    pub fn with_number_kept(mut self) -> Start {
        if self.move_number > MAX_FIRST_MOVE && self.written_fen.is_none() {
            let mut fen = Vec::new();
            self.append_fen_to(&mut fen);
            self.written_fen = String::from_utf8(fen).ok();
        }
        self
    }

    /// Returns whether both have the same position, and first move numbers that
    /// are equal when stored in a base.
    pub fn is_stored_as(&self, other: &Start) -> bool {
        let fen = |start: &Start| {
            let number = start.first_move_number().min(MAX_FIRST_MOVE.into());
            let mut fen = Vec::new();
            start.position.append_fen_to(number, &mut fen);
            fen
        };
        self.is_set_up == other.is_set_up
            && self.is_chess960 == other.is_chess960
            && (self.is_one_with(other) || fen(self) == fen(other))
    }

    fn is_one_with(&self, other: &Start) -> bool {
        self.move_number == other.move_number && self.position == other.position
    }

    /// Number of the first move, at least 1.
    pub fn first_move_number(&self) -> u32 {
        u32::from(self.move_number.max(1))
    }

    /// Appends the FEN of the start: castling letters `KQkq` (the rook's file
    /// only where they would be ambiguous), an en passant square only if a pawn
    /// can take there, half-move clock 0.
    pub fn append_fen_to(&self, out: &mut Vec<u8>) {
        self.position.append_fen_to(self.first_move_number(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(fen: &str) -> Start {
        Start::from_fen(fen, CastlingMode::Standard).unwrap()
    }

    #[test]
    fn a_fen_is_kept_only_if_a_start_cannot_hold_it() {
        let plain = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 12";
        assert_eq!(start(plain).written_fen, None);
        assert_eq!(start(plain).first_move_number(), 12);
        for kept in [
            "4k3/8/8/8/8/8/8/R3K3 w Q - 7 12",
            "4k3/8/8/8/8/8/8/R3K3 w KQ - 0 12",
            "4k3/8/8/8/8/8/8/R3K3 w Q - 0 300",
        ] {
            assert_eq!(start(kept).written_fen.as_deref(), Some(kept));
        }
        let most = format!("4k3/8/8/8/8/8/8/R3K3 w Q - 0 {MAX_FIRST_MOVE}");
        assert_eq!(start(&most).written_fen, None);
        for none in ["", "no FEN", "4k3/8/8/8/8/8/8/R3K3 w Q - 0 65536"] {
            assert!(
                Start::from_fen(none, CastlingMode::Standard).is_none(),
                "{none}"
            );
        }
    }

    #[test]
    fn a_number_of_the_first_move_that_no_base_can_store_is_kept_in_the_fen() {
        let from_move = |move_number| {
            let start = Start {
                move_number,
                ..Start::default()
            };
            start.with_number_kept().written_fen
        };
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 256";
        assert_eq!(from_move(MAX_FIRST_MOVE + 1).as_deref(), Some(fen));
        assert_eq!(from_move(MAX_FIRST_MOVE), None);
        let kept = "4k3/8/8/8/8/8/8/R3K3 w Q - 7 300";
        let start = start(kept).with_number_kept();
        assert_eq!(start.written_fen.as_deref(), Some(kept));
    }

    #[test]
    fn starts_are_stored_alike_up_to_the_highest_move_number() {
        let fen = |number: u32| start(&format!("4k3/8/8/8/8/8/8/R3K3 w Q - 0 {number}"));
        assert!(fen(3).is_stored_as(&fen(3)));
        assert!(!fen(3).is_stored_as(&fen(4)));
        assert!(fen(300).is_stored_as(&fen(400)));
        assert!(!fen(3).is_stored_as(&start("4k3/8/8/8/8/8/8/R3K3 w - - 0 3")));
        assert!(Start::default().is_stored_as(&Start::default()));
        assert!(!fen(1).is_stored_as(&Start::default()));
    }
}
