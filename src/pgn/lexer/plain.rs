//! Moves as nearly all texts have them, found without making tokens of each
//! sign: `12. Nf3`, `Nf6`. What is written in any other way is left to the
//! tokens, and so is all that may be wrong.

use super::{Lexer, MoveNumber};
use crate::pgn::place::TextPlace;

/// A move that may be plain, see [`Lexer::plain_move`].
#[derive(Clone, Copy, Debug)]
pub(in crate::pgn) struct PlainMove<'t> {
    /// The number in front of it.
    pub(in crate::pgn) number: Option<MoveNumber>,
    /// Squares, letters of pieces and signs; the begin is no digit.
    pub(in crate::pgn) word: &'t [u8],
    /// Where the word begins.
    pub(in crate::pgn) place: TextPlace,
}

impl PlainMove<'_> {
    /// Where the word ends.
    pub(in crate::pgn) fn end(&self) -> TextPlace {
        let offset = self.place.offset + self.word.len();
        TextPlace {
            offset,
            ..self.place
        }
    }
}

/// Longer numbers are none of moves.
const MOST_DIGITS: usize = 4;

impl<'t> Lexer<'t> {
    /// The move that is read next, if it stands there plainly; nothing is read.
    pub(in crate::pgn) fn plain_move(&self) -> Option<PlainMove<'t>> {
        let place = self.after_plain_blanks(self.here)?;
        let (number, place) = self.plain_number(place)?;
        let rest = self.text.get(place.offset..)?;
        let len = rest.iter().take_while(|byte| is_of_move(**byte)).count();
        let (word, behind) = rest.split_at_checked(len)?;
        let is_word = word.first().is_some_and(|first| !first.is_ascii_digit());
        let ends = matches!(
            behind.first()?,
            b' ' | b'\n' | b'\r' | b')' | b'{' | b'!' | b'?' | b'$'
        );
        (is_word && ends).then_some(PlainMove {
            number,
            word,
            place,
        })
    }

    /// A number with dots, if one stands here, and the place behind it; `None` where
    /// that is not plain.
    fn plain_number(&self, mut place: TextPlace) -> Option<(Option<MoveNumber>, TextPlace)> {
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
    fn after_plain_blanks(&self, mut place: TextPlace) -> Option<TextPlace> {
        loop {
            match self.text.get(place.offset)? {
                b' ' => place.offset += 1,
                b'\n' => place = place.next_line(place.offset + 1),
                b'\r' if self.byte(place.offset + 1) == Some(b'\n') => place.offset += 1,
                b'%' if place.offset == place.line_start => return None,
                _ => return Some(place),
            }
        }
    }
}

fn is_of_move(byte: u8) -> bool {
    matches!(
        byte,
        b'a'..=b'h' | b'1'..=b'8' | b'x' | b'K' | b'Q' | b'R' | b'B' | b'N' | b'O' | b'-' | b'='
            | b'+' | b'#'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_move_has_its_number_and_its_place() {
        let read = |text: &'static str| {
            let plain = Lexer::from_line(text.as_bytes(), 1).plain_move()?;
            let word = std::str::from_utf8(plain.word).unwrap();
            let number = plain.number.map(|number| (number.number, number.dots));
            let (place, end) = (plain.place, plain.end());
            assert_eq!(text.get(place.offset..end.offset), Some(word));
            Some((number, word, place.line, place.offset))
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
}
