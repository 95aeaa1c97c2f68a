//! 8-bit code pages, as texts of games are in them that are no UTF-8.

use std::fmt;

use encoding_rs::{Encoding, WINDOWS_1252};
use oem_cp::code_table::DECODING_TABLE_CP_MAP;
use oem_cp::code_table_type::TableType;

/// What a byte is shown as that is no character of its page.
const NO_CHARACTER: char = char::REPLACEMENT_CHARACTER;

/// An 8-bit code page.
#[derive(Clone, Copy)]
pub struct EightBitPage(PageKind);

#[derive(Clone, Copy)]
enum PageKind {
    Standard(&'static Encoding),
    Dos {
        number: u16,
        table: &'static TableType,
    },
}

impl EightBitPage {
    /// Windows-1252, the page of Western Europe.
    pub const WESTERN: EightBitPage = EightBitPage(PageKind::Standard(WINDOWS_1252));

    /// A page of the WHATWG standard; `None` if the encoding is not 8-bit.
    pub fn of_encoding(encoding: &'static Encoding) -> Option<EightBitPage> {
        let is_page = encoding.is_single_byte();
        is_page.then_some(EightBitPage(PageKind::Standard(encoding)))
    }

    /// A page of DOS by its label: `437`, `cp850`, `ibm852`.
    pub fn of_dos(label: &str) -> Option<EightBitPage> {
        let label = label.to_ascii_lowercase();
        let number = ["cp", "ibm", "dos"]
            .iter()
            .find_map(|prefix| label.strip_prefix(prefix))
            .unwrap_or(&label);
        let number = number.trim_start_matches('-').parse().ok()?;
        let table = DECODING_TABLE_CP_MAP.get(&number)?;
        Some(EightBitPage(PageKind::Dos { number, table }))
    }

    /// The character of a byte, if the page has one.
    pub fn character(self, byte: u8) -> Option<char> {
        match self.0 {
            PageKind::Dos { table, .. } => table.decode_char_checked(byte),
            PageKind::Standard(encoding) => {
                let bytes = [byte];
                let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes);
                text?.chars().next()
            }
        }
    }

    /// The characters of a text; U+FFFD where the page has none.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self.0 {
            PageKind::Standard(encoding) => {
                let (text, _) = encoding.decode_without_bom_handling(bytes);
                text.into_owned()
            }
            PageKind::Dos { .. } => {
                let characters = bytes.iter();
                let characters = characters.map(|byte| self.character(*byte));
                characters.map(|c| c.unwrap_or(NO_CHARACTER)).collect()
            }
        }
    }
}

impl PartialEq for EightBitPage {
    fn eq(&self, other: &EightBitPage) -> bool {
        match (self.0, other.0) {
            (PageKind::Standard(one), PageKind::Standard(other)) => one == other,
            (PageKind::Dos { number: one, .. }, PageKind::Dos { number: other, .. }) => {
                one == other
            }
            _ => false,
        }
    }
}

impl Eq for EightBitPage {}

impl fmt::Display for EightBitPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PageKind::Standard(encoding) => f.write_str(encoding.name()),
            PageKind::Dos { number, .. } => write!(f, "page {number} of DOS"),
        }
    }
}

impl fmt::Debug for EightBitPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Page")
            .field(&format_args!("{self}"))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_dos_become_letters() {
        let decode = |label, bytes| EightBitPage::of_dos(label).unwrap().decode(bytes);
        assert_eq!(decode("437", b"M\x81ller, Wei\xe1"), "Müller, Weiß");
        assert_eq!(decode("cp850", b"\x9b \x9d"), "ø Ø");
        assert_eq!(decode("IBM852", b"Rados\x88aw"), "Radosław");
        assert_eq!(decode("857", b"a\xe7"), "a\u{fffd}");
        assert!(EightBitPage::of_dos("12").is_none());
    }

    #[test]
    fn a_page_need_not_have_a_character_for_each_byte() {
        let greek = EightBitPage::of_encoding(encoding_rs::WINDOWS_1253).unwrap();
        assert_eq!(greek.character(0xe1), Some('α'));
        assert_eq!(greek.character(0xff), None);
        assert_eq!(EightBitPage::of_dos("857").unwrap().character(0xe7), None);
        assert!(EightBitPage::of_encoding(encoding_rs::UTF_8).is_none());
    }
}
