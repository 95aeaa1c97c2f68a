//! Dates in other forms than PGN has them.
//!
//! | form | is read as |
//! |---|---|
//! | `24.02.2004`, `24/2/2004`, `2/24/2004`, `3-3-2004` | the date |
//! | `20040224`, `5.II.2004`, `02/2004` | the date |
//! | `Feb 24, 2004`, `24 février 2004`, `2004-Feb-24`, `Feb 2004` | the date |
//! | `2004.02.24 18:00`, `Tuesday, 24 Feb 2004` | the date; the rest is kept |
//! | `2/3/2004`: the third of February, or the second of March | the year |
//! | `2004.13.45`, `2004, in summer` | the year |
//! | `1.1.99`, `2003/2004`, `summer` | nothing |
//!
//! Where dots part two numbers and a year, the day comes first; otherwise what
//! can be either day or month is not guessed.

use super::value::{TagValue, date, is_number, is_year};
use crate::game::Date;

/// What a date in another form says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InWords {
    /// All of it.
    Whole(Date),
    /// This, and something else; or only a part is understood.
    Partly(Date),
    /// The year; which number is the day and which the month is not clear.
    Unsure(Date),
}

/// The names of the months, in English, German, French, Spanish, Italian,
/// Portuguese and Dutch, each also without its accents.
const MONTHS: [&[&str]; 12] = [
    &[
        "january", "januar", "jänner", "janvier", "enero", "gennaio", "janeiro", "januari",
    ],
    &[
        "february",
        "februar",
        "février",
        "fevrier",
        "febrero",
        "febbraio",
        "fevereiro",
        "februari",
    ],
    &[
        "march", "märz", "maerz", "marz", "mars", "marzo", "março", "marco", "maart", "mrt",
    ],
    &["april", "avril", "abril", "aprile"],
    &["may", "mai", "mayo", "maggio", "maio", "mei"],
    &["june", "juni", "juin", "junio", "giugno", "junho"],
    &["july", "juli", "juillet", "julio", "luglio", "julho"],
    &["august", "août", "aout", "agosto", "augustus"],
    &[
        "september",
        "septembre",
        "septiembre",
        "settembre",
        "setembro",
    ],
    &[
        "october", "oktober", "octobre", "octubre", "ottobre", "outubro",
    ],
    &["november", "novembre", "noviembre", "novembro"],
    &[
        "december",
        "dezember",
        "décembre",
        "decembre",
        "diciembre",
        "dicembre",
        "dezembro",
    ],
];

const ROMAN: [&str; 12] = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii",
];

/// Letters of a month's name, at least.
const SHORTEST: usize = 3;

/// A part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatePart<'t> {
    Year(u16),
    Number(u8),
    Month(u8),
    /// A number in Roman digits.
    Roman(u8),
    Digits(&'t str),
    Word,
}

/// What a date of another form says; `None` if nothing that is sure.
pub(super) fn date_in_words(text: &str) -> Option<InWords> {
    let (dated, has_time) = without_time(text);
    let parts: Vec<DatePart<'_>> = parts(dated).collect();
    let plain: Vec<DatePart<'_>> = parts
        .iter()
        .copied()
        .filter(|part| *part != DatePart::Word)
        .collect();
    let has_more = has_time || plain.len() < parts.len();
    // What stands between two numbers may be a month that is not understood.
    let is_month_and_year = plain.len() == parts.len();
    match of_parts(&plain, is_month_and_year, dated.matches('.').count() == 2) {
        Some(InWords::Whole(date)) if has_more => Some(InWords::Partly(date)),
        Some(found) => Some(found),
        None => {
            let mut years = parts.iter().filter_map(|part| match part {
                DatePart::Year(year) => Some(*year),
                _ => None,
            });
            let year = years.next().filter(|_| years.next().is_none())?;
            known(year, 0, 0).map(InWords::Partly)
        }
    }
}

fn of_parts(parts: &[DatePart<'_>], is_month_and_year: bool, is_dotted: bool) -> Option<InWords> {
    let whole = |date: Option<Date>| date.map(InWords::Whole);
    match *parts {
        [DatePart::Digits(digits)] => of_digits(digits),
        [
            DatePart::Number(day),
            DatePart::Month(month) | DatePart::Roman(month),
            DatePart::Year(year),
        ]
        | [
            DatePart::Month(month),
            DatePart::Number(day),
            DatePart::Year(year),
        ]
        | [
            DatePart::Year(year),
            DatePart::Month(month) | DatePart::Roman(month),
            DatePart::Number(day),
        ] => whole(known(year, month, day).filter(|_| day > 0)),
        [
            DatePart::Year(year),
            DatePart::Number(month),
            DatePart::Number(day),
        ] => whole(known(year, month, day).filter(|_| day > 0)),
        [DatePart::Number(month), DatePart::Year(year)] if is_month_and_year => {
            whole(known(year, month, 0))
        }
        [DatePart::Month(month), DatePart::Year(year)]
        | [DatePart::Year(year), DatePart::Month(month)] => whole(known(year, month, 0)),
        [
            DatePart::Number(first),
            DatePart::Number(second),
            DatePart::Year(year),
        ] => {
            let day_first = known(year, second, first).filter(|date| date.day > 0);
            let month_first = known(year, first, second).filter(|date| date.day > 0);
            match (day_first, month_first) {
                (day_first, _) if is_dotted => whole(day_first),
                (Some(one), Some(other)) if one != other => known(year, 0, 0).map(InWords::Unsure),
                (one, other) => whole(one.or(other)),
            }
        }
        _ => None,
    }
}

/// `20040224`, or `24022004`, whichever is a date of chess.
fn of_digits(digits: &str) -> Option<InWords> {
    let number = |from: usize, to: usize| digits.get(from..to)?.parse::<u16>().ok();
    let read = |year: [usize; 2], month: [usize; 2], day: [usize; 2]| {
        let year = number(year[0], year[1]).filter(|year| (1400..=2200).contains(year))?;
        let [month, day] = [month, day].map(|[from, to]| number(from, to).unwrap_or_default());
        let date = known(year, u8::try_from(month).ok()?, u8::try_from(day).ok()?);
        date.filter(|date| date.day > 0)
    };
    let year_first = read([0, 4], [4, 6], [6, 8]);
    let year_last = read([4, 8], [2, 4], [0, 2]);
    match (year_first, year_last) {
        (Some(date), None) | (None, Some(date)) => Some(InWords::Whole(date)),
        _ => None,
    }
}

/// A date that the calendar has, month and day 0 if they are not known.
fn known(year: u16, month: u8, day: u8) -> Option<Date> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        0 if day > 0 => return None,
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        0..=12 => 31,
        _ => return None,
    };
    match date(&format!("{year:04}.{month}.{day}")) {
        TagValue::Known(date) if day <= days => Some(date),
        _ => None,
    }
}

