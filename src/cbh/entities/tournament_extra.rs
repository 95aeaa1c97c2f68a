//! `.cbtt`: further data of each tournament. Header of 32 bytes, little-endian:
//! version i32, record size i32, number of the last record i32, garbage. Record
//! *i* belongs to tournament *i*; a missing record has default values.
//!
//! Records have 61, 65, 223 or 405 bytes, in versions 2 to 5:
//!
//! | offset | bytes | meaning | default |
//! |---|---|---|---|
//! | 0 | 8+8 | latitude, longitude: f64, big-endian | 0 |
//! | 16 | 34 | unknown | zeros, and 7 at 26, 37 and 48 |
//! | 50 | 10 | rules for ties | 1 each |
//! | 60 | 1 | number of those | 0 |
//! | 61 | 4 | last day, u32, big-endian | 0 |
//! | 65 | | unknown | zeros |

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;

use super::Write;
use super::edit::{EditError, append, difference};
use crate::bytes::{BytePatch, ByteReader, Malformed};
use crate::cbh::layout::date;
use crate::game::Date;
use crate::storage::{ReadBuffer, Storage};

const HEADER_BYTES: u64 = 32;

/// Offset of the number of the last record in the header.
const LAST_RECORD: u64 = 8;

/// First bytes of a default record.
const DEFAULT: &[u8; 61] = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\x07\0\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\0";

/// Record sizes that are accepted; the largest known is 405.
const RECORD_BYTES: RangeInclusive<u32> = 61..=1024;

/// Maximum number of bytes written to fill gaps before records: 25,000 records
/// of the largest known size.
const MOST_GAP_BYTES: u64 = 10 << 20;

/// Offset of the last day in a record, and its length.
const END_DATE: (u64, usize) = (61, 4);

/// Change of a record.
#[derive(Clone, Copy, Debug)]
pub struct ExtraChange {
    /// Whether the tournament is new. If so, an existing record with its id is
    /// reset.
    pub is_new: bool,
    /// The last day of the tournament.
    pub end: Date,
    /// More of a new tournament.
    pub details: EventDetails,
}

/// What PGN does not say of a tournament. A copy of it takes it over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventDetails {
    /// Bits of `.cbt`: 0 and 1 all games are there, 2 board points, 3 three
    /// points for a win.
    pub flags: u8,
    /// Latitude and longitude of the place.
    pub place: [f64; 2],
}

impl EventDetails {
    /// Whether `.cbtt` has something of it.
    fn has_place(self) -> bool {
        self.place.iter().any(|degrees| *degrees != 0.0)
    }
}

/// The writes of a set of changes.
#[derive(Debug, Default)]
pub struct ExtraWrites {
    /// Offsets and bytes to be written: records first, the header last.
    pub writes: Vec<Write>,
    /// Tournaments whose last day cannot be stored in this file.
    pub unfit: Vec<u32>,
}

/// An open `.cbtt`.
#[derive(Debug)]
pub struct TournamentExtras {
    storage: Box<dyn Storage>,
    record_bytes: u32,
}

impl TournamentExtras {
    /// Reads the header.
    pub fn open(storage: Box<dyn Storage>) -> io::Result<Result<TournamentExtras, Malformed>> {
        let mut buffer = ReadBuffer::default();
        let mut reader = ByteReader::new(storage.read_up_to(0, 8, &mut buffer)?);
        let record_bytes = reader.skip(4).and_then(|()| reader.u32_le());
        Ok(record_bytes.map(|record_bytes| TournamentExtras {
            storage,
            record_bytes,
        }))
    }

