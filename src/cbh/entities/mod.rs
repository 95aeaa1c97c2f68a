//! `.cbp` `.cbt` `.cbc` `.cbs` `.cbe` `.cbl`: players, tournaments,
//! annotators, sources, teams and labels. Little-endian.
//!
//! Header: 28 bytes, and the number of bytes at offset 24:
//!
//! | offset | type | meaning |
//! |---|---|---|
//! | 0 | i32 | capacity: number of records, deleted ones included |
//! | 4 | i32 | root of the tree |
//! | 8 | i32 | 1234567890 |
//! | 12 | i32 | data size: record size - 9 |
//! | 16 | i32 | first deleted record, -1 none |
//! | 20 | i32 | number of live records |
//! | 24 | i32 | further header bytes: 4, or 0 in old files |
//!
//! Record *i*, counted from 0: left child i32 (-999 marks a deleted record),
//! right child i32, balance i8, then the data. The data end with the number of
//! references i32 and the first game i32.
//!
//! Strings have fields of fixed size and end at the first zero byte; the bytes
//! after it are garbage.

mod annotator;
mod balance;
mod collation;
mod edit;
mod entity;
mod entity_table;
mod fields;
mod id_set;
mod kind;
mod names;
mod player;
mod rename;
mod source;
mod tag;
mod team;
mod tournament;
mod tournament_extra;
mod tree;
mod verify;
mod zeros;

pub use edit::{EditError, EntityEditor, TreeOrder, Write};
pub use entity::{EncodedEntity, Entity};
pub use fields::{NameForm, Unfit};
pub use kind::{EntityId, EntityKind};
pub use names::EntityNames;
pub(crate) use names::NamesBuilder;
pub(crate) use tournament::{EVENT_FLAGS, event_kind};
pub use tournament_extra::{EventDetails, ExtraChange, ExtraWrites, TournamentExtras};

pub(super) use annotator::Annotators;
pub(super) use entity_table::{EntityTable, records_present};
pub(super) use id_set::IdSet;
pub(super) use kind::PerKind;
pub(super) use names::{AllNames, Which};
pub(super) use player::Players;
pub(super) use source::Sources;
pub(super) use tag::TagRecords;
pub(super) use team::Teams;
pub(super) use tournament::Tournaments;

use std::cmp::Ordering;
use std::io;
use std::marker::PhantomData;

use collation::{Collation, compare_strings};
use fields::Fields;

use super::{CodePage, FileKind};
use crate::bytes::{BytePatch, ByteReader, Malformed};
use crate::storage::{ReadBuffer, Storage, next_file_number};

/// Signature at offset 8 of the header.
const SIGNATURE: i32 = 1_234_567_890;

/// The entity files.
pub(super) const ENTITY_FILES: [FileKind; 6] = [
    FileKind::Players,
    FileKind::Tournaments,
    FileKind::Annotators,
    FileKind::Sources,
    FileKind::Teams,
    FileKind::Tags,
];

/// Left child of a deleted record.
const DELETED: i32 = -999;

/// Bytes of a record before its data: two children and the balance.
const LINK_BYTES: usize = 9;

/// Maximum number of records: `.cbh` stores an id in 24 bits.
const MOST_RECORDS: u32 = 1 << 24;

/// Number of bytes that are sampled to detect the code page.
const SAMPLE_BYTES: usize = 1 << 16;

/// Data layout of one kind of entity.
pub(super) trait EntityLayout {
    /// The decoded data.
    type Value: Clone + Default;

    /// Length of the data of a record, in bytes.
    const DATA_BYTES: usize;

    /// Sizes of the string fields at the start of the data, in bytes.
    const STRINGS: &'static [usize];

    /// Decodes the data of a record into `value`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the data are too short.
    fn decode(data: &[u8], page: CodePage, value: &mut Self::Value) -> Result<(), Malformed>;

