//! Appends of any number of games, all or none.
//!
//! Records, moves and annotations grow with the games. Beyond a limit they are
//! written behind the ends of the files by a [`Stage`], and new entities in the
//! end. Nothing points to them until the final transaction, which also has the
//! counts of other entities and the headers of the files. So memory grows only
//! with the number of new entities, little more than their records take.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::time::SystemTime;

use super::texts::PreparedText;
use super::writing::{joined, offset_of};
use super::{Knowledge, SaveError, Saver, ensure_moves_read_back, file_name};
use crate::cbh::entities::{ENTITY_FILES, EventDetails, Unfit};
use crate::cbh::extended::HEADER_BYTES;
use crate::cbh::moves::{self, Encoded};
use crate::cbh::record::RECORD_BYTES;
use crate::cbh::{ChangeError, Database, Effects, FileKind, GameId};
use crate::game::Game;
use crate::storage::{self, ReadBuffer, Stage, Store};

/// Number of games appended before a write to the files.
const GAMES_AT_ONCE: usize = 1024;

/// Number of bytes of moves or annotations that also causes a write.
const BYTES_AT_ONCE: usize = 1 << 20;

/// Number of records per read.
const RECORDS_AT_ONCE: u32 = 4096;

/// A game with encoded moves: the part of an import that needs no base.
#[derive(Debug)]
pub struct PreparedGame {
    game: Game,
    moves: Encoded,
    past: Option<CopiedMetadata>,
}

/// Properties of a game or text in another base that are not part of its
/// content, and that a copy keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CopiedMetadata {
    /// Whether it is deleted.
    pub is_deleted: bool,
    /// Stamp of creation, as `.cbj` has it; 0 if not known.
    pub created: u64,
    /// Stamp of the last save, as `.cbj` has it; 0 if it was not saved again.
    pub saved: u64,
    /// How often it was saved.
    pub saves: u16,
    /// More of its tournament, which counts if the tournament is new.
    pub event: EventDetails,
}

impl PreparedGame {
    /// Encodes the moves.
    ///
    /// # Errors
    ///
    /// [`SaveError::Moves`] if the format cannot hold them.
    pub fn new(game: Game) -> Result<PreparedGame, SaveError> {
        let moves = moves::encode(&game)?;
        ensure_moves_read_back(&moves, &game)?;
        Ok(PreparedGame {
            game,
            moves,
            past: None,
        })
    }

    /// The same as a copy of a game with this past.
    #[must_use]
    pub fn with_past(self, past: CopiedMetadata) -> PreparedGame {
        PreparedGame {
            past: Some(past),
            ..self
        }
    }
}

impl PreparedGame {
    /// The game.
    pub fn game(&self) -> &Game {
        &self.game
    }
}

/// The result for one game.
#[derive(Debug)]
pub struct Appended {
    /// Id of the game.
    pub id: GameId,
    /// As [`Plan::unfit`](super::Plan::unfit).
    pub unfit: Vec<Unfit>,
    /// As [`Plan::kept`](super::Plan::kept).
    pub kept: Vec<Unfit>,
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// Number of the last game afterwards.
    pub last_id: u32,
    /// The numbers of the games that it added.
    pub games: Range<u32>,
    /// The numbers of all games of the imported text, in its order, those that replaced
    /// earlier games included.
    pub all: Vec<GameId>,
    /// The games and entities that it concerns.
    pub effects: Effects,
    /// As [`Plan::unfit`](super::Plan::unfit), of tournaments.
    pub unfit: Vec<Unfit>,
    /// As [`Plan::knowledge`](super::Plan::knowledge).
    pub knowledge: Knowledge,
    /// Whether anything has changed.
    pub is_change: bool,
}

/// Appends games to a base. Until [`commit`](Importer::commit) nobody sees
/// any of them; dropped before, it leaves the base as it was.
///
/// A few games are one transaction of the journal like any other save. When
/// there are more a [`Stage`] begins.
#[derive(Debug)]
pub struct Importer<'a> {
    store: &'a Store,
    saver: Saver<'a>,
    stage: Option<Stage<'a>>,
    games_at_once: usize,
    /// Games that the first ones take the place of.
    earlier: std::vec::IntoIter<GameId>,
    /// Those of them that may be removed.
    removable: Range<u32>,
    /// Those of them that have been taken the place of.
    replaced: Vec<GameId>,
}

