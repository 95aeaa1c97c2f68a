//! Plans one save of a base: the bytes to write and the files to remove.
//! Nothing is written here; a [`Store`](crate::storage::Store) applies the plan
//! as a whole or not at all.
//!
//! A [`Saver`] collects the changes and returns the [`Plan`]:
//!
//! | change | files |
//! |---|---|
//! | moves, remarks | appended to `.cbg`, `.cba`; what they replace lies waste |
//! | headers | entities are found or added, counted, and removed when unused |
//! | anything of a game | its records in `.cbh` and `.cbj`, its bits in `.flags` cleared, the search caches removed |
//! | deleted flag | a bit of `.cbh` |
//! | name of an entity | its record, and its place in the tree |
//!
//! Each part of an edited game is compared with the stored one, and keeps its
//! bytes if PGN shows the same. So a game that was not edited changes nothing.

mod base_scan;
mod blobs;
mod entities;
mod error;
mod extended;
mod headers;
mod import;
mod merge;
mod texts;
mod writing;

pub use error::SaveError;
pub use import::{Appended, CopiedMetadata, Imported, Importer, PreparedGame};
pub use merge::ReferenceSite;
pub use texts::PreparedText;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::time::SystemTime;

use crate::cbh::base::references::{EntityRef, OF_EXTENDED, ReferenceCount, referred};
use crate::cbh::edit::rewrite::{has_same_moves, rewrite_settled, settled, write_encoded};
use crate::cbh::entities::{Entity, EntityId, EntityKind, EventDetails, ExtraChange, Unfit};
use crate::cbh::extended::{ExtendedHeader, ExtendedRecord};
use crate::cbh::layout::foreign_tags;
use crate::cbh::moves::{Encoded, MoveDecoder};
use crate::cbh::record::{self, GameRecord, MOST_GAMES, NEW_GAME, RECORD_BYTES};
use crate::cbh::{Database, Decoded, Effects, FileKind, GameFacts, GameId, StoredGame, moves};
use crate::game::{Game, Start};
use crate::storage::Transaction;
use base_scan::BaseScan;
pub(in crate::cbh) use blobs::Blobs;
use blobs::{BlobFile, ensure_no_blob_is_cut};
use entities::{EntityEdits, KnownFile, Unsure};
use extended::NEW_EXTENDED;
use headers::GameRecords;
use import::TakeRecord;
use writing::offset_of;

/// The plan of a save.
#[derive(Debug, Default)]
pub struct Plan {
    /// The writes and removals; empty if nothing changes.
    pub transaction: Transaction,
    /// Names that do not fit their fields, whose whole is in the text about the
    /// game; and values that the base cannot store beside others.
    pub unfit: Vec<Unfit>,
    /// Changed details of a tournament or source that other games share. They
    /// are not saved.
    pub kept: Vec<Unfit>,
    /// The affected games and entities.
    pub effects: Effects,
    /// Number of the last game afterwards.
    pub last_id: u32,
    /// Data that the next save need not read again, provided that this one is
    /// applied and no other program changes the base.
    pub knowledge: Knowledge,
}

/// Facts about the whole base that a save found, for the next one.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    entities: BTreeMap<FileKind, KnownFile>,
    scan: Option<BaseScan>,
    /// Files in which no blob is cut.
    whole_blobs: BTreeSet<FileKind>,
}

impl Knowledge {
    /// Looks at all records on this core, as long as `goes_on`; knows nothing if it does
    /// not.
    pub(super) fn of_all_records(
        database: &Database,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Knowledge, SaveError> {
        Ok(Knowledge {
            scan: BaseScan::while_idle(database, goes_on)?,
            ..Knowledge::default()
        })
    }

    /// Whether what all records say is known.
    pub(super) fn has_all_records(&self) -> bool {
        self.scan.is_some()
    }

    /// Adds what all records say, if it is not known.
    pub(super) fn add(&mut self, found: Knowledge) {
        self.scan = self.scan.take().or(found.scan);
    }
}

/// Collects the changes of one save. After an error it must not be used any
/// more.
#[derive(Debug)]
pub struct Saver<'a> {
    database: &'a Database,
    now: SystemTime,
    moves: Option<BlobFile>,
    annotations: Option<BlobFile>,
    whole_blobs: BTreeSet<FileKind>,
    entities: EntityEdits<'a>,
    extras: BTreeMap<u32, ExtraChange>,
    /// More of the tournament of the game that is appended.
    event: EventDetails,
    /// Changed records of `.cbh`, by id.
    records: BTreeMap<u32, [u8; RECORD_BYTES]>,
    /// New records before this id are in the file already; see [`import`].
    laid: u32,
    next_id: u32,
    /// From this id on the file has no whole record, as far as it was asked.
    free_from: Option<u32>,
    /// The new header of `.cbj`, and its changed records.
    extended: Option<ExtendedHeader>,
    extended_records: BTreeMap<u32, Vec<u8>>,
    /// Changed bytes of `.flags`, by offset.
    top_games: BTreeMap<u64, u8>,
    unfit: Vec<Unfit>,
    kept: Vec<Unfit>,
    /// Whether search caches may be stale after the save.
    is_changed: bool,
}

/// Name of a file of the base.
fn file_name(database: &Database, file: FileKind) -> OsString {
    name_of(&database.family().default_path(file))
}

fn name_of(path: &std::path::Path) -> OsString {
    path.file_name().unwrap_or(OsStr::new("")).to_owned()
}

