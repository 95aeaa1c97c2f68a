//! Tag pairs into headers: the way back from what this module writes, and
//! from what other programs write.
//!
//! A value that a header cannot hold becomes a foreign tag, unless our own text would
//! have a tag of that name: so nothing is lost. In a save, a number that is too large
//! or an invalid date is an error. An import keeps it as a foreign tag and reports
//! that; only an invalid position makes it refuse a game. If a tag occurs twice, an
//! import uses the first value and keeps a different second one as a foreign tag.

use std::sync::LazyLock;

use data_encoding::HEXLOWER_PERMISSIVE;
use hashbrown::HashMap;
use shakmaty::fen::{Fen, ParseFenError};
use shakmaty::{CastlingMode, Color, Setup};

use super::date_words::{InWords, date_in_words};
use super::value::{
    TagValue, category, clock, date, eco, event_type, is_plain_round, is_shown_so, number, round,
    sub_code, team_details,
};
use super::{OTHER, TAG_NAMES, roman};
use crate::game::{
    Annotation, Date, Eco, EventKind, Game, GameResult, HIGHEST_ELO, Headers, Nation, PlayerName,
    PlyId, RatingType, Source, Stage, Start, Team, Tournament, Unspecified,
};
use crate::pgn::command::{clock_tag, parse_time_control, time_control_tag};
use crate::pgn::comment::language_of;
use crate::pgn::error::{Error, quoted};
use crate::pgn::exact::{self, Exact};
use crate::pgn::lenient::{Leniency, Liberty, VariantName, is_chess, unequal_result};
use crate::pgn::lexer::{self, TagPair};
use crate::pgn::place::TextPlace;
use crate::pgn::private_tags::{Style, parse_names};
use crate::pgn::remarks::Remarks;

/// Fills headers, start and foreign tags of `game`; clocks and the time
/// control are remarks. Gives the result that the tags state, if they do.
///
/// # Errors
///
/// A number that does not fit its header, a date, a FEN or a result that is
/// none, a second tag of [`ONCE`].
pub(in crate::pgn) fn decode(
    text: &[u8],
    pairs: Vec<TagPair<'_>>,
    game: &mut Game,
    remarks: &mut Remarks,
    leniency: &mut Leniency,
) -> Result<Option<GameResult>, Error> {
    let has_control = |pair: &&TagPair<'_>| pair.value.bytes().any(|byte| byte < b' ');
    if let Some(pair) = pairs.iter().find(has_control) {
        leniency.taken.note(Liberty::TagBlanks, pair.place);
    }
    let mut tags = TagPairs::new(text, pairs, leniency)?;
    let beyond_fen = tags.start(&mut game.start)?;
    let headers = &mut game.headers;
    tags.roster(headers)?;
    tags.opening_and_ratings(headers, game.start.is_chess960)?;
    tags.event(&mut headers.tournament)?;
    tags.source(&mut headers.source)?;
    headers.white_team = tags.team(Name::WhiteTeam, Name::WhiteTeamCountry, Name::CbhWhiteTeam)?;
    headers.black_team = tags.team(Name::BlackTeam, Name::BlackTeamCountry, Name::CbhBlackTeam)?;
    tags.private(headers)?;
    game.open = tags.of_remarks(remarks)?;
    let result = tags.result()?;
    tags.clocks(remarks);
    let round = tags.round(headers);
    tags.take(Name::PlyCount);
    game.foreign_tags.extend(round);
    game.foreign_tags.extend(beyond_fen);
    tags.foreign(&mut game.foreign_tags)?;
    Ok(result)
}

/// Whether a foreign tag would be one again when it is read: of the names that
/// headers have, those with a value that the header cannot hold.
pub(super) fn stays_foreign(name: &str, value: &str) -> bool {
    let value = value.trim();
    let is_beyond = match name {
        "ECO" => matches!(eco(value), TagValue::Unknown),
        "WhiteElo" | "BlackElo" | "EventRounds" | "SourceVersion" | "SourceQuality" => {
            matches!(number::<u64>(value), TagValue::Unknown)
        }
        "EventType" => matches!(event_type(value), TagValue::Unknown),
        "EventCategory" => matches!(category(value), TagValue::Unknown),
        "EventCountry" | "WhiteTeamCountry" | "BlackTeamCountry" => {
            Nation::from_code(value).is_none() && matches!(number::<u64>(value), TagValue::Unknown)
        }
        "WhiteClock" | "BlackClock" => clock_as_ours(value).is_none(),
        "TimeControl" => time_control_as_ours(value).is_none(),
        "Variant" => return !is_chess960(value),
        "CbhResult" => return unequal_result(value.as_bytes()).is_some(),
        name => return !is_header(name),
    };
    is_beyond && (name.ends_with("Clock") || name == "TimeControl" || !says_nothing(value))
}

