//! The index of a long stream, made by several threads.
//!
//! Where a block ends is told by its head alone, so a far block is found by a
//! walk over all heads before it. On a disk that walk waits for one read after
//! the other: some seconds for the 30,000 heads of a large base. Therefore each
//! thread begins in the middle of the stream, at bytes that look like two
//! blocks with the right sums. Its part counts only if the walk of the part
//! before it arrives exactly there; so the index is always that of a walk from
//! the begin.

use std::thread;

use super::block::{self, BlockHead, HEAD_BYTES};
use crate::storage::Storage;

/// Number of threads. They wait for the disk, not for the processor.
const PARTS: usize = 16;

/// Number of bytes in which two whole blocks are looked for.
const WINDOW: usize = 3 << 16;

/// A range of a stream that is surveyed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// Offset of a block.
    pub(super) start: u64,
    /// Where all wanted blocks have ended.
    pub(super) until: u64,
    /// End of the stream.
    pub(super) end: u64,
    /// Number of blocks after which it ends.
    pub(super) most: usize,
}

/// Returns offset and head of each block of a range, as far as a walk over the
/// heads gets, and the offset behind the last one.
pub(super) fn blocks(range: Range, archive: &dyn Storage) -> (Vec<(u64, BlockHead)>, u64) {
    let Range {
        start, end, most, ..
    } = range;
    let until = range.until.min(end);
    let part = (until.saturating_sub(start) / PARTS as u64).max(1);
    let starts: Vec<u64> = thread::scope(|scope| {
        let guesses = (1..PARTS as u64).map(|at| start + at * part);
        let workers: Vec<_> = guesses
            .map(|guess| scope.spawn(move || find_block(guess, end, archive)))
            .collect();
        let found = workers.into_iter().map(thread::ScopedJoinHandle::join);
        let found = found.filter_map(|found| found.ok().flatten());
        std::iter::once(start).chain(found).collect()
    });
    let ends = starts.iter().skip(1).copied().chain([until]);
    let parts: Vec<(u64, BlockWalk)> = thread::scope(|scope| {
        let workers: Vec<_> = (starts.iter().copied().zip(ends))
            .map(|(start, until)| {
                let walk = move || BlockWalk::from(start, until, Range { end, ..range }, archive);
                (start, scope.spawn(walk))
            })
            .collect();
        let walks = workers.into_iter();
        walks
            .filter_map(|(start, worker)| Some((start, worker.join().ok()?)))
            .collect()
    });
    let mut all = BlockWalk {
        blocks: Vec::new(),
        next: start,
    };
    for (start, walk) in parts {
        if start > all.next {
            // What looked like a block before was none.
            let missing = BlockWalk::from(all.next, start, range, archive);
            all.append(missing);
        }
        if start == all.next && all.blocks.len() < most {
            all.append(walk);
        }
    }
    all.blocks.truncate(most);
    let behind =
        |(offset, head): &(u64, BlockHead)| offset + HEAD_BYTES as u64 + u64::from(head.len);
    let next = all.blocks.last().map_or(start, behind);
    (all.blocks, next)
}

/// Consecutive blocks.
struct BlockWalk {
    blocks: Vec<(u64, BlockHead)>,
    next: u64,
}

impl BlockWalk {
    /// Walks over the heads up to `until`, or as far as there are blocks.
    fn from(start: u64, until: u64, range: Range, archive: &dyn Storage) -> BlockWalk {
        let mut walk = BlockWalk {
            blocks: Vec::new(),
            next: start,
        };
        while walk.next < until && walk.blocks.len() < range.most {
            let Some(head) = head_at(walk.next, range.end, archive) else {
                break;
            };
            walk.blocks.push((walk.next, head));
            walk.next += HEAD_BYTES as u64 + u64::from(head.len);
        }
        walk
    }

    fn append(&mut self, mut other: BlockWalk) {
        self.blocks.append(&mut other.blocks);
        self.next = other.next;
    }
}

/// Reads the head at `offset`; `None` if the block does not end within the
/// stream, or the medium fails.
pub(super) fn head_at(offset: u64, end: u64, archive: &dyn Storage) -> Option<BlockHead> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    if end.saturating_sub(offset) >= HEAD_BYTES as u64 {
        archive.fill(offset, HEAD_BYTES, &mut bytes).ok()?;
    }
    let head = BlockHead::decode(*bytes.first_chunk()?);
    let limit = end.saturating_sub(offset + HEAD_BYTES as u64);
    Some(head).filter(|head| (1..=limit).contains(&u64::from(head.len)))
}

/// Returns the first offset from `guess` on at which two blocks seem to begin.
fn find_block(guess: u64, end: u64, archive: &dyn Storage) -> Option<u64> {
    let len = usize::try_from(end.saturating_sub(guess)).unwrap_or(WINDOW);
    let mut bytes = Vec::new();
    archive.fill(guess, len.min(WINDOW), &mut bytes).ok()?;
    let sums = block::Sums::of(&bytes);
    let behind = |at: usize| {
        let head = BlockHead::decode(*bytes.get(at..)?.first_chunk()?);
        let start = at + HEAD_BYTES;
        let end = start + usize::from(head.len);
        let is_one =
            head.len > 1 && *bytes.get(start)? <= 3 && sums.of_range(start, end)? == head.sum;
        is_one.then_some(end)
    };
    let found = (0..bytes.len()).find(|at| behind(*at).and_then(behind).is_some());
    found.map(|at| guess + at as u64)
}
