//! A word for each of many numbers, most of them in a file without a name.
//!
//! Words lie in blocks. Those used last are in memory, 2 MiB at most; the others
//! are in the file, and a few bytes of each in memory. What is here can be found
//! out anew: a block that cannot be read back is forgotten. As soon as there is no
//! room for the file, blocks stay in memory.

mod file;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

/// Words in one block: few, since numbers far apart may each want one.
const BLOCK: u64 = BLOCK_WORDS as u64;
const BLOCK_WORDS: usize = 128;

/// Bytes of a block in the file.
const BLOCK_BYTES: usize = 4 * BLOCK_WORDS;

/// Blocks lie in so many shards, each with a lock of its own.
const SHARDS: usize = 16;

/// Blocks of a shard that are in memory.
const MOST_BLOCKS: usize = 256;

/// A word for each number; 0 where none was set.
#[derive(Debug)]
pub(crate) struct SpilledWords {
    shards: [Mutex<Shard>; SHARDS],
    spill: Spill,
}

#[derive(Debug)]
struct Shard {
    /// Those in memory, by number.
    recent: LruCache<u64, Box<Block>>,
    /// All blocks there are, by number.
    all: BTreeMap<u64, BlockState>,
}

#[derive(Debug)]
struct Block {
    words: [u32; BLOCK_WORDS],
    /// The file does not have it so.
    is_changed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct BlockState {
    /// Its number in the file, if it has been there.
    place: Option<u32>,
    /// How many of its words are set.
    set: u8,
}

impl Default for SpilledWords {
    fn default() -> SpilledWords {
        let empty = || Shard {
            recent: LruCache::unbounded(),
            all: BTreeMap::new(),
        };
        SpilledWords {
            shards: std::array::from_fn(|_| Mutex::new(empty())),
            spill: Spill::default(),
        }
    }
}

impl SpilledWords {
    /// The word of `number`.
    pub(crate) fn get(&self, number: u64) -> u32 {
        let mut shard = self.shard(number / BLOCK);
        let word = shard.block(number / BLOCK, &self.spill);
        let word = word.map_or(0, |block| *block.word(number));
        shard.spill(&self.spill);
        word
    }

    /// Sets the word of `number`; gives the one before.
    pub(crate) fn set(&self, number: u64, word: u32) -> u32 {
        self.change(number / BLOCK, |block| {
            std::mem::replace(block.word(number), word)
        })
    }

    /// Sets these words of a block, but for those that are set.
    fn add(&self, block: u64, words: impl Iterator<Item = u32>) {
        self.change(block, |block| {
            let pairs = block.words.iter_mut().zip(words);
            for (place, word) in pairs.filter(|(place, _)| **place == 0) {
                *place = word;
            }
        });
    }

    /// Changes a block, which is made if there is none.
    fn change<T>(&self, number: u64, change: impl FnOnce(&mut Block) -> T) -> T {
        let mut shard = self.shard(number);
        let changed = shard.change(number, &self.spill, change);
        shard.spill(&self.spill);
        changed
    }

    /// How many words are set from `first` to `last`, both included.
    pub(crate) fn count(&self, first: u64, last: u64) -> u64 {
        let shards = self.shards.iter();
        let counts = shards.map(|shard| shard.lock().count(first..=last, &self.spill));
        counts.sum()
    }

    /// The words of a block, which counts as no use of it.
    fn words(&self, block: u64) -> [u32; BLOCK_WORDS] {
        let shard = self.shard(block);
        if let Some(block) = shard.recent.peek(&block) {
            return block.words;
        }
        let place = shard.all.get(&block).and_then(|state| state.place);
        let words = place.and_then(|place| self.spill.read(place));
        words.unwrap_or([0; BLOCK_WORDS])
    }

    /// The numbers of all blocks, ascending.
    fn blocks(&self) -> Vec<u64> {
        let shards = self.shards.iter();
        let numbers = shards.flat_map(|shard| shard.lock().all.keys().copied().collect::<Vec<_>>());
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        numbers
    }

    fn shard(&self, block: u64) -> MutexGuard<'_, Shard> {
        #[expect(clippy::indexing_slicing, reason = "the remainder is below SHARDS")]
        self.shards[usize::try_from(block % SHARDS as u64).unwrap_or(0)].lock()
    }
}

