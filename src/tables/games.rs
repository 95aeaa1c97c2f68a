//! The table of games: a row per game.
//!
//! Each tag of a game's PGN is in exactly one place: in the column of its name,
//! if the type of the column holds exactly what it says; or said by other
//! columns, as `Round` by `round` and `subround`; or else in the column `tags`.
//! So the rows of a game say what its PGN says.

use std::ops::Range;

use shakmaty::CastlingMode;

use super::buffer::{Group, Value};
use super::days::days_of;
use super::parts::Listed;
use super::schema::{Column, Kind, Table};
use super::uci;
use crate::game::{Date, Game, Headers, Ply};
use crate::openings;
use crate::pgn;

/// The table.
pub(super) const TABLE: Table = Table {
    name: "games",
    columns: COLUMNS,
    sorted_by: &["ECO"],
};

/// Makes the table of columns: what each says, its name, its type, its meaning.
macro_rules! columns {
    ($($field:ident $name:literal $kind:ident $meaning:literal;)*) => {
        /// The columns in order. Names with a capital are those of PGN tags; lichess'
        /// public data set has them under the same names.
        pub const COLUMNS: &[Column] = &[$(Column::new($name, Kind::$kind, $meaning)),*];

        /// What each column says.
        const FIELDS: &[Field] = &[$(Field::$field),*];
    };
}

columns! {
    Number "number" Long "number of the game in the base";
    Tag "White" Name "player with the white pieces";
    Tag "Black" Name "player with the black pieces";
    Tag "WhiteElo" Int "rating of White";
    Tag "BlackElo" Int "rating of Black";
    Tag "WhiteTitle" Text "title of White, such as GM";
    Tag "BlackTitle" Text "title of Black";
    Tag "WhiteTeam" Text "team of White";
    Tag "BlackTeam" Text "team of Black";
    Tag "WhiteRatingDiff" Int "points that White won by the game";
    Tag "BlackRatingDiff" Int "points that Black won by the game";
    Tag "Result" Text "1-0, 0-1, 1/2-1/2 or *";
    Tag "Date" Date "day of the game, if day, month and year are known";
    Month "month" Int "month of the game";
    Day "day" Int "day of the month";
    Tag "UTCDate" Date "day of the game by universal time";
    Tag "UTCTime" Text "time of the game by universal time";
    Tag "ECO" Text "opening code, such as B90";
    Tag "Opening" Text "name of the opening, where the game has the tag";
    OpeningName "opening_name" Text "name of the last named position of the game";
    Tag "Event" Text "tournament or match";
    Tag "Site" Text "place of the event";
    Tag "EventDate" Date "first day of the event, if it is known to the day";
    Round "round" Int "round";
    Subround "subround" Int "game within the round";
    Tag "Annotator" Text "annotator";
    Tag "SourceTitle" Text "publication that the game was taken from";
    Tag "Source" Text "publisher of it";
    Tag "Termination" Text "how the game ended, where the game has the tag";
    Tag "TimeControl" Text "time control, where the game has the tag";
    Tag "Variant" Text "Chess960; NULL for chess";
    Tag "FEN" Text "start position, if it is set up";
    Plies "plies" Int "number of moves of both sides in the main line";
    Moves "moves" Int "number of moves, as headers.tsv has it";
    Medals "medals" Int "medals, one bit each";
    Deleted "deleted" Flag "whether the game is marked deleted";
    OtherTags "tags" Tags "all tags that no other column holds";
    MovesUci "moves_uci" Moves "moves of the main line, such as e2e4";
    Movetext "movetext" LongText "moves with variations and remarks as in PGN";
}

/// What a column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Number,
    Month,
    Day,
    Round,
    Subround,
    Plies,
    Moves,
    Medals,
    Deleted,
    OpeningName,
    OtherTags,
    MovesUci,
    Movetext,
    /// The tag with the name of the column.
    Tag,
}

/// Number of tags of games before that are remembered.
const MOST_GUESSES: usize = 64;

/// Number of these that a game may lack, one after the other.
const MOST_SKIPPED: usize = 8;

/// Appends games to a row group.
#[derive(Debug)]
pub(super) struct Rows {
    /// Names and columns of the tags of games before, in the order of the tags: most
    /// games have the same tags.
    guesses: Vec<(Vec<u8>, Option<usize>)>,
    /// Values of the tags of a game, unescaped, by column.
    tags: Vec<Option<Range<usize>>>,
    others: Vec<(Range<usize>, Range<usize>)>,
    /// Names and values of the tags.
    bytes: Vec<u8>,
    moves: Vec<u16>,
    /// The tag `Round` as `round` and `subround` say it.
    round: Vec<u8>,
    date: Vec<u8>,
}

