//! Remarks as `[%name …]` commands in comments.
//!
//! | remark | command | read by |
//! |---|---|---|
//! | squares | `[%csl Ge4,Rd5]` | most programs |
//! | arrows | `[%cal Ge2e4,Rd8h4]` | most programs |
//! | time spent | `[%emt 0:01:30]` | most programs |
//! | evaluation | `[%eval 0.25,18]`, `[%eval #-3,18]` | most programs |
//! | medals | `[%mdl 5]` | ChessBase |
//! | evaluation profile | `[%evp 0,80,25,…]` | ChessBase |
//! | training question | `[%tqu "En","question",…]` | ChessBase |
//! | game quotation | `[%cbgame 1-0 Tal - Petrosian …]` | people |
//! | critical position | `[%cbcrit endgame]` | cbfs |
//! | variation colour | `[%cbcol ff0000,1]` | cbfs |
//! | web link, video | `[%cblink "url","caption"]`, `[%cbvideo 0,"caption"]` | cbfs |
//! | pawn structure, piece path, video time | `[%cb14 3]`, `[%cb15 3,h8]`, `[%cb25 62182]` | cbfs |
//! | anything else | `[%cba 61 …]`: kind in hexadecimal, payload in base64url | cbfs |
//!
//! What a public command cannot say stands in a private one beside it, with
//! numbers as stored: `[%cbcsl 7e4]`, `[%cbcal 7e2e4]`, `[%cbemt 0,1,30,30]`,
//! `[%cbeval 25,3,18]`, `[%cbevp 0:1:25,…]`, `[%cbclk w,1500]`,
//! `[%cbtc 540000,3000,40,1;…]`; a question or quotation has its payload as
//! `[%cba 09 …]`, `[%cba 13 …]`. When read, the private one counts as long as
//! it says the same as the public one.

use std::fmt::Write as _;

use data_encoding::BASE64URL_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use shakmaty::{Color, Square};

use crate::game::{
    Annotation, Arrow, ColoredSquare, Evaluation, MAX_WORD_BYTES, Phase, ProfilePoint, Quotation,
    Stage, TimeSpent, Training,
};

/// Squares or arrows in one command.
const MARKS_PER_COMMAND: usize = 30;

/// Appends the commands of a remark, each as text without line breaks. Texts
/// and symbols have none: they are comments and NAGs.
pub(super) fn encode(annotation: &Annotation, commands: &mut Vec<String>) {
    match annotation {
        Annotation::TextAfter(_) | Annotation::TextBefore(_) | Annotation::Symbols(_) => {}
        Annotation::Squares(squares) => encode_squares(squares, commands),
        Annotation::Arrows(arrows) => encode_arrows(arrows, commands),
        Annotation::TimeSpent(time) => encode_time(*time, commands),
        Annotation::Evaluation(evaluation) => encode_evaluation(*evaluation, commands),
        Annotation::Training(training) => encode_training(training, commands),
        Annotation::Quotation(quotation) => encode_quotation(quotation, commands),
        Annotation::Profile(points) => encode_profile(points, commands),
        Annotation::Medals(medals) => commands.push(format!("[%mdl {medals}]")),
        Annotation::Critical(phase) => commands.push(format!("[%cbcrit {}]", phase_name(*phase))),
        Annotation::VariationColor(color) => {
            let [red, green, blue] = color.rgb;
            let flags = color.flags;
            commands.push(format!("[%cbcol {red:02x}{green:02x}{blue:02x},{flags}]"));
        }
        Annotation::WebLink { url, caption } => {
            let (url, caption) = (quoted(url), quoted(caption));
            commands.push(format!("[%cblink {url},{caption}]"));
        }
        Annotation::Video { language, caption } => {
            commands.push(format!("[%cbvideo {language},{}]", quoted(caption)));
        }
        Annotation::PawnStructure(number) => commands.push(format!("[%cb14 {number}]")),
        Annotation::PiecePath(number, square) => {
            commands.push(format!("[%cb15 {number},{square}]"));
        }
        Annotation::VideoTime(time) => commands.push(format!("[%cb25 {time}]")),
        Annotation::Clock(color, time) => {
            let side = color.fold_wb('w', 'b');
            commands.push(format!("[%cbclk {side},{time}]"));
        }
        Annotation::TimeControl(stages) => commands.push(exact_time_control(stages)),
        Annotation::Opaque { kind, payload } => commands.push(raw(*kind, payload)),
    }
}

