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
//! `[%cbtc 540000,3000,40,1;…]`; a quotation, and a question of which the
//! public command cannot say all, has its payload as `[%cba 13 …]`,
//! `[%cba 09 …]`. When read, the private one counts as long as it says the same
//! as the public one.

mod evaluation;
mod marks;
mod quote;
mod raw;
mod read;
mod time;

pub(super) use raw::digest;
pub(super) use read::{CommandOrText, is_ours, is_private, is_question, pieces, read, read_text};
pub(super) use time::{clock_tag, parse_time_control, time_control_tag};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use shakmaty::Color;

use crate::game::{Annotation, Evaluation, Phase, TimeSpent, VariationColor};
use evaluation::{
    encode_evaluation, encode_profile, parse_evaluation, parse_exact_profile, parse_public_profile,
};
use marks::{arrow_of, digit_color, encode_arrows, encode_squares, letter_color, marks, square_of};
use quote::{encode_quotation, encode_training, parse_training};
use raw::{parse_raw, raw};
use time::{encode_time, exact_time_control, parse_exact_time_control, parse_time};

/// A command of more bytes is none: what a base stores of one remark, 64 KiB,
/// takes fewer in any spelling.
const MAX_COMMAND_BYTES: usize = 1 << 20;

/// No base holds a longer address or caption of a web link.
const MAX_LINK_CHARACTERS: usize = 255;

/// Longer lists have a blank about here, so that no line grows too long.
const WORD_BYTES: usize = 64;

/// Whether a remark is written as commands: not as text, nor as NAGs.
pub(super) fn has_commands(remark: &Annotation) -> bool {
    !matches!(
        remark,
        Annotation::TextAfter(_) | Annotation::TextBefore(_) | Annotation::Symbols(_)
    )
}

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

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Opening => "opening",
        Phase::Middlegame => "middlegame",
        Phase::Endgame => "endgame",
    }
}

/// The value of a command; `None` if it is none of ours or says nothing that
/// can be stored: then it stays in the text. `arguments` is what stands after
/// the name, line breaks read as blanks.
fn decode(name: &str, arguments: &str) -> Option<Annotation> {
    if arguments.len() > MAX_COMMAND_BYTES {
        return None;
    }
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
            let [url, caption] = [unquoted(url)?, unquoted(caption)?];
            let is_short = |text: &str| text.chars().count() <= MAX_LINK_CHARACTERS;
            (is_short(&url) && is_short(&caption)).then(|| Annotation::WebLink {
                url: url.into(),
                caption: caption.into(),
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
        "tqu" => parse_training(arguments).map(|training| Annotation::Training(Box::new(training))),
        "cba" => parse_raw(&joined).map(|(remark, _)| remark),
        _ => None,
    }
}

/// Exactly `N` numbers with commas between.
fn numbers<T: std::str::FromStr, const N: usize>(list: &str) -> Option<[T; N]> {
    let numbers: Option<Vec<T>> = list.split(',').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
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
    Some(Annotation::VariationColor(VariationColor {
        flags: flags.parse().ok()?,
        rgb: [red, green, blue],
    }))
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
        for block in part.as_bytes().chunks(WORD_BYTES / 2) {
            if word + block.len() > WORD_BYTES {
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

/// The inverse of [`quoted`], with or without the quotes.
fn unquoted(text: &str) -> Option<String> {
    let text = percent_decode_str(text.trim_matches('"')).decode_utf8();
    text.ok().map(std::borrow::Cow::into_owned)
}
