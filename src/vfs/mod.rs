//! The filesystem, without the kernel.
//!
//! [`Vfs`] answers the requests of a kernel (lookup, attributes, listing, read)
//! for a [`Volume`], which knows what is shown. Between the two are caches of
//! texts and of their lengths.
//!
//! ```text
//!   Vfs ── work beside the requests (background)
//!    ├─ BaseFolder      a directory of bases, each a LiveBase
//!    ├─ About           `.cbfs/` of each base and folder: what is known of it
//!    └─ LiveBase        one base, opened from its Source, and anew when that changed
//!        └─ Snapshot     one state of it: lengths (sizes), texts (cache)
//!            └─ Volume ── DatabaseVolume, BookVolume
//! ```
//!
//! Terms: a **node** is a file, directory or link with its inode number
//! ([`Ino`]); a **rendered** file is one whose text is generated when it is
//! read; a **mark** is a digest of such a text; a **cookie** is a position in a
//! listing; a **snapshot** is one state of a base, with everything computed
//! from it.
//!
//! Everything takes `&self` and is called by many threads at once. No lock is
//! held while a text is rendered to be read. Nothing in this room starts a thread (the
//! import of a file does, until it returns) or reads a clock: what is to be
//! done in the background waits in [`Background`] for a thread of the caller,
//! and the caller that mounts it provides a clock ([`Mounting`]).

#[cfg(test)]
mod concatenation_tests;
mod saves;
mod work;

pub use crate::drafts::{Access, Drafts, Handle, RenameMode};
pub use crate::fs::background::Background;
pub use crate::fs::content::lengths::{Measure, Sizes};
pub use crate::fs::content::text::Text;
pub use crate::fs::editor::{ChangedTexts, Edit, Editor, Input, Refusal, Role, Saved};
pub use crate::fs::mount::folder::{BaseInFolder, Bases};
pub use crate::fs::source::Source;
pub use crate::fs::status::{Messages, Mounting};
pub use crate::fs::volume::{
    Completeness, DirEntry, Facts, Fault, Ino, Listing, Node, NodeKind, NumberListing, Size,
    Volume, VolumeSize,
};
pub use crate::fs::{Attr, Bytes, Changes, Error, ListingWithAttrs};
pub use crate::names::{format_game, parse_game};
pub use crate::views::book::{self, BookOptions, BookSource, BookVolume};
pub use crate::views::database::{BasesFolder, DatabaseSource, DatabaseVolume, Shown, Writer};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::statvfs::statvfs;

use crate::fs::mount::folder::BaseFolder;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::mount::snapshot::{Shared, Snapshot};
use crate::fs::mount::whole::{InoTarget, Mount, MountRoot, with_mount_number};
use crate::fs::status as about;

/// How a [`Vfs`] works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of rendered texts to keep, of all that is mounted together.
    pub cache_bytes: usize,
    /// Bytes of drafts and scratch files, at most.
    pub scratch_bytes: u64,
    /// Directories in which each base has one for its rejected drafts; a draft
    /// goes to the first that can take it.
    pub state: Vec<PathBuf>,
    /// The latest warnings and errors, added by whoever logs.
    pub messages: Arc<Messages>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cache_bytes: 64 << 20,
            scratch_bytes: 256 << 20,
            state: Vec::new(),
            messages: Arc::default(),
        }
    }
}

/// The filesystem of one mount.
#[derive(Debug)]
pub struct Vfs {
    mount: Arc<Mount>,
    drafts: Drafts,
}

impl Vfs {
    /// Shows `volume`, which never changes.
    pub fn new(volume: Box<dyn Volume>, options: &Options) -> Vfs {
        let shared = Shared::new(options.cache_bytes, &options.messages);
        let base = LiveBase::new(0, None, shared.clone());
        base.show(volume);
        Vfs::of(MountRoot::One(Arc::new(base)), shared, options)
    }

