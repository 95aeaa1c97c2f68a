//! Lists of records, of the games of each group, and of all names.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::{Cbh2Record, Database, Error, FileKind, GameId, RecordType, record_offset};
use crate::cbh::{
    Crossref, CrossrefBuilder, EntityId, EntityKind, EntityNames, Entry, GameMention, Grouping,
    ListedRecord, MentionCandidate, MentionSearch, Summary,
};
use crate::cbh2::entities::{self, LookupError, Type};
use crate::cbh2::record::RECORD_BYTES;
use crate::game::{Defect, PlayerName, Tournament};
use crate::storage::ReadBuffer;

/// Number of records per read when all are read.
const RECORDS_AT_ONCE: u32 = 1024;

impl Database {
    /// Appends the known records among the `count` from `first` on, in order,
    /// by one read. `count` bounds the memory.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if the file has become shorter: then those that are
    /// left have been appended.
    pub fn entries(
        &self,
        first: GameId,
        count: u32,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        self.for_each_left(first, count, &mut |record| entries.extend(record.entry()))
    }

    /// As [`entries`](Database::entries), with times and the summaries of games.
    ///
    /// # Errors
    ///
    /// As [`entries`](Database::entries).
    pub fn listed(
        &self,
        first: GameId,
        count: u32,
        listed: &mut Vec<ListedRecord>,
    ) -> Result<(), Error> {
        self.for_each_left(first, count, &mut |record| {
            listed.extend(record.entry().map(|entry| ListedRecord {
                entry,
                modified: record.modified(),
                summary: record.summary(),
            }));
        })
    }

