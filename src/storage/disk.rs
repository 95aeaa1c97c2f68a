//! Files on disk.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::buffer::next_file_number;
use super::{Directory, ReadBuffer, Stamp, Storage, WritableFile};

/// A file on disk.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    /// Length in bytes when it was opened.
    opened_len: u64,
    /// Tells this file from all others that are open.
    number: u64,
}

impl DiskFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is none, as a folder or a pipe; else the system's.
    pub fn open(path: &Path) -> io::Result<DiskFile> {
        DiskFile::open_as(File::options().read(true), path)
    }

    fn open_as(options: &mut OpenOptions, path: &Path) -> io::Result<DiskFile> {
        // A pipe under the name must not keep anyone waiting.
        let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
        if !file.metadata()?.is_file() {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
            return Err(error);
        }
        DiskFile::from_file(file)
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
        let fill = |offset, len, bytes: &mut Vec<u8>| self.fill(offset, len, bytes);
        let read = buffer.read(self.number, offset, len, || self.len(), fill)?;
        Ok(read.get(..len).unwrap_or(read))
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

    fn stamp(&self) -> io::Result<Stamp> {
        Ok(stamp_of(&self.file.metadata()?))
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// A folder on disk.
#[derive(Clone, Debug)]
pub struct DiskDirectory {
    path: PathBuf,
}

impl DiskDirectory {
    /// The folder at `path`, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> DiskDirectory {
        DiskDirectory { path: path.into() }
    }
}

impl Directory for DiskDirectory {
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(DiskFile::open(&self.path.join(name))?))
    }

    fn open_writable(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        let path = self.path.join(name);
        let file = DiskFile::open_as(File::options().read(true).write(true), &path)?;
        Ok(Box::new(file))
    }

    fn create(&self, name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(self.path.join(name))?;
        Ok(Box::new(DiskFile::from_file(file)?))
    }

    fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        match fs::metadata(self.path.join(name)) {
            Ok(metadata) => Ok(Some(stamp_of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

fn stamp_of(metadata: &fs::Metadata) -> Stamp {
    Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        len: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_locked_once_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::new(folder.path());
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
        let directory = DiskDirectory::new(folder.path());
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
    fn what_is_no_file_is_refused_and_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let mode = nix::sys::stat::Mode::S_IRWXU;
        nix::unistd::mkfifo(&folder.path().join("pipe"), mode).unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let directory = DiskDirectory::new(folder.path());
        for name in ["pipe", "folder"] {
            let opened = directory.open(OsStr::new(name)).unwrap_err();
            assert_eq!(opened.kind(), io::ErrorKind::InvalidInput, "{name}");
            assert!(directory.open_writable(OsStr::new(name)).is_err());
        }
    }

    #[test]
    fn what_was_there_is_told_from_what_never_was() {
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
}
