//! Texts, both ways: a number that is nearly always 0, the language as the
//! number of a country, then the text up to the end or to a zero byte.
//!
//! The bytes are UTF-8 or the base's 8-bit page. In Windows-1252 texts some
//! bytes are chess signs instead of their letters; UTF-8 texts have them as
//! private characters. [`SIGNS`] maps both to Unicode. Line breaks are CR LF.

use crate::cbh::CodePage;
use crate::game::{AnnotationText, Nation};

/// Chess signs: byte in Windows-1252 texts, private character in UTF-8
/// texts, Unicode. Seen in the context of real texts, or told by two
/// sources.
const SIGNS: [(u8, char, char); 32] = [
    (0x82, '\u{e013}', '→'),
    (0x83, '\u{e012}', '↑'),
    (0x84, '\u{e017}', '⇆'),
    (0x85, '\u{e00d}', '∆'),
    (0x86, '\u{e023}', '○'),
    (0x87, '\u{e01d}', '⨀'),
    (0x91, '\u{e018}', '⇔'),
    (0x92, '\u{e019}', '⇗'),
    (0x93, '\u{e01c}', '⊕'),
    (0x94, '\u{e01e}', '⊞'),
    (0x99, '\u{e021}', '□'),
    (0x9b, '\u{e00c}', '⌓'),
    (0xa2, '\u{e024}', '♔'),
    (0xa3, '\u{e025}', '♕'),
    (0xa4, '\u{e028}', '♘'),
    (0xa5, '\u{e027}', '♗'),
    (0xa6, '\u{e026}', '♖'),
    (0xa7, '\u{e029}', '♙'),
    (0xaa, '\u{e01b}', '∟'),
    (0xab, '\u{e00e}', '⟪'),
    (0xac, '\u{e01f}', '⊥'),
    (0xad, '\u{e001}', '⮺'),
    (0xae, '\u{e002}', '⮻'),
    (0xaf, '\u{e003}', '⮼'),
    (0xb0, '\u{e000}', '⯹'),
    (0xb2, '\u{e02f}', '⩲'),
    (0xb3, '\u{e02e}', '⩱'),
    (0xb5, '\u{e01a}', '∓'),
    (0xb9, '\u{e020}', '≥'),
    (0xbb, '\u{e00f}', '⟫'),
    (0xf7, '\u{e009}', '∞'),
    (0xfe, '\u{e008}', '⯽'),
];

/// Signs that are the same character in Windows-1252: only the private
/// character is special.
const PLAIN_SIGNS: [(char, char); 2] = [('\u{e00a}', '±'), ('\u{e010}', '×')];

/// How PGN shows the mark of a diagram, and its stored forms: a byte of
/// Windows-1252 texts, a byte of all texts, a private character.
const DIAGRAM: &str = "[#]";
const DIAGRAM_BYTE: u8 = 0x9e;
const DIAGRAM_CONTROL: char = '\u{4}';
const DIAGRAM_PRIVATE: char = '\u{e005}';

/// Decodes and encodes the bytes of texts.
pub(crate) trait CommentText {
    /// The text of `bytes`, with `\n` for line breaks.
    fn decode_comment(self, bytes: &[u8]) -> String;

    /// The bytes of `text`: ASCII or this page if it has all characters and
    /// is told from the text still, else UTF-8.
    fn encode_comment(self, text: &str) -> Vec<u8>;
}

impl CommentText for CodePage {
    fn decode_comment(self, bytes: &[u8]) -> String {
        match plain_text(bytes) {
            Some(plain) => plain.to_owned(),
            None => self.decode_lines(bytes),
        }
    }

    fn encode_comment(self, text: &str) -> Vec<u8> {
        if text.is_ascii() {
            return text.replace('\n', "\r\n").into_bytes();
        }
        // Bytes that happen to be UTF-8 would be read as that.
        let is_read_back =
            |bytes: &Vec<u8>| self.decode_comment(bytes) == self.decode_comment(text.as_bytes());
        self.encode_in_page(text)
            .filter(is_read_back)
            .filter(|bytes| self.is_kept_by_text(bytes))
            .unwrap_or_else(|| encode_in_utf8(text))
    }
}