impl<'a> Importer<'a> {
    /// Begins to append to `database`, whose files `store` shows; new games
    /// are stamped as of `now`. Nothing else may be saved meanwhile.
    pub fn new(database: &'a Database, store: &'a Store, now: SystemTime) -> Importer<'a> {
        Importer::knowing(Knowledge::default(), database, store, now)
    }

    /// As [`new`](Importer::new), with what an earlier save found out, since
    /// which nobody else has changed the base.
    pub fn knowing(
        knowledge: Knowledge,
        database: &'a Database,
        store: &'a Store,
        now: SystemTime,
    ) -> Importer<'a> {
        Importer {
            store,
            saver: Saver::knowing(knowledge, database, now),
            stage: None,
            games_at_once: GAMES_AT_ONCE,
            removable: 0..0,
            earlier: Vec::new().into_iter(),
            replaced: Vec::new(),
        }
    }

    /// The same that first takes the place of these games, which an earlier
    /// import made of a part of the same text; those that are left in the end
    /// are removed if they are `removable`, else deleted.
    #[must_use]
    pub fn in_place_of(self, games: Vec<GameId>, removable: Range<u32>) -> Importer<'a> {
        Importer {
            removable,
            earlier: games.into_iter(),
            ..self
        }
    }

    /// The same that holds no more than so many games in memory before they
    /// are laid into the files.
    #[must_use]
    pub fn holding(self, games_at_once: usize) -> Importer<'a> {
        Importer {
            games_at_once,
            ..self
        }
    }

    /// Adds a game, in the place of an earlier one or behind all others. After
    /// an error that is not [of the game](SaveError::is_of_game) this must not be
    /// used any more.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]; those of [`Store::stage`].
    pub fn append(&mut self, game: &PreparedGame) -> Result<Appended, ChangeError> {
        let PreparedGame { game, moves, past } = game;
        let id = if let Some(id) = self.earlier.next() {
            self.saver.replace(id, game)?;
            self.saver.set_deleted(id, false)?;
            self.replaced.push(id);
            id
        } else {
            self.saver.append_encoded(game, moves, past.as_ref())?
        };
        self.appended(id)
    }

    /// Adds a guiding text behind all games. After an error this must not be
    /// used any more.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]; those of [`Store::stage`].
    pub fn append_text(&mut self, text: &PreparedText) -> Result<Appended, ChangeError> {
        let id = self.saver.append_text(text)?;
        self.appended(id)
    }

    /// Lays what is held into the files if it is much.
    fn appended(&mut self, id: GameId) -> Result<Appended, ChangeError> {
        if self.saver.holds_much(self.games_at_once) {
            let stage = match &mut self.stage {
                Some(stage) => stage,
                none => none.insert(self.saver.begin_stage(self.store)?),
            };
            self.saver.spill(stage)?;
        }
        Ok(Appended {
            id,
            unfit: std::mem::take(&mut self.saver.unfit),
            kept: std::mem::take(&mut self.saver.kept),
        })
    }

    /// Makes all of it part of the base.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]: then none is.
    pub fn commit(mut self) -> Result<Imported, ChangeError> {
        let games = self.saver.database.last_id().saturating_add(1)..self.saver.next_id;
        if let Some(stage) = &mut self.stage {
            self.saver.spill(stage)?;
        }
        for id in self.earlier.rev() {
            // What was laid behind the ends of the files stays there.
            let is_removable = self.stage.is_none() && self.removable.contains(&id.0);
            if !(is_removable && self.saver.remove_last(id)?) {
                self.saver.set_deleted(id, true)?;
            }
        }
        let mut stage = self.stage;
        let plan = self.saver.finish_with(|entities| match &mut stage {
            Some(stage) => Ok::<(), ChangeError>(entities.spill(stage)?),
            None => Ok(()),
        })?;
        let is_change = match stage {
            Some(stage) => stage.commit(plan.transaction)?,
            None => self.store.commit(&plan.transaction)?,
        };
        let new = || games.clone().map(GameId);
        // Of those that were laid into the files the plan has nothing.
        let changed = plan.effects.games.into_iter();
        let changed = changed.filter(|id| id.0 < games.start).chain(new());
        let effects = Effects {
            games: changed.collect(),
            ..plan.effects
        };
        let all = self.replaced.into_iter().chain(new()).collect();
        Ok(Imported {
            last_id: plan.last_id,
            games,
            all,
            effects,
            unfit: plan.unfit,
            knowledge: plan.knowledge,
            is_change,
        })
    }
}

