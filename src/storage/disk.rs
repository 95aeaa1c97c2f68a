//! Files on disk.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::sync::Arc;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{self, AtFlags, OFlag, PosixFadviseAdvice, posix_fadvise};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{AccessFlags, UnlinkatFlags, faccessat, geteuid, unlinkat};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno as RenameError;

use super::buffer::next_file_number;
use super::directory::{several_names, stranger};
use super::folder::{MOST_NAME, sync_open_folder};
use super::record::is_plain_name;
use super::{Directory, OpenFile, ReadBuffer, Stamp, Storage, WritableFile};

/// A file on disk.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    /// Length in bytes at the time of opening.
    opened_len: u64,
    /// Number of this open file, unique in the process.
    number: u64,
}

impl DiskFile {
    /// Opens the file at `path`, following links, for reading only.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no regular file, but a folder or a pipe; else
    /// errors of the system.
    pub fn open(path: &Path) -> io::Result<DiskFile> {
        // The open must not block on a pipe.
        let options = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .clone();
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(not_regular(SFlag::S_IFMT));
        }
        DiskFile::from_file(file)
    }

    /// Tells the system whether the file will be read from its begin to its end,
    /// or here and there: then it reads nothing that is not asked for.
    pub fn expect_sequential_reads(&self, is_sequential: bool) {
        let advice = if is_sequential {
            PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL
        } else {
            PosixFadviseAdvice::POSIX_FADV_RANDOM
        };
        // Only the speed depends on it.
        let _ = posix_fadvise(&self.file, 0, 0, advice);
    }

    fn from_file(file: File) -> io::Result<DiskFile> {
        Ok(DiskFile {
            opened_len: file.metadata()?.len(),
            file,
            number: next_file_number(),
        })
    }
}

impl Storage for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn ensure_kept(&self, end: u64) -> io::Result<()> {
        if self.len()? < end.min(self.opened_len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        buffer.read_filled(self, self.number, offset, len)
    }

    fn fill(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.resize(len, 0);
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(())
    }
}

impl OpenFile for DiskFile {
    fn stamp(&self) -> io::Result<Stamp> {
        Ok(stamp_of(&fstat(&self.file)?))
    }
}

impl WritableFile for DiskFile {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn try_lock(&self) -> io::Result<bool> {
        try_lock(&self.file)
    }
}

/// Locks a file against all other openings of it. Returns `false` if another has it
/// locked.
///
/// # Errors
///
/// Errors of the system.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => return Ok(false),
            // File systems of a network can be interrupted.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// An open folder on disk. Names refer to files in this folder, whatever its
/// path leads to later.
///
/// Files are opened, examined, renamed and removed without following links
/// (`openat` and the like), and only regular files are opened. A file with
/// several names (hard links) is not opened for writing: a save must not change
/// a backup made by `cp -al`.
#[derive(Clone, Debug)]
pub struct DiskDirectory {
    folder: Arc<OwnedFd>,
    /// The file that new files get mode and group from, and whose owner may
    /// leave a journal here.
    model: OsString,
}

/// How a folder is opened to work in it: itself, not what a link leads to.
const FOLDER: OFlag = OFlag::O_PATH
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

