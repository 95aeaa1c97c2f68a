//! Tag pairs, `[Name "value"]`.
//!
//! Programs write two on a line, leave no line between them and the moves,
//! and do not escape quotes and backslashes in values.

use std::borrow::Cow;

use super::{Lexer, TagPair, Token, line_len};
use crate::pgn::braces::ends_tag_pair;
use crate::pgn::error::Error;
use crate::pgn::lenient::Liberty;
use crate::pgn::page::EightBitPage;
use crate::pgn::place::{TextPlace, characters};

/// What is known of a line with tag pairs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TagLine {
    end: usize,
    /// The last quote before a `]`.
    last_quote: Option<usize>,
}

impl<'t> Lexer<'t> {
    /// A tag pair, from its `[` to its `]`.
    pub(super) fn tag(&mut self) -> Result<Token<'t>, Error> {
        if self.is_free {
            // Or it would be counted anew for each of many tags on a line.
            self.here = self.here.with_column(self.text);
        }
        let begin = self.here;
        let last_quote = self.tag_line().last_quote;
        let is_closed = last_quote.is_some_and(|last| last >= begin.offset);
        let strict = (is_closed || !self.is_free).then(|| self.strict_tag());
        if let Some(strict) = strict
            && (strict.is_ok() || !self.is_free)
        {
            return strict;
        }
        self.here = begin;
        if let Some(token) = self.loose_tag() {
            self.taken.note(Liberty::TagForm, begin);
            return Ok(token);
        }
        self.here = begin;
        self.strict_tag()
    }

    /// A tag pair in another form: with other signs in its name, without
    /// quotes or with others, or without its end.
    #[cold]
    fn loose_tag(&mut self) -> Option<Token<'t>> {
        self.here.offset += 1;
        self.skip_spaces();
        let begin = self.here.offset;
        let line_end = self.tag_line().end;
        let rest = self.slice(begin, line_end);
        let ends_name = |byte: &u8| matches!(byte, b' ' | b'\t' | b'"' | b'[' | b']');
        let name = rest.split(ends_name).next().unwrap_or_default();
        let name = std::str::from_utf8(name).ok()?;
        name.chars().next().filter(char::is_ascii_alphanumeric)?;
        let (name, len) = match name_in_words(rest) {
            Some((name, len)) => (name, len),
            None => (plain_name(name), name.len()),
        };
        self.here.offset += len;
        self.skip_spaces();
        if let [b':' | b'=', rest @ ..] = self.slice(self.here.offset, begin + rest.len())
            && rest.trim_ascii_start().starts_with(b"\"")
        {
            self.here.offset += 1;
            self.skip_spaces();
        }
        let value = self.slice(self.here.offset, begin + rest.len());
        let is_cut = begin + rest.len() == self.text.len() && !rest.contains(&b']');
        if is_cut {
            return None;
        }
        let (len, end) = match self.value_over_lines(value.len()) {
            Some(len) => (len, len + 2),
            None => loose_value(value),
        };
        let place = self.here;
        let value = self.slice(place.offset, place.offset + len);
        self.walk_to(place.offset + end).ok()?;
        let value = self.characters(place, value);
        let value = match value {
            Cow::Borrowed(value) => Cow::Borrowed(without_quotes(value)),
            Cow::Owned(value) => Cow::Owned(without_quotes(&value).to_owned()),
        };
        let is_line_end = |c: char| matches!(c, '\n' | '\r');
        let value = if value.contains(is_line_end) {
            Cow::Owned(value.split_whitespace().collect::<Vec<_>>().join(" "))
        } else {
            value
        };
        Some(Token::Tag(TagPair { name, value, place }))
    }

    /// The length of a value that goes on in the next lines up to `"]`. It
    /// begins here, and has so many bytes on this line.
    fn value_over_lines(&self, len: usize) -> Option<usize> {
        const MOST_LINES: usize = 4;
        let begin = self.here.offset;
        let first = self.slice(begin, begin + len);
        if !first.starts_with(b"\"") || first.contains(&b']') {
            return None;
        }
        let rest = self.slice(begin + len, self.text.len());
        let mut at = begin + len;
        for line in rest.split_inclusive(|&byte| byte == b'\n').take(MOST_LINES) {
            let text = line.trim_ascii();
            if at > begin + len && (text.is_empty() || text.starts_with(b"[")) {
                return None;
            }
            if text.ends_with(b"\"]") {
                let trimmed = line.trim_ascii_end().len();
                return Some(at + trimmed - 2 - begin);
            }
            at += line.len();
        }
        None
    }

    fn strict_tag(&mut self) -> Result<Token<'t>, Error> {
        self.here.offset += 1;
        self.skip_spaces();
        let begin = self.here.offset;
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let rest = self.slice(begin, self.text.len());
        self.here.offset += rest.iter().take_while(is_name).count();
        let name = std::str::from_utf8(self.slice(begin, self.here.offset)).unwrap_or_default();
        if name.is_empty() {
            return Err(self.unexpected(if self.byte(begin) == Some(b'%') {
                "a command such as %clk in a comment, within { and }"
            } else {
                "a tag name of letters, digits and _"
            }));
        }
        self.skip_spaces();
        if self.byte(self.here.offset) != Some(b'"') {
            return Err(self.unexpected("\" and the value of the tag"));
        }
        self.here.offset += 1;
        let (place, value) = self.tag_value()?;
        Ok(Token::Tag(TagPair { name, value, place }))
    }

    /// The value and where it begins; goes behind the `]`.
    fn tag_value(&mut self) -> Result<(TextPlace, Cow<'t, str>), Error> {
        let place = self.here;
        let end = self.value_end()?;
        self.walk_to(end + 1)?;
        self.skip_spaces();
        self.here.offset += 1;
        let value = self.slice(place.offset, end);
        if value.contains(&b'\\') {
            return Ok((place, unescaped(value, self.page)));
        }
        Ok((place, self.characters(place, value)))
    }

    /// Where the value's last quote stands. Quotes inside need not be
    /// escaped: the one that ends the value stands before `]`, and either
    /// another tag pair or a numbered move follows, or no `"]` on this line.
    fn value_end(&mut self) -> Result<usize, Error> {
        let begin = self.here.offset;
        let line = self.tag_line();
        // ChessBase does not escape: the value may end in a backslash.
        let last = line.last_quote.filter(|&last| last >= begin);
        let mut at = begin;
        while at < line.end && last.is_some() {
            match self.slice(at, line.end) {
                [b'\\', b'"' | b'\\', ..] => at += 2,
                [b'"', rest @ ..] if line.last_quote == Some(at) || ends_pair(rest) => {
                    return Ok(at);
                }
                _ => at += 1,
            }
        }
        last.ok_or_else(|| {
            self.here.offset = line.end;
            let found = "a tag pair without end".to_owned();
            self.error(self.here, found, "\"] on the same line")
        })
    }

    /// Looks at each line once, however many tag pairs it has.
    fn tag_line(&mut self) -> TagLine {
        let begin = self.here.offset;
        if begin > self.tag_line.end || self.tag_line.end == 0 {
            let end = begin + line_len(self.slice(begin, self.text.len()));
            let line = self.slice(begin, end);
            let closes = |at: &usize| {
                let (before, after) = line.split_at(*at + 1);
                before.ends_with(b"\"") && after_close(after).is_some()
            };
            let last_quote = (0..line.len()).rev().find(closes).map(|at| begin + at);
            self.tag_line = TagLine { end, last_quote };
        }
        self.tag_line
    }

    fn skip_spaces(&mut self) {
        while matches!(self.byte(self.here.offset), Some(b' ' | b'\t')) {
            self.here.offset += 1;
        }
    }
}

