//! State that is kept between saves of one open base.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use crate::cbh::{Database, GameId, Knowledge, SaveError};

/// State that saves of a base need from earlier saves.
#[derive(Debug)]
pub struct SaveHistory {
    clock: fn() -> SystemTime,
    drops_foreign_tags: bool,
    /// `None` while a save is being stored, and after one that failed: it may be made
    /// whole from the journal later.
    knowledge: Mutex<Option<Knowledge>>,
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
            knowledge: Mutex::new(Some(Knowledge::default())),
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
    pub fn knowledge(&self) -> Knowledge {
        self.knowledge.lock().clone().unwrap_or_default()
    }

    /// The same, which is forgotten: a save is stored now.
    pub fn take_knowledge(&self) -> Knowledge {
        self.knowledge.lock().take().unwrap_or_default()
    }

    /// Records what is known after a save was stored, or was found to change nothing.
    pub fn keep_knowledge(&self, knowledge: Knowledge) {
        *self.knowledge.lock() = Some(knowledge);
    }

    /// Finds out what a save has to read all records of `database` for, as long as
    /// `goes_on`. It is not kept if something is saved meanwhile.
    ///
    /// # Errors
    ///
    /// [`SaveError`], which the next save tells, too, if it needs the same.
    pub fn look_ahead(
        &self,
        database: &Database,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), SaveError> {
        let is_known =
            |known: &Option<Knowledge>| known.as_ref().is_none_or(Knowledge::has_all_records);
        if is_known(&self.knowledge.lock()) {
            return Ok(());
        }
        let found = Knowledge::of_all_records(database, goes_on)?;
        if let Some(known) = self.knowledge.lock().as_mut()
            && !database.is_superseded()
        {
            known.add(found);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::base::samples;
    use crate::cbh::{Decoded, FileKind, OpenBase, Options, Saver};

    /// Appends a game with new names; returns the files then, and the knowledge.
    fn appended(base: &OpenBase, known: Knowledge) -> (Vec<u8>, Knowledge) {
        let mut decoded = Decoded::default();
        base.database.read_game(GameId(1), &mut decoded).unwrap();
        let headers = &mut decoded.game.headers;
        for name in [&mut headers.white.last, &mut headers.annotator] {
            "Newcomer".clone_into(name);
        }
        let mut saver = Saver::knowing(known, &base.database, SystemTime::UNIX_EPOCH);
        saver.append(&decoded.game).unwrap();
        let plan = saver.finish().unwrap();
        base.store.commit(&plan.transaction).unwrap();
        base.store.sync().unwrap();
        let mut bytes = Vec::new();
        let (players, annotators) = (FileKind::Players, FileKind::Annotators);
        for file in [FileKind::Headers, FileKind::Extended, players, annotators] {
            let path = base.database.family().default_path(file);
            bytes.extend(std::fs::read(path).unwrap());
        }
        (bytes, plan.knowledge)
    }

    #[test]
    fn a_save_changes_the_same_whether_all_records_were_looked_at_ahead_or_not() {
        let mut outcomes = Vec::new();
        for looks_ahead in [false, true] {
            let (_folder, path) = samples::copy_of("sample");
            let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let history = SaveHistory::new(SystemTime::now, false);
            let look = |goes_on: bool| history.look_ahead(&base.database, &mut || goes_on);
            look(false).unwrap();
            assert!(!history.knowledge().has_all_records());
            if looks_ahead {
                look(true).unwrap();
                assert!(history.knowledge().has_all_records());
                look(false).unwrap();
                assert!(history.knowledge().has_all_records());
            }
            let (bytes, known) = appended(&base, history.take_knowledge());
            assert!(known.has_all_records());
            outcomes.push(bytes);
        }
        assert_eq!(outcomes[0], outcomes[1]);
    }

    #[test]
    fn what_was_looked_at_ahead_is_let_go_of_where_a_save_came_between() {
        let (_folder, path) = samples::copy_of("sample");
        let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
        let history = SaveHistory::new(SystemTime::now, false);
        let is_known = || history.knowledge().has_all_records();
        // A save is being stored, or failed.
        let look = |base: &OpenBase, meanwhile: &mut dyn FnMut()| {
            let mut goes_on = || {
                meanwhile();
                true
            };
            history.look_ahead(&base.database, &mut goes_on).unwrap();
        };
        look(&base, &mut || drop(history.take_knowledge()));
        assert!(!is_known());
        look(&base, &mut || unreachable!("nothing is kept now"));
        assert!(!is_known());
        history.keep_knowledge(Knowledge::default());
        // One is stored.
        look(&base, &mut || {
            appended(&base, history.take_knowledge());
            history.keep_knowledge(Knowledge::default());
        });
        assert!(!is_known());
        base.reopen(&path).unwrap();
        look(&base, &mut || {});
        assert!(is_known());
    }

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
