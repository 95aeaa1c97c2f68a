//! Parser of query terms.

use std::fmt;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Piece, Role, Square};

use super::fold::Pattern;
use super::remarks::as_shown;
use super::source::SearchedContent;
use super::term::{
    Army, DateRange, EcoRange, Field, Material, Outcome, Range, Round, Side, Squares, Term, Test,
    Wanted,
};
use crate::game::{Eco, Position, role_index, shown_in_comment};

/// A query. A game must match all of its terms.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The terms, without `in:`.
    pub terms: Vec<Term>,
    /// Whether variations are searched.
    pub in_variations: bool,
    /// Whether deleted games are searched.
    pub in_deleted: bool,
}

/// Error: an invalid term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermError {
    /// The term as written.
    pub term: String,
    /// Whether the name of the term is unknown.
    pub is_unknown: bool,
    /// What was found and what was expected.
    why: String,
}

impl fmt::Display for TermError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A term can be as long as a command line.
        const MOST: usize = 80;
        let start: String = self.term.chars().take(MOST).collect();
        let dots = if start.len() < self.term.len() {
            "…"
        } else {
            ""
        };
        write!(f, "{start}{dots}: {}", self.why)
    }
}

impl std::error::Error for TermError {}

/// The names of all terms with a description of their values, in the order in
/// which help shows them.
pub const TERMS: [(&str, &str); 27] = [
    ("white", "a part of a name"),
    ("black", "a part of a name"),
    ("player", "a part of a name"),
    ("opponent", "a part of a name, after one player: term"),
    ("event", "a part of a title"),
    ("site", "a part of a place"),
    ("annotator", "a part of a name"),
    ("source", "a part of a title"),
    ("team", "a part of a name"),
    ("round", "a number as 3, 3.2 or 1-5"),
    ("result", "1-0, 0-1, draw or none"),
    ("eco", "codes as B90, B9*, B90-B99 or none"),
    ("year", "a year or years as 1999, 1990-1999, 2020- or -1950"),
    (
        "date",
        "a day or days as 2010, 2010.05, 2010.05.17 or 2010.05-2011",
    ),
    ("elo", "a rating or ratings as 2600-2700, 2600- or -2000"),
    (
        "white-elo",
        "a rating or ratings as 2600-2700, 2600- or -2000",
    ),
    (
        "black-elo",
        "a rating or ratings as 2600-2700, 2600- or -2000",
    ),
    ("elo-diff", "a number as 200- or -50"),
    ("moves", "a number as 20, 1-10 or 100-"),
    ("number", "a number as 5 or 100-200"),
    (
        "has",
        "comments, variations, symbols, arrows, clocks, evaluations, training or medals",
    ),
    ("text", "words of a remark"),
    (
        "position",
        "a FEN of four or six fields, with : for / and _ for blanks if you like",
    ),
    ("squares", "pieces on squares as Nd5,pd6,-e4, - for empty"),
    (
        "material",
        "the pieces of both sides as KRPKR, or KRP*KR for at least",
    ),
    ("in", "variations or deleted"),
    ("not-…", "any of these but in:, turned around"),
];

impl Query {
    /// Parses terms in order.
    ///
    /// # Errors
    ///
    /// [`TermError`] for the first invalid term.
    pub fn parse<S: AsRef<str>>(terms: &[S]) -> Result<Query, TermError> {
        let mut query = Query::default();
        // The `player:` terms so far; `None` for those with `not-`.
        let mut players: Vec<Option<Vec<Pattern>>> = Vec::new();
        for term in terms {
            let term = term.as_ref();
            let added = query.add(term, &mut players);
            added.map_err(|Refused { is_unknown, why }| TermError {
                term: term.to_owned(),
                is_unknown,
                why,
            })?;
        }
        Ok(query)
    }

