//! Guiding texts: titles and pages in several languages, stored in `.cbg`.
//! Little-endian except for the blob size.
//!
//! | bytes | type | meaning |
//! |---|---|---|
//! | 1 | u8 | bit 7: a text and no game |
//! | 3 | u24 BE | size of the blob, these four bytes included |
//! | 2 | u16 | version 1, 2 or 3 |
//! | 2 | u16 | number of titles |
//! | … | | titles: language u16, length u16, bytes |
//! | 1 | u8 | 1 |
//! | 2 | u16 | number of contents |
//! | … | | contents, by version |
//!
//! | version | a content |
//! |---|---|
//! | 1 | language u16, length u16, plain text, length u16, format data |
//! | 2 | the same with lengths of u32 |
//! | 3 | language u16, length u32, HTML, 0 u32 |
//!
//! Titles and contents are independent lists. `ChessBase` 16 writes a content
//! for every language; unused ones are pages with an empty body and are
//! skipped.
//!
//! Plain texts are encoded in the 8-bit code page of the base, and their lines
//! end with CR. The byte 0x04 stands for an object (a diagram, picture or link)
//! that the format data describe in an unknown way. It is shown as `[#]`.
//!
//! A page uses the encoding it declares. If that is UTF-8 or missing, and the
//! bytes are not UTF-8, the code page of the base is used. Titles are UTF-8 or
//! in the code page of the base, regardless of the page.
//!
//! Verified with 36 real texts of versions 1 and 3. Version 2 is unconfirmed.

mod decode;
mod encode;
mod link;
mod page;

pub(super) use decode::decode;
pub(super) use encode::encode;
pub use link::{GameMention, Link};

use crate::game::{Defect, Source, Tournament};

/// A guiding text, and its defects.
#[derive(Clone, Debug, Default)]
pub struct GuidingText {
    /// The event that the text is about.
    pub tournament: Tournament,
    /// The publication it is from.
    pub source: Source,
    /// The author.
    pub annotator: String,
    /// Round, 0 if not given.
    pub round: u8,
    /// Game within the round, 0 if not given.
    pub subround: u8,
    /// Titles in stored order, including blank ones.
    pub titles: Vec<(TextLanguage, String)>,
    /// The contents that are not empty, in stored order; one per language.
    pub contents: Vec<Content>,
    /// Defects found while reading.
    pub defects: Vec<Defect>,
}

impl GuidingText {
    /// The title for `language`: the one in that language, else the one without
    /// a language, else the English one, else the first. Blank titles are
    /// ignored. Empty if there is none.
    pub fn title(&self, language: TextLanguage) -> &str {
        let mut titles = self.titles.iter().map(|(of, title)| (*of, title.trim()));
        let in_language = |wanted| {
            let mut all = titles.clone();
            all.find(|(of, title)| *of == wanted && !title.is_empty())
        };
        [language, TextLanguage::ANY, TextLanguage::ENGLISH]
            .into_iter()
            .find_map(in_language)
            .or_else(|| titles.find(|(_, title)| !title.is_empty()))
            .map_or("", |(_, title)| title)
    }
}

/// The content of a guiding text in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The language of the content.
    pub language: TextLanguage,
    /// The content.
    pub body: Body,
}

/// The two formats of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// An HTML page, or a part of one.
    Html(String),
    /// Plain text with LF at line ends.
    Plain(String),
}

/// Language of a title or content, by its stored number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextLanguage(pub u8);

impl TextLanguage {
    /// English.
    pub const ENGLISH: TextLanguage = TextLanguage(0);

    /// No particular language.
    pub const ANY: TextLanguage = TextLanguage(7);

    /// The ISO 639-1 code; `None` for [`ANY`](TextLanguage::ANY) and unknown
    /// numbers.
    pub fn code(self) -> Option<&'static str> {
        const CODES: [&str; 7] = ["en", "de", "fr", "es", "it", "nl", "pt"];
        CODES.get(usize::from(self.0)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_chosen_by_language_and_never_blank() {
        let text = |titles: &[(u8, &str)]| GuidingText {
            titles: titles
                .iter()
                .map(|(language, title)| (TextLanguage(*language), (*title).to_owned()))
                .collect(),
            ..GuidingText::default()
        };
        let german = TextLanguage(1);
        for (titles, expected) in [
            (&[(0, "one"), (1, "eins")][..], "eins"),
            (&[(0, "one"), (1, " ")], "one"),
            (&[(2, "un"), (0, "one")], "one"),
            (&[(0, "one"), (7, "1")], "1"),
            (&[(3, ""), (2, " un ")], "un"),
            (&[], ""),
        ] {
            assert_eq!(text(titles).title(german), expected);
        }
    }

    #[test]
    fn seven_languages_have_a_code() {
        let codes = (0..=8).map(|number| TextLanguage(number).code().unwrap_or("-"));
        let codes: Vec<&str> = codes.collect();
        assert_eq!(codes.join(" "), "en de fr es it nl pt - -");
        assert_eq!(TextLanguage::ENGLISH.code(), Some("en"));
        assert_eq!(TextLanguage::ANY.code(), None);
    }
}
