//! What the games of a base played in positions, and which of them fit a query.
//!
//! The first who asks has an index made or opened ([`KeptIndex`]); games that are
//! saved later are read anew. While there is none, the base is searched for each
//! position that is asked for, and a few answers are kept.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

use super::{Base, FilesState, KeptIndex, Searched};
use crate::cbh::Changes;
use crate::game::{Position, PositionKey};
use crate::search::{
    self, Counter, Ended, Filter, GameSet, Played, PositionTable, Query, Reached, SHORT_ANSWER,
    ScanEvent, SearchedGames, Selected, SourceError, select,
};

/// Memory for answers.
const ANSWER_BYTES: usize = 16 << 20;

/// Memory that an answer takes beside its games, roughly.
const OF_ANSWER: usize = 4096;

/// Which games count: those of a query, by its terms; without terms, all.
pub(crate) type Scope = Arc<[Box<str>]>;

/// Why a question is not answered.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It is no query.
    NotAQuery,
    /// The base was saved meanwhile: what was read may mix two states.
    Outdated,
    /// The base cannot be read.
    Damaged(String),
}

/// Position search in one state of a base.
#[derive(Debug)]
pub(crate) struct Explorer {
    kept: Arc<KeptIndex>,
    /// The files, when they were opened.
    opened: FilesState,
    /// Indexes of the main lines, and of main lines and variations.
    indexes: [Mutex<Option<Arc<PositionTable>>>; 2],
    /// Indexes of the previous state, and the games changed since.
    before: [Option<(Arc<PositionTable>, BTreeSet<u32>)>; 2],
    answers: Mutex<Answers>,
    /// Held by a thread that reads all games; `making` by one that builds an
    /// index.
    searching: Mutex<()>,
    making: Mutex<()>,
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
pub(crate) struct Selection {
    query: Query,
    filter: Filter,
    pub(crate) games: GameSet,
    /// When it was made without a game that could not be read, for an error that may
    /// pass.
    short_since: Option<Instant>,
}

impl Selection {
    fn bytes(&self) -> usize {
        self.games.bytes() + self.filter.bytes()
    }

    fn is_outworn(&self) -> bool {
        self.short_since
            .is_some_and(|since| since.elapsed() > SHORT_ANSWER)
    }
}

impl Explorer {
    /// Nothing is known yet.
    pub(crate) fn new(kept: Arc<KeptIndex>, opened: FilesState) -> Explorer {
        Explorer {
            kept,
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
        }
    }

