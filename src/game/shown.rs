//! Splits a text into the words that a PGN comment shows.
//!
//! A comment shows blanks, line breaks and control characters as one blank, and
//! none at the ends. It shows braces as parentheses. A word has at most
//! [`MAX_WORD_BYTES`]; longer ones are split here. Between `[` and `%` a blank is
//! removed; it only kept the words from being read as a command.

use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of bytes without a blank in a comment. Some programs fail on
/// words of a thousand.
pub const MAX_WORD_BYTES: usize = 200;

/// A word of a text as shown in a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownWord<'t> {
    /// The shown word.
    pub word: Cow<'t, str>,
    /// Byte range of the word in the text.
    pub range: Range<usize>,
}

/// The shown words of a text, in order.
pub fn shown_words(text: &str) -> impl Iterator<Item = ShownWord<'_>> {
    let mut at = 0;
    let words = std::iter::from_fn(move || {
        let word = whole_word(text, at)?;
        at = word.end;
        Some(word)
    });
    words.flat_map(|word| parts(text, word))
}

/// The shown characters of `part`, each with its byte offset; blanks are
/// omitted.
pub fn shown_characters(part: &str) -> impl Iterator<Item = (usize, char)> {
    let characters = part.char_indices().filter(|(_, c)| !is_blank(*c));
    characters.map(|(at, c)| (at, shown_in_comment(c)))
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'t> {
    /// Text outside commands.
    Words(&'t str),
    /// The text between `[%` and `]`, such as `clk 0:05:00`.
    Command(&'t str),
}

/// The words and the commands of a text, in order. A command without its end is words.
pub fn text_parts(text: &str) -> impl Iterator<Item = TextPart<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(begun) = rest.strip_prefix("[%") else {
            let (words, behind) = rest.split_at(rest.find("[%").unwrap_or(rest.len()));
            rest = behind;
            return Some(TextPart::Words(words));
        };
        let Some((command, behind)) = begun.split_once(']') else {
            // Nor has any behind it an end.
            return Some(TextPart::Words(std::mem::take(&mut rest)));
        };
        rest = behind;
        Some(TextPart::Command(command))
    })
}

/// Returns the character that a comment shows.
pub fn shown_in_comment(c: char) -> char {
    match c {
        '{' => '(',
        '}' => ')',
        c if c.is_control() => ' ',
        c => c,
    }
}

/// Returns the character that a text between quotes in a command shows.
pub fn shown_in_quotes(c: char) -> char {
    match c {
        '"' => '\'',
        '[' | '{' => '(',
        ']' | '}' => ')',
        c if c.is_control() => ' ',
        c => c,
    }
}

/// The longest start of a text that has at most so many bytes, cut between characters.
pub fn cut(text: &str, most: usize) -> &str {
    let ends = (0..=most.min(text.len())).rev();
    let mut whole = ends.filter_map(|end| text.get(..end));
    whole.next().unwrap_or_default()
}

/// Returns whether a comment shows this character as a blank.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// Range of the first word at or after `from`, however long. A blank between
/// `[` and `%` does not end it.
fn whole_word(text: &str, from: usize) -> Option<Range<usize>> {
    let mut word = next_word(text, from)?;
    while text.get(word.clone())?.ends_with('[') {
        match next_word(text, word.end) {
            Some(next) if text.get(next.start..)?.starts_with('%') => word.end = next.end,
            _ => break,
        }
    }
    Some(word)
}

/// Range of the first run without blanks at or after `from`.
fn next_word(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let start = from + rest.find(|c| !is_blank(c))?;
    let len = text.get(start..)?.find(is_blank);
    Some(start..len.map_or(text.len(), |len| start + len))
}

fn parts(text: &str, word: Range<usize>) -> impl Iterator<Item = ShownWord<'_>> {
    let Range { mut start, end } = word;
    std::iter::from_fn(move || {
        let rest = text.get(start..end).filter(|rest| !rest.is_empty())?;
        let mut shown = String::new();
        let mut len = rest.len();
        for (at, c) in shown_characters(rest) {
            if shown.len() + c.len_utf8() > MAX_WORD_BYTES {
                len = at;
                break;
            }
            shown.push(c);
        }
        let range = start..start + len;
        start = range.end;
        let plain = rest.get(..len).filter(|plain| *plain == shown);
        let word = plain.map_or(Cow::Owned(shown), Cow::Borrowed);
        Some(ShownWord { word, range })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        shown_words(text)
            .map(|word| word.word.into_owned())
            .collect()
    }

    #[test]
    fn a_comment_shows_words() {
        for (text, expected) in [
            ("", &[][..]),
            ("  \r\n", &[]),
            (" two  words\r\n", &["two", "words"]),
            ("a\u{1}b\u{a0}c", &["a", "b", "c"]),
            ("{a} b}", &["(a)", "b)"]),
            ("x [ %csl Ge4] [%csl", &["x", "[%csl", "Ge4]", "[%csl"]),
            ("[  % [ a [", &["[%", "[", "a", "["]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_in_quotes_shows_no_brackets_quotes_or_control_characters() {
        let shown: String = "a\"[{]}\t\u{7f}é".chars().map(shown_in_quotes).collect();
        assert_eq!(shown, "a'(())  é");
    }

    #[test]
    fn a_word_knows_its_place() {
        let text = "  {a}\u{2}[ %b] ёж";
        let ranges = shown_words(text).map(|word| text.get(word.range).unwrap());
        assert_eq!(ranges.collect::<Vec<_>>(), ["{a}", "[ %b]", "ёж"]);
    }

    #[test]
    fn a_text_is_words_and_commands() {
        use TextPart::{Command, Words};
        for (text, parts) in [
            ("", &[][..]),
            ("a [%x] b", &[Words("a "), Command("x"), Words(" b")]),
            ("[%clk 1][%x", &[Command("clk 1"), Words("[%x")]),
            ("[%a [%b] c", &[Command("a [%b"), Words(" c")]),
            ("[%[%[%", &[Words("[%[%[%")]),
        ] {
            assert_eq!(text_parts(text).collect::<Vec<_>>(), parts, "{text}");
        }
    }

    #[test]
    fn a_long_word_has_parts() {
        let long = "ж".repeat(150);
        let found: Vec<_> = shown_words(&long).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].range, 0..200);
        assert_eq!(found[1].range, 200..300);
    }
}
