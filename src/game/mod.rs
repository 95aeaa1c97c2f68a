//! One game as a value, independent of any format.
//!
//! A [`Game`] is what each format decodes to and encodes from: its [`Headers`],
//! its [`Start`] position, the moves with all variations ([`MoveTree`]), and
//! the [`Annotations`]. Terms are used as by chess players:
//!
//! * **ply**: one move of one side; a node of the tree.
//! * **main line**: the first child of each ply, from the start on.
//! * **variation**: any other child, an alternative to the main move.
//! * **set-up position**: a start position other than the usual one.
//!
//! The tree contains only legal moves: [`TreeBuilder::play`] is the only way to add a
//! move, and it checks the move with [`Position`].

mod annotation;
mod attacks;
mod board;
mod date;
mod defect;
mod diagram;
mod eco;
mod find;
mod headers;
mod key;
mod mover;
mod nag;
mod nation;
mod placement;
mod position;
mod quoted;
mod rating;
mod result;
mod san;
mod shown;
mod start;
mod training;
mod tree;

pub use annotation::{
    Annotation, AnnotationText, Annotations, Arrow, ByPly, ColoredSquare, Evaluation,
    MAX_ANNOTATIONS, Phase, ProfilePoint, Quotation, Stage, TimeSpent, VariationColor,
};
pub use board::Board;
pub use date::Date;
pub use defect::Defect;
pub use diagram::board_text;
pub use eco::Eco;
pub use find::{NoSuchMove, PieceMove};
pub use headers::{
    EventKind, GameLabel, HIGHEST_ELO, Headers, PlayerName, RatingType, Source, Speed, Team,
    Tournament,
};
pub use key::PositionKey;
pub use nag::{NagClass, nag_places, nags_in_order, nags_stand_in_order};
pub use nation::Nation;
pub use placement::{Glimpse, Moments, MoveEffect, Placement, role_index};
pub use position::{IllegalMove, Position};
pub use quoted::{QuotedMove, append_quoted};
pub use rating::rating_difference;
pub use result::GameResult;
pub use san::San;
pub use shown::{
    MAX_WORD_BYTES, ShownWord, TextPart, cut, shown_characters, shown_in_comment, shown_in_quotes,
    shown_words, text_parts,
};
pub use start::Start;
pub use training::{Answer, Training};
pub use tree::{Branch, MAX_PLIES, MoveTree, Ply, PlyId, TreeBuilder, USUAL_PLIES};

/// One game: headers, start position, moves and annotations.
///
/// A `Game` can be reused: [`Game::clear`] empties it and keeps its memory, so
/// decoding a million games needs no more allocations than the largest of them.
#[derive(Clone, Debug, Default)]
pub struct Game {
    /// Players, event, date, result and the like.
    pub headers: Headers,
    /// The position before the first ply.
    pub start: Start,
    /// The moves, main line and variations.
    pub tree: MoveTree,
    /// Annotations of the moves and of the whole game.
    pub annotations: Annotations,
    /// PGN tag pairs without a header field, as name and value, in order. A
    /// pair with the name of a header contains what the header cannot store.
    pub foreign_tags: Vec<(String, String)>,
    /// Properties of the annotations that the PGN text did not specify.
    pub open: Unspecified,
}

/// Properties of annotations that a PGN text did not specify. In an edited text
/// of a stored game, they keep their stored values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unspecified {
    /// The language of texts without an explicit one. Until it is known, they
    /// have none.
    pub language: bool,
    /// The `lead` of texts without an explicit one, likewise.
    pub lead: bool,
    /// Whether texts after a ply may belong before the next one.
    pub places: bool,
    /// Plies with a text before them that is marked by the notation of the ply,
    /// which another ply may share.
    pub named: Vec<PlyId>,
    /// Those of them whose text stands behind a variation, and is about them by that.
    pub placed: Vec<PlyId>,
}

impl Game {
    /// Empties the game: no headers, usual start, no moves.
    pub fn clear(&mut self) {
        self.headers.clear();
        self.clear_moves();
    }

    /// Removes all but the headers, to read a game whose names may be those of
    /// the last one.
    pub fn clear_moves(&mut self) {
        self.start = Start::default();
        self.tree.clear();
        self.annotations.clear();
        self.foreign_tags.clear();
        self.open = Unspecified::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cleared_game_is_as_new() {
        let mut game = Game {
            start: Start::from_fen(
                "4k3/8/8/8/8/8/8/4K3 w - - 0 9",
                shakmaty::CastlingMode::Standard,
            )
            .unwrap(),
            foreign_tags: vec![("Mode".to_owned(), "OTB".to_owned())],
            ..Game::default()
        };
        game.headers.white.last = "Carlsen".to_owned();
        game.open.language = true;
        let ply = TreeBuilder::new(&mut game.tree, &game.start.position).play_null();
        game.annotations
            .add(ply, Annotation::TextAfter(AnnotationText::default()));
        game.clear_moves();
        assert_eq!(game.headers.white.last, "Carlsen");
        game.clear();
        assert_eq!(format!("{game:?}"), format!("{:?}", Game::default()));
    }
}