impl DiskDirectory {
    /// Opens the folder `path`. New files get mode and group of the file
    /// `model` in it; without that file only the present user can access them.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn open(path: &Path, model: impl Into<OsString>) -> io::Result<DiskDirectory> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(DiskDirectory {
            folder: Arc::new(fcntl::open(path, flags, Mode::empty())?),
            model: model.into(),
        })
    }

    /// The folder that is listed.
    pub(super) fn from_listing(listing: &Dir) -> io::Result<DiskDirectory> {
        let folder = fcntl::openat(listing, ".", FOLDER, Mode::empty())?;
        Ok(DiskDirectory {
            folder: Arc::new(folder),
            model: OsString::new(),
        })
    }

    /// The present stamp of a regular file; `None` if it is none.
    pub(super) fn stamp_of_file(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        let stat = self.stat(name)?;
        let file = stat.filter(|stat| kind_of(stat) == SFlag::S_IFREG);
        Ok(file.as_ref().map(stamp_of))
    }

    /// Returns why a file cannot be written, by its mode too, which root could
    /// ignore. `None` if it can, or does not exist.
    pub fn unwritable_because(&self, name: &OsStr) -> Option<String> {
        match self.stat(name) {
            Ok(None) => None,
            Ok(Some(stat)) if kind_of(&stat) != SFlag::S_IFREG => {
                Some(not_regular(kind_of(&stat)).to_string())
            }
            Ok(Some(stat)) if links_of(&stat) > 1 => {
                Some(several_names(links_of(&stat)).to_string())
            }
            Ok(Some(stat)) => self.unwritable(name, stat.st_mode),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Checks that a file is a regular one with only one name, if it exists.
    ///
    /// # Errors
    ///
    /// `InvalidInput` or `PermissionDenied` if not; errors of the system.
    pub fn ensure_sole_name(&self, name: &OsStr) -> io::Result<()> {
        match self.stat(name)? {
            Some(stat) if kind_of(&stat) != SFlag::S_IFREG => Err(not_regular(kind_of(&stat))),
            Some(stat) if links_of(&stat) > 1 => Err(several_names(links_of(&stat))),
            _ => Ok(()),
        }
    }

    /// Returns why no file can be created here, as
    /// [`unwritable_because`](DiskDirectory::unwritable_because); `None` if one
    /// can.
    pub fn closed_because(&self) -> Option<String> {
        let here = OsStr::new(".");
        match fstatat(&self.folder, here, AtFlags::empty()) {
            Ok(stat) => self.unwritable(here, stat.st_mode),
            Err(error) => Some(error.to_string()),
        }
    }

    fn unwritable(&self, name: &OsStr, mode: libc::mode_t) -> Option<String> {
        if mode & 0o222 == 0 {
            return Some("its mode lets nobody write it".to_owned());
        }
        let allowed = faccessat(&self.folder, name, AccessFlags::W_OK, AtFlags::empty());
        let error = io::Error::from(allowed.err()?);
        Some(format!("cannot be written: {error}"))
    }

    /// Creates a file with the usual rights of a program's files, ignoring the
    /// model.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is taken, `InvalidInput` if it is no plain
    /// name; errors of the system.
    pub fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(0o666);
        let opened = fcntl::openat(&self.folder, plain(name)?, flags, mode)?;
        Ok(File::from(opened))
    }

    /// Creates a folder in it and opens that.
    ///
    /// # Errors
    ///
    /// As [`create_file`](DiskDirectory::create_file).
    pub fn create_folder(&self, name: &OsStr) -> io::Result<DiskDirectory> {
        mkdirat(&self.folder, plain(name)?, Mode::from_bits_truncate(0o777))?;
        self.folder(name)
    }

    /// Opens a folder in it, not what a link leads to.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no plain name; errors of the system.
    pub fn folder(&self, name: &OsStr) -> io::Result<DiskDirectory> {
        let opened = fcntl::openat(&self.folder, plain(name)?, FOLDER, Mode::empty())?;
        Ok(DiskDirectory {
            folder: Arc::new(opened),
            model: self.model.clone(),
        })
    }

    /// Moves a file, or a folder with its content, to an unused name in `to`.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is used; errors of the system.
    pub fn move_to_new(&self, name: &OsStr, to: &DiskDirectory, new: &OsStr) -> io::Result<()> {
        let (name, new) = (plain(name)?, plain(new)?);
        match renameat_with(&self.folder, name, &to.folder, new, RenameFlags::NOREPLACE) {
            // Some file systems cannot rename without replacing.
            Err(RenameError::INVAL | RenameError::NOSYS) if to.stat(new)?.is_none() => {
                Ok(fcntl::renameat(&self.folder, name, &to.folder, new)?)
            }
            Err(RenameError::INVAL | RenameError::NOSYS) => Err(Errno::EEXIST.into()),
            moved => Ok(moved?),
        }
    }

    fn open_as(&self, name: &OsStr, access: OFlag) -> io::Result<DiskFile> {
        // The open must not block on a pipe.
        let flags = access | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let opened = fcntl::openat(&self.folder, plain(name)?, flags, Mode::empty());
        let file = File::from(opened.map_err(|error| match error {
            Errno::ELOOP => not_regular(SFlag::S_IFLNK),
            Errno::EISDIR | Errno::ENXIO => not_regular(SFlag::S_IFMT),
            error => error.into(),
        })?);
        if !file.metadata()?.is_file() {
            return Err(not_regular(SFlag::S_IFMT));
        }
        DiskFile::from_file(file)
    }

    fn stat(&self, name: &OsStr) -> io::Result<Option<FileStat>> {
        // The other files of a base of a long name, which are not there.
        if name.len() > MOST_NAME {
            return Ok(None);
        }
        match fstatat(&self.folder, plain(name)?, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Metadata of the model file, if it is a regular file.
    fn model(&self) -> io::Result<Option<FileStat>> {
        let stat = self.stat(&self.model)?;
        Ok(stat.filter(|stat| kind_of(stat) == SFlag::S_IFREG))
    }

    fn make_like_model(&self, file: &File) -> io::Result<()> {
        let rights = self.model()?.map(|model| Rights {
            mode: model.st_mode,
            owner: model.st_uid,
            group: model.st_gid,
        });
        rights.map_or(Ok(()), |rights| rights.give(file))
    }
}

/// Mode, owner and group of a file.
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    mode: u32,
    owner: u32,
    group: u32,
}

/// Takes from a new file or folder the rights of others that they do not have to the
/// file that it was made of.
///
/// # Errors
///
/// Errors of the system.
pub fn make_as_private(made: &File, from: &Path) -> io::Result<()> {
    let from = fs::metadata(from)?.mode();
    let stat = made.metadata()?;
    // Who may read the file may look into the folder.
    let may_enter = if stat.is_dir() {
        (from & 0o044) >> 2
    } else {
        0
    };
    let mode = stat.mode() & 0o7777;
    let kept = mode & (from | may_enter | 0o7700);
    if kept == mode {
        return Ok(());
    }
    match made.set_permissions(Permissions::from_mode(kept)) {
        Err(error) if NO_MODES.contains(&error.kind()) => Ok(()),
        set => set,
    }
}

/// Errors of setting a mode where this user, or the file system, cannot.
const NO_MODES: [io::ErrorKind; 2] = [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported];

impl Rights {
    /// Reads them from the regular file at `path`, which must not be a link.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no regular file; errors of the system.
    pub fn of(path: &Path) -> io::Result<Rights> {
        let stat = fs::symlink_metadata(path)?;
        if !stat.is_file() {
            return Err(not_regular(SFlag::S_IFMT));
        }
        Ok(Rights {
            mode: stat.mode(),
            owner: stat.uid(),
            group: stat.gid(),
        })
    }

    /// Applies mode and group to a new file or folder, as root the owner, too.
    /// If the group cannot be set, the mode gives no rights to another group.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn give(self, file: &File) -> io::Result<()> {
        let made = file.metadata()?;
        let mut has_group = true;
        if (made.uid(), made.gid()) != (self.owner, self.group) {
            let owner = geteuid().is_root().then_some(self.owner);
            let given = fchown(file, owner, Some(self.group));
            has_group = given.is_ok() || made.gid() == self.group;
        }
        let mode = self.mode_of(made.is_dir(), has_group);
        match file.set_permissions(Permissions::from_mode(mode)) {
            Err(error) if NO_MODES.contains(&error.kind()) => Ok(()),
            set => set,
        }
    }

    /// The mode of a new file or folder, of this group or another one.
    fn mode_of(self, is_folder: bool, has_group: bool) -> u32 {
        let mut mode = self.mode & 0o666;
        if is_folder {
            mode |= (mode & 0o444) >> 2;
        }
        if has_group { mode } else { mode & !0o070 }
    }
}

