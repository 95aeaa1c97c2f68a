//! References of a book to games. CTG books have none.

use crate::game::GameResult;

/// A game by its source and its index in that source, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameReference {
    /// Index of the source.
    pub source: u16,
    /// Index of the game.
    pub game: u32,
}

/// The kind of a source of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// No source.
    Empty,
    /// A PGN file. The address of a game is its byte offset.
    Pgn,
    /// A web page.
    Web,
    /// A ChessBase database. The address of a game is the offset of its record
    /// in the `.cbh`.
    Cbh,
    /// Another kind, with its number in the file.
    Other(u8),
}

/// A source of games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameSource {
    /// Kind of the source.
    pub kind: SourceKind,
    /// Whether the book marks it as unavailable.
    pub is_bad: bool,
    /// A path as the program wrote it, or a URL.
    pub address: String,
    /// Number of its games that the book lists.
    pub games: u32,
}

/// The data of a referenced game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencedGame {
    /// Address of the game in its source; see [`SourceKind`].
    pub address: u32,
    /// Length in the source in bytes.
    pub length: u32,
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// White's rating, 0 if unknown.
    pub white_elo: u16,
    /// Black's rating, 0 if unknown.
    pub black_elo: u16,
    /// Result of the game.
    pub result: GameResult,
}
