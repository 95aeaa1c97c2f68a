//! Chunks: texts of many files in one piece, for who reads on and on.

use std::ops::Range;
use std::sync::Arc;

use lru::LruCache;

use super::index::{CHUNK_BYTES, Index, Segment};
use super::streams::STREAMS;
use super::{MOST_CHUNK_BYTES, Sources, append_text, files_of, length_of, within};
use crate::fs::content::once::Once;
use crate::fs::content::texts::Key;
use crate::fs::{Error, Ino};

/// A run of files, and their texts once they are rendered.
#[derive(Debug)]
pub(super) struct Chunk {
    directory: Ino,
    run: Segment,
    text: Once<Arc<Vec<u8>>>,
}

impl Chunk {
    /// The texts in one piece; rendered, if no other thread does.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`], or that of a text which could be read before.
    pub(super) fn text(&self, sources: Sources<'_>) -> Result<Arc<Vec<u8>>, Error> {
        self.text.get_or_work_out(|| self.render(sources))
    }

    /// Renders it before somebody asks.
    pub(super) fn render_ahead(&self, sources: Sources<'_>) {
        self.text.work_out_ahead(|| self.render(sources));
    }

    /// Where `range` of the whole lies in this piece.
    pub(super) fn within(&self, range: &Range<u64>) -> Range<usize> {
        within(range, self.run.start, self.bytes())
    }

    fn bytes(&self) -> usize {
        usize::try_from(self.run.end - self.run.start).unwrap_or(usize::MAX)
    }

    fn render(&self, sources: Sources<'_>) -> Result<Arc<Vec<u8>>, Error> {
        let mut text = Vec::with_capacity(self.bytes());
        let mut renderer = sources.volume.renderer();
        for ino in files_of(sources.volume, self.directory, &self.run)? {
            let expected = length_of(sources.sizes, ino);
            match append_text(&mut renderer, ino, &mut text) {
                Ok(measure) if measure.bytes == expected => {}
                // It could not be read, and adds nothing now as it did not then.
                Err(_) if expected == 0 => {}
                Err(error) => return Err(error),
                Ok(_) => return Err(Error::Stale),
            }
        }
        if text.len() != self.bytes() {
            return Err(Error::Stale);
        }
        Ok(Arc::new(text))
    }
}

/// Chunks that were wanted last.
#[derive(Debug)]
pub(super) struct Chunks {
    kept: LruCache<(Key, usize), Arc<Chunk>>,
    /// Bytes of all of them, rendered or about to be.
    bytes: u64,
    capacity: u64,
}

impl Chunks {
    /// Holds at most `capacity` bytes and the one that came last.
    pub(super) fn new(capacity: u64) -> Chunks {
        Chunks {
            kept: LruCache::unbounded(),
            bytes: 0,
            capacity,
        }
    }

    /// Bytes of all that are here or about to be.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many chunks to render ahead of a reader with so many threads: not
    /// so many that one reader takes the room of another.
    pub(super) fn ahead(&self, helpers: usize) -> usize {
        let room = self.capacity / CHUNK_BYTES / STREAMS as u64;
        // One is being read.
        (2 * helpers).min(usize::try_from(room).unwrap_or(0).saturating_sub(1))
    }

    /// A chunk, if it is here.
    pub(super) fn get(&mut self, key: Key, index: &Index, number: usize) -> Option<Arc<Chunk>> {
        let chunk = self.kept.get(&(key, number))?;
        // Not one of an index that was given up.
        (Some(chunk.run) == index.chunk(number)).then(|| Arc::clone(chunk))
    }

    /// A chunk, and whether it was not here; `None` beyond the last one, and
    /// for those too long.
    pub(super) fn get_or_add(
        &mut self,
        key: Key,
        index: &Index,
        number: usize,
    ) -> Option<(Arc<Chunk>, bool)> {
        if let Some(chunk) = self.get(key, index, number) {
            return Some((chunk, false));
        }
        let run = index.chunk(number)?;
        if run.end - run.start > MOST_CHUNK_BYTES {
            return None;
        }
        let chunk = Arc::new(Chunk {
            directory: key.1,
            run,
            text: Once::default(),
        });
        self.bytes += run.end - run.start;
        let replaced = self.kept.put((key, number), Arc::clone(&chunk));
        self.bytes -= replaced.map_or(0, |old| old.run.end - old.run.start);
        while self.bytes > self.capacity && self.kept.len() > 1 {
            if let Some((_, removed)) = self.kept.pop_lru() {
                self.bytes -= removed.run.end - removed.run.start;
            }
        }
        Some((chunk, true))
    }

    /// Lets go of the chunks of these concatenations.
    pub(super) fn forget(&mut self, is_meant: impl Fn(Key) -> bool) {
        let keys: Vec<_> = self.kept.iter().map(|(key, _)| *key).collect();
        for key in keys.into_iter().filter(|(key, _)| is_meant(*key)) {
            if let Some(removed) = self.kept.pop(&key) {
                self.bytes -= removed.run.end - removed.run.start;
            }
        }
    }
}
