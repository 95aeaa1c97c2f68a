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
    /// The system's.
    pub fn open(path: &Path) -> io::Result<DiskFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let file = File::open(path)?;
        Ok(DiskFile {
            opened_len: file.metadata()?.len(),
            file,
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