    /// Reports contradictions between the header and the file.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(crate) fn verify(&self, report: &mut dyn FnMut(u64, String)) -> io::Result<()> {
        let size = self.record_bytes;
        if !RECORD_BYTES.contains(&size) {
            report(4, format!("record size {size} is impossible"));
            return Ok(());
        }
        let mut buffer = ReadBuffer::default();
        let mut reader = ByteReader::new(self.storage.read_up_to(8, 4, &mut buffer)?);
        let last = reader.i32_le().unwrap_or(-1);
        let present = self.storage.len()?.saturating_sub(HEADER_BYTES) / u64::from(size);
        // 0 means no record as well as one.
        if last != 0 && !u64::try_from(last).is_ok_and(|last| last < present) {
            report(
                8,
                format!("record {last} is the last one claimed, {present} found"),
            );
        }
        Ok(())
    }

    /// The last day of tournament `id`; unknown if the file does not contain
    /// it.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub fn end_date(&self, id: u32, buffer: &mut ReadBuffer) -> io::Result<Date> {
        let (offset, bytes) = END_DATE;
        if u64::from(self.record_bytes) < offset + bytes as u64 {
            return Ok(Date::UNKNOWN);
        }
        let record = HEADER_BYTES + u64::from(id) * u64::from(self.record_bytes);
        let field = self.storage.read_up_to(record + offset, bytes, buffer)?;
        if field.len() < bytes {
            self.storage.ensure_kept(record + offset + bytes as u64)?;
        }
        let packed = ByteReader::new(field).u32_be().unwrap_or(0);
        Ok(date::decode(packed))
    }

    /// Returns the writes for these changes, by number of the tournament.
    /// Missing records in between are filled with defaults. A last day far
    /// beyond the end of the file is not stored.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if the record size is impossible or a date cannot
    /// be stored; [`EditError::Io`].
    pub fn writes(&self, changes: &BTreeMap<u32, ExtraChange>) -> Result<ExtraWrites, EditError> {
        let size = Some(self.record_bytes)
            .filter(|size| RECORD_BYTES.contains(size))
            .and_then(|size| usize::try_from(size).ok())
            .ok_or_else(|| EditError::damaged(4, "impossible record size"))?;
        let held = self.storage.len()?.saturating_sub(HEADER_BYTES);
        let mut present = u32::try_from(held / size as u64).unwrap_or(u32::MAX);
        let mut changed = ExtraWrites::default();
        let mut room_for_gaps = MOST_GAP_BYTES;
        for (&id, change) in changes {
            let has_place = size >= end_of_date();
            if !has_place && !change.end.is_unknown() {
                changed.unfit.push(id);
            }
            if id < present {
                let old = self.record(id, size)?;
                let new = change.apply(if change.is_new {
                    default_record(size)
                } else {
                    old.clone()
                })?;
                changed
                    .writes
                    .extend(difference(self.offset_of(id), &old, &new));
            } else if change.tells_more(has_place) {
                let gap = u64::from(id - present) * size as u64;
                let Some(room) = room_for_gaps.checked_sub(gap) else {
                    changed.unfit.push(id);
                    continue;
                };
                room_for_gaps = room;
                for gap in present..id {
                    let record = self.record(gap, size)?;
                    append(&mut changed.writes, self.offset_of(gap), &record);
                }
                let record = change.apply(default_record(size))?;
                append(&mut changed.writes, self.offset_of(id), &record);
                present = id + 1;
            }
        }
        self.count_records(present, &mut changed.writes)?;
        Ok(changed)
    }

    /// Appends the write of the number of the last record, for `present`
    /// records.
    fn count_records(&self, present: u32, writes: &mut Vec<Write>) -> Result<(), EditError> {
        let last = present.saturating_sub(1);
        let mut buffer = ReadBuffer::default();
        let old = self.storage.read(LAST_RECORD, 4, &mut buffer)?;
        if !writes.is_empty() && ByteReader::new(old).u32_le()? < last {
            writes.push((LAST_RECORD, last.to_le_bytes().to_vec()));
        }
        Ok(())
    }

    /// The first `len` bytes of the file.
    pub(in crate::cbh) fn head(&self, len: usize) -> io::Result<Vec<u8>> {
        let mut buffer = ReadBuffer::default();
        let mut head = self.storage.read_up_to(0, len, &mut buffer)?.to_vec();
        head.resize(len, 0);
        Ok(head)
    }

    /// A record as it is stored; `None` if the file does not contain all of it.
    pub(in crate::cbh) fn stored(&self, id: u32) -> io::Result<Option<Vec<u8>>> {
        if !RECORD_BYTES.contains(&self.record_bytes) {
            return Ok(None);
        }
        let size = self.record_bytes as usize;
        let mut buffer = ReadBuffer::default();
        let record = self
            .storage
            .read_up_to(self.offset_of(id), size, &mut buffer)?;
        Ok((record.len() == size).then(|| record.to_vec()))
    }

    fn offset_of(&self, id: u32) -> u64 {
        HEADER_BYTES + u64::from(id) * u64::from(self.record_bytes)
    }

    /// A record; bytes that the file does not contain have default values.
    fn record(&self, id: u32, size: usize) -> io::Result<Vec<u8>> {
        let mut buffer = ReadBuffer::default();
        let held = self
            .storage
            .read_up_to(self.offset_of(id), size, &mut buffer)?;
        let mut record = default_record(size);
        for (place, byte) in record.iter_mut().zip(held) {
            *place = *byte;
        }
        Ok(record)
    }
}