/// The names of tags that headers take, each as it is spelled.
macro_rules! names {
    ($($name:ident)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(clippy::upper_case_acronyms, reason = "each as it is spelled")]
        enum Name {
            $($name),+
        }

        impl Name {
            const ALL: &[Name] = &[$(Name::$name),+];

            fn text(self) -> &'static str {
                match self {
                    $(Name::$name => stringify!($name)),+
                }
            }
        }
    };
}

names! {
    Event Site Date Round White Black Result ECO WhiteElo BlackElo Annotator SetUp Setup
    FEN Fen Variant PlyCount EventDate EventEndDate EventType EventRounds EventCountry
    EventCategory Source SourceTitle SourceDate SourceVersion SourceVersionDate
    SourceQuality WhiteTeam BlackTeam WhiteTeamCountry BlackTeamCountry WhiteClock
    BlackClock TimeControl CbhResult CbhLang CbhLead CbhBefore CbhTeamEvent CbhWhite
    CbhBlack CbhSubEco CbhWhiteTeam CbhBlackTeam CbhLineEval CbhMedals CbhTopGame
    CbhWhiteEloType CbhBlackEloType
}

/// The numbers of names: those of [`Name`], of labels and of exact forms.
static NAMES: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let names = Name::ALL.iter().map(|name| name.text().to_owned());
    let labels = TAG_NAMES.map(str::to_owned);
    let exact = (1..=exact::MOST_TAGS).map(|number| format!("{}{number}", exact::NAME));
    names.chain(labels).chain(exact).zip(0..).collect()
});
const FIRST_LABEL: usize = Name::ALL.len();
const FIRST_EXACT: usize = FIRST_LABEL + TAG_NAMES.len();
const KNOWN: usize = FIRST_EXACT + exact::MOST_TAGS;

/// Whether a tag of this name may be one of a header.
fn is_header(name: &str) -> bool {
    NAMES.contains_key(name) || name.starts_with(OTHER) || name.starts_with(exact::NAME)
}

/// Whether a value says that a header is not given.
fn says_nothing(value: &str) -> bool {
    matches!(value, "" | "?" | "-")
}

/// Tags that a game may have only once, even with equal values.
const ONCE: [&str; 6] = ["Event", "Site", "Date", "Round", "White", "Black"];

/// Whether a tag of this name can be the first of a game behind another.
pub(in crate::pgn) fn begins_game(name: &str) -> bool {
    name == "Result" || ONCE.contains(&name)
}

/// The names of headers that programs write in other letters, such as `WHITE`.
const SPELLED: [&str; 26] = [
    "Event",
    "Site",
    "Date",
    "Round",
    "White",
    "Black",
    "Result",
    "ECO",
    "WhiteElo",
    "BlackElo",
    "Annotator",
    "SetUp",
    "FEN",
    "Variant",
    "PlyCount",
    "EventDate",
    "EventType",
    "EventRounds",
    "EventCountry",
    "EventCategory",
    "Source",
    "SourceDate",
    "SourceTitle",
    "WhiteTeam",
    "BlackTeam",
    "TimeControl",
];

/// The tag pairs of one game, of which headers take theirs.
struct TagPairs<'t, 'l> {
    leniency: &'l mut Leniency,
    text: &'t [u8],
    pairs: Vec<TagPair<'t>>,
    /// The pairs that headers took.
    is_taken: Vec<bool>,
    /// The first pair of each of [`NAMES`].
    first: [Option<u16>; KNOWN],
    /// Whether a header's name is there twice.
    has_second: bool,
}

impl<'t, 'l> TagPairs<'t, 'l> {
    /// Of tags with one name the first is the header's.
    fn new(
        text: &'t [u8],
        mut pairs: Vec<TagPair<'t>>,
        leniency: &'l mut Leniency,
    ) -> Result<TagPairs<'t, 'l>, Error> {
        if leniency.is_import() {
            spell_usually(&mut pairs, leniency);
        }
        let mut tags = TagPairs {
            leniency,
            text,
            is_taken: vec![false; pairs.len()],
            pairs,
            first: [None; KNOWN],
            has_second: false,
        };
        // There are at most `MAX_TAGS`.
        for (at, pair) in (0..).zip(&tags.pairs) {
            let Some(first) = NAMES.get(pair.name).and_then(|at| tags.first.get_mut(*at)) else {
                continue;
            };
            if first.is_some() {
                if ONCE.contains(&pair.name) && !tags.leniency.is_import() {
                    return Err(tags.second(pair));
                }
                tags.has_second = true;
            }
            first.get_or_insert(at);
        }
        Ok(tags)
    }

