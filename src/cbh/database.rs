//! A base, opened: its records listed and its games read.

mod after;
pub(super) mod check;
mod entries;
mod find;
pub(super) mod lists;
mod texts;
pub(super) mod verify;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::annotations;
use super::entities::{
    Annotators, EntityFile, Kind, LookupError, Players, Sources, Tags, Teams, TournamentExtras,
    Tournaments,
};
use super::extended::{self, ExtendedRecord};
use super::moves::{MoveDecoder, blob_size};
use super::record::{self, GameRecord, RECORD_BYTES};
use super::top_games::TopGames;
use super::{CodePage, Error, Family, FileKind, GameId, RecordKind, foreign_tags};
use crate::bytes::Malformed;
use crate::game::{Defect, Game};
use crate::storage::{self, Access, AsIf, MemoryFile, ReadBuffer, Storage, Store};
pub use after::{Changes, Effects, GameChange};
pub use entries::Listed;
use lists::Lists;

/// How to read a base.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The page of names and texts that are not UTF-8; detected if not given.
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
    size_on_disk: u64,
    pub(super) header: record::FileHeader,
    last_id: u32,
    headers: Box<dyn Storage>,
    moves: Box<dyn Storage>,
    annotations: Box<dyn Storage>,
    pub(super) extended: Option<(extended::FileHeader, Box<dyn Storage>)>,
    players: EntityFile<Players>,
    tournaments: EntityFile<Tournaments>,
    annotators: EntityFile<Annotators>,
    sources: EntityFile<Sources>,
    teams: Option<EntityFile<Teams>>,
    tags: Option<EntityFile<Tags>>,
    pub(super) tournament_extras: Option<TournamentExtras>,
    pub(super) top_games: Option<TopGames>,
    defects: Vec<Defect>,
    lists: Lists,
    /// What the files lie in, and how many saves this one knows.
    store: Option<(Arc<Store>, u64)>,
}

/// Opens a file of a base.
pub type Opener<'a> = dyn Fn(&Path) -> io::Result<Box<dyn Storage>> + 'a;

/// A game as read from a base, with what of it could not be read. The memory
/// is reused from game to game.
#[derive(Debug, Default)]
pub struct Decoded {
    /// What could be read.
    pub game: Game,
    /// What could not; a game with defects must never be written back.
    pub defects: Vec<Defect>,
    moves: MoveDecoder,
    buffer: ReadBuffer,
}

/// One game's blob of `.cbg` and record of `.cba`, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredGame {
    /// The moves, see [`moves`](super::moves).
    pub moves: Vec<u8>,
    /// The remarks, if there are any.
    pub annotations: Option<Vec<u8>>,
}

impl StoredGame {
    /// Decodes start, moves and remarks into `game`; its headers stay.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where one of them is damaged; what could be read stands
    /// in `game`.
    pub fn decode(&self, page: CodePage, game: &mut Game) -> Result<(), Malformed> {
        game.annotations.clear();
        let moves = blob_size(&self.moves)
            .and_then(|_| MoveDecoder::default().decode(&self.moves, u8::MAX, game));
        let remarks = match &self.annotations {
            Some(record) => annotations::decode(record, page, game),
            None => Ok(()),
        };
        moves.and(remarks)
    }
}

impl Decoded {
    /// One for many games in order, which reads ahead in the files and so
    /// must not be kept long: see [`ReadBuffer::ahead`].
    pub fn reading_ahead() -> Decoded {
        Decoded {
            buffer: ReadBuffer::ahead(),
            ..Decoded::default()
        }
    }
}

/// Bytes of `.cbg` and `.cba` read at once: nearly every game fits.
const READ_AHEAD: usize = 1024;

impl Database {
    /// Opens the base that `path`, any file of it, belongs to, to read it;
    /// saves that are still in its journal are laid over its files.
    ///
    /// # Errors
    ///
    /// See [`Family::locate`]; [`Error::Malformed`] if a required file is of
    /// another format; [`Error::Io`] from the system. A damaged optional file
    /// is left aside and named in [`defects`](Database::defects).
    pub fn open(path: &Path, options: &Options) -> Result<Database, Error> {
        let store = Family::locate(path)?.store(Access::ReadOnly, "")?;
        Database::open_in(path, options, Arc::new(store))
    }

