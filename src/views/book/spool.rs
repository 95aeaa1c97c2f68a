//! Large texts, which are written once each.

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::texts::TextKey;
use crate::book::export::ExportError;
use crate::fs::Error;
use crate::fs::content::once::Once;
use crate::storage::Spool;

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

    /// The length of the text of `key`, if that is written.
    pub(super) fn known_bytes(&self, key: TextKey) -> Option<u64> {
        Some(self.slots.lock().peek(&key)?.get()?.bytes())
    }

    /// The text of `key`, which `write` writes if it is not there.
    pub(super) fn get(
        &self,
        key: TextKey,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>,
    ) -> Result<Arc<Spool>, Error> {
        let slot = Arc::clone(self.slots.lock().get_or_insert(key, Slot::default));
        if let Some(spool) = slot.get() {
            return Ok(spool);
        }
        // What fails is tried again by who asks next.
        let spool = slot.get_or_work_out(|| {
            let mut out = Spool::begin().map_err(ExportError::from)?;
            write(&mut out)?;
            Ok(Arc::new(Spool::end(out).map_err(ExportError::from)?))
        })?;
        self.trim();
        Ok(spool)
    }

    /// Makes room for bytes.
    fn trim(&self) {
        let mut slots = self.slots.lock();
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
    use std::io::Write as _;

    use super::*;
    use crate::fs::Ino;

    fn key(number: u64) -> TextKey {
        (number, Ino(number))
    }

    #[test]
    fn a_text_is_written_once() {
        let spools = Spools::new(2, 1 << 20);
        let failed = spools.get(key(7), |_| Err(Error::NotFound));
        assert!(failed.is_err());
        let write = |out: &mut BufWriter<File>| {
            out.write_all(b"text").unwrap();
            Ok(())
        };
        spools.get(key(7), write).unwrap();
        let again = spools.get(key(7), |_| panic!("written twice")).unwrap();
        assert_eq!(again.read(0, 9).unwrap(), b"text");
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
