//! The 8-bit code pages of names and texts.
//!
//! A base does not state its code page. Recent bases contain UTF-8, older ones
//! the Windows code page of the computer that wrote them, and one base can
//! contain both.

use encoding_rs::{Encoding, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252};

/// The letters Ł Ą Ż ł ą Ľ ľ ż Ť ť of Windows-1250, which are not letters in
/// Windows-1252. Bytes that are letters in both pages show nothing.
const CENTRAL_LETTERS: [u8; 10] = [0xa3, 0xa5, 0xaf, 0xb3, 0xb9, 0xbc, 0xbe, 0xbf, 0x8d, 0x9d];

/// Minimum length of a run of Windows-1251 letters that counts as a Cyrillic
/// word.
const CYRILLIC_WORD: usize = 3;

/// An 8-bit code page for bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage {
    encoding: &'static Encoding,
}

impl Default for CodePage {
    fn default() -> CodePage {
        CodePage::WESTERN
    }
}

impl CodePage {
    /// Windows-1252, the code page of Western Europe and the default.
    pub const WESTERN: CodePage = CodePage {
        encoding: WINDOWS_1252,
    };

    /// The code page with this label: `1252`, `cp1251`, `windows-1250`,
    /// `iso-8859-2`, or any other label of an 8-bit encoding in the WHATWG
    /// standard.
    pub fn from_label(label: &str) -> Option<CodePage> {
        Encoding::for_label(label.as_bytes())
            .or_else(|| Encoding::for_label(format!("windows-{label}").as_bytes()))
            .filter(|encoding| encoding.is_single_byte())
            .map(|encoding| CodePage { encoding })
    }

