//! Lists of all names, and of the games of each group, which are read once and
//! cached.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    Database, Error, ExtendedRecord, FileKind, GameId, GameRecord, RECORD_BYTES, ReadBuffer,
    RecordKind, record_offset,
};
use crate::cbh::base::crossref::{Crossref, CrossrefBuilder, Grouping};
use crate::cbh::base::summary::Summary;
use crate::cbh::entities::{
    AllNames, EntityFile, EntityId, EntityKind, EntityNames, PerKind, Which,
};
use crate::cbh::record;

/// Number of records per read when all are read.
const RECORDS_AT_ONCE: u32 = 4096;

/// The cached lists.
#[derive(Debug, Default)]
pub(crate) struct CachedLists {
    pub(super) names: PerKind<Cached<EntityNames>>,
    pub(super) by_entity: PerKind<Cached<Crossref>>,
    pub(super) by_eco: Cached<Crossref>,
    pub(super) by_year: Cached<Crossref>,
}

impl CachedLists {
    /// Returns the names of a kind, read with `make` the first time.
    pub(crate) fn names(
        &self,
        kind: EntityKind,
        make: impl FnOnce() -> Result<EntityNames, Error>,
    ) -> Result<Arc<EntityNames>, Error> {
        self.names.of(kind).get(make)
    }

    /// Returns the games of a grouping, found with `make` the first time.
    pub(crate) fn crossref(
        &self,
        grouping: Grouping,
        make: impl FnOnce() -> Result<Crossref, Error>,
    ) -> Result<Arc<Crossref>, Error> {
        let kept = match grouping {
            Grouping::Entity(kind) => self.by_entity.of(kind),
            Grouping::Eco => &self.by_eco,
            Grouping::Year => &self.by_year,
        };
        kept.get(make)
    }
}

/// A value that is made at the first access. Concurrent accesses wait; after an
/// error the next one tries again.
#[derive(Debug)]
pub(super) struct Cached<T>(Mutex<Option<Arc<T>>>);

impl<T> Default for Cached<T> {
    fn default() -> Cached<T> {
        Cached(Mutex::new(None))
    }
}

impl<T> Cached<T> {
    fn get(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<Arc<T>, Error> {
        let mut kept = self.0.lock();
        if let Some(value) = &*kept {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(make()?);
        *kept = Some(Arc::clone(&value));
        Ok(value)
    }

    /// Returns the value, if it was made.
    pub(super) fn made(&self) -> Option<Arc<T>> {
        let kept = self.0.lock();
        kept.clone()
    }

    pub(super) fn of(made: Option<Arc<T>>) -> Cached<T> {
        Cached(Mutex::new(made))
    }
}

/// The records of a game or text.
#[derive(Clone, Copy, Debug)]
pub(in crate::cbh) struct RecordPair<'a> {
    pub(in crate::cbh) id: GameId,
    pub(in crate::cbh) kind: RecordKind,
    pub(in crate::cbh) is_deleted: bool,
    /// The record of `.cbh`.
    pub(in crate::cbh) bytes: &'a [u8],
    /// The record of `.cbj`; empty if there is none or it was not requested.
    pub(in crate::cbh) extended: &'a [u8],
}

impl Database {
    /// Returns the names of all entities of a kind, which are read at the first
    /// call and cached. Without a file of teams there are no teams.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn entity_names(&self, kind: EntityKind) -> Result<Arc<EntityNames>, Error> {
        let read = || Ok(self.read_names(kind, Which::All)?.into());
        self.lists.names(kind, read)
    }