impl Shard {
    /// A block, read back if it is not in memory.
    fn block(&mut self, number: u64, spill: &Spill) -> Option<&mut Block> {
        let place = self.all.get(&number)?.place;
        if !self.recent.contains(&number) {
            let words = place.and_then(|place| spill.read(place));
            let Some(words) = words else {
                self.all.remove(&number);
                return None;
            };
            let is_changed = false;
            self.recent
                .put(number, Box::new(Block { words, is_changed }));
        }
        self.recent.get_mut(&number).map(AsMut::as_mut)
    }

    fn change<T>(&mut self, number: u64, spill: &Spill, change: impl FnOnce(&mut Block) -> T) -> T {
        if self.block(number, spill).is_none() {
            self.all.insert(number, BlockState::default());
        }
        let block = self.recent.get_or_insert_mut(number, Box::default);
        let before = block.words;
        let changed = change(block);
        block.is_changed |= block.words != before;
        let set = block.words.iter().filter(|word| **word != 0).count();
        if let Some(state) = self.all.get_mut(&number) {
            state.set = u8::try_from(set).unwrap_or(u8::MAX);
        }
        changed
    }

    /// Writes the blocks used least recently to the file until few are in memory.
    fn spill(&mut self, spill: &Spill) {
        while self.recent.len() > MOST_BLOCKS
            && let Some((number, block)) = self.recent.peek_lru()
        {
            if block.is_changed
                && let Some(state) = self.all.get_mut(number)
            {
                let Some(place) = spill.write(state.place, &block.words) else {
                    return;
                };
                state.place = Some(place);
            }
            self.recent.pop_lru();
        }
    }

    fn count(&mut self, numbers: RangeInclusive<u64>, spill: &Spill) -> u64 {
        if numbers.is_empty() {
            return 0;
        }
        let (first, last) = (numbers.start() / BLOCK, numbers.end() / BLOCK);
        let blocks = self.all.range(first..=last);
        let is_whole = |block: u64| {
            numbers.contains(&(block * BLOCK)) && numbers.contains(&(block * BLOCK + (BLOCK - 1)))
        };
        let (whole, cut): (Vec<_>, Vec<_>) = blocks.partition(|(block, _)| is_whole(**block));
        let mut count = whole.iter().map(|(_, state)| u64::from(state.set)).sum();
        let cut: Vec<u64> = cut.iter().map(|(block, _)| **block).collect();
        for number in cut {
            let words = self
                .block(number, spill)
                .map_or(&[][..], |block| &block.words);
            let words = (number * BLOCK..).zip(words);
            count += words
                .filter(|(at, word)| numbers.contains(at) && **word != 0)
                .count() as u64;
        }
        count
    }
}

impl Default for Block {
    fn default() -> Block {
        Block {
            words: [0; BLOCK_WORDS],
            is_changed: false,
        }
    }
}

impl Block {
    fn word(&mut self, number: u64) -> &mut u32 {
        #[expect(clippy::indexing_slicing, reason = "the remainder is below BLOCK")]
        &mut self.words[usize::try_from(number % BLOCK).unwrap_or(0)]
    }
}

/// The file, made when the first block goes there.
#[derive(Debug, Default)]
struct Spill {
    file: OnceLock<File>,
    /// How many blocks it has.
    blocks: AtomicU32,
    /// There is no room for more.
    is_full: AtomicBool,
}

