//! The games of all groups as one scan of a base found them, in a temporary file
//! if they are many.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use super::Grouping;
use crate::cbh::{Error, GameId};
use crate::storage::Spool;

/// Games of all groups together that stay in memory: more lie in a file.
const MOST_IN_MEMORY: usize = 1 << 18;

/// Games that are read of the file at once.
const CHUNK: usize = 1 << 10;

/// Bytes of the number of a game in the file, little-endian.
const ID_BYTES: usize = 4;

/// The games of every group, as of one scan of the base.
#[derive(Debug)]
pub(super) struct SortedGroups {
    grouping: Grouping,
    /// Index in `games` of the first game of each group, and the total number.
    starts: Vec<u32>,
    /// Ascending in each group.
    games: Games,
}

#[derive(Debug)]
enum Games {
    InMemory(Vec<GameId>),
    InFile(Spool),
}

impl SortedGroups {
    /// From the index in `games` of the first game of each group, with their
    /// number at the end.
    pub(super) fn new(grouping: Grouping, starts: Vec<u32>, games: Vec<GameId>) -> SortedGroups {
        let games = if games.len() > MOST_IN_MEMORY {
            in_file(games)
        } else {
            Games::InMemory(games)
        };
        SortedGroups {
            grouping,
            starts,
            games,
        }
    }

    pub(super) fn grouping(&self) -> Grouping {
        self.grouping
    }

    pub(super) fn group_count(&self) -> u32 {
        // The last start is the end of the last group.
        let count = self.starts.len().saturating_sub(1);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Memory it takes in bytes.
    pub(super) fn size(&self) -> usize {
        let games = match &self.games {
            Games::InMemory(games) => games.capacity(),
            Games::InFile(_) => 0,
        };
        4 * (self.starts.capacity() + games)
    }

    /// Where the games of a group are.
    pub(super) fn range(&self, key: Option<u32>) -> Range<usize> {
        let start = |at: usize| self.starts.get(at).map(|start| *start as usize);
        let range = key.and_then(|key| Some(start(key as usize)?..start(key as usize + 1)?));
        range.unwrap_or_default()
    }

    /// The games of a group with an id above `after`.
    pub(super) fn games_after(
        &self,
        key: Option<u32>,
        after: GameId,
    ) -> Result<Cow<'_, [GameId]>, Error> {
        self.read(self.range_after(key, after)?)
    }

    /// The same as an iterator.
    pub(super) fn iter_after(
        &self,
        key: Option<u32>,
        after: GameId,
    ) -> impl Iterator<Item = Result<GameId, Error>> {
        let (range, error) = parts(self.range_after(key, after));
        let end = range.end;
        let chunks = range.step_by(CHUNK);
        let games = chunks.flat_map(move |from| {
            let (games, error) = parts(self.read(from..end.min(from + CHUNK)));
            let games = games.into_owned().into_iter().map(Ok);
            games.chain(error.map(Err))
        });
        error.map(Err).into_iter().chain(games)
    }

    /// Whether a group has this game.
    pub(super) fn contains(&self, key: Option<u32>, id: GameId) -> Result<bool, Error> {
        let rest = self.range_after(key, GameId(id.0.saturating_sub(1)))?;
        Ok(!rest.is_empty() && self.game(rest.start)? == id)
    }

    /// Where the games of a group with an id above `after` are.
    fn range_after(&self, key: Option<u32>, after: GameId) -> Result<Range<usize>, Error> {
        let Range { mut start, end } = self.range(key);
        let mut beyond = if after == GameId(0) { start } else { end };
        while start < beyond {
            let middle = start.midpoint(beyond);
            if self.game(middle)? <= after {
                start = middle + 1;
            } else {
                beyond = middle;
            }
        }
        Ok(start..end)
    }

    fn game(&self, at: usize) -> Result<GameId, Error> {
        let game = self.read(at..at + 1)?.first().copied();
        Ok(game.unwrap_or(GameId(0)))
    }

