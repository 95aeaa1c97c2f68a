//! A hidden folder for files that are moved to their place when all are there.
//!
//! Its name follows from that place, so the next run for the same place finds
//! what a killed one left. A folder of another user is not touched.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

use super::folder::{MOST_NAME, cut_name};

/// Lock file that keeps other processes out of the folder.
const LOCK: &str = ".lock";

/// What the name ends in.
const ENDING: &str = ".cbfs-new";

/// A hidden folder, locked while it is open. If dropped, it is removed with all
/// that is left in it, unless it is [left](WorkFolder::leave).
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    lock: File,
    is_left: bool,
}

/// Why a folder cannot be used.
#[derive(Debug)]
pub enum WorkFolderError {
    /// Something is in its place that no earlier run of this user left.
    NotOurs(PathBuf),
    /// Another process uses it.
    InUse,
    /// An error of the system.
    Io(io::Error),
}

impl From<WorkFolderError> for io::Error {
    fn from(error: WorkFolderError) -> io::Error {
        match error {
            WorkFolderError::NotOurs(path) => io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!(
                    "{} is in the way, and was not left by you; move it away",
                    path.display()
                ),
            ),
            WorkFolderError::InUse => io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another process is making this",
            ),
            WorkFolderError::Io(error) => error,
        }
    }
}

impl WorkFolder {
    /// Makes the folder for the file or folder `name` in `directory`, or takes
    /// over the one that a killed run left, with what is in it.
    ///
    /// # Errors
    ///
    /// [`WorkFolderError`].
    pub fn begin(directory: &Path, name: &OsStr) -> Result<WorkFolder, WorkFolderError> {
        let mut hidden = OsString::from(".");
        hidden.push(cut_name(name, MOST_NAME - 1 - ENDING.len()));
        hidden.push(ENDING);
        let path = directory.join(hidden);
        // The folder gets its rights before others can open files in it.
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => ensure_ours(&path)?,
            made => made.map_err(WorkFolderError::Io)?,
        }
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path.join(LOCK))
            .map_err(WorkFolderError::Io)?;
        match lock.try_lock() {
            Ok(()) => Ok(WorkFolder {
                path,
                lock,
                is_left: false,
            }),
            Err(TryLockError::WouldBlock) => Err(WorkFolderError::InUse),
            Err(TryLockError::Error(error)) => Err(WorkFolderError::Io(error)),
        }
    }

    /// As [`begin`](WorkFolder::begin), without what a killed run left.
    ///
    /// # Errors
    ///
    /// [`WorkFolderError`].
    pub fn begin_empty(directory: &Path, name: &OsStr) -> Result<WorkFolder, WorkFolderError> {
        let folder = WorkFolder::begin(directory, name)?;
        folder.clear().map_err(WorkFolderError::Io)?;
        Ok(folder)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether this is the lock file, which is no part of the content.
    pub fn is_lock(path: &Path) -> bool {
        path.ends_with(LOCK)
    }

    /// Removes what is in it.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// From now on it stays when it is dropped, for the next run.
    pub fn leave(&mut self) {
        self.is_left = true;
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if !self.is_left
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            log::warn!("{}: {error}", self.path.display());
        }
        // Only now may other processes make their own folder there.
        let _ = self.lock.unlock();
    }
}

/// Rejects a folder that no earlier run of this user left.
fn ensure_ours(path: &Path) -> Result<(), WorkFolderError> {
    let stat = fs::symlink_metadata(path).map_err(WorkFolderError::Io)?;
    if stat.is_dir() && stat.uid() == nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    Err(WorkFolderError::NotOurs(path.to_path_buf()))
}

/// Renames a file or folder to an unused name.
///
/// # Errors
///
/// `AlreadyExists` if the name is used; errors of the system.
pub fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    let renamed = renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE);
    match renamed {
        // The file system cannot rename without replacing.
        Err(Errno::EINVAL | Errno::ENOSYS) if fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_gone_when_it_is_dropped_and_taken_over_when_it_was_left() {
        let place = tempfile::tempdir().unwrap();
        let name = OsStr::new("new");
        let mut folder = WorkFolder::begin(place.path(), name).unwrap();
        assert!(matches!(
            WorkFolder::begin(place.path(), name),
            Err(WorkFolderError::InUse)
        ));
        fs::write(folder.path().join("a"), "").unwrap();
        let path = folder.path().to_path_buf();
        folder.leave();
        drop(folder);
        assert!(path.join("a").exists());
        let folder = WorkFolder::begin_empty(place.path(), name).unwrap();
        assert_eq!(folder.path(), path);
        assert!(!path.join("a").exists());
        drop(folder);
        assert!(!path.exists());
        let long = "x".repeat(MOST_NAME);
        drop(WorkFolder::begin_empty(place.path(), OsStr::new(&long)).unwrap());
        std::os::unix::fs::symlink("/tmp", &path).unwrap();
        let refused = WorkFolder::begin(place.path(), name).unwrap_err();
        assert!(matches!(refused, WorkFolderError::NotOurs(_)));
    }
}
