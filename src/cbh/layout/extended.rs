//! `.cbj`: further data of each game. A little-endian header of 32 bytes, then
//! big-endian records, whose size grew with the versions of ChessBase.
//!
//! Header: version u32, record size u32, number of records u32, garbage.
//!
//! Record of game *n*, at `32 + size * (n - 1)`. A short record lacks the last
//! fields:
//!
//! | offset | bytes | meaning | if absent |
//! |---|---|---|---|
//! | 0 | 4+4 | white team, black team | -1 |
//! | 8 | 4 | of texts: where their list of media is | -1 |
//! | 12 | 8 | offset of the annotations, as `.cbh` | |
//! | 20 | 4+4+2 | final material; 0, 0, `fffe` is "not computed" | |
//! | 30 | 8 | offset of the moves, for files beyond 4 GiB | as `.cbh` |
//! | 38 | 16+16 | rating types of White and Black | zeros |
//! | 78 | 2 | how often it was saved | |
//! | 80 | 8 | stamp of creation | 0 |
//! | 88 | 20 | endgames; zeros are "not computed" | |
//! | 108 | 8 | stamp of the last save | 0 |
//! | 116 | 4 | label | -1 |
//!
//! Other bytes of a record are kept as they are.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::bytes::{BytePatch, ByteReader, Malformed};
use crate::cbh::entities::EntityId;
use crate::game::RatingType;

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 32;

/// Maximum record size that is accepted; the largest known is 120.
const MAX_RECORD_BYTES: u32 = 4096;

/// Versions of the file, and the size of a record in each.
const RECORD_SIZES: [(u32, u32); 8] = [
    (1, 8),
    (3, 20),
    (4, 30),
    (5, 30),
    (6, 38),
    (7, 74),
    (8, 78),
    (11, 120),
];

/// The `.cbj` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedHeader {
    /// Version of the file.
    pub version: u32,
    /// Size of a record, at least 8.
    pub record_bytes: u32,
    /// Number of records.
    pub count: u32,
}

impl ExtendedHeader {
    /// Decodes the first twelve of the 32 bytes.
    pub fn decode(bytes: &[u8]) -> Result<ExtendedHeader, Malformed> {
        let header = ExtendedHeader::stated(bytes)?;
        if !header.is_possible() {
            return Err(Malformed::new(
                4,
                format!("record size {} is impossible", header.record_bytes),
            ));
        }
        Ok(header)
    }

    /// The fields as they are stored, possible or not.
    pub(in crate::cbh) fn stated(bytes: &[u8]) -> Result<ExtendedHeader, Malformed> {
        let mut reader = ByteReader::new(bytes);
        Ok(ExtendedHeader {
            version: reader.u32_le()?,
            record_bytes: reader.u32_le()?,
            count: reader.u32_le()?,
        })
    }

    fn is_possible(&self) -> bool {
        (8..=MAX_RECORD_BYTES).contains(&self.record_bytes)
    }

    /// The size of a record in a file of this version, if it is known.
    fn size_of_version(&self) -> Option<u32> {
        let mut known = RECORD_SIZES.iter();
        let found = known.find(|(version, _)| *version == self.version);
        found.map(|&(_, size)| size)
    }

    /// The size of a record in a file of `len` bytes, if two of version, size,
    /// and number of records with the length agree on it; else it is a guess.
    pub(in crate::cbh) fn certain_record_bytes(&self, len: u64) -> Option<u32> {
        let fills =
            |size: u32| HEADER_BYTES as u64 + u64::from(size) * u64::from(self.count) == len;
        let of_version = self.size_of_version();
        let of_version = of_version.filter(|&size| size == self.record_bytes || fills(size));
        let is_filled = self.is_possible() && self.count > 0 && fills(self.record_bytes);
        of_version.or(is_filled.then_some(self.record_bytes))
    }

    /// Returns whether the size of a record in a file of `len` bytes contradicts
    /// a version that is known.
    pub(in crate::cbh) fn is_doubtful(&self, len: u64) -> bool {
        let is_known = self.size_of_version().is_some();
        is_known && self.certain_record_bytes(len) != Some(self.record_bytes)
    }

    /// Writes the fields into the header of a file; its garbage stays.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `header` is shorter than twelve bytes.
    pub fn encode(&self, header: &mut [u8]) -> Result<(), Malformed> {
        let mut patch = BytePatch::new(header);
        patch.put(self.version.to_le_bytes())?;
        patch.put(self.record_bytes.to_le_bytes())?;
        patch.put(self.count.to_le_bytes())
    }

