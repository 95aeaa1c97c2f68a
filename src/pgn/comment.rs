//! Comments: the texts and commands of one place, in braces.
//!
//! A comment contains one text. If a place has several texts, each one after the first
//! begins with `[%cblang …]`, so that they can be separated again after a program has
//! joined them. The first text has the command, too, if its language is not that of the
//! tag `CbhLang`. Other commands are in the first comment.

use super::command::{self, CommandOrText};
use super::long_words;
use super::private_tags::{PrivateTags, Style};
use super::writer::LineWriter;
use crate::game::{Annotation, AnnotationText, MAX_WORD_BYTES, Nation, shown_in_comment};

/// Which of a place's remarks a comment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommentPlace {
    /// After a ply, or about the whole game.
    After,
    /// After a ply where the NAGs at the end of the last text stand as such.
    AfterNags,
    /// Before a ply in the middle of a line: marked, since it would be taken
    /// for one after the ply before.
    Before,
    /// Before the first ply of a variation.
    Opening,
    /// Before a ply that a tag names.
    Named,
    /// At a position where there is no ply.
    Stray(i32),
}

/// Writes the comments of one place.
pub(super) fn encode<'a>(
    remarks: impl Iterator<Item = &'a Annotation>,
    place: CommentPlace,
    private: &PrivateTags,
    writer: &mut LineWriter<'_>,
) {
    let mut commands = Vec::new();
    let mut texts: Vec<&AnnotationText> = Vec::new();
    for remark in remarks {
        match (remark, place) {
            (
                Annotation::TextBefore(text),
                CommentPlace::Before | CommentPlace::Opening | CommentPlace::Named,
            )
            | (
                Annotation::TextAfter(text),
                CommentPlace::After | CommentPlace::AfterNags | CommentPlace::Stray(_),
            ) => {
                texts.push(text);
            }
            (_, CommentPlace::Before | CommentPlace::Opening | CommentPlace::Named) => {}
            (remark, _) => command::encode(remark, &mut commands),
        }
    }
    let last = texts.pop_if(|_| place == CommentPlace::AfterNags);
    let without_nags = last.map(|text| AnnotationText {
        text: parted_nags(&text.text).0.to_owned(),
        ..text.clone()
    });
    texts.extend(without_nags.as_ref().filter(|text| text.has_words()));
    if private.is_clean {
        commands.retain(|command| !command.starts_with("[%cb"));
    } else if !matches!(place, CommentPlace::Stray(_)) {
        commands.retain(|command| !private.exact.has(command));
    }
    let count = texts.len().max(usize::from(!commands.is_empty()));
    for at in 0..count {
        let mut comment = Comment::new(writer, !private.is_clean);
        match place {
            _ if private.is_clean => {}
            // Some readers fail on a command without an operand.
            CommentPlace::Before => comment.command("[%cbpre 1]"),
            CommentPlace::Stray(position) => comment.command(&format!("[%cbpos {position}]")),
            CommentPlace::After
            | CommentPlace::AfterNags
            | CommentPlace::Opening
            | CommentPlace::Named => {}
        }
        if let Some(text) = texts.get(at).filter(|_| !private.is_clean) {
            // A stray remark is read as it stands.
            let style = match place {
                CommentPlace::Stray(_) => Style::default(),
                _ => private.style,
            };
            let mut later = texts.iter().skip(at + 1);
            // With the tag gone that says the usual language, it would be one
            // with a later text in none.
            let is_one_without_tag =
                text.language != Nation::NONE && later.any(|later| later.language == Nation::NONE);
            comment.begin_text(text, style, at > 0 || is_one_without_tag);
        }
        for command in commands.drain(..) {
            comment.command(&command);
        }
        if let Some(text) = texts.get(at) {
            comment.text(&text.text, place);
        }
        comment.end();
    }
}

/// Writes a comment that says in which places NAGs are, where those are not
/// the usual ones.
pub(super) fn encode_symbols(places: [u8; 3], writer: &mut LineWriter<'_>) {
    let [on_move, on_position, prefix] = places;
    let mut comment = Comment::new(writer, true);
    comment.command(&format!("[%cbsym {on_move},{on_position},{prefix}]"));
    comment.end();
}

/// One comment on its way into lines.
struct Comment<'w, 'o> {
    writer: &'w mut LineWriter<'o>,
    is_open: bool,
    /// Whether a long word can be put together again.
    joins_parts: bool,
}

impl<'w, 'o> Comment<'w, 'o> {
    fn new(writer: &'w mut LineWriter<'o>, joins_parts: bool) -> Comment<'w, 'o> {
        Comment {
            writer,
            is_open: false,
            joins_parts,
        }
    }

    /// Names the language of a text, if it is not the usual one or other texts
    /// of its place need it; a text without words is known by it.
    fn begin_text(&mut self, text: &AnnotationText, style: Style, names_language: bool) {
        if names_language || !text.has_words() || text.language != style.language {
            self.command(&format!("[%cblang {}]", language_name(text.language)));
        }
        if text.lead != style.lead {
            self.command(&format!("[%cblead {}]", text.lead));
        }
    }

