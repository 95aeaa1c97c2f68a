//! A directory of bases, mounted as one.
//!
//! Each base is a directory in the root, and has a number, which is a part of
//! its inode numbers. It comes from the name alone, so that it is the same at the
//! next mount; where two names want the same, the one first in the alphabet
//! has it and the other takes the next free one. A base that went away keeps
//! its number for as long as the mount lives.
//!
//! Nothing is opened before somebody looks into it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{RwLock, RwLockReadGuard};

use crate::fs::content::text::digest;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::mount::snapshot::Shared;
use crate::fs::source::Source;
use crate::fs::status::{self, About, Mounting, StatusReport, StatusTree, Subject};
use crate::fs::tree::Tree;
use crate::fs::volume::{DirEntry, Ino, Node, NodeKind, VolumeSize};
use crate::fs::{Attr, Bytes, Error, ListingWithAttrs};
use crate::names;

/// A base or book in a directory of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseInFolder {
    /// As its directory is called; no two have one name.
    pub name: String,
    /// The file that stands for it.
    pub path: PathBuf,
}

/// Where the bases of a directory come from.
pub trait Bases: Debug + Send + Sync {
    /// The directory.
    fn path(&self) -> &Path;

    /// When bases came or went last.
    fn modified(&self) -> SystemTime;

    /// The bases that are there, by name; `None` if they are those that were
    /// told last.
    ///
    /// # Errors
    ///
    /// The line that says why the directory cannot be listed.
    fn list_if_changed(&self) -> Result<Option<Vec<BaseInFolder>>, String>;

    /// What opens the one at `path`.
    fn source(&self, path: &Path) -> Box<dyn Source>;
}

/// A directory of bases.
#[derive(Debug)]
pub(crate) struct BaseFolder {
    folder: Box<dyn Bases>,
    shared: Shared,
    places: RwLock<FolderBases>,
    about: About,
}

#[derive(Debug, Default)]
struct FolderBases {
    /// Those that are there, by number.
    shown: BTreeMap<u64, NamedBase>,
    /// Every base that was ever there, by its path: it keeps its name and its
    /// number.
    known: HashMap<PathBuf, NamedBase>,
    has_overflowed: bool,
    /// When other bases were found than before. What the folder itself says
    /// moves with each journal that comes and goes in it.
    modified: Option<SystemTime>,
}

#[derive(Clone, Debug)]
struct NamedBase {
    name: String,
    live: Arc<LiveBase>,
}

impl BaseFolder {
    /// Shows the bases that are in `folder`.
    pub(crate) fn new(folder: Box<dyn Bases>, shared: Shared) -> Result<BaseFolder, String> {
        let folder = BaseFolder {
            folder,
            shared,
            places: RwLock::default(),
            about: About::default(),
        };
        let bases = folder.folder.list_if_changed()?.unwrap_or_default();
        folder.arrange(bases);
        Ok(folder)
    }

