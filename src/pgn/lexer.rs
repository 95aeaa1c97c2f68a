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

mod behind;
mod plain;
mod tag;

use std::borrow::Cow;
use std::ops::Range;

pub(super) use self::plain::{PlainMove, plain_tag_parts};
use self::tag::TagLine;
use super::braces::{Braces, has_begin_of_game, has_moves_between};
use super::error::{Error, quoted};
use super::lenient::{LONGEST_RESULT, Liberty, TakenLiberties, loose_result};
use super::numbers::MoveNumber;
use super::page::EightBitPage;
use super::place::{TextPlace, characters, doubtful};
use super::stream::InPage;
use crate::game::GameResult;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Tag(TagPair<'t>),
    Comment(Cow<'t, str>),
    Open,
    Close,
    Number(MoveNumber),
    Nag(u8),
    Result(GameResult),
    Word(Cow<'t, [u8]>),
    End,
}

/// A tag pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagPair<'t> {
    pub(super) name: &'t str,
    pub(super) value: Cow<'t, str>,
    /// Where the value begins.
    pub(super) place: TextPlace,
}

/// Walks a text.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'t> {
    text: &'t [u8],
    here: TextPlace,
    braces: Braces,
    tag_line: TagLine,
    /// The page of what is no UTF-8.
    page: EightBitPage,
    /// Whether tokens may be of another form than PGN has them, and what was.
    is_free: bool,
    taken: TakenLiberties,
    /// Where no `>` stands: a line of many `<` is searched once.
    no_angle_in: Range<usize>,
}

impl<'t> Lexer<'t> {
    /// Begins at the start of `text`, whose first line is counted as `line`.
    /// The mark that old systems end their files with is no part of it.
    pub(super) fn from_line(text: &'t [u8], line: usize) -> Lexer<'t> {
        let text = text.trim_ascii_end();
        Lexer {
            text: text.strip_suffix(b"\x1a").unwrap_or(text),
            here: TextPlace {
                line,
                ..TextPlace::START
            },
            braces: Braces::default(),
            tag_line: TagLine::default(),
            page: EightBitPage::WESTERN,
            is_free: false,
            taken: TakenLiberties::default(),
            no_angle_in: 0..0,
        }
    }

    /// The same for texts that are not PGN in all.
    pub(super) fn freely(self) -> Lexer<'t> {
        Lexer {
            is_free: true,
            ..self
        }
    }

    /// Returns and clears the liberties that were taken.
    pub(super) fn taken(&mut self) -> TakenLiberties {
        std::mem::take(&mut self.taken)
    }

    /// Takes note of a token of another form, which begins here.
    fn accept(&mut self, liberty: Liberty) {
        self.taken.note(liberty, self.here);
    }

    /// An error at the first byte up to `end` that is no character of the page, or
    /// unlikely to be one.
    pub(super) fn doubtful_byte(&self, end: usize, page: InPage) -> Option<Error> {
        let text = self.slice(self.here.offset, end);
        let (at, found) = doubtful(text, page)?;
        let mut lexer = self.clone();
        lexer.go_on_to(self.here.offset + at);
        let place = lexer.here;
        let expected = "UTF-8, or the page that `cbfs import --pgn-codepage` names";
        Some(self.error(place, found, expected))
    }