    /// The file offset of the record of game `id`; `None` if the file has none.
    pub fn offset_of(&self, id: u32) -> Option<u64> {
        let index = id.checked_sub(1).filter(|&index| index < self.count)?;
        Some(HEADER_BYTES as u64 + u64::from(self.record_bytes) * u64::from(index))
    }
}

/// The extended record of a game. Fields that a short record lacks have their
/// defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedRecord {
    /// Team id, negative for none.
    pub white_team: i32,
    /// Team id, negative for none.
    pub black_team: i32,
    /// Offset in `.cba`; 0 if there are no annotations or the field is missing.
    pub annotations_offset: u64,
    /// Offset in `.cbg`; 0 if the field is missing.
    pub moves_offset: u64,
    /// Type of White's rating.
    pub white_elo_type: RatingType,
    /// Type of Black's rating.
    pub black_elo_type: RatingType,
    /// Timestamp of creation, see [`CreationClock`].
    pub created: u64,
    /// Timestamp of the last save, 0 if never saved.
    pub last_saved: u64,
    /// Label id, negative for none.
    pub tag: i32,
}

impl Default for ExtendedRecord {
    fn default() -> ExtendedRecord {
        ExtendedRecord {
            white_team: -1,
            black_team: -1,
            annotations_offset: 0,
            moves_offset: 0,
            white_elo_type: RatingType::default(),
            black_elo_type: RatingType::default(),
            created: 0,
            last_saved: 0,
            tag: -1,
        }
    }
}

impl ExtendedRecord {
    /// Decodes a record of any version.
    pub fn decode(bytes: &[u8]) -> ExtendedRecord {
        let default = ExtendedRecord::default();
        let rating_type = |offset| field(bytes, offset).map(|bytes| RatingType { bytes });
        ExtendedRecord {
            white_team: field(bytes, 0).map_or(default.white_team, i32::from_be_bytes),
            black_team: field(bytes, 4).map_or(default.black_team, i32::from_be_bytes),
            annotations_offset: field(bytes, 12).map_or(0, u64::from_be_bytes),
            moves_offset: field(bytes, 30).map_or(0, u64::from_be_bytes),
            white_elo_type: rating_type(38).unwrap_or_default(),
            black_elo_type: rating_type(54).unwrap_or_default(),
            created: field(bytes, 80).map_or(0, u64::from_be_bytes),
            last_saved: field(bytes, 108).map_or(0, u64::from_be_bytes),
            tag: field(bytes, 116).map_or(default.tag, i32::from_be_bytes),
        }
    }

    /// Writes the fields into a record of any version, except those that it is
    /// too short for. Other bytes stay.
    pub fn encode(&self, record: &mut [u8]) {
        put(record, 0, self.white_team.to_be_bytes());
        put(record, 4, self.black_team.to_be_bytes());
        put(record, 12, self.annotations_offset.to_be_bytes());
        put(record, 30, self.moves_offset.to_be_bytes());
        put(record, 38, self.white_elo_type.bytes);
        put(record, 54, self.black_elo_type.bytes);
        put(record, 80, self.created.to_be_bytes());
        put(record, 108, self.last_saved.to_be_bytes());
        put(record, 116, self.tag.to_be_bytes());
    }

    /// The bytes of a new record: no teams, label or media, ratings of FIDE,
    /// nothing computed, saved once. Offsets and timestamp of creation are 0.
    pub fn new_bytes(record_bytes: usize) -> Vec<u8> {
        let mut record = vec![0; record_bytes];
        let usual = RatingType {
            bytes: RatingType::USUAL,
        };
        ExtendedRecord {
            white_elo_type: usual,
            black_elo_type: usual,
            ..ExtendedRecord::default()
        }
        .encode(&mut record);
        put(&mut record, 8, (-1_i32).to_be_bytes());
        put(&mut record, MATERIAL, NOT_COMPUTED);
        put(&mut record, SAVE_COUNT, 1_u16.to_be_bytes());
        record
    }

    /// The bytes of a stored record; of one that is cut short, those of a new one behind
    /// the last field that is there.
    pub fn whole_bytes(stored: &[u8], record_bytes: usize) -> Vec<u8> {
        if stored.len() >= record_bytes {
            return stored.to_vec();
        }
        let mut record = ExtendedRecord::new_bytes(record_bytes);
        for (place, byte) in record.iter_mut().zip(stored) {
            *place = *byte;
        }
        // A field that is there in part has its default.
        ExtendedRecord::decode(stored).encode(&mut record);
        record
    }

