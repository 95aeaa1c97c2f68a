//! Tag values into numbers, dates, rounds, events and teams.

use super::append_round;
use crate::game::{Date, Eco, EventKind, Speed};

/// What a tag value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagValue<T> {
    /// This.
    Known(T),
    /// Nothing that a header could hold.
    Unknown,
    /// What must not be dropped and its header cannot hold: a number that is
    /// too large, a date that is none.
    DoesNotFit,
}

impl<T> TagValue<T> {
    pub(super) fn map<U>(self, to: impl FnOnce(T) -> U) -> TagValue<U> {
        match self {
            TagValue::Known(value) => TagValue::Known(to(value)),
            TagValue::Unknown => TagValue::Unknown,
            TagValue::DoesNotFit => TagValue::DoesNotFit,
        }
    }
}

/// A number in decimal digits.
pub(super) fn number<N: TryFrom<u64>>(text: &str) -> TagValue<N> {
    if !is_number(text) {
        return TagValue::Unknown;
    }
    match text
        .parse()
        .ok()
        .and_then(|number: u64| number.try_into().ok())
    {
        Some(number) => TagValue::Known(number),
        None => TagValue::DoesNotFit,
    }
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `2004.02.24`, also with `-` or `/` between; with question marks, or
/// nothing, for what is unknown.
pub(super) fn date(text: &str) -> TagValue<Date> {
    if let Some(date) = plain_date(text.as_bytes()) {
        return TagValue::Known(date);
    }
    let is_open = |c: char| c.is_whitespace() || matches!(c, '?' | '.' | '-' | '/' | '*');
    if text.chars().all(is_open) {
        return TagValue::Known(Date::UNKNOWN);
    }
    let mut parts = text.split(['.', '-', '/']);
    // Bases have twelve bits for a year, and hold months up to 15. That of
    // `1.1.24` is none.
    let year = parts.next().map(str::trim);
    let is_short = year.is_some_and(|year| year.is_empty() || is_number(year) && year.len() != 4);
    let year = date_part(year, 4095).filter(|_| !is_short);
    let [month, day] = [15, 31].map(|greatest| date_part(parts.next(), greatest));
    match (year, month, day, parts.next()) {
        (Some(year), Some(month), Some(day), None) => TagValue::Known(Date { year, month, day }),
        _ => TagValue::DoesNotFit,
    }
}

/// The date of `2004.02.24`, as nearly all are written.
fn plain_date(text: &[u8]) -> Option<Date> {
    let [y1, y2, y3, y4, b'.', m1, m2, b'.', d1, d2] = text else {
        return None;
    };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| byte - b'0');
    let two = |tens, ones| Some(10 * digit(tens)? + digit(ones)?);
    let year = 100 * u16::from(two(y1, y2)?) + u16::from(two(y3, y4)?);
    let (month, day) = (two(m1, m2)?, two(d1, d2)?);
    (year <= 4095 && month <= 15 && day <= 31).then_some(Date { year, month, day })
}

pub(super) fn is_year(word: &str) -> bool {
    word.len() == 4 && is_number(word)
}

/// A part of a date, 0 if it is unknown; `None` if it is too large or none.
fn date_part<N: TryFrom<u64> + Copy + PartialOrd + Default>(
    part: Option<&str>,
    greatest: N,
) -> Option<N> {
    let part = part.unwrap_or_default().trim();
    match number(part) {
        TagValue::Known(number) if number <= greatest => Some(number),
        TagValue::Unknown if part.bytes().all(|byte| byte == b'?') => Some(N::default()),
        _ => None,
    }
}

/// Round and game within the round of `5`, `5.2`, `5(2)`, `?.2`; of other
/// values what can be told.
pub(super) fn round(text: &str) -> (u8, u8) {
    let mut parts = text.split(['.', '(', ')']).map(str::trim);
    let mut part = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    (part(), part())
}