impl ExtraChange {
    /// Whether a record, which may have a place for the last day, says more
    /// than a missing one.
    fn tells_more(self, has_end: bool) -> bool {
        has_end && !self.end.is_unknown() || self.is_new && self.details.has_place()
    }

    /// Sets the last day in a record that is long enough for it.
    fn apply(self, mut record: Vec<u8>) -> Result<Vec<u8>, Malformed> {
        if self.is_new {
            let mut patch = BytePatch::new(&mut record);
            for degrees in self.details.place {
                patch.put(degrees.to_be_bytes())?;
            }
        }
        if record.len() >= end_of_date() {
            let mut patch = BytePatch::new(&mut record);
            patch.skip(end_of_date() - END_DATE.1)?;
            let place = patch.array()?;
            *place = date::encode(self.end, u32::from_be_bytes(*place))?.to_be_bytes();
        }
        Ok(record)
    }
}

/// Minimum size of a record that contains the last day.
fn end_of_date() -> usize {
    DEFAULT.len() + END_DATE.1
}

/// A default record.
fn default_record(size: usize) -> Vec<u8> {
    let mut record = DEFAULT.to_vec();
    record.resize(size, 0);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    fn file(size: u32, records: u8) -> Vec<u8> {
        let last = u32::from(records).saturating_sub(1);
        let mut bytes: Vec<u8> = [3, size, last]
            .into_iter()
            .flat_map(u32::to_le_bytes)
            .collect();
        bytes.resize(32, 0xdd);
        for number in 1..=records {
            bytes.extend(vec![number; size as usize]);
        }
        bytes
    }

    fn changed(bytes: &[u8], changes: &[(u32, bool, u16)]) -> (Vec<u8>, Vec<u32>) {
        let storage = Box::new(MemoryFile::from(bytes.to_vec()));
        let extras = TournamentExtras::open(storage).unwrap().unwrap();
        let change = |&(id, is_new, year): &(u32, bool, u16)| {
            let end = Date {
                year,
                ..Date::UNKNOWN
            };
            (
                id,
                ExtraChange {
                    is_new,
                    end,
                    details: EventDetails::default(),
                },
            )
        };
        let found = extras
            .writes(&changes.iter().map(change).collect())
            .unwrap();
        let mut bytes = bytes.to_vec();
        for (offset, write) in found.writes {
            let (from, to) = (to_usize(offset), to_usize(offset) + write.len());
            bytes.resize(bytes.len().max(to), 0xcc);
            bytes[from..to].copy_from_slice(&write);
        }
        (bytes, found.unfit)
    }

    #[test]
    fn a_record_is_given_as_it_is_stored_if_the_file_has_all_of_it() {
        let mut bytes = file(65, 3);
        bytes.pop();
        let storage = Box::new(MemoryFile::from(bytes));
        let extras = TournamentExtras::open(storage).unwrap().unwrap();
        let stored = |id| extras.stored(id).unwrap();
        assert_eq!(stored(1), Some(vec![2; 65]));
        assert_eq!((stored(2), stored(9)), (None, None));
    }

    fn to_usize(offset: u64) -> usize {
        usize::try_from(offset).unwrap()
    }

    fn end_years(bytes: &[u8], count: u32) -> Vec<u16> {
        let storage = Box::new(MemoryFile::from(bytes.to_vec()));
        let extras = TournamentExtras::open(storage).unwrap().unwrap();
        let mut buffer = ReadBuffer::default();
        (0..count)
            .map(|id| extras.end_date(id, &mut buffer).unwrap().year)
            .collect()
    }

    #[test]
    fn records_between_are_filled_with_defaults() {
        for size in [65, 223, 405] {
            let old = file(size, 2);
            let (bytes, unfit) = changed(&old, &[(1, true, 1999), (4, true, 2001), (6, false, 7)]);
            let size = size as usize;
            let record = |id: usize| &bytes[32 + id * size..32 + (id + 1) * size];
            assert_eq!(bytes.len(), 32 + 7 * size);
            assert_eq!(record(0), vec![1; size]);
            for id in [2, 3, 5] {
                assert_eq!(record(id), default_record(size));
            }
            assert_eq!(end_years(&bytes, 7)[1..], [1999, 0, 0, 2001, 0, 7]);
            assert_eq!(record(1)[..61], *DEFAULT);
            assert_eq!(record(6)[65..], vec![0; size - 65]);
            assert_eq!(bytes[8..12], [6, 0, 0, 0]);
            assert_eq!((&bytes[12..32], unfit), (&[0xdd; 20][..], vec![]));
        }
    }

    #[test]
    fn old_files_have_no_room_for_the_last_day() {
        let old = file(61, 2);
        let (bytes, unfit) = changed(&old, &[(0, true, 1999), (1, false, 5), (9, true, 7)]);
        assert_eq!(unfit, [0, 1, 9]);
        assert_eq!(bytes[32..93], *DEFAULT);
        assert_eq!(bytes[93..], old[93..]);
    }

    #[test]
    fn a_last_day_changes_four_bytes_and_an_unknown_one_beyond_the_file_none() {
        let old = file(65, 3);
        let (bytes, _) = changed(&old, &[(2, false, 1999), (9, true, 0)]);
        let at = 32 + 2 * 65 + 61;
        assert_eq!(
            (&bytes[..at], &bytes[at + 4..]),
            (&old[..at], &old[at + 4..])
        );
        assert_eq!(end_years(&bytes, 3)[2], 1999);
    }

    #[test]
    fn sizes_that_are_impossible_are_refused() {
        for (size, id) in [(0, 0), (60, 0), (1 << 20, 0)] {
            let mut bytes = file(65, 0);
            bytes[4..8].copy_from_slice(&u32::to_le_bytes(size));
            let extras = TournamentExtras::open(Box::new(MemoryFile::from(bytes)));
            let end = date::decode(0x000f_c0fa);
            let change = ExtraChange {
                is_new: true,
                end,
                details: EventDetails::default(),
            };
            let found = extras
                .unwrap()
                .unwrap()
                .writes(&BTreeMap::from([(id, change)]));
            assert!(matches!(found, Err(EditError::Damaged(..))), "{size} {id}");
        }
    }

    #[test]
    fn the_total_length_of_gaps_is_limited() {
        let old = file(405, 2);
        let most = 25_000;
        let changes = [
            (most, true, 1999),
            (2 * most, true, 2000),
            (u32::MAX, true, 1),
        ];
        let (bytes, unfit) = changed(&old, &changes);
        assert_eq!(unfit, [2 * most, u32::MAX]);
        assert_eq!(bytes.len(), 32 + (most as usize + 1) * 405);
        assert_eq!(end_years(&bytes, most + 1)[most as usize], 1999);
    }

    #[test]
    fn the_default_record_has_sevens_and_ones_at_their_offsets() {
        let places = |byte| (0..61).filter(move |&at| DEFAULT[at] == byte);
        assert!(places(7).eq([26, 37, 48]));
        assert!(places(1).eq(50..60));
    }

    #[test]
    fn a_new_event_takes_its_place_over_and_needs_a_record_for_it() {
        let storage = Box::new(MemoryFile::from(file(65, 1)));
        let extras = TournamentExtras::open(storage).unwrap().unwrap();
        let written = |is_new, place| {
            let end = Date::UNKNOWN;
            let details = EventDetails { flags: 0, place };
            let change = ExtraChange {
                is_new,
                end,
                details,
            };
            let writes = extras
                .writes(&BTreeMap::from([(1, change)]))
                .unwrap()
                .writes;
            writes.into_iter().next()
        };
        let (offset, record) = written(true, [0.0, 11.5]).unwrap();
        assert_eq!((offset, record.len()), (32 + 65, 65));
        assert_eq!(record[..16], [[0; 8], 11.5_f64.to_be_bytes()].concat());
        assert!(written(true, [48.25, 0.0]).is_some());
        assert_eq!(written(true, [0.0; 2]), None);
        assert_eq!(written(false, [48.25, 11.5]), None);
    }

    #[test]
    fn a_last_record_that_is_not_there_is_told() {
        for (size, last, expected) in [
            (65, 0_u32, None),
            (65, 2, None),
            (65, 3, Some(8)),
            (65, u32::MAX, Some(8)),
            (60, 2, Some(4)),
            (1025, 2, Some(4)),
        ] {
            let mut bytes = file(65, 3);
            bytes[4..8].copy_from_slice(&u32::to_le_bytes(size));
            bytes[8..12].copy_from_slice(&last.to_le_bytes());
            let extras = TournamentExtras::open(Box::new(MemoryFile::from(bytes)));
            let mut told = None;
            let mut report = |at, _| told = Some(at);
            extras.unwrap().unwrap().verify(&mut report).unwrap();
            assert_eq!(told, expected, "{size} {last}");
        }
    }
}
