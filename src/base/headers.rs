//! What the headers of a game tell, as columns: once as the lines of
//! `headers.tsv`, once as extended attributes.
//!
//! A column says what the tag of the game's PGN says, where there is one:
//! what is not known of the roster is `?` or `????.??.??`, all else that is
//! not known is empty. No game is decoded for it.

mod table;

pub use table::HeadersTsv;

use std::marker::PhantomData;
use std::sync::Arc;

use super::{Base, Error};
use crate::cbh::{EntityId, EntityKind, EntityNames, Summary};
use crate::pgn;

/// What the names of attributes begin with.
const PREFIX: &str = "user.cbh.";

/// The output of a line: its bytes, or only their number.
trait Output {
    /// Appends the text of a name.
    fn text(&mut self, text: &str);

    /// Where all else is appended.
    fn bytes(&mut self) -> &mut Vec<u8>;
}

impl Output for Vec<u8> {
    /// Control characters become blanks: here they would begin another field or
    /// line, and tags have blanks for them too.
    fn text(&mut self, text: &str) {
        let start = self.len();
        self.extend_from_slice(text.as_bytes());
        for byte in self.get_mut(start..).unwrap_or_default() {
            let is_control = *byte < b' ' || *byte == 0x7f;
            *byte = if is_control { b' ' } else { *byte };
        }
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        self
    }
}

/// The length of lines, for which no name is copied.
#[derive(Debug, Default)]
struct LineLengths {
    names: u64,
    rest: Vec<u8>,
}

impl Output for LineLengths {
    fn text(&mut self, text: &str) {
        self.names += text.len() as u64;
    }

    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.rest
    }
}

impl LineLengths {
    /// How long the lines are that were appended since the last call.
    fn take(&mut self) -> u64 {
        let rest = self.rest.len() as u64;
        self.rest.clear();
        std::mem::take(&mut self.names) + rest
    }
}

/// One column.
struct Column<O> {
    name: &'static str,
    /// Appends what it says of a game.
    append: fn(&HeaderRow<'_>, &mut O),
}

/// The columns in their order, for one kind of output.
struct Columns<O>(PhantomData<O>);

impl<O: Output> Columns<O> {
    /// The first is the file's name already and no attribute.
    const ALL: [Column<O>; 19] = [
        column("number", |row, out| number(row.summary.id.0, out)),
        column("white", |row, out| text_or_unknown(row.white, out)),
        column("black", |row, out| text_or_unknown(row.black, out)),
        column("white_elo", |row, out| known(row.summary.white_elo, out)),
        column("black_elo", |row, out| known(row.summary.black_elo, out)),
        column("result", |row, out| {
            let result = row.summary.result.unwrap_or_default();
            out.bytes().extend_from_slice(result.pgn().as_bytes());
        }),
        column("date", |row, out| row.summary.date.append_to(out.bytes())),
        column("eco", |row, out| {
            if let Some(eco) = row.summary.eco {
                out.bytes().extend_from_slice(&eco.bytes());
            }
        }),
        column("event", |row, out| text_or_unknown(row.event, out)),
        column("site", |row, out| text_or_unknown(row.site, out)),
        column("round", |row, out| known(row.summary.round, out)),
        column("subround", |row, out| known(row.summary.subround, out)),
        column("annotator", |row, out| out.text(row.annotator)),
        column("source", |row, out| out.text(row.source)),
        column("white_team", |row, out| team(row.white_team, out)),
        column("black_team", |row, out| team(row.black_team, out)),
        column("moves", |row, out| number(row.summary.move_count, out)),
        column("medals", |row, out| number(row.summary.medals, out)),
        column("deleted", |row, out| number(row.summary.is_deleted, out)),
    ];
}

const fn column<O>(name: &'static str, append: fn(&HeaderRow<'_>, &mut O)) -> Column<O> {
    Column { name, append }
}

/// Appends the line of column names.
pub fn append_names(out: &mut Vec<u8>) {
    for column in &Columns::<Vec<u8>>::ALL {
        out.extend_from_slice(column.name.as_bytes());
        out.push(b'\t');
    }
    end_line(out);
}

/// The tabulator after the last column becomes the end of the line.
fn end_line(out: &mut [u8]) {
    if let Some(last) = out.last_mut() {
        *last = b'\n';
    }
}

