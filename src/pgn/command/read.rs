//! Commands out of the text of a comment.

use super::evaluation::{evaluation_over, profile_over};
use super::marks::marks_over;
use super::quote::{self, QUOTATION, TRAINING, with_payload};
use super::raw::{digest, parse_raw};
use super::time::has_parts;
use super::{decode, encode, numbers};
use crate::game::{Annotation, AnnotationText, MAX_ANNOTATIONS, Nation, TimeSpent};
use crate::pgn::comment::language_of;
use crate::pgn::private_tags::Style;
use crate::pgn::remarks::plain;

/// What one comment says.
#[derive(Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is told of a comment, each in a message of its own"
)]
pub(in crate::pgn) struct Comment {
    /// Remarks of commands, in order.
    pub(in crate::pgn) remarks: Vec<Annotation>,
    /// Texts, one per language named; those without words only if their
    /// language is.
    pub(in crate::pgn) texts: Vec<AnnotationText>,
    /// The places of the NAGs, of `[%cbsym …]`.
    pub(in crate::pgn) places: Option<[u8; 3]>,
    /// Whether a command of ours says nothing that is understood, and is a part
    /// of a text.
    pub(in crate::pgn) is_misread: bool,
    /// Whether a quoted game is shown in other words than it was written with.
    pub(in crate::pgn) is_requoted: bool,
    /// Whether a time has parts of a second, which are not stored.
    pub(in crate::pgn) has_parts: bool,
    /// Whether it has more remarks than a game may have; the others are not
    /// read.
    pub(in crate::pgn) is_overfull: bool,
}

/// A part of a text: a command, or what stands between commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pgn) enum CommandOrText<'t> {
    /// No command.
    Plain(&'t str),
    /// A command with its brackets.
    Command(&'t str),
}

impl<'t> CommandOrText<'t> {
    /// Name and arguments of a command.
    pub(in crate::pgn) fn parts(command: &'t str) -> (&'t str, &'t str) {
        let inside = command.strip_prefix("[%").unwrap_or(command);
        let inside = inside.strip_suffix(']').unwrap_or(inside);
        inside
            .split_once(char::is_whitespace)
            .unwrap_or((inside, ""))
    }
}

/// The pieces of a text, in time linear in its length.
pub(in crate::pgn) fn pieces(text: &str) -> impl Iterator<Item = CommandOrText<'_>> {
    let mut rest = text;
    // Whether a `]`, and one outside quotes, may still come.
    let (mut has_end, mut has_unquoted_end) = (true, true);
    std::iter::from_fn(move || {
        let end = if rest.starts_with("[%") && has_end {
            let end = command_end(rest, &mut has_unquoted_end);
            has_end = end.is_some();
            end
        } else {
            None
        };
        if let Some(end) = end {
            let (command, after) = rest.split_at_checked(end)?;
            rest = after;
            return Some(CommandOrText::Command(command));
        }
        let first = rest.chars().next()?.len_utf8();
        let next = rest.get(first..)?.find("[%").filter(|_| has_end);
        let (plain, after) = rest.split_at_checked(next.map_or(rest.len(), |at| first + at))?;
        rest = after;
        Some(plain)
            .filter(|plain| !plain.is_empty())
            .map(CommandOrText::Plain)
    })
}

/// Where the command at the front of `text` ends: behind the first `]`, or
/// the first outside quotes if quotes are open there.
fn command_end(text: &str, has_unquoted_end: &mut bool) -> Option<usize> {
    let first = text.find(']')?;
    let is_open = text.get(..first)?.matches('"').count() % 2 == 1;
    if !is_open || !*has_unquoted_end {
        return Some(first + 1);
    }
    let mut is_quoted = true;
    let unquoted = text.get(first..)?.find(|c| {
        is_quoted ^= c == '"';
        c == ']' && !is_quoted
    });
    *has_unquoted_end = unquoted.is_some();
    Some(first + unquoted.unwrap_or(0) + 1)
}

/// The commands that only cbfs writes; but for `cbnag`, which stands in stored
/// texts.
const PRIVATE: [&str; 23] = [
    "cb14", "cb15", "cb25", "cba", "cbcal", "cbclk", "cbcol", "cbcrit", "cbcsl", "cbdefect",
    "cbemt", "cbeval", "cbevp", "cbgame", "cblang", "cblead", "cblink", "cbpos", "cbpre", "cbsym",
    "cbtag", "cbtc", "cbvideo",
];

