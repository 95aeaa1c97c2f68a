//! Files on disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{ReadBuffer, Storage};

/// A file on disk, opened for reading.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    /// Tells this file from all others that are open.
    number: u64,
}

impl DiskFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(path: &Path) -> io::Result<DiskFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Ok(DiskFile {
            file: File::open(path)?,
            number: NEXT.fetch_add(1, Relaxed),
        })
    }

    /// Makes `bytes` the `len` bytes at `offset`, fewer where the file ends.
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

impl Storage for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
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
}
