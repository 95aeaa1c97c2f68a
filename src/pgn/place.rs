//! Places in a text, and what its bytes mean.
//!
//! A text is read as bytes: programs write UTF-8, or Windows-1252, or both
//! into one file. What is no UTF-8 is in one page, Windows-1252 if nothing else
//! is known, decided for each tag value, comment and line by itself.

use std::borrow::Cow;

use encoding_rs::{Encoding, WINDOWS_1252};

/// A place in a text. Its column is counted only when somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Line, from 1.
    pub(super) line: usize,
    /// Offset of the line's first byte.
    pub(super) line_start: usize,
    /// Offset of the place.
    pub(super) offset: usize,
    /// A place of the line, not behind this one, whose column is known: many
    /// games may stand on one line, and each would count all before it.
    pub(super) counted: usize,
    /// The characters of the line before `counted`.
    pub(super) counted_columns: usize,
}

impl Place {
    /// The first byte of a text.
    pub(super) const START: Place = Place {
        line: 1,
        line_start: 0,
        offset: 0,
        counted: 0,
        counted_columns: 0,
    };

    /// The begin of the next line, which stands at an offset.
    pub(super) fn next_line(self, offset: usize) -> Place {
        Place {
            line: self.line + 1,
            line_start: offset,
            offset,
            counted: offset,
            counted_columns: 0,
        }
    }

    /// The column in characters, from 1.
    pub(super) fn column(self, text: &[u8]) -> usize {
        let before = text.get(self.counted..self.offset).unwrap_or_default();
        self.counted_columns + characters(before, WINDOWS_1252).chars().count() + 1
    }

    /// The same place, whose column is counted now.
    pub(super) fn with_column(self, text: &[u8]) -> Place {
        Place {
            counted: self.offset,
            counted_columns: self.column(text) - 1,
            ..self
        }
    }
}

/// The characters of a piece of a text, which is in a page if it is no UTF-8.
pub(super) fn characters<'t>(bytes: &'t [u8], page: &'static Encoding) -> Cow<'t, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => page.decode_without_bom_handling(bytes).0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        for (line, offset, column) in [
            (&b"abc"[..], 2, 3),
            ("é c".as_bytes(), 3, 3),
            (b"\xe9 c", 2, 3),
            (b"", 0, 1),
        ] {
            let place = Place {
                offset,
                ..Place::START
            };
            assert_eq!(place.column(line), column, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_utf8_is_windows_1252() {
        let western = |bytes| characters(bytes, WINDOWS_1252);
        assert_eq!(western("Hübner".as_bytes()), "Hübner");
        assert_eq!(western(b"H\xfcbner \x80"), "Hübner €");
    }
}