impl Directory for DiskDirectory {
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        Ok(Box::new(self.open_as(name, OFlag::O_RDONLY)?))
    }

    fn open_writable(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        let file = self.open_as(name, OFlag::O_RDWR)?;
        let links = file.file.metadata()?.nlink();
        if links > 1 {
            return Err(several_names(links));
        }
        Ok(Box::new(file))
    }

    fn create(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        // No other user may open it before the rights are applied.
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = File::from(fcntl::openat(&self.folder, plain(name)?, flags, mode)?);
        if let Err(error) = self.make_like_model(&file) {
            self.remove(name)?;
            return Err(error);
        }
        Ok(Box::new(DiskFile::from_file(file)?))
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        let removed = unlinkat(&self.folder, plain(name)?, UnlinkatFlags::NoRemoveDir);
        Ok(removed?)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (plain(from)?, plain(to)?);
        Ok(fcntl::renameat(&self.folder, from, &self.folder, to)?)
    }

    fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        Ok(self.stat(name)?.as_ref().map(stamp_of))
    }

    fn ensure_trusted(&self, stamp: &Stamp) -> io::Result<()> {
        let owner = stamp.owner;
        let is_of_base = self.model()?.is_some_and(|model| model.st_uid == owner);
        if owner == geteuid().as_raw() || owner == 0 || is_of_base {
            return Ok(());
        }
        Err(stranger(owner))
    }

    fn sync(&self) -> io::Result<()> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let opened = fcntl::openat(&self.folder, ".", flags, Mode::empty())?;
        sync_open_folder(&File::from(opened))
    }
}

