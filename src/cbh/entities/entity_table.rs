//! All records of an entity file in memory, for writing the file anew: records
//! can be left out, and the tree, the counts and the chain are rebuilt.

use std::cmp::Ordering;
use std::io;

use super::collation::Collation;
use super::edit::{EditError, Layout, data_of, set_end};
use super::id_set::IdSet;
use super::tree::{EntityTree, NO_CHILD, TreeNode};
use super::zeros::end_of_data;
use super::{DELETED, EntityFileHeader, MOST_RECORDS};
use crate::bytes::ByteReader;
use crate::cbh::FileKind;
use crate::cbh::base::references::ReferenceCount;
use crate::storage::{ReadBuffer, Storage};

/// Longest header that is believed.
const MOST_HEADER_BYTES: u64 = 4096;

/// Block size for reading.
const READ_BYTES: u64 = 1 << 20;

/// All records of an entity file, in memory.
#[derive(Clone, Debug)]
pub(in crate::cbh) struct EntityTable {
    layout: Layout,
    header: EntityFileHeader,
    /// The number of records, and of further header bytes, as the file states
    /// them.
    claimed: u32,
    stated_further: u32,
    /// The header: the bytes before the first record.
    head: Vec<u8>,
    /// All whole records in the file, up to where only zeros follow. Records
    /// beyond the number in the header are included.
    records: Vec<u8>,
}

/// Returns how many records the file contains at most, whatever its header
/// says, limited to the ids that games can refer to.
///
/// # Errors
///
/// Read errors of the storage.
pub(in crate::cbh) fn records_present(file: FileKind, storage: &dyn Storage) -> io::Result<u32> {
    let Some(layout) = Layout::of(file) else {
        return Ok(0);
    };
    let size = layout.record_bytes() as u64;
    let most = 28 + MOST_HEADER_BYTES + u64::from(MOST_RECORDS) * size;
    let end = end_of_data(storage, storage.len()?.min(most))?;
    let records = end.saturating_sub(28).div_ceil(size);
    Ok(u32::try_from(records).unwrap_or(u32::MAX).min(MOST_RECORDS))
}

impl EntityTable {
    /// Reads an entity file.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if the header is wrong; [`EditError::Io`].
    pub(in crate::cbh) fn read(
        file: FileKind,
        storage: &dyn Storage,
    ) -> Result<EntityTable, EditError> {
        let layout = layout_of(file)?;
        let mut buffer = ReadBuffer::default();
        let header = storage.read_up_to(0, 28, &mut buffer)?;
        let mut header = EntityFileHeader::decode(header, layout.data_bytes)?;
        let stated_further = header.further_bytes;
        header.further_bytes = fitting(header, layout.record_bytes() as u64, storage.len()?);
        let table = EntityTable::load(layout, header, storage)?;
        Ok(EntityTable {
            stated_further,
            ..table
        })
    }

