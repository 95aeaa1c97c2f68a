//! Tag pairs: the headers of a game.
//!
//! The order is that of ChessBase's own exports: the seven tag roster, the
//! opening code and ratings, the start position, the event, the source, the
//! teams; then the private tags, and those that we do not know.

mod date_words;
mod decode;
mod sink;
mod value;

pub(super) use sink::EventLines;
pub use sink::{EventPart, TagSink};

pub(super) use decode::{begins_game, decode, is_chess960};

use data_encoding::HEXLOWER;
use shakmaty::Color;

use super::command::{clock_tag, time_control_tag};
use super::comment::language_name;
use super::exact;
use super::movetext::append_decimal;
use super::private_tags::PrivateTags;
use crate::game::{
    Annotation, Annotations, Date, Eco, EventKind, Game, GameLabel, GameResult, Headers, Nation,
    PlayerName, PlyId, RatingType, Source, Team, Tournament,
};
use sink::TagLines;

/// Appends all tag pairs of `game`, a line each. If `event` is given, lines of the game
/// before are used again, and those of this one kept.
pub(super) fn encode(
    game: &Game,
    private: &PrivateTags,
    event: Option<&mut EventLines>,
    out: &mut Vec<u8>,
) {
    give(game, private, &mut TagLines::new(&game.headers, event, out));
}

/// Gives all tag pairs of `game`, in their order.
pub(super) fn give<S: TagSink>(game: &Game, private: &PrivateTags, sink: &mut S) {
    let mut tags = TagWriter { sink };
    let headers = &game.headers;
    let round = whole_round(game);
    tags.roster(headers, round);
    tags.rating_and_opening(headers);
    tags.start(game);
    sink.of_event(EventPart::Details, |sink| {
        let mut tags = TagWriter { sink };
        tags.event(&headers.tournament);
        tags.source(&headers.source);
    });
    let mut tags = TagWriter { sink };
    tags.teams(headers);
    tags.clocks(game);
    if !private.is_clean {
        tags.private(headers, medals_of(&game.annotations));
        tags.remarks(private);
    }
    if !game.foreign_tags.is_empty() {
        tags.foreign(game, round, private.is_clean);
    }
}

/// Prefix for the name of a tag that would otherwise be read as a header.
const OTHER: &str = "CbhOther";

/// The round as it was written, as long as the headers have what can be told
/// of it: `Final`, `5.2.1`.
fn whole_round(game: &Game) -> Option<&str> {
    let Headers {
        round, subround, ..
    } = game.headers;
    let mut rounds = game.foreign_tags.iter().filter(|(name, _)| name == "Round");
    let is_told =
        |value: &str| !value::is_plain_round(value) && value::round(value) == (round, subround);
    let (_, value) = rounds.next()?;
    is_told(value).then_some(value)
}

/// The languages a label is given in, as private tags call them.
const TAG_NAMES: [&str; GameLabel::LANGUAGES] = [
    "CbhTag", "CbhTagDe", "CbhTagFr", "CbhTagEs", "CbhTagIt", "CbhTagNl", "CbhTag7", "CbhTag8",
];

/// Whether a remark on the whole game stands in a tag.
pub(super) fn is_tag(remark: &Annotation) -> bool {
    match remark {
        Annotation::Clock(_, time) => clock_tag(*time).is_some(),
        Annotation::TimeControl(stages) => time_control_tag(stages).is_some(),
        _ => false,
    }
}

/// The medals that remarks tell of, and the tag need not.
pub(super) fn medals_of(annotations: &Annotations) -> u16 {
    let medals = annotations.iter().map(|(_, remark)| match remark {
        Annotation::Medals(medals) => (medals & 0xffff) as u16,
        _ => 0,
    });
    medals.fold(0, |all, medals| all | medals)
}

struct TagWriter<'s, S> {
    sink: &'s mut S,
}

