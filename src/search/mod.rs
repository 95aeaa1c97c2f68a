//! Search: games that match a query, and the moves played in a position.
//!
//! A [`Query`] consists of [`Term`]s, parsed from text. A [`Filter`] is a query
//! prepared for one [`SearchedGames`] of games. [`scan()`] searches the source on all
//! cores and passes the matching games to a [`Collector`]. A [`Counter`] is a maker
//! that counts the moves ([`Played`]) in a position. Results are exact: what a
//! header does not decide is decided by the game itself.
//!
//! | module | does |
//! |---|---|
//! | `parse`, `term`, `help` | terms as they are written, as values, and told to people |
//! | `fold` | text without case and accents, patterns |
//! | `source` | what is asked of the games |
//! | `filter` | which games fit: headers first, then games |
//! | `moments`, `remarks` | what is asked of a game itself |
//! | `walk`, `board` | the moments of a game, and the board there |
//! | `moves` | moves of a position with their statistics |
//! | `index`, `reach`, `game_set` | the same kept for all positions of a base |
//! | `segment` | and in a file |
//! | `table` | moves as text |
//! | `refused_queries` | queries that are none, and why |
//! | `scan` | all games on all cores |
//!
//! Positions are compared by their [keys](crate::game::PositionKey). This
//! module is independent of storage and presentation.

mod board;
mod filter;
mod fold;
mod game_set;
mod help;
mod index;
mod moments;
mod moves;
mod parse;
mod reach;
mod refused_queries;
mod remarks;
mod scan;
mod segment;
mod source;
mod table;
mod term;
mod walk;

pub use filter::Filter;
pub use fold::{Pattern, fold};
pub use game_set::GameSet;
pub use help::TERM_HELP;
pub use index::{MOST_CHANGED, PositionTable, Reached};
pub use moves::{Counter, Played, Statistics};
pub use parse::{NoPosition, Query, TERMS, TermError, position};
pub use refused_queries::RefusedQueries;
pub use scan::{Collector, Ended, Fitting, Give, ScanEvent, Selected, scan, select};
pub use segment::{NewSegment, Phase, Segment, masks_file, positions_of_headers};
pub use source::{
    Contents, GamesReader, NameField, SHORT_ANSWER, SearchedContent, SearchedGames, SearchedHeader,
    SourceError,
};
pub use table::{MOVE_COLUMNS, PlayedMove};
pub use term::{
    Army, DateRange, EcoRange, Field, Material, Outcome, Range, Round, Side, Squares, Term, Test,
    Wanted,
};
pub use walk::first_ply_at;
