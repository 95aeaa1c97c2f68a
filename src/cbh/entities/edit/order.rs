//! Check of the tree of a file, detection of its collation, and rebuilding.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use super::super::balance::attach;
use super::super::collation::Collation;
use super::super::tree::{EntityTree, NO_CHILD, TreeNode};
use super::{EditError, EntityEditor, Order, data_of, is_deleted};

/// Files up to this size are checked completely before they are changed.
const SMALL_FILE_BYTES: u64 = 1 << 20;

/// Number of sampled records to look up in the tree: of those with bytes from
/// 0x80 on, and of the others. Only the former show the collation.
const SOUGHT: [usize; 2] = [96, 32];

/// Limit on following the chain of deleted records in a large file.
const MOST_CHAINED: u32 = 1 << 16;

impl EntityEditor<'_> {
    pub(super) fn order(&mut self) -> Result<Order, EditError> {
        if let Some(order) = self.order {
            return Ok(order);
        }
        let order = if self.offset_of(self.header.capacity) <= SMALL_FILE_BYTES {
            self.check_whole()
        } else {
            self.check_sample()
        }?;
        self.order = Some(order);
        Ok(order)
    }

    /// Returns the collation of the tree; rebuilds the tree if it is damaged.
    pub(super) fn sound_order(&mut self) -> Result<Collation, EditError> {
        match self.order()? {
            Order::Sound(collation) => Ok(collation),
            Order::Damaged => self.rebuild(),
        }
    }

    /// The collation to assume if the names do not show it.
    fn usual_collation(&self) -> Collation {
        self.layout.usual_collation(self.header.further_bytes)
    }

    /// The state of the tree, given which collations it is sorted by.
    fn kept_order(&self, is_unsigned: bool, is_signed: bool) -> Order {
        match (is_unsigned, is_signed) {
            (true, true) => Order::Sound(self.usual_collation()),
            (true, false) => Order::Sound(Collation::Unsigned),
            (false, true) => Order::Sound(Collation::Signed),
            (false, false) => Order::Damaged,
        }
    }

    /// Reads all records and walks the whole tree.
    fn check_whole(&mut self) -> Result<Order, EditError> {
        let mut tree = EntityTree {
            root: self.root(),
            nodes: Vec::new(),
        };
        let mut read = HashMap::new();
        let mut live = 0;
        self.for_each(&mut |id, record| {
            let (node, _) = TreeNode::decode(record)?;
            tree.nodes.push(node);
            live += u32::from(!node.is_deleted());
            read.insert(id, record.to_vec());
            Ok(())
        })?;
        self.read = read;
        self.header.live_count = live;
        let walk = tree.walk();
        if !walk.flaws.is_empty() || walk.order.len() != live as usize {
            return Ok(Order::Damaged);
        }
        let is_ascending = |collation| {
            walk.order.windows(2).all(|pair| match pair {
                [one, next] => {
                    let order = self.compare(data_of(self.record(*one)), *next, collation);
                    matches!(order, Ok(Ordering::Less | Ordering::Equal))
                }
                _ => false,
            })
        };
        Ok(self.kept_order(
            is_ascending(Collation::Unsigned),
            is_ascending(Collation::Signed),
        ))
    }

    /// Looks up a sample of records in the tree.
    fn check_sample(&mut self) -> Result<Order, EditError> {
        self.header.live_count = self.count_by_chain()?;
        let (mut high, mut others) = (Vec::new(), Vec::new());
        for id in self.sample() {
            self.load(id)?;
            let record = self.record(id);
            if is_deleted(record) {
                continue;
            }
            let mut strings = self.layout.strings_of(data_of(record));
            if strings.all(<[u8]>::is_ascii) {
                others.push(id);
            } else {
                high.push(id);
            }
        }
        let [most_high, most_others] = SOUGHT;
        thin_out(&mut high, most_high);
        thin_out(&mut others, most_others);
        high.append(&mut others);
        let mut keeps = [true, true];
        for id in high {
            let data = data_of(self.record(id)).to_vec();
            for (keeps, collation) in
                (keeps.iter_mut()).zip([Collation::Unsigned, Collation::Signed])
            {
                *keeps &= match self.descend(&data, collation, true) {
                    Ok(place) => place.found.is_some(),
                    Err(EditError::Damaged(..)) => false,
                    Err(error) => return Err(error),
                };
            }
        }
        let [is_unsigned, is_signed] = keeps;
        Ok(self.kept_order(is_unsigned, is_signed))
    }

    /// Counts the live records: all except those on the chain of deleted ones.
    /// If the chain is too long, the count in the header is used.
    fn count_by_chain(&mut self) -> Result<u32, EditError> {
        let capacity = self.header.capacity;
        let mut next = self.header.first_deleted;
        for count in 0..MOST_CHAINED {
            let Some(id) = u32::try_from(next).ok().filter(|&id| id < capacity) else {
                return Ok(capacity.saturating_sub(count));
            };
            self.load(id)?;
            let (node, _) = TreeNode::decode(self.record(id))?;
            if !node.is_deleted() {
                return Ok(capacity.saturating_sub(count));
            }
            next = node.right;
        }
        Ok(self.header.live_count.min(capacity))
    }

    /// Rebuilds the tree from all live records, in the order of their ids.
    pub(super) fn rebuild(&mut self) -> Result<Collation, EditError> {
        let collation = self.usual_collation();
        let mut live = BTreeMap::new();
        self.for_each(&mut |id, record| {
            if !is_deleted(record) {
                live.insert(id, record.to_vec());
            }
            Ok(())
        })?;
        let ids: Vec<u32> = live.keys().copied().collect();
        for (id, record) in live {
            self.changed.insert(id, &record);
        }
        self.read.clear();
        self.header.root = NO_CHILD;
        self.header.live_count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        self.is_rearranged = true;
        for id in ids {
            let data = data_of(self.record(id)).to_vec();
            let place = self.descend(&data, collation, false)?;
            attach(self, place.path, id.cast_signed())?;
        }
        self.order = Some(Order::Sound(collation));
        Ok(collation)
    }
}

/// Keeps at most `most` ids, evenly spread.
fn thin_out(ids: &mut Vec<u32>, most: usize) {
    let step = ids.len().div_ceil(most).max(1);
    *ids = ids.iter().copied().step_by(step).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_evenly_spread() {
        for (count, most, wanted) in [
            (0, 3, &[][..]),
            (3, 3, &[0, 1, 2]),
            (4, 3, &[0, 2]),
            (6, 3, &[0, 2, 4]),
            (7, 3, &[0, 3, 6]),
            (10, 3, &[0, 4, 8]),
        ] {
            let mut ids: Vec<u32> = (0..count).collect();
            thin_out(&mut ids, most);
            assert_eq!(ids, wanted);
        }
    }
}