    /// The most likely code page of these names and texts. UTF-8 and ASCII
    /// strings are ignored. Without any evidence, the result is Windows-1252.
    ///
    /// Cyrillic words consist of high bytes, which are letters of Windows-1251
    /// from 0xC0 on; two in a row are not enough. Western and Central European
    /// words have single high bytes between ASCII letters. Among those, a byte
    /// that is a letter in Windows-1250 but a symbol in Windows-1252 decides.
    ///
    /// Texts are evidence for Cyrillic only, because they use some high bytes
    /// for chess symbols.
    pub fn detect<'a>(
        names: impl IntoIterator<Item = &'a [u8]>,
        texts: impl IntoIterator<Item = &'a [u8]>,
    ) -> CodePage {
        let mut votes = Votes::default();
        for name in names {
            votes.add(name);
            votes.central += central_letters(name);
        }
        for text in texts {
            votes.add(text);
        }
        let encoding = if votes.are_cyrillic() {
            WINDOWS_1251
        } else if votes.central > 0 {
            WINDOWS_1250
        } else {
            WINDOWS_1252
        };
        CodePage { encoding }
    }

    /// Returns whether [detection](CodePage::detect) would still find this page
    /// if a name with these bytes were added.
    fn is_kept_by(self, name: &[u8]) -> bool {
        let is_neutral = self.encoding != WINDOWS_1252 || central_letters(name) == 0;
        is_neutral && self.is_kept_by_text(name)
    }

    /// Returns whether [detection](CodePage::detect) would still find this page
    /// if a text with these bytes were added.
    pub fn is_kept_by_text(self, text: &[u8]) -> bool {
        let mut votes = Votes::default();
        votes.add(text);
        if self.encoding == WINDOWS_1251 {
            votes.cyrillic * 5 >= votes.letters * 3
        } else {
            let is_detected = [WINDOWS_1250, WINDOWS_1252].contains(&self.encoding);
            !is_detected || !votes.are_cyrillic()
        }
    }

    /// As [`is_kept_by_text`](CodePage::is_kept_by_text), for a text that takes the
    /// place of another, and may say as much against this page as that one.
    pub(in crate::cbh) fn is_kept_by_edit(self, before: &[u8], after: &[u8]) -> bool {
        self.is_kept_by_text(after) || self.votes_against(after) <= self.votes_against(before)
    }

    /// How many letters of a text are evidence for another page.
    fn votes_against(self, text: &[u8]) -> usize {
        let mut votes = Votes::default();
        votes.add(text);
        if self.encoding == WINDOWS_1251 {
            votes.letters - votes.cyrillic
        } else {
            votes.cyrillic
        }
    }

    /// The page as an encoding of `encoding_rs`.
    pub fn encoding(self) -> &'static Encoding {
        self.encoding
    }

    /// The standard name of the page, such as `windows-1252`.
    pub fn name(self) -> &'static str {
        self.encoding.name()
    }

    /// Decodes `bytes` and appends the result: as UTF-8 if they are valid UTF-8
    /// (an incomplete last character is dropped), otherwise in this page.
    pub fn decode_into(self, bytes: &[u8], out: &mut String) {
        match whole_utf8(bytes) {
            Some(text) => out.push_str(text),
            None => self.decode_page_into(bytes, out),
        }
    }

    /// Returns whether these bytes are the same text in another page.
    pub(in crate::cbh) fn reads_alike(self, other: CodePage, bytes: &[u8]) -> bool {
        let [one, other] = [self, other].map(|page| {
            let mut text = String::new();
            page.decode_into(bytes, &mut text);
            text
        });
        one == other
    }

    /// Returns whether a name is UTF-8 although this page could represent it;
    /// `None` if it is ASCII, or this page lacks one of its characters.
    pub(in crate::cbh) fn is_utf8_by_choice(self, bytes: &[u8]) -> Option<bool> {
        let Some(name) = whole_utf8(bytes) else {
            return Some(false);
        };
        let in_page = self.encode_new_name(name, bytes.len());
        in_page.filter(|_| !name.is_ascii()).map(|_| true)
    }

    /// Encodes a name in this page, in at most `room` bytes; `None` if the page
    /// lacks a character, or the bytes would be decoded as another name.
    pub(in crate::cbh) fn encode_name(self, name: &str, room: usize) -> Option<Vec<u8>> {
        let mut bytes = self.encode_exactly(name)?;
        bytes.truncate(room);
        let mut again = String::new();
        self.decode_into(&bytes, &mut again);
        // The page has one byte for each character.
        let is_read_back = again.chars().eq(name.chars().take(room));
        is_read_back.then_some(bytes)
    }

    /// As [`encode_name`](CodePage::encode_name), for a new name; `None` also
    /// if the new bytes would change the page detected when the base is opened
    /// again.
    pub(in crate::cbh) fn encode_new_name(self, name: &str, room: usize) -> Option<Vec<u8>> {
        let bytes = self.encode_name(name, room);
        bytes.filter(|bytes| self.is_kept_by(bytes))
    }

    /// Returns whether texts use some bytes of this page for chess symbols.
    /// Only texts in Windows-1252 do.
    pub(in crate::cbh) fn has_chess_signs(self) -> bool {
        self.encoding == WINDOWS_1252
    }

    /// Decodes `bytes` if [`encode`](CodePage::encode) would return the same
    /// bytes for the result.
    pub(in crate::cbh) fn decode_exactly(self, bytes: &[u8]) -> Option<String> {
        let mut text = String::new();
        self.decode_into(bytes, &mut text);
        (self.encode(&text) == bytes).then_some(text)
    }

    /// Encodes `text` in this page; `None` if the page lacks a character.
    pub(in crate::cbh) fn encode_exactly(self, text: &str) -> Option<Vec<u8>> {
        let (bytes, _, has_unmappable) = self.encoding.encode(text);
        (!has_unmappable).then(|| bytes.into_owned())
    }

    /// Encodes `text` in this page, or in UTF-8 if the page lacks a character
    /// or its bytes would be decoded as UTF-8.
    pub(in crate::cbh) fn encode(self, text: &str) -> Vec<u8> {
        let in_page = self.encode_exactly(text);
        let is_read_back =
            |bytes: &Vec<u8>| bytes.is_ascii() || std::str::from_utf8(bytes).is_err();
        in_page
            .filter(is_read_back)
            .unwrap_or_else(|| text.as_bytes().to_vec())
    }

    /// As [`decode_into`](CodePage::decode_into), for bytes that are not valid
    /// UTF-8.
    pub(in crate::cbh) fn decode_page_into(self, bytes: &[u8], out: &mut String) {
        out.push_str(&self.encoding.decode_without_bom_handling(bytes).0);
    }
}

/// Evidence for a code page, from strings that are not UTF-8.
#[derive(Clone, Copy, Debug, Default)]
struct Votes {
    /// Number of letters of Windows-1251. Lower bytes may be symbols in any
    /// page.
    letters: usize,
    /// Number of those within Cyrillic words.
    cyrillic: usize,
    /// Number of letters that only Windows-1250 has.
    central: usize,
}

