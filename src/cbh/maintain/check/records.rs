//! Check of records, and of their moves, annotations and texts.

use super::STRETCH;
use super::extents::Extent;
use super::files::blobs_begin;
use crate::bytes::Malformed;
use crate::cbh::annotations::{self, Shape};
use crate::cbh::base::database::{record_offset, with_blob};
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::maintain::repair::Fix;
use crate::cbh::moves::{Irregularities, blob_size};
use crate::cbh::record::RECORD_BYTES;
use crate::cbh::record::{self, GameRecord, TextRecord};
use crate::cbh::{Database, Decoded, Error};
use crate::cbh::{FileKind, GameFacts, GuidingText, RecordKind};
use crate::game::Defect;
use crate::storage::ReadBuffer;
use crate::storage::Storage;

/// Result of checking a range of records.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// Number of records in the range.
    pub(super) records: u32,
    pub(super) defects: Vec<Defect>,
    /// The blobs of `.cbg` that lie within the file.
    pub(super) moves: Vec<Extent>,
    /// The records of `.cba` that lie within the file.
    pub(super) remarks: Vec<Extent>,
    /// Repairs of some of the defects.
    pub(super) fixes: Vec<Fix>,
    /// Annotation records that state another game than the one they belong to.
    pub(super) misnamed: Vec<Misnamed>,
}

/// An annotation record in `.cba` that states another game than the one it
/// belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Misnamed {
    pub(super) offset: u64,
    /// The game that it belongs to.
    pub(super) record: u32,
    /// The game that it states.
    pub(super) names: u32,
}

impl Misnamed {
    /// The repair: the right number, if the record has room for it.
    pub(super) fn fix(self) -> Option<Fix> {
        let [0, number @ ..] = self.record.to_be_bytes() else {
            return None;
        };
        let (record, names) = (self.record, self.names);
        Some(Fix {
            file: FileKind::Annotations,
            offset: self.offset,
            bytes: number.to_vec(),
            what: format!("game {record}: the record is that of game {names}"),
        })
    }
}

impl Stretch {
    fn add(&mut self, file: FileKind, offset: u64, what: String) {
        self.defects.push(Defect {
            file: file.extension(),
            offset,
            what,
        });
    }
}

/// Checks records one after the other.
struct Checker<'a> {
    database: &'a Database,
    found: Stretch,
    decoded: Decoded,
    /// Offsets where blobs begin in `.cbg`, and records in `.cba`.
    begins: [u64; 2],
}

impl Database {
    /// Checks up to [`STRETCH`] records from `first` on.
    pub(super) fn check_stretch(&self, first: u32) -> Result<Stretch, Error> {
        let end = self.last_id().saturating_add(1).min(first + STRETCH);
        let (mut buffer, mut extended_buffer) = (ReadBuffer::default(), ReadBuffer::default());
        let length = RECORD_BYTES * (end - first) as usize;
        let records = self
            .headers
            .read(record_offset(first), length, &mut buffer)
            .map_err(|source| self.io(FileKind::Headers, source))?;
        let extended = self.kept_extended_records(first, end, &mut extended_buffer)?;
        let extended = extended.chunks(self.extended_record_bytes());
        let extended = extended.chain(std::iter::repeat(&[][..]));
        let begin = |kind, storage: &dyn Storage| {
            blobs_begin(storage).map_err(|source| self.io(kind, source))
        };
        let begins = [
            begin(FileKind::Moves, self.moves.as_ref())?,
            begin(FileKind::Annotations, self.annotations.as_ref())?,
        ];
        let mut checker = Checker {
            database: self,
            found: Stretch::default(),
            decoded: Decoded::reading_ahead(),
            begins,
        };
        let records = (first..).zip(records.chunks_exact(RECORD_BYTES));
        for ((id, bytes), extended) in records.zip(extended) {
            checker.record(id, bytes, extended)?;
        }
        checker.found.records = end - first;
        Ok(checker.found)
    }
}

