//! Opening a base: its files found, their headers read.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::after_save::Effects;
use super::lists::CachedLists;
use super::{Database, Options, io_error};
use crate::bytes::Malformed;
use crate::cbh::annotations;
use crate::cbh::entities::{
    EntityFile, EntityLayout, LookupError, Players, TournamentExtras, Tournaments,
};
use crate::cbh::extended;
use crate::cbh::layout::top_games::TopGames;
use crate::cbh::record::{self, MOST_GAMES, RECORD_BYTES};
use crate::cbh::{CodePage, Error, Family, FileKind, GameId};
use crate::game::Defect;
use crate::storage::{
    self, FilesAfter, MemoryFile, ReadBuffer, Storage, Store, StoreAccess, Transaction,
};

/// Opens a file of a base.
pub type Opener<'a> = dyn Fn(&Path) -> io::Result<Box<dyn Storage>> + 'a;

impl Database {
    /// Opens the base that `path`, any file of it, belongs to, to read it;
    /// saves that are still in its journal are laid over its files.
    ///
    /// # Errors
    ///
    /// See [`Family::locate`]; [`Error::Malformed`] if `.cbh` is of another
    /// format; [`Error::Io`] from the system. A damaged optional file is left
    /// aside, and one of entities without its header is read as far as that
    /// can be done: both are named in [`defects`](Database::defects).
    pub fn open(path: &Path, options: &Options) -> Result<Database, Error> {
        let store = Family::locate(path)?.store(StoreAccess::ReadOnly, "")?;
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

    /// As [`open`](Database::open), of a base whose files were found already,
    /// as those [inside](Family::inside) an archive.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn open_family(family: Family, options: &Options) -> Result<Database, Error> {
        let store = Arc::new(family.store(StoreAccess::ReadOnly, "")?);
        let saves = store.saves();
        let open = |path: &Path| open_stored(path, |name| store.file(name));
        let mut database = Database::open_with(family, options, &open)?;
        database.store = Some((store, saves));
        Ok(database)
    }

    /// The same with these defects beside its own: of what its files lie in.
    #[must_use]
    pub fn with_defects(mut self, defects: impl IntoIterator<Item = Defect>) -> Database {
        self.defects.extend(defects);
        self
    }

    /// The base as its store shows it now, opened as this one was.
    ///
    /// # Errors
    ///
    /// As [`open_in`](Database::open_in).
    pub fn reopened(&self) -> Result<Database, Error> {
        self.reopened_with(None)
    }

    /// As [`reopened`](Database::reopened). After a save that affected only
    /// `effects`, headers of files that it left as they are need not be read.
    pub(super) fn reopened_with(&self, effects: Option<&Effects>) -> Result<Database, Error> {
        let Some((store, _)) = &self.store else {
            return Err(Error::NotUsed(GameId(0)));
        };
        let saves = store.saves();
        let open = |path: &Path| open_stored(path, |name| store.file(name));
        let is_there = |name: &OsStr| Ok(store.file(name)?.is_some());
        let before = Before {
            database: self,
            effects,
        };
        let mut database = self.with_files(&is_there, &open, Some(before))?;
        database.is_page_given = self.is_page_given;
        database.store = Some((Arc::clone(store), saves));
        Ok(database)
    }

