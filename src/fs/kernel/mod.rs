//! What was reported to the kernel, so that it can be invalidated.

pub(crate) mod lookups;
pub(crate) mod names;