/// The title of a team, and which of its club it is.
type Team<'n> = (&'n str, u32);

/// One game: what its record says, and the names that it refers to.
#[derive(Debug)]
pub struct HeaderRow<'n> {
    summary: &'n Summary,
    white: &'n str,
    black: &'n str,
    event: &'n str,
    site: &'n str,
    annotator: &'n str,
    source: &'n str,
    white_team: Team<'n>,
    black_team: Team<'n>,
}

impl HeaderRow<'_> {
    /// Appends the game's line.
    pub fn append(&self, out: &mut Vec<u8>) {
        self.append_to(out);
    }

    fn append_to<O: Output>(&self, out: &mut O) {
        for column in &Columns::ALL {
            (column.append)(self, out);
            out.bytes().push(b'\t');
        }
        end_line(out.bytes());
    }

    /// The attribute of this name, unless it says nothing.
    pub fn attribute(&self, name: &[u8]) -> Option<Vec<u8>> {
        let name = name.strip_prefix(PREFIX.as_bytes())?;
        let column = attributes().find(|column| column.name.as_bytes() == name)?;
        let mut value = Vec::new();
        (column.append)(self, &mut value);
        (!value.is_empty()).then_some(value)
    }

    /// Names the attributes that say something.
    pub fn list_attributes(&self, listing: &mut dyn FnMut(&str)) {
        let mut value = Vec::new();
        for column in attributes() {
            value.clear();
            (column.append)(self, &mut value);
            if !value.is_empty() {
                listing(&format!("{PREFIX}{}", column.name));
            }
        }
    }
}

/// The columns that are attributes.
fn attributes() -> impl Iterator<Item = &'static Column<Vec<u8>>> {
    Columns::ALL.iter().skip(1)
}

fn number(number: impl Into<u32>, out: &mut impl Output) {
    pgn::append_decimal(number.into(), out.bytes());
}

/// A number of which 0 says that it is not known.
fn known(value: impl Into<u32>, out: &mut impl Output) {
    let value = value.into();
    if value != 0 {
        number(value, out);
    }
}

fn text_or_unknown(value: &str, out: &mut impl Output) {
    out.text(if value.is_empty() { "?" } else { value });
}

/// The second and later teams of a club are numbered, as in the tag.
fn team((title, number): Team<'_>, out: &mut impl Output) {
    out.text(title);
    if let Some(number) = pgn::roman(number).filter(|_| !title.is_empty()) {
        out.bytes().push(b' ');
        out.bytes().extend_from_slice(number.as_bytes());
    }
}

/// The names that records refer to.
#[derive(Debug)]
pub struct HeaderNames {
    players: Arc<EntityNames>,
    tournaments: Arc<EntityNames>,
    annotators: Arc<EntityNames>,
    sources: Arc<EntityNames>,
    teams: Arc<EntityNames>,
}

