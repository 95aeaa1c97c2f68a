//! Pages of a file that were read lately.
//!
//! A look-up reads one page, and asking the system for it takes longer than
//! all else. Each page has one place where it may lie, and each place a lock
//! of its own, so that look-ups hardly ever wait for each other.

use std::io;
use std::sync::{Mutex, PoisonError};

use crate::storage::{ReadBuffer, Storage};

/// What is kept may be older than the file: a book whose files have changed
/// is to be opened anew.
#[derive(Debug)]
pub(super) struct PageCache {
    places: Box<[Mutex<Place>]>,
    page_bytes: usize,
}

#[derive(Debug, Default)]
struct Place {
    /// Where in the file it was read; `None` if nothing was.
    offset: Option<u64>,
    bytes: Vec<u8>,
}

impl PageCache {
    /// Keeps at most `places` pages. Takes no memory for pages before they
    /// are read.
    pub(super) fn new(places: usize, page_bytes: usize) -> PageCache {
        PageCache {
            places: (0..places.max(1)).map(|_| Mutex::default()).collect(),
            page_bytes,
        }
    }

    /// Shows the page at `offset` to `look`: fewer bytes where the file ends.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(super) fn with<T>(
        &self,
        file: &dyn Storage,
        offset: u64,
        look: impl FnOnce(&[u8]) -> T,
    ) -> io::Result<T> {
        let number = offset / self.page_bytes as u64 % self.places.len() as u64;
        let place = usize::try_from(number)
            .ok()
            .and_then(|at| self.places.get(at));
        let Some(place) = place else {
            return Err(io::Error::other("a page has no place"));
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.offset != Some(offset) {
            place.offset = None;
            let mut buffer = ReadBuffer::default();
            let read = file.read_up_to(offset, self.page_bytes, &mut buffer)?;
            if read.len() < self.page_bytes {
                file.ensure_kept(offset.saturating_add(self.page_bytes as u64))?;
            }
            place.bytes.clear();
            place.bytes.extend_from_slice(read);
            place.offset = Some(offset);
        }
        Ok(look(&place.bytes))
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
}