    fn add(&mut self, term: &str, players: &mut Vec<Option<Vec<Pattern>>>) -> Result<(), Refused> {
        let (positive, is_not) = match term.strip_prefix("not-") {
            Some(rest) => (rest, true),
            None => (term, false),
        };
        let Some((name, value)) = positive.split_once(':') else {
            return Err(Refused::unknown(
                "a term is a name, a colon and a value, as white:Carlsen".to_owned(),
            ));
        };
        let Some((_, expected)) = TERMS.iter().find(|(known, _)| *known == name) else {
            let mut names = TERMS.iter().map(|(name, _)| *name).collect::<Vec<_>>();
            names.pop();
            return Err(Refused::unknown(format!(
                "no term is called {name:?}; there are {}",
                names.join(", ")
            )));
        };
        let value = value.trim();
        if name == "in" {
            return self.widen(value, is_not, expected);
        }
        let patterns = |value: &str| {
            let values = split(value)?;
            values
                .into_iter()
                .map(pattern)
                .collect::<Result<Vec<_>, _>>()
        };
        let test = match name {
            "opponent" => opponent(patterns(value)?, players)?,
            // Who writes a remark as it is stored finds it too.
            "text" => Test::Text(patterns(&as_shown(value, shown_in_comment))?),
            _ => match field(name) {
                Some(field) => Test::Name(field, patterns(value)?),
                None => valued(name, value, expected)?,
            },
        };
        if let Test::Name(Field::Player(Side::Any), patterns) = &test {
            players.push((!is_not).then(|| patterns.clone()));
        }
        self.terms.push(Term { is_not, test });
        Ok(())
    }

    fn widen(&mut self, value: &str, is_not: bool, expected: &str) -> Result<(), Refused> {
        if is_not {
            let why = "in: widens what is looked at and cannot be turned around; leave it out";
            return Err(Refused::malformed(why.to_owned()));
        }
        for value in split(value)? {
            match value {
                "variations" => self.in_variations = true,
                "deleted" => self.in_deleted = true,
                other => return Err(Refused::found(other, expected)),
            }
        }
        Ok(())
    }
}

/// Reason for refusing a term.
struct Refused {
    is_unknown: bool,
    why: String,
}

impl Refused {
    fn unknown(why: String) -> Refused {
        Refused {
            is_unknown: true,
            why,
        }
    }

    fn malformed(why: String) -> Refused {
        Refused {
            is_unknown: false,
            why,
        }
    }

    fn found(found: &str, expected: &str) -> Refused {
        if found.is_empty() {
            return Refused::malformed(format!("nothing stands there; expected {expected}"));
        }
        Refused::malformed(format!("found {found:?}; expected {expected}"))
    }
}

fn field(name: &str) -> Option<Field> {
    Some(match name {
        "white" => Field::Player(Side::White),
        "black" => Field::Player(Side::Black),
        "player" => Field::Player(Side::Any),
        "event" => Field::Event,
        "site" => Field::Site,
        "annotator" => Field::Annotator,
        "source" => Field::Source,
        "team" => Field::Team,
        _ => return None,
    })
}

/// Parses a term whose value is not a text pattern.
fn valued(name: &str, value: &str, expected: &str) -> Result<Test, Refused> {
    let values = split(value)?;
    let ranges = || all(&values, expected, range);
    Ok(match name {
        "round" => Test::Round(all(&values, expected, round)?),
        "result" => Test::Result(all(&values, expected, outcome)?),
        "eco" => Test::Eco(all(&values, expected, eco_range)?),
        "year" => Test::Year(ranges()?),
        "date" => Test::Date(all(&values, expected, date_range)?),
        "elo" => Test::Elo(Side::Any, ranges()?),
        "white-elo" => Test::Elo(Side::White, ranges()?),
        "black-elo" => Test::Elo(Side::Black, ranges()?),
        "elo-diff" => Test::EloDifference(ranges()?),
        "moves" => Test::Moves(ranges()?),
        "number" => Test::Number(ranges()?),
        "has" => Test::Has(all(&values, expected, content)?),
        "squares" => Test::Moment(all(&values, expected, |value| {
            squares(value).map(Wanted::Squares)
        })?),
        "material" => Test::Moment(all(&values, expected, |value| {
            material(value).map(Wanted::Material)
        })?),
        _ => {
            let positions = values.iter().map(|value| {
                let position = position(value);
                let position = position.map_err(|why| Refused::malformed(why.to_string()))?;
                Ok(Wanted::Position(Box::new(position)))
            });
            Test::Moment(positions.collect::<Result<_, Refused>>()?)
        }
    })
}