    /// Calls `take` with the records of the `count` ids from `first` on.
    fn for_each_left(
        &self,
        first: GameId,
        count: u32,
        take: &mut dyn FnMut(Cbh2Record<'_>),
    ) -> Result<(), Error> {
        let first = first.0.max(1);
        let end = first.saturating_add(count).min(self.last_id + 1);
        if first >= end {
            return Ok(());
        }
        let length = RECORD_BYTES * (end - first) as usize;
        let mut buffer = ReadBuffer::default();
        let io = |source| self.io(FileKind::Headers, source);
        let offset = record_offset(GameId(first));
        let records = self.headers.read_up_to(offset, length, &mut buffer);
        let records = records.map_err(io)?;
        for (id, bytes) in (first..).zip(records.chunks_exact(RECORD_BYTES)) {
            take(Cbh2Record::new(GameId(id), bytes));
        }
        if records.len() < length {
            return Err(io(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(())
    }

    /// Calls `take` with the records of `ids`, in order, by large reads.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if the file has become shorter.
    pub(super) fn scan(
        &self,
        ids: Range<u32>,
        take: &mut dyn FnMut(Cbh2Record<'_>),
    ) -> Result<(), Error> {
        let mut first = ids.start.max(1);
        let end = ids.end.min(self.last_id + 1);
        while first < end {
            let count = RECORDS_AT_ONCE.min(end - first);
            self.for_each_left(GameId(first), count, take)?;
            first += count;
        }
        Ok(())
    }

    /// Returns the summary of one game, deleted or not.
    ///
    /// # Errors
    ///
    /// [`Error::NotUsed`] if no game has the number; [`Error::Io`].
    pub fn summary(&self, id: GameId) -> Result<Summary, Error> {
        let mut summary = None;
        let end = id.0.saturating_add(1);
        self.scan(id.0..end, &mut |record| summary = record.summary())?;
        summary.ok_or(Error::NotUsed(id))
    }

    /// Appends the summaries of the games with the `count` ids from `first` on,
    /// deleted ones included, in order. `count` bounds the memory.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; `summaries` has those before the place.
    pub fn summaries(
        &self,
        first: GameId,
        count: u32,
        summaries: &mut Vec<Summary>,
    ) -> Result<(), Error> {
        let end = first.0.saturating_add(count);
        let take = &mut |record: Cbh2Record<'_>| summaries.extend(record.summary());
        self.scan(first.0..end, take)
    }

    /// As [`summaries`](Database::summaries), one after the other.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn for_each_summary(
        &self,
        ids: Range<u32>,
        _with_teams: bool,
        take: &mut dyn FnMut(&Summary),
    ) -> Result<(), Error> {
        self.scan(ids, &mut |record| {
            if let Some(summary) = record.summary() {
                take(&summary);
            }
        })
    }

    /// Appends the numbers of all guiding texts, deleted ones too.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; `texts` has those before the place.
    pub fn texts(&self, texts: &mut Vec<GameId>) -> Result<(), Error> {
        self.scan(1..u32::MAX, &mut |record| {
            texts.extend((record.kind() == Some(RecordType::Text)).then_some(record.id));
        })
    }

    /// Returns the names of all entities of a kind, which are read at the first
    /// call and cached.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn entity_names(&self, kind: EntityKind) -> Result<Arc<EntityNames>, Error> {
        let io = |source| self.io(FileKind::Entities, source);
        let read = || self.entities.names(kind, self.page).map_err(io);
        self.lists.names(kind, read)
    }

    /// Returns the games of every player, opening … that are not deleted. They
    /// are found at the first call by a scan of `.2cbh` and cached.
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
                .entities
                .count(Type::of(kind))
                .map_err(|source| self.io(FileKind::Entities, source))?,
            Grouping::Eco | Grouping::Year => 0,
        };
        let mut builder = CrossrefBuilder::new(grouping, self.last_id, entities);
        self.scan(1..u32::MAX, &mut |record| {
            let game = record.summary().filter(|game| !game.is_deleted);
            if let Some(game) = game {
                builder.add(&game);
            }
        })?;
        Ok(builder.build())
    }

    /// Number of entities of this kind according to the header of their file,
    /// deleted ones included.
    pub fn entities_claimed(&self, kind: EntityKind) -> u32 {
        let claimed = self.entities.claimed(Type::of(kind));
        u32::try_from(claimed).unwrap_or(u32::MAX)
    }

    /// Returns the game of each mention that exactly one game fits: see
    /// [`cbh`](crate::cbh::Database::find_games).
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn find_games<'m>(
        &self,
        mentions: &'m HashSet<GameMention>,
    ) -> Result<HashMap<&'m GameMention, GameId>, Error> {
        if mentions.is_empty() {
            return Ok(HashMap::new());
        }
        let mut search = MentionSearch::new(mentions);
        self.for_each_player(&mut |id, name| search.player(id.0, name))?;
        self.scan(1..u32::MAX, &mut |record| {
            let game = record.summary().filter(|game| !game.is_deleted);
            if let Some(game) = game {
                let candidate = MentionCandidate {
                    id: game.id,
                    tournament: game.tournament.0,
                    date: game.date,
                };
                search.game([game.white.0, game.black.0], candidate);
            }
        })?;
        search.found(|id| {
            let (mut event, mut defects) = (Tournament::default(), Vec::<Defect>::new());
            let mut buffer = ReadBuffer::default();
            let mut lookup = self.lookup(&mut buffer, &mut defects);
            lookup.tournament(EntityId(id), &mut event)?;
            Ok(event)
        })
    }

    fn for_each_player(&self, take: &mut dyn FnMut(EntityId, &PlayerName)) -> Result<(), Error> {
        let io = |source| self.io(FileKind::Entities, source);
        let mut buffer = ReadBuffer::ahead();
        for id in (0..self.entities.count(Type::Player).map_err(io)?).map(EntityId) {
            let mut name = PlayerName::default();
            let read = self.entities.read(Type::Player, id, &mut buffer, |reader| {
                entities::player(reader, self.page, &mut name).map(drop)
            });
            match read {
                Ok(()) => take(id, &name),
                Err(LookupError::Fault(..)) => {}
                Err(LookupError::Io(source)) => return Err(io(source)),
            }
        }
        Ok(())
    }
}
