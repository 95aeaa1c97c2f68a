//! HTML, as far as guiding texts need it: read leniently, written back as a
//! complete document.
//!
//! | module | what |
//! |---|---|
//! | [`token`] | tags, texts and comments, one after the other |
//! | [`entity`] | `&amp;` and its like, both ways |
//! | [`charset`] | the encoding that a page declares |
//! | [`document`] | a page made whole, its links rewritten |
//!
//! This is no parser of trees: a page is a sequence of tokens, cut where a
//! browser cuts it, and all but the tokens that must change is copied as it
//! is. Everything takes time linear in the page, whatever it holds.

mod charset;
mod document;
mod entity;
mod token;

pub use charset::declared_encoding;
pub use document::{Page, for_each_address, has_content};