    /// Returns the base as it would be with `files`, for planning only.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub fn open_after(&self, files: &FilesAfter<'_>) -> Result<Database, Error> {
        let open = |path: &Path| open_stored(path, |name| files.file(name));
        self.with_files(&|name| Ok(files.file(name)?.is_some()), &open, None)
    }

    /// Returns the page that would be detected after `transaction`, if it shows some names
    /// differently than the present page.
    ///
    /// # Errors
    ///
    /// As [`open`](Database::open).
    pub(in crate::cbh) fn page_lost_by(
        &self,
        transaction: &Transaction,
    ) -> Result<Option<CodePage>, Error> {
        let is_told = !self.is_page_given && self.page != CodePage::WESTERN;
        let Some((store, _)) = self.store.as_ref().filter(|_| is_told) else {
            return Ok(None);
        };
        let files = store.files_after(transaction);
        let files = files.map_err(|error| self.io(FileKind::Headers, io::Error::other(error)))?;
        self.page_lost_in(&self.open_after(&files)?)
    }

    /// Returns the page that is detected in `after`, a base made of this one, if it shows
    /// some names differently than the present page.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(in crate::cbh) fn page_lost_in(&self, after: &Database) -> Result<Option<CodePage>, Error> {
        let lost = |names: &[&[u8]], remarks: &[u8]| {
            let page = page_of(names, remarks);
            let texts = annotations::sample_texts(remarks);
            let mut all = names.iter().copied().chain(texts);
            let is_other = all.any(|bytes| !self.page.reads_alike(page, bytes));
            is_other.then_some(page)
        };
        let (players, tournaments) = (&after.players, &after.tournaments);
        with_page_sample(players, tournaments, after.annotations.as_ref(), lost)
            .map_err(|source| self.io(FileKind::Players, source))
    }

    fn with_files(
        &self,
        is_there: &dyn Fn(&OsStr) -> Result<bool, storage::Error>,
        open: &Opener<'_>,
        before: Option<Before<'_>>,
    ) -> Result<Database, Error> {
        let mut family = self.family.clone();
        family.keep(is_there)?;
        let options = Options {
            code_page: Some(self.page),
        };
        Database::open_after_save(family, options, open, before)
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
        Database::open_after_save(family, *options, open, None)
    }

    fn open_after_save(
        family: Family,
        options: Options,
        open: &Opener<'_>,
        before: Option<Before<'_>>,
    ) -> Result<Database, Error> {
        let files = BaseOpening {
            family: &family,
            open,
            before,
        };
        let mut defects = Vec::new();
        let headers = files.required(FileKind::Headers)?;
        let header = read_header(&family, headers.as_ref())?;
        let last_id = last_id(header, headers.as_ref(), &mut defects)
            .map_err(|source| files.io(FileKind::Headers, source))?;
        let players = files.entities(FileKind::Players, |base| &base.players, &mut defects)?;
        let extended = files
            .optional(FileKind::Extended)?
            .map(|storage| open_extended(storage).map_err(|fault| (FileKind::Extended, fault)));
        let extended = keep(extended, &files, &mut defects)?;
        let teams =
            files.optional_entities(FileKind::Teams, |base| base.teams.as_ref(), &mut defects)?;
        let tags = files.optional_entities(FileKind::Tags, |_| None, &mut defects)?;
        let extras = files.optional_with(FileKind::TournamentExtras, TournamentExtras::open)?;
        let top_games = files.optional_with(FileKind::TopGames, TopGames::open)?;
        let modified = match &files.before {
            // That of a game without a stamp changes only with the game.
            Some(before) => before.database.modified,
            None => family
                .length_and_time(FileKind::Headers)
                .map_or(UNIX_EPOCH, |(_, modified)| modified),
        };
        let tournaments = files.entities(
            FileKind::Tournaments,
            |base| &base.tournaments,
            &mut defects,
        )?;
        let annotations = files.required(FileKind::Annotations)?;
        let page = match options.code_page {
            Some(page) => page,
            None => detect_page(&players, &tournaments, annotations.as_ref())
                .map_err(|source| files.io(FileKind::Players, source))?,
        };
        let moves = files.required(FileKind::Moves)?;
        let moves_length = moves.len();
        let moves_length = moves_length.map_err(|source| files.io(FileKind::Moves, source))?;
        Ok(Database {
            page,
            is_page_given: options.code_page.is_some(),
            modified,
            header,
            last_id,
            moves,
            has_long_moves: moves_length > u32::MAX.into(),
            annotations,
            tournaments,
            annotators: files.entities(
                FileKind::Annotators,
                |base| &base.annotators,
                &mut defects,
            )?,
            sources: files.entities(FileKind::Sources, |base| &base.sources, &mut defects)?,
            teams,
            tags,
            tournament_extras: keep(extras, &files, &mut defects)?,
            top_games: keep(top_games, &files, &mut defects)?,
            headers,
            extended,
            players,
            defects,
            lists: CachedLists::default(),
            store: None,
            family,
        })
    }
}

/// A base before a save, and what that affected, if it is known.
struct Before<'a> {
    database: &'a Database,
    effects: Option<&'a Effects>,
}

impl Before<'_> {
    /// Whether the save left the entities of this file as they were.
    fn left(&self, kind: FileKind) -> bool {
        let is_other = |effects: &Effects| {
            let mut entities = effects.entities.iter();
            entities.all(|(of, _)| of.file() != kind)
        };
        self.effects.is_some_and(is_other)
    }
}

/// Opens the files of a base.
struct BaseOpening<'a> {
    family: &'a Family,
    open: &'a Opener<'a>,
    before: Option<Before<'a>>,
}

impl BaseOpening<'_> {
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

    /// Opens a file of entities; one whose header is damaged is noted.
    fn entities<K: EntityLayout>(
        &self,
        kind: FileKind,
        of: impl Fn(&Database) -> &EntityFile<K>,
        defects: &mut Vec<Defect>,
    ) -> Result<EntityFile<K>, Error> {
        self.opened(kind, self.required(kind)?, |base| Some(of(base)), defects)
    }

    fn optional_entities<K: EntityLayout>(
        &self,
        kind: FileKind,
        of: impl Fn(&Database) -> Option<&EntityFile<K>>,
        defects: &mut Vec<Defect>,
    ) -> Result<Option<EntityFile<K>>, Error> {
        let storage = self.optional(kind)?;
        storage
            .map(|storage| self.opened(kind, storage, of, defects))
            .transpose()
    }

    fn opened<K: EntityLayout>(
        &self,
        kind: FileKind,
        storage: Box<dyn Storage>,
        of: impl Fn(&Database) -> Option<&EntityFile<K>>,
        defects: &mut Vec<Defect>,
    ) -> Result<EntityFile<K>, Error> {
        let before = self.before.as_ref().filter(|before| before.left(kind));
        let file = match before.and_then(|before| of(before.database)) {
            Some(same) => same.again(storage),
            None => EntityFile::open(storage).map_err(|source| self.io(kind, source))?,
        };
        defects.extend(file.fault().map(|fault| Defect {
            file: kind.extension(),
            offset: fault.offset as u64,
            what: fault.what,
        }));
        Ok(file)
    }

    /// An optional file that `open` reads the header of.
    fn optional_with<T>(
        &self,
        kind: FileKind,
        open: impl FnOnce(Box<dyn Storage>) -> io::Result<Result<T, Malformed>>,
    ) -> Result<Option<Result<T, OptionalFileDefect>>, Error> {
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
}