/// The colours that other programs know, by ChessBase's number.
fn color_letter(color: u8) -> Option<char> {
    match color {
        2 => Some('G'),
        3 => Some('Y'),
        4 => Some('R'),
        _ => None,
    }
}

fn encode_squares(squares: &[ColoredSquare], commands: &mut Vec<String>) {
    let public =
        |mark: &ColoredSquare| Some(format!("{}{}", color_letter(mark.color)?, mark.square));
    let exact = |mark: &ColoredSquare| format!("{}{}", mark.color, mark.square);
    encode_marks(["csl", "cbcsl"], squares, public, exact, commands);
}

fn encode_arrows(arrows: &[Arrow], commands: &mut Vec<String>) {
    let ends = |arrow: &Arrow| format!("{}{}", arrow.from, arrow.to);
    let public = |arrow: &Arrow| Some(format!("{}{}", color_letter(arrow.color)?, ends(arrow)));
    let exact = |arrow: &Arrow| format!("{}{}", arrow.color, ends(arrow));
    encode_marks(["cal", "cbcal"], arrows, public, exact, commands);
}

/// The marks that all programs know; if there are others, all marks again
/// with their numbers.
fn encode_marks<T>(
    [public_name, exact_name]: [&str; 2],
    marks: &[T],
    public: impl Fn(&T) -> Option<String>,
    exact: impl Fn(&T) -> String,
    commands: &mut Vec<String>,
) {
    let known: Vec<String> = marks.iter().filter_map(&public).collect();
    encode_list(public_name, &known, commands);
    if known.len() < marks.len() {
        let all: Vec<String> = marks.iter().map(exact).collect();
        encode_list(exact_name, &all, commands);
    }
}

/// A list that is too long for one word becomes several commands.
fn encode_list(name: &str, items: &[String], commands: &mut Vec<String>) {
    for part in items.chunks(MARKS_PER_COMMAND) {
        commands.push(format!("[%{name} {}]", part.join(",")));
    }
}

fn encode_time(time: TimeSpent, commands: &mut Vec<String>) {
    let TimeSpent {
        hours,
        minutes,
        seconds,
        extra,
    } = time;
    commands.push(format!("[%emt {hours}:{minutes:02}:{seconds:02}]"));
    if extra != 0 {
        commands.push(format!("[%cbemt {hours},{minutes},{seconds},{extra}]"));
    }
}

/// Centipawns as pawns with two decimals, moves to mate after `#`.
fn encode_evaluation(evaluation: Evaluation, commands: &mut Vec<String>) {
    let Evaluation { value, kind, depth } = evaluation;
    let public = match kind {
        0 => Some(pawns(value)),
        1 => Some(format!("#{value}")),
        _ => None,
    };
    if let Some(public) = &public {
        let depth = if depth > 0 {
            format!(",{depth}")
        } else {
            String::new()
        };
        commands.push(format!("[%eval {public}{depth}]"));
    }
    if public.is_none() || depth < 0 {
        commands.push(format!("[%cbeval {value},{kind},{depth}]"));
    }
}

fn pawns(centipawns: i16) -> String {
    let sign = if centipawns < 0 { "-" } else { "" };
    let size = centipawns.unsigned_abs();
    format!("{sign}{}.{:02}", size / 100, size % 100)
}

/// ChessBase's profile: the number of points less one, then centipawns;
/// mate in n plies is 30000 - n, no value 32767. What that does not say, the
/// depth, stands in the exact form.
fn encode_profile(points: &[ProfilePoint], commands: &mut Vec<String>) {
    let value = |point: &ProfilePoint| match point.kind {
        0 => i32::from(point.value),
        1 if point.value >= 0 => 30_000 - i32::from(point.value),
        1 => -30_000 - i32::from(point.value),
        _ => 32_767,
    };
    let last = points.len().saturating_sub(1);
    let values: Vec<String> = points
        .iter()
        .map(|point| value(point).to_string())
        .collect();
    commands.push(listed(&format!("[%evp 0,{last}"), &values));
    let exact: Vec<String> = points
        .iter()
        .map(|point| format!("{}:{}:{}", point.kind, point.depth, point.value))
        .collect();
    commands.push(listed("[%cbevp", &exact));
}

/// A command with a list of any length: commas, and a blank before a word
/// would grow too long.
fn listed(head: &str, items: &[String]) -> String {
    let mut command = head.to_owned();
    let mut word = command.len();
    for (at, item) in items.iter().enumerate() {
        let is_first = at == 0 && !head.contains(' ');
        command.push(if is_first { ' ' } else { ',' });
        word += 1 + item.len();
        if word > MAX_WORD_BYTES / 2 {
            command.push(' ');
            word = item.len();
        }
        command.push_str(item);
    }
    command.push(']');
    command
}

