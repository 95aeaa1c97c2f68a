//! Check of file headers against the files.

use std::io;

use crate::bytes::ByteReader;
use crate::cbh::base::database::record_offset;
use crate::cbh::extended::HEADER_BYTES;
use crate::cbh::record::RECORD_BYTES;
use crate::cbh::{Database, Error};
use crate::cbh::{FileKind, record};
use crate::game::Defect;
use crate::storage::{ReadBuffer, Storage};

/// A callback that is given an offset and a description.
type Report<'a> = dyn FnMut(u64, String) + 'a;

/// Lengths of the header of `.cbg` and `.cba`: in old bases, and in current
/// ones.
const BLOB_HEADERS: [u16; 2] = [10, 26];

/// Number of header bytes that old bases use in `.cbh`; the others are zeros.
const OLD_HEADER: u16 = 36;

impl Database {
    /// Reports the defects of all file headers except those of entities.
    pub(super) fn check_files(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        let mut check = |kind: FileKind, check: &dyn Fn(&mut Report<'_>) -> io::Result<()>| {
            let mut report = |offset, what| {
                report(Defect {
                    file: kind.extension(),
                    offset,
                    what,
                });
            };
            check(&mut report).map_err(|source| self.io(kind, source))
        };
        check(FileKind::Headers, &|report| self.check_header(report))?;
        check(FileKind::Moves, &|report| {
            check_blob_header(self.moves.as_ref(), report)
        })?;
        check(FileKind::Annotations, &|report| {
            check_blob_header(self.annotations.as_ref(), report)
        })?;
        check(FileKind::Extended, &|report| self.check_extended(report))?;
        if let Some(extras) = &self.tournament_extras {
            check(FileKind::TournamentExtras, &|report| extras.verify(report))?;
        }
        if let Some(top_games) = &self.top_games {
            check(FileKind::TopGames, &|report| top_games.verify(report))?;
        }
        Ok(())
    }

    fn check_header(&self, report: &mut Report<'_>) -> io::Result<()> {
        let mut buffer = ReadBuffer::default();
        let header = self.headers.read_up_to(0, RECORD_BYTES, &mut buffer)?;
        let mut reader = ByteReader::new(header.get(1..).unwrap_or_default());
        let used = reader.u16_be().unwrap_or(OLD_HEADER);
        let mut reader = ByteReader::new(header.get(40..).unwrap_or_default());
        let next_id = self.header.next_id;
        if next_id == 0 {
            report(6, "the next record has the number 0".to_owned());
        }
        if let Ok(again) = reader.u32_be()
            && used > OLD_HEADER
            && again != next_id
        {
            let what = format!("the next record has the number {again} here, {next_id} at 0x6");
            report(40, what);
        }
        let after = record_offset(self.last_id().saturating_add(1));
        let mut buffer = ReadBuffer::default();
        let next = self.headers.read_up_to(after, RECORD_BYTES, &mut buffer)?;
        if next.len() == RECORD_BYTES && record::decode_kind(next).is_some() {
            let what = format!("a record in use follows the last one, {}", self.last_id());
            report(after, what);
        }
        Ok(())
    }

    fn check_extended(&self, report: &mut Report<'_>) -> io::Result<()> {
        let Some((header, storage)) = &self.extended else {
            return Ok(());
        };
        if header.count > self.last_id() {
            let (count, games) = (header.count, self.last_id());
            report(8, format!("{count} records for {games} games and texts"));
        }
        let present = storage.len()?.saturating_sub(HEADER_BYTES as u64);
        let present = present / u64::from(header.record_bytes);
        if present < header.count.into() {
            let claimed = header.count;
            report(8, format!("{claimed} records claimed, {present} found"));
        }
        Ok(())
    }
}

/// Checks the header of `.cbg` or `.cba`.
fn check_blob_header(storage: &dyn Storage, report: &mut Report<'_>) -> io::Result<()> {
    let mut buffer = ReadBuffer::default();
    let len = storage.len()?;
    let mut reader = ByteReader::new(storage.read_up_to(0, 26, &mut buffer)?);
    let Ok(header_bytes) = reader.u16_be() else {
        report(0, format!("a file of {len} bytes has no header"));
        return Ok(());
    };
    let [old, new] = BLOB_HEADERS;
    if ![old, new].contains(&header_bytes) {
        let what = format!("a header of {header_bytes} bytes, neither {old} nor {new}");
        report(0, what);
        return Ok(());
    }
    let (Ok(size), Ok(wasted)) = (reader.u32_be(), reader.u32_be()) else {
        report(0, format!("a file of {len} bytes has no header"));
        return Ok(());
    };
    // Files over 4 GiB need the long counters.
    if u64::from(size) != len && u32::try_from(len).is_ok() {
        report(2, format!("{size} bytes claimed, the file has {len}"));
    }
    if header_bytes == old {
        return Ok(());
    }
    let (Ok(long_size), Ok(long_wasted)) = (reader.u64_be(), reader.u64_be()) else {
        report(10, "the header is cut short".to_owned());
        return Ok(());
    };
    if long_size != len {
        report(10, format!("{long_size} bytes claimed, the file has {len}"));
    }
    if long_wasted != u64::from(wasted) && u32::try_from(long_wasted).is_ok() {
        let what = format!("{long_wasted} wasted bytes, but {wasted} at 0x6");
        report(18, what);
    }
    Ok(())
}

