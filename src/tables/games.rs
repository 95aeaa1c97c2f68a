//! The table of games: a row per game.
//!
//! Each tag of a game's PGN is in exactly one place: in the column of its name,
//! if the type of the column holds exactly what it says; or said by other
//! columns, as `Round` by `round` and `subround`; or else in the column `tags`.
//! So the rows of a game say what its PGN says.

use std::collections::HashSet;
use std::ops::Range;

use shakmaty::CastlingMode;

use super::buffer::{Cell, RowGroup};
use super::parts::PartGame;
use super::schema::{Column, ColumnKind, Table};
use super::uci;
use crate::calendar::days_of;
use crate::cbh::Decoded;
use crate::game::{Date, Game, Headers, Ply};
use crate::openings;
use crate::pgn::{self, TagSink};

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
        pub const COLUMNS: &[Column] = &[$(Column::new($name, ColumnKind::$kind, $meaning)),*];

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
    Moves "moves" Int "number of moves, as headers.tsv has it: 255 are 255 or more";
    Medals "medals" Int "medals, one bit each";
    Deleted "deleted" Flag "whether the game is marked deleted";
    OtherTags "tags" Tags "all tags that no other column holds";
    MovesUci "moves_uci" Moves "moves of the main line, such as e2e4";
    Movetext "movetext" LongText "moves with variations and remarks as in PGN";
}

/// Content of a column.
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

/// Text of so many bytes is kept as a buffer for the next game.
const MOST_KEPT: usize = 1 << 20;

/// Number of these that a game may lack, one after the other.
const MOST_SKIPPED: usize = 8;

/// Appends games to a row group.
#[derive(Debug)]
pub(super) struct Rows {
    /// The columns that are no tags.
    derived: Vec<(usize, Field)>,
    tags: TagColumns,
    moves: Vec<u16>,
    movetext: Vec<u8>,
    /// The tag `Round` as `round` and `subround` say it.
    round: Vec<u8>,
    date: Vec<u8>,
}

impl Rows {
    pub(super) fn new() -> Rows {
        let fields = FIELDS.iter().copied().enumerate();
        Rows {
            derived: fields.filter(|(_, field)| *field != Field::Tag).collect(),
            tags: TagColumns::default(),
            moves: Vec::new(),
            movetext: Vec::new(),
            round: Vec::new(),
            date: Vec::new(),
        }
    }

    /// Appends a game: its headers, and what was read of it. `year` is that of the
    /// file, and `place` where the row belongs in it.
    pub(super) fn push(
        &mut self,
        (place, listed): (u32, PartGame),
        year: u16,
        decoded: &Decoded,
        is_clean: bool,
        group: &mut RowGroup,
    ) {
        let Decoded { game, defects, .. } = decoded;
        self.tags.clear();
        self.movetext.clear();
        pgn::encode_parts(is_clean, game, defects, &mut self.tags, &mut self.movetext);
        for byte in &mut self.movetext {
            *byte = if *byte == b'\n' { b' ' } else { *byte };
        }
        self.write_moves(game);
        self.write_derived(&game.headers, year);
        let told = GameRow {
            rows: self,
            listed,
            headers: &game.headers,
            opening: openings::of_game(game).map(|opening| opening.name),
        };
        told.push(place, group);
        if self.movetext.capacity() > MOST_KEPT {
            self.movetext = Vec::new();
        }
    }

    fn write_moves(&mut self, game: &Game) {
        let mode = CastlingMode::from_chess960(game.start.is_chess960);
        let code = |ply: &Ply| uci::code(ply.mv, mode);
        self.moves.clear();
        if let Some(plies) = game.tree.only_line() {
            self.moves.extend(plies.iter().map(code));
        } else {
            let plies = game.tree.main_line().filter_map(|id| game.tree.ply(id));
            self.moves.extend(plies.map(code));
        }
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
}

/// The tags of a game.
#[derive(Debug, Default)]
struct TagColumns {
    /// Names and columns of the tags of games before, in the order of the tags: most
    /// games have the same tags.
    guesses: Vec<(Vec<u8>, Option<usize>)>,
    /// The guess that the next tag probably is.
    next: usize,
    /// Values of those that have a column, and the column.
    known: Vec<(usize, Range<usize>)>,
    /// Names and values of others.
    others: Vec<(Range<usize>, Range<usize>)>,
    /// All names of others, and all values.
    bytes: Vec<u8>,
    /// Where name and value of the last tag begin, and its column.
    last: (usize, usize, Option<usize>),
}

impl TagColumns {
    fn clear(&mut self) {
        self.next = 0;
        self.known.clear();
        self.others.clear();
        self.bytes.clear();
    }

    /// The column of the tag with this name.
    fn column_of(&mut self, name: &[u8]) -> Option<usize> {
        let guesses = self.guesses.iter().enumerate();
        // Some games have a tag less.
        let mut guesses = guesses.skip(self.next).take(MOST_SKIPPED);
        if let Some((at, (_, column))) = guesses.find(|(_, (guess, _))| guess == name) {
            self.next = at + 1;
            return *column;
        }
        let is_it = |(column, field): (&Column, &Field)| {
            *field == Field::Tag && column.name.as_bytes() == name
        };
        let found = COLUMNS.iter().zip(FIELDS).position(is_it);
        if self.guesses.len() < MOST_GUESSES {
            let at = self.next.min(self.guesses.len());
            self.guesses.insert(at, (name.to_vec(), found));
            self.next = at + 1;
        }
        found
    }

