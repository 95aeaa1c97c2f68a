//! Where a comment with braces inside ends.
//!
//! In the standard braces do not nest: a comment ends at the first `}`, and
//! a `{` inside means nothing. ChessBase writes `{a {b} c}` all the same. Both
//! are read: a comment ends at the brace that matches its first one, if there
//! is one, else at the first `}`. A comment of the standard is read as the
//! standard says, since its matching brace would have to be a `}` outside of
//! comments, where the standard has no use for one (a `}` after `;` aside).

use std::sync::Arc;

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

/// Whether a text has a place where a game seems to begin: an empty line,
/// a tag `Event` in the next one, and behind that another tag or the first move.
pub(super) fn has_begin_of_game(text: &[u8]) -> bool {
    let begins = |at: usize| {
        if !begins_game_after_blank(text, at, &["Event"]) {
            return false;
        }
        let line = text.get(at..).unwrap_or_default();
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let end = line.iter().position(is_end).unwrap_or(line.len());
        let next = line.get(end..).unwrap_or_default().trim_ascii_start();
        begins_tag_pair(next) || next.starts_with(b"1.")
    };
    let brackets = (0..text.len()).filter(|&at| text.get(at) == Some(&b'['));
    brackets.into_iter().any(begins)
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
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let begin = rest.iter().rposition(is_end).map_or(0, |at| at + 1);
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
    fn a_later_comment_is_matched_for_itself() {
        let text = "{a { b} e4 {c {d} e}";
        let mut braces = Braces::default();
        assert_eq!(braces.matching(text.as_bytes(), 0), None);
        assert_eq!(braces.matching(text.as_bytes(), 11), Some(19));
    }
}
