//! What the games of a base played in positions, and which of them fit a query.
//!
//! The first who asks has an index made or opened ([`KeptIndex`]); games that are
//! saved later are read anew. While there is none, the base is searched for each
//! position that is asked for, and a few answers are kept.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::DatabaseVolume;
use super::directories::Positions;
use super::kept_index::KeptIndex;
use crate::base::{FilesState, HeadersTsv, Merges, Searched};
use crate::cbh::Changes;
use crate::fs::{Error, Ino, TextCache};
use crate::game::{Position, PositionKey};
use crate::search::{
    self, Counter, Ended, Fault, Filter, GameSet, Index, Played, Query, Reached, ScanEvent, Source,
    select,
};
use crate::views::positions::{Nodes, Scope};

/// Memory for answers, and for texts of small files.
const ANSWER_BYTES: usize = 16 << 20;
const TEXT_BYTES: usize = 1 << 20;

/// Tables of headers that are kept.
const TABLES: usize = 64;

/// Queries whose refusal is remembered.
const MOST_REFUSED: usize = 20;

/// Memory that an answer takes beside its games, roughly.
const OF_ANSWER: usize = 4096;

/// What all states of a base have in common: the numbers of positions, the index in
/// its file, and where its merges are kept.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) nodes: Arc<Nodes>,
    pub(super) kept: Arc<KeptIndex>,
    pub(super) refused: Arc<Refused>,
    /// Where merges are kept, if directories of players and the like are merged.
    pub(super) merges: Option<Arc<Merges>>,
}

/// Queries that were refused lately, for `.cbfs/find.txt`.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<VecDeque<String>>);

impl Refused {
    /// Notes one, and why.
    pub(super) fn note(&self, line: String) {
        let mut lines = lock(&self.0);
        lines.retain(|known| *known != line);
        lines.truncate(MOST_REFUSED - 1);
        lines.push_front(line);
    }

    /// A line for each, the latest first.
    pub(super) fn lines(&self) -> String {
        lock(&self.0)
            .iter()
            .map(|line| line.to_owned() + "\n")
            .collect()
    }
}

impl Common {
    /// That of a base whose index may be in the directory `caches`.
    pub(super) fn new(kept: KeptIndex) -> Common {
        Common {
            nodes: Arc::new(Positions::nodes()),
            kept: Arc::new(kept),
            refused: Arc::default(),
            merges: None,
        }
    }
}

/// Position search in one state of a base.
#[derive(Debug)]
pub(super) struct Explorer {
    pub(super) common: Common,
    /// The files, when they were opened.
    opened: FilesState,
    /// Indexes of the main lines, and of main lines and variations.
    indexes: [Mutex<Option<Arc<Index>>>; 2],
    /// Indexes of the previous state, and the games changed since.
    before: [Option<(Arc<Index>, BTreeSet<u32>)>; 2],
    answers: Mutex<Answers>,
    /// Held by a thread that reads all games; `making` by one that builds an
    /// index.
    searching: Mutex<()>,
    making: Mutex<()>,
    pub(super) texts: TextCache,
    tables: Mutex<LruCache<(u64, Ino), Arc<HeadersTsv>>>,
}

/// Recent answers.
#[derive(Debug)]
struct Answers {
    played: LruCache<(Scope, PositionKey), Arc<Played>>,
    games: LruCache<(Scope, PositionKey), Arc<GameSet>>,
    queries: LruCache<Scope, Arc<Selection>>,
    bytes: usize,
}

/// A query, ready to be asked, and the games that fit it.
#[derive(Debug)]
pub(super) struct Selection {
    query: Query,
    filter: Filter,
    pub(super) games: GameSet,
}

impl Selection {
    fn bytes(&self) -> usize {
        self.games.bytes() + self.filter.bytes()
    }
}

impl Explorer {
    /// Nothing is known yet.
    pub(super) fn new(common: Common, opened: FilesState) -> Explorer {
        Explorer {
            common,
            opened,
            indexes: Default::default(),
            before: Default::default(),
            answers: Mutex::new(Answers {
                played: LruCache::unbounded(),
                games: LruCache::unbounded(),
                queries: LruCache::unbounded(),
                bytes: 0,
            }),
            searching: Mutex::default(),
            making: Mutex::default(),
            texts: TextCache::new(TEXT_BYTES),
            tables: Mutex::new(LruCache::unbounded()),
        }
    }

    /// The same after a save, nothing of which is looked at now.
    pub(super) fn after(&self, changes: &Changes) -> Explorer {
        // Who saves does not wait for what only a look at all files tells.
        let mut after = Explorer::new(self.common.clone(), FilesState::default());
        let changed = || {
            let games = changes.games.iter();
            games.filter_map(|game| Some(game.after.or(game.before)?.id.0))
        };
        let states = self.indexes.iter().zip(&self.before);
        for ((index, before), next) in states.zip(&mut after.before) {
            *next = match (lock(index).clone(), before) {
                (Some(index), _) => Some((index, changed().collect())),
                (None, Some((index, games))) => {
                    let games = games.iter().copied().chain(changed());
                    Some((Arc::clone(index), games.collect()))
                }
                (None, None) => None,
            };
        }
        after
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        lock(&self.answers)
    }

