//! What is wrong with a text, and where.

use std::fmt;

use super::place::TextPlace;

/// The most characters of a text that a message quotes.
const QUOTED_CHARS: usize = 40;

/// A text that is no PGN game. In one line: `14:7: "Nf33" is not a move;
/// expected a move, a comment or the result`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error {
            line,
            column,
            found,
            expected,
        } = self;
        write!(f, "{line}:{column}: {found}; expected {expected}")
    }
}

impl std::error::Error for Error {}

impl Error {
    /// An error at a place in `text`.
    #[cold]
    pub(super) fn new(
        text: &[u8],
        place: TextPlace,
        found: String,
        expected: &'static str,
    ) -> Error {
        Error {
            line: place.line,
            column: place.column(text),
            found,
            expected,
        }
    }
}

/// A piece of the text for a message: in quotes, on one line, not too long.
pub(super) fn quoted(text: &[u8]) -> String {
    // Four bytes hold any character.
    let begin = text.get(..4 * QUOTED_CHARS).unwrap_or(text);
    let begin = String::from_utf8_lossy(begin);
    let mut quoted = String::from("\"");
    for c in begin.chars().take(QUOTED_CHARS) {
        quoted.push(if c.is_control() { ' ' } else { c });
    }
    if text.len() > begin.len() || begin.chars().nth(QUOTED_CHARS).is_some() {
        quoted.push('…');
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let place = TextPlace {
            line: 14,
            offset: 6,
            ..TextPlace::START
        };
        let error = Error::new(b"12. c4 Nf33", place, quoted(b"c4\n"), "a move");
        assert_eq!(error.to_string(), "14:7: \"c4 \"; expected a move");
    }

    #[test]
    fn a_long_find_is_cut() {
        assert_eq!(quoted(b"Nf33"), "\"Nf33\"");
        let long = quoted(&[b'x'; 1000]);
        assert_eq!(long.chars().count(), QUOTED_CHARS + 3);
        assert!(long.ends_with("x…\""), "{long}");
    }
}
