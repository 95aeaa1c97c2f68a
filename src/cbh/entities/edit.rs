//! Editing of an entity file: records are added, removed, renamed and recounted
//! in memory, and the result is a list of writes.
//!
//! A small file is checked completely before the first change. In a larger
//! file, a sample of records is looked up in the tree, and each record on a
//! search path must sort between its ancestors. If the tree is damaged, names
//! are found by reading all records, and the first change rebuilds the tree
//! from all live records in the order of their ids. Ids never change.

mod changed;
mod error;
mod ids;
mod layout;
mod order;
mod spellings;
#[cfg(test)]
mod tests;
mod walk;

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use super::balance::attach;
use super::collation::Collation;
use super::entity::Entity;
use super::fields::NameForm;
use super::id_set::IdSet;
use super::tree::TreeNode;
use super::{DELETED, EntityFileHeader, EntityId, LINK_BYTES, MOST_RECORDS};
use crate::bytes::ByteReader;
use crate::cbh::{CodePage, FileKind};
use crate::storage::{ReadBuffer, Storage};
use changed::Changed;
pub use error::EditError;
pub(super) use layout::Layout;
use spellings::Spellings;

/// A file offset, and the bytes to write there.
pub type Write<B = Vec<u8>> = (u64, B);

/// State of the tree.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// The tree is sorted by this collation, as far as it was checked.
    Sound(Collation),
    Damaged,
}

/// Result of a check that found the tree sound. Another editor can reuse it
/// while nothing else changes the file.
#[derive(Clone, Copy, Debug)]
pub struct TreeOrder {
    collation: Collation,
    live_count: u32,
}

/// Changes to an entity file, collected in memory.
/// [`writes`](EntityEditor::writes) returns the bytes to be written. Do not use
/// the editor again after it returned [`EditError::Io`].
#[derive(Debug)]
pub struct EntityEditor<'a> {
    storage: &'a dyn Storage,
    layout: Layout,
    records_at: u64,
    /// The header in the file.
    stored: EntityFileHeader,
    header: EntityFileHeader,
    /// Records that were changed, with their new bytes. Some may equal the file
    /// again.
    changed: Changed,
    /// Cache of records as they are in the file.
    read: HashMap<u32, Vec<u8>>,
    order: Option<Order>,
    /// Whether records were added, removed or moved in the tree.
    is_rearranged: bool,
}

impl<'a> EntityEditor<'a> {
    /// Reads and checks the header of an entity file.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if `file` is not an entity file, or its header is
    /// wrong or claims more records than there are; [`EditError::Io`].
    pub fn open(file: FileKind, storage: &'a dyn Storage) -> Result<EntityEditor<'a>, EditError> {
        let layout =
            Layout::of(file).ok_or_else(|| EditError::damaged(0, "no file of entities"))?;
        let mut buffer = ReadBuffer::default();
        let header = storage.read_up_to(0, 28, &mut buffer)?;
        let header = EntityFileHeader::decode(header, layout.data_bytes)?;
        let editor = EntityEditor {
            storage,
            layout,
            records_at: 28 + u64::from(header.further_bytes),
            stored: header,
            header,
            changed: Changed::new(layout.record_bytes(), header.capacity),
            read: HashMap::new(),
            order: None,
            is_rearranged: false,
        };
        let (claimed, end) = (header.capacity, editor.offset_of(header.capacity));
        storage.ensure_kept(end)?;
        if claimed > 0 && storage.len()? < end {
            let what = format!("{claimed} records claimed, the file ends before");
            return Err(EditError::damaged(0, what));
        }
        if claimed > MOST_RECORDS || header.further_bytes > 4096 {
            return Err(EditError::damaged(0, "the header is impossible"));
        }
        Ok(editor)
    }

    /// Returns whether the names of the file are UTF-8 (`Some(true)`) or in
    /// `page` (`Some(false)`), or `None` if the names are all ASCII. Names that
    /// `page` cannot represent decide only if no other name does. In a large
    /// file, a sample is read.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub fn has_utf8_names(&mut self, page: CodePage) -> Result<Option<bool>, EditError> {
        let mut found = None;
        for id in self.sample() {
            self.load(id)?;
            let (record, layout) = (self.record(id), self.layout);
            if is_deleted(record) {
                continue;
            }
            for name in layout.strings_of(data_of(record)) {
                match page.is_utf8_by_choice(name) {
                    Some(true) => return Ok(Some(true)),
                    Some(false) => found = Some(false),
                    None if name.is_ascii() => {}
                    None => found = found.or(Some(true)),
                }
            }
        }
        Ok(found)
    }

