//! Games that fit a query, and what was played in a position.
//!
//! A [`Query`] is made of [`Term`]s, each understood from the words that people
//! write; a [`Filter`] is a query made ready for one [`Source`] of games.
//! [`scan`] goes through the source on all cores and hands the games that fit
//! to a [`Maker`]; a [`Counter`] is one that counts the [moves](Played) of a
//! position. All answers are exact: what a header does not tell is asked of the
//! game itself.
//!
//! | module | does |
//! |---|---|
//! | `parse`, `term` | terms as they are written, and as values |
//! | `fold` | text without case and accents, patterns |
//! | `source` | what is asked of the games |
//! | `filter` | which games fit: headers first, then games |
//! | `moments`, `remarks` | what is asked of a game itself |
//! | `walk`, `board` | the moments of a game, and the board there |
//! | `moves` | moves of a position with their statistics |
//! | `index`, `game_set` | the same kept for all positions of a base |
//! | `table` | moves as text |
//! | `scan` | all games on all cores |
//!
//! Two positions are the same if their [keys](crate::game::PositionKey) are.
//! Nothing here knows how a base is stored or shown.

mod board;
mod filter;
mod fold;
mod game_set;
mod index;
mod moments;
mod moves;
mod parse;
mod remarks;
mod scan;
mod source;
mod table;
mod term;
mod walk;

pub use filter::Filter;
pub use fold::{Pattern, fold};
pub use game_set::GameSet;
pub use index::{Index, Reached};
pub use moves::{Counter, Played, Statistics};
pub use parse::{NoPosition, Query, TERMS, TermError, position};
pub use scan::{Ended, Give, Maker, Told, scan, select};
pub use source::{Content, Contents, Fault, Header, Names, Reader, Source};
pub use table::{MOVE_COLUMNS, PlayedMove};
pub use term::{
    Army, DateRange, EcoRange, Field, Material, Outcome, Range, Round, Side, Squares, Term, Test,
    Wanted,
};
pub use walk::first_ply_at;
