//! Lengths and marks of rendered texts, four bytes each, kept for the next
//! mount. The few texts of eight thousand bytes and more have twice as many.
//!
//! A file's length must be exact before it was ever read, and the kernel must
//! be told which of its contents a name stands for; the only way to know both
//! is to render it. They are remembered here: for as long as the base stays
//! as it is, and in a file of the user's cache directory for the next mount
//! of the same base.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use imbl::OrdMap;

use crate::fs::content::text::{LONG, length_of_mark, mark_of};
use crate::fs::volume::{Completeness, Ino};
use crate::storage::{SparseWords, SpilledWords};

/// How long a text is, and whether it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Bytes, at most [`Measure::MAX_BYTES`].
    pub bytes: u32,
    /// The mark of the text, which says how long it is.
    pub mark: u32,
    /// Whether the text is all of the content.
    pub completeness: Completeness,
}

impl Measure {
    /// The longest text that is shown.
    pub const MAX_BYTES: u32 = 16 << 20;

    /// `mark << 32 | (bytes + 1) << 1`, the lowest bit set if partial; 0 is
    /// unknown.
    fn encode(self) -> u64 {
        u64::from(self.mark) << 32 | u64::from(self.length_word())
    }

    /// `(bytes + 1) << 1`, the lowest bit set if partial.
    fn length_word(self) -> u32 {
        (self.bytes + 1) << 1 | u32::from(self.completeness == Completeness::Partial)
    }

    fn decode(word: u64) -> Option<Measure> {
        let [low, mark] = [word & u64::from(u32::MAX), word >> 32];
        let mark = u32::try_from(mark).ok().filter(|mark| *mark > 0)?;
        Measure::of(mark, u32::try_from(low).ok()?)
    }

    fn of(mark: u32, length_word: u32) -> Option<Measure> {
        Some(Measure {
            bytes: (length_word >> 1).checked_sub(1)?,
            mark,
            completeness: if length_word & 1 == 0 {
                Completeness::Whole
            } else {
                Completeness::Partial
            },
        })
    }

    /// The mark, and 0 if it says all; else the mark of a long text of the same digest,
    /// and the rest.
    fn pack(self) -> [u32; 2] {
        match length_of_mark(self.mark) {
            Some(_) if self.completeness == Completeness::Whole => [self.mark, 0],
            _ => [self.mark | LONG, self.length_word()],
        }
    }

    /// The reverse; `length_word` is asked for where the mark does not say all.
    fn unpack(mark: u32, length_word: impl FnOnce() -> u32) -> Option<Measure> {
        match length_of_mark(mark) {
            Some(bytes) => Some(Measure {
                bytes,
                mark,
                completeness: Completeness::Whole,
            }),
            None if mark == 0 => None,
            None => {
                let measure = Measure::of(mark, length_word())?;
                let mark = mark_of(mark, measure.bytes as usize);
                Some(Measure { mark, ..measure })
            }
        }
    }
}

/// Added to the number of a file, this is the number of its second word.
const SECOND: u64 = 1 << 63;

/// The lengths known so far.
///
/// Those after a save share the words of all files that it left as they are.
#[derive(Debug, Default)]
pub struct Sizes {
    words: Arc<SpilledWords>,
    is_changed: Arc<AtomicBool>,
    /// Number of the snapshot that all this began with.
    first: u64,
    /// The files that have been saved since.
    fresh: OrdMap<Ino, Arc<Fresh>>,
    /// Numbers of the files that are many, if the others have their own words
    /// in each snapshot.
    many: Option<RangeInclusive<Ino>>,
    others: SparseWords,
    /// Number of the snapshot that these are of.
    snapshot: u64,
}

/// A file that was saved.
#[derive(Debug)]
struct Fresh {
    /// Number of the snapshot that has shown it so for the first time.
    snapshot: u64,
    word: AtomicU64,
}

impl Sizes {
    /// None yet, for the snapshot with this number.
    pub(crate) fn of(snapshot: u64) -> Sizes {
        Sizes {
            first: snapshot,
            snapshot,
            ..Sizes::default()
        }
    }

    /// Those of the next snapshot, which has other texts in `touched` and, it
    /// may be, in all files that are not among the `many`.
    pub(crate) fn after(&self, snapshot: u64, touched: &[Ino], many: (Ino, Ino)) -> Sizes {
        let mut fresh = self.fresh.clone();
        for ino in touched {
            let word = AtomicU64::new(0);
            fresh.insert(*ino, Arc::new(Fresh { snapshot, word }));
        }
        Sizes {
            words: Arc::clone(&self.words),
            is_changed: Arc::clone(&self.is_changed),
            first: self.first,
            fresh,
            many: Some(many.0..=many.1),
            others: SparseWords::default(),
            snapshot,
        }
    }

    /// Number of the snapshot that has shown the present text of `ino` for the
    /// first time, as far as is known.
    pub(crate) fn origin(&self, ino: Ino) -> u64 {
        if self.is_other(ino) {
            return self.snapshot;
        }
        self.fresh
            .get(&ino)
            .map_or(self.first, |fresh| fresh.snapshot)
    }

