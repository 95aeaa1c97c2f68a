//! An open base: reading of its records and games.

mod check;
mod copied;
mod headers;
mod lists;
mod opening;

pub use copied::{Lost, Original};

use std::io;
use std::time::SystemTime;

use super::entities::{Entities, language_of};
use super::frame::{self, HEAD_BYTES, content_bytes, with_frame};
use super::record::{Cbh2Header, Cbh2Record, RECORD_BYTES, RecordType};
use super::{Family, FileKind, annotations, moves, texts};
use crate::bytes::Malformed;
use crate::cbh::{
    CachedLists, CodePage, Decoded, Error, GameId, GuidingText, TextLanguage, lift_foreign_tags,
};
use crate::game::{Defect, PlyId};
use crate::storage::{ReadBuffer, Storage, marked};

/// An open base. Reads take `&self` and no lock: any number of threads can read
/// at once, each into its own [`Decoded`].
#[derive(Debug)]
pub struct Database {
    family: Family,
    page: CodePage,
    is_page_given: bool,
    modified: SystemTime,
    header: Cbh2Header,
    last_id: u32,
    headers: Box<dyn Storage>,
    moves: Box<dyn Storage>,
    /// `None` if the base has no file of annotations.
    annotations: Option<Box<dyn Storage>>,
    entities: Entities,
    defects: Vec<Defect>,
    lists: CachedLists,
}

impl Database {
    /// The files of the base.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Number of records. Games and texts are numbered from 1 to this.
    pub fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Version of `.2cbh`: 3 or 5.
    pub fn version(&self) -> u8 {
        self.header.version
    }

    /// The code page of names and texts that are not UTF-8.
    pub fn code_page(&self) -> CodePage {
        self.page
    }

    /// Returns whether the code page was given, not detected.
    pub fn is_code_page_given(&self) -> bool {
        self.is_page_given
    }

    /// Time of the last change of `.2cbh`.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Total length of all its files now, in bytes.
    pub fn size_on_disk(&self) -> u64 {
        let kinds = FileKind::ALL.into_iter();
        let all = kinds.filter_map(|kind| self.family.length_and_time(kind));
        all.map(|(bytes, _)| bytes).sum()
    }

