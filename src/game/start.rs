//! The position a game starts from.

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
}

impl Start {
    /// A set-up start. Castling rights without king and rook in place and an
    /// en passant square without a pawn to take are dropped.
    pub fn set_up(setup: Setup, mode: CastlingMode, move_number: u16) -> Start {
        Start {
            position: Position::from_setup(setup, mode),
            is_set_up: true,
            is_chess960: mode == CastlingMode::Chess960,
            move_number,
        }
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
