//! Which block a key lies in, found by reading all of them: for books whose
//! `.kin` is missing or wrong, and for those that are not sorted.

use xxhash_rust::xxh3::xxh3_64;

use super::key::Key;

/// Books with more blocks, 256 MiB, are not indexed: a key is looked for by
/// halving.
pub(super) const MAX_INDEXED_BLOCKS: u64 = 1 << 17;

/// Of a book that is not sorted each key is remembered, so it may have as
/// many blocks at most, 64 MiB.
pub(super) const MAX_SCATTERED_BLOCKS: u64 = 1 << 15;

/// Where keys lie.
#[derive(Debug)]
pub(super) enum Index {
    /// First keys and their blocks, ascending.
    Sorted(Vec<(Key, u32)>),
    /// Hashes of all keys and their blocks, ascending.
    Scattered(Vec<(u32, u32)>),
    /// Nothing is remembered.
    Halving,
}

impl Index {
    /// The blocks that `key` may lie in; `None` if that is not remembered.
    pub(super) fn blocks(&self, key: &Key) -> Option<Vec<u64>> {
        match self {
            Index::Sorted(firsts) => {
                let after = firsts.partition_point(|(first, _)| first <= key);
                let found = after.checked_sub(1).and_then(|at| firsts.get(at));
                Some(found.map(|&(_, block)| block.into()).into_iter().collect())
            }
            Index::Scattered(hashes) => {
                let wanted = hash(key);
                let from = hashes.partition_point(|&(hash, _)| hash < wanted);
                let after = hashes.get(from..).unwrap_or_default().iter();
                let same = after.take_while(|&&(hash, _)| hash == wanted);
                let mut blocks: Vec<u64> = same.map(|&(_, block)| block.into()).collect();
                blocks.dedup();
                Some(blocks)
            }
            Index::Halving => None,
        }
    }
}

/// A part of a hash of a key.
pub(super) fn hash(key: &Key) -> u32 {
    u32::try_from(xxh3_64(key) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_in_the_last_block_that_does_not_begin_after_it() {
        let key = |first: u8| {
            let mut key = [9; 22];
            key[0] = first;
            key
        };
        let sorted = Index::Sorted(vec![(key(10), 0), (key(20), 3), (key(30), 4)]);
        assert_eq!(sorted.blocks(&key(9)), Some(vec![]));
        assert_eq!(sorted.blocks(&key(10)), Some(vec![0]));
        assert_eq!(sorted.blocks(&key(29)), Some(vec![3]));
        assert_eq!(sorted.blocks(&key(99)), Some(vec![4]));
        let hashes = vec![(hash(&key(5)), 7), (hash(&key(5)), 8), (hash(&key(6)), 1)];
        let mut sorted = hashes.clone();
        sorted.sort_unstable();
        let scattered = Index::Scattered(sorted);
        assert_eq!(scattered.blocks(&key(5)), Some(vec![7, 8]));
        assert_eq!(scattered.blocks(&key(6)), Some(vec![1]));
        assert_eq!(scattered.blocks(&key(7)), Some(vec![]));
        assert_eq!(Index::Halving.blocks(&key(5)), None);
    }
}
