//! The filesystem, without the kernel.
//!
//! [`Vfs`] answers what a kernel asks of a filesystem (look up a name, say
//! what a number stands for, list, read) for a [`Volume`], which knows what
//! is shown. Between the two lie the texts and lengths that were worked out
//! once and are wanted again.
//!
//! ```text
//!   Vfs ── work beside the requests (background)
//!    ├─ Shelf           a directory of bases: a slot each
//!    ├─ About           `.cbfs/` of each base and shelf: what is known of it
//!    └─ Slot            one base, opened from its Source, and anew when that changed
//!        └─ Edition     one state of it: lengths (sizes), texts (cache)
//!            └─ Volume ── DatabaseVolume, BookVolume
//! ```
//!
//! Words: a **node** is what a number ([`Ino`]) stands for; a **rendered**
//! file is one whose text is made when it is asked for; a **mark** tells its
//! text from others; a **cookie** is a place in a listing; an **edition** is
//! what is worked out from one state of a base.
//!
//! Everything takes `&self` and is called by many threads at once. No lock is
//! held while a text is rendered. Nothing in this room starts a thread (the
//! import of a file does, until it returns) or reads a clock: what is to be
//! done beside the requests waits in [`Background`] for a thread to be lent,
//! and who mounts brings a clock ([`Mounting`]).

mod about;
mod background;
pub mod book;
mod broken;
mod cache;
mod concatenation;
mod database;
mod drafts;
mod edition;
mod editor;
mod error;
mod guiding;
mod held;
mod names;
mod once;
mod readers;
mod saves;
mod shelf;
mod sizes;
mod slot;
mod source;
mod text;
mod told;
mod volume;
mod words;
mod writing;

pub use about::{Messages, Mounting};
pub use background::Background;
pub use book::{BookOptions, BookSource, BookVolume};
use cache::TextCache;
pub use database::{DatabaseSource, DatabaseVolume, Folder, Hidden, Writer};
pub use editor::{Editor, Refusal, Role, Saved, Touched};
pub use error::Error;
pub use names::{format_game, parse_game};
pub use saves::Edit;
pub use sizes::{Measure, Sizes};
pub use source::Source;
pub use text::Text;
pub use volume::{
    Completeness, DirEntry, Facts, Fault, Ino, Listing, Node, NodeKind, Page, Size, Statistics,
    Volume,
};
pub use writing::{Access, Handle, RenameMode, Written};

use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use nix::sys::statvfs::statvfs;

use concatenation::Concatenations;
use drafts::Desk;
use edition::{Edition, Shared};
use shelf::Shelf;
use slot::Slot;

/// The share of the memory for texts that pieces of concatenations take, at
/// most.
const CHUNKS_SHARE: usize = 4;
const MOST_CHUNK_BYTES: usize = 16 << 20;

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

/// What `stat` says of a file or directory, owners left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Its number.
    pub ino: Ino,
    /// What it is.
    pub kind: NodeKind,
    /// Exact length in bytes.
    pub size: u64,
    /// Whether the length is known. If not, it is 0 here, nothing that was told
    /// of it is to be kept, and [`Vfs::attr`] finds it out.
    pub is_sized: bool,
    /// How many names it has.
    pub links: u32,
    /// When its content last changed.
    pub modified: SystemTime,
    /// What tells the content of a file from others it had; 0 for
    /// directories.
    pub generation: u32,
    /// Which of the contents that were told of the file this is, counted from
    /// 0; `None` for a draft of a game, and for what the file no longer is.
    /// Always 0 where nothing can be written.
    pub version: Option<u32>,
}

impl Attr {
    /// Whether it is made anew again and again, so that nothing that was told
    /// of it is to be kept.
    pub fn is_renewed(&self) -> bool {
        about::is_renewed(self.ino)
    }

