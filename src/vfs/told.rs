//! The names that the kernel was told of and may still know.
//!
//! They are called back when a base has changed, and when somebody was told of
//! a state that was over by then: else the kernel would keep that for a day.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::Ino;

/// Names remembered, at most: some 2 MB.
const MOST: usize = 16_384;

/// Names of files, each with its directory.
#[derive(Debug, Default)]
pub(super) struct Names {
    told: Mutex<Told>,
    are_outdated: AtomicBool,
}

#[derive(Debug, Default)]
struct Told {
    names: HashSet<(Ino, Box<[u8]>)>,
    are_too_many: bool,
}

impl Names {
    /// Notes that some of them may be of a state that is over.
    pub(super) fn call_back(&self) {
        self.are_outdated.store(true, Relaxed);
    }

    /// Whether that was noted since the last time.
    pub(super) fn were_called_back(&self) -> bool {
        self.are_outdated.swap(false, Relaxed)
    }

    /// Notes that the kernel is told of `name` in `directory`.
    pub(super) fn add(&self, directory: Ino, name: &[u8]) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.are_too_many {
            return;
        }
        if told.names.len() >= MOST {
            told.names = HashSet::new();
            told.are_too_many = true;
            return;
        }
        told.names.insert((directory, name.into()));
    }

    /// All names told since the last time; `None` if they are too many.
    pub(super) fn take(&self) -> Option<Vec<(Ino, Box<[u8]>)>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let Told {
            names,
            are_too_many,
        } = std::mem::take(&mut *told);
        drop(told);
        (!are_too_many).then(|| names.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_once_and_too_many_are_told_as_such() {
        let names = Names::default();
        assert!(!names.were_called_back());
        names.call_back();
        assert!(names.were_called_back() && !names.were_called_back());
        names.add(Ino(2), b"a");
        names.add(Ino(2), b"a");
        names.add(Ino(3), b"a");
        assert_eq!(names.take().unwrap().len(), 2);
        assert_eq!(names.take(), Some(Vec::new()));
        for number in 0..=MOST {
            names.add(Ino(2), number.to_string().as_bytes());
        }
        names.add(Ino(2), b"a");
        assert_eq!(names.take(), None);
        assert_eq!(names.take(), Some(Vec::new()));
    }
}
