//! Guiding texts: titles and pages in several languages, kept in `.cbg`.
//! Little-endian but for the size.
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
//! for every language; the unused ones are pages with an empty body and are
//! passed over here.
//!
//! Plain texts are in the base's 8-bit page, their lines end with CR, and
//! 0x04 stands for an object (a diagram, picture or link) that the format
//! data describe in a way nobody has found out. It is shown as `[#]`.
//!
//! A page is in the encoding it declares; where that is UTF-8 or nothing, and
//! the bytes are not UTF-8, in the base's page. Titles are in UTF-8 or the
//! base's page, whatever the page says.
//!
//! Seen in 36 real texts of versions 1 and 3. Unconfirmed: version 2.

mod decode;
mod encode;
mod link;

pub(super) use decode::decode;
pub(super) use encode::encode;
pub use link::{GameMention, Link};

use crate::game::{Defect, Source, Tournament};

/// A guiding text, with what of it could not be read.
#[derive(Clone, Debug, Default)]
pub struct GuidingText {
    /// The event it is about.
    pub tournament: Tournament,
    /// Where it was published.
    pub source: Source,
    /// Who wrote it.
    pub annotator: String,
    /// Round, 0 if not given.
    pub round: u8,
    /// Game within the round, 0 if not given.
    pub subround: u8,
    /// Titles in stored order, blank ones too.
    pub titles: Vec<(TextLanguage, String)>,
    /// The contents that show anything, in stored order; one per language.
    pub contents: Vec<Content>,
    /// What could not be read.
    pub defects: Vec<Defect>,
}

impl GuidingText {
    /// The title for a reader of `language`: the one in it, else the one in
    /// no language, else the English one, else the first; blank ones do not
    /// count. Empty if there is none.
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

/// What a guiding text says in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// In which language.
    pub language: TextLanguage,
    /// What it says.
    pub body: Body,
}

/// The two kinds of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A page of HTML, or a part of one.
    Html(String),
    /// Plain text, its lines ended by LF.
    Plain(String),
}

/// Language of a title or content, as guiding texts number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextLanguage(pub u8);

impl TextLanguage {
    /// English.
    pub const ENGLISH: TextLanguage = TextLanguage(0);

    /// No language, or any.
    pub const ANY: TextLanguage = TextLanguage(7);

    /// The code of ISO 639-1; `None` for [`ANY`](TextLanguage::ANY) and
    /// numbers that are not known.
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
}
