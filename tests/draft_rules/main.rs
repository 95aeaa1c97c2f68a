//! What becomes of what programs write, on a mount of texts with a simple
//! grammar: the rules row by row, any requests in any order, and many threads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking"
)]

mod mock;
mod random;
mod rules;
mod threads;
