//! Large texts, in files without a name: so long as somebody may read them
//! they need no memory, and nothing is left behind, however the mount ends.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::texts::TextKey;
use crate::fs::Error;
use crate::fs::content::once::Once;

/// A text in a file.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    bytes: u64,
}

impl Spool {
    fn new(write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>) -> Result<Spool, Error> {
        let mut writer = Spool::begin()?;
        write(&mut writer)?;
        Spool::end(writer)
    }

    /// Begins a text.
    pub(super) fn begin() -> Result<BufWriter<File>, Error> {
        let file = tempfile::tempfile().map_err(|error| failed(&error))?;
        Ok(BufWriter::with_capacity(1 << 16, file))
    }

    /// The text that was written.
    pub(super) fn end(mut writer: BufWriter<File>) -> Result<Spool, Error> {
        writer.flush().map_err(|error| failed(&error))?;
        let bytes = writer.stream_position().map_err(|error| failed(&error))?;
        let (file, _) = writer.into_parts();
        Ok(Spool { file, bytes })
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Up to `length` bytes from `offset` on; fewer at the end only.
    pub(super) fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        let left = self.bytes.saturating_sub(offset);
        let wanted = left.min(u64::from(length));
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or(0)];
        let read = self.file.read_exact_at(&mut bytes, offset);
        read.map_err(|error| failed(&error))?;
        Ok(bytes)
    }
}

fn failed(error: &io::Error) -> Error {
    Error::Damaged(format!("temporary file: {error}"))
}

/// Up to `length` bytes of `text` from `offset` on.
pub(super) fn slice(text: &[u8], offset: u64, length: u32) -> &[u8] {
    let start = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(text.len());
    let end = start.saturating_add(length as usize).min(text.len());
    text.get(start..end).unwrap_or_default()
}

/// A text that somebody writes, or has written.
type Slot = Arc<Once<Arc<Spool>>>;

/// Large texts by key; the least recently used are dropped first. Each is
/// written once; other requests for it wait.
#[derive(Debug)]
pub(super) struct Spools {
    slots: Mutex<LruCache<TextKey, Slot>>,
    /// Maximum size of all texts but the last.
    most_bytes: u64,
}

impl Spools {
    /// With room for so many, and for so many bytes.
    pub(super) fn new(most: usize, most_bytes: u64) -> Spools {
        let most = NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN);
        Spools {
            slots: Mutex::new(LruCache::new(most)),
            most_bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<TextKey, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The length of the text of `key`, if that is written.
    pub(super) fn known_bytes(&self, key: TextKey) -> Option<u64> {
        Some(self.lock().peek(&key)?.get()?.bytes())
    }

    /// The text of `key`, which `write` writes if it is not there.
    pub(super) fn get(
        &self,
        key: TextKey,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>,
    ) -> Result<Arc<Spool>, Error> {
        let slot = Arc::clone(self.lock().get_or_insert(key, Slot::default));
        if let Some(spool) = slot.get() {
            return Ok(spool);
        }
        // What fails is tried again by who asks next.
        let spool = slot.get_or_work_out(|| Ok(Arc::new(Spool::new(write)?)))?;
        self.trim();
        Ok(spool)
    }

    /// Makes room for bytes.
    fn trim(&self) {
        let mut slots = self.lock();
        let bytes = |slot: &Slot| slot.get().map_or(0, |spool| spool.bytes());
        let mut all: u64 = slots.iter().map(|(_, slot)| bytes(slot)).sum();
        while slots.len() > 1 && all > self.most_bytes {
            let removed = slots.pop_lru();
            all -= removed.map_or(0, |(_, slot)| bytes(&slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::Ino;

    fn key(number: u64) -> TextKey {
        (number, Ino(number))
    }

    #[test]
    fn a_text_is_written_once_and_read_in_pieces() {
        let spools = Spools::new(2, 1 << 20);
        let failed = spools.get(key(7), |_| Err(Error::NotFound));
        assert!(failed.is_err());
        let mut text = Vec::new();
        for number in 0..50_000 {
            writeln!(text, "{number}").unwrap();
        }
        let spool = spools
            .get(key(7), |out| {
                out.write_all(&text).map_err(|_| Error::NotFound)
            })
            .unwrap();
        let again = spools.get(key(7), |_| panic!("written twice")).unwrap();
        assert_eq!(spool.bytes(), text.len() as u64);
        assert_eq!(again.bytes(), spool.bytes());
        for (offset, length) in [(0, 10), (77_777, 65_536), (spool.bytes() - 3, 10)] {
            let expected = slice(&text, offset, length);
            assert!(!expected.is_empty());
            assert_eq!(again.read(offset, length).unwrap(), expected);
        }
        assert!(spool.read(spool.bytes(), 10).unwrap().is_empty());
        assert!(spool.read(u64::MAX, 10).unwrap().is_empty());
        assert!(slice(&text, u64::MAX, 10).is_empty());
    }

    #[test]
    fn least_recently_used_texts_are_dropped_first() {
        let spools = Spools::new(2, 1 << 20);
        let mut count = 0;
        for ino in [1, 2, 1, 3, 1, 2] {
            let write = |_: &mut BufWriter<File>| {
                count += 1;
                Ok(())
            };
            spools.get(key(ino), write).unwrap();
        }
        assert_eq!(count, 4);
    }

    #[test]
    fn texts_leave_when_there_are_too_many_bytes() {
        let spools = Spools::new(9, 10);
        let write = |number| {
            let write = |out: &mut BufWriter<File>| {
                out.write_all(b"4 + 4 by").unwrap();
                Ok(())
            };
            spools.get(key(number), write).unwrap()
        };
        let first = write(1);
        assert_eq!(spools.known_bytes(key(1)), Some(8));
        write(2);
        assert_eq!(spools.known_bytes(key(1)), None);
        assert_eq!(spools.known_bytes(key(2)), Some(8));
        // Who has it may read on.
        assert_eq!(first.read(6, 9).unwrap(), b"by");
    }
}
