//! A file of small fields, of which each look-up reads a few.

use std::io;

use crate::book::cache::PageCache;
use crate::storage::{ReadBuffer, Storage};

/// Maximum length of a file that is kept in memory: the directory of a book of
/// 1 GB.
const KEPT_BYTES: u64 = 1 << 20;

/// Number of cached pieces of a longer file.
const PIECES: usize = 64;

/// Length of a piece.
const PIECE_BYTES: usize = 4096;

/// The file, or its content in memory.
#[derive(Debug)]
pub(super) struct CtgTable {
    len: u64,
    content: TableContent,
}

#[derive(Debug)]
enum TableContent {
    Kept(Vec<u8>),
    Read(Box<dyn Storage>, PageCache),
}

impl CtgTable {
    /// Opens a file, and reads it into memory if it is short.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn open(file: Box<dyn Storage>) -> io::Result<CtgTable> {
        let len = file.len()?;
        let content = match usize::try_from(len) {
            Ok(bytes) if len <= KEPT_BYTES => {
                TableContent::Kept(file.read(0, bytes, &mut ReadBuffer::default())?.to_vec())
            }
            _ => TableContent::Read(file, PageCache::new(PIECES, PIECE_BYTES)),
        };
        Ok(CtgTable { len, content })
    }

    /// Length in bytes at the time of opening.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the byte at `offset`; `None` beyond the end.
    pub(super) fn u8_at(&self, offset: u64) -> io::Result<Option<u8>> {
        Ok(self.at(offset)?.map(|[byte]| byte))
    }

    /// Returns the big-endian number at `offset`, a multiple of 4; `None`
    /// beyond the end.
    pub(super) fn u32_at(&self, offset: u64) -> io::Result<Option<u32>> {
        Ok(self.at(offset)?.map(u32::from_be_bytes))
    }

    /// Returns `N` bytes, which must lie in one piece.
    fn at<const N: usize>(&self, offset: u64) -> io::Result<Option<[u8; N]>> {
        let part = |bytes: &[u8], offset: u64| {
            let rest = bytes.get(usize::try_from(offset).ok()?..)?;
            rest.first_chunk().copied()
        };
        match &self.content {
            TableContent::Kept(bytes) => Ok(part(bytes, offset)),
            TableContent::Read(file, cache) => {
                let within = offset % PIECE_BYTES as u64;
                let look = |piece: &[u8]| part(piece, within);
                cache.with(file.as_ref(), offset - within, look)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    #[test]
    fn fields_are_the_same_in_memory_and_in_pieces() {
        let numbers = (0..2 * PIECE_BYTES / 4 + 3).map(|number| 7 * number);
        let bytes: Vec<u8> = numbers
            .flat_map(|number| u32::try_from(number).unwrap().to_be_bytes())
            .collect();
        let file = || Box::new(MemoryFile::from(bytes.clone()));
        let kept = CtgTable::open(file()).unwrap();
        let read = CtgTable {
            len: bytes.len() as u64,
            content: TableContent::Read(file(), PageCache::new(PIECES, PIECE_BYTES)),
        };
        for (number, field) in (0..).zip(bytes.as_chunks::<4>().0) {
            let fields = [&kept, &read].map(|table| table.u32_at(4 * number).unwrap());
            assert_eq!(fields, [Some(u32::from_be_bytes(*field)); 2]);
            let last = [&kept, &read].map(|table| table.u8_at(4 * number + 3).unwrap());
            assert_eq!(last, [Some(field[3]); 2]);
        }
        for table in [kept, read] {
            assert_eq!(table.u32_at(bytes.len() as u64).unwrap(), None);
        }
    }

    #[test]
    fn a_table_of_up_to_1_mib_is_kept_in_memory() {
        for (len, is_expected) in [(1 << 20, true), ((1_u64 << 20) + 1, false)] {
            let file = MemoryFile::from(vec![0; usize::try_from(len).unwrap()]);
            let table = CtgTable::open(Box::new(file)).unwrap();
            assert_eq!(matches!(table.content, TableContent::Kept(_)), is_expected);
            assert_eq!(table.len(), len);
        }
    }
}