    /// Returns the live record whose key equals that of `data`.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if `data` has the wrong length for this file;
    /// [`EditError::Io`].
    pub fn find(&mut self, data: &[u8]) -> Result<Option<EntityId>, EditError> {
        self.begin(Some(data))?;
        if let Order::Sound(collation) = self.order()? {
            match self.descend(data, collation, true) {
                Ok(place) => return Ok(place.found.map(id_of)),
                Err(EditError::Damaged(..)) => self.order = Some(Order::Damaged),
                Err(error) => return Err(error),
            }
        }
        self.scan(data)
    }

    /// Returns the live record that is equal to `entity`, however its names are
    /// encoded: in UTF-8 or in the code page, with or without a terminating
    /// zero. A record with the complete names is preferred to one with
    /// truncated names.
    ///
    /// # Errors
    ///
    /// As for [`find`](EntityEditor::find); [`EditError::Damaged`] also if a
    /// date of the entity cannot be stored.
    pub fn find_entity(
        &mut self,
        entity: &Entity,
        form: NameForm,
    ) -> Result<Option<EntityId>, EditError> {
        let spellings = Spellings::of(entity, form, self.layout.strings)?;
        self.begin(None)?;
        if matches!(self.order()?, Order::Damaged) {
            return self.scan_for(&spellings);
        }
        let Some(all) = spellings.all() else {
            return self.scan_for(&spellings);
        };
        for data in all {
            if let Some(id) = self.find(&data)? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns the data of a live record, including changes.
    ///
    /// # Errors
    ///
    /// [`EditError::NotThere`]; [`EditError::Io`].
    pub fn data(&mut self, id: EntityId) -> Result<&[u8], EditError> {
        self.begin(None)?;
        self.load_live(id)?;
        Ok(data_of(self.record(id.0)))
    }

    /// Adds a record and returns its id: the most recently deleted one, or else
    /// the next one at the end.
    ///
    /// # Errors
    ///
    /// [`EditError::Exists`] if a live record has the same key;
    /// [`EditError::Full`]; [`EditError::Damaged`] if `data` has the wrong
    /// length for this file; [`EditError::Io`].
    pub fn insert(&mut self, data: &[u8]) -> Result<EntityId, EditError> {
        self.insert_beside(data, &BTreeSet::new())
    }

    /// As [`insert`](EntityEditor::insert), but skips the ids in `lost`. Those
    /// are ids that games refer to although no record has them.
    ///
    /// # Errors
    ///
    /// As for [`insert`](EntityEditor::insert); [`EditError::Damaged`] also if
    /// too many ids in a row are lost.
    pub fn insert_beside(
        &mut self,
        data: &[u8],
        lost: &BTreeSet<u32>,
    ) -> Result<EntityId, EditError> {
        self.begin(Some(data))?;
        let place = self.place(data)?;
        if let Some(id) = place.found {
            return Err(EditError::Exists(id_of(id)));
        }
        let id = self.take_id(lost)?;
        let mut record = vec![0; LINK_BYTES];
        TreeNode::LEAF.encode(&mut record)?;
        record.extend_from_slice(data);
        self.changed.insert(id, &record);
        self.header.live_count = self.header.live_count.saturating_add(1);
        self.is_rearranged = true;
        let attached = attach(self, place.path, id.cast_signed());
        self.rebuild_if_damaged(attached)?;
        Ok(EntityId(id))
    }

    /// Deletes a record. The next new record takes its id.
    ///
    /// # Errors
    ///
    /// [`EditError::NotThere`]; [`EditError::Io`].
    pub fn remove(&mut self, id: EntityId) -> Result<(), EditError> {
        self.begin(None)?;
        self.sound_order()?;
        self.load_live(id)?;
        let first_deleted = self.chain()?;
        let detached = self.remove_from_tree(id.0);
        let mut record = self.record(id.0).to_vec();
        let deleted = TreeNode {
            left: DELETED,
            right: first_deleted,
            balance: 0,
        };
        deleted.encode(&mut record)?;
        set_end(&mut record, 0, 0);
        self.changed.insert(id.0, &record);
        self.header.first_deleted = id.0.cast_signed();
        self.header.live_count = self.header.live_count.saturating_sub(1);
        self.rebuild_if_damaged(detached)
    }

    /// Replaces the data of a record; the id stays.
    ///
    /// # Errors
    ///
    /// [`EditError::Exists`] if another live record has the same key;
    /// [`EditError::NotThere`]; [`EditError::Damaged`] if `data` has the wrong
    /// length for this file; [`EditError::Io`].
    pub fn rename(&mut self, id: EntityId, data: &[u8]) -> Result<(), EditError> {
        self.begin(Some(data))?;
        let collation = self.sound_order()?;
        self.load_live(id)?;
        let keeps_key = self.compare(data, id.0, collation)? == Ordering::Equal;
        if !keeps_key && let Some(other) = self.place(data)?.found {
            return Err(EditError::Exists(id_of(other)));
        }
        let detached = if keeps_key {
            Ok(())
        } else {
            self.remove_from_tree(id.0)
        };
        let mut record = self.record(id.0).to_vec();
        record.truncate(LINK_BYTES);
        record.extend_from_slice(data);
        self.changed.insert(id.0, &record);
        if keeps_key {
            return Ok(());
        }
        // The tree was rebuilt, and the record is at its new position already.
        if detached.is_err() {
            return self.rebuild_if_damaged(detached);
        }
        let hung = self
            .sound_order()
            .and_then(|collation| self.descend(data, collation, false))
            .and_then(|place| attach(self, place.path, id.0.cast_signed()));
        self.rebuild_if_damaged(hung)
    }

    /// Sets the number of references to a record, and the first game that
    /// refers to it.
    ///
    /// # Errors
    ///
    /// [`EditError::NotThere`]; [`EditError::Io`].
    pub fn set_references(
        &mut self,
        id: EntityId,
        count: u32,
        first: u32,
    ) -> Result<(), EditError> {
        self.begin(None)?;
        self.load_live(id)?;
        let mut record = self.record(id.0).to_vec();
        set_end(&mut record, count, first);
        self.changed.insert(id.0, &record);
        Ok(())
    }

    /// Returns the number of references that a live record states, and the
    /// first game.
    ///
    /// # Errors
    ///
    /// As for [`data`](EntityEditor::data).
    pub fn references(&mut self, id: EntityId) -> Result<(u32, u32), EditError> {
        let data = self.data(id)?;
        let end = data.get(data.len().saturating_sub(8)..).unwrap_or_default();
        let mut reader = ByteReader::new(end);
        Ok((reader.u32_le()?, reader.u32_le()?))
    }

    /// Returns the ids of all live records. Reads the file once.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub(in crate::cbh) fn live(&self) -> Result<IdSet, EditError> {
        let mut live = IdSet::below(self.header.capacity);
        self.for_each(&mut |id, record| {
            if !is_deleted(record) {
                live.insert(id);
            }
            Ok(())
        })?;
        Ok(live)
    }

    /// Number of records, including deleted ones. All ids are lower.
    pub fn capacity(&self) -> u32 {
        self.header.capacity
    }

    /// Returns what the checks and changes so far have established about the
    /// tree, for [`assume`](EntityEditor::assume); `None` if the tree is damaged
    /// or was not checked yet.
    pub(in crate::cbh) fn known_order(&self) -> Option<TreeOrder> {
        match self.order {
            Some(Order::Sound(collation)) => Some(TreeOrder {
                collation,
                live_count: self.header.live_count,
            }),
            Some(Order::Damaged) | None => None,
        }
    }

    /// The records that were changed.
    pub(in crate::cbh) fn changed(&self) -> impl Iterator<Item = EntityId> {
        self.changed.ids().map(EntityId)
    }

    /// Skips the check of the tree: `known` is from an earlier editor of this
    /// file, and nothing but its writes has changed the file since.
    pub fn assume(&mut self, known: TreeOrder) {
        self.order = Some(Order::Sound(known.collation));
        self.header.live_count = known.live_count;
    }

    /// Returns whether the tree is damaged, as far as it was checked. Then the
    /// first change rebuilds it.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub fn is_damaged(&mut self) -> Result<bool, EditError> {
        Ok(matches!(self.order()?, Order::Damaged))
    }

