//! `games/`: every game that is not deleted.

use super::super::{DatabaseVolume, GAME};
use super::RootView;
use crate::cbh::{Entry, RecordKind};
use crate::fs::volume::{Ino, Listing, Node};
use crate::fs::{Error, Role};
use crate::names;

/// `games/`
#[derive(Debug)]
pub(in super::super) struct Games;

impl Games {
    pub(in super::super) const NUMBER: Ino = Ino(2);

    /// Whether a record is listed.
    pub(in super::super) fn lists(entry: Entry) -> bool {
        entry.kind == RecordKind::Game && !entry.is_deleted
    }
}

impl RootView for Games {
    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        Ok(base.directory_node(ino, 2))
    }

    fn lookup(&self, base: &DatabaseVolume, _: Ino, name: &[u8]) -> Result<Node, Error> {
        let id = base.id_of_name(name).ok_or(Error::NotFound)?;
        base.game(id, Games::lists)
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        _: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        base.list_games(after, listing)
    }

    fn role(&self, base: &DatabaseVolume, _: Ino, name: &[u8]) -> Role {
        let Some(id) = base.id_of_name(name) else {
            return if names::is_pgn(name) {
                Role::New
            } else {
                Role::Scratch
            };
        };
        let ino = Ino::new(GAME, id.0);
        match base.any_entry(id) {
            Some(entry) if Games::lists(entry) => Role::File(ino),
            Some(entry) if entry.kind == RecordKind::Game => Role::Deleted(ino),
            None if id.0 == base.base.last_id().saturating_add(1) => Role::New,
            _ => Role::Refused,
        }
    }
}
