//! In which page a text of games is that is no UTF-8.

use std::collections::BTreeSet;

use encoding_rs::Encoding;

use super::dos::DosPage;
use crate::cbh::CodePage;
use crate::pgn::Page;

/// The page that is given for texts.
#[derive(Clone, Copy, Debug)]
pub enum TextPage {
    /// One that a base may have too.
    OfBase(CodePage),
    /// One of DOS.
    Dos(DosPage),
}

impl TextPage {
    /// The page of a label of [`CodePage`], or `437`, `cp850` and the like.
    pub fn from_label(label: &str) -> Option<TextPage> {
        let of_base = CodePage::from_label(label).map(TextPage::OfBase);
        of_base.or_else(|| DosPage::from_label(label).map(TextPage::Dos))
    }
}

/// The page of a text, and of each of its games: files are joined of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    usual: CodePage,
    is_given: bool,
}

impl Pages {
    /// As given, else as the begin of the text tells.
    pub(super) fn new(given: Option<TextPage>, head: &[u8]) -> Pages {
        let given = match given {
            Some(TextPage::OfBase(page)) => Some(page),
            _ => None,
        };
        Pages {
            usual: given.unwrap_or_else(|| detected(head)),
            is_given: given.is_some(),
        }
    }

    /// The page of a piece of the text: as given, as it tells itself, or as the
    /// others are unless it tells that it is not.
    pub(super) fn page_of(self, text: &[u8]) -> Page {
        Page {
            encoding: self.encoding_of(text),
            is_given: self.is_given,
        }
    }

    fn encoding_of(self, text: &[u8]) -> &'static Encoding {
        if self.is_given {
            return self.usual.encoding();
        }
        let own = detected(text);
        let is_told = own != CodePage::WESTERN;
        let page = if is_told || !self.usual.is_kept_by_text(text) {
            own
        } else {
            self.usual
        };
        page.encoding()
    }
}

/// The page that the names in tags and the other lines are most likely in.
/// Moves with Cyrillic letters for pieces tell it where nothing else does.
fn detected(text: &[u8]) -> CodePage {
    let lines = || text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let is_tag = |line: &&[u8]| line.trim_ascii_start().first() == Some(&b'[');
    let names = lines().filter(is_tag);
    let texts = lines().filter(|line| !is_tag(line));
    let page = CodePage::detect(names, texts);
    match page.encoding().name() {
        "windows-1251" if is_koi8(text) => page_of_label("koi8-r"),
        "windows-1252" => page_of_moves(lines().filter(|line| !is_tag(line))).unwrap_or(page),
        _ => page,
    }
}

fn page_of_label(label: &str) -> CodePage {
    CodePage::from_label(label).unwrap_or_default()
}

/// Whether a Cyrillic text is in KOI8-R: it has small letters where Windows-1251
/// has capitals. So the words tell it that have one capital, the first letter.
fn is_koi8(text: &[u8]) -> bool {
    let (mut koi8, mut windows) = (0_usize, 0_usize);
    for word in text.split(|byte| *byte < 0xc0) {
        let Some((first, rest)) = word.split_first().filter(|(_, rest)| rest.len() >= 2) else {
            continue;
        };
        let is_low = |byte: &u8| *byte < 0xe0;
        let low = rest.iter().filter(|byte| is_low(byte)).count();
        windows += usize::from(is_low(first) && low == 0);
        koi8 += usize::from(!is_low(first) && low == rest.len());
    }
    koi8 > windows
}

/// The page in which all letters in front of squares are those of Russian pieces.
fn page_of_moves<'t>(lines: impl Iterator<Item = &'t [u8]>) -> Option<CodePage> {
    const PIECES: [&str; 7] = [
        "\u{41a}",
        "\u{41a}\u{440}",
        "\u{41a}\u{420}",
        "\u{424}",
        "\u{41b}",
        "\u{421}",
        "\u{422}",
    ];
    let mut letters: BTreeSet<&[u8]> = BTreeSet::new();
    for line in lines {
        let words = line.split(|byte| matches!(byte, b' ' | b'\t' | b'.' | b'(' | b'{'));
        letters.extend(words.filter_map(letters_of_piece));
    }
    let mut pages = ["windows-1251", "koi8-r", "ibm866"]
        .map(page_of_label)
        .into_iter();
    let is_of_pieces = |page: &CodePage| {
        letters.iter().all(|letters| {
            let shown = page.encoding().decode_without_bom_handling(letters).0;
            PIECES.contains(&shown.as_ref())
        })
    };
    pages.find(is_of_pieces).filter(|_| !letters.is_empty())
}

/// What stands in front of the square of a word that may be a move, if it is one
/// or two bytes of a page.
fn letters_of_piece(word: &[u8]) -> Option<&[u8]> {
    let (letters, squares) = word.split_at(word.iter().position(u8::is_ascii)?);
    let squares = squares.strip_prefix(b"x").unwrap_or(squares);
    let is_square = matches!(squares, [b'a'..=b'h', b'1'..=b'8' | b'a'..=b'h' | b'x', ..]);
    (matches!(letters.len(), 1 | 2) && is_square).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_tells_its_page_else_the_file_does() {
        let cyrillic =
            b"[White \"\xca\xe0\xf0\xef\xee\xe2, \xc0\xed\xe0\xf2\xee\xeb\xe8\xe9\"]\n\n1. e4 *\n";
        let short = b"[White \"\xcb\xe8\"]\n\n1. e4 *\n";
        let western = b"[White \"H\xfcbner, Robert\"]\n\n1. e4 *\n";
        let polish = b"[White \"Wojtaszek, Rados\xb3aw\"]\n\n1. e4 *\n";
        let name = |head: &[u8], text: &[u8]| Pages::new(None, head).encoding_of(text).name();
        for (head, text, expected) in [
            (&cyrillic[..], &cyrillic[..], "windows-1251"),
            (cyrillic, short, "windows-1251"),
            (cyrillic, western, "windows-1252"),
            (western, cyrillic, "windows-1251"),
            (western, western, "windows-1252"),
            (western, polish, "windows-1250"),
            (polish, western, "windows-1250"),
            (b"", short, "windows-1252"),
        ] {
            assert_eq!(name(head, text), expected, "{head:?} {text:?}");
        }
        let koi8 =
            b"[White \"\xeb\xc1\xd2\xd0\xcf\xd7, \xe1\xce\xc1\xd4\xcf\xcc\xc9\xca\"]\n\n1. e4 *\n";
        assert_eq!(name(koi8, koi8), "KOI8-R");
        for (letters, page) in [
            (["\u{ca}", "\u{d1}"].concat(), "windows-1251"),
            (["\u{eb}", "\u{f3}"].concat(), "KOI8-R"),
            (["\u{8a}", "\u{91}"].concat(), "IBM866"),
            (["\u{d8}", "\u{d1}"].concat(), "windows-1252"),
        ] {
            let letters: Vec<u8> = letters.chars().map(|c| c as u8).collect();
            let moves = [
                b"1. e4 e5 2. ",
                &letters[..1],
                b"f3 d6 3. ",
                &letters[1..],
                b"xc4 *",
            ]
            .concat();
            assert_eq!(name(b"", &moves), page, "{letters:x?}");
        }
        let given = Pages::new(TextPage::from_label("866"), cyrillic);
        assert_eq!(given.encoding_of(cyrillic).name(), "IBM866");
    }
}