/// Names of tags that people write in words, as `[White Elo "2700"]`.
const NAMES_IN_WORDS: [&str; 20] = [
    "WhiteElo",
    "BlackElo",
    "WhiteTitle",
    "BlackTitle",
    "WhiteTeam",
    "BlackTeam",
    "WhiteFideId",
    "BlackFideId",
    "WhiteClock",
    "BlackClock",
    "WhiteCountry",
    "BlackCountry",
    "EventDate",
    "EventType",
    "EventRounds",
    "EventCountry",
    "SourceDate",
    "TimeControl",
    "PlyCount",
    "UTCDate",
];

/// The tag whose name stands in words before the first quote, and how many bytes they
/// take.
fn name_in_words(line: &[u8]) -> Option<(&'static str, usize)> {
    let quote = line.iter().position(|byte| *byte == b'"')?;
    let words = std::str::from_utf8(line.get(..quote)?).ok()?.trim_end();
    let mut parts = words.split_ascii_whitespace();
    let is_name = |name: &&&str| {
        let mut rest = **name;
        let mut parts = parts.clone();
        let all = parts.all(|part| {
            let (begin, behind) = rest.split_at_checked(part.len()).unwrap_or_default();
            rest = behind;
            begin.eq_ignore_ascii_case(part)
        });
        all && rest.is_empty()
    };
    let name = NAMES_IN_WORDS.iter().find(is_name)?;
    let has_several = parts.nth(1).is_some();
    has_several.then_some((*name, words.len()))
}

