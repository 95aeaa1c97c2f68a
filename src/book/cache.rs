//! A cache of pages of a file.
//!
//! A look-up reads one page, and the system call takes longer than all else.
//! Each page has one slot, and each slot its own lock, so look-ups rarely wait
//! for each other.

use std::io;

use parking_lot::Mutex;

use crate::storage::{ReadBuffer, Storage};

/// Cached pages can be older than the file: a book whose files have changed
/// must be opened again.
#[derive(Debug)]
pub(super) struct PageCache {
    slots: Box<[Mutex<CacheSlot>]>,
    page_bytes: usize,
}

#[derive(Debug, Default)]
struct CacheSlot {
    /// Offset of the page in the file; `None` if the slot is empty.
    offset: Option<u64>,
    bytes: Vec<u8>,
}

impl PageCache {
    /// A cache of at most `slots` pages. Memory is allocated when a page is
    /// read.
    pub(super) fn new(slots: usize, page_bytes: usize) -> PageCache {
        PageCache {
            slots: (0..slots.max(1)).map(|_| Mutex::default()).collect(),
            page_bytes,
        }
    }

    /// Calls `look` with the page at `offset`, which is shorter at the end of
    /// the file.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(super) fn with<T>(
        &self,
        file: &dyn Storage,
        offset: u64,
        look: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        let number = offset / self.page_bytes as u64 % self.slots.len() as u64;
        let slot = usize::try_from(number)
            .ok()
            .and_then(|at| self.slots.get(at));
        let Some(slot) = slot else {
            return Err(io::Error::other("a page has no place"));
        };
        let mut slot = slot.lock();
        if slot.offset != Some(offset) {
            slot.offset = None;
            let mut buffer = ReadBuffer::default();
            let read = file.read_up_to(offset, self.page_bytes, &mut buffer)?;
            if read.len() < self.page_bytes {
                file.ensure_kept(offset.saturating_add(self.page_bytes as u64))?;
            }
            slot.bytes.clear();
            slot.bytes.extend_from_slice(read);
            slot.offset = Some(offset);
        }
        Ok(look(&slot.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    #[test]
    fn pages_that_share_a_place_do_not_take_each_other_for_themselves() {
        let file = MemoryFile::from((0..=255).collect::<Vec<u8>>());
        let cache = PageCache::new(3, 10);
        for offset in [0, 30, 0, 60, 10, 250, 250, 300] {
            let read = cache.with(&file, offset, <[u8]>::to_vec).unwrap();
            let from = usize::try_from(offset).unwrap().min(256);
            assert_eq!(read, file.bytes[from..(from + 10).min(256)]);
        }
    }

    #[test]
    fn a_page_of_a_file_that_was_cut_is_an_error_and_not_a_short_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ctg");
        std::fs::write(&path, [7; 25]).unwrap();
        let file = crate::storage::DiskFile::open(&path).unwrap();
        let length = |offset| PageCache::new(3, 10).with(&file, offset, <[u8]>::len);
        assert_eq!(length(20).unwrap(), 5);
        let cut = std::fs::File::options().write(true).open(&path).unwrap();
        cut.set_len(15).unwrap();
        assert_eq!(length(0).unwrap(), 10);
        for offset in [10, 20] {
            let error = length(offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{offset}");
        }
    }
}
