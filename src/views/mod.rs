//! What databases and opening books look like as directories.

pub mod book;
pub mod database;
mod positions;

use crate::cbh;
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Listing, Node};

impl From<cbh::Error> for Error {
    fn from(error: cbh::Error) -> Error {
        match error {
            cbh::Error::NotUsed(_) => Error::NotFound,
            other => Error::Damaged(other.to_string()),
        }
    }
}

/// Lists what has a place of its own in a directory: names and nodes, whose
/// cookies count from 3.
pub(crate) fn list_fixed(
    entries: impl IntoIterator<Item = (&'static str, Node)>,
    after: u64,
    listing: &mut Listing<'_>,
) {
    for (cookie, (name, node)) in (3..).zip(entries) {
        if cookie > after && !listing(&DirEntry { name, node, cookie }) {
            return;
        }
    }
}
