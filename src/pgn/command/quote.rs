//! Training questions and game quotations: shown in the words that ChessBase
//! uses, with all of it as stored beside.

use std::fmt::Write as _;

use shakmaty::Square;

use super::CommandOrText;
use super::raw::raw_beside;
use crate::game::{Annotation, Answer, Quotation, Training, shown_in_quotes as shown_character};

/// ChessBase's number of training questions.
pub(super) const TRAINING: u8 = 0x09;

/// ChessBase's number of game quotations.
pub(super) const QUOTATION: u8 = 0x13;

/// Languages of training questions, by their number.
const LANGUAGES: [&str; 8] = ["En", "De", "Fr", "Es", "It", "Nl", "Pt", "Any"];

fn language_name(language: u16) -> String {
    match LANGUAGES.get(usize::from(language)) {
        Some(name) => (*name).to_owned(),
        None => format!("L{language}"),
    }
}

/// The inverse of [`language_name`].
fn language_number(name: &str) -> Option<u16> {
    match LANGUAGES.iter().position(|known| *known == name) {
        Some(number) => u16::try_from(number).ok(),
        None => name.strip_prefix('L')?.parse().ok(),
    }
}

/// ChessBase's own words for a question, and the whole of it as stored.
pub(super) fn encode_training(training: &Training, commands: &mut Vec<String>) {
    let [question, _, hint, second_hint] = &training.texts;
    let in_language = |texts: &[(u16, String)], language: u16| {
        let found = texts.iter().find(|(other, _)| *other == language);
        shown_in_quotes(found.map_or("", |(_, text)| text))
    };
    let mut shown = Vec::new();
    // Answers alone are a question too, of which nothing is said.
    let unsaid = [(0, String::new())];
    let question = match question.as_slice() {
        [] if !training.answers.is_empty() => &unsaid,
        question => question,
    };
    for (language, text) in question {
        let name = language_name(*language);
        let mut command = format!("[%tqu \"{name}\",{}", shown_in_quotes(text));
        for hint in [hint, second_hint] {
            let _ = write!(command, ",{}", in_language(hint, *language));
        }
        for answer in &training.answers {
            let comment = in_language(&answer.text, *language);
            let (from, to, points) = (answer.from, answer.to, answer.points);
            let _ = write!(command, ",\"{from}{to}\",{comment},{points}");
        }
        command.push(']');
        shown.push(command);
    }
    let beside: Vec<&str> = shown.iter().map(String::as_str).collect();
    let stored = raw_beside(TRAINING, &training.payload, &beside);
    commands.append(&mut shown);
    if !training.payload.is_empty() {
        commands.push(stored);
    }
}

/// A text in quotes, without what would end it.
fn shown_in_quotes(text: &str) -> String {
    let mut shown = String::from("\"");
    shown.extend(text.chars().map(shown_character));
    shown.push('"');
    shown
}

/// The game as ChessBase shows it, and the whole of it as stored.
pub(super) fn encode_quotation(quotation: &Quotation, commands: &mut Vec<String>) {
    let caption = shown_in_quotes(&quotation.caption);
    let shown = format!("[%cbgame {}]", caption.trim_matches('"'));
    let stored = raw_beside(QUOTATION, &quotation.payload, &[&shown]);
    commands.extend([shown, stored]);
}

/// A question or quotation of what is shown of it and what is stored; `None`
/// if what is shown is of another form.
pub(super) fn with_payload(kind: u8, shown: &[&str], payload: &[u8]) -> Option<Annotation> {
    let payload = payload.to_vec();
    if kind == QUOTATION {
        let (_, caption) = CommandOrText::parts(shown.first()?);
        let caption = caption.to_owned();
        let quotation = Quotation { caption, payload };
        return Some(Annotation::Quotation(Box::new(quotation)));
    }
    let mut training = Training::default();
    for command in shown {
        join(
            &mut training,
            parse_training(CommandOrText::parts(command).1)?,
        );
    }
    training.payload = payload;
    Some(Annotation::Training(Box::new(training)))
}