    /// As [`open`](Database::open), with the files that `store` shows: it must
    /// be that of the base.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn open_in(path: &Path, options: &Options, store: Arc<Store>) -> Result<Database, Error> {
        // What is read while something is saved is over from the beginning.
        let saves = store.saves();
        let family = Family::in_store(path, &store)?;
        let open = |path: &Path| open_stored(path, |name| store.file(name));
        let mut database = Database::open_with(family, options, &open)?;
        database.store = Some((store, saves));
        Ok(database)
    }

    /// The base as its store shows it now, opened as this one was.
    ///
    /// # Errors
    ///
    /// As [`open_in`](Database::open_in).
    pub fn reopened(&self) -> Result<Database, Error> {
        let Some((store, _)) = &self.store else {
            return Err(Error::NotUsed(GameId(0)));
        };
        let saves = store.saves();
        let open = |path: &Path| open_stored(path, |name| store.file(name));
        let is_there = |name: &OsStr| Ok(store.file(name)?.is_some());
        let mut database = self.with_files(&is_there, &open)?;
        database.is_page_given = self.is_page_given;
        // That of a game without a stamp changes only with the game.
        database.modified = self.modified;
        database.store = Some((Arc::clone(store), saves));
        Ok(database)
    }

    /// The base as it would be after `transaction`, for planning only.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn open_as_if(&self, files: &AsIf<'_>) -> Result<Database, Error> {
        let open = |path: &Path| open_stored(path, |name| files.file(name));
        self.with_files(&|name| Ok(files.file(name)?.is_some()), &open)
    }

    fn with_files(
        &self,
        is_there: &dyn Fn(&OsStr) -> Result<bool, storage::Error>,
        open: &Opener<'_>,
    ) -> Result<Database, Error> {
        let mut family = self.family.clone();
        family.keep(is_there)?;
        let options = Options {
            code_page: Some(self.page),
        };
        Database::open_with(family, &options, open)
    }

    /// The files that it is read from, if it was opened with its journal.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref().map(|(store, _)| store)
    }

    /// Whether something was saved since it was opened: what is read of it may
    /// be of both states.
    pub fn is_over(&self) -> bool {
        let store = self.store.as_ref();
        store.is_some_and(|(store, saves)| store.saves() != *saves)
    }

    /// As [`open`](Database::open), with every file read into memory first.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn load(path: &Path, options: &Options) -> Result<Database, Error> {
        Database::open_with(Family::locate(path)?, options, &|path| {
            Ok(Box::new(MemoryFile::from(fs::read(path)?)))
        })
    }

    /// As [`open`](Database::open), with files that `open` gives, as those of
    /// a [`Store`](crate::storage::Store).
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn open_with(
        family: Family,
        options: &Options,
        open: &Opener<'_>,
    ) -> Result<Database, Error> {
        let files = Files {
            family: &family,
            open,
        };
        let mut defects = Vec::new();
        let headers = files.required(FileKind::Headers)?;
        let header = read_header(&family, headers.as_ref())?;
        let last_id = last_id(header, headers.as_ref(), &mut defects)
            .map_err(|source| files.io(FileKind::Headers, source))?;
        let players = files.entities(FileKind::Players)?;
        let extended = files
            .optional(FileKind::Extended)?
            .map(|storage| open_extended(storage).map_err(|fault| (FileKind::Extended, fault)));
        let extended = keep(extended, &files, &mut defects)?;
        let teams = files.optional_entities(FileKind::Teams)?;
        let tags = files.optional_entities(FileKind::Tags)?;
        let extras = files.optional_with(FileKind::TournamentExtras, TournamentExtras::open)?;
        let top_games = files.optional_with(FileKind::TopGames, TopGames::open)?;
        let metadata = fs::metadata(family.default_path(FileKind::Headers));
        let modified = metadata.and_then(|metadata| metadata.modified());
        let tournaments = files.entities(FileKind::Tournaments)?;
        let annotations = files.required(FileKind::Annotations)?;
        let page = match options.code_page {
            Some(page) => page,
            None => detect_page(&players, &tournaments, annotations.as_ref())
                .map_err(|source| files.io(FileKind::Players, source))?,
        };
        Ok(Database {
            page,
            is_page_given: options.code_page.is_some(),
            modified: modified.unwrap_or(UNIX_EPOCH),
            size_on_disk: files.size_on_disk(),
            header,
            last_id,
            moves: files.required(FileKind::Moves)?,
            annotations,
            tournaments,
            annotators: files.entities(FileKind::Annotators)?,
            sources: files.entities(FileKind::Sources)?,
            teams: keep(teams, &files, &mut defects)?,
            tags: keep(tags, &files, &mut defects)?,
            tournament_extras: keep(extras, &files, &mut defects)?,
            top_games: keep(top_games, &files, &mut defects)?,
            headers,
            extended,
            players,
            defects,
            lists: Lists::default(),
            store: None,
            family,
        })
    }

    /// The files of the base.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// Number of records; games and texts are numbered from 1 to here.
    pub fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Version of `.cbh`, and of `.cbj` if there is one.
    pub fn versions(&self) -> (u8, Option<u32>) {
        let extended = self.extended.as_ref().map(|(header, _)| header.version);
        (self.header.version, extended)
    }

    /// The page of names that are not UTF-8.
    pub fn code_page(&self) -> CodePage {
        self.page
    }

    /// Whether that page was given, and not told from the names.
    pub fn is_code_page_given(&self) -> bool {
        self.is_page_given
    }

    /// Bytes of all files of the base together, when it was opened.
    pub fn size_on_disk(&self) -> u64 {
        self.size_on_disk
    }

    /// When `.cbh` was last changed.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// What is wrong with the base as a whole.
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }

    fn extended_record_bytes(&self) -> usize {
        self.extended
            .as_ref()
            .map_or(1, |(header, _)| header.record_bytes as usize)
    }

    /// The `.cbj` records from `first` to before `end`, as far as there are.
    fn extended_records<'b>(
        &'b self,
        first: u32,
        end: u32,
        buffer: &'b mut ReadBuffer,
    ) -> Result<&'b [u8], Error> {
        let Some((header, storage)) = &self.extended else {
            return Ok(&[]);
        };
        let Some(offset) = header.offset_of(first) else {
            return Ok(&[]);
        };
        let count = (end - first).min(header.count - (first - 1));
        let length = header.record_bytes as usize * count as usize;
        storage
            .read_up_to(offset, length, buffer)
            .map_err(|source| self.io(FileKind::Extended, source))
    }

    /// Decodes one game into `decoded`.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`] if its
    /// record cannot be read, or the medium fails. Damage in the moves or an
    /// entity is no error: `decoded` has what could be read and says what
    /// not.
    pub fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        decoded.game.clear();
        decoded.defects.clear();
        let record = self.game_record(id, &mut decoded.buffer)?;
        let extended = self.extended_record(id, &mut decoded.buffer)?;
        self.read_headers(id, &record, &extended, decoded)?;
        self.read_moves(&record, &extended, decoded)?;
        self.read_annotations(&record, decoded)?;
        foreign_tags::lift(&mut decoded.game);
        Ok(())
    }

    /// What the files store of one game's moves and remarks.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Malformed`] if
    /// one of them has no size or ends past its file; [`Error::Io`].
    pub fn stored_game(&self, id: GameId) -> Result<StoredGame, Error> {
        let buffer = &mut ReadBuffer::default();
        let record = self.game_record(id, buffer)?;
        let extended = self.extended_record(id, buffer)?;
        let offset = self
            .moves_offset(record.moves_offset, &extended)
            .map_err(|source| self.io(FileKind::Moves, source))?;
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

    /// The bytes of a record of `.cbh` that is in use.
    pub(super) fn header_bytes(&self, id: GameId) -> Result<[u8; RECORD_BYTES], Error> {
        let buffer = &mut ReadBuffer::default();
        if id.0 == 0 || id.0 > self.last_id {
            return Err(Error::NotUsed(id));
        }
        let bytes = self
            .headers
            .read(record_offset(id.0), RECORD_BYTES, buffer)
            .map_err(|source| self.io(FileKind::Headers, source))?;
        match (record::decode_kind(bytes), bytes.first_chunk()) {
            (Some(_), Some(bytes)) => Ok(*bytes),
            _ => Err(Error::NotUsed(id)),
        }
    }

    /// The bytes of a record of `.cbj`; `None` if it has none for the game.
    pub(super) fn extended_bytes(&self, id: GameId) -> Result<Option<Vec<u8>>, Error> {
        let buffer = &mut ReadBuffer::default();
        let end = id.0.saturating_add(1);
        let bytes = self.kept_extended_records(id.0, end, buffer)?;
        let is_whole = bytes.len() == self.extended_record_bytes();
        Ok(Some(bytes.to_vec()).filter(|_| is_whole && self.extended.is_some()))
    }

    /// A file of the base as it was opened; `None` if it has none, or it was
    /// left aside.
    pub(super) fn storage(&self, kind: FileKind) -> Option<&dyn Storage> {
        match kind {
            FileKind::Headers => Some(self.headers.as_ref()),
            FileKind::Moves => Some(self.moves.as_ref()),
            FileKind::Annotations => Some(self.annotations.as_ref()),
            FileKind::Players => Some(self.players.storage()),
            FileKind::Tournaments => Some(self.tournaments.storage()),
            FileKind::Annotators => Some(self.annotators.storage()),
            FileKind::Sources => Some(self.sources.storage()),
            FileKind::Extended => self.extended.as_ref().map(|(_, file)| file.as_ref()),
            FileKind::Teams => self.teams.as_ref().map(EntityFile::storage),
            FileKind::Tags => self.tags.as_ref().map(EntityFile::storage),
            FileKind::TournamentExtras | FileKind::TopGames => None,
        }
    }

    fn game_record(&self, id: GameId, buffer: &mut ReadBuffer) -> Result<GameRecord, Error> {
        GameRecord::decode(self.record(id, RecordKind::Game, buffer)?)
            .map_err(|fault| self.malformed(FileKind::Headers, record_offset(id.0), fault))
    }

    /// The bytes of the record, if it is of this kind.
    fn record<'b>(
        &'b self,
        id: GameId,
        wanted: RecordKind,
        buffer: &'b mut ReadBuffer,
    ) -> Result<&'b [u8], Error> {
        if id.0 == 0 || id.0 > self.last_id {
            return Err(Error::NotUsed(id));
        }
        let bytes = self
            .headers
            .read(record_offset(id.0), RECORD_BYTES, buffer)
            .map_err(|source| self.io(FileKind::Headers, source))?;
        match record::decode_kind(bytes) {
            Some((kind, _)) if kind == wanted => Ok(bytes),
            _ => Err(Error::NotUsed(id)),
        }
    }

    fn extended_record(
        &self,
        id: GameId,
        buffer: &mut ReadBuffer,
    ) -> Result<ExtendedRecord, Error> {
        let bytes = self.kept_extended_records(id.0, id.0 + 1, buffer)?;
        Ok(ExtendedRecord::decode(bytes))
    }

    /// As [`extended_records`](Database::extended_records); an error if some
    /// are missing that were there when the base was opened.
    fn kept_extended_records<'b>(
        &'b self,
        first: u32,
        end: u32,
        buffer: &'b mut ReadBuffer,
    ) -> Result<&'b [u8], Error> {
        let bytes = self.extended_records(first, end, buffer)?;
        if let Some((header, storage)) = &self.extended
            && let Some(offset) = header.offset_of(first)
        {
            let count = (end - first).min(header.count - (first - 1));
            let length = u64::from(header.record_bytes) * u64::from(count);
            if (bytes.len() as u64) < length {
                storage
                    .ensure_kept(offset + length)
                    .map_err(|source| self.io(FileKind::Extended, source))?;
            }
        }
        Ok(bytes)
    }

    fn read_headers(
        &self,
        id: GameId,
        record: &GameRecord,
        extended: &ExtendedRecord,
        decoded: &mut Decoded,
    ) -> Result<(), Error> {
        let Decoded {
            game,
            defects,
            buffer,
            ..
        } = decoded;
        let headers = &mut game.headers;
        headers.date = record.date;
        headers.round = record.round;
        headers.subround = record.subround;
        headers.line_evaluation = record.line_evaluation;
        headers.eco = record.eco();
        headers.white_elo = record.white_elo;
        headers.black_elo = record.black_elo;
        headers.white_elo_type = extended.white_elo_type;
        headers.black_elo_type = extended.black_elo_type;
        headers.medals = record.medals;
        match record.result() {
            Some(result) => headers.result = result,
            None => defects.push(Defect {
                file: "cbh",
                offset: record_offset(id.0) + 27,
                what: format!("result {} has no meaning", record.result),
            }),
        }
        let mut lookup = Lookup {
            database: self,
            buffer,
            defects,
        };
        lookup.read(
            FileKind::Players,
            &self.players,
            record.white,
            &mut headers.white,
        )?;
        lookup.read(
            FileKind::Players,
            &self.players,
            record.black,
            &mut headers.black,
        )?;
        let tournament = record.tournament;
        lookup.read(
            FileKind::Tournaments,
            &self.tournaments,
            tournament,
            &mut headers.tournament,
        )?;
        lookup.read(
            FileKind::Annotators,
            &self.annotators,
            record.annotator,
            &mut headers.annotator,
        )?;
        lookup.read(
            FileKind::Sources,
            &self.sources,
            record.source,
            &mut headers.source,
        )?;
        lookup.read_optional(
            FileKind::Teams,
            self.teams.as_ref(),
            extended.white_team,
            &mut headers.white_team,
        )?;
        lookup.read_optional(
            FileKind::Teams,
            self.teams.as_ref(),
            extended.black_team,
            &mut headers.black_team,
        )?;
        lookup.read_optional(
            FileKind::Tags,
            self.tags.as_ref(),
            extended.tag,
            &mut headers.tag,
        )?;
        if let Some(top_games) = &self.top_games {
            headers.is_top_game = top_games
                .is_top_game(id.0, buffer)
                .map_err(|source| self.io(FileKind::TopGames, source))?;
        }
        if let Some(extras) = &self.tournament_extras {
            headers.tournament.end = extras
                .end_date(tournament, buffer)
                .map_err(|source| self.io(FileKind::TournamentExtras, source))?;
        }
        Ok(())
    }

    fn read_moves(
        &self,
        record: &GameRecord,
        extended: &ExtendedRecord,
        decoded: &mut Decoded,
    ) -> Result<(), Error> {
        let Decoded {
            game,
            defects,
            moves,
            buffer,
        } = decoded;
        let io = |source| self.io(FileKind::Moves, source);
        let offset = self
            .moves_offset(record.moves_offset, extended)
            .map_err(io)?;
        let decode = |blob: &[u8]| moves.decode(blob, record.move_count, game);
        let read = with_blob(self.moves.as_ref(), offset, blob_size, buffer, decode);
        if let Err(fault) = read.map_err(io)? {
            defects.push(defect("cbg", offset, fault));
        }
        Ok(())
    }

    fn read_annotations(&self, record: &GameRecord, decoded: &mut Decoded) -> Result<(), Error> {
        if record.annotations_offset == 0 {
            return Ok(());
        }
        let Decoded {
            game,
            defects,
            buffer,
            ..
        } = decoded;
        let offset = u64::from(record.annotations_offset);
        let decode = |bytes: &[u8]| annotations::decode(bytes, self.page, game);
        let read = with_blob(
            self.annotations.as_ref(),
            offset,
            annotations::record_size,
            buffer,
            decode,
        );
        if let Err(fault) = read.map_err(|source| self.io(FileKind::Annotations, source))? {
            defects.push(defect("cba", offset, fault));
        }
        Ok(())
    }

    /// `.cbh` has 32 bits for the offset; beyond 4 GiB only `.cbj` can tell.
    pub(super) fn moves_offset(&self, stored: u32, extended: &ExtendedRecord) -> io::Result<u64> {
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

    pub(super) fn io(&self, kind: FileKind, source: io::Error) -> Error {
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

/// Reads entities for one game and notes what is not to be had.
struct Lookup<'a> {
    database: &'a Database,
    buffer: &'a mut ReadBuffer,
    defects: &'a mut Vec<Defect>,
}

impl Lookup<'_> {
    fn read<K: Kind>(
        &mut self,
        kind: FileKind,
        file: &EntityFile<K>,
        id: u32,
        value: &mut K::Value,
    ) -> Result<(), Error> {
        match file.read(id, self.database.page, self.buffer, value) {
            Ok(()) => Ok(()),
            Err(LookupError::Io(source)) => Err(self.database.io(kind, source)),
            Err(LookupError::Fault(offset, what)) => {
                self.defects.push(Defect {
                    file: kind.extension(),
                    offset,
                    what,
                });
                Ok(())
            }
        }
    }

    /// A negative id means "none"; without the file, nothing can be said.
    fn read_optional<K: Kind>(
        &mut self,
        kind: FileKind,
        file: Option<&EntityFile<K>>,
        id: i32,
        value: &mut K::Value,
    ) -> Result<(), Error> {
        match (u32::try_from(id), file) {
            (Ok(id), Some(file)) => self.read(kind, file, id, value),
            _ => Ok(()),
        }
    }
}

