//! A stored record of a book, seen by the side to move.

use shakmaty::{CastlingSide, Role};

use super::GameReference;

/// The stored data of one position. "We" are the side to move, on the
/// normalized board of [`CanonicalBoard`](super::CanonicalBoard).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionRecord {
    /// The moves, in the order of the book.
    pub moves: Vec<StoredMove>,
    /// Number of games with the position, unfinished ones included if they are
    /// counted.
    pub games: u32,
    /// Number of games that we won.
    pub wins: u32,
    /// Number of games that we lost.
    pub losses: u32,
    /// Number of drawn games.
    pub draws: u32,
    /// Our points in tenths, evaluated lines included; `None` if the format has
    /// no points.
    pub score: Option<u32>,
    /// Ratings of our players; `None` if the format has none.
    pub our_ratings: Option<RatingSum>,
    /// Ratings of the players who just moved.
    pub their_ratings: Option<RatingSum>,
    /// Recommendation flags; 0 if the format has none.
    pub flags: u8,
    /// How much the program likes the move to this position; `None` if the
    /// format has no weights.
    pub weight: Option<i8>,
    /// A NAG on the position, as if we were White; 0 for none.
    pub comment: u8,
    /// A comment on the position.
    pub text: Option<String>,
    /// Games that leave the book here.
    pub last_here: Vec<GameReference>,
    /// A sample game with the position.
    pub sample: Option<GameReference>,
}

/// Sum of ratings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RatingSum {
    /// Number of players with a rating.
    pub players: u32,
    /// Sum of their ratings.
    pub sum: u32,
}

/// A stored move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredMove {
    /// Its byte in the book.
    pub code: u8,
    /// Its meaning; `None` if the byte has none.
    pub meaning: Option<RelativeMove>,
    /// Another meaning, if the first is no legal move: programs disagree about
    /// a few bytes.
    pub alternative: Option<RelativeMove>,
    /// The annotation byte: a NAG or unknown.
    pub annotation: u8,
}

/// A move relative to the pieces of the normalized board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeMove {
    /// Castling.
    Castle(CastlingSide),
    /// A move of a piece by files and ranks, both modulo 8.
    Step {
        /// Role of the piece.
        role: Role,
        /// Which piece of the role, from 1, counted a1, a2 … h8 on the
        /// normalized board.
        nth: u8,
        /// Number of files to the right, 0 to 7.
        files: u8,
        /// Number of ranks up, 0 to 7.
        ranks: u8,
    },
}
