//! The stored moves of a base, as bytes.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::path::PathBuf;

use cbfs::cbh::{Database, GameId, Options};

use common::fixtures;

#[test]
fn stored_moves_are_whole_or_an_error() {
    let base = fixture("damage");
    let database = Database::open(&base, &Options::default()).unwrap();
    let mut buffer = Vec::new();
    let mut sizes = |id| match database.moves_blob(GameId(id), &mut buffer) {
        Ok(blob) => Ok((stored_size(blob), blob.len())),
        Err(error) => Err(error.to_string()),
    };
    let (stored, read) = sizes(1).unwrap();
    assert_eq!(stored, read);
    for id in [0, 10, 1000] {
        assert_eq!(sizes(id), Err(format!("no game has the number {id}")));
    }
    for (id, fault) in [(2, "0 left"), (3, "blob size is 0")] {
        let told = sizes(id).unwrap_err();
        assert!(told.contains(fault), "{told}");
    }
}

/// The size that the head of a blob tells.
fn stored_size(blob: &[u8]) -> usize {
    u32::from_be_bytes([0, blob[1], blob[2], blob[3]]) as usize
}

fn fixture(name: &str) -> PathBuf {
    let folder = fixtures().join("cbh").join(name);
    folder.join(name).with_extension("cbh")
}
