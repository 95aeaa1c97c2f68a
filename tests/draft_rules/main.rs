//! The rules of saving, on a mount of texts with a simple grammar: each rule by
//! itself, random requests, and many threads.

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
