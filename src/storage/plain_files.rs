//! The regular files of a folder, on disk or in an archive.
//!
//! Links are not followed, neither in the folder nor the folder itself: a
//! folder from elsewhere must not show files of this computer.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use nix::dir::{Dir, Type};
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::{Directory, DiskDirectory, FolderTree, ReadBuffer, Stamp};

/// A folder whose files can be read.
#[derive(Debug)]
pub struct PlainFiles(FolderPlace);

#[derive(Debug)]
enum FolderPlace {
    Disk(DiskDirectory),
    Inside(Arc<dyn FolderTree>),
}

impl PlainFiles {
    /// Opens a folder on disk. Returns it, and the names of its files, sorted.
    ///
    /// # Errors
    ///
    /// Errors of the system; `NotADirectory` if it is a link.
    pub fn open(path: &Path) -> io::Result<(PlainFiles, Vec<OsString>)> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut listing = Dir::open(path, flags, Mode::empty())?;
        let folder = DiskDirectory::from_listing(&listing)?;
        let mut names = Vec::new();
        for entry in listing.iter() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let is_file = match entry.file_type() {
                Some(kind) => kind == Type::File,
                None => folder.stamp_of_file(name)?.is_some(),
            };
            if is_file {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok((PlainFiles(FolderPlace::Disk(folder)), names))
    }

    /// A folder of an archive. Returns it, and the names of its files, sorted.
    pub fn inside(folder: Arc<dyn FolderTree>) -> (PlainFiles, Vec<OsString>) {
        let is_file = |name: &OsString| folder.stamp(name).is_ok_and(|stamp| stamp.is_some());
        let names = folder.names().into_iter().filter(is_file).collect();
        (PlainFiles(FolderPlace::Inside(folder)), names)
    }

    /// The present stamp of a file; `None` if it is no regular file any more.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        match &self.0 {
            FolderPlace::Disk(folder) => folder.stamp_of_file(name),
            FolderPlace::Inside(folder) => folder.stamp(name),
        }
    }

    /// Appends up to `length` bytes of a file from `offset` on; fewer only at
    /// its end.
    ///
    /// # Errors
    ///
    /// `NotFound`; `InvalidInput` if it is no regular file any more; errors of
    /// the medium.
    pub fn read(
        &self,
        name: &OsStr,
        offset: u64,
        length: u32,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let folder: &dyn Directory = match &self.0 {
            FolderPlace::Disk(folder) => folder,
            FolderPlace::Inside(folder) => folder.as_ref(),
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut buffer = ReadBuffer::default();
        let file = folder.open(name)?;
        // No more memory than the file fills.
        let left = usize::try_from(file.len()?.saturating_sub(offset)).unwrap_or(usize::MAX);
        bytes.extend_from_slice(file.read_up_to(offset, length.min(left), &mut buffer)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryDirectory;

    #[test]
    fn files_of_a_folder_in_an_archive_are_listed_and_read() {
        let folder = MemoryDirectory::new();
        folder.put("a", *b"");
        folder.put("b", *b"0123");
        let (files, names) = PlainFiles::inside(Arc::new(folder));
        assert_eq!(names, ["a", "b"]);
        let length = |name| {
            files
                .stamp(OsStr::new(name))
                .unwrap()
                .map(|stamp| stamp.len)
        };
        assert_eq!(["a", "b", "c"].map(length), [Some(0), Some(4), None]);
        let mut bytes = Vec::new();
        files.read(OsStr::new("b"), 1, 9, &mut bytes).unwrap();
        assert_eq!(bytes, b"123");
    }

    #[test]
    fn files_of_a_folder_are_listed_and_read_but_no_links_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("b"), "0123456789").unwrap();
        std::fs::write(at("a"), "").unwrap();
        std::fs::create_dir(at("inner")).unwrap();
        std::os::unix::fs::symlink("b", at("link")).unwrap();
        std::os::unix::fs::symlink("inner", at("link to a folder")).unwrap();
        let (files, names) = PlainFiles::open(folder.path()).unwrap();
        assert_eq!(names, ["a", "b"]);
        for link in ["link", "link to a folder"] {
            assert!(PlainFiles::open(&at(link)).is_err());
        }
        let mut bytes = b"so far: ".to_vec();
        files.read(OsStr::new("b"), 3, 4, &mut bytes).unwrap();
        assert_eq!(bytes, b"so far: 3456");
        let after = |offset, length| {
            let mut bytes = Vec::new();
            let read = files.read(OsStr::new("b"), offset, length, &mut bytes);
            read.map(|()| String::from_utf8(bytes).unwrap()).unwrap()
        };
        assert_eq!([after(8, 9), after(12, 9)], ["89", ""]);
        let stamp = files.stamp(OsStr::new("b")).unwrap();
        assert_eq!(stamp.map(|stamp| stamp.len), Some(10));
        for name in ["inner", "link", "missing"] {
            let name = OsStr::new(name);
            assert!(files.read(name, 0, 1, &mut Vec::new()).is_err(), "{name:?}");
            assert_eq!(files.stamp(name).unwrap(), None, "{name:?}");
        }
    }
}