/// Adds a question, if it is the same in another language. Returns whether it
/// is.
pub(super) fn joins(training: &mut Training, other: &Training) -> bool {
    let languages = |question: &Training| -> Vec<u16> {
        let [texts, ..] = &question.texts;
        texts.iter().map(|(language, _)| *language).collect()
    };
    let asked = languages(training);
    let is_other = languages(other)
        .iter()
        .all(|language| !asked.contains(language));
    let same = |(one, two): (&Answer, &Answer)| {
        (one.from, one.to, one.points) == (two.from, two.to, two.points)
    };
    let is_same = training.answers.len() == other.answers.len()
        && training.answers.iter().zip(&other.answers).all(same);
    let is_plain = training.payload.is_empty() && other.payload.is_empty();
    if is_other && is_same && is_plain {
        join(training, other.clone());
        return true;
    }
    false
}

/// Adds the same question in another language.
fn join(training: &mut Training, other: Training) {
    for (texts, more) in training.texts.iter_mut().zip(other.texts) {
        texts.extend(more);
    }
    training.points = training.points.max(other.points);
    let count = training.answers.len();
    let mut others = other.answers.into_iter();
    for (answer, more) in training.answers.iter_mut().zip(others.by_ref().take(count)) {
        answer.text.extend(more.text);
    }
    training.answers.extend(others);
}

/// The question that `[%tqu …]` asks: language, question, two hints, then
/// answers as move, comment and points; and the same for each other language. `None` if
/// it is of another form, or if the answers differ.
pub(super) fn parse_training(arguments: &str) -> Option<Training> {
    let fields = quoted_fields(arguments)?;
    let (mut asked, mut rest) = question(&fields)?;
    while !rest.is_empty() {
        let (other, behind) = question(rest)?;
        if !joins(&mut asked, &other) {
            return None;
        }
        rest = behind;
    }
    Some(asked)
}

/// The question in the language that is named first, and the fields behind it.
fn question(fields: &[String]) -> Option<(Training, &[String])> {
    let [name, question, hint, second_hint, rest @ ..] = fields else {
        return None;
    };
    let mut rest = rest;
    let language = language_number(name)?;
    let in_language = |text: &str| match text {
        "" => Vec::new(),
        _ => vec![(language, text.to_owned())],
    };
    let mut training = Training {
        texts: [question.as_str(), "", hint, second_hint].map(in_language),
        ..Training::default()
    };
    while let [squares, behind @ ..] = rest
        && language_number(squares).is_none()
    {
        let [comment, points, behind @ ..] = behind else {
            return None;
        };
        let (from, to) = squares.split_at_checked(2)?;
        let square = |name: &str| name.parse::<Square>().ok();
        let points: u8 = points.parse().ok()?;
        training.points = training.points.max(u16::from(points));
        training.answers.push(Answer {
            from: square(from)?,
            to: square(to)?,
            unknown: 0,
            points,
            text: in_language(comment),
        });
        rest = behind;
    }
    Some((training, rest))
}

/// Fields with commas between, some in quotes, in which commas count for
/// nothing; several answers may each stand in parentheses. A quote within a text ends it
/// only in front of what may follow there: an end, or a comma and the next field.
fn quoted_fields(text: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let text = text.trim();
    for (at, c) in text.char_indices() {
        let field = fields.last_mut()?;
        let ends_field = || {
            let behind = text.get(at + 1..).unwrap_or_default().trim_start();
            let next = behind.strip_prefix(',').map(str::trim_start);
            let is_field = |next: &str| {
                let is_digit = next.starts_with(|c: char| c.is_ascii_digit());
                next.is_empty() || is_digit || next.starts_with(['"', '(', ','])
            };
            behind.is_empty() || behind.starts_with(['(', ')']) || next.is_some_and(is_field)
        };
        match c {
            '"' if is_quoted && !ends_field() => field.push(c),
            '"' => is_quoted = !is_quoted,
            c if is_quoted => field.push(c),
            ',' | ')' if c == ',' || !field.is_empty() => {
                if c == ',' {
                    fields.push(String::new());
                }
            }
            '(' if !field.is_empty() => fields.push(String::new()),
            c if c.is_whitespace() || c == '(' || c == ')' => {}
            c => field.push(c),
        }
    }
    (!is_quoted).then_some(fields)
}
