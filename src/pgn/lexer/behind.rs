//! What stands behind the result of a game, on its line: words, as in `1-0 Black
//! resigns`, or something in parentheses, or the next game.

use std::borrow::Cow;

use super::{Lexer, Token, is_blank, line_len};
use crate::pgn::braces::begins_tag_pair;
use crate::pgn::notation::Notation;
use crate::pgn::numbers::MoveNumber;
use crate::pgn::place::TextPlace;
use crate::pgn::stream::goes_on_with_words;
use crate::pgn::tags::begins_game;

/// Parentheses go on for no more bytes behind their line.
const MOST_BEHIND: usize = 1 << 12;

impl<'t> Lexer<'t> {
    /// Whether something seems to follow a result that is no other game.
    pub(in crate::pgn) fn is_at_more(&self) -> bool {
        let at = self.after_blanks();
        match self.byte(at.offset) {
            None => false,
            Some(b'[') => at.line == self.here.line && !self.begins_game(at.offset),
            Some(b'0'..=b'9') => {
                let mut ahead = self.clone();
                ahead.here = at;
                !matches!(ahead.next(), Ok((_, Token::Number(number))) if number.number == Some(1))
            }
            _ => true,
        }
    }

    /// The words that follow on this line, with parentheses to their end; goes
    /// behind them. `None` if a comment or a tag follows, or moves.
    pub(in crate::pgn) fn words_behind(&mut self) -> Option<(TextPlace, Cow<'t, str>)> {
        let begin = self.after_blanks();
        let first = self.byte(begin.offset)?;
        if begin.line != self.here.line || b"{};]".contains(&first) || self.is_at_moves(begin) {
            return None;
        }
        if first == b'[' && self.begins_game(begin.offset) {
            return None;
        }
        let end = begin.offset + self.words_len(begin.offset);
        self.here = begin;
        self.walk_to(end).ok()?;
        let words = self.slice(begin.offset, end);
        Some((begin, self.characters(begin, words)))
    }

    /// Whether a tag pair at an offset is one that a game begins with.
    fn begins_game(&self, offset: usize) -> bool {
        let rest = self.slice(offset, self.text.len());
        let inside = rest.get(1..).unwrap_or_default().trim_ascii_start();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric();
        let len = inside.iter().take_while(is_name).count();
        let name = std::str::from_utf8(inside.get(..len).unwrap_or_default());
        begins_tag_pair(rest) && name.is_ok_and(begins_game)
    }

    /// Whether words go on in the line behind the line end at an offset.
    fn goes_on(&self, offset: usize) -> bool {
        let end = self.slice(offset, self.text.len());
        let next = end.strip_prefix(b"\r\n").or(end.get(1..));
        let next = next.unwrap_or_default();
        goes_on_with_words(next.get(..line_len(next)).unwrap_or_default())
    }

    /// Whether moves follow a place, with their numbers or without, or a result.
    fn is_at_moves(&self, place: TextPlace) -> bool {
        let mut ahead = self.clone();
        ahead.here = place;
        loop {
            return match ahead.next() {
                Ok((_, Token::Number(_))) => continue,
                Ok((_, Token::Word(word))) => Notation::parse(&word).is_some(),
                Ok((_, Token::Result(_))) => true,
                _ => false,
            };
        }
    }

    /// How long the words at an offset are: up to the end of their line, or of lines
    /// that go on with them, to the last parenthesis that is opened there, or to a
    /// comment, a tag of another game or move 1 before.
    fn words_len(&self, begin: usize) -> usize {
        let mut line = line_len(self.slice(begin, self.text.len()));
        let most = (begin + line + MOST_BEHIND).min(self.text.len());
        let rest = self.slice(begin, most);
        let mut depth = 0_usize;
        for (at, byte) in rest.iter().enumerate() {
            match byte {
                b'\n' | b'\r' if depth > 0 && self.is_at_paragraph_end(begin + at) => break,
                b'\n' | b'\r' if depth == 0 && self.goes_on(begin + at) => line = at + 1,
                b'\n' | b'\r' | b'{' | b'}' | b';' if depth == 0 => return at,
                b'[' if depth == 0 && self.begins_game(begin + at) => return at,
                b'1' if depth == 0 && at > 0 && self.is_first_move(begin + at) => return at,
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if depth == 0 { rest.len() } else { line }
    }

    /// Whether an empty line or a tag follows the line end at an offset.
    fn is_at_paragraph_end(&self, offset: usize) -> bool {
        let end = self.slice(offset, self.text.len());
        let next = end.strip_prefix(b"\r\n").or(end.get(1..));
        let next = next.unwrap_or_default();
        let line = next.get(..line_len(next)).unwrap_or_default();
        line.trim_ascii().is_empty() || line.starts_with(b"[")
    }

    /// Whether the number at an offset begins a game, `1. e4`.
    fn is_first_move(&self, offset: usize) -> bool {
        let is_word = |at: usize| self.byte(at).is_some_and(|byte| !is_blank(byte));
        if offset.checked_sub(1).is_some_and(is_word) {
            return false;
        }
        let mut ahead = self.clone();
        ahead.here.offset = offset;
        let first = MoveNumber {
            number: Some(1),
            dots: 1,
        };
        matches!(ahead.next(), Ok((_, Token::Number(number))) if number == first)
            // Others are searched for their ends.
            && !matches!(ahead.byte(ahead.after_blanks().offset), Some(b'[' | b'<' | b'{'))
            && matches!(ahead.next(), Ok((_, Token::Word(word))) if Notation::parse(&word).is_some())
    }
}
