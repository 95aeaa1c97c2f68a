//! Games that a book names. CTG books name none.

use crate::game::GameResult;

/// The number of a game in one of the book's sources, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameReference {
    /// The source.
    pub source: u16,
    /// The game in it.
    pub game: u32,
}

/// Where the games of a source lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Nowhere.
    Empty,
    /// In a PGN file: the address of a game is its offset in bytes.
    Pgn,
    /// On a page of the web.
    Web,
    /// In a ChessBase database: the address of a game is the offset of its
    /// record in the `.cbh`.
    Cbh,
    /// Somewhere else; the number is the file's.
    Other(u8),
}

/// A source of games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameSource {
    /// What it is.
    pub kind: SourceKind,
    /// Whether the book marks it as unavailable.
    pub is_bad: bool,
    /// A path as the book's program wrote it, or a URL.
    pub address: String,
    /// How many games of it the book lists.
    pub games: u32,
}

/// What a book knows of a game it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencedGame {
    /// Where it lies in its source, see [`SourceKind`].
    pub address: u32,
    /// Its length there in bytes.
    pub length: u32,
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// White's rating, 0 if unknown.
    pub white_elo: u16,
    /// Black's rating, 0 if unknown.
    pub black_elo: u16,
    /// How it ended.
    pub result: GameResult,
}