    fn is_other(&self, ino: Ino) -> bool {
        self.many.as_ref().is_some_and(|many| !many.contains(&ino))
    }

    /// Length and mark of the text of `ino`, if known.
    pub fn get(&self, ino: Ino) -> Option<Measure> {
        match self.own_word(ino) {
            Some(word) => Measure::decode(word),
            None => Measure::unpack(self.words.get(ino.0), || self.words.get(ino.0 | SECOND)),
        }
    }

    /// The word of a file that is not shared with other snapshots.
    fn own_word(&self, ino: Ino) -> Option<u64> {
        if self.is_other(ino) {
            return Some(self.others.get(ino.0));
        }
        Some(self.fresh.get(&ino)?.word.load(Relaxed))
    }

    /// How many lengths are known from `first` to `last`, both included.
    pub(crate) fn count(&self, first: Ino, last: Ino) -> u64 {
        let mut count = self.words.count(first.0, last.0);
        for (ino, fresh) in self.fresh.range(first..=last) {
            count -= u64::from(self.words.get(ino.0) != 0).min(count);
            count += u64::from(fresh.word.load(Relaxed) != 0);
        }
        count
    }

    /// Remembers length and mark of the text of `ino`.
    pub fn set(&self, ino: Ino, measure: Measure) {
        let own = measure.encode();
        let is_new = if self.is_other(ino) {
            self.others.set(ino.0, own) != own
        } else if let Some(fresh) = self.fresh.get(&ino) {
            fresh.word.swap(own, Relaxed) != own
        } else {
            let [word, second] = measure.pack();
            // Who finds the first looks for the second.
            let is_other = second != 0 && self.words.set(ino.0 | SECOND, second) != second;
            self.words.set(ino.0, word) != word || is_other
        };
        if is_new {
            self.is_changed.store(true, Relaxed);
        }
    }

    /// Adds the lengths that `path` holds under this fingerprint to those
    /// known; gives whether there were any.
    ///
    /// # Errors
    ///
    /// The system's; `InvalidData` if the file is not what it should be.
    pub fn load(&self, path: &Path, fingerprint: &str) -> io::Result<bool> {
        // What this mount has measured itself is as right.
        self.words.load(path, fingerprint)
    }

    /// Writes all lengths to `path`, whole or not at all, if any changed since
    /// the last time.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn save(&self, path: &Path, fingerprint: &str) -> io::Result<()> {
        if !self.is_changed.swap(false, Relaxed) {
            return Ok(());
        }
        self.words.save(path, fingerprint, |number, shared| {
            let Some(own) = self.own_word(Ino(number & !SECOND)) else {
                return shared;
            };
            let [word, second] = Measure::decode(own).map_or([0; 2], Measure::pack);
            if number & SECOND == 0 { word } else { second }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: u32) -> Measure {
        Measure {
            bytes,
            mark: mark_of(!bytes, bytes as usize),
            completeness: Completeness::Whole,
        }
    }

    #[test]
    fn lengths_come_back_as_they_were_set() {
        let sizes = Sizes::default();
        let partial = Measure {
            completeness: Completeness::Partial,
            ..whole(Measure::MAX_BYTES)
        };
        sizes.set(Ino::new(1, 1), whole(0));
        sizes.set(Ino::new(1, 9_999_999), partial);
        assert_eq!(sizes.get(Ino::new(1, 1)), Some(whole(0)));
        assert_eq!(sizes.get(Ino::new(1, 2)), None);
        assert_eq!(sizes.get(Ino::new(1, 9_999_999)), Some(partial));
        let short = Measure {
            completeness: Completeness::Partial,
            ..whole(700)
        };
        let all = [8189, 8190, 20_000, Measure::MAX_BYTES].map(whole);
        for (index, measure) in (100..).zip(all.into_iter().chain([partial, short])) {
            sizes.set(Ino::new(2, index), measure);
            assert_eq!(sizes.get(Ino::new(2, index)), Some(measure));
        }
        assert_eq!(sizes.get(Ino::new(1, 5_000_000)), None);
        let count = |first, last| sizes.count(Ino::new(1, first), Ino::new(1, last));
        assert_eq!(count(1, 9_999_999), 2);
        assert_eq!(count(2, 9_999_999), 1);
        assert_eq!(count(2, 9_999_998), 0);
        assert_eq!(count(1, 0), 0);
    }

    #[test]
    fn the_next_mount_of_the_same_knows_them_as_they_were_last() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("base.sizes");
        let sizes = Sizes::of(1);
        let [first, second] = [1, 2].map(|index| Ino::new(1, index));
        sizes.set(first, whole(700));
        sizes.set(second, whole(700));
        let saved = sizes.after(2, &[second], (first, second));
        saved.set(second, whole(800));
        saved.save(&path, "base").unwrap();
        let next = Sizes::default();
        assert!(next.load(&path, "base").unwrap());
        let known = [first, second].map(|ino| next.get(ino));
        assert_eq!(known, [700, 800].map(|bytes| Some(whole(bytes))));
        std::fs::remove_file(&path).unwrap();
        saved.save(&path, "base").unwrap();
        assert!(!path.exists(), "nothing has changed since");
    }
}
