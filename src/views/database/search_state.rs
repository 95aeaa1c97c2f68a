//! Search in one state of a base, and what directories of positions and of
//! queries have made of it.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::DatabaseVolume;
use super::directories::Positions;
use crate::base::{Explorer, FilesState, HeadersTsv, KeptIndex, Merges, Selection, Unanswered};
use crate::cbh::Changes;
use crate::fs::{Error, Ino, TextCache};
use crate::game::Position;
use crate::search::{GameSet, Played, RefusedQueries};
use crate::views::positions::{InoTable, Scope};

/// Memory for texts of small files.
const TEXT_BYTES: usize = 1 << 20;

/// Tables of headers that are kept.
const TABLES: usize = 64;

/// What all states of a base have in common: the numbers of positions, the index in
/// its file, and where its merges are kept.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) nodes: Arc<InoTable>,
    pub(super) kept: Arc<KeptIndex>,
    pub(super) refused: Arc<RefusedQueries>,
    /// Where merges are kept, if directories of players and the like are merged.
    pub(super) merges: Option<Arc<Merges>>,
}

impl Common {
    /// Returns the common state of a base that has no remembered numbers and no
    /// refused queries yet. `kept` holds its index of positions.
    pub(super) fn new(kept: KeptIndex) -> Common {
        Common {
            nodes: Arc::new(Positions::nodes()),
            kept: Arc::new(kept),
            refused: Arc::default(),
            merges: None,
        }
    }
}

/// Search in one state of a base.
#[derive(Debug)]
pub(super) struct SearchState {
    pub(super) common: Common,
    explorer: Explorer,
    pub(super) texts: TextCache,
    tables: Mutex<LruCache<(u64, Ino), Arc<HeadersTsv>>>,
}

impl SearchState {
    /// Nothing is known yet.
    pub(super) fn new(common: Common, opened: FilesState) -> SearchState {
        let explorer = Explorer::new(Arc::clone(&common.kept), opened);
        SearchState::of(common, explorer)
    }

    fn of(common: Common, explorer: Explorer) -> SearchState {
        SearchState {
            common,
            explorer,
            texts: TextCache::new(TEXT_BYTES),
            tables: Mutex::new(LruCache::unbounded()),
        }
    }

    /// The same after a save, nothing of which is looked at now.
    pub(super) fn after(&self, changes: &Changes) -> SearchState {
        SearchState::of(self.common.clone(), self.explorer.after(changes))
    }

    /// The table of headers in this place.
    pub(super) fn table(&self, place: (u64, Ino)) -> Arc<HeadersTsv> {
        let mut tables = self.tables.lock();
        let table = Arc::clone(tables.get_or_insert(place, Arc::default));
        while tables.len() > TABLES {
            tables.pop_lru();
        }
        table
    }
}

impl DatabaseVolume {
    /// A query over the base, and the games that fit.
    pub(super) fn selection(&self, scope: &Scope) -> Result<Arc<Selection>, Error> {
        Ok(self.search.explorer.selection(&self.base, scope)?)
    }

    /// What the games of a query played in a position; of the empty one, all that
    /// are not deleted.
    pub(super) fn played(&self, scope: &Scope, position: &Position) -> Result<Arc<Played>, Error> {
        Ok(self.search.explorer.played(&self.base, scope, position)?)
    }

    /// The games of a query that reach a position.
    pub(super) fn games_at_position(
        &self,
        scope: &Scope,
        position: &Position,
    ) -> Result<Arc<GameSet>, Error> {
        let explorer = &self.search.explorer;
        Ok(explorer.games_at_position(&self.base, scope, position)?)
    }

    /// Returns whether positions that occur only in variations count.
    pub(super) fn in_variations(&self, scope: &Scope) -> Result<bool, Error> {
        Ok(self.search.explorer.in_variations(&self.base, scope)?)
    }
}

impl From<Unanswered> for Error {
    fn from(why: Unanswered) -> Error {
        match why {
            Unanswered::NotAQuery => Error::Invalid,
            Unanswered::Outdated => Error::Stale,
            Unanswered::Damaged(why) => Error::Damaged(why),
        }
    }
}
