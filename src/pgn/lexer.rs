//! Text into tokens, each with its place.
//!
//! | token | text |
//! |---|---|
//! | tag pair | `[Name "value"]` on one line; `\"` and `\\` in the value |
//! | comment | `{…}` over any lines, `; …` to the end of the line |
//! | variation | `(` and `)` |
//! | number | `12.`, `12...`, `12`, `...` |
//! | NAG | `$14`, `!`, `?`, `!!`, `??`, `!?`, `?!` |
//! | result | `1-0`, `0-1`, `1/2-1/2`, `*`, and what programs write for them |
//! | word | anything else up to a blank or one of `(){}[];$!?*` |
//!
//! Blanks are blanks, line ends of any system, no-break spaces and byte order
//! marks. A line that begins with `%` is no part of the game. The text is
//! walked once; nothing recurses.

mod tag;

use std::borrow::Cow;

use encoding_rs::{Encoding, WINDOWS_1252};

use self::tag::TagLine;
use super::braces::{Braces, has_begin_of_game};
use super::error::{Error, quoted};
use super::place::{Place, characters};
use crate::game::GameResult;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Tag(TagPair<'t>),
    Comment(Cow<'t, str>),
    Open,
    Close,
    Number,
    Nag(u8),
    Result(GameResult),
    Word(&'t [u8]),
    End,
}

/// A tag pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagPair<'t> {
    pub(super) name: &'t str,
    pub(super) value: Cow<'t, str>,
    /// Where the value begins.
    pub(super) place: Place,
}

/// Walks a text.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'t> {
    text: &'t [u8],
    here: Place,
    braces: Braces,
    tag_line: TagLine,
    /// The page of what is no UTF-8.
    page: &'static Encoding,
}

