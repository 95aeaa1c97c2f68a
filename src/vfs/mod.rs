//! The filesystem, without the kernel.
//!
//! [`Vfs`] answers what a kernel asks of a filesystem (look up a name, say
//! what a number stands for, list, read) for one [`Volume`], which knows what
//! is shown. Between the two lie the texts and lengths that were worked out
//! once and are wanted again.
//!
//! ```text
//!   Vfs ── texts (cache), lengths (sizes), read-ahead (background),
//!    │     files made of many (concatenation)
//!    └─ Volume ── DatabaseVolume
//! ```
//!
//! Words: a **node** is what a number ([`Ino`]) stands for; a **rendered**
//! file is one whose text is made when it is asked for; a **cookie** is a
//! place in a listing.
//!
//! Everything takes `&self` and is called by many threads at once. No lock is
//! held while a text is rendered. Nothing here starts a thread or reads a
//! clock: what is to be done beside the requests waits in [`Background`] for
//! a thread to be lent.

mod background;
mod cache;
mod concatenation;
mod database;
mod error;
mod guiding;
mod names;
mod sizes;
mod volume;

pub use background::Background;
pub use cache::TextCache;
pub use database::DatabaseVolume;
pub use error::Error;
pub use names::{format_game, parse_game};
pub use sizes::{Measure, Sizes};
pub use volume::{
    Completeness, DirEntry, Ino, Listing, Node, NodeKind, Page, Size, Statistics, Volume,
};

use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use concatenation::{Concatenations, Sources};

/// The share of the memory for texts that pieces of concatenations take, at
/// most.
const CHUNKS_SHARE: usize = 4;
const MOST_CHUNK_BYTES: usize = 16 << 20;

/// How a [`Vfs`] works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of rendered texts to keep.
    pub cache_bytes: usize,
    /// The file that keeps the lengths of texts for the next mount.
    pub sizes_file: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cache_bytes: 64 << 20,
            sizes_file: None,
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
    /// How many names it has.
    pub links: u32,
    /// When its content last changed.
    pub modified: SystemTime,
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

/// The filesystem of one mount.
#[derive(Debug)]
pub struct Vfs {
    volume: Box<dyn Volume>,
    texts: TextCache,
    sizes: Sizes,
    background: Background,
    concatenations: Concatenations,
    /// Numbers of the rendered files that are many.
    rendered: (Ino, Ino),
    sizes_file: Option<(PathBuf, String)>,
}

impl Vfs {
    /// Shows `volume`.
    pub fn new(volume: Box<dyn Volume>, options: Options) -> Vfs {
        let sizes_file = options
            .sizes_file
            .and_then(|path| Some((path, volume.fingerprint()?)));
        let chunk_bytes = (options.cache_bytes / CHUNKS_SHARE).min(MOST_CHUNK_BYTES);
        Vfs {
            texts: TextCache::new(options.cache_bytes - chunk_bytes),
            concatenations: Concatenations::new(chunk_bytes),
            sizes: Sizes::default(),
            background: Background::default(),
            rendered: volume.rendered(),
            sizes_file,
            volume,
        }
    }

    /// The work that waits for a thread to be lent.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// How many numbers there are for the many files, used or not.
    pub fn capacity(&self) -> u64 {
        (self.rendered.1.0 + 1).saturating_sub(self.rendered.0.0)
    }

