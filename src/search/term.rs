//! Query terms as values.

use shakmaty::{Bitboard, Color, Rank};

use super::board::home_pawns;
use super::fold::Pattern;
use super::source::SearchedContent;
use crate::game::{Date, Placement, Position};

/// One term of a query.
#[derive(Clone, Debug)]
pub struct Term {
    /// Whether the test is negated.
    pub is_not: bool,
    /// The test.
    pub test: Test,
}

/// A test of a game. If there are several values, any may match.
#[derive(Clone, Debug)]
pub enum Test {
    /// A text field.
    Name(Field, Vec<Pattern>),
    /// A player and the player of the other side.
    Opponent {
        /// The player.
        player: Vec<Pattern>,
        /// The opponent.
        opponent: Vec<Pattern>,
    },
    /// The result.
    Result(Vec<Outcome>),
    /// Opening codes.
    Eco(Vec<EcoRange>),
    /// Year of the game.
    Year(Vec<Range>),
    /// Date of the game.
    Date(Vec<DateRange>),
    /// Rating of a side, or of both.
    Elo(Side, Vec<Range>),
    /// Absolute difference of the ratings.
    EloDifference(Vec<Range>),
    /// Number of moves in the main line.
    Moves(Vec<Range>),
    /// Number of the game.
    Number(Vec<Range>),
    /// The round.
    Round(Vec<Round>),
    /// Contents other than moves.
    Has(Vec<SearchedContent>),
    /// Words of annotations.
    Text(Vec<Pattern>),
    /// A condition that is met at some moment of the game.
    Moment(Vec<Wanted>),
}

/// A text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Names of players.
    Player(Side),
    /// Title of the event.
    Event,
    /// Place of the event.
    Site,
    /// The annotator.
    Annotator,
    /// Title of the publication.
    Source,
    /// Team of either player.
    Team,
}

/// The side that a test applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// White.
    White,
    /// Black.
    Black,
    /// Either name; both ratings.
    Any,
}

/// Results as PGN distinguishes them.
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
    /// The result in PGN.
    pub fn pgn(self) -> &'static str {
        match self {
            Outcome::White => "1-0",
            Outcome::Black => "0-1",
            Outcome::Draw => "1/2-1/2",
            Outcome::None => "*",
        }
    }
}

/// A range of numbers, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest.
    pub low: u32,
    /// The highest.
    pub high: u32,
}

impl Range {
    /// Returns whether the number is in the range.
    pub(super) fn has(self, number: u32) -> bool {
        (self.low..=self.high).contains(&number)
    }

    /// Returns whether the number is known, that is not 0, and in the range.
    pub(super) fn has_known(self, number: u32) -> bool {
        number != 0 && self.has(number)
    }
}

/// One or more rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// A range of rounds, with any game within them.
    Rounds(Range),
    /// A round and the number of the game within it.
    Game(u32, u32),
}

/// Opening codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcoRange {
    /// Games without a code.
    None,
    /// A range of code indices, inclusive.
    Codes(u16, u16),
}

/// A range of days, inclusive, as numbered by [`DateRange::day`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateRange {
    /// The first.
    pub low: u32,
    /// The last.
    pub high: u32,
}

impl DateRange {
    /// The number of a day; later days have higher numbers.
    pub(super) fn day(year: u16, month: u8, day: u8) -> u32 {
        u32::from(year) << 9 | u32::from(month) << 5 | u32::from(day)
    }

    /// Returns whether a date is in the range, or can be if parts of it are
    /// unknown. A date without a year is not.
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

/// A condition for a moment of a game.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// The position.
    Position(Box<Position>),
    /// Pieces on squares.
    Squares(Squares),
    /// The material of both sides.
    Material(Material),
}

/// Pieces on certain squares, and empty squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Squares {
    /// Required squares by role, for both sides.
    pub roles: [Bitboard; 6],
    /// Required squares by side: White, Black.
    pub sides: [Bitboard; 2],
    /// Squares without a piece.
    pub empty: Bitboard,
}

impl Squares {
    /// All the squares.
    pub(super) fn all(&self) -> Bitboard {
        let [white, black] = self.sides;
        let wanted = self.roles.iter().fold(self.empty, |all, role| all | *role);
        wanted | white | black
    }