    #[cold]
    fn second(&self, pair: &TagPair<'_>) -> Error {
        let found = format!("a second tag {}", pair.name);
        Error::new(self.text, pair.place, found, "one of this name")
    }

    /// Takes note of a tag in another form, which a header may have taken.
    fn notes(&mut self, name: Name, liberty: Liberty) {
        let pair = self.first(name as usize).and_then(|at| self.pairs.get(at));
        let place = pair.map_or(self.leniency.here, |pair| pair.place);
        self.leniency.taken.note(liberty, place);
    }

    /// Where the first pair of a name is, which is one of [`NAMES`].
    fn first(&self, name: usize) -> Option<usize> {
        self.first.get(name)?.map(usize::from)
    }

    fn get(&self, name: Name) -> Option<&TagPair<'t>> {
        let at = self.first(name as usize)?;
        self.pairs.get(at).filter(|_| !self.is_taken(at))
    }

    fn is_taken(&self, at: usize) -> bool {
        self.is_taken.get(at) == Some(&true)
    }

    fn take(&mut self, name: Name) -> Option<TagPair<'t>> {
        self.take_first(name as usize)
    }

    fn take_first(&mut self, name: usize) -> Option<TagPair<'t>> {
        let at = self.first(name)?;
        let is_taken = self.is_taken.get_mut(at).filter(|is_taken| !**is_taken)?;
        *is_taken = true;
        self.pairs.get(at).cloned()
    }

    /// Leaves a pair that was taken to be a foreign tag.
    #[cold]
    fn leave(&mut self, name: Name) {
        let at = self.first(name as usize);
        if let Some(is_taken) = at.and_then(|at| self.is_taken.get_mut(at)) {
            *is_taken = false;
        }
    }

    /// The value; nothing for an absent tag.
    fn text(&mut self, name: Name) -> String {
        let value = self.take(name).map(|pair| pair.value.into_owned());
        value.unwrap_or_default()
    }

    /// The value; nothing for an absent tag and for `?`.
    fn text_or_unknown(&mut self, name: Name) -> String {
        let mut value = self.text(name);
        if value == "?" {
            value.clear();
        }
        value
    }

    /// The value as `parse` reads it. One that it cannot read is "not given"
    /// and stays a foreign tag, unless it says just that.
    fn value<T: Default>(
        &mut self,
        name: Name,
        expected: &'static str,
        parse: impl FnOnce(&str) -> TagValue<T>,
    ) -> Result<T, Error> {
        let Some(pair) = self.get(name) else {
            return Ok(T::default());
        };
        let value = pair.value.trim();
        let says_nothing = says_nothing(value);
        match parse(value) {
            TagValue::Known(value) => {
                self.take(name);
                Ok(value)
            }
            TagValue::Unknown => {
                if says_nothing {
                    self.take(name);
                }
                Ok(T::default())
            }
            TagValue::DoesNotFit if self.keeps(name) => Ok(T::default()),
            TagValue::DoesNotFit => Err(self.misfit_of(name, expected)),
        }
    }

    /// Whether a tag whose value does not fit stays one of its own.
    fn keeps(&mut self, name: Name) -> bool {
        let is_import = self.leniency.is_import();
        if is_import {
            self.notes(name, Liberty::TagKept(name.text()));
        }
        is_import
    }

    fn number<N: TryFrom<u64> + Default>(&mut self, name: Name) -> Result<N, Error> {
        self.value(name, "a smaller number", number)
    }

    fn elo(&mut self, name: Name) -> Result<u16, Error> {
        let is_import = self.leniency.is_import();
        self.value(name, "a smaller number", |text| match number(text) {
            TagValue::Known(elo) if is_import && elo > HIGHEST_ELO => TagValue::DoesNotFit,
            elo => elo,
        })
    }

    fn date(&mut self, name: Name) -> Result<Date, Error> {
        if self.leniency.is_import()
            && let Some(pair) = self.get(name)
            && date(pair.value.trim()) == TagValue::DoesNotFit
        {
            return Ok(self.date_in_words(name));
        }
        self.value(name, "a date such as 2004.12.31 or 2004.??.??", date)
    }

    /// A date in another form; one that is not understood wholly stays a tag of
    /// its own.
    #[cold]
    fn date_in_words(&mut self, name: Name) -> Date {
        let value = self.get(name).map(|pair| pair.value.trim());
        let found = value.and_then(date_in_words);
        let (date, liberty) = match found.unwrap_or(InWords::Partly(Date::UNKNOWN)) {
            InWords::Whole(date) => (date, Liberty::DateOrder),
            InWords::Partly(date) => (date, Liberty::TagKept(name.text())),
            InWords::Unsure(date) => (date, Liberty::DateUnsure),
        };
        self.notes(name, liberty);
        if liberty == Liberty::DateOrder {
            self.take(name);
        }
        date
    }

    fn nation(&mut self, name: Name) -> Result<Nation, Error> {
        let parse = |code: &str| match Nation::from_code(code) {
            Some(nation) => TagValue::Known(nation),
            // As we write countries that have no letters.
            None => match number(code) {
                TagValue::Known(number) if Nation(number).code().is_some() => TagValue::DoesNotFit,
                other => other.map(Nation),
            },
        };
        self.value(name, "the three letters of a country", parse)
    }

    /// A private tag, which nobody but us writes: whatever is wrong with it
    /// is an error in a save.
    fn private_value<T>(
        &mut self,
        name: Name,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let Some(pair) = self.get(name) else {
            return Ok(None);
        };
        match parse(&pair.value) {
            Some(value) => {
                self.take(name);
                Ok(Some(value))
            }
            None if self.keeps(name) => Ok(None),
            None => Err(self.misfit_of(name, expected)),
        }
    }

    #[cold]
    fn misfit_of(&self, name: Name, expected: &'static str) -> Error {
        match self.get(name) {
            Some(pair) => self.misfit(pair, expected),
            None => Error::new(
                self.text,
                TextPlace::START,
                name.text().to_owned(),
                expected,
            ),
        }
    }

    #[cold]
    fn misfit(&self, pair: &TagPair<'_>, expected: &'static str) -> Error {
        let found = format!("{} as {}", quoted(pair.value.as_bytes()), pair.name);
        Error::new(self.text, pair.place, found, expected)
    }

    /// Appends the tags that no header took, in order.
    ///
    /// # Errors
    ///
    /// A second tag of a header that says something else than the first.
    fn foreign(self, foreign: &mut Vec<(String, String)>) -> Result<(), Error> {
        for (at, pair) in self.pairs.iter().enumerate() {
            if self.is_taken(at) {
                continue;
            }
            let first = NAMES.get(pair.name).filter(|_| self.has_second);
            let first = first.and_then(|name| self.first(*name));
            if let Some(first) = first.filter(|first| self.is_taken(*first))
                && let Some(first) = self.pairs.get(first)
            {
                if first.value == pair.value {
                    if self.leniency.is_import() {
                        self.leniency.taken.note(Liberty::TagTwice, pair.place);
                    }
                    continue;
                }
                if !self.leniency.is_import() {
                    return Err(self.second(pair));
                }
                self.leniency.taken.note(Liberty::TagAgain, pair.place);
            }
            let name = pair.name.strip_prefix(OTHER).unwrap_or(pair.name);
            let is_odd = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            foreign.push((name.replace(is_odd, "_"), pair.value.clone().into_owned()));
        }
        Ok(())
    }
}

