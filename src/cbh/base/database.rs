//! An open base: reading of its records and games.

mod after_save;
mod entries;
pub(crate) mod find;
mod headers;
pub(crate) mod lists;
mod opening;
mod records;
mod texts;

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use super::new_base;
use crate::bytes::Malformed;
use crate::cbh::annotations;
use crate::cbh::entities::{
    Annotators, EntityFile, Players, Sources, TagRecords, Teams, TournamentExtras, Tournaments,
};
use crate::cbh::extended::{self, ExtendedRecord};
use crate::cbh::layout::foreign_tags;
use crate::cbh::layout::top_games::TopGames;
use crate::cbh::moves::{self, MoveDecoder, blob_size, glance};
use crate::cbh::record::{self, GameRecord, RECORD_BYTES};
use crate::cbh::{CodePage, Error, Family, FileKind, GameId, RecordKind};
use crate::game::{Defect, Game, Glimpse, Moments};
use crate::storage::{ReadBuffer, Storage, Store, marked};
pub use after_save::{Changes, Effects, GameChange};
pub use entries::ListedRecord;
use headers::LastEntities;
use lists::CachedLists;
pub use opening::Opener;

/// Number of bytes of a base's `.ini` that are read.
pub(crate) const MOST_INI_BYTES: usize = 1 << 16;

/// Options for reading a base.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Code page of names and texts that are not UTF-8; detected if `None`.
    pub code_page: Option<CodePage>,
}

/// An open base. Reading takes `&self` and no lock: any number of threads
/// read at once, each into its own [`Decoded`].
#[derive(Debug)]
pub struct Database {
    family: Family,
    page: CodePage,
    is_page_given: bool,
    modified: SystemTime,
    pub(in crate::cbh) header: record::FileHeader,
    last_id: u32,
    pub(in crate::cbh) headers: Box<dyn Storage>,
    pub(in crate::cbh) moves: Box<dyn Storage>,
    /// Whether `.cbg` is so long that `.cbh` cannot say every offset in it.
    has_long_moves: bool,
    pub(in crate::cbh) annotations: Box<dyn Storage>,
    pub(in crate::cbh) extended: Option<(extended::ExtendedHeader, Box<dyn Storage>)>,
    pub(in crate::cbh) players: EntityFile<Players>,
    pub(in crate::cbh) tournaments: EntityFile<Tournaments>,
    pub(in crate::cbh) annotators: EntityFile<Annotators>,
    pub(in crate::cbh) sources: EntityFile<Sources>,
    pub(in crate::cbh) teams: Option<EntityFile<Teams>>,
    pub(in crate::cbh) tags: Option<EntityFile<TagRecords>>,
    pub(in crate::cbh) tournament_extras: Option<TournamentExtras>,
    pub(in crate::cbh) top_games: Option<TopGames>,
    pub(in crate::cbh) defects: Vec<Defect>,
    lists: CachedLists,
    /// The store of the files, and its number of saves at the time of opening.
    store: Option<(Arc<Store>, u64)>,
}

/// A game read from a base, with its defects. The memory is reused from game to
/// game.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The game, as far as it could be read.
    pub game: Game,
    /// The parts that could not be read. A game with defects must not be
    /// written back.
    pub defects: Vec<Defect>,
    /// The mark of what it was read from, as
    /// [`stored_fingerprint`](Database::stored_fingerprint) gives it.
    pub mark: u64,
    pub(in crate::cbh) moves: MoveDecoder,
    pub(crate) buffer: ReadBuffer,
    last: LastEntities,
}

/// The blob of `.cbg` and the record of `.cba` of one game, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGame {
    /// The moves, see [`moves`](crate::cbh::moves).
    pub moves: Vec<u8>,
    /// The annotations, if there are any.
    pub annotations: Option<Vec<u8>>,
}

impl StoredGame {
    /// Decodes start, moves and annotations into `game`. Its headers stay.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if one of them is damaged. `game` then has the parts that
    /// could be read.
    pub fn decode(&self, page: CodePage, game: &mut Game) -> Result<(), Malformed> {
        game.annotations.clear();
        let moves = blob_size(&self.moves)
            .and_then(|_| MoveDecoder::default().decode(&self.moves, u8::MAX, game));
        let record = self.annotations.as_deref();
        let remarks = record.map(|record| annotations::decode(record, page, moves.is_ok(), game));
        moves?;
        remarks.into_iter().flatten().next().map_or(Ok(()), Err)
    }
}

