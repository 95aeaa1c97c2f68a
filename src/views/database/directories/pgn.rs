//! `pgn/`: directories of games in one piece.
//!
//! | path | number |
//! |---|---|
//! | `/pgn/` | kind 32, index 0 |
//! | `/pgn/all.pgn` | kind 32, index 1 |
//! | `/pgn/players/` and the like, `eco/`, `years/` | kind 32, index 2 to 8 |
//! | `/pgn/players/Carlsen, Magnus.pgn` and the like | that of the directory, its kind + 31 |
//!
//! The opening codes lie side by side here. Cookies count from 3, those of
//! entities are the id + 3.

use super::super::DatabaseVolume;
use super::super::groups::{format_name, group_of, number_of};
use super::{Eco, Entities, Games, RootView, Years};
use crate::cbh::EntityKind::{Annotator, Player, Source, Team, Tournament};
use crate::cbh::{EntityId, EntityKind, GameGroup};
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Ino, Listing, Node, NodeKind, Size};
use crate::names;
use crate::views::list_fixed;

/// The kind of number that `pgn/` and the directories in it have.
const KIND: u8 = 32;

const ALL: &str = "all.pgn";
const ALL_NUMBER: Ino = Ino::new(KIND, 1);

/// From the kind of number of a directory to that of its file.
const STEP: u8 = 31;

/// A directory in `pgn/`.
#[derive(Clone, Copy)]
enum GroupKind {
    Entities(EntityKind),
    Eco,
    Years,
}

/// The directories in `pgn/`, whose numbers count from 2.
const DIRECTORIES: [(&str, GroupKind); 7] = [
    ("players", GroupKind::Entities(Player)),
    ("tournaments", GroupKind::Entities(Tournament)),
    ("annotators", GroupKind::Entities(Annotator)),
    ("sources", GroupKind::Entities(Source)),
    ("teams", GroupKind::Entities(Team)),
    ("eco", GroupKind::Eco),
    ("years", GroupKind::Years),
];

/// `pgn/`
#[derive(Debug)]
pub(in super::super) struct Pgn;

impl Pgn {
    pub(in super::super) const NUMBER: Ino = Ino::new(KIND, 0);
}

/// The directory in `pgn/` that has this number.
fn directory_of(ino: Ino) -> Option<GroupKind> {
    let place = ino.index().checked_sub(2).filter(|_| ino.kind() == KIND)?;
    Some(DIRECTORIES.get(usize::try_from(place).ok()?)?.1)
}

/// The group whose games a file has.
fn group_of_file(file: Ino) -> Option<GameGroup> {
    let kind = file.kind().checked_sub(STEP)?;
    group_of(Ino::new(kind, file.index()))
}

impl RootView for Pgn {
    fn holds(&self, ino: Ino) -> bool {
        ino == ALL_NUMBER || directory_of(ino).is_some() || group_of_file(ino).is_some()
    }

    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        match (ino, group_of_file(ino)) {
            (Pgn::NUMBER, _) => Ok(base.directory_node(ino, 1)),
            (ALL_NUMBER, _) => Ok(base.whole(ino, Games::NUMBER)),
            (_, Some(group)) => base.whole_of(group),
            (_, None) => Ok(base.directory_node(ino, 2)),
        }
    }

    fn parent(&self, _: &DatabaseVolume, directory: Ino) -> Result<Ino, Error> {
        let found = directory_of(directory).map(|_| Pgn::NUMBER);
        found.ok_or(Error::NotADirectory)
    }

    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        if directory == Pgn::NUMBER {
            let mut entries = entries(base);
            let found = entries.find(|(entry, _)| entry.as_bytes() == name);
            return found.map(|(_, node)| node).ok_or(Error::NotFound);
        }
        let of = directory_of(directory).ok_or(Error::NotADirectory)?;
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        let stem = names::stem(name).ok_or(Error::NotFound)?;
        let group = match of {
            GroupKind::Entities(kind) => base.find_whole(kind, name, stem)?,
            GroupKind::Eco => Eco::parse(stem.as_bytes()),
            GroupKind::Years => Years::parse(stem.as_bytes()),
        };
        base.whole_of(group.ok_or(Error::NotFound)?)
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        if directory == Pgn::NUMBER {
            list_fixed(entries(base), after, listing);
            return Ok(());
        }
        match directory_of(directory).ok_or(Error::NotADirectory)? {
            GroupKind::Entities(kind) => base.list_whole_entities(kind, after, listing),
            GroupKind::Eco => base.list_whole(Eco::all(), after, listing),
            GroupKind::Years => base.list_whole(Years::all(), after, listing),
        }
    }
}