/// Whether round and subround are all that a round says: whether it would be
/// shown so, but for `5(2)`, leading zeros and blanks.
pub(super) fn is_plain_round(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || is_shown_so(text) {
        return true;
    }
    let dotted = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((first, second)) => format!("{first}.{second}"),
        None => text.to_owned(),
    };
    let parts = dotted.split('.').map(|part| part.trim_start_matches('0'));
    let plain = parts.collect::<Vec<_>>().join(".");
    plain.as_bytes() == shown_round(text)
}

/// Whether a round is written as we write it.
pub(super) fn is_shown_so(text: &str) -> bool {
    let is_number = |part: &str| part.parse::<u8>().is_ok() && !part.starts_with(['0', '+']);
    let is_usual = match text.split_once('.') {
        Some((round, subround)) => is_number(round) && is_number(subround),
        None => is_number(text),
    };
    is_usual || text.as_bytes() == shown_round(text)
}

/// The round that is read of a text as we write it.
fn shown_round(text: &str) -> Vec<u8> {
    let (number, subround) = round(text);
    let mut shown = Vec::with_capacity(8);
    append_round(number, subround, &mut shown);
    shown
}

/// `C89`, without a sub-code.
pub(super) fn eco(text: &str) -> TagValue<Option<Eco>> {
    match Eco::from_code(text) {
        Some(eco) => TagValue::Known(Some(eco)),
        None => TagValue::Unknown,
    }
}

/// `1:29:59` or `1:29:59.50`, in hundredths of a second.
pub(super) fn clock(text: &str) -> Option<i32> {
    let (time, hundredths) = text.split_once('.').unwrap_or((text, "0"));
    let mut seconds: i32 = 0;
    for part in time.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    let hundredths = hundredths.parse().ok()?;
    seconds.checked_mul(100)?.checked_add(hundredths)
}

/// Two digits.
pub(super) fn sub_code(text: &str) -> Option<u8> {
    text.parse().ok().filter(|_| text.len() == 2)
}

/// Kind of an event, whether teams met, and how fast it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventType {
    pub(super) kind: EventKind,
    pub(super) is_team_event: bool,
    pub(super) speed: Speed,
}

/// `swiss (blitz)`, `team-tourn`, in capitals or not.
pub(super) fn event_type(text: &str) -> TagValue<EventType> {
    let mut event = EventType::default();
    for word in text.to_ascii_lowercase().split_whitespace() {
        match word.trim_matches(['(', ')']) {
            "blitz" => event.speed.blitz = true,
            "rapid" => event.speed.rapid = true,
            "corr" => event.speed.correspondence = true,
            kind if event.kind == EventKind::Unknown => {
                let alone = kind.strip_prefix("team-");
                event.is_team_event = alone.is_some();
                event.kind = match event_kind(alone.unwrap_or(kind)) {
                    Some(kind) => kind,
                    None => return TagValue::Unknown,
                };
            }
            _ => return TagValue::Unknown,
        }
    }
    TagValue::Known(event)
}

fn event_kind(word: &str) -> Option<EventKind> {
    const KINDS: [EventKind; 8] = [
        EventKind::Game,
        EventKind::Match,
        EventKind::RoundRobin,
        EventKind::Swiss,
        EventKind::Team,
        EventKind::KnockOut,
        EventKind::Simultaneous,
        EventKind::Scheveningen,
    ];
    KINDS.into_iter().find(|kind| kind.pgn() == Some(word))
}

/// A FIDE category, in digits or Roman.
pub(super) fn category(text: &str) -> TagValue<u8> {
    match number(text) {
        TagValue::Unknown => from_roman(text).map_or(TagValue::Unknown, TagValue::Known),
        known => known,
    }
}