impl<'a> Saver<'a> {
    /// Begins to lay bytes behind the ends of the files that grow with games.
    fn begin_stage(&self, store: &'a Store) -> Result<Stage<'a>, storage::Error> {
        let of_games = [
            FileKind::Headers,
            FileKind::Moves,
            FileKind::Annotations,
            FileKind::Extended,
        ];
        let database = self.database;
        let grows = of_games
            .into_iter()
            .chain(ENTITY_FILES)
            .filter(|&kind| database.storage(kind).is_some());
        let names: Vec<OsString> = grows.map(|kind| file_name(database, kind)).collect();
        store.stage(&names)
    }

    /// Whether it is time to lay something into the files.
    fn holds_much(&self, games: usize) -> bool {
        let blobs = [&self.moves, &self.annotations].into_iter().flatten();
        self.records.len() >= games
            || blobs.map(super::BlobFile::held).sum::<usize>() >= BYTES_AT_ONCE
    }

    /// Lays all that is new behind the ends of the files.
    fn spill(&mut self, stage: &mut Stage<'_>) -> Result<(), ChangeError> {
        let database = self.database;
        let blobs = [
            (FileKind::Moves, &mut self.moves),
            (FileKind::Annotations, &mut self.annotations),
        ];
        for (kind, blobs) in blobs {
            if let Some(blobs) = blobs {
                blobs.spill(&file_name(database, kind), stage)?;
            }
        }
        let name = file_name(database, FileKind::Headers);
        if let Some((last, _)) = self.records.last_key_value() {
            self.laid = self.laid.max(last.saturating_add(1));
        }
        spill_records(&mut self.records, offset_of, &name, stage)?;
        if let Some(header) = self.extended {
            let size = u64::from(header.record_bytes);
            let offset_of = |id: u32| HEADER_BYTES as u64 + size * u64::from(id.saturating_sub(1));
            let name = file_name(database, FileKind::Extended);
            spill_records(&mut self.extended_records, offset_of, &name, stage)?;
        }
        Ok(())
    }
}

/// Lays those records that belong behind the end of a file there.
fn spill_records<R: AsRef<[u8]>>(
    records: &mut BTreeMap<u32, R>,
    offset_of: impl Fn(u32) -> u64,
    name: &OsStr,
    stage: &mut Stage<'_>,
) -> Result<(), storage::Error> {
    let Some(begins_at) = stage.begins_at(name) else {
        return Ok(());
    };
    let first = records.keys().find(|id| offset_of(**id) >= begins_at);
    let Some(&first) = first else {
        return Ok(());
    };
    let behind = records.split_off(&first);
    let parts = behind
        .iter()
        .map(|(&id, bytes)| (offset_of(id), bytes.as_ref()));
    for (offset, bytes) in joined(parts) {
        stage.write(name, offset, &bytes)?;
    }
    Ok(())
}

/// Takes the number of a game, and its records of `.cbh` and `.cbj`.
pub(super) type TakeRecord<'t> = dyn FnMut(GameId, &[u8], &[u8]) + 't;

impl Saver<'_> {
    /// Gives records of `.cbh` that were laid behind its end to `take`, with
    /// their numbers, and those of `.cbj` as far as it has them.
    pub(super) fn scan_laid(
        &self,
        mut ids: Range<u32>,
        take: &mut TakeRecord<'_>,
    ) -> Result<(), SaveError> {
        let database = self.database;
        let Some(headers) = database.storage(FileKind::Headers) else {
            return Ok(());
        };
        let (mut buffer, mut further) = (ReadBuffer::default(), ReadBuffer::default());
        while !ids.is_empty() {
            let count = (ids.end - ids.start).min(RECORDS_AT_ONCE) as usize;
            let read = headers.read_up_to(offset_of(ids.start), RECORD_BYTES * count, &mut buffer);
            let read = read.map_err(|source| database.io(FileKind::Headers, source))?;
            let (extended, size) = self.extended_laid(ids.start, count, &mut further)?;
            let mut extended = extended.chunks_exact(size.max(1));
            for (id, bytes) in ids.clone().zip(read.chunks_exact(RECORD_BYTES)) {
                take(GameId(id), bytes, extended.next().unwrap_or_default());
            }
            ids.start += u32::try_from(count).unwrap_or(u32::MAX);
        }
        Ok(())
    }

