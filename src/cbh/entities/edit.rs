//! Changes to an entity file: records added, removed, renamed and counted
//! anew, in memory, as a list of writes.
//!
//! A file that is small is checked whole before the first change, of a larger
//! one a sample of records is looked for in the tree, and every record on the
//! way to a place must lie between those above it. Where the tree is damaged,
//! names are found by reading all records, and the first change builds the
//! tree anew from all live records in the order of their ids. No id ever
//! moves.

mod error;
mod ids;
mod layout;
mod order;
mod spellings;
#[cfg(test)]
mod tests;
mod walk;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::balance::attach;
use super::collation::Collation;
use super::entity::Entity;
use super::fields::NameForm;
use super::id_set::IdSet;
use super::tree::Node;
use super::{DELETED, EntityId, FileHeader, LINK_BYTES, MOST_RECORDS};
use crate::bytes::ByteReader;
use crate::cbh::{CodePage, FileKind};
use crate::storage::{ReadBuffer, Storage};
pub use error::EditError;
pub(super) use layout::Layout;
use spellings::Spellings;

/// Bytes to be written, and where.
pub type Write = (u64, Vec<u8>);

/// What is known of the tree.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// It is sorted so, as far as it was looked at.
    Sound(Collation),
    Damaged,
}

/// What is known of a file whose tree is sound, so that it need not be checked
/// again while nobody else changes it.
#[derive(Clone, Copy, Debug)]
pub struct TreeOrder {
    collation: Collation,
    live_count: u32,
}

/// Changes to an entity file, all in memory: [`writes`](EntityEditor::writes)
/// tells what they come to. After an error of the medium it must not be used
/// any more.
#[derive(Debug)]
pub struct EntityEditor<'a> {
    storage: &'a dyn Storage,
    layout: Layout,
    records_at: u64,
    /// As the file has it.
    stored: FileHeader,
    header: FileHeader,
    /// Records that differ from the file, or did.
    changed: BTreeMap<u32, Vec<u8>>,
    /// Records as they are in the file.
    read: HashMap<u32, Vec<u8>>,
    order: Option<Order>,
    /// Whether records were added, removed or hung elsewhere.
    is_rearranged: bool,
}