    /// The table of headers in this place.
    pub(super) fn table(&self, place: (u64, Ino)) -> Arc<HeadersTsv> {
        let mut tables = lock(&self.tables);
        let table = Arc::clone(tables.get_or_insert(place, Arc::default));
        while tables.len() > TABLES {
            tables.pop_lru();
        }
        table
    }
}

impl Answers {
    fn keep(&mut self, bytes: usize) {
        self.bytes += bytes;
        while self.bytes > ANSWER_BYTES {
            let games = self.games.pop_lru().map(|(_, games)| games.bytes());
            let played = || self.played.pop_lru().map(|_| 0);
            let query = || self.queries.pop_lru().map(|(_, one)| one.bytes());
            let Some(bytes) = games.or_else(played).or_else(query) else {
                self.bytes = 0;
                return;
            };
            self.bytes = self.bytes.saturating_sub(bytes + OF_ANSWER);
        }
    }

    fn keep_played(&mut self, key: (Scope, PositionKey), played: &Arc<Played>) {
        if self.played.put(key, Arc::clone(played)).is_none() {
            self.keep(OF_ANSWER);
        }
    }

    fn keep_games(&mut self, key: (Scope, PositionKey), games: &Arc<GameSet>) {
        if self.games.put(key, Arc::clone(games)).is_none() {
            self.keep(games.bytes() + OF_ANSWER);
        }
    }
}

impl DatabaseVolume {
    /// A query over the base, and the games that fit.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is none.
    pub(super) fn selection(&self, scope: &Scope) -> Result<Arc<Selection>, Error> {
        let explorer = &self.explorer;
        if let Some(known) = explorer.answers().queries.get(scope) {
            return Ok(Arc::clone(known));
        }
        let query = Query::parse(scope).map_err(|_| Error::Invalid)?;
        let _searching = lock(&explorer.searching);
        if let Some(known) = explorer.answers().queries.get(scope) {
            return Ok(Arc::clone(known));
        }
        let source = Searched(self.base.as_ref());
        let mut filter = Filter::new(&query, &source);
        if let Ok(filter) = &mut filter
            && (filter.asks_positions() || filter.asks_masks() && self.has_index_file())
            && let Some(index) = self.index(query.in_variations)?
            && let Err(error) = filter.ask_index(&index, &source)
        {
            self.leave(&index, &error);
        }
        let games = filter.and_then(|filter| Ok((select(&source, &filter)?, filter)));
        self.ensure_present()?;
        let (games, filter) = games.map_err(|fault| damaged(&fault))?;
        let selection = Arc::new(Selection {
            query,
            filter,
            games,
        });
        let bytes = selection.bytes() + OF_ANSWER;
        let mut answers = explorer.answers();
        let before = answers.queries.put(scope.clone(), Arc::clone(&selection));
        if before.is_none() {
            answers.keep(bytes);
        }
        Ok(selection)
    }

    /// What the games of a query played in a position; of the empty one, all that
    /// are not deleted.
    ///
    /// # Errors
    ///
    /// As [`selection`](DatabaseVolume::selection), or that of reading.
    pub(super) fn played(&self, scope: &Scope, position: &Position) -> Result<Arc<Played>, Error> {
        let key = (scope.clone(), position.key());
        let known = || self.explorer.answers().played.get(&key).cloned();
        if let Some(known) = known() {
            return Ok(known);
        }
        let asked = self.ask(scope, |index, source, games| {
            index.played(position, source, games)
        })?;
        if let Some(played) = asked.map(Arc::new) {
            self.explorer.answers().keep_played(key, &played);
            return Ok(played);
        }
        let _searching = lock(&self.explorer.searching);
        if let Some(known) = known() {
            return Ok(known);
        }
        Ok(self.search_position(scope, position)?.0)
    }

    /// The games of a query that reach a position.
    ///
    /// # Errors
    ///
    /// As [`played`](DatabaseVolume::played).
    pub(super) fn games_at_position(
        &self,
        scope: &Scope,
        position: &Position,
    ) -> Result<Arc<GameSet>, Error> {
        let key = (scope.clone(), position.key());
        let known = || self.explorer.answers().games.get(&key).cloned();
        if let Some(known) = known() {
            return Ok(known);
        }
        let asked = self.ask(scope, |index, source, games| {
            index.games(position, source, games)
        })?;
        if let Some(games) = asked.map(Arc::new) {
            self.explorer.answers().keep_games(key, &games);
            return Ok(games);
        }
        let _searching = lock(&self.explorer.searching);
        if let Some(known) = known() {
            return Ok(known);
        }
        Ok(self.search_position(scope, position)?.1)
    }

