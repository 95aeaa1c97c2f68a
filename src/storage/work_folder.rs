//! A hidden folder for files that are moved to their place when all are there.
//!
//! Its name follows from that place, so the next run for the same place finds
//! what a killed one left. What cbfs made bears a mark: its lock file says so. A
//! folder without the mark, or of another user, is not touched. An empty one is
//! used: a run may have been killed before it made the mark.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::DiskDirectory;
use super::disk::try_lock;
use super::folder::{MOST_NAME, cut_name, folder_of};

/// Lock file that keeps other processes out of the folder.
const LOCK: &str = ".lock";

/// Content of the lock file: the mark of a folder of cbfs.
const MARK: &[u8] = b"cbfs made this folder, and removes it with all that is in it.\n";

/// Number of attempts to lock a folder that its former user may just be removing.
const TRIES: usize = 16;

/// What the name ends in.
const ENDING: &str = ".cbfs-new";

/// Returns whether a name, in any letter case, is one of those that cbfs gives its own
/// hidden files and folders beside a base: `.NAME.cbfs-journal` and the like. Nothing
/// that comes from elsewhere may have one.
pub fn is_hidden_of_cbfs(name: &str) -> bool {
    name.starts_with('.') && name.to_lowercase().contains(".cbfs-")
}

/// A hidden folder, locked while it is open. If dropped, it is removed with all
/// that is left in it, unless it is [left](WorkFolder::leave).
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    /// `None` if the folder was removed.
    lock: Option<File>,
    is_left: bool,
}

/// Why a folder cannot be used.
#[derive(Debug)]
pub enum WorkFolderError {
    /// Something is in its place that cbfs did not make for this user.
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
                    "{} is in the way, and was not made by cbfs for you; move it away",
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
        let path = WorkFolder::path_of(directory, name);
        let locked = (0..TRIES).find_map(|_| locked(&path).transpose());
        let mut lock = locked.unwrap_or(Err(WorkFolderError::InUse))?;
        if !ensure_marked(&path, &lock)? {
            let marked = lock.rewind().and_then(|()| lock.write_all(MARK));
            marked.map_err(WorkFolderError::Io)?;
        }
        Ok(WorkFolder {
            path,
            lock: Some(lock),
            is_left: false,
        })
    }

    /// Where the folder for the file or folder `name` in `directory` is, or would be.
    pub fn path_of(directory: &Path, name: &OsStr) -> PathBuf {
        let mut hidden = OsString::from(".");
        hidden.push(cut_name(name, MOST_NAME - 1 - ENDING.len()));
        hidden.push(ENDING);
        directory.join(hidden)
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
            if WorkFolder::is_lock(&entry.path()) {
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

    /// Removes it with what is in it.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn remove(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            return Ok(());
        }
        // The mark goes last: what is left of a folder is to bear it.
        self.clear()?;
        fs::remove_file(self.path.join(LOCK))?;
        // On some file systems a file that is open keeps a name in the folder.
        self.lock = None;
        match fs::remove_dir(&self.path) {
            // Another process has begun to use it, or has done so already.
            Err(error) if is_of_another(error.kind()) => Ok(()),
            removed => removed,
        }
    }

    /// From now on it stays when it is dropped, for the next run.
    pub fn leave(&mut self) {
        self.is_left = true;
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if !self.is_left
            && let Err(error) = self.remove()
        {
            log::warn!("{}: {error}", self.path.display());
        }
    }
}

/// Makes the folder, if it is not there, and locks it; `None` if it was removed
/// meanwhile.
fn locked(path: &Path) -> Result<Option<File>, WorkFolderError> {
    // The folder gets its rights before others can open files in it.
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made.map_err(WorkFolderError::Io)?,
    }
    let lock = match ensure_ours(path).and_then(|()| open_lock(path)) {
        Err(WorkFolderError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        lock => lock?,
    };
    if !try_lock(&lock).map_err(WorkFolderError::Io)? {
        return Err(WorkFolderError::InUse);
    }
    let own = lock.metadata().map_err(WorkFolderError::Io)?;
    let named = fs::symlink_metadata(path.join(LOCK)).ok();
    let is_named = named.is_some_and(|named| (named.dev(), named.ino()) == (own.dev(), own.ino()));
    Ok(is_named.then_some(lock))
}

/// Returns whether an error of removing a folder says that another process uses or
/// has removed it.
fn is_of_another(error: io::ErrorKind) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
    matches!(error, AlreadyExists | DirectoryNotEmpty | NotFound)
}

/// Rejects what is no folder of this user.
fn ensure_ours(path: &Path) -> Result<(), WorkFolderError> {
    let stat = fs::symlink_metadata(path).map_err(WorkFolderError::Io)?;
    if stat.is_dir() && stat.uid() == nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    Err(WorkFolderError::NotOurs(path.to_path_buf()))
}