impl<'a> Saver<'a> {
    /// An empty save. Records are stamped with `now`.
    pub fn new(database: &'a Database, now: SystemTime) -> Saver<'a> {
        Saver::knowing(Knowledge::default(), database, now)
    }

    /// As [`new`](Saver::new), with the facts that an earlier save found. No
    /// other program may have changed the base since.
    pub fn knowing(knowledge: Knowledge, database: &'a Database, now: SystemTime) -> Saver<'a> {
        Saver {
            database,
            now,
            moves: None,
            annotations: None,
            whole_blobs: knowledge.whole_blobs,
            entities: EntityEdits::new(database, knowledge.entities, knowledge.scan),
            extras: BTreeMap::new(),
            event: EventDetails::default(),
            records: BTreeMap::new(),
            laid: 0,
            next_id: database.last_id().saturating_add(1),
            free_from: None,
            extended: database.extended.as_ref().map(|(header, _)| *header),
            extended_records: BTreeMap::new(),
            top_games: BTreeMap::new(),
            unfit: Vec::new(),
            kept: Vec::new(),
            is_changed: false,
        }
    }

    /// Replaces a game by `edited`. Parts that say the same as the stored ones
    /// keep their bytes.
    ///
    /// # Errors
    ///
    /// [`SaveError`], also if the stored game is damaged or does not exist.
    pub fn replace(&mut self, id: GameId, edited: &Game) -> Result<(), SaveError> {
        if self.records.contains_key(&id.0) {
            return Err(SaveError::Again(id));
        }
        self.ensure_sound()?;
        let mut decoded = Decoded::default();
        self.database.read_game(id, &mut decoded)?;
        if let Some(defect) = decoded.defects.first() {
            return Err(SaveError::Defective(id, defect.clone()));
        }
        let read = &decoded.game;
        // This precedes the storing of tags in a text, because the choice of
        // the text depends on its language.
        let edited = &*settled(read, edited);
        let stored = self.database.stored_game(id)?;
        let bytes = self.database.header_bytes(id)?;
        let old_extended = self.database.extended_bytes(id)?;
        let before = GameRecords {
            record: decode_record(&bytes)?,
            extended: ExtendedRecord::decode(old_extended.as_deref().unwrap_or_default()),
        };
        let mut records = before;
        let set = self.set_headers(&mut records, Some(read), edited)?;
        let edited = &*set.with_code_kept(edited);
        let names = self.names(&records, edited)?;
        let page = self.database.code_page();
        let old_text = foreign_tags::stored_text(&stored, page);
        let edited = &*foreign_tags::with_stored_tags(edited, Some(&names), &old_text);
        let new = rewrite_settled(id, &stored, read, edited, page)?;
        self.set_content(&mut records, &before, (&stored, read), (&new, edited))?;
        let is_top_game_no_more = read.headers.is_top_game && !edited.headers.is_top_game;
        if records == before && !set.tells_more && !is_top_game_no_more {
            return Ok(());
        }
        self.is_changed = true;
        self.entities
            .change_references(id, before.entities(), records.entities());
        self.put_record(id, bytes, &records.record)?;
        self.put_extended(id, &before.extended, &records.extended)?;
        self.clear_top_game(id)
    }

    /// Appends a game. Returns its id.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn append(&mut self, game: &Game) -> Result<GameId, SaveError> {
        let encoded = moves::encode(game)?;
        ensure_moves_read_back(&encoded, game)?;
        self.append_encoded(game, &encoded, None)
    }

    /// The next id, which must be free.
    fn next_free(&mut self) -> Result<GameId, SaveError> {
        self.ensure_sound()?;
        let id = GameId(self.next_id);
        if id.0 > MOST_GAMES {
            return Err(SaveError::DoesNotFit {
                field: "number of games",
                value: id.0.to_string(),
                limit: format!("a base has at most {MOST_GAMES}"),
            });
        }
        self.ensure_free(id)?;
        Ok(id)
    }

    /// A new record of `.cbj`, stamped as of now or as in the `past`.
    fn new_extended(&mut self, past: Option<&CopiedMetadata>) -> Result<ExtendedRecord, SaveError> {
        let record_bytes = self.extended.unwrap_or(NEW_EXTENDED).record_bytes as usize;
        let mut new = ExtendedRecord::decode(&ExtendedRecord::new_bytes(record_bytes));
        if let Some(past) = past {
            (new.created, new.last_saved) = (past.created, past.saved);
        } else if self.extended.is_some() {
            new.created = self.created()?;
        }
        Ok(new)
    }

    /// As [`append`](Saver::append), for a game with encoded moves, which is a
    /// copy if it has a `past`. After an error that is [of the
    /// game](SaveError::is_of_game) others may be appended.
    fn append_encoded(
        &mut self,
        game: &Game,
        encoded: &Encoded,
        past: Option<&CopiedMetadata>,
    ) -> Result<GameId, SaveError> {
        let (unfit, kept) = (self.unfit.len(), self.kept.len());
        let appended = self.append_or_leave(game, encoded, past);
        if appended.as_ref().is_err_and(SaveError::is_of_game) {
            self.unfit.truncate(unfit);
            self.kept.truncate(kept);
            for (file, id) in self.entities.take_back()? {
                if file == FileKind::Tournaments {
                    self.extras.remove(&id);
                }
            }
        }
        appended
    }

    /// The same, but leaves the entities of a game that is not stored.
    fn append_or_leave(
        &mut self,
        game: &Game,
        encoded: &Encoded,
        past: Option<&CopiedMetadata>,
    ) -> Result<GameId, SaveError> {
        let id = self.next_free()?;
        let before = GameRecords {
            record: decode_record(&NEW_GAME)?,
            extended: self.new_extended(past)?,
        };
        let mut records = before;
        self.event = past.map(|past| past.event).unwrap_or_default();
        let set = self.set_headers(&mut records, None, game)?;
        let game = &*set.with_code_kept(game);
        let names = if self.entities.have_whole_names() {
            None
        } else {
            Some(self.names(&records, game)?)
        };
        let game = &*foreign_tags::with_stored_tags(game, names.as_ref(), "");
        let new = write_encoded(id, game, encoded, self.database.code_page())?;
        if new.annotations.is_some() {
            self.ensure_reads_back(&new, game)?;
        }
        records.record.moves_offset = self.append_moves(&new.moves)?;
        records.record.annotations_offset = self.append_annotations(new.annotations.as_deref())?;
        set_facts(&mut records.record, game, &new);
        self.is_changed = true;
        self.next_id += 1;
        self.entities
            .change_references(id, Vec::new(), records.entities());
        self.put_record(id, NEW_GAME, &records.record)?;
        self.put_new_extended(id, &records.extended)?;
        self.put_past(id, past)?;
        Ok(id)
    }

    /// Takes over of the `past` what stands in the new records alone.
    fn put_past(&mut self, id: GameId, past: Option<&CopiedMetadata>) -> Result<(), SaveError> {
        let Some(past) = past else {
            return Ok(());
        };
        if let Some(bytes) = self.extended_records.get_mut(&id.0) {
            ExtendedRecord::set_save_count(bytes, past.saves);
        }
        self.set_deleted(id, past.is_deleted)
    }

    /// Sets or clears the deleted flag of a game or text.
    ///
    /// # Errors
    ///
    /// [`SaveError::Base`].
    pub fn set_deleted(&mut self, id: GameId, is_deleted: bool) -> Result<(), SaveError> {
        let mut bytes = match self.records.get(&id.0) {
            Some(bytes) => *bytes,
            None => self.database.header_bytes(id)?,
        };
        let [first, ..] = &mut bytes;
        let flagged = record::with_deleted_flag(*first, is_deleted);
        if *first != flagged {
            *first = flagged;
            self.records.insert(id.0, bytes);
        }
        Ok(())
    }

    /// Removes a game if it is the last one, as if it had never been appended:
    /// the next one gets its number. Its moves and annotations lie waste, as
    /// those of an edited game do. Returns `false` if it is not the last one,
    /// or if this save has changed it.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn remove_last(&mut self, id: GameId) -> Result<bool, SaveError> {
        let last = self.database.last_id();
        // The bytes of a cut record behind the last one would go with it.
        let is_end = self.database.header.next_id <= last.saturating_add(1);
        let is_last = is_end && id.0.checked_add(1) == Some(self.next_id) && id.0 <= last;
        if !is_last || self.records.contains_key(&id.0) {
            return Ok(false);
        }
        self.ensure_sound()?;
        let extended = self.database.extended_bytes(id)?;
        let removed = GameRecords {
            record: decode_record(&self.database.header_bytes(id)?)?,
            extended: ExtendedRecord::decode(extended.as_deref().unwrap_or_default()),
        };
        self.is_changed = true;
        self.next_id = id.0;
        self.entities
            .change_references(id, removed.entities(), Vec::new());
        if let Some(header) = &mut self.extended {
            header.count = header.count.min(id.0.saturating_sub(1));
        }
        Ok(true)
    }