    fn bytes(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Columns and values of tags that have a column.
    fn known(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let known = self.known.iter();
        known.map(|(column, value)| (*column, self.bytes(value)))
    }

    /// Names and values of tags that have none.
    fn others(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let others = self.others.iter();
        others.map(|(name, value)| (self.bytes(name), self.bytes(value)))
    }
}

impl TagSink for TagColumns {
    fn begin(&mut self, name: &str) {
        let name = name.as_bytes();
        let column = self.column_of(name);
        let is_first = |column: &usize| self.known.iter().all(|(known, _)| known != column);
        let column = column.filter(is_first);
        let begin = self.bytes.len();
        if column.is_none() {
            self.bytes.extend_from_slice(name);
        }
        self.last = (begin, self.bytes.len(), column);
    }

    fn value(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn end(&mut self) {
        let (name, value, column) = self.last;
        let end = self.bytes.len();
        match column {
            Some(column) => self.known.push((column, value..end)),
            None => self.others.push((name..value, value..end)),
        }
    }

    fn append(text: &str, value: &mut Vec<u8>) {
        append_plain(text, value);
    }

    fn names(&self) -> HashSet<Vec<u8>> {
        let known = self.known().filter_map(|(column, _)| COLUMNS.get(column));
        let known = known.map(|column| column.name.as_bytes());
        let others = self.others().map(|(name, _)| name);
        known.chain(others).map(<[u8]>::to_vec).collect()
    }
}

/// Data of a game, for its row.
struct GameRow<'a> {
    rows: &'a Rows,
    listed: PartGame,
    headers: &'a Headers,
    opening: Option<&'static str>,
}

impl GameRow<'_> {
    /// Appends the row.
    fn push(&self, place: u32, group: &mut RowGroup) {
        let mut row = group.begin(place);
        let mut others = Vec::new();
        for (at, value) in self.rows.tags.known() {
            let Some(column) = COLUMNS.get(at) else {
                continue;
            };
            match typed(column, value) {
                Some(held) => row.put(at, held),
                None => others.push((column.name.as_bytes(), value)),
            }
        }
        let is_untold = |&(name, value): &(&[u8], &[u8])| !self.is_told(name, value);
        let unfit = std::mem::take(&mut others);
        others.extend(self.rows.tags.others().chain(unfit).filter(is_untold));
        for &(at, field) in &self.rows.derived {
            row.put(at, self.value(field, &others));
        }
    }

    /// The value of a column that is no tag.
    fn value<'v>(&'v self, field: Field, others: &'v [(&'v [u8], &'v [u8])]) -> Cell<'v> {
        let (listed, headers) = (self.listed, self.headers);
        let known = |number: u8| Some(i32::from(number)).filter(|&number| number != 0);
        match field {
            Field::Number => Cell::Long(listed.id.0.into()),
            Field::Month => known(headers.date.month).into(),
            Field::Day => known(headers.date.day).into(),
            Field::Round => known(headers.round).into(),
            Field::Subround => known(headers.subround).into(),
            Field::Plies => Cell::Int(self.plies()),
            Field::Moves => Cell::Int(listed.moves.into()),
            Field::Medals => Cell::Int(headers.medals.into()),
            Field::Deleted => Cell::Flag(listed.is_deleted),
            Field::OpeningName => self
                .opening
                .map_or(Cell::Null, |name| Cell::Text(name.as_bytes())),
            Field::OtherTags => Cell::Tags(others),
            Field::MovesUci => Cell::Moves(&self.rows.moves),
            Field::Movetext => Cell::Text(self.rows.movetext.trim_ascii()),
            Field::Tag => Cell::Null,
        }
    }

    fn plies(&self) -> i32 {
        i32::try_from(self.rows.moves.len()).unwrap_or(i32::MAX)
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

/// The value of a tag in the type of its column; `None` if that does not hold
/// exactly what the tag says.
fn typed<'v>(column: &Column, value: &'v [u8]) -> Option<Cell<'v>> {
    match column.kind {
        ColumnKind::Int => exact_number(is_signed(column.name), value).map(Cell::Int),
        ColumnKind::Date => exact_date(value).map(Cell::Int),
        _ if is_unknown(column, value) => Some(Cell::Null),
        _ => Some(Cell::Text(value)),
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
    let Date { year, month, day } = Date::read(value)?;
    days_of((year, month, day))
}

/// Appends a text as a reader of PGN would find it in a tag: control characters
/// are blanks.
fn append_plain(text: &str, value: &mut Vec<u8>) {
    let begin = value.len();
    value.extend_from_slice(text.as_bytes());
    for byte in value.get_mut(begin..).unwrap_or_default() {
        if matches!(byte, 0..b' ' | 0x7f) {
            *byte = b' ';
        }
    }
}
