//! Care of a whole base: checking, repairing, compacting.

pub(in crate::cbh) mod check;
pub(in crate::cbh) mod compact;
pub(in crate::cbh) mod repair;
mod verify;
