//! Files in memory: stand-ins for files that do not exist, and files of tests.

use std::io;

use super::{ReadBuffer, Storage};

/// Bytes in memory that are read like a file.
#[derive(Clone, Debug, Default)]
pub struct MemoryFile {
    /// The content.
    pub bytes: Vec<u8>,
}

impl From<Vec<u8>> for MemoryFile {
    fn from(bytes: Vec<u8>) -> MemoryFile {
        MemoryFile { bytes }
    }
}

impl Storage for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        _buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(self.bytes.len());
        let end = start.saturating_add(len).min(self.bytes.len());
        Ok(self.bytes.get(start..end).unwrap_or_default())
    }
}
