//! Lengths and marks of rendered texts, eight bytes each, kept for the next
//! mount.
//!
//! A file's length must be exact before it was ever read, and the kernel must
//! be told which of its contents a name stands for; the only way to know both
//! is to render it. They are remembered here: for as long as the base stays
//! as it is, and in a file of the user's cache directory for the next mount
//! of the same base.
//!
//! That file:
//!
//! | bytes | meaning |
//! |---|---|
//! | 13 | `cbfs sizes 3\n` |
//! | 8 | XXH3 hash of the fingerprint: what the lengths belong to |
//! | 8 + 8 × 2048 + 8, repeated | number of a block, its lengths and marks, XXH3 hash of these |
//!
//! Integers are little-endian. A file that belongs to something else is as good
//! as none, and so is what comes after a block that is not exactly so.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use imbl::OrdMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::fs::content::words::{BLOCK, BLOCK_WORDS, Words};
use crate::fs::volume::{Completeness, Ino};

const MAGIC: &[u8; 13] = b"cbfs sizes 3\n";

/// Bytes of a block in the file: its number, its words, their hash.
const RECORD: usize = 8 * (BLOCK_WORDS + 2);

/// How long a text is, and whether it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Bytes, at most [`Measure::MAX_BYTES`].
    pub bytes: u32,
    /// The mark of the text, see [`Text`](crate::fs::Text).
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
        u64::from(self.mark) << 32
            | u64::from(self.bytes + 1) << 1
            | u64::from(self.completeness == Completeness::Partial)
    }

    fn decode(word: u64) -> Option<Measure> {
        let [low, mark] = [word & u64::from(u32::MAX), word >> 32];
        Some(Measure {
            bytes: u32::try_from(low >> 1).ok()?.checked_sub(1)?,
            mark: u32::try_from(mark).ok().filter(|mark| *mark > 0)?,
            completeness: if word & 1 == 0 {
                Completeness::Whole
            } else {
                Completeness::Partial
            },
        })
    }
}

/// The lengths known so far.
///
/// Those after a save share the words of all files that it left as they are.
#[derive(Debug, Default)]
pub struct Sizes {
    words: Arc<Words>,
    is_changed: Arc<AtomicBool>,
    /// Number of the snapshot that all this began with.
    first: u64,
    /// The files that have been saved since.
    fresh: OrdMap<Ino, Arc<Fresh>>,
    /// Numbers of the files that are many, if the others have their own words
    /// in each snapshot.
    many: Option<RangeInclusive<Ino>>,
    others: Words,
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
            others: Words::default(),
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
        Measure::decode(self.word(ino))
    }

    fn word(&self, ino: Ino) -> u64 {
        if self.is_other(ino) {
            self.others.get(ino)
        } else if let Some(fresh) = self.fresh.get(&ino) {
            fresh.word.load(Relaxed)
        } else {
            self.words.get(ino)
        }
    }

    /// How many lengths are known from `first` to `last`, both included.
    pub(crate) fn count(&self, first: Ino, last: Ino) -> u64 {
        let mut count = self.words.count(first, last);
        for (ino, fresh) in self.fresh.range(first..=last) {
            count -= u64::from(self.words.get(*ino) != 0).min(count);
            count += u64::from(fresh.word.load(Relaxed) != 0);
        }
        count
    }

    /// Remembers length and mark of the text of `ino`.
    pub fn set(&self, ino: Ino, measure: Measure) {
        let word = measure.encode();
        let before = if self.is_other(ino) {
            self.others.set(ino, word)
        } else if let Some(fresh) = self.fresh.get(&ino) {
            fresh.word.swap(word, Relaxed)
        } else {
            self.words.set(ino, word)
        };
        if before != word {
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
        let mut file = BufReader::new(File::open(path)?);
        let expected = head_of(fingerprint);
        let mut head = Vec::with_capacity(expected.len());
        let bytes = expected.len() as u64;
        file.by_ref().take(bytes).read_to_end(&mut head)?;
        if head != expected {
            return Ok(false);
        }
        let mut record = vec![0; RECORD];
        while !file.fill_buf()?.is_empty() {
            file.read_exact(&mut record)?;
            let (words, hash) = record.split_at(RECORD - 8);
            if hash != xxh3_64(words).to_le_bytes() {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let words = words.as_chunks().0.iter();
            let mut words = words.map(|word| u64::from_le_bytes(*word));
            let number = words.next().unwrap_or_default();
            // What this mount has measured itself is as right.
            self.words.add(number, words);
        }
        Ok(true)
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
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)?;
        let temporary = tempfile::NamedTempFile::new_in(directory)?;
        let mut file = BufWriter::new(temporary.as_file());
        file.write_all(&head_of(fingerprint))?;
        let mut record = Vec::with_capacity(RECORD);
        for (number, _) in self.words.blocks() {
            record.clear();
            record.extend(number.to_le_bytes());
            for ino in (number * BLOCK..(number + 1) * BLOCK).map(Ino) {
                record.extend(self.word(ino).to_le_bytes());
            }
            record.extend(xxh3_64(&record).to_le_bytes());
            file.write_all(&record)?;
        }
        file.flush()?;
        drop(file);
        temporary.persist(path)?;
        Ok(())
    }
}

