//! Check of an entity file for consistency in itself and with the games.

use std::cmp::Ordering;
use std::io;

use super::collation::Collation;
use super::id_set::IdSet;
use super::tree::{EntityTree, Flaw, TreeNode};
use super::{EntityFile, EntityLayout, LINK_BYTES};
use crate::bytes::ByteReader;
use crate::cbh::base::references::ReferenceCount;
use crate::storage::ReadBuffer;

/// Block size for reading.
const READ_BYTES: usize = 1 << 18;

/// Maximum number of defects of one kind that are reported individually.
const MOST_LISTED: u64 = 1000;

/// A callback that is given an offset and a description.
type Report<'a> = dyn FnMut(u64, String) + 'a;

/// Reports the first defects of a kind individually, and the number of the
/// others.
struct Listing<'a, 'b> {
    report: &'a mut Report<'b>,
    /// Description of the kind, for the final message.
    kind: &'static str,
    count: u64,
    /// Offset of the first defect that was not reported individually.
    rest: u64,
}

impl<'a, 'b> Listing<'a, 'b> {
    fn of(kind: &'static str, report: &'a mut Report<'b>) -> Listing<'a, 'b> {
        Listing {
            report,
            kind,
            count: 0,
            rest: 0,
        }
    }

    fn tell(&mut self, at: u64, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.count <= MOST_LISTED {
            (self.report)(at, what());
        } else if self.count == MOST_LISTED + 1 {
            self.rest = at;
        }
    }

    fn end(self) {
        let more = self.count.saturating_sub(MOST_LISTED);
        if more > 0 {
            (self.report)(self.rest, format!("{more} more records {}", self.kind));
        }
    }
}

