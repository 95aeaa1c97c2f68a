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