    /// Returns an entity.
    ///
    /// # Errors
    ///
    /// [`SaveError::Entity`] if no entity has the id.
    pub fn entity(&mut self, file: FileKind, id: EntityId) -> Result<Entity, SaveError> {
        self.entities.entity((file, id.0))
    }

    /// Changes an entity, for all games that refer to it.
    ///
    /// # Errors
    ///
    /// [`SaveError::Entity`] with
    /// [`EditError::Exists`](crate::cbh::EditError::Exists) if another has the name;
    /// [`SaveError::Name`] if it cannot be stored as it is.
    pub fn rename_entity(&mut self, id: EntityId, entity: &Entity) -> Result<(), SaveError> {
        self.entities.rename(id.0, entity)
    }

    /// Returns the plan of all changes.
    ///
    /// # Errors
    ///
    /// [`SaveError`].
    pub fn finish(self) -> Result<Plan, SaveError> {
        self.finish_with(|_| Ok(()))
    }

    /// The same. When each entity is as it will be, `spill` may lay the new ones
    /// into the files.
    fn finish_with<E: From<SaveError>>(
        mut self,
        spill: impl FnOnce(&mut EntityEdits<'a>) -> Result<(), E>,
    ) -> Result<Plan, E> {
        let mut transaction = Transaction::new();
        if self.is_changed {
            for booster in self.database.family().boosters() {
                transaction.remove(name_of(&booster));
            }
        }
        let unsure = self.entities.count_references()?;
        for (name, found) in self.look_up_unsure(&unsure)? {
            self.entities.set_reference(name, found)?;
        }
        debug_assert!(self.has_right_counts());
        let database = self.database;
        let blobs = [
            (FileKind::Annotations, self.annotations.take()),
            (FileKind::Moves, self.moves.take()),
        ];
        for (file, blobs) in blobs {
            if let Some(blobs) = blobs {
                blobs.write(&file_name(database, file), &mut transaction);
            }
        }
        spill(&mut self.entities)?;
        self.entities.write(&mut transaction)?;
        self.write_extras(&mut transaction)?;
        self.write_extended(&mut transaction)?;
        self.write_records(&mut transaction)?;
        let games = self.changed_games();
        let flags = file_name(database, FileKind::TopGames);
        for (offset, byte) in self.top_games {
            transaction.write(&flags, offset, [byte]);
        }
        let lost = database.page_lost_by(&transaction);
        if let Some(other) = lost.map_err(SaveError::from)? {
            return Err(SaveError::PageLost(database.code_page(), other).into());
        }
        let kind = |(file, id)| Some((EntityKind::of_file(file)?, id));
        Ok(Plan {
            transaction,
            unfit: self.unfit,
            kept: self.kept,
            last_id: self.next_id.saturating_sub(1),
            effects: Effects {
                games,
                entities: self.entities.changed().filter_map(kind).collect(),
            },
            knowledge: Knowledge {
                entities: self.entities.known(),
                scan: self.entities.scanned(),
                whole_blobs: self.whole_blobs,
            },
        })
    }
}

impl Saver<'_> {
    /// Returns the games with a changed record, then those that are taken out.
    fn changed_games(&self) -> Vec<GameId> {
        let changed = self.records.keys().copied();
        let removed = self.next_id..self.database.last_id().saturating_add(1);
        changed.chain(removed).map(GameId).collect()
    }
}

fn decode_record(bytes: &[u8]) -> Result<GameRecord, SaveError> {
    GameRecord::decode(bytes).map_err(SaveError::malformed(FileKind::Headers))
}

/// Rejects moves that would be read as others.
fn ensure_moves_read_back(encoded: &Encoded, game: &Game) -> Result<(), SaveError> {
    let line = game.tree.only_line();
    let is_usual = game.start.is_stored_as(&Start::default());
    if is_usual && line.is_some_and(|line| moves::reads_as(&encoded.blob, line)) {
        return Ok(());
    }
    let mut again = Game::default();
    let read = MoveDecoder::default().decode(&encoded.blob, u8::MAX, &mut again);
    ensure_same(read.is_ok(), game, &again)
}

fn ensure_same(is_read: bool, game: &Game, again: &Game) -> Result<(), SaveError> {
    let is_same = is_read && has_same_moves(&game.tree, &again.tree);
    if is_same && game.start.is_stored_as(&again.start) {
        return Ok(());
    }
    Err(SaveError::ReadsBackOtherwise)
}

/// Sets the fields of a record that follow from the moves, the annotations and
/// the medals in the headers.
fn set_facts(record: &mut GameRecord, game: &Game, stored: &StoredGame) {
    let remarks = stored.annotations.as_deref().unwrap_or_default();
    let before = GameFacts {
        medals: game.headers.medals,
        flags: record.flags,
        magnitudes: record.magnitudes,
        move_count: record.move_count,
    };
    let facts = GameFacts::of(game, remarks).over(before);
    record.medals = facts.medals;
    record.flags = facts.flags;
    record.magnitudes = facts.magnitudes;
    record.move_count = facts.move_count;
}

