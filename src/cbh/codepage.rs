//! The 8-bit code pages of a base's names and texts.
//!
//! A base does not say which page its bytes are in. Recent ones hold UTF-8,
//! older ones the Windows page of the computer they were made on; both occur
//! in one base.

use encoding_rs::{Encoding, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252};

/// Ł Ą Ż ł ą Ľ ľ ż Ť ť of Windows-1250, which are no letters in
/// Windows-1252. Bytes that are letters in both decide nothing.
const CENTRAL_LETTERS: [u8; 10] = [0xa3, 0xa5, 0xaf, 0xb3, 0xb9, 0xbc, 0xbe, 0xbf, 0x8d, 0x9d];

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
    /// Windows-1252, the page of Western Europe and the usual one.
    pub const WESTERN: CodePage = CodePage {
        encoding: WINDOWS_1252,
    };

    /// The page of this label: `1252`, `cp1251`, `windows-1250`, `iso-8859-2`
    /// and whatever else the WHATWG standard calls an 8-bit encoding.
    pub fn from_label(label: &str) -> Option<CodePage> {
        Encoding::for_label(label.as_bytes())
            .or_else(|| Encoding::for_label(format!("windows-{label}").as_bytes()))
            .filter(|encoding| encoding.is_single_byte())
            .map(|encoding| CodePage { encoding })
    }

    /// The page that these names and texts are most likely in. UTF-8 and ASCII
    /// tell nothing; where all tells nothing, Windows-1252.
    ///
    /// Cyrillic names consist of high bytes, which are letters of Windows-1251
    /// from 0xC0 on; Western and Central European ones have single high bytes
    /// between ASCII letters. Of those, a byte that is a letter in
    /// Windows-1250 and a sign in 1252 decides.
    ///
    /// Texts can tell Cyrillic only: some bytes are chess signs in them.
    pub fn detect<'a>(
        names: impl IntoIterator<Item = &'a [u8]>,
        texts: impl IntoIterator<Item = &'a [u8]>,
    ) -> CodePage {
        let (mut cyrillic, mut high, mut central) = (0, 0, 0);
        let names = names.into_iter().map(|name| (name, true));
        let texts = texts.into_iter().map(|text| (text, false));
        for (name, is_name) in names.chain(texts) {
            if std::str::from_utf8(name).is_ok() {
                continue;
            }
            for run in name.split(u8::is_ascii) {
                high += run.len();
                let is_word = run.len() >= 3 && run.iter().all(|&byte| byte >= 0xc0);
                cyrillic += if is_word { run.len() } else { 0 };
                let is_central = |byte: &&u8| is_name && CENTRAL_LETTERS.contains(byte);
                central += run.iter().filter(is_central).count();
            }
        }
        let encoding = if cyrillic * 5 > high * 3 {
            WINDOWS_1251
        } else if central > 0 {
            WINDOWS_1250
        } else {
            WINDOWS_1252
        };
        CodePage { encoding }
    }

    /// The standard name of the page, such as `windows-1252`.
    pub fn name(self) -> &'static str {
        self.encoding.name()
    }

    /// Appends what `bytes` say: UTF-8 if they are that (a last character
    /// cut short by its field is dropped), else this page.
    pub fn decode_into(self, bytes: &[u8], out: &mut String) {
        match std::str::from_utf8(bytes) {
            Ok(text) => out.push_str(text),
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
                if whole.is_ascii() {
                    self.decode_page_into(bytes, out);
                } else {
                    out.push_str(std::str::from_utf8(whole).unwrap_or_default());
                }
            }
            Err(_) => self.decode_page_into(bytes, out),
        }
    }

    /// Whether chess signs take the place of some of its letters in texts:
    /// so it is in Windows-1252 only.
    pub(super) fn has_chess_signs(self) -> bool {
        self.encoding == WINDOWS_1252
    }

    /// What `bytes` say, if [`encode`](CodePage::encode) would give the same
    /// bytes for it.
    pub(super) fn decode_exactly(self, bytes: &[u8]) -> Option<String> {
        let mut text = String::new();
        self.decode_into(bytes, &mut text);
        (self.encode(&text) == bytes).then_some(text)
    }

    /// The bytes of `text` in this page; `None` if it lacks a character.
    pub(super) fn encode_exactly(self, text: &str) -> Option<Vec<u8>> {
        let (bytes, _, has_unmappable) = self.encoding.encode(text);
        (!has_unmappable).then(|| bytes.into_owned())
    }

    /// The bytes of `text` in this page, or in UTF-8 if the page lacks a
    /// character or its bytes would be read as UTF-8.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        let in_page = self.encode_exactly(text);
        let is_read_back =
            |bytes: &Vec<u8>| bytes.is_ascii() || std::str::from_utf8(bytes).is_err();
        in_page
            .filter(is_read_back)
            .unwrap_or_else(|| text.as_bytes().to_vec())
    }

    /// As [`decode_into`](CodePage::decode_into), for bytes that are not
    /// UTF-8.
    pub(super) fn decode_page_into(self, bytes: &[u8], out: &mut String) {
        out.push_str(&self.encoding.decode_without_bom_handling(bytes).0);
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
    fn names_tell_their_page() {
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
}
