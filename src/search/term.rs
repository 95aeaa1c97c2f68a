//! Terms of a query, as values.

use shakmaty::{Bitboard, Color, Rank, Role};

use super::board::Moment;
use super::fold::Pattern;
use super::source::Content;
use crate::game::{Date, Position};

/// One term: a test that a game passes or not.
#[derive(Clone, Debug)]
pub struct Term {
    /// Whether the games that do not pass the test fit.
    pub is_not: bool,
    /// The test.
    pub test: Test,
}

/// What is asked of a game. Of several values any may fit.
#[derive(Clone, Debug)]
pub enum Test {
    /// A field of text.
    Name(Field, Vec<Pattern>),
    /// A player, and the one on the other side.
    Opponent {
        /// The player.
        player: Vec<Pattern>,
        /// The opponent.
        opponent: Vec<Pattern>,
    },
    /// How it ended.
    Result(Vec<Outcome>),
    /// Opening codes.
    Eco(Vec<EcoRange>),
    /// The year it was played in.
    Year(Vec<Range>),
    /// The day it was played on.
    Date(Vec<DateRange>),
    /// A rating, or that of both.
    Elo(Side, Vec<Range>),
    /// The difference of the ratings, without its sign.
    EloDifference(Vec<Range>),
    /// Moves of the main line.
    Moves(Vec<Range>),
    /// The game's number.
    Number(Vec<Range>),
    /// The round.
    Round(Vec<Round>),
    /// What it has beside moves.
    Has(Vec<Content>),
    /// Words of its remarks.
    Text(Vec<Pattern>),
    /// Something that is so at some moment.
    Moment(Vec<Wanted>),
}

/// A field of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Names of players.
    Player(Side),
    /// Title of the event.
    Event,
    /// Where it took place.
    Site,
    /// The annotator.
    Annotator,
    /// Title of the source.
    Source,
    /// The team of either player.
    Team,
}

/// Who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// White.
    White,
    /// Black.
    Black,
    /// Of names either, of ratings both.
    Any,
}

/// Results as PGN tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 1-0
    White,
    /// 0-1
    Black,
    /// 1/2-1/2
    Draw,
    /// `*`
    None,
}

impl Outcome {
    /// The result as PGN writes it.
    pub fn pgn(self) -> &'static str {
        match self {
            Outcome::White => "1-0",
            Outcome::Black => "0-1",
            Outcome::Draw => "1/2-1/2",
            Outcome::None => "*",
        }
    }
}

/// Numbers from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub low: u32,
    /// The highest.
    pub high: u32,
}

impl Range {
    /// Whether a number lies in it.
    pub(super) fn has(self, number: u32) -> bool {
        (self.low..=self.high).contains(&number)
    }

    /// Whether a number lies in it that is known; 0 is not.
    pub(super) fn has_known(self, number: u32) -> bool {
        number != 0 && self.has(number)
    }
}

/// A round, or rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Rounds, whatever the game within them.
    Rounds(Range),
    /// A round and the game within it.
    Game(u32, u32),
}

/// Opening codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcoRange {
    /// No code.
    None,
    /// Indices from the first to the last.
    Codes(u16, u16),
}

/// Days from the first to the last, each as [`DateRange::day`] numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateRange {
    /// The first.
    pub low: u32,
    /// The last.
    pub high: u32,
}

impl DateRange {
    /// A number for a day, higher for later ones.
    pub(super) fn day(year: u16, month: u8, day: u8) -> u32 {
        u32::from(year) << 9 | u32::from(month) << 5 | u32::from(day)
    }

    /// Whether a date lies in it, or may if a part of it is not known. One
    /// without a year never does.
    pub(super) fn may_have(self, date: Date) -> bool {
        let months = match date.month {
            0 => 1..=12,
            month => month..=month,
        };
        let days = match date.day {
            0 => (1, 31),
            day => (day, day),
        };
        let mut spans = months.map(|month| {
            let day = |day| DateRange::day(date.year, month, day);
            (day(days.0), day(days.1))
        });
        date.year != 0 && spans.any(|(first, last)| first <= self.high && self.low <= last)
    }
}