/// Opens the files of a base.
struct Files<'a> {
    family: &'a Family,
    open: &'a Opener<'a>,
}

impl Files<'_> {
    fn open(&self, kind: FileKind, path: &Path) -> Result<Box<dyn Storage>, Error> {
        (self.open)(path).map_err(|source| self.io(kind, source))
    }

    fn required(&self, kind: FileKind) -> Result<Box<dyn Storage>, Error> {
        self.optional(kind)?.ok_or_else(|| Error::Missing {
            file: self.family.default_path(kind),
            holds: kind.holds(),
        })
    }

    fn optional(&self, kind: FileKind) -> Result<Option<Box<dyn Storage>>, Error> {
        self.family
            .path(kind)
            .map(|path| self.open(kind, path))
            .transpose()
    }

    fn entities<K: Kind>(&self, kind: FileKind) -> Result<EntityFile<K>, Error> {
        EntityFile::open(self.required(kind)?).map_err(|error| self.error(kind, error))
    }

    fn optional_entities<K: Kind>(
        &self,
        kind: FileKind,
    ) -> Result<Option<Result<EntityFile<K>, Fault>>, Error> {
        let opened = |storage| EntityFile::open(storage).map_err(|error| (kind, error));
        Ok(self.optional(kind)?.map(opened))
    }

    /// An optional file that `open` reads the header of.
    fn optional_with<T>(
        &self,
        kind: FileKind,
        open: impl FnOnce(Box<dyn Storage>) -> io::Result<Result<T, Malformed>>,
    ) -> Result<Option<Result<T, Fault>>, Error> {
        let opened = |storage| match open(storage) {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(fault)) => Err((kind, LookupError::from(fault))),
            Err(source) => Err((kind, LookupError::Io(source))),
        };
        Ok(self.optional(kind)?.map(opened))
    }

    fn io(&self, kind: FileKind, source: io::Error) -> Error {
        io_error(self.family, kind, source)
    }

    fn error(&self, kind: FileKind, error: LookupError) -> Error {
        match error {
            LookupError::Io(source) => self.io(kind, source),
            LookupError::Fault(offset, what) => Error::Malformed {
                file: self.family.default_path(kind),
                offset,
                what,
            },
        }
    }

    fn size_on_disk(&self) -> u64 {
        let size = |kind| Some(fs::metadata(self.family.path(kind)?).ok()?.len());
        FileKind::ALL.into_iter().filter_map(size).sum()
    }
}

