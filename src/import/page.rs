//! In which page a text of games is that is no UTF-8.

mod evidence;
mod languages;
mod sample;

use self::evidence::Evidence;
pub(super) use self::sample::Sample;
use crate::cbh::CodePage;
use crate::pgn::{EightBitPage, InPage, Trust};

/// The page of a label of [`CodePage`], or of DOS: `437`, `cp850` and the like.
pub fn page_of_label(label: &str) -> Option<EightBitPage> {
    let of_base = CodePage::from_label(label);
    let of_base = of_base.and_then(|page| EightBitPage::of_encoding(page.encoding()));
    of_base.or_else(|| EightBitPage::of_dos(label))
}

/// The page of a text, and of each of its games: files are joined of others.
#[derive(Debug)]
pub(super) struct TextPages {
    given: Option<EightBitPage>,
    evidence: Evidence,
}

impl TextPages {
    /// As given, else as the begin of the text tells.
    pub(super) fn new(given: Option<EightBitPage>, head: &[u8]) -> TextPages {
        let mut evidence = Evidence::default();
        if given.is_none() {
            evidence.add(head);
        }
        TextPages { given, evidence }
    }

    /// The page of the next piece of the text: as given, as it tells itself, or as
    /// what came before and the begin of the text are unless it tells that it is
    /// not.
    pub(super) fn page_of(&mut self, text: &[u8]) -> InPage {
        if let Some(page) = self.given {
            let (rival, trust) = (None, Trust::Given);
            return InPage { page, rival, trust };
        }
        self.evidence.add(text);
        self.evidence.page_of(text)
    }
}

#[cfg(test)]
mod tests;