impl Votes {
    fn add(&mut self, bytes: &[u8]) {
        if is_utf8(bytes) {
            return;
        }
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
        for word in bytes.split(|byte| !is_letter(byte)) {
            // Every page has ASCII letters.
            if word.len() < CYRILLIC_WORD && word.iter().copied().all(is_cyrillic) {
                continue;
            }
            self.letters += word.iter().filter(|byte| is_cyrillic(**byte)).count();
            let runs = word.split(|byte| !is_cyrillic(*byte));
            let runs = runs.filter(|run| run.len() >= CYRILLIC_WORD);
            self.cyrillic += runs.map(<[u8]>::len).sum::<usize>();
        }
    }

    fn are_cyrillic(self) -> bool {
        self.cyrillic * 5 > self.letters * 3
    }
}

/// Returns whether the byte is a Russian letter in Windows-1251.
fn is_cyrillic(byte: u8) -> bool {
    matches!(byte, 0xa8 | 0xb8 | 0xc0..)
}

/// Number of letters in a name that only Windows-1250 has; 0 if the name is
/// UTF-8.
fn central_letters(name: &[u8]) -> usize {
    if is_utf8(name) {
        return 0;
    }
    let letters = name.iter().filter(|byte| CENTRAL_LETTERS.contains(byte));
    letters.count()
}

/// Returns whether the bytes are decoded as UTF-8.
fn is_utf8(bytes: &[u8]) -> bool {
    whole_utf8(bytes).is_some()
}