/// Gives tags the names that they have in other letters, unless a game has both.
fn spell_usually(pairs: &mut [TagPair<'_>], leniency: &mut Leniency) {
    let is_odd = |name: &str| {
        let mut bytes = name.bytes();
        let (first, second) = (bytes.next(), bytes.next());
        first.is_some_and(|byte| byte.is_ascii_lowercase())
            || second.is_some_and(|byte| byte.is_ascii_uppercase())
    };
    for at in 0..pairs.len() {
        let Some(name) = pairs
            .get(at)
            .map(|pair| pair.name)
            .filter(|name| is_odd(name))
        else {
            continue;
        };
        let mut spelled = SPELLED.iter();
        let usual = spelled.find(|usual| usual.eq_ignore_ascii_case(name));
        let Some(usual) = usual.filter(|usual| **usual != name) else {
            continue;
        };
        let is_there = pairs.iter().any(|pair| pair.name == *usual);
        if let Some(pair) = pairs.get_mut(at).filter(|_| !is_there) {
            pair.name = usual;
            leniency.taken.note(Liberty::TagForm, pair.place);
        }
    }
}

/// What a FEN lacks that is none, or has a move number that is too large.
fn expected_of_fen(fen: &str) -> &'static str {
    let board = fen.split([' ', '_']).next().unwrap_or_default();
    match Fen::from_ascii(fen.as_bytes()) {
        Err(ParseFenError::InvalidBoard) if board.split('/').count() != 8 => {
            "eight ranks with / between them, and five more fields"
        }
        Err(ParseFenError::InvalidBoard) => "eight squares in each rank: pieces and numbers",
        Err(ParseFenError::InvalidTurn) => "w or b for the side to move",
        Err(ParseFenError::InvalidCastling) => "castling rights such as KQkq, or -",
        Err(ParseFenError::InvalidEpSquare) => "an en passant square such as e3, or -",
        Err(ParseFenError::InvalidHalfmoveClock) => "a count of half-moves from 0",
        Ok(_) | Err(ParseFenError::InvalidFullmoves) => "a move number up to 65535",
        Err(_) => "a position in six fields",
    }
}