impl<S: TagSink> TagWriter<'_, S> {
    fn roster(&mut self, headers: &Headers, round: Option<&str>) {
        self.sink.of_event(EventPart::Roster, |sink| {
            let mut tags = TagWriter { sink };
            tags.text_or_unknown("Event", &headers.tournament.title);
            tags.text_or_unknown("Site", &headers.tournament.place);
        });
        self.with("Date", |out| headers.date.append_to(out));
        self.with("Round", |out| match round {
            Some(round) => S::append(round, out),
            None => append_round(headers.round, headers.subround, out),
        });
        self.player("White", &headers.white);
        self.player("Black", &headers.black);
        self.with("Result", |out| {
            out.extend_from_slice(headers.result.pgn().as_bytes());
        });
    }

    fn rating_and_opening(&mut self, headers: &Headers) {
        if let Some(eco) = headers.eco {
            self.with("ECO", |out| out.extend_from_slice(&eco.bytes()));
        }
        self.number("WhiteElo", u32::from(headers.white_elo));
        self.number("BlackElo", u32::from(headers.black_elo));
        self.text("Annotator", &headers.annotator);
    }

    fn start(&mut self, game: &Game) {
        if game.start.is_chess960 {
            self.text("Variant", "Chess960");
        }
        if game.start.is_set_up {
            self.text("SetUp", "1");
            self.with("FEN", |out| match &game.start.written_fen {
                Some(fen) => S::append(fen, out),
                None => game.start.append_fen_to(out),
            });
        }
        let plies = game.tree.main_line_len();
        self.with("PlyCount", |out| {
            append_decimal(u32::try_from(plies).unwrap_or(u32::MAX), out);
        });
    }

    fn event(&mut self, tournament: &Tournament) {
        self.date("EventDate", tournament.start);
        self.date("EventEndDate", tournament.end);
        self.event_type(tournament);
        self.number("EventRounds", u32::from(tournament.rounds));
        self.nation("EventCountry", tournament.nation);
        self.number("EventCategory", u32::from(tournament.category));
    }

    /// The kind of event, whether teams met, and how fast it was:
    /// `swiss (blitz)`, `team-tourn`.
    fn event_type(&mut self, tournament: &Tournament) {
        let kind = tournament.kind.pgn().unwrap_or_default();
        let team = match (tournament.is_team_event, kind) {
            (false, _) | (true, "team") => "",
            (true, "") => "team",
            (true, _) => "team-",
        };
        let speeds = [
            (tournament.speed.blitz, "(blitz)"),
            (tournament.speed.rapid, "(rapid)"),
            (tournament.speed.correspondence, "(corr)"),
        ];
        let mut given = speeds.iter().filter(|(given, _)| *given).peekable();
        if team.is_empty() && kind.is_empty() && given.peek().is_none() {
            return;
        }
        self.with("EventType", |out| {
            let begin = out.len();
            S::append(team, out);
            S::append(kind, out);
            for (_, word) in given {
                if out.len() > begin {
                    out.push(b' ');
                }
                S::append(word, out);
            }
        });
    }

    fn source(&mut self, source: &Source) {
        self.text("SourceTitle", &source.title);
        self.text("Source", &source.publisher);
        self.date("SourceDate", source.published);
        self.number("SourceVersion", u32::from(source.version));
        self.date("SourceVersionDate", source.version_date);
        self.number("SourceQuality", u32::from(source.quality));
    }

    fn teams(&mut self, headers: &Headers) {
        let (white, black) = (&headers.white_team, &headers.black_team);
        self.team("WhiteTeam", white);
        self.team("BlackTeam", black);
        self.nation("WhiteTeamCountry", white.nation);
        self.nation("BlackTeamCountry", black.nation);
    }

    /// The team's title; the second and later teams of a club are numbered
    /// in Roman, as ChessBase exports them.
    fn team(&mut self, name: &str, team: &Team) {
        if team.title.is_empty() {
            return;
        }
        self.with(name, |out| {
            S::append(&team.title, out);
            if let Some(number) = roman(team.number) {
                out.push(b' ');
                out.extend_from_slice(number.as_bytes());
            }
        });
    }

    /// Final clocks and the time control, which are remarks on the game.
    fn clocks(&mut self, game: &Game) {
        let remarks = || game.annotations.on(PlyId::START);
        for (color, name) in [(Color::White, "WhiteClock"), (Color::Black, "BlackClock")] {
            let time = remarks().find_map(|remark| match remark {
                Annotation::Clock(side, time) if *side == color => clock_tag(*time),
                _ => None,
            });
            self.text(name, &time.unwrap_or_default());
        }
        let control = remarks().find_map(|remark| match remark {
            Annotation::TimeControl(stages) => time_control_tag(stages),
            _ => None,
        });
        self.text("TimeControl", &control.unwrap_or_default());
    }

    /// The foreign tags, behind the others. The first `round` stands there
    /// already.
    fn foreign(&mut self, game: &Game, round: Option<&str>, is_clean: bool) {
        let taken = self.sink.names();
        let mut round = round;
        for (name, value) in &game.foreign_tags {
            if name == "Round" && round.take().is_some() {
                continue;
            }
            if is_clean && name.starts_with("Cbh") {
                continue;
            }
            if decode::stays_foreign(name, value) && !taken.contains(name.as_bytes()) {
                self.with(name, |out| S::append(value, out));
            } else if !is_clean {
                self.with(&format!("{OTHER}{name}"), |out| S::append(value, out));
            }
        }
    }

    fn private(&mut self, headers: &Headers, told: u16) {
        if let Some(result) = headers.result.beyond_pgn() {
            self.text("CbhResult", result);
        }
        if headers.result == GameResult::Line {
            self.number("CbhLineEval", u32::from(headers.line_evaluation));
        }
        if let Some(sub_code) = headers.eco.map(Eco::sub_code).filter(|&code| code > 0) {
            self.with("CbhSubEco", |out| {
                out.extend_from_slice(&[b'0' + sub_code / 10, b'0' + sub_code % 10]);
            });
        }
        self.number("CbhMedals", u32::from(headers.medals & !told));
        self.number("CbhTopGame", u32::from(headers.is_top_game));
        self.rating_type("CbhWhiteEloType", headers.white_elo_type);
        self.rating_type("CbhBlackEloType", headers.black_elo_type);
        for (name, title) in TAG_NAMES.iter().zip(&headers.tag.titles) {
            self.text(name, title);
        }
        self.team_event(&headers.tournament);
        self.team_details("CbhWhiteTeam", &headers.white_team);
        self.team_details("CbhBlackTeam", &headers.black_team);
        self.name_parts("CbhWhite", &headers.white);
        self.name_parts("CbhBlack", &headers.black);
    }

    /// Writes the settings for all remarks.
    fn remarks(&mut self, private: &PrivateTags) {
        if private.style.language != Nation::NONE {
            self.text("CbhLang", &language_name(private.style.language));
        }
        self.number("CbhLead", u32::from(private.style.lead));
        self.text("CbhBefore", &private.before);
        for (at, form) in private.forms.iter().enumerate() {
            self.text(&format!("{}{}", exact::NAME, at + 1), form);
        }
    }

    /// `EventType "team"` is a kind of event. Where it stands for the mark
    /// that teams met, this says of what kind the event is.
    fn team_event(&mut self, tournament: &Tournament) {
        match tournament.kind {
            EventKind::Unknown if tournament.is_team_event => self.text("CbhTeamEvent", "none"),
            EventKind::Team if tournament.is_team_event => self.text("CbhTeamEvent", "team"),
            _ => {}
        }
    }

    /// What kind of rating it is, as stored, in hexadecimal; unless it is the
    /// usual one.
    fn rating_type(&mut self, name: &str, kind: RatingType) {
        if !kind.is_usual() {
            self.text(name, &HEXLOWER.encode(&kind.bytes));
        }
    }

    /// What a team has beyond its title and country: `number year`, the year
    /// of a season as `2015/16`.
    fn team_details(&mut self, name: &str, team: &Team) {
        if team.number == 0 && team.year == 0 && !team.is_season {
            return;
        }
        self.with(name, |out| {
            append_decimal(team.number, out);
            out.push(b' ');
            append_decimal(team.year, out);
            if team.is_season {
                let second = (team.year.saturating_add(1) % 100) as u8;
                out.extend_from_slice(&[b'/', b'0' + second / 10, b'0' + second % 10]);
            }
        });
    }

    /// The two parts of a name that cannot be told from the White or Black
    /// tag, as `last|first`.
    fn name_parts(&mut self, name: &str, player: &PlayerName) {
        if !survives_joining(player) {
            self.with(name, |out| {
                S::append(&player.last, out);
                out.push(b'|');
                S::append(&player.first, out);
            });
        }
    }

    fn player(&mut self, name: &str, player: &PlayerName) {
        self.with(name, |out| {
            match (player.last.as_str(), player.first.as_str()) {
                ("", "") => out.push(b'?'),
                (one, "") | ("", one) => S::append(one, out),
                (last, first) => {
                    S::append(last, out);
                    out.extend_from_slice(b", ");
                    S::append(first, out);
                }
            }
        });
    }

    fn text_or_unknown(&mut self, name: &str, value: &str) {
        self.text(name, if value.is_empty() { "?" } else { value });
    }

    /// A tag of this text, unless it is empty.
    #[inline]
    fn text(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.with(name, |out| S::append(value, out));
        }
    }

    /// A tag of this number, unless it is 0.
    #[inline]
    fn number(&mut self, name: &str, value: u32) {
        if value != 0 {
            self.with(name, |out| append_decimal(value, out));
        }
    }

    /// A tag of this date, unless nothing of it is known.
    #[inline]
    fn date(&mut self, name: &str, date: Date) {
        if !date.is_unknown() {
            self.with(name, |out| date.append_to(out));
        }
    }

    /// A tag of this country, unless there is none; one without a code is
    /// written as its number.
    fn nation(&mut self, name: &str, nation: Nation) {
        match nation.code() {
            Some(code) => self.text(name, code),
            None => self.number(name, u32::from(nation.0)),
        }
    }

    /// A tag whose value `append` writes.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "so a name that is known costs a copy of fixed size"
    )]
    fn with(&mut self, name: &str, append: impl FnOnce(&mut Vec<u8>)) {
        self.sink.begin(name);
        append(self.sink.value());
        self.sink.end();
    }
}