    fn of_directory(node: &Node) -> Attr {
        Attr {
            ino: node.ino,
            kind: node.kind,
            size: 4096,
            is_sized: true,
            links: node.links,
            modified: node.modified,
            generation: 0,
            version: Some(0),
        }
    }
}

/// Bytes of a file: a part of a text that others hold too, or its own.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Part of a rendered text.
    Shared(Arc<[u8]>, Range<usize>),
    /// Part of a piece of a concatenation.
    Chunk(Arc<Vec<u8>>, Range<usize>),
    /// Read for this request.
    Own(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Shared(text, range) => text.get(range.clone()).unwrap_or_default(),
            Bytes::Chunk(text, range) => text.get(range.clone()).unwrap_or_default(),
            Bytes::Own(bytes) => bytes,
        }
    }
}

/// As [`Listing`], with what `stat` says of each entry, or why it cannot say
/// it; nothing if finding out takes a while.
pub type ListingWithAttrs<'a> = dyn FnMut(&DirEntry<'_>, Option<Result<Attr, Error>>) -> bool + 'a;

/// What a kernel has to be told after a [`Vfs::refresh`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Directories that may list something else now.
    pub directories: Vec<Ino>,
    /// Names of files that may stand for something else now, each with its
    /// directory; `None` if that is any.
    pub names: Option<Vec<(Ino, Box<[u8]>)>>,
}

/// The filesystem of one mount.
#[derive(Debug)]
pub struct Vfs {
    mounted: Mounted,
    shared: Shared,
    desk: Desk,
}

#[derive(Debug)]
enum Mounted {
    One(Arc<Slot>),
    Many(Box<Shelf>),
}

/// Where a number leads.
enum Place<'a> {
    /// To what a shelf has itself: its root, and `.cbfs/`.
    Shelf(&'a Shelf, Ino),
    /// Into a volume, which knows it by this number.
    Volume(Arc<Slot>, Ino),
}

impl Shared {
    fn new(options: &Options) -> Shared {
        let chunk_bytes = (options.cache_bytes / CHUNKS_SHARE).min(MOST_CHUNK_BYTES);
        Shared {
            texts: Arc::new(TextCache::new(options.cache_bytes - chunk_bytes)),
            concatenations: Arc::new(Concatenations::new(chunk_bytes)),
            readers: Arc::default(),
            names: Arc::default(),
            background: Arc::default(),
            mounting: Arc::default(),
            cache_bytes: options.cache_bytes,
            messages: Arc::clone(&options.messages),
        }
    }
}

impl Vfs {
    /// Shows `volume`, which never changes.
    pub fn new(volume: Box<dyn Volume>, options: &Options) -> Vfs {
        let shared = Shared::new(options);
        let slot = Slot::new(0, None, shared.clone());
        slot.show(volume);
        Vfs {
            mounted: Mounted::One(Arc::new(slot)),
            shared,
            desk: Desk::new(options),
        }
    }

    /// Shows what `source` opens, and shows it anew when that has changed.
    ///
    /// # Errors
    ///
    /// The line that says why it cannot be opened.
    pub fn open(source: Box<dyn Source>, options: &Options) -> Result<Vfs, String> {
        let shared = Shared::new(options);
        let slot = Slot::new(0, Some(source), shared.clone());
        if let (_, Some(why)) = slot.open() {
            return Err(why);
        }
        Ok(Vfs {
            mounted: Mounted::One(Arc::new(slot)),
            shared,
            desk: Desk::new(options),
        })
    }

    /// Shows the bases that are in `folder`, each as a directory.
    ///
    /// # Errors
    ///
    /// The line that says why the folder cannot be listed.
    pub fn shelf(folder: Folder, options: &Options) -> Result<Vfs, String> {
        let shared = Shared::new(options);
        Ok(Vfs {
            mounted: Mounted::Many(Box::new(Shelf::new(folder, shared.clone())?)),
            shared,
            desk: Desk::new(options),
        })
    }

