//! State that is kept between saves of one open base.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, SystemTime};

use parking_lot::{Mutex, MutexGuard};

use crate::cbh::{GameId, Knowledge};

/// State that saves of a base need from earlier saves.
#[derive(Debug)]
pub struct SaveHistory {
    clock: fn() -> SystemTime,
    drops_foreign_tags: bool,
    knowledge: Mutex<Knowledge>,
    /// The games at the end of the base that drafts appended, and
    /// that nothing else has changed since: what a draft made of an earlier
    /// part of its text can be removed without a trace.
    tail: Mutex<Range<u32>>,
    /// Times of changes that the records do not show.
    unstamped: Mutex<HashMap<GameId, SystemTime>>,
}

/// A stamp that is older than a save by this was not made by it.
const STAMP_PRECISION: Duration = Duration::from_secs(2);

impl SaveHistory {
    /// Without any save so far; saves are stamped with the time of `clock`, and
    /// drop the tags that a base has no field for if so wished.
    pub fn new(clock: fn() -> SystemTime, drops_foreign_tags: bool) -> SaveHistory {
        SaveHistory {
            clock,
            drops_foreign_tags,
            knowledge: Mutex::default(),
            tail: Mutex::default(),
            unstamped: Mutex::default(),
        }
    }

    /// Records that a game changed at `now`, if the `stamp` of its record does
    /// not show it: the base has no stamps, or only the name of an entity of
    /// the game changed.
    pub fn note(&self, id: GameId, stamp: Option<SystemTime>, now: SystemTime) {
        let age = stamp.map(|stamp| now.duration_since(stamp).unwrap_or_default());
        if age.is_none_or(|age| age > STAMP_PRECISION) {
            self.unstamped.lock().insert(id, now);
        }
    }

    /// When a game became another one, if its record does not say so.
    pub fn changed(&self, id: GameId) -> Option<SystemTime> {
        self.unstamped.lock().get(&id).copied()
    }

    /// Whether tags are let go of that a base has no field for.
    pub fn drops_foreign_tags(&self) -> bool {
        self.drops_foreign_tags
    }

    /// The time of a save that is made now.
    pub fn now(&self) -> SystemTime {
        (self.clock)()
    }

    /// The games that may be removed without a trace: appended at the end by
    /// drafts, and not changed since.
    pub fn removable(&self, last_id: u32) -> Range<u32> {
        let tail = self.tail.lock();
        if tail.end == last_id.saturating_add(1) {
            return tail.clone();
        }
        0..0
    }

    /// Follows a save that changed these games, on behalf of a draft that made
    /// its `own` ones; the last games before and after it are given.
    pub fn follow(&self, changed: &[GameId], own: &[GameId], last: (u32, u32)) {
        let (before, after) = last;
        let mut removable = self.removable(before);
        if removable.is_empty() {
            removable = before.saturating_add(1)..0;
        }
        let own: HashSet<_> = own.iter().collect();
        let edited = changed
            .iter()
            .filter(|id| id.0 <= before && !own.contains(id));
        let after_edited = edited.map(|id| id.0.saturating_add(1)).max();
        let start = removable.start.max(after_edited.unwrap_or_default());
        *self.tail.lock() = start..after.saturating_add(1);
    }

    /// Returns what earlier saves found out.
    pub fn knowledge(&self) -> MutexGuard<'_, Knowledge> {
        self.knowledge.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_that_a_record_does_not_show_are_noted() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let history = SaveHistory::new(|| SystemTime::UNIX_EPOCH, true);
        assert!(history.drops_foreign_tags());
        assert_eq!(history.now(), at(0));
        for (id, stamp, is_noted) in [
            (1, None, true),
            (2, Some(at(97)), true),
            (3, Some(at(98)), false),
            (4, Some(at(100)), false),
            (5, Some(at(200)), false),
        ] {
            history.note(GameId(id), stamp, at(100));
            let noted = history.changed(GameId(id));
            assert_eq!(noted, is_noted.then(|| at(100)), "{id}");
        }
        assert_eq!(history.changed(GameId(6)), None);
    }

    #[test]
    fn games_that_drafts_appended_may_vanish_until_others_change_them() {
        let history = SaveHistory::new(SystemTime::now, false);
        let ids = |ids: &[u32]| ids.iter().copied().map(GameId).collect::<Vec<_>>();
        let follow = |changed: &[u32], own: &[u32], last| {
            history.follow(&ids(changed), &ids(own), last);
            history.removable(last.1)
        };
        assert_eq!(history.removable(10), 0..0);
        assert_eq!(follow(&[11, 12], &[11, 12], (10, 12)), 11..13);
        assert_eq!(history.removable(11), 0..0);
        assert_eq!(history.removable(13), 0..0);
        assert_eq!(follow(&[13], &[], (12, 13)), 11..14);
        assert_eq!(follow(&[12, 14], &[12], (13, 14)), 11..15);
        assert_eq!(follow(&[3, 12, 15], &[3], (14, 15)), 13..16);
        assert_eq!(follow(&[15], &[], (15, 15)), 16..16);
        assert_eq!(follow(&[17], &[], (16, 17)), 17..18);
    }
}
