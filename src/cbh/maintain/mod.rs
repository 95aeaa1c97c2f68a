//! Maintenance of a whole base: check, repair, compaction.

pub(in crate::cbh) mod check;
pub(in crate::cbh) mod compact;
pub(in crate::cbh) mod repair;
mod verify;