/// The bytes as UTF-8, without an incomplete last character; `None` if they are
/// not UTF-8, or if only ASCII is left, because then the last byte may be a
/// letter of a code page.
fn whole_utf8(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to())?;
            let whole = std::str::from_utf8(whole).ok()?;
            (!whole.is_ascii()).then_some(whole)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(page: &str, bytes: &[u8]) -> String {
        let mut text = String::new();
        CodePage::from_label(page)
            .unwrap()
            .decode_into(bytes, &mut text);
        text
    }

    #[test]
    fn utf8_wins_over_the_page() {
        assert_eq!(decoded("1252", "Müller".as_bytes()), "Müller");
        assert_eq!(decoded("1252", b"M\xfcller"), "Müller");
        assert_eq!(
            decoded("cp1251", b"\xca\xee\xf0\xf7\xed\xee\xe9"),
            "Корчной"
        );
        assert_eq!(decoded("windows-1250", b"\x8aim\xe1k"), "Šimák");
    }

    #[test]
    fn a_character_cut_by_its_field_is_dropped() {
        let cut = &"Łukąsz".as_bytes()[..5];
        assert_eq!(decoded("1252", cut), "Łuk");
        assert_eq!(
            decoded("1252", b"Andr\xe9"),
            "André",
            "but not one of the page"
        );
    }

    #[test]
    fn the_page_is_detected_from_names() {
        let page = |names: &[&[u8]]| CodePage::detect(names.iter().copied(), []).name();
        assert_eq!(page(&[b"Carlsen", "Müller".as_bytes()]), "windows-1252");
        assert_eq!(
            page(&[b"M\xfcller", b"L\xe9k\xf3", b"Br\xe4nnstr\xf6m"]),
            "windows-1252"
        );
        assert_eq!(
            page(&[b"\xca\xee\xf0\xf7\xed\xee\xe9", b"Carlsen"]),
            "windows-1251"
        );
        assert_eq!(page(&[b"Wojtaszek", b"\xa3ukasz", b"Duda"]), "windows-1250");
        let by_text = |text: &'static [u8]| CodePage::detect([], [text]).name();
        assert_eq!(
            by_text(b"\xcf\xe5\xf8\xea\xe0 \xf1\xeb\xe0\xe1\xe0"),
            "windows-1251"
        );
        assert_eq!(by_text(b"\xa3d1 \xb3 M\xfcller"), "windows-1252");
    }

    #[test]
    fn a_few_names_and_utf_8_names_do_not_change_the_page() {
        let page = |names: &[&[u8]]| CodePage::detect(names.iter().copied(), []).name();
        // "Иванчук, Ли, «Алёна»"; the two letters of "Ли" are not enough.
        let cyrillic: [&[u8]; 4] = [
            b"\xc8\xe2\xe0\xed\xf7\xf3\xea",
            b"\xcb\xe8",
            b"\xdf\xed",
            b"\xab\xc0\xeb\xb8\xed\xe0\xbb",
        ];
        assert_eq!(page(&cyrillic), "windows-1251");
        let cut = &"Иван".as_bytes()[..7];
        assert_eq!(page(&[b"M\xfcller", cut, cut]), "windows-1252");
    }

    #[test]
    fn accepted_names_never_change_the_detected_page() {
        let bytes: Vec<u8> = (b'a'..=b'd').chain(0x80..=0xff).collect();
        for label in ["1250", "1251", "1252"] {
            let page = CodePage::from_label(label).unwrap();
            let mut names: Vec<&[u8]> = match label {
                "1250" => vec![b"\xa3ukasz"],
                "1251" => vec![b"\xc8\xe2\xe0\xed\xf7\xf3\xea"],
                _ => vec![],
            };
            let mut kept = 0;
            for len in [1, 2, 3, 5] {
                for name in bytes.windows(len).filter(|name| page.is_kept_by(name)) {
                    names.push(name);
                    kept += 1;
                    let detected = CodePage::detect(names.iter().copied(), []);
                    assert_eq!(detected, page, "{name:?}");
                }
            }
            assert!(kept > 50, "{label}: only {kept}");
        }
    }

    #[test]
    fn three_of_five_letters_decide_for_cyrillic() {
        let page = |label| CodePage::from_label(label).unwrap();
        let detected = |text: &'static [u8]| CodePage::detect([], [text]).name() == "windows-1251";
        // Five letters of Windows-1251, three of which are a word; and a sixth.
        let [half, fewer]: [&[u8]; 2] = [
            b"\xc8\xe2\xe0 m\xfc. \xe9n.",
            b"\xc8\xe2\xe0 m\xfc. \xe9n m\xfc.",
        ];
        let more: &[u8] = b"\xc8\xe2\xe0\xed m\xfc. \xe9n.";
        assert_eq!([fewer, half, more].map(detected), [false, false, true]);
        let kept = |label| [fewer, half, more].map(|text| page(label).is_kept_by_text(text));
        assert_eq!(kept("1251"), [false, true, true]);
        assert_eq!(kept("1252"), [true, true, false]);
        assert_eq!(kept("1250"), [true, true, false]);
        assert_eq!(kept("koi8-r"), [true; 3]);
    }

    #[test]
    fn a_page_has_many_labels() {
        for (label, name) in [
            ("1251", "windows-1251"),
            ("cp1251", "windows-1251"),
            ("CP1250", "windows-1250"),
            ("Windows-1252", "windows-1252"),
            ("latin1", "windows-1252"),
            ("iso-8859-2", "ISO-8859-2"),
            ("koi8-r", "KOI8-R"),
            ("cp866", "IBM866"),
            ("866", "IBM866"),
        ] {
            assert_eq!(CodePage::from_label(label).unwrap().name(), name);
            assert_eq!(CodePage::from_label(name).unwrap().name(), name);
        }
    }

    #[test]
    fn only_8_bit_pages_are_pages() {
        assert!(CodePage::from_label("utf-16").is_none());
        assert!(CodePage::from_label("nonsense").is_none());
        assert_eq!(CodePage::default().name(), "windows-1252");
    }

    #[test]
    fn an_edit_may_say_as_much_against_a_page_as_the_text_before_it() {
        // Two letters alone are no Cyrillic word; those of six are.
        let (latin, more, russian) = (
            &b"M\xfcller \xe9t\xe9"[..],
            b"M\xfcller \xe9t\xe9 \xe9t\xe9",
            b"\xca\xee\xf0\xf7\xed\xee\xe9",
        );
        for (page, before, after, is_kept) in [
            ("1251", latin, latin, true),
            ("1251", latin, more, false),
            ("1251", more, latin, true),
            ("1251", russian, latin, false),
            ("1251", latin, russian, true),
            ("1252", latin, russian, false),
            ("1252", russian, russian, true),
            ("1252", russian, latin, true),
        ] {
            let page = CodePage::from_label(page).unwrap();
            assert_eq!(
                page.is_kept_by_edit(before, after),
                is_kept,
                "{before:?} {after:?}"
            );
        }
    }
}
