//! Matching of games against a query: by their headers where possible,
//! otherwise by the games themselves.

use std::io;
use std::ops;
use std::sync::Arc;

use super::fold::{Pattern, fold};
use super::game_set::GameSet;
use super::index::PositionTable;
use super::moments::{self, Probe};
use super::parse::Query;
use super::remarks;
use super::segment::MaskAnswer;
use super::source::{
    GamesReader, NameField, SearchedContent, SearchedGames, SearchedHeader, SourceError,
};
use super::term::{EcoRange, Field, Outcome, Range, Round, Side, Test, Wanted};
use crate::game::{Game, GameResult, Position};

/// Result of matching a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderMatch {
    /// The game matches.
    Yes,
    /// The game does not match.
    No,
    /// The header does not decide; the game must be read.
    Undecided,
}

impl HeaderMatch {
    fn of(fits: bool) -> HeaderMatch {
        if fits {
            HeaderMatch::Yes
        } else {
            HeaderMatch::No
        }
    }

    /// The result for alternatives, of which any may match. `None` is
    /// undecided.
    fn any(all: impl Iterator<Item = Option<bool>>) -> HeaderMatch {
        let mut verdict = HeaderMatch::No;
        for one in all {
            match one {
                Some(true) => return HeaderMatch::Yes,
                Some(false) => {}
                None => verdict = HeaderMatch::Undecided,
            }
        }
        verdict
    }

    fn negated_if(self, is_not: bool) -> HeaderMatch {
        match self {
            HeaderMatch::Yes if is_not => HeaderMatch::No,
            HeaderMatch::No if is_not => HeaderMatch::Yes,
            other => other,
        }
    }
}

/// The set of names that match, by number.
#[derive(Clone, Debug, Default)]
struct Ids {
    bits: Vec<u64>,
    /// Whether an empty name matches; used for missing names.
    empty: bool,
    /// The numbers of the existing names.
    present: Vec<u64>,
}

impl Ids {
    fn set(bits: &mut Vec<u64>, number: u32) {
        let at = number as usize / 64;
        if bits.len() <= at {
            bits.resize(at + 1, 0);
        }
        if let Some(word) = bits.get_mut(at) {
            *word |= 1 << (number % 64);
        }
    }

    fn is_set(bits: &[u64], number: u32) -> bool {
        bits.get(number as usize / 64)
            .is_some_and(|word| word >> (number % 64) & 1 != 0)
    }

    fn add(&mut self, number: u32, fits: bool) {
        Ids::set(&mut self.present, number);
        if fits {
            Ids::set(&mut self.bits, number);
        }
    }

    fn has(&self, number: u32) -> bool {
        Ids::is_set(&self.bits, number) || self.empty && !Ids::is_set(&self.present, number)
    }
}

/// Patterns for one field, and the names that match them.
#[derive(Clone, Debug)]
struct NameSet {
    names: NameField,
    patterns: Vec<Pattern>,
    ids: Ids,
}

impl NameSet {
    fn fits(&self, folded: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.fits(folded))
    }
}

/// A term with its matching names.
#[derive(Clone, Debug)]
struct PreparedTerm {
    is_not: bool,
    test: Test,
    /// Index of the names for the term; of an `opponent:` term, of the player
    /// and the opponent.
    sets: [usize; 2],
    /// The games that fit, if an index has told.
    told: Option<Arc<IndexAnswer>>,
}

/// Answer of an index to a term.
#[derive(Debug)]
struct IndexAnswer {
    fitting: GameSet,
    /// Those of which it knows nothing.
    open: GameSet,
}

impl From<MaskAnswer> for IndexAnswer {
    fn from(said: MaskAnswer) -> IndexAnswer {
        IndexAnswer {
            fitting: said.fitting,
            open: said.open,
        }
    }
}

/// A query prepared for one source.
#[derive(Clone, Debug)]
pub struct Filter {
    terms: Vec<PreparedTerm>,
    sets: Vec<NameSet>,
    probes: Vec<Probe>,
    in_variations: bool,
    in_deleted: bool,
    /// Range of game numbers that can match.
    numbers: Range,
}