/// The number of a club's team where ChessBase shows one: from 2 on.
pub(crate) fn roman(number: u32) -> Option<&'static str> {
    const NUMBERS: [&str; 11] = [
        "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
    ];
    let index = number.checked_sub(2)?;
    NUMBERS.get(usize::try_from(index).ok()?).copied()
}

/// `5`, `5.2`, `?.2`, `?`.
pub fn append_round(round: impl Into<u32>, subround: impl Into<u32>, out: &mut Vec<u8>) {
    match round.into() {
        0 => out.push(b'?'),
        round => append_decimal(round, out),
    }
    let subround = subround.into();
    if subround != 0 {
        out.push(b'.');
        append_decimal(subround, out);
    }
}

/// Appends `value` with `"` and `\` escaped; control characters become
/// blanks, since no reader keeps them in a tag.
fn append_escaped(value: &str, out: &mut Vec<u8>) {
    if is_plain(value.as_bytes()) {
        out.extend_from_slice(value.as_bytes());
        return;
    }
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..b' ' | 0x7f => out.push(b' '),
            byte => out.push(byte),
        }
    }
}

/// Whether no byte is a control character, `"` or `\`: eight at a time, of which
/// the last ones may overlap those before.
fn is_plain(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk() {
        let mut words = bytes.as_chunks().0.iter().chain([last]);
        return words.all(|word| are_plain(*word));
    }
    if let (Some([a, b, c, d]), Some([e, f, g, h])) = (bytes.first_chunk(), bytes.last_chunk()) {
        return are_plain([*a, *b, *c, *d, *e, *f, *g, *h]);
    }
    bytes.iter().all(|byte| are_plain([*byte; 8]))
}