    /// Encodes `value` over the data of a record. Bytes that `value` does not
    /// cover stay.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the data are too short, or a date cannot be stored.
    fn encode(value: &Self::Value, fields: &mut Fields<'_>) -> Result<(), Malformed>;

    /// Compares the data of two records.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the data are too short.
    fn compare(one: &[u8], other: &[u8], collation: Collation) -> Result<Ordering, Malformed> {
        let (mut one, mut other) = (ByteReader::new(one), ByteReader::new(other));
        compare_strings(&mut one, &mut other, Self::STRINGS, collation)
    }
}

/// The header of an entity file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EntityFileHeader {
    /// Number of records, deleted ones included.
    capacity: u32,
    /// Root of the tree.
    root: i32,
    /// First record of the chain of deleted records, -1 if there is none.
    first_deleted: i32,
    /// Number of live records.
    live_count: u32,
    /// Length of the header beyond 28 bytes.
    further_bytes: u32,
}

/// An open entity file, read record by record.
#[derive(Debug)]
pub(super) struct EntityFile<K> {
    storage: Box<dyn Storage>,
    /// Offset of record 0.
    records_at: u64,
    header: EntityFileHeader,
    /// Number of records in the header.
    claimed: u32,
    /// Offset from which only zeros follow, if records are claimed there.
    data_end: Option<u64>,
    /// Defect of the header. `header` is then derived from the length of the
    /// file.
    fault: Option<Malformed>,
    /// Number of this open file, unique in the process.
    number: u64,
    kind: PhantomData<K>,
}

/// The entity of a kind that was read last: most games have the same event, source and
/// annotator as the game before.
#[derive(Debug, Default)]
pub(in crate::cbh) struct LastRead<V> {
    /// The number of the open file and the id; `None` if nothing is kept.
    of: Option<(u64, u32)>,
    value: V,
}

/// Entities of a kind that were read lately, each in the place that the end of its id
/// names: the players of an event meet again within a few games.
#[derive(Debug)]
pub(in crate::cbh) struct RecentlyRead<V> {
    /// A power of two.
    places: Vec<LastRead<V>>,
}

impl<V: Default> Default for RecentlyRead<V> {
    /// Room for the last one.
    fn default() -> RecentlyRead<V> {
        RecentlyRead::of_places(1)
    }
}

impl<V: Default> RecentlyRead<V> {
    /// Room for those of many games.
    pub(in crate::cbh) fn of_many() -> RecentlyRead<V> {
        RecentlyRead::of_places(512)
    }

    fn of_places(count: usize) -> RecentlyRead<V> {
        let mut places = Vec::new();
        places.resize_with(count, LastRead::default);
        RecentlyRead { places }
    }

    /// The place of this entity.
    #[expect(
        clippy::indexing_slicing,
        reason = "an index below a power of two, which is their number"
    )]
    pub(in crate::cbh) fn place(&mut self, id: u32) -> &mut LastRead<V> {
        let last = self.places.len() - 1;
        &mut self.places[id as usize & last]
    }
}

/// Error of reading an entity.
#[derive(Debug)]
pub(super) enum LookupError {
    /// The storage failed.
    Io(io::Error),
    /// The record is missing or damaged: offset and description.
    Fault(u64, String),
}

impl From<Malformed> for LookupError {
    fn from(fault: Malformed) -> LookupError {
        LookupError::Fault(fault.offset as u64, fault.what)
    }
}

