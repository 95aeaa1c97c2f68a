//! Where a comment with braces inside ends.
//!
//! In the standard braces do not nest: a comment ends at the first `}`, and
//! a `{` inside means nothing. ChessBase writes `{a {b} c}` all the same. Both
//! are read: a comment ends at the brace that matches its first one, if there
//! is one, else at the first `}`. A comment of the standard is read as the
//! standard says, since its matching brace would have to be a `}` outside of
//! comments, where the standard has no use for one (a `}` after `;` aside).

use std::sync::Arc;

use super::stream::{is_move, without_dots};

/// The braces of one game, matched. Takes a bit for each byte of its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Braces {
    /// Range of the text that was scanned.
    start: usize,
    end: usize,
    /// The bytes from `start` on that are a `{` which a `}` matches, a bit
    /// each. Shared by those that read the text again from somewhere on.
    matched: Arc<[u64]>,
}

impl Braces {
    /// The brace that matches the `{` at `open`. Asked with growing `open`, as
    /// far as each comment ends, it looks at each part of the text twice.
    pub(super) fn matching(&mut self, text: &[u8], open: usize) -> Option<usize> {
        if open >= self.end || open < self.start {
            self.look(text, open);
        }
        let (word, bit) = place(open.checked_sub(self.start)?);
        self.matched.get(word).filter(|word| *word & bit != 0)?;
        let mut depth: usize = 0;
        let game = text.get(open..self.end)?;
        let len = game.iter().position(|byte| {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0
        });
        Some(open + len?)
    }

    /// Finds the `{` that are matched from `start` to the end of the game: from
    /// the end on, each takes the nearest `}` that is left.
    fn look(&mut self, text: &[u8], start: usize) {
        self.start = start;
        self.end = game_end(text, start);
        let game = text.get(start..self.end).unwrap_or_default();
        let mut matched = vec![0; game.len().div_ceil(64)];
        let mut closing: usize = 0;
        for (at, byte) in game.iter().enumerate().rev() {
            match byte {
                b'}' => closing += 1,
                b'{' if closing > 0 => {
                    closing -= 1;
                    let (word, bit) = place(at);
                    if let Some(word) = matched.get_mut(word) {
                        *word |= bit;
                    }
                }
                _ => {}
            }
        }
        self.matched = matched.into();
    }
}

/// Word and bit of a byte.
fn place(at: usize) -> (usize, u64) {
    (at / 64, 1 << (at % 64))
}

/// Where the next tag pair at the begin of a line begins, or the text ends.
fn game_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    let rest = text.get(start..).unwrap_or_default();
    for line in rest.split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
        if at > start && begins_tag_pair(line) {
            return at;
        }
        at += line.len();
    }
    text.len()
}

/// Whether a tag pair begins here: `[`, a name, a blank, a quote.
pub(super) fn begins_tag_pair(text: &[u8]) -> bool {
    let Some(inside) = text.strip_prefix(b"[") else {
        return false;
    };
    let inside = inside.trim_ascii_start();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let len = inside.iter().take_while(|byte| is_name(byte)).count();
    let value = inside.get(len..).unwrap_or_default().trim_ascii_start();
    len > 0 && value.first() == Some(&b'"')
}

/// Whether another tag pair, a numbered move, a comment or a result follows a `]`, which
/// so is the end of a tag pair.
pub(super) fn ends_tag_pair(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit());
    let len = digits.count();
    let is_number = len > 0 && after.get(len) == Some(&b'.');
    // No result is longer: a word without end is not searched for each bracket in it.
    let word = after.get(..after.len().min(8)).unwrap_or_default();
    let word = word.split(u8::is_ascii_whitespace).next();
    let is_result = matches!(word, Some(b"*" | b"1-0" | b"0-1" | b"1/2-1/2"));
    is_number || is_result || after.starts_with(b"{") || begins_tag_pair(after)
}

/// Whether what seems to be meant as a tag pair begins here: `[`, something
/// that begins like a name, a blank.
pub(super) fn begins_loose_tag(text: &[u8]) -> bool {
    let Some(inside) = text.strip_prefix(b"[") else {
        return false;
    };
    let inside = inside.trim_ascii_start();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'"');
    let name = inside.split(is_blank).next().unwrap_or_default();
    name.len() < inside.len()
        && name.first().is_some_and(u8::is_ascii_alphabetic)
        && !name.iter().any(|byte| matches!(byte, b']' | b'\n' | b'\r'))
}

/// So many lines of tag pairs in a comment are those of a game, also without an empty
/// line before them: no remark that is broken into lines has them.
const LINES_OF_TAGS: usize = 3;