/// A Roman number, as far as categories go.
fn from_roman(text: &str) -> Option<u8> {
    const SIGNS: [(&str, u8); 6] = [("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1), ("", 0)];
    let mut rest = text;
    let mut number: u8 = 0;
    while !rest.is_empty() {
        let (after, value) = SIGNS
            .iter()
            .find_map(|(sign, value)| Some((rest.strip_prefix(sign)?, *value)))
            .filter(|(_, value)| *value > 0)?;
        rest = after;
        number = number.checked_add(value)?;
    }
    (number > 0).then_some(number)
}

/// What `CbhWhiteTeam` says: number, year, whether it is a season.
pub(super) fn team_details(text: &str) -> Option<(u32, u32, bool)> {
    let (number, years) = text.split_once(' ')?;
    let (year, second) = match years.split_once('/') {
        Some((year, second)) => (year, Some(second)),
        None => (years, None),
    };
    let is_season = match second {
        Some(second) if is_number(second) => true,
        Some(_) => return None,
        None => false,
    };
    Some((number.parse().ok()?, year.parse().ok()?, is_season))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_unknown_parts() {
        let known = |year, month, day| TagValue::Known(Date { year, month, day });
        for (text, expected) in [
            ("2004.02.24", known(2004, 2, 24)),
            ("2004-02-24", known(2004, 2, 24)),
            ("2004.??.??", known(2004, 0, 0)),
            ("2004", known(2004, 0, 0)),
            ("????.05.01", known(0, 5, 1)),
            ("????.??.??", known(0, 0, 0)),
            ("?", known(0, 0, 0)),
            ("", known(0, 0, 0)),
            ("--.--.----", known(0, 0, 0)),
            (" / / ", known(0, 0, 0)),
            ("★", TagValue::DoesNotFit),
            ("!", TagValue::DoesNotFit),
            ("-1", TagValue::DoesNotFit),
            (".05.01", TagValue::DoesNotFit),
            ("2004.??.", known(2004, 0, 0)),
            ("2004/ 2/24", known(2004, 2, 24)),
            ("summer", TagValue::DoesNotFit),
            ("2004.Aug.05", TagValue::DoesNotFit),
            ("2004.02.24 18:00", TagValue::DoesNotFit),
            ("2004.02.24.1", TagValue::DoesNotFit),
            ("200?.??.??", TagValue::DoesNotFit),
            ("24.02.2004", TagValue::DoesNotFit),
            ("1.1.24", TagValue::DoesNotFit),
            ("24", TagValue::DoesNotFit),
            ("9999.01.01", TagValue::DoesNotFit),
            ("2004.99.01", TagValue::DoesNotFit),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn a_round_has_up_to_two_numbers() {
        for (text, expected, is_plain) in [
            ("5", (5, 0), true),
            ("5.2", (5, 2), true),
            ("5(2)", (5, 2), true),
            ("?.2", (0, 2), true),
            ("?", (0, 0), true),
            ("", (0, 0), true),
            ("05", (5, 0), true),
            ("-", (0, 0), false),
            ("0", (0, 0), false),
            ("5.0", (5, 0), false),
            ("?.0", (0, 0), false),
            ("0.2", (0, 2), false),
            ("+5", (5, 0), false),
            ("5.2.1", (5, 2), false),
            ("300", (0, 0), false),
            ("Final", (0, 0), false),
        ] {
            assert_eq!(round(text), expected, "{text}");
            assert_eq!(is_plain_round(text), is_plain, "{text}");
        }
    }

    #[test]
    fn an_event_is_of_a_kind_and_a_speed() {
        let found = |text| match event_type(text) {
            TagValue::Known(event) => (event.kind.pgn().unwrap_or(""), event.is_team_event),
            _ => ("?", false),
        };
        for (text, expected) in [
            ("swiss", ("swiss", false)),
            ("Swiss (Blitz)", ("swiss", false)),
            ("team-tourn", ("tourn", true)),
            ("team", ("team", false)),
            ("k.o. (rapid) (corr)", ("k.o.", false)),
            ("(blitz)", ("", false)),
            ("round-robin", ("?", false)),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_category_may_be_roman() {
        for (text, expected) in [
            ("14", TagValue::Known(14)),
            ("XIV", TagValue::Known(14)),
            ("XXI", TagValue::Known(21)),
            ("IX", TagValue::Known(9)),
            ("high", TagValue::Unknown),
            ("", TagValue::Unknown),
            ("300", TagValue::DoesNotFit),
        ] {
            assert_eq!(category(text), expected, "{text}");
        }
    }
}