/// Whether a FEN says that there is none.
fn is_no_fen(fen: &str) -> bool {
    says_nothing(fen) || fen.eq_ignore_ascii_case("startpos")
}

impl TagPairs<'_, '_> {
    /// Reads the start; gives the FEN as a foreign tag where it has what chess
    /// has not.
    fn start(&mut self, start: &mut Start) -> Result<Option<(String, String)>, Error> {
        start.is_chess960 = self
            .get(Name::Variant)
            .is_some_and(|pair| is_chess960(&pair.value));
        if start.is_chess960 {
            self.take(Name::Variant);
        } else if let Some(pair) = self
            .get(Name::Variant)
            .filter(|pair| !is_chess(&pair.value))
        {
            let variant = Liberty::OtherVariant(VariantName::of(&pair.value));
            self.leniency.taken.note(variant, pair.place);
        }
        let said = self.take(Name::SetUp).or_else(|| self.take(Name::Setup));
        let is_import = self.leniency.is_import();
        let fen = self.take(Name::FEN).or_else(|| self.take(Name::Fen));
        let is_void = |pair: &TagPair<'_>| is_import && is_no_fen(pair.value.trim());
        let has_void = fen.as_ref().is_some_and(is_void);
        let Some(pair) = fen.filter(|pair| !is_void(pair)) else {
            if let Some(pair) = said.as_ref().filter(|pair| pair.value == "1" && !is_import) {
                return Err(self.misfit(pair, "a tag FEN with the position"));
            }
            if said.is_some() || has_void {
                let name = if has_void { Name::FEN } else { Name::SetUp };
                self.notes(name, Liberty::NoSetUp);
            }
            if start.is_chess960 {
                // The usual position is one of the 960.
                *start = Start::set_up(Setup::initial(), CastlingMode::Chess960, 1);
            }
            return Ok(None);
        };
        if is_import && !start.is_chess960 && is_of_chess960(&pair.value) {
            start.is_chess960 = true;
            self.leniency.taken.note(Liberty::Chess960, pair.place);
        }
        let mode = CastlingMode::from_chess960(start.is_chess960);
        match Start::from_fen(&pair.value, mode) {
            Some(found) if found.position.board().occupied().is_empty() => {
                Err(self.misfit(&pair, "a position with pieces"))
            }
            Some(found) => {
                let oddities = Oddities::of(&found, &pair.value);
                if is_import {
                    for liberty in oddities.liberties() {
                        self.leniency.taken.note(liberty, pair.place);
                    }
                }
                if !oddities.is_of_variant && !is_usual_form(&found, &pair.value) {
                    self.leniency.taken.note(Liberty::FenForm, pair.place);
                }
                *start = found;
                let is_kept = is_import && oddities.is_of_variant;
                Ok(is_kept.then(|| ("FEN".to_owned(), pair.value.into_owned())))
            }
            None => Err(self.misfit(&pair, expected_of_fen(pair.value.trim()))),
        }
    }