    /// Returns the writes that bring the file to the state of the editor. They
    /// cover only differing bytes: first data, then links, last the header.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub fn writes(&self) -> Result<Vec<Write>, EditError> {
        self.writes_with(self.new_records())
    }

    /// The new records with their places behind all others, in pieces.
    pub(in crate::cbh) fn new_records(&self) -> impl Iterator<Item = Write<&[u8]>> {
        let begin = self.offset_of(self.stored.capacity);
        self.changed.pages().scan(begin, |offset, records| {
            let at = *offset;
            *offset += records.len() as u64;
            Some((at, records))
        })
    }

    /// As [`writes`](EntityEditor::writes), without the new records.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub(in crate::cbh) fn writes_of_old(&self) -> Result<Vec<Write>, EditError> {
        self.writes_with([].into_iter())
    }

    fn writes_with<'w>(
        &self,
        new: impl Iterator<Item = Write<&'w [u8]>>,
    ) -> Result<Vec<Write>, EditError> {
        let (mut writes, mut links) = (Vec::new(), Vec::new());
        let mut buffer = ReadBuffer::default();
        let size = self.layout.record_bytes();
        for (id, record) in self.changed.old() {
            let offset = self.offset_of(id);
            let old = self.storage.read(offset, size, &mut buffer)?;
            let parts = (record.split_at_checked(LINK_BYTES)).zip(old.split_at_checked(LINK_BYTES));
            if let Some(((link, data), (old_link, old_data))) = parts {
                writes.extend(difference(offset + LINK_BYTES as u64, old_data, data));
                links.extend(difference(offset, old_link, link));
            }
        }
        for (offset, records) in new {
            append(&mut writes, offset, records);
        }
        writes.append(&mut links);
        if self.is_rearranged {
            let header = self.storage.read_up_to(0, 28, &mut buffer)?;
            let mut new = header.to_vec();
            self.header.encode(&mut new)?;
            writes.extend(difference(0, header, &new));
        }
        Ok(writes)
    }
}