    /// Reads a file with a damaged header, and makes a new header. Returns
    /// `None` unless the length of the file is a whole number of records, each
    /// record that games refer to looks valid, and at least half of these state
    /// the same references as `uses`.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub(in crate::cbh) fn rescue(
        file: FileKind,
        storage: &dyn Storage,
        uses: &[ReferenceCount],
    ) -> Result<Option<EntityTable>, EditError> {
        let layout = layout_of(file)?;
        let Some(header) = EntityFileHeader::of_length(storage.len()?, layout.data_bytes) else {
            return Ok(None);
        };
        let mut table = EntityTable::load(layout, header, storage)?;
        if !table.agrees_with(uses) {
            return Ok(None);
        }
        let is_live = |node: TreeNode| !node.is_deleted();
        table.header.root = table.head_of(is_live, |node| [node.left, node.right]);
        table.header.first_deleted = table.head_of(TreeNode::is_deleted, |node| [node.right; 2]);
        table.header.live_count = table.live_count();
        Ok(Some(table))
    }

    fn load(
        layout: Layout,
        header: EntityFileHeader,
        storage: &dyn Storage,
    ) -> Result<EntityTable, EditError> {
        let mut buffer = ReadBuffer::default();
        let records_at = 28 + u64::from(header.further_bytes);
        let len = storage.len()?;
        if records_at > MOST_HEADER_BYTES || records_at > len {
            return Err(EditError::damaged(24, "the header is impossible"));
        }
        let size = layout.record_bytes() as u64;
        let most = ((len - records_at) / size).min(MOST_RECORDS.into());
        let data_end = end_of_data(storage, records_at + most * size)?;
        let count = data_end.saturating_sub(records_at).div_ceil(size);
        let end = records_at + count * size;
        let head = storage.read(0, usize::try_from(records_at).unwrap_or(0), &mut buffer)?;
        let head = head.to_vec();
        let mut records = Vec::with_capacity(usize::try_from(count * size).unwrap_or(0));
        let mut at = records_at;
        while at < end {
            let part = usize::try_from((end - at).min(READ_BYTES)).unwrap_or(0);
            records.extend_from_slice(storage.read(at, part, &mut buffer)?);
            at += part as u64;
        }
        let mut table = EntityTable {
            layout,
            claimed: header.capacity,
            stated_further: header.further_bytes,
            header,
            head,
            records,
        };
        table.header.capacity = header.capacity.min(table.present());
        Ok(table)
    }

    /// The number of further header bytes that the file states, if that is
    /// impossible.
    pub(in crate::cbh) fn impossible_header_bytes(&self) -> Option<u32> {
        Some(self.stated_further).filter(|&stated| stated != self.header.further_bytes)
    }

    /// Whether the length of the file is that of one with other further header bytes
    /// than are claimed, and the records are not what games refer to.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(in crate::cbh) fn has_wrong_header(
        &self,
        storage: &dyn Storage,
        uses: &[ReferenceCount],
    ) -> io::Result<bool> {
        let (len, size) = (storage.len()?, self.layout.record_bytes() as u64);
        let fits = |further: u32| 28 + u64::from(further) + u64::from(self.claimed) * size == len;
        let mut others = [0, 4]
            .into_iter()
            .filter(|it| *it != self.header.further_bytes);
        Ok(others.any(fits) && !self.agrees_with(uses))
    }

    /// The number of records in the header.
    pub(in crate::cbh) fn claimed(&self) -> u32 {
        self.claimed
    }

    /// The number of live records in the header.
    pub(in crate::cbh) fn claimed_live(&self) -> u32 {
        self.header.live_count
    }

    /// File offset of a record.
    pub(in crate::cbh) fn offset_of(&self, id: u32) -> u64 {
        self.head.len() as u64 + u64::from(id) * self.layout.record_bytes() as u64
    }

    /// Number of records in the file.
    pub(in crate::cbh) fn present(&self) -> u32 {
        u32::try_from(self.records.len() / self.layout.record_bytes()).unwrap_or(u32::MAX)
    }

    /// Number of records, including deleted ones. All ids are lower.
    pub(in crate::cbh) fn capacity(&self) -> u32 {
        self.header.capacity
    }

    /// Raises the number of records, at most to those in the file.
    pub(in crate::cbh) fn set_capacity(&mut self, capacity: u32) {
        self.header.capacity = capacity.min(self.present());
    }

    fn record(&self, id: u32) -> &[u8] {
        let size = self.layout.record_bytes();
        let at = id as usize * size;
        self.records.get(at..at + size).unwrap_or_default()
    }

    fn record_mut(&mut self, id: u32) -> &mut [u8] {
        let size = self.layout.record_bytes();
        let at = id as usize * size;
        self.records.get_mut(at..at + size).unwrap_or_default()
    }

    /// Returns whether each record in `uses` looks valid, and at least half of
    /// them state the same references.
    fn agrees_with(&self, uses: &[ReferenceCount]) -> bool {
        let (mut used, mut agreeing) = (0, 0);
        for (id, reference) in (0..).zip(uses) {
            let Some(first) = reference.first.filter(|_| id < self.capacity()) else {
                continue;
            };
            let Some(says) = self.plausible_reference(id) else {
                return false;
            };
            used += 1;
            agreeing += usize::from(says == (reference.count, first.0));
        }
        2 * agreeing >= used
    }

    /// The number of references and the first game that a record states, if
    /// these and its links are possible.
    fn plausible_reference(&self, id: u32) -> Option<(u32, u32)> {
        let (node, data) = TreeNode::decode(self.record(id)).ok()?;
        let is_link = |to: i32| {
            to == NO_CHILD || u32::try_from(to).is_ok_and(|to| to < self.capacity() && to != id)
        };
        let is_twice = node.left == node.right && node.left != NO_CHILD;
        let is_balanced = (-1..=1).contains(&node.balance);
        let (count, first) = end_of(data)?;
        let is_counted = [count, first].iter().all(|n| n.cast_signed() > 0);
        let is_plausible =
            is_link(node.left) && is_link(node.right) && !is_twice && is_balanced && is_counted;
        is_plausible.then_some((count, first))
    }

    /// The only record of a selection that no other of them links to, or
    /// [`NO_CHILD`].
    fn head_of(
        &self,
        is_one: impl Fn(TreeNode) -> bool,
        links: impl Fn(TreeNode) -> [i32; 2],
    ) -> i32 {
        let nodes = (0..self.capacity()).filter_map(|id| Some((id, self.node(id)?)));
        let ones = || nodes.clone().filter(|(_, node)| is_one(*node));
        let mut linked = IdSet::below(self.capacity());
        for to in ones().flat_map(|(_, node)| links(node)) {
            linked.insert(to.cast_unsigned());
        }
        let mut heads = ones().filter(|(id, _)| !linked.contains(*id));
        match (heads.next(), heads.next()) {
            (Some((head, _)), None) => head.cast_signed(),
            _ => NO_CHILD,
        }
    }

    fn node(&self, id: u32) -> Option<TreeNode> {
        Some(TreeNode::decode(self.record(id)).ok()?.0)
    }

    fn set_node(&mut self, id: u32, node: TreeNode) {
        // Every record has room for its links.
        let _ = node.encode(self.record_mut(id));
    }

    /// Returns whether a record exists and is not deleted.
    pub(in crate::cbh) fn is_live(&self, id: u32) -> bool {
        id < self.capacity() && self.node(id).is_some_and(|node| !node.is_deleted())
    }

    /// Sets the number of references and the first game of a record. Returns
    /// whether they have changed.
    pub(in crate::cbh) fn set_reference(&mut self, id: u32, reference: ReferenceCount) -> bool {
        let before = self.record(id).to_vec();
        let first = reference.first.map_or(0, |first| first.0);
        set_end(self.record_mut(id), reference.count, first);
        before != self.record(id)
    }

    /// Deletes a record. The tree and the chain have to be rebuilt afterwards.
    pub(in crate::cbh) fn delete(&mut self, id: u32) {
        let deleted = TreeNode {
            left: DELETED,
            ..TreeNode::LEAF
        };
        self.set_node(id, deleted);
        set_end(self.record_mut(id), 0, 0);
    }

    /// Restores a deleted record as a leaf.
    pub(in crate::cbh) fn revive(&mut self, id: u32) {
        self.set_node(id, TreeNode::LEAF);
    }

    /// Removes all records except those for which `keeps` returns true. Returns
    /// the new id for each old one.
    pub(in crate::cbh) fn retain(&mut self, keeps: &dyn Fn(u32) -> bool) -> Vec<Option<u32>> {
        let mut kept = Vec::new();
        let mut numbers = Vec::new();
        let mut next = 0;
        for id in 0..self.capacity() {
            let number = keeps(id).then_some(next);
            if number.is_some() {
                kept.extend_from_slice(self.record(id));
                next += 1;
            }
            numbers.push(number);
        }
        self.records = kept;
        self.header.capacity = next;
        numbers
    }

    /// The collation of the tree if it is sound: all live records can be
    /// reached, it is balanced, and it is sorted. Records with equal keys,
    /// which should not exist, may be neighbours.
    pub(in crate::cbh) fn sound_collation(&self) -> Option<Collation> {
        let tree = self.tree();
        let walk = tree.walk();
        let live = tree.nodes.iter().filter(|node| !node.is_deleted()).count();
        if !walk.flaws.is_empty() || walk.order.len() != live {
            return None;
        }
        let usual = self.layout.usual_collation(self.header.further_bytes);
        let kept = [usual, Collation::Unsigned, Collation::Signed];
        kept.into_iter().find(|&collation| {
            let mut pairs = walk.order.windows(2);
            pairs.all(|pair| match pair {
                [one, next] => self.compare(*one, *next, collation) != Ordering::Greater,
                _ => false,
            })
        })
    }

    /// Returns whether the chain consists of exactly the deleted records.
    pub(in crate::cbh) fn has_sound_chain(&self) -> bool {
        let mut left = (0..self.capacity()).filter(|&id| !self.is_live(id)).count();
        let mut next = self.header.first_deleted;
        while next != NO_CHILD {
            let id = u32::try_from(next).ok().filter(|&id| id < self.capacity());
            let node = id.and_then(|id| self.node(id));
            match node.filter(|node| node.is_deleted() && left > 0) {
                Some(node) => next = node.right,
                None => return false,
            }
            left -= 1;
        }
        left == 0
    }

    /// Number of live records.
    pub(in crate::cbh) fn live_count(&self) -> u32 {
        (0..self.capacity()).fold(0, |count, id| count + u32::from(self.is_live(id)))
    }

    fn tree(&self) -> EntityTree {
        let nodes = (0..self.capacity()).filter_map(|id| self.node(id));
        EntityTree {
            root: self.header.root,
            nodes: nodes.collect(),
        }
    }

    fn compare(&self, one: u32, other: u32, collation: Collation) -> Ordering {
        let (one, other) = (data_of(self.record(one)), data_of(self.record(other)));
        (self.layout.compare)(one, other, collation).unwrap_or(Ordering::Equal)
    }

    /// Builds a new tree from all live records, in this collation or else in
    /// the usual one of the file.
    pub(in crate::cbh) fn rebuild_tree(&mut self, collation: Option<Collation>) {
        let usual = self.layout.usual_collation(self.header.further_bytes);
        let collation = collation.unwrap_or(usual);
        let mut order: Vec<u32> = (0..self.capacity())
            .filter(|&id| self.is_live(id))
            .collect();
        order.sort_by(|&one, &other| self.compare(one, other, collation));
        let (root, nodes) = balanced(&order);
        for (id, node) in nodes {
            self.set_node(id, node);
        }
        // The root of an empty file is 0.
        self.header.root = if self.capacity() == 0 { 0 } else { root };
    }

    /// Builds a new chain of all deleted records.
    pub(in crate::cbh) fn rebuild_chain(&mut self) {
        let mut first = NO_CHILD;
        for id in (0..self.capacity()).rev() {
            if !self.is_live(id) {
                let node = TreeNode {
                    left: DELETED,
                    right: first,
                    balance: 0,
                };
                self.set_node(id, node);
                first = id.cast_signed();
            }
        }
        self.header.first_deleted = first;
    }

    /// The bytes of the file, with a header that counts its live records.
    pub(in crate::cbh) fn into_bytes(mut self) -> Vec<u8> {
        self.header.live_count = self.live_count();
        let mut bytes = std::mem::take(&mut self.head);
        // The header has at least 28 bytes.
        let _ = self.header.encode_whole(self.layout.data_bytes, &mut bytes);
        bytes.append(&mut self.records);
        bytes
    }
}

