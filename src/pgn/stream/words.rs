//! What of a file of games is no game: heads of mails, prose, signatures, lines of
//! dashes, marks of HTML.
//!
//! Only text that cannot be a game or a part of one is skipped. Signs of a game,
//! however damaged, are a tag pair, a number before a possible move, two moves in a
//! row, a comment, and an unmatched brace. Text with such a sign is read as a game or
//! refused, unless it is a paragraph of prose.

use std::ops::RangeInclusive;

use super::prose::{begins_unseen, prose_len, unseen_len};
use super::{is_escaped, lacks_bracket, lines_in, roster_bit};
use crate::pgn::braces::{begins_loose_tag, begins_tag_pair};
use crate::pgn::error::quoted;
use crate::pgn::lenient::is_position;
use crate::pgn::lexer::line_begin;
use crate::pgn::page::EightBitPage;
use crate::pgn::place::{TextPlace, characters};

/// The most bytes of what may be a move.
const MOVE_BYTES: usize = 16;

/// Lines that are no game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The first and the last, from 1.
    pub lines: RangeInclusive<usize>,
    /// The first words, in quotes.
    pub words: String,
    /// Whether they begin with a position.
    pub are_positions: bool,
}

impl Skipped {
    /// The text at a place of a section.
    pub(super) fn new(text: &[u8], place: TextPlace, page: EightBitPage) -> Skipped {
        let text = text.trim_ascii();
        let first = text.split(|byte| matches!(byte, b'\n' | b'\r')).next();
        // No more of a long line is shown.
        let first = first.unwrap_or_default();
        let first = first.get(..super::MOST_SHOWN).unwrap_or(first);
        Skipped {
            are_positions: is_position(first.trim_ascii()),
            lines: place.line..=place.line + lines_in(text),
            words: quoted(characters(first.trim_ascii(), page).as_bytes()),
        }
    }
}

/// What stands where a game was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundBeforeGame {
    /// So many bytes that are no game.
    Words(usize),
    /// Signs of a game, in the line at this offset.
    Game(usize),
    /// The same in a line of a quotation.
    Quoted(usize),
}

/// Looks where text ends that begins a line and is no game: where all is over,
/// where a first move follows an empty line, or where tags follow marks of HTML.
pub(super) fn look(text: &[u8]) -> FoundBeforeGame {
    let mut signs = Signs::default();
    let mut at = 0;
    let (mut is_apart, mut has_marks_alone) = (false, true);
    let (mut passed, mut has_endless) = (0, false);
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        if at < passed {
            at += line.len();
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let unseen = if has_endless { None } else { unseen_len(rest) };
        has_endless |= unseen.is_none() && begins_unseen(rest);
        let begins = at == 0 || is_apart;
        let prose = || begins.then(|| prose_len(rest)).flatten();
        if let Some(len) = unseen.or_else(prose) {
            passed = at + len;
            at += line.len();
            (is_apart, signs) = (false, Signs::default());
            has_marks_alone &= unseen.is_some();
            continue;
        }
        let begin = line_begin(line);
        let ends = (is_apart && begins_moves(begin)) || (has_marks_alone && begins_tag_pair(begin));
        if at > 0 && ends {
            return FoundBeforeGame::Words(at);
        }
        let before_tags = words_before_tags(line).map(|len| at + len);
        if let Some(end) = before_tags.filter(|end| text.get(*end..).is_some_and(has_roster)) {
            return FoundBeforeGame::Words(end);
        }
        if signs.are_in(line) {
            let is_quoted = line.trim_ascii_start().starts_with(b">");
            return if is_quoted {
                FoundBeforeGame::Quoted(at)
            } else {
                FoundBeforeGame::Game(at)
            };
        }
        let words = line.trim_ascii();
        let ends_other = line == b"\n" && text.get(..at).is_some_and(|text| text.ends_with(b"\r"));
        is_apart = words.is_empty() && (is_apart || !ends_other);
        has_marks_alone &= words.is_empty() || is_mark(words);
        at += line.len();
    }
    FoundBeforeGame::Words(text.len())
}