impl Decoded {
    /// A buffer for many games in order. It reads ahead in the files, so it
    /// must be short-lived; see [`ReadBuffer::ahead`].
    pub fn reading_ahead() -> Decoded {
        Decoded {
            buffer: ReadBuffer::ahead(),
            ..Decoded::default()
        }
    }

    /// A buffer for many games that are scattered in the base, in order: it also
    /// keeps blocks of what is read here and there, as of names; see
    /// [`ReadBuffer::ahead_of_many`].
    pub fn reading_many() -> Decoded {
        Decoded {
            buffer: ReadBuffer::ahead_of_many(),
            last: LastEntities::of_many(),
            ..Decoded::default()
        }
    }
}

/// Number of bytes of `.cbg` and `.cba` per read: nearly every game fits.
const READ_AHEAD: usize = 1024;

impl Database {
    /// The store of its files, if it was opened with its journal.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref().map(|(store, _)| store)
    }

    /// Returns whether something was saved since it was opened. Reads may then
    /// mix the old and the new state.
    pub fn is_superseded(&self) -> bool {
        let store = self.store.as_ref();
        store.is_some_and(|(store, saves)| store.saves() != *saves)
    }

    /// The files of the base.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Number of records. Games and texts are numbered from 1 to this.
    pub fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Version of `.cbh`, and of `.cbj` if there is one.
    pub fn versions(&self) -> (u8, Option<u32>) {
        let extended = self.extended.as_ref().map(|(header, _)| header.version);
        (self.header.version, extended)
    }

    /// The code page of names that are not UTF-8.
    pub fn code_page(&self) -> CodePage {
        self.page
    }

    /// Returns whether the `.ini` of the base says that its names are UTF-8.
    pub(in crate::cbh) fn is_made_for_utf8(&self) -> bool {
        let Some((store, _)) = &self.store else {
            return false;
        };
        let ini = self.family.default_path(FileKind::Headers);
        let ini = ini.with_extension("ini");
        let Ok(Some(ini)) = store.file(ini.file_name().unwrap_or_default()) else {
            return false;
        };
        let mut buffer = ReadBuffer::default();
        let text = ini.read_up_to(0, MOST_INI_BYTES, &mut buffer);
        text.is_ok_and(new_base::says_utf8)
    }

    /// Returns whether the code page was given, not detected.
    pub fn is_code_page_given(&self) -> bool {
        self.is_page_given
    }

    /// Total length of all its files now, in bytes.
    pub fn size_on_disk(&self) -> u64 {
        let kinds = FileKind::ALL.into_iter();
        let all = kinds.filter_map(|kind| self.family.length_and_time(kind));
        all.map(|(size, _)| size).sum()
    }

    /// Time of the last change of `.cbh`.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// Defects of the base as a whole.
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }

    pub(in crate::cbh) fn extended_record_bytes(&self) -> usize {
        self.extended
            .as_ref()
            .map_or(1, |(header, _)| header.record_bytes as usize)
    }

    /// Decodes one game into `decoded`.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`] if its
    /// record cannot be read, or the medium fails. Damage in the moves or an
    /// entity is no error: `decoded` has the readable parts and the defects.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use cbfs::cbh::{Database, Decoded, GameId, Options};
    ///
    /// let path = Path::new("fixtures/cbh/sample/sample.cbh");
    /// let database = Database::open(path, &Options::default())?;
    /// let mut decoded = Decoded::default();
    /// database.read_game(GameId(2), &mut decoded)?;
    /// assert_eq!(decoded.game.headers.white.last, "Anderssen");
    /// assert_eq!(decoded.game.tree.main_line_len(), 45);
    /// # Ok::<(), cbfs::cbh::Error>(())
    /// ```
    pub fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        self.read_game_weighed(id, decoded, |_| ())
    }

    /// As [`read_game`](Database::read_game), but tells `weigh` before how many
    /// bytes the moves and annotations of the game take in their files, as far
    /// as these go: so a long one can wait until there is memory for it.
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
        let read = self.read_parts(id, decoded, weigh);
        if read.is_err() {
            decoded.game.clear();
        }
        read
    }

    fn read_parts(
        &self,
        id: GameId,
        decoded: &mut Decoded,
        weigh: impl FnOnce(u64),
    ) -> Result<(), Error> {
        decoded.game.clear_moves();
        decoded.defects.clear();
        decoded.mark = 0;
        let record = self.game_record(id, &mut decoded.buffer)?;
        let extended = self.extended_record(id, &mut decoded.buffer)?;
        weigh(self.stored_bytes(&record, &extended, &mut decoded.buffer)?);
        self.read_headers(id, &record, &extended, decoded)?;
        let offset = self.moves_offset(record.moves_offset, &extended);
        let offset = offset.map_err(|source| self.io(FileKind::Moves, source))?;
        decoded
            .defects
            .extend(self.unsure_offset(offset, &extended));
        let is_whole = self.read_moves(&record, offset, decoded)?;
        self.read_annotations(&record, is_whole, decoded)?;
        foreign_tags::lift(&mut decoded.game);
        Ok(())
    }

    /// As [`read_game`](Database::read_game), but for the start and the moves only:
    /// the headers of the game in `decoded` say nothing, and it has no annotations.
    /// That takes half the time.
    ///
    /// # Errors
    ///
    /// As [`read_game`](Database::read_game).
    pub fn read_moves_only(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        decoded.game.clear_moves();
        decoded.defects.clear();
        decoded.mark = 0;
        let (record, offset) = self.record_and_moves(id, &mut decoded.buffer)?;
        self.read_moves(&record, offset, decoded)?;
        decoded.mark = self.mark_with_annotations(&record, decoded.mark, &mut decoded.buffer)?;
        Ok(())
    }

    /// Shows the placements at these moments of the main line of one game, in order,
    /// until `show` returns false, without a question whether its moves are legal;
    /// damaged games may show more than can be read. That takes a fraction of the time.
    ///
    /// Returns false if the game cannot be seen that way: then it must be read, and
    /// what was shown tells nothing.
    pub fn glance(
        &self,
        id: GameId,
        decoded: &mut Decoded,
        moments: Moments,
        show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> bool {
        let buffer = &mut decoded.buffer;
        let mut is_seen = false;
        let look = |blob: &[u8]| {
            is_seen = glance(blob, moments, show);
            Ok(())
        };
        let looked = self.record_and_moves(id, buffer).and_then(|(_, offset)| {
            let read = with_blob(self.moves.as_ref(), offset, blob_size, buffer, look);
            read.map_err(|source| self.io(FileKind::Moves, source))
        });
        matches!(looked, Ok(Ok(()))) && is_seen
    }

    /// The record of one game, and the offset of its moves. `.cbj` is read only
    /// where it can say another offset than `.cbh`.
    fn record_and_moves(
        &self,
        id: GameId,
        buffer: &mut ReadBuffer,
    ) -> Result<(GameRecord, u64), Error> {
        let record = self.game_record(id, buffer)?;
        if !self.has_long_moves {
            return Ok((record, record.moves_offset.into()));
        }
        let extended = self.extended_record(id, buffer)?;
        let offset = self.moves_offset(record.moves_offset, &extended);
        let offset = offset.map_err(|source| self.io(FileKind::Moves, source))?;
        Ok((record, offset))
    }

    /// Number of bytes that the moves and annotations of one game take in their
    /// files, as far as these go.
    fn stored_bytes(
        &self,
        record: &GameRecord,
        extended: &ExtendedRecord,
        buffer: &mut ReadBuffer,
    ) -> Result<u64, Error> {
        let moves = self
            .moves_offset(record.moves_offset, extended)
            .and_then(|offset| size_of_blob(self.moves.as_ref(), offset, blob_size, buffer))
            .map_err(|source| self.io(FileKind::Moves, source))?;
        let remarks = self.annotations.as_ref();
        let remarks = match u64::from(record.annotations_offset) {
            0 => 0,
            offset => size_of_blob(remarks, offset, annotations::record_size, buffer)
                .map_err(|source| self.io(FileKind::Annotations, source))?,
        };
        Ok(moves + remarks)
    }

    /// Returns a hash of the moves and annotations of one game as stored: another
    /// one if the moves that are read from them could be others.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`].
    pub fn stored_fingerprint(&self, id: GameId, buffer: &mut ReadBuffer) -> Result<u64, Error> {
        let (record, offset) = self.record_and_moves(id, buffer)?;
        let mut mark = 0;
        let take = |blob: &[u8]| {
            mark = marked(record.move_count.into(), blob);
            Ok(())
        };
        let moves = with_blob(self.moves.as_ref(), offset, blob_size, buffer, take);
        // A blob that is none leaves no mark, as when the game is read.
        drop(moves.map_err(|source| self.io(FileKind::Moves, source))?);
        self.mark_with_annotations(&record, mark, buffer)
    }

    /// The mark of a game, of that of its moves.
    fn mark_with_annotations(
        &self,
        record: &GameRecord,
        mut mark: u64,
        buffer: &mut ReadBuffer,
    ) -> Result<u64, Error> {
        if record.annotations_offset != 0 {
            let (storage, offset) = (self.annotations.as_ref(), record.annotations_offset.into());
            let take = |bytes: &[u8]| {
                mark = marked(mark, bytes);
                Ok(())
            };
            let remarks = with_blob(storage, offset, annotations::record_size, buffer, take);
            drop(remarks.map_err(|source| self.io(FileKind::Annotations, source))?);
        }
        Ok(mark)
    }

    /// Returns the stored moves and annotations of one game.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Malformed`] if
    /// one of them has no size or ends past its file; [`Error::Io`].
    pub fn stored_game(&self, id: GameId) -> Result<StoredGame, Error> {
        let buffer = &mut ReadBuffer::default();
        let (record, offset) = self.record_and_moves(id, buffer)?;
        let moves = self.copy_blob(
            FileKind::Moves,
            self.moves.as_ref(),
            offset,
            blob_size,
            buffer,
        )?;
        let annotations = match u64::from(record.annotations_offset) {
            0 => None,
            offset => Some(self.copy_blob(
                FileKind::Annotations,
                self.annotations.as_ref(),
                offset,
                annotations::record_size,
                buffer,
            )?),
        };
        Ok(StoredGame { moves, annotations })
    }

    fn copy_blob(
        &self,
        kind: FileKind,
        storage: &dyn Storage,
        offset: u64,
        size: impl Fn(&[u8]) -> Result<usize, Malformed>,
        buffer: &mut ReadBuffer,
    ) -> Result<Vec<u8>, Error> {
        let mut copy = Vec::new();
        let keep = |blob: &[u8]| {
            copy = blob.to_vec();
            Ok(())
        };
        with_blob(storage, offset, size, buffer, keep)
            .map_err(|source| self.io(kind, source))?
            .map_err(|fault| self.malformed(kind, offset, fault))?;
        Ok(copy)
    }

    /// Reads the moves. Returns whether they could be read to their end.
    fn read_moves(
        &self,
        record: &GameRecord,
        offset: u64,
        decoded: &mut Decoded,
    ) -> Result<bool, Error> {
        let Decoded {
            game,
            defects,
            moves,
            buffer,
            mark,
            ..
        } = decoded;
        let decode = |blob: &[u8]| {
            *mark = marked(record.move_count.into(), blob);
            moves.decode(blob, record.move_count, game)
        };
        let read = with_blob(self.moves.as_ref(), offset, blob_size, buffer, decode);
        let read = read.map_err(|source| self.io(FileKind::Moves, source))?;
        let is_whole = read.is_ok();
        if let Err(fault) = read {
            defects.push(defect("cbg", offset, fault));
        }
        Ok(is_whole)
    }

    fn read_annotations(
        &self,
        record: &GameRecord,
        is_whole: bool,
        decoded: &mut Decoded,
    ) -> Result<(), Error> {
        if record.annotations_offset == 0 {
            return Ok(());
        }
        let Decoded {
            game,
            defects,
            buffer,
            mark,
            ..
        } = decoded;
        let offset = u64::from(record.annotations_offset);
        let mut faults = Vec::new();
        let decode = |bytes: &[u8]| {
            *mark = marked(*mark, bytes);
            faults = annotations::decode(bytes, self.page, is_whole, game);
            Ok(())
        };
        let read = with_blob(
            self.annotations.as_ref(),
            offset,
            annotations::record_size,
            buffer,
            decode,
        );
        let read = read.map_err(|source| self.io(FileKind::Annotations, source))?;
        let faults = read.err().into_iter().chain(faults);
        defects.extend(faults.map(|fault| defect("cba", offset, fault)));
        Ok(())
    }

    /// `.cbh` has 32 bits for the offset; beyond 4 GiB only `.cbj` has it.
    pub(in crate::cbh) fn moves_offset(
        &self,
        stored: u32,
        extended: &ExtendedRecord,
    ) -> io::Result<u64> {
        let offset = u64::from(stored);
        let is_cut = extended.moves_offset != offset
            && extended.moves_offset & u64::from(u32::MAX) == offset
            && extended.moves_offset < self.moves.len()?;
        Ok(if is_cut {
            extended.moves_offset
        } else {
            offset
        })
    }

    /// Returns a defect if the moves may be those of another game: `.cbg` is longer than
    /// 4 GiB, and `.cbj` does not have their offset.
    fn unsure_offset(&self, offset: u64, extended: &ExtendedRecord) -> Option<Defect> {
        (self.has_long_moves && extended.moves_offset != offset).then(|| {
            let what = "the moves may be those of another game: in a file longer than 4 GiB, .cbj \
                        must say where they are, and it does not";
            defect("cbg", offset, Malformed::new(0, what.to_owned()))
        })
    }

    pub(in crate::cbh) fn io(&self, kind: FileKind, source: io::Error) -> Error {
        io_error(&self.family, kind, source)
    }

    fn malformed(&self, kind: FileKind, offset: u64, fault: Malformed) -> Error {
        Error::Malformed {
            file: self.family.default_path(kind),
            offset: offset + fault.offset as u64,
            what: fault.what,
        }
    }
}