    /// Lets it be known how it is mounted, for `.cbfs/status`; the first time
    /// counts.
    pub fn set_mounting(&self, mounting: Mounting) {
        self.shared.mounting.get_or_init(|| mounting);
    }

    /// The work that waits for a thread to be lent.
    pub fn background(&self) -> &Background {
        &self.shared.background
    }

    /// How many files the largest volume may have, used numbers or not.
    pub fn capacity(&self) -> u64 {
        match &self.mounted {
            Mounted::One(slot) => slot.edition().capacity(),
            Mounted::Many(shelf) => shelf.guess(),
        }
    }

    /// Whether there is any base, looked into or not.
    pub fn has_bases(&self) -> bool {
        !self.slots().is_empty()
    }

    fn slots(&self) -> Vec<Arc<Slot>> {
        match &self.mounted {
            Mounted::One(slot) => vec![Arc::clone(slot)],
            Mounted::Many(shelf) => shelf.slots(),
        }
    }

    /// The editions of all that was looked into.
    fn editions(&self) -> Vec<Arc<Edition>> {
        let slots = self.slots();
        slots.iter().filter_map(|slot| slot.opened()).collect()
    }

    fn place(&self, ino: Ino) -> Result<Place<'_>, Error> {
        let inner = ino.within_slot();
        match &self.mounted {
            Mounted::One(slot) if ino.slot() == 0 => Ok(Place::Volume(Arc::clone(slot), inner)),
            Mounted::Many(shelf) if ino.slot() > 0 => {
                Ok(Place::Volume(shelf.slot(ino.slot())?, inner))
            }
            Mounted::Many(shelf) if ino == Ino::ROOT || about::holds(ino) => {
                Ok(Place::Shelf(shelf, ino))
            }
            _ => Err(Error::NotFound),
        }
    }

    /// Looks whether what is mounted has changed, and if so shows what it is
    /// now. To be called again and again; costs little if nothing changed.
    pub fn refresh(&self) -> Changes {
        let mut directories = match &self.mounted {
            Mounted::One(_) => Vec::new(),
            Mounted::Many(shelf) => shelf.refresh(),
        };
        let mut is_changed = !directories.is_empty();
        for slot in self.slots().iter().filter(|slot| slot.refresh_if_idle()) {
            directories.extend(slot.told_directories());
            is_changed = true;
        }
        let names = if self.shared.names.were_called_back() || is_changed {
            self.shared.names.take()
        } else {
            Some(Vec::new())
        };
        Changes { directories, names }
    }

    /// What `name` in `directory` stands for.
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

    /// As [`Vfs::lookup`], but leaves a length open that takes long to find
    /// out: meanwhile the kernel lets nobody list that directory.
    ///
    /// # Errors
    ///
    /// As [`Vfs::lookup`].
    pub fn lookup_at_once(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        names::ensure_short(name)?;
        match name {
            // Asked by those who serve the mount to others, as NFS.
            b"." => return self.attr(directory),
            b".." => return self.attr(self.parent(directory)?.ino),
            _ => {}
        }
        if let Some(found) = self.lookup_on_desk(directory, name) {
            return found;
        }
        match self.place(directory)? {
            Place::Volume(slot, inner) => {
                if let Some(found) = self.lookup_rejected(&slot, inner, name) {
                    return found;
                }
                let before = slot.opened();
                let attr = slot.lookup(inner, name)?;
                if attr.kind != NodeKind::Directory && !attr.is_renewed() {
                    self.shared.names.add(directory, name);
                    self.call_back_if_over(&slot, before.as_deref());
                }
                Ok(self.with_names(globally(attr, slot.number())))
            }
            Place::Shelf(shelf, inner) => shelf.lookup(inner, name),
        }
    }

    /// What `stat` says.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`], [`Error::Stale`].
    pub fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        if let Some(known) = self.attr_on_desk(ino) {
            return known;
        }
        match self.place(ino)? {
            Place::Shelf(shelf, inner) => shelf.attr(inner),
            Place::Volume(slot, inner) if slot.is_edited() => {
                let attr = globally(slot.present(inner)?, slot.number());
                Ok(self.with_names(attr))
            }
            Place::Volume(slot, inner) => Ok(globally(slot.attr(inner)?, slot.number())),
        }
    }

    /// What has to be worked out before `name` can be looked up in this
    /// directory, or without a name, before it can be listed, or attributes and
    /// text of this file be told. It takes so long that a thread which others
    /// wait for should not do it; `None` if there is nothing of that kind.
    pub fn long_work(&self, ino: Ino, name: Option<&[u8]>) -> Option<Ino> {
        let Place::Volume(slot, inner) = self.place(ino).ok()? else {
            return None;
        };
        let work = slot.opened()?.volume.long_work(inner, name)?;
        Some(work.in_slot(slot.number()))
    }

    /// The directory that `directory` lies in; the root lies in itself.
    fn parent(&self, directory: Ino) -> Result<Node, Error> {
        match (self.place(directory)?, &self.mounted) {
            (Place::Shelf(shelf, inner), _) => shelf.parent(inner),
            (Place::Volume(_, Ino::ROOT), Mounted::Many(shelf)) => Ok(shelf.root()),
            (Place::Volume(slot, inner), _) => {
                let node = slot.parent(inner)?;
                Ok(Node {
                    ino: node.ino.in_slot(slot.number()),
                    ..node
                })
            }
        }
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
        if !self.list_dots(directory, after, listing)? {
            return Ok(());
        }
        let (slot, inner) = match self.place(directory)? {
            Place::Volume(slot, inner) => (slot, inner),
            Place::Shelf(shelf, inner) => return shelf.list(inner, after, listing),
        };
        let overlay = self.overlay(&slot, directory);
        let mut has_room = true;
        slot.list(inner, after, &mut |entry| {
            let mut entry = *entry;
            entry.node.ino = entry.node.ino.in_slot(slot.number());
            has_room = overlay.hides(entry.name) || listing(&entry);
            has_room
        })?;
        if has_room {
            self.list_desk(&slot, &overlay, after, &mut |entry, _| listing(entry));
        }
        Ok(())
    }

    /// Lists `.` and `..`; gives whether there is room for more.
    fn list_dots(
        &self,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<bool, Error> {
        if after < 1 {
            let attr = self.attr(directory)?;
            let node = Node {
                ino: attr.ino,
                kind: attr.kind,
                links: attr.links,
                modified: attr.modified,
            };
            let (name, cookie) = (".", 1);
            if !listing(&DirEntry { name, node, cookie }) {
                return Ok(false);
            }
        }
        if after < 2 {
            let (name, cookie) = ("..", 2);
            let node = self.parent(directory)?;
            return Ok(listing(&DirEntry { name, node, cookie }));
        }
        Ok(true)
    }

    /// As [`Vfs::list`], with what `stat` says of each entry.
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
        let place = self.place(directory)?;
        let has_room = self.list_dots(directory, after, &mut |entry| {
            listing(entry, Some(Ok(Attr::of_directory(&entry.node))))
        })?;
        if !has_room {
            return Ok(());
        }
        let (slot, inner) = match place {
            Place::Shelf(shelf, inner) => return shelf.list_with_attrs(inner, after, listing),
            Place::Volume(slot, inner) => (slot, inner),
        };
        let before = slot.opened();
        let mut names = self.shared.names.page(directory);
        let overlay = self.overlay(&slot, directory);
        let mut has_room = true;
        let listed = slot.list_with_attrs(inner, after, &mut |entry, attr| {
            if overlay.hides(entry.name) {
                return true;
            }
            let mut entry = *entry;
            entry.node.ino = entry.node.ino.in_slot(slot.number());
            if entry.node.kind != NodeKind::Directory && !about::holds(inner) {
                names.add(entry.name.as_bytes());
            }
            let told = |attr| self.with_names(globally(attr, slot.number()));
            has_room = listing(&entry, attr.map(|attr| Ok(told(attr?))));
            has_room
        });
        drop(names);
        self.call_back_if_over(&slot, before.as_deref());
        listed?;
        if has_room {
            self.list_desk(&slot, &overlay, after, listing);
        }
        Ok(())
    }

    /// What was told of the edition `before` while another took its place would
    /// be kept as if it were of that one.
    fn call_back_if_over(&self, slot: &Slot, before: Option<&Edition>) {
        let is_current = |before| slot.opened().is_some_and(|now| now.is(before));
        if !before.is_none_or(is_current) {
            self.shared.names.call_back();
            self.shared.background.hurry();
        }
    }

    /// Up to `length` bytes from `offset` on; fewer only at the end. All that
    /// is read of a file after it was looked up is of one content.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::IsADirectory`], [`Error::Damaged`],
    /// [`Error::Stale`].
    pub fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        if let Some(read) = self.read_on_desk(ino, offset, length) {
            return read;
        }
        match self.place(ino)? {
            Place::Shelf(shelf, inner) => shelf.read(inner, offset, length),
            Place::Volume(slot, inner) => slot.read(inner, offset, length),
        }
    }

    /// The extended attribute `name` of a file, if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.place(ino)? {
            Place::Shelf(..) => Ok(None),
            Place::Volume(_, inner) if about::holds(inner) => Ok(None),
            Place::Volume(slot, inner) => slot.ask(|edition| edition.volume.attribute(inner, name)),
        }
    }

    /// Names the extended attributes that a file has.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn list_attributes(&self, ino: Ino, listing: &mut dyn FnMut(&str)) -> Result<(), Error> {
        match self.place(ino)? {
            Place::Shelf(..) => Ok(()),
            Place::Volume(_, inner) if about::holds(inner) => Ok(()),
            Place::Volume(slot, inner) => slot.edition().volume.list_attributes(inner, listing),
        }
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is none, [`Error::NotFound`].
    pub fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        let Place::Volume(slot, inner) = self.place(link)? else {
            return Err(Error::Invalid);
        };
        if about::holds(inner) {
            return Err(Error::Invalid);
        }
        let edition = slot.edition();
        match edition.volume.node(inner)?.kind {
            NodeKind::Symlink => edition.volume.target(inner),
            _ => Err(Error::Invalid),
        }
    }

    /// Notes that the kernel, which was told of `ino` by look-ups and listings
    /// with attributes, has forgotten so many of these.
    pub fn forget(&self, ino: Ino, lookups: u64) {
        if let Ok(Place::Volume(slot, inner)) = self.place(ino) {
            slot.forget(inner, lookups);
        }
    }

    /// How large the whole is.
    pub fn statistics(&self) -> Statistics {
        match &self.mounted {
            Mounted::One(slot) => slot.edition().volume.statistics(),
            Mounted::Many(shelf) => shelf.statistics(),
        }
    }

    /// Bytes that the disk has free on which the base lies, or the directory of
    /// bases.
    pub fn free_bytes(&self) -> u64 {
        let free_at = |path: &Path| {
            let places = [Some(path), path.parent()];
            let mut found = places.into_iter().flatten().map(statvfs);
            let found = found.find_map(Result::ok);
            found.map_or(0, |disk| {
                disk.blocks_available().saturating_mul(disk.fragment_size())
            })
        };
        match &self.mounted {
            Mounted::One(slot) => {
                let path = slot.source().and_then(Source::path);
                path.map_or(0, free_at)
            }
            Mounted::Many(shelf) => free_at(shelf.path()),
        }
    }
}

/// What is known of a file in `slot`, as the mount knows it.
fn globally(attr: Attr, slot: u64) -> Attr {
    Attr {
        ino: attr.ino.in_slot(slot),
        ..attr
    }
}