    fn roster(&mut self, headers: &mut Headers) -> Result<(), Error> {
        headers.tournament.title = self.text_or_unknown(Name::Event);
        headers.tournament.place = self.text_or_unknown(Name::Site);
        let is_unsaid = |pair: &TagPair<'_>| {
            let value = pair.value.trim();
            value != "?" && !value.contains("??") && date(value) == TagValue::Known(Date::UNKNOWN)
        };
        if self.get(Name::Date).is_some_and(is_unsaid) {
            self.notes(Name::Date, Liberty::DateForm);
        }
        headers.date = self.date(Name::Date)?;
        headers.white = self.player(Name::White, Name::CbhWhite);
        headers.black = self.player(Name::Black, Name::CbhBlack);
        Ok(())
    }

    /// The round. One that our headers cannot hold, `Final` or `5.2.1`, is
    /// given as a foreign tag too.
    fn round(&mut self, headers: &mut Headers) -> Option<(String, String)> {
        let is_given = self.get(Name::Round).is_some();
        let value = self.text(Name::Round);
        (headers.round, headers.subround) = round(&value);
        if !is_plain_round(&value) {
            return Some(("Round".to_owned(), value));
        }
        if is_given && !is_shown_so(&value) {
            self.notes(Name::Round, Liberty::RoundForm);
        }
        None
    }

    /// The name, split at its first comma; but as `parts` says, if joining
    /// these parts gives the same.
    fn player(&mut self, name: Name, parts: Name) -> PlayerName {
        let joined = self.text(name);
        let parts = self.text(parts);
        let agrees = |player: &PlayerName| player.joined() == joined;
        let splits = parts.match_indices('|').map(|(at, _)| split_at(&parts, at));
        // A name has few bars; a hostile one must not cost more than a few.
        if let Some(player) = splits.take(8).find(agrees) {
            return player;
        }
        match joined.as_str() {
            "" | "?" => PlayerName::default(),
            joined => {
                let (last, first) = joined.split_once(',').unwrap_or((joined, ""));
                player_name(last.trim(), first.trim())
            }
        }
    }

    /// In a base the number of a start of Chess960 takes the place of the code.
    fn opening_and_ratings(
        &mut self,
        headers: &mut Headers,
        is_chess960: bool,
    ) -> Result<(), Error> {
        let has_place = !is_chess960 || !self.leniency.is_import();
        headers.eco = self.value(Name::ECO, "a code from A00 to E99", |text| {
            match eco(text) {
                TagValue::Known(Some(_)) if !has_place => TagValue::DoesNotFit,
                eco => eco,
            }
        })?;
        headers.white_elo = self.elo(Name::WhiteElo)?;
        headers.black_elo = self.elo(Name::BlackElo)?;
        headers.annotator = self.text(Name::Annotator);
        let sub_code = self.private_value(Name::CbhSubEco, "two digits", sub_code)?;
        if let (Some(code), Some(sub_code)) = (headers.eco, sub_code) {
            headers.eco = Eco::new(code.index(), sub_code);
        }
        Ok(())
    }

    fn event(&mut self, tournament: &mut Tournament) -> Result<(), Error> {
        tournament.start = self.date(Name::EventDate)?;
        tournament.end = self.date(Name::EventEndDate)?;
        let event = self.value(Name::EventType, "the kind of an event", event_type)?;
        tournament.kind = event.kind;
        tournament.is_team_event = event.is_team_event;
        let kind = self.private_value(Name::CbhTeamEvent, "none or team", team_event_kind)?;
        if let Some(kind) = kind.filter(|_| event.kind == EventKind::Team) {
            tournament.kind = kind;
            tournament.is_team_event = true;
        }
        tournament.speed = event.speed;
        tournament.rounds = self.number(Name::EventRounds)?;
        tournament.nation = self.nation(Name::EventCountry)?;
        tournament.category = self.value(Name::EventCategory, "a smaller number", category)?;
        Ok(())
    }

    fn source(&mut self, source: &mut Source) -> Result<(), Error> {
        source.title = self.text(Name::SourceTitle);
        source.publisher = self.text(Name::Source);
        source.published = self.date(Name::SourceDate)?;
        source.version = self.number(Name::SourceVersion)?;
        source.version_date = self.date(Name::SourceVersionDate)?;
        source.quality = self.number(Name::SourceQuality)?;
        Ok(())
    }

    /// A team. Its number stands in Roman behind the title: if it does not,
    /// somebody has named another team, and the number is not for that.
    fn team(&mut self, title: Name, nation: Name, details: Name) -> Result<Team, Error> {
        let is_given = [title, nation, details]
            .iter()
            .any(|name| self.get(*name).is_some());
        let expected = "number and year, such as 2 2015/16";
        let details = self.private_value(details, expected, team_details)?;
        let (mut number, year, is_season) = details.unwrap_or_default();
        let mut title = self.text(title);
        if let Some(suffix) = roman(number).filter(|_| !title.is_empty()) {
            match title.strip_suffix(suffix).and_then(|t| t.strip_suffix(' ')) {
                Some(alone) => title.truncate(alone.len()),
                None => number = 0,
            }
        }
        Ok(Team {
            is_given,
            title,
            number,
            is_season,
            year,
            nation: self.nation(nation)?,
        })
    }

    fn private(&mut self, headers: &mut Headers) -> Result<(), Error> {
        let byte = "a number up to 255";
        let evaluation = self.private_value(Name::CbhLineEval, byte, |text| text.parse().ok())?;
        headers.line_evaluation = evaluation.unwrap_or_default();
        let bits = "a number up to 65535";
        let medals = self.private_value(Name::CbhMedals, bits, |text| text.parse().ok())?;
        headers.medals = medals.unwrap_or_default();
        let is_top_game = self.private_value(Name::CbhTopGame, "1", |text| Some(text == "1"))?;
        headers.is_top_game = is_top_game.unwrap_or_default();
        let digits = "32 hexadecimal digits";
        let kind = self.private_value(Name::CbhWhiteEloType, digits, rating_type)?;
        headers.white_elo_type = kind.unwrap_or_default();
        let kind = self.private_value(Name::CbhBlackEloType, digits, rating_type)?;
        headers.black_elo_type = kind.unwrap_or_default();
        for (title, name) in headers.tag.titles.iter_mut().zip(FIRST_LABEL..) {
            let label = self.take_first(name);
            *title = label
                .map(|pair| pair.value.into_owned())
                .unwrap_or_default();
        }
        Ok(())
    }

    /// Reads the settings for all remarks. Returns those that are still open.
    fn of_remarks(&mut self, remarks: &mut Remarks) -> Result<Unspecified, Error> {
        let code = "the code of a language, such as en, any or cb42";
        let language = self.private_value(Name::CbhLang, code, language_of)?;
        let byte = "a number up to 255";
        let lead = self.private_value(Name::CbhLead, byte, |text| text.parse().ok())?;
        let names = self.take(Name::CbhBefore);
        remarks.exact = self.exact_forms();
        remarks.style = Style {
            language: language.unwrap_or_default(),
            lead: lead.unwrap_or_default(),
        };
        remarks.names = names
            .as_ref()
            .map(|pair| parse_names(&pair.value))
            .unwrap_or_default();
        Ok(Unspecified {
            language: language.is_none(),
            lead: lead.is_none(),
            places: names.is_none(),
            named: Vec::new(),
            placed: Vec::new(),
        })
    }

    /// The exact forms of questions; not those of which a tag is gone.
    fn exact_forms(&mut self) -> Exact {
        let mut forms = String::new();
        if (FIRST_EXACT..KNOWN).any(|name| self.first(name).is_some()) {
            for name in FIRST_EXACT..KNOWN {
                let form = self.take_first(name);
                forms.push_str(form.as_ref().map_or(",", |form| form.value.trim()));
            }
        }
        Exact::parse(&forms)
    }

    /// The result, more exactly if `CbhResult` agrees with it; an unequal one
    /// there stays a foreign tag. `Line` and
    /// `1/2` are written by other programs.
    fn result(&mut self) -> Result<Option<GameResult>, Error> {
        let is_unequal = |pair: &TagPair<'_>| unequal_result(pair.value.as_bytes()).is_some();
        let exact = if self.get(Name::CbhResult).is_some_and(is_unequal) {
            None
        } else {
            self.private_value(Name::CbhResult, "one of +:- -:+ =:= 0-0", exact_result)?
        };
        let Some(pair) = self.take(Name::Result) else {
            return Ok(exact);
        };
        let word = pair.value.trim();
        let stated = match word {
            "" | "?" | "-" => None,
            "*" => Some(GameResult::Line),
            word => {
                self.leniency.here = pair.place;
                let said = lexer::result(word.as_bytes()).or_else(|| exact_result(word));
                let result = said.or_else(|| {
                    let result = self.leniency.result(word.as_bytes());
                    let is_forfeit = result.is_some_and(|result| result.beyond_pgn().is_some());
                    self.leniency.has_forfeit_in_words = is_forfeit;
                    result
                });
                if result.is_none() {
                    if !self.leniency.accept(Liberty::TagKept("Result")) {
                        return Err(self.misfit(&pair, "1-0, 0-1, 1/2-1/2 or *"));
                    }
                    self.leave(Name::Result);
                    return Ok(exact);
                }
                result
            }
        };
        let is_stated = stated.is_some_and(|stated| stated != GameResult::Line)
            || self.leniency.unequal.is_some();
        if is_stated && self.get(Name::CbhResult).is_some_and(is_unequal) {
            // An unequal result beside another is that no more.
            self.take(Name::CbhResult);
        }
        let agreeing =
            exact.filter(|exact| stated.is_none_or(|stated| stated.pgn() == exact.pgn()));
        Ok(agreeing.or(stated))
    }
}

