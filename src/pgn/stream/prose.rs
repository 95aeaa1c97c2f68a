//! Paragraphs that are no game although moves or half a brace stand in them, and
//! the parts of a page of HTML that nobody sees.

use super::words::{begins_moves, is_move};
use super::{begins_tag_pair, is_of_result, lacks_bracket};
use crate::pgn::lexer::line_begin;

/// So many words make a paragraph prose.
const FEW_WORDS: usize = 3;

/// A paragraph is looked at no further.
const MOST_BYTES: usize = 1 << 14;

/// How long the paragraph is that a text begins with, up to its empty line, if it
/// is prose: it begins with a word, has more words than moves, and neither tags nor
/// numbered moves at the begin of a line, nor a result at its end. Where braces or
/// comments stand in it, it has no moves.
pub(super) fn prose_len(text: &[u8]) -> Option<usize> {
    let paragraph = paragraph(text)?;
    let mut count = Count::default();
    for line in paragraph.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if has_tags(line) || begins_moves(line_begin(line)) || !is_text(line) {
            return None;
        }
        let words = line.split(u8::is_ascii_whitespace);
        for word in words.filter(|word| !word.is_empty()) {
            count.add(word);
        }
    }
    count.is_prose().then_some(paragraph.len())
}

/// Parts of a page of HTML that nobody sees: how they begin and end.
const UNSEEN: [(&str, &str); 3] = [
    ("<style", "</style>"),
    ("<script", "</script>"),
    ("<!--", "-->"),
];

/// Such a part is not looked for any further.
const MOST_UNSEEN: usize = 1 << 12;

/// Whether a style sheet, a script or a comment of HTML begins.
pub(super) fn begins_unseen(text: &[u8]) -> bool {
    end_of_unseen(text).is_some()
}

fn end_of_unseen(text: &[u8]) -> Option<&'static str> {
    let begins = |begin: &str| {
        let first = text.get(..begin.len()).unwrap_or_default();
        first.eq_ignore_ascii_case(begin.as_bytes())
    };
    let (_, end) = UNSEEN.iter().find(|(begin, _)| begins(begin))?;
    Some(end)
}

/// How long the part of a page is that a text begins with and that nobody sees, with
/// the rest of its last line; `None` if tags stand there.
pub(super) fn unseen_len(text: &[u8]) -> Option<usize> {
    let end = end_of_unseen(text)?;
    let text = text.get(..MOST_UNSEEN).unwrap_or(text);
    let mut at = 0;
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        if begins_tag_pair(line_begin(line)) {
            return None;
        }
        if let Some(len) = len_through(line, end) {
            let has_tags = line.get(len..).is_some_and(has_tags);
            return (!has_tags).then_some(at + line.len());
        }
        at += line.len();
    }
    None
}

/// Where a mark ends that stands in a line.
fn len_through(line: &[u8], mark: &str) -> Option<usize> {
    let mut windows = line.windows(mark.len());
    let at = windows.position(|part| part.eq_ignore_ascii_case(mark.as_bytes()))?;
    Some(at + mark.len())
}

/// What a text begins with, up to its first empty line.
fn paragraph(text: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if line.trim_ascii().is_empty() {
            break;
        }
        at += line.len();
        if at > MOST_BYTES {
            return None;
        }
    }
    text.get(..at)
}

fn has_tags(line: &[u8]) -> bool {
    let is_tag =
        |(at, byte): (usize, &u8)| *byte == b'[' && line.get(at..).is_some_and(begins_tag_pair);
    let begin = line_begin(line);
    line.iter().enumerate().any(is_tag)
        || begin.starts_with(b">")
        || begin.starts_with(b"%")
        || lacks_bracket(begin.trim_ascii())
}

fn is_text(line: &[u8]) -> bool {
    let is_of_text = |byte: &u8| !byte.is_ascii_control() || matches!(byte, b'\t' | 0x0c);
    line.iter().all(is_of_text)
}

/// The words of a paragraph, as far as they were read.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the words"
)]
struct Count {
    words: usize,
    moves: usize,
    has_braces: bool,
    begins_with_word: bool,
    ends_in_result: bool,
    has_begun: bool,
}

impl Count {
    fn add(&mut self, word: &[u8]) {
        self.has_braces |= word.iter().any(|byte| matches!(byte, b'{' | b'}'));
        let is_sign = |byte: &u8| byte.is_ascii_punctuation();
        let begin = word
            .iter()
            .position(|byte| !is_sign(byte))
            .unwrap_or_default();
        let end = word
            .iter()
            .rposition(|byte| !is_sign(byte))
            .map_or(0, |at| at + 1);
        let bare = word.get(begin..end).unwrap_or_default();
        let unnumbered = bare.iter().rposition(|&byte| byte == b'.');
        let unnumbered = unnumbered.and_then(|at| bare.get(at + 1..)).unwrap_or(bare);
        let is_move = is_move(bare) || is_move(unnumbered);
        let is_letter =
            |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii() || b"'-".contains(byte);
        let is_word = !is_move
            && bare.len() > 1
            && bare.iter().all(is_letter)
            && bare
                .iter()
                .any(|byte| byte.is_ascii_lowercase() || !byte.is_ascii());
        let is_comment = word.first() == Some(&b'{');
        self.begins_with_word |= is_word && !self.has_begun && !is_comment;
        self.has_begun = true;
        self.words += usize::from(is_word);
        self.moves += usize::from(is_move);
        self.ends_in_result = word.iter().copied().all(is_of_result);
    }

    fn is_prose(&self) -> bool {
        let may_have_moves = !self.has_braces || self.moves == 0;
        self.begins_with_word
            && !self.ends_in_result
            && self.words >= FEW_WORDS
            && self.words > self.moves
            && may_have_moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_may_speak_of_moves() {
        for text in [
            "He played e4 e5 and then lost (Nf3 Nc6).",
            "After 1. e4 e5 it was over at once.",
            "He laughed :-} and left.\n",
            "Our team (see {1} won the match\nby five points.\n",
        ] {
            assert_eq!(prose_len(text.as_bytes()), Some(text.len()), "{text}");
        }
        assert_eq!(prose_len(b"What a fine day!\n\n1. e4 *"), Some(17));
    }

    #[test]
    fn text_of_a_game_is_not_prose() {
        for text in [
            "Look at this:\n1. e4 e5 Ke5 *",
            "Look at this fine game of mine:\n1. e4 e5 Ke5",
            "1. e4 wins by force in all lines",
            "is a mistake in this place} 12. Nf3 Nc6",
            "is a mistake in this place} *",
            "he played it very well 24. Kf1 1-0",
            "Here are the names [White \"A\"]",
            "> Here are the moves that he played",
            "Kf1 is what he should have played",
            "bin\u{3}ary data has such bytes",
            "e4 e5",
            "{this is a comment without its end",
            "",
        ] {
            assert_eq!(prose_len(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn invisible_html_ends_with_its_tag() {
        let style = b"<style type=\"x\">\nbody {\n color: red }\n\n</style>\n<pre>";
        assert_eq!(unseen_len(style), Some(style.len() - 5));
        assert_eq!(unseen_len(b"<style>a</style> [Annotator \"x\"]"), None);
        assert_eq!(unseen_len(b"<style>\n[Event \"x\"]\n</style>"), None);
        assert_eq!(unseen_len(b"<!-- never ends\n1. e4 *"), None);
        assert_eq!(unseen_len(b"<pre>"), None);
    }
}