    fn of(mounted: MountRoot, shared: Shared, options: &Options) -> Vfs {
        let mount = Arc::new(Mount { mounted, shared });
        let drafts = Drafts::new(Arc::clone(&mount), options.scratch_bytes, &options.state);
        Vfs { mount, drafts }
    }

    /// What is being written, and open.
    pub fn drafts(&self) -> &Drafts {
        &self.drafts
    }

    /// Shows what `source` opens, and shows it anew when that has changed.
    ///
    /// # Errors
    ///
    /// The line that says why it cannot be opened.
    ///
    /// # Examples
    ///
    /// The first game of a base, read without mounting it:
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use cbfs::vfs::{DatabaseSource, Ino, Options, Vfs};
    ///
    /// let base = Path::new("fixtures/cbh/sample/sample.cbh");
    /// let source = DatabaseSource::new(base, cbfs::cbh::Options::default(), None);
    /// let vfs = Vfs::open(Box::new(source), &Options::default())?;
    /// let games = vfs.lookup(Ino::ROOT, b"games").expect("a directory");
    /// let game = vfs.lookup(games.ino, b"000001.pgn").expect("a game");
    /// let text = vfs.read(game.ino, 0, u32::MAX).expect("its text");
    /// assert_eq!(text.len() as u64, game.size);
    /// # Ok::<(), String>(())
    /// ```
    pub fn open(source: Box<dyn Source>, options: &Options) -> Result<Vfs, String> {
        let shared = Shared::new(options.cache_bytes, &options.messages);
        let base = LiveBase::new(0, Some(source), shared.clone());
        if let (_, Some(why)) = base.open() {
            return Err(why);
        }
        Ok(Vfs::of(MountRoot::One(Arc::new(base)), shared, options))
    }

    /// Shows the bases that are in `folder`, each as a directory.
    ///
    /// # Errors
    ///
    /// The line that says why the folder cannot be listed.
    pub fn folder(folder: impl Bases + 'static, options: &Options) -> Result<Vfs, String> {
        let shared = Shared::new(options.cache_bytes, &options.messages);
        let folder = BaseFolder::new(Box::new(folder), shared.clone())?;
        Ok(Vfs::of(MountRoot::Many(Box::new(folder)), shared, options))
    }

    /// Records how the filesystem is mounted, for `.cbfs/status`. Only the
    /// first call counts.
    pub fn set_mounting(&self, mounting: Mounting) {
        self.mount.shared.mounting.get_or_init(|| mounting);
    }

    /// The work that waits for a thread to be lent.
    pub fn background(&self) -> &Background {
        &self.mount.shared.background
    }

    /// How many files the largest volume may have, used numbers or not.
    pub fn capacity(&self) -> u64 {
        match &self.mount.mounted {
            MountRoot::One(live) => live.snapshot().capacity(),
            MountRoot::Many(folder) => folder.guess(),
        }
    }

    /// Whether there is any base, looked into or not.
    pub fn has_bases(&self) -> bool {
        !self.mount.live_bases().is_empty()
    }

    /// The snapshots of all that was looked into.
    fn snapshots(&self) -> Vec<Arc<Snapshot>> {
        let live_bases = self.mount.live_bases();
        live_bases.iter().filter_map(|live| live.opened()).collect()
    }

    /// Checks whether what is mounted has changed, and shows the new state.
    /// Call it periodically; it costs little if nothing changed. Returns what
    /// the kernel must invalidate.
    pub fn refresh(&self) -> Changes {
        let mut directories = match &self.mount.mounted {
            MountRoot::One(_) => Vec::new(),
            MountRoot::Many(folder) => folder.refresh(),
        };
        let mut is_changed = !directories.is_empty();
        for live in self
            .mount
            .live_bases()
            .iter()
            .filter(|live| live.refresh_if_idle())
        {
            directories.extend(live.reported_directories());
            is_changed = true;
        }
        let names = if self.mount.shared.names.take_invalidation_request() || is_changed {
            self.mount.shared.names.take()
        } else {
            Some(Vec::new())
        };
        Changes { directories, names }
    }