/// Clocks and the time control, which are remarks on the game. One of
/// another form than ours stays a foreign tag.
impl TagPairs<'_, '_> {
    fn clocks(&mut self, remarks: &mut Remarks) {
        for (name, color) in [
            (Name::WhiteClock, Color::White),
            (Name::BlackClock, Color::Black),
        ] {
            self.remark(name, remarks, |text| {
                Some(Annotation::Clock(color, clock_as_ours(text)?))
            });
        }
        self.remark(Name::TimeControl, remarks, |text| {
            time_control_as_ours(text).map(Annotation::TimeControl)
        });
    }

    fn remark(
        &mut self,
        name: Name,
        remarks: &mut Remarks,
        parse: impl FnOnce(&str) -> Option<Annotation>,
    ) {
        if let Some(remark) = self.get(name).and_then(|pair| parse(&pair.value)) {
            remarks.add(PlyId::START, remark);
            self.take(name);
        }
    }
}

/// A clock in the form that we write.
fn clock_as_ours(text: &str) -> Option<i32> {
    clock(text).filter(|time| clock_tag(*time).as_deref() == Some(text))
}

/// A time control in the form that we write.
fn time_control_as_ours(text: &str) -> Option<[Stage; 3]> {
    let stages = parse_time_control(text)?;
    (time_control_tag(&stages).as_deref() == Some(text)).then_some(stages)
}

