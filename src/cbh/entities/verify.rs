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
