//! Names that no volume has, and names of games that are not shown.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::SystemTime;

use super::FIRST_COOKIE;
use crate::fs::{Error, Ino};

/// Files of editors and the like, at most.
const MOST_FILES: usize = 10_000;

/// Further names of games, at most; then the oldest goes.
const MOST_LINKS: usize = 10_000;

/// A name in a directory.
pub(super) type Place = (Ino, Box<str>);

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum NameTarget {
    /// The file of a draft.
    File(u32),
    /// A game that was made of what was written under this name.
    Link(Ino),
    /// Nothing: the game was renamed. It comes back with a new file of this
    /// name, or when its backup goes.
    Gone {
        game: Ino,
        backup: u32,
        /// Whether the name was not the game's own.
        is_link: bool,
    },
}

/// All such names.
#[derive(Debug, Default)]
pub(super) struct DraftNames {
    directories: HashMap<Ino, ScratchDirectory>,
    next: u64,
    files: usize,
    /// Whether names or saved files have changed since the kernel was last told to
    /// invalidate its caches.
    pub(super) is_changed: bool,
    /// Names of links, the oldest first; some may have gone.
    links: VecDeque<Place>,
}

#[derive(Debug)]
struct ScratchDirectory {
    entries: BTreeMap<Box<str>, (u64, NameTarget)>,
    /// When something came or went.
    modified: SystemTime,
}

impl DraftNames {
    /// What `name` stands for.
    pub(super) fn get(&self, directory: Ino, name: &str) -> Option<&NameTarget> {
        let directory = self.directories.get(&directory)?;
        directory.entries.get(name).map(|(_, entry)| entry)
    }

    /// When names came or went in this directory for the last time.
    pub(super) fn modified(&self, directory: Ino) -> Option<SystemTime> {
        let directory = self.directories.get(&directory)?;
        Some(directory.modified)
    }

    /// The names in this directory with their cookies, in that order.
    pub(super) fn of(&self, directory: Ino) -> Vec<(u64, Box<str>, NameTarget)> {
        let directory = self.directories.get(&directory);
        let entries = directory.iter().flat_map(|directory| &directory.entries);
        let mut all: Vec<_> = entries
            .map(|(name, (cookie, entry))| (*cookie, name.clone(), entry.clone()))
            .collect();
        all.sort_by_key(|(cookie, ..)| *cookie);
        all
    }

    /// Whether there is room for one more file.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        if self.files >= MOST_FILES {
            return Err(Error::NoSpace);
        }
        Ok(())
    }

    /// Lets a name stand for `entry`; gives what it stood for.
    pub(super) fn set(
        &mut self,
        place: &Place,
        entry: NameTarget,
        now: SystemTime,
    ) -> Option<NameTarget> {
        let before = self.remove(place, now);
        match &entry {
            NameTarget::File(_) => self.files += 1,
            NameTarget::Link(_) => {
                self.links.push_back(place.clone());
                self.forget_links(now);
            }
            NameTarget::Gone { .. } => {}
        }
        self.is_changed = true;
        let cookie = FIRST_COOKIE + self.next;
        self.next += 1;
        let directory = self.directories.entry(place.0);
        let directory = directory.or_insert_with(|| ScratchDirectory {
            entries: BTreeMap::new(),
            modified: now,
        });
        directory.modified = now;
        directory.entries.insert(place.1.clone(), (cookie, entry));
        before
    }

    /// Forgets a name; gives what it stood for.
    pub(super) fn remove(&mut self, place: &Place, now: SystemTime) -> Option<NameTarget> {
        let directory = self.directories.get_mut(&place.0)?;
        let (_, entry) = directory.entries.remove(&place.1)?;
        directory.modified = now;
        self.is_changed = true;
        if matches!(entry, NameTarget::File(_)) {
            self.files = self.files.saturating_sub(1);
        }
        Some(entry)
    }

    fn forget_links(&mut self, now: SystemTime) {
        while self.links.len() > MOST_LINKS {
            let Some(oldest) = self.links.pop_front() else {
                return;
            };
            if matches!(self.get(oldest.0, &oldest.1), Some(NameTarget::Link(_))) {
                self.remove(&oldest, now);
            }
        }
    }
}
