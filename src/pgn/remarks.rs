//! What comments and NAGs say, put on their plies.
//!
//! | comment | is a text |
//! |---|---|
//! | before the first move of the game | about the game |
//! | before the first move of a variation | before that move |
//! | behind a variation, with a move that follows | before that move |
//! | anywhere else | after the move that it follows |
//! | right before a move that the tag `CbhBefore` names | before that move |
//! | beginning with `[%cbpre 1]` | before the move that follows |
//!
//! Commands about a position stay a part of a text before the first move of a
//! variation, or behind a `[%cbpre 1]`: the move that they would be stored
//! with comes after them.
//!
//! What a comment says behind a `[%cbpre 1]` is a comment of its own: programs
//! glue neighbours together. `[%cbpre]` is the same, in an older spelling.
//!
//! `[%cblang de]` begins a text in that language; right before a `[%cbpre 1]` it is
//! about the comment behind that. Texts of one place and
//! language that stand side by side are one text: nobody can tell them from a
//! comment that was written in pieces. Line breaks are blanks. A comment
//! without words or commands, `{}`, says nothing and is left out.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::command::{self, CommandOrText};
use super::comment::spelled_nag;
use super::exact::Exact;
use super::place::TextPlace;
use super::private_tags::{NamedMoves, Style};
use crate::game::{
    Annotation, AnnotationText, Annotations, MAX_ANNOTATIONS, PlyId, nag_places, nags_in_order,
};

/// The subject of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The game: the comment stands before the first move.
    Game,
    /// The first ply of a variation, before which it stands.
    Opening(PlyId),
    /// The ply that it follows.
    After(PlyId),
    /// A ply in the middle of a line, before which it stands, flagged by
    /// `[%cbpre 1]`.
    Before(PlyId),
    /// A ply in the middle of a line, before which it stands, named by a tag
    /// or behind a variation: the commands of the comment are about the ply
    /// that it follows.
    Named { after: PlyId, next: PlyId },
}

/// Squares and arrows of a ply are looked for in so many of its last remarks: a ply
/// has no more that are not made by hand to take time.
const MOST_LOOKED_AT: usize = 64;

/// The order of remarks on one ply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    TextBefore,
    Symbols,
    TextAfter,
    Other,
}

impl Rank {
    fn of(annotation: &Annotation) -> Rank {
        match annotation {
            Annotation::TextBefore(_) => Rank::TextBefore,
            Annotation::Symbols(_) => Rank::Symbols,
            Annotation::TextAfter(_) => Rank::TextAfter,
            _ => Rank::Other,
        }
    }
}

/// The remarks of one game as they are read.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    /// Language and lead of texts that do not name theirs.
    pub(super) style: Style,
    /// The moves that texts in front of them are about.
    pub(super) names: NamedMoves,
    /// Exact forms of questions, which tags tell.
    pub(super) exact: Exact,
    found: Vec<(PlyId, Annotation)>,
    nags: Vec<(PlyId, u8)>,
    /// Places of NAGs that are not the usual ones.
    places: Vec<(PlyId, [u8; 3])>,
    /// Whether one comment alone had more than a game may have.
    is_overfull: bool,
    /// Where the comment begins that was read last.
    pub(super) here: TextPlace,
    /// Where a command of ours is a part of a text first, since it says nothing
    /// that is understood there.
    pub(super) misread: Option<TextPlace>,
    /// Where a quoted game is shown first in other words than it was written with.
    pub(super) requoted: Option<TextPlace>,
    /// Where parts of a second are not stored first.
    pub(super) parts: Option<TextPlace>,
}

/// Whether a comment says that it stands before the next move.
pub(super) fn is_flagged_before(comment: &str) -> bool {
    without_flag(comment).is_some()
}

/// A comment without the flag that it begins with. The language of its text may stand
/// before that.
fn without_flag(comment: &str) -> Option<Cow<'_, str>> {
    let mut flagged = comment.trim_start();
    while let Some(behind) = after_command(flagged, LANGUAGE) {
        flagged = behind.trim_start();
    }
    let rest = after_command(flagged, FLAG)?;
    let language = comment.strip_suffix(flagged)?;
    Some(match language.trim() {
        "" => Cow::Borrowed(rest),
        language => Cow::Owned(language.to_owned() + rest),
    })
}

/// Returns the text behind a command, if `text` begins with that. `command` is given
/// without operand and bracket: `[%cbpre`.
fn after_command<'t>(text: &'t str, command: &str) -> Option<&'t str> {
    let (operand, rest) = text.strip_prefix(command)?.split_once(']')?;
    (operand.is_empty() || operand.starts_with(char::is_whitespace)).then_some(rest)
}

