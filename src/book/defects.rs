//! What is found wrong with a book while it is read.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::game::Defect;

/// More than this is not remembered.
const MAX_DEFECTS: usize = 1000;

/// Facts, each once, by place.
#[derive(Debug, Default)]
pub(super) struct Defects {
    known: Mutex<BTreeSet<(&'static str, u64, String)>>,
}

impl Defects {
    /// Remembers a fact.
    pub(super) fn note(&self, Defect { file, offset, what }: Defect) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_DEFECTS {
            known.insert((file, offset, what));
        }
    }

    /// All of them, by file and place.
    pub(super) fn list(&self) -> Vec<Defect> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let defects = known.iter().cloned();
        defects
            .map(|(file, offset, what)| Defect { file, offset, what })
            .collect()
    }
}
