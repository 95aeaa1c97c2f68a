//! An index from keys to blocks, made by reading all blocks. It replaces a
//! missing or damaged `.kin` and serves books that are not sorted.

use xxhash_rust::xxh3::xxh3_64;

use super::key::KvetkaKey;

/// Maximum number of blocks of a book that is indexed: 256 MiB. Larger ones use
/// binary search.
pub(super) const MAX_INDEXED_BLOCKS: u64 = 1 << 17;

/// Maximum number of blocks of an unsorted book that is indexed, 64 MiB: each
/// of its keys is stored.
pub(super) const MAX_SCATTERED_BLOCKS: u64 = 1 << 15;

/// The index.
#[derive(Debug)]
pub(super) enum KinIndex {
    /// First keys with their blocks, ascending.
    Sorted(Vec<(KvetkaKey, u32)>),
    /// Hashes of all keys with their blocks, ascending.
    Scattered(Vec<(u32, u32)>),
    /// No index: binary search on the blocks.
    Halving,
}

impl KinIndex {
    /// Returns the blocks that may contain `key`; `None` without an index.
    pub(super) fn blocks(&self, key: &KvetkaKey) -> Option<Vec<u64>> {
        match self {
            KinIndex::Sorted(firsts) => {
                let after = firsts.partition_point(|(first, _)| first <= key);
                let found = after.checked_sub(1).and_then(|at| firsts.get(at));
                Some(found.map(|&(_, block)| block.into()).into_iter().collect())
            }
            KinIndex::Scattered(hashes) => {
                let wanted = hash(key);
                let from = hashes.partition_point(|&(hash, _)| hash < wanted);
                let after = hashes.get(from..).unwrap_or_default().iter();
                let same = after.take_while(|&&(hash, _)| hash == wanted);
                let mut blocks: Vec<u64> = same.map(|&(_, block)| block.into()).collect();
                blocks.dedup();
                Some(blocks)
            }
            KinIndex::Halving => None,
        }
    }
}

/// A 32-bit hash of a key.
pub(super) fn hash(key: &KvetkaKey) -> u32 {
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
        let sorted = KinIndex::Sorted(vec![(key(10), 0), (key(20), 3), (key(30), 4)]);
        assert_eq!(sorted.blocks(&key(9)), Some(vec![]));
        assert_eq!(sorted.blocks(&key(10)), Some(vec![0]));
        assert_eq!(sorted.blocks(&key(29)), Some(vec![3]));
        assert_eq!(sorted.blocks(&key(99)), Some(vec![4]));
        let hashes = vec![(hash(&key(5)), 7), (hash(&key(5)), 8), (hash(&key(6)), 1)];
        let mut sorted = hashes.clone();
        sorted.sort_unstable();
        let scattered = KinIndex::Scattered(sorted);
        assert_eq!(scattered.blocks(&key(5)), Some(vec![7, 8]));
        assert_eq!(scattered.blocks(&key(6)), Some(vec![1]));
        assert_eq!(scattered.blocks(&key(7)), Some(vec![]));
        assert_eq!(KinIndex::Halving.blocks(&key(5)), None);
    }
}