/// Whether a text has a place where a game seems to begin: an empty line,
/// a tag in the next one, and behind that another tag or the first move; or lines of
/// tags and nothing else.
pub(super) fn has_begin_of_game(text: &[u8]) -> bool {
    let begins = |at: usize| {
        if !begins_game_after_blank(text, at, &[]) {
            return false;
        }
        let line = text.get(at..).unwrap_or_default();
        let end = line
            .iter()
            .position(|&byte| is_line_end(byte))
            .unwrap_or(line.len());
        let next = line.get(end..).unwrap_or_default().trim_ascii_start();
        begins_tag_pair(next) || next.starts_with(b"1.")
    };
    let mut brackets = memchr::memchr_iter(b'[', text).peekable();
    if brackets.peek().is_none() {
        return false;
    }
    let mut tags = 0;
    // The first line began outside.
    let has_tags = text.split(|&byte| is_line_end(byte)).skip(1).any(|line| {
        if !line.is_empty() {
            tags = if is_tag_pair(line) { tags + 1 } else { 0 };
        }
        tags == LINES_OF_TAGS
    });
    has_tags || brackets.any(begins)
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Whether a line is a tag pair and nothing else.
fn is_tag_pair(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    begins_tag_pair(line) && memchr::memmem::find(line, b"\"]") == Some(line.len() - 2)
}

/// Whether moves, and nothing else, stand between the first `}` and the brace behind it, if
/// that is a `{`: there the first ends a comment and the second begins one, whatever
/// braces are around them.
pub(super) fn has_moves_between(text: &[u8]) -> bool {
    let Some(close) = memchr::memchr(b'}', text) else {
        return false;
    };
    let behind = text.get(close + 1..).unwrap_or_default();
    let next = memchr::memchr2(b'{', b'}', behind);
    let between = next.filter(|&at| behind.get(at) == Some(&b'{'));
    between.is_some_and(|at| are_moves(behind.get(..at).unwrap_or_default()))
}

/// Whether a text is of moves with their numbers, and has one.
fn are_moves(text: &[u8]) -> bool {
    let mut words = text.split(u8::is_ascii_whitespace);
    let mut has_move = false;
    let is_one = |word: &[u8]| {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = word.split_at_checked(digits).unwrap_or_default();
        let rest = without_dots(rest);
        let is_move = is_move(rest);
        has_move |= is_move;
        is_move || (rest.is_empty() && (word.is_empty() || !number.is_empty()))
    };
    words.all(is_one) && has_move
}

/// Whether the line at `start` begins with a tag pair, of one of `names` if
/// there are any, and follows an empty line; lines of `%` may stand between.
pub(super) fn begins_game_after_blank(text: &[u8], start: usize, names: &[&str]) -> bool {
    let (mut before, line) = text.split_at_checked(start).unwrap_or_default();
    let has_name = |name: &&str| {
        let inside = line.get(1..).unwrap_or_default().trim_ascii_start();
        let rest = inside.strip_prefix(name.as_bytes()).unwrap_or_default();
        matches!(rest.first(), Some(b' ' | b'\t' | b'"'))
    };
    if !begins_tag_pair(line) || !(names.is_empty() || names.iter().any(has_name)) {
        return false;
    }
    while let Some(rest) = without_line_end(before) {
        let begin = rest
            .iter()
            .rposition(|&byte| is_line_end(byte))
            .map_or(0, |at| at + 1);
        let (earlier, last) = rest.split_at(begin);
        if last.first() != Some(&b'%') {
            return last.trim_ascii().is_empty();
        }
        before = earlier;
    }
    false
}

fn without_line_end(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_suffix(b"\n").unwrap_or(text);
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Option<usize> {
        Braces::default().matching(text.as_bytes(), 0)
    }

    #[test]
    fn braces_match_where_they_can() {
        for (text, expected) in [
            ("{a {b} c}", Some(8)),
            ("{a {b} c {d} e} e4 {f}", Some(14)),
            ("{a { b} e4 {c}", None),
            ("{a { b} e4 {c {d} e}", None),
            ("{a { b}\n[Event \"}\"]", None),
        ] {
            assert_eq!(end(text), expected, "{text}");
        }
    }

    #[test]
    fn moves_between_comments_are_told_from_words() {
        for (text, expected) in [
            ("{y} Nc6 3. Bb5 {z}", true),
            ("{y} 2...Nc6 3.Bb5! {z}", true),
            ("y} e5 {z", true),
            ("a {b} c {d} e", false),
            ("a {b} Nf6 is better {d} e", false),
            ("a {b} 3. {d} e", false),
            ("a {b}{d} e", false),
            ("a {b} c {d} Nf6 {e}", false),
            ("a {b} Nf6", false),
            ("{Nf6", false),
        ] {
            assert_eq!(has_moves_between(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_game_in_a_comment_begins_behind_an_empty_line_or_with_lines_of_tags() {
        let (b, c) = ("[White \"B\"]\n", "[Black \"C\"]\n");
        for (text, expected) in [
            (format!("oops e5 1-0\n\n{b}{c}\n1. d4 "), true),
            (format!("oops e5 1-0\r\n\r\n{b}\n1. d4 "), true),
            (format!("oops e5 1-0\n{b}{c}[Site \"D\"]\n\n1. d4 "), true),
            (format!("oops\n{b}{c}"), false),
            (format!("oops\n{b}see {c}[Site \"D\"]\n"), false),
            (format!("oops\n{b}{c}[Site \"D\n"), false),
            (
                format!("oops\n{b}{c}[Site \"D\"] and [Site \"E\"]\n"),
                false,
            ),
            (format!("{b}{c}[Site \"D\"]"), false),
            ("oops\n\n[%csl Ge4]\n[%cal Ge2e4]\n1. e4".to_owned(), false),
            (format!("oops\n\n{b}and words"), false),
        ] {
            assert_eq!(has_begin_of_game(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_later_comment_is_matched_for_itself() {
        let text = "{a { b} e4 {c {d} e}";
        let mut braces = Braces::default();
        assert_eq!(braces.matching(text.as_bytes(), 0), None);
        assert_eq!(braces.matching(text.as_bytes(), 11), Some(19));
    }
}