impl Filter {
    /// Prepares a query by matching its patterns with the names of `source`.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if names cannot be read.
    pub fn new(query: &Query, source: &dyn SearchedGames) -> Result<Filter, SourceError> {
        let mut filter = Filter {
            terms: Vec::new(),
            sets: Vec::new(),
            probes: Vec::new(),
            in_variations: query.in_variations,
            in_deleted: query.in_deleted,
            numbers: Range {
                low: 1,
                high: source.last(),
            },
        };
        for term in &query.terms {
            let sets = match &term.test {
                Test::Name(field, patterns) => [filter.set(names_of(*field), patterns), 0],
                Test::Opponent { player, opponent } => {
                    [player, opponent].map(|patterns| filter.set(NameField::Players, patterns))
                }
                _ => [0; 2],
            };
            if let Test::Moment(wanted) = &term.test {
                filter.probes.push(Probe::new(wanted, term.is_not));
            }
            if let (Test::Number(ranges), false) = (&term.test, term.is_not) {
                let low = ranges.iter().map(|range| range.low).min();
                let high = ranges.iter().map(|range| range.high).max();
                let numbers = &mut filter.numbers;
                numbers.low = numbers.low.max(low.unwrap_or(1));
                numbers.high = numbers.high.min(high.unwrap_or(0));
            }
            filter.terms.push(PreparedTerm {
                is_not: term.is_not,
                test: term.test.clone(),
                sets,
                told: None,
            });
        }
        filter.ask_names(source)?;
        Ok(filter)
    }

    /// Lets an index tell which games reach the positions of the query, or may have
    /// its squares and material.
    ///
    /// # Errors
    ///
    /// If the file of the index is damaged or cannot be read; then nothing is
    /// different.
    pub fn ask_index(
        &mut self,
        index: &PositionTable,
        source: &dyn SearchedGames,
    ) -> io::Result<()> {
        let mut told = Vec::new();
        for term in &self.terms {
            told.push(match &term.test {
                Test::Moment(wanted) => match told_of(wanted, index, source)? {
                    None if !self.in_variations => index.ask_masks(wanted)?.map(IndexAnswer::from),
                    told => told,
                },
                _ => None,
            });
        }
        self.probes.clear();
        for (term, told) in self.terms.iter_mut().zip(told) {
            term.told = told.map(Arc::new);
            let tells_all = term
                .told
                .as_ref()
                .is_some_and(|told| told.open.count() == 0);
            if let (Test::Moment(wanted), false) = (&term.test, tells_all) {
                self.probes.push(Probe::new(wanted, term.is_not));
            }
        }
        Ok(())
    }

