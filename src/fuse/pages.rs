//! Which content of a file the kernel may have pages of.

use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use crate::vfs::Ino;

/// Files remembered; of others the kernel reads the pages anew.
const MOST: usize = 1 << 16;

/// Marks of the contents that were opened last.
#[derive(Debug)]
pub(super) struct Pages(Mutex<LruCache<Ino, u32>>);

impl Pages {
    pub(super) fn new() -> Pages {
        Pages(Mutex::new(LruCache::unbounded()))
    }

    /// Notes that the content with `mark` is opened; gives whether all pages
    /// there may be are of it.
    pub(super) fn open(&self, ino: Ino, mark: u32) -> bool {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = marks.put(ino, mark);
        if marks.len() > MOST {
            marks.pop_lru();
        }
        before == Some(mark)
    }

    /// Notes that a page of this content is read, by who opened the file when
    /// it was that. The pages are the same for all who have it open: if others
    /// are of another content, none is kept for who opens it next.
    pub(super) fn read(&self, ino: Ino, mark: Option<u32>) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if marks.peek(&ino).copied() != mark {
            marks.pop(&ino);
        }
    }

    /// Notes that there may be pages of something else.
    pub(super) fn forget(&self, ino: Ino) {
        let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.pop(&ino);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_kept_while_the_content_is_the_same() {
        let pages = Pages::new();
        let game = Ino::new(1, 7);
        assert!(!pages.open(game, 5));
        assert!(pages.open(game, 5));
        assert!(!pages.open(game, 6));
        pages.forget(game);
        assert!(!pages.open(game, 6));
    }

    #[test]
    fn pages_of_another_content_are_not_kept_for_who_opens_next() {
        let pages = Pages::new();
        let game = Ino::new(1, 7);
        pages.open(game, 5);
        pages.open(game, 6);
        pages.read(game, Some(6));
        assert!(pages.open(game, 6));
        for other in [Some(5), None] {
            pages.read(game, other);
            assert!(!pages.open(game, 6));
        }
    }
}