fn all<T>(
    values: &[&str],
    expected: &str,
    understand: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Refused> {
    let each = values.iter();
    each.map(|value| understand(value).ok_or_else(|| Refused::found(value, expected)))
        .collect()
}

/// The `opponent:` term, which refers to the only `player:` term before it.
fn opponent(opponent: Vec<Pattern>, players: &[Option<Vec<Pattern>>]) -> Result<Test, Refused> {
    match players {
        [Some(player)] => Ok(Test::Opponent {
            player: player.clone(),
            opponent,
        }),
        [None] => Err(Refused::malformed(
            "the player named before is a not- term; opponent: follows one that is none".to_owned(),
        )),
        [] => Err(Refused::malformed(
            "no player: term stands before it; whose opponent is meant?".to_owned(),
        )),
        several => Err(Refused::malformed(format!(
            "{} player: terms stand before it; opponent: follows one",
            several.len()
        ))),
    }
}

/// Splits a value at each `|` outside of quotes.
fn split(value: &str) -> Result<Vec<&str>, Refused> {
    let mut is_quoted = false;
    let values = value.split(|c| {
        is_quoted ^= c == '"';
        c == '|' && !is_quoted
    });
    let values: Vec<&str> = values.map(str::trim).collect();
    if value.matches('"').count() % 2 == 1 {
        return Err(Refused::malformed(
            "a quote does not end; a whole field stands between two of them".to_owned(),
        ));
    }
    if values.len() > 1 && values.contains(&"") {
        return Err(Refused::malformed(
            "nothing stands on one side of a |; expected a value on both".to_owned(),
        ));
    }
    Ok(values)
}

fn pattern(value: &str) -> Result<Pattern, Refused> {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    if inner.unwrap_or(value).contains('"') {
        return Err(Refused::malformed(
            "a quote stands within the value; a whole field stands between two of them".to_owned(),
        ));
    }
    let has_nothing = |text: &str| !text.is_empty() && Pattern::new(text, true).fits("");
    if has_nothing(inner.unwrap_or(value)) && !value.contains('*') {
        return Err(Refused::found(value, "a text of more than accents"));
    }
    match inner {
        Some(whole) => Ok(Pattern::new(whole, true)),
        None if value.is_empty() => Err(Refused::found(
            value,
            "a part of the text, or \"\" for an empty field",
        )),
        None => Ok(Pattern::new(value, false)),
    }
}

fn number(text: &str) -> Option<u32> {
    let are_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| are_digits)
}

/// Parses `n`, `a-b`, `a-`, `-b`.
fn range(text: &str) -> Option<Range> {
    let (low, high) = match text.split_once('-') {
        None => (number(text)?, number(text)?),
        Some(("", "")) => return None,
        Some(("", high)) => (0, number(high)?),
        Some((low, "")) => (number(low)?, u32::MAX),
        Some((low, high)) => (number(low)?, number(high)?),
    };
    (low <= high).then_some(Range { low, high })
}

fn round(text: &str) -> Option<Round> {
    match text.split_once('.') {
        Some((round, game)) => Some(Round::Game(number(round)?, number(game)?)),
        None => range(text).map(Round::Rounds),
    }
}

fn outcome(text: &str) -> Option<Outcome> {
    Some(match text.to_ascii_lowercase().as_str() {
        "1-0" => Outcome::White,
        "0-1" => Outcome::Black,
        "draw" | "1/2-1/2" | "1/2" | "½-½" | "½" => Outcome::Draw,
        "none" | "*" => Outcome::None,
        _ => return None,
    })
}

fn eco_range(text: &str) -> Option<EcoRange> {
    if text.eq_ignore_ascii_case("none") {
        return Some(EcoRange::None);
    }
    let codes = match text.split_once('-') {
        None => eco_codes(text)?,
        Some(("", "")) => return None,
        Some(("", high)) => (0, eco_codes(high)?.1),
        Some((low, "")) => (eco_codes(low)?.0, Eco::COUNT - 1),
        Some((low, high)) => (eco_codes(low)?.0, eco_codes(high)?.1),
    };
    (codes.0 <= codes.1).then_some(EcoRange::Codes(codes.0, codes.1))
}

/// The first and the last index of `B90`, `B9*`, `B9`, `B*`, `B` or `*`.
fn eco_codes(text: &str) -> Option<(u16, u16)> {
    let stem = text.strip_suffix('*').unwrap_or(text).to_ascii_uppercase();
    let filled = |letter: &str, digit| {
        let mut code = if stem.is_empty() {
            letter.to_owned()
        } else {
            stem.clone()
        };
        while code.len() < 3 {
            code.push(digit);
        }
        Eco::from_code(&code).map(Eco::index)
    };
    (!text.is_empty()).then_some(())?;
    Some((filled("A", '0')?, filled("E", '9')?))
}