    fn read(&self, range: Range<usize>) -> Result<Cow<'_, [GameId]>, Error> {
        let spool = match &self.games {
            Games::InMemory(games) => return Ok(games.get(range).unwrap_or_default().into()),
            Games::InFile(spool) => spool,
        };
        let mut bytes = vec![0; range.len() * ID_BYTES];
        let read = spool.read_exact_at(&mut bytes, (range.start * ID_BYTES) as u64);
        read.map_err(|source| Error::of_file(PathBuf::from("temporary file"), source))?;
        let ids = bytes.as_chunks().0.iter();
        Ok(ids.map(|id| GameId(u32::from_le_bytes(*id))).collect())
    }
}

/// The value that was read, an empty one if reading failed, and the error.
fn parts<T: Default>(read: Result<T, Error>) -> (T, Option<Error>) {
    match read {
        Ok(read) => (read, None),
        Err(error) => (T::default(), Some(error)),
    }
}

/// The games in a file; if there is no room for one, in memory.
fn in_file(games: Vec<GameId>) -> Games {
    let write = || -> io::Result<Spool> {
        let mut file = Spool::begin()?;
        for id in &games {
            file.write_all(&id.0.to_le_bytes())?;
        }
        Spool::end(file)
    };
    match write() {
        Ok(spool) => Games::InFile(spool),
        Err(error) => {
            log::warn!("lists of games stay in memory: {error}");
            Games::InMemory(games)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of games with every second number, the last group without games.
    fn sorted(lengths: &[u32], games_of: impl Fn(Vec<GameId>) -> Games) -> SortedGroups {
        let mut starts = vec![0];
        let mut games = Vec::new();
        for length in lengths {
            games.extend((1..=*length).map(|at| GameId(2 * at)));
            starts.push(u32::try_from(games.len()).unwrap());
        }
        SortedGroups {
            grouping: Grouping::Eco,
            starts,
            games: games_of(games),
        }
    }

    fn listed(groups: &SortedGroups, key: u32, after: u32) -> Vec<GameId> {
        let (key, after) = (Some(key), GameId(after));
        let games = groups.games_after(key, after).unwrap().into_owned();
        let each: Result<Vec<GameId>, Error> = groups.iter_after(key, after).collect();
        assert_eq!(games, each.unwrap());
        games
    }

    #[test]
    fn games_in_a_file_are_those_in_memory() {
        let lengths = [3, 0, 5000, 1024, 1, 0];
        let [file, memory] = [in_file, Games::InMemory].map(|to| sorted(&lengths, to));
        assert!(matches!(file.games, Games::InFile(_)));
        for (key, length) in (0..).zip(lengths) {
            for after in [0, 1, 2, 5, 2047, 2048, 2049, 10_000, u32::MAX] {
                let games = listed(&file, key, after);
                assert_eq!(games, listed(&memory, key, after));
                let rest = length.saturating_sub(after / 2);
                assert_eq!(games.len(), rest as usize);
                let has = |groups: &SortedGroups| groups.contains(Some(key), GameId(after));
                let is_there = after > 0 && after % 2 == 0 && after / 2 <= length;
                assert_eq!(
                    (has(&file).unwrap(), has(&memory).unwrap()),
                    (is_there, is_there)
                );
            }
            assert_eq!(file.range(Some(key)).len(), length as usize);
        }
        assert!(listed(&file, 6, 0).is_empty());
        assert!(file.size() < 100 && memory.size() > 6000 * ID_BYTES);
    }

    #[test]
    fn many_games_lie_in_a_file() {
        let of = |count: usize| {
            let games = vec![GameId(1); count];
            SortedGroups::new(Grouping::Year, vec![0], games).games
        };
        assert!(matches!(of(MOST_IN_MEMORY), Games::InMemory(_)));
        assert!(matches!(of(MOST_IN_MEMORY + 1), Games::InFile(_)));
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let shorter = |games: Vec<GameId>| in_file(games[..4000].to_vec());
        let groups = sorted(&[3000, 2000], shorter);
        assert_eq!(listed(&groups, 0, 0).len(), 3000);
        let (key, after) = (Some(1), GameId(0));
        let error = groups.games_after(key, after).unwrap_err();
        assert!(error.to_string().starts_with("temporary file: "), "{error}");
        let last = groups.iter_after(key, after).find(Result::is_err);
        assert!(last.is_some() && groups.contains(key, GameId(3990)).is_err());
    }
}