/// Whether a command in a stored text would be taken for what only cbfs
/// writes.
pub(in crate::pgn) fn is_private(name: &str) -> bool {
    PRIVATE.contains(&name)
}

/// Whether a command in a stored text would be taken for a remark when read,
/// and so must not be written as it is.
pub(in crate::pgn) fn is_ours(name: &str, arguments: &str) -> bool {
    is_private(name) || decode(name, arguments).is_some()
}

/// Whether a command is a training question that is understood.
pub(in crate::pgn) fn is_question(command: &str) -> bool {
    let (name, arguments) = CommandOrText::parts(command);
    name == "tqu" && decode(name, arguments).is_some()
}

/// One command that stands for a remark, or shows one.
struct Command<'t> {
    /// With brackets.
    whole: &'t str,
    name: &'t str,
    remark: Option<Annotation>,
    /// What an exact form says must stand beside it.
    digest: Option<u32>,
}

/// Reads a comment, in which line breaks are blanks already. Texts that do not
/// name their language or lead have those of `style`.
///
/// An exact form beside a public one counts as long as the public one is what
/// it would be shown as; else the public one was edited, and counts, with what only
/// the exact one says. Commands that are none of ours stay in the text.
pub(in crate::pgn) fn read(comment: &str, style: Style) -> Comment {
    read_with(comment, style, command, |name, _| is_private(name))
}

/// As [`read`], where commands that say something of a ply or position have no
/// place: they stay in the text.
pub(in crate::pgn) fn read_text(comment: &str, style: Style) -> Comment {
    read_with(comment, style, |_, _, _| None, is_ours)
}

fn read_with<'t>(
    comment: &'t str,
    style: Style,
    command: impl Fn(&'t str, &'t str, &str) -> Option<Command<'t>>,
    is_told: impl Fn(&str, &str) -> bool,
) -> Comment {
    let mut found = Comment::default();
    let mut commands = Vec::new();
    let mut text = OpenText::default();
    for piece in pieces(comment) {
        if commands.len() + found.texts.len() > MAX_ANNOTATIONS {
            found.is_overfull = true;
            break;
        }
        let whole = match piece {
            CommandOrText::Plain(plain) => {
                text.words.push_str(plain);
                continue;
            }
            CommandOrText::Command(whole) => whole,
        };
        let (name, arguments) = CommandOrText::parts(whole);
        if name == "cblang"
            && let Some(language) = language_of(arguments.trim())
        {
            text.begin(language, style, &mut found.texts);
            continue;
        }
        match name {
            "cblead" if arguments.trim().parse::<u8>().is_ok() => {
                text.lead = arguments.trim().parse().ok();
            }
            "cbsym" if found.places.is_none() => found.places = numbers(arguments.trim()),
            _ => {
                if let Some(command) = command(whole, name, arguments) {
                    found.has_parts |= name == "emt" && has_parts(arguments);
                    commands.push(command);
                } else {
                    found.is_misread |= is_told(name, arguments);
                    text.words.push_str(whole);
                }
            }
        }
    }
    // Most comments have no command.
    if !commands.is_empty() {
        let words = text.words.len();
        found.is_requoted = QUOTED_GAME.is_edited(&commands);
        found.remarks = resolve(&commands, &mut text.words);
        found.is_misread |= text.words.len() > words;
    }
    text.end(style, &mut found.texts);
    found
}

/// A text that is being read.
#[derive(Default)]
struct OpenText {
    language: Option<Nation>,
    lead: Option<u8>,
    words: String,
}

impl OpenText {
    /// Ends this text and begins one in `language`.
    fn begin(&mut self, language: Nation, style: Style, texts: &mut Vec<AnnotationText>) {
        std::mem::take(self).end(style, texts);
        self.language = Some(language);
    }

    fn end(self, style: Style, texts: &mut Vec<AnnotationText>) {
        let words = plain(&self.words);
        let has_lead = self.lead.is_some_and(|lead| lead != 0);
        if self.language.is_some() || has_lead || !words.is_empty() {
            texts.push(AnnotationText {
                language: self.language.unwrap_or(style.language),
                text: words,
                lead: self.lead.unwrap_or(style.lead),
            });
        }
    }
}

