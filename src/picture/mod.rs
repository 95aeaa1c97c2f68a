//! Boards as pictures, and pages for browsers.
//!
//! | module | what |
//! |---|---|
//! | [`board`] | a position as SVG, with arrows and marked squares |
//! | `pieces.rs` | the drawings of the pieces |
//! | [`text`] | text in pages and pictures: the one function that escapes it |
//!
//! Whatever a base says is text here, never markup: it gets into a page by
//! [`text::append`] alone.

pub mod board;
mod pieces;
pub mod text;