impl<K: EntityLayout> EntityFile<K> {
    /// Reads the header. If it is not valid for this kind, the position of the
    /// records is derived from the length of the file; if that is impossible,
    /// the file counts as empty.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(super) fn open(storage: Box<dyn Storage>) -> io::Result<EntityFile<K>> {
        let mut buffer = ReadBuffer::default();
        let header = storage.read_up_to(0, 28, &mut buffer)?;
        let (mut header, fault) = match EntityFileHeader::decode(header, K::DATA_BYTES) {
            Ok(header) => (header, None),
            Err(fault) => {
                let made_up = EntityFileHeader::of_length(storage.len()?, K::DATA_BYTES);
                (made_up.unwrap_or(EntityFileHeader::EMPTY), Some(fault))
            }
        };
        let records_at = 28 + u64::from(header.further_bytes);
        let claimed = header.capacity;
        let record_bytes = (LINK_BYTES + K::DATA_BYTES) as u64;
        let data_end = header.cut_at_zeros(record_bytes, storage.as_ref())?;
        Ok(EntityFile {
            records_at,
            header,
            claimed,
            data_end,
            fault,
            number: next_file_number(),
            storage,
            kind: PhantomData,
        })
    }

    /// The same file in `storage`, where it has the same header and as many records.
    pub(super) fn again(&self, storage: Box<dyn Storage>) -> EntityFile<K> {
        EntityFile {
            storage,
            fault: self.fault.clone(),
            number: next_file_number(),
            ..*self
        }
    }

    /// Returns whether the header is damaged.
    pub(super) fn is_headless(&self) -> bool {
        self.fault.is_some()
    }

    /// The defect of the header, and how the file is read instead.
    pub(super) fn fault(&self) -> Option<Malformed> {
        let Malformed { offset, what } = self.fault.clone()?;
        let instead = match self.header.capacity {
            0 => "none of its records are read",
            _ => "the position of its records is taken from the length of the file",
        };
        Some(Malformed::new(offset, format!("{what}; {instead}")))
    }

    /// Appends the raw strings of the records in the first [`SAMPLE_BYTES`].
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(super) fn sample_strings<'b>(
        &'b self,
        buffer: &'b mut ReadBuffer,
        strings: &mut Vec<&'b [u8]>,
    ) -> io::Result<()> {
        let sample = self
            .storage
            .read_up_to(self.records_at, SAMPLE_BYTES, buffer)?;
        let records = sample.chunks_exact(LINK_BYTES + K::DATA_BYTES);
        for record in records.take(self.header.capacity as usize) {
            let mut reader = ByteReader::new(record);
            if reader.i32_le() == Ok(DELETED) || reader.skip(LINK_BYTES - 4).is_err() {
                continue;
            }
            let fields = K::STRINGS
                .iter()
                .map_while(|&size| reader.string_field(size).ok());
            strings.extend(fields);
        }
        Ok(())
    }

    /// The storage of the file.
    pub(super) fn storage(&self) -> &dyn Storage {
        self.storage.as_ref()
    }

    /// Number of records, including deleted ones: as in the header, limited to
    /// those in the file and to the ids that games can refer to.
    ///
    /// # Errors
    ///
    /// Read errors of the storage; also if the file has become shorter.
    pub(super) fn count_present(&self) -> io::Result<u32> {
        let record_bytes = LINK_BYTES + K::DATA_BYTES;
        let end = self.records_at + u64::from(self.header.capacity) * record_bytes as u64;
        self.storage.ensure_kept(end)?;
        let present = self.storage.len()?.saturating_sub(self.records_at) / record_bytes as u64;
        let present = u32::try_from(present).unwrap_or(u32::MAX);
        Ok(present.min(self.header.capacity).min(MOST_RECORDS))
    }

    /// Number of live records in the header.
    pub(super) fn live_count(&self) -> u32 {
        self.header.live_count.min(self.header.capacity)
    }

    /// Offset of record `id`.
    fn offset_of(&self, id: u32) -> u64 {
        self.records_at + u64::from(id) * (LINK_BYTES + K::DATA_BYTES) as u64
    }

    /// Reads entity `id` into `value`.
    ///
    /// # Errors
    ///
    /// [`LookupError::Fault`] if the record does not exist or is deleted;
    /// `value` is unspecified then.
    pub(super) fn read(
        &self,
        id: u32,
        page: CodePage,
        buffer: &mut ReadBuffer,
        value: &mut K::Value,
    ) -> Result<(), LookupError> {
        let record_bytes = LINK_BYTES + K::DATA_BYTES;
        let offset = self.offset_of(id);
        let fault = |what: String| LookupError::Fault(offset, what);
        let capacity = self.header.capacity;
        if id >= capacity {
            return Err(fault(format!("there is no record {id}, only {capacity}")));
        }
        let record = match self.storage.read(offset, record_bytes, buffer) {
            Ok(record) => record,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let end = offset + record_bytes as u64;
                self.storage.ensure_kept(end).map_err(LookupError::Io)?;
                return Err(fault(format!("record {id} lies past the end of the file")));
            }
            Err(error) => return Err(LookupError::Io(error)),
        };
        let mut reader = ByteReader::new(record);
        let malformed = |error: Malformed| fault(error.what);
        if reader.i32_le().map_err(malformed)? == DELETED {
            return Err(fault(format!("record {id} is deleted")));
        }
        reader.skip(LINK_BYTES - 4).map_err(malformed)?;
        K::decode(reader.rest(), page, value).map_err(malformed)
    }

    /// As [`read`](EntityFile::read), but keeps the entity in `last`, and reads it only
    /// if another one is there. Only a buffer that reads ahead may be older than the file,
    /// so with any other nothing is kept.
    ///
    /// # Errors
    ///
    /// As of [`read`](EntityFile::read).
    pub(super) fn read_or_repeat(
        &self,
        id: u32,
        page: CodePage,
        buffer: &mut ReadBuffer,
        last: &mut LastRead<K::Value>,
        value: &mut K::Value,
    ) -> Result<(), LookupError> {
        let this = Some((self.number, id));
        if last.of != this {
            last.of = None;
            if !buffer.reads_ahead() {
                return self.read(id, page, buffer, value);
            }
            self.read(id, page, buffer, &mut last.value)?;
            last.of = this;
        }
        value.clone_from(&last.value);
        Ok(())
    }

    /// Whether the entity can be read.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(super) fn has(&self, id: u32, page: CodePage) -> io::Result<bool> {
        let (mut buffer, mut value) = (ReadBuffer::default(), K::Value::default());
        match self.read(id, page, &mut buffer, &mut value) {
            Ok(()) => Ok(true),
            Err(LookupError::Fault(..)) => Ok(false),
            Err(LookupError::Io(error)) => Err(error),
        }
    }
}