fn id_of(at: i32) -> EntityId {
    EntityId(at.cast_unsigned())
}

pub(super) fn data_of(record: &[u8]) -> &[u8] {
    record.get(LINK_BYTES..).unwrap_or_default()
}

fn is_deleted(record: &[u8]) -> bool {
    TreeNode::decode(record).is_ok_and(|(node, _)| node.is_deleted())
}

/// Writes the number of references and the first game, which are the last eight
/// bytes of a record.
pub(super) fn set_end(record: &mut [u8], count: u32, first: u32) {
    let [c0, c1, c2, c3] = count.to_le_bytes();
    let [f0, f1, f2, f3] = first.to_le_bytes();
    if let Some(end) = record.last_chunk_mut() {
        *end = [c0, c1, c2, c3, f0, f1, f2, f3];
    }
}

/// Appends a write; merges it with the last one if it is contiguous.
pub(super) fn append(writes: &mut Vec<Write>, offset: u64, bytes: &[u8]) {
    match writes.last_mut() {
        Some((at, before)) if *at + before.len() as u64 == offset => {
            before.extend_from_slice(bytes);
        }
        _ => writes.push((offset, bytes.to_vec())),
    }
}

/// Returns the range from the first to the last differing byte.
pub(super) fn difference(offset: u64, old: &[u8], new: &[u8]) -> Option<Write> {
    let differs = |at: &usize| old.get(*at) != new.get(*at);
    let first = (0..new.len()).find(differs)?;
    let last = (0..new.len()).rfind(differs)?;
    Some((offset + first as u64, new.get(first..=last)?.to_vec()))
}