fn io_error(family: &Family, kind: FileKind, source: io::Error) -> Error {
    Error::of_file(family.default_path(kind), source)
}

/// Reads the blob at `offset`, which begins with its size, and calls `decode`
/// with it; of one that ended past the file when that was opened, with what is
/// there.
///
/// # Errors
///
/// Errors of the medium, also if the file was truncated after it was opened;
/// inside, [`Malformed`] if the size is impossible, the blob ends past the
/// file, or `decode` fails.
pub(in crate::cbh) fn with_blob(
    storage: &dyn Storage,
    offset: u64,
    size: impl Fn(&[u8]) -> Result<usize, Malformed>,
    buffer: &mut ReadBuffer,
    decode: impl FnOnce(&[u8]) -> Result<(), Malformed>,
) -> io::Result<Result<(), Malformed>> {
    let head = storage.read_up_to(offset, READ_AHEAD, buffer)?;
    let size = match size(head) {
        Ok(size) => size,
        Err(fault) => {
            if head.len() < READ_AHEAD {
                storage.ensure_kept(offset + READ_AHEAD as u64)?;
            }
            return Ok(Err(fault));
        }
    };
    if let Some(blob) = head.get(..size) {
        return Ok(decode(blob));
    }
    let left = storage.len()?.saturating_sub(offset);
    if size as u64 > left {
        storage.ensure_kept(offset + size as u64)?;
        let present = usize::try_from(left).unwrap_or(usize::MAX);
        // That it is cut says all that is wrong with what is there.
        let _ = decode(storage.read(offset, present, buffer)?);
        let what = format!("blob of {size} bytes ends past the file ({left} left)");
        return Ok(Err(Malformed::new(0, what)));
    }
    Ok(decode(storage.read(offset, size, buffer)?))
}