/// Whether none of these bytes is a control character, `"` or `\`.
fn are_plain(bytes: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let bytes = u64::from_le_bytes(bytes);
    // The high bit of each byte that is less, and has none itself.
    let less = |than: u8| bytes.wrapping_sub(ONES * u64::from(than)) & !bytes;
    let equal = |byte: u8| {
        let difference = bytes ^ (ONES * u64::from(byte));
        difference.wrapping_sub(ONES) & !difference
    };
    (less(b' ') | equal(b'"') | equal(b'\\') | equal(0x7f)) & HIGH_BITS == 0
}

/// Whether splitting the joined name at its first comma gives its parts.
fn survives_joining(name: &PlayerName) -> bool {
    // Blanks beyond ASCII are asked for only where there are such characters.
    let is_visible = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
    let is_blank = char::is_whitespace;
    let is_trimmed = |part: &str| {
        let bytes = part.as_bytes();
        is_visible(bytes.first()) && is_visible(bytes.last())
            || !part.starts_with(is_blank) && !part.ends_with(is_blank)
    };
    let is_split_right = if name.first.is_empty() {
        !name.last.contains(',') && name.last != "?"
    } else {
        !name.last.is_empty() && !name.last.contains(',')
    };
    is_split_right && is_trimmed(&name.last) && is_trimmed(&name.first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_one_after_the_other_have_the_lines_of_their_own_events() {
        let event = |title: &str, place: &str, source: &str| {
            let mut game = Game::default();
            game.headers.tournament.title = title.to_owned();
            game.headers.tournament.place = place.to_owned();
            game.headers.tournament.rounds = 9;
            game.headers.source.title = source.to_owned();
            game
        };
        let mut ended = event("A", "x", "");
        ended.headers.tournament.end.year = 2020;
        let mut rated = event("A", "x", "s");
        rated.headers.source.quality = 2;
        let games = [
            event("A", "x", ""),
            ended,
            event("A", "x", "s"),
            rated,
            event("A", "x", ""),
            event("A", "x", ""),
            event("A", "y", ""),
            event("A", "y", "s"),
            event("", "", ""),
            event("A", "x", ""),
        ];
        let mut encoder = crate::pgn::Encoder::new(false);
        for game in games {
            let (mut text, mut alone) = (Vec::new(), Vec::new());
            encoder.encode(&game, &[], &mut text);
            crate::pgn::encode(&game, &[], &mut alone);
            assert_eq!(text, alone);
        }
    }

    fn lines(headers: Headers) -> Vec<String> {
        let mut out = Vec::new();
        let game = Game {
            headers,
            ..Game::default()
        };
        encode(&game, &PrivateTags::default(), None, &mut out);
        let text = String::from_utf8(out).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn medals_of_all_remarks_count_together() {
        let mut annotations = Annotations::default();
        assert_eq!(medals_of(&annotations), 0);
        for medals in [0b101, 0x1_0010] {
            annotations.add(PlyId::START, Annotation::Medals(medals));
        }
        assert_eq!(medals_of(&annotations), 0b1_0101);
    }

    #[test]
    fn a_game_of_which_nothing_is_known_has_the_roster() {
        let expected = [
            "[Event \"?\"]",
            "[Site \"?\"]",
            "[Date \"????.??.??\"]",
            "[Round \"?\"]",
            "[White \"?\"]",
            "[Black \"?\"]",
            "[Result \"*\"]",
            "[PlyCount \"0\"]",
        ];
        assert_eq!(lines(Headers::default()), expected);
    }

    #[test]
    fn foreign_tags_of_names_that_are_taken_have_one_of_ours() {
        let foreign = [("Mode", "OTB"), ("ECO", "E4"), ("White", "Tal")];
        let foreign = foreign.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut game = Game {
            foreign_tags: foreign.to_vec(),
            ..Game::default()
        };
        let behind_the_roster = |game: &Game| {
            let mut out = Vec::new();
            encode(game, &PrivateTags::default(), None, &mut out);
            let text = String::from_utf8(out).unwrap();
            let lines = text.lines().skip(7).map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        let alone = ["[PlyCount \"0\"]", "[Mode \"OTB\"]", "[ECO \"E4\"]"];
        let white = "[CbhOtherWhite \"Tal\"]";
        assert_eq!(behind_the_roster(&game), [&alone[..], &[white]].concat());
        game.headers.eco = crate::game::Eco::from_code("C89");
        let beside = ["[ECO \"C89\"]", "[PlyCount \"0\"]", "[Mode \"OTB\"]"];
        let other = "[CbhOtherECO \"E4\"]";
        let expected = [&beside[..], &[other, white]].concat();
        assert_eq!(behind_the_roster(&game), expected);
    }

    #[test]
    fn names_that_a_comma_would_split_wrongly_are_given_in_parts() {
        let player = |last: &str, first: &str| PlayerName {
            last: last.to_owned(),
            first: first.to_owned(),
        };
        let white = |name: PlayerName| {
            let headers = Headers {
                white: name,
                ..Headers::default()
            };
            let tags = lines(headers);
            tags.into_iter()
                .filter(|tag| tag.contains("White "))
                .collect::<Vec<_>>()
        };
        let plain = "[White \"Carlsen, Magnus\"]";
        assert_eq!(white(player("Carlsen", "Magnus")), [plain]);
        assert_eq!(white(player("Deep Blue", "")), ["[White \"Deep Blue\"]"]);
        let parts = "[CbhWhite \"Carlsen, Magnus|\"]";
        assert_eq!(white(player("Carlsen, Magnus", "")), [plain, parts]);
        assert_eq!(
            white(player("", "Anna")),
            ["[White \"Anna\"]", "[CbhWhite \"|Anna\"]"]
        );
    }

    #[test]
    fn quotes_and_control_characters_are_found_at_each_place() {
        for at in 0..8 {
            for byte in 0..=u8::MAX {
                for others in [b' ', b'a', b'~', 0x80, 0xff] {
                    let mut bytes = [others; 8];
                    bytes[at] = byte;
                    let is_plain = !matches!(byte, 0..b' ' | b'"' | b'\\' | 0x7f);
                    assert_eq!(are_plain(bytes), is_plain, "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_escaped_is_seen_in_texts_of_any_length() {
        for length in 0..20 {
            let plain = vec![b'x'; length];
            assert!(is_plain(&plain));
            for at in 0..length {
                let mut text = plain.clone();
                text[at] = b'"';
                assert!(!is_plain(&text), "{at} of {length}");
            }
        }
    }

    #[test]
    fn quotes_and_control_characters_do_no_harm() {
        let mut out = Vec::new();
        append_escaped("a \"b\" c\\d\ne", &mut out);
        assert_eq!(out, b"a \\\"b\\\" c\\\\d e");
    }
}