/// What is to be so at some moment of a game.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// This position.
    Position(Box<Position>),
    /// Pieces on squares.
    Squares(Squares),
    /// Pieces of each side.
    Material(Material),
}

/// Pieces on squares, and empty squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Squares {
    /// By role, both sides.
    pub roles: [Bitboard; 6],
    /// By side: White, Black.
    pub sides: [Bitboard; 2],
    /// Squares without a piece.
    pub empty: Bitboard,
}

impl Squares {
    /// Whether it is so.
    pub(super) fn are_so(&self, moment: &Moment) -> bool {
        let stand = |wanted: &Bitboard, there: &Bitboard| (*wanted & !*there).is_empty();
        self.roles
            .iter()
            .zip(&moment.roles)
            .all(|(a, b)| stand(a, b))
            && self
                .sides
                .iter()
                .zip(&moment.sides)
                .all(|(a, b)| stand(a, b))
            && (self.empty & moment.occupied()).is_empty()
    }

    /// Whether it cannot be so any more, as pieces only get fewer and pawns do
    /// not come home.
    pub(super) fn are_past(&self, moment: &Moment) -> bool {
        let [pawns, ..] = self.roles;
        let too_few = self
            .sides
            .iter()
            .zip(&moment.sides)
            .any(|(wanted, there)| wanted.count() > there.count());
        too_few || (home(pawns, self.sides) & !moment.home_pawns()).any()
    }
}

/// Pawns of either side on the squares where they begin.
pub(super) fn home(pawns: Bitboard, [white, black]: [Bitboard; 2]) -> Bitboard {
    pawns & (white & Bitboard::from_rank(Rank::Second) | black & Bitboard::from_rank(Rank::Seventh))
}

/// What each side has; either side may be White.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Material(pub [Army; 2]);

/// The pieces of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Army {
    /// How many by role, pawns first.
    pub counts: [u8; 6],
    /// Whether there may be more.
    pub is_least: bool,
}

impl Army {
    fn is_that_of(self, moment: &Moment, side: Color) -> bool {
        let mut pairs = self.counts.iter().zip(moment.counts(side));
        pairs.all(|(wanted, there)| *wanted == there || self.is_least && *wanted < there)
    }

    /// Whether the side cannot get there with so many captures to come.
    fn is_past(self, moment: &Moment, side: Color, captures: usize) -> bool {
        let total: u32 = self.counts.iter().map(|count| u32::from(*count)).sum();
        let there = moment.counts(side);
        let has: u32 = there.iter().map(|count| u32::from(*count)).sum();
        let most = u32::try_from(captures).unwrap_or(u32::MAX);
        let [pawns, ..] = self.counts;
        let [pawns_there, ..] = there;
        has < total || pawns_there < pawns || !self.is_least && has.saturating_sub(total) > most
    }
}

impl Material {
    fn ways(&self) -> [[(&Army, Color); 2]; 2] {
        let [one, other] = &self.0;
        [
            [(one, Color::White), (other, Color::Black)],
            [(one, Color::Black), (other, Color::White)],
        ]
    }

    /// Whether it is so.
    pub(super) fn is_so(&self, moment: &Moment) -> bool {
        self.ways().iter().any(|way| {
            way.iter()
                .all(|(army, side)| army.is_that_of(moment, *side))
        })
    }

    /// Whether it cannot be so any more with so many plies to come.
    pub(super) fn is_past(&self, moment: &Moment, plies: usize) -> bool {
        self.ways().iter().all(|way| {
            way.iter()
                .any(|(army, side)| army.is_past(moment, *side, plies))
        })
    }
}

/// The place of a role in arrays by role.
pub(super) fn index(role: Role) -> usize {
    match role {
        Role::Pawn => 0,
        Role::Knight => 1,
        Role::Bishop => 2,
        Role::Rook => 3,
        Role::Queen => 4,
        Role::King => 5,
    }
}
