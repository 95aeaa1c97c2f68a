//! What is said of files, and their bytes.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::SystemTime;

use super::Error;
use super::status;
use super::volume::{DirEntry, Ino, Node, NodeKind};

/// What `stat` says of a file or directory, owners left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Its number.
    pub ino: Ino,
    /// What it is.
    pub kind: NodeKind,
    /// Exact length in bytes.
    pub size: u64,
    /// Whether the length is known. If not, `size` is 0, the attributes must
    /// not be cached, and [`Vfs::attr`](crate::vfs::Vfs::attr) computes the
    /// length.
    pub is_sized: bool,
    /// How many names it has.
    pub links: u32,
    /// When its content last changed.
    pub modified: SystemTime,
    /// Mark of the content; 0 for directories.
    pub generation: u32,
    /// Number of this content among those reported for the file, from 0. `None`
    /// for a draft of a game, and for content that the file no longer has.
    /// Always 0 on a read-only mount.
    pub version: Option<u32>,
}

impl Attr {
    /// Whether it is made anew again and again, so that nothing that was told
    /// of it is to be kept.
    pub fn is_volatile(&self) -> bool {
        status::is_volatile(self.ino)
    }

    /// Of a file or directory of this length, whose content has this mark.
    pub(crate) fn of(node: &Node, size: u64, generation: u32) -> Attr {
        Attr {
            ino: node.ino,
            kind: node.kind,
            size,
            is_sized: true,
            links: node.links,
            modified: node.modified,
            generation,
            version: Some(0),
        }
    }

    pub(crate) fn of_directory(node: &Node) -> Attr {
        Attr::of(node, 4096, 0)
    }

    /// What a listing without attributes says of it.
    pub(crate) fn node(&self) -> Node {
        Node {
            ino: self.ino,
            kind: self.kind,
            links: self.links,
            modified: self.modified,
        }
    }
}

/// Bytes of a file: a part of a text that others hold too, or its own.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Part of a rendered text.
    Shared(Arc<[u8]>, Range<usize>),
    /// Read for this request.
    Own(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Shared(text, range) => text.get(range.clone()).unwrap_or_default(),
            Bytes::Own(bytes) => bytes,
        }
    }
}

/// As [`Listing`](super::volume::Listing), with the attributes of each entry or
/// the error; `None` if computing them is slow.
pub type ListingWithAttrs<'a> = dyn FnMut(&DirEntry<'_>, Option<Result<Attr, Error>>) -> bool + 'a;

/// Cached entries that the kernel must drop after a
/// [`Vfs::refresh`](crate::vfs::Vfs::refresh).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Directories that may list something else now.
    pub directories: Vec<Ino>,
    /// Names of files that may stand for something else now, each with its
    /// directory; `None` if that is any.
    pub names: Option<Vec<(Ino, Box<[u8]>)>>,
}