impl<'a> EntityEditor<'a> {
    /// Reads the header of a file of this kind.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if it is none, or has fewer records than it
    /// says; [`EditError::Io`].
    pub fn open(file: FileKind, storage: &'a dyn Storage) -> Result<EntityEditor<'a>, EditError> {
        let layout =
            Layout::of(file).ok_or_else(|| EditError::damaged(0, "no file of entities"))?;
        let mut buffer = ReadBuffer::default();
        let header = storage.read_up_to(0, 28, &mut buffer)?;
        let header = FileHeader::decode(header, layout.data_bytes)?;
        let editor = EntityEditor {
            storage,
            layout,
            records_at: 28 + u64::from(header.further_bytes),
            stored: header,
            header,
            changed: BTreeMap::new(),
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

    /// Whether the names of the file are UTF-8, as far as they tell; else they
    /// are in `page`. Names that the page cannot have tell only where no other
    /// does. Of large files a sample is looked at.
    ///
    /// # Errors
    ///
    /// The medium's.
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

    /// The live record that has the key of these data.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if `data` are no data of such a file;
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

    /// The live record that says what `entity` does, whichever way its names
    /// may be written: in UTF-8 or in the page, with and without a last zero.
    /// One that has all of them comes before one that has their begins.
    ///
    /// # Errors
    ///
    /// As [`find`](EntityEditor::find); [`EditError::Damaged`] also if a date
    /// of the entity cannot be stored.
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

    /// The data of a live record, changes included.
    ///
    /// # Errors
    ///
    /// [`EditError::NotThere`]; [`EditError::Io`].
    pub fn data(&mut self, id: EntityId) -> Result<&[u8], EditError> {
        self.begin(None)?;
        self.load_live(id)?;
        Ok(data_of(self.record(id.0)))
    }

    /// Adds a record, at the id that was deleted last or else behind all
    /// others, and gives the id.
    ///
    /// # Errors
    ///
    /// [`EditError::Exists`] if a live record has the key;
    /// [`EditError::Full`]; [`EditError::Damaged`] if `data` are no data of
    /// such a file; [`EditError::Io`].
    pub fn insert(&mut self, data: &[u8]) -> Result<EntityId, EditError> {
        self.insert_beside(data, &BTreeSet::new())
    }

    /// As [`insert`](EntityEditor::insert), never at an id that is `lost`: one
    /// that a game refers to though no record has it. The game would be about
    /// somebody else from then on.
    ///
    /// # Errors
    ///
    /// As [`insert`](EntityEditor::insert); [`EditError::Damaged`] also if
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
        Node::LEAF.encode(&mut record)?;
        record.extend_from_slice(data);
        self.changed.insert(id, record);
        self.header.live_count = self.header.live_count.saturating_add(1);
        self.is_rearranged = true;
        let attached = attach(self, place.path, id.cast_signed());
        self.mend_after(attached)?;
        Ok(EntityId(id))
    }

    /// Deletes a record; its id is free for the next one.
    ///
    /// # Errors
    ///
    /// [`EditError::NotThere`]; [`EditError::Io`].
    pub fn remove(&mut self, id: EntityId) -> Result<(), EditError> {
        self.begin(None)?;
        self.sound_order()?;
        self.load_live(id)?;
        let first_deleted = self.chain()?;
        let detached = self.unhang(id.0);
        let mut record = self.record(id.0).to_vec();
        let deleted = Node {
            left: DELETED,
            right: first_deleted,
            balance: 0,
        };
        deleted.encode(&mut record)?;
        set_end(&mut record, 0, 0);
        self.changed.insert(id.0, record);
        self.header.first_deleted = id.0.cast_signed();
        self.header.live_count = self.header.live_count.saturating_sub(1);
        self.mend_after(detached)
    }

    /// Gives a record other data; it keeps its id.
    ///
    /// # Errors
    ///
    /// [`EditError::Exists`] if another live record has the key;
    /// [`EditError::NotThere`]; [`EditError::Damaged`] if `data` are no data
    /// of such a file; [`EditError::Io`].
    pub fn rename(&mut self, id: EntityId, data: &[u8]) -> Result<(), EditError> {
        self.begin(Some(data))?;
        let collation = self.sound_order()?;
        self.load_live(id)?;
        let keeps_key = self.compare(data, id.0, collation)? == Ordering::Equal;
        if !keeps_key && let Some(other) = self.place(data)?.found {
            return Err(EditError::Exists(id_of(other)));
        }
        let detached = if keeps_key { Ok(()) } else { self.unhang(id.0) };
        let mut record = self.record(id.0).to_vec();
        record.truncate(LINK_BYTES);
        record.extend_from_slice(data);
        self.changed.insert(id.0, record);
        if keeps_key {
            return Ok(());
        }
        // A tree that was built anew has the record where it belongs.
        if detached.is_err() {
            return self.mend_after(detached);
        }
        let hung = self
            .sound_order()
            .and_then(|collation| self.descend(data, collation, false))
            .and_then(|place| attach(self, place.path, id.0.cast_signed()));
        self.mend_after(hung)
    }

    /// Changes how many references a record has, and from which game on.
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
        self.changed.insert(id.0, record);
        Ok(())
    }

    /// How many references a live record says that it has, and from which
    /// game on.
    ///
    /// # Errors
    ///
    /// As [`data`](EntityEditor::data).
    pub fn references(&mut self, id: EntityId) -> Result<(u32, u32), EditError> {
        let data = self.data(id)?;
        let end = data.get(data.len().saturating_sub(8)..).unwrap_or_default();
        let mut reader = ByteReader::new(end);
        Ok((reader.u32_le()?, reader.u32_le()?))
    }

    /// The ids of all live records, by one reading of the file.
    ///
    /// # Errors
    ///
    /// The medium's.
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

    /// How many records there are, deleted ones included: all ids lie below.
    pub fn capacity(&self) -> u32 {
        self.header.capacity
    }

    /// What is known of the file with all changes so far in it; `None` if its
    /// tree is damaged.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub fn tree_order(&mut self) -> Result<Option<TreeOrder>, EditError> {
        let order = self.order()?;
        let live_count = self.header.live_count;
        Ok(match order {
            Order::Sound(collation) => Some(TreeOrder {
                collation,
                live_count,
            }),
            Order::Damaged => None,
        })
    }

