//! The header of an archive and its table of members.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 2 | 8, the length of this header |
//! | 2 | 2 | number of members |
//! | 4 | 1 | length of a record: 173, or 149 in old archives |
//! | 5 | 3 | 0, 3, 0; ignored |
//!
//! and of each member
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 128 | name, up to the first NUL; the bytes behind it are garbage and
//! may be private |
//! | 128 | 4 | offset of its stream of blocks |
//! | 132 | 4 | length of the stream |
//! | 136 | 4 | length of the member |
//! | 140 | 1 | 1 |
//! | 141 | 4 | date of the member: the decimal number `YYYYMMDD` |
//! | 145 | 4 | time in UTC: the decimal number `HHMMSScc` |
//! | 149 | 24 | offset and both lengths with 64 bits |
//!
//! All numbers are little-endian.

use crate::calendar::{DAY, date_at, days_of};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Length of the header.
pub(super) const HEADER_BYTES: usize = 8;

/// Length of the name field, NUL included.
pub(super) const NAME_BYTES: usize = 128;

/// Length of a record as written today.
pub(super) const RECORD_BYTES: u16 = 173;

/// Length of the shortest record with all fields that are needed to find a
/// member.
const SHORTEST_RECORD: u16 = 140;

const MAGIC: u16 = 8;
const VERSION: u16 = 3;

/// The fields of the header that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArchiveHeader {
    pub(super) members: u16,
    pub(super) record_bytes: u16,
}

impl ArchiveHeader {
    /// Decodes a header. `None` if these are not the first bytes of an archive.
    pub(super) fn decode(bytes: [u8; HEADER_BYTES]) -> Option<ArchiveHeader> {
        let [magic, magic_high, a, b, record_bytes, ..] = bytes;
        let header = ArchiveHeader {
            members: u16::from_le_bytes([a, b]),
            record_bytes: record_bytes.into(),
        };
        (u16::from_le_bytes([magic, magic_high]) == MAGIC).then_some(header)
    }

    /// Returns why an archive of `file_len` bytes cannot have this header;
    /// `None` if it can.
    pub(super) fn fault(self, file_len: u64) -> Option<String> {
        if self.members == 0 {
            return Some("an archive without members".to_owned());
        }
        if self.record_bytes < SHORTEST_RECORD {
            return Some(format!(
                "its records of members have {} bytes, and cannot have less than {SHORTEST_RECORD}",
                self.record_bytes
            ));
        }
        (self.table_end() > file_len).then(|| {
            format!(
                "its table of {} members ends at {:#x}, but it has {file_len} bytes only: it is \
                 cut short, or one part of several; fetch it again, or join its parts",
                self.members,
                self.table_end()
            )
        })
    }

    /// Offset of the end of the table of members, where the streams begin.
    pub(super) fn table_end(self) -> u64 {
        HEADER_BYTES as u64 + u64::from(self.members) * u64::from(self.record_bytes)
    }

    pub(super) fn encode(self) -> Vec<u8> {
        let numbers = [MAGIC, self.members, self.record_bytes, VERSION];
        numbers.into_iter().flat_map(u16::to_le_bytes).collect()
    }
}

/// A record of the table: one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberRecord {
    /// The bytes before the NUL; `None` without a NUL.
    pub(super) name: Option<Vec<u8>>,
    pub(super) offset: u64,
    pub(super) packed: u64,
    pub(super) size: u64,
    /// Time of the last change of the packed file; `None` if the fields are no
    /// valid time.
    pub(super) modified: Option<SystemTime>,
    /// Whether the 32-bit and 64-bit fields agree.
    pub(super) is_consistent: bool,
}