impl<K: EntityLayout> EntityFile<K> {
    /// Calls `take` for all live entities in the order of their ids. Records
    /// that cannot be decoded are skipped.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(super) fn for_each(
        &self,
        page: CodePage,
        mut take: impl FnMut(u32, &K::Value),
    ) -> io::Result<()> {
        let mut buffer = ReadBuffer::ahead();
        let mut value = K::Value::default();
        for id in 0..self.count_present()? {
            match self.read(id, page, &mut buffer, &mut value) {
                Ok(()) => take(id, &value),
                Err(LookupError::Fault(..)) => {}
                Err(LookupError::Io(error)) => return Err(error),
            }
        }
        Ok(())
    }
}

impl EntityFileHeader {
    /// Header of a file without records.
    const EMPTY: EntityFileHeader = EntityFileHeader {
        capacity: 0,
        root: tree::NO_CHILD,
        first_deleted: tree::NO_CHILD,
        live_count: 0,
        further_bytes: 4,
    };

    /// The header for a file of `len` bytes, as far as the position of records
    /// is concerned; `None` if `len` is not a whole number of records.
    fn of_length(len: u64, data_bytes: usize) -> Option<EntityFileHeader> {
        let record_bytes = (LINK_BYTES + data_bytes) as u64;
        // Records are longer than four bytes, so at most one of these fits.
        let further = [4, 0].into_iter().find(|further| {
            let records = len.checked_sub(28 + further);
            records.is_some_and(|bytes| bytes % record_bytes == 0)
        })?;
        let capacity = u32::try_from((len - 28 - further) / record_bytes).ok()?;
        Some(EntityFileHeader {
            capacity,
            live_count: capacity,
            further_bytes: u32::try_from(further).ok()?,
            ..EntityFileHeader::EMPTY
        })
    }

    /// Decodes the first 28 bytes of a file.
    fn decode(header: &[u8], data_bytes: usize) -> Result<EntityFileHeader, Malformed> {
        let mut reader = ByteReader::new(header);
        let capacity = reader.i32_le()?;
        let root = reader.i32_le()?;
        if reader.i32_le()? != SIGNATURE {
            return Err(Malformed::new(
                8,
                "not an entity file: the signature is missing",
            ));
        }
        let size = reader.i32_le()?;
        if usize::try_from(size) != Ok(data_bytes) {
            return Err(Malformed::new(
                12,
                format!("data size is {size}, not {data_bytes}"),
            ));
        }
        let count = |number: i32| u32::try_from(number).unwrap_or(0);
        Ok(EntityFileHeader {
            capacity: count(capacity),
            root,
            first_deleted: reader.i32_le()?,
            live_count: count(reader.i32_le()?),
            further_bytes: count(reader.i32_le()?),
        })
    }
}

