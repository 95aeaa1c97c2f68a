//! Repair of file headers.

use std::io;
use std::ops::Range;

use super::Fix;
use super::work::RepairWork;
use crate::bytes::ByteReader;
use crate::cbh::base::database::{head_bytes, record_offset};
use crate::cbh::edit::save::{Blobs, SaveError};
use crate::cbh::extended::{ExtendedHeader, ExtendedRecord, HEADER_BYTES};
use crate::cbh::record::{self, FileHeader, MOST_GAMES, RECORD_BYTES};
use crate::cbh::{ChangeError, Database, FileKind, RecordKind};
use crate::storage::{FilesAfter, ReadBuffer, Storage};

/// Lengths of the header of `.cbg` and `.cba`: in old bases, and in current
/// ones.
const BLOB_HEADERS: [u16; 2] = [10, 26];

/// The fewest bytes of a cut `.cbh` record that are completed: a game's record up to its
/// opening, a text's up to its media. Nothing else tells these fields.
const GAME_BYTES: usize = 37;
const TEXT_BYTES: usize = 22;

/// Number of records that are read at once.
const RECORDS_AT_ONCE: u64 = 4096;

/// Plans the repair of all file headers except those of entities. Returns
/// whether the records of `.cbj` can be read as they were stored.
pub(super) fn plan(
    database: &Database,
    files: &FilesAfter<'_>,
    work: &mut RepairWork<'_>,
) -> Result<bool, ChangeError> {
    let last_id = records(database, work)?;
    for file in [FileKind::Moves, FileKind::Annotations] {
        if let Some(storage) = database.storage(file) {
            let io = |source| ChangeError::from(database.io(file, source));
            let cut = cut_blobs(database, file, storage)?;
            for fix in blobs(file, storage).map_err(io)?.into_iter().chain(cut) {
                work.apply(fix)?;
            }
        }
    }
    let has_extended = extended_size(database, files, last_id, work)?;
    if has_extended {
        extended(database, last_id, work)?;
    }
    for file in [FileKind::TournamentExtras, FileKind::TopGames] {
        let is_known = match file {
            FileKind::TopGames => database.top_games.is_some(),
            _ => database.tournament_extras.is_some(),
        };
        let path = database.family().default_path(file);
        let name = path.file_name().unwrap_or_default();
        let Some(storage) = files.file(name)?.filter(|_| is_known) else {
            continue;
        };
        let fix = match file {
            FileKind::TopGames => top_games(storage.as_ref()),
            _ => extras(storage.as_ref()),
        };
        if let Some(fix) = fix.map_err(|source| database.io(file, source))? {
            work.apply(fix)?;
        }
    }
    Ok(has_extended)
}

/// Plans the repair of the `.cbh` header. Returns the correct number of the
/// last record.
fn records(database: &Database, work: &mut RepairWork<'_>) -> Result<u32, ChangeError> {
    let file = FileKind::Headers;
    let io = |source| ChangeError::from(database.io(file, source));
    let Some(storage) = database.storage(file) else {
        return Ok(database.last_id());
    };
    let mut buffer = ReadBuffer::default();
    let old = storage
        .read(0, RECORD_BYTES, &mut buffer)
        .map_err(io)?
        .to_vec();
    let claimed = database.header.next_id;
    let mut present = records_in(storage).map_err(io)?;
    if claimed.saturating_sub(1) > present
        && let Some(fix) = cut_record(storage, present + 1).map_err(io)?
    {
        work.apply(fix)?;
        present += 1;
    }
    let mut last_id = claimed.saturating_sub(1).min(present);
    let after = RECORD_BYTES as u64 * u64::from(last_id.saturating_add(1));
    let next = storage
        .read_up_to(after, RECORD_BYTES, &mut buffer)
        .map_err(io)?;
    if claimed == 0 || (next.len() == RECORD_BYTES && record::decode_kind(next).is_some()) {
        last_id = last_in_use(storage, present.min(MOST_GAMES))
            .map_err(io)?
            .max(last_id);
    }
    let mut new = old.clone();
    let header = FileHeader {
        next_id: last_id.saturating_add(1),
        ..database.header
    };
    let encoded = header.encode(&mut new);
    encoded.map_err(SaveError::malformed(file))?;
    if new != old {
        let next = header.next_id;
        let lost = match lost_bytes(storage, next).map_err(io)? {
            Some(len) => {
                format!("; of record {next} only {len} bytes are there, too few for a game")
            }
            None => String::new(),
        };
        let what = format!(
            "the number of the next record, {claimed} here, or its copy at 0x28 was wrong; it should be {next}{lost}"
        );
        work.apply(Fix {
            file,
            offset: 6,
            bytes: new.get(6..).unwrap_or_default().to_vec(),
            what,
        })?;
    }
    Ok(last_id)
}

