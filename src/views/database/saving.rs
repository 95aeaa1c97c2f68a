//! What outlives each state of a base that is changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::source::Writer;
use crate::cbh::{GameId, Knowledge};

/// What saves a base.
#[derive(Debug)]
pub(super) struct Saving {
    clock: fn() -> SystemTime,
    drops_foreign_tags: bool,
    knowledge: Mutex<Knowledge>,
    /// When games became others whose records do not say so.
    unstamped: Mutex<HashMap<GameId, SystemTime>>,
}

/// A stamp that is older than a save by this was not made by it.
const STAMP_PRECISION: Duration = Duration::from_secs(2);

impl Saving {
    /// Saves as `writer` wants it.
    pub(super) fn new(writer: &Writer) -> Saving {
        Saving {
            clock: writer.clock,
            drops_foreign_tags: writer.drops_foreign_tags,
            knowledge: Mutex::default(),
            unstamped: Mutex::default(),
        }
    }

    /// Notes that a game is another one since `now`, if the `stamp` of its
    /// record does not say so: that of a base without stamps, or of a game
    /// that only names somebody whose name is another.
    pub(super) fn note(&self, id: GameId, stamp: Option<SystemTime>, now: SystemTime) {
        let age = stamp.map(|stamp| now.duration_since(stamp).unwrap_or_default());
        if age.is_none_or(|age| age > STAMP_PRECISION) {
            self.unstamped().insert(id, now);
        }
    }

    /// When a game became another one, if its record does not say so.
    pub(super) fn changed(&self, id: GameId) -> Option<SystemTime> {
        self.unstamped().get(&id).copied()
    }

    fn unstamped(&self) -> MutexGuard<'_, HashMap<GameId, SystemTime>> {
        self.unstamped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether tags are let go of that a base has no field for.
    pub(super) fn drops_foreign_tags(&self) -> bool {
        self.drops_foreign_tags
    }

    pub(super) fn now(&self) -> SystemTime {
        (self.clock)()
    }

    /// What earlier saves found out.
    pub(super) fn knowledge(&self) -> MutexGuard<'_, Knowledge> {
        self.knowledge
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