fn layout_of(file: FileKind) -> Result<Layout, EditError> {
    Layout::of(file).ok_or_else(|| EditError::damaged(0, "no file of entities"))
}

/// The number of references and the first game, which are the last eight bytes
/// of a record.
fn end_of(data: &[u8]) -> Option<(u32, u32)> {
    let mut reader = ByteReader::new(data.get(data.len().checked_sub(8)?..)?);
    Some((reader.u32_le().ok()?, reader.u32_le().ok()?))
}

/// The number of further header bytes: as stated, unless that is a value never
/// seen and 4 or 0 fits the length of the file.
fn fitting(header: EntityFileHeader, record_bytes: u64, len: u64) -> u32 {
    let end = |further: u32| 28 + u64::from(further) + u64::from(header.capacity) * record_bytes;
    let stated = header.further_bytes;
    if [0, 4].contains(&stated) || end(stated) == len {
        return stated;
    }
    let fits = [4, 0].into_iter().find(|&further| end(further) == len);
    fits.unwrap_or(stated)
}

/// A perfectly balanced tree of records in this order: its root, and the links
/// of each record. The two sides of a node differ by at most one record, hence
/// by at most one level.
fn balanced(order: &[u32]) -> (i32, Vec<(u32, TreeNode)>) {
    let middle = |from: usize, to: usize| from + (to - from) / 2;
    let id_at = |from: usize, to: usize| match order.get(middle(from, to)) {
        Some(id) if from < to => id.cast_signed(),
        _ => NO_CHILD,
    };
    let height = |records: usize| (usize::BITS - records.leading_zeros()).cast_signed();
    let mut nodes = Vec::with_capacity(order.len());
    let mut open = vec![(0, order.len())];
    while let Some((from, to)) = open.pop() {
        let at = middle(from, to);
        let Some(&id) = order.get(at).filter(|_| from < to) else {
            continue;
        };
        let balance = height(to - at - 1) - height(at - from);
        nodes.push((
            id,
            TreeNode {
                left: id_at(from, at),
                right: id_at(at + 1, to),
                balance: i8::try_from(balance).unwrap_or(0),
            },
        ));
        open.extend([(from, at), (at + 1, to)]);
    }
    (id_at(0, order.len()), nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::GameId;

    #[test]
    fn a_sound_chain_has_all_deleted_records_and_no_other() {
        let file = std::fs::read("fixtures/cbh/sample/sample.cbp").unwrap();
        let file = crate::storage::MemoryFile::from(file);
        let mut table = EntityTable::read(FileKind::Players, &file).unwrap();
        assert!(table.has_sound_chain());
        let live = table.live_count();
        for id in [0, 2, 3] {
            let node = TreeNode {
                left: DELETED,
                right: NO_CHILD,
                balance: 0,
            };
            table.set_node(id, node);
        }
        assert_eq!(table.live_count(), live - 3);
        assert!(!table.has_sound_chain());
        table.rebuild_chain();
        assert!(table.has_sound_chain());
        assert_eq!(table.header.first_deleted, 0);
        table.revive(3);
        assert!(!table.has_sound_chain());
        table.rebuild_chain();
        assert!(table.has_sound_chain());
        table.header.first_deleted = 2;
        assert!(!table.has_sound_chain());
        let kept = table.retain(&|id| id != 0 && id != 2);
        assert_eq!(kept[..4], [None, Some(0), None, Some(1)]);
        assert_eq!((table.capacity(), table.live_count()), (live - 2, live - 2));
    }

    fn read(bytes: &[u8]) -> Result<EntityTable, EditError> {
        let file = crate::storage::MemoryFile::from(bytes.to_vec());
        EntityTable::read(FileKind::Players, &file)
    }

    #[test]
    fn a_file_may_end_behind_its_header_and_no_earlier() {
        let mut bytes = std::fs::read("fixtures/cbh/sample/sample.cbp").unwrap();
        bytes.truncate(32);
        let table = read(&bytes).unwrap();
        assert_eq!((table.present(), table.capacity()), (0, 0));
        assert!(table.claimed() > 0);
        bytes.truncate(31);
        assert!(read(&bytes).is_err());
        // The header may have so many bytes, and no more.
        let most = u32::try_from(MOST_HEADER_BYTES - 28).unwrap();
        for (further, is_believed) in [(most, true), (most + 1, false)] {
            bytes.resize(28 + further as usize, 0);
            bytes[24..28].copy_from_slice(&further.to_le_bytes());
            bytes[..4].fill(0);
            assert_eq!(read(&bytes).is_ok(), is_believed);
        }
    }

    #[test]
    fn a_file_without_a_header_is_rescued_if_half_of_its_records_agree() {
        let bytes = std::fs::read("fixtures/cbh/sample/sample.cbp").unwrap();
        let sound = read(&bytes).unwrap();
        let count = sound.capacity();
        let uses: Vec<ReferenceCount> = (0..count)
            .map(|id| {
                let (count, first) = end_of(data_of(sound.record(id))).unwrap();
                let mut reference = ReferenceCount::default();
                (0..count).for_each(|more| reference.add(GameId(first + more)));
                reference
            })
            .collect();
        let rescued = |change: &dyn Fn(&mut [u8], &mut Vec<ReferenceCount>)| {
            let (mut bytes, mut uses) = (bytes.clone(), uses.clone());
            bytes[..28].fill(0);
            change(&mut bytes[32..], &mut uses);
            let file = crate::storage::MemoryFile::from(bytes);
            EntityTable::rescue(FileKind::Players, &file, &uses).unwrap()
        };
        let whole = rescued(&|_, _| {}).unwrap();
        assert_eq!(whole.header.root, sound.header.root);
        assert_eq!(whole.header.first_deleted, sound.header.first_deleted);
        assert_eq!([whole.capacity(), whole.claimed_live()], [count; 2]);
        // So many say something else.
        for (others, is_believed) in [(count / 2, true), (count / 2 + 1, false)] {
            let found = rescued(&|_, uses| {
                for other in &mut uses[..others as usize] {
                    other.add(GameId(1));
                }
            });
            assert_eq!(found.is_some(), is_believed, "{others} of {count}");
        }
        // Of a record: links, balance, count, first game.
        let size = sound.layout.record_bytes();
        for (at, impossible) in [
            (0, count.to_le_bytes()),
            (4, count.to_le_bytes()),
            (0, 0_u32.to_le_bytes()),
            (4, (-2_i32).to_le_bytes()),
            (8, [2; 4]),
            (size - 8, [0; 4]),
            (size - 4, [0; 4]),
            (size - 8, [0xff; 4]),
        ] {
            let found = rescued(&|records, _| records[at..at + 4].copy_from_slice(&impossible));
            assert!(found.is_none(), "{at} {impossible:?}");
        }
        let is_twice = rescued(&|records, _| {
            records[..8].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0]);
        });
        assert!(is_twice.is_none());
    }

    #[test]
    fn references_that_stand_there_already_are_no_change() {
        let file = std::fs::read("fixtures/cbh/sample/sample.cbp").unwrap();
        let file = crate::storage::MemoryFile::from(file);
        let mut table = EntityTable::read(FileKind::Players, &file).unwrap();
        assert_eq!([0, 2].map(|id| table.offset_of(id)), [32, 32 + 2 * 67]);
        let [mut one, mut other] = [ReferenceCount::default(); 2];
        one.add(GameId(7));
        other.add(GameId(7));
        other.add(GameId(9));
        for reference in [one, other, ReferenceCount::default()] {
            assert!(table.set_reference(2, reference));
            assert!(!table.set_reference(2, reference));
            let first = reference.first.map_or(0, |first| first.0);
            let stated = end_of(data_of(table.record(2)));
            assert_eq!(stated, Some((reference.count, first)));
        }
    }

    #[test]
    fn a_tree_of_any_size_is_balanced_and_in_order() {
        for count in 0..300 {
            let order: Vec<u32> = (0..count).rev().collect();
            let (root, nodes) = balanced(&order);
            let mut tree = EntityTree {
                root,
                nodes: vec![TreeNode::LEAF; nodes.len()],
            };
            for (id, node) in nodes {
                tree.nodes[id as usize] = node;
            }
            let walk = tree.walk();
            assert_eq!(walk.flaws, [], "{count}");
            assert_eq!(walk.order, order);
        }
    }

    #[test]
    fn a_length_of_the_header_that_fits_no_file_is_told_and_not_believed() {
        let sample = std::fs::read("fixtures/cbh/sample/sample.cbp").unwrap();
        let told = |further: u32, more: usize| {
            let mut bytes = [&sample[..32], &vec![0; more], &sample[32..]].concat();
            bytes[24..28].copy_from_slice(&further.to_le_bytes());
            let table = read(&bytes).unwrap();
            (table.impossible_header_bytes(), table.offset_of(0))
        };
        assert_eq!(told(4, 0), (None, 32));
        assert_eq!(told(5, 0), (Some(5), 32));
        assert_eq!(told(12, 8), (None, 40));
        // Files of old programs have no more bytes.
        let mut old = [&sample[..28], &sample[32..]].concat();
        for (further, impossible) in [(0, None), (7, Some(7))] {
            old[24..28].copy_from_slice(&u32::to_le_bytes(further));
            let table = read(&old).unwrap();
            let told = (table.impossible_header_bytes(), table.offset_of(0));
            assert_eq!(told, (impossible, 28));
        }
    }
}