/// The number of whole records in `.cbh`.
fn records_in(storage: &dyn Storage) -> io::Result<u32> {
    let present = storage.len()? / RECORD_BYTES as u64;
    Ok(u32::try_from(present.saturating_sub(1)).unwrap_or(u32::MAX))
}

/// Completes a record that `.cbh` ends in, if all is there that nothing else tells:
/// behind it stands what the moves and the remarks tell again.
fn cut_record(storage: &dyn Storage, id: u32) -> io::Result<Option<Fix>> {
    let offset = record_offset(id);
    let mut buffer = ReadBuffer::default();
    let cut = storage.read_up_to(offset, RECORD_BYTES, &mut buffer)?;
    let needed = match record::decode_kind(cut) {
        Some((RecordKind::Game, _)) => GAME_BYTES,
        Some((RecordKind::Text, _)) => TEXT_BYTES,
        None => return Ok(None),
    };
    Ok((cut.len() >= needed).then(|| Fix {
        file: FileKind::Headers,
        offset: offset + cut.len() as u64,
        bytes: vec![0; RECORD_BYTES - cut.len()],
        what: format!("record {id} has {} of its {RECORD_BYTES} bytes", cut.len()),
    }))
}

/// How many bytes of a record `.cbh` ends in, if it ends in it.
fn lost_bytes(storage: &dyn Storage, id: u32) -> io::Result<Option<u64>> {
    let offset = record_offset(id);
    let len = storage.len()?.saturating_sub(offset);
    Ok(Some(len).filter(|len| (1..RECORD_BYTES as u64).contains(len)))
}

/// Returns the last used record, searching from the end of the file.
fn last_in_use(storage: &dyn Storage, present: u32) -> io::Result<u32> {
    let mut buffer = ReadBuffer::default();
    let mut end = u64::from(present) + 1;
    while end > 1 {
        let first = end.saturating_sub(RECORDS_AT_ONCE).max(1);
        let size = usize::try_from(end - first).unwrap_or(0) * RECORD_BYTES;
        let bytes = storage.read(first * RECORD_BYTES as u64, size, &mut buffer)?;
        let mut records = bytes.chunks_exact(RECORD_BYTES);
        let last = records.rposition(|record| record::decode_kind(record).is_some());
        if let Some(last) = last {
            return Ok(u32::try_from(first + last as u64).unwrap_or(u32::MAX));
        }
        end = first;
    }
    Ok(0)
}

/// Repairs for blobs that the end of `.cbg` or `.cba` cuts: what is appended would
/// otherwise be read as the rest of them. Each becomes as long as what is there before the
/// next one. For those that began behind the end the file gets room, and their heads say
/// that they are none.
fn cut_blobs(
    database: &Database,
    file: FileKind,
    storage: &dyn Storage,
) -> Result<Vec<Fix>, ChangeError> {
    let io = |source| ChangeError::from(database.io(file, source));
    let len = storage.len().map_err(io)?;
    let found = Blobs::of(database, file, 1..u32::MAX, len)?;
    let cut = found.cut(file, storage, len).map_err(io)?;
    let mut fixes: Vec<Fix> = cut.into_iter().map(|cut| cut_blob(file, cut)).collect();
    if let Some(offset) = found.lost {
        fixes.push(Fix {
            file,
            offset: offset + head_bytes(file) as u64 - 1,
            bytes: vec![0],
            what: format!("a blob begins at {offset:#x}, and the file has {len} bytes"),
        });
    }
    Ok(fixes)
}

/// Makes a blob as long as what is there, or none if that does not say how long it was.
fn cut_blob(file: FileKind, there: Range<u64>) -> Fix {
    let size_bytes = if file == FileKind::Moves { 3 } else { 4 };
    let least = head_bytes(file);
    let left = u32::try_from(there.end - there.start).unwrap_or(u32::MAX);
    let (at, bytes) = match left.to_be_bytes().get(4 - size_bytes..) {
        Some(size) if left as usize >= least => (least - size_bytes, size.to_vec()),
        _ => (0, vec![0; least]),
    };
    Fix {
        file,
        offset: there.start + at as u64,
        bytes,
        what: format!(
            "the blob at {:#x} ends past the file ({left} bytes are there)",
            there.start
        ),
    }
}