impl EntityFileHeader {
    /// Reduces the number of records to where only zeros follow. Returns that
    /// offset if the number was reduced.
    fn cut_at_zeros(
        &mut self,
        record_bytes: u64,
        storage: &dyn Storage,
    ) -> io::Result<Option<u64>> {
        let records_at = 28 + u64::from(self.further_bytes);
        let most = u64::from(self.capacity.min(MOST_RECORDS));
        let end = storage.len()?.min(records_at + most * record_bytes);
        let data_end = zeros::end_of_data(storage, end)?;
        if data_end >= end {
            return Ok(None);
        }
        let records = data_end.saturating_sub(records_at).div_ceil(record_bytes);
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        self.capacity = self.capacity.min(records);
        Ok(Some(data_end))
    }

    /// Writes the fields that an edit can change.
    fn encode(&self, header: &mut [u8]) -> Result<(), Malformed> {
        let mut patch = BytePatch::new(header);
        patch.put(self.capacity.to_le_bytes())?;
        patch.put(self.root.to_le_bytes())?;
        patch.skip(8)?;
        patch.put(self.first_deleted.to_le_bytes())?;
        patch.put(self.live_count.to_le_bytes())
    }

    /// Writes all 28 bytes.
    fn encode_whole(&self, data_bytes: usize, header: &mut [u8]) -> Result<(), Malformed> {
        self.encode(header)?;
        let size = u32::try_from(data_bytes).unwrap_or(0);
        let mut patch = BytePatch::new(header);
        patch.skip(8)?;
        patch.put(SIGNATURE.to_le_bytes())?;
        patch.put(size.to_le_bytes())?;
        patch.skip(8)?;
        patch.put(self.further_bytes.to_le_bytes())
    }
}

/// Decodes a string field into `out`, replacing its content. If `out` holds the
/// string already, as after a game of the same event, nothing is decoded.
fn read_string(
    reader: &mut ByteReader<'_>,
    field_bytes: usize,
    page: CodePage,
    out: &mut String,
) -> Result<(), Malformed> {
    let field = reader.string_field(field_bytes)?;
    if field.is_empty() {
        // To compare nothing with nothing is slow on some processors.
        out.clear();
    } else if field != out.as_bytes() {
        out.clear();
        page.decode_into(field, out);
    }
    Ok(())
}

