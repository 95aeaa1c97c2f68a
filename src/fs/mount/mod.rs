//! What is mounted: one thing, opened anew when it changed, or a directory of
//! them.

mod broken;
pub(crate) mod folder;
pub(crate) mod live_base;
pub(crate) mod snapshot;
pub(crate) mod whole;
