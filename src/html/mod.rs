//! HTML as far as guiding texts need it: lenient reading, and writing of
//! complete documents.
//!
//! | module | what |
//! |---|---|
//! | [`token`] | splits a page into tags, texts and comments |
//! | [`entity`] | character references such as `&amp;`, both ways |
//! | [`charset`] | the encoding that a page declares |
//! | [`document`] | completes a page, its links rewritten |
//!
//! There is no tree of elements. A page is a sequence of tokens, split where a
//! browser splits it; tokens that need no change are copied unchanged. The time
//! is linear in the length of the page, for any input.

mod charset;
mod document;
mod entity;
mod token;

pub use charset::declared_encoding;
pub use document::{DocumentFrame, for_each_address, has_content};