/// Parses `a`, `a-b`, `a-`, `-b`, or a day in ISO 8601 format.
fn date_range(text: &str) -> Option<DateRange> {
    let parts: Vec<&str> = text.split('-').collect();
    let (low, high) = match parts[..] {
        [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2 => {
            days(&format!("{year}.{month}.{day}"))?
        }
        [only] => days(only)?,
        ["", ""] => return None,
        ["", high] => (0, days(high)?.1),
        [low, ""] => (days(low)?.0, u32::MAX),
        [low, high] => (days(low)?.0, days(high)?.1),
        _ => return None,
    };
    (low <= high).then_some(DateRange { low, high })
}

/// The first and the last day of `2010`, `2010.05` or `2010.05.17`.
fn days(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    let year = parts.next().filter(|year| year.len() == 4)?;
    let year = u16::try_from(number(year)?).ok().filter(|year| *year > 0)?;
    let mut part = |most: u8| match parts.next() {
        None | Some("??") => Some(0),
        Some(part) => {
            let part = u8::try_from(number(part)?).ok()?;
            (1..=most).contains(&part).then_some(part)
        }
    };
    let (month, day) = (part(12)?, part(31)?);
    if parts.next().is_some() || month == 0 && day != 0 {
        return None;
    }
    let or = |part, other| if part == 0 { other } else { part };
    Some((
        DateRange::day(year, month, day),
        DateRange::day(year, or(month, 15), or(day, 31)),
    ))
}

fn content(text: &str) -> Option<SearchedContent> {
    let mut all = SearchedContent::ALL.iter();
    all.find(|(word, _)| *word == text)
        .map(|(_, content)| *content)
}

/// Parses `Nd5,pd6,-e4`.
fn squares(text: &str) -> Option<Squares> {
    let mut squares = Squares::default();
    for one in text.split(',') {
        let mut letters = one.trim().chars();
        let piece = letters.next()?;
        let square: Square = letters.as_str().parse().ok()?;
        if piece == '-' {
            squares.empty.add(square);
            continue;
        }
        let Piece { color, role } = Piece::from_char(piece)?;
        squares.roles.get_mut(role_index(role))?.add(square);
        let [white, black] = &mut squares.sides;
        color.fold_wb(white, black).add(square);
    }
    Some(squares)
}

/// Parses `KRPKR` or `KRP*KR`.
fn material(text: &str) -> Option<Material> {
    let second = text.get(1..)?.find(['K', 'k'])? + 1;
    let (one, other) = text.split_at_checked(second)?;
    Some(Material([army(one)?, army(other)?]))
}

fn army(text: &str) -> Option<Army> {
    let letters = text.strip_suffix('*');
    let mut army = Army {
        is_least: letters.is_some(),
        ..Army::default()
    };
    for (at, letter) in letters.unwrap_or(text).chars().enumerate() {
        let role = Role::from_char(letter)?;
        // Exactly one king, at the beginning.
        if (at == 0) != (role == Role::King) {
            return None;
        }
        let count = army.counts.get_mut(role_index(role))?;
        *count = count.checked_add(1)?;
    }
    let pieces: u32 = army.counts.iter().map(|count| u32::from(*count)).sum();
    (1..=64).contains(&pieces).then_some(army)
}

/// Error: a text is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPosition {
    /// The text is not a FEN.
    Syntax,
    /// The castling rights do not fit the pieces.
    Castling,
    /// There is no pawn in front of the en passant square.
    EnPassant,
    /// There is no piece.
    Empty,
}

impl fmt::Display for NoPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoPosition::Syntax => {
                "no FEN; expected one of four or six fields, as \
                 rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-"
            }
            NoPosition::Castling => {
                "the castling rights do not fit the kings and rooks; expected those that do, or -"
            }
            NoPosition::EnPassant => {
                "no pawn has just made its double step there; expected the square behind one, or -"
            }
            NoPosition::Empty => "a board without pieces; expected one with some",
        })
    }
}

impl std::error::Error for NoPosition {}

