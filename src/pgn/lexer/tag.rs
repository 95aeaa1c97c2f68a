//! Tag pairs, `[Name "value"]`.
//!
//! Programs write two on a line, leave no line between them and the moves,
//! and do not escape quotes and backslashes in values.

use std::borrow::Cow;

use encoding_rs::Encoding;

use super::{Lexer, TagPair, Token, line_len};
use crate::pgn::braces::begins_tag_pair;
use crate::pgn::error::Error;
use crate::pgn::place::{Place, characters};

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
        self.here.offset += 1;
        self.skip_spaces();
        let begin = self.here.offset;
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let rest = self.slice(begin, self.text.len());
        self.here.offset += rest.iter().take_while(is_name).count();
        let name = std::str::from_utf8(self.slice(begin, self.here.offset)).unwrap_or_default();
        if name.is_empty() {
            return Err(self.unexpected("a tag name of letters, digits and _"));
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
    fn tag_value(&mut self) -> Result<(Place, Cow<'t, str>), Error> {
        let place = self.here;
        let end = self.value_end()?;
        self.walk_to(end + 1)?;
        self.skip_spaces();
        self.here.offset += 1;
        Ok((place, unescaped(self.slice(place.offset, end), self.page)))
    }

    /// Where the value's last quote stands. Quotes inside need not be
    /// escaped: the one that ends the value stands before `]`, and either
    /// another tag pair follows or no `"]` on this line.
    fn value_end(&mut self) -> Result<usize, Error> {
        let begin = self.here.offset;
        let line = self.tag_line();
        let mut at = begin;
        while at < line.end {
            match self.slice(at, line.end) {
                [b'\\', b'"' | b'\\', ..] => at += 2,
                [b'"', rest @ ..] if line.last_quote == Some(at) || ends_pair(rest) => {
                    return Ok(at);
                }
                _ => at += 1,
            }
        }
        // ChessBase does not escape: the value may end in a backslash.
        let last = line.last_quote.filter(|&last| last >= begin);
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

/// What follows the `]` after a quote; `None` if something else stands there.
fn after_close(after_quote: &[u8]) -> Option<&[u8]> {
    let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let spaces = after_quote.iter().take_while(is_space).count();
    after_quote.get(spaces..)?.strip_prefix(b"]")
}

/// Whether `]` follows a quote, and then another tag pair.
fn ends_pair(after_quote: &[u8]) -> bool {
    after_close(after_quote).is_some_and(|rest| begins_tag_pair(rest.trim_ascii_start()))
}

/// A tag value without its escapes; other backslashes stay.
fn unescaped<'t>(value: &'t [u8], page: &'static Encoding) -> Cow<'t, str> {
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
