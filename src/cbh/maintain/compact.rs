//! Compaction: a copy of a base without deleted games and texts, unused
//! entities, gaps and wasted bytes.
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
//! Texts and annotations refer to games by players and event, so they contain
//! no numbers that change. The source is only read. Memory is about twenty
//! bytes for each game, plus the entities.

mod blobs;
mod companions;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::cbh::base::database::lists::RecordPair;
use crate::cbh::base::references::ReferenceCounts;
use crate::cbh::entities::{ENTITY_FILES, EntityTable};
use crate::cbh::extended::{ExtendedRecord, HEADER_BYTES};
use crate::cbh::record::{self, GameRecord, RECORD_BYTES, TextRecord};
use crate::cbh::{
    ChangeError, CodePage, Database, EditError, Error, FileKind, GameId, NewBase, OpenBase,
    Options, RecordKind, SaveError,
};
use crate::storage::{self, LeftOut, ReadBuffer, Storage};
use blobs::Blobs;
pub(crate) use companions::copy_folder;

/// Result of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Number of games and texts copied.
    pub kept: u32,
    /// Number of games and texts left out.
    pub dropped: u32,
    /// Number of entities left out.
    pub unused: u32,
    /// Total length of all files before and after, in bytes.
    pub bytes: [u64; 2],
    /// Number of texts of moves and of annotations that are cut off in the base, and so
    /// in the copy.
    pub cut: usize,
    /// What lies among the files of the base and is not copied.
    pub left_out: LeftOut,
    /// The page of the names, if nothing in the copy tells it any more.
    pub untold_page: Option<CodePage>,
}

/// Copies `base` compacted into `new_base`. `progress` is called with the
/// number of records copied since the last call; false ends the work.
///
/// # Errors
///
/// [`ChangeError`]; `new_base` is then incomplete and must be discarded.
pub fn compact(
    base: &OpenBase,
    new_base: &NewBase,
    progress: &dyn Fn(u64) -> bool,
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
    let remarks = copy.blobs(FileKind::Annotations, &|_| progress(0))?;
    copy.records(&moves, &remarks)?;
    copy.done.cut = moves.cut_count() + remarks.cut_count();
    copy.companions()?;
    // Otherwise the copy might mix two states.
    if let Some(file) = base.store.changed_outside()?.into_iter().next() {
        return Err(storage::Error::ChangedOutside { file }.into());
    }
    new_base.make_like(&copy.database.family().default_path(FileKind::Headers))?;
    copy.done.bytes = [copy.database.size_on_disk(), size_of(&new_base.path())?];
    let made = Database::open(&new_base.path(), &Options::default())?;
    let lost = copy.database.page_lost_in(&made)?;
    copy.done.untold_page = lost.map(|_| copy.database.code_page());
    Ok(copy.done)
}

/// A compaction in progress.
struct Copy<'a> {
    base: &'a OpenBase,
    database: &'a Database,
    /// Path of the new `.cbh`.
    cbh: PathBuf,
    /// New ids of entities, for the files from which some are left out.
    numbers: BTreeMap<FileKind, Vec<Option<u32>>>,
    done: Compacted,
}

