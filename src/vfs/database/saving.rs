//! What outlives each state of a base that is changed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::cbh::{Effects, GameId, Knowledge};
use crate::storage::Committed;

/// What takes more memory is not kept to be undone.
const MOST_UNDO_BYTES: usize = 1 << 20;

/// What saves a base.
#[derive(Debug)]
pub(super) struct Saving {
    clock: fn() -> SystemTime,
    knowledge: Mutex<Knowledge>,
}

impl Saving {
    /// Records are stamped as of `clock`.
    pub(super) fn new(clock: fn() -> SystemTime) -> Saving {
        Saving {
            clock,
            knowledge: Mutex::default(),
        }
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

/// What it takes to take back a save.
#[derive(Debug)]
pub(super) struct Undo {
    committed: Option<Committed>,
    pub(super) effects: Effects,
    /// The games that it made.
    pub(super) new: Vec<GameId>,
}

impl Undo {
    pub(super) fn new(committed: Option<Committed>, effects: Effects, new: Vec<GameId>) -> Undo {
        Undo {
            committed: committed.filter(|committed| committed.size() <= MOST_UNDO_BYTES),
            effects,
            new,
        }
    }

    pub(super) fn committed(&self) -> Option<&Committed> {
        self.committed.as_ref()
    }
}