    /// Marks a record as changed now: increments its number of saves, sets the
    /// timestamp, and resets the values that ChessBase computes from the moves.
    pub fn note_save(record: &mut [u8], now: SystemTime) {
        put(record, MATERIAL, NOT_COMPUTED);
        put(record, ENDGAMES, [0; 20]);
        if let Some(count) = field(record, SAVE_COUNT).map(u16::from_be_bytes) {
            put(record, SAVE_COUNT, count.saturating_add(1).to_be_bytes());
        }
        put(record, 108, saved_stamp(now).to_be_bytes());
    }

    /// Sets how often the game of a record was saved.
    pub fn set_save_count(record: &mut [u8], saves: u16) {
        put(record, SAVE_COUNT, saves.to_be_bytes());
    }

    /// The teams of White and Black, from a record of any version.
    pub fn teams(bytes: &[u8]) -> [Option<EntityId>; 2] {
        [0, 4].map(|offset| {
            let id = i32::from_be_bytes(field(bytes, offset)?);
            u32::try_from(id).ok().map(EntityId)
        })
    }

    /// The offsets in `.cba` and `.cbg`, from a record of any version, `None`
    /// where it is too short.
    pub(crate) fn offsets(bytes: &[u8]) -> [Option<u64>; 2] {
        [12, 30].map(|offset| field(bytes, offset).map(u64::from_be_bytes))
    }

    /// The time of the last save, or else of creation.
    pub fn modified(&self) -> Option<SystemTime> {
        saved_time(self.last_saved).or_else(|| created_time(self.created))
    }
}

/// Offset of the final material: two u32 and a u16.
const MATERIAL: usize = 20;

/// Final material that was not computed.
const NOT_COMPUTED: [u8; 10] = [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe];

/// Offset of the number of saves.
const SAVE_COUNT: usize = 78;

/// Offset of the endgames.
const ENDGAMES: usize = 88;

/// Writes `value` at `offset`, unless the record is too short.
fn put<const N: usize>(record: &mut [u8], offset: usize, value: [u8; N]) {
    let place = record.get_mut(offset..);
    if let Some(place) = place.and_then(|rest| rest.first_chunk_mut()) {
        *place = value;
    }
}

/// The `N` bytes at `offset`; `None` if the record is too short.
fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// 2008-12-01 in seconds since 1970: zero of creation timestamps.
const CREATION_EPOCH: u64 = 1_228_089_600;

/// Seconds from 1582-10-15, the zero of save timestamps, to 1970.
const SAVING_EPOCH: u64 = 12_219_292_800;

/// The year 2200 in seconds since 1970. Later timestamps are garbage.
const LATEST: u64 = 7_258_118_400;

/// The time of the last save, or else of creation. `saved` is a save timestamp,
/// `ticks` the time of creation in units of 1/1024 s.
pub(crate) fn saved_or_made(saved: u64, ticks: u64) -> Option<SystemTime> {
    saved_time(saved).or_else(|| created_time(ticks))
}

/// The ticks of a creation timestamp in either form.
fn ticks_of(stamp: u64) -> u64 {
    if stamp >> 48 == 0 { stamp } else { stamp >> 12 }
}

/// The time of a creation timestamp. It counts 1/1024 s; some bases shift it
/// left by 12 bits.
fn created_time(stamp: u64) -> Option<SystemTime> {
    let ticks = ticks_of(stamp);
    let millis = ticks.checked_mul(1000)? / 1024;
    let since_1970 = Duration::from_millis(millis).checked_add(Duration::from_secs(CREATION_EPOCH));
    since_1970
        .filter(|time| ticks != 0 && time.as_secs() < LATEST)
        .and_then(|time| UNIX_EPOCH.checked_add(time))
}

/// The time of a save timestamp. It counts 100 ns, as UUIDs of version 1 do.
fn saved_time(stamp: u64) -> Option<SystemTime> {
    let seconds = (stamp / 10_000_000).checked_sub(SAVING_EPOCH)?;
    let nanos = (stamp % 10_000_000) as u32 * 100;
    (seconds < LATEST)
        .then(|| UNIX_EPOCH.checked_add(Duration::new(seconds, nanos)))
        .flatten()
}