    /// Bytes of memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let told = self.terms.iter().filter_map(|term| term.told.as_deref());
        let told: usize = told
            .map(|told| told.fitting.bytes() + told.open.bytes())
            .sum();
        let words = self.sets.iter().map(|set| &set.ids);
        let words: usize = words.map(|ids| ids.bits.len() + ids.present.len()).sum();
        told + words * size_of::<u64>()
    }

    /// Whether an index can tell something of the query.
    pub fn asks_positions(&self) -> bool {
        let mut tests = self.terms.iter().map(|term| &term.test);
        tests.any(|test| matches!(test, Test::Moment(wanted) if positions_of(wanted).is_some()))
    }

    /// Whether masks of an index can tell something of the query.
    pub fn asks_masks(&self) -> bool {
        let mut tests = self.terms.iter().map(|term| &term.test);
        !self.in_variations && tests.any(|test| matches!(test, Test::Moment(_)))
    }

    /// Whether one of these games may match, by what an index has told.
    pub(super) fn may_have(&self, numbers: &ops::Range<u32>) -> bool {
        let told = self.terms.iter().filter(|term| !term.is_not);
        let mut told = told.filter_map(|term| term.told.as_deref());
        told.all(|told| {
            let mut sets = [&told.fitting, &told.open].into_iter();
            sets.any(|set| {
                let next = set.from(numbers.start).next();
                next.is_some_and(|game| game < numbers.end)
            })
        })
    }

    fn set(&mut self, names: NameField, patterns: &[Pattern]) -> usize {
        self.sets.push(NameSet {
            names,
            patterns: patterns.to_vec(),
            ids: Ids::default(),
        });
        self.sets.len() - 1
    }

    fn ask_names(&mut self, source: &dyn SearchedGames) -> Result<(), SourceError> {
        const ALL: [NameField; 6] = [
            NameField::Players,
            NameField::Events,
            NameField::Sites,
            NameField::Annotators,
            NameField::Sources,
            NameField::Teams,
        ];
        let mut folded = String::new();
        for names in ALL {
            let mut sets: Vec<&mut NameSet> = self
                .sets
                .iter_mut()
                .filter(|set| set.names == names)
                .collect();
            if sets.is_empty() {
                continue;
            }
            for set in &mut sets {
                set.ids.empty = set.fits("");
            }
            source.names(names, &mut |number, name| {
                folded.clear();
                fold(name, &mut folded);
                for set in &mut sets {
                    let fits = set.fits(&folded);
                    set.ids.add(number, fits);
                }
            })?;
        }
        Ok(())
    }

    /// The lowest and the highest number that can match; the first is higher if
    /// none can.
    pub fn numbers(&self) -> (u32, u32) {
        (self.numbers.low, self.numbers.high)
    }

    /// Returns whether headers must contain teams.
    pub fn asks_teams(&self) -> bool {
        self.sets.iter().any(|set| set.names == NameField::Teams)
    }

    /// Returns whether games must be read, not only headers.
    pub fn asks_games(&self) -> bool {
        self.terms.iter().any(|term| {
            let reads = matches!(
                term.test,
                Test::Moment(_) | Test::Text(_) | Test::Has(_) | Test::Moves(_)
            );
            reads && term.told.is_none()
        })
    }

    /// Returns whether of games that must be read more is asked than the moves.
    pub fn asks_remarks(&self) -> bool {
        let is_of_remarks = |test: &Test| matches!(test, Test::Text(_) | Test::Has(_));
        self.terms.iter().any(|term| is_of_remarks(&term.test))
    }

    /// Returns whether variations are searched.
    pub fn in_variations(&self) -> bool {
        self.in_variations
    }

    /// Matches a header.
    pub fn judge(&self, header: &SearchedHeader) -> HeaderMatch {
        if header.is_deleted && !self.in_deleted {
            return HeaderMatch::No;
        }
        let mut verdict = HeaderMatch::Yes;
        for term in &self.terms {
            match self.by_header(term, header).negated_if(term.is_not) {
                HeaderMatch::Yes => {}
                HeaderMatch::No => return HeaderMatch::No,
                HeaderMatch::Undecided => verdict = HeaderMatch::Undecided,
            }
        }
        verdict
    }

    /// Returns whether a game matches whose header does not decide.
    pub fn fits(&self, header: &SearchedHeader, game: &Game) -> bool {
        self.terms.iter().all(
            |term| match self.by_header(term, header).negated_if(term.is_not) {
                HeaderMatch::Yes => true,
                HeaderMatch::No => false,
                HeaderMatch::Undecided => {
                    by_game(&term.test, header, game).is_none_or(|fits| fits != term.is_not)
                }
            },
        ) && moments::all_fit(&self.probes, game, self.in_variations)
    }

    /// Returns whether a glance at the moves of a game shows that it does not match.
    pub(super) fn glance_refutes(&self, number: u32, reader: &mut dyn GamesReader) -> bool {
        !self.in_variations && moments::glance_refutes(&self.probes, number, reader)
    }

    fn by_header(&self, term: &PreparedTerm, header: &SearchedHeader) -> HeaderMatch {
        let [first, second] = term.sets;
        let set = |at: usize| self.sets.get(at).map(|set| &set.ids);
        let has = |at: usize, number| set(at).is_some_and(|ids| ids.has(number));
        let [white, black] = header.players;
        HeaderMatch::of(match &term.test {
            Test::Name(field, _) => match field {
                Field::Player(Side::White) => has(first, white),
                Field::Player(Side::Black) => has(first, black),
                Field::Player(Side::Any) => has(first, white) || has(first, black),
                Field::Event | Field::Site => has(first, header.event),
                Field::Annotator => has(first, header.annotator),
                Field::Source => has(first, header.source),
                Field::Team => header.teams.iter().any(|team| match team {
                    Some(team) => has(first, *team),
                    None => set(first).is_some_and(|ids| ids.empty),
                }),
            },
            Test::Opponent { .. } => {
                has(first, white) && has(second, black) || has(first, black) && has(second, white)
            }
            Test::Result(outcomes) => outcomes.contains(&outcome_of(header.result)),
            Test::Eco(ranges) => ranges.iter().any(|range| match (range, header.eco) {
                (EcoRange::None, eco) => eco.is_none(),
                (EcoRange::Codes(low, high), Some(eco)) => (*low..=*high).contains(&eco.index()),
                (EcoRange::Codes(..), None) => false,
            }),
            Test::Year(ranges) => any(ranges, |range| range.has_known(header.date.year.into())),
            Test::Date(ranges) => ranges.iter().any(|range| range.may_have(header.date)),
            Test::Elo(side, ranges) => any(ranges, |range| {
                let [white, black] = header.elo.map(|elo| range.has_known(elo.into()));
                match side {
                    Side::White => white,
                    Side::Black => black,
                    Side::Any => white && black,
                }
            }),
            Test::EloDifference(ranges) => {
                let [white, black] = header.elo;
                let difference = white.abs_diff(black).into();
                white != 0 && black != 0 && any(ranges, |range| range.has(difference))
            }
            Test::Number(ranges) => any(ranges, |range| range.has(header.number)),
            Test::Round(rounds) => {
                let (number, game) = (header.round.into(), header.subround.into());
                rounds.iter().any(|round| match round {
                    Round::Rounds(range) => range.has_known(number),
                    Round::Game(round, of) => (*round, *of) == (number, game),
                })
            }
            Test::Moves(ranges) => return moves_by_header(ranges, header),
            Test::Has(contents) => {
                let each = contents.iter().map(|content| header.contents.has(*content));
                return HeaderMatch::any(each);
            }
            Test::Text(_) => {
                let with_words = [SearchedContent::Comments, SearchedContent::Training];
                if with_words
                    .iter()
                    .any(|content| header.contents.has(*content) != Some(false))
                {
                    return HeaderMatch::Undecided;
                }
                false
            }
            Test::Moment(_) => match &term.told {
                Some(told) if !told.open.contains(header.number) => {
                    told.fitting.contains(header.number)
                }
                _ => return HeaderMatch::Undecided,
            },
        })
    }
}