/// The position of a FEN of four fields or six, which may be written as a file
/// name: `:`, `%2F` or `／` for `/`, `_` for blanks. That of Chess960 is one whose castling
/// rights fit in no other way.
///
/// # Errors
///
/// [`NoPosition`].
pub fn position(text: &str) -> Result<Position, NoPosition> {
    const MOST_BYTES: usize = 128;
    let fen = text.trim().replace([':', '／'], "/").replace('_', " ");
    let fen = fen.replace("%2F", "/").replace("%2f", "/");
    if fen == "startpos" {
        return Ok(Position::default());
    }
    let fields = fen.split(' ').count();
    if fen.len() > MOST_BYTES || !matches!(fields, 4 | 6) {
        return Err(NoPosition::Syntax);
    }
    let setup = Fen::from_ascii(fen.as_bytes()).map_err(|_| NoPosition::Syntax)?;
    let setup = setup.into_setup();
    let of = |mode| Position::from_setup(setup.clone(), mode);
    let fits = |position: &Position| position.castling_rights() == setup.castling_rights;
    let position = Some(of(CastlingMode::Standard)).filter(fits);
    let position = position.unwrap_or_else(|| of(CastlingMode::Chess960));
    // Games have positions that break the rules: set up without kings, or with a null
    // move in check.
    if position.board().occupied().is_empty() {
        return Err(NoPosition::Empty);
    }
    if !fits(&position) {
        return Err(NoPosition::Castling);
    }
    if setup.ep_square.is_some() && position.en_passant_square() != setup.ep_square {
        return Err(NoPosition::EnPassant);
    }
    Ok(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(terms: &[&str]) -> String {
        Query::parse(terms).unwrap_err().to_string()
    }

    fn test(term: &str) -> Test {
        let mut query = Query::parse(&[term]).unwrap();
        query.terms.pop().unwrap().test
    }

    #[test]
    fn an_error_says_what_was_found_and_what_could_stand_there() {
        for (term, expected) in [
            (
                "elo:25oo",
                "elo:25oo: found \"25oo\"; expected a rating or ratings as 2600-2700",
            ),
            ("elo:2700-2600", "found \"2700-2600\""),
            ("elo:-", "found \"-\""),
            ("elo:", "nothing stands there; expected a rating"),
            ("elo:+5", "found \"+5\""),
            (
                "white:",
                "nothing stands there; expected a part of the text",
            ),
            (
                "whit:Carlsen",
                "no term is called \"whit\"; there are white, black",
            ),
            ("Carlsen", "a term is a name, a colon and a value"),
            (
                "result:2-0",
                "found \"2-0\"; expected 1-0, 0-1, draw or none",
            ),
            ("result:1-0|", "nothing stands on one side of a |"),
            ("eco:F00", "found \"F00\"; expected codes as B90"),
            ("eco:B99-B90", "found \"B99-B90\""),
            ("eco:", "nothing stands there"),
            ("date:2010-5", "found \"2010-5\"; expected a day"),
            ("date:2010.13", "found \"2010.13\""),
            ("date:2010.??.05", "found"),
            (
                "has:pictures",
                "found \"pictures\"; expected comments, variations",
            ),
            (
                "in:everything",
                "found \"everything\"; expected variations or deleted",
            ),
            ("not-in:deleted", "cannot be turned around"),
            ("squares:Nd9", "found \"Nd9\"; expected pieces on squares"),
            ("squares:Nd5,", "found"),
            (
                "material:KRP",
                "found \"KRP\"; expected the pieces of both sides",
            ),
            ("material:RKKR", "found"),
            ("material:KKK", "found"),
            ("material:KR**KR", "found"),
            ("position:e4", "no FEN; expected one of four or six fields"),
            ("white:\u{301}", "expected a text of more than accents"),
            ("white:a|\u{301}", "expected a text of more than accents"),
            ("white:\"Carlsen", "a quote does not end"),
            ("white:a\"b\"c", "a quote stands within the value"),
            ("opponent:Anand", "no player: term stands before it"),
        ] {
            let error = why(&[term]);
            assert!(
                error.starts_with(term) && error.contains(expected),
                "{error}"
            );
        }
        let long = why(&[&"x".repeat(100_000)]);
        assert!(long.len() < 300, "{long}");
    }

    #[test]
    fn an_opponent_is_that_of_one_player() {
        assert!(Query::parse(&["player:A", "year:1999", "opponent:B", "opponent:C"]).is_ok());
        assert!(why(&["player:A", "player:B", "opponent:C"]).contains("2 player: terms"));
        assert!(why(&["not-player:A", "opponent:C"]).contains("not- term"));
        assert!(why(&["white:A", "opponent:C"]).contains("no player:"));
        assert!(why(&["opponent:C", "player:A"]).contains("no player:"));
    }

    #[test]
    fn only_a_name_that_is_no_term_is_unknown() {
        assert!(Query::parse(&["frobnicate:1"]).unwrap_err().is_unknown);
        assert!(Query::parse(&[""]).unwrap_err().is_unknown);
        assert!(!Query::parse(&["elo:x"]).unwrap_err().is_unknown);
    }

    #[test]
    fn ranges_are_open_where_nothing_is_said() {
        let ranges = |term| match test(term) {
            Test::Year(ranges) => ranges.iter().map(|range| (range.low, range.high)).collect(),
            _ => Vec::new(),
        };
        assert_eq!(ranges("year:1990|1995-1999"), [(1990, 1990), (1995, 1999)]);
        assert_eq!(ranges("year:2020-|-1950"), [(2020, u32::MAX), (0, 1950)]);
    }

    #[test]
    fn a_partial_date_fits_if_it_may() {
        let fits = |term: &str, (year, month, day)| match &test(term) {
            Test::Date(ranges) => ranges
                .iter()
                .any(|range| range.may_have(crate::game::Date { year, month, day })),
            _ => false,
        };
        for (term, date, expected) in [
            ("date:2010.05-2011", (2010, 5, 1), true),
            ("date:2010.05-2011", (2010, 4, 30), false),
            ("date:2010.05-2011", (2010, 0, 0), true),
            ("date:2010.05-2011", (2011, 12, 31), true),
            ("date:2010.05-2011", (2012, 0, 0), false),
            ("date:2010.05-2011", (0, 6, 1), false),
            ("date:2010.05.17", (2010, 5, 0), true),
            ("date:2010.05.17", (2010, 0, 17), true),
            ("date:2010.05.17", (2010, 0, 18), false),
            ("date:2010-05-17", (2010, 5, 17), true),
            ("date:2010.05.17-2010.05.20", (2010, 0, 3), false),
            ("date:-2010.05", (2010, 5, 31), true),
            ("date:2010.??.??", (2010, 5, 31), true),
        ] {
            assert_eq!(fits(term, date), expected, "{term} {date:?}");
        }
    }

    #[test]
    fn openings_are_codes_their_beginnings_and_ranges() {
        let codes = |term| match test(term) {
            Test::Eco(ranges) => ranges,
            _ => Vec::new(),
        };
        assert_eq!(codes("eco:b90"), [EcoRange::Codes(190, 190)]);
        assert_eq!(
            codes("eco:B9*|none"),
            [EcoRange::Codes(190, 199), EcoRange::None]
        );
        assert_eq!(codes("eco:B90-C"), [EcoRange::Codes(190, 299)]);
        assert_eq!(
            codes("eco:E9-|-A0*"),
            [EcoRange::Codes(490, 499), EcoRange::Codes(0, 9)]
        );
        assert_eq!(codes("eco:*"), [EcoRange::Codes(0, 499)]);
    }

    #[test]
    fn a_position_is_a_fen_however_it_is_written() {
        let start = Position::default().key();
        for text in [
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_HAha_-_7_9",
            "startpos",
        ] {
            assert_eq!(
                position(text).map(|position| position.key()),
                Ok(start),
                "{text}"
            );
        }
        let chess960 = position("1rkr4/8/8/8/8/8/8/R1KR4 w ADbd -").unwrap();
        assert_eq!(chess960.castling_mode(), CastlingMode::Chess960);
        for irregular in ["4k3/4Q3/8/8/8/8/8/4K3 w - -", "8/8/3n4/8/8/8/P7/8 b - -"] {
            assert!(!position(irregular).unwrap().is_regular());
        }
        for (text, expected) in [
            ("", NoPosition::Syntax),
            ("8/8/8/8/8/8/8/8 w - -", NoPosition::Empty),
            ("4k3/8/8/8/8/8/8/4K3 w K -", NoPosition::Castling),
            ("4k3/8/8/8/8/8/8/4K3 w - e3", NoPosition::Syntax),
            ("4k3/8/8/8/8/8/8/4K3 b - e3", NoPosition::EnPassant),
            ("4k3/8/8/8/8/8/8/4K3 b", NoPosition::Syntax),
            ("4k3/8/8/8/8/8/4K3 b - -", NoPosition::Syntax),
        ] {
            let found = position(text).err();
            assert!(
                found == Some(expected) || text.ends_with("w - e3") && found.is_some(),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn material_has_two_sides_that_begin_with_their_kings() {
        let Test::Moment(wanted) = test("material:KRP*KR|kk") else {
            panic!("no moment");
        };
        let [
            Wanted::Material(Material([one, other])),
            Wanted::Material(kings),
        ] = &wanted[..]
        else {
            panic!("{wanted:?}");
        };
        assert_eq!((one.counts, one.is_least), ([1, 0, 0, 1, 0, 1], true));
        assert_eq!((other.counts, other.is_least), ([0, 0, 0, 1, 0, 1], false));
        assert_eq!(kings.0.map(|army| army.counts), [[0, 0, 0, 0, 0, 1]; 2]);
    }
}