/// ChessBase's own words for a question, and the whole of it as stored.
fn encode_training(training: &Training, commands: &mut Vec<String>) {
    const LANGUAGES: [&str; 8] = ["En", "De", "Fr", "Es", "It", "Nl", "Pt", "En"];
    let [question, _, hint, second_hint] = &training.texts;
    let in_language = |texts: &[(u16, String)], language: u16| {
        let found = texts.iter().find(|(other, _)| *other == language);
        shown_in_quotes(found.map_or("", |(_, text)| text))
    };
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
        commands.push(command);
    }
    commands.push(raw(0x09, &training.payload));
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
fn encode_quotation(quotation: &Quotation, commands: &mut Vec<String>) {
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
    commands.push(format!("[%cbgame {}]", shown.trim_matches('"')));
    commands.push(raw(0x13, &quotation.payload));
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Opening => "opening",
        Phase::Middlegame => "middlegame",
        Phase::Endgame => "endgame",
    }
}

/// The stages with their numbers as stored.
fn exact_time_control(stages: &[Stage; 3]) -> String {
    let numbers = |stage: &Stage| {
        let Stage {
            time,
            increment,
            moves,
            kind,
        } = stage;
        format!("{time},{increment},{moves},{kind}")
    };
    format!("[%cbtc {}]", stages.each_ref().map(numbers).join(";"))
}

/// The PGN tag of a time control, `40/7200+30:900+30`, if reading it would
/// give the same stages.
pub(super) fn time_control_tag(stages: &[Stage; 3]) -> Option<String> {
    let used = stages
        .iter()
        .take_while(|stage| **stage != Stage::default());
    let mut parts = Vec::new();
    for stage in used {
        let mut part = String::new();
        if stage.kind == 1 {
            let _ = write!(part, "{}/", stage.moves);
        }
        let _ = write!(part, "{}", stage.time / 100);
        if stage.increment != 0 {
            let _ = write!(part, "+{}", stage.increment / 100);
        }
        parts.push(part);
    }
    let tag = parts.join(":");
    (parse_time_control(&tag).as_ref() == Some(stages)).then_some(tag)
}

/// The stages of a PGN time control; `None` if it is of another form.
pub(super) fn parse_time_control(tag: &str) -> Option<[Stage; 3]> {
    let mut stages = [Stage::default(); 3];
    let mut parts = tag.split(':');
    for (place, part) in stages.iter_mut().zip(&mut parts) {
        *place = parse_stage(part)?;
    }
    parts.next().is_none().then_some(stages)
}

fn parse_stage(part: &str) -> Option<Stage> {
    let (moves, time) = match part.split_once('/') {
        Some((moves, time)) => (Some(moves.parse().ok()?), time),
        None => (None, part),
    };
    let (time, increment) = time.split_once('+').unwrap_or((time, "0"));
    let hundredths = |seconds: &str| seconds.parse::<u32>().ok()?.checked_mul(100);
    let increment = hundredths(increment)?;
    Some(Stage {
        time: hundredths(time)?,
        increment,
        moves: moves.unwrap_or(1000),
        kind: match (moves, increment) {
            (Some(_), _) => 1,
            (None, 0) => 0,
            (None, _) => 3,
        },
    })
}

/// `1:29:59` or `1:29:59.50`; `None` for times below zero.
pub(super) fn clock_tag(hundredths: i32) -> Option<String> {
    let hundredths = u32::try_from(hundredths).ok()?;
    let seconds = hundredths / 100;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut tag = format!("{hours}:{minutes:02}:{seconds:02}");
    if !hundredths.is_multiple_of(100) {
        let _ = write!(tag, ".{:02}", hundredths % 100);
    }
    Some(tag)
}

/// A remark as stored: its kind and payload.
fn raw(kind: u8, payload: &[u8]) -> String {
    let mut command = format!("[%cba {kind:02x}");
    let digits = BASE64URL_NOPAD.encode(payload);
    for block in digits.as_bytes().chunks(64) {
        command.push(' ');
        command.push_str(std::str::from_utf8(block).unwrap_or_default());
    }
    command.push(']');
    command
}

/// What stands for itself between quotes.
const QUOTED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'=')
    .remove(b'&')
    .remove(b'+');

