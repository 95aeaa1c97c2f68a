//! Longest common runs of two sequences, in bounded time and memory.
//!
//! The algorithm is that of Myers (1986), greedy and forward. It is exact up to
//! [`MOST_EDITS`] insertions and deletions. Beyond them the best path so far is
//! taken, and a new search begins at its end. So the cost is at most linear in
//! the length times [`MOST_EDITS`]. There is no recursion.

use std::ops::Range;

/// Maximum number of insertions and deletions of one exact search.
const MOST_EDITS: usize = 128;

/// A range of both sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cbh) struct Stretch {
    pub(in crate::cbh) old: Range<usize>,
    pub(in crate::cbh) new: Range<usize>,
    /// Whether the ranges are equal. If not, they have no item in common.
    pub(in crate::cbh) is_same: bool,
}

/// Splits both sequences into ranges that are alternately equal and different.
/// None is empty in both.
pub(in crate::cbh) fn compare<T: PartialEq>(old: &[T], new: &[T]) -> Vec<Stretch> {
    let (mut old_at, mut new_at) = (0, 0);
    let mut stretches = Vec::new();
    let end = CommonRun {
        old: old.len(),
        new: new.len(),
        len: 0,
    };
    for run in common_runs(old, new).into_iter().chain([end]) {
        let (old_end, new_end) = (run.old + run.len, run.new + run.len);
        for (old, new, is_same) in [
            (old_at..run.old, new_at..run.new, false),
            (run.old..old_end, run.new..new_end, true),
        ] {
            if !old.is_empty() || !new.is_empty() {
                stretches.push(Stretch { old, new, is_same });
            }
        }
        (old_at, new_at) = (old_end, new_end);
    }
    stretches
}

/// A common run: `len` equal items, from `old` and `new` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CommonRun {
    old: usize,
    new: usize,
    len: usize,
}

/// Returns the common runs in order. No two are adjacent in both sequences.
fn common_runs<T: PartialEq>(old: &[T], new: &[T]) -> Vec<CommonRun> {
    let equal_ends = old.iter().rev().zip(new.iter().rev());
    let tail = equal_ends.take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let (mut old_rest, mut new_rest) = (
        old.get(..old_end).unwrap_or_default(),
        new.get(..new_end).unwrap_or_default(),
    );
    let mut runs = Vec::new();
    while !old_rest.is_empty() && !new_rest.is_empty() {
        let search = DiffSearch::new(old_rest, new_rest);
        for run in search.runs.iter().rev() {
            runs.push(CommonRun {
                old: old_end - old_rest.len() + run.old,
                new: new_end - new_rest.len() + run.new,
                len: run.len,
            });
        }
        old_rest = old_rest.get(search.end.0..).unwrap_or_default();
        new_rest = new_rest.get(search.end.1..).unwrap_or_default();
    }
    runs.push(CommonRun {
        old: old_end,
        new: new_end,
        len: tail,
    });
    runs.retain(|run| run.len > 0);
    runs
}

/// A search from the start of both sequences.
struct DiffSearch {
    /// End of the path in each sequence.
    end: (usize, usize),
    /// The runs of the path, last first.
    runs: Vec<CommonRun>,
}

/// End in the old sequence of each diagonal after a number of edits: `d` edits
/// have `d + 1` diagonals. On the diagonal with index `i` the new sequence lags
/// behind the old one by `2 * i - d` items.
type Reach = Vec<usize>;

/// Index in the new sequence; `None` before its start.
fn new_place(old: usize, index: usize, edits: usize) -> Option<usize> {
    (old + edits).checked_sub(2 * index)
}

impl DiffSearch {
    fn new<T: PartialEq>(old: &[T], new: &[T]) -> DiffSearch {
        let mut rows: Vec<Reach> = Vec::new();
        loop {
            let edits = rows.len();
            let row: Reach = (0..=edits)
                .map(|index| {
                    let (begin, _) = begin(rows.last(), index);
                    begin + equal_items(old, new, begin, new_place(begin, index, edits))
                })
                .collect();
            let places = row.iter().enumerate().filter_map(|(index, &old_at)| {
                let new_at = new_place(old_at, index, edits)?;
                (old_at <= old.len() && new_at <= new.len()).then_some((index, old_at, new_at))
            });
            let furthest = places.max_by_key(|(_, old_at, new_at)| old_at + new_at);
            rows.push(row);
            let Some((index, old_at, new_at)) = furthest else {
                let end = (old.len(), new.len());
                return DiffSearch {
                    end,
                    runs: Vec::new(),
                };
            };
            if edits == MOST_EDITS || (old_at, new_at) == (old.len(), new.len()) {
                let end = (old_at, new_at);
                return DiffSearch {
                    end,
                    runs: walk_back(&rows, index),
                };
            }
        }
    }
}

