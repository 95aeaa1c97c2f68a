//! A base as a search asks of it.

use std::fmt;
use std::ops::Range;

use super::Base;
use crate::cbh::{Decoded, EntityId, EntityKind, GameFacts, GameId, Summary};
use crate::game::{Game, Glimpse, Moments};
use crate::pgn;
use crate::search::{
    Filter, GamesReader, NameField, Query, SearchedContent, SearchedGames, SearchedHeader,
    SourceError, TermError, select,
};

/// A longer game gives its memory back before the next one is read.
const MANY_PLIES: usize = 1 << 14;

/// The games of a base, to be searched.
#[derive(Clone, Copy, Debug)]
pub struct Searched<'b>(pub &'b dyn Base);

impl SearchedGames for Searched<'_> {
    fn last(&self) -> u32 {
        self.0.last_id()
    }

    fn headers(
        &self,
        numbers: Range<u32>,
        with_teams: bool,
        take: &mut dyn FnMut(&SearchedHeader),
    ) -> Result<(), SourceError> {
        let told = |summary: &Summary| take(&header_of(summary));
        let mut told = told;
        Ok(self.0.for_each_summary(numbers, with_teams, &mut told)?)
    }

    fn names(&self, names: NameField, take: &mut dyn FnMut(u32, &str)) -> Result<(), SourceError> {
        let kind = match names {
            NameField::Players => EntityKind::Player,
            NameField::Events | NameField::Sites => EntityKind::Tournament,
            NameField::Annotators => EntityKind::Annotator,
            NameField::Sources => EntityKind::Source,
            NameField::Teams => EntityKind::Team,
        };
        let all = self.0.entity_names(kind)?;
        for (id, name) in all.iter() {
            match names {
                NameField::Events => take(id.0, all.title(id).unwrap_or_default()),
                NameField::Sites => take(id.0, all.place(id).unwrap_or_default()),
                NameField::Teams => take(id.0, &team(name, all.number(id).unwrap_or(0))),
                _ => take(id.0, name),
            }
        }
        Ok(())
    }

    fn reader(&self) -> Box<dyn GamesReader + '_> {
        Box::new(GameReader {
            base: self.0,
            decoded: Decoded::reading_ahead(),
        })
    }
}

/// The name of a team as `headers.tsv` has it: the second and later ones of a
/// club are numbered.
fn team(title: &str, number: u32) -> String {
    match pgn::roman(number).filter(|_| !title.is_empty()) {
        Some(number) => format!("{title} {number}"),
        None => title.to_owned(),
    }
}

/// Error: games could not be looked for.
#[derive(Debug)]
pub enum FindError {
    /// A term of the query is none.
    Term(TermError),
    /// The headers or names of the base cannot be read.
    Base(SourceError),
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FindError::Term(error) => write!(f, "{error}"),
            FindError::Base(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for FindError {}

/// Returns the numbers of the games that fit all terms, in order. The terms are
/// those of `cbfs find`, such as `white:Carlsen` or `material:KRPKR`. All cores
/// search; no index is used.
///
/// # Errors
///
/// [`FindError`]. A game that cannot be read is left out.
///
/// # Examples
///
/// ```
/// use std::path::Path;
///
/// let path = Path::new("fixtures/cbh/sample/sample.cbh");
/// let base = cbfs::open(path, &cbfs::Options::default())?;
/// let games = cbfs::find(base.as_ref(), &["player:Anderssen", "result:1-0"])?;
/// assert!(!games.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find<S: AsRef<str>>(base: &dyn Base, terms: &[S]) -> Result<Vec<GameId>, FindError> {
    let query = Query::parse(terms).map_err(FindError::Term)?;
    let games = Searched(base);
    let filter = Filter::new(&query, &games).map_err(FindError::Base)?;
    let found = select(&games, &filter).map_err(FindError::Base)?;
    match found.unread {
        Some(error) => Err(FindError::Base(error)),
        None => Ok(found.games.from(1).map(GameId).collect()),
    }
}

struct GameReader<'b> {
    base: &'b dyn Base,
    decoded: Decoded,
}