impl<'t> Lexer<'t> {
    /// Begins at the start of `text`, whose first line is counted as `line`.
    /// The mark that old systems end their files with is no part of it.
    pub(super) fn from_line(text: &'t [u8], line: usize) -> Lexer<'t> {
        let text = text.trim_ascii_end();
        Lexer {
            text: text.strip_suffix(b"\x1a").unwrap_or(text),
            here: Place {
                line,
                ..Place::START
            },
            braces: Braces::default(),
            tag_line: TagLine::default(),
            page: WINDOWS_1252,
        }
    }

    /// The same, where what is no UTF-8 is in a page.
    pub(super) fn in_page(self, page: &'static Encoding) -> Lexer<'t> {
        Lexer { page, ..self }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The place that is read next.
    pub(super) fn here(&self) -> Place {
        self.here
    }

    /// Reads on from a place.
    pub(super) fn go_to(&mut self, place: Place) {
        self.here = place;
    }

    /// Whether a comment follows.
    pub(super) fn is_at_comment(&self) -> bool {
        let next = self.byte(self.after_blanks().offset);
        next.is_some_and(|byte| matches!(byte, b'{' | b';'))
    }

    /// How far the text was read.
    pub(super) fn offset(&self) -> usize {
        self.here.offset
    }

    /// The next token and where it begins.
    ///
    /// # Errors
    ///
    /// What is no token.
    pub(super) fn next(&mut self) -> Result<(Place, Token<'t>), Error> {
        self.skip_blanks();
        let place = self.here;
        let Some(first) = self.byte(place.offset) else {
            return Ok((place, Token::End));
        };
        let token = match first {
            b'[' => self.tag()?,
            b'{' => self.comment()?,
            b';' => self.line_comment()?,
            b'(' => self.sign(Token::Open),
            b')' => self.sign(Token::Close),
            b'*' => self.sign(Token::Result(GameResult::Line)),
            b'$' => self.nag()?,
            b'!' | b'?' => self.glyph()?,
            b'0'..=b'9' | b'.' => self.number_or_word(),
            b'}' | b']' => {
                let found = format!("a {} that closes nothing", quoted(&[first]));
                return Err(self.error(place, found, "a move, a comment or the result"));
            }
            byte if is_control(byte) => return Err(self.control(byte)),
            _ => self.word(),
        };
        Ok((place, token))
    }

    /// Whether nothing but blanks follows.
    pub(super) fn is_at_text_end(&self) -> bool {
        self.byte(self.after_blanks().offset).is_none()
    }

    /// Goes to the begin of the next token.
    pub(super) fn skip_blanks(&mut self) {
        self.here = self.after_blanks();
    }

    /// Goes to the next game, from where on columns are counted.
    pub(super) fn begin_game(&mut self) {
        self.here = self.after_blanks().with_column(self.text);
    }

    /// Whether what was read last can be the end of a game: the text ends
    /// here, or tag pairs follow.
    pub(super) fn is_at_game_end(&self) -> bool {
        let next = self.byte(self.after_blanks().offset);
        next.is_none_or(|byte| byte == b'[')
    }

    /// An error at a place of the text.
    pub(super) fn error(&self, place: Place, found: String, expected: &'static str) -> Error {
        Error::new(self.text, place, found, expected)
    }

    /// Something else is expected here.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        let rest = self.slice(self.here.offset, self.text.len());
        let found = match rest.get(..line_len(rest).min(16)).unwrap_or_default() {
            [] => "nothing more".to_owned(),
            begin => quoted(begin),
        };
        self.error(self.here, found, expected)
    }

    fn byte(&self, offset: usize) -> Option<u8> {
        self.text.get(offset).copied()
    }

    fn slice(&self, from: usize, to: usize) -> &'t [u8] {
        self.text.get(from..to).unwrap_or_default()
    }

    /// The place after blanks and escaped lines.
    fn after_blanks(&self) -> Place {
        let mut place = self.here;
        while let Some(byte) = self.byte(place.offset) {
            let rest = self.slice(place.offset, self.text.len());
            let len = if byte == b'%' && place.offset == place.line_start {
                line_len(rest)
            } else {
                blank_len(rest)
            };
            if len == 0 {
                break;
            }
            for _ in 0..len {
                place = self.after_byte(place);
            }
        }
        place
    }

    /// The place after one byte: a line ends with LF, CR LF or CR.
    fn after_byte(&self, place: Place) -> Place {
        let offset = place.offset + 1;
        let ends_line = match self.byte(place.offset) {
            Some(b'\n') => true,
            Some(b'\r') => self.byte(offset) != Some(b'\n'),
            _ => false,
        };
        if ends_line {
            place.next_line(offset)
        } else {
            Place { offset, ..place }
        }
    }

    /// Goes to `end`, where what stands between must be text.
    fn walk_to(&mut self, end: usize) -> Result<(), Error> {
        while self.here.offset < end {
            match self.byte(self.here.offset) {
                Some(byte) if is_control(byte) => return Err(self.control(byte)),
                _ => self.here = self.after_byte(self.here),
            }
        }
        Ok(())
    }

    #[cold]
    fn control(&self, byte: u8) -> Error {
        self.error(
            self.here,
            format!("the control character {byte:#04x}"),
            "text",
        )
    }

    fn sign(&mut self, token: Token<'t>) -> Token<'t> {
        self.here.offset += 1;
        token
    }

    fn comment(&mut self) -> Result<Token<'t>, Error> {
        let open = self.here;
        let inside = open.offset + 1;
        let rest = self.slice(inside, self.text.len());
        let Some(len) = rest.iter().position(|&byte| byte == b'}') else {
            return Err(self.endless_comment(open));
        };
        let mut end = inside + len;
        if self.slice(inside, end).contains(&b'{') {
            end = self.braces.matching(self.text, open.offset).unwrap_or(end);
        }
        if has_begin_of_game(self.slice(inside, end)) {
            return Err(self.endless_comment(open));
        }
        self.walk_to(end + 1)?;
        Ok(Token::Comment(characters(
            self.slice(inside, end),
            self.page,
        )))
    }

    #[cold]
    fn endless_comment(&self, open: Place) -> Error {
        let found = "a comment without end".to_owned();
        self.error(open, found, "} before the next game")
    }

    fn line_comment(&mut self) -> Result<Token<'t>, Error> {
        let inside = self.here.offset + 1;
        let end = inside + line_len(self.slice(inside, self.text.len()));
        self.walk_to(end)?;
        Ok(Token::Comment(characters(
            self.slice(inside, end),
            self.page,
        )))
    }

