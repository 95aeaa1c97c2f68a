//! A set of ids.

/// Ids below a bound, a bit each.
#[derive(Clone, Debug, Default)]
pub(in crate::cbh) struct IdSet {
    words: Vec<u64>,
}

impl IdSet {
    /// The empty set, with place for ids below `bound`.
    pub(super) fn below(bound: u32) -> IdSet {
        IdSet {
            words: vec![0; bound.div_ceil(u64::BITS) as usize],
        }
    }

    /// Adds `id`; tells whether it is new. One beyond the bound never is.
    pub(super) fn insert(&mut self, id: u32) -> bool {
        let (word, bit) = IdSet::place(id);
        let Some(word) = self.words.get_mut(word) else {
            return false;
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether `id` is in the set.
    pub(in crate::cbh) fn contains(&self, id: u32) -> bool {
        let (word, bit) = IdSet::place(id);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Word and bit of `id`.
    fn place(id: u32) -> (usize, u64) {
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