/// What is wrong with an optional file.
type Fault = (FileKind, LookupError);

/// An optional file if it can be used; a damaged one is left aside and noted.
fn keep<T>(
    opened: Option<Result<T, Fault>>,
    files: &Files<'_>,
    defects: &mut Vec<Defect>,
) -> Result<Option<T>, Error> {
    match opened {
        None => Ok(None),
        Some(Ok(file)) => Ok(Some(file)),
        Some(Err((kind, LookupError::Io(source)))) => Err(files.io(kind, source)),
        Some(Err((kind, LookupError::Fault(offset, what)))) => {
            defects.push(Defect {
                file: kind.extension(),
                offset,
                what: format!("{what}; the file is left aside"),
            });
            Ok(None)
        }
    }
}

/// A file of a store, where one was found.
fn open_stored(
    path: &Path,
    file: impl Fn(&OsStr) -> Result<Option<Arc<dyn Storage>>, storage::Error>,
) -> io::Result<Box<dyn Storage>> {
    match file(path.file_name().unwrap_or_default()) {
        Ok(Some(file)) => Ok(Box::new(file)),
        Ok(None) => Err(io::ErrorKind::NotFound.into()),
        Err(storage::Error::Io { source, .. }) => Err(source),
        Err(other) => Err(io::Error::other(other)),
    }
}

