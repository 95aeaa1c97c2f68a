//! Comments: the texts and commands of one place, in braces.
//!
//! A comment contains one text. If a place has several texts, each one after the first
//! begins with `[%cblang …]`, so that they can be separated again after a program has
//! joined them. The first text has the command, too, if its language is not that of the
//! tag `CbhLang`. Other commands are in the first comment.

use std::borrow::Cow;

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

impl CommentPlace {
    /// Whether a comment there is about the ply behind it.
    fn is_before(self) -> bool {
        matches!(
            self,
            CommentPlace::Before | CommentPlace::Opening | CommentPlace::Named
        )
    }

    /// The text of a remark, if it stands there.
    fn text_of(self, remark: &Annotation) -> Option<&AnnotationText> {
        match remark {
            Annotation::TextBefore(text) => self.is_before().then_some(text),
            Annotation::TextAfter(text) => (!self.is_before()).then_some(text),
            _ => None,
        }
    }
}

/// Writes the comments of one place.
#[inline]
pub(super) fn encode<'a>(
    remarks: impl Iterator<Item = &'a Annotation> + Clone,
    place: CommentPlace,
    private: &PrivateTags,
    writer: &mut LineWriter<'_>,
) {
    match Contents::of(remarks.clone(), place) {
        Contents::Nothing => {}
        Contents::Text(text) => {
            let no_commands = std::iter::empty();
            encode_one(Some((text, false)), no_commands, place, private, writer);
        }
        Contents::More => encode_more(remarks, place, private, writer),
    }
}

/// The contents of one place.
enum Contents<'a> {
    Nothing,
    /// One text without commands, as in most places.
    Text(&'a AnnotationText),
    More,
}

impl<'a> Contents<'a> {
    #[inline]
    fn of(remarks: impl Iterator<Item = &'a Annotation>, place: CommentPlace) -> Contents<'a> {
        let mut contents = Contents::Nothing;
        for remark in remarks {
            match (place.text_of(remark), &contents) {
                (Some(text), Contents::Nothing) if place != CommentPlace::AfterNags => {
                    contents = Contents::Text(text);
                }
                (None, _) if place.is_before() || !command::has_commands(remark) => {}
                _ => return Contents::More,
            }
        }
        contents
    }
}

fn encode_more<'a>(
    remarks: impl Iterator<Item = &'a Annotation>,
    place: CommentPlace,
    private: &PrivateTags,
    writer: &mut LineWriter<'_>,
) {
    let (mut commands, mut texts) = (Vec::new(), Vec::new());
    for remark in remarks {
        match place.text_of(remark) {
            Some(text) => texts.push(Cow::Borrowed(text)),
            None if place.is_before() => {}
            None => command::encode(remark, &mut commands),
        }
    }
    let last = texts.pop_if(|_| place == CommentPlace::AfterNags);
    let without_nags = last.map(|text| AnnotationText {
        text: parted_nags(&text.text).0.to_owned(),
        ..text.into_owned()
    });
    texts.extend(
        without_nags
            .filter(AnnotationText::has_words)
            .map(Cow::Owned),
    );
    if private.is_clean {
        commands.retain(|command| !command.starts_with("[%cb"));
    } else if !matches!(place, CommentPlace::Stray(_)) {
        commands.retain(|command| !private.exact.has(command));
    }
    let count = texts.len().max(usize::from(!commands.is_empty()));
    let is_in_any = |text: &Cow<'_, AnnotationText>| text.language == Nation::NONE;
    let last_in_any = texts.iter().rposition(is_in_any);
    for at in 0..count {
        let text = texts.get(at).map(|text| {
            // With the tag gone that says the usual language, it would be one
            // with a later text in none.
            let is_one_without_tag =
                !is_in_any(text) && last_in_any.is_some_and(|later| later > at);
            (&**text, at > 0 || is_one_without_tag)
        });
        encode_one(text, commands.drain(..), place, private, writer);
    }
}

/// Writes one comment. With a text comes whether it names its language in any case.
#[inline]
fn encode_one(
    text: Option<(&AnnotationText, bool)>,
    commands: impl Iterator<Item = String>,
    place: CommentPlace,
    private: &PrivateTags,
    writer: &mut LineWriter<'_>,
) {
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
    if let Some((text, names_language)) = text.filter(|_| !private.is_clean) {
        // A stray remark is read as it stands.
        let style = match place {
            CommentPlace::Stray(_) => Style::default(),
            _ => private.style,
        };
        comment.begin_text(text, style, names_language);
    }
    for command in commands {
        comment.command(&command);
    }
    if let Some((text, _)) = text {
        comment.text(&text.text, place);
    }
    comment.end();
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
        if has_plain_letters(text.as_bytes()) {
            return self.plain_text(text);
        }
        let disarmed = disarmed(text, place);
        let shown: String = disarmed.chars().map(shown_in_comment).collect();
        for word in shown.split_whitespace() {
            self.long_word(word);
        }
    }

    /// Writes a text that [has plain letters](has_plain_letters).
    fn plain_text(&mut self, text: &str) {
        let text = text.trim_matches(' ');
        if !has_doubled_blanks(text.as_bytes()) {
            return self.plain_words(text);
        }
        for words in text.split("  ") {
            self.plain_words(words.trim_matches(' '));
        }
    }

    /// Writes plain words with single blanks between them.
    fn plain_words(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if are_short(words.as_bytes()) {
            let opening: &[u8] = if self.is_open { b"" } else { b"{" };
            self.is_open = true;
            return self.writer.ascii_words(opening, words.as_bytes());
        }
        for word in words.split(' ') {
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

/// Whether a text is ASCII without braces, percent signs and line breaks, as most texts
/// are: it is shown as it stands.
fn has_plain_letters(text: &[u8]) -> bool {
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) && !matches!(byte, b'{' | b'}' | b'%');
    // Looking at all bytes is faster than stopping at the first that is not.
    text.iter().fold(true, |all, byte| all & is_plain(*byte))
}

/// Whether two blanks follow each other.
fn has_doubled_blanks(text: &[u8]) -> bool {
    let pairs = text.iter().zip(text.iter().skip(1));
    let is_blank = |byte: &u8| *byte == b' ';
    // Looking at all pairs is faster than stopping at the first.
    pairs.fold(false, |any, (one, next)| {
        any | is_blank(one) & is_blank(next)
    })
}

/// Whether no word is so long that it is written in parts.
fn are_short(words: &[u8]) -> bool {
    let is_short = |part: &[u8]| part.len() < MAX_WORD_BYTES / 2 || part.contains(&b' ');
    words.len() <= MAX_WORD_BYTES || words.chunks(MAX_WORD_BYTES / 2).all(is_short)
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