/// A date without the time behind it; whether there was one.
fn without_time(text: &str) -> (&str, bool) {
    let Some((before, _)) = text.split_once(':') else {
        return (text, false);
    };
    let end = before.trim_end_matches(|c: char| c.is_ascii_digit());
    (end.strip_suffix('T').unwrap_or(end), true)
}

/// Numbers and words, whatever stands between.
fn parts(text: &str) -> impl Iterator<Item = DatePart<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let is_digit = rest.starts_with(|c: char| c.is_ascii_digit());
        let is_other = |c: char| c.is_ascii_digit() != is_digit || !c.is_alphanumeric();
        let end = rest.find(is_other).unwrap_or(rest.len());
        let (part, after) = rest.split_at_checked(end)?;
        rest = after;
        if !is_digit {
            return (!part.is_empty()).then(|| word(part));
        }
        for ending in ["st", "nd", "rd", "th"] {
            rest = rest.strip_prefix(ending).unwrap_or(rest);
        }
        Some(match part.parse() {
            Ok(year) if is_year(part) => DatePart::Year(year),
            Ok(number) if part.len() <= 2 => {
                u8::try_from(number).map_or(DatePart::Word, DatePart::Number)
            }
            _ if part.len() == 8 && is_number(part) => DatePart::Digits(part),
            _ => DatePart::Word,
        })
    })
}

fn word(word: &str) -> DatePart<'static> {
    let word = word.to_lowercase();
    let place = |at: usize| u8::try_from(at + 1).unwrap_or_default();
    if let Some(at) = ROMAN.iter().position(|roman| *roman == word) {
        return DatePart::Roman(place(at));
    }
    let is_name = |name: &&str| name.starts_with(&word);
    let has_name = |names: &&[&str]| names.iter().any(is_name);
    let mut months = (0..).zip(MONTHS).filter(|(_, names)| has_name(names));
    match (months.next(), months.next()) {
        (Some((at, _)), None) if word.chars().count() >= SHORTEST => DatePart::Month(place(at)),
        _ => DatePart::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_in_another_form_says_what_it_can() {
        let whole = |year, month, day| Some(InWords::Whole(Date { year, month, day }));
        let partly = |year, month, day| Some(InWords::Partly(Date { year, month, day }));
        let (month, day) = (0, 0);
        let unsure = |year| Some(InWords::Unsure(Date { year, month, day }));
        for (text, expected) in [
            ("24.02.2004", whole(2004, 2, 24)),
            ("1. 2. 2004", whole(2004, 2, 1)),
            ("24/02/2004", whole(2004, 2, 24)),
            ("02-24-2004", whole(2004, 2, 24)),
            ("3/3/2004", whole(2004, 3, 3)),
            ("20040224", whole(2004, 2, 24)),
            ("24022004", whole(2004, 2, 24)),
            ("5.II.2004", whole(2004, 2, 5)),
            ("5.XIII.2004", partly(2004, 0, 0)),
            ("5 listopada 2004", partly(2004, 0, 0)),
            ("5/xii/1904", whole(1904, 12, 5)),
            ("02/2004", whole(2004, 2, 0)),
            ("Feb 24, 2004", whole(2004, 2, 24)),
            ("24th February 2004", whole(2004, 2, 24)),
            ("24. Februar 2004", whole(2004, 2, 24)),
            ("24 FÉVRIER 2004", whole(2004, 2, 24)),
            ("24-Feb-2004", whole(2004, 2, 24)),
            ("2004.Aug.05", whole(2004, 8, 5)),
            ("Okt. 2004", whole(2004, 10, 0)),
            ("29.02.2004", whole(2004, 2, 29)),
            ("2004.02.24 18:00", partly(2004, 2, 24)),
            ("2004-02-24T18:00:00Z", partly(2004, 2, 24)),
            ("Tuesday, 24 Feb 2004", partly(2004, 2, 24)),
            ("24 of Feb 2004", partly(2004, 2, 24)),
            ("02/03/2004", unsure(2004)),
            ("2004.13.45", partly(2004, 0, 0)),
            ("31.2.2004", partly(2004, 0, 0)),
            ("29.02.2003", partly(2003, 0, 0)),
            ("24 Jui 2004", partly(2004, 0, 0)),
            ("0.5.2004", partly(2004, 0, 0)),
            ("summer of 2004", partly(2004, 0, 0)),
            ("2004/2005", None),
            ("1.1.24", None),
            ("0.0.9999", None),
            ("20049999", None),
            ("99999999999999999999", None),
            ("summer", None),
            ("", None),
        ] {
            assert_eq!(date_in_words(text), expected, "{text}");
        }
    }
}