fn io_error(family: &Family, kind: FileKind, source: io::Error) -> Error {
    let source = match source.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(source.kind(), "the file has become shorter")
        }
        _ => source,
    };
    Error::Io {
        file: family.default_path(kind),
        source,
    }
}

/// How much of `.cba` tells the code page of its texts.
const TEXT_SAMPLE_BYTES: usize = 1 << 16;

/// The page that the names of players and tournaments, and the texts of
/// remarks, are in.
fn detect_page(
    players: &EntityFile<Players>,
    tournaments: &EntityFile<Tournaments>,
    annotations: &dyn Storage,
) -> io::Result<CodePage> {
    let (mut player_bytes, mut tournament_bytes) = (ReadBuffer::default(), ReadBuffer::default());
    let mut buffer = ReadBuffer::default();
    let remarks = annotations.read_up_to(0, TEXT_SAMPLE_BYTES, &mut buffer)?;
    let mut strings = Vec::new();
    players.sample_strings(&mut player_bytes, &mut strings)?;
    tournaments.sample_strings(&mut tournament_bytes, &mut strings)?;
    Ok(CodePage::detect(
        strings,
        annotations::sample_texts(remarks),
    ))
}

fn read_header(family: &Family, headers: &dyn Storage) -> Result<record::FileHeader, Error> {
    let mut buffer = ReadBuffer::default();
    let bytes = headers
        .read_up_to(0, RECORD_BYTES, &mut buffer)
        .map_err(|source| io_error(family, FileKind::Headers, source))?;
    record::FileHeader::decode(bytes).map_err(|fault| Error::Malformed {
        file: family.default_path(FileKind::Headers),
        offset: fault.offset as u64,
        what: fault.what,
    })
}