impl Rows {
    pub(super) fn new() -> Rows {
        Rows {
            guesses: Vec::new(),
            tags: Vec::new(),
            others: Vec::new(),
            bytes: Vec::new(),
            moves: Vec::new(),
            round: Vec::new(),
            date: Vec::new(),
        }
    }

    /// Appends a game: its headers, what was read of it, and its PGN.
    /// `year` is that of the file, and `place` where the row belongs in it.
    pub(super) fn push(
        &mut self,
        (place, listed): (u32, Listed),
        year: u16,
        game: &Game,
        text: &mut [u8],
        group: &mut Group,
    ) {
        let length = self.read_tags(text).len();
        let (_, behind) = text.split_at_mut(text.len() - length);
        for byte in &mut *behind {
            *byte = if *byte == b'\n' { b' ' } else { *byte };
        }
        let mode = CastlingMode::from_chess960(game.start.is_chess960);
        let code = |ply: &Ply| uci::code(ply.mv, mode);
        self.moves.clear();
        if let Some(plies) = game.tree.only_line() {
            self.moves.extend(plies.iter().map(code));
        } else {
            let plies = game.tree.main_line().filter_map(|id| game.tree.ply(id));
            self.moves.extend(plies.map(code));
        }
        self.write_derived(&game.headers, year);
        let told = GameFacts {
            rows: self,
            listed,
            headers: &game.headers,
            opening: openings::of_game(game).map(|opening| opening.name),
            movetext: behind.trim_ascii(),
        };
        let tags: Vec<Value<'_>> = told.tags().collect();
        let others = told.other_tags(&tags);
        let values = tags.iter().zip(FIELDS);
        group.push(
            place,
            values.map(|(&tag, &field)| match field {
                Field::Tag => tag,
                field => told.value(field, &others),
            }),
        );
    }

    /// Reads the tag pairs of a game; returns the text behind them.
    fn read_tags<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        self.tags.clear();
        self.tags.resize(COLUMNS.len(), None);
        self.others.clear();
        self.bytes.clear();
        let mut rest = text;
        let mut number = 0;
        while let Some((line, behind)) = first_line(rest)
            && let Some((name, value)) = tag_of(line)
        {
            rest = behind;
            let name_begin = self.bytes.len();
            self.bytes.extend_from_slice(name);
            let name_end = self.bytes.len();
            append_unescaped(value, &mut self.bytes);
            let value = name_end..self.bytes.len();
            let column = self.column_of(&mut number, name);
            match column.and_then(|column| self.tags.get_mut(column)) {
                Some(slot @ None) => *slot = Some(value),
                _ => self.others.push((name_begin..name_end, value)),
            }
        }
        rest
    }

    /// The column of the tag with this name, which is probably that of the guess
    /// `number`; that is set to the next one.
    fn column_of(&mut self, number: &mut usize, name: &[u8]) -> Option<usize> {
        let guesses = self.guesses.iter().enumerate();
        // Some games have a tag less.
        let mut guesses = guesses.skip(*number).take(MOST_SKIPPED);
        if let Some((at, (_, column))) = guesses.find(|(_, (guess, _))| guess == name) {
            *number = at + 1;
            return *column;
        }
        let is_it = |column: &Column| column.name.as_bytes() == name;
        let found = COLUMNS.iter().position(is_it);
        if self.guesses.len() < MOST_GUESSES {
            let at = (*number).min(self.guesses.len());
            self.guesses.insert(at, (name.to_vec(), found));
            *number = at + 1;
        }
        found
    }

    /// Writes the tags that the columns with numbers stand for.
    fn write_derived(&mut self, headers: &Headers, year: u16) {
        self.round.clear();
        pgn::append_round(headers.round, headers.subround, &mut self.round);
        self.date.clear();
        let date = Date {
            year,
            ..headers.date
        };
        date.append_to(&mut self.date);
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }
}

/// The first line, without its end, and what is behind it.
fn first_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Name and value of a tag pair that cbfs wrote; the value may have escapes.
fn tag_of(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let pair = line.strip_prefix(b"[")?.strip_suffix(b"\"]")?;
    let blank = pair.iter().position(|&byte| byte == b' ')?;
    let (name, value) = pair.split_at_checked(blank)?;
    Some((name, value.strip_prefix(b" \"")?))
}

fn append_unescaped(value: &[u8], out: &mut Vec<u8>) {
    if !value.contains(&b'\\') {
        return out.extend_from_slice(value);
    }
    let mut is_escaped = false;
    for &byte in value {
        is_escaped = byte == b'\\' && !is_escaped;
        if !is_escaped {
            out.push(byte);
        }
    }
}

