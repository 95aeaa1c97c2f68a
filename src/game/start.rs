//! The position a game starts from.

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Setup};

use super::Position;

/// Where a game starts: the usual position, or one that was set up.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The position before the first ply.
    pub position: Position,
    /// Whether PGN needs `SetUp` and `FEN` for it. A base may say so of the
    /// usual position too.
    pub is_set_up: bool,
    /// Whether castling is that of Chess960.
    pub is_chess960: bool,
    /// Number of the first move, from 1; 0 stands for 1.
    pub move_number: u16,
    /// The FEN as it was written, where [`append_fen_to`](Start::append_fen_to)
    /// says less: a half-move clock, a number beyond 255, castling rights that
    /// do not fit.
    pub written_fen: Option<String>,
}

/// The highest number of a first move that a base can hold.
const MAX_FIRST_MOVE: u16 = 255;

impl Start {
    /// A set-up start. Castling rights without king and rook in place and an
    /// en passant square without a pawn to take are dropped.
    pub fn set_up(setup: Setup, mode: CastlingMode, move_number: u16) -> Start {
        Start {
            position: Position::from_setup(setup, mode),
            is_set_up: true,
            is_chess960: mode == CastlingMode::Chess960,
            move_number,
            written_fen: None,
        }
    }

    /// The start of a FEN, which is kept as it was written where it says more
    /// than the start. `None` for what is no FEN, and for move numbers beyond
    /// 65535.
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

    /// Whether both have the same position, and numbers of the first move that
    /// a base does not tell from each other.
    pub fn is_stored_as(&self, other: &Start) -> bool {
        let fen = |start: &Start| {
            let number = start.first_move_number().min(MAX_FIRST_MOVE.into());
            let mut fen = Vec::new();
            start.position.append_fen_to(number, &mut fen);
            fen
        };
        self.is_set_up == other.is_set_up
            && self.is_chess960 == other.is_chess960
            && fen(self) == fen(other)
    }

    /// Number of the first move, at least 1.
    pub fn first_move_number(&self) -> u32 {
        u32::from(self.move_number.max(1))
    }

    /// The FEN of the start: castling letters `KQkq` (the rook's file only
    /// where that would be ambiguous), an en passant square only if a pawn
    /// can take there, half-move clock 0.
    pub fn append_fen_to(&self, out: &mut Vec<u8>) {
        self.position.append_fen_to(self.first_move_number(), out);
    }
}