/// What `pgn/` lists.
fn entries(base: &DatabaseVolume) -> impl Iterator<Item = (&'static str, Node)> {
    let all = (ALL, base.whole(ALL_NUMBER, Games::NUMBER));
    let directories = (2..).zip(DIRECTORIES).map(|(index, (name, _))| {
        let ino = Ino::new(KIND, index);
        (name, base.directory_node(ino, 2))
    });
    [all].into_iter().chain(directories)
}

impl DatabaseVolume {
    /// The file `ino`, which has what `directory` lists.
    fn whole(&self, ino: Ino, directory: Ino) -> Node {
        Node {
            ino,
            kind: NodeKind::File(Size::Concatenation(directory)),
            links: 1,
            modified: self.modified(),
        }
    }

    /// The file of a group that has games.
    fn whole_of(&self, group: GameGroup) -> Result<Node, Error> {
        if !self.has_games(group)? {
            return Err(Error::NotFound);
        }
        let directory = number_of(group);
        let file = Ino::new(directory.kind() + STEP, directory.index());
        Ok(self.whole(file, directory))
    }

    /// The player, the team … whose file has this name.
    fn find_whole(
        &self,
        kind: EntityKind,
        name: &str,
        stem: &str,
    ) -> Result<Option<GameGroup>, Error> {
        let named = self.groups.named(self.base.as_ref(), kind)?;
        let is_named = |id: &EntityId| {
            let file_name = named.file_name(*id);
            file_name.is_some_and(|directory| names::whole(directory, id.0) == name)
        };
        let same = named.find(stem.as_bytes()).filter(is_named);
        // If the name was cut, it ends in the id.
        let cut = || names::last_id(stem).map(EntityId).filter(is_named);
        let id = same.or_else(cut);
        Ok(id.map(|id| GameGroup::Entity(kind, id)))
    }

    fn list_whole_entities(
        &self,
        kind: EntityKind,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let entities = Entities(kind);
        entities.list(self, entities.number(), after, &mut |entry| {
            let directory = entry.node.ino;
            let file = Ino::new(directory.kind() + STEP, directory.index());
            listing(&DirEntry {
                name: &names::whole(entry.name.to_owned(), directory.index()),
                node: self.whole(file, directory),
                cookie: entry.cookie,
            })
        })
    }

    fn list_whole(
        &self,
        groups: impl Iterator<Item = GameGroup>,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut name = String::new();
        for (cookie, group) in (3..).zip(groups).filter(|(cookie, _)| *cookie > after) {
            let node = match self.whole_of(group) {
                Ok(node) => node,
                Err(Error::NotFound) => continue,
                Err(error) => return Err(error),
            };
            format_name(group, &mut name);
            name.push_str(".pgn");
            let name = &name;
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files_and_directories_tell_each_other() {
        let entities = EntityKind::ALL.map(|kind| GameGroup::Entity(kind, EntityId(u32::MAX)));
        let all: Vec<_> = Eco::all().chain(Years::all()).chain(entities).collect();
        assert_eq!(all.len(), 501 + 4096 + EntityKind::ALL.len());
        for group in all {
            let directory = number_of(group);
            let file = Ino::new(directory.kind() + STEP, directory.index());
            assert_eq!(group_of_file(file), Some(group));
            assert!((33..=40).contains(&file.kind()), "{group:?}");
            assert!(Pgn.holds(file) && group_of(file).is_none());
        }
        for other in [
            Ino::ROOT,
            Ino(2),
            Ino::new(1, 5),
            Ino::new(32, 9),
            Ino::new(38, 0),
        ] {
            assert!(!Pgn.holds(other), "{other:?}");
        }
    }
}