    fn command(&mut self, command: &str) {
        for word in command.split(' ').filter(|word| !word.is_empty()) {
            self.long_word(word);
        }
    }

    /// Writes the words of a text as PGN can hold them.
    fn text(&mut self, text: &str, place: CommentPlace) {
        if is_plain(text) {
            let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
            self.word(first);
            if !rest.is_empty() {
                self.writer.ascii_words(rest.as_bytes());
            }
            return;
        }
        let disarmed = disarmed(text, place);
        let shown: String = disarmed.chars().map(shown_in_comment).collect();
        for word in shown.split_whitespace() {
            self.long_word(word);
        }
    }

    /// Writes a word in parts if it is too long.
    fn long_word(&mut self, word: &str) {
        let (parts, last) = long_words::parted(word);
        for part in parts {
            self.word(part);
            if self.joins_parts {
                self.writer
                    .glue(long_words::JOINER.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        self.word(last);
    }

    /// A word that begins with `%` must not begin a line, where it would end
    /// the comment for some readers: its blank does not break.
    fn word(&mut self, word: &str) {
        if !self.is_open {
            self.is_open = true;
            self.writer.word(b"{");
        } else if word.starts_with('%') {
            self.writer.glue(b" ");
        } else {
            return self.writer.word(word.as_bytes());
        }
        self.writer.glue(word.as_bytes());
    }

    fn end(self) {
        if self.is_open {
            self.writer.glue(b"}");
        }
    }
}

/// Whether a text needs no care: ASCII without braces, percent signs, line
/// breaks and edge or double blanks, and of no great length between blanks.
/// Most texts are so.
fn is_plain(text: &str) -> bool {
    let is_letter = |byte: u8| (b' '..0x7f).contains(&byte) && !matches!(byte, b'{' | b'}' | b'%');
    let has_single_blanks = !text.contains("  ") && text.trim_matches(' ').len() == text.len();
    let has_short_words = text.len() <= MAX_WORD_BYTES
        || text
            .as_bytes()
            .chunks(MAX_WORD_BYTES / 2)
            .all(|part| part.len() < MAX_WORD_BYTES / 2 || part.contains(&b' '));
    // Looking at all bytes is faster than stopping at the first that is none.
    let has_letters_only = text.bytes().fold(true, |all, byte| all & is_letter(byte));
    has_letters_only && !text.is_empty() && has_single_blanks && has_short_words
}

/// The text with a blank in each command that would be taken for a remark of
/// its own in this place; others, which programs put into texts, stay as they
/// are.
fn disarmed(text: &str, place: CommentPlace) -> String {
    let is_read = |name: &str, arguments: &str| match place {
        CommentPlace::Opening | CommentPlace::Before => command::is_private(name),
        _ => command::is_ours(name, arguments),
    };
    let mut shown = String::with_capacity(text.len());
    for piece in command::pieces(text) {
        match piece {
            CommandOrText::Plain(plain) => shown.push_str(plain),
            CommandOrText::Command(whole) => {
                let (name, arguments) = CommandOrText::parts(whole);
                if is_read(name, arguments) {
                    shown.push_str(&whole.replace("[%", "[ %"));
                } else {
                    shown.push_str(whole);
                }
            }
        }
    }
    shown
}

/// Returns the command for a NAG that has no place of its own in a ply.
pub(super) fn spelled_nag(nag: u8) -> String {
    format!("[%cbnag {nag}]")
}

/// The words of a text, and the NAGs at its end for which its ply had no place.
pub(super) fn parted_nags(text: &str) -> (&str, Vec<u8>) {
    let mut words = text.trim_end();
    let mut nags = Vec::new();
    while let Some((before, nag)) = words
        .strip_suffix(']')
        .and_then(|words| words.rsplit_once("[%cbnag "))
        && let Ok(nag) = nag.parse()
    {
        nags.push(nag);
        words = before.trim_end();
    }
    nags.reverse();
    (words, nags)
}

/// The languages with names; the others are `cb` and their number.
const LANGUAGES: [(Nation, &str); 10] = [
    (Nation(0), "any"),
    (Nation(42), "en"),
    (Nation(53), "de"),
    (Nation(49), "fr"),
    (Nation(43), "es"),
    (Nation(70), "it"),
    (Nation(103), "nl"),
    (Nation(117), "pt"),
    (Nation(116), "pl"),
    (Nation(55), "el"),
];

/// What stands after `%cblang`.
pub(super) fn language_name(language: Nation) -> String {
    match LANGUAGES.iter().find(|(number, _)| *number == language) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("cb{}", language.0),
    }
}

/// The language that stands after `%cblang`.
pub(super) fn language_of(name: &str) -> Option<Nation> {
    let named = LANGUAGES.iter().find(|(_, known)| *known == name);
    named.map(|(number, _)| *number).or_else(|| {
        let number = name.strip_prefix("cb")?;
        number.parse().ok().map(Nation)
    })
}
