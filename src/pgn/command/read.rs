//! Commands out of the text of a comment.

use super::quote::{QUOTATION, TRAINING};
use super::raw::{digest, parse_raw};
use super::{decode, encode};
use crate::game::Annotation;

/// What a comment holds beside its text.
#[derive(Debug, Default, PartialEq)]
pub(in crate::pgn) struct Comment {
    /// Remarks of commands, in order.
    pub(in crate::pgn) remarks: Vec<Annotation>,
    /// The rest, with the commands that are none of ours.
    pub(in crate::pgn) text: String,
}

/// Whether a command in a stored text would be taken for a remark when read,
/// and so must not be written as it is.
pub(in crate::pgn) fn is_ours(name: &str, arguments: &str) -> bool {
    match name {
        "cbnag" => false,
        "tqu" => true,
        name => name.starts_with("cb") || decode(name, arguments).is_some(),
    }
}

/// One command as it stands in a comment.
struct Command<'t> {
    /// With brackets.
    whole: &'t str,
    name: &'t str,
    remark: Option<Annotation>,
    /// What an exact form says must stand beside it.
    digest: Option<u32>,
}

/// Splits a comment into remarks and text. An exact form beside a public one
/// counts as long as the public one is what it would be shown as; else the
/// public one was edited, and counts.
pub(in crate::pgn) fn read(comment: &str) -> Comment {
    let mut commands = Vec::new();
    let mut text = String::with_capacity(comment.len());
    let mut rest = comment;
    while let Some(at) = rest.find("[%") {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let Some(command) = command_at(from) else {
            text.push_str("[%");
            rest = from.get(2..).unwrap_or_default();
            continue;
        };
        rest = from.get(command.whole.len()..).unwrap_or_default();
        if command.remark.is_none() && command.name != "cbgame" {
            text.push_str(command.whole);
        } else {
            commands.push(command);
        }
    }
    text.push_str(rest);
    let remarks = resolve(&commands, &mut text);
    Comment { remarks, text }
}

/// The command at the front of `text`: up to the first `]` outside quotes.
fn command_at(text: &str) -> Option<Command<'_>> {
    let mut is_quoted = false;
    let end = text.find(|c| {
        is_quoted ^= c == '"';
        c == ']' && !is_quoted
    });
    let whole = text.get(..=end.or_else(|| text.find(']'))?)?;
    let inside = whole.strip_prefix("[%")?.strip_suffix(']')?;
    let (name, arguments) = inside
        .split_once(char::is_whitespace)
        .unwrap_or((inside, ""));
    let digest = match name {
        "cba" => {
            let joined: String = arguments.split_whitespace().collect();
            parse_raw(&joined).and_then(|(_, digest)| digest)
        }
        _ => None,
    };
    Some(Command {
        whole,
        name,
        remark: decode(name, arguments),
        digest,
    })
}

/// The remarks that the commands of one comment come to.
fn resolve(commands: &[Command<'_>], text: &mut String) -> Vec<Annotation> {
    let mut remarks: Vec<Annotation> = Vec::new();
    for command in commands {
        let Some(remark) = &command.remark else {
            if !has_exact_form(command, commands) {
                text.push_str(command.whole);
            }
            continue;
        };
        let counts = if is_exact(command) {
            is_shown_by(command, remark, commands)
        } else {
            !has_exact_form(command, commands)
        };
        if counts && !joins_last(remark, remarks.last_mut()) {
            remarks.push(remark.clone());
        }
    }
    remarks
}

/// Names of public commands with those of their exact forms.
const EXACT: [(&str, &str); 5] = [
    ("csl", "cbcsl"),
    ("cal", "cbcal"),
    ("emt", "cbemt"),
    ("eval", "cbeval"),
    ("evp", "cbevp"),
];

fn is_exact(command: &Command<'_>) -> bool {
    command.digest.is_some() || EXACT.iter().any(|(_, exact)| *exact == command.name)
}

/// The name of the public form of an exact command.
fn public_name(exact: &Command<'_>) -> Option<&'static str> {
    if let (Some(_), Some(Annotation::Opaque { kind, .. })) = (exact.digest, &exact.remark) {
        return match *kind {
            TRAINING => Some("tqu"),
            QUOTATION => Some("cbgame"),
            _ => None,
        };
    }
    let pair = EXACT.iter().find(|(_, name)| *name == exact.name)?;
    Some(pair.0)
}

/// Whether the public commands beside an exact one are what it is shown as.
fn is_shown_by(exact: &Command<'_>, remark: &Annotation, commands: &[Command<'_>]) -> bool {
    let Some(name) = public_name(exact) else {
        return true;
    };
    let beside = commands.iter().filter(|command| command.name == name);
    let shown: Vec<String> = beside.map(|command| command.whole.to_owned()).collect();
    if let Some(expected) = exact.digest {
        return digest(&shown) == expected;
    }
    // A list may be cut into several exact commands: all together count.
    let mut whole: Option<Annotation> = None;
    for part in commands.iter().filter(|other| other.name == exact.name) {
        if let Some(part) = &part.remark
            && !joins_last(part, whole.as_mut())
        {
            whole = Some(part.clone());
        }
    }
    let mut expected = Vec::new();
    encode(whole.as_ref().unwrap_or(remark), &mut expected);
    expected.retain(|command| command.starts_with(&format!("[%{name} ")));
    digest(&shown) == digest(&expected)
}

/// Whether an exact command that counts stands beside this public one.
fn has_exact_form(public: &Command<'_>, commands: &[Command<'_>]) -> bool {
    commands.iter().any(|other| {
        is_exact(other)
            && public_name(other) == Some(public.name)
            && other
                .remark
                .as_ref()
                .is_some_and(|remark| is_shown_by(other, remark, commands))
    })
}

/// Whether a list of squares or arrows continues the one before.
fn joins_last(remark: &Annotation, last: Option<&mut Annotation>) -> bool {
    match (last, remark) {
        (Some(Annotation::Squares(all)), Annotation::Squares(more)) => all.extend(more),
        (Some(Annotation::Arrows(all)), Annotation::Arrows(more)) => all.extend(more),
        _ => return false,
    }
    true
}