impl HeaderNames {
    /// The names of `base`, read once and kept there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn of(base: &dyn Base) -> Result<HeaderNames, Error> {
        Ok(HeaderNames {
            players: base.entity_names(EntityKind::Player)?,
            tournaments: base.entity_names(EntityKind::Tournament)?,
            annotators: base.entity_names(EntityKind::Annotator)?,
            sources: base.entity_names(EntityKind::Source)?,
            teams: base.entity_names(EntityKind::Team)?,
        })
    }

    /// What can be told of this game. Who is not to be found has no name.
    pub fn row<'n>(&'n self, summary: &'n Summary) -> HeaderRow<'n> {
        let team = |id: Option<EntityId>| {
            let id = id?;
            Some((self.teams.get(id)?, self.teams.number(id)?))
        };
        HeaderRow {
            white: self.players.get(summary.white).unwrap_or_default(),
            black: self.players.get(summary.black).unwrap_or_default(),
            event: self
                .tournaments
                .title(summary.tournament)
                .unwrap_or_default(),
            site: self
                .tournaments
                .place(summary.tournament)
                .unwrap_or_default(),
            annotator: self.annotators.get(summary.annotator).unwrap_or_default(),
            source: self.sources.get(summary.source).unwrap_or_default(),
            white_team: team(summary.white_team).unwrap_or_default(),
            black_team: team(summary.black_team).unwrap_or_default(),
            summary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::GameId;
    use crate::game::{Date, Eco, GameResult};

    const SUMMARY: Summary = Summary {
        id: GameId(123),
        is_deleted: true,
        white: EntityId(1),
        black: EntityId(2),
        tournament: EntityId(0),
        annotator: EntityId(0),
        source: EntityId(0),
        white_team: None,
        black_team: None,
        date: Date::UNKNOWN,
        result: None,
        line_evaluation: 16,
        round: 0,
        subround: 0,
        white_elo: 0,
        black_elo: 0,
        eco: None,
        medals: 0,
        flags: Some(0),
        move_count: 0,
    };

    fn unknown(summary: &Summary) -> HeaderRow<'_> {
        HeaderRow {
            summary,
            white: "",
            black: "",
            event: "",
            site: "",
            annotator: "",
            source: "",
            white_team: ("", 0),
            black_team: ("", 0),
        }
    }

    fn line(row: &HeaderRow<'_>) -> String {
        let mut out = Vec::new();
        row.append(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_columns_stand_in_their_order() {
        let summary = Summary {
            is_deleted: false,
            date: Date {
                year: 2016,
                month: 7,
                day: 26,
            },
            result: Some(GameResult::WhiteWonByForfeit),
            round: 5,
            subround: 2,
            white_elo: 2798,
            black_elo: 2759,
            eco: Eco::new(289, 8),
            medals: 65,
            move_count: 47,
            ..SUMMARY
        };
        let row = HeaderRow {
            white: "Vachier-Lagrave, Maxime",
            black: "Svidler, Peter",
            event: "49th Biel GM",
            site: "Biel",
            annotator: "Marin",
            source: "TWIC 1134",
            white_team: ("SG Porz", 1),
            black_team: ("SG Porz", 2),
            ..unknown(&summary)
        };
        let mut names = Vec::new();
        append_names(&mut names);
        let names = String::from_utf8(names).unwrap();
        let expected = "number white black white_elo black_elo result date eco event site round \
            subround annotator source white_team black_team moves medals deleted\n";
        assert_eq!(names, expected.replace(' ', "\t"));
        assert_eq!(
            line(&row),
            "123\tVachier-Lagrave, Maxime\tSvidler, Peter\t2798\t2759\t1-0\t2016.07.26\tC89\t\
            49th Biel GM\tBiel\t5\t2\tMarin\tTWIC 1134\tSG Porz\tSG Porz II\t47\t65\t0\n"
        );
    }

    #[test]
    fn unknown_headers_are_as_in_tags_or_empty() {
        assert_eq!(
            line(&unknown(&SUMMARY)),
            "123\t?\t?\t\t\t*\t????.??.??\t\t?\t?\t\t\t\t\t\t\t0\t0\t1\n"
        );
    }

    #[test]
    fn a_name_is_one_field_whatever_is_in_it() {
        let row = HeaderRow {
            white: "a\tb\r\nc",
            event: "d\u{1}e\u{7f}é \"f\"",
            ..unknown(&SUMMARY)
        };
        let line = line(&row);
        let fields: Vec<_> = line.split('\t').collect();
        assert_eq!(fields.len(), Columns::<Vec<u8>>::ALL.len());
        assert_eq!((fields[1], fields[8]), ("a b  c", "d e é \"f\""));
    }

    #[test]
    fn an_attribute_is_a_field_that_says_something() {
        let row = HeaderRow {
            annotator: "Marin",
            ..unknown(&SUMMARY)
        };
        assert_eq!(row.attribute(b"user.cbh.annotator").unwrap(), b"Marin");
        for name in [
            "user.cbh.source",
            "user.cbh.number",
            "annotator",
            "user.cbh.x",
        ] {
            assert_eq!(row.attribute(name.as_bytes()), None, "{name}");
        }
        let mut names = Vec::new();
        row.list_attributes(&mut |name| names.push(name.to_owned()));
        let expected = [
            "white",
            "black",
            "result",
            "date",
            "event",
            "site",
            "annotator",
        ];
        let numbers = ["moves", "medals", "deleted"];
        let expected = expected.iter().chain(&numbers);
        assert_eq!(
            names,
            expected
                .map(|name| format!("{PREFIX}{name}"))
                .collect::<Vec<_>>()
        );
    }
}