/// `None` if it is none of ours.
fn command<'t>(whole: &'t str, name: &'t str, arguments: &str) -> Option<Command<'t>> {
    let digest = match name {
        "cba" => {
            let joined: String = arguments.split_whitespace().collect();
            parse_raw(&joined).and_then(|(_, digest)| digest)
        }
        _ => None,
    };
    let remark = decode(name, arguments);
    (remark.is_some() || name == "cbgame").then_some(Command {
        whole,
        name,
        remark,
        digest,
    })
}

/// A kind of remark that has a public form and an exact one beside it.
struct RemarkForms {
    /// Name of the public command.
    public: &'static str,
    /// Name of the exact command.
    exact: &'static str,
    /// The kind of remark, if its exact form is the stored one.
    stored: Option<u8>,
}

const QUOTED_GAME: RemarkForms = family("cbgame", "cba", Some(QUOTATION));

const FAMILIES: [RemarkForms; 7] = [
    family("csl", "cbcsl", None),
    family("cal", "cbcal", None),
    family("emt", "cbemt", None),
    family("eval", "cbeval", None),
    family("evp", "cbevp", None),
    family("tqu", "cba", Some(TRAINING)),
    QUOTED_GAME,
];

const fn family(public: &'static str, exact: &'static str, stored: Option<u8>) -> RemarkForms {
    RemarkForms {
        public,
        exact,
        stored,
    }
}

impl RemarkForms {
    fn has_public(&self, command: &Command<'_>) -> bool {
        command.name == self.public
    }

    /// A stored form without a digest stands for itself.
    fn has_exact(&self, command: &Command<'_>) -> bool {
        let kind = match &command.remark {
            Some(Annotation::Opaque { kind, .. }) if command.digest.is_some() => Some(*kind),
            _ => None,
        };
        command.name == self.exact && kind == self.stored
    }

    /// The public commands.
    fn shown<'t>(&self, commands: &[Command<'t>]) -> Vec<&'t str> {
        let public = commands.iter().filter(|command| self.has_public(command));
        public.map(|command| command.whole).collect()
    }

    /// Whether none of the exact commands says what is shown beside them.
    fn is_edited(&self, commands: &[Command<'_>]) -> bool {
        let shown = self.shown(commands);
        let beside = Some(digest(&shown));
        let mut exact = commands.iter().filter(|command| self.has_exact(command));
        let has_exact = exact.clone().next().is_some();
        has_exact && !shown.is_empty() && exact.all(|command| command.digest != beside)
    }

    /// What the exact commands say, if the public ones beside them are what
    /// that is shown as; where these were edited, with the edit.
    fn exact_remark(&self, commands: &[Command<'_>]) -> Option<Annotation> {
        let shown = self.shown(commands);
        let exact = || commands.iter().filter(|command| self.has_exact(command));
        if let Some(kind) = self.stored {
            let beside = digest(&shown);
            let as_shown = exact().find(|command| command.digest == Some(beside));
            // Of a quoted game the line is only what is shown.
            let is_quoted = kind == QUOTATION && !shown.is_empty();
            let quoted = || is_quoted.then(|| exact().next()).flatten();
            return match &as_shown.or_else(quoted)?.remark {
                Some(Annotation::Opaque { payload, .. }) => with_payload(kind, &shown, payload),
                _ => None,
            };
        }
        let whole = joined(exact()).pop()?;
        let mut expected = Vec::new();
        encode(&whole, &mut expected);
        expected.retain(|command| CommandOrText::parts(command).0 == self.public);
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        if digest(&shown) == digest(&expected) {
            return Some(whole);
        }
        let public = commands.iter().filter(|command| self.has_public(command));
        edited(joined(public), whole)
    }
}

/// The remarks that commands of one kind say: a long list is cut into several, of which
/// all together count.
fn joined<'c>(commands: impl Iterator<Item = &'c Command<'c>>) -> Vec<Annotation> {
    let mut remarks: Vec<Annotation> = Vec::new();
    for part in commands.filter_map(|command| command.remark.as_ref()) {
        if !joins_last(part, remarks.last_mut()) {
            remarks.push(part.clone());
        }
    }
    remarks
}