/// Defects of a file of players without games.
#[cfg(test)]
fn verify_report(storage: Box<dyn Storage>) -> Vec<String> {
    use super::{GameId, ReferenceCount};
    let file = EntityFile::<Players>::open(storage).unwrap();
    let mut buffer = ReadBuffer::default();
    let references: Vec<ReferenceCount> = (0..file.count_present().unwrap())
        .map(|id| {
            let at = file.offset_of(id);
            let record = file.storage.read(at, 67, &mut buffer).unwrap();
            let end = &record[59..];
            let game = u32::from_le_bytes(end[4..8].try_into().unwrap());
            ReferenceCount {
                count: u32::from_le_bytes(end[..4].try_into().unwrap()),
                first: (game != 0).then_some(GameId(game)),
            }
        })
        .collect();
    let mut found = Vec::new();
    file.verify(Some(&references), &mut |at, what| {
        found.push(format!("{at}: {what}"));
    })
    .unwrap();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::PlayerName;
    use crate::storage::MemoryFile;

    fn header(capacity: i32, mark: i32, data: i32) -> Vec<u8> {
        [capacity, 0, mark, data, -1, capacity, 4, 0]
            .iter()
            .flat_map(|number: &i32| number.to_le_bytes())
            .collect()
    }

    fn player(left: i32, last: &[u8], first: &[u8]) -> Vec<u8> {
        let mut record: Vec<u8> = [left, -1]
            .iter()
            .flat_map(|n: &i32| n.to_le_bytes())
            .collect();
        record.push(0);
        for (text, size) in [(last, 30), (first, 20)] {
            let mut field = text.to_vec();
            field.resize(size, 0);
            record.extend(field);
        }
        record.extend([1, 0, 0, 0, 1, 0, 0, 0]);
        record
    }

    fn read(file: &EntityFile<Players>, id: u32) -> Result<PlayerName, LookupError> {
        let mut name = PlayerName::default();
        file.read(
            id,
            CodePage::default(),
            &mut ReadBuffer::default(),
            &mut name,
        )?;
        Ok(name)
    }

    #[test]
    fn a_record_is_read_by_its_id() {
        let mut bytes = header(4, 1_234_567_890, 58);
        bytes.extend(player(-1, b"Carlsen", b"Magnus\0garbage"));
        bytes.extend(player(DELETED, b"Gone", b""));
        bytes.extend(player(-1, &[b'x'; 30], b"L\xe9k\xf3"));
        let file = EntityFile::open(Box::new(MemoryFile::from(bytes))).unwrap();
        let name = read(&file, 0).unwrap();
        assert_eq!(
            (name.last.as_str(), name.first.as_str()),
            ("Carlsen", "Magnus")
        );
        let full = read(&file, 2).unwrap();
        assert_eq!((full.last.len(), full.first.as_str()), (30, "Lékó"));
        for (id, what) in [
            (1, "is deleted"),
            (3, "past the end"),
            (4, "there is no record"),
        ] {
            let Err(LookupError::Fault(_, fact)) = read(&file, id) else {
                panic!("record {id} was found");
            };
            assert!(fact.contains(what), "{fact}");
        }
        let has = (0..5).map(|id| file.has(id, CodePage::default()).unwrap());
        assert!(has.eq([true, false, true, false, false]));
    }

    #[test]
    fn a_wrong_count_costs_no_time_when_all_records_are_read() {
        let mut bytes = header(i32::MAX, 1_234_567_890, 58);
        bytes.extend(player(-1, b"One", b""));
        bytes.extend(player(DELETED, b"Gone", b""));
        bytes.extend(player(-1, b"Two", b""));
        let file = EntityFile::<Players>::open(Box::new(MemoryFile::from(bytes))).unwrap();
        let mut names = Vec::new();
        file.for_each(CodePage::default(), |id, name| {
            names.push((id, name.last.clone()));
        })
        .unwrap();
        assert_eq!(names, [(0, "One".to_owned()), (2, "Two".to_owned())]);
    }

    #[test]
    fn records_are_found_by_the_file_length_if_the_header_is_damaged() {
        let records = [player(-1, b"One", b""), player(-1, b"Two", b"")].concat();
        let of = |head: &[u8], tail: &[u8]| {
            let bytes = [head, &records, tail].concat();
            EntityFile::<Players>::open(Box::new(MemoryFile::from(bytes))).unwrap()
        };
        for head in [
            &header(0, 5, 58)[..],
            &header(i32::MAX, 1_234_567_890, 59),
            &[0; 32],
            &[0xff; 28],
        ] {
            let file = of(head, b"");
            assert!(file.fault().is_some());
            assert_eq!(file.count_present().unwrap(), 2);
            assert_eq!(read(&file, 1).unwrap().last, "Two");
        }
        for file in [of(&[0; 32], b"x"), of(&[], b"")] {
            assert_eq!(file.count_present().unwrap(), 0);
            assert!(read(&file, 0).is_err());
        }
        assert!(of(&header(2, 1_234_567_890, 58), b"").fault().is_none());
    }

    #[test]
    fn only_names_of_live_records_are_a_sample() {
        let mut bytes = header(3, 1_234_567_890, 58);
        bytes.extend(player(-1, b"One", b"First\0garbage"));
        bytes.extend(player(DELETED, b"Gone", b"Too"));
        bytes.extend(player(-1, b"Two", b""));
        bytes.extend(player(-1, b"Behind", b"the last"));
        let file = EntityFile::<Players>::open(Box::new(MemoryFile::from(bytes))).unwrap();
        let (mut buffer, mut names) = (ReadBuffer::default(), Vec::new());
        file.sample_strings(&mut buffer, &mut names).unwrap();
        assert_eq!(names, [&b"One"[..], b"First", b"Two", b""]);
    }

    #[test]
    fn no_more_records_are_live_than_there_are() {
        for (live, wanted) in [(0, 0), (2, 2), (3, 3), (9, 3)] {
            let mut bytes = header(3, 1_234_567_890, 58);
            bytes[20] = live;
            bytes.extend(player(-1, b"One", b"").repeat(3));
            let file = EntityFile::<Players>::open(Box::new(MemoryFile::from(bytes))).unwrap();
            assert_eq!(file.live_count(), wanted);
        }
    }
}
