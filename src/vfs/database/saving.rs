//! What outlives each state of a base that is changed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::source::Writer;
use crate::cbh::{Effects, GameId, Knowledge};
use crate::storage::Committed;

/// What takes more memory is not kept to be undone. Of single games, that is:
/// many of them may be.
const MOST_UNDO_BYTES: usize = 1 << 20;

/// What saves a base.
#[derive(Debug)]
pub(super) struct Saving {
    clock: fn() -> SystemTime,
    drops_foreign_tags: bool,
    knowledge: Mutex<Knowledge>,
}

impl Saving {
    /// Saves as `writer` wants it.
    pub(super) fn new(writer: &Writer) -> Saving {
        Saving {
            clock: writer.clock,
            drops_foreign_tags: writer.drops_foreign_tags,
            knowledge: Mutex::default(),
        }
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
        Undo::within(MOST_UNDO_BYTES, committed, effects, new)
    }

    /// As [`new`](Undo::new), if it takes no more memory than this.
    pub(super) fn within(
        bytes: usize,
        committed: Option<Committed>,
        effects: Effects,
        new: Vec<GameId>,
    ) -> Undo {
        Undo {
            committed: committed.filter(|committed| committed.size() <= bytes),
            effects,
            new,
        }
    }

    pub(super) fn committed(&self) -> Option<&Committed> {
        self.committed.as_ref()
    }
}
