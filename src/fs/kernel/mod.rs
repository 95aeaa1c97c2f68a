//! Names and attributes that the kernel may cache, to be invalidated.

pub(crate) mod lookups;
pub(crate) mod names;