impl CodePage {
    /// As [`decode_comment`](CommentText::decode_comment), for a text that is not
    /// [plain](plain_text).
    #[cold]
    fn decode_lines(self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len());
        self.decode_characters(bytes, &mut text, |_, _| {});
        if text.contains('\r') {
            text = text.replace("\r\n", "\n").replace('\r', "\n");
        }
        text
    }

    /// Appends the characters of a stored text as they are shown, line breaks
    /// as they are; after each calls `after` with the number of bytes read, and
    /// with the length of the text.
    pub(super) fn decode_characters(
        self,
        bytes: &[u8],
        text: &mut String,
        mut after: impl FnMut(usize, usize),
    ) {
        if let Ok(unicode) = std::str::from_utf8(bytes) {
            for (at, c) in unicode.char_indices() {
                push_sign(c, text);
                after(at + c.len_utf8(), text.len());
            }
        } else if self.has_chess_signs() {
            for (at, &byte) in bytes.iter().enumerate() {
                match SIGNS.iter().find(|(sign, ..)| *sign == byte) {
                    Some((_, _, unicode)) => text.push(*unicode),
                    None if byte == DIAGRAM_BYTE => text.push_str(DIAGRAM),
                    None if byte.is_ascii() => push_sign(char::from(byte), text),
                    None => self.decode_into(&[byte], text),
                }
                after(at + 1, text.len());
            }
        } else {
            let mut page = String::new();
            self.decode_page_into(bytes, &mut page);
            for (at, c) in page.chars().enumerate() {
                push_sign(c, text);
                after(at + 1, text.len());
            }
        }
    }

    /// The bytes of a piece of text in this page; `None` if it lacks a
    /// character.
    pub(super) fn encode_in_page(self, text: &str) -> Option<Vec<u8>> {
        let text = text.replace('\n', "\r\n");
        if text.is_ascii() {
            return Some(text.into_bytes());
        }
        if self.has_chess_signs() {
            text.chars().map(|c| self.sign_or_letter(c)).collect()
        } else {
            self.encode_exactly(&text)
        }
    }
}

impl CodePage {
    /// The byte of a character in a Windows-1252 text with chess signs.
    fn sign_or_letter(self, c: char) -> Option<u8> {
        if let Some((byte, ..)) = SIGNS.iter().find(|(_, _, unicode)| *unicode == c) {
            return Some(*byte);
        }
        let mut utf8 = [0; 4];
        let bytes = self.encode_exactly(c.encode_utf8(&mut utf8))?;
        let [byte] = bytes.try_into().ok()?;
        let is_taken = byte == DIAGRAM_BYTE || SIGNS.iter().any(|(sign, ..)| *sign == byte);
        (!is_taken).then_some(byte)
    }
}

/// The bytes as text if they are ASCII without zeros, returns and marks of diagrams, as
/// those of most texts: it is shown as it stands.
#[inline]
fn plain_text(bytes: &[u8]) -> Option<&str> {
    let is_shown = |byte: u8| byte != 0 && byte != b'\r' && byte != DIAGRAM_CONTROL as u8;
    let is_plain = |byte: u8| byte.is_ascii() && is_shown(byte);
    // Looking at all bytes is faster than stopping at the first that is not.
    let are_plain = bytes.iter().fold(true, |all, byte| all & is_plain(*byte));
    std::str::from_utf8(bytes).ok().filter(|_| are_plain)
}

/// Appends a character of a stored text as PGN shows it.
fn push_sign(c: char, out: &mut String) {
    if c.is_ascii() && c != DIAGRAM_CONTROL {
        return out.push(c);
    }
    let sign = SIGNS
        .iter()
        .map(|(_, private, unicode)| (*private, *unicode));
    match sign.chain(PLAIN_SIGNS).find(|(private, _)| *private == c) {
        Some((_, unicode)) => out.push(unicode),
        None if c == DIAGRAM_CONTROL || c == DIAGRAM_PRIVATE => out.push_str(DIAGRAM),
        None => out.push(c),
    }
}

/// The bytes of a piece of text in UTF-8, where ChessBase has private
/// characters for chess signs.
pub(super) fn encode_in_utf8(text: &str) -> Vec<u8> {
    let private = |c| match SIGNS.iter().find(|(_, _, unicode)| *unicode == c) {
        Some((_, private, _)) => *private,
        None => c,
    };
    let text = text.replace('\n', "\r\n");
    text.chars().map(private).collect::<String>().into_bytes()
}

/// The bytes in UTF-8 of one character of a text in the page, which is shown
/// as `shown`.
pub(super) fn page_to_utf8(byte: u8, shown: &str) -> Vec<u8> {
    match byte {
        byte if byte.is_ascii() => vec![byte],
        DIAGRAM_BYTE if shown == DIAGRAM => DIAGRAM_PRIVATE.to_string().into_bytes(),
        _ => encode_in_utf8(shown),
    }
}

