//! Temporary texts, which nothing is left of when the program ends.

mod buffer;
mod pool;
mod shared;
mod spool;

pub use buffer::Buffer;
pub use pool::Pool;
pub(crate) use shared::{SharedBuffer, reader_of};
pub use spool::Spool;
