//! The last short reads of a file.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

/// Number of reads that are remembered.
const MOST_READS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Number of bytes of the longest read that is remembered.
const MOST_BYTES: usize = 1 << 11;

/// Version of the file, offset, and number of bytes.
type ShortRead = (u64, u64, usize);

/// The last short reads of one file, 32 KiB at most. To open and read one game
/// its records are read several times, and some records, such as that of "no
/// annotator", are read for nearly every game.
#[derive(Debug)]
pub(super) struct RecentReads(Mutex<LruCache<ShortRead, Vec<u8>>>);

impl RecentReads {
    pub(super) fn new() -> RecentReads {
        RecentReads(Mutex::new(LruCache::new(MOST_READS)))
    }

    /// Sets `bytes` to what a read of this version got; returns false if it is
    /// not remembered.
    pub(super) fn recall(
        &self,
        version: u64,
        offset: u64,
        wanted: usize,
        bytes: &mut Vec<u8>,
    ) -> bool {
        let mut reads = self.0.lock();
        let read = reads.get(&(version, offset, wanted));
        read.inspect(|read| bytes.clone_from(read)).is_some()
    }

    /// Remembers what a read got, unless it is long, or fewer bytes than wanted:
    /// another program may be writing the file.
    pub(super) fn remember(&self, version: u64, offset: u64, wanted: usize, bytes: &[u8]) {
        if wanted <= MOST_BYTES && bytes.len() == wanted {
            let read = (version, offset, wanted);
            self.0.lock().put(read, bytes.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recalled(reads: &RecentReads, version: u64, offset: u64, wanted: usize) -> Option<Vec<u8>> {
        let mut bytes = b"before".to_vec();
        let is_there = reads.recall(version, offset, wanted, &mut bytes);
        assert!(is_there || bytes == b"before");
        is_there.then_some(bytes)
    }

    #[test]
    fn a_read_is_remembered_for_its_version_place_and_length() {
        let reads = RecentReads::new();
        assert_eq!(recalled(&reads, 0, 0, 0), None);
        reads.remember(1, 46, 4, b"game");
        reads.remember(1, 92, 46, &[9; 46]);
        reads.remember(1, 138, 46, b"end");
        assert_eq!(recalled(&reads, 1, 46, 4).unwrap(), b"game");
        assert_eq!(recalled(&reads, 1, 92, 46).unwrap(), [9; 46]);
        // One that got fewer bytes is not remembered.
        let cut = [(1, 138, 46), (1, 138, 3)];
        let others = [(2, 46, 4), (1, 47, 4), (1, 46, 5), (0, 0, 0), (0, 5, 0)];
        let others = others.into_iter().chain(cut);
        for (version, offset, wanted) in others {
            assert_eq!(recalled(&reads, version, offset, wanted), None);
        }
        reads.remember(2, 46, 4, b"move");
        assert_eq!(recalled(&reads, 2, 46, 4).unwrap(), b"move");
    }

    #[test]
    fn long_reads_are_not_remembered_and_few_of_the_short_ones() {
        let reads = RecentReads::new();
        let bytes = [7; MOST_BYTES + 1];
        reads.remember(1, 0, MOST_BYTES + 1, &bytes);
        assert_eq!(recalled(&reads, 1, 0, MOST_BYTES + 1), None);
        reads.remember(1, 0, MOST_BYTES, &bytes[1..]);
        assert!(recalled(&reads, 1, 0, MOST_BYTES).is_some());
        for game in 0..40_000_u64 {
            reads.remember(1, game * 46, 8, &game.to_le_bytes());
            let recalled = recalled(&reads, 1, game * 46, 8).unwrap();
            assert_eq!(recalled, game.to_le_bytes());
        }
        assert_eq!(reads.0.lock().len(), MOST_READS.get());
        assert_eq!(recalled(&reads, 1, 0, MOST_BYTES), None);
    }
}