/// What is wrong with an optional file.
type OptionalFileDefect = (FileKind, LookupError);

/// An optional file if it can be used; a damaged one is left aside and noted.
fn keep<T>(
    opened: Option<Result<T, OptionalFileDefect>>,
    files: &BaseOpening<'_>,
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

/// How much of `.cba` tells the code page of its texts.
const TEXT_SAMPLE_BYTES: usize = 1 << 16;

/// The page that the names of players and tournaments, and the texts of
/// remarks, are in.
fn detect_page(
    players: &EntityFile<Players>,
    tournaments: &EntityFile<Tournaments>,
    annotations: &dyn Storage,
) -> io::Result<CodePage> {
    with_page_sample(players, tournaments, annotations, page_of)
}

fn page_of(names: &[&[u8]], remarks: &[u8]) -> CodePage {
    CodePage::detect(names.iter().copied(), annotations::sample_texts(remarks))
}

/// Calls `judge` with what tells the page: names, and the begin of `.cba`.
fn with_page_sample<T>(
    players: &EntityFile<Players>,
    tournaments: &EntityFile<Tournaments>,
    annotations: &dyn Storage,
    judge: impl FnOnce(&[&[u8]], &[u8]) -> T,
) -> io::Result<T> {
    let (mut player_bytes, mut tournament_bytes) = (ReadBuffer::default(), ReadBuffer::default());
    let mut buffer = ReadBuffer::default();
    let remarks = annotations.read_up_to(0, TEXT_SAMPLE_BYTES, &mut buffer)?;
    let mut names = Vec::new();
    players.sample_strings(&mut player_bytes, &mut names)?;
    tournaments.sample_strings(&mut tournament_bytes, &mut names)?;
    Ok(judge(&names, remarks))
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

/// The number of records: what the header says, but no more than there are or
/// than a base can have. So a file of holes costs no more than a large base.
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
            what: format!("{claimed} records claimed, {present} found"),
        });
    }
    let last_id = claimed.min(u32::try_from(present).unwrap_or(u32::MAX));
    if last_id > MOST_GAMES {
        defects.push(Defect {
            file: "cbh",
            offset: 6,
            what: format!("{last_id} records; a base can have {MOST_GAMES}"),
        });
    }
    Ok(last_id.min(MOST_GAMES))
}

fn open_extended(
    storage: Box<dyn Storage>,
) -> Result<(extended::ExtendedHeader, Box<dyn Storage>), LookupError> {
    let mut buffer = ReadBuffer::default();
    let bytes = storage
        .read_up_to(0, extended::HEADER_BYTES, &mut buffer)
        .map_err(LookupError::Io)?;
    let header = extended::ExtendedHeader::decode(bytes).map_err(LookupError::from)?;
    if header.is_doubtful(storage.len().map_err(LookupError::Io)?) {
        let (size, version) = (header.record_bytes, header.version);
        let what = format!("records of {size} bytes are not those of version {version}");
        return Err(Malformed::new(4, what).into());
    }
    Ok((header, storage))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this length.
    #[derive(Debug)]
    struct Long(u64);

    impl Storage for Long {
        fn len(&self) -> io::Result<u64> {
            Ok(self.0)
        }

        fn read_up_to<'a>(
            &'a self,
            _offset: u64,
            _len: usize,
            _buffer: &'a mut ReadBuffer,
        ) -> io::Result<&'a [u8]> {
            Ok(&[])
        }
    }

    #[test]
    fn a_base_has_as_many_games_as_it_claims_and_as_are_there() {
        let most = (1 << 24) - 1;
        for (claimed, present, last, told) in [
            (3, 3, 3, None),
            (3, 4, 3, None),
            (4, 3, 3, Some("4 records claimed, 3 found")),
            (0, 0, 0, None),
            (most, most, most, None),
            (
                most + 1,
                most + 1,
                most,
                Some("16777216 records; a base can have 16777215"),
            ),
        ] {
            let header = record::FileHeader {
                version: 1,
                next_id: claimed + 1,
            };
            let file = Long((u64::from(present) + 1) * RECORD_BYTES as u64 + 45);
            let mut defects = Vec::new();
            assert_eq!(last_id(header, &file, &mut defects).unwrap(), last);
            let what = defects.first().map(|defect| defect.what.as_str());
            assert_eq!((what, defects.len() < 2), (told, true));
        }
    }
}
