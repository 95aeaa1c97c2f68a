//! Changed ranges of a file, laid over its content.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Ranges of new bytes, sorted by their offset in the file. No two overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    by_offset: BTreeMap<u64, Piece>,
}

/// A range of bytes in a record.
#[derive(Clone, Debug)]
struct Piece {
    record: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Piece {
    fn len(&self) -> u64 {
        self.range.len() as u64
    }

    fn bytes(&self) -> &[u8] {
        self.record.get(self.range.clone()).unwrap_or_default()
    }

    /// Removes its first `count` bytes.
    fn without_first(mut self, count: u64) -> Piece {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.range.start = self.range.start.saturating_add(count).min(self.range.end);
        self
    }

    /// Keeps its first `count` bytes.
    fn first(mut self, count: u64) -> Piece {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.range.end = self.range.start.saturating_add(count).min(self.range.end);
        self
    }
}

impl Pieces {
    /// Lays `record[range]` over the bytes at `offset`.
    pub(super) fn insert(&mut self, offset: u64, record: &Arc<Vec<u8>>, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.cut(offset, offset + range.len() as u64);
        let record = Arc::clone(record);
        self.by_offset.insert(offset, Piece { record, range });
    }

    /// Removes the bytes from `start` to before `end`.
    pub(super) fn cut(&mut self, start: u64, end: u64) {
        let before = self.by_offset.range(..start).next_back();
        let reaching = before
            .filter(|(at, piece)| *at + piece.len() > start)
            .map(|(at, _)| *at);
        let inside = self.by_offset.range(start..end).map(|(at, _)| *at);
        let hit: Vec<u64> = reaching.into_iter().chain(inside).collect();
        for at in hit {
            let Some(piece) = self.by_offset.remove(&at) else {
                continue;
            };
            if at + piece.len() > end {
                let rest = piece.clone().without_first(end - at);
                self.by_offset.insert(end, rest);
            }
            if at < start {
                self.by_offset.insert(at, piece.first(start - at));
            }
        }
    }

    /// Applies the ranges to `bytes`, which begin at `offset` of the file.
    pub(super) fn patch(&self, offset: u64, bytes: &mut [u8]) {
        let end = offset.saturating_add(bytes.len() as u64);
        let before = self.by_offset.range(..offset).next_back();
        for (&at, piece) in before.into_iter().chain(self.by_offset.range(offset..end)) {
            let skipped = offset.saturating_sub(at);
            let start = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
            let piece = piece.clone().without_first(skipped);
            let target = bytes.get_mut(start..).unwrap_or_default();
            for (byte, new) in target.iter_mut().zip(piece.bytes()) {
                *byte = *new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_lie_over_one_another_as_they_came(
            changes in prop::collection::vec((0..60u64, 0..20u64, any::<u8>(), any::<bool>()), 0..40),
            window in (0..80u64, 0..80usize),
        ) {
            let mut pieces = Pieces::default();
            let mut model = [None; 100];
            for (offset, len, byte, is_cut) in changes {
                let record: Arc<Vec<u8>> = Arc::new((0..25).map(|at: u8| byte.wrapping_add(at)).collect());
                let span = usize::try_from(offset).unwrap()..usize::try_from(offset + len).unwrap();
                if is_cut {
                    pieces.cut(offset, offset + len);
                    model[span].fill(None);
                } else {
                    let range = 3..3 + usize::try_from(len).unwrap();
                    pieces.insert(offset, &record, range.clone());
                    for (place, byte) in model[span].iter_mut().zip(&record[range]) {
                        *place = Some(*byte);
                    }
                }
            }
            let (offset, len) = window;
            let mut bytes: Vec<u8> = vec![7; len];
            pieces.patch(offset, &mut bytes);
            let at = usize::try_from(offset).unwrap();
            let expected = (at..at + len).map(|at| model.get(at).copied().flatten().unwrap_or(7));
            prop_assert_eq!(bytes, expected.collect::<Vec<u8>>());
        }
    }
}