/// The size that a blob of `.cbg` or `.cba` states.
pub(in crate::cbh) fn stated_size(file: FileKind, head: &[u8]) -> Result<usize, Malformed> {
    match file {
        FileKind::Moves => blob_size(head),
        _ => annotations::record_size(head),
    }
}

/// Length of a blob of `.cbg` or `.cba` up to and with its size.
pub(in crate::cbh) fn head_bytes(file: FileKind) -> usize {
    match file {
        FileKind::Moves => moves::HEAD_BYTES,
        _ => annotations::HEAD_BYTES,
    }
}

/// Returns the size that a blob states, or 0 if the file is too short for it.
fn size_of_blob(
    storage: &dyn Storage,
    offset: u64,
    size: impl Fn(&[u8]) -> Result<usize, Malformed>,
    buffer: &mut ReadBuffer,
) -> io::Result<u64> {
    let head = storage.read_up_to(offset, READ_AHEAD, buffer)?;
    let size = size(head).unwrap_or(0) as u64;
    if size <= head.len() as u64 {
        return Ok(size);
    }
    let left = storage.len()?.saturating_sub(offset);
    Ok(if size <= left { size } else { 0 })
}

fn defect(file: &'static str, offset: u64, fault: Malformed) -> Defect {
    Defect {
        file,
        offset: offset.saturating_add(fault.offset as u64),
        what: fault.what,
    }
}

