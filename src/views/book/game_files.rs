//! The files of `games/`.

use std::sync::OnceLock;

use crate::base::referenced::BookGames;
use crate::book::GameReference;
use crate::fs::Error;

/// The games that a book names, as files.
#[derive(Debug)]
pub(super) struct GameFiles {
    games: BookGames,
    /// For each source how many games are in those before it, and in it.
    sources: OnceLock<Vec<(u32, u32)>>,
}

impl GameFiles {
    pub(super) fn new(games: BookGames) -> GameFiles {
        GameFiles {
            games,
            sources: OnceLock::new(),
        }
    }

    fn sources(&self) -> Result<&[(u32, u32)], Error> {
        if let Some(sources) = self.sources.get() {
            return Ok(sources);
        }
        let mut first = 0_u32;
        let mut sources = Vec::new();
        for listed in self.games.list()? {
            // There are numbers for so many.
            let count = listed.source.games.min(u32::MAX - first);
            sources.push((first, count));
            first += count;
        }
        Ok(self.sources.get_or_init(|| sources))
    }

    /// Whether the book names any source.
    pub(super) fn exist(&self) -> bool {
        self.sources().is_ok_and(|sources| !sources.is_empty())
    }

    /// As [`source`](GameFiles::source), but where no game of a source can be
    /// read, it has none: a name whose text cannot be had would break the
    /// listing.
    pub(super) fn readable(&self, number: u16) -> Result<(u32, u32), Error> {
        let (first, count) = self.source(number)?;
        match self.games.obstacle(number)? {
            Some(_) => Ok((first, 0)),
            None => Ok((first, count)),
        }
    }

    /// Why games that the book names cannot be read, a line for each source.
    pub(super) fn obstacles(&self) -> Result<Vec<String>, Error> {
        Ok(self.games.obstacles()?)
    }

    /// The index of a source's first game, and how many it has.
    pub(super) fn source(&self, number: u16) -> Result<(u32, u32), Error> {
        let source = self.sources()?.get(usize::from(number));
        source.copied().ok_or(Error::NotFound)
    }

    /// Numbers and names of the directories: one for each source.
    pub(super) fn directories(&self) -> Result<Vec<(u16, String)>, Error> {
        let numbers = (0..=u16::MAX).zip(self.sources()?);
        Ok(numbers
            .map(|(number, _)| (number, number.to_string()))
            .collect())
    }

    /// The index of a game by its name.
    pub(super) fn named(&self, source: u16, wanted: &[u8]) -> Result<u32, Error> {
        let (first, count) = self.readable(source)?;
        let digits = wanted.strip_suffix(b".pgn").ok_or(Error::NotFound)?;
        let digits = std::str::from_utf8(digits).map_err(|_| Error::NotFound)?;
        let game = digits.parse().map_err(|_| Error::NotFound)?;
        if game >= count || name(game).as_bytes() != wanted {
            return Err(Error::NotFound);
        }
        Ok(first + game)
    }

    /// What the book calls the game with this index.
    pub(super) fn reference(&self, index: u32) -> Result<GameReference, Error> {
        let mut sources = (0..=u16::MAX).zip(self.sources()?);
        sources
            .find_map(|(source, (first, count))| {
                let game = index.checked_sub(*first).filter(|game| game < count)?;
                Some(GameReference { source, game })
            })
            .ok_or(Error::NotFound)
    }

    /// The text of the game with this index.
    pub(super) fn render(&self, index: u32) -> Result<Vec<u8>, Error> {
        Ok(self.games.render(self.reference(index)?)?)
    }

    /// `sources.tsv`
    pub(super) fn table(&self) -> Result<String, Error> {
        Ok(self.games.table()?)
    }
}

/// The name of a game in the directory of its source.
pub(super) fn name(game: u32) -> String {
    format!("{game:06}.pgn")
}
