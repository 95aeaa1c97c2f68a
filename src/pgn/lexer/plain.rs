//! Moves and tag pairs as nearly all texts have them: `12. Nf3`, `Nf6`, found
//! without making tokens of each sign, and `[White "Carlsen, M"]`. What is written
//! in any other way is left to the tokens, and so is all that may be wrong.

use std::borrow::Cow;

use super::{Lexer, MoveNumber, TagPair, is_plain};
use crate::pgn::place::{LinePlace, TextPlace};

/// A move that may be plain, see [`Lexer::plain_move`].
#[derive(Clone, Copy, Debug)]
pub(in crate::pgn) struct PlainMove<'t> {
    /// The number in front of it.
    pub(in crate::pgn) number: Option<MoveNumber>,
    /// Squares, letters of pieces and signs; the begin is no digit.
    pub(in crate::pgn) word: &'t [u8],
    /// Where the word ends.
    pub(in crate::pgn) end: LinePlace,
}

/// Longer numbers are none of moves.
const MOST_DIGITS: usize = 4;

impl<'t> Lexer<'t> {
    /// The move that is read next at a place, if it stands there plainly.
    #[inline]
    pub(in crate::pgn) fn plain_move(&self, place: LinePlace) -> Option<PlainMove<'t>> {
        let place = self.after_plain_blanks(place)?;
        let (number, mut place) = self.plain_number(place)?;
        let rest = self.text.get(place.offset..)?;
        let len = rest.iter().take_while(|byte| is_of(&OF_MOVES, **byte));
        let len = len.count();
        let (word, behind) = rest.split_at_checked(len)?;
        let is_word = word.first().is_some_and(|first| !first.is_ascii_digit());
        let ends = matches!(
            behind.first()?,
            b' ' | b'\n' | b'\r' | b')' | b'{' | b'!' | b'?' | b'$'
        );
        place.offset += len;
        (is_word && ends).then_some(PlainMove {
            number,
            word,
            end: place,
        })
    }

    /// The next tag pair and where it begins, if it is [plain](plain_tag_parts);
    /// otherwise nothing is read.
    #[inline]
    pub(in crate::pgn) fn plain_tag(&mut self) -> Option<(TextPlace, TagPair<'t>)> {
        let begin = self
            .here
            .at(self.after_plain_blanks(self.here.line_place())?);
        let mut place = begin;
        let text = self.text.get(place.offset..)?;
        let (name, value) = plain_tag_parts(text)?;
        let value_at = 1 + name.len() + 2;
        let value_end = value_at + value.len();
        let pair = std::str::from_utf8(text.get(..value_end)?).ok()?;
        place.offset += value_at;
        let pair = TagPair {
            name: pair.get(1..=name.len())?,
            value: Cow::Borrowed(pair.get(value_at..)?),
            place,
        };
        self.here = begin;
        self.here.offset = begin.offset + value_end + 2;
        Some((begin, pair))
    }

    /// A number with dots, if one stands here, and the place behind it; `None` where
    /// that is not plain.
    #[inline]
    fn plain_number(&self, mut place: LinePlace) -> Option<(Option<MoveNumber>, LinePlace)> {
        let rest = self.text.get(place.offset..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Some((None, place));
        }
        let (number, behind) = rest.split_at_checked(digits)?;
        let dots = behind.iter().take_while(|byte| **byte == b'.').count();
        if dots == 0 || digits > MOST_DIGITS {
            return None;
        }
        let number = number.iter().fold(0, |number, digit| {
            number * 10 + u32::from(digit.wrapping_sub(b'0'))
        });
        place.offset += digits + dots;
        let number = Some(number);
        let place = self.after_plain_blanks(place)?;
        Some((Some(MoveNumber { number, dots }), place))
    }

    /// The place behind spaces and line ends; `None` before an escaped line.
    #[inline]
    fn after_plain_blanks(&self, mut place: LinePlace) -> Option<LinePlace> {
        loop {
            match self.text.get(place.offset)? {
                b' ' => place.offset += 1,
                b'\n' => {
                    place.offset += 1;
                    (place.line, place.line_start) = (place.line + 1, place.offset);
                }
                b'\r' if self.byte(place.offset + 1) == Some(b'\n') => place.offset += 1,
                b'%' if place.offset == place.line_start => return None,
                _ => return Some(place),
            }
        }
    }
}

/// Name and value of the tag pair that a text begins with, if nothing else stands on
/// its line, one blank inside, and the value is of ASCII without quotes and escapes.
#[inline]
pub(in crate::pgn) fn plain_tag_parts(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = text.strip_prefix(b"[")?;
    let is_of_name = |byte: &&u8| is_of(&OF_NAMES, **byte);
    let (name, rest) = inside.split_at_checked(inside.iter().take_while(is_of_name).count())?;
    let rest = rest.strip_prefix(b" \"").filter(|_| !name.is_empty())?;
    let is_of_value = |byte: &&u8| is_of(&OF_VALUES, **byte);
    let (value, rest) = rest.split_at_checked(rest.iter().take_while(is_of_value).count())?;
    matches!(rest, [b'"', b']', b'\n' | b'\r', ..]).then_some((name, value))
}

