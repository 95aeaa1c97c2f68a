//! The exact forms of training questions, in tags: what a base stores of a
//! question and ChessBase's own command does not say. Readers show the command;
//! the rest would be a long one of ours in the same comment.
//!
//! The tags `CbhExact1`, `CbhExact2` … are one text in pieces: forms with commas
//! between, each `09~<digest of the command>~<digest of the form><form>`. So a
//! form counts for the command that it was written for, wherever that stands.

use std::collections::{HashMap, HashSet};

use super::command::{self, CommandOrText};
use crate::game::{Annotation, Game};

/// Name of a tag, but for its number.
pub(super) const NAME: &str = "CbhExact";

/// Scid takes no longer tags.
const PIECE_BYTES: usize = 200;

/// So many tags a game has at most; other forms stand beside their commands.
pub(super) const MOST_TAGS: usize = 64;

/// Exact forms, as commands, by what stands for each in a tag before its own
/// digest.
#[derive(Debug, Default)]
pub(super) struct Exact {
    commands: HashMap<String, String>,
    /// Those that have stood beside no question so far.
    unused: HashSet<String>,
}

impl Exact {
    /// The forms of a game that are told in tags, and the values of these.
    pub(super) fn of(game: &Game) -> (Exact, Vec<String>) {
        let remarks = || game.annotations.iter().map(|(_, remark)| remark);
        let is_question = |remark: &Annotation| matches!(remark, Annotation::Training(_));
        if !remarks().any(is_question) {
            return (Exact::default(), Vec::new());
        }
        let (mut exact, mut told) = (Exact::default(), String::new());
        // A question that says the same and has no form would take that of another.
        let plain: HashSet<String> = remarks().filter_map(head_of_plain).collect();
        for remark in remarks() {
            let Annotation::Training(training) = remark else {
                continue;
            };
            let mut commands = Vec::new();
            command::encode(remark, &mut commands);
            let form = commands.pop().filter(|_| !commands.is_empty());
            let Some(form) = form.filter(|_| !training.payload.is_empty()) else {
                continue;
            };
            let Some((head, digits)) = parts(&form).filter(|(head, _)| !plain.contains(head))
            else {
                continue;
            };
            let item = format!("{head}~{:08x}{digits}", command::digest(&[&digits]));
            let fits = told.len() + item.len() < PIECE_BYTES * MOST_TAGS;
            if fits && !exact.commands.contains_key(&head) {
                told.push_str(if told.is_empty() { "" } else { "," });
                told.push_str(&item);
                exact.commands.insert(head, form);
            }
        }
        let pieces = told.as_bytes().chunks(PIECE_BYTES);
        let pieces = pieces.map(|piece| String::from_utf8_lossy(piece).into_owned());
        (exact, pieces.collect())
    }

    /// The forms that tags tell, their values joined. A form of which a piece is
    /// missing is none.
    pub(super) fn parse(told: &str) -> Exact {
        let form = |item: &str| {
            let (kind, rest) = item.split_once('~')?;
            let (shown, rest) = rest.split_once('~')?;
            let (own, digits) = rest.split_at_checked(8)?;
            let is_whole = own == format!("{:08x}", command::digest(&[digits]));
            let form = || format!("[%cba {kind} ~{shown} {digits}]");
            is_whole.then(|| (format!("{kind}~{shown}"), form()))
        };
        let commands: HashMap<String, String> = told.split(',').filter_map(form).collect();
        Exact {
            unused: commands.keys().cloned().collect(),
            commands,
        }
    }

    /// Whether a command stands in a tag.
    pub(super) fn has(&self, command: &str) -> bool {
        !self.commands.is_empty() && self.commands.values().any(|known| known == command)
    }

    /// A comment with the form of its questions in front of them, if a tag tells it.
    /// Behind them a text may hold half a command, which would take the form for its end.
    pub(super) fn beside(&mut self, comment: &str) -> Option<String> {
        if self.commands.is_empty() || !comment.contains("[%tqu") {
            return None;
        }
        let (mut before, mut questions) = (None, Vec::new());
        let mut at = 0;
        for piece in command::pieces(comment) {
            let (CommandOrText::Plain(part) | CommandOrText::Command(part)) = piece;
            if matches!(piece, CommandOrText::Command(_)) && command::is_question(part) {
                before.get_or_insert(at);
                questions.push(part);
            }
            at += part.len();
        }
        let head = head_of(&questions);
        let form = self.commands.get(&head)?;
        // Of two questions that say the same one form may stand in a tag only.
        let is_form = |piece| match piece {
            CommandOrText::Command(whole) => parts(whole).is_some_and(|(own, _)| own == head),
            CommandOrText::Plain(_) => false,
        };
        if command::pieces(comment).any(is_form) {
            return None;
        }
        self.unused.remove(&head);
        let (before, behind) = comment.split_at_checked(before?)?;
        Some([before, form, behind].concat())
    }

    /// Whether a form has stood beside no question: it was edited, or is gone.
    pub(super) fn has_unused(&self) -> bool {
        !self.unused.is_empty()
    }
}

/// The head of the exact form of these questions: its kind and their digest.
fn head_of(questions: &[&str]) -> String {
    format!("09~{:08x}", command::digest(questions))
}

/// The same of a question that has no exact form, as its command says all of it.
fn head_of_plain(remark: &Annotation) -> Option<String> {
    match remark {
        Annotation::Training(training) if training.payload.is_empty() => {}
        _ => return None,
    }
    let mut commands = Vec::new();
    command::encode(remark, &mut commands);
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    Some(head_of(&commands))
}

/// Kind and digest of an exact form, and its digits without blanks.
fn parts(form: &str) -> Option<(String, String)> {
    let inside = form.strip_prefix("[%cba ")?.strip_suffix(']')?;
    let mut words = inside.split(' ');
    let head = format!("{}{}", words.next()?, words.next()?);
    Some((head, words.collect()))
}