/// How long the words are that a line begins with, if tags alone follow them.
pub(super) fn words_before_tags(line: &[u8]) -> Option<usize> {
    let is_tag = |at: &usize| line.get(*at..).is_some_and(begins_tag_pair);
    let brackets = line.iter().enumerate();
    let brackets = brackets.filter(|(_, byte)| **byte == b'[');
    let at = brackets.map(|(at, _)| at).find(is_tag)?;
    let words = line.get(..at)?;
    let has_words = words.iter().any(u8::is_ascii_alphanumeric);
    let ends_with_tag = line.trim_ascii_end().ends_with(b"]");
    (has_words && ends_with_tag && !Signs::default().are_in(words)).then_some(at)
}

/// Whether one of the first lines of a text has a tag that each game has.
fn has_roster(text: &[u8]) -> bool {
    const MOST_LINES: usize = 64;
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let mut lines = lines.take(MOST_LINES).map(line_begin);
    lines.any(|line| line.starts_with(b"[") && roster_bit(line) != 0)
}

/// Whether a text that was read as a game without moves, or as null moves alone,
/// looks like none: `-- `, `***`, `* the first point`, `<pre>`.
pub(super) fn is_doubtful(text: &[u8], has_plies: bool) -> bool {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next();
    let line = line.unwrap_or_default().trim_ascii();
    if is_mark(line) {
        return true;
    }
    if line.starts_with(b"[") || line.iter().any(|byte| matches!(byte, b'{' | b';')) {
        return false;
    }
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let has_letters = line.iter().any(u8::is_ascii_alphabetic);
    (line != b"*" && !line.iter().any(is_of_word)) || (!has_plies && has_letters)
}

/// Whether a line that begins with a result is words: `***`, `* the first point`.
pub(in crate::pgn) fn are_words(text: &[u8]) -> bool {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next();
    let has_signs = line.is_some_and(|line| Signs::default().are_in(line));
    !has_signs && is_doubtful(text, false)
}

/// Whether a line goes on with the words of the line before: it begins with a word
/// in small letters, and has no signs of a game.
pub(in crate::pgn) fn goes_on_with_words(line: &[u8]) -> bool {
    let words = line.split(u8::is_ascii_whitespace);
    let first = words.into_iter().find(|word| !word.is_empty());
    first.is_some_and(|first| {
        let is_small = first.first().is_some_and(u8::is_ascii_lowercase);
        is_small && !is_move(first) && !Signs::default().are_in(line)
    })
}

/// Whether a line is marks of HTML.
fn is_mark(line: &[u8]) -> bool {
    line.starts_with(b"<") && line.ends_with(b">")
}

/// Whether a line begins with the first move of a game.
pub(super) fn begins_moves(line: &[u8]) -> bool {
    line.starts_with(b"1.") && Signs::default().are_in(line)
}

/// Looks for signs of a game, line by line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs {
    before: Before,
}

/// What was read last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    /// `12`
    Number,
    /// `12.`, `12...`
    DottedNumber,
    Move,
    #[default]
    Other,
}

impl Signs {
    /// Whether a line, or it with those before it, has signs of a game. So it is
    /// of bytes that no text has.
    pub(super) fn are_in(&mut self, line: &[u8]) -> bool {
        if is_escaped(line) {
            return false;
        }
        let is_of_text = |byte: &u8| !byte.is_ascii_control() || b"\t\r\n\x0c\x1a".contains(byte);
        if !line.iter().all(is_of_text) {
            return true;
        }
        let is_of_quotation = |byte: &u8| byte.is_ascii_whitespace() || b">|:".contains(byte);
        let marks = line.iter().take_while(|byte| is_of_quotation(byte)).count();
        let unquoted = line_begin(line.get(marks..).unwrap_or_default());
        let tag_at =
            |(at, byte): (usize, &u8)| *byte == b'[' && line.get(at..).is_some_and(begins_tag_pair);
        let parts = |brace| line.split(|byte| *byte == brace).count();
        unquoted.starts_with(b"{")
            || parts(b'{') != parts(b'}')
            || (unquoted.starts_with(b"[") && unquoted.contains(&b'"'))
            || begins_loose_tag(unquoted)
            || lacks_bracket(unquoted.trim_ascii())
            || line.iter().enumerate().any(tag_at)
            || self.have_moves(line)
    }

