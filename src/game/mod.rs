//! One game as a value, belonging to no format.
//!
//! A [`Game`] is what every format room decodes to and encodes from: who
//! played where ([`Headers`]), from which position ([`Start`]), and the moves
//! with all variations ([`MoveTree`]). Words used here as chess players use
//! them:
//!
//! * **ply**: one move of one side; the tree is made of plies.
//! * **main line**: from the start, always the first child.
//! * **variation**: any later child, an alternative to the main move.
//! * **set-up position**: a start other than the usual one.
//!
//! Only legal moves stand in a tree: [`Line::play`] is the one way to add a
//! ply, and it asks [`Position`] first.

mod annotation;
mod attacks;
mod board;
mod date;
mod defect;
mod eco;
mod find;
mod headers;
mod key;
mod mover;
mod nag;
mod nation;
mod position;
mod rating;
mod result;
mod san;
mod shown;
mod start;
mod tree;

pub use annotation::{
    Annotation, Annotations, Answer, Arrow, ByPly, ColoredSquare, Evaluation, MAX_REMARKS, Phase,
    ProfilePoint, Quotation, Stage, Text, TimeSpent, Training, VariationColor,
};
pub use board::Board;
pub use date::Date;
pub use defect::Defect;
pub use eco::Eco;
pub use find::{NoSuchMove, PieceMove};
pub use headers::{
    EventKind, GameTag, HIGHEST_ELO, Headers, PlayerName, RatingType, Source, Speed, Team,
    Tournament,
};
pub use key::PositionKey;
pub use nag::{NagClass, nag_places, nags_in_order};
pub use nation::Nation;
pub use position::{IllegalMove, Position};
pub use rating::rating_difference;
pub use result::GameResult;
pub use san::San;
pub use shown::{MAX_WORD_BYTES, ShownWord, shown_characters, shown_words, word_parts};
pub use start::Start;
pub use tree::{Branch, Line, MAX_PLIES, MoveTree, Ply, PlyId};

/// One game: its headers, its start position and its moves.
///
/// A `Game` is meant to be reused: [`Game::clear`] empties it and keeps the
/// memory, so decoding a million games allocates for the largest of them.
#[derive(Clone, Debug, Default)]
pub struct Game {
    /// Who, where, when and with what result.
    pub headers: Headers,
    /// The position before the first ply.
    pub start: Start,
    /// The moves, main line and variations.
    pub tree: MoveTree,
    /// Remarks on the moves and on the whole game.
    pub annotations: Annotations,
    /// Tag pairs of a PGN that no header has a place for, name and value, in
    /// order. One of a header's name is what the header cannot hold.
    pub foreign_tags: Vec<(String, String)>,
    /// What the text that the game was read from leaves open.
    pub open: Open,
}

/// What a text leaves open of the remarks of its game. If it is an edited text
/// of a stored game, that stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The language of texts that do not name theirs; until that is known they
    /// are in none.
    pub language: bool,
    /// The lead of texts that do not name theirs, likewise.
    pub lead: bool,
    /// Whether texts after a ply may be about the next one.
    pub places: bool,
    /// Plies before which a text stands by their name only, which another ply
    /// may have too.
    pub named: Vec<PlyId>,
}

impl Game {
    /// Makes this the empty game: no headers, usual start, no moves.
    pub fn clear(&mut self) {
        self.headers.clear();
        self.start = Start::default();
        self.tree.clear();
        self.annotations.clear();
        self.foreign_tags.clear();
        self.open = Open::default();
    }
}
