//! A tidy copy of a base: without deleted games and texts, unused entities,
//! holes, and bytes that lie waste.
//!
//! | file | in the copy |
//! |---|---|
//! | `.cbh` `.cbj` | the records that are kept, in their order, with new numbers of games, entities and blobs; their other bytes stay |
//! | `.cbg` `.cba` | the blobs of those, byte for byte, in the order of their games; a record of remarks has the new number of its game |
//! | entities | the records that are referred to, in their order, counted anew; links are new only where records vanished or the tree was damaged |
//! | `.cbtt` `.flags` | what they say of tournaments and games that are kept |
//! | `.cbm`, `.ini`, media folders, opening keys | as they are |
//! | search caches | left out: ChessBase makes them anew |
//!
//! Texts and remarks name the games they mention by players and event, so no
//! number in them changes. The source is only read. Memory is some twenty
//! bytes a game, and the entities.

mod blobs;
mod companions;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::cbh::base::database::lists::Record;
use crate::cbh::base::references::ReferenceCounts;
use crate::cbh::entities::{ENTITY_FILES, EntityTable};
use crate::cbh::extended::{ExtendedRecord, HEADER_BYTES};
use crate::cbh::record::{self, GameRecord, RECORD_BYTES, TextRecord};
use crate::cbh::{
    ChangeError, Database, EditError, Error, FileKind, GameId, NewBase, OpenBase, RecordKind,
    SaveError,
};
use crate::storage::{self, ReadBuffer, Storage};
use blobs::Blobs;
pub(crate) use companions::copy_folder;

/// What a copy came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Games and texts that were copied.
    pub kept: u32,
    /// Games and texts that were left out.
    pub dropped: u32,
    /// Entities that were left out.
    pub unused: u32,
    /// Bytes of all files before, and after.
    pub bytes: [u64; 2],
}

/// Makes a tidy copy of `base` in `new_base`. `progress` is called with the number
/// of records copied since the last call.
///
/// # Errors
///
/// [`ChangeError`]: `new_base` cannot be used any more.
pub fn compact(
    base: &OpenBase,
    new_base: &NewBase,
    progress: &dyn Fn(u64),
) -> Result<Compacted, ChangeError> {
    let mut copy = Copy {
        base,
        database: &base.database,
        cbh: new_base.path(),
        numbers: BTreeMap::new(),
        done: Compacted::default(),
    };
    let uses = copy.count_references()?;
    for file in ENTITY_FILES {
        copy.entities(file, &uses)?;
    }
    let moves = copy.blobs(FileKind::Moves, progress)?;
    let remarks = copy.blobs(FileKind::Annotations, &|_| {})?;
    copy.records(&moves, &remarks)?;
    copy.companions()?;
    // Half of it may be of another state then.
    if let Some(file) = base.store.changed_outside()?.into_iter().next() {
        return Err(storage::Error::ChangedOutside { file }.into());
    }
    new_base.make_like(&copy.database.family().default_path(FileKind::Headers))?;
    copy.done.bytes = [copy.database.size_on_disk(), size_of(&new_base.path())?];
    Ok(copy.done)
}

/// A copy in the making.
struct Copy<'a> {
    base: &'a OpenBase,
    database: &'a Database,
    /// The `.cbh` of the copy.
    cbh: PathBuf,
    /// The new numbers of entities, for the files where some vanish.
    numbers: BTreeMap<FileKind, Vec<Option<u32>>>,
    done: Compacted,
}