/// Whether a byte is one of those.
#[inline]
fn is_of(those: &[bool; 256], byte: u8) -> bool {
    those.get(usize::from(byte)) == Some(&true)
}

/// Whether each byte is one that an expression says: a look at a table, where a choice
/// of branches would be predicted wrongly for each word.
macro_rules! bytes_that {
    ($byte:ident => $is_one:expr) => {{
        let mut are = [false; 256];
        let mut $byte = u8::MAX;
        let mut rest: &mut [bool] = &mut are;
        while let [before @ .., last] = rest {
            *last = $is_one;
            $byte = $byte.wrapping_sub(1);
            rest = before;
        }
        are
    }};
}

static OF_MOVES: [bool; 256] = bytes_that!(byte => matches!(
    byte,
    b'a'..=b'h' | b'1'..=b'8' | b'x' | b'K' | b'Q' | b'R' | b'B' | b'N' | b'O' | b'-' | b'='
        | b'+' | b'#'
));
static OF_NAMES: [bool; 256] = bytes_that!(byte => byte.is_ascii_alphanumeric() || byte == b'_');
static OF_VALUES: [bool; 256] =
    bytes_that!(byte => is_plain(byte) && !matches!(byte, b'"' | b'\\'));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_move_has_its_number_and_its_place() {
        let read = |text: &'static str| {
            let lexer = Lexer::from_line(text.as_bytes(), 1);
            let plain = lexer.plain_move(lexer.here().line_place())?;
            let word = std::str::from_utf8(plain.word).unwrap();
            let number = plain.number.map(|number| (number.number, number.dots));
            let begin = plain.end.offset - word.len();
            assert_eq!(text.get(begin..plain.end.offset), Some(word));
            assert_eq!(
                text.get(..begin)
                    .unwrap()
                    .rfind('\n')
                    .map_or(0, |at| at + 1),
                plain.end.line_start
            );
            Some((number, word, plain.end.line, begin))
        };
        assert_eq!(read("  7. Nf3 x"), Some((Some((Some(7), 1)), "Nf3", 1, 5)));
        let long = Some((Some((Some(12), 3)), "O-O-O", 3, 8));
        assert_eq!(read("12...\n \nO-O-O) x"), long);
        let short = Some((Some((Some(12), 3)), "O-O", 2, 7));
        assert_eq!(read("12...\r\nO-O x"), short);
        assert_eq!(read(" exd8=Q+! x"), Some((None, "exd8=Q+", 1, 1)));
        for other in [
            "7 Nf3 x",
            "12345. e4 x",
            "7. 1-0 x",
            "7. Nf3",
            "7. Nf3;",
            "\n%. e4 x",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_plain_tag_is_read_as_every_other() {
        let value = r#""Carlsen, M [x] {y} ;""#;
        let text = format!("[White_2 {value}]\r\n");
        let mut lexer = Lexer::from_line(text.as_bytes(), 7);
        // Without the line's end it is read the long way.
        assert_eq!(lexer.plain_tag(), None);
        let (begin, token) = lexer.next().unwrap();
        let text = format!(" \n{text}");
        let mut plain = Lexer {
            text: text.as_bytes(),
            ..Lexer::from_line(b"", 6)
        };
        let (place, pair) = plain.plain_tag().unwrap();
        let back = |place: TextPlace| (place.line, place.offset - 2, place.line_start - 2);
        let same = |place: TextPlace| (place.line, place.offset, place.line_start);
        assert_eq!(back(place), same(begin));
        assert_eq!(back(plain.here()), same(lexer.here()));
        let super::super::Token::Tag(expected) = token else {
            panic!("{token:?}");
        };
        assert_eq!((pair.name, &pair.value), (expected.name, &expected.value));
        assert_eq!(back(pair.place), same(expected.place));
        for other in [
            "[A  \"b\"]\n",
            "[A \"b\" ]\n",
            "[A \"b\"] \n",
            "[A \"b\"]",
            "[A \"b\"c\"]\n",
            "[A \"b\\c\"]\n",
            "[A \"\u{e9}\"]\n",
            "[A \"\t\"]\n",
            "[A-B \"c\"]\n",
            "[ \"c\"]\n",
            "[A \"b\n\"]\n",
        ] {
            let text = format!("{other}x");
            let mut lexer = Lexer::from_line(text.as_bytes(), 1);
            assert_eq!(lexer.plain_tag(), None, "{other}");
            assert_eq!(lexer.here(), TextPlace::START);
        }
    }
}