impl<K: EntityLayout> EntityFile<K> {
    /// Reports all contradictions within the file, and those with `references`,
    /// which are counted from the games if that is possible.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(in crate::cbh) fn verify(
        &self,
        references: Option<&[ReferenceCount]>,
        report: &mut Report<'_>,
    ) -> io::Result<()> {
        let mut tree = EntityTree {
            root: self.header.root,
            nodes: Vec::new(),
        };
        let mut live = 0_u32;
        let mut listing = Listing::of("do not agree with the games", report);
        self.for_each_record(&mut |id, record| {
            let Ok((node, data)) = TreeNode::decode(record) else {
                return;
            };
            tree.nodes.push(node);
            live += u32::from(!node.is_deleted());
            let Some(references) = references else {
                return;
            };
            let reference = references.get(id as usize).copied().unwrap_or_default();
            let fault = if node.is_deleted() {
                let first = reference.first;
                first.map(|game| format!("is deleted, but game {} refers to it", game.0))
            } else {
                compare_reference(data, reference)
            };
            if let Some(fault) = fault {
                listing.tell(self.offset_of(id), || format!("record {id} {fault}"));
            }
        })?;
        listing.end();
        // Without a header, there is nothing else to check.
        if self.is_headless() {
            return Ok(());
        }
        let len = self.storage.len()?;
        if len < self.records_at {
            let header_bytes = self.records_at;
            let what = format!("the header claims {header_bytes} bytes, the file has {len}");
            report(24, what);
        }
        let present = tree.nodes.len() as u64;
        if u64::from(self.claimed) > present {
            let claimed = self.claimed;
            report(0, format!("{claimed} records claimed, {present} found"));
        }
        if let Some(end) = self.data_end {
            let what = "only zeros from here on: no records are read there";
            report(end, what.to_owned());
        }
        if self.header.live_count != live {
            let claimed = self.header.live_count;
            report(
                20,
                format!("{claimed} records in use claimed, {live} found"),
            );
        }
        self.verify_free_list(&tree, report);
        self.verify_tree(&tree, report)
    }

    /// Checks that all deleted records are on the chain that starts in the
    /// header.
    fn verify_free_list(&self, tree: &EntityTree, report: &mut Report<'_>) {
        let mut chained = IdSet::below(u32::try_from(tree.nodes.len()).unwrap_or(u32::MAX));
        let (mut from, mut next) = (16, self.header.first_deleted);
        while next != -1 {
            let id = u32::try_from(next).ok();
            let node = id.and_then(|id| Some((id, tree.nodes.get(id as usize)?)));
            let fault = match node {
                Some((id, node)) if node.is_deleted() => {
                    if chained.insert(id) {
                        from = self.offset_of(id);
                        next = node.right;
                        continue;
                    }
                    "twice"
                }
                Some(_) => "which is in use",
                None => "which does not exist",
            };
            let what = format!("the chain of deleted records leads to {next}, {fault}");
            report(from, what);
            break;
        }
        let mut listing = Listing::of("are deleted but on no chain", report);
        for (id, node) in (0..).zip(&tree.nodes) {
            if node.is_deleted() && !chained.contains(id) {
                let what = || format!("record {id} is deleted but on no chain");
                listing.tell(self.offset_of(id), what);
            }
        }
        listing.end();
    }

    /// Checks that all live records are in the tree, and that it is balanced
    /// and sorted.
    fn verify_tree(&self, tree: &EntityTree, report: &mut Report<'_>) -> io::Result<()> {
        let walk = tree.walk();
        let mut listing = Listing::of("have a wrong link or balance", report);
        for flaw in walk.flaws {
            let (at, what) = self.describe(flaw);
            listing.tell(at, || what);
        }
        listing.end();
        let mut reached = IdSet::below(u32::try_from(tree.nodes.len()).unwrap_or(u32::MAX));
        for &id in &walk.order {
            reached.insert(id);
        }
        let mut listing = Listing::of("cannot be reached from the root", report);
        for (id, node) in (0..).zip(&tree.nodes) {
            if !node.is_deleted() && !reached.contains(id) {
                let what = || format!("record {id} cannot be reached from the root");
                listing.tell(self.offset_of(id), what);
            }
        }
        listing.end();
        let mut listing = Listing::of("do not sort after the one they follow", report);
        for (before, id) in self.unsorted(&walk.order)? {
            let what = || format!("record {id} does not sort after {before}, which it follows");
            listing.tell(self.offset_of(id), what);
        }
        listing.end();
        Ok(())
    }

    fn describe(&self, flaw: Flaw) -> (u64, String) {
        let place = |from: Option<u32>| match from {
            Some(id) => (self.offset_of(id), format!("record {id}")),
            None => (4, "the root".to_owned()),
        };
        let leads = |from, to: i64, what| {
            let (at, link) = place(from);
            (at, format!("{link} leads to {to}, {what}"))
        };
        match flaw {
            Flaw::NoRecord { from, to } => leads(from, to.into(), "which does not exist"),
            Flaw::Deleted { from, to } => leads(from, to.into(), "which is deleted"),
            Flaw::Twice { from, to } => leads(from, to.into(), "as another link does"),
            Flaw::Balance { id, is, should } => (
                self.offset_of(id) + 8,
                format!("balance of record {id} is {is}, should be {should}"),
            ),
        }
    }

    /// Neighbours in the tree that are not sorted, by the collation that fits
    /// better.
    fn unsorted(&self, order: &[u32]) -> io::Result<Vec<(u32, u32)>> {
        let (mut unsigned, mut signed) = (Vec::new(), Vec::new());
        let mut buffer = ReadBuffer::default();
        let mut before: Option<(u32, Vec<u8>)> = None;
        for &id in order {
            let record_bytes = LINK_BYTES + K::DATA_BYTES;
            let record = self
                .storage
                .read(self.offset_of(id), record_bytes, &mut buffer)?;
            let data = record.get(LINK_BYTES..).unwrap_or_default();
            let mut kept = Vec::new();
            if let Some((id_before, data_before)) = before {
                for (collation, faults) in [
                    (Collation::Unsigned, &mut unsigned),
                    (Collation::Signed, &mut signed),
                ] {
                    if K::compare(&data_before, data, collation) != Ok(Ordering::Less) {
                        faults.push((id_before, id));
                    }
                }
                kept = data_before;
            }
            kept.clear();
            kept.extend_from_slice(data);
            before = Some((id, kept));
        }
        Ok(if signed.len() < unsigned.len() {
            signed
        } else {
            unsigned
        })
    }

    /// Calls `take` for all records, including deleted ones, in the order of
    /// their ids.
    fn for_each_record(&self, take: &mut dyn FnMut(u32, &[u8])) -> io::Result<()> {
        let record_bytes = LINK_BYTES + K::DATA_BYTES;
        let at_once = (READ_BYTES / record_bytes).max(1);
        let mut buffer = ReadBuffer::default();
        let count = self.count_present()?;
        for first in (0..count).step_by(at_once) {
            let left = (count - first) as usize;
            let bytes = self.storage.read(
                self.offset_of(first),
                left.min(at_once) * record_bytes,
                &mut buffer,
            )?;
            for (id, record) in (first..).zip(bytes.chunks_exact(record_bytes)) {
                take(id, record);
            }
        }
        Ok(())
    }
}

/// Compares the number of references and the first game in a record with those
/// counted from the games. Returns the difference.
fn compare_reference(data: &[u8], reference: ReferenceCount) -> Option<String> {
    let mut reader = ByteReader::new(data.get(data.len().checked_sub(8)?..)?);
    let (count, first) = (reader.i32_le().ok()?, reader.i32_le().ok()?);
    let Some(first_game) = reference.first else {
        return Some(format!("is in use without a game (it counts {count})"));
    };
    if i64::from(count) != i64::from(reference.count) {
        let real = reference.count;
        return Some(format!("counts {count} references, there are {real}"));
    }
    (i64::from(first) != i64::from(first_game.0))
        .then(|| format!("has {first} for its first game, which is {}", first_game.0))
}

#[cfg(test)]
mod tests {
    use super::super::{DELETED, Players};
    use super::*;
    use crate::cbh::GameId;
    use crate::storage::MemoryFile;

