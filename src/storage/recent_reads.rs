//! The last short reads of a file.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;

/// Number of reads that are remembered.
const MOST_READS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Number of bytes of the longest read that is remembered.
const MOST_BYTES: usize = 1 << 11;

/// Time that a read is remembered: longer than a request takes whose bytes the
/// system has in memory. A read after that finds out what was cut off meanwhile.
const MOMENT: Duration = Duration::from_millis(1);

/// Version of the file, offset, and number of bytes.
pub(super) type ShortRead = (u64, u64, usize);

/// The short reads of one file in the last millisecond, 32 KiB at most. To open
/// and read one game, or to save it, its records are read several times.
#[derive(Debug)]
pub(super) struct RecentReads(Mutex<LruCache<ShortRead, (Instant, Vec<u8>)>>);

impl RecentReads {
    pub(super) fn new() -> RecentReads {
        RecentReads(Mutex::new(LruCache::new(MOST_READS)))
    }

    /// Sets `bytes` to what a read got a moment before `now`; returns false if
    /// it is not remembered.
    pub(super) fn recall(&self, read: ShortRead, now: Instant, bytes: &mut Vec<u8>) -> bool {
        let mut reads = self.0.lock();
        let got = reads.get(&read);
        let got = got.filter(|(at, _)| now.saturating_duration_since(*at) < MOMENT);
        got.inspect(|(_, got)| bytes.clone_from(got)).is_some()
    }

    /// Remembers what a read at the time `now` got, unless it is long, or fewer
    /// bytes than wanted: another program may be writing the file.
    pub(super) fn remember(&self, read: ShortRead, now: Instant, bytes: &[u8]) {
        let (_, _, wanted) = read;
        if wanted <= MOST_BYTES && bytes.len() == wanted {
            self.0.lock().put(read, (now, bytes.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recalled(reads: &RecentReads, read: ShortRead, now: Instant) -> Option<Vec<u8>> {
        let mut bytes = b"before".to_vec();
        let is_there = reads.recall(read, now, &mut bytes);
        assert!(is_there || bytes == b"before");
        is_there.then_some(bytes)
    }

    #[test]
    fn a_read_is_remembered_for_its_version_place_and_length() {
        let (reads, now) = (RecentReads::new(), Instant::now());
        let recalled = |read| recalled(&reads, read, now);
        assert_eq!(recalled((0, 0, 0)), None);
        reads.remember((1, 46, 4), now, b"game");
        reads.remember((1, 92, 46), now, &[9; 46]);
        reads.remember((1, 138, 46), now, b"end");
        assert_eq!(recalled((1, 46, 4)).unwrap(), b"game");
        assert_eq!(recalled((1, 92, 46)).unwrap(), [9; 46]);
        // One that got fewer bytes is not remembered.
        let cut = [(1, 138, 46), (1, 138, 3)];
        let others = [(2, 46, 4), (1, 47, 4), (1, 46, 5), (0, 0, 0), (0, 5, 0)];
        for read in others.into_iter().chain(cut) {
            assert_eq!(recalled(read), None);
        }
        reads.remember((2, 46, 4), now, b"move");
        assert_eq!(recalled((2, 46, 4)).unwrap(), b"move");
    }

    #[test]
    fn a_read_is_remembered_for_a_moment() {
        let (reads, now) = (RecentReads::new(), Instant::now());
        reads.remember((1, 46, 4), now, b"game");
        let later = now + MOMENT / 2;
        assert_eq!(recalled(&reads, (1, 46, 4), later).unwrap(), b"game");
        assert_eq!(recalled(&reads, (1, 46, 4), now + MOMENT), None);
    }

    #[test]
    fn long_reads_are_not_remembered_and_few_of_the_short_ones() {
        let (reads, now) = (RecentReads::new(), Instant::now());
        let bytes = [7; MOST_BYTES + 1];
        reads.remember((1, 0, MOST_BYTES + 1), now, &bytes);
        assert_eq!(recalled(&reads, (1, 0, MOST_BYTES + 1), now), None);
        reads.remember((1, 0, MOST_BYTES), now, &bytes[1..]);
        assert!(recalled(&reads, (1, 0, MOST_BYTES), now).is_some());
        for game in 0..40_000_u64 {
            let read = (1, game * 46, 8);
            reads.remember(read, now, &game.to_le_bytes());
            let recalled = recalled(&reads, read, now).unwrap();
            assert_eq!(recalled, game.to_le_bytes());
        }
        assert_eq!(reads.0.lock().len(), MOST_READS.get());
        assert_eq!(recalled(&reads, (1, 0, MOST_BYTES), now), None);
    }
}