impl Copy<'_> {
    /// Calls `take` for each record that is kept, with its new number.
    fn for_each_kept(
        &self,
        take: &mut dyn FnMut(u32, &RecordPair<'_>) -> Result<(), ChangeError>,
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

    /// Counts the references from kept records.
    fn count_references(&mut self) -> Result<ReferenceCounts, ChangeError> {
        let mut uses = ReferenceCounts::new(self.database)?;
        let mut kept = 0;
        self.for_each_kept(&mut |number, record| {
            kept = number;
            uses.add(record, GameId(number));
            Ok(())
        })?;
        self.done.kept = kept;
        self.done.dropped = self.database.last_id().saturating_sub(kept);
        Ok(uses)
    }

    /// Copies the used entities of a file.
    fn entities(&mut self, file: FileKind, uses: &ReferenceCounts) -> Result<(), ChangeError> {
        let Some(storage) = self.database.storage(file) else {
            return self.copy_unchanged(file);
        };
        let mut table = match EntityTable::read(file, storage) {
            Ok(table) => table,
            Err(EditError::Damaged(offset, what)) => {
                let Some(table) = self.rescued(file, storage)? else {
                    let path = self.database.family().default_path(file);
                    let path = path.display();
                    log::warn!("{path} at {offset:#x}: {what}; it is copied unchanged");
                    return self.copy_unchanged(file);
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
            table.rebuild_tree(collation);
        }
        if is_reduced || !table.has_sound_chain() {
            table.rebuild_chain();
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

    /// Recovers the entities of a file with a damaged header, if they agree
    /// with the games.
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

    /// The new id of an entity. An id beyond the last entity stays beyond it by
    /// the same distance.
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

    /// As [`number`](Copy::number); a negative id, which means none, stays.
    fn number_or_none(&self, file: FileKind, id: i32) -> i32 {
        u32::try_from(id).map_or(id, |id| self.number(file, id).cast_signed())
    }

    /// Copies the blobs of a file.
    fn blobs(&self, file: FileKind, progress: &dyn Fn(u64) -> bool) -> Result<Blobs, ChangeError> {
        let database = self.database;
        let Some(storage) = database.storage(file) else {
            let what = "it cannot be opened".to_owned();
            return Err(SaveError::Damaged(file, what).into());
        };
        let io = |source| ChangeError::from(database.io(file, source));
        let mut starts = Vec::new();
        self.for_each_kept(&mut |_, record| {
            starts.extend(self.database.blob_offset(file, record)?);
            Ok(())
        })?;
        let mut out = self.create(file)?;
        let mut blobs = Blobs::new(file, storage, starts).map_err(io)?;
        blobs.begin(&mut out).map_err(io)?;
        self.for_each_kept(&mut |number, record| {
            if let Some(offset) = self.database.blob_offset(file, record)? {
                let ids = (record.id, GameId(number));
                blobs.copy(storage, offset, ids, &mut out).map_err(io)?;
            }
            if progress(1) {
                Ok(())
            } else {
                Err(io(io::ErrorKind::Interrupted.into()))
            }
        })?;
        blobs.end(storage, &mut out).map_err(io)?;
        let out = out.into_inner().map_err(|error| io(error.into_error()))?;
        blobs.count(&out).map_err(io)?;
        Ok(blobs)
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
        self.for_each_kept(&mut |number, record| {
            let bytes = self.header_record(record, moves, remarks)?;
            headers.write_all(&bytes).map_err(headers_failed)?;
            // Only records at the end can be missing.
            if let Some((header, out)) = &mut extended
                && !record.extended.is_empty()
                && with_extended + 1 == number
            {
                let size = header.record_bytes as usize;
                let bytes = self.extended_record(record, size, moves, remarks)?;
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
            None => self.copy_unchanged(FileKind::Extended)?,
        }
        Ok(())
    }

    /// The header of the new `.cbh`.
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

    /// The `.cbh` record of the copy.
    fn header_record(
        &self,
        record: &RecordPair<'_>,
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

    /// The `.cbj` record of the copy.
    fn extended_record(
        &self,
        record: &RecordPair<'_>,
        record_bytes: usize,
        moves: &Blobs,
        remarks: &Blobs,
    ) -> Result<Vec<u8>, ChangeError> {
        let mut bytes = ExtendedRecord::whole_bytes(record.extended, record_bytes);
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

    /// Offsets of the moves and annotations of a record in the copy.
    fn places(
        &self,
        record: &RecordPair<'_>,
        moves: &Blobs,
        remarks: &Blobs,
    ) -> Result<[u64; 2], ChangeError> {
        let place = |file, blobs: &Blobs| -> Result<u64, ChangeError> {
            let offset = self.database.blob_offset(file, record)?;
            Ok(offset.map_or(0, |offset| blobs.place(offset)))
        };
        Ok([
            place(FileKind::Moves, moves)?,
            place(FileKind::Annotations, remarks)?,
        ])
    }

    /// Copies a file unchanged because it cannot be parsed.
    fn copy_unchanged(&self, file: FileKind) -> Result<(), ChangeError> {
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

    /// Path of a file of the copy.
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

/// The low 32 bits of an offset. `.cbh` has no room for more; the full offset
/// is in `.cbj`.
fn low_bits(offset: u64) -> u32 {
    u32::try_from(offset & u64::from(u32::MAX)).unwrap_or(0)
}

fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Total length of all files of a base, in bytes.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::samples::{self, defects, told};
    use crate::cbh::layout::top_games::TopGames;

    fn compacted(base: &OpenBase, to: &Path) -> Compacted {
        let new_base = NewBase::begin(to).unwrap();
        let seen = std::cell::Cell::new(0);
        let progress = |more| {
            seen.set(seen.get() + more);
            true
        };
        let done = compact(base, &new_base, &progress).unwrap();
        assert_eq!(seen.get(), u64::from(done.kept));
        new_base.finish().unwrap();
        done
    }

    fn opened(path: &Path) -> OpenBase {
        OpenBase::to_read(path, &Options::default()).unwrap()
    }

    #[test]
    fn a_copy_that_is_broken_off_leaves_nothing() {
        let (folder, path) = samples::copy_of("sample");
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let before = files();
        let new_base = NewBase::begin(&folder.path().join("copy.cbh")).unwrap();
        let stopped = compact(&opened(&path), &new_base, &|_| false).unwrap_err();
        assert_eq!(stopped.io_kind(), Some(io::ErrorKind::Interrupted));
        drop(new_base);
        assert_eq!(files(), before);
    }

    #[test]
    fn a_copy_says_the_same_of_all_that_is_not_deleted() {
        for name in samples::names() {
            let (folder, path) = samples::copy_of(&name);
            // The flags of each game are others, and every third one is deleted.
            let mut bits = Vec::new();
            let mut headers = fs::read(&path).unwrap();
            for (id, record) in (1..).zip(headers[RECORD_BYTES..].chunks_mut(RECORD_BYTES)) {
                record[0] |= if id % 3 == 1 { 0x80 } else { 0 };
                TopGames::put_bits(&mut bits, id, (id % 4) as u8);
            }
            fs::write(&path, headers).unwrap();
            fs::write(path.with_extension("flags"), TopGames::file_of(bits)).unwrap();
            let base = opened(&path);
            let [new, again] = ["new.cbh", "again.cbh"].map(|name| folder.path().join(name));
            let done = compacted(&base, &new);
            let copy = opened(&new);
            let wanted = told(&base.database);
            assert_eq!(done.kept as usize, wanted.len());
            assert_eq!(done.kept + done.dropped, base.database.last_id());
            let sizes = [&base, &copy].map(|base| base.database.size_on_disk());
            assert_eq!(done.bytes, sizes);
            for (wanted, found) in wanted.iter().zip(told(&copy.database)) {
                assert_eq!(*wanted, found, "{name}");
            }
            let known = defects(&base.database);
            let more: Vec<_> = defects(&copy.database).into_iter().collect();
            assert!(
                more.iter().all(|defect| known.contains(defect)),
                "{name} {more:?}"
            );
            // A copy has nothing to leave out.
            let nothing = Compacted {
                kept: done.kept,
                bytes: [sizes[1]; 2],
                cut: done.cut,
                ..Compacted::default()
            };
            assert_eq!(compacted(&copy, &again), nothing, "{name}");
            for file in FileKind::ALL {
                let [new, again] =
                    [&new, &again].map(|path| fs::read(path.with_extension(file.extension())).ok());
                assert!(new == again, "{name} {file:?}");
            }
        }
    }

    #[test]
    fn the_size_of_a_base_is_that_of_all_its_files() {
        let folder = samples::copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let size = size_of(&path).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        assert_eq!(size, database.size_on_disk());
        fs::write(folder.path().join("sample.txt"), "no file of the base").unwrap();
        let moves = path.with_extension("cbg");
        let length = moves.metadata().unwrap().len();
        fs::remove_file(moves).unwrap();
        assert_eq!(size_of(&path).unwrap(), size - length);
    }

    #[test]
    fn entities_behind_a_damaged_header_are_in_the_copy() {
        for name in ["cbp", "cbt"] {
            let (folder, path) = samples::copy_of("sample");
            let file = path.with_extension(name);
            let mut bytes = fs::read(&file).unwrap();
            bytes[8..28].fill(0);
            fs::write(&file, bytes).unwrap();
            let base = opened(&path);
            assert!(!defects(&base.database).is_empty());
            let new = folder.path().join("new.cbh");
            compacted(&base, &new);
            let copy = opened(&new);
            assert_eq!(told(&copy.database), told(&base.database));
            assert!(defects(&copy.database).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_copy_has_what_lies_beside_a_base_but_no_links_and_nothing_of_others() {
        let (folder, path) = samples::copy_of("sample");
        let at = |name: &str| folder.path().join(name);
        for name in ["sample.CKO", "other.ckn", "sample.txt", "sample.cib"] {
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("sample.CKO", at("sample.cpo")).unwrap();
        fs::create_dir(at("sample.html")).unwrap();
        fs::write(at("sample.html/a.jpg"), "a picture").unwrap();
        let done = compacted(&opened(&path), &at("new.cbh"));
        assert_eq!(done.left_out, [(at("sample.cpo"), "a link")]);
        assert_eq!(fs::read(at("new.cko")).unwrap(), b"sample.CKO");
        assert_eq!(fs::read(at("new.html/a.jpg")).unwrap(), b"a picture");
        assert!(at("new.ini").exists());
        for name in ["new.ckn", "new.txt", "new.cib", "new.cpo"] {
            assert!(!at(name).exists(), "{name}");
        }
    }
}