/// Whether a comment is more than commands.
pub(super) fn has_text(comment: &str) -> bool {
    let read = command::read(&plain(comment), Style::default());
    !read.texts.is_empty()
}

/// Command at the start of a comment on the next move.
const FLAG: &str = "[%cbpre";

/// Command at the start of a text in another language.
const LANGUAGE: &str = "[%cblang";

/// A comment without what an export says of damage: what could not be read of
/// a game, and remarks at positions without a move. Gives the first such
/// command too.
pub(super) fn without_damage(comment: Cow<'_, str>) -> (Cow<'_, str>, Option<String>) {
    if !comment.contains("[%cbdefect") && !comment.contains("[%cbpos") {
        return (comment, None);
    }
    let mut kept = String::new();
    let mut first = None;
    let mut is_stray = false;
    for piece in command::pieces(&comment) {
        let (CommandOrText::Plain(part) | CommandOrText::Command(part)) = piece;
        let name = match piece {
            CommandOrText::Command(whole) => CommandOrText::parts(whole).0,
            CommandOrText::Plain(_) => "",
        };
        is_stray &= !is_flagged_before(part);
        is_stray |= name == "cbpos";
        if is_stray || name == "cbdefect" {
            first.get_or_insert_with(|| part.to_owned());
        } else {
            kept.push_str(part);
        }
    }
    (Cow::Owned(kept), first)
}

