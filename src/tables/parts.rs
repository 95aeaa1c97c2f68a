//! Which games are in which file: all games of a base by year and opening, in
//! pieces.

use std::io;
use std::path::{Path, PathBuf};

use super::NO_YEAR;
use super::sorter::{Sorted, Sorter};
use crate::base::Base;
use crate::cbh::{GameId, Summary};

/// Number of games in a file: a file is the work of one core, and engines read
/// files in parallel.
const MOST_GAMES: usize = 1 << 16;

/// Games of one year that are in the same file.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// Their year; 0 if it is not known.
    pub(super) year: u16,
    /// Number of the part among those of its year, from 0.
    pub(super) number: u32,
    /// The games, in the order of the rows.
    pub(super) games: Vec<GameId>,
}

impl Part {
    /// Path of the part's file in the folder of a table.
    pub(super) fn path(&self, table: &Path) -> PathBuf {
        let year = match self.year {
            0 => NO_YEAR.to_owned(),
            year => year.to_string(),
        };
        let file = format!("part-{:05}.parquet", self.number);
        table.join(format!("year={year}")).join(file)
    }
}

/// All parts, in order.
#[derive(Debug)]
pub(super) struct Parts {
    games: std::iter::Peekable<Sorted<1>>,
    /// Year of the last part, and its number.
    last: Option<(u16, u32)>,
}

impl Parts {
    /// Sorts the games of a base that `is_wanted`. What does not fit in memory
    /// goes to a file in `folder`.
    pub(super) fn of(
        base: &dyn Base,
        folder: &Path,
        is_wanted: &dyn Fn(&Summary) -> bool,
    ) -> io::Result<Parts> {
        let mut sorter = Sorter::new(folder);
        let mut pushed = Ok(());
        let ids = 1..base.last_id().saturating_add(1);
        let read = base.for_each_summary(ids, false, &mut |summary| {
            if is_wanted(summary) && pushed.is_ok() {
                pushed = sorter.push([key(summary)]);
            }
        });
        read.map_err(io::Error::other)?;
        pushed?;
        Ok(Parts {
            games: sorter.sorted()?.peekable(),
            last: None,
        })
    }

    /// Returns whether there is no game.
    pub(super) fn is_empty(&mut self) -> bool {
        self.games.peek().is_none()
    }

    /// The next part; `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<Part>> {
        let mut games = Vec::new();
        let mut year = None;
        while games.len() < MOST_GAMES {
            let fits = |next: &io::Result<[u64; 1]>| match (next, year) {
                (Ok([key]), Some(year)) => year_of(*key) == year,
                _ => true,
            };
            let Some(next) = self.games.next_if(fits) else {
                break;
            };
            let [key] = next?;
            year = Some(year_of(key));
            games.push(number_of(key));
        }
        let number = match (self.last, year) {
            (Some((last, number)), Some(year)) if last == year => number + 1,
            _ => 0,
        };
        self.last = year.map(|year| (year, number));
        Ok(year.map(|year| Part {
            year,
            number,
            games,
        }))
    }
}

/// The year, the opening and the number of a game, in a number that sorts by
/// them.
fn key(summary: &Summary) -> u64 {
    let eco = summary.eco.map_or(0, |eco| eco.index() + 1);
    u64::from(summary.date.year) << 48 | u64::from(eco) << 32 | u64::from(summary.id.0)
}

fn year_of(key: u64) -> u16 {
    let [high, low, ..] = key.to_be_bytes();
    u16::from_be_bytes([high, low])
}

fn number_of(key: u64) -> GameId {
    let [.., a, b, c, d] = key.to_be_bytes();
    GameId(u32::from_be_bytes([a, b, c, d]))
}