/// The remark whose public form was edited or taken away, with what only the `exact` one
/// beside it says; `None` if that says nothing else, or of which remark is not clear.
fn edited(public: Vec<Annotation>, exact: Annotation) -> Option<Annotation> {
    let public = match (<[Annotation; 1]>::try_from(public), &exact) {
        (Ok([public]), _) => public,
        (Err(none), Annotation::Squares(_)) if none.is_empty() => Annotation::Squares(Vec::new()),
        (Err(none), Annotation::Arrows(_)) if none.is_empty() => Annotation::Arrows(Vec::new()),
        (Err(_), _) => return None,
    };
    Some(match (public, exact) {
        (Annotation::Squares(shown), Annotation::Squares(all)) => {
            Annotation::Squares(marks_over(shown, all, |mark| mark.color)?)
        }
        (Annotation::Arrows(shown), Annotation::Arrows(all)) => {
            Annotation::Arrows(marks_over(shown, all, |mark| mark.color)?)
        }
        (Annotation::TimeSpent(shown), Annotation::TimeSpent(all)) => {
            Annotation::TimeSpent(TimeSpent {
                extra: all.extra,
                ..shown
            })
        }
        (Annotation::Evaluation(shown), Annotation::Evaluation(all)) => {
            Annotation::Evaluation(evaluation_over(shown, all)?)
        }
        (Annotation::Profile(shown), Annotation::Profile(all)) if shown.len() == all.len() => {
            Annotation::Profile(profile_over(shown, all))
        }
        _ => return None,
    })
}

