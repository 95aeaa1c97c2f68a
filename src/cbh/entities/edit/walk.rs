//! Reading of records and searching of the tree, for the operations of the
//! editor.

use std::cmp::Ordering;

use super::{EditError, EntityEditor, data_of, is_deleted};
use crate::cbh::EntityId;
use crate::cbh::entities::balance::{MOST_HEIGHT, TreeNodes, TreePath, detach};
use crate::cbh::entities::collation::Collation;
use crate::cbh::entities::tree::{NO_CHILD, TreeNode, TreeSide};
use crate::cbh::entities::zeros::end_of_data;
use crate::storage::ReadBuffer;

/// Block size for reading all records.
const READ_BYTES: usize = 1 << 18;

/// Number of evenly spread records that are read to detect the encoding and the
/// collation.
const SAMPLE_RECORDS: u32 = 1024;

/// Maximum number of records in the cache.
const MOST_KEPT: usize = 1 << 16;

/// Maximum number of records with equal keys that are tried in the search for
/// one of them.
const MOST_STEPS: usize = 4096;

/// A callback that is given each record with its id.
pub(super) type Take<'t> = dyn FnMut(u32, &[u8]) -> Result<(), EditError> + 't;

/// Position of a key in the tree.
pub(super) struct KeyPosition {
    /// The path to the record with this key, or to where a new one belongs.
    pub(super) path: TreePath,
    pub(super) found: Option<i32>,
}

