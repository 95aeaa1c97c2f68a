//! Training questions and game quotations: shown in the words that ChessBase
//! uses, with all of it as stored beside.

use std::fmt::Write as _;

use shakmaty::Square;

use super::raw::raw_beside;
use crate::game::{Answer, Quotation, Training};

/// ChessBase's number of training questions.
pub(super) const TRAINING: u8 = 0x09;

/// ChessBase's number of game quotations.
pub(super) const QUOTATION: u8 = 0x13;

/// Languages of training questions, by their number.
const LANGUAGES: [&str; 8] = ["En", "De", "Fr", "Es", "It", "Nl", "Pt", "Any"];

/// ChessBase's own words for a question, and the whole of it as stored.
pub(super) fn encode_training(training: &Training, commands: &mut Vec<String>) {
    let [question, _, hint, second_hint] = &training.texts;
    let in_language = |texts: &[(u16, String)], language: u16| {
        let found = texts.iter().find(|(other, _)| *other == language);
        shown_in_quotes(found.map_or("", |(_, text)| text))
    };
    let mut shown = Vec::new();
    for (language, text) in question {
        let name = LANGUAGES.get(usize::from(*language)).unwrap_or(&"En");
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
    commands.extend(shown.iter().cloned());
    if !training.payload.is_empty() {
        commands.push(raw_beside(TRAINING, &training.payload, shown));
    }
}

/// A text in quotes, without what would end it.
fn shown_in_quotes(text: &str) -> String {
    let mut shown = String::from("\"");
    for c in text.chars() {
        shown.push(match c {
            '"' => '\'',
            '[' | '{' => '(',
            ']' | '}' => ')',
            c if c.is_control() => ' ',
            c => c,
        });
    }
    shown.push('"');
    shown
}

/// The game as ChessBase shows it, and the whole of it as stored.
pub(super) fn encode_quotation(quotation: &Quotation, commands: &mut Vec<String>) {
    let mut text = quotation
        .result
        .map_or("*", |result| result.pgn())
        .to_owned();
    let players = [
        (&quotation.white, quotation.white_elo),
        (&quotation.black, quotation.black_elo),
    ];
    for (at, (name, elo)) in players.into_iter().enumerate() {
        text.push_str(if at == 0 { " " } else { "-" });
        text.push_str(name.trim_end_matches(','));
        if elo != 0 {
            let _ = write!(text, " ({elo})");
        }
    }
    for place in [&quotation.event, &quotation.site] {
        if !place.is_empty() {
            let _ = write!(text, " {place}");
        }
    }
    if quotation.date.year != 0 {
        let _ = write!(text, " {}", quotation.date.year);
    }
    if quotation.round != 0 {
        let _ = write!(text, " ({})", quotation.round);
    }
    let shown = shown_in_quotes(&text);
    let command = format!("[%cbgame {}]", shown.trim_matches('"'));
    commands.push(raw_beside(
        QUOTATION,
        &quotation.payload,
        vec![command.clone()],
    ));
    commands.push(command);
}

/// The question that `[%tqu …]` asks: language, question, two hints, then
/// answers as move, comment and points; `None` if it is of another form.
pub(super) fn parse_training(arguments: &str) -> Option<Training> {
    let mut fields = quoted_fields(arguments)?.into_iter();
    let name = fields.next()?;
    let language = LANGUAGES.iter().position(|known| *known == name)?;
    let language = u16::try_from(language).ok()?;
    let in_language = |text: String| match text.as_str() {
        "" => Vec::new(),
        _ => vec![(language, text)],
    };
    let mut training = Training::default();
    let [question, _, hint, second_hint] = &mut training.texts;
    for group in [question, hint, second_hint] {
        *group = in_language(fields.next()?);
    }
    let fields: Vec<String> = fields.collect();
    for answer in fields.chunks(3) {
        let [squares, comment, points] = answer else {
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
            text: in_language(comment.clone()),
        });
    }
    Some(training)
}

/// Fields with commas between, some in quotes, in which commas count for
/// nothing; several answers may each stand in parentheses.
fn quoted_fields(text: &str) -> Option<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for c in text.trim().chars() {
        let field = fields.last_mut()?;
        match c {
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
