//! In which page a text of games is that is no UTF-8.

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
fn detected(text: &[u8]) -> CodePage {
    let lines = || text.split(|byte| matches!(byte, b'\n' | b'\r'));
    let is_tag = |line: &&[u8]| line.trim_ascii_start().first() == Some(&b'[');
    let names = lines().filter(is_tag);
    let texts = lines().filter(|line| !is_tag(line));
    CodePage::detect(names, texts)
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
        let given = Pages::new(TextPage::from_label("866"), cyrillic);
        assert_eq!(given.encoding_of(cyrillic).name(), "IBM866");
    }
}
