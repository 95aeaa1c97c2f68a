//! A word for each of many numbers.
//!
//! Words lie in blocks, and blocks in a tree of a fixed depth whose branches are
//! made when they are needed and stay: to find a word takes no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words in one block: few, since numbers far apart may each want one.
const BLOCK: u64 = BLOCK_WORDS as u64;
const BLOCK_WORDS: usize = 32;

/// The words of numbers next to each other.
type Block = [AtomicU64; BLOCK_WORDS];

/// Bits of the number of a block that choose one of a branch; there are four
/// branches on the way to a block.
const BITS: u32 = 9;

type Branch<T> = [OnceLock<Box<T>>; 1 << BITS];

/// The last two branches before a block.
type Twig = Branch<Branch<Block>>;

/// A word for each number; 0 where none was set.
#[derive(Debug, Default)]
pub(crate) struct SparseWords(OnceLock<Box<Branch<Branch<Twig>>>>);

impl SparseWords {
    /// The word of `number`.
    pub(crate) fn get(&self, number: u64) -> u64 {
        let block = self.block(number / BLOCK);
        block.map_or(0, |block| place(block, number).load(Relaxed))
    }

    /// Sets the word of `number`; gives the one before.
    pub(crate) fn set(&self, number: u64, word: u64) -> u64 {
        place(self.make_block(number / BLOCK), number).swap(word, Relaxed)
    }

    /// Sets the word of `number` to what `change` makes of the one before; gives
    /// what it made.
    pub(crate) fn update(&self, number: u64, change: impl Fn(u64) -> u64) -> u64 {
        let word = place(self.make_block(number / BLOCK), number);
        let mut before = word.load(Relaxed);
        loop {
            let after = change(before);
            match word.compare_exchange_weak(before, after, Relaxed, Relaxed) {
                Ok(_) => return after,
                Err(other) => before = other,
            }
        }
    }

    fn block(&self, number: u64) -> Option<&Block> {
        let first = self.0.get()?;
        let second = branch(first, number >> (3 * BITS)).get()?;
        let third = branch(second, number >> (2 * BITS)).get()?;
        let fourth = branch(third, number >> BITS).get()?;
        branch(fourth, number).get().map(AsRef::as_ref)
    }

    /// The block of this number, made unless another thread did that.
    fn make_block(&self, number: u64) -> &Block {
        let first = self.0.get_or_init(empty_branch);
        let second = branch(first, number >> (3 * BITS)).get_or_init(empty_branch);
        let third = branch(second, number >> (2 * BITS)).get_or_init(empty_branch);
        let fourth = branch(third, number >> BITS).get_or_init(empty_branch);
        let empty = || Box::new([const { AtomicU64::new(0) }; BLOCK_WORDS]);
        branch(fourth, number).get_or_init(empty)
    }
}

fn empty_branch<T>() -> Box<Branch<T>> {
    Box::new([const { OnceLock::new() }; 1 << BITS])
}

/// The branch that the lowest bits of `number` choose.
fn branch<T>(of: &Branch<T>, number: u64) -> &OnceLock<Box<T>> {
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    &of[usize::try_from(number % (1 << BITS)).unwrap_or(0)]
}

fn place(block: &Block, number: u64) -> &AtomicU64 {
    #[expect(clippy::indexing_slicing, reason = "the remainder is below BLOCK")]
    &block[usize::try_from(number % BLOCK).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_by_their_numbers() {
        let words = SparseWords::default();
        let far = 200 << 32 | u64::from(u32::MAX);
        let all = [(1 << 32) + 7, (1 << 32) + 7 + 3 * BLOCK, (2 << 32) + 1, far];
        for (word, number) in (5..).zip(all) {
            assert_eq!((words.get(number), words.set(number, word)), (0, 0));
            assert_eq!(words.update(number, |word| word * 2), 2 * word);
        }
        assert_eq!(all.map(|number| words.get(number)), [10, 12, 14, 16]);
    }
}
