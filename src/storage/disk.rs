//! Files on disk.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::Storage;

/// A file on disk, opened for reading.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
}

impl DiskFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(path: &Path) -> io::Result<DiskFile> {
        let file = File::open(path)?;
        Ok(DiskFile { file })
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
        buffer: &'a mut Vec<u8>,
    ) -> io::Result<&'a [u8]> {
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let target = buffer.get_mut(..len).unwrap_or_default();
        let mut filled = 0;
        while let Some(rest) = target.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(buffer.get(..filled).unwrap_or_default())
    }
}