impl Spill {
    fn read(&self, place: u32) -> Option<[u32; BLOCK_WORDS]> {
        let mut bytes = [0; BLOCK_BYTES];
        let file = self.file.get()?;
        file.read_exact_at(&mut bytes, offset_of(place)).ok()?;
        let mut words = [0; BLOCK_WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Some(words)
    }

    /// Writes a block to its place, a new one if it has none yet; gives the place.
    /// None if there is no room.
    fn write(&self, place: Option<u32>, words: &[u32; BLOCK_WORDS]) -> Option<u32> {
        if self.is_full.load(Relaxed) {
            return None;
        }
        let written = self.try_write(place, words).inspect_err(|error| {
            self.is_full.store(true, Relaxed);
            log::warn!("lengths of games stay in memory: temporary file: {error}");
        });
        written.ok()
    }

    fn try_write(&self, place: Option<u32>, words: &[u32; BLOCK_WORDS]) -> io::Result<u32> {
        let file = if let Some(file) = self.file.get() {
            file
        } else {
            let made = tempfile::tempfile()?;
            self.file.get_or_init(|| made)
        };
        let place = place.unwrap_or_else(|| self.blocks.fetch_add(1, Relaxed));
        let mut bytes = [0; BLOCK_BYTES];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        file.write_all_at(&bytes, offset_of(place))?;
        Ok(place)
    }
}

fn offset_of(place: u32) -> u64 {
    u64::from(place) * BLOCK_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More blocks than stay in memory.
    const MANY: u64 = 3 * (SHARDS * MOST_BLOCKS) as u64;

    fn word_of(number: u64) -> u32 {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        u32::try_from(mixed).unwrap() | 1
    }

    /// A word in each of many blocks.
    fn many() -> SpilledWords {
        let words = SpilledWords::default();
        for number in (0..MANY).map(|block| block * BLOCK + block % BLOCK) {
            assert_eq!(words.set(number, word_of(number)), 0);
        }
        words
    }

    fn in_memory(words: &SpilledWords) -> usize {
        let shards = words.shards.iter();
        shards.map(|shard| shard.lock().recent.len()).sum()
    }

    #[test]
    fn words_are_found_by_their_numbers() {
        let words = SpilledWords::default();
        let far = 200 << 32 | u64::from(u32::MAX);
        let all = [(1 << 32) + 7, (1 << 32) + 7 + 3 * BLOCK, (2 << 32) + 1, far];
        assert!(words.blocks().is_empty());
        for (word, number) in (5..).zip(all) {
            assert_eq!((words.get(number), words.set(number, word)), (0, 0));
            assert_eq!(words.set(number, 2 * word), word);
        }
        assert_eq!(all.map(|number| words.get(number)), [10, 12, 14, 16]);
        assert_eq!(words.blocks(), all.map(|number| number / BLOCK));
        words.add(0, [3, 4].into_iter());
        words.add(all[2] / BLOCK, [3, 4].into_iter());
        assert_eq!([0, 1, all[2]].map(|number| words.get(number)), [3, 4, 14]);
        assert_eq!(words.get(all[2] - 1), 3);
        assert_eq!(words.count(1 << 32, all[1]), 2);
        assert_eq!(words.count(0, far), 7);
        assert_eq!(words.count(2, 1), 0);
        assert_eq!((words.count(0, 0), words.count(1, BLOCK - 1)), (1, 1));
        words.set(all[0], 0);
        assert_eq!(words.count(1 << 32, all[1]), 1);
    }

    #[test]
    fn most_blocks_are_in_the_file() {
        let words = many();
        assert_eq!(in_memory(&words), SHARDS * MOST_BLOCKS);
        for block in 0..MANY {
            let number = block * BLOCK + block % BLOCK;
            assert_eq!(words.get(number), word_of(number));
            assert_eq!(words.get(block * BLOCK + (block + 1) % BLOCK), 0);
        }
        // A block that was in the file and changes goes back to its place.
        words.set(1, 77);
        assert_eq!(words.count(0, MANY * BLOCK), MANY + 1);
        assert_eq!(words.get((MANY - 1) * BLOCK), 0);
        assert_eq!(words.count(0, BLOCK * BLOCK - 1), BLOCK + 1);
        assert_eq!(in_memory(&words), SHARDS * MOST_BLOCKS);
        assert_eq!((words.get(0), words.get(1)), (word_of(0), 77));
        let taken = words.spill.blocks.load(Relaxed);
        assert!(u64::from(taken) <= MANY, "{taken}");
    }

    #[test]
    fn without_room_for_a_file_all_blocks_stay_in_memory() {
        let words = SpilledWords::default();
        words.spill.is_full.store(true, Relaxed);
        for block in 0..MANY {
            words.set(block * BLOCK, word_of(block));
        }
        assert_eq!(in_memory(&words) as u64, MANY);
        assert_eq!(words.get(0), word_of(0));
    }

    #[test]
    fn a_block_that_cannot_be_read_back_is_unknown() {
        let words = many();
        let file = words.spill.file.get().unwrap();
        file.set_len(0).unwrap();
        assert_eq!((words.get(0), words.count(0, BLOCK - 1)), (0, 0));
        assert_eq!(words.set(0, 5), 0);
        assert_eq!((words.get(0), words.count(0, BLOCK - 1)), (5, 1));
    }
}
