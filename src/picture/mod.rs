//! Boards as pictures, and pages for browsers.
//!
//! | module | what |
//! |---|---|
//! | [`board`] | a position as SVG, with arrows and marked squares |
//! | `event/` | what events came to |
//! | [`game`] | the page of a game |
//! | [`groups`] | pages of players, events and openings |
//! | [`index`] | the index of a base |
//! | `moves.rs` | its moves, with the position after each |
//! | [`opening`] | the figures of an opening, and its moves |
//! | [`page`] | what all pages have, style and script |
//! | `pieces.rs` | the drawings of the pieces |
//! | [`player`] | the figures of a player |
//! | `plot.rs` | plots |
//! | `symbol.rs` | signs of annotators |
//! | [`tables`] | tables of games, and pages in pieces |
//! | [`text`] | text in pages and pictures: the one function that escapes it |
//!
//! Whatever a base says is text here, never markup: it gets into a page by
//! [`text::append`] alone.

pub mod board;
mod event;
pub mod game;
pub mod groups;
pub mod index;
mod moves;
pub mod opening;
pub mod page;
mod pieces;
pub mod player;
mod plot;
mod symbol;
pub mod tables;
pub mod text;
