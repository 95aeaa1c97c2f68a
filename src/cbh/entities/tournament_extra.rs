//! More of each tournament, `.cbtt`. Header of 32 bytes, little-endian:
//! version i32, record size i32, number of the last record i32, garbage.
//! Record *i* belongs to tournament *i*; a missing one has all defaults. At
//! 61 lies the last day (u32, big-endian), from version 3 on.

use std::io;
use std::ops::RangeInclusive;

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::date;
use crate::game::Date;
use crate::storage::{ReadBuffer, Storage};

const HEADER_BYTES: u64 = 32;

/// Sizes of a record: 61 bytes in version 2, the newest known has 405.
const RECORD_BYTES: RangeInclusive<u32> = 61..=4096;

/// Where the last day lies in a record, and its size.
const END_DATE: (u64, usize) = (61, 4);

/// The records of `.cbtt`.
#[derive(Debug)]
pub(crate) struct TournamentExtras {
    storage: Box<dyn Storage>,
    record_bytes: u32,
}

impl TournamentExtras {
    /// Reads the header.
    pub(crate) fn open(
        storage: Box<dyn Storage>,
    ) -> io::Result<Result<TournamentExtras, Malformed>> {
        let mut buffer = ReadBuffer::default();
        let mut reader = ByteReader::new(storage.read_up_to(0, 8, &mut buffer)?);
        let record_bytes = reader.skip(4).and_then(|()| reader.u32_le());
        Ok(record_bytes.map(|record_bytes| TournamentExtras {
            storage,
            record_bytes,
        }))
    }

    /// Reports in what the header cannot be true.
    ///
    /// # Errors
    ///
    /// The medium's.
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
        // 0 stands for none as well as for one.
        if last != 0 && !u64::try_from(last).is_ok_and(|last| last < present) {
            report(
                8,
                format!("record {last} is the last one claimed, {present} are there"),
            );
        }
        Ok(())
    }

    /// Last day of tournament `id`, unknown if the file does not tell.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(crate) fn end_date(&self, id: u32, buffer: &mut ReadBuffer) -> io::Result<Date> {
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
}