    /// Returns whether the placement meets the condition.
    pub(super) fn are_so(&self, placement: &Placement) -> bool {
        let stand = |wanted: &Bitboard, there: &Bitboard| (*wanted & !*there).is_empty();
        self.roles
            .iter()
            .zip(&placement.roles)
            .all(|(a, b)| stand(a, b))
            && self
                .sides
                .iter()
                .zip(&placement.sides)
                .all(|(a, b)| stand(a, b))
            && (self.empty & placement.occupied()).is_empty()
    }

    /// Returns whether the condition cannot be met any more, because pieces are
    /// only captured and pawns never return.
    pub(super) fn are_past(&self, placement: &Placement) -> bool {
        let [pawns, ..] = self.roles;
        let too_few = self
            .sides
            .iter()
            .zip(&placement.sides)
            .any(|(wanted, there)| wanted.count() > there.count());
        too_few || (home(pawns, self.sides) & !home_pawns(placement)).any()
    }
}

/// The pawns that are on their initial squares.
pub(super) fn home(pawns: Bitboard, [white, black]: [Bitboard; 2]) -> Bitboard {
    pawns & (white & Bitboard::from_rank(Rank::Second) | black & Bitboard::from_rank(Rank::Seventh))
}

/// The material of two sides in either order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Material(pub [Army; 2]);

/// The material of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Army {
    /// Number of pieces by role, pawns first.
    pub counts: [u8; 6],
    /// Whether more pieces are allowed.
    pub is_least: bool,
}

impl Army {
    fn is_that(self, there: [u8; 6]) -> bool {
        let mut pairs = self.counts.iter().zip(there);
        pairs.all(|(wanted, there)| *wanted == there || self.is_least && *wanted < there)
    }

    /// Returns whether a side with so many pieces, pawns among them, cannot reach
    /// this material with so many captures by its opponent.
    fn is_past(self, [has, has_pawns]: [usize; 2], captures: usize) -> bool {
        let total = self.total();
        let [pawns, ..] = self.counts;
        has < total
            || has_pawns < usize::from(pawns)
            || !self.is_least && has.saturating_sub(total) > captures
    }

    fn total(self) -> usize {
        self.counts.iter().map(|count| usize::from(*count)).sum()
    }
}

impl Material {
    /// Returns whether the placement has this material.
    pub(super) fn is_so(&self, placement: &Placement) -> bool {
        // Most placements have another number of pieces, which is counted at once.
        let there = placement.occupied().count();
        let total = self.total();
        let may_be = there == total || there > total && self.allows_more();
        may_be && self.is_that(both_counts(placement))
    }

    fn total(&self) -> usize {
        self.0.iter().map(|army| army.total()).sum()
    }

    /// The most pieces of both sides with which it can be met.
    pub(super) fn most_pieces(&self) -> u8 {
        let exact = u8::try_from(self.total()).ok();
        exact.filter(|_| !self.allows_more()).unwrap_or(u8::MAX)
    }

    fn allows_more(&self) -> bool {
        self.0.iter().any(|army| army.is_least)
    }

    /// Returns whether White and Black have it with these pieces, by role.
    pub(super) fn is_that(&self, [white, black]: [[u8; 6]; 2]) -> bool {
        let [one, other] = self.0;
        one.is_that(white) && other.is_that(black) || one.is_that(black) && other.is_that(white)
    }

    /// So many pieces have left the board before, at least, if each side began with
    /// sixteen.
    pub(super) fn least_captures(&self) -> usize {
        let exact = self.0.iter().filter(|army| !army.is_least);
        exact
            .map(|army| 16_usize.saturating_sub(army.total()))
            .sum()
    }

    /// Returns whether this material cannot be reached any more in so many
    /// plies.
    pub(super) fn is_past(&self, placement: &Placement, plies: usize) -> bool {
        if placement.occupied().count() < self.total() {
            return true;
        }
        let [one, other] = self.0;
        let [pawns, ..] = placement.roles;
        let of_side = |side: Bitboard| [side.count(), (side & pawns).count()];
        let [white, black] = placement.sides.map(of_side);
        let is_past_way =
            |one: Army, other: Army| one.is_past(white, plies) || other.is_past(black, plies);
        is_past_way(one, other) && is_past_way(other, one)
    }
}

/// Number of pieces of White and of Black by role, pawns first.
fn both_counts(placement: &Placement) -> [[u8; 6]; 2] {
    [Color::White, Color::Black].map(|side| placement.counts(side))
}