/// The positions that are wanted, if nothing else is.
fn positions_of(wanted: &[Wanted]) -> Option<Vec<&Position>> {
    let mut positions = Vec::with_capacity(wanted.len());
    for one in wanted {
        let Wanted::Position(position) = one else {
            return None;
        };
        positions.push(&**position);
    }
    Some(positions)
}

fn told_of(
    wanted: &[Wanted],
    index: &PositionTable,
    source: &dyn SearchedGames,
) -> io::Result<Option<IndexAnswer>> {
    let Some(positions) = positions_of(wanted) else {
        return Ok(None);
    };
    let mut fitting = GameSet::default();
    for position in positions {
        let games = index.all_games(position, source)?;
        games.from(0).for_each(|game| fitting.add(game));
    }
    let open = index.unreadable();
    Ok(Some(IndexAnswer { fitting, open }))
}

fn any(ranges: &[Range], fits: impl Fn(Range) -> bool) -> bool {
    ranges.iter().any(|range| fits(*range))
}

fn names_of(field: Field) -> NameField {
    match field {
        Field::Player(_) => NameField::Players,
        Field::Event => NameField::Events,
        Field::Site => NameField::Sites,
        Field::Annotator => NameField::Annotators,
        Field::Source => NameField::Sources,
        Field::Team => NameField::Teams,
    }
}

fn outcome_of(result: GameResult) -> Outcome {
    let all = [Outcome::White, Outcome::Black, Outcome::Draw];
    let mut all = all.into_iter();
    all.find(|outcome| outcome.pgn() == result.pgn())
        .unwrap_or(Outcome::None)
}

fn moves_by_header(ranges: &[Range], header: &SearchedHeader) -> HeaderMatch {
    let least = u32::from(header.moves);
    HeaderMatch::any(ranges.iter().map(|range| {
        if !header.has_more_moves {
            return Some(range.has(least));
        }
        // All numbers from `least` on are possible.
        match (
            range.high < least,
            range.low <= least && range.high == u32::MAX,
        ) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        }
    }))
}

/// Matches a game; `None` for terms about moments, which are matched together.
fn by_game(test: &Test, header: &SearchedHeader, game: &Game) -> Option<bool> {
    Some(match test {
        Test::Moves(ranges) => {
            let plies = game.tree.main_line_len();
            let begins = usize::from(plies > 0 && game.start.position.turn().is_black());
            let moves = u32::try_from((plies + begins).div_ceil(2)).unwrap_or(u32::MAX);
            any(ranges, |range| range.has(moves))
        }
        Test::Has(contents) => contents.iter().any(|content| {
            let told = header.contents.has(*content);
            told.unwrap_or_else(|| remarks::has(game, *content))
        }),
        Test::Text(patterns) => remarks::contain(game, patterns),
        _ => return None,
    })
}
