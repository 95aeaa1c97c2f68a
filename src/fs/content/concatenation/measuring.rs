//! Lengths that are not known yet, found out by several threads.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::{Condvar, Mutex};

use super::{Sources, append_text};
use crate::fs::{Error, Ino};

/// Files rendered in one go at most: what the renderer keeps of the base gets
/// no older than that.
const MOST: usize = 256;

/// Fewer are not worth a second thread.
const FEWEST: usize = 8;

/// Files to be rendered for their lengths.
#[derive(Debug)]
pub(super) struct Measuring {
    files: Vec<Ino>,
    /// Files in one batch.
    batch: usize,
    /// The first file that nobody has taken yet.
    next: AtomicUsize,
    /// Files that have been taken and done.
    done: Mutex<usize>,
    progress: Condvar,
}

impl Measuring {
    /// For the asking thread and `helpers` others.
    pub(super) fn new(files: Vec<Ino>, helpers: usize) -> Measuring {
        Measuring {
            batch: files.len().div_ceil(4 * (helpers + 1)).clamp(FEWEST, MOST),
            files,
            next: AtomicUsize::new(0),
            done: Mutex::new(0),
            progress: Condvar::new(),
        }
    }

    /// How many batches there are.
    pub(super) fn batches(&self) -> usize {
        self.files.len().div_ceil(self.batch)
    }

    /// Does as many batches as there are left, until stopped.
    pub(super) fn help(&self, sources: Sources<'_>) {
        while !sources.background.is_stopping() && self.do_batch(sources) {}
    }

    /// Does what is left, and waits for the others; gives the files that have
    /// no length because they cannot be rendered.
    pub(super) fn finish(&self, sources: Sources<'_>) -> Vec<Ino> {
        while self.do_batch(sources) {}
        let is_unfinished = |done: &mut usize| *done < self.files.len();
        self.progress
            .wait_while(&mut self.done.lock(), is_unfinished);
        let files = self.files.iter().copied();
        files
            .filter(|ino| sources.sizes.get(*ino).is_none())
            .collect()
    }

    /// Does one batch; false if there is none left.
    fn do_batch(&self, sources: Sources<'_>) -> bool {
        let start = self.next.fetch_add(self.batch, Relaxed);
        let rest = self.files.get(start..).unwrap_or_default();
        let Some(files) = rest.chunks(self.batch).next() else {
            return false;
        };
        // Dropped on every way out, by panic too: nobody waits for ever.
        let _done = Done {
            measuring: self,
            files: files.len(),
        };
        let mut renderer = sources.volume.renderer();
        let mut text = Vec::new();
        for ino in files {
            if sources.sizes.get(*ino).is_some() {
                continue;
            }
            text.clear();
            match append_text(&mut renderer, *ino, &mut text) {
                Ok(measure) => sources.sizes.set(*ino, measure),
                // Nothing is made of a state that is over.
                Err(Error::Stale) => {}
                Err(error) => log::warn!(
                    "game {} is left out of pgn/ and games.pgn: {error}",
                    ino.index()
                ),
            }
        }
        true
    }
}

struct Done<'a> {
    measuring: &'a Measuring,
    files: usize,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        *self.measuring.done.lock() += self.files;
        self.measuring.progress.notify_all();
    }
}