/// Repairs for the header of `.cbg` or `.cba`.
fn blobs(file: FileKind, storage: &dyn Storage) -> io::Result<Vec<Fix>> {
    let len = storage.len()?;
    let mut buffer = ReadBuffer::default();
    let head = storage.read_up_to(0, 26, &mut buffer)?;
    let mut fixes = Vec::new();
    let mut fix = |offset, bytes: Vec<u8>, what| {
        fixes.push(Fix {
            file,
            offset,
            bytes,
            what,
        });
    };
    let mut reader = ByteReader::new(head);
    let (Ok(stated), Ok(size), Ok(wasted)) = (reader.u16_be(), reader.u32_be(), reader.u32_be())
    else {
        return Ok(fixes);
    };
    let long = (reader.u64_be(), reader.u64_be());
    let short_len = u32::try_from(len).unwrap_or(u32::MAX);
    let [old, new] = BLOB_HEADERS;
    let header_bytes = match long {
        _ if BLOB_HEADERS.contains(&stated) => stated,
        (Ok(long_size), _) if long_size == len => new,
        _ if size == short_len => old,
        _ => return Ok(fixes),
    };
    if header_bytes != stated {
        let what = format!("a header of {stated} bytes, should be {header_bytes}");
        fix(0, header_bytes.to_be_bytes().to_vec(), what);
    }
    if size != short_len && u32::try_from(len).is_ok() {
        let what = format!("{size} bytes claimed, the file has {len}");
        fix(2, short_len.to_be_bytes().to_vec(), what);
    }
    if let (Ok(long_size), Ok(long_wasted)) = long
        && header_bytes == new
    {
        if long_size != len {
            let what = format!("{long_size} bytes claimed, the file has {len}");
            fix(10, len.to_be_bytes().to_vec(), what);
        }
        if long_wasted != u64::from(wasted) && wasted != u32::MAX {
            let what = format!("{long_wasted} wasted bytes, but {wasted} at 0x6");
            fix(18, u64::from(wasted).to_be_bytes().to_vec(), what);
        }
    }
    Ok(fixes)
}

/// Plans the repair of the record size in the `.cbj` header. Returns whether the
/// size is certain: any other would lay what is written across the records.
fn extended_size(
    database: &Database,
    files: &FilesAfter<'_>,
    last_id: u32,
    work: &mut RepairWork<'_>,
) -> Result<bool, ChangeError> {
    let file = FileKind::Extended;
    let io = |source| ChangeError::from(database.io(file, source));
    let path = database.family().default_path(file);
    let Some(storage) = files.file(path.file_name().unwrap_or_default())? else {
        return Ok(false);
    };
    let mut buffer = ReadBuffer::default();
    let head = storage.read_up_to(0, HEADER_BYTES, &mut buffer);
    let Ok(header) = ExtendedHeader::stated(head.map_err(io)?) else {
        work.leave_extended(0, "the header is cut short");
        return Ok(false);
    };
    let stated = header.record_bytes;
    let certain = header.certain_record_bytes(storage.len().map_err(io)?);
    match certain.filter(|&size| size == stated || header.count <= last_id) {
        Some(size) if size != stated => work.apply(Fix {
            file,
            offset: 4,
            bytes: size.to_le_bytes().to_vec(),
            what: format!("records of {stated} bytes claimed, should be {size}"),
        })?,
        Some(_) => {}
        None => {
            let what = format!("record size {stated} does not fit the version and the length");
            work.leave_extended(4, &what);
            return Ok(false);
        }
    }
    Ok(true)
}

/// Plans the repair of the number of records in the `.cbj` header.
fn extended(
    database: &Database,
    last_id: u32,
    work: &mut RepairWork<'_>,
) -> Result<(), ChangeError> {
    let file = FileKind::Extended;
    let Some((header, storage)) = &database.extended else {
        return Ok(());
    };
    let io = |source| ChangeError::from(database.io(file, source));
    let len = storage.len().map_err(io)?;
    let size = u64::from(header.record_bytes);
    let mut present = len.saturating_sub(HEADER_BYTES as u64) / size;
    let mut end = HEADER_BYTES as u64 + present * size;
    let counted = u64::from(header.count.min(last_id));
    if end < len && present < counted {
        let mut buffer = ReadBuffer::default();
        let cut = storage.read_up_to(end, header.record_bytes as usize, &mut buffer);
        let cut = cut.map_err(io)?;
        let whole = ExtendedRecord::whole_bytes(cut, header.record_bytes as usize);
        present += 1;
        work.apply(Fix {
            file,
            offset: end,
            what: format!("record {present} has {} of its {size} bytes", cut.len()),
            bytes: whole,
        })?;
        end = len;
    }
    let present = u32::try_from(present).unwrap_or(u32::MAX);
    // A smaller count than the file contains would lose data of games.
    let is_whole = end == len && present <= last_id;
    let count = if is_whole {
        present
    } else {
        header.count.min(present).min(last_id)
    };
    if header.count != count {
        let claimed = header.count;
        let what =
            format!("{claimed} records claimed, {present} found for {last_id} games and texts");
        work.apply(Fix {
            file,
            offset: 8,
            bytes: count.to_le_bytes().to_vec(),
            what,
        })?;
    }
    Ok(())
}

