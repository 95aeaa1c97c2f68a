//! `pgn/`: directories in one piece.
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

use super::directory::{Directory, Whole};
use super::{DatabaseVolume, names};
use crate::cbh::{EntityId, EntityKind, Group};
use crate::vfs::Error;
use crate::vfs::volume::{DirEntry, Ino, Listing, Node, NodeKind, Size};

const ALL: &str = "all.pgn";
const ALL_NUMBER: Ino = Ino::new(32, 1);

/// From the kind of number of a directory to that of its file.
const STEP: u8 = 31;

impl DatabaseVolume {
    /// A file in `pgn/`, by its number.
    pub(super) fn whole_file(&self, ino: Ino) -> Result<Node, Error> {
        match directory_of(ino) {
            Some(directory) if self.has(directory)? => Ok(self.whole_node(directory)),
            _ => Err(Error::NotFound),
        }
    }

    pub(super) fn lookup_whole(&self, whole: Whole, name: &[u8]) -> Result<Node, Error> {
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        if whole == Whole::Top {
            let mut all = Whole::ALL.into_iter();
            return match all.find(|(other, _)| *other == name) {
                Some((_, whole)) => Ok(self.directory_node(Directory::Whole(whole))),
                None if name == ALL => Ok(self.whole_node(Directory::Games)),
                None => Err(Error::NotFound),
            };
        }
        let stem = names::stem(name).ok_or(Error::NotFound)?;
        let directory = match whole {
            Whole::Top => None,
            Whole::Entities(kind) => self.find_whole(kind, name, stem),
            Whole::Eco => find_code(stem),
            Whole::Years => Directory::Years.child(stem.as_bytes()),
        };
        match directory {
            Some(directory) if self.has(directory)? => Ok(self.whole_node(directory)),
            _ => Err(Error::NotFound),
        }
    }

    /// The player, the team … whose file has this name.
    fn find_whole(&self, kind: EntityKind, name: &str, stem: &str) -> Option<Directory> {
        let named = self.groups.named(self.base.as_ref(), kind)?;
        let is_named = |id: &EntityId| {
            let file_name = named.file_name(*id);
            file_name.is_some_and(|directory| names::whole(directory, id.0) == name)
        };
        let same = named.find(stem.as_bytes()).filter(is_named);
        // If the name was cut, it ends in the id.
        let cut = || names::last_id(stem).map(EntityId).filter(is_named);
        let id = same.or_else(cut)?;
        Some(Directory::Group(Group::Entity(kind, id)))
    }

    pub(super) fn list_whole(
        &self,
        whole: Whole,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        match whole {
            Whole::Top => {
                self.list_whole_top(after, listing);
                Ok(())
            }
            Whole::Entities(kind) => self.list_whole_entities(kind, after, listing),
            Whole::Eco | Whole::Years => self.list_whole_children(whole, after, listing),
        }
    }

    fn list_whole_top(&self, after: u64, listing: &mut Listing<'_>) {
        let all = (ALL, self.whole_node(Directory::Games));
        let directories = Whole::ALL.into_iter().map(|(name, whole)| {
            let node = self.directory_node(Directory::Whole(whole));
            (name, node)
        });
        for (cookie, (name, node)) in (3..).zip([all].into_iter().chain(directories)) {
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                return;
            }
        }
    }

    fn list_whole_entities(
        &self,
        kind: EntityKind,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        self.list_entities(kind, after, &mut |entry| {
            let Some(directory) = Directory::of(entry.node.ino) else {
                return true;
            };
            listing(&DirEntry {
                name: &names::whole(entry.name.to_owned(), entry.node.ino.index()),
                node: self.whole_node(directory),
                cookie: entry.cookie,
            })
        })
    }

    fn list_whole_children(
        &self,
        whole: Whole,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut name = String::new();
        for (cookie, directory) in (3..).zip(children(whole)) {
            if cookie <= after || !self.has(directory)? {
                continue;
            }
            directory.format(&mut name);
            name.push_str(".pgn");
            let node = self.whole_node(directory);
            let name = &name;
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    /// The file that stands for `directory`.
    fn whole_node(&self, directory: Directory) -> Node {
        Node {
            ino: file_of(directory),
            kind: NodeKind::File(Size::Concatenation(directory.ino())),
            links: 1,
            modified: self.modified(),
        }
    }
}

/// The number of the file that stands for `directory`.
fn file_of(directory: Directory) -> Ino {
    let ino = directory.ino();
    match ino.kind() {
        0 => ALL_NUMBER,
        kind => Ino::new(kind + STEP, ino.index()),
    }
}

/// What the file of this number stands for.
fn directory_of(file: Ino) -> Option<Directory> {
    if file == ALL_NUMBER {
        return Some(Directory::Games);
    }
    let kind = file.kind().checked_sub(STEP)?;
    let directory = Directory::of(Ino::new(kind, file.index()))?;
    matches!(directory, Directory::Group(_)).then_some(directory)
}

/// What `pgn/eco/` or `pgn/years/` can list, in order.
fn children(whole: Whole) -> Vec<Directory> {
    let parents = match whole {
        Whole::Eco => vec![Directory::Eco],
        Whole::Years => vec![Directory::Years],
        Whole::Top | Whole::Entities(_) => Vec::new(),
    };
    let mut groups = Vec::new();
    for (_, child) in parents.into_iter().flat_map(Directory::children) {
        match child {
            Directory::EcoLetter(_) => {
                groups.extend(child.children().into_iter().map(|(_, code)| code));
            }
            _ => groups.push(child),
        }
    }
    groups
}

/// `B90` or `none`.
fn find_code(name: &str) -> Option<Directory> {
    let letter = |name: &str| Directory::Eco.child(name.get(..1)?.as_bytes());
    let found = match Directory::Eco.child(name.as_bytes()) {
        Some(found) => Some(found),
        None => letter(name)?.child(name.as_bytes()),
    };
    found.filter(|found| matches!(found, Directory::Group(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_files_and_directories_tell_each_other() {
        let groups = [Whole::Eco, Whole::Years].into_iter().flat_map(children);
        let entities = EntityKind::ALL.map(|kind| Group::Entity(kind, EntityId(u32::MAX)));
        let mut all: Vec<_> = groups.chain(entities.map(Directory::Group)).collect();
        assert_eq!(all.len(), 501 + 4096 + EntityKind::ALL.len());
        all.push(Directory::Games);
        for directory in all {
            let file = file_of(directory);
            assert_eq!(directory_of(file), Some(directory));
            assert!((32..=40).contains(&file.kind()), "{directory:?}");
            assert_eq!(Directory::of(file), None);
        }
        for other in [
            Ino::ROOT,
            Ino(2),
            Ino::new(1, 5),
            Ino::new(32, 0),
            Ino::new(38, 0),
        ] {
            assert_eq!(directory_of(other), None);
        }
    }
}
