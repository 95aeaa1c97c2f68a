//! The records of a file that an editor has changed: of those that the file has
//! each by itself, the new ones behind them packed one after another, so that
//! many of them take little more memory than they do in the file.

use std::collections::BTreeMap;

/// So many new records are held together.
const PAGE_RECORDS: usize = 1024;

/// Changed and new records by their ids.
#[derive(Debug)]
pub(super) struct Changed {
    record_bytes: usize,
    /// Ids from this one on are new.
    first_new: u32,
    old: BTreeMap<u32, Vec<u8>>,
    /// New records, all pages but the last one full.
    new: Vec<Vec<u8>>,
}

impl Changed {
    /// None yet of a file that has the records before `first_new`.
    pub(super) fn new(record_bytes: usize, first_new: u32) -> Changed {
        Changed {
            record_bytes,
            first_new,
            old: BTreeMap::new(),
            new: Vec::new(),
        }
    }

    pub(super) fn get(&self, id: u32) -> Option<&[u8]> {
        let Some(at) = self.place_of(id) else {
            return self.old.get(&id).map(Vec::as_slice);
        };
        let (page, bytes) = self.split(at);
        self.new.get(page)?.get(bytes..bytes + self.record_bytes)
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut [u8]> {
        let Some(at) = self.place_of(id) else {
            return self.old.get_mut(&id).map(Vec::as_mut_slice);
        };
        let (page, bytes) = self.split(at);
        let end = bytes + self.record_bytes;
        self.new.get_mut(page)?.get_mut(bytes..end)
    }

    /// Puts a record in the place of any with its id. A new one comes next behind
    /// all others, or is there.
    pub(super) fn insert(&mut self, id: u32, record: &[u8]) {
        if id < self.first_new {
            self.old.insert(id, record.to_vec());
        } else if let Some(place) = self.get_mut(id) {
            for (to, byte) in place.iter_mut().zip(record) {
                *to = *byte;
            }
        } else {
            self.push(record);
        }
    }

    fn push(&mut self, record: &[u8]) {
        let most = PAGE_RECORDS * self.record_bytes;
        match self.new.last_mut() {
            Some(page) if page.len() < most => page.extend_from_slice(record),
            _ => self.new.push(record.to_vec()),
        }
    }

    /// The changed records of those that the file has.
    pub(super) fn old(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.old.iter().map(|(id, record)| (*id, record.as_slice()))
    }

    /// The new records.
    pub(super) fn new_ones(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let records = self
            .pages()
            .flat_map(|page| page.chunks_exact(self.record_bytes));
        (self.first_new..).zip(records)
    }

    /// The new records, many at a time, as they follow each other in the file.
    pub(super) fn pages(&self) -> impl Iterator<Item = &[u8]> {
        self.new.iter().map(Vec::as_slice)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        let new = self.new_ones().map(|(id, _)| id);
        self.old.keys().copied().chain(new)
    }

    /// Which of the new ones this is.
    fn place_of(&self, id: u32) -> Option<usize> {
        id.checked_sub(self.first_new).map(|at| at as usize)
    }

    fn split(&self, at: usize) -> (usize, usize) {
        let bytes = at % PAGE_RECORDS * self.record_bytes;
        (at / PAGE_RECORDS, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_records_follow_each_other_and_are_found_by_their_ids() {
        let mut changed = Changed::new(4, 7);
        let count = 7 + 2 * u32::try_from(PAGE_RECORDS).unwrap() + 5;
        for id in 7..count {
            changed.insert(id, &id.to_le_bytes());
        }
        changed.insert(3, b"old.");
        changed.insert(2000, b"more");
        assert_eq!(changed.get(3), Some(&b"old."[..]));
        assert_eq!(changed.get(4), None);
        assert_eq!(changed.get(2000), Some(&b"more"[..]));
        assert_eq!(changed.get(count), None);
        for id in (7..count).filter(|id| *id != 2000) {
            assert_eq!(changed.get(id), Some(&id.to_le_bytes()[..]));
        }
        assert!(changed.ids().eq([3].into_iter().chain(7..count)));
        assert_eq!(changed.pages().count(), 3);
    }
}