/// A name without a sign that joins it to its value, as in `White:`, and without blanks
/// that are none of ASCII.
fn plain_name(name: &str) -> &str {
    name.trim_end_matches(|c: char| matches!(c, ':' | '=') || c.is_whitespace())
}

/// How long a value without an end is, and with what ends it: up to the `]`
/// that another tag pair or nothing follows.
fn loose_value(line: &[u8]) -> (usize, usize) {
    let closes = |at: &usize| {
        let after = || line.get(at + 1..).unwrap_or_default().trim_ascii_start();
        line.get(*at) == Some(&b']') && matches!(after(), [] | [b'[', ..])
    };
    let close = (0..line.len()).find(closes);
    let close = close.or_else(|| line.iter().position(|&byte| byte == b']'));
    close.map_or((line.len(), line.len()), |at| (at, at + 1))
}

/// A value without quotes of any kind, or one of them, around it.
fn without_quotes(value: &str) -> &str {
    let is_quote = |c: char| {
        matches!(
            c,
            '"' | '\'' | '`' | '\u{b4}' | '\u{ab}' | '\u{bb}' | '\u{201c}'..='\u{201f}'
        )
    };
    let value = value.trim();
    let value = value.strip_prefix(is_quote).unwrap_or(value);
    value.strip_suffix(is_quote).unwrap_or(value)
}

/// What follows the `]` after a quote; `None` if something else stands there.
fn after_close(after_quote: &[u8]) -> Option<&[u8]> {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let spaces = after_quote.iter().take_while(is_space).count();
    after_quote.get(spaces..)?.strip_prefix(b"]")
}

/// Whether `]` follows a quote, and then another tag pair or a move.
fn ends_pair(after_quote: &[u8]) -> bool {
    after_close(after_quote).is_some_and(ends_tag_pair)
}

/// A tag value without its escapes; other backslashes stay.
fn unescaped(value: &[u8], page: EightBitPage) -> Cow<'_, str> {
    if !value.contains(&b'\\') {
        return characters(value, page);
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut rest = value;
    loop {
        rest = match rest {
            [b'\\', escaped @ (b'"' | b'\\'), after @ ..] => {
                plain.push(*escaped);
                after
            }
            [byte, after @ ..] => {
                plain.push(*byte);
                after
            }
            [] => return Cow::Owned(characters(&plain, page).into_owned()),
        };
    }
}
