//! One record of a book as it is stored: seen by the side to move.

use shakmaty::{CastlingSide, Role};

use super::GameReference;

/// What a book has of one position. "We" are the side to move, and the board
/// is turned as [`CanonicalBoard`](super::CanonicalBoard) has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The moves, in the order of the book.
    pub moves: Vec<StoredMove>,
    /// Games with the position, unfinished ones too where they are counted.
    pub games: u32,
    /// Games that we won.
    pub wins: u32,
    /// Games that we lost.
    pub losses: u32,
    /// Drawn games.
    pub draws: u32,
    /// Our points in tenths, evaluated lines included; `None` if the format
    /// has no such number.
    pub score: Option<u32>,
    /// Ratings of our players; `None` if the format has none.
    pub our_ratings: Option<RatingSum>,
    /// Ratings of those who just moved.
    pub their_ratings: Option<RatingSum>,
    /// What the book recommends; 0 if the format has no flags.
    pub flags: u8,
    /// How much the program likes the move that led here; `None` if the
    /// format has no such number.
    pub weight: Option<i8>,
    /// A NAG on the position as if we were White; 0 is none.
    pub comment: u8,
    /// What is written about the position.
    pub text: Option<String>,
    /// Games that end their way through the book here.
    pub last_here: Vec<GameReference>,
    /// One game with the position.
    pub sample: Option<GameReference>,
}

/// Ratings of several players.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RatingSum {
    /// How many of them have one.
    pub players: u32,
    /// All ratings added up.
    pub sum: u32,
}

/// A move of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredMove {
    /// The byte in the book.
    pub code: u8,
    /// What it means; `None` if the byte has no meaning.
    pub way: Option<Way>,
    /// What it means if that is no legal move: programs differ on a few.
    pub otherwise: Option<Way>,
    /// The byte beside it: a NAG, or what nobody knows.
    pub annotation: u8,
}

/// A move as book formats write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Castling.
    Castle(CastlingSide),
    /// A piece goes by files and ranks, both modulo 8.
    Step {
        /// What moves.
        role: Role,
        /// Which of its kind, from 1, counted a1, a2 … h8 on the turned board.
        nth: u8,
        /// Files to the right, 0 to 7.
        files: u8,
        /// Ranks up, 0 to 7.
        ranks: u8,
    },
}
