//! `players/`, `tournaments/`, `annotators/`, `sources/`, `teams/`: a
//! directory for each that has games.

use super::super::DatabaseVolume;
use super::super::groups::number_of;
use super::RootView;
use crate::cbh::{EntityId, EntityKind, GameGroup};
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Ino, Listing, Node};

/// `players/` and the like.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Entities(pub(in super::super) EntityKind);

impl Entities {
    pub(in super::super) const fn number(self) -> Ino {
        Ino(6 + self.0 as u64)
    }

    /// The kind that a directory is of.
    pub(in super::super) fn kind_of(directory: Ino) -> Option<EntityKind> {
        let mut kinds = EntityKind::ALL.into_iter();
        kinds.find(|kind| Entities(*kind).number() == directory)
    }
}

impl RootView for Entities {
    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        Ok(base.directory_node(ino, 1))
    }

    fn lookup(&self, base: &DatabaseVolume, _: Ino, name: &[u8]) -> Result<Node, Error> {
        let id = base.groups.named(base.base.as_ref(), self.0)?.find(name);
        base.group_node(GameGroup::Entity(self.0, id.ok_or(Error::NotFound)?))
    }

    /// By ascending id, whose cookie is the id + 3.
    fn list(
        &self,
        base: &DatabaseVolume,
        _: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let named = base.groups.named(base.base.as_ref(), self.0)?;
        let first = u32::try_from(after.saturating_sub(2)).unwrap_or(u32::MAX);
        for id in (first..named.bound()).map(EntityId) {
            let group = GameGroup::Entity(self.0, id);
            if !base.has_games(group)? {
                continue;
            }
            let Some(name) = named.file_name(id) else {
                continue;
            };
            let entry = DirEntry {
                name: &name,
                node: base.directory_node(number_of(group), 2),
                cookie: u64::from(id.0) + 3,
            };
            if !listing(&entry) {
                break;
            }
        }
        Ok(())
    }
}
