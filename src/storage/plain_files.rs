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