/// Opens the lock file of a folder, which is made in an empty one only.
fn open_lock(path: &Path) -> Result<File, WorkFolderError> {
    let not_ours = || WorkFolderError::NotOurs(path.to_path_buf());
    let file = path.join(LOCK);
    let is_new = match fs::symlink_metadata(&file) {
        Ok(stat) if stat.is_file() => false,
        Ok(_) => return Err(not_ours()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(WorkFolderError::Io(error)),
    };
    if is_new && !is_empty_but_for_lock(path).map_err(WorkFolderError::Io)? {
        return Err(match fs::symlink_metadata(&file) {
            // Another process has begun anew since the look at the lock file.
            Ok(_) => WorkFolderError::Io(io::ErrorKind::NotFound.into()),
            Err(_) => not_ours(),
        });
    }
    // Another run may make it at the same time: one file serves both.
    File::options()
        .create(is_new)
        .truncate(false)
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&file)
        .map_err(WorkFolderError::Io)
}

/// Returns whether the locked folder bears the mark. One without it is rejected
/// unless there is nothing in it but a lock file whose content was being written.
fn ensure_marked(path: &Path, lock: &File) -> Result<bool, WorkFolderError> {
    let mut content = Vec::new();
    let most = MARK.len() as u64 + 1;
    lock.take(most)
        .read_to_end(&mut content)
        .map_err(WorkFolderError::Io)?;
    if content == MARK {
        return Ok(true);
    }
    let is_begun = MARK.starts_with(&content);
    if is_begun && is_empty_but_for_lock(path).map_err(WorkFolderError::Io)? {
        return Ok(false);
    }
    Err(WorkFolderError::NotOurs(path.to_path_buf()))
}

fn is_empty_but_for_lock(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        if entry?.file_name() != LOCK {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Renames a file or folder to an unused name.
///
/// # Errors
///
/// `AlreadyExists` if the name is used; errors of the system.
pub fn move_to_free(from: &Path, to: &Path) -> io::Result<()> {
    let [folder, other] = [from, to].map(|path| DiskDirectory::open(folder_of(path), ""));
    let [name, new] = [from, to].map(|path| path.file_name().unwrap_or_default());
    folder?.move_to_new(name, &other?, new)
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
        assert!(WorkFolder::is_lock(&path.join(LOCK)) && !WorkFolder::is_lock(&path.join("a")));
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

    #[test]
    fn a_file_or_folder_moves_to_an_unused_name() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("file"), "mine").unwrap();
        let taken = move_to_free(&at("a"), &at("file")).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        move_to_free(&at("a"), &at("c")).unwrap();
        move_to_free(&at("file"), &at("c/b/file")).unwrap();
        assert_eq!(fs::read(at("c/b/file")).unwrap(), b"mine");
        assert!(!at("a").exists() && !at("file").exists());
    }

    #[test]
    fn a_folder_that_cbfs_did_not_make_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let name = OsStr::new("new");
        let path = place.path().join(".new.cbfs-new");
        let beside = path.join("mine/file");
        for lock in [None, Some(&b""[..]), Some(b"mine"), Some(&MARK[..9])] {
            fs::create_dir_all(path.join("mine")).unwrap();
            fs::write(&beside, "x").unwrap();
            if let Some(content) = lock {
                fs::write(path.join(LOCK), content).unwrap();
            }
            let refused = WorkFolder::begin_empty(place.path(), name).unwrap_err();
            assert!(matches!(refused, WorkFolderError::NotOurs(_)), "{lock:?}");
            assert_eq!(fs::read(&beside).unwrap(), b"x");
            assert_eq!(fs::read(path.join(LOCK)).ok().as_deref(), lock);
            fs::remove_dir_all(&path).unwrap();
        }
        fs::create_dir_all(path.join(LOCK)).unwrap();
        let refused = WorkFolder::begin_empty(place.path(), name).unwrap_err();
        assert!(matches!(refused, WorkFolderError::NotOurs(_)));
        assert!(path.join(LOCK).is_dir());
    }

    #[test]
    fn a_folder_of_a_run_that_was_killed_before_it_made_the_mark_is_used() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".new.cbfs-new");
        for lock in [None, Some(&b""[..]), Some(&MARK[..9])] {
            fs::create_dir(&path).unwrap();
            if let Some(content) = lock {
                fs::write(path.join(LOCK), content).unwrap();
            }
            let folder = WorkFolder::begin(place.path(), OsStr::new("new")).unwrap();
            assert_eq!(fs::read(path.join(LOCK)).unwrap(), MARK);
            drop(folder);
            assert!(!path.exists());
        }
    }
}
