//! Words of comments that are too long for some programs, such as the paths of
//! pages, and texts in languages without blanks.
//!
//! Such a word is written in parts of [`MAX_WORD_BYTES`] with blanks between. Before
//! such a blank stands a hair space, U+200A: no other is written, and to other programs
//! it is a blank. A reader takes both away.

use std::borrow::Cow;

use crate::game::{MAX_WORD_BYTES, cut};

/// Marks the blank between two parts of a word: it follows the first part.
pub(super) const JOINER: char = '\u{200a}';

/// The fewest bytes of such a part: a character has four at most.
const LEAST_BYTES: usize = MAX_WORD_BYTES - 3;

/// Parts a word: gives all parts but the last one, and the last one.
pub(super) fn parted(mut word: &str) -> (Vec<&str>, &str) {
    let mut parts = Vec::new();
    while word.len() > MAX_WORD_BYTES {
        let (part, rest) = word.split_at(cut(word, MAX_WORD_BYTES).len());
        parts.push(part);
        word = rest;
    }
    (parts, word)
}

/// A comment with its long words in one. Joiners that end no part stay.
pub(super) fn joined(comment: Cow<'_, str>) -> Cow<'_, str> {
    if !comment.contains(JOINER) {
        return comment;
    }
    let mut whole = String::with_capacity(comment.len());
    let mut pieces = comment.split(JOINER);
    let mut before = pieces.next().unwrap_or_default();
    whole.push_str(before);
    for piece in pieces {
        let part = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let is_part = (LEAST_BYTES..=MAX_WORD_BYTES).contains(&part.len());
        if is_part && piece.starts_with(char::is_whitespace) {
            whole.push_str(piece.trim_start());
        } else {
            whole.push(JOINER);
            whole.push_str(piece);
        }
        before = piece;
    }
    Cow::Owned(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(word: &str) -> String {
        let (parts, last) = parted(word);
        let mut text: String = parts
            .iter()
            .flat_map(|part| [part, "\u{200a}\r\n "])
            .collect();
        text.push_str(last);
        text
    }

    #[test]
    fn long_words_come_back_whole() {
        for letter in ["x", "é", "棋", "🂡"] {
            for len in (0..8).chain([
                49, 50, 51, 66, 67, 98, 99, 100, 101, 197, 198, 200, 201, 999,
            ]) {
                let word = letter.repeat(len);
                let text = written(&word);
                for part in text.split_whitespace() {
                    assert!(part.len() <= MAX_WORD_BYTES, "{letter} {len}");
                }
                assert_eq!(joined(Cow::Borrowed(&text)), word, "{letter} {len}");
                let amid = format!("so {text} what");
                assert_eq!(joined(amid.into()), format!("so {word} what"));
            }
        }
    }

    #[test]
    fn joiners_of_other_programs_stay() {
        let long = "x".repeat(MAX_WORD_BYTES);
        for text in [
            "a\u{200a} b",
            "\u{200a}",
            "\u{200a} \u{200a}\u{200a} ",
            &format!("{long}\u{200a}y"),
            &format!("{long}xx\u{200a} y"),
        ] {
            assert_eq!(joined(Cow::Borrowed(text)), text);
        }
    }
}
