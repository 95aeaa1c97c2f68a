//! The folder a base lies in, as far as saving needs it.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use super::Storage;

/// A folder. Names are those of regular files right in it; no link is
/// followed.
pub trait Directory: Debug + Send + Sync {
    /// The file, to read.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none, `InvalidInput` for what is no regular
    /// file; else the medium's.
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>>;

    /// The file, to read and write. It has no other name.
    ///
    /// # Errors
    ///
    /// As [`open`](Directory::open); `PermissionDenied` if it has several
    /// names.
    fn open_writable(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>>;

    /// A new and empty file.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is taken; else the medium's.
    fn create(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>>;

    /// Removes a file; whoever has it open still reads it.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none; else the medium's.
    fn remove(&self, name: &OsStr) -> io::Result<()>;

    /// Gives a file another name, in place of what had it.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none; else the medium's.
    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;

    /// The stamp of what has the name now; `None` if nothing has.
    ///
    /// # Errors
    ///
    /// The medium's.
    fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>>;

    /// Whether what a file says of others counts: it was left by the caller,
    /// root or the owner of the base.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if not; the medium's.
    fn ensure_trusted(&self, stamp: &Stamp) -> io::Result<()>;

    /// Returns when names created, removed and given so far survive a power
    /// cut.
    ///
    /// # Errors
    ///
    /// The medium's.
    fn sync(&self) -> io::Result<()>;
}

/// A folder in which everything can be listed, as the inside of an archive.
pub trait Tree: Directory {
    /// The names of all files and folders right in it, in order.
    fn names(&self) -> Vec<OsString>;

    /// The folder of this name in it; `None` if there is none.
    fn folder(&self, name: &OsStr) -> Option<Arc<dyn Tree>>;
}

/// An open file of a [`Directory`].
pub trait OpenFile: Storage {
    /// What the file is like now.
    ///
    /// # Errors
    ///
    /// The medium's.
    fn stamp(&self) -> io::Result<Stamp>;
}

/// A file of a [`Directory`] that can be written.
pub trait WritableFile: OpenFile {
    /// Writes all of `bytes` at `offset`; a gap before it reads as zeros.
    ///
    /// # Errors
    ///
    /// The medium's; a part may have been written.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file, or makes it longer by zeros.
    ///
    /// # Errors
    ///
    /// The medium's.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Returns when all of the file survives a power cut.
    ///
    /// # Errors
    ///
    /// The medium's: then what was written since the last success may be
    /// lost, also if a later call succeeds, unless it is written again.
    fn sync(&self) -> io::Result<()>;

    /// Takes the advisory lock of the file until this is dropped, or the
    /// process ends; whether it was free.
    ///
    /// # Errors
    ///
    /// The medium's, also if it knows no locks.
    fn try_lock(&self) -> io::Result<bool>;
}

/// What tells that a file was changed or replaced. Two changes within one
/// tick of the system's clock (4 ms on many) that leave the length have one
/// stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The medium it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Length in bytes.
    pub len: u64,
    /// When its content was changed: seconds and nanoseconds.
    pub modified: (i64, i64),
    /// When its content or attributes were changed.
    pub changed: (i64, i64),
    /// How many names it has.
    pub links: u64,
    /// Number of the user who owns it.
    pub owner: u32,
}

impl Stamp {
    /// Whether both are of one file, changed or not.
    pub fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// Why a file with several names is not written.
pub(super) fn several_names(links: u64) -> io::Error {
    let what = format!(
        "has {links} names (hard links), and what lies under all of them would change; to save to it remove the others, or copy the folder of the base with all its files, hidden ones too"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

/// Why what a file says does not count.
pub(super) fn stranger(owner: u32) -> io::Error {
    let what = format!(
        "left by user {owner}, who is neither you, nor root, nor the owner of the base; `cbfs check --repair` run by user {owner} brings its saves into the base, and so does one by you after `chown` if you trust it"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}
