//! Temporary texts, which nothing is left of when the program ends.

mod buffer;
mod pool;

pub use buffer::Buffer;
pub use pool::Pool;
