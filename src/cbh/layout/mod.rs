//! Records and small files, both directions, and how text is stored in them.

pub(in crate::cbh) mod codepage;
pub(crate) mod date;
pub mod extended;
pub(in crate::cbh) mod foreign_tags;
pub mod record;
pub(in crate::cbh) mod shown;
pub(in crate::cbh) mod top_games;