/// The comments that programs may have glued to one, each later one beginning
/// with its flag; up to more than a game may have.
pub(super) fn unglued(comment: Cow<'_, str>) -> Vec<Cow<'_, str>> {
    if !comment.contains(FLAG) {
        return vec![comment];
    }
    let mut begins = Vec::new();
    let mut at = 0;
    // Where the language commands begin that end here.
    let mut languages = None;
    for piece in command::pieces(&comment) {
        let (CommandOrText::Plain(part) | CommandOrText::Command(part)) = piece;
        let is_command = matches!(piece, CommandOrText::Command(_));
        if is_command && is_flagged_before(part) {
            begins.push(languages.take().unwrap_or(at));
        } else if is_command && after_command(part, LANGUAGE).is_some() {
            languages.get_or_insert(at);
        } else if !part.trim().is_empty() {
            languages = None;
        }
        at += part.len();
        if begins.len() > MAX_ANNOTATIONS {
            break;
        }
    }
    let first = std::iter::once(0).chain(begins.iter().copied());
    let ends = begins.iter().copied().chain([comment.len()]);
    let parts = first.zip(ends).map(|(begin, end)| begin..end);
    let part = |range: Range<usize>| match &comment {
        Cow::Borrowed(text) => text.get(range).map(Cow::Borrowed),
        Cow::Owned(text) => text.get(range).map(|part| Cow::Owned(part.to_owned())),
    };
    let parts = parts.filter_map(part);
    parts.filter(|part| !part.trim().is_empty()).collect()
}

impl Remarks {
    /// Whether there are more than a game may have.
    pub(super) fn are_too_many(&self) -> bool {
        self.is_overfull || self.found.len() + self.nags.len() > MAX_ANNOTATIONS
    }

    /// Adds a NAG of a ply. One that is given again counts once there; but up
    /// to three are kept as they are, which may be the places of the symbols.
    pub(super) fn nag(&mut self, ply: PlyId, nag: u8) {
        let given = self.nags.chunk_by(|(a, _), (b, _)| a == b).next_back();
        let given = given.filter(|given| given.first().is_some_and(|(of, _)| *of == ply));
        let given = given.unwrap_or_default();
        if given.len() < 3 || given.iter().all(|(_, other)| *other != nag) {
            self.nags.push((ply, nag));
        }
    }

    /// Whether the last ply with NAGs is this one and has this one.
    pub(super) fn has_nag(&self, ply: PlyId, nag: u8) -> bool {
        let given = self.nags.iter().rev().take_while(|(of, _)| *of == ply);
        given.into_iter().any(|(_, given)| *given == nag)
    }

    /// Adds a remark. A text goes on with the one that was added before it, if
    /// that is of the same place and language.
    pub(super) fn add(&mut self, ply: PlyId, remark: Annotation) {
        let last = self.found.last_mut().filter(|(other, _)| *other == ply);
        if !last.is_some_and(|(_, last)| last.join(&remark)) {
            self.found.push((ply, remark));
        }
    }

    /// Adds what a comment says: remarks of commands, and texts.
    pub(super) fn annotate(&mut self, comment: &str, subject: Subject) {
        let comment = &without_flag(comment).unwrap_or(Cow::Borrowed(comment));
        let (ply, before) = match subject {
            Subject::Game => (PlyId::START, None),
            Subject::After(ply) => (ply, None),
            Subject::Opening(ply) | Subject::Before(ply) => (ply, Some(ply)),
            Subject::Named { after, next } => (after, Some(next)),
        };
        let mut words = plain(comment);
        let read = match subject {
            Subject::Opening(_) | Subject::Before(_) => command::read_text(&words, self.style),
            _ => {
                if let Some(with_form) = self.exact.beside(&words) {
                    words = with_form;
                }
                command::read(&words, self.style)
            }
        };
        self.places.extend(read.places.map(|places| (ply, places)));
        self.is_overfull |= read.is_overfull;
        let here = |is_there: bool| is_there.then_some(self.here);
        self.misread = self.misread.or(here(read.is_misread));
        self.parts = self.parts.or(here(read.has_parts));
        self.requoted = self.requoted.or(here(read.is_requoted));
        for text in read.texts {
            match before {
                Some(ply) => self.add(ply, Annotation::TextBefore(text)),
                None => self.add(ply, Annotation::TextAfter(text)),
            }
        }
        for remark in read.remarks {
            if !self.joins_marks(ply, &remark) {
                self.add(ply, remark);
            }
        }
    }

    /// Whether squares or arrows continue those of an earlier comment on the ply: a
    /// base has one list of each, and nobody could tell the two apart on a board.
    fn joins_marks(&mut self, ply: PlyId, remark: &Annotation) -> bool {
        let found = self.found.iter_mut().rev();
        let mut of_ply = found
            .take(MOST_LOOKED_AT)
            .take_while(|(other, _)| *other == ply);
        of_ply.any(|(_, found)| match (found, remark) {
            (Annotation::Squares(all), Annotation::Squares(more)) => {
                all.extend(more);
                true
            }
            (Annotation::Arrows(all), Annotation::Arrows(more)) => {
                all.extend(more);
                true
            }
            _ => false,
        })
    }

    /// Moves all remarks into `annotations`, in the order of their plies: on
    /// one ply texts before it, symbols, texts after it, others. Whether all
    /// NAGs are in the order in which they were given.
    pub(super) fn move_into(mut self, annotations: &mut Annotations) -> bool {
        let is_in_order = self.symbols();
        let rank = |(ply, remark): &(PlyId, Annotation)| (*ply, Rank::of(remark));
        self.found.sort_by_key(rank);
        self.found
            .dedup_by(|(ply, remark), (before, last)| ply == before && last.join(remark));
        annotations.append(self.found);
        annotations.sort();
        is_in_order
    }

    /// Makes symbols of the NAGs. Those beyond the three that a ply can have
    /// become a text. Whether all are in the order in which they were given.
    fn symbols(&mut self) -> bool {
        let mut is_in_order = true;
        self.nags.sort_by_key(|(ply, _)| *ply);
        let exact: HashMap<PlyId, [u8; 3]> = self.places.drain(..).collect();
        for nags in self.nags.chunk_by(|(a, _), (b, _)| a == b) {
            let Some(&(ply, _)) = nags.first() else {
                continue;
            };
            let nags = || nags.iter().map(|(_, nag)| *nag);
            let exact = exact
                .get(&ply)
                .and_then(|places| exact_places(*places, nags()));
            let (places, homeless) = exact.unwrap_or_else(|| nag_places(nags()));
            let written = nags_in_order(places, &homeless);
            // $0 says nothing, nor does a NAG the second time.
            let mut given = Vec::new();
            for nag in nags().filter(|nag| *nag != 0) {
                if !given.contains(&nag) {
                    given.push(nag);
                }
            }
            is_in_order &= written.is_none_or(|written| written.into_iter().eq(given));
            if places != [0; 3] {
                self.found.push((ply, Annotation::Symbols(places)));
            }
            for nag in homeless {
                let text = AnnotationText {
                    text: spelled_nag(nag),
                    language: self.style.language,
                    lead: self.style.lead,
                };
                self.found.push((ply, Annotation::TextAfter(text)));
            }
        }
        is_in_order
    }
}

/// The NAGs of a ply in the places that a command gives, and the others; `None`
/// if they are not all of those NAGs, or a place is left for one more.
fn exact_places(places: [u8; 3], nags: impl Iterator<Item = u8>) -> Option<([u8; 3], Vec<u8>)> {
    let mut others: Vec<u8> = nags.collect();
    for place in places.into_iter().filter(|nag| *nag != 0) {
        let at = others.iter().position(|nag| *nag == place)?;
        others.remove(at);
    }
    (others.is_empty() || !places.contains(&0)).then_some((places, others))
}

/// A text with one blank between its words: blanks and line breaks are equal,
/// since lines are broken anywhere.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Game, TreeBuilder};

    /// What a comment becomes, each text with its language.
    fn read(comments: &[&str]) -> Vec<(u8, String)> {
        let mut remarks = Remarks::default();
        for comment in comments {
            remarks.annotate(comment, Subject::Game);
        }
        let mut annotations = Annotations::default();
        remarks.move_into(&mut annotations);
        let texts = annotations.iter().map(|(_, remark)| match remark {
            Annotation::TextAfter(text) => (text.language.0, text.text.clone()),
            other => panic!("{other:?}"),
        });
        texts.collect()
    }

    fn texts(list: &[(u8, &str)]) -> Vec<(u8, String)> {
        list.iter()
            .map(|(number, text)| (*number, (*text).to_owned()))
            .collect()
    }

    #[test]
    fn a_comment_is_a_text_per_language() {
        for (comments, expected) in [
            (&["a\r\nb  c"][..], &[(0, "a b c")][..]),
            (&["a", "b"], &[(0, "a b")]),
            (&["[%cblang de] Zug", "move"], &[(53, "Zug"), (0, "move")]),
            (&["a", "[%cblang de]b"], &[(0, "a"), (53, "b")]),
            (&["[%cblang de] a", "[%cblang de] b"], &[(53, "a b")]),
            (&["[%cblang\nde] Zug"], &[(53, "Zug")]),
            (&["a [%cblang cb99] b"], &[(0, "a"), (99, "b")]),
            (&["[%cblang xx] a"], &[(0, "[%cblang xx] a")]),
            (&["[%cblang any]"], &[(0, "")]),
            (&["", "  "], &[]),
            (&["[%clk 0:05:00] a"], &[(0, "[%clk 0:05:00] a")]),
        ] {
            assert_eq!(read(comments), texts(expected), "{comments:?}");
        }
    }

    #[test]
    fn remarks_of_a_ply_have_an_order() {
        let mut game = Game::default();
        let ply = TreeBuilder::new(&mut game.tree, &game.start.position).play_null();
        let mut remarks = Remarks::default();
        remarks.annotate("after", Subject::After(ply));
        remarks.nag(ply, 1);
        remarks.annotate("before", Subject::Opening(ply));
        remarks.annotate("the game", Subject::Game);
        remarks.nag(ply, 14);
        remarks.move_into(&mut game.annotations);
        let text = |text: &str| AnnotationText {
            text: text.to_owned(),
            ..AnnotationText::default()
        };
        let expected = [
            (PlyId::START, Annotation::TextAfter(text("the game"))),
            (ply, Annotation::TextBefore(text("before"))),
            (ply, Annotation::Symbols([1, 14, 0])),
            (ply, Annotation::TextAfter(text("after"))),
        ];
        let found: Vec<_> = game.annotations.iter().collect();
        assert_eq!(found, expected.each_ref().map(|(ply, a)| (*ply, a)));
    }

    #[test]
    fn a_flag_says_that_a_comment_stands_before() {
        assert!(is_flagged_before(" [%cbpre] now"));
        assert!(is_flagged_before("[%cbpre\n1]now"));
        assert!(!is_flagged_before("now [%cbpre 1]"));
        assert!(!is_flagged_before("[%cbprefix] now"));
        assert!(is_flagged_before("[%cblang de] [%cbpre 1] now"));
        assert!(!is_flagged_before("[%cblang de] now [%cbpre 1]"));
    }

    #[test]
    fn comments_that_were_glued_come_apart() {
        for (glued, parts) in [
            ("one", &["one"][..]),
            ("after[%cbpre 1] before", &["after", "[%cbpre 1] before"]),
            (
                "a [%cblang de] b [%cbpre] c [%cbpre 1][%cblang de] d",
                &[
                    "a [%cblang de] b ",
                    "[%cbpre] c ",
                    "[%cbpre 1][%cblang de] d",
                ],
            ),
            (" [%cbpre 1] c", &["[%cbpre 1] c"]),
            (
                "a [%cblang de] [%cbpre 1] b",
                &["a ", "[%cblang de] [%cbpre 1] b"],
            ),
            (
                "[%cblang de] a [%cbpre 1] b",
                &["[%cblang de] a ", "[%cbpre 1] b"],
            ),
            ("[%cbprefix 1] c", &["[%cbprefix 1] c"]),
        ] {
            assert_eq!(unglued(glued.into()), parts, "{glued}");
            assert_eq!(unglued(glued.to_owned().into()), parts, "{glued}");
        }
    }
}