impl Copy<'_> {
    /// Gives each record that is kept to `take`, with its new number.
    fn each_kept(
        &self,
        take: &mut dyn FnMut(u32, &Record<'_>) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let mut next = 1;
        let mut taken = Ok(());
        self.database.scan(1..u32::MAX, true, &mut |record| {
            if !record.is_deleted && taken.is_ok() {
                taken = take(next, record);
                next += 1;
            }
        })?;
        taken
    }

    /// Counts what is kept.
    fn count_references(&mut self) -> Result<ReferenceCounts, ChangeError> {
        let mut uses = ReferenceCounts::new(self.database)?;
        let mut kept = 0;
        self.each_kept(&mut |number, record| {
            kept = number;
            uses.add(record, GameId(number));
            Ok(())
        })?;
        self.done.kept = kept;
        self.done.dropped = self.database.last_id().saturating_sub(kept);
        Ok(uses)
    }

    /// Copies the entities of a file that are in use.
    fn entities(&mut self, file: FileKind, uses: &ReferenceCounts) -> Result<(), ChangeError> {
        let Some(storage) = self.database.storage(file) else {
            return self.copy_as_it_is(file);
        };
        let mut table = match EntityTable::read(file, storage) {
            Ok(table) => table,
            Err(EditError::Damaged(offset, what)) => {
                let Some(table) = self.rescued(file, storage)? else {
                    let path = self.database.family().default_path(file);
                    let path = path.display();
                    log::warn!("{path} at {offset:#x}: {what}; it is copied as it is");
                    return self.copy_as_it_is(file);
                };
                table
            }
            Err(error) => return Err(SaveError::entity(file)(error).into()),
        };
        let references = |id: u32| uses.of(file).get(id as usize).copied().unwrap_or_default();
        let before = table.capacity();
        let collation = table.sound_collation();
        let numbers = table.retain(&|id| references(id).count > 0);
        let is_reduced = table.capacity() < before;
        if is_reduced || collation.is_none() {
            table.hang(collation);
        }
        if is_reduced || !table.has_sound_chain() {
            table.chain();
        }
        for (id, number) in (0..).zip(&numbers) {
            if let Some(number) = number.filter(|&number| table.is_live(number)) {
                table.set_reference(number, references(id));
            }
        }
        self.done.unused += before - table.capacity();
        if is_reduced {
            self.numbers.insert(file, numbers);
        }
        self.write(file, &table.into_bytes())
    }

    /// The entities of a file whose header is damaged, if they agree with the
    /// games as they are.
    fn rescued(
        &self,
        file: FileKind,
        storage: &dyn Storage,
    ) -> Result<Option<EntityTable>, ChangeError> {
        let mut uses = ReferenceCounts::new(self.database)?;
        self.database.scan(1..u32::MAX, true, &mut |record| {
            uses.add(record, record.id);
        })?;
        let rescued = EntityTable::rescue(file, storage, uses.of(file));
        Ok(rescued.map_err(SaveError::entity(file))?)
    }

    /// The new number of an entity. One that is not there stays so: it lies
    /// as far behind the last one as it did.
    fn number(&self, file: FileKind, id: u32) -> u32 {
        let Some(numbers) = self.numbers.get(&file) else {
            return id;
        };
        if let Some(number) = numbers.get(id as usize) {
            return number.unwrap_or(id);
        }
        let last = numbers.iter().rev().copied().flatten().next();
        let kept = last.map_or(0, |last| last + 1);
        let before = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        id.saturating_sub(before - kept)
    }

    /// As [`number`](Copy::number), where a negative number is none.
    fn number_or_none(&self, file: FileKind, id: i32) -> i32 {
        u32::try_from(id).map_or(id, |id| self.number(file, id).cast_signed())
    }

    /// Copies the blobs of a file.
    fn blobs(&self, file: FileKind, progress: &dyn Fn(u64)) -> Result<Blobs, ChangeError> {
        let database = self.database;
        let Some(storage) = database.storage(file) else {
            let what = "it could not be opened".to_owned();
            return Err(SaveError::Damaged(file, what).into());
        };
        let io = |source| ChangeError::from(database.io(file, source));
        let mut starts = Vec::new();
        self.each_kept(&mut |_, record| {
            starts.extend(self.offset(file, record)?);
            Ok(())
        })?;
        let mut out = self.create(file)?;
        let mut blobs = Blobs::new(file, storage, starts).map_err(io)?;
        blobs.begin(&mut out).map_err(io)?;
        self.each_kept(&mut |number, record| {
            if let Some(offset) = self.offset(file, record)? {
                let ids = (record.id, GameId(number));
                blobs.copy(storage, offset, ids, &mut out).map_err(io)?;
            }
            progress(1);
            Ok(())
        })?;
        blobs.end(storage, &mut out).map_err(io)?;
        let out = out.into_inner().map_err(|error| io(error.into_error()))?;
        blobs.count(&out).map_err(io)?;
        Ok(blobs)
    }

    /// Where the blob of a record lies in one of the two files.
    fn offset(&self, file: FileKind, record: &Record<'_>) -> Result<Option<u64>, ChangeError> {
        let database = self.database;
        let extended = ExtendedRecord::decode(record.extended);
        let moves = |stored| {
            let offset = database.moves_offset(stored, &extended);
            offset.map_err(|source| database.io(FileKind::Moves, source))
        };
        let game = GameRecord::decode(record.bytes).map_err(SaveError::malformed(file))?;
        let offset = match (record.kind, file) {
            // A text has its offset in the same place.
            (_, FileKind::Moves) => moves(game.moves_offset)?,
            (RecordKind::Game, _) => u64::from(game.annotations_offset),
            (RecordKind::Text, _) => 0,
        };
        Ok(Some(offset).filter(|&offset| offset != 0))
    }

    /// Writes the records of `.cbh` and `.cbj`, and the bits of `.flags`.
    fn records(&self, moves: &Blobs, remarks: &Blobs) -> Result<(), ChangeError> {
        let database = self.database;
        let mut headers = self.create(FileKind::Headers)?;
        let failed = |file| move |source| ChangeError::from(database.io(file, source));
        let headers_failed = failed(FileKind::Headers);
        let extended_failed = failed(FileKind::Extended);
        headers.write_all(&self.header()?).map_err(headers_failed)?;
        let mut extended = match &database.extended {
            Some((header, storage)) => {
                let mut buffer = ReadBuffer::default();
                let head = storage.read_up_to(0, HEADER_BYTES, &mut buffer);
                let mut head = head.map_err(extended_failed)?.to_vec();
                head.resize(HEADER_BYTES, 0);
                let mut out = self.create(FileKind::Extended)?;
                out.write_all(&head).map_err(extended_failed)?;
                Some((*header, out))
            }
            None => None,
        };
        let mut with_extended = 0;
        self.each_kept(&mut |number, record| {
            let bytes = self.header_record(record, moves, remarks)?;
            headers.write_all(&bytes).map_err(headers_failed)?;
            // Records are missing at the end only.
            if let Some((header, out)) = &mut extended
                && record.extended.len() == header.record_bytes as usize
                && with_extended + 1 == number
            {
                let bytes = self.extended_record(record, moves, remarks)?;
                out.write_all(&bytes).map_err(extended_failed)?;
                with_extended = number;
            }
            Ok(())
        })?;
        headers.flush().map_err(headers_failed)?;
        match extended {
            Some((mut header, mut out)) => {
                header.count = with_extended;
                let mut head = [0; 12];
                let encoded = header.encode(&mut head);
                encoded.map_err(SaveError::malformed(FileKind::Extended))?;
                out.flush()
                    .and_then(|()| write_at(out.get_ref(), 0, &head))
                    .map_err(extended_failed)?;
            }
            None => self.copy_as_it_is(FileKind::Extended)?,
        }
        Ok(())
    }

    /// The header of `.cbh`.
    fn header(&self) -> Result<Vec<u8>, ChangeError> {
        let file = FileKind::Headers;
        let mut buffer = ReadBuffer::default();
        let bytes = match self.database.storage(file) {
            Some(storage) => storage.read(0, RECORD_BYTES, &mut buffer),
            None => Ok(&[][..]),
        };
        let bytes = bytes.map_err(|source| self.database.io(file, source))?;
        let mut bytes = bytes.to_vec();
        let header = record::FileHeader {
            next_id: self.done.kept.saturating_add(1),
            ..self.database.header
        };
        let encoded = header.encode(&mut bytes);
        encoded.map_err(SaveError::malformed(file))?;
        Ok(bytes)
    }

    /// A record of `.cbh` as it is in the copy.
    fn header_record(
        &self,
        record: &Record<'_>,
        moves: &Blobs,
        remarks: &Blobs,
    ) -> Result<Vec<u8>, ChangeError> {
        let mut bytes = record.bytes.to_vec();
        let malformed = SaveError::malformed(FileKind::Headers);
        let [moves_at, remarks_at] = self.places(record, moves, remarks)?;
        let moves_at = low_bits(moves_at);
        let encoded = match record.kind {
            RecordKind::Game => {
                let game = GameRecord::decode(record.bytes).map_err(&malformed)?;
                GameRecord {
                    moves_offset: moves_at,
                    annotations_offset: low_bits(remarks_at),
                    white: self.number(FileKind::Players, game.white),
                    black: self.number(FileKind::Players, game.black),
                    tournament: self.number(FileKind::Tournaments, game.tournament),
                    annotator: self.number(FileKind::Annotators, game.annotator),
                    source: self.number(FileKind::Sources, game.source),
                    ..game
                }
                .encode(&mut bytes)
            }
            RecordKind::Text => {
                let text = TextRecord::decode(record.bytes).map_err(&malformed)?;
                TextRecord {
                    offset: moves_at,
                    tournament: self.number(FileKind::Tournaments, text.tournament),
                    annotator: self.number(FileKind::Annotators, text.annotator),
                    source: self.number(FileKind::Sources, text.source),
                    ..text
                }
                .encode(&mut bytes)
            }
        };
        encoded.map_err(malformed)?;
        Ok(bytes)
    }

    /// A record of `.cbj` as it is in the copy.
    fn extended_record(
        &self,
        record: &Record<'_>,
        moves: &Blobs,
        remarks: &Blobs,
    ) -> Result<Vec<u8>, ChangeError> {
        let mut bytes = record.extended.to_vec();
        let [moves_offset, annotations_offset] = self.places(record, moves, remarks)?;
        let old = ExtendedRecord::decode(record.extended);
        ExtendedRecord {
            white_team: self.number_or_none(FileKind::Teams, old.white_team),
            black_team: self.number_or_none(FileKind::Teams, old.black_team),
            tag: self.number_or_none(FileKind::Tags, old.tag),
            moves_offset,
            annotations_offset,
            ..old
        }
        .encode(&mut bytes);
        Ok(bytes)
    }

    /// Where moves and remarks of a record lie in the copy.
    fn places(
        &self,
        record: &Record<'_>,
        moves: &Blobs,
        remarks: &Blobs,
    ) -> Result<[u64; 2], ChangeError> {
        let place = |file, blobs: &Blobs| -> Result<u64, ChangeError> {
            let offset = self.offset(file, record)?;
            Ok(offset.map_or(0, |offset| blobs.place(offset)))
        };
        Ok([
            place(FileKind::Moves, moves)?,
            place(FileKind::Annotations, remarks)?,
        ])
    }

    /// Copies a file that cannot be read as what it should be.
    fn copy_as_it_is(&self, file: FileKind) -> Result<(), ChangeError> {
        let Some(path) = self.database.family().path(file) else {
            return Ok(());
        };
        let name = path.file_name().unwrap_or_default();
        let Some(storage) = self.base.store.file(name)? else {
            return Ok(());
        };
        let io = |source| self.database.io(file, source);
        let mut out = self.create(file)?;
        let end = storage.len().map_err(io)?;
        blobs::copy_range(storage.as_ref(), 0..end, &mut out).map_err(io)?;
        out.flush().map_err(io)?;
        Ok(())
    }

    /// The path of a file of the copy.
    fn path(&self, file: FileKind) -> PathBuf {
        self.cbh.with_extension(file.extension())
    }

    fn create(&self, file: FileKind) -> Result<BufWriter<File>, ChangeError> {
        let path = self.path(file);
        let made = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path);
        let made = made.map_err(|source| Error::Io { file: path, source })?;
        Ok(BufWriter::with_capacity(1 << 18, made))
    }

    fn write(&self, file: FileKind, bytes: &[u8]) -> Result<(), ChangeError> {
        let mut out = self.create(file)?;
        let written = out.write_all(bytes).and_then(|()| out.flush());
        let path = self.path(file);
        Ok(written.map_err(|source| Error::Io { file: path, source })?)
    }
}

/// `.cbh` has 32 bits for an offset; of larger ones `.cbj` has the rest.
fn low_bits(offset: u64) -> u32 {
    u32::try_from(offset & u64::from(u32::MAX)).unwrap_or(0)
}

fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Bytes of all files of a base.
fn size_of(cbh: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for kind in FileKind::ALL {
        let file = cbh.with_extension(kind.extension());
        match std::fs::metadata(&file) {
            Ok(metadata) => bytes += metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Io { file, source }),
        }
    }
    Ok(bytes)
}