/// The remarks that the commands of one comment come to.
fn resolve(commands: &[Command<'_>], text: &mut String) -> Vec<Annotation> {
    let mut exact = FAMILIES
        .each_ref()
        .map(|family| family.exact_remark(commands));
    let is_exact = exact.each_ref().map(Option::is_some);
    let mut remarks: Vec<Annotation> = Vec::new();
    for command in commands {
        let place = FAMILIES
            .iter()
            .position(|family| family.has_public(command) || family.has_exact(command));
        let family = place.and_then(|at| Some((FAMILIES.get(at)?, *is_exact.get(at)?)));
        match (family, &command.remark) {
            // The first command of the family brings what all of them say.
            (Some((_, true)), _) => {
                remarks.extend(
                    place
                        .and_then(|at| exact.get_mut(at))
                        .and_then(Option::take),
                );
            }
            (Some((family, false)), _) if family.has_exact(command) => {}
            (_, None) => text.push_str(command.whole),
            (_, Some(remark)) => {
                if !joins_last(remark, remarks.last_mut()) {
                    remarks.push(remark.clone());
                }
            }
        }
    }
    remarks
}

/// Whether a list of squares or arrows continues the one before, or a question
/// is that before in another language.
fn joins_last(remark: &Annotation, last: Option<&mut Annotation>) -> bool {
    match (last, remark) {
        (Some(Annotation::Squares(all)), Annotation::Squares(more)) => all.extend(more),
        (Some(Annotation::Arrows(all)), Annotation::Arrows(more)) => all.extend(more),
        (Some(Annotation::Training(all)), Annotation::Training(more)) => {
            return quote::joins(all, more);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(comment: &str) -> (Vec<String>, Vec<String>) {
        let found = read(comment, Style::default());
        let mut commands = Vec::new();
        for remark in &found.remarks {
            encode(remark, &mut commands);
        }
        let texts = found.texts.into_iter().map(|text| text.text);
        (commands, texts.collect())
    }

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn remarks_are_taken_out_of_the_text() {
        let long = format!("[%cblink \"https://x/{}\",\"y\"]", "a".repeat(250));
        assert_eq!(spelled(&long), (list(&[]), list(&[&long])));
        for (comment, commands, texts) in [
            (
                "[%csl Ge4,Rd5] White",
                &["[%csl Ge4,Rd5]"][..],
                &["White"][..],
            ),
            ("a [%emt 0:01:05] b", &["[%emt 0:01:05]"], &["a b"]),
            ("[%eval 25,18]", &["[%eval 0.25,18]"], &[]),
            ("[%eval -1.3]", &["[%eval -1.30]"], &[]),
            ("[%clk 0:05:00]", &[], &["[%clk 0:05:00]"]),
            ("[%evp 0,1,20,-30]", &["[%evp 0,1,20,-30]"], &[]),
            ("[%evp 0,34,20,-30]", &[], &["[%evp 0,34,20,-30]"]),
            ("[%evp 3,4,20,-30]", &[], &["[%evp 3,4,20,-30]"]),
            ("[%eval 0.250]", &["[%eval 0.25]"], &[]),
            ("[%eval 0.257]", &[], &["[%eval 0.257]"]),
            ("[%csl Bd4] blue", &[], &["[%csl Bd4] blue"]),
            ("[%cbcrit endgame] [%x", &["[%cbcrit endgame]"], &["[%x"]),
            ("[%cal Ge2e4] [%cal Rd1h5]", &["[%cal Ge2e4,Rd1h5]"], &[]),
        ] {
            assert_eq!(spelled(comment), (list(commands), list(texts)), "{comment}");
        }
    }

    #[test]
    fn an_exact_form_counts_until_the_public_one_is_edited() {
        let both = "[%emt 0:00:04] [%cbemt 0,0,4,30]";
        assert_eq!(spelled(both).0, ["[%emt 0:00:04]", "[%cbemt 0,0,4,30]"]);
        let squares = "[%csl Ge4] [%cbcsl 2e4,7e5]";
        assert_eq!(spelled(squares).0, ["[%csl Ge4]", "[%cbcsl 2e4,7e5]"]);
    }

    #[test]
    fn an_edit_of_a_public_form_keeps_what_only_the_exact_one_says() {
        for (before, after) in [
            (
                "[%emt 0:00:05] [%cbemt 0,0,4,30]",
                "[%emt 0:00:05] [%cbemt 0,0,5,30]",
            ),
            ("[%csl Gd4] [%cbcsl 2e4,7e5]", "[%csl Gd4] [%cbcsl 7e5,2d4]"),
            ("[%cbcsl 2e4,7e5]", "[%cbcsl 7e5]"),
            (
                "[%emt 0:00:05] [%cbemt 0,0,4,30] [%emt 0:00:07]",
                "[%emt 0:00:05] [%emt 0:00:07]",
            ),
            (
                "[%csl Ge4,Rh1] [%cbcsl 2e4,7e5]",
                "[%csl Ge4,Rh1] [%cbcsl 2e4,7e5,4h1]",
            ),
            (
                "[%cal Ge2e4] [%cbcal 9a1a2,3b1b2]",
                "[%cal Ge2e4] [%cbcal 9a1a2,2e2e4]",
            ),
            (
                "[%eval 0.30] [%cbeval 0,0,-1]",
                "[%eval 0.30] [%cbeval 30,0,-1]",
            ),
            ("[%eval 0.30,7] [%cbeval 0,0,-1]", "[%eval 0.30,7]"),
            ("[%eval 0.30] [%cbeval 7,2,5]", "[%eval 0.30]"),
            (
                "[%evp 0,2,10,21,30] [%cbevp 0:9:10,0:8:20,0:7:30]",
                "[%evp 0,2,10,21,30] [%cbevp 0:9:10,0:1:21,0:7:30]",
            ),
            (
                "[%evp 0,1,10,21] [%cbevp 0:9:10,0:8:20,0:7:30]",
                "[%evp 0,1,10,21]",
            ),
        ] {
            assert_eq!(spelled(before).0.join(" "), after, "{before}");
            assert_eq!(spelled(after).0.join(" "), after);
        }
    }

    #[test]
    fn quotes_hide_brackets_as_long_as_they_close() {
        let all: Vec<_> = pieces("a [%tqu \"x]y\"] b [%z \"c] d").collect();
        assert_eq!(
            pieces("♘f3").collect::<Vec<_>>(),
            [CommandOrText::Plain("♘f3")]
        );
        let expected = [
            CommandOrText::Plain("a "),
            CommandOrText::Command("[%tqu \"x]y\"]"),
            CommandOrText::Plain(" b "),
            CommandOrText::Command("[%z \"c]"),
            CommandOrText::Plain(" d"),
        ];
        assert_eq!(all, expected);
    }
}
