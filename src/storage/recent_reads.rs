//! The last short reads of a file.

use parking_lot::Mutex;

/// Number of reads that are remembered.
const PLACES: usize = 16;

/// Number of bytes of the longest read that is remembered.
const MOST_BYTES: usize = 1 << 11;

/// The last short reads of one file, 32 KiB at most. To open and read one game
/// its records are read several times, and some records, such as that of "no
/// annotator", are read for nearly every game.
#[derive(Debug, Default)]
pub(super) struct RecentReads(Mutex<Vec<ShortRead>>);

/// The bytes that a read at `offset` got from this version of the file.
#[derive(Clone, Debug, Default)]
struct ShortRead {
    version: u64,
    offset: u64,
    bytes: Vec<u8>,
}

impl RecentReads {
    /// Sets `bytes` to what a read of this version got; returns false if it is
    /// not remembered.
    pub(super) fn recall(
        &self,
        version: u64,
        offset: u64,
        wanted: usize,
        bytes: &mut Vec<u8>,
    ) -> bool {
        let asked = (version, offset, wanted);
        let reads = self.0.lock();
        let read = reads.get(place(offset, wanted));
        let read = read.filter(|read| (read.version, read.offset, read.bytes.len()) == asked);
        // A read of nothing is what an empty place says.
        read.filter(|_| wanted > 0).is_some_and(|read| {
            bytes.clone_from(&read.bytes);
            true
        })
    }

    /// Remembers what a read got, unless it is long, or fewer bytes than wanted:
    /// another program may be writing the file.
    pub(super) fn remember(&self, version: u64, offset: u64, wanted: usize, bytes: &[u8]) {
        if wanted > MOST_BYTES || bytes.len() < wanted {
            return;
        }
        let mut reads = self.0.lock();
        reads.resize(PLACES, ShortRead::default());
        if let Some(read) = reads.get_mut(place(offset, wanted)) {
            (read.version, read.offset) = (version, offset);
            read.bytes.clear();
            read.bytes.extend_from_slice(bytes);
        }
    }
}

/// The place of a read. Records of one size are spread over all places, and so
/// are reads of several lengths at one offset.
fn place(offset: u64, wanted: usize) -> usize {
    let bits = offset ^ (wanted as u64).rotate_right(16);
    // Fibonacci hashing: the highest bits depend on all others.
    let spread = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(spread >> 60).unwrap_or(0) % PLACES
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
        let reads = RecentReads::default();
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
        assert_eq!(recalled(&reads, 1, 46, 4), None);
        assert_eq!(recalled(&reads, 2, 46, 4).unwrap(), b"move");
    }

    #[test]
    fn long_reads_are_not_remembered_and_few_of_the_short_ones() {
        let reads = RecentReads::default();
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
        let places = reads.0.lock();
        assert_eq!(places.len(), PLACES);
        assert!(
            places.iter().all(|read| read.bytes.len() == 8),
            "all are used"
        );
    }
}
