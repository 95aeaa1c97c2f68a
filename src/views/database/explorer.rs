//! What the games of a base played in positions, and which of them fit a query.
//!
//! The first who asks has all games read, and what they reach kept in memory
//! ([`Index`]); games that are saved later are read anew. A base with more than
//! [`MOST_POSITIONS`] is searched for each position that is asked for, and a few
//! answers are kept.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::DatabaseVolume;
use crate::base::{HeadersTsv, Searched};
use crate::cbh::Changes;
use crate::fs::content::once::Once;
use crate::fs::{Error, Ino, TextCache};
use crate::game::{Position, PositionKey};
use crate::search::{
    self, Counter, Ended, Fault, Filter, GameSet, Index, Query, Reached, Told, select,
};
use crate::views::positions::{Nodes, Scope};

/// Positions of all games that are kept in memory, at most: 64 MiB, which some
/// fifty thousand games have.
const MOST_POSITIONS: usize = 4 << 20;

/// Memory for answers, and for texts of small files.
const ANSWER_BYTES: usize = 16 << 20;
const TEXT_BYTES: usize = 1 << 20;

/// Tables of headers that are kept.
const TABLES: usize = 64;

/// Memory that an answer takes beside its games, roughly.
const OF_ANSWER: usize = 4096;

/// What is known of the positions of one state of a base.
#[derive(Debug)]
pub(super) struct Explorer {
    pub(super) nodes: Arc<Nodes>,
    /// Of main lines, and with variations; `None` if there are too many
    /// positions.
    indexes: [Once<Option<Arc<Index>>>; 2],
    /// What they were before, and the games that have changed since.
    before: [Option<(Arc<Index>, BTreeSet<u32>)>; 2],
    answers: Mutex<Answers>,
    /// Held by who goes through all games.
    searching: Mutex<()>,
    pub(super) texts: TextCache,
    tables: Mutex<LruCache<(u64, Ino), Arc<HeadersTsv>>>,
}

/// What was asked lately.
#[derive(Debug)]
struct Answers {
    positions: LruCache<(Scope, PositionKey), Arc<Reached>>,
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
    /// Whether the moments of variations count.
    pub(super) fn in_variations(&self) -> bool {
        self.query.in_variations
    }
}

impl Explorer {
    /// Nothing is known yet.
    pub(super) fn new(nodes: Arc<Nodes>) -> Explorer {
        Explorer {
            nodes,
            indexes: Default::default(),
            before: Default::default(),
            answers: Mutex::new(Answers {
                positions: LruCache::unbounded(),
                queries: LruCache::unbounded(),
                bytes: 0,
            }),
            searching: Mutex::default(),
            texts: TextCache::new(TEXT_BYTES),
            tables: Mutex::new(LruCache::unbounded()),
        }
    }