/// What is known of a game.
struct GameFacts<'a> {
    rows: &'a Rows,
    listed: Listed,
    headers: &'a Headers,
    opening: Option<&'static str>,
    movetext: &'a [u8],
}

impl GameFacts<'_> {
    /// The value of a column that is no tag.
    fn value<'v>(&'v self, field: Field, others: &'v [(&'v [u8], &'v [u8])]) -> Value<'v> {
        let (listed, headers) = (self.listed, self.headers);
        let known = |number: u8| Some(i32::from(number)).filter(|&number| number != 0);
        match field {
            Field::Number => Value::Long(listed.id.0.into()),
            Field::Month => known(headers.date.month).into(),
            Field::Day => known(headers.date.day).into(),
            Field::Round => known(headers.round).into(),
            Field::Subround => known(headers.subround).into(),
            Field::Plies => Value::Int(self.plies()),
            Field::Moves => Value::Int(listed.moves.into()),
            Field::Medals => Value::Int(headers.medals.into()),
            Field::Deleted => Value::Flag(listed.is_deleted),
            Field::OpeningName => self
                .opening
                .map_or(Value::Null, |name| Value::Text(name.as_bytes())),
            Field::OtherTags => Value::Tags(others),
            Field::MovesUci => Value::Moves(&self.rows.moves),
            Field::Movetext => Value::Text(self.movetext),
            Field::Tag => Value::Null,
        }
    }

    /// The values of all columns that are tags; NULL for others.
    fn tags(&self) -> impl Iterator<Item = Value<'_>> {
        let columns = COLUMNS.iter().zip(&self.rows.tags);
        columns.map(|(column, value)| match value {
            Some(range) => typed(column, self.rows.bytes(range)),
            None => Value::Null,
        })
    }

    fn plies(&self) -> i32 {
        i32::try_from(self.rows.moves.len()).unwrap_or(i32::MAX)
    }

    /// The tags that no other column holds.
    fn other_tags(&self, tags: &[Value<'_>]) -> Vec<(&[u8], &[u8])> {
        let rows = self.rows;
        let others = rows.others.iter();
        let others = others.map(|(name, value)| (rows.bytes(name), rows.bytes(value)));
        let columns = COLUMNS.iter().zip(&rows.tags).zip(tags);
        let unfit = columns.filter_map(|((column, value), typed)| {
            let value = rows.bytes(value.as_ref()?);
            let is_held = *typed != Value::Null || is_unknown(column, value);
            (!is_held).then_some((column.name.as_bytes(), value))
        });
        others
            .chain(unfit)
            .filter(|&(name, value)| !self.is_told(name, value))
            .collect()
    }

    /// Whether other columns say what this tag says.
    fn is_told(&self, name: &[u8], value: &[u8]) -> bool {
        match name {
            b"Round" => value == self.rows.round,
            b"Date" => value == self.rows.date,
            b"PlyCount" => exact_number(false, value) == Some(self.plies()),
            b"SetUp" => value == b"1",
            _ => false,
        }
    }
}

/// The value of a tag in the type of its column; NULL if that does not hold
/// exactly what the tag says.
fn typed<'v>(column: &Column, value: &'v [u8]) -> Value<'v> {
    if is_unknown(column, value) {
        return Value::Null;
    }
    match column.kind {
        Kind::Int => exact_number(is_signed(column.name), value).into(),
        Kind::Date => exact_date(value).into(),
        _ => Value::Text(value),
    }
}

/// Whether a value says that nothing is known.
fn is_unknown(column: &Column, value: &[u8]) -> bool {
    value == b"?" && matches!(column.name, "White" | "Black" | "Event" | "Site")
}

/// A number as tags have it: without leading zeros, and with a sign only where
/// lichess writes one.
fn exact_number(has_sign: bool, value: &[u8]) -> Option<i32> {
    let (is_signed_so, digits) = match value {
        [b'+', digits @ ..] => (has_sign, digits),
        [b'-', digits @ ..] => (digits != b"0", digits),
        digits => (!has_sign, digits),
    };
    let is_plain = matches!(digits, [b'0'] | [b'1'..=b'9', ..]);
    let value = std::str::from_utf8(value).ok()?;
    value.parse().ok().filter(|_| is_signed_so && is_plain)
}

/// Whether numbers of the tag have a sign: `+7`.
pub(super) fn is_signed(tag: &str) -> bool {
    tag.ends_with("RatingDiff")
}

/// A date that is complete: `2016.07.26`.
fn exact_date(value: &[u8]) -> Option<i32> {
    days_of(Date::read(value)?)
}