impl Checker<'_> {
    fn record(&mut self, id: u32, bytes: &[u8], extended: &[u8]) -> Result<(), Error> {
        let at = record_offset(id);
        match record::decode_kind(bytes) {
            Some((RecordKind::Game, _)) => self.game(id, bytes, extended),
            Some((RecordKind::Text, _)) => self.text(id, bytes, extended),
            None if bytes.iter().all(|&byte| byte == 0) => Ok(()),
            None => {
                let first = bytes.first().copied().unwrap_or(0);
                let what = format!("record {id} is neither game nor text ({first:#04x})");
                self.found.add(FileKind::Headers, at, what);
                Ok(())
            }
        }
    }

    fn game(&mut self, id: u32, bytes: &[u8], extended: &[u8]) -> Result<(), Error> {
        let at = record_offset(id);
        let (record, stored) = match (GameRecord::decode(bytes), GameFacts::stored(bytes)) {
            (Ok(record), Ok(stored)) => (record, stored),
            (Err(fault), _) | (_, Err(fault)) => {
                self.found.add(FileKind::Headers, at, fault.what);
                return Ok(());
            }
        };
        if record.result().is_none() {
            let what = format!("game {id}: result {} has no meaning", record.result);
            self.found.add(FileKind::Headers, at + 27, what);
        }
        let database = self.database;
        let moves_at = database
            .moves_offset(record.moves_offset, &ExtendedRecord::decode(extended))
            .map_err(|source| database.io(FileKind::Moves, source))?;
        let remarks_at = u64::from(record.annotations_offset);
        self.offsets(id, extended, moves_at, remarks_at);
        let is_whole = self.moves(id, moves_at, record.move_count)?;
        let facts = match remarks_at {
            0 => GameFacts::of(&self.decoded.game, &[]),
            _ => match self.remarks(id, remarks_at, is_whole)? {
                Some(facts) => facts,
                None => return Ok(()),
            },
        };
        // The annotations of an incomplete game cannot be checked.
        if is_whole {
            let mut told = Vec::new();
            for (offset, what) in facts.differences(stored) {
                let what = format!("game {id} {what}");
                told.push(what.clone());
                self.found.add(FileKind::Headers, at + offset as u64, what);
            }
            if !told.is_empty() {
                let (offset, bytes) = facts.over(stored).encode();
                self.found.fixes.push(Fix {
                    file: FileKind::Headers,
                    offset: at + offset as u64,
                    bytes,
                    what: told.join("; "),
                });
            }
        }
        Ok(())
    }

    /// Checks that the record of `.cbj` repeats the offsets in `.cbh`.
    fn offsets(&mut self, id: u32, extended: &[u8], moves_at: u64, remarks_at: u64) {
        let Some((header, _)) = &self.database.extended else {
            return;
        };
        let at = header.offset_of(id).unwrap_or(0);
        let [remarks, moves] = ExtendedRecord::offsets(extended);
        for (place, again, file, should) in [
            (12, remarks, FileKind::Annotations, remarks_at),
            (30, moves, FileKind::Moves, moves_at),
        ] {
            if let Some(again) = again.filter(|&again| again != should) {
                let what = format!(
                    "offset of record {id} in .{} is {again:#x}, {should:#x} in .cbh",
                    file.extension()
                );
                self.found.add(FileKind::Extended, at + place, what.clone());
                self.found.fixes.push(Fix {
                    file: FileKind::Extended,
                    offset: at + place,
                    bytes: should.to_be_bytes().to_vec(),
                    what,
                });
            }
        }
    }

    /// Returns whether a blob begins outside of the valid range, and reports it
    /// if so.
    fn is_misplaced(&mut self, id: u32, file: FileKind, offset: u64) -> Result<bool, Error> {
        let database = self.database;
        let [moves_begin, remarks_begin] = self.begins;
        let (storage, begins) = match file {
            FileKind::Moves => (database.moves.as_ref(), moves_begin),
            _ => (database.annotations.as_ref(), remarks_begin),
        };
        let io = |source| database.io(file, source);
        let len = storage.len().map_err(io)?;
        let place = if offset < begins {
            "in the header of the file".to_owned()
        } else if offset >= len {
            storage.ensure_kept(offset.saturating_add(1)).map_err(io)?;
            format!("past the end of the file, which has {len} bytes")
        } else {
            return Ok(false);
        };
        let what = format!("the blob of record {id} begins {place}");
        self.found.add(file, offset, what);
        Ok(true)
    }

    /// Decodes the moves; returns whether they are complete.
    fn moves(&mut self, id: u32, offset: u64, move_count: u8) -> Result<bool, Error> {
        if self.is_misplaced(id, FileKind::Moves, offset)? {
            self.decoded.game.clear();
            return Ok(false);
        }
        let database = self.database;
        let Decoded {
            game,
            moves,
            buffer,
            ..
        } = &mut self.decoded;
        game.clear();
        let mut size = None;
        let decode = |blob: &[u8]| {
            size = Some(blob.len());
            moves.decode(blob, move_count, game)
        };
        let read = with_blob(database.moves.as_ref(), offset, blob_size, buffer, decode)
            .map_err(|source| database.io(FileKind::Moves, source))?;
        let irregularities = moves.irregularities();
        self.extent(id, FileKind::Moves, offset, size);
        match &read {
            Ok(()) => self.irregularities(id, offset, size.unwrap_or(0), irregularities),
            Err(fault) => self.fault(id, FileKind::Moves, offset, fault),
        }
        Ok(read.is_ok())
    }

    fn fault(&mut self, id: u32, file: FileKind, offset: u64, fault: &Malformed) {
        let at = offset.saturating_add(fault.offset as u64);
        self.found
            .add(file, at, format!("game {id}: {}", fault.what));
    }

    /// Reports irregularities of moves that were decoded to the end.
    fn irregularities(
        &mut self,
        id: u32,
        offset: u64,
        size: usize,
        irregularities: Irregularities,
    ) {
        let is_chess960 = self.decoded.game.start.is_chess960;
        // ChessBase writes one before the first castling in Chess960 games.
        if let Some(at) = irregularities.ignored.filter(|_| !is_chess960) {
            let what = format!("game {id}: an opcode to ignore");
            self.found.add(FileKind::Moves, offset + at as u64, what);
        }
        let end = offset + size as u64;
        if irregularities.lacks_end {
            let what = format!("game {id}: no end marker");
            self.found.add(FileKind::Moves, end, what);
        }
    }

    /// Checks the annotation record of the game that was decoded last, whose
    /// moves may be incomplete. Returns `None` if the record is damaged.
    fn remarks(
        &mut self,
        id: u32,
        offset: u64,
        is_whole: bool,
    ) -> Result<Option<GameFacts>, Error> {
        if self.is_misplaced(id, FileKind::Annotations, offset)? {
            return Ok(None);
        }
        let database = self.database;
        let Decoded { game, buffer, .. } = &mut self.decoded;
        let plies = is_whole.then(|| game.tree.len());
        let (mut seen, mut named) = (None, None);
        let look = |bytes: &[u8]| {
            let shape = Shape::of(bytes, plies);
            named = shape.other_name(id);
            let facts = shape.is_whole().then(|| GameFacts::of(game, bytes));
            seen = Some((bytes.len(), shape, facts));
            Ok(())
        };
        let storage = database.annotations.as_ref();
        let read = with_blob(storage, offset, annotations::record_size, buffer, look)
            .map_err(|source| database.io(FileKind::Annotations, source))?;
        let Some((size, shape, facts)) = seen else {
            if let Err(fault) = &read {
                self.fault(id, FileKind::Annotations, offset, fault);
            }
            return Ok(None);
        };
        self.extent(id, FileKind::Annotations, offset, Some(size));
        if let Err(fault) = &read {
            self.fault(id, FileKind::Annotations, offset, fault);
            return Ok(None);
        }
        for fault in [shape.irregularities(id), shape.losses()].concat() {
            self.fault(id, FileKind::Annotations, offset, &fault);
        }
        self.found.misnamed.extend(named.map(|names| Misnamed {
            offset,
            record: id,
            names,
        }));
        Ok(facts)
    }

    fn text(&mut self, id: u32, bytes: &[u8], extended: &[u8]) -> Result<(), Error> {
        let Ok(record) = TextRecord::decode(bytes) else {
            return Ok(());
        };
        let database = self.database;
        let io = |source| database.io(FileKind::Moves, source);
        let offset = database
            .moves_offset(record.offset, &ExtendedRecord::decode(extended))
            .map_err(io)?;
        self.offsets(id, extended, offset, 0);
        if self.is_misplaced(id, FileKind::Moves, offset)? {
            return Ok(());
        }
        let buffer = &mut self.decoded.buffer;
        let head = database.moves.read_up_to(offset, 4, buffer).map_err(io)?;
        let size = blob_size(head).ok();
        let mut text = GuidingText::default();
        let read = database
            .read_text_body(offset, buffer, &mut text)
            .map_err(io)?;
        let len = database.moves.len().map_err(io)?;
        let size = size.filter(|&size| size as u64 <= len.saturating_sub(offset));
        self.extent(id, FileKind::Moves, offset, size);
        if let Err(fault) = read {
            let at = offset.saturating_add(fault.offset as u64);
            let what = format!("text {id}: {}", fault.what);
            self.found.add(FileKind::Moves, at, what);
        }
        Ok(())
    }

    /// Adds the extent of a blob, if its size is known.
    fn extent(&mut self, record: u32, file: FileKind, offset: u64, size: Option<usize>) {
        let extents = match file {
            FileKind::Moves => &mut self.found.moves,
            _ => &mut self.found.remarks,
        };
        let size = size.and_then(|size| u32::try_from(size).ok());
        extents.extend(size.map(|size| Extent {
            offset,
            size,
            record,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::samples;

    const SAMPLE: &str = "fixtures/cbh/sample/sample";

    /// Records of games 3 and 4 in `.cbh`, and of a text.
    const THREE: usize = 3 * RECORD_BYTES;
    const FOUR: usize = 4 * RECORD_BYTES;
    const TEXT: usize = 15 * RECORD_BYTES;

    /// The number of four bytes in a file of the sample.
    fn number(extension: &str, at: usize) -> u32 {
        let bytes = std::fs::read(format!("{SAMPLE}.{extension}")).unwrap();
        u32::from_be_bytes(bytes[at..].first_chunk().copied().unwrap())
    }

    /// Checks the sample with these bytes at a place of a file. Returns the defects,
    /// the number of repairs, and that of blobs of moves and texts.
    fn told(extension: &str, at: u32, bytes: &[u8]) -> (Vec<String>, usize, usize) {
        let (_folder, path) = samples::copy_of("sample");
        let file = path.with_extension(extension);
        let mut changed = std::fs::read(&file).unwrap();
        changed[at as usize..][..bytes.len()].copy_from_slice(bytes);
        std::fs::write(file, changed).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let found = database.check_stretch(1).unwrap();
        assert_eq!(found.records, 15);
        let defects = found.defects.iter();
        let defects = defects.map(|told| format!("{} {}", told.offset, told.what));
        (defects.collect(), found.fixes.len(), found.moves.len())
    }

    #[test]
    fn damage_of_a_record_is_told_where_it_stands() {
        let count = number("cbh", THREE + 42).to_be_bytes()[3];
        for (at, bytes, wanted, fixes, blobs) in [
            (0, &[1][..], "", 0, 15),
            (
                0,
                &[2],
                "138 record 3 is neither game nor text (0x02)",
                0,
                14,
            ),
            (0, &[0; RECORD_BYTES], "", 0, 14),
            (27, &[77], "165 game 3: result 77 has no meaning", 0, 15),
            (45, &[count + 1], "183 game 3 ", 1, 15),
        ] {
            let (defects, repaired, seen) = told("cbh", 138 + at, bytes);
            assert_eq!((repaired, seen), (fixes, blobs), "{at}");
            assert_eq!(defects.len(), usize::from(!wanted.is_empty()));
            assert!(
                defects.iter().all(|told| told.starts_with(wanted)),
                "{defects:?}"
            );
        }
    }

    #[test]
    fn an_offset_that_leads_to_no_blob_is_told_with_its_copy() {
        let past = std::fs::metadata(format!("{SAMPLE}.cbg")).unwrap().len();
        let past = u32::try_from(past).unwrap();
        let begins = "begins in the header of the file";
        let ends = format!("begins past the end of the file, which has {past} bytes");
        for (place, copy, id, of, offset, what, blobs) in [
            (THREE + 1, 302, 3, "cbg", 25, begins, 14),
            (THREE + 1, 302, 3, "cbg", past, &*ends, 14),
            (FOUR + 5, 404, 4, "cba", 25, begins, 15),
        ] {
            let was = number("cbh", place);
            let place = u32::try_from(place).unwrap();
            let (defects, fixes, seen) = told("cbh", place, &offset.to_be_bytes());
            assert_eq!((fixes, seen), (1, blobs));
            let copy =
                format!("{copy} offset of record {id} in .{of} is {was:#x}, {offset:#x} in .cbh");
            let blob = format!("{offset} the blob of record {id} {what}");
            assert_eq!(defects, [copy, blob]);
        }
    }

    #[test]
    fn damage_of_moves_and_texts_is_told_where_it_is() {
        let [moves, text] = [THREE, TEXT].map(|record| number("cbh", record + 1));
        let size = number("cbg", moves as usize) & 0xff_ffff;
        let shorter = size - 1;
        for (at, bytes, wanted, blobs) in [
            (
                moves,
                [0, 0, 3],
                format!("{} game 3: blob size is 3", moves + 1),
                14,
            ),
            (
                moves,
                *shorter.to_be_bytes().last_chunk().unwrap(),
                format!("{} game 3: no end marker", moves + shorter),
                15,
            ),
            (text, [0, 0, 3], format!("{} text 15: ", text + 1), 14),
            (text, [0xff; 3], format!("{text} text 15: "), 14),
        ] {
            let (defects, fixes, seen) = told("cbg", at + 1, &bytes);
            assert_eq!((fixes, seen), (0, blobs), "{wanted}");
            let is_told = defects.len() == 1 && defects[0].starts_with(&wanted);
            assert!(is_told, "{defects:?}");
        }
    }
}