    /// What `name` in `directory` stands for.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotADirectory`], [`Error::Damaged`].
    pub fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        match name {
            // Asked by those who serve the mount to others, as NFS.
            b"." => self.attr(directory),
            b".." => self.attr(self.volume.parent(directory)?),
            _ => self.attr_of(&self.volume.lookup(directory, name)?),
        }
    }

    /// What `stat` says.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        self.attr_of(&self.volume.node(ino)?)
    }

    fn attr_of(&self, node: &Node) -> Result<Attr, Error> {
        let size = match node.kind {
            NodeKind::Directory => 4096,
            NodeKind::File(Size::Known(size)) => size,
            NodeKind::File(Size::Asked) => self.volume.size(node.ino)?,
            NodeKind::File(Size::Rendered) => self.length(node.ino)?,
            NodeKind::File(Size::Concatenation(directory)) => {
                self.concatenations.length(self.sources(), directory)?
            }
            NodeKind::Symlink => self.volume.target(node.ino)?.len() as u64,
        };
        Ok(attr(node, size))
    }

    /// What concatenations are made from.
    fn sources(&self) -> Sources<'_> {
        Sources {
            volume: &*self.volume,
            sizes: &self.sizes,
            texts: &self.texts,
            background: &self.background,
        }
    }

    fn length(&self, ino: Ino) -> Result<u64, Error> {
        if let Some(measure) = self.sizes.get(ino) {
            return Ok(u64::from(measure.bytes));
        }
        Ok(self.text(ino)?.len() as u64)
    }

    /// Lists `directory` from the first entry whose cookie is greater than
    /// `after` (0 is the beginning) until `listing` is full, `.` and `..`
    /// included. Costs the same from anywhere.
    ///
    /// # Errors
    ///
    /// [`Error::NotADirectory`], [`Error::NotFound`], [`Error::Damaged`].
    pub fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        for (cookie, name) in [(1, "."), (2, "..")] {
            if after >= cookie {
                continue;
            }
            let ino = if cookie == 1 {
                directory
            } else {
                self.volume.parent(directory)?
            };
            let entry = DirEntry {
                name,
                node: self.volume.node(ino)?,
                cookie,
            };
            if !listing(&entry) {
                return Ok(());
            }
        }
        self.volume.list(directory, after, listing)
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
        // A page of files whose lengths are not known is rendered in one go.
        let mut renderer = None;
        self.list(directory, after, &mut |entry| {
            let ino = entry.node.ino;
            if matches!(entry.node.kind, NodeKind::File(Size::Rendered))
                && self.sizes.get(ino).is_none()
            {
                let render = renderer.get_or_insert_with(|| self.volume.renderer());
                self.background.saw_render(ino);
                // Its error, if any, comes again with the attributes.
                let _ = self.texts.get_or_render(ino, || self.render(ino, render));
            }
            listing(entry, self.listed_attr(&entry.node))
        })
    }

    /// What `stat` says, unless finding out takes a while: whoever lists may
    /// want nothing but names.
    fn listed_attr(&self, node: &Node) -> Option<Result<Attr, Error>> {
        match node.kind {
            NodeKind::File(Size::Asked) => None,
            NodeKind::File(Size::Concatenation(directory)) => {
                let known = self.concatenations.known_length(self.sources(), directory);
                Some(Ok(attr(node, known?)))
            }
            _ => Some(self.attr_of(node)),
        }
    }

    /// Up to `length` bytes from `offset` on; fewer only at the end.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::IsADirectory`], [`Error::Damaged`];
    /// [`Error::Stale`] for a concatenation.
    pub fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        if !self.is_numerous(ino) {
            match self.volume.node(ino)?.kind {
                NodeKind::Directory => return Err(Error::IsADirectory),
                NodeKind::Symlink => return Err(Error::Invalid),
                NodeKind::File(Size::Known(_) | Size::Asked) => {
                    let mut bytes = Vec::new();
                    self.volume.read(ino, offset, length, &mut bytes)?;
                    return Ok(Bytes::Own(bytes));
                }
                NodeKind::File(Size::Concatenation(directory)) => {
                    let sources = self.sources();
                    return self.concatenations.read(sources, directory, offset, length);
                }
                NodeKind::File(Size::Rendered) => {}
            }
        }
        let text = self.text(ino)?;
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(text.len());
        let end = start.saturating_add(length as usize).min(text.len());
        Ok(Bytes::Shared(text, start..end))
    }

    /// The extended attribute `name` of a file, if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.volume.attribute(ino, name)
    }

    /// Names the extended attributes that a file has.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn list_attributes(&self, ino: Ino, listing: &mut dyn FnMut(&str)) -> Result<(), Error> {
        self.volume.list_attributes(ino, listing)
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is none, [`Error::NotFound`].
    pub fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        match self.volume.node(link)?.kind {
            NodeKind::Symlink => self.volume.target(link),
            _ => Err(Error::Invalid),
        }
    }

    /// How large the whole is.
    pub fn statistics(&self) -> Statistics {
        self.volume.statistics()
    }

    /// Whether it is a rendered file by its number alone.
    fn is_numerous(&self, ino: Ino) -> bool {
        (self.rendered.0..=self.rendered.1).contains(&ino)
    }

    /// The text of a rendered file, because someone asked for it.
    fn text(&self, ino: Ino) -> Result<Arc<[u8]>, Error> {
        if self.is_numerous(ino) {
            self.background.saw_request(ino, self.rendered.1);
        }
        self.texts.get_or_render(ino, || {
            self.background.saw_render(ino);
            self.render(ino, |ino, text| self.volume.render(ino, text))
        })
    }

    /// Renders, and remembers the length; holds no lock.
    fn render(
        &self,
        ino: Ino,
        mut render: impl FnMut(Ino, &mut Vec<u8>) -> Result<Completeness, Error>,
    ) -> Result<Arc<[u8]>, Error> {
        let mut text = Vec::with_capacity(2048);
        let completeness = Error::unless_panic(|| render(ino, &mut text))?;
        let bytes = u32::try_from(text.len())
            .ok()
            .filter(|bytes| *bytes <= Measure::MAX_BYTES)
            .ok_or(Error::TooLarge)?;
        let measure = Measure {
            bytes,
            completeness,
        };
        self.sizes.set(ino, measure);
        Ok(text.into())
    }
}

fn attr(node: &Node, size: u64) -> Attr {
    Attr {
        ino: node.ino,
        kind: node.kind,
        size,
        links: node.links,
        modified: node.modified,
    }
}