/// A text's payload → its value; `None` if the payload is too short.
#[expect(clippy::inline_always, reason = "for each text of a game")]
#[inline(always)]
pub(super) fn decode(payload: &[u8], page: CodePage) -> Option<AnnotationText> {
    let (&[lead, language], bytes) = payload.split_first_chunk()?;
    Some(AnnotationText {
        lead,
        language: Nation(language),
        text: match plain_text(bytes) {
            Some(plain) => plain.to_owned(),
            None => page.decode_lines(shown_and_rest(payload).0),
        },
    })
}

/// The bytes of a text's payload that are shown, and those from the first zero byte on.
pub(in crate::cbh) fn shown_and_rest(payload: &[u8]) -> (&[u8], &[u8]) {
    let bytes = payload.get(2..).unwrap_or_default();
    // Most have none, which this tells several bytes at once.
    if !bytes.contains(&0) {
        return (bytes, &[]);
    }
    let end = bytes.iter().position(|byte| *byte == 0);
    let parts = end.and_then(|end| bytes.split_at_checked(end));
    parts.unwrap_or((bytes, &[]))
}

/// A text → its payload.
pub(super) fn encode(text: &AnnotationText, page: CodePage) -> Vec<u8> {
    let mut payload = vec![text.lead, text.language.0];
    payload.extend(page.encode_comment(&text.text));
    payload
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(label: &str) -> CodePage {
        CodePage::from_label(label).unwrap()
    }

    #[test]
    fn chess_signs_are_shown_in_unicode() {
        let shown = |bytes: &[u8]| page("1252").decode_comment(bytes);
        assert_eq!(shown(b"\xa4f3 \xb2 M\xfcller \x9e"), "♘f3 ⩲ Müller [#]");
        assert_eq!(shown("♔ \u{e024}\u{e02f}\u{e005}é".as_bytes()), "♔ ♔⩲[#]é");
        assert_eq!(shown(b"line\r\nbreak\rend \x04"), "line\nbreak\nend [#]");
        assert_eq!([shown(b"\r"), shown(b"a\r")], ["\n", "a\n"]);
        assert_eq!([shown(b"\x04"), shown(b"a\x04")], ["[#]", "a[#]"]);
        assert_eq!(page("1251").decode_comment(b"\xcb\xe5\xed\xa4"), "Лен¤");
    }

    #[test]
    fn a_text_is_written_in_the_page_if_it_fits() {
        let stored = |text: &str| page("1252").encode_comment(text);
        assert_eq!(stored("plain\ntext"), b"plain\r\ntext");
        assert_eq!(stored("♘f3 ⩲ Müller"), b"\xa4f3 \xb2 M\xfcller");
        assert_eq!(stored("Корчной"), "Корчной".as_bytes());
        assert_eq!(
            page("1251").encode_comment("Корчной"),
            b"\xca\xee\xf0\xf7\xed\xee\xe9"
        );
        assert_eq!(stored("£5"), "£5".as_bytes(), "its byte is the queen");
        assert_eq!(stored("♕ Ł"), "\u{e025} Ł".as_bytes());
        assert_eq!(stored("ÀÈÙ"), "ÀÈÙ".as_bytes(), "a word of 1251");
    }

    #[test]
    fn texts_round_trip() {
        for label in ["1252", "1251", "1250"] {
            for text in ["♕ ⩲ é", "Ã©", "Łódź", "Женя", "a → b", "Ä", "日本", "±×"]
            {
                let bytes = page(label).encode_comment(text);
                assert_eq!(page(label).decode_comment(&bytes), text, "{label}");
            }
        }
    }

    #[test]
    fn a_byte_of_a_page_becomes_what_utf8_has_for_it() {
        for (byte, shown, expected) in [
            (b'a', "a", "a"),
            (0x04, "[#]", "\u{4}"),
            (0x9e, "[#]", "\u{e005}"),
            // The same byte is a letter in Windows-1250.
            (0x9e, "\u{17e}", "\u{17e}"),
            (0xa4, "♘", "\u{e028}"),
            (0xe9, "é", "é"),
        ] {
            assert_eq!(page_to_utf8(byte, shown), expected.as_bytes(), "{shown}");
        }
        let shown = page("1250").decode_comment(b"\x9eluva");
        assert_eq!(shown, "\u{17e}luva");
    }
}