/// Repair for the `.cbtt` header.
fn extras(storage: &dyn Storage) -> io::Result<Option<Fix>> {
    let mut buffer = ReadBuffer::default();
    let len = storage.len()?;
    let mut reader = ByteReader::new(storage.read_up_to(4, 8, &mut buffer)?);
    let (Ok(size), Ok(last)) = (reader.u32_le(), reader.i32_le()) else {
        return Ok(None);
    };
    if !(61..=4096).contains(&size) {
        return Ok(None);
    }
    let present = len.saturating_sub(32) / u64::from(size);
    let should = u32::try_from(present.saturating_sub(1)).unwrap_or(0);
    if last == 0 || u64::try_from(last).is_ok_and(|last| last < present) {
        return Ok(None);
    }
    Ok(Some(Fix {
        file: FileKind::TournamentExtras,
        offset: 8,
        bytes: should.to_le_bytes().to_vec(),
        what: format!("record {last} is the last one claimed, {present} found"),
    }))
}

/// Repair for the `.flags` header.
fn top_games(storage: &dyn Storage) -> io::Result<Option<Fix>> {
    let mut buffer = ReadBuffer::default();
    let mut reader = ByteReader::new(storage.read_up_to(4, 4, &mut buffer)?);
    let words = reader.u32_be().unwrap_or(0);
    let present = storage.len()?.saturating_sub(12);
    if present >= 4 * u64::from(words) {
        return Ok(None);
    }
    let should = u32::try_from(present / 4).unwrap_or(0);
    Ok(Some(Fix {
        file: FileKind::TopGames,
        offset: 4,
        bytes: should.to_be_bytes().to_vec(),
        what: format!("{words} words claimed, {present} bytes found"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::base::samples;
    use crate::storage::MemoryFile;

    #[test]
    fn the_header_of_blobs_says_its_own_length_and_that_of_the_file() {
        let header = samples::blob_header;
        for (bytes, fixes) in [
            (header(26, 40, 3, [40, 3]), vec![]),
            (header(10, 40, 3, [9, 9]), vec![]),
            // The length tells which of the two headers it was.
            (
                header(5, 9, 3, [40, 3]),
                vec![(0, vec![0, 26]), (2, vec![0, 0, 0, 40])],
            ),
            (header(5, 40, 3, [9, 9]), vec![(0, vec![0, 10])]),
            (header(5, 9, 3, [9, 9]), vec![]),
            (header(10, 9, 3, [9, 9]), vec![(2, vec![0, 0, 0, 40])]),
            (
                header(26, 40, 3, [9, 3]),
                vec![(10, vec![0, 0, 0, 0, 0, 0, 0, 40])],
            ),
            (
                header(26, 40, 3, [40, 9]),
                vec![(18, vec![0, 0, 0, 0, 0, 0, 0, 3])],
            ),
            (header(26, 40, u32::MAX, [40, 9]), vec![]),
            (header(26, 40, 3, [9, 9])[..9].to_vec(), vec![]),
        ] {
            let storage = MemoryFile::from(bytes.clone());
            let found = blobs(FileKind::Moves, &storage).unwrap();
            let found: Vec<_> = found
                .into_iter()
                .map(|fix| (fix.offset, fix.bytes))
                .collect();
            assert_eq!(found, fixes, "{bytes:?}");
        }
    }

    #[test]
    fn top_games_and_event_data_claim_no_more_than_is_there() {
        let top = |words: u8, len| {
            let mut bytes = vec![0x0f, 1, 11, 9, 0, 0, 0, words];
            bytes.resize(len, 0);
            top_games(&MemoryFile::from(bytes))
        };
        let events = |size: u8, last: i32, len| {
            let mut bytes = vec![3, 0, 0, 0, size, 0, 0, 0];
            bytes.extend(last.to_le_bytes());
            bytes.resize(len, 0);
            extras(&MemoryFile::from(bytes))
        };
        for (fix, bytes) in [
            (top(2, 12 + 8), None),
            (top(2, 12 + 7), Some((4, vec![0, 0, 0, 1]))),
            (top(9, 12 + 30), Some((4, vec![0, 0, 0, 7]))),
            (top(1, 10), Some((4, vec![0; 4]))),
            (events(65, 1, 32 + 130), None),
            (events(65, 2, 32 + 194), Some((8, vec![1, 0, 0, 0]))),
            (events(65, -1, 32 + 130), Some((8, vec![1, 0, 0, 0]))),
            (events(65, 0, 32), None),
            (events(60, 9, 32), None),
            (events(61, 9, 32), Some((8, vec![0; 4]))),
        ] {
            let fix = fix.unwrap().map(|fix| (fix.offset, fix.bytes));
            assert_eq!(fix, bytes);
        }
    }
}
