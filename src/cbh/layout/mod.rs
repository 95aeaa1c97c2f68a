//! Records and small files of a base, both reading and writing, and the
//! encoding of text in them.

pub(in crate::cbh) mod codepage;
pub(crate) mod date;
pub mod extended;
pub(in crate::cbh) mod foreign_tags;
pub mod record;
pub(in crate::cbh) mod shown;
pub(in crate::cbh) mod top_games;
