//! The index of a base.

use std::collections::{BTreeMap, HashMap};

use super::{Maker, PageNames, entry_of};
use crate::cbh::Error;
use crate::picture::index::{self, Overview};
use crate::picture::tables::GameEntry;

/// Entries of the lists of the index.
const MOST: usize = 20;
const LATEST: usize = 20;

impl Maker<'_> {
    /// The index: what there is in the base, in numbers and plots.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn page_of_index(&self) -> Result<String, Error> {
        let mut overview = Overview {
            title: self.base.location().name.into_owned(),
            ..Overview::default()
        };
        let mut players: HashMap<u32, u64> = HashMap::new();
        let mut tournaments: HashMap<u32, u64> = HashMap::new();
        let mut latest: BTreeMap<(u16, u8, u8, u32), GameEntry> = BTreeMap::new();
        let ids = 1..self.base.last_id().saturating_add(1);
        self.base.for_each_summary(ids, false, &mut |summary| {
            if summary.is_deleted || !self.has(summary.id) {
                return;
            }
            let entry = entry_of(summary);
            overview.count(&entry);
            *players.entry(entry.white).or_default() += 1;
            if entry.black != entry.white {
                *players.entry(entry.black).or_default() += 1;
            }
            *tournaments.entry(entry.event).or_default() += 1;
            let date = entry.date;
            latest.insert((date.year, date.month, date.day, entry.number), entry);
            if latest.len() > LATEST {
                latest.pop_first();
            }
        })?;
        overview.players = most_of(players);
        overview.tournaments = most_of(tournaments);
        overview.latest = latest.into_values().rev().collect();
        Ok(index::render(&PageNames::of(*self)?, &overview))
    }
}

/// Those with most games.
fn most_of(counts: HashMap<u32, u64>) -> Vec<(u32, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(id, games)| (std::cmp::Reverse(*games), *id));
    counts.truncate(MOST);
    counts
}