    fn places(&self) -> RwLockReadGuard<'_, FolderBases> {
        self.places.read()
    }

    /// Shows these bases; gives those that are shown no more. Those that are
    /// known keep their names, new ones get names that are free.
    fn arrange(&self, bases: Vec<BaseInFolder>) -> Vec<Arc<LiveBase>> {
        let mut places = self.places.write();
        let mut before = std::mem::take(&mut places.shown);
        let count = before.len();
        let (known, new): (Vec<_>, Vec<_>) = bases
            .into_iter()
            .partition(|base| places.known.contains_key(&base.path));
        for base in known.into_iter().chain(new) {
            if let Some(place) = self.place_of(base, &mut places) {
                before.remove(&place.live.number());
                places.shown.insert(place.live.number(), place);
            }
        }
        if places.modified.is_none() || !before.is_empty() || places.shown.len() != count {
            places.modified = Some(self.folder.modified());
        }
        before.into_values().map(|place| place.live).collect()
    }

    /// When what the root lists was last changed.
    fn listed(&self) -> SystemTime {
        let listed = self.places().modified;
        listed.unwrap_or_else(|| self.folder.modified())
    }

    /// Name and number of this base, new ones if need be.
    fn place_of(
        &self,
        BaseInFolder { name, path }: BaseInFolder,
        places: &mut FolderBases,
    ) -> Option<NamedBase> {
        if let Some(place) = places.known.get(&path) {
            return Some(place.clone());
        }
        let name = places.free_name(name);
        if let Some(number) = places.free_number(&name) {
            let source = self.folder.source(&path);
            let live = Arc::new(LiveBase::new(number, Some(source), self.shared.clone()));
            let place = NamedBase { name, live };
            places.known.insert(path, place.clone());
            return Some(place);
        }
        if !places.has_overflowed {
            log::error!(
                "{}: more than {} bases; {name} and others are not shown",
                self.folder.path().display(),
                Ino::LAST_BASE_NUMBER
            );
            places.has_overflowed = true;
        }
        None
    }

    /// Looks which bases there are; gives the directories that list others
    /// now, or have gone.
    pub(crate) fn refresh(&self) -> Vec<Ino> {
        let bases = match self.folder.list_if_changed() {
            Ok(Some(bases)) => bases,
            Ok(None) => return Vec::new(),
            // What cannot be listed at the moment has not become empty.
            Err(why) => {
                log::debug!("{why}");
                return Vec::new();
            }
        };
        let before = self.numbers();
        let mut directories = Vec::new();
        for gone in self.arrange(bases) {
            gone.close();
            directories.extend(gone.reported_directories());
        }
        if self.numbers() != before {
            directories.push(Ino::ROOT);
        }
        directories
    }

    fn numbers(&self) -> Vec<u64> {
        self.places().shown.keys().copied().collect()
    }

    /// The base of this number; one that is not shown any more is an error.
    pub(crate) fn live_base(&self, number: u64) -> Result<Arc<LiveBase>, Error> {
        let places = self.places();
        match places.shown.get(&number) {
            Some(place) => Ok(Arc::clone(&place.live)),
            None if places
                .known
                .values()
                .any(|place| place.live.number() == number) =>
            {
                Err(Error::Stale)
            }
            None => Err(Error::NotFound),
        }
    }

    /// All bases that are shown.
    pub(crate) fn live_bases(&self) -> Vec<Arc<LiveBase>> {
        let places = self.places();
        let live_bases = places.shown.values();
        live_bases.map(|place| Arc::clone(&place.live)).collect()
    }

    /// The same with those that went away.
    pub(crate) fn known_bases(&self) -> Vec<Arc<LiveBase>> {
        let places = self.places();
        let known = places.known.values();
        known.map(|place| Arc::clone(&place.live)).collect()
    }

    /// Its `.cbfs/`.
    pub(crate) fn status(&self) -> StatusTree<'_> {
        self.about.of(self)
    }

    /// How large those are that were looked into.
    pub(crate) fn statistics(&self) -> VolumeSize {
        let mut all = VolumeSize::default();
        for snapshot in self.live_bases().iter().filter_map(|live| live.opened()) {
            let one = snapshot.volume.statistics();
            all.bytes = all.bytes.saturating_add(one.bytes);
            all.files = all.files.saturating_add(one.files);
        }
        all
    }

    /// The directory of bases.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How many files the largest base may have.
    pub(crate) fn guess(&self) -> u64 {
        let live_bases = self.live_bases();
        let guesses = live_bases
            .iter()
            .filter_map(|live| Some(live.source()?.guess()));
        guesses.max().unwrap_or(0)
    }
}