    /// Whether the moments of variations count.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it is no query.
    pub(super) fn in_variations(&self, scope: &Scope) -> Result<bool, Error> {
        if scope.is_empty() {
            return Ok(false);
        }
        Ok(self.selection(scope)?.query.in_variations)
    }

    /// Asks the index, if there is one that can be used.
    fn ask<T>(
        &self,
        scope: &Scope,
        ask: impl FnOnce(&Index, &dyn Source, Option<&GameSet>) -> io::Result<T>,
    ) -> Result<Option<T>, Error> {
        // What all games amount to is kept ready.
        let selection = (!scope.is_empty()).then(|| self.selection(scope));
        let selection = selection.transpose()?;
        let Some(index) = self.index(self.in_variations(scope)?)? else {
            return Ok(None);
        };
        let games = selection.as_deref().map(|selection| &selection.games);
        let asked = ask(&index, &Searched(self.base.as_ref()), games);
        self.ensure_present()?;
        Ok(asked.inspect_err(|error| self.leave(&index, error)).ok())
    }

    fn has_index_file(&self) -> bool {
        let kept = &self.explorer.common.kept;
        kept.segment(self.base.as_ref()).is_some()
    }

    /// Drops an index that is damaged.
    fn leave(&self, index: &Index, error: &io::Error) {
        log::warn!("the index of positions is damaged: {error}; it is built again");
        if let Some((segment, _)) = index.segment() {
            self.explorer.common.kept.leave(segment);
        }
    }

    /// Asks all games that fit, and keeps the answer.
    fn search_position(
        &self,
        scope: &Scope,
        position: &Position,
    ) -> Result<(Arc<Played>, Arc<GameSet>), Error> {
        let source = Searched(self.base.as_ref());
        let counter = Counter::new(position, self.in_variations(scope)?);
        let of_all = || Filter::new(&Query::default(), &source).map_err(|fault| damaged(&fault));
        let filter = if scope.is_empty() {
            of_all()?
        } else {
            self.selection(scope)?.filter.clone()
        };
        let mut reached = Reached::default();
        let searched = search::scan(&source, &filter, &counter, &mut |told| {
            if let ScanEvent::Piece(piece) = told {
                reached.add(piece);
            }
            Ok(())
        });
        self.ensure_present()?;
        match searched {
            Ok(()) => {}
            Err(Ended::Source(fault)) => return Err(damaged(&fault)),
            Err(Ended::Taker(error)) => return Err(Error::Damaged(error.to_string())),
        }
        let (played, games) = (Arc::new(reached.played), Arc::new(reached.games));
        let key = (scope.clone(), position.key());
        let mut answers = self.explorer.answers();
        answers.keep_games(key.clone(), &games);
        answers.keep_played(key, &played);
        Ok((played, games))
    }

    /// All positions of the base, if there is an index.
    fn index(&self, in_variations: bool) -> Result<Option<Arc<Index>>, Error> {
        let place = usize::from(in_variations);
        let explorer = &self.explorer;
        explorer.common.kept.note_reader();
        let (Some(index), Some(before)) = (explorer.indexes.get(place), explorer.before.get(place))
        else {
            return Ok(None);
        };
        let known = || {
            let index = lock(index).clone();
            index.filter(|index| !explorer.is_left(index))
        };
        if let Some(known) = known() {
            return Ok(Some(known));
        }
        let _making = lock(&explorer.making);
        if let Some(known) = known() {
            return Ok(Some(known));
        }
        let made = self.make_index(before.as_ref(), in_variations);
        self.ensure_present()?;
        let made = made.map_err(|fault| damaged(&fault))?.map(Arc::new);
        lock(index).clone_from(&made);
        Ok(made)
    }

    fn make_index(
        &self,
        before: Option<&(Arc<Index>, BTreeSet<u32>)>,
        in_variations: bool,
    ) -> Result<Option<Index>, Fault> {
        let (kept, opened) = (&self.explorer.common.kept, self.explorer.opened);
        if let Some((index, games)) = before
            && !self.explorer.is_left(index)
            && let Some(index) = index.after(games, &Searched(self.base.as_ref()))?
        {
            kept.renew_if_old(&index, &self.base, opened);
            return Ok(Some(index));
        }
        kept.index(&self.base, opened, in_variations)
    }
}

impl Explorer {
    /// Whether this index is of a file that is not used any more.
    fn is_left(&self, index: &Index) -> bool {
        let segment = index.segment();
        segment.is_some_and(|(segment, _)| self.common.kept.has_left(segment))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn damaged(fault: &Fault) -> Error {
    Error::Damaged(fault.to_string())
}
