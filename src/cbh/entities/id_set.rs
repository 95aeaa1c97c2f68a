//! A set of ids, stored as bits.

/// A set of ids below a bound, with one bit for each.
#[derive(Clone, Debug, Default)]
pub(in crate::cbh) struct IdSet {
    words: Vec<u64>,
}

impl IdSet {
    /// An empty set with room for ids below `bound`.
    pub(super) fn below(bound: u32) -> IdSet {
        IdSet {
            words: vec![0; bound.div_ceil(u64::BITS) as usize],
        }
    }

    /// Adds `id` and returns whether it is new. An id beyond the bound is
    /// ignored.
    pub(super) fn insert(&mut self, id: u32) -> bool {
        let (word, bit) = IdSet::bit_of(id);
        let Some(word) = self.words.get_mut(word) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Returns whether `id` is in the set.
    pub(in crate::cbh) fn contains(&self, id: u32) -> bool {
        let (word, bit) = IdSet::bit_of(id);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Index of the word and mask of the bit for `id`.
    fn bit_of(id: u32) -> (usize, u64) {
        ((id / u64::BITS) as usize, 1 << (id % u64::BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_new_once_and_never_beyond_the_bound() {
        let mut set = IdSet::below(65);
        for id in [0, 63, 64] {
            assert!(!set.contains(id));
            assert!(set.insert(id));
            assert!(!set.insert(id));
            assert!(set.contains(id));
        }
        assert!(!set.contains(1));
        for id in [128, u32::MAX] {
            assert!(!set.insert(id));
            assert!(!set.contains(id));
        }
    }
}