/// Generator of unique creation timestamps, in the form that the base uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct CreationClock {
    /// The latest existing timestamp, in 1/1024 s.
    latest: u64,
    /// Whether the base shifts its timestamps left by 12 bits.
    is_shifted: bool,
}

impl CreationClock {
    /// Registers an existing timestamp.
    pub fn note(&mut self, stamp: u64) {
        self.is_shifted |= stamp >> 48 != 0;
        // Garbage must not advance the clock.
        if created_time(stamp).is_some() {
            self.latest = self.latest.max(ticks_of(stamp));
        }
    }

    /// As if the timestamps of both had been registered.
    #[must_use]
    pub fn with(self, other: CreationClock) -> CreationClock {
        CreationClock {
            latest: self.latest.max(other.latest),
            is_shifted: self.is_shifted | other.is_shifted,
        }
    }

    /// Returns a timestamp of `now`, later than all existing ones.
    pub fn next(&mut self, now: SystemTime) -> u64 {
        let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = since_1970.saturating_sub(Duration::from_secs(CREATION_EPOCH));
        let parts = u64::from(since.subsec_nanos()) * 1024 / 1_000_000_000;
        let ticks = since.as_secs().saturating_mul(1024).saturating_add(parts);
        self.latest = ticks.max(self.latest + 1);
        if self.is_shifted {
            self.latest << 12
        } else {
            self.latest
        }
    }
}