/// A text in quotes, percent-encoded as in web addresses; a long one has
/// blanks between, which do not count.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    let mut word = 0;
    for part in utf8_percent_encode(text, QUOTED) {
        for block in part.as_bytes().chunks(MAX_WORD_BYTES / 4) {
            if word + block.len() > MAX_WORD_BYTES / 2 {
                out.push(' ');
                word = 0;
            }
            out.push_str(std::str::from_utf8(block).unwrap_or_default());
            word += block.len();
        }
    }
    out.push('"');
    out
}

/// The value of a command; `None` if it is none of ours or says nothing that
/// can be stored: then it stays in the text. `arguments` is what stands after
/// the name, line breaks read as blanks.
pub(super) fn decode(name: &str, arguments: &str) -> Option<Annotation> {
    let joined: String = arguments.split_whitespace().collect();
    let arguments = arguments.trim();
    match name {
        "csl" => marks(&joined, |mark| square_of(mark, letter_color)).map(Annotation::Squares),
        "cal" => marks(&joined, |mark| arrow_of(mark, letter_color)).map(Annotation::Arrows),
        "cbcsl" => marks(&joined, |mark| square_of(mark, digit_color)).map(Annotation::Squares),
        "cbcal" => marks(&joined, |mark| arrow_of(mark, digit_color)).map(Annotation::Arrows),
        "emt" => parse_time(arguments).map(Annotation::TimeSpent),
        "cbemt" => numbers(&joined).map(|[hours, minutes, seconds, extra]: [u8; 4]| {
            Annotation::TimeSpent(TimeSpent {
                hours,
                minutes,
                seconds,
                extra,
            })
        }),
        "eval" => parse_evaluation(&joined).map(Annotation::Evaluation),
        "cbeval" => numbers(&joined).map(|[value, kind, depth]: [i16; 3]| {
            Annotation::Evaluation(Evaluation { value, kind, depth })
        }),
        "mdl" => joined.parse().ok().map(Annotation::Medals),
        "evp" => parse_public_profile(&joined).map(Annotation::Profile),
        "cbevp" => parse_exact_profile(&joined).map(Annotation::Profile),
        "cbcrit" => parse_phase(arguments).map(Annotation::Critical),
        "cbcol" => parse_color(&joined),
        "cblink" => {
            let (url, caption) = joined.split_once("\",\"")?;
            Some(Annotation::WebLink {
                url: unquoted(url)?,
                caption: unquoted(caption)?,
            })
        }
        "cbvideo" => {
            let (language, caption) = joined.split_once(',')?;
            Some(Annotation::Video {
                language: language.parse().ok()?,
                caption: unquoted(caption)?,
            })
        }
        "cb14" => joined.parse().ok().map(Annotation::PawnStructure),
        "cb15" => {
            let (number, square) = joined.split_once(',')?;
            let square = square.parse().ok()?;
            Some(Annotation::PiecePath(number.parse().ok()?, square))
        }
        "cb25" => joined.parse().ok().map(Annotation::VideoTime),
        "cbclk" => {
            let (side, time) = joined.split_once(',')?;
            let color = Color::from_char(side.chars().next()?)?;
            Some(Annotation::Clock(color, time.parse().ok()?))
        }
        "cbtc" => parse_exact_time_control(&joined),
        "cba" => {
            let (kind, digits) = joined.split_at_checked(2)?;
            Some(Annotation::Opaque {
                kind: u8::from_str_radix(kind, 16).ok()?,
                payload: BASE64URL_NOPAD.decode(digits.as_bytes()).ok()?,
            })
        }
        _ => None,
    }
}

/// All items of a list; `None` if it is empty or one is not understood.
fn marks<T>(list: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    list.split(',').map(item).collect()
}

fn letter_color(text: &str) -> Option<(u8, &str)> {
    let color = match text.bytes().next()? {
        b'G' => 2,
        b'Y' => 3,
        b'R' => 4,
        _ => return None,
    };
    Some((color, text.get(1..)?))
}

fn digit_color(text: &str) -> Option<(u8, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (color, rest) = text.split_at_checked(end)?;
    Some((color.parse().ok()?, rest))
}

fn square_of(mark: &str, color: impl Fn(&str) -> Option<(u8, &str)>) -> Option<ColoredSquare> {
    let (color, square) = color(mark)?;
    let square = square.parse().ok()?;
    Some(ColoredSquare { color, square })
}

fn arrow_of(mark: &str, color: impl Fn(&str) -> Option<(u8, &str)>) -> Option<Arrow> {
    let (color, squares) = color(mark)?;
    let (from, to) = squares.split_at_checked(2)?;
    let parse = |square: &str| square.parse::<Square>().ok();
    Some(Arrow {
        color,
        from: parse(from)?,
        to: parse(to)?,
    })
}

