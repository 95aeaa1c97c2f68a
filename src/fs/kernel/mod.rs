//! What the kernel was told, so that it can be called back.

pub(crate) mod lookups;
pub(crate) mod names;