    /// As [`tree_order`](EntityEditor::tree_order), as far as it was looked
    /// at; nothing is read for it.
    pub(in crate::cbh) fn known_order(&self) -> Option<TreeOrder> {
        match self.order {
            Some(Order::Sound(collation)) => Some(TreeOrder {
                collation,
                live_count: self.header.live_count,
            }),
            Some(Order::Damaged) | None => None,
        }
    }

    /// The records that differ from the file's, or did.
    pub(in crate::cbh) fn changed(&self) -> impl Iterator<Item = EntityId> {
        self.changed.keys().map(|id| EntityId(*id))
    }

    /// Takes the word of an earlier editor of the file, whose writes and no
    /// others it has seen since, instead of checking the tree.
    pub fn assume(&mut self, known: TreeOrder) {
        self.order = Some(Order::Sound(known.collation));
        self.header.live_count = known.live_count;
    }

    /// Whether the tree is damaged, as far as it was looked at: then the
    /// first change builds it anew.
    ///
    /// # Errors
    ///
    /// [`EditError::Io`].
    pub fn is_damaged(&mut self) -> Result<bool, EditError> {
        Ok(matches!(self.order()?, Order::Damaged))
    }

    /// What all changes come to: bytes that differ from the file's, first
    /// data, then links, last the header.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub fn writes(&self) -> Result<Vec<Write>, EditError> {
        let (mut writes, mut links) = (Vec::new(), Vec::new());
        let mut buffer = ReadBuffer::default();
        let size = self.layout.record_bytes();
        for (&id, record) in &self.changed {
            let offset = self.offset_of(id);
            if id >= self.stored.capacity {
                append(&mut writes, offset, record);
                continue;
            }
            let old = self.storage.read(offset, size, &mut buffer)?;
            let parts = (record.split_at_checked(LINK_BYTES)).zip(old.split_at_checked(LINK_BYTES));
            if let Some(((link, data), (old_link, old_data))) = parts {
                writes.extend(difference(offset + LINK_BYTES as u64, old_data, data));
                links.extend(difference(offset, old_link, link));
            }
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
    Node::decode(record).is_ok_and(|(node, _)| node.is_deleted())
}

/// Writes the count of references and the first game, with which a record
/// ends.
pub(super) fn set_end(record: &mut [u8], count: u32, first: u32) {
    let [c0, c1, c2, c3] = count.to_le_bytes();
    let [f0, f1, f2, f3] = first.to_le_bytes();
    if let Some(end) = record.last_chunk_mut() {
        *end = [c0, c1, c2, c3, f0, f1, f2, f3];
    }
}

/// Appends a write, to the last one if it goes on from there.
pub(super) fn append(writes: &mut Vec<Write>, offset: u64, bytes: &[u8]) {
    match writes.last_mut() {
        Some((at, before)) if *at + before.len() as u64 == offset => {
            before.extend_from_slice(bytes);
        }
        _ => writes.push((offset, bytes.to_vec())),
    }
}

/// The bytes from the first to the last that differ.
pub(super) fn difference(offset: u64, old: &[u8], new: &[u8]) -> Option<Write> {
    let differs = |at: &usize| old.get(*at) != new.get(*at);
    let first = (0..new.len()).find(differs)?;
    let last = (0..new.len()).rfind(differs)?;
    Some((offset + first as u64, new.get(first..=last)?.to_vec()))
}
