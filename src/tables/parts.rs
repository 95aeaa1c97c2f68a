//! Which games are in which file: all games of a base by year and opening, in
//! pieces.

use std::io;
use std::path::{Path, PathBuf};

use super::NO_YEAR;
use super::sorter::{SortedRecords, Sorter};
use crate::base::Base;
use crate::cbh::{GameId, Summary};

/// Number of games in a file: a file is the work of one core, and engines read
/// files in parallel. The games of a base are in so many files that all cores have
/// work, even if they are all of one year, but no file has fewer for that.
const MOST_GAMES: usize = 1 << 16;
const LEAST_GAMES: usize = 1 << 13;
const FILES: usize = 8;

/// Games of one year that are in the same file.
#[derive(Debug, Default)]
pub(super) struct YearPart {
    /// Their year; 0 if it is not known.
    pub(super) year: u16,
    /// Number of the part among those of its year, from 0.
    pub(super) number: u32,
    /// The games, in the order of the rows.
    pub(super) games: Vec<PartGame>,
}

/// A game, with what only its record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartGame {
    pub(super) id: GameId,
    pub(super) is_deleted: bool,
    /// Number of moves, as `headers.tsv` has it.
    pub(super) moves: u16,
}

impl YearPart {
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
pub(super) struct YearParts {
    games: std::iter::Peekable<SortedRecords<2>>,
    /// Number of games in a file.
    most: usize,
    /// Year of the last part, and its number.
    last: Option<(u16, u32)>,
}

impl YearParts {
    /// Sorts the games of a base that `is_wanted`. What does not fit in memory
    /// goes to a file in `folder`.
    pub(super) fn of(
        base: &dyn Base,
        folder: &Path,
        is_wanted: &dyn Fn(&Summary) -> bool,
    ) -> io::Result<YearParts> {
        let mut sorter = Sorter::new(folder);
        let (mut count, mut pushed) = (0_usize, Ok(()));
        let ids = 1..base.last_id().saturating_add(1);
        let read = base.for_each_summary(ids, false, &mut |summary| {
            if is_wanted(summary) && pushed.is_ok() {
                count += 1;
                pushed = sorter.push(record(summary));
            }
        });
        read.map_err(io::Error::other)?;
        pushed?;
        Ok(YearParts {
            games: sorter.sorted()?.peekable(),
            most: games_of_a_file(count),
            last: None,
        })
    }

    /// Returns whether there is no game.
    pub(super) fn is_empty(&mut self) -> bool {
        self.games.peek().is_none()
    }

    /// The next part; `None` after the last.
    pub(super) fn next(&mut self) -> io::Result<Option<YearPart>> {
        let mut games = Vec::new();
        let mut year = None;
        while games.len() < self.most {
            let fits = |next: &io::Result<[u64; 2]>| match (next, year) {
                (Ok([key, _]), Some(year)) => year_of(*key) == year,
                _ => true,
            };
            let Some(next) = self.games.next_if(fits) else {
                break;
            };
            let [key, rest] = next?;
            year = Some(year_of(key));
            games.push(listed(key, rest));
        }
        let number = match (self.last, year) {
            (Some((last, number)), Some(year)) if last == year => number + 1,
            _ => 0,
        };
        self.last = year.map(|year| (year, number));
        Ok(year.map(|year| YearPart {
            year,
            number,
            games,
        }))
    }
}

/// Number of games in a file of a base with so many.
fn games_of_a_file(games: usize) -> usize {
    games.div_ceil(FILES).clamp(LEAST_GAMES, MOST_GAMES)
}

/// A game as it is sorted: by year, opening and number.
fn record(summary: &Summary) -> [u64; 2] {
    let eco = summary.eco.map_or(0, |eco| eco.index() + 1);
    let key = u64::from(summary.date.year) << 48 | u64::from(eco) << 32 | u64::from(summary.id.0);
    let rest = u64::from(summary.is_deleted) << 16 | u64::from(summary.move_count);
    [key, rest]
}

fn listed(key: u64, rest: u64) -> PartGame {
    let [.., a, b, c, d] = key.to_be_bytes();
    let [.., is_deleted, high, low] = rest.to_be_bytes();
    PartGame {
        id: GameId(u32::from_be_bytes([a, b, c, d])),
        is_deleted: is_deleted != 0,
        moves: u16::from_be_bytes([high, low]),
    }
}

fn year_of(key: u64) -> u16 {
    let [high, low, ..] = key.to_be_bytes();
    u16::from_be_bytes([high, low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_cores_have_files_to_write() {
        for (games, most) in [
            (0, LEAST_GAMES),
            (6_117, LEAST_GAMES),
            (122_340, 15_293),
            (10_000_000, MOST_GAMES),
        ] {
            assert_eq!(games_of_a_file(games), most, "{games}");
        }
    }
}
