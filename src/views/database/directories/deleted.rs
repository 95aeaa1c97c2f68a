//! `deleted/`: games and texts that are marked as deleted.

use super::super::DatabaseVolume;
use super::RootView;
use crate::cbh::Entry;
use crate::fs::Error;
use crate::fs::volume::{Ino, Listing, Node};

/// `deleted/`
#[derive(Debug)]
pub(in super::super) struct Deleted;

impl Deleted {
    pub(in super::super) const NUMBER: Ino = Ino(3);

    /// Whether a record is listed.
    fn lists(entry: Entry) -> bool {
        entry.is_deleted
    }
}

impl RootView for Deleted {
    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        Ok(base.directory_node(ino, 2))
    }

    fn lookup(&self, base: &DatabaseVolume, _: Ino, name: &[u8]) -> Result<Node, Error> {
        match base.id_of_name(name) {
            Some(id) => base.game(id, Deleted::lists),
            None => base.text_named(name, Deleted::lists),
        }
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        _: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        base.list_records(Deleted::lists, after, listing)
    }
}