impl MemberRecord {
    /// Decodes a record. Fields that are cut off become 0.
    pub(super) fn decode(bytes: &[u8]) -> MemberRecord {
        let short = |at: usize| {
            let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
            u64::from(bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes)))
        };
        let long = |at: usize| {
            let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map(|bytes| u64::from_le_bytes(*bytes))
        };
        let name = bytes.get(..NAME_BYTES).unwrap_or_default();
        let end = name.iter().position(|byte| *byte == 0);
        let shorts = [short(128), short(132), short(136)];
        let longs = match (long(149), long(157), long(165)) {
            (Some(offset), Some(packed), Some(size)) => [offset, packed, size],
            _ => shorts,
        };
        let mut both = shorts.into_iter().zip(longs);
        let [offset, packed, size] = longs;
        MemberRecord {
            name: end.and_then(|end| Some(name.get(..end)?.to_vec())),
            offset,
            packed,
            size,
            modified: time_of(short(141), short(145)),
            is_consistent: both.all(|(short, long)| short == long & u64::from(u32::MAX)),
        }
    }

    /// Encodes a record of [`RECORD_BYTES`]. A name of more than 127 bytes is
    /// cut.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut name = self.name.clone().unwrap_or_default();
        name.truncate(NAME_BYTES - 1);
        name.resize(NAME_BYTES, 0);
        let longs = [self.offset, self.packed, self.size];
        let low = |number: &u64| {
            let [a, b, c, d, ..] = number.to_le_bytes();
            [a, b, c, d]
        };
        let (date, time) = self.modified.map_or((0, 0), date_and_time);
        let mut bytes = name;
        bytes.extend(longs.iter().flat_map(low));
        bytes.push(1);
        bytes.extend(date.to_le_bytes());
        bytes.extend(time.to_le_bytes());
        bytes.extend(longs.into_iter().flat_map(u64::to_le_bytes));
        bytes
    }
}

/// Number of days from 1970-01-01 to a date; `None` before that. A day that its
/// month does not have counts on.
fn days_to(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    let first = (u16::try_from(year).ok()?, u8::try_from(month).ok()?, 1);
    Some(u64::try_from(days_of(first)?).ok()? + day - 1)
}

/// Returns the time of the numbers `YYYYMMDD` and `HHMMSScc`; `None` if they
/// are none.
fn time_of(date: u64, time: u64) -> Option<SystemTime> {
    let days = days_to(date / 10_000, date / 100 % 100, date % 100)?;
    let [hours, minutes, seconds] = [1_000_000, 10_000, 100].map(|unit| time / unit % 100);
    if time >= 24_000_000 || minutes > 59 || seconds > 60 {
        return None;
    }
    let seconds = days * DAY + hours * 3600 + minutes * 60 + seconds;
    UNIX_EPOCH.checked_add(Duration::from_millis(seconds * 1000 + time % 100 * 10))
}

/// Returns the numbers `YYYYMMDD` and `HHMMSScc` of a time.
fn date_and_time(time: SystemTime) -> (u32, u32) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let second = since.as_secs() % DAY;
    let (year, month, day) = date_at(time);
    let date = u32::from(year) * 10_000 + u32::from(month) * 100 + u32::from(day);
    let clock = second / 3600 * 10_000 + second / 60 % 60 * 100 + second % 60;
    let clock = clock * 100 + u64::from(since.subsec_millis() / 10);
    (date, u32::try_from(clock).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_as_numbers() {
        let at = |seconds: u64, hundredths: u64| {
            Some(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + hundredths * 10))
        };
        assert_eq!(time_of(20_160_801, 19_383_256), at(1_470_080_312, 56));
        assert_eq!(time_of(19_700_101, 0), at(0, 0));
        assert_eq!(time_of(20_000_229, 23_595_999), at(951_868_799, 99));
        for (date, time) in [
            (0, 0),
            (20_161_301, 0),
            (20_160_800, 0),
            (20_160_801, 24_000_000),
        ] {
            assert_eq!(time_of(date, time), None, "{date} {time}");
        }
        assert_eq!(time_of(20_160_801, u64::from(u32::MAX)), None);
    }

    proptest! {
        #[test]
        fn times_come_back(hundredths in 0..200_000_000_000_u64) {
            let time = UNIX_EPOCH + Duration::from_millis(hundredths * 10);
            let (date, clock) = date_and_time(time);
            prop_assert_eq!(time_of(date.into(), clock.into()), Some(time));
        }

        #[test]
        fn records_come_back(name in "[a-z]{1,127}", offset: u64, packed: u64, size: u64) {
            let record = MemberRecord {
                name: Some(name.into_bytes()),
                offset,
                packed,
                size,
                modified: time_of(20_260_102, 3_040_506),
                is_consistent: true,
            };
            let bytes = record.encode();
            prop_assert_eq!(bytes.len(), usize::from(RECORD_BYTES));
            prop_assert_eq!(MemberRecord::decode(&bytes), record);
        }
    }
}
