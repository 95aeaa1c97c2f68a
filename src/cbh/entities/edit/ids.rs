//! Allocation of ids for new records, and the chain of deleted records.

use std::collections::BTreeSet;

use super::super::tree::{NO_CHILD, TreeNode};
use super::super::{DELETED, MOST_RECORDS};
use super::{EditError, EntityEditor, is_deleted};

/// Maximum number of consecutive ids that are skipped.
const MOST_LEFT_OUT: usize = 4096;

impl EntityEditor<'_> {
    /// Returns the first deleted record; none if the header names one that is
    /// not deleted.
    pub(super) fn chain(&mut self) -> Result<i32, EditError> {
        let first = self.header.first_deleted;
        match u32::try_from(first) {
            Ok(id) if id < self.header.capacity => {
                self.load(id)?;
                let is_chained = is_deleted(self.record(id));
                Ok(if is_chained { first } else { NO_CHILD })
            }
            _ => Ok(NO_CHILD),
        }
    }

    /// Returns the id for a new record: the most recently deleted one that is
    /// not `lost`, or else the next one at the end.
    pub(super) fn take_id(&mut self, lost: &BTreeSet<u32>) -> Result<u32, EditError> {
        let first = self.chain()?;
        if let Some(id) = u32::try_from(first).ok().filter(|id| !lost.contains(id)) {
            let (node, _) = TreeNode::decode(self.record(id))?;
            self.header.first_deleted = node.right;
            self.header.first_deleted = self.chain()?;
            return Ok(id);
        }
        self.header.first_deleted = first;
        let mut left_out = 0;
        while lost.contains(&self.header.capacity) {
            left_out += 1;
            if left_out > MOST_LEFT_OUT {
                let what = "too many games refer to records that are not there";
                return Err(EditError::damaged(0, what));
            }
            self.leave_out()?;
        }
        self.append_id()
    }

    /// Returns the id after the last record.
    fn append_id(&mut self) -> Result<u32, EditError> {
        let id = self.header.capacity;
        if id >= MOST_RECORDS {
            return Err(EditError::Full);
        }
        self.header.capacity += 1;
        Ok(id)
    }

    /// Appends a record and marks it as deleted.
    fn leave_out(&mut self) -> Result<(), EditError> {
        let id = self.append_id()?;
        let mut record = vec![0; self.layout.record_bytes()];
        let deleted = TreeNode {
            left: DELETED,
            right: self.header.first_deleted,
            balance: 0,
        };
        deleted.encode(&mut record)?;
        self.changed.insert(id, &record);
        self.header.first_deleted = id.cast_signed();
        Ok(())
    }
}