    /// `$` and a number up to 255.
    fn nag(&mut self) -> Result<Token<'t>, Error> {
        let begin = self.here.offset;
        let digits = digits_len(self.slice(begin + 1, self.text.len()));
        let end = begin + 1 + digits;
        let number = std::str::from_utf8(self.slice(begin + 1, end)).unwrap_or_default();
        let Ok(nag) = number.parse() else {
            let found = format!("{} is not a NAG", quoted(self.slice(begin, end)));
            return Err(self.error(self.here, found, "a number from $0 to $255"));
        };
        self.here.offset = end;
        Ok(Token::Nag(nag))
    }

    fn glyph(&mut self) -> Result<Token<'t>, Error> {
        let begin = self.here.offset;
        let rest = self.slice(begin, self.text.len());
        let is_glyph = |byte: &&u8| matches!(byte, b'!' | b'?');
        let end = begin + rest.iter().take_while(is_glyph).count();
        let glyph = self.slice(begin, end);
        let nag = match glyph {
            b"!" => 1,
            b"?" => 2,
            b"!!" => 3,
            b"??" => 4,
            b"!?" => 5,
            b"?!" => 6,
            _ => {
                let found = format!("{} is not a mark", quoted(glyph));
                return Err(self.error(self.here, found, "one of ! ? !! ?? !? ?!"));
            }
        };
        self.here.offset = end;
        Ok(Token::Nag(nag))
    }

    /// A move number with its dots, if any; else a word that begins with a
    /// digit: a result, castling in zeros, the null move `0000`.
    fn number_or_word(&mut self) -> Token<'t> {
        let begin = self.here.offset;
        let digits = begin + digits_len(self.slice(begin, self.text.len()));
        let rest = self.slice(digits, self.text.len());
        let dots = rest.iter().take_while(|&&byte| byte == b'.').count();
        let is_null = self.slice(begin, digits) == b"0000";
        if dots > 0 || (!is_null && self.word_end(begin) == digits) {
            self.here.offset = digits + dots;
            return Token::Number;
        }
        self.word()
    }

    fn word(&mut self) -> Token<'t> {
        let begin = self.here.offset;
        let end = self.word_end(begin).max(begin + 1);
        self.here.offset = end;
        let word = self.slice(begin, end);
        result(word).map_or(Token::Word(word), Token::Result)
    }

    /// Where the word that begins at `begin` ends. A promotion in
    /// parentheses, `e8(Q)`, is a part of it.
    fn word_end(&self, begin: usize) -> usize {
        let mut at = begin;
        loop {
            match self.slice(at, self.text.len()) {
                [b'(', role, b')', ..]
                    if b"QRBNqrbn".contains(role)
                        && matches!(self.slice(begin, at).last(), Some(b'1' | b'8')) =>
                {
                    at += 3;
                }
                [] | [0xc2, 0xa0, ..] => return at,
                [0xa0, ..] if self.slice(begin, at).last().is_none_or(u8::is_ascii) => return at,
                [byte, ..] if ends_word(*byte) => return at,
                _ => at += 1,
            }
        }
    }
}

/// The results as PGN writes them, and as other programs do.
pub(super) fn result(word: &[u8]) -> Option<GameResult> {
    Some(match word {
        b"1-0" => GameResult::WhiteWon,
        b"0-1" => GameResult::BlackWon,
        b"1/2-1/2" | b"1/2" => GameResult::Draw,
        b"+:-" => GameResult::WhiteWonByForfeit,
        b"-:+" => GameResult::BlackWonByForfeit,
        b"=:=" => GameResult::DrawByForfeit,
        b"Line" => GameResult::Line,
        _ => return None,
    })
}

/// Bytes that the line has before it ends.
fn line_len(rest: &[u8]) -> usize {
    let is_end = |&byte: &u8| byte == b'\n' || byte == b'\r';
    rest.iter().position(is_end).unwrap_or(rest.len())
}

fn digits_len(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Bytes of the blank that `rest` begins with, 0 if it begins with none.
fn blank_len(rest: &[u8]) -> usize {
    match rest {
        [byte, ..] if is_blank(*byte) => 1,
        [0xc2, 0xa0, ..] => 2,
        [0xef, 0xbb, 0xbf, ..] => 3,
        // A no-break space of Windows-1252.
        [0xa0, ..] => 1,
        _ => 0,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !is_blank(byte)
}

fn ends_word(byte: u8) -> bool {
    is_blank(byte) || is_control(byte) || b"(){}[];$!?*".contains(&byte)
}