/// Returns `name` if it is a plain file name without a folder.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "not a name of a file");
    is_plain_name(name).then_some(name).ok_or_else(refused)
}

fn kind_of(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode & libc::S_IFMT)
}

/// The error for a name that is no regular file.
fn not_regular(kind: SFlag) -> io::Error {
    let what = match kind {
        SFlag::S_IFLNK => "a symbolic link, which is not followed",
        _ => "not a regular file",
    };
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "the numbers are narrower on other machines"
)]
fn stamp_of(stat: &FileStat) -> Stamp {
    Stamp {
        device: u64::try_from(stat.st_dev).unwrap_or(0),
        inode: u64::try_from(stat.st_ino).unwrap_or(0),
        len: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (i64::from(stat.st_mtime), i64::from(stat.st_mtime_nsec)),
        changed: (i64::from(stat.st_ctime), i64::from(stat.st_ctime_nsec)),
        links: links_of(stat),
        owner: stat.st_uid,
    }
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    reason = "the number is narrower on other machines"
)]
fn links_of(stat: &FileStat) -> u64 {
    u64::try_from(stat.st_nlink).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_locked_once_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(folder.path(), "x").unwrap();
        let name = OsStr::new("x");
        let first = directory.create(name).unwrap();
        assert!(first.try_lock().unwrap());
        let second = directory.open_writable(name).unwrap();
        assert!(!second.try_lock().unwrap());
        drop(first);
        assert!(second.try_lock().unwrap());
    }

    #[test]
    fn a_stamp_tells_a_file_from_a_changed_or_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(folder.path(), "x").unwrap();
        let name = OsStr::new("x");
        assert_eq!(directory.stamp(name).unwrap(), None);
        let file = directory.create(name).unwrap();
        let empty = file.stamp().unwrap();
        assert_eq!(directory.stamp(name).unwrap(), Some(empty));
        file.write_at(3, b"abc").unwrap();
        let written = file.stamp().unwrap();
        assert!(written != empty && written.is_same_file(&empty));
        assert_eq!(written.len, 6);
        directory.rename(name, OsStr::new("y")).unwrap();
        directory.create(name).unwrap();
        let other = directory.stamp(name).unwrap().unwrap();
        assert!(!other.is_same_file(&written));
        directory.sync().unwrap();
        directory.remove(name).unwrap();
        assert_eq!(directory.stamp(name).unwrap(), None);
    }

    #[test]
    fn a_name_that_no_file_can_have_is_of_none() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(folder.path(), "model").unwrap();
        let longest = OsString::from("n".repeat(MOST_NAME));
        assert_eq!(directory.stamp(&longest).unwrap(), None);
        fs::write(folder.path().join(&longest), b"n").unwrap();
        assert_eq!(directory.stamp(&longest).unwrap().unwrap().len, 1);
        let longer = OsString::from("n".repeat(MOST_NAME + 1));
        assert_eq!(directory.stamp(&longer).unwrap(), None);
        assert!(directory.create(&longer).is_err());
    }

    #[test]
    fn only_a_file_of_one_name_that_may_be_written_is_writable() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let directory = DiskDirectory::open(folder.path(), "x").unwrap();
        for name in ["plain", "linked", "closed"] {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::hard_link(at("linked"), at("link")).unwrap();
        std::fs::set_permissions(at("closed"), Permissions::from_mode(0o444)).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let because = |name: &str| directory.unwritable_because(OsStr::new(name));
        assert_eq!((because("plain"), because("missing")), (None, None));
        let to_nobody = Some("its mode lets nobody write it");
        assert_eq!(because("closed").as_deref(), to_nobody);
        let (linked, folder) = (several_names(2), not_regular(SFlag::S_IFDIR));
        assert_eq!(because("linked"), Some(linked.to_string()));
        assert_eq!(because("folder"), Some(folder.to_string()));
        let is_sole = |name: &str| directory.ensure_sole_name(OsStr::new(name)).is_ok();
        let soles = ["plain", "missing", "linked", "folder"].map(is_sole);
        assert_eq!(soles, [true, true, false, false]);
        let opens = |name: &str| directory.open_writable(OsStr::new(name)).is_ok();
        assert_eq!(["plain", "linked"].map(opens), [true, false]);
        std::os::unix::fs::symlink("plain", at("symlink")).unwrap();
        let link = OsStr::new("symlink");
        assert!(directory.open(link).is_err() && directory.open_writable(link).is_err());
        let plain = directory.open_writable(OsStr::new("plain")).unwrap();
        plain.write_at(2, b"ce").unwrap();
        assert_eq!(std::fs::read(at("plain")).unwrap(), b"plcen");
        plain.set_len(3).unwrap();
        assert_eq!(std::fs::read(at("plain")).unwrap(), b"plc");
        assert_eq!(directory.closed_because(), None);
        let close = |mode| std::fs::set_permissions(at("."), Permissions::from_mode(mode)).unwrap();
        close(0o555);
        let why = directory.closed_because();
        close(0o755);
        assert_eq!(why.as_deref(), to_nobody);
    }

    #[test]
    fn a_new_file_takes_no_name_that_is_used_and_has_the_rights_of_the_model() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(folder.path(), "model").unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = |name: &str| path(name).metadata().unwrap().mode() & 0o777;
        let create = |name: &str| directory.create(OsStr::new(name)).map(drop);
        let create_file = |name: &str| directory.create_file(OsStr::new(name)).map(drop);
        create("new").unwrap();
        create_file("model").unwrap();
        std::fs::set_permissions(path("model"), Permissions::from_mode(0o640)).unwrap();
        create("like").unwrap();
        assert_eq!((mode("new"), mode("like")), (0o600, 0o640));
        for name in ["new", "model"] {
            for taken in [create(name), create_file(name)] {
                let error = taken.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{name}");
            }
            assert!(DiskDirectory::open(&path(name), "x").is_err());
        }
    }

    #[test]
    fn a_file_moves_into_another_folder_if_its_name_is_free_there() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(folder.path(), "x").unwrap();
        let (name, new) = (OsStr::new("a"), OsStr::new("b"));
        let inner = directory.create_folder(OsStr::new("inner")).unwrap();
        assert!(directory.create_folder(OsStr::new("inner")).is_err());
        assert!(directory.create_folder(OsStr::new("..")).is_err());
        directory
            .create(name)
            .unwrap()
            .write_at(0, b"text")
            .unwrap();
        directory.move_to_new(name, &inner, new).unwrap();
        let moved = std::fs::read(folder.path().join("inner/b")).unwrap();
        assert_eq!(moved, b"text");
        directory.create(name).unwrap();
        let taken = directory.move_to_new(name, &inner, new).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_pipe_is_refused_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let mode = nix::sys::stat::Mode::S_IRWXU;
        nix::unistd::mkfifo(&folder.path().join("pipe"), mode).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let directory = DiskDirectory::open(folder.path(), "x").unwrap();
        for name in ["pipe", "folder"] {
            let opened = directory.open(OsStr::new(name)).unwrap_err();
            assert_eq!(opened.kind(), io::ErrorKind::InvalidInput, "{name}");
            assert!(directory.open_writable(OsStr::new(name)).is_err());
        }
    }

    #[test]
    fn a_removed_file_differs_from_a_missing_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.cbg");
        std::fs::write(&path, [0; 100]).unwrap();
        let file = DiskFile::open(&path).unwrap();
        file.ensure_kept(200).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(50)
            .unwrap();
        file.ensure_kept(50).unwrap();
        for end in [51, 100, 200] {
            let error = file.ensure_kept(end).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        DiskFile::open(&path).unwrap().ensure_kept(100).unwrap();
    }

    #[test]
    fn a_journal_of_a_stranger_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(folder.path(), "x").unwrap();
        let own = directory.create(OsStr::new("x")).unwrap().stamp().unwrap();
        let of = |owner| Stamp { owner, ..own };
        assert!(directory.ensure_trusted(&own).is_ok());
        assert!(directory.ensure_trusted(&of(0)).is_ok());
        let error = directory.ensure_trusted(&of(own.owner + 1)).unwrap_err();
        assert_eq!(error.to_string(), stranger(own.owner + 1).to_string());
        // The owner of the base is none.
        if geteuid().is_root() {
            std::os::unix::fs::chown(folder.path().join("x"), Some(own.owner + 1), None).unwrap();
            assert!(directory.ensure_trusted(&of(own.owner + 1)).is_ok());
        }
    }

    #[test]
    fn a_file_is_given_owner_and_group_or_no_rights_of_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str, rights: Rights| {
            let file = File::create(folder.path().join(name)).unwrap();
            rights.give(&file).unwrap();
            let stat = file.metadata().unwrap();
            (stat.uid(), stat.gid(), stat.mode() & 0o777)
        };
        let own = File::open(folder.path()).unwrap().metadata().unwrap();
        let rights = |owner, group| Rights {
            mode: 0o100_775,
            owner,
            group,
        };
        let (uid, gid) = (own.uid(), own.gid());
        assert_eq!(made("own", rights(uid, gid)), (uid, gid, 0o664));
        let of_others = made("others", rights(54_321, 54_322));
        if geteuid().is_root() {
            assert_eq!(of_others, (54_321, 54_322, 0o664));
        } else {
            assert_eq!(of_others, (uid, gid, 0o604));
        }
    }

    #[test]
    fn rights_are_those_of_a_file_and_of_no_link_or_folder() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let rights = Rights::of(&file).unwrap();
        let stat = file.metadata().unwrap();
        let owners = (rights.owner, rights.group);
        assert_eq!(owners, (stat.uid(), stat.gid()));
        assert_eq!(rights.mode & 0o777, 0o640);
        for other in [&link, folder.path()] {
            let refused = Rights::of(other).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_mode_is_one_of_files_or_folders_without_rights_of_another_group() {
        for (mode, is_folder, has_group, wanted) in [
            (0o100_775, false, true, 0o664),
            (0o100_640, true, true, 0o750),
            (0o100_664, false, false, 0o604),
            (0o100_664, true, false, 0o705),
            (0o100_600, true, false, 0o700),
        ] {
            let (owner, group) = (1, 1);
            let rights = Rights { mode, owner, group };
            assert_eq!(rights.mode_of(is_folder, has_group), wanted, "{mode:o}");
        }
    }
}