/// Returns the start of a diagonal after one more edit, and the index of the
/// diagonal it came from.
fn begin(before: Option<&Reach>, index: usize) -> (usize, usize) {
    let Some(before) = before else {
        return (0, 0);
    };
    let deleted = index
        .checked_sub(1)
        .and_then(|from| Some((before.get(from)? + 1, from)));
    let inserted = before.get(index).map(|&reach| (reach, index));
    match (deleted, inserted) {
        (Some(deleted), Some(inserted)) if inserted.0 >= deleted.0 => inserted,
        (Some(deleted), _) => deleted,
        (None, inserted) => inserted.unwrap_or((0, 0)),
    }
}

fn equal_items<T: PartialEq>(old: &[T], new: &[T], old_at: usize, new_at: Option<usize>) -> usize {
    let old = old.get(old_at..).unwrap_or_default();
    let new = new_at.and_then(|at| new.get(at..)).unwrap_or_default();
    let pairs = old.iter().zip(new);
    pairs.take_while(|(old, new)| old == new).count()
}

/// Returns the runs of the path that ends on this diagonal of the last row,
/// last first.
fn walk_back(rows: &[Reach], mut index: usize) -> Vec<CommonRun> {
    let mut runs = Vec::new();
    for (edits, row) in rows.iter().enumerate().rev() {
        let before = edits.checked_sub(1).and_then(|edits| rows.get(edits));
        let (begin, from) = begin(before, index);
        let reach = row.get(index).copied().unwrap_or(begin);
        runs.push(CommonRun {
            old: begin,
            new: new_place(begin, index, edits).unwrap_or(0),
            len: reach - begin,
        });
        index = from;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The common items of both texts, checked to be such.
    fn common(old: &str, new: &str) -> String {
        let [old, new] = [old, new].map(|text| text.chars().collect::<Vec<_>>());
        let mut text = String::new();
        let (mut old_at, mut new_at) = (0, 0);
        for run in common_runs(&old, &new) {
            assert!(run.old >= old_at && run.new >= new_at, "in order");
            let part = &old[run.old..run.old + run.len];
            assert_eq!(part, &new[run.new..run.new + run.len]);
            text.extend(part);
            (old_at, new_at) = (run.old + run.len, run.new + run.len);
        }
        text
    }

    /// Length of the longest common subsequence, by the table.
    fn longest(old: &[u8], new: &[u8]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for a in old {
            let mut diagonal = 0;
            for (at, b) in new.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if a == b {
                    diagonal + 1
                } else {
                    above.max(row[at])
                };
                diagonal = above;
            }
        }
        row[new.len()]
    }

    fn are_in_turn(stretches: &[Stretch]) -> bool {
        let mut pairs = stretches.iter().zip(stretches.iter().skip(1));
        pairs.all(|(one, next)| one.is_same != next.is_same)
    }

    #[test]
    fn stretches_differ_by_turns() {
        let stretch = |old, new, is_same| Stretch { old, new, is_same };
        let expected = [
            stretch(0..1, 0..1, true),
            stretch(1..2, 1..3, false),
            stretch(2..3, 3..4, true),
        ];
        assert_eq!(compare(b"abc", b"axyc"), expected);
        assert_eq!(compare(b"", b"a"), [stretch(0..0, 0..1, false)]);
        assert_eq!(compare(b"", b""), []);
    }

    #[test]
    fn common_subsequences_are_found() {
        for (old, new, expected) in [
            ("", "", ""),
            ("abc", "", ""),
            ("", "abc", ""),
            ("abc", "abc", "abc"),
            ("abc", "axc", "ac"),
            ("abcabba", "cbabac", "baba"),
            ("abc", "xyz", ""),
            ("aaaa", "aa", "aa"),
        ] {
            assert_eq!(common(old, new).len(), expected.len(), "{old} {new}");
        }
    }

    #[test]
    fn a_great_difference_is_bounded_and_its_ends_are_kept() {
        let old: Vec<u32> = (0..60_000).collect();
        let mut new: Vec<u32> = (0..60_000).map(|at| at ^ 0x5555).collect();
        new[..100].copy_from_slice(&old[..100]);
        new[59_900..].copy_from_slice(&old[59_900..]);
        let runs = common_runs(&old, &new);
        assert!(runs.first().unwrap().len >= 100);
        assert!(runs.last().unwrap().len >= 100);
        assert!(are_in_turn(&compare(&old, &new)));
    }

    proptest! {
        #[test]
        fn nothing_common_is_missed(
            old in prop::collection::vec(0_u8..4, 0..60),
            new in prop::collection::vec(0_u8..4, 0..60),
        ) {
            let runs = common_runs(&old, &new);
            let count: usize = runs.iter().map(|run| run.len).sum();
            prop_assert_eq!(count, longest(&old, &new));
            prop_assert!(are_in_turn(&compare(&old, &new)));
        }
    }
}