pub(in crate::cbh) fn record_offset(id: u32) -> u64 {
    RECORD_BYTES as u64 * u64::from(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::base::references::ReferenceCount;
    use crate::cbh::base::samples::{self, copy_of_sample};
    use crate::cbh::{EntityId, EntityKind, OpenBase, Saver, Summary};
    use crate::storage::DiskFile;

    #[test]
    fn teams_and_labels_are_read_if_their_files_are_there() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let open = || Database::open(&path, &Options::default()).unwrap();
        let database = open();
        assert!(database.teams.is_some() && database.tags.is_some());
        for file in ["cbe", "cbl"] {
            std::fs::remove_file(path.with_extension(file)).unwrap();
        }
        let database = open();
        assert!(database.teams.is_none() && database.tags.is_none());
        assert_eq!(database.defects(), []);
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error_and_no_damage() {
        use EntityKind::{Annotator, Player, Source, Team, Tournament};
        // Of each file, which games need its last five bytes; 15 is a text.
        for (kind, needs, lists) in [
            (FileKind::Headers, "..............!", None),
            (FileKind::Annotations, "...!..........x", None),
            (FileKind::Players, ".............!x", Some(Player)),
            (FileKind::Tournaments, "..............x", Some(Tournament)),
            (FileKind::Annotators, "...!..!.......x", Some(Annotator)),
            (FileKind::Sources, "....!!!!!!!!!!x", Some(Source)),
            (FileKind::Extended, "..............x", None),
            (FileKind::Teams, "............!.x", Some(Team)),
            (FileKind::Tags, "!!!!!.........x", None),
        ] {
            let (_folder, path) = samples::copy_of("sample");
            let database = Database::open(&path, &Options::default()).unwrap();
            let file = path.with_extension(kind.extension());
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_len(file.metadata().unwrap().len() - 5).unwrap();
            let is_shorter = |error: &Error| {
                let told = error.to_string();
                let name = format!(".{}: the file has become shorter", kind.extension());
                told.ends_with(&name)
            };
            let mut decoded = Decoded::default();
            let read = |id| match database.read_game(GameId(id), &mut decoded) {
                Ok(()) if decoded.defects.is_empty() => '.',
                Err(error) if is_shorter(&error) => '!',
                _ => 'x',
            };
            let found: String = (1..=database.last_id()).map(read).collect();
            assert_eq!(found, needs, "{kind:?}");
            let checked = database.check(&|_| {}, &mut |_| {});
            assert!(checked.is_err_and(|error| is_shorter(&error)), "{kind:?}");
            for of in EntityKind::ALL {
                let names = database.entity_names(of).err();
                assert_eq!(
                    names.map(|error| is_shorter(&error)),
                    lists.filter(|kind| *kind == of).map(|_| true)
                );
            }
        }
    }

    #[test]
    fn each_way_to_read_a_game_tells_the_same() {
        let mut marks = std::collections::BTreeMap::new();
        let mut seen = 0;
        for name in samples::names() {
            let (_folder, path) = samples::copy_of(&name);
            let database = Database::open(&path, &Options::default()).unwrap();
            let [mut whole, mut moves] = [(); 2].map(|()| Decoded::default());
            let mut buffer = ReadBuffer::default();
            for id in (1..=database.last_id()).map(GameId) {
                let mut bytes = 0;
                let Ok(()) = database.read_game_weighed(id, &mut whole, |taken| bytes = taken)
                else {
                    assert!(database.read_moves_only(id, &mut moves).is_err());
                    continue;
                };
                database.read_moves_only(id, &mut moves).unwrap();
                let tree = |game: &Game| format!("{:?} {:?}", game.start, game.tree);
                assert_eq!(tree(&moves.game), tree(&whole.game), "{name} {id:?}");
                let is_seen = database.glance(id, &mut moves, Moments::ALL, &mut |_| true);
                assert!(!is_seen || !whole.game.start.is_set_up, "{name} {id:?}");
                seen += usize::from(is_seen);
                assert!(moves.game.annotations.is_empty());
                let mark = database.stored_fingerprint(id, &mut buffer).unwrap();
                assert_eq!([whole.mark, moves.mark], [mark; 2], "{name} {id:?}");
                let Ok(StoredGame { moves, annotations }) = database.stored_game(id) else {
                    continue;
                };
                let remarks = annotations.as_ref().map_or(0, Vec::len);
                assert_eq!(bytes, (moves.len() + remarks) as u64, "{name} {id:?}");
                // Only what is stored alike has the same mark.
                let stored = (moves, annotations);
                let known = marks.entry(mark).or_insert_with(|| stored.clone());
                assert_eq!(*known, stored, "{name} {id:?}");
            }
        }
        assert!(marks.len() > 100 && seen > 100, "{} {seen}", marks.len());
    }

    #[test]
    fn a_blob_that_was_cut_is_told_from_one_that_was_never_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.cbg");
        std::fs::write(&path, [7; 100]).unwrap();
        let file = DiskFile::open(&path).unwrap();
        let blob = |offset, size: usize| {
            let whole = |bytes: &[u8]| {
                let is_whole = bytes == vec![7; size];
                let other = || Malformed::new(0, "other bytes");
                is_whole.then_some(()).ok_or_else(other)
            };
            with_blob(
                &file,
                offset,
                |_| Ok(size),
                &mut ReadBuffer::default(),
                whole,
            )
        };
        assert_eq!(blob(10, 90).unwrap(), Ok(()));
        let beyond = blob(10, 91).unwrap().unwrap_err();
        assert_eq!(beyond.what, "blob of 91 bytes ends past the file (90 left)");
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(50)
            .unwrap();
        assert_eq!(blob(0, 50).unwrap(), Ok(()));
        let cut = blob(0, 60).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_base_knows_whether_it_was_saved_since_it_was_opened() {
        let (_folder, path) = samples::copy_of("sample");
        let alone = Database::open(&path, &Options::default()).unwrap();
        let written = path.metadata().unwrap().modified().unwrap();
        assert_eq!(alone.modified(), written);
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        assert!(Arc::ptr_eq(base.database.store().unwrap(), &base.store));
        assert!(!base.database.is_superseded());
        let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
        saver.set_deleted(GameId(1), true).unwrap();
        let plan = saver.finish().unwrap();
        base.store.commit(&plan.transaction).unwrap();
        assert!(base.database.is_superseded());
        base.reopen(&path).unwrap();
        assert!(!base.database.is_superseded());
    }

    #[test]
    fn the_versions_of_a_base_are_those_of_its_headers() {
        for (name, versions) in [("sample", (1, Some(11))), ("oldheaders", (1, None))] {
            let (_folder, path) = samples::copy_of(name);
            let mut headers = std::fs::read(&path).unwrap();
            for version in [versions.0, 7] {
                headers[5] = version;
                std::fs::write(&path, &headers).unwrap();
                let database = Database::open(&path, &Options::default()).unwrap();
                assert_eq!(database.versions(), (version, versions.1));
            }
        }
    }

    #[test]
    fn buffers_are_for_one_game_for_many_or_for_many_here_and_there() {
        for (decoded, buffer) in [
            (Decoded::default(), ReadBuffer::default()),
            (Decoded::reading_ahead(), ReadBuffer::ahead()),
            (Decoded::reading_many(), ReadBuffer::ahead_of_many()),
        ] {
            assert_eq!(format!("{:?}", decoded.buffer), format!("{buffer:?}"));
        }
    }

    #[test]
    fn entities_are_counted_by_their_games_as_in_their_files() {
        let (_folder, path) = samples::copy_of("sample");
        let database = Database::open(&path, &Options::default()).unwrap();
        let references = database.references().unwrap();
        let mut summaries = Vec::new();
        let mut take = |summary: &Summary| summaries.push(*summary);
        database
            .for_each_summary(1..u32::MAX, true, &mut take)
            .unwrap();
        assert_eq!(summaries.len(), 14);
        let players = |summary: &Summary| [summary.white, summary.black];
        for kind in EntityKind::ALL {
            let names = database.entity_names(kind).unwrap();
            let count = u32::try_from(names.iter().count()).unwrap();
            assert_eq!(database.entities_claimed(kind), count, "{kind:?}");
            if kind != EntityKind::Player {
                continue;
            }
            for id in (0..=names.bound()).map(EntityId) {
                let all = summaries.iter().flat_map(players);
                let count = all.filter(|other| *other == id).count();
                let first = summaries
                    .iter()
                    .find(|summary| players(summary).contains(&id));
                let wanted = ReferenceCount {
                    count: u32::try_from(count).unwrap(),
                    first: first.map(|summary| summary.id),
                };
                assert_eq!(references.of(kind, id), wanted, "{id:?}");
            }
        }
    }

    #[test]
    fn a_result_without_a_meaning_is_a_defect_where_it_stands() {
        let (_folder, path) = samples::copy_of("sample");
        let mut headers = std::fs::read(&path).unwrap();
        headers[3 * RECORD_BYTES + 27] = 77;
        std::fs::write(&path, headers).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let mut decoded = Decoded::default();
        database.read_game(GameId(3), &mut decoded).unwrap();
        let told: Vec<_> = decoded
            .defects
            .iter()
            .map(|defect| (defect.offset, &*defect.what))
            .collect();
        assert_eq!(told, [(3 * 46 + 27, "result 77 has no meaning")]);
    }

    #[test]
    fn moves_with_an_impossible_size_are_malformed_where_it_stands() {
        let (_folder, path) = samples::copy_of("sample");
        let file = path.with_extension("cbg");
        let mut moves = std::fs::read(&file).unwrap();
        let headers = std::fs::read(&path).unwrap();
        let offset = headers[RECORD_BYTES + 1..].first_chunk().copied();
        let offset = u32::from_be_bytes(offset.unwrap());
        moves[offset as usize + 1..][..3].copy_from_slice(&[0, 0, 3]);
        std::fs::write(&file, moves).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let error = database.stored_game(GameId(1)).unwrap_err();
        let Error::Malformed {
            file: named,
            offset: at,
            what,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((named, at), (file, u64::from(offset) + 1));
        assert_eq!(what, "blob size is 3");
    }

    #[test]
    fn no_record_is_read_before_the_first_or_behind_the_last_one() {
        let (_folder, path) = samples::copy_of("sample");
        let mut headers = std::fs::read(&path).unwrap();
        headers[9] = 5;
        // A record of a game in place of the header would be one by its first byte.
        headers[0] = 1;
        std::fs::write(&path, headers).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let mut decoded = Decoded::default();
        let is_used =
            [0, 1, 4, 5, 100].map(|id| match database.read_game(GameId(id), &mut decoded) {
                Ok(()) => true,
                Err(Error::NotUsed(not_used)) if not_used == GameId(id) => false,
                Err(error) => panic!("{error}"),
            });
        assert_eq!(is_used, [false, true, true, false, false]);
    }

    #[test]
    fn a_summary_is_the_same_alone_and_among_others() {
        let (_folder, path) = samples::copy_of("sample");
        let database = Database::open(&path, &Options::default()).unwrap();
        for id in 0..=database.last_id() + 1 {
            let mut all = Vec::new();
            database.summaries(GameId(id), 1, &mut all).unwrap();
            match database.summary(GameId(id)) {
                Ok(summary) => assert_eq!((summary.id, all), (GameId(id), vec![summary])),
                Err(error) => assert!(matches!(error, Error::NotUsed(_)) && all.is_empty()),
            }
            let mut decoded = Decoded::default();
            let is_game = database.read_game(GameId(id), &mut decoded).is_ok();
            assert_eq!(database.summary(GameId(id)).is_ok(), is_game);
        }
        for kind in EntityKind::ALL {
            let names = database.entity_names(kind).unwrap();
            for id in (0..names.bound() + 2).map(EntityId) {
                let is_there = database.has_entity(kind, id).unwrap();
                assert_eq!(is_there, names.contains(id), "{kind:?} {id:?}");
            }
        }
    }
}
