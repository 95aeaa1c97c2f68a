//! Texts, lengths and files in one piece: made once, kept, measured, read
//! ahead.

pub(crate) mod concatenation;
pub(crate) mod lengths;
pub(crate) mod once;
pub(crate) mod text;
pub(crate) mod texts;