/// The number of records: what the header says, but no more than there are.
fn last_id(
    header: record::FileHeader,
    headers: &dyn Storage,
    defects: &mut Vec<Defect>,
) -> io::Result<u32> {
    let claimed = header.next_id.saturating_sub(1);
    let present = (headers.len()? / RECORD_BYTES as u64).saturating_sub(1);
    if u64::from(claimed) > present {
        defects.push(Defect {
            file: "cbh",
            offset: 6,
            what: format!("{claimed} records claimed, {present} are there"),
        });
    }
    Ok(claimed.min(u32::try_from(present).unwrap_or(u32::MAX)))
}

fn open_extended(
    storage: Box<dyn Storage>,
) -> Result<(extended::FileHeader, Box<dyn Storage>), LookupError> {
    let mut buffer = ReadBuffer::default();
    let bytes = storage
        .read_up_to(0, extended::HEADER_BYTES, &mut buffer)
        .map_err(LookupError::Io)?;
    let header = extended::FileHeader::decode(bytes).map_err(LookupError::from)?;
    Ok((header, storage))
}

/// Reads the blob at `offset`, whose first bytes tell its size, and hands it
/// to `decode`.
///
/// # Errors
///
/// The medium's, also if the file was cut short after it was opened; inside,
/// [`Malformed`] if the size is impossible, the blob ends past the file, or
/// `decode` says so.
fn with_blob(
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
        let what = format!("blob of {size} bytes ends past the file ({left} left)");
        return Ok(Err(Malformed::new(0, what)));
    }
    Ok(decode(storage.read(offset, size, buffer)?))
}

fn defect(file: &'static str, offset: u64, fault: Malformed) -> Defect {
    Defect {
        file,
        offset: offset.saturating_add(fault.offset as u64),
        what: fault.what,
    }
}

fn record_offset(id: u32) -> u64 {
    RECORD_BYTES as u64 * u64::from(id)
}