pub(in crate::pgn) fn is_chess960(variant: &str) -> bool {
    let mut name = variant.to_ascii_lowercase();
    name.retain(|c| c.is_ascii_alphanumeric());
    let names = ["chess960", "fischerandom", "fischerrandom", "freestyle"];
    names.contains(&name.as_str())
}

/// Whether a FEN has castling rights that only Chess960 knows: with letters of
/// files, or in the array that a game of it begins with.
fn is_of_chess960(fen: &str) -> bool {
    let mut fields = fen.split_whitespace();
    let board = fields.next().unwrap_or_default();
    let castling = fields.nth(1).unwrap_or_default();
    let has_files = castling
        .bytes()
        .any(|byte| matches!(byte.to_ascii_lowercase(), b'a'..=b'h'));
    let is_array = board
        .split_once("/pppppppp/8/8/8/8/PPPPPPPP/")
        .is_some_and(|(black, white)| black.to_ascii_uppercase() == white);
    let rights = |mode| {
        let start = Start::from_fen(fen, mode);
        start.map_or(0, |start| start.position.castling_rights().count())
    };
    (has_files || is_array) && rights(CastlingMode::Chess960) > rights(CastlingMode::Standard)
}

/// Whether a FEN is what is written of a start, but for blanks.
fn is_usual_form(start: &Start, fen: &str) -> bool {
    let mut usual = start.written_fen.clone().unwrap_or_default().into_bytes();
    if usual.is_empty() {
        start.append_fen_to(&mut usual);
    }
    let fields = |fen: &str| fen.split_whitespace().collect::<Vec<_>>().join(" ");
    fields(fen).as_bytes() == usual
}

/// Deviations of a FEN from a chess position.
struct Oddities {
    /// Counters of checks or pieces in hand.
    is_of_variant: bool,
    lacks_king: bool,
    /// Castling rights without king and rook in place.
    has_void_castling: bool,
}

impl Oddities {
    fn of(start: &Start, fen: &str) -> Oddities {
        let setup = Fen::from_ascii(fen.trim().as_bytes()).map(Fen::into_setup);
        let position = &start.position;
        Oddities {
            is_of_variant: setup.as_ref().is_ok_and(|setup| {
                setup.remaining_checks.is_some() || setup.pockets.is_some() || setup.promoted.any()
            }),
            lacks_king: Color::ALL
                .into_iter()
                .any(|color| position.board().king_of(color).is_none()),
            has_void_castling: setup
                .is_ok_and(|setup| setup.castling_rights != position.castling_rights()),
        }
    }

    fn liberties(&self) -> impl Iterator<Item = Liberty> {
        [
            (self.is_of_variant, Liberty::FenOfVariant),
            (self.lacks_king, Liberty::NoKing),
            (self.has_void_castling, Liberty::VoidCastling),
        ]
        .into_iter()
        .filter_map(|(is_so, liberty)| is_so.then_some(liberty))
    }
}

/// The kind of an event whose `EventType` says only that teams met.
fn team_event_kind(word: &str) -> Option<EventKind> {
    match word {
        "none" => Some(EventKind::Unknown),
        "team" => Some(EventKind::Team),
        _ => None,
    }
}

fn rating_type(digits: &str) -> Option<RatingType> {
    let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()?;
    let bytes = bytes.try_into().ok()?;
    Some(RatingType { bytes })
}

fn exact_result(word: &str) -> Option<GameResult> {
    const EXACT: [GameResult; 4] = [
        GameResult::WhiteWonByForfeit,
        GameResult::BlackWonByForfeit,
        GameResult::DrawByForfeit,
        GameResult::BothLost,
    ];
    EXACT
        .into_iter()
        .find(|result| result.beyond_pgn() == Some(word))
}

fn split_at(parts: &str, bar: usize) -> PlayerName {
    let (last, first) = parts.split_at_checked(bar).unwrap_or((parts, ""));
    player_name(last, first.strip_prefix('|').unwrap_or(first))
}

fn player_name(last: &str, first: &str) -> PlayerName {
    PlayerName {
        last: last.to_owned(),
        first: first.to_owned(),
    }
}

#[cfg(test)]
mod tests;