    /// The same after a save, nothing of which is looked at now.
    pub(super) fn after(&self, changes: &Changes) -> Explorer {
        let mut after = Explorer::new(Arc::clone(&self.nodes));
        let changed = || {
            let games = changes.games.iter();
            games.filter_map(|game| Some(game.after.or(game.before)?.id.0))
        };
        let states = self.indexes.iter().zip(&self.before);
        for ((index, before), next) in states.zip(&mut after.before) {
            *next = match (index.get().flatten(), before) {
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
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table of headers in this place.
    pub(super) fn table(&self, place: (u64, Ino)) -> Arc<HeadersTsv> {
        let tables = &self.tables;
        let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
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
            let position = self.positions.pop_lru();
            let position = position.map(|(_, reached)| reached.games.bytes());
            let query = || self.queries.pop_lru().map(|(_, one)| one.games.bytes());
            let Some(games) = position.or_else(query) else {
                self.bytes = 0;
                return;
            };
            self.bytes = self.bytes.saturating_sub(games + OF_ANSWER);
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
        let filter = Filter::new(&query, &source);
        let games = filter.and_then(|filter| Ok((select(&source, &filter)?, filter)));
        self.ensure_present()?;
        let (games, filter) = games.map_err(|fault| damaged(&fault))?;
        let bytes = games.bytes() + OF_ANSWER;
        let selection = Arc::new(Selection {
            query,
            filter,
            games,
        });
        let mut answers = explorer.answers();
        let before = answers.queries.put(scope.clone(), Arc::clone(&selection));
        if before.is_none() {
            answers.keep(bytes);
        }
        Ok(selection)
    }

    /// What the games of a query played in a position.
    ///
    /// # Errors
    ///
    /// As [`selection`](DatabaseVolume::selection), or that of reading.
    pub(super) fn reached(
        &self,
        scope: &Scope,
        position: &Position,
    ) -> Result<Arc<Reached>, Error> {
        let key = (scope.clone(), position.key());
        let known = || self.explorer.answers().positions.get(&key).cloned();
        if let Some(known) = known() {
            return Ok(known);
        }
        let selection = self.selection(scope)?;
        let reached = if let Some(index) = self.index(selection.query.in_variations)? {
            self.ask(&index, &selection, position)?
        } else {
            let _searching = lock(&self.explorer.searching);
            if let Some(known) = known() {
                return Ok(known);
            }
            self.search_position(&selection, position)?
        };
        let reached = Arc::new(reached);
        let mut answers = self.explorer.answers();
        let before = answers.positions.put(key, Arc::clone(&reached));
        if before.is_none() {
            answers.keep(reached.games.bytes() + OF_ANSWER);
        }
        Ok(reached)
    }

    fn ask(
        &self,
        index: &Index,
        selection: &Selection,
        position: &Position,
    ) -> Result<Reached, Error> {
        let (source, games) = (Searched(self.base.as_ref()), Some(&selection.games));
        let asked = index.played(position, &source, games).and_then(|played| {
            let games = index.games(position, &source, games)?;
            Ok(Reached { played, games })
        });
        self.ensure_present()?;
        asked.or_else(|error| {
            log::warn!("the index of positions: {error}");
            self.search_position(selection, position)
        })
    }

    /// Asks all games that fit.
    fn search_position(
        &self,
        selection: &Selection,
        position: &Position,
    ) -> Result<Reached, Error> {
        let counter = Counter::new(position, selection.query.in_variations);
        let source = Searched(self.base.as_ref());
        let mut reached = Reached::default();
        let searched = search::scan(&source, &selection.filter, &counter, &mut |told| {
            if let Told::Piece(piece) = told {
                reached.add(piece);
            }
            Ok(())
        });
        self.ensure_present()?;
        match searched {
            Ok(()) => Ok(reached),
            Err(Ended::Source(fault)) => Err(damaged(&fault)),
            Err(Ended::Taker(error)) => Err(Error::Damaged(error.to_string())),
        }
    }

    /// All positions of the base, unless there are too many.
    fn index(&self, in_variations: bool) -> Result<Option<Arc<Index>>, Error> {
        let place = usize::from(in_variations);
        let explorer = &self.explorer;
        let (Some(index), Some(before)) = (explorer.indexes.get(place), explorer.before.get(place))
        else {
            return Ok(None);
        };
        index.get_or_work_out(|| {
            let source = Searched(self.base.as_ref());
            let built = match before {
                Some((index, games)) => index.after(games, &source),
                None => Ok(None),
            };
            let built = built.and_then(|known| match known {
                Some(index) => Ok(Some(index)),
                None if self.base.last_id() as usize > MOST_POSITIONS => Ok(None),
                None => Index::build(&source, in_variations, MOST_POSITIONS),
            });
            self.ensure_present()?;
            Ok(built.map_err(|fault| damaged(&fault))?.map(Arc::new))
        })
    }
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn damaged(fault: &Fault) -> Error {
    Error::Damaged(fault.to_string())
}
