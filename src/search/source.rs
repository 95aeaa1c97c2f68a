//! What a search asks of the games it goes through.

use std::error::Error;
use std::ops::Range;

use crate::game::{Date, Eco, Game, GameResult};

/// Why a source could not say something.
pub type Fault = Box<dyn Error + Send + Sync>;

/// A field of text that many games share, so that it is compared once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Players, `Last, First`.
    Players,
    /// Titles of events.
    Events,
    /// Where events took place; numbered as [`Names::Events`].
    Sites,
    /// Annotators.
    Annotators,
    /// Titles of sources.
    Sources,
    /// Teams, with the number of the second and later ones of a club.
    Teams,
}

/// Games, numbered from 1, some numbers unused.
pub trait Source: Sync {
    /// The highest number.
    fn last(&self) -> u32;

    /// Gives what the headers of the games with these numbers say, in order;
    /// their teams only `with_teams`.
    ///
    /// # Errors
    ///
    /// [`Fault`] if the headers cannot be read.
    fn headers(
        &self,
        numbers: Range<u32>,
        with_teams: bool,
        take: &mut dyn FnMut(&Header),
    ) -> Result<(), Fault>;

    /// Gives each name with its number. A game may name one that is not given:
    /// then its field is empty.
    ///
    /// # Errors
    ///
    /// [`Fault`] if the names cannot be read.
    fn names(&self, names: Names, take: &mut dyn FnMut(u32, &str)) -> Result<(), Fault>;

    /// Something that reads games, for one thread.
    fn reader(&self) -> Box<dyn Reader + '_>;
}

/// Reads games, one after the other.
pub trait Reader {
    /// The game with this number, as far as it can be read.
    ///
    /// # Errors
    ///
    /// [`Fault`] if nothing of it can be read.
    fn read(&mut self, number: u32) -> Result<&Game, Fault>;
}

/// What is known of a game without its moves and remarks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// Its number.
    pub number: u32,
    /// Whether it is deleted.
    pub is_deleted: bool,
    /// Numbers of White and Black among [`Names::Players`].
    pub players: [u32; 2],
    /// Number of the event.
    pub event: u32,
    /// Number of the annotator.
    pub annotator: u32,
    /// Number of the source.
    pub source: u32,
    /// Numbers of the teams of White and Black.
    pub teams: [Option<u32>; 2],
    /// When it was played.
    pub date: Date,
    /// How it ended.
    pub result: GameResult,
    /// Round, 0 if not given.
    pub round: u16,
    /// Game within the round, 0 if not given.
    pub subround: u16,
    /// Ratings of White and Black, 0 if not given.
    pub elo: [u16; 2],
    /// Opening code.
    pub eco: Option<Eco>,
    /// Moves of the main line.
    pub moves: u16,
    /// Whether there may be more moves than that.
    pub has_more_moves: bool,
    /// What the game has, as far as its header tells.
    pub contents: Contents,
}

/// Something that a game may have beside the moves of its main line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text with words.
    Comments,
    /// Variations.
    Variations,
    /// NAGs: `!`, `+-` and the like.
    Symbols,
    /// Arrows.
    Arrows,
    /// Clock times, or times spent.
    Clocks,
    /// Judgements of an engine.
    Evaluations,
    /// Training questions.
    Training,
    /// Medals.
    Medals,
}

impl Content {
    /// All of them, with the words for them.
    pub const ALL: [(&'static str, Content); 8] = [
        ("comments", Content::Comments),
        ("variations", Content::Variations),
        ("symbols", Content::Symbols),
        ("arrows", Content::Arrows),
        ("clocks", Content::Clocks),
        ("evaluations", Content::Evaluations),
        ("training", Content::Training),
        ("medals", Content::Medals),
    ];
}

/// What a header says of the contents of its game; at first nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    known: u8,
    has: u8,
}

impl Contents {
    /// Says that the game has this, or that it has not.
    pub fn say(&mut self, content: Content, has: bool) {
        let bit = 1 << content as u8;
        self.known |= bit;
        self.has = self.has & !bit | if has { bit } else { 0 };
    }

    /// Whether the game has this; `None` if the header does not tell.
    pub fn has(self, content: Content) -> Option<bool> {
        let bit = 1 << content as u8;
        (self.known & bit != 0).then_some(self.has & bit != 0)
    }
}