    fn have_moves(&mut self, line: &[u8]) -> bool {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"(){}<>\"*|".contains(byte);
        let words = line.split(is_between).filter(|word| !word.is_empty());
        words.into_iter().any(|word| self.is_move(word))
    }

    /// Whether a word is a move behind a number or another move.
    fn is_move(&mut self, word: &[u8]) -> bool {
        let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, after) = word.split_at(digits);
        let rest = without_dots(after);
        let has_dots = rest.len() < after.len();
        let is_dots = digits == 0 && has_dots && rest.is_empty();
        if is_dots && matches!(self.before, Before::Number | Before::DottedNumber) {
            self.before = Before::DottedNumber;
            return false;
        }
        let word = if has_dots { rest } else { word };
        let is_numbered = (1..=3).contains(&number.len()) && has_dots;
        let may_follow = self.before == Before::DottedNumber && may_be_move(word);
        if may_follow || (is_numbered && may_be_move(rest)) {
            return true;
        }
        let is_move = is_move(word);
        if is_move && self.before != Before::Other {
            return true;
        }
        self.before = match rest {
            _ if is_move => Before::Move,
            [] if is_numbered => Before::DottedNumber,
            [] if (1..=3).contains(&number.len()) => Before::Number,
            _ => Before::Other,
        };
        false
    }
}

/// What follows the dots of a move number.
pub(in crate::pgn) fn without_dots(word: &[u8]) -> &[u8] {
    let mut rest = word;
    loop {
        rest = match rest {
            // The last one is an ellipsis.
            [b'.' | b')', after @ ..] | [0xe2, 0x80, 0xa6, after @ ..] => after,
            _ => return rest,
        };
    }
}

/// Whether a word is a move as all notations of pieces and squares write it.
pub(in crate::pgn) fn is_move(word: &[u8]) -> bool {
    let word = without_signs(word);
    if is_castling(word) {
        return true;
    }
    let first = word.iter().take_while(|byte| !byte.is_ascii()).count();
    let first = if first == 0 {
        usize::from(word.first().is_some_and(u8::is_ascii_uppercase))
    } else {
        first
    };
    let squares = word.get(first..).unwrap_or_default();
    let squares = match squares {
        [squares @ .., b'=', b'A'..=b'Z']
        | [squares @ .., b'A'..=b'Z' | b'q' | b'r' | b'n']
        | squares => squares,
    };
    let in_capitals = word.iter().all(|byte| !byte.is_ascii_lowercase());
    let squares = if in_capitals { word } else { squares };
    let is_of_square = |byte: &u8| match byte.to_ascii_lowercase() {
        b'a'..=b'h' => in_capitals || byte.is_ascii_lowercase(),
        b'1'..=b'8' | b'x' | b':' | b'-' => true,
        b'k' | b'q' | b'r' | b'n' => in_capitals,
        _ => false,
    };
    let has_square = squares.windows(2).any(|pair| {
        matches!(pair, [file, b'1'..=b'8'] if matches!(file.to_ascii_lowercase(), b'a'..=b'h'))
    });
    word.len() <= MOVE_BYTES && has_square && squares.iter().all(is_of_square)
}

/// Whether a word that a number stands before may be a move, in whatever notation
/// and with whatever damage.
fn may_be_move(word: &[u8]) -> bool {
    let word = without_signs(word);
    if word.len() > MOVE_BYTES {
        return false;
    }
    let begins_like_one = word.first().is_some_and(|byte| !byte.is_ascii_digit());
    let has_square = word.windows(2).any(|pair| {
        matches!(pair, [letter, b'1'..=b'8'] if letter.is_ascii_alphabetic() || !letter.is_ascii())
    });
    let in_digits = word.len() == 4 && word.iter().all(|byte| matches!(byte, b'1'..=b'8'));
    let is_descriptive = word.iter().all(|byte| b"KQRBNPktx-/".contains(byte))
        && word.iter().any(|byte| matches!(byte, b'x' | b'-'));
    let files = match *word {
        [from, to] | [from, b'x' | b':', to] => [from, to].map(|file| file.to_ascii_lowercase()),
        _ => [0; 2],
    };
    let takes = files.iter().all(|file| matches!(file, b'a'..=b'h'));
    (begins_like_one && has_square)
        || in_digits
        || is_descriptive
        || (takes && files[0].abs_diff(files[1]) == 1)
        || is_castling(word)
        || matches!(word, b"--" | b"Z0" | b"@@@@")
}

