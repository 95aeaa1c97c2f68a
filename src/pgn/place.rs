//! Places in a text, and what its bytes mean.
//!
//! A text is read as bytes: programs write UTF-8, or Windows-1252, or both
//! into one file. What is no UTF-8 is in one page, Windows-1252 if nothing else
//! is known, decided for each tag value, comment and line by itself.

use std::borrow::Cow;

use super::page::EightBitPage;
use super::stream::{InPage, Trust};

/// A place in a text. Its column is counted only when somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPlace {
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

/// The line and the offset of a [`TextPlace`], which steps take along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinePlace {
    pub(super) line: usize,
    pub(super) line_start: usize,
    pub(super) offset: usize,
}

impl Default for TextPlace {
    fn default() -> TextPlace {
        TextPlace::START
    }
}

impl TextPlace {
    /// The first byte of a text.
    pub(super) const START: TextPlace = TextPlace {
        line: 1,
        line_start: 0,
        offset: 0,
        counted: 0,
        counted_columns: 0,
    };

    /// The begin of the next line, which stands at an offset.
    pub(super) fn next_line(self, offset: usize) -> TextPlace {
        TextPlace {
            line: self.line + 1,
            line_start: offset,
            offset,
            counted: offset,
            counted_columns: 0,
        }
    }

    /// The same without what a column is counted from.
    pub(super) fn line_place(self) -> LinePlace {
        LinePlace {
            line: self.line,
            line_start: self.line_start,
            offset: self.offset,
        }
    }

    /// A place that is not before this one.
    pub(super) fn at(self, place: LinePlace) -> TextPlace {
        let LinePlace {
            line,
            line_start,
            offset,
        } = place;
        if line == self.line {
            return TextPlace { offset, ..self };
        }
        TextPlace {
            line,
            line_start,
            offset,
            counted: line_start,
            counted_columns: 0,
        }
    }

    /// The column in characters, from 1.
    pub(super) fn column(self, text: &[u8]) -> usize {
        let before = text.get(self.counted..self.offset).unwrap_or_default();
        self.counted_columns + characters(before, EightBitPage::WESTERN).chars().count() + 1
    }

    /// The same place, whose column is counted now.
    pub(super) fn with_column(self, text: &[u8]) -> TextPlace {
        TextPlace {
            counted: self.offset,
            counted_columns: self.column(text) - 1,
            ..self
        }
    }
}

/// The characters of a piece of a text, which is in a page if it is no UTF-8. Of
/// UTF-8 that is damaged, only the damaged bytes are in it.
pub(super) fn characters(bytes: &[u8], page: EightBitPage) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) if is_damaged_utf8(bytes) => {
            let pieces = bytes.utf8_chunks();
            let pieces =
                pieces.map(|piece| piece.valid().to_owned() + &page.decode(piece.invalid()));
            Cow::Owned(pieces.collect())
        }
        Err(_) => Cow::Owned(page.decode(bytes)),
    }
}

/// Whether nearly all bytes beyond ASCII make characters of UTF-8. Those of a page
/// do so by chance: three of the four letters of a Russian word of DOS, but not
/// of a longer one.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0, 0);
    for piece in bytes.utf8_chunks() {
        valid += piece
            .valid()
            .bytes()
            .filter(|byte| !byte.is_ascii())
            .count();
        invalid += piece.invalid().len();
    }
    valid > 3 * invalid
}

/// Where a text has a byte that is no character of its page, or, unless the page
/// is sure, no letter where one must be: so texts of DOS look in another page,
/// `M\x81ller`, `K\x94ln`. Offset and what was found.
pub(super) fn doubtful(text: &[u8], in_page: InPage) -> Option<(usize, String)> {
    let InPage { page, trust, .. } = in_page;
    let is_letter = |at: Option<usize>| {
        let byte = at.and_then(|at| text.get(at));
        byte.and_then(|byte| page.character(*byte))
            .is_some_and(char::is_alphabetic)
    };
    let mut begin = 0;
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        let start = begin;
        begin += line.len();
        if std::str::from_utf8(line).is_ok() {
            continue;
        }
        for (at, byte) in (start..).zip(line).filter(|(_, byte)| !byte.is_ascii()) {
            let is_amid = || is_letter(at.checked_sub(1)) && is_letter(Some(at + 1));
            let what = match page.character(*byte) {
                None => "character",
                Some('\u{80}'..='\u{9f}') if trust != Trust::Given => "character",
                Some('\u{2500}'..='\u{259f}') if trust == Trust::Guessed => "letter",
                Some(c) if trust == Trust::Guessed && is_sign(c) && is_amid() => "letter",
                _ => continue,
            };
            if !is_utf8_at(text, at) {
                let found = format!("the byte {byte:#04x}, which is no {what} of {page}");
                return Some((at, found));
            }
        }
    }
    None
}

/// Whether a character is none of words: no letter, apostrophe or blank.
fn is_sign(c: char) -> bool {
    !c.is_alphanumeric() && !matches!(c, '\u{2018}' | '\u{2019}' | '\u{a0}' | '\u{b7}' | '\u{d7}')
}

/// Whether a byte is part of a character of UTF-8: a line may have both.
fn is_utf8_at(text: &[u8], at: usize) -> bool {
    (at.saturating_sub(3)..at).any(|start| {
        let around = text.get(start..).unwrap_or_default();
        let around = around.get(..4).unwrap_or(around);
        let valid = match std::str::from_utf8(around) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        around
            .first()
            .is_some_and(|first| !first.is_ascii() && valid > at - start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_byte_leaves_the_rest_of_utf8_as_it_is() {
        let page = EightBitPage::WESTERN;
        for (bytes, expected) in [
            (
                &b"Wei\xc3\x9f st\xc3\xb6rt Schwarz f\xfcr immer"[..],
                "Weiß stört Schwarz für immer",
            ),
            (b"\xd0\x91\xd0\xb5\xd0\xbb\xff\xd1\x8b\xd0\xb5", "Белÿые"),
            (b"Gr\xc3\xbcn\xfc", "GrÃ¼nü"),
            (b"Gr\xfcn", "Grün"),
            ("Grün".as_bytes(), "Grün"),
        ] {
            assert_eq!(characters(bytes, page), expected);
        }
        // Words of a page, some letters of which could be UTF-8.
        let dos = EightBitPage::of_dos("866").unwrap();
        for word in [&b"\xe2\xe0\xa0\xaf"[..], b"\x8a\xa0\xe0\xaf\xae\xa2"] {
            assert_eq!(characters(word, dos), dos.decode(word));
        }
    }

    #[test]
    fn columns_count_characters() {
        for (line, offset, column) in [
            (&b"abc"[..], 2, 3),
            ("é c".as_bytes(), 3, 3),
            (b"\xe9 c", 2, 3),
            (b"", 0, 1),
        ] {
            let place = TextPlace {
                offset,
                ..TextPlace::START
            };
            assert_eq!(place.column(line), column, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_utf8_is_windows_1252() {
        let western = |bytes| characters(bytes, EightBitPage::WESTERN);
        assert_eq!(western("Hübner".as_bytes()), "Hübner");
        assert_eq!(western(b"H\xfcbner \x80"), "Hübner €");
    }
}
