//! Planning of one save: which bytes of which files change.

pub(in crate::cbh) mod diff;
pub(in crate::cbh) mod history;
pub(in crate::cbh) mod rewrite;
pub(in crate::cbh) mod save;
