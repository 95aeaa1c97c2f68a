//! A word for each file, by its number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use crate::fs::Ino;

/// Words in one block; a block is allocated when its first word is set.
pub(crate) const BLOCK: u64 = BLOCK_WORDS as u64;
pub(crate) const BLOCK_WORDS: usize = 2048;

/// The words of numbers next to each other.
pub(crate) type Block = [AtomicU64; BLOCK_WORDS];

/// A word for each number of a file; 0 where none was set.
#[derive(Debug, Default)]
pub(crate) struct Words {
    blocks: RwLock<HashMap<u64, Arc<Block>>>,
}

impl Words {
    /// The word of `ino`.
    pub(crate) fn get(&self, ino: Ino) -> u64 {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let block = blocks.get(&(ino.0 / BLOCK));
        block.map_or(0, |block| place(block, ino).load(Relaxed))
    }

    /// Sets the word of `ino`; gives the one before.
    pub(crate) fn set(&self, ino: Ino, word: u64) -> u64 {
        let block = self.block(ino.0 / BLOCK);
        let block = block.unwrap_or_else(|| self.new_block(ino.0 / BLOCK));
        place(&block, ino).swap(word, Relaxed)
    }

    /// Sets the word of `ino` to what `change` makes of the one before; gives
    /// what it made.
    pub(crate) fn update(&self, ino: Ino, change: impl Fn(u64) -> u64) -> u64 {
        let block = self.block(ino.0 / BLOCK);
        let block = block.unwrap_or_else(|| self.new_block(ino.0 / BLOCK));
        update(place(&block, ino), change)
    }

    /// For words of which most lie next to the one before.
    pub(crate) fn in_order(&self) -> WordsInOrder<'_> {
        WordsInOrder {
            words: self,
            block: None,
        }
    }

    fn block(&self, number: u64) -> Option<Arc<Block>> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        blocks.get(&number).map(Arc::clone)
    }

    /// The block of this number, made unless another thread did that.
    fn new_block(&self, number: u64) -> Arc<Block> {
        let mut blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(blocks.entry(number).or_insert_with(empty_block))
    }

    /// All blocks, with their numbers.
    pub(crate) fn blocks(&self) -> Vec<(u64, Arc<Block>)> {
        let blocks = self.blocks.read().unwrap_or_else(PoisonError::into_inner);
        let blocks = blocks.iter();
        blocks
            .map(|(number, block)| (*number, Arc::clone(block)))
            .collect()
    }

    /// Adds these, but for words that are set.
    pub(crate) fn add_blocks(&self, blocks: Vec<(u64, Arc<Block>)>) {
        for (number, block) in blocks {
            let known = self.new_block(number);
            for (place, word) in known.iter().zip(block.iter()) {
                let word = word.load(Relaxed);
                // It fails if another one was set.
                let _ = place.compare_exchange(0, word, Relaxed, Relaxed);
            }
        }
    }

    /// How many words are set from `first` to `last`, both included.
    pub(crate) fn count(&self, first: Ino, last: Ino) -> u64 {
        let mut count = 0;
        let numbers = first.0 / BLOCK..=last.0 / BLOCK;
        let blocks = self.blocks().into_iter();
        for (number, block) in blocks.filter(|(number, _)| numbers.contains(number)) {
            let words = (number * BLOCK..).zip(block.iter());
            let set = words
                .filter(|(ino, word)| (first.0..=last.0).contains(ino) && word.load(Relaxed) != 0);
            count += set.count() as u64;
        }
        count
    }
}

/// Words of which most lie next to the one before, whose block is at hand.
/// Blocks are never replaced, so it sees what others set meanwhile.
#[derive(Debug)]
pub(crate) struct WordsInOrder<'w> {
    words: &'w Words,
    block: Option<(u64, Arc<Block>)>,
}

impl WordsInOrder<'_> {
    /// As [`Words::get`].
    pub(crate) fn get(&mut self, ino: Ino) -> u64 {
        self.find(ino.0 / BLOCK);
        self.at_hand(ino.0 / BLOCK)
            .map_or(0, |block| place(block, ino).load(Relaxed))
    }

    /// As [`Words::update`].
    pub(crate) fn update(&mut self, ino: Ino, change: impl Fn(u64) -> u64) -> u64 {
        self.find(ino.0 / BLOCK);
        match self.at_hand(ino.0 / BLOCK) {
            Some(block) => update(place(block, ino), change),
            None => self.words.update(ino, change),
        }
    }

    /// Has the block of this number at hand, if there is one.
    fn find(&mut self, number: u64) {
        if self.at_hand(number).is_none() {
            self.block = self.words.block(number).map(|block| (number, block));
        }
    }

    fn at_hand(&self, number: u64) -> Option<&Block> {
        let (at_hand, block) = self.block.as_ref()?;
        (*at_hand == number).then_some(block)
    }
}

pub(crate) fn empty_block() -> Arc<Block> {
    Arc::new([const { AtomicU64::new(0) }; BLOCK_WORDS])
}

fn update(word: &AtomicU64, change: impl Fn(u64) -> u64) -> u64 {
    let mut before = word.load(Relaxed);
    loop {
        let after = change(before);
        match word.compare_exchange_weak(before, after, Relaxed, Relaxed) {
            Ok(_) => return after,
            Err(other) => before = other,
        }
    }
}

fn place(block: &Block, ino: Ino) -> &AtomicU64 {
    #[expect(clippy::indexing_slicing, reason = "the remainder is below BLOCK")]
    &block[usize::try_from(ino.0 % BLOCK).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_order_are_those_that_others_set_meanwhile() {
        let words = Words::default();
        let mut in_order = words.in_order();
        let (near, far) = (Ino::new(1, 7), Ino::new(1, 7 + 3 * 2048));
        assert_eq!((in_order.get(near), in_order.get(far)), (0, 0));
        words.set(near, 5);
        assert_eq!(in_order.get(near), 5);
        assert_eq!(in_order.update(near, |word| word + 1), 6);
        assert_eq!((words.get(near), in_order.update(far, |_| 7)), (6, 7));
        words.set(far, 8);
        assert_eq!((in_order.get(far), in_order.get(near)), (8, 6));
        assert_eq!(words.count(Ino::new(1, 0), far), 2);
        assert_eq!(in_order.update(near, |word| word + 1), 7);
        assert_eq!(words.update(near, |word| word * 2), 14);
        assert_eq!(words.update(Ino::new(2, 1), |word| word + 3), 3);
    }
}