impl EntityEditor<'_> {
    pub(super) fn offset_of(&self, id: u32) -> u64 {
        self.records_at + u64::from(id) * self.layout.record_bytes() as u64
    }

    /// Begins an operation: checks the length of its data, and empties the
    /// cache if it has become too large.
    pub(super) fn begin(&mut self, data: Option<&[u8]>) -> Result<(), EditError> {
        if self.read.len() > MOST_KEPT {
            self.read.clear();
        }
        let wanted = self.layout.data_bytes;
        match data {
            Some(data) if data.len() != wanted => {
                let what = format!("{} bytes of data, not {wanted}", data.len());
                Err(EditError::damaged(12, what))
            }
            _ => Ok(()),
        }
    }

    /// Loads a record into the cache, for [`record`](EntityEditor::record).
    pub(super) fn load(&mut self, id: u32) -> Result<(), EditError> {
        if id >= self.header.capacity {
            return Err(EditError::damaged(0, format!("there is no record {id}")));
        }
        if self.changed.get(id).is_none() && !self.read.contains_key(&id) {
            let mut buffer = ReadBuffer::default();
            let size = self.layout.record_bytes();
            let record = self.storage.read(self.offset_of(id), size, &mut buffer)?;
            self.read.insert(id, record.to_vec());
        }
        Ok(())
    }

    /// Returns a loaded record, including changes.
    pub(super) fn record(&self, id: u32) -> &[u8] {
        let read = || self.read.get(&id).map(Vec::as_slice);
        self.changed.get(id).or_else(read).unwrap_or_default()
    }

    pub(super) fn load_live(&mut self, id: EntityId) -> Result<(), EditError> {
        if id.0 >= self.header.capacity {
            return Err(EditError::NotThere(id));
        }
        self.load(id.0)?;
        if is_deleted(self.record(id.0)) {
            return Err(EditError::NotThere(id));
        }
        Ok(())
    }

    /// Compares `data` with a loaded record.
    pub(super) fn compare(
        &self,
        data: &[u8],
        id: u32,
        collation: Collation,
    ) -> Result<Ordering, EditError> {
        let order = (self.layout.compare)(data, data_of(self.record(id)), collation);
        Ok(order?)
    }

    /// The root, or [`NO_CHILD`] if the file has no records.
    pub(super) fn root(&self) -> i32 {
        match self.header.capacity {
            0 => NO_CHILD,
            _ => self.header.root,
        }
    }

    /// Searches the tree for a key. At a record with an equal key, the search
    /// ends if `stops` is set, or else continues on the right.
    pub(super) fn descend(
        &mut self,
        data: &[u8],
        collation: Collation,
        stops: bool,
    ) -> Result<KeyPosition, EditError> {
        let mut path = TreePath::new();
        let (mut lower, mut upper) = (None, None);
        let mut at = self.root();
        while at != NO_CHILD {
            let node = self.node(at)?;
            let id = at.cast_unsigned();
            if path.len() >= MOST_HEIGHT || !self.is_between(id, lower, upper, collation)? {
                let what = format!("record {id} is not where it belongs in the tree");
                return Err(EditError::damaged(self.offset_of(id), what));
            }
            let side = match self.compare(data, id, collation)? {
                Ordering::Less => TreeSide::Left,
                Ordering::Equal if stops => {
                    return Ok(KeyPosition {
                        path,
                        found: Some(at),
                    });
                }
                _ => TreeSide::Right,
            };
            *(match side {
                TreeSide::Left => &mut upper,
                TreeSide::Right => &mut lower,
            }) = Some(id);
            path.push((at, side));
            at = node.child(side);
        }
        Ok(KeyPosition { path, found: None })
    }

    /// Returns whether a loaded record sorts between two others.
    pub(super) fn is_between(
        &self,
        id: u32,
        lower: Option<u32>,
        upper: Option<u32>,
        collation: Collation,
    ) -> Result<bool, EditError> {
        let data = data_of(self.record(id));
        let is_not = |bound: Option<u32>, wrong| match bound {
            Some(bound) => Ok(self.compare(data, bound, collation)? != wrong),
            None => Ok::<_, EditError>(true),
        };
        Ok(is_not(lower, Ordering::Less)? && is_not(upper, Ordering::Greater)?)
    }

    /// Returns the path to a loaded record. Other records may have the same
    /// key.
    pub(super) fn path_to(&mut self, id: u32, collation: Collation) -> Result<TreePath, EditError> {
        let data = data_of(self.record(id)).to_vec();
        let mut open = vec![(TreePath::new(), self.root())];
        for _ in 0..MOST_STEPS {
            let Some((path, at)) = open.pop() else {
                break;
            };
            if at == id.cast_signed() {
                return Ok(path);
            }
            if at == NO_CHILD || path.len() >= MOST_HEIGHT {
                continue;
            }
            let node = self.node(at)?;
            let order = self.compare(&data, at.cast_unsigned(), collation)?;
            for (side, unless) in [
                (TreeSide::Left, Ordering::Greater),
                (TreeSide::Right, Ordering::Less),
            ] {
                if order != unless {
                    let mut path = path.clone();
                    path.push((at, side));
                    open.push((path, node.child(side)));
                }
            }
        }
        let what = format!("record {id} is not where it belongs in the tree");
        Err(EditError::damaged(self.offset_of(id), what))
    }

    /// Returns the position of a key, after rebuilding the tree if it is
    /// damaged.
    pub(super) fn place(&mut self, data: &[u8]) -> Result<KeyPosition, EditError> {
        let collation = self.sound_order()?;
        match self.descend(data, collation, true) {
            Err(EditError::Damaged(..)) => {
                let collation = self.rebuild()?;
                self.descend(data, collation, true)
            }
            place => place,
        }
    }

    /// Removes a loaded record from the tree.
    pub(super) fn remove_from_tree(&mut self, id: u32) -> Result<(), EditError> {
        self.is_rearranged = true;
        let collation = self.sound_order()?;
        let path = self.path_to(id, collation)?;
        let data = data_of(self.record(id)).to_vec();
        detach(self, path, id.cast_signed())?;
        // A rotation may have moved records onto the path that were not
        // checked.
        self.descend(&data, collation, true).map(drop)
    }

    /// Rebuilds the tree if the last step found damage.
    pub(super) fn rebuild_if_damaged(
        &mut self,
        step: Result<(), EditError>,
    ) -> Result<(), EditError> {
        match step {
            Err(EditError::Damaged(..)) => self.rebuild().map(drop),
            step => step,
        }
    }

    /// Calls `take` for all records in the order of their ids, including
    /// changes.
    pub(super) fn for_each(&self, take: &mut Take<'_>) -> Result<(), EditError> {
        let size = self.layout.record_bytes();
        let at_once = (READ_BYTES / size).max(1);
        let mut buffer = ReadBuffer::default();
        let stored = self.stored.capacity;
        let end = self.offset_of(stored);
        if end_of_data(self.storage, end)? < end {
            let what = format!("{stored} records claimed, most of them are zeros");
            return Err(EditError::damaged(0, what));
        }
        for first in (0..stored).step_by(at_once) {
            let count = ((stored - first) as usize).min(at_once);
            let offset = self.offset_of(first);
            let bytes = self.storage.read(offset, count * size, &mut buffer)?;
            for (id, record) in (first..).zip(bytes.chunks_exact(size)) {
                take(id, self.changed.get(id).unwrap_or(record))?;
            }
        }
        let mut new = self.changed.new_ones();
        new.try_for_each(|(id, record)| take(id, record))
    }

    /// Finds the first live record with a key by reading all records.
    pub(super) fn scan(&self, data: &[u8]) -> Result<Option<EntityId>, EditError> {
        let mut found = None;
        self.for_each(&mut |id, record| {
            let order = (self.layout.compare)(data, data_of(record), Collation::Unsigned)?;
            if order == Ordering::Equal && !is_deleted(record) {
                found.get_or_insert(EntityId(id));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Evenly spread ids, including the first and the last.
    pub(super) fn sample(&self) -> Vec<u32> {
        let count = self.header.capacity;
        let last = count.checked_sub(1);
        let step = (count / SAMPLE_RECORDS).max(1) as usize;
        let mut ids: Vec<u32> = (0..count).step_by(step).chain(last).collect();
        ids.dedup();
        ids
    }
}

impl TreeNodes for EntityEditor<'_> {
    fn node(&mut self, link: i32) -> Result<TreeNode, EditError> {
        let id = u32::try_from(link)
            .map_err(|_| EditError::damaged(0, format!("a link leads to {link}")))?;
        self.load(id)?;
        let (node, _) = TreeNode::decode(self.record(id))?;
        if node.is_deleted() || !(-1..=1).contains(&node.balance) {
            let what = format!("record {id} cannot be in a tree");
            return Err(EditError::damaged(self.offset_of(id), what));
        }
        Ok(node)
    }

    fn set_node(&mut self, id: i32, node: TreeNode) -> Result<(), EditError> {
        let id = id.cast_unsigned();
        self.load(id)?;
        if self.changed.get(id).is_none() {
            let record = self.record(id).to_vec();
            self.changed.insert(id, &record);
        }
        if let Some(record) = self.changed.get_mut(id) {
            node.encode(record)?;
        }
        Ok(())
    }

    fn set_root(&mut self, root: i32) {
        self.header.root = root;
    }
}