/// The save timestamp of a time.
fn saved_stamp(now: SystemTime) -> u64 {
    let since_1970 = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since_1970.as_secs().saturating_add(SAVING_EPOCH);
    let parts = u64::from(since_1970.subsec_nanos() / 100);
    seconds.saturating_mul(10_000_000).saturating_add(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(time: Option<SystemTime>) -> Option<u64> {
        Some(time?.duration_since(UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn creation_timestamps_count_1024ths_of_seconds_since_december_2008() {
        // 2016-08-01 18:17:23, the import date in the .ini file of the base.
        assert_eq!(seconds(created_time(247_793_503_465)), Some(1_470_075_443));
        assert_eq!(
            created_time(247_793_503_465 << 12),
            created_time(247_793_503_465)
        );
        assert_eq!(created_time(0), None);
        assert_eq!(created_time(u64::MAX >> 16), None);
    }

    #[test]
    fn save_timestamps_are_those_of_uuids() {
        assert_eq!(seconds(saved_time(122_192_928_000_000_000)), Some(0));
        assert_eq!(saved_time(0), None);
        assert_eq!(saved_time(u64::MAX), None);
    }

    #[test]
    fn a_short_record_leaves_defaults() {
        let mut bytes = vec![0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff];
        let record = ExtendedRecord::decode(&bytes);
        assert_eq!(
            (record.white_team, record.black_team, record.tag),
            (7, -1, -1)
        );
        bytes.resize(120, 0);
        assert_eq!(ExtendedRecord::decode(&bytes).tag, 0);
        assert_eq!(ExtendedRecord::decode(&[]), ExtendedRecord::default());
    }

    #[test]
    fn a_record_of_any_version_stores_the_fields_it_has_room_for() {
        for size in [8, 20, 30, 38, 74, 78, 120, 200] {
            let record = ExtendedRecord {
                white_team: 3,
                black_team: -1,
                annotations_offset: 5 << 32,
                moves_offset: 6 << 32,
                white_elo_type: RatingType { bytes: [7; 16] },
                black_elo_type: RatingType { bytes: [8; 16] },
                created: 9,
                last_saved: 10,
                tag: 11,
            };
            let mut bytes = vec![0xee; size];
            record.encode(&mut bytes);
            let fitting = ExtendedRecord {
                annotations_offset: if size < 20 { 0 } else { 5 << 32 },
                moves_offset: if size < 38 { 0 } else { 6 << 32 },
                white_elo_type: RatingType {
                    bytes: if size < 54 { [0; 16] } else { [7; 16] },
                },
                black_elo_type: RatingType {
                    bytes: if size < 70 { [0; 16] } else { [8; 16] },
                },
                created: if size < 88 { 0 } else { 9 },
                last_saved: if size < 116 { 0 } else { 10 },
                tag: if size < 120 { -1 } else { 11 },
                ..record
            };
            assert_eq!(ExtendedRecord::decode(&bytes), fitting, "{size} bytes");
            let unknown = [8..12, 20..30, 70..80, 88..108, 120..200];
            for place in unknown.into_iter().flatten().filter(|&at| at < size) {
                assert_eq!(bytes[place], 0xee, "{size} bytes, {place}");
            }
        }
    }

    #[test]
    fn a_new_record_has_default_values() {
        let record = ExtendedRecord::new_bytes(120);
        let decoded = ExtendedRecord::decode(&record);
        assert_eq!((decoded.white_team, decoded.black_team), (-1, -1));
        assert_eq!((decoded.tag, decoded.moves_offset), (-1, 0));
        assert_eq!(decoded.white_elo_type.bytes, RatingType::USUAL);
        assert_eq!(record[8..12], [0xff; 4]);
        assert_eq!(record[20..30], [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe]);
        assert_eq!(record[78..80], [0, 1]);
        assert_eq!(ExtendedRecord::new_bytes(8), [0xff; 8]);
    }

    #[test]
    fn a_save_is_counted_and_stamped_and_resets_computed_values() {
        let now = UNIX_EPOCH + Duration::new(1_470_075_443, 1_234_567_800);
        for size in [8, 30, 78, 80, 107, 108, 120, 130] {
            let mut record = vec![0x11; size];
            ExtendedRecord::note_save(&mut record, now);
            let mut wanted = vec![0x11; size.max(130)];
            wanted[20..30].copy_from_slice(&NOT_COMPUTED);
            wanted[79] = 0x12;
            wanted[88..108].fill(0);
            wanted[108..116].copy_from_slice(&saved_stamp(now).to_be_bytes());
            // Fields are written completely or not at all.
            let whole = [(20, 30), (78, 80), (88, 108), (108, 116)];
            for (from, to) in whole.into_iter().filter(|(_, to)| *to > size) {
                wanted[from..to].fill(0x11);
            }
            assert_eq!(record, wanted[..size], "{size} bytes");
        }
        assert_eq!(saved_time(saved_stamp(now)), Some(now));
    }

    #[test]
    fn creation_timestamps_are_unique() {
        let now = UNIX_EPOCH + Duration::from_secs(1_470_075_443);
        let mut clock = CreationClock::default();
        let first = clock.next(now);
        assert_eq!(seconds(created_time(first)), Some(1_470_075_443));
        assert_eq!(clock.next(now), first + 1);
        clock.note(first + 500);
        clock.note(u64::MAX >> 17);
        assert_eq!(clock.next(now), first + 501);
        clock.note(first << 12);
        assert_eq!(clock.next(now), (first + 502) << 12);
    }

    #[test]
    fn a_header_keeps_its_garbage() {
        let mut header = [0x55; HEADER_BYTES];
        let wanted = ExtendedHeader {
            version: 11,
            record_bytes: 120,
            count: 6117,
        };
        wanted.encode(&mut header).unwrap();
        assert_eq!(ExtendedHeader::decode(&header), Ok(wanted));
        assert_eq!(header[12..], [0x55; 20]);
    }

    #[test]
    fn a_time_of_a_save_goes_before_that_of_creation() {
        let saved = saved_stamp(UNIX_EPOCH + Duration::from_secs(1_600_000_000));
        let made = CreationClock::default().next(UNIX_EPOCH + Duration::from_secs(1_500_000_000));
        for (saved, made, wanted) in [
            (saved, made, Some(1_600_000_000)),
            (0, made, Some(1_500_000_000)),
            (0, 0, None),
        ] {
            assert_eq!(seconds(saved_or_made(saved, made)), wanted);
        }
    }

    #[test]
    fn teams_and_offsets_are_read_without_the_rest() {
        let mut bytes = ExtendedRecord::new_bytes(120);
        ExtendedRecord {
            white_team: 3,
            annotations_offset: 5 << 32,
            moves_offset: 6 << 32,
            ..ExtendedRecord::default()
        }
        .encode(&mut bytes);
        assert_eq!(ExtendedRecord::teams(&bytes), [Some(EntityId(3)), None]);
        let offsets = [Some(5 << 32), Some(6 << 32)];
        assert_eq!(ExtendedRecord::offsets(&bytes), offsets);
        assert_eq!(ExtendedRecord::teams(&bytes[..4])[1], None);
        assert_eq!(ExtendedRecord::offsets(&bytes[..37]), [offsets[0], None]);
        ExtendedRecord::set_save_count(&mut bytes, 0x0102);
        assert_eq!(bytes[78..80], [1, 2]);
    }
}
