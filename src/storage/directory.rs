//! The interface to the folder of a base, as far as saving needs it.

use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Storage;

/// A folder. Names are those of regular files directly in it. Links are not
/// followed.
pub trait Directory: Debug + Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// `NotFound` if it does not exist, `InvalidInput` if it is no regular
    /// file; else errors of the medium.
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>>;

    /// Opens a file for reading and writing. It must have only one name (no
    /// hard links).
    ///
    /// # Errors
    ///
    /// As [`open`](Directory::open); `PermissionDenied` if it has several
    /// names.
    fn open_writable(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>>;

    /// Creates an empty file.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is taken; else errors of the medium.
    fn create(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>>;

    /// Removes a file. Programs that have it open can still read it.
    ///
    /// # Errors
    ///
    /// `NotFound` if it does not exist; else errors of the medium.
    fn remove(&self, name: &OsStr) -> io::Result<()>;

    /// Renames a file and replaces any file with the new name.
    ///
    /// # Errors
    ///
    /// `NotFound` if it does not exist; else errors of the medium.
    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;

    /// Returns the present stamp of a file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>>;

    /// Checks that a journal or note may be followed: its owner is the present
    /// user, root or the owner of the base.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if not; errors of the medium.
    fn ensure_trusted(&self, stamp: &Stamp) -> io::Result<()>;

    /// Returns when all creations, removals and renames so far survive a power
    /// cut.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn sync(&self) -> io::Result<()>;
}

/// A folder that can be listed, such as the content of an archive.
pub trait FolderTree: Directory {
    /// Names of the files and folders directly in it, sorted.
    fn names(&self) -> Vec<OsString>;

    /// Returns a subfolder; `None` if it does not exist.
    fn folder(&self, name: &OsStr) -> Option<Arc<dyn FolderTree>>;
}

/// Length of the file at `path` and time of its last change, which `inside` knows if
/// it is not on disk; `None` if it does not exist.
pub(crate) fn length_and_time(
    path: &Path,
    inside: Option<&dyn FolderTree>,
) -> Option<(u64, SystemTime)> {
    let Some(tree) = inside else {
        let stat = fs::metadata(path).ok()?;
        return Some((stat.len(), stat.modified().ok()?));
    };
    let stamp = tree.stamp(path.file_name()?).ok()??;
    let seconds = u64::try_from(stamp.modified.0).unwrap_or(0);
    let modified = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    Some((stamp.len, modified.unwrap_or(UNIX_EPOCH)))
}

/// An open file of a [`Directory`].
pub trait OpenFile: Storage {
    /// Returns the present stamp of the file.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn stamp(&self) -> io::Result<Stamp>;
}

/// A file of a [`Directory`] that is open for writing.
pub trait WritableFile: OpenFile {
    /// Writes all `bytes` at `offset`. A gap before it reads as zeros.
    ///
    /// # Errors
    ///
    /// Errors of the medium. A part may have been written then.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the file, or extends it with zeros.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Returns when the content of the file survives a power cut.
    ///
    /// # Errors
    ///
    /// Errors of the medium. Data written since the last successful sync may
    /// then be lost, even if a later sync succeeds, unless it is written again.
    fn sync(&self) -> io::Result<()>;

    /// Tries to take the advisory lock of the file, until this is dropped or
    /// the process ends. Returns whether it was free.
    ///
    /// # Errors
    ///
    /// Errors of the medium, also if it does not support locks.
    fn try_lock(&self) -> io::Result<bool>;
}

/// Metadata that changes when a file is changed or replaced. Two changes within
/// one tick of the system's clock (4 ms on many systems) that keep the length
/// have the same stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the device.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub len: u64,
    /// Time of the last change of the content: seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Time of the last change of content or attributes, likewise.
    pub changed: (i64, i64),
    /// Number of hard links.
    pub links: u64,
    /// User id of the owner.
    pub owner: u32,
}

impl Stamp {
    /// Returns whether both belong to the same file, changed or not.
    pub fn is_same_file(&self, other: &Stamp) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

/// The error for a file with several names, which is never written.
pub(super) fn several_names(links: u64) -> io::Error {
    let what = format!(
        "has {links} names (hard links), and what lies under all of them would change; to save to it remove the others, or copy the folder of the base with all its files, hidden ones too"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

/// The error for a journal or note that another user left.
pub(super) fn stranger(owner: u32) -> io::Error {
    let what = format!(
        "belongs to user {owner}, who is neither you, nor root, nor the owner of the base; to write its saves into the base, run `cbfs check --repair` as user {owner}, or, if you trust the file, take it over with `chown` and run it yourself"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}
