//! `.cbj`: more of each game. A header of 32 bytes, little-endian; then
//! records of a size that grew with the versions of ChessBase, big-endian.
//!
//! Header: version u32, record size u32, number of records u32, garbage.
//!
//! Record of game *n*, at `32 + size * (n - 1)`; a field is there if the
//! record is long enough for it:
//!
//! | offset | bytes | meaning | if absent |
//! |---|---|---|---|
//! | 0 | 4+4 | white team, black team | -1 |
//! | 12 | 8 | offset of the annotations, 0 none | as `.cbh` |
//! | 30 | 8 | offset of the moves, for files beyond 4 GiB | as `.cbh` |
//! | 38 | 16+16 | rating types of White and Black | zeros |
//! | 80 | 8 | stamp of creation | 0 |
//! | 108 | 8 | stamp of the last save | 0 |
//! | 116 | 4 | label | -1 |

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::entities::EntityId;
use crate::bytes::{ByteReader, Malformed};
use crate::game::RatingType;

/// Size of the header.
pub(crate) const HEADER_BYTES: usize = 32;

/// The largest record size taken at its word: the newest known is 120.
const MAX_RECORD_BYTES: u32 = 4096;

/// The `.cbj` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) version: u32,
    pub(crate) record_bytes: u32,
    pub(crate) count: u32,
}

impl FileHeader {
    /// Reads the first twelve of the 32 bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<FileHeader, Malformed> {
        let mut reader = ByteReader::new(bytes);
        let header = FileHeader {
            version: reader.u32_le()?,
            record_bytes: reader.u32_le()?,
            count: reader.u32_le()?,
        };
        if !(8..=MAX_RECORD_BYTES).contains(&header.record_bytes) {
            return Err(Malformed::new(
                4,
                format!("record size {} is impossible", header.record_bytes),
            ));
        }
        Ok(header)
    }

    /// Where the record of game `id` lies; `None` if the file has none.
    pub(crate) fn offset_of(&self, id: u32) -> Option<u64> {
        let index = id.checked_sub(1).filter(|&index| index < self.count)?;
        Some(HEADER_BYTES as u64 + u64::from(self.record_bytes) * u64::from(index))
    }
}

/// A game's extended record; fields that the file has no place for are at
/// their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtendedRecord {
    /// Team id, negative for none.
    pub(crate) white_team: i32,
    /// Team id, negative for none.
    pub(crate) black_team: i32,
    /// Offset in `.cbg`, 0 if the record does not tell.
    pub(crate) moves_offset: u64,
    pub(crate) white_elo_type: RatingType,
    pub(crate) black_elo_type: RatingType,
    pub(crate) created: u64,
    pub(crate) last_saved: u64,
    /// Label id, negative for none.
    pub(crate) tag: i32,
}

impl Default for ExtendedRecord {
    fn default() -> ExtendedRecord {
        ExtendedRecord {
            white_team: -1,
            black_team: -1,
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
    /// Reads a record of any version.
    pub(crate) fn decode(bytes: &[u8]) -> ExtendedRecord {
        let default = ExtendedRecord::default();
        let rating_type = |offset| field(bytes, offset).map(|bytes| RatingType { bytes });
        ExtendedRecord {
            white_team: field(bytes, 0).map_or(default.white_team, i32::from_be_bytes),
            black_team: field(bytes, 4).map_or(default.black_team, i32::from_be_bytes),
            moves_offset: field(bytes, 30).map_or(0, u64::from_be_bytes),
            white_elo_type: rating_type(38).unwrap_or_default(),
            black_elo_type: rating_type(54).unwrap_or_default(),
            created: field(bytes, 80).map_or(0, u64::from_be_bytes),
            last_saved: field(bytes, 108).map_or(0, u64::from_be_bytes),
            tag: field(bytes, 116).map_or(default.tag, i32::from_be_bytes),
        }
    }

    /// The team of White and that of Black, from a record of any version.
    pub(crate) fn teams(bytes: &[u8]) -> [Option<EntityId>; 2] {
        [0, 4].map(|offset| {
            let id = i32::from_be_bytes(field(bytes, offset)?);
            u32::try_from(id).ok().map(EntityId)
        })
    }

    /// The offset in `.cba` and that in `.cbg`, as far as a record of any
    /// version repeats them.
    pub(crate) fn offsets(bytes: &[u8]) -> [Option<u64>; 2] {
        [12, 30].map(|offset| field(bytes, offset).map(u64::from_be_bytes))
    }

    /// When the game was last saved, or else made.
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        saved_time(self.last_saved).or_else(|| created_time(self.created))
    }
}

/// The `N` bytes at `offset`, if the record is that long.
fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk().copied()
}

/// Seconds from 1970 to 2008-12-01, where stamps of creation begin.
const CREATION_EPOCH: u64 = 1_228_089_600;

/// Seconds from 1582-10-15, where stamps of saving begin, to 1970.
const SAVING_EPOCH: u64 = 12_219_292_800;

/// No game was made or saved after 2200; a later stamp is garbage.
const LATEST: u64 = 7_258_118_400;

/// A stamp of creation counts 1/1024 s; some bases shift it left by 12 bits.
fn created_time(stamp: u64) -> Option<SystemTime> {
    let ticks = if stamp >> 48 == 0 { stamp } else { stamp >> 12 };
    let millis = ticks.checked_mul(1000)? / 1024;
    let since_1970 = Duration::from_millis(millis).checked_add(Duration::from_secs(CREATION_EPOCH));
    since_1970
        .filter(|time| ticks != 0 && time.as_secs() < LATEST)
        .and_then(|time| UNIX_EPOCH.checked_add(time))
}

/// A stamp of saving counts 100 ns, as UUIDs of version 1 do.
fn saved_time(stamp: u64) -> Option<SystemTime> {
    let seconds = (stamp / 10_000_000).checked_sub(SAVING_EPOCH)?;
    let nanos = (stamp % 10_000_000) as u32 * 100;
    (seconds < LATEST)
        .then(|| UNIX_EPOCH.checked_add(Duration::new(seconds, nanos)))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(time: Option<SystemTime>) -> Option<u64> {
        Some(time?.duration_since(UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn stamps_of_creation_are_1024ths_of_seconds_since_december_2008() {
        // 2016-08-01 18:17:23, the import date that the base's .ini tells.
        assert_eq!(seconds(created_time(247_793_503_465)), Some(1_470_075_443));
        assert_eq!(
            created_time(247_793_503_465 << 12),
            created_time(247_793_503_465)
        );
        assert_eq!(created_time(0), None);
        assert_eq!(created_time(u64::MAX >> 16), None);
    }

    #[test]
    fn stamps_of_saving_are_those_of_uuids() {
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
}