    /// Three players, of whom the second is the root; record n is at 32 + 67 n.
    fn file() -> Vec<u8> {
        let header = [3, 1, 1_234_567_890, 58, -1, 3, 4, 0];
        let mut bytes: Vec<u8> = header.into_iter().flat_map(i32::to_le_bytes).collect();
        for (left, right, name) in [(-1, -1, b'a'), (0, 2, b'b'), (-1, -1, b'c')] {
            bytes.extend([left, right].into_iter().flat_map(i32::to_le_bytes));
            bytes.extend([0, name]);
            bytes.resize(bytes.len() + 49, 0);
            bytes.extend([1, 0, 0, 0, 1, 0, 0, 0]);
        }
        bytes
    }

    fn told(bytes: Vec<u8>, references: &[ReferenceCount]) -> Vec<String> {
        let file = EntityFile::<Players>::open(Box::new(MemoryFile::from(bytes))).unwrap();
        let mut told = Vec::new();
        let mut report = |at, what| told.push(format!("{at}: {what}"));
        file.verify(Some(references), &mut report).unwrap();
        told
    }

    const ONE: ReferenceCount = ReferenceCount {
        count: 1,
        first: Some(GameId(1)),
    };

    #[test]
    fn each_contradiction_of_a_file_is_told_where_it_is() {
        assert_eq!(told(file(), &[ONE; 3]), [""; 0]);
        let deleted = DELETED.to_le_bytes();
        let minus = [0xff; 4];
        for (changes, wanted) in [
            (&[(0, &[5][..])][..], &["0: 5 records claimed, 3 found"][..]),
            (&[(20, &[2])], &["20: 2 records in use claimed, 3 found"]),
            (
                &[(4, &[0])],
                &[
                    "99: record 1 cannot be reached from the root",
                    "166: record 2 cannot be reached from the root",
                ],
            ),
            (
                &[(32 + 9, b"d")],
                &["99: record 1 does not sort after 0, which it follows"],
            ),
            (
                &[(166 + 9, b"A")],
                &["166: record 2 does not sort after 1, which it follows"],
            ),
            (
                &[(99 + 8, &[1])],
                &["107: balance of record 1 is 1, should be 0"],
            ),
            (
                &[(16, &[0, 0, 0, 0])],
                &["16: the chain of deleted records leads to 0, which is in use"],
            ),
            (
                &[(16, &[9, 0, 0, 0])],
                &["16: the chain of deleted records leads to 9, which does not exist"],
            ),
            (
                &[(99 + 4, &[1])],
                &[
                    "99: record 1 leads to 1, as another link does",
                    "107: balance of record 1 is 0, should be -1",
                    "166: record 2 cannot be reached from the root",
                ],
            ),
            // The last record deleted, on the chain and on none.
            (
                &[
                    (166, &deleted),
                    (99 + 4, &minus),
                    (99 + 8, &[0xff]),
                    (16, &[2, 0, 0, 0]),
                    (20, &[2]),
                ],
                &["166: record 2 is deleted, but game 1 refers to it"],
            ),
            (
                &[
                    (166, &deleted),
                    (99 + 4, &minus),
                    (99 + 8, &[0xff]),
                    (20, &[2]),
                ],
                &[
                    "166: record 2 is deleted, but game 1 refers to it",
                    "166: record 2 is deleted but on no chain",
                ],
            ),
        ] {
            let mut bytes = file();
            for (at, change) in changes {
                bytes[*at..*at + change.len()].copy_from_slice(change);
            }
            assert_eq!(told(bytes, &[ONE; 3]), wanted, "{changes:?}");
        }
        let mut cut = file();
        cut.truncate(30);
        let claimed = "24: the header claims 32 bytes, the file has 30";
        assert_eq!(told(cut, &[])[0], claimed);
        let mut zeros = file();
        zeros[..2].copy_from_slice(&30_000_u16.to_le_bytes());
        zeros.resize(32 + 30_000 * 67, 0);
        let only_zeros = "only zeros from here on: no records are read there";
        assert!(
            told(zeros, &[ONE; 3])
                .iter()
                .any(|told| told.ends_with(only_zeros))
        );
    }

    #[test]
    fn references_of_records_are_those_of_the_games() {
        let (none, first) = (ReferenceCount::default(), Some(GameId(2)));
        let two = ReferenceCount { count: 2, ..ONE };
        let later = ReferenceCount { first, ..ONE };
        assert_eq!(
            told(file(), &[none, two, later]),
            [
                "32: record 0 is in use without a game (it counts 1)",
                "99: record 1 counts 1 references, there are 2",
                "166: record 2 has 1 for its first game, which is 2",
            ]
        );
        let headless = [&[0; 32][..], &file()[32..]].concat();
        assert_eq!(told(headless, &[ONE, ONE, two]).len(), 1);
    }

    #[test]
    fn of_many_faults_of_a_kind_the_first_ones_are_listed() {
        for (count, last) in [
            (999, (999, "one")),
            (1000, (1000, "one")),
            (1003, (1001, "3 more records are odd")),
        ] {
            let mut told = Vec::new();
            let mut report = |at, what| told.push((at, what));
            let mut listing = Listing::of("are odd", &mut report);
            for at in 1..=count {
                listing.tell(at, || "one".to_owned());
            }
            listing.end();
            assert_eq!(told.len() as u64, count.min(1001));
            assert_eq!(told.pop(), Some((last.0, last.1.to_owned())));
        }
    }
}
