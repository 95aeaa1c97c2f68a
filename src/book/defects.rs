//! The defects found while a book is read.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use crate::game::Defect;

/// Maximum number of defects that are kept.
const MAX_DEFECTS: usize = 1000;

/// A set of defects, sorted by place.
#[derive(Debug, Default)]
pub(super) struct Defects {
    known: Mutex<BTreeSet<(&'static str, u64, String)>>,
}

impl Defects {
    /// Adds a defect.
    pub(super) fn note(&self, Defect { file, offset, what }: Defect) {
        let mut known = self.known.lock();
        if known.len() < MAX_DEFECTS {
            known.insert((file, offset, what));
        }
    }

    /// All defects, sorted by file and offset.
    pub(super) fn list(&self) -> Vec<Defect> {
        let known = self.known.lock();
        let defects = known.iter().cloned();
        defects
            .map(|(file, offset, what)| Defect { file, offset, what })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defects_are_kept_once_each_in_order_and_not_too_many() {
        let defects = Defects::default();
        let note = |offset, what: &str| {
            defects.note(Defect {
                file: "ctg",
                offset,
                what: what.to_owned(),
            });
        };
        for (offset, what) in [(7, "b"), (3, "c"), (7, "b"), (7, "a")] {
            note(offset, what);
        }
        let listed = defects
            .list()
            .into_iter()
            .map(|told| (told.offset, told.what));
        let wanted = [(3, "c"), (7, "a"), (7, "b")].map(|(at, what)| (at, what.to_owned()));
        assert!(listed.eq(wanted));
        for offset in 10..2000 {
            note(offset, "d");
        }
        assert_eq!(defects.list().len(), MAX_DEFECTS);
    }
}