    /// The same, where what is no UTF-8 is in a page.
    pub(super) fn in_page(self, page: EightBitPage) -> Lexer<'t> {
        Lexer { page, ..self }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'t [u8] {
        self.text
    }

    /// The place that is read next.
    pub(super) fn here(&self) -> TextPlace {
        self.here
    }

    /// Reads on from a place.
    #[inline]
    pub(super) fn go_to(&mut self, place: TextPlace) {
        self.here = place;
    }

    /// Goes on to an offset of the text.
    pub(super) fn go_on_to(&mut self, offset: usize) {
        while self.here.offset < offset {
            self.here = self.after_byte(self.here);
        }
    }

    /// How far the text was read.
    pub(super) fn offset(&self) -> usize {
        self.here.offset
    }

    /// The next token and where it begins.
    ///
    /// # Errors
    ///
    /// If the text is no token.
    pub(super) fn next(&mut self) -> Result<(TextPlace, Token<'t>), Error> {
        self.skip_blanks();
        let place = self.here;
        let Some(first) = self.byte(place.offset) else {
            return Ok((place, Token::End));
        };
        let token = match first {
            b'[' => self.tag()?,
            b'{' => self.comment()?,
            b';' => self.line_comment()?,
            b'(' if self.is_free => self.open_or_mark(),
            b'(' => self.sign(Token::Open),
            b')' => self.sign(Token::Close),
            b'*' => self.sign(Token::Result(GameResult::Line)),
            b'$' => self.nag()?,
            b'!' | b'?' => self.glyph()?,
            _ if self.is_free
                && lettered_number_len(self.slice(place.offset, self.text.len())) > 0 =>
            {
                self.lettered_number()
            }
            b'0'..=b'9' | b'.' => self.number_or_word(),
            b'<' if self.is_free => self.angles(),
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

    /// Whether nothing but blanks and control characters follows, as some
    /// systems fill files up with.
    pub(super) fn is_at_nothing(&self) -> bool {
        match self.byte(self.after_blanks().offset) {
            None => true,
            Some(byte) if is_control(byte) => {
                let rest = self.slice(self.here.offset, self.text.len());
                rest.iter().all(|byte| is_blank(*byte) || is_control(*byte))
            }
            Some(_) => false,
        }
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
    pub(super) fn error(&self, place: TextPlace, found: String, expected: &'static str) -> Error {
        Error::new(self.text, place, found, expected)
    }

    /// Something else is expected here.
    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        let rest = self.slice(self.here.offset, self.text.len());
        let rest = rest.get(..rest.len().min(16)).unwrap_or_default();
        let found = match rest.get(..line_len(rest)).unwrap_or_default() {
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

    /// Whether nothing stands between a place and the empty line before it.
    pub(super) fn is_behind_empty_line(&self, place: TextPlace) -> bool {
        let before = self.slice(0, place.offset);
        let blanks = before.get(before.trim_ascii_end().len()..);
        let blanks = blanks.unwrap_or_default();
        let ends = |end: u8| memchr::memchr_iter(end, blanks).count();
        ends(b'\n').max(ends(b'\r')) > 1
    }

    /// The place after blanks and escaped lines.
    fn after_blanks(&self) -> TextPlace {
        let mut place = self.here;
        while let Some(byte) = self.byte(place.offset) {
            if byte == b' ' {
                place.offset += 1;
                continue;
            }
            let is_bracket = self.is_free && byte == b'[';
            if is_plain(byte) && byte != b'%' && !is_bracket {
                break;
            }
            let rest = self.slice(place.offset, self.text.len());
            let len = if byte == b'%' && self.is_at_line(place) {
                line_len(rest)
            } else if self.has_ellipsis(place.offset) {
                1
            } else {
                self.blank_len(rest)
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

    /// Whether nothing stands before a place in its line, but for the mark that some
    /// texts begin with.
    fn is_at_line(&self, place: TextPlace) -> bool {
        without_mark(self.slice(place.line_start, place.offset)).is_empty()
    }

    fn blank_len(&self, rest: &[u8]) -> usize {
        match rest {
            [byte, ..] if self.is_free && is_control(*byte) => 1,
            rest if self.is_free && is_wide_blank(rest) => 3,
            [b'[', ..] => wrapper_len(rest),
            rest => blank_len(rest),
        }
    }

    /// The place after one byte: a line ends with LF, CR LF or CR.
    fn after_byte(&self, place: TextPlace) -> TextPlace {
        let offset = place.offset + 1;
        let ends_line = match self.byte(place.offset) {
            Some(b'\n') => true,
            Some(b'\r') => self.byte(offset) != Some(b'\n'),
            _ => false,
        };
        if ends_line {
            place.next_line(offset)
        } else {
            TextPlace { offset, ..place }
        }
    }

    /// Goes to `end`, where what stands between must be text.
    fn walk_to(&mut self, end: usize) -> Result<(), Error> {
        let rest = self.slice(self.here.offset, end);
        if rest.iter().all(|byte| is_plain(*byte)) {
            self.here.offset += rest.len();
            return Ok(());
        }
        while self.here.offset < end {
            match self.byte(self.here.offset) {
                Some(byte) if is_control(byte) && !self.is_free => return Err(self.control(byte)),
                _ => self.here = self.after_byte(self.here),
            }
        }
        Ok(())
    }

    /// The characters of a comment or value, which begins at a place.
    fn characters(&mut self, place: TextPlace, bytes: &'t [u8]) -> Cow<'t, str> {
        let text = characters(bytes, self.page);
        let is_control = |c: char| u8::try_from(c).is_ok_and(is_control);
        if self.is_free && text.contains(is_control) {
            self.taken.note(Liberty::Controls, place);
            return Cow::Owned(text.replace(is_control, " "));
        }
        text
    }

    /// The characters of a comment, which begins at a place. Control characters beyond
    /// ASCII, which come of a wrong conversion, are treated as those of ASCII: no remark
    /// shows them.
    fn remark(&mut self, place: TextPlace, bytes: &'t [u8]) -> Result<Cow<'t, str>, Error> {
        let text = self.characters(place, bytes);
        // It begins the characters from U+0080 to U+00BF.
        if !text.as_bytes().contains(&0xc2) {
            return Ok(text);
        }
        match text.chars().find(|c| is_high_control(*c)) {
            None => Ok(text),
            Some(found) if !self.is_free => {
                let found = format!("the control character U+{:04X}", u32::from(found));
                Err(self.error(place, found, "text"))
            }
            Some(_) => {
                self.taken.note(Liberty::Controls, place);
                Ok(Cow::Owned(text.replace(is_high_control, " ")))
            }
        }
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
            let matching = self.braces.matching(self.text, open.offset);
            let matching = matching.filter(|&at| !has_moves_between(self.slice(inside, at)));
            end = matching.unwrap_or(end);
        }
        if has_begin_of_game(self.slice(inside, end)) {
            return Err(self.endless_comment(open));
        }
        self.walk_to(end + 1)?;
        let inside = self.slice(inside, end);
        Ok(Token::Comment(self.remark(open, inside)?))
    }

    #[cold]
    fn endless_comment(&self, open: TextPlace) -> Error {
        let found = "a comment without end".to_owned();
        self.error(open, found, "} before the next game")
    }

    fn line_comment(&mut self) -> Result<Token<'t>, Error> {
        let open = self.here;
        let inside = open.offset + 1;
        let end = inside + line_len(self.slice(inside, self.text.len()));
        self.walk_to(end)?;
        let inside = self.slice(inside, end);
        Ok(Token::Comment(self.remark(open, inside)?))
    }

    /// `$` and a number up to 255.
    fn nag(&mut self) -> Result<Token<'t>, Error> {
        let begin = self.here.offset;
        let digits = digits_len(self.slice(begin + 1, self.text.len()));
        let end = begin + 1 + digits;
        let number = std::str::from_utf8(self.slice(begin + 1, end)).unwrap_or_default();
        let Ok(nag) = number.parse() else {
            if self.is_free {
                self.here.offset = end;
                return Ok(Token::Word(Cow::Borrowed(self.slice(begin, end))));
            }
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
            _ if self.is_free => {
                self.accept(Liberty::Marks);
                match (
                    glyph.first(),
                    glyph.iter().all(|byte| glyph.first() == Some(byte)),
                ) {
                    (Some(b'!'), true) => 3,
                    (_, true) => 4,
                    (Some(b'!'), false) => 5,
                    (_, false) => 6,
                }
            }
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
        if let Some((len, result)) = self.spaced_result() {
            self.accept(Liberty::ResultSpelling);
            self.here.offset += len;
            return Token::Result(result);
        }
        let word = self.slice(begin, self.word_end_within(begin, LONGEST_RESULT + 1));
        if self.is_free && loose_result(word).is_some() {
            return self.word();
        }
        let digits = begin + digits_len(self.slice(begin, self.text.len()));
        let (dots, dots_len) = self.dots(digits);
        let is_null = match self.slice(begin, digits) {
            b"0000" => true,
            // Castling.
            b"00" | b"000" => self.is_free,
            _ => false,
        };
        if dots > 0 || (!is_null && self.word_end_within(begin, digits - begin + 1) == digits) {
            self.here.offset = digits + dots_len;
            let number = std::str::from_utf8(self.slice(begin, digits));
            return Token::Number(MoveNumber {
                number: number.ok().and_then(|number| number.parse().ok()),
                dots,
            });
        }
        self.word()
    }

    /// A move number in which letters stand for digits, with its dots.
    #[cold]
    fn lettered_number(&mut self) -> Token<'t> {
        let begin = self.here.offset;
        self.accept(Liberty::NumberLetters);
        let end = begin + lettered_number_len(self.slice(begin, self.text.len()));
        let digits = self.slice(begin, end).iter().map(|byte| match byte {
            b'l' | b'I' | b'|' => '1',
            b'O' | b'o' => '0',
            digit => char::from(*digit),
        });
        let number = digits.collect::<String>().parse().ok();
        let (dots, dots_len) = self.dots(end);
        self.here.offset = end + dots_len;
        Token::Number(MoveNumber { number, dots })
    }

    /// How many dots stand at an offset, and in how many bytes.
    fn dots(&self, begin: usize) -> (usize, usize) {
        let (mut dots, mut at) = (0, begin);
        loop {
            match self.slice(at, self.text.len()) {
                [b'.', ..] => (dots, at) = (dots + 1, at + 1),
                [0xe2, 0x80, 0xa6, ..] if self.is_free => (dots, at) = (dots + 3, at + 3),
                [0x80..=0xff, ..] if self.has_ellipsis(at) => (dots, at) = (dots + 3, at + 1),
                _ => return (dots, at - begin),
            }
        }
    }

    /// Length and meaning of `1 - 0`.
    fn spaced_result(&self) -> Option<(usize, GameResult)> {
        if !self.is_free {
            return None;
        }
        let rest = self.slice(self.here.offset, self.text.len());
        let points = ["1/2", "0", "1"];
        let after = |rest: &'t [u8]| {
            let mut points = points.iter();
            points.find_map(|point| Some((*point, rest.strip_prefix(point.as_bytes())?)))
        };
        let spaces = |rest: &'t [u8]| {
            let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t');
            let len = rest.iter().take_while(is_space).count();
            rest.get(len..).unwrap_or_default()
        };
        let (white, behind) = after(rest)?;
        let behind = spaces(behind);
        let behind = behind
            .strip_prefix(b"-")
            .or_else(|| behind.strip_prefix(b":"))?;
        let (black, behind) = after(spaces(behind))?;
        if !behind.first().is_none_or(|byte| ends_word(*byte)) {
            return None;
        }
        let len = rest.len() - behind.len();
        let plain = format!("{white}-{black}");
        let is_plain = rest.get(..len) == Some(plain.as_bytes());
        result(plain.as_bytes())
            .filter(|_| !is_plain)
            .map(|result| (len, result))
    }

    /// `(ep)` and `(=)` are no variations.
    fn open_or_mark(&mut self) -> Token<'t> {
        let rest = self.slice(self.here.offset, self.text.len());
        let (len, token) = if rest.starts_with(b"(e.p.)") {
            (6, Token::Word(Cow::Borrowed(b"e.p.")))
        } else if rest.starts_with(b"(ep)") {
            (4, Token::Word(Cow::Borrowed(b"ep")))
        } else if rest.starts_with(b"(=)") {
            (3, Token::Comment(Cow::Borrowed("(=)")))
        } else {
            return self.sign(Token::Open);
        };
        self.accept(Liberty::MoveForm);
        self.here.offset += len;
        token
    }

    /// `<…>` on one line: a null move, or a remark.
    fn angles(&mut self) -> Token<'t> {
        let begin = self.here.offset + 1;
        if self.no_angle_in.contains(&begin) {
            return self.word();
        }
        let rest = self.slice(begin, self.text.len());
        let len = memchr::memchr3(b'>', b'\n', b'\r', rest).unwrap_or(rest.len());
        if rest.get(len) != Some(&b'>') {
            self.no_angle_in = begin..begin + len;
            return self.word();
        }
        let inside = self.slice(begin, begin + len);
        let open = self.here;
        self.accept(Liberty::Angles);
        self.here.offset = begin + len + 1;
        if inside.is_empty() || inside.eq_ignore_ascii_case(b"null") {
            return Token::Word(Cow::Borrowed(b"--"));
        }
        Token::Comment(self.characters(open, inside))
    }

    fn word(&mut self) -> Token<'t> {
        let begin = self.here.offset;
        let end = self.word_end(begin).max(begin + 1);
        self.here.offset = end;
        let word = self.slice(begin, end);
        if let Some(result) = result(word) {
            return Token::Result(result);
        }
        let is_in_page = self.is_free && std::str::from_utf8(word).is_err();
        Token::Word(if is_in_page {
            Cow::Owned(self.page.decode(word).into_bytes())
        } else {
            Cow::Borrowed(word)
        })
    }

    /// Where the word that begins at `begin` ends. A promotion in
    /// parentheses, `e8(Q)`, is a part of it.
    fn word_end(&self, begin: usize) -> usize {
        self.word_end_within(begin, self.text.len())
    }

    /// As [`word_end`](Lexer::word_end), or behind `most` bytes if it is longer.
    fn word_end_within(&self, begin: usize, most: usize) -> usize {
        let mut at = begin;
        while at - begin < most {
            match self.slice(at, self.text.len()) {
                [b'(', piece @ ..] if self.may_promote(self.slice(begin, at)) => {
                    let len = self.piece_in_parentheses(piece);
                    if len == 0 {
                        return at;
                    }
                    at += 1 + len;
                }
                [] | [0xc2, 0xa0, ..] => return at,
                rest if self.is_free && is_wide_blank(rest) => return at,
                [0xa0, ..] if self.is_behind_ascii(begin, at) => return at,
                [0x80..=0xff, ..] if self.is_behind_ascii(begin, at) && self.has_ellipsis(at) => {
                    return at;
                }
                [byte, ..] if ends_word(*byte) => return at,
                _ => at += 1,
            }
        }
        at
    }

    /// Whether a pawn may have become a piece at the end of a word. Where words are read
    /// freely, others have signs in parentheses there, `Rd8(D)`, `0-1(T)`.
    fn may_promote(&self, word: &[u8]) -> bool {
        if !self.is_free {
            return matches!(word.last(), Some(b'1' | b'8'));
        }
        let pawn = word.strip_suffix(b"=").unwrap_or(word);
        let is_of_squares =
            |byte: &u8| matches!(byte, b'a'..=b'h' | b'1'..=b'8' | b'x' | b':' | b'-');
        matches!(pawn, [b'a'..=b'h', .., b'1' | b'8']) && pawn.iter().all(is_of_squares)
    }

    /// Bytes of a piece and the parenthesis behind it that a text begins with; 0 if it
    /// begins with none.
    fn piece_in_parentheses(&self, rest: &[u8]) -> usize {
        /// A character of UTF-8 has no more bytes.
        const MOST_BYTES: usize = 4;
        let end = rest.iter().take(MOST_BYTES + 1).position(|&b| b == b')');
        let piece = end.and_then(|end| rest.get(..end)).unwrap_or_default();
        let is_piece = match piece {
            [letter] if b"QRBNqrbn".contains(letter) => true,
            // Letters of other languages, also in a page.
            [letter] => self.is_free && (letter.is_ascii_uppercase() || !letter.is_ascii()),
            _ => {
                let one = std::str::from_utf8(piece).is_ok_and(|one| one.chars().count() == 1);
                self.is_free && one
            }
        };
        if is_piece { piece.len() + 1 } else { 0 }
    }

    /// Whether `at` is not within a character of UTF-8 that began at `begin` or behind.
    fn is_behind_ascii(&self, begin: usize, at: usize) -> bool {
        self.slice(begin, at).last().is_none_or(u8::is_ascii)
    }

    /// Whether a character begins at `at` that is three dots in the page of the text.
    fn has_ellipsis(&self, at: usize) -> bool {
        let is_one = |byte: u8| self.page.decode(&[byte]) == "\u{2026}";
        match self.slice(at, self.text.len()) {
            // A character of UTF-8.
            [0xc2..=0xf4, 0x80..0xc0, ..] => false,
            [byte @ 0x80..=0xff, ..] => self.is_free && is_one(*byte),
            _ => false,
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

/// How long a move number is that has letters for digits, `l.`, `1O.`; 0 if none
/// begins here.
fn lettered_number_len(rest: &[u8]) -> usize {
    const MOST_DIGITS: usize = 3;
    let is_of_number = |byte: &&u8| byte.is_ascii_digit() || b"lI|Oo".contains(byte);
    let len = rest.iter().take_while(is_of_number).count();
    let (number, behind) = rest.split_at_checked(len).unwrap_or_default();
    let has_letters = number.iter().any(|byte| !byte.is_ascii_digit());
    let begins = number
        .first()
        .is_some_and(|byte| b"lI|123456789".contains(byte));
    let is_number = has_letters && begins && len <= MOST_DIGITS && behind.first() == Some(&b'.');
    if is_number { len } else { 0 }
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

/// The length of `[pgn]` or `[/pgn]`, which forums have around games, if one of them
/// stands here.
fn wrapper_len(rest: &[u8]) -> usize {
    const WRAPPERS: [&[u8]; 2] = [b"[pgn]", b"[/pgn]"];
    let mut lens = WRAPPERS.into_iter().filter_map(|wrapper| {
        let begin = rest.get(..wrapper.len())?;
        begin.eq_ignore_ascii_case(wrapper).then_some(wrapper.len())
    });
    lens.next().unwrap_or(0)
}

/// Whether a text begins with `…`, a blank of another width or none, or with a
/// mark of direction, in three bytes of UTF-8.
fn is_wide_blank(rest: &[u8]) -> bool {
    matches!(
        rest,
        [0xe2, 0x80, 0x80..=0x8f | 0xa6 | 0xaa..=0xaf, ..]
            | [0xe2, 0x81, 0x9f | 0xa0, ..]
            | [0xe3, 0x80, 0x80, ..]
            | [0xef, 0xbb, 0xbf, ..]
    )
}

/// A line without the mark that some texts begin with.
pub(super) fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// A line without the blanks, marks and control characters that it begins with,
/// as they stand where files were joined.
pub(super) fn line_begin(line: &[u8]) -> &[u8] {
    let mut rest = line;
    loop {
        let len = match rest {
            [byte, ..] if is_control(*byte) => 1,
            rest if is_wide_blank(rest) => 3,
            rest => blank_len(rest),
        };
        match rest.get(len..) {
            Some(after) if len > 0 => rest = after,
            _ => return rest,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && !is_blank(byte)
}

/// Whether a character beyond ASCII is a control character, but for the line break.
fn is_high_control(c: char) -> bool {
    c.is_control() && !c.is_ascii() && !c.is_whitespace()
}

/// Whether a byte is a space or sign of ASCII, which ends no line.
pub(super) const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

fn ends_word(byte: u8) -> bool {
    is_blank(byte) || is_control(byte) || b"(){}[];$!?*".contains(&byte)
}