    /// Looks up `name` in `directory`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotADirectory`], [`Error::NameTooLong`],
    /// [`Error::Damaged`], [`Error::Stale`].
    pub fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        let attr = self.lookup_at_once(directory, name)?;
        if attr.is_sized {
            return Ok(attr);
        }
        Ok(Attr {
            generation: attr.generation,
            ..self.attr(attr.ino)?
        })
    }

    /// As [`Vfs::lookup`], but leaves out a length that is slow to compute: the
    /// kernel blocks listings of the directory meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Vfs::lookup`].
    pub fn lookup_at_once(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        Error::ensure_short(name)?;
        match name {
            // Asked by those who serve the mount to others, as NFS.
            b"." => return self.attr(directory),
            b".." => return self.attr(self.parent(directory)?),
            _ => {}
        }
        self.drafts.lookup(directory, name)
    }

    /// Returns the attributes of an inode.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`], [`Error::Stale`].
    pub fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        self.drafts.attr(ino)
    }

    /// Returns the slow work that a request needs first: a lookup of `name` in
    /// this directory or, without a name, its listing, or the attributes and
    /// text of this file. Do that work in a thread that no other request waits
    /// for. Returns `None` if the request is fast.
    pub fn long_work(&self, ino: Ino, name: Option<&[u8]>) -> Option<Ino> {
        let InoTarget::Volume(live, inner) = self.mount.place(ino).ok()? else {
            return None;
        };
        let work = live.opened()?.volume.long_work(inner, name)?;
        Some(work.in_base(live.number()))
    }

    /// The directory that `directory` lies in; the root lies in itself.
    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        let place = self.mount.place(directory)?;
        if directory.within_base() == Ino::ROOT {
            return Ok(Ino::ROOT);
        }
        let parent = place.ask(|tree, inner| tree.parent(inner))?;
        Ok(parent.in_base(directory.base_number()))
    }

    /// Lists `directory` from the first entry whose cookie is greater than
    /// `after` (0 is the beginning) until `listing` is full, `.` and `..`
    /// included. Costs the same from anywhere.
    ///
    /// # Errors
    ///
    /// [`Error::NotADirectory`], [`Error::NotFound`], [`Error::Damaged`],
    /// [`Error::Stale`].
    pub fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        self.list_entries(directory, after, false, &mut |entry, _| listing(entry))
    }

    /// As [`Vfs::list`], with the attributes of each entry.
    ///
    /// # Errors
    ///
    /// As [`Vfs::list`].
    pub fn list_with_attrs(
        &self,
        directory: Ino,
        after: u64,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        self.list_entries(directory, after, true, listing)
    }

    fn list_entries(
        &self,
        directory: Ino,
        after: u64,
        with_attrs: bool,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        let (inner, base_number) = (directory.within_base(), directory.base_number());
        for (cookie, name) in [(1, "."), (2, "..")] {
            if cookie > after {
                let ino = if cookie == 1 {
                    directory
                } else {
                    self.parent(directory)?
                };
                if !list_directory(name, cookie, &self.attr(ino)?, listing) {
                    return Ok(());
                }
            }
        }
        let place = self.mount.place(directory)?;
        let before = place.snapshot();
        let notes_names = with_attrs && !about::holds(inner);
        let mut names = notes_names.then(|| self.mount.shared.names.page(directory));
        let overlay = match &place {
            InoTarget::Volume(live, _) => Some(self.drafts.overlay(live, directory)),
            InoTarget::BaseFolder(..) => None,
        };
        let is_hidden = |name: &str| overlay.as_ref().is_some_and(|overlay| overlay.hides(name));
        let mut has_room = true;
        let listed = place.ask(|tree, inner| {
            tree.list(inner, after, with_attrs, &mut |entry, attr| {
                if is_hidden(entry.name) {
                    return true;
                }
                let mut entry = *entry;
                entry.node.ino = entry.node.ino.in_base(base_number);
                if let Some(names) = names.as_mut()
                    && entry.node.kind != NodeKind::Directory
                {
                    names.add(entry.name.as_bytes());
                }
                let reported = |attr| self.drafts.with_names(with_mount_number(attr, base_number));
                has_room = listing(&entry, attr.map(|attr| Ok(reported(attr?))));
                has_room
            })
        });
        drop(names);
        if with_attrs {
            self.mount.invalidate_if_replaced(&place, before.as_deref());
        }
        listed?;
        if has_room && inner == Ino::ROOT && after < about::COOKIE {
            let status = self.attr(about::DIRECTORY.in_base(base_number))?;
            has_room = list_directory(about::NAME, about::COOKIE, &status, listing);
        }
        if let (true, InoTarget::Volume(live, _), Some(overlay)) = (has_room, &place, &overlay) {
            self.drafts.list_drafts(live, overlay, after, listing);
        }
        Ok(())
    }

    /// Up to `length` bytes from `offset` on; fewer only at the end. All that
    /// is read of a file after it was looked up is of one content.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::IsADirectory`], [`Error::Damaged`],
    /// [`Error::Stale`].
    pub fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        self.drafts.read(ino, offset, length)
    }

    /// The extended attribute `name` of a file, if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.mount.place(ino)? {
            InoTarget::Volume(live, inner) if !about::holds(inner) => live.attribute(inner, name),
            _ => Ok(None),
        }
    }

    /// Names the extended attributes that a file has.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn list_attributes(&self, ino: Ino, listing: &mut dyn FnMut(&str)) -> Result<(), Error> {
        match self.mount.place(ino)? {
            InoTarget::Volume(live, inner) if !about::holds(inner) => {
                live.snapshot().volume.list_attributes(inner, listing)
            }
            _ => Ok(()),
        }
    }

    /// Returns the target of a symbolic link.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is none, [`Error::NotFound`].
    pub fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        match self.mount.place(link)? {
            InoTarget::Volume(live, inner) if !about::holds(inner) => live.target(inner),
            _ => Err(Error::Invalid),
        }
    }

    /// Subtracts lookups of `ino` that the kernel has forgotten.
    pub fn forget(&self, ino: Ino, lookups: u64) {
        if let Ok(InoTarget::Volume(live, inner)) = self.mount.place(ino) {
            live.forget(inner, lookups);
        }
    }

    /// Returns the total size, for `df`.
    pub fn statistics(&self) -> VolumeSize {
        match &self.mount.mounted {
            MountRoot::One(live) => live.snapshot().volume.statistics(),
            MountRoot::Many(folder) => folder.statistics(),
        }
    }

    /// Returns the free bytes of the disk with the base, or with the directory
    /// of bases.
    pub fn free_bytes(&self) -> u64 {
        let free_at = |path: &Path| {
            let places = [Some(path), path.parent()];
            let mut found = places.into_iter().flatten().map(statvfs);
            let found = found.find_map(Result::ok);
            found.map_or(0, |disk| {
                disk.blocks_available().saturating_mul(disk.fragment_size())
            })
        };
        match &self.mount.mounted {
            MountRoot::One(live) => {
                let path = live.source().and_then(Source::path);
                path.map_or(0, free_at)
            }
            MountRoot::Many(folder) => free_at(folder.path()),
        }
    }
}

/// Lists one directory entry. Returns whether there was room.
fn list_directory(
    name: &str,
    cookie: u64,
    attr: &Attr,
    listing: &mut ListingWithAttrs<'_>,
) -> bool {
    let node = attr.node();
    listing(&DirEntry { name, node, cookie }, Some(Ok(*attr)))
}