fn is_castling(word: &[u8]) -> bool {
    let mut parts = word.split(|byte| *byte == b'-');
    let count = parts.clone().count();
    // "0-0" without a number may be a result.
    (2..=3).contains(&count) && parts.all(|part| matches!(part, b"O" | b"o" | b"0"))
}

/// A word without what may follow a move.
fn without_signs(word: &[u8]) -> &[u8] {
    let is_sign = |byte: &u8| b"+#!?,;.:=".contains(byte);
    let len = word.iter().rposition(|byte| !is_sign(byte));
    let len = len.map_or(0, |last| last + 1);
    word.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_signs_of_a_game_is_no_game() {
        for text in [
            "From: a@b.example\nDate: Mon, 11 May 1998 10:12:33 +0200\nMessage-ID: <3.0.1.32@x>\n",
            "In 1999 he won 3. prize, on 24.02.2004 in round 5.2 and 11.1.1886 too.",
            "1. Kasparov 9.5\n2. Anand 8\n3. b) Karpov\n",
            "-- \nJohn Smith\n",
            "Page 12\n\n- 13 -\n* * *\n",
            "He likes e4 and Nf3 best.\n> Dear Bob, I won 1-0.\n",
            "% 1. e4 e5\n",
        ] {
            assert_eq!(
                look(text.as_bytes()),
                FoundBeforeGame::Words(text.len()),
                "{text}"
            );
        }
    }

    #[test]
    fn signs_of_a_game_are_no_text() {
        for text in [
            "Hello [Event \"x\"] you",
            "foo 12... Nf3 [Event \"x\"]",
            "is bad} [Event \"x\"]",
            "[White Carlsen]",
            "[Event: x]",
            "Event \"x\"]",
            "1. e4",
            "1.e4 foo",
            "foo 12... Nf3",
            "12 ... Nf3",
            "1.\ne4",
            "1) e4",
            "1. O-O-O!",
            "14. 0-0",
            "1. ed",
            "1. 5254",
            "1. P-K4",
            "4. BxN",
            "1. \u{435}4",
            "1\u{2026} e5",
            "1 e4",
            "e4 e5 foo",
            "e4\ne5\nfoo",
            "E2E4 E7E5",
            "\u{2658}f3 Nf6",
            "3. --",
            "PK\u{3}\u{4}",
            "[\"A\"]",
            "{a note}",
            "is bad} *",
        ] {
            let found = look(text.as_bytes());
            assert!(matches!(found, FoundBeforeGame::Game(_)), "{text}");
        }
        assert_eq!(look(b"Bob:\n> [Event \"x\"]"), FoundBeforeGame::Quoted(5));
        assert_eq!(look(b"Bob:\n>> 1. e4 e5"), FoundBeforeGame::Quoted(5));
    }

    #[test]
    fn text_ends_where_moves_or_tags_begin() {
        assert_eq!(look(b"Hello\n\n1. e4 *"), FoundBeforeGame::Words(7));
        assert_eq!(look(b"Hello\r\n\r\n1. e4 *"), FoundBeforeGame::Words(9));
        assert_eq!(look(b"Hello\n1. e4 *"), FoundBeforeGame::Game(6));
        assert_eq!(look(b"Hello\r\n1. e4 *"), FoundBeforeGame::Game(7));
        assert_eq!(look(b"<pre>\n[FEN \"x\"]"), FoundBeforeGame::Words(6));
        let style = b"<style>\np\n</style>[Annotator \"x\"]\n[FEN \"x\"]";
        assert_eq!(look(style), FoundBeforeGame::Game(10));
        let style = b"<p><style>a</style>[Annotator \"x\"]\n[Event \"x\"]";
        assert_eq!(look(style), FoundBeforeGame::Words(19));
        assert_eq!(look(b"Hello\n[FEN \"x\"]"), FoundBeforeGame::Game(6));
    }
}