    /// Whether there is such a player, such a team …: a read of its record alone.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn has_entity(&self, kind: EntityKind, id: EntityId) -> Result<bool, Error> {
        let (page, EntityId(id)) = (self.page, id);
        let found = match kind {
            EntityKind::Player => self.players.has(id, page),
            EntityKind::Tournament => self.tournaments.has(id, page),
            EntityKind::Annotator => self.annotators.has(id, page),
            EntityKind::Source => self.sources.has(id, page),
            EntityKind::Team => self
                .teams
                .as_ref()
                .map_or(Ok(false), |teams| teams.has(id, page)),
        };
        found.map_err(|source| self.io(kind.file(), source))
    }

    pub(super) fn read_names(&self, kind: EntityKind, which: Which) -> Result<AllNames, Error> {
        let page = self.page;
        let names = match kind {
            EntityKind::Player => AllNames::read(&self.players, which, page, |player, out| {
                player.append_to(out);
            }),
            EntityKind::Tournament => AllNames::read_tournaments(&self.tournaments, which, page),
            EntityKind::Annotator => AllNames::read(&self.annotators, which, page, |name, out| {
                out.push_str(name);
            }),
            EntityKind::Source => AllNames::read(&self.sources, which, page, |source, out| {
                out.push_str(&source.title);
            }),
            EntityKind::Team => match &self.teams {
                None => Ok(AllNames::default()),
                Some(teams) => AllNames::read_teams(teams, which, page),
            },
        };
        names.map_err(|source| self.io(kind.file(), source))
    }

    /// Returns the games of every player, opening … that are not deleted. They
    /// are found at the first call by a scan of `.cbh` (for teams, of `.cbj`,
    /// too) and cached.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn crossref(&self, grouping: Grouping) -> Result<Arc<Crossref>, Error> {
        let read = || self.read_crossref(grouping);
        self.lists.crossref(grouping, read)
    }

    fn read_crossref(&self, grouping: Grouping) -> Result<Crossref, Error> {
        let entities = match grouping {
            Grouping::Entity(kind) => self
                .count_entities(kind)
                .map_err(|source| self.io(kind.file(), source))?,
            Grouping::Eco | Grouping::Year => 0,
        };
        let mut builder = CrossrefBuilder::new(grouping, self.last_id, entities);
        let with_extended = grouping == Grouping::Entity(EntityKind::Team);
        self.scan(1..u32::MAX, with_extended, &mut |record| {
            if !record.is_deleted
                && let Some(game) = summary_of(record)
            {
                builder.add(&game);
            }
        })?;
        Ok(builder.build())
    }

    /// Number of records in the file of this kind, deleted ones included.
    pub(in crate::cbh) fn count_entities(&self, kind: EntityKind) -> io::Result<u32> {
        match kind {
            EntityKind::Player => self.players.count_present(),
            EntityKind::Tournament => self.tournaments.count_present(),
            EntityKind::Annotator => self.annotators.count_present(),
            EntityKind::Source => self.sources.count_present(),
            EntityKind::Team => self.teams.as_ref().map_or(Ok(0), EntityFile::count_present),
        }
    }

    /// Number of entities of this kind according to the header of their file,
    /// referred to or not.
    pub fn entities_claimed(&self, kind: EntityKind) -> u32 {
        match kind {
            EntityKind::Player => self.players.live_count(),
            EntityKind::Tournament => self.tournaments.live_count(),
            EntityKind::Annotator => self.annotators.live_count(),
            EntityKind::Source => self.sources.live_count(),
            EntityKind::Team => self.teams.as_ref().map_or(0, EntityFile::live_count),
        }
    }

    /// Returns the summary of one game, deleted or not.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`].
    pub fn summary(&self, id: GameId) -> Result<Summary, Error> {
        let mut summary = None;
        let end = id.0.saturating_add(1);
        self.scan(id.0..end, true, &mut |record| summary = summary_of(record))?;
        summary.ok_or(Error::NotUsed(id))
    }

    /// Appends the summaries of the games with the `count` ids from `first` on,
    /// deleted ones included, in order. `count` bounds the memory.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; `summaries` has those before the error.
    pub fn summaries(
        &self,
        first: GameId,
        count: u32,
        summaries: &mut Vec<Summary>,
    ) -> Result<(), Error> {
        let end = first.0.saturating_add(count);
        self.scan(first.0..end, true, &mut |record| {
            summaries.extend(summary_of(record));
        })
    }

    /// As [`summaries`](Database::summaries), one after the other; their teams
    /// only `with_teams`, as they lie in another file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn for_each_summary(
        &self,
        ids: Range<u32>,
        with_teams: bool,
        take: &mut dyn FnMut(&Summary),
    ) -> Result<(), Error> {
        self.scan(ids, with_teams, &mut |record| {
            if let Some(summary) = summary_of(record) {
                take(&summary);
            }
        })
    }

    /// Calls `take` with the used records of `ids`, in order, by large reads of
    /// `.cbh` and, if requested, of `.cbj`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if a file was truncated.
    pub(in crate::cbh) fn scan(
        &self,
        ids: Range<u32>,
        with_extended: bool,
        take: &mut dyn FnMut(&RecordPair<'_>),
    ) -> Result<(), Error> {
        let (mut buffer, mut extended_buffer) = (ReadBuffer::default(), ReadBuffer::default());
        let mut first = ids.start.max(1);
        let last = ids.end.min(self.last_id.saturating_add(1));
        while first < last {
            let end = last.min(first.saturating_add(RECORDS_AT_ONCE));
            let length = RECORD_BYTES * (end - first) as usize;
            let records = self
                .headers
                .read(record_offset(first), length, &mut buffer)
                .map_err(|source| self.io(FileKind::Headers, source))?;
            let extended = if with_extended {
                self.kept_extended_records(first, end, &mut extended_buffer)?
            } else {
                &[]
            };
            self.for_each_used(first, records, extended, take);
            first = end;
        }
        Ok(())
    }

    /// Where the blob of a record begins in `.cbg` or `.cba`; `None` if it has none there.
    pub(in crate::cbh) fn blob_offset(
        &self,
        file: FileKind,
        record: &RecordPair<'_>,
    ) -> Result<Option<u64>, Error> {
        let Ok(game) = GameRecord::decode(record.bytes) else {
            return Ok(None);
        };
        let offset = match (record.kind, file) {
            // A text stores its offset in the same field.
            (_, FileKind::Moves) => {
                let extended = ExtendedRecord::decode(record.extended);
                let offset = self.moves_offset(game.moves_offset, &extended);
                offset.map_err(|source| self.io(file, source))?
            }
            (RecordKind::Game, _) => u64::from(game.annotations_offset),
            (RecordKind::Text, _) => 0,
        };
        Ok(Some(offset).filter(|offset| *offset != 0))
    }

    /// Calls `take` with the used records, numbered from `first` on, each with
    /// its record of `.cbj`, which is empty behind the end of `extended`.
    pub(super) fn for_each_used(
        &self,
        first: u32,
        records: &[u8],
        extended: &[u8],
        take: &mut dyn FnMut(&RecordPair<'_>),
    ) {
        let extended = extended.chunks(self.extended_record_bytes());
        let extended = extended.chain(std::iter::repeat(&[][..]));
        let records = (first..).zip(records.chunks_exact(RECORD_BYTES));
        for ((id, bytes), extended) in records.zip(extended) {
            if let Some((kind, is_deleted)) = record::decode_kind(bytes) {
                take(&RecordPair {
                    id: GameId(id),
                    kind,
                    is_deleted,
                    bytes,
                    extended,
                });
            }
        }
    }
}

/// Returns the summary, if the record is that of a game.
pub(super) fn summary_of(record: &RecordPair<'_>) -> Option<Summary> {
    if record.kind != RecordKind::Game {
        return None;
    }
    Summary::decode(record.id, record.is_deleted, record.bytes, record.extended).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::Options;

    fn sample() -> Database {
        let path = "fixtures/cbh/sample/sample.cbh".as_ref();
        Database::open(path, &Options::default()).unwrap()
    }

    #[test]
    fn a_summary_is_the_same_read_alone_and_among_others() {
        let database = sample();
        let last = database.last_id();
        let read = |first, count| {
            let mut summaries = Vec::new();
            database
                .summaries(GameId(first), count, &mut summaries)
                .unwrap();
            summaries
        };
        let all = read(1, last);
        assert!(all.len() > 3 && all.iter().any(|game| game.white_team.is_some()));
        for id in 0..=last + 1 {
            let known = all.iter().find(|game| game.id.0 == id);
            assert_eq!(database.summary(GameId(id)).ok().as_ref(), known, "{id}");
            let up_to = all.iter().filter(|game| game.id.0 >= id);
            assert!(read(id, u32::MAX).iter().eq(up_to), "{id}");
        }
        let three = all.iter().filter(|game| (2..5).contains(&game.id.0));
        assert!(read(2, 3).iter().eq(three));
        for with_teams in [true, false] {
            let mut listed = Vec::new();
            let mut take = |game: &Summary| listed.push(*game);
            database
                .for_each_summary(2..last, with_teams, &mut take)
                .unwrap();
            let wanted = all.iter().filter(|game| (2..last).contains(&game.id.0));
            let wanted = wanted.map(|game| Summary {
                white_team: game.white_team.filter(|_| with_teams),
                black_team: game.black_team.filter(|_| with_teams),
                ..*game
            });
            assert!(listed.into_iter().eq(wanted), "{with_teams}");
        }
    }

    #[test]
    fn entities_are_there_that_their_file_has() {
        let database = sample();
        for kind in EntityKind::ALL {
            let count = database.count_entities(kind).unwrap();
            assert!(
                count > 0 && database.entities_claimed(kind) <= count,
                "{kind:?}"
            );
            let there =
                (0..count + 2).filter(|id| database.has_entity(kind, EntityId(*id)).unwrap());
            assert_eq!(
                there.count(),
                database.entities_claimed(kind) as usize,
                "{kind:?}"
            );
        }
    }
}
