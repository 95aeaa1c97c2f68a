//! The interface between a search and the games it searches.

use std::error::Error;
use std::io;
use std::ops::Range;
use std::time::Duration;

use crate::game::{Date, Eco, Game, GameResult, Glimpse, Moments};
use crate::storage;

/// Error of a source.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// How long an answer is kept that lacks a game because of an error that may pass.
pub const SHORT_ANSWER: Duration = Duration::from_secs(10);

/// Whether an error is one of the system that [may pass](storage::may_pass).
pub(super) fn may_pass(error: &SourceError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error.as_ref());
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return storage::may_pass(error);
        }
        cause = error.source();
    }
    false
}

/// A text field whose values games share, so that each value is matched once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameField {
    /// Players as `Last, First`.
    Players,
    /// Titles of events.
    Events,
    /// Places of events, numbered as [`NameField::Events`].
    Sites,
    /// Annotators.
    Annotators,
    /// Titles of publications.
    Sources,
    /// Teams; the second and later teams of a club have their number appended.
    Teams,
}

/// Games, numbered from 1; some numbers may be unused.
pub trait SearchedGames: Sync {
    /// The highest number.
    fn last(&self) -> u32;

    /// Calls `take` with the headers of the games in a range, in order. Teams
    /// are read only if `with_teams` is set.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the headers cannot be read.
    fn headers(
        &self,
        numbers: Range<u32>,
        with_teams: bool,
        take: &mut dyn FnMut(&SearchedHeader),
    ) -> Result<(), SourceError>;

    /// Calls `take` with each name and its number. A game may refer to a
    /// missing number; that field is then empty.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the names cannot be read.
    fn names(&self, names: NameField, take: &mut dyn FnMut(u32, &str)) -> Result<(), SourceError>;

    /// Returns a reader of games for one thread.
    fn reader(&self) -> Box<dyn GamesReader + '_>;
}

/// Reads games one by one.
pub trait GamesReader {
    /// Returns the game with this number as far as it can be read.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if nothing of the game can be read.
    fn read(&mut self, number: u32) -> Result<&Game, SourceError>;

    /// As [`read`](GamesReader::read), but for the start and the moves only: the headers
    /// of the game say nothing, and it has no annotations.
    ///
    /// # Errors
    ///
    /// As [`read`](GamesReader::read).
    fn read_moves(&mut self, number: u32) -> Result<&Game, SourceError>;

    /// Shows the placements at these moments of the main line of a game, in order,
    /// until `show` returns false. A game with moves that are not legal may show more
    /// than [`read_moves`](GamesReader::read_moves) gives. Returns false if the game must
    /// be read instead; what was shown then tells nothing.
    fn glance(
        &mut self,
        number: u32,
        moments: Moments,
        show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> bool;

    /// Returns the mark of what the last game was read from.
    fn mark(&self) -> u64;

    /// Returns the mark of what a game would be read from: another one if the
    /// game could be another.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if nothing of the game can be read.
    fn mark_of(&mut self, number: u32) -> Result<u64, SourceError>;
}

/// The data of a game without its moves and annotations.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchedHeader {
    /// Number of the game.
    pub number: u32,
    /// Whether it is deleted.
    pub is_deleted: bool,
    /// Numbers of White and Black among [`NameField::Players`].
    pub players: [u32; 2],
    /// Number of the event.
    pub event: u32,
    /// Number of the annotator.
    pub annotator: u32,
    /// Number of the source.
    pub source: u32,
    /// Numbers of the teams of White and Black.
    pub teams: [Option<u32>; 2],
    /// Date of the game.
    pub date: Date,
    /// Result of the game.
    pub result: GameResult,
    /// Round, 0 if not given.
    pub round: u16,
    /// Game within the round, 0 if not given.
    pub subround: u16,
    /// Ratings of White and Black, 0 if not given.
    pub elo: [u16; 2],
    /// Opening code.
    pub eco: Option<Eco>,
    /// Number of moves in the main line.
    pub moves: u16,
    /// Whether the real number of moves may be higher.
    pub has_more_moves: bool,
    /// The contents of the game, as far as the header shows them.
    pub contents: Contents,
}

/// A kind of content other than the moves of the main line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedContent {
    /// A text with words.
    Comments,
    /// Variations.
    Variations,
    /// NAGs: `!`, `+-` and the like.
    Symbols,
    /// Arrows.
    Arrows,
    /// Remaining or spent time.
    Clocks,
    /// Engine evaluations.
    Evaluations,
    /// Training questions.
    Training,
    /// Medals.
    Medals,
}

impl SearchedContent {
    /// All kinds, with their names in queries.
    pub const ALL: [(&'static str, SearchedContent); 8] = [
        ("comments", SearchedContent::Comments),
        ("variations", SearchedContent::Variations),
        ("symbols", SearchedContent::Symbols),
        ("arrows", SearchedContent::Arrows),
        ("clocks", SearchedContent::Clocks),
        ("evaluations", SearchedContent::Evaluations),
        ("training", SearchedContent::Training),
        ("medals", SearchedContent::Medals),
    ];
}

/// The contents of a game, as far as its header shows them; initially all
/// unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    known: u8,
    has: u8,
}

impl Contents {
    /// Sets whether the game has this content.
    pub fn say(&mut self, content: SearchedContent, has: bool) {
        let bit = 1 << content as u8;
        self.known |= bit;
        self.has = self.has & !bit | if has { bit } else { 0 };
    }

    /// Returns whether the game has this content; `None` if the header does not
    /// show it.
    pub fn has(self, content: SearchedContent) -> Option<bool> {
        let bit = 1 << content as u8;
        (self.known & bit != 0).then_some(self.has & bit != 0)
    }
}