/// Returns the offset where the blobs of `.cbg` or the records of `.cba` begin.
pub(in crate::cbh) fn blobs_begin(storage: &dyn Storage) -> io::Result<u64> {
    let mut buffer = ReadBuffer::default();
    let mut reader = ByteReader::new(storage.read_up_to(0, 2, &mut buffer)?);
    let header_bytes = reader.u16_be().unwrap_or(0);
    let is_known = BLOB_HEADERS.contains(&header_bytes);
    Ok(if is_known { header_bytes.into() } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::samples;
    use crate::storage::MemoryFile;

    #[test]
    fn a_wrong_number_in_the_header_of_a_file_is_told_where_it_stands() {
        for (extension, at, bytes, wanted) in [
            ("cbh", 6, &[0, 0, 0, 16][..], &[][..]),
            (
                "cbh",
                6,
                &[0, 0, 0, 15],
                &[
                    "cbh 40 the next record has the number 16 here, 15 at 0x6",
                    "cbh 690 a record in use follows the last one, 14",
                    "cbj 8 15 records for 14 games and texts",
                ],
            ),
            (
                "cbh",
                40,
                &[0, 0, 0, 9],
                &["cbh 40 the next record has the number 9 here, 16 at 0x6"],
            ),
            // A header of an old base has no second number.
            ("cbh", 1, &[0, 36, 0, 46, 1, 0, 0, 0, 16], &[]),
            (
                "cbj",
                8,
                &[20],
                &[
                    "cbj 8 20 records for 15 games and texts",
                    "cbj 8 20 records claimed, 15 found",
                ],
            ),
            ("cbj", 8, &[14], &[]),
        ] {
            let (_folder, path) = samples::copy_of("sample");
            let file = path.with_extension(extension);
            let mut changed = std::fs::read(&file).unwrap();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            if (extension, at) == ("cbh", 1) {
                changed[40..44].fill(0);
            }
            std::fs::write(file, changed).unwrap();
            let database = Database::open(&path, &Options::default()).unwrap();
            let mut told = Vec::new();
            let mut report = |defect: crate::game::Defect| {
                told.push(format!("{} {} {}", defect.file, defect.offset, defect.what));
            };
            database.check_whole(&mut report).unwrap();
            told.retain(|told| told.starts_with("cbh") || told.starts_with("cbj"));
            assert_eq!(told, wanted, "{extension} {at}");
        }
    }

    #[test]
    fn the_header_of_blobs_is_compared_with_its_file_and_in_itself() {
        let header = samples::blob_header;
        let long = 1 << 32;
        for (bytes, wanted) in [
            (header(26, 40, 3, [40, 3]), &[][..]),
            (header(10, 40, 3, [9, 9]), &[]),
            (
                header(11, 40, 3, [40, 3]),
                &["0 a header of 11 bytes, neither 10 nor 26"],
            ),
            (
                header(10, 9, 3, [9, 9]),
                &["2 9 bytes claimed, the file has 40"],
            ),
            (
                header(26, 40, 3, [9, 3]),
                &["10 9 bytes claimed, the file has 40"],
            ),
            (
                header(26, 40, 3, [40, 9]),
                &["18 9 wasted bytes, but 3 at 0x6"],
            ),
            (header(26, 40, 3, [40, long]), &[]),
            (vec![0], &["0 a file of 1 bytes has no header"]),
            (
                header(10, 9, 0, [0; 2])[..9].to_vec(),
                &["0 a file of 9 bytes has no header"],
            ),
            (
                header(26, 25, 0, [25, 0])[..25].to_vec(),
                &["10 the header is cut short"],
            ),
        ] {
            let mut told = Vec::new();
            let mut report = |at: u64, what: String| told.push(format!("{at} {what}"));
            check_blob_header(&MemoryFile::from(bytes), &mut report).unwrap();
            assert_eq!(told, wanted);
        }
    }
}