/// The parts of an edited game.
impl Saver<'_> {
    /// A damaged file that was ignored at opening could not be kept consistent.
    fn ensure_sound(&self) -> Result<(), SaveError> {
        let is_there = self.database.family().path(FileKind::Extended).is_some();
        if is_there && self.extended.is_none() {
            let what = "it could not be opened; `cbfs check` says why, and without the file \
                        games have no teams and labels";
            return Err(SaveError::Damaged(FileKind::Extended, what.to_owned()));
        }
        Ok(())
    }

    /// A used record behind the last one would be overwritten, or what is left of a cut
    /// one.
    fn ensure_free(&mut self, id: GameId) -> Result<(), SaveError> {
        if self.free_from.is_some_and(|free_from| id.0 >= free_from) {
            return Ok(());
        }
        let Some(headers) = self.database.storage(FileKind::Headers) else {
            return Ok(());
        };
        let mut buffer = crate::storage::ReadBuffer::default();
        let bytes = headers
            .read_up_to(offset_of(id.0), RECORD_BYTES, &mut buffer)
            .map_err(|source| self.database.io(FileKind::Headers, source))?;
        let is_cut = bytes.len() < RECORD_BYTES && id.0 < self.database.header.next_id;
        if is_cut && record::decode_kind(bytes).is_some() {
            let what = format!("of record {} only {} bytes are there", id.0, bytes.len());
            return Err(SaveError::Damaged(FileKind::Headers, what));
        }
        if bytes.len() < RECORD_BYTES {
            self.free_from = Some(id.0);
        } else if record::decode_kind(bytes).is_some() {
            let what = format!("a record in use follows the last one, {}", id.0 - 1);
            return Err(SaveError::Damaged(FileKind::Headers, what));
        }
        Ok(())
    }

    /// Rejects a game that would be read as another.
    fn ensure_reads_back(&self, new: &StoredGame, game: &Game) -> Result<(), SaveError> {
        let mut again = Game::default();
        let read = new.decode(self.database.code_page(), &mut again);
        ensure_same(read.is_ok(), game, &again)
    }

    /// Appends changed moves and annotations, and sets their offsets and the
    /// fields that follow from them in the record.
    fn set_content(
        &mut self,
        records: &mut GameRecords,
        before: &GameRecords,
        (stored, read): (&StoredGame, &Game),
        (new, edited): (&StoredGame, &Game),
    ) -> Result<(), SaveError> {
        if new.moves != stored.moves {
            self.ensure_reads_back(new, edited)?;
            records.record.moves_offset = self.append_moves(&new.moves)?;
            records.extended.moves_offset = records.record.moves_offset.into();
            self.blobs(FileKind::Moves)?.waste(stored.moves.len());
        }
        if new.annotations != stored.annotations {
            let offset = self.append_annotations(new.annotations.as_deref())?;
            records.record.annotations_offset = offset;
            records.extended.annotations_offset = offset.into();
            if let Some(old) = &stored.annotations {
                self.blobs(FileKind::Annotations)?.waste(old.len());
            }
        }
        let extra = |game: &Game, stored: &StoredGame| {
            let remarks = stored.annotations.as_deref().unwrap_or_default();
            game.headers.medals & !GameFacts::of(game, remarks).medals
        };
        if new != stored || extra(edited, new) != extra(read, stored) {
            set_facts(&mut records.record, edited, new);
        } else {
            records.record.medals = before.record.medals;
        }
        Ok(())
    }

    fn blobs(&mut self, file: FileKind) -> Result<&mut BlobFile, SaveError> {
        let place = match file {
            FileKind::Annotations => &mut self.annotations,
            _ => &mut self.moves,
        };
        if let Some(blobs) = place {
            return Ok(blobs);
        }
        let opened = BlobFile::open(self.database, file)?;
        if !self.whole_blobs.contains(&file) {
            ensure_no_blob_is_cut(self.database, file)?;
            self.whole_blobs.insert(file);
        }
        Ok(place.insert(opened))
    }

    fn append_moves(&mut self, blob: &[u8]) -> Result<u32, SaveError> {
        self.blobs(FileKind::Moves)?.append(blob)
    }

    fn append_annotations(&mut self, record: Option<&[u8]>) -> Result<u32, SaveError> {
        match record {
            Some(record) => self.blobs(FileKind::Annotations)?.append(record),
            None => Ok(0),
        }
    }

    fn put_record(
        &mut self,
        id: GameId,
        mut bytes: [u8; RECORD_BYTES],
        record: &GameRecord,
    ) -> Result<(), SaveError> {
        record
            .encode(&mut bytes)
            .map_err(SaveError::malformed(FileKind::Headers))?;
        self.records.insert(id.0, bytes);
        Ok(())
    }

    fn clear_top_game(&mut self, id: GameId) -> Result<(), SaveError> {
        if let Some(top_games) = &self.database.top_games {
            let cleared = top_games
                .without(id.0)
                .map_err(|source| self.database.io(FileKind::TopGames, source))?;
            if let Some((offset, byte)) = cleared {
                let place = self.top_games.entry(offset).or_insert(u8::MAX);
                *place &= byte;
            }
        }
        Ok(())
    }

    /// The references to some entities as after the save. Those that have none are
    /// known from the scan of the base. Where only the first is unknown, the others
    /// are not counted again: it is mostly near.
    fn look_up_unsure(
        &mut self,
        unsure: &[Unsure],
    ) -> Result<BTreeMap<EntityRef, ReferenceCount>, SaveError> {
        let (mut found, mut others) = (BTreeMap::new(), Vec::new());
        // Looking for many costs little more than counting them all.
        let mut most = self.next_id;
        for &Unsure {
            name,
            left,
            not_before,
        } in unsure
        {
            if left.is_none() && self.entities.references_after(name)? == Some(0) {
                found.insert(name, ReferenceCount::default());
                continue;
            }
            let first = match left {
                Some(_) => self.first_reference(name, not_before, &mut most)?,
                None => None,
            };
            if let Some((count, first)) = left.zip(first) {
                let first = Some(first);
                found.insert(name, ReferenceCount { count, first });
            } else {
                others.push(name);
            }
        }
        found.extend(self.look_up(others)?);
        Ok(found)
    }

    /// The first game or text from a number on that refers to an entity after the
    /// save, among `most` of them.
    fn first_reference(
        &self,
        name: EntityRef,
        from: u32,
        most: &mut u32,
    ) -> Result<Option<GameId>, SaveError> {
        let with_extended = OF_EXTENDED.contains(&name.0);
        let (mut start, mut at_once) = (from, 64);
        while start < self.next_id && *most > 0 {
            let end = self.next_id.min(start.saturating_add(at_once));
            *most = most.saturating_sub(end - start);
            let mut first = None;
            self.scan_as_saved(start..end, with_extended, &mut |id, bytes, extended| {
                if first.is_none() && referred(bytes, extended).any(|other| other == name) {
                    first = Some(id);
                }
            })?;
            if first.is_some() {
                return Ok(first);
            }
            (start, at_once) = (end, at_once.saturating_mul(4));
        }
        Ok(None)
    }

    /// Counts the references to some entities exactly, by a scan of all records
    /// as after the save.
    fn look_up(
        &self,
        names: Vec<EntityRef>,
    ) -> Result<BTreeMap<EntityRef, ReferenceCount>, SaveError> {
        let default = ReferenceCount::default();
        let mut found: BTreeMap<EntityRef, ReferenceCount> =
            names.into_iter().map(|name| (name, default)).collect();
        if found.is_empty() {
            return Ok(found);
        }
        let with_extended = found.keys().any(|(file, _)| OF_EXTENDED.contains(file));
        // Nearly all records refer to others, which shows without a look-up.
        let bit = |id: u32| 1_u128 << (id % u128::BITS);
        let bits = found.keys().fold(0, |bits, (_, id)| bits | bit(*id));
        self.scan_as_saved(
            1..self.next_id,
            with_extended,
            &mut |id, bytes, extended| {
                for name in referred(bytes, extended).filter(|(_, id)| bits & bit(*id) != 0) {
                    if let Some(reference) = found.get_mut(&name) {
                        reference.add(id);
                    }
                }
            },
        )?;
        Ok(found)
    }

    /// Whether the known counts of references are those of the records after the save;
    /// not looked at where these are many.
    fn has_right_counts(&self) -> bool {
        const MOST_RECORDS: u32 = 1000;
        let Some(scan) = self
            .entities
            .scanned()
            .filter(|_| self.next_id <= MOST_RECORDS)
        else {
            return true;
        };
        let mut recorded: BTreeMap<EntityRef, u32> = scan.changed().map(|name| (name, 0)).collect();
        let counted = self.scan_as_saved(1..self.next_id, true, &mut |_, bytes, extended| {
            for name in referred(bytes, extended) {
                *recorded.entry(name).or_default() += 1;
            }
        });
        let is_known = |(name, count): (&EntityRef, &u32)| {
            scan.references(*name).is_none_or(|known| known == *count)
        };
        counted.is_err() || recorded.iter().all(is_known)
    }

    /// Gives the records of games and texts as after the save to `take`, in their
    /// order; those of `.cbj` only where they are asked for or laid.
    fn scan_as_saved(
        &self,
        ids: Range<u32>,
        with_extended: bool,
        take: &mut TakeRecord<'_>,
    ) -> Result<(), SaveError> {
        let mut take = |id: GameId, bytes: &[u8], stored: &[u8]| {
            let new = self.extended_records.get(&id.0).filter(|_| with_extended);
            take(id, bytes, new.map_or(stored, Vec::as_slice));
        };
        let first_new = self.database.last_id() + 1;
        let stored = ids.start..ids.end.min(first_new);
        self.database.scan(stored, with_extended, &mut |record| {
            let bytes = self.records.get(&record.id.0);
            let bytes = bytes.map_or(record.bytes, |new| new);
            take(record.id, bytes, record.extended);
        })?;
        let laid = ids.start.max(first_new)..ids.end.min(self.laid);
        self.scan_laid(laid, &mut take)?;
        let held = ids.start.max(first_new).max(self.laid);
        for (&id, bytes) in self.records.range(held.min(ids.end)..ids.end) {
            take(GameId(id), bytes, &[]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use shakmaty::CastlingMode;

    use super::*;
    use crate::cbh::base::samples::{self, copy_of_sample};
    use crate::cbh::layout::top_games::TopGames;
    use crate::cbh::{EditError, NewBase, OpenBase, Options};
    use crate::game::{
        Annotation, AnnotationText, Date, GameResult, Headers, PlayerName, PlyId, Start,
    };
    use crate::storage::ReadBuffer;

    fn saved(base: &mut OpenBase, edit: impl FnOnce(&mut Saver<'_>)) -> u32 {
        let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
        edit(&mut saver);
        let plan = saver.finish().unwrap();
        base.store.commit(&plan.transaction).unwrap();
        base.store.sync().unwrap();
        plan.last_id
    }

    fn read(base: &OpenBase, id: GameId) -> Game {
        let mut decoded = Decoded::default();
        base.database.read_game(id, &mut decoded).unwrap();
        decoded.game
    }

    /// All games of a base that have no defects, with their numbers.
    fn games_of(database: &Database) -> Vec<(GameId, Game)> {
        let mut decoded = Decoded::default();
        let ids = (1..=database.last_id()).map(GameId);
        ids.filter_map(|id| {
            let is_whole = database.read_game(id, &mut decoded).is_ok();
            (is_whole && decoded.defects.is_empty()).then(|| (id, decoded.game.clone()))
        })
        .collect()
    }

    /// Moves, and all that is said of them and of the game, without spaces: where
    /// the words are the same, the stored ones stay.
    fn content(game: &Game) -> String {
        let moves = moves::encode(game).unwrap();
        let mut headers = game.headers.clone();
        // An evaluation belongs to a line alone.
        if headers.result != GameResult::Line {
            headers.line_evaluation = 0;
        }
        for kind in [&mut headers.white_elo_type, &mut headers.black_elo_type] {
            *kind = Some(*kind)
                .filter(|kind| !kind.is_usual())
                .unwrap_or_default();
        }
        let told = (headers, &game.annotations, &game.foreign_tags, moves);
        format!("{told:?}").replace(' ', "").replace("\\n", "")
    }

    #[test]
    fn a_base_of_the_games_of_another_says_the_same() {
        for name in samples::names() {
            let (folder, path) = samples::copy_of(&name);
            let games = games_of(&Database::open(&path, &Options::default()).unwrap());
            let new = NewBase::begin(&folder.path().join("new.cbh")).unwrap();
            new.make_empty(SystemTime::UNIX_EPOCH).unwrap();
            let path = new.path();
            let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let last = saved(&mut base, |saver| {
                for (_, game) in &games {
                    saver.append(game).unwrap();
                }
            });
            base.reopen(&path).unwrap();
            let found = games_of(&base.database);
            assert_eq!([last as usize, found.len()], [games.len(); 2]);
            for ((id, found), (_, wanted)) in found.iter().zip(&games) {
                assert_eq!(content(found), content(wanted), "{name} {}", id.0);
            }
            assert_eq!(samples::defects(&base.database), BTreeSet::new(), "{name}");
        }
    }

    type Field = fn(&mut Headers) -> &mut String;

    /// Names, each with the bytes of its field.
    const NAMES: [(usize, Field); 11] = [
        (30, |headers| &mut headers.white.last),
        (20, |headers| &mut headers.white.first),
        (30, |headers| &mut headers.black.last),
        (20, |headers| &mut headers.black.first),
        (40, |headers| &mut headers.tournament.title),
        (30, |headers| &mut headers.tournament.place),
        (45, |headers| &mut headers.annotator),
        (25, |headers| &mut headers.source.title),
        (45, |headers| &mut headers.white_team.title),
        (45, |headers| &mut headers.black_team.title),
        (200, |headers| &mut headers.tag.titles[2]),
    ];

    fn with_name(model: &Game, field: Field, name: String) -> Game {
        let mut game = model.clone();
        let headers = &mut game.headers;
        *field(headers) = name;
        for team in [&mut headers.white_team, &mut headers.black_team] {
            team.is_given = !team.title.is_empty();
        }
        game
    }

    #[test]
    fn names_longer_than_their_fields_and_other_tags_come_back_whole() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let model = read(&base, GameId(3));
        let mut games = Vec::new();
        for (size, field) in NAMES {
            for letters in ["x", "x\u{e9}", "\u{436}", "\u{2658}"] {
                for len in [size / 3, size / 2, size - 1, size, size + 1, 2 * size] {
                    let name = letters.chars().cycle().take(len).collect();
                    let mut game = with_name(&model, field, name);
                    let tag = format!("Tag{len}");
                    game.foreign_tags
                        .push((tag, "a \"quoted\" \\ value".to_owned()));
                    games.push(game);
                }
            }
        }
        let first = base.database.last_id() + 1;
        saved(&mut base, |saver| {
            for game in &games {
                saver.append(game).unwrap();
            }
        });
        base.reopen(&path).unwrap();
        assert_eq!(samples::defects(&base.database), BTreeSet::new());
        for (id, wanted) in (first..).zip(&games) {
            let found = read(&base, GameId(id));
            assert_eq!(content(&found), content(wanted));
        }
    }

    #[test]
    fn a_name_that_another_entity_has_in_part_comes_back_whole() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let model = read(&base, GameId(3));
        for (size, field) in NAMES {
            // In the page of the base the longer one fits, too; in UTF-8 it does not.
            let cut = "x".repeat(size - 2);
            for (name, times) in [(cut.clone(), 1), (cut + "\u{e9}", 2)] {
                let game = with_name(&model, field, name.clone());
                let last = saved(&mut base, |saver| {
                    for _ in 0..times {
                        saver.append(&game).unwrap();
                    }
                });
                base.reopen(&path).unwrap();
                for id in last + 1 - times..=last {
                    assert_eq!(*field(&mut read(&base, GameId(id)).headers), name);
                }
            }
        }
        assert_eq!(samples::defects(&base.database), BTreeSet::new());
    }

    /// A name that no game has any more goes, and is right when it comes again: by
    /// what earlier saves know as by a scan of each save.
    #[test]
    fn names_go_with_their_last_game_and_come_again() {
        let names = ["Abel", "Baker", "Cole"];
        for is_known in [true, false] {
            let (_folder, path) = samples::copy_of("sample");
            let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let mut knowledge = Knowledge::default();
            for step in 0..30_u32 {
                let known = std::mem::take(&mut knowledge);
                let known = if is_known {
                    known
                } else {
                    Knowledge::default()
                };
                let mut saver = Saver::knowing(known, &base.database, SystemTime::UNIX_EPOCH);
                let mut game = read(&base, GameId(3));
                let name = names[(step * step / 2) as usize % names.len()];
                name.clone_into(&mut game.headers.white.last);
                game.headers.white_team.title = name.to_owned();
                game.headers.white_team.is_given = true;
                let last = base.database.last_id();
                match step % 5 {
                    0 | 2 => drop(saver.append(&game).unwrap()),
                    3 => assert!(saver.remove_last(GameId(last)).unwrap()),
                    _ => saver.replace(GameId(last), &game).unwrap(),
                }
                let plan = saver.finish().unwrap();
                base.store.commit(&plan.transaction).unwrap();
                base.store.sync().unwrap();
                knowledge = plan.knowledge;
                base.reopen(&path).unwrap();
                assert_eq!(samples::defects(&base.database), BTreeSet::new(), "{step}");
            }
        }
    }

    #[test]
    fn games_that_trade_places_twice_are_as_before() {
        // Annotations without a meaning stay among others where they are stored.
        for name in samples::names().iter().filter(|name| *name != "misplaced") {
            let (_folder, path) = samples::copy_of(name);
            let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let before = games_of(&base.database);
            let defects = samples::defects(&base.database);
            let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
            for (id, game) in &before {
                saver.replace(*id, game).unwrap();
            }
            assert!(saver.finish().unwrap().transaction.is_empty(), "{name}");
            let traded: Vec<_> = before.iter().rev().collect();
            for games in [traded, before.iter().collect()] {
                saved(&mut base, |saver| {
                    for ((id, _), (_, game)) in before.iter().zip(&games) {
                        saver.replace(*id, game).unwrap();
                    }
                });
                base.reopen(&path).unwrap();
                let found = games_of(&base.database);
                assert_eq!(found.len(), games.len());
                for ((id, found), (_, wanted)) in found.iter().zip(games) {
                    assert_eq!(content(found), content(wanted), "{name} {}", id.0);
                }
                let now = samples::defects(&base.database);
                assert!(now.is_subset(&defects), "{name} {now:?}");
                // No game tells anything that only a new `.cbj` could hold.
                assert_eq!(base.database.extended.is_some(), name != "oldheaders");
            }
        }
    }

    #[test]
    fn the_last_day_of_an_event_makes_a_file_for_it() {
        let (_folder, path) = samples::copy_of("oldheaders");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let mut game = read(&base, GameId(1));
        let end = Date {
            year: 1999,
            month: 12,
            day: 31,
        };
        for (title, end) in [("No end", Date::UNKNOWN), ("An end", end)] {
            game.headers.tournament.title = title.to_owned();
            game.headers.tournament.end = end;
            let last = saved(&mut base, |saver| _ = saver.append(&game).unwrap());
            base.reopen(&path).unwrap();
            let has_file = base.database.tournament_extras.is_some();
            assert_eq!(has_file, !end.is_unknown());
            assert_eq!(read(&base, GameId(last)).headers.tournament.end, end);
        }
        // Another game says the same of the event, or what is not kept.
        saved(&mut base, |saver| {
            saver.append(&game).unwrap();
            assert_eq!(saver.kept, []);
            let mut other = game.clone();
            other.headers.tournament.end.year = 1998;
            saver.append(&other).unwrap();
            let kept: Vec<&str> = saver.kept.iter().map(|unfit| unfit.field).collect();
            assert_eq!(kept, ["EventEndDate"]);
        });
        base.reopen(&path).unwrap();
        game.headers.tournament.title = "Another".to_owned();
        saved(&mut base, |saver| _ = saver.append(&game).unwrap());
        base.reopen(&path).unwrap();
        // That of an event of one game changes with it.
        let last = GameId(base.database.last_id());
        game.headers.tournament.end = Date { year: 2000, ..end };
        saved(&mut base, |saver| saver.replace(last, &game).unwrap());
        base.reopen(&path).unwrap();
        let now = read(&base, last).headers.tournament.end;
        assert_eq!(now, game.headers.tournament.end);
    }

    #[test]
    fn a_game_is_deleted_once_and_may_come_back() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let all = samples::told(&base.database);
        for (is_deleted, left) in [(true, &all[1..]), (false, &all)] {
            for is_change in [true, false] {
                let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
                saver.set_deleted(GameId(1), is_deleted).unwrap();
                let plan = saver.finish().unwrap();
                assert_eq!(plan.transaction.is_empty(), !is_change);
                base.store.commit(&plan.transaction).unwrap();
                base.reopen(&path).unwrap();
                assert_eq!(samples::told(&base.database), left);
            }
        }
    }

    #[test]
    fn appended_games_have_the_numbers_after_the_last_one() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let last = base.database.last_id();
        let [one, other] = [2, 3].map(|id| read(&base, GameId(id)));
        let now_last = saved(&mut base, |saver| {
            assert_eq!(saver.append(&one).unwrap(), GameId(last + 1));
            assert_eq!(saver.append(&other).unwrap(), GameId(last + 2));
        });
        assert_eq!(now_last, last + 2);
        base.reopen(&path).unwrap();
        assert_eq!(base.database.last_id(), last + 2);
        for (id, game) in [(1, one), (2, other)] {
            let again = read(&base, GameId(last + id));
            assert_eq!(again.headers.white, game.headers.white);
            assert!(has_same_moves(&again.tree, &game.tree));
        }
    }

    #[test]
    fn a_change_of_the_event_alone_removes_search_caches() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let cache = folder.path().join("sample.cib");
        std::fs::write(&cache, "stale").unwrap();
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let mut game = read(&base, GameId(1));
        saved(&mut base, |saver| saver.replace(GameId(1), &game).unwrap());
        assert!(cache.exists());
        game.headers.tournament.rounds += 1;
        saved(&mut base, |saver| saver.replace(GameId(1), &game).unwrap());
        assert!(!cache.exists());
        base.reopen(&path).unwrap();
        let rounds = read(&base, GameId(1)).headers.tournament.rounds;
        assert_eq!(rounds, game.headers.tournament.rounds);
    }

    #[test]
    fn moves_that_would_be_read_as_others_are_refused() {
        let (_folder, path) = samples::copy_of("sample");
        let base = OpenBase::to_read(&path, &Options::default()).unwrap();
        let [one, other] = [2, 3].map(|id| read(&base, GameId(id)));
        let mut begins_otherwise = one.clone();
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1";
        begins_otherwise.start = Start::from_fen(fen, CastlingMode::Standard).unwrap();
        for (is_read, again, is_same) in [
            (true, &one, true),
            (false, &one, false),
            (true, &other, false),
            (true, &begins_otherwise, false),
        ] {
            assert_eq!(ensure_same(is_read, &one, again).is_ok(), is_same);
        }
        let encoded = moves::encode(&one).unwrap();
        assert!(ensure_moves_read_back(&encoded, &one).is_ok());
        assert!(ensure_moves_read_back(&encoded, &other).is_err());
    }

    #[test]
    fn a_game_that_is_refused_leaves_nothing_in_the_base() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let before = samples::told(&base.database);
        let extras = std::fs::read(path.with_extension("cbtt")).unwrap();
        let good = read(&base, GameId(2));
        let mut bad = good.clone();
        bad.headers.white.last = "A last name that is too long for its field".to_owned();
        bad.headers.tournament.title = "No event".to_owned();
        bad.headers.tournament.end = Date {
            year: 1999,
            month: 12,
            day: 31,
        };
        let link = Annotation::WebLink {
            url: "u".repeat(256).into(),
            caption: String::new().into(),
        };
        bad.annotations.add(PlyId::START, link);
        saved(&mut base, |saver| {
            let refused = saver.append(&bad).unwrap_err();
            assert!(refused.is_of_game(), "{refused}");
            assert_eq!((&*saver.unfit, &*saver.kept), (&[][..], &[][..]));
            saver.append(&good).unwrap();
        });
        base.reopen(&path).unwrap();
        let after = samples::told(&base.database);
        assert_eq!(after[..before.len()], before);
        assert_eq!(after.len(), before.len() + 1);
        assert_eq!(samples::defects(&base.database), BTreeSet::new());
        let now = std::fs::read(path.with_extension("cbtt")).unwrap();
        assert!(now == extras);
    }

    #[test]
    fn a_replaced_game_is_no_top_game_any_more() {
        let (_folder, path) = samples::copy_of("sample");
        let mut bits = Vec::new();
        for (id, two) in [(1, 0b11), (2, 0b11), (3, 0b10), (4, 0b01)] {
            TopGames::put_bits(&mut bits, id, two);
        }
        std::fs::write(path.with_extension("flags"), TopGames::file_of(bits)).unwrap();
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let mut game = read(&base, GameId(2));
        saved(&mut base, |saver| {
            for id in [1, 3] {
                game.headers.round += 1;
                saver.replace(GameId(id), &game).unwrap();
            }
        });
        base.reopen(&path).unwrap();
        let top_games = base.database.top_games.as_ref().unwrap();
        let bits = [1, 2, 3, 4].map(|id| top_games.bits(id, &mut ReadBuffer::default()).unwrap());
        assert_eq!(bits, [0, 0b11, 0, 0b01]);
    }

    #[test]
    fn blanks_in_a_tag_are_as_they_were_edited() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let text = Annotation::TextAfter(AnnotationText {
            text: "A fine game.".to_owned(),
            ..AnnotationText::default()
        });
        for value in [
            "a\u{3000}b",
            "x y",
            "x  y",
            "x y",
            "x\u{a0}y",
            "a\u{3000}b",
            "",
        ] {
            let mut game = read(&base, GameId(2));
            game.foreign_tags = vec![("Opening".to_owned(), value.to_owned())];
            if value == "x  y" {
                game.annotations.add(PlyId::START, text.clone());
                game.annotations.sort();
            }
            saved(&mut base, |saver| saver.replace(GameId(2), &game).unwrap());
            base.reopen(&path).unwrap();
            let again = read(&base, GameId(2));
            assert_eq!(again.foreign_tags, game.foreign_tags);
            assert_eq!(content(&again), content(&game));
        }
    }

    #[test]
    fn a_new_game_has_no_teams_of_a_game_that_was_cut_off() {
        let (_folder, path) = samples::copy_of("sample");
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let (id, game) = (GameId(base.database.last_id()), read(&base, GameId(2)));
        assert!(base.database.teams.is_some());
        let mut bytes = base.database.extended_bytes(id).unwrap().unwrap();
        let with_team = ExtendedRecord {
            white_team: 0,
            ..ExtendedRecord::decode(&bytes)
        };
        with_team.encode(&mut bytes);
        let open = |kind: FileKind| {
            let path = path.with_extension(kind.extension());
            File::options().write(true).open(path).unwrap()
        };
        let at = 32 + bytes.len() as u64 * u64::from(id.0 - 1);
        open(FileKind::Extended).write_all_at(&bytes, at).unwrap();
        open(FileKind::Headers)
            .set_len(46 * u64::from(id.0))
            .unwrap();
        drop(base);
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        assert_eq!(base.database.last_id(), id.0 - 1);
        saved(&mut base, |saver| {
            assert_eq!(saver.append(&game).unwrap(), id);
        });
        base.reopen(&path).unwrap();
        assert_eq!(content(&read(&base, id)), content(&game));
    }

    #[test]
    fn games_whose_further_records_were_cut_off_get_no_teams() {
        let (_folder, path) = samples::copy_of("sample");
        let extended = path.with_extension("cbj");
        let bytes = std::fs::read(&extended).unwrap();
        std::fs::write(&extended, &bytes[..32 + 120]).unwrap();
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        assert!(base.database.teams.is_some());
        let (last, game) = (base.database.last_id(), read(&base, GameId(2)));
        let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
        let refused = saver.append(&game).unwrap_err().to_string();
        assert!(refused.contains("records claimed, 1 found"), "{refused}");
        drop(saver);
        crate::cbh::repair(&base, &|_| {}, &mut |_| {}).unwrap();
        base.reopen(&path).unwrap();
        let before = games_of(&base.database);
        for new in 1..3 {
            saved(&mut base, |saver| {
                assert_eq!(saver.append(&game).unwrap(), GameId(last + new));
            });
            base.reopen(&path).unwrap();
        }
        let mut after = games_of(&base.database);
        after.retain(|(id, _)| id.0 <= last);
        let told = |games: &[(GameId, Game)]| {
            let told = games.iter().map(|(id, game)| (*id, content(game)));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(&after), told(&before));
    }

    #[test]
    fn names_stay_in_their_page_when_a_name_that_tells_it_goes() {
        let (_folder, path) = samples::copy_of("sample");
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let Headers { white, black, .. } = read(&base, GameId(2)).headers;
        // Names as they are but for a letter: of Windows-1250 alone, and of each page.
        let players = path.with_extension("cbp");
        let mut bytes = std::fs::read(&players).unwrap();
        for (name, letter) in [(&white.last, 0xb3), (&black.last, 0xe8)] {
            let mut places = bytes.windows(name.len());
            let at = places.position(|part| part == name.as_bytes()).unwrap();
            bytes[at + name.len() - 1] = letter;
        }
        std::fs::write(&players, bytes).unwrap();
        drop(base);
        let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let Headers {
            white: told, black, ..
        } = read(&base, GameId(2)).headers;
        assert!(told.last.ends_with('ł') && black.last.ends_with('č'));
        let mut id = None;
        let find = |at, name: &PlayerName| id = id.or((*name == told).then_some(EntityId(at)));
        let page = base.database.code_page();
        base.database.players.for_each(page, find).unwrap();
        let renamed = |database: &Database| {
            let mut saver = Saver::new(database, SystemTime::UNIX_EPOCH);
            saver
                .rename_entity(id.unwrap(), &Entity::Player(white.clone()))
                .unwrap();
            saver.finish()
        };
        let refused = renamed(&base.database).unwrap_err();
        assert!(matches!(refused, SaveError::PageLost(..)), "{refused}");
        let options = Options {
            code_page: Some(page),
        };
        drop(base);
        let given = OpenBase::to_change(&path, &options, "").unwrap();
        assert!(renamed(&given.database).is_ok());
    }

    #[test]
    fn a_player_is_renamed_unless_another_has_the_name() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let Headers {
            white: one,
            black: other,
            ..
        } = read(&base, GameId(2)).headers;
        let named = |last: &str| {
            Entity::Player(PlayerName {
                last: last.to_owned(),
                first: String::new(),
            })
        };
        let mut id = None;
        let players = &base.database.players;
        let find = |at, name: &PlayerName| id = id.or((*name == one).then_some(EntityId(at)));
        players.for_each(base.database.code_page(), find).unwrap();
        let id = id.unwrap();
        saved(&mut base, |saver| {
            let taken = saver.rename_entity(id, &Entity::Player(other)).unwrap_err();
            assert!(matches!(taken, SaveError::Entity(_, EditError::Exists(_))));
            let long = saver.rename_entity(id, &named(&"x".repeat(50)));
            assert!(long.unwrap_err().is_too_long());
            saver.rename_entity(id, &Entity::Player(one)).unwrap();
            saver.rename_entity(id, &named("Renamed")).unwrap();
        });
        base.reopen(&path).unwrap();
        assert_eq!(read(&base, GameId(2)).headers.white.last, "Renamed");
        assert_eq!(samples::defects(&base.database), BTreeSet::new());
    }

    #[test]
    fn new_teams_and_labels_need_the_file_that_had_those_of_other_games() {
        for (extension, wanted, label) in [
            ("cbe", "WhiteTeam or BlackTeam", ""),
            ("cbl", "CbhTag", "New"),
        ] {
            let (_folder, path) = samples::copy_of("sample");
            std::fs::remove_file(path.with_extension(extension)).unwrap();
            let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let mut game = read(&base, GameId(2));
            game.headers.tag.titles[0] = label.to_owned();
            if label.is_empty() {
                game.headers.white_team.title = "New".to_owned();
                game.headers.white_team.is_given = true;
            }
            let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
            let refused = saver.append(&game).unwrap_err();
            let SaveError::NoPlace { field, why, .. } = refused else {
                panic!("{refused}");
            };
            let missing = format!(".{extension}, which had them, is missing");
            assert!(field == wanted && why.ends_with(&missing), "{field} {why}");
        }
    }

    #[test]
    fn a_game_whose_teams_and_label_are_in_a_missing_file_is_edited_and_keeps_their_numbers() {
        let (_folder, path) = samples::copy_of("sample");
        for extension in ["cbe", "cbl"] {
            std::fs::remove_file(path.with_extension(extension)).unwrap();
        }
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        for id in [GameId(2), GameId(13)] {
            let numbers = |base: &OpenBase| {
                let bytes = base.database.extended_bytes(id).unwrap().unwrap();
                let record = ExtendedRecord::decode(&bytes);
                [record.white_team, record.black_team, record.tag]
            };
            let before = numbers(&base);
            assert_ne!(before, [-1; 3]);
            let mut game = read(&base, id);
            game.headers.round = 77;
            saved(&mut base, |saver| saver.replace(id, &game).unwrap());
            base.reopen(&path).unwrap();
            assert_eq!(read(&base, id).headers.round, 77);
            assert_eq!(numbers(&base), before);
        }
    }

    #[test]
    fn the_opening_code_of_a_game_of_chess960_is_kept_in_another_tag() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let fen = "nrbbqkrn/pppppppp/8/8/8/8/PPPPPPPP/NRBBQKRN w GBgb - 0 1";
        let game = Game {
            start: Start::from_fen(fen, CastlingMode::Chess960).unwrap(),
            headers: Headers {
                eco: crate::game::Eco::from_code("A55"),
                ..Headers::default()
            },
            ..Game::default()
        };
        let kept = [("ECO".to_owned(), "A55".to_owned())];
        let last = saved(&mut base, |saver| {
            saver.append(&game).unwrap();
        });
        base.reopen(&path).unwrap();
        let appended = read(&base, GameId(last));
        assert!(appended.start.is_chess960);
        assert_eq!(appended.headers.eco, None);
        assert_eq!(appended.foreign_tags, kept);
        // The same again, and by a save of a game that was none of Chess960.
        for (id, game) in [(GameId(last), &appended), (GameId(2), &game)] {
            saved(&mut base, |saver| saver.replace(id, game).unwrap());
            base.reopen(&path).unwrap();
            assert_eq!(read(&base, id).foreign_tags, kept);
        }
    }

    #[test]
    fn an_entity_keeps_its_games_when_the_first_of_them_leaves_it() {
        const GAMES: u32 = 700;
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let of = |name: &str| {
            let mut game = read(&base, GameId(13));
            game.headers.white.last = name.to_owned();
            game.headers.white_team.title = format!("{name} Team");
            game
        };
        let [one, other] = [of("One"), of("Other")];
        let first = base.database.last_id() + 1;
        let last = saved(&mut base, |saver| {
            for at in 0..GAMES {
                let is_of_one = [0, 1, GAMES - 1].contains(&at);
                saver.append(if is_of_one { &one } else { &other }).unwrap();
            }
        });
        let is_there = |base: &OpenBase, name: &str| {
            let names = base.database.entity_names(EntityKind::Player).unwrap();
            let mut ids = (0..base.database.entities_claimed(EntityKind::Player)).map(EntityId);
            ids.any(|id| names.get(id).is_some_and(|found| found.starts_with(name)))
        };
        // The next is beside the first, then far behind it, then there is none; last a
        // new game is the only one.
        for (id, is_of_one) in [
            (first, false),
            (first + 1, false),
            (last, false),
            (last, true),
        ] {
            base.reopen(&path).unwrap();
            saved(&mut base, |saver| {
                let game = if is_of_one { &one } else { &other };
                saver.replace(GameId(id), game).unwrap();
            });
            base.reopen(&path).unwrap();
            assert!(samples::defects(&base.database).is_empty(), "{id}");
            let has_left = id == last && !is_of_one;
            assert_eq!(is_there(&base, "One"), !has_left, "{id}");
        }
    }

    #[test]
    fn details_of_a_source_change_with_its_only_game_and_stay_for_others() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let mut game = read(&base, GameId(2));
        let source = &mut game.headers.source;
        source.clear();
        // Tabs are shown as blanks, and stay.
        (source.title, source.publisher) = ("A\tsource".to_owned(), "A\thouse".to_owned());
        let last = saved(&mut base, |saver| _ = saver.append(&game).unwrap());
        game.headers.source.title = "A source".to_owned();
        for (is_shared, version, publisher, now) in [
            (false, 3, "A house", "A\thouse 3"),
            (false, 4, "Another", "Another 4"),
            (true, 5, "Another", "Another 4"),
        ] {
            base.reopen(&path).unwrap();
            if is_shared {
                let stored = read(&base, GameId(last));
                saved(&mut base, |saver| _ = saver.append(&stored).unwrap());
                base.reopen(&path).unwrap();
            }
            game.headers.source.version = version;
            game.headers.source.publisher = publisher.to_owned();
            saved(&mut base, |saver| {
                saver.replace(GameId(last), &game).unwrap();
                let kept: Vec<&str> = saver.kept.iter().map(|unfit| unfit.field).collect();
                assert_eq!(kept.len(), usize::from(is_shared), "{kept:?}");
            });
            base.reopen(&path).unwrap();
            let found = read(&base, GameId(last)).headers.source;
            assert_eq!(found.title, "A\tsource");
            assert_eq!(format!("{} {}", found.publisher, found.version), now);
        }
        assert_eq!(samples::defects(&base.database), BTreeSet::new());
    }
}