    /// Records of `.cbj` from `first` on, and the length of each.
    fn extended_laid<'b>(
        &'b self,
        first: u32,
        count: usize,
        buffer: &'b mut ReadBuffer,
    ) -> Result<(&'b [u8], usize), SaveError> {
        let file = self.database.storage(FileKind::Extended);
        let Some((file, header)) = file.zip(self.extended) else {
            return Ok((&[], 0));
        };
        let size = header.record_bytes as usize;
        let offset = HEADER_BYTES as u64 + size as u64 * u64::from(first.saturating_sub(1));
        let read = file.read_up_to(offset, size * count, buffer);
        let read = read.map_err(|source| self.database.io(FileKind::Extended, source))?;
        Ok((read, size))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cbh::base::database::lists::RecordPair;
    use crate::cbh::base::samples;
    use crate::cbh::extended::ExtendedRecord;
    use crate::cbh::record::{self, TextRecord};
    use crate::cbh::{Decoded, GuidingText, NewBase, OpenBase, Options, RecordKind};

    /// All games of all sample bases that have no defects.
    fn games() -> Vec<Game> {
        let mut games = Vec::new();
        let mut decoded = Decoded::default();
        for name in samples::names() {
            let path = format!("fixtures/cbh/{name}/{name}.cbh");
            let database = Database::open(path.as_ref(), &Options::default()).unwrap();
            for id in (1..=database.last_id()).map(GameId) {
                if database.read_game(id, &mut decoded).is_ok() && decoded.defects.is_empty() {
                    games.push(decoded.game.clone());
                }
            }
        }
        games
    }

    fn files(folder: &std::path::Path) -> BTreeMap<OsString, Vec<u8>> {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
        let files = files.filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
        files
            .map(|file| (file.file_name(), fs::read(file.path()).unwrap()))
            .collect()
    }

    #[test]
    fn an_import_is_the_same_however_much_is_held() {
        let games = games();
        // One without `.cbj`, which the first game with a team makes.
        for name in ["sample", "oldheaders"] {
            let mut all = Vec::new();
            for held in [usize::MAX, 1, 7, 100] {
                let (folder, path) = samples::copy_of(name);
                let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
                let last = base.database.last_id();
                let importer = Importer::new(&base.database, &base.store, SystemTime::UNIX_EPOCH);
                let mut importer = importer.holding(held);
                for (id, game) in (last + 1..).zip(&games) {
                    let game = PreparedGame::new(game.clone()).unwrap();
                    assert_eq!(importer.append(&game).unwrap().id, GameId(id));
                }
                assert_eq!(importer.stage.is_some(), held < games.len());
                let done = importer.commit().unwrap();
                let end = last + u32::try_from(games.len()).unwrap();
                assert_eq!((done.last_id, done.games), (end, last + 1..end + 1));
                assert!(done.is_change);
                base.reopen(&path).unwrap();
                assert!(samples::defects(&base.database).is_empty(), "{name} {held}");
                base.store.close().unwrap();
                all.push(files(folder.path()));
            }
            assert!(all.iter().all(|files| files == &all[0]), "{name}");
        }
    }

    #[test]
    fn teams_are_counted_in_games_that_were_laid_into_the_files() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let [plain, of_teams] = [4, 13].map(|id| {
            let mut decoded = Decoded::default();
            base.database.read_game(GameId(id), &mut decoded).unwrap();
            decoded.game
        });
        assert!(!of_teams.headers.white_team.title.is_empty());
        let importer = Importer::new(&base.database, &base.store, SystemTime::UNIX_EPOCH);
        // The game with these teams becomes another one, and is appended again.
        let mut importer = importer.holding(1).in_place_of(vec![GameId(13)], 0..0);
        for game in [&plain, &of_teams, &plain] {
            let prepared = PreparedGame::new(game.clone()).unwrap();
            importer.append(&prepared).unwrap();
        }
        importer.commit().unwrap();
        base.reopen(&path).unwrap();
        assert!(samples::defects(&base.database).is_empty());
    }

    #[test]
    fn copies_of_games_and_texts_keep_their_past() {
        let (_source, path) = samples::copy_of("texts");
        let source = Database::open(&path, &Options::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let new = NewBase::begin(&folder.path().join("new.cbh")).unwrap();
        new.make_empty(SystemTime::UNIX_EPOCH).unwrap();
        let path = new.path();
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let is_deleted = |base: &Database, id| base.header_bytes(id).unwrap()[0] & 0x80 != 0;
        let past_of = |id: GameId| CopiedMetadata {
            is_deleted: id.0 == 1 || is_deleted(&source, id),
            created: 247_793_503_465,
            saved: u64::from(id.0),
            saves: 7,
            event: EventDetails {
                flags: 6,
                place: [48.5, 2.25],
            },
        };
        let (mut text, mut decoded) = (GuidingText::default(), Decoded::default());
        let mut importer = Importer::new(&base.database, &base.store, SystemTime::UNIX_EPOCH);
        for id in (1..=source.last_id()).map(GameId) {
            let copied = if source.read_game(id, &mut decoded).is_ok() {
                let game = PreparedGame::new(decoded.game.clone()).unwrap();
                importer.append(&game.with_past(past_of(id)))
            } else {
                source.read_text(id, &mut text).unwrap();
                importer.append_text(&PreparedText::new(text.clone(), past_of(id)).unwrap())
            };
            assert_eq!(copied.unwrap().id, id);
        }
        importer.commit().unwrap();
        base.reopen(&path).unwrap();
        assert!(samples::defects(&base.database).is_empty());
        assert_eq!(samples::told(&base.database), samples::told(&source)[1..]);
        for id in (1..=source.last_id()).map(GameId) {
            let header = base.database.header_bytes(id).unwrap();
            if record::decode_kind(&header).unwrap().0 == RecordKind::Text {
                // Two of them show pictures.
                let flags = TextRecord::decode(&header).unwrap().flags;
                assert_eq!(flags != 0, [8, 14].contains(&id.0), "{}", id.0);
            }
            let bytes = base.database.extended_bytes(id).unwrap().unwrap();
            let extended = ExtendedRecord::decode(&bytes);
            let past = past_of(id);
            assert_eq!(is_deleted(&base.database, id), past.is_deleted);
            let stamps = (extended.created, extended.last_saved);
            assert_eq!(stamps, (past.created, past.saved));
            let mut counted = bytes.clone();
            ExtendedRecord::set_save_count(&mut counted, 7);
            assert_eq!(counted, bytes);
        }
        let event = base.database.storage(FileKind::Tournaments).unwrap();
        let mut buffer = ReadBuffer::default();
        let record = event.read(32, 99, &mut buffer).unwrap();
        assert_eq!(record[9 + crate::cbh::entities::EVENT_FLAGS], 6);
    }

    #[test]
    fn games_of_a_longer_import_take_the_place_of_those_of_a_shorter_one() {
        let games = games();
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let last = base.database.last_id();
        let ids = |range: Range<u32>| range.map(GameId).collect::<Vec<_>>();
        let mut import = |count: usize, held, earlier: Range<u32>, removable| {
            let importer = Importer::new(&base.database, &base.store, SystemTime::UNIX_EPOCH);
            let mut importer = importer.holding(held).in_place_of(ids(earlier), removable);
            for game in &games[..count] {
                importer
                    .append(&PreparedGame::new(game.clone()).unwrap())
                    .unwrap();
            }
            let done = importer.commit().unwrap();
            base.reopen(&path).unwrap();
            assert!(samples::defects(&base.database).is_empty());
            let mut is_deleted = Vec::new();
            let mut note = |record: &RecordPair<'_>| is_deleted.push(record.is_deleted);
            base.database
                .scan(last + 1..u32::MAX, false, &mut note)
                .unwrap();
            (done.all, is_deleted)
        };
        let new = last + 1;
        assert_eq!(
            import(3, 9, 0..0, 0..0),
            (ids(new..new + 3), vec![false; 3])
        );
        let all = new..new + 3;
        assert_eq!(
            import(4, 9, all.clone(), all),
            (ids(new..new + 4), vec![false; 4])
        );
        // Those that are left vanish if they may, and are deleted otherwise.
        let all = new..new + 4;
        let left = import(1, 9, all.clone(), new + 2..new + 4);
        assert_eq!(left, (ids(new..new + 1), vec![false, true]));
        let left = import(2, 9, new..new + 2, 0..0);
        assert_eq!(left, (ids(new..new + 2), vec![false; 2]));
        let left = import(1, 1, new..new + 2, new..new + 2);
        assert_eq!(left.0, ids(new..new + 1));
        assert!(left.1 == [false, true] || left.1 == [false], "{left:?}");
    }

    #[test]
    fn what_is_new_is_laid_into_the_files_before_it_is_part_of_the_base() {
        let (_folder, path) = samples::copy_of("sample");
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let mut decoded = Decoded::default();
        base.database.read_game(GameId(4), &mut decoded).unwrap();
        let mut game = decoded.game;
        game.headers.white.last = "Newcomer".to_owned();
        let prepared = PreparedGame::new(game.clone()).unwrap();
        assert_eq!(prepared.game().headers.white, game.headers.white);
        let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
        saver.append(&game).unwrap();
        let mut stage = saver.begin_stage(&base.store).unwrap();
        let lengths = || {
            ["cbh", "cbg", "cba", "cbj", "cbp"]
                .map(|extension| path.with_extension(extension).metadata().unwrap().len())
        };
        let before = lengths();
        saver.spill(&mut stage).unwrap();
        let laid = lengths();
        let grown: Vec<bool> = before.iter().zip(laid).map(|(was, is)| is > *was).collect();
        assert_eq!(grown, [true, true, true, true, false]);
        let plan = saver.finish_with(|entities| {
            entities.spill(&mut stage)?;
            Ok::<(), ChangeError>(())
        });
        drop(plan.unwrap());
        assert_eq!(lengths()[4], laid[4] + 67);
    }

    #[test]
    fn all_laid_records_are_given_in_their_order() {
        let (_folder, path) = samples::copy_of("sample");
        let end = 2 * RECORDS_AT_ONCE + 2;
        let headers = fs::File::options().write(true).open(&path).unwrap();
        headers.set_len(offset_of(end)).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let saver = Saver::new(&database, SystemTime::UNIX_EPOCH);
        let mut next = 1;
        let mut take = |id: GameId, record: &[u8], _: &[u8]| {
            assert_eq!((id, record.len()), (GameId(next), RECORD_BYTES));
            next += 1;
        };
        saver.scan_laid(1..end, &mut take).unwrap();
        assert_eq!(next, end);
    }

    #[test]
    fn a_base_after_an_import_has_the_names_that_were_laid_into_its_files_first() {
        let mut games = games();
        games.truncate(3);
        let (_folder, path) = samples::copy_of("sample");
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let importer = Importer::new(&base.database, &base.store, SystemTime::UNIX_EPOCH);
        let mut importer = importer.holding(1);
        for (game, name) in games.iter_mut().zip(["Newcomer", "Another", "Third"]) {
            game.headers.white.last = name.to_owned();
            importer
                .append(&PreparedGame::new(game.clone()).unwrap())
                .unwrap();
        }
        let before = base.database.last_id();
        let done = importer.commit().unwrap();
        let none = vec![None; done.effects.games.len()];
        let (after, _) = base.database.after(&done.effects, &none).unwrap();
        let mut decoded = Decoded::default();
        let names = (before + 1..=after.last_id()).map(|id| {
            after.read_game(GameId(id), &mut decoded).unwrap();
            assert!(decoded.defects.is_empty(), "{:?}", decoded.defects);
            decoded.game.headers.white.last.clone()
        });
        assert!(names.eq(["Newcomer", "Another", "Third"]));
    }
}