impl GameReader<'_> {
    fn shrink(&mut self) {
        if self.decoded.game.tree.len() > MANY_PLIES {
            self.decoded = Decoded::reading_ahead();
        }
    }
}

impl GamesReader for GameReader<'_> {
    fn read(&mut self, number: u32) -> Result<&Game, SourceError> {
        self.shrink();
        self.base.read_game(GameId(number), &mut self.decoded)?;
        Ok(&self.decoded.game)
    }

    fn read_moves(&mut self, number: u32) -> Result<&Game, SourceError> {
        self.shrink();
        let (base, decoded) = (self.base, &mut self.decoded);
        base.read_moves_only(GameId(number), decoded)?;
        Ok(&decoded.game)
    }

    fn glance(
        &mut self,
        number: u32,
        moments: Moments,
        show: &mut dyn FnMut(Glimpse<'_>) -> bool,
    ) -> bool {
        let decoded = &mut self.decoded;
        self.base.glance(GameId(number), decoded, moments, show)
    }

    fn mark(&self) -> u64 {
        self.decoded.mark
    }

    fn mark_of(&mut self, number: u32) -> Result<u64, SourceError> {
        let buffer = &mut self.decoded.buffer;
        Ok(self.base.stored_fingerprint(GameId(number), buffer)?)
    }
}

/// Returns the header of a game, as searches have it, from its summary.
fn header_of(summary: &Summary) -> SearchedHeader {
    let id = |team: Option<EntityId>| team.map(|team| team.0);
    let mut header = SearchedHeader {
        number: summary.id.0,
        is_deleted: summary.is_deleted,
        players: [summary.white.0, summary.black.0],
        event: summary.tournament.0,
        annotator: summary.annotator.0,
        source: summary.source.0,
        teams: [id(summary.white_team), id(summary.black_team)],
        date: summary.date,
        result: summary.result.unwrap_or_default(),
        round: summary.round,
        subround: summary.subround,
        elo: [summary.white_elo, summary.black_elo],
        eco: summary.eco,
        moves: summary.move_count,
        // The field of `.cbh` ends there.
        has_more_moves: summary.move_count == u16::from(u8::MAX),
        ..SearchedHeader::default()
    };
    header
        .contents
        .say(SearchedContent::Medals, summary.medals != 0);
    let Some(flags) = summary.flags else {
        return header;
    };
    for (content, flag) in [
        (SearchedContent::Variations, GameFacts::VARIATIONS),
        (SearchedContent::Symbols, GameFacts::SYMBOLS),
        (SearchedContent::Arrows, GameFacts::ARROWS),
        (SearchedContent::Training, GameFacts::TRAINING),
    ] {
        header.contents.say(content, flags & flag != 0);
    }
    // Texts may be without words, foreign tags only, or clocks of other programs.
    let has_texts = flags & GameFacts::TEXTS != 0;
    let has_clocks = flags & GameFacts::CLOCKS != 0;
    if !has_texts {
        header.contents.say(SearchedContent::Comments, false);
    }
    if has_clocks || !has_texts {
        header.contents.say(SearchedContent::Clocks, has_clocks);
    }
    header
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::open;
    use crate::cbh::Options;

    #[test]
    fn a_mark_is_the_same_whether_the_game_is_read_or_not() {
        let mut marks = std::collections::HashSet::new();
        for base in [
            "cbh/annotations/annotations.cbh",
            "cbh/damage/damage.cbh",
            "2cbh/mixed/mixed.2cbh",
        ] {
            let path = Path::new("fixtures").join(base);
            let base = open(&path, &Options::default()).unwrap();
            let source = Searched(base.as_ref());
            let (mut one, mut other) = (source.reader(), source.reader());
            for number in 1..=source.last() {
                let Ok(mark) = other.mark_of(number) else {
                    assert!(one.read(number).is_err());
                    continue;
                };
                one.read(number).unwrap();
                assert_eq!(one.mark(), mark, "{path:?} {number}");
                marks.insert(mark);
            }
        }
        assert!(marks.len() > 5, "{}", marks.len());
    }
}