    /// Defects of the base as a whole.
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }

    /// Decodes one game or analysis into `decoded`.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`] if its
    /// record cannot be read, or the medium fails. Damage in the moves or an
    /// entity is no error: `decoded` has what could be read and says what
    /// not.
    pub fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        self.read_game_weighed(id, decoded, |_| ())
    }

    /// As [`read_game`](Database::read_game), but tells `weigh` before how many
    /// bytes the moves and annotations of the game take in their files, as far
    /// as known: so a long one can wait until there is memory for it.
    ///
    /// # Errors
    ///
    /// As of [`read_game`](Database::read_game).
    pub fn read_game_weighed(
        &self,
        id: GameId,
        decoded: &mut Decoded,
        weigh: impl FnOnce(u64),
    ) -> Result<(), Error> {
        decoded.game.clear();
        decoded.defects.clear();
        decoded.mark = 0;
        let mut bytes = [0; RECORD_BYTES];
        let (kind, record) = self.record(id, &mut bytes, &mut decoded.buffer)?;
        if kind == RecordType::Text {
            return Err(Error::NotUsed(id));
        }
        weigh(self.stored_bytes(&record, &mut decoded.buffer)?);
        self.read_headers(kind, &record, decoded)?;
        let known_to = self.read_moves(record.moves(), decoded)?;
        self.read_annotations(record.annotations(), known_to, decoded)?;
        lift_foreign_tags(&mut decoded.game);
        Ok(())
    }

    /// As [`read_game`](Database::read_game), but for the start and the moves only:
    /// the headers of the game in `decoded` say nothing, and it has no annotations.
    ///
    /// # Errors
    ///
    /// As [`read_game`](Database::read_game).
    pub fn read_moves_only(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        decoded.game.clear_moves();
        decoded.defects.clear();
        decoded.mark = 0;
        let mut bytes = [0; RECORD_BYTES];
        let (kind, record) = self.record(id, &mut bytes, &mut decoded.buffer)?;
        if kind == RecordType::Text {
            return Err(Error::NotUsed(id));
        }
        self.read_moves(record.moves(), decoded)?;
        decoded.mark = self.mark_with_annotations(&record, decoded.mark, &mut decoded.buffer)?;
        Ok(())
    }

    /// Returns a hash of the moves and annotations of one game as stored: another
    /// one if the moves that are read from them could be others.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`].
    pub fn stored_fingerprint(&self, id: GameId, buffer: &mut ReadBuffer) -> Result<u64, Error> {
        let mut bytes = [0; RECORD_BYTES];
        let (kind, record) = self.record(id, &mut bytes, buffer)?;
        if kind == RecordType::Text {
            return Err(Error::NotUsed(id));
        }
        let mut mark = 0;
        let read = with_frame(self.moves.as_ref(), record.moves(), buffer, |frame, _| {
            mark = marked(frame.tag.into(), frame.content);
        });
        // A frame that is none leaves no mark, as when the game is read.
        drop(read.map_err(|source| self.io(FileKind::Moves, source))?);
        self.mark_with_annotations(&record, mark, buffer)
    }

    /// The mark of a game, of that of its moves.
    fn mark_with_annotations(
        &self,
        record: &Cbh2Record<'_>,
        mut mark: u64,
        buffer: &mut ReadBuffer,
    ) -> Result<u64, Error> {
        if let Some(storage) = &self.annotations {
            let offset = record.annotations();
            let read = with_frame(storage.as_ref(), offset, buffer, |frame, _| {
                mark = marked(mark, frame.content);
            });
            drop(read.map_err(|source| self.io(FileKind::Annotations, source))?);
        }
        Ok(mark)
    }

    /// Number of bytes that the moves and annotations of one game take in their
    /// files, as far as known.
    fn stored_bytes(&self, record: &Cbh2Record<'_>, buffer: &mut ReadBuffer) -> Result<u64, Error> {
        let moves = content_bytes(self.moves.as_ref(), record.moves(), buffer);
        let remarks = match &self.annotations {
            None => Ok(0),
            Some(file) => content_bytes(file.as_ref(), record.annotations(), buffer),
        };
        let moves = moves.map_err(|source| self.io(FileKind::Moves, source))?;
        Ok(moves + remarks.map_err(|source| self.io(FileKind::Annotations, source))?)
    }

    /// Copies a record of a known kind to `copy` and returns it.
    fn record<'c>(
        &self,
        id: GameId,
        copy: &'c mut [u8; RECORD_BYTES],
        buffer: &mut ReadBuffer,
    ) -> Result<(RecordType, Cbh2Record<'c>), Error> {
        if id.0 == 0 || id.0 > self.last_id {
            return Err(Error::NotUsed(id));
        }
        let read = self.headers.read(record_offset(id), RECORD_BYTES, buffer);
        let bytes = read.map_err(|source| self.io(FileKind::Headers, source))?;
        if let Some(bytes) = bytes.first_chunk() {
            *copy = *bytes;
        }
        let record = Cbh2Record::new(id, copy);
        Ok((record.kind().ok_or(Error::NotUsed(id))?, record))
    }

    /// Returns the last ply before which no move is missing, if some are.
    fn read_moves(&self, offset: u64, decoded: &mut Decoded) -> Result<Option<PlyId>, Error> {
        let Decoded {
            game,
            defects,
            buffer,
            mark,
            ..
        } = decoded;
        let read = with_frame(self.moves.as_ref(), offset, buffer, |frame, mut faults| {
            *mark = marked(frame.tag.into(), frame.content);
            let mut found = Vec::new();
            let known_to = moves::decode(frame.tag, frame.content, game, &mut found);
            faults.extend(found.into_iter().map(in_frame));
            (known_to, faults)
        });
        let read = read.map_err(|source| self.io(FileKind::Moves, source))?;
        let (known_to, faults) = read.unwrap_or_else(|fault| (Some(PlyId::START), vec![fault]));
        defects.extend(
            faults
                .into_iter()
                .map(|fault| defect("2cbg", offset, fault)),
        );
        Ok(known_to)
    }

    fn read_annotations(
        &self,
        offset: u64,
        known_to: Option<PlyId>,
        decoded: &mut Decoded,
    ) -> Result<(), Error> {
        let Some(storage) = &self.annotations else {
            return Ok(());
        };
        let Decoded {
            game,
            defects,
            buffer,
            mark,
            ..
        } = decoded;
        let read = with_frame(storage.as_ref(), offset, buffer, |frame, mut faults| {
            *mark = marked(*mark, frame.content);
            let mut found = Vec::new();
            if frame.tag == frame::ANNOTATIONS {
                annotations::decode(frame.content, self.page, known_to, game, &mut found);
            } else {
                let what = format!("record {:#06x} is none of annotations", frame.tag);
                faults.push(Malformed::new(24, what));
            }
            faults.extend(found.into_iter().map(in_frame));
            faults
        });
        let read = read.map_err(|source| self.io(FileKind::Annotations, source))?;
        let faults = read.unwrap_or_else(|fault| vec![fault]);
        defects.extend(
            faults
                .into_iter()
                .map(|fault| defect("2cba", offset, fault)),
        );
        Ok(())
    }

    /// Reads one guiding text into `text`.
    ///
    /// # Errors
    ///
    /// As [`read_game`](Database::read_game).
    pub fn read_text(&self, id: GameId, text: &mut GuidingText) -> Result<(), Error> {
        *text = GuidingText::default();
        let mut bytes = [0; RECORD_BYTES];
        let buffer = &mut ReadBuffer::default();
        let (kind, record) = self.record(id, &mut bytes, buffer)?;
        if kind != RecordType::Text {
            return Err(Error::NotUsed(id));
        }
        self.read_text_entities(&record, buffer, text)?;
        let offset = record.moves();
        let read = with_frame(self.moves.as_ref(), offset, buffer, |frame, mut faults| {
            if frame.tag == frame::TEXT {
                let read = texts::decode(frame.content, self.page, text);
                faults.extend(read.err().map(in_frame));
            } else {
                let what = format!("record {:#06x} is none of texts", frame.tag);
                faults.push(Malformed::new(24, what));
            }
            faults
        });
        let read = read.map_err(|source| self.io(FileKind::Moves, source))?;
        let faults = read.unwrap_or_else(|fault| vec![fault]);
        let faults = faults
            .into_iter()
            .map(|fault| defect("2cbg", offset, fault));
        text.defects.extend(faults);
        Ok(())
    }

    fn read_text_entities(
        &self,
        record: &Cbh2Record<'_>,
        buffer: &mut ReadBuffer,
        text: &mut GuidingText,
    ) -> Result<(), Error> {
        let of = record.references(RecordType::Text);
        let mut lookup = self.lookup(buffer, &mut text.defects);
        lookup.tournament(of.tournament, &mut text.tournament)?;
        lookup.source(of.source, &mut text.source)?;
        text.annotator = lookup.annotator(of.annotator)?;
        let found = lookup.titles(of.tag)?;
        let title = |(nation, title)| (TextLanguage(language_of(nation)), title);
        text.titles = found.into_iter().map(title).collect();
        Ok(())
    }

    fn io(&self, kind: FileKind, source: io::Error) -> Error {
        Error::of_file(self.family.default_path(kind), source)
    }
}

/// Moves the offset of a fault from the content to its frame.
fn in_frame(fault: Malformed) -> Malformed {
    Malformed::new(HEAD_BYTES + fault.offset, fault.what)
}

fn defect(file: &'static str, offset: u64, fault: Malformed) -> Defect {
    Defect {
        file,
        offset: offset.saturating_add(fault.offset as u64),
        what: fault.what,
    }
}

fn record_offset(id: GameId) -> u64 {
    RECORD_BYTES as u64 * u64::from(id.0)
}