impl Tree for BaseFolder {
    /// A base is not opened for that.
    fn lookup(&self, _: Ino, name: &[u8]) -> Result<Attr, Error> {
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        let live = {
            let places = self.places();
            let mut shown = places.shown.values();
            let place = shown.find(|place| place.name == name);
            Arc::clone(&place.ok_or(Error::NotFound)?.live)
        };
        live.tell_directory(Ino::ROOT);
        Ok(Attr::of_directory(&root_of(&live)))
    }

    fn attr(&self, _: Ino) -> Result<Attr, Error> {
        let count = self.places().shown.len();
        Ok(Attr::of_directory(&Node {
            ino: Ino::ROOT,
            kind: NodeKind::Directory,
            links: 2 + u32::try_from(count).unwrap_or(0),
            modified: self.listed(),
        }))
    }

    fn parent(&self, _: Ino) -> Result<Ino, Error> {
        Ok(Ino::ROOT)
    }

    /// No base is opened for that.
    fn list(
        &self,
        _: Ino,
        after: u64,
        with_attrs: bool,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        let from = after.saturating_sub(2) + 1;
        let places: Vec<NamedBase> = {
            let places = self.places();
            let rest = places.shown.range(from..);
            rest.map(|(_, place)| place.clone()).collect()
        };
        for NamedBase { name, live } in places {
            let node = root_of(&live);
            let entry = DirEntry {
                name: &name,
                node,
                cookie: live.number() + 2,
            };
            if !listing(&entry, with_attrs.then(|| Ok(Attr::of_directory(&node)))) {
                break;
            }
            live.tell_directory(Ino::ROOT);
        }
        Ok(())
    }

    fn read(&self, _: Ino, _: u64, _: u32) -> Result<Bytes, Error> {
        Err(Error::IsADirectory)
    }
}

impl Subject for BaseFolder {
    fn modified(&self) -> SystemTime {
        self.listed()
    }

    fn mounting(&self) -> Option<&Mounting> {
        self.shared.mounting.get()
    }

    fn report(&self) -> StatusReport {
        let mut places: Vec<NamedBase> = self.places().shown.values().cloned().collect();
        places.sort_by(|one, other| one.name.cmp(&other.name));
        let bases = places
            .into_iter()
            .map(|NamedBase { name, live }| status::Base {
                name,
                snapshot: live.opened(),
                shown: live.shown(),
            });
        let bases: Vec<_> = bases.collect();
        status::of_folder(self.folder.path(), &bases, &self.shared)
    }
}

impl FolderBases {
    /// `name`, or if a base has that, the name followed by a number.
    fn free_name(&self, name: String) -> String {
        let taken: HashSet<&str> = self.known.values().map(|place| &*place.name).collect();
        if !taken.contains(&*name) {
            return name;
        }
        let numbered = |id| {
            let mut numbered = name.clone();
            names::append_id(&mut numbered, id);
            numbered
        };
        let mut free = (2..).map(numbered);
        free.find(|name| !taken.contains(&**name)).unwrap_or(name)
    }

    /// The number for a new name.
    fn free_number(&self, name: &str) -> Option<u64> {
        let places = self.known.values();
        let taken: HashSet<u64> = places.map(|place| place.live.number()).collect();
        let wanted = u64::from(digest(name.as_bytes())) % Ino::LAST_BASE_NUMBER;
        (0..Ino::LAST_BASE_NUMBER)
            .map(|step| (wanted + step) % Ino::LAST_BASE_NUMBER + 1)
            .find(|number| !taken.contains(number))
    }
}

/// The directory of a base in the root.
fn root_of(live: &LiveBase) -> Node {
    let opened = live.opened();
    let known = opened.and_then(|snapshot| snapshot.volume.node(Ino::ROOT).ok());
    let node = known.unwrap_or_else(|| Node {
        ino: Ino::ROOT,
        kind: NodeKind::Directory,
        // Not known: how many directories there are in it.
        links: 1,
        modified: live.source().map_or(UNIX_EPOCH, Source::modified),
    });
    Node {
        ino: Ino::ROOT.in_base(live.number()),
        ..node
    }
}
