//! How many games and texts a base has.

use super::Base;
use crate::cbh::{Changes, Entry, GameId, RecordKind, Summary};

/// Records read at once.
const RECORDS: u32 = 4096;

/// How many records there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordCounts {
    /// Games that are not deleted.
    pub(crate) games: u64,
    /// Games that are.
    pub(crate) deleted: u64,
    /// Texts, deleted ones too.
    pub(crate) texts: u64,
}

impl RecordCounts {
    /// Those of a base.
    ///
    /// # Errors
    ///
    /// Where the records cannot be read any further: the counts as far as there.
    pub(crate) fn of(base: &dyn Base) -> Result<RecordCounts, RecordCounts> {
        let mut counts = RecordCounts::default();
        let mut entries = Vec::with_capacity(RECORDS as usize);
        let mut first = 1;
        while first <= base.last_id() {
            entries.clear();
            let read = base.entries(GameId(first), RECORDS, &mut entries);
            for entry in &entries {
                counts.add(*entry);
            }
            if read.is_err() {
                return Err(counts);
            }
            first = first.saturating_add(RECORDS);
        }
        Ok(counts)
    }

    fn add(&mut self, entry: Entry) {
        let count = match (entry.kind, entry.is_deleted) {
            (RecordKind::Game, false) => &mut self.games,
            (RecordKind::Game, true) => &mut self.deleted,
            (RecordKind::Text, _) => &mut self.texts,
        };
        *count += 1;
    }

    /// The same after a save of games.
    pub(crate) fn after(mut self, changes: &Changes) -> RecordCounts {
        for game in &changes.games {
            if let Some(count) = self.count_of(game.before.as_ref()) {
                *count = count.saturating_sub(1);
            }
            if let Some(count) = self.count_of(game.after.as_ref()) {
                *count += 1;
            }
        }
        self
    }

    fn count_of(&mut self, game: Option<&Summary>) -> Option<&mut u64> {
        Some(if game?.is_deleted {
            &mut self.deleted
        } else {
            &mut self.games
        })
    }
}