    /// The same after a save, nothing of which is looked at now.
    pub(crate) fn after(&self, changes: &Changes) -> Explorer {
        // Who saves does not wait for what only a look at all files tells.
        let mut after = Explorer::new(Arc::clone(&self.kept), FilesState::default());
        let changed = || {
            let games = changes.games.iter();
            games.filter_map(|game| Some(game.after.or(game.before)?.id.0))
        };
        let states = self.indexes.iter().zip(&self.before);
        for ((index, before), next) in states.zip(&mut after.before) {
            *next = match (index.lock().clone(), before) {
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
        self.answers.lock()
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

    fn selection(&mut self, scope: &Scope) -> Option<Arc<Selection>> {
        let known = self.queries.get(scope);
        known.filter(|known| !known.is_outworn()).map(Arc::clone)
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

impl Explorer {
    /// A query over the base, and the games that fit.
    ///
    /// # Errors
    ///
    /// [`Unanswered`].
    pub(crate) fn selection(
        &self,
        base: &Arc<dyn Base>,
        scope: &Scope,
    ) -> Result<Arc<Selection>, Unanswered> {
        if let Some(known) = self.answers().selection(scope) {
            return Ok(known);
        }
        let query = Query::parse(scope).map_err(|_| Unanswered::NotAQuery)?;
        let _searching = self.searching.lock();
        if let Some(known) = self.answers().selection(scope) {
            return Ok(known);
        }
        let source = Searched(base.as_ref());
        let mut filter = Filter::new(&query, &source);
        if let Ok(filter) = &mut filter
            && (filter.asks_positions()
                || filter.asks_masks() && self.has_index_file(base.as_ref()))
            && let Some(index) = self.index(base, query.in_variations)?
            && let Err(error) = filter.ask_index(&index, &source)
        {
            self.discard(&index, &error);
        }
        let games = filter.and_then(|filter| Ok((select(&source, &filter)?, filter)));
        ensure_present(base.as_ref())?;
        let (Selected { games, unread }, filter) = games.map_err(|fault| damaged(&fault))?;
        let short_since = unread.map(|error| {
            log::warn!("a search goes without games that cannot be read: {error}");
            Instant::now()
        });
        let selection = Arc::new(Selection {
            query,
            filter,
            games,
            short_since,
        });
        let bytes = selection.bytes() + OF_ANSWER;
        let mut answers = self.answers();
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
    /// [`Unanswered`].
    pub(crate) fn played(
        &self,
        base: &Arc<dyn Base>,
        scope: &Scope,
        position: &Position,
    ) -> Result<Arc<Played>, Unanswered> {
        let key = (scope.clone(), position.key());
        let known = || self.answers().played.get(&key).cloned();
        if let Some(known) = known() {
            return Ok(known);
        }
        let asked = self.ask(base, scope, |index, source, games| {
            index.played(position, source, games)
        })?;
        if let Some(played) = asked.map(Arc::new) {
            self.answers().keep_played(key, &played);
            return Ok(played);
        }
        let _searching = self.searching.lock();
        if let Some(known) = known() {
            return Ok(known);
        }
        Ok(self.search_position(base, scope, position)?.0)
    }

    /// The games of a query that reach a position.
    ///
    /// # Errors
    ///
    /// [`Unanswered`].
    pub(crate) fn games_at_position(
        &self,
        base: &Arc<dyn Base>,
        scope: &Scope,
        position: &Position,
    ) -> Result<Arc<GameSet>, Unanswered> {
        let key = (scope.clone(), position.key());
        let known = || self.answers().games.get(&key).cloned();
        if let Some(known) = known() {
            return Ok(known);
        }
        let asked = self.ask(base, scope, |index, source, games| {
            index.games(position, source, games)
        })?;
        if let Some(games) = asked.map(Arc::new) {
            self.answers().keep_games(key, &games);
            return Ok(games);
        }
        let _searching = self.searching.lock();
        if let Some(known) = known() {
            return Ok(known);
        }
        Ok(self.search_position(base, scope, position)?.1)
    }

    /// Whether the moments of variations count.
    ///
    /// # Errors
    ///
    /// [`Unanswered`].
    pub(crate) fn in_variations(
        &self,
        base: &Arc<dyn Base>,
        scope: &Scope,
    ) -> Result<bool, Unanswered> {
        if scope.is_empty() {
            return Ok(false);
        }
        Ok(self.selection(base, scope)?.query.in_variations)
    }

    /// Asks the index, if there is one that can be used.
    fn ask<T>(
        &self,
        base: &Arc<dyn Base>,
        scope: &Scope,
        ask: impl FnOnce(&PositionTable, &dyn SearchedGames, Option<&GameSet>) -> io::Result<T>,
    ) -> Result<Option<T>, Unanswered> {
        // What all games amount to is kept ready.
        let selection = (!scope.is_empty()).then(|| self.selection(base, scope));
        let selection = selection.transpose()?;
        let Some(index) = self.index(base, self.in_variations(base, scope)?)? else {
            return Ok(None);
        };
        let games = selection.as_deref().map(|selection| &selection.games);
        let asked = ask(&index, &Searched(base.as_ref()), games);
        ensure_present(base.as_ref())?;
        Ok(asked.inspect_err(|error| self.discard(&index, error)).ok())
    }

    fn has_index_file(&self, base: &dyn Base) -> bool {
        self.kept.segment(base).is_some()
    }

    /// Drops an index that is damaged.
    fn discard(&self, index: &PositionTable, error: &io::Error) {
        log::warn!("the index of positions is damaged: {error}; it is built again");
        if let Some((segment, _)) = index.segment() {
            self.kept.discard(segment);
        }
    }

    /// Asks all games that fit, and keeps the answer.
    fn search_position(
        &self,
        base: &Arc<dyn Base>,
        scope: &Scope,
        position: &Position,
    ) -> Result<(Arc<Played>, Arc<GameSet>), Unanswered> {
        let source = Searched(base.as_ref());
        let counter = Counter::new(position, self.in_variations(base, scope)?);
        let of_all = || Filter::new(&Query::default(), &source).map_err(|fault| damaged(&fault));
        let filter = if scope.is_empty() {
            of_all()?
        } else {
            self.selection(base, scope)?.filter.clone()
        };
        let mut reached = Reached::default();
        let searched = search::scan(&source, &filter, &counter, &mut |told| {
            if let ScanEvent::Piece(piece) = told {
                reached.add(piece);
            }
            Ok(())
        });
        ensure_present(base.as_ref())?;
        match searched {
            Ok(()) => {}
            Err(Ended::Source(fault)) => return Err(damaged(&fault)),
            Err(Ended::Taker(error)) => return Err(Unanswered::Damaged(error.to_string())),
        }
        let (played, games) = (Arc::new(reached.played), Arc::new(reached.games));
        let key = (scope.clone(), position.key());
        let mut answers = self.answers();
        answers.keep_games(key.clone(), &games);
        answers.keep_played(key, &played);
        Ok((played, games))
    }

    /// All positions of the base, if there is an index.
    fn index(
        &self,
        base: &Arc<dyn Base>,
        in_variations: bool,
    ) -> Result<Option<Arc<PositionTable>>, Unanswered> {
        let place = usize::from(in_variations);
        self.kept.note_reader();
        let (Some(index), Some(before)) = (self.indexes.get(place), self.before.get(place)) else {
            return Ok(None);
        };
        let known = || {
            let index = index.lock().clone();
            index.filter(|index| !self.is_left(index))
        };
        if let Some(known) = known() {
            return Ok(Some(known));
        }
        let _making = self.making.lock();
        if let Some(known) = known() {
            return Ok(Some(known));
        }
        let made = self.make_index(base, before.as_ref(), in_variations);
        ensure_present(base.as_ref())?;
        let made = made.map_err(|fault| damaged(&fault))?.map(Arc::new);
        index.lock().clone_from(&made);
        Ok(made)
    }

    fn make_index(
        &self,
        base: &Arc<dyn Base>,
        before: Option<&(Arc<PositionTable>, BTreeSet<u32>)>,
        in_variations: bool,
    ) -> Result<Option<PositionTable>, SourceError> {
        let (kept, opened) = (&self.kept, self.opened);
        if let Some((index, games)) = before
            && !self.is_left(index)
            && let Some(index) = index.after(games, &Searched(base.as_ref()))?
        {
            kept.renew_if_old(&index, base, opened);
            return Ok(Some(index));
        }
        kept.index(base, opened, in_variations)
    }
}

impl Explorer {
    /// Whether this index is of a file that is not used any more.
    fn is_left(&self, index: &PositionTable) -> bool {
        let segment = index.segment();
        index.is_outworn() || segment.is_some_and(|(segment, _)| self.kept.is_discarded(segment))
    }
}

/// Fails if a save happened since: reads may mix two states.
fn ensure_present(base: &dyn Base) -> Result<(), Unanswered> {
    if base.is_superseded() {
        return Err(Unanswered::Outdated);
    }
    Ok(())
}

fn damaged(fault: &SourceError) -> Unanswered {
    Unanswered::Damaged(fault.to_string())
}