/// What the file of lengths that belong to this begins with.
fn head_of(fingerprint: &str) -> Vec<u8> {
    let hash = xxh3_64(fingerprint.as_bytes());
    [&MAGIC[..], &hash.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: u32) -> Measure {
        Measure {
            bytes,
            mark: bytes + 7,
            completeness: Completeness::Whole,
        }
    }

    #[test]
    fn lengths_come_back_as_they_were_set() {
        let sizes = Sizes::default();
        let partial = Measure {
            bytes: Measure::MAX_BYTES,
            mark: u32::MAX,
            completeness: Completeness::Partial,
        };
        sizes.set(Ino::new(1, 1), whole(0));
        sizes.set(Ino::new(1, 9_999_999), partial);
        assert_eq!(sizes.get(Ino::new(1, 1)), Some(whole(0)));
        assert_eq!(sizes.get(Ino::new(1, 2)), None);
        assert_eq!(sizes.get(Ino::new(1, 9_999_999)), Some(partial));
        assert_eq!(sizes.get(Ino::new(1, 5_000_000)), None);
        let count = |first, last| sizes.count(Ino::new(1, first), Ino::new(1, last));
        assert_eq!(count(1, 9_999_999), 2);
        assert_eq!(count(2, 9_999_999), 1);
        assert_eq!(count(2, 9_999_998), 0);
        assert_eq!(count(1, 0), 0);
    }

    #[test]
    fn the_next_mount_of_the_same_knows_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/base.sizes");
        let sizes = Sizes::default();
        for index in [1, 2, 4095, 4096, 1_000_000] {
            sizes.set(Ino::new(1, index), whole(700));
        }
        sizes.save(&path, "this base").unwrap();
        let next = Sizes::default();
        assert!(next.load(&path, "this base").unwrap());
        assert_eq!(next.get(Ino::new(1, 1_000_000)), Some(whole(700)));
        assert_eq!(next.get(Ino::new(1, 3)), None);
        assert!(!Sizes::default().load(&path, "that base").unwrap());
        assert!(!Sizes::default().load(&path, "this base, changed").unwrap());
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("base.sizes");
        let sizes = Sizes::default();
        sizes.set(Ino::new(1, 1), whole(700));
        sizes.save(&path, "base").unwrap();
        let good = std::fs::read(&path).unwrap();
        for length in [0, 1, 13, 20, 30, good.len() - 8, good.len() - 1] {
            std::fs::write(&path, &good[..length]).unwrap();
            let next = Sizes::default();
            assert!(!next.load(&path, "base").unwrap_or(false), "{length}");
            assert_eq!(next.get(Ino::new(1, 1)), None);
        }
        for offset in [25, 40, good.len() - 1] {
            let mut bad = good.clone();
            bad[offset] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let next = Sizes::default();
            assert!(next.load(&path, "base").is_err(), "{offset}");
            assert_eq!(next.get(Ino::new(1, 1)), None);
        }
    }
}
