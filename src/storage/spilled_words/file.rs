//! Words in a file, kept for the next process that has use for them.
//!
//! | bytes | meaning |
//! |---|---|
//! | 13 | `cbfs sizes 5\n` |
//! | 8 | XXH3 hash of the fingerprint: what the words belong to |
//! | 8 + 4 × 128 + 8, repeated | number of a block, its words, XXH3 hash of these |
//!
//! Integers are little-endian. A file that belongs to something else is as good
//! as none, and so is what comes after a block that is not exactly so.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::{BLOCK, BLOCK_BYTES, SpilledWords};
use crate::storage::{open_own, write_whole};

const MAGIC: &[u8; 13] = b"cbfs sizes 5\n";

/// Bytes of a block in the file: its number, its words, their hash.
const RECORD: usize = BLOCK_BYTES + 16;

impl SpilledWords {
    /// Adds the words that `path` holds under this fingerprint to those
    /// known, which stay; gives whether there were any.
    ///
    /// # Errors
    ///
    /// The system's; `InvalidData` if the file is not what it should be.
    pub(crate) fn load(&self, path: &Path, fingerprint: &str) -> io::Result<bool> {
        let mut file = BufReader::new(open_own(path)?);
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
            let (number, words) = words.split_first_chunk().unwrap_or((&[0; 8], words));
            let number = u64::from_le_bytes(*number);
            let words = words.as_chunks().0.iter();
            let words = words.map(|word| u32::from_le_bytes(*word));
            if number > u64::MAX / BLOCK {
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.add(number, words);
        }
        Ok(true)
    }

    /// Writes, for all numbers next to those of which words are set, what
    /// `word_of` makes of a number and its word to `path`, whole or not at all.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(crate) fn save(
        &self,
        path: &Path,
        fingerprint: &str,
        word_of: impl Fn(u64, u32) -> u32,
    ) -> io::Result<()> {
        write_whole(path, |file| {
            let mut file = BufWriter::new(file);
            file.write_all(&head_of(fingerprint))?;
            let mut record = Vec::with_capacity(RECORD);
            for number in self.blocks() {
                record.clear();
                record.extend(number.to_le_bytes());
                for (number, word) in (number * BLOCK..).zip(self.words(number)) {
                    record.extend(word_of(number, word).to_le_bytes());
                }
                record.extend(xxh3_64(&record).to_le_bytes());
                file.write_all(&record)?;
            }
            file.flush()
        })
    }
}

/// What the file of words that belong to this begins with.
fn head_of(fingerprint: &str) -> Vec<u8> {
    let hash = xxh3_64(fingerprint.as_bytes());
    [&MAGIC[..], &hash.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word_of(number: u64) -> u32 {
        u32::try_from(number).unwrap()
    }

    /// Words of these numbers, each its own, in a file.
    fn saved(numbers: &[u64], path: &Path) {
        let words = SpilledWords::default();
        for number in numbers {
            words.set(*number, word_of(*number));
        }
        words.save(path, "this base", |_, word| word).unwrap();
    }

    #[test]
    fn the_next_process_knows_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/base.sizes");
        saved(&[1, 2, 4095, 4096, 1_000_000], &path);
        let next = SpilledWords::default();
        next.set(2, 7);
        assert!(next.load(&path, "this base").unwrap());
        assert_eq!(
            [1, 4096, 1_000_000, 3].map(|number| next.get(number)),
            [1, 4096, 1_000_000, 0]
        );
        assert_eq!(next.get(2), 7, "what is known stays");
        for other in ["that base", "this base, changed"] {
            assert!(!SpilledWords::default().load(&path, other).unwrap());
        }
    }

    #[test]
    fn words_that_are_not_in_memory_are_saved_as_well() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("base.sizes");
        let words = SpilledWords::default();
        let numbers = || (0..5_000).map(|block| block * BLOCK + block % BLOCK);
        for number in numbers() {
            words.set(number, word_of(number + 1));
        }
        let twice = |number, word| {
            assert!(word == 0 || word == word_of(number + 1), "{number}");
            2 * word
        };
        words.save(&path, "this base", twice).unwrap();
        let next = SpilledWords::default();
        assert!(next.load(&path, "this base").unwrap());
        for number in numbers() {
            assert_eq!(next.get(number), 2 * word_of(number + 1));
        }
        assert_eq!(next.count(0, 5_000 * BLOCK), 5_000);
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("base.sizes");
        saved(&[1], &path);
        let good = std::fs::read(&path).unwrap();
        for length in [0, 1, 13, 20, 30, good.len() - 8, good.len() - 1] {
            std::fs::write(&path, &good[..length]).unwrap();
            let next = SpilledWords::default();
            assert!(!next.load(&path, "this base").unwrap_or(false), "{length}");
            assert_eq!(next.get(1), 0);
        }
        for offset in [25, 40, good.len() - 1] {
            let mut bad = good.clone();
            bad[offset] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let next = SpilledWords::default();
            assert!(next.load(&path, "this base").is_err(), "{offset}");
            assert_eq!(next.get(1), 0);
        }
    }
}