/// Exactly `N` numbers with commas between.
fn numbers<T: std::str::FromStr, const N: usize>(list: &str) -> Option<[T; N]> {
    let numbers: Option<Vec<T>> = list.split(',').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

fn parse_time(text: &str) -> Option<TimeSpent> {
    let mut parts = text.split(':');
    let mut part = || parts.next()?.parse().ok();
    let time = TimeSpent {
        hours: part()?,
        minutes: part()?,
        seconds: part()?,
        extra: 0,
    };
    parts.next().is_none().then_some(time)
}

/// Pawns or `#` moves to mate, then the depth. An integer with a depth is
/// ChessBase's: centipawns.
fn parse_evaluation(text: &str) -> Option<Evaluation> {
    let (value, depth) = match text.split_once(',') {
        Some((value, depth)) => (value, Some(depth.parse().ok()?)),
        None => (text, None),
    };
    let (value, kind) = if let Some(mate) = value.strip_prefix('#') {
        (mate.parse().ok()?, 1)
    } else if value.contains('.') || depth.is_none() {
        (centipawns(value)?, 0)
    } else {
        (value.parse().ok()?, 0)
    };
    Some(Evaluation {
        value,
        kind,
        depth: depth.unwrap_or(0),
    })
}

/// Pawns with any decimals, of which two count.
fn centipawns(pawns: &str) -> Option<i16> {
    let (sign, size) = match pawns.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, pawns.strip_prefix('+').unwrap_or(pawns)),
    };
    let (whole, decimals) = size.split_once('.').unwrap_or((size, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    let two: String = decimals.chars().chain("00".chars()).take(2).collect();
    let whole: i32 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let size = whole.checked_mul(100)?.checked_add(two.parse().ok()?)?;
    i16::try_from(sign * size).ok()
}

fn parse_public_profile(list: &str) -> Option<Vec<ProfilePoint>> {
    let values: Option<Vec<i32>> = list.split(',').map(|value| value.parse().ok()).collect();
    let values = values?;
    let [_, _, values @ ..] = values.as_slice() else {
        return None;
    };
    let point = |value: &i32| {
        let (kind, value) = match *value {
            32_767 => (u8::MAX, 0),
            mate @ 29_000..=30_000 => (1, 30_000 - mate),
            mate @ -30_000..=-29_000 => (1, -30_000 - mate),
            value => (0, value),
        };
        Some(ProfilePoint {
            kind,
            depth: u8::from(kind != u8::MAX),
            value: i16::try_from(value).ok()?,
        })
    };
    values.iter().map(point).collect()
}

fn parse_exact_profile(list: &str) -> Option<Vec<ProfilePoint>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    let point = |text: &str| {
        let mut parts = text.split(':');
        let point = ProfilePoint {
            kind: parts.next()?.parse().ok()?,
            depth: parts.next()?.parse().ok()?,
            value: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(point)
    };
    list.split(',').map(point).collect()
}

fn parse_phase(name: &str) -> Option<Phase> {
    [Phase::Opening, Phase::Middlegame, Phase::Endgame]
        .into_iter()
        .find(|&phase| phase_name(phase) == name)
}

fn parse_color(text: &str) -> Option<Annotation> {
    let (rgb, flags) = text.split_once(',')?;
    let rgb = u32::from_str_radix(rgb, 16)
        .ok()
        .filter(|_| rgb.len() == 6)?;
    let [_, red, green, blue] = rgb.to_be_bytes();
    Some(Annotation::VariationColor(crate::game::VariationColor {
        flags: flags.parse().ok()?,
        rgb: [red, green, blue],
    }))
}

fn parse_exact_time_control(text: &str) -> Option<Annotation> {
    let stage = |part: &str| {
        let [time, increment, moves, kind]: [u32; 4] = numbers(part)?;
        Some(Stage {
            time,
            increment,
            moves: u16::try_from(moves).ok()?,
            kind: u8::try_from(kind).ok()?,
        })
    };
    let stages: Option<Vec<Stage>> = text.split(';').map(stage).collect();
    stages?.try_into().ok().map(Annotation::TimeControl)
}

/// The inverse of [`quoted`], with or without the quotes.
fn unquoted(text: &str) -> Option<String> {
    let text = percent_decode_str(text.trim_matches('"')).decode_utf8();
    text.ok().map(std::borrow::Cow::into_owned)
}
