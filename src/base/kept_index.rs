//! The index of positions of a base in use: found in its file, made beside the
//! requests where there is none.
//!
//! All states of a base share one. Which games have changed since the file was
//! written each state finds out for itself, so it does not matter which state it was
//! made from, nor what is saved meanwhile.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::{Base, FilesState, IndexMaking, Searched, index_file, index_of};
use crate::search::{self, PositionTable, Segment, SourceError};

/// Positions of all games that are kept in memory, at most: 64 MiB, which some
/// fifty thousand games have.
const MOST_POSITIONS: usize = 4 << 20;

/// Maximum size of an index file that is built in the background; a larger one
/// is built only on request. Each position takes less than `POSITION_BYTES`.
const MOST_BYTES: u64 = 1 << 30;
const POSITION_BYTES: u64 = 4;

/// Number of changed games from which the file is updated.
const MANY_CHANGED: usize = search::MOST_CHANGED / 2;

/// The index of a base.
#[derive(Debug)]
pub(crate) struct KeptIndex {
    /// Where indexes are; `None` if nowhere.
    caches: Option<PathBuf>,
    /// Positions that are kept in memory instead, at most.
    most_in_memory: usize,
    state: Mutex<KeptState>,
    making: IndexMaking,
}

/// What is known of the file.
#[derive(Debug, Default)]
struct KeptState {
    segment: Option<Arc<Segment>>,
    /// The file that was looked at last: its device, number and time.
    looked_at: Option<[i64; 4]>,
    /// Whether all positions are too many for memory.
    is_large: bool,
    in_memory: bool,
    /// Why no index is built.
    refused: Option<String>,
}

impl KeptIndex {
    /// That of a base whose index may be in the directory `caches`.
    pub(crate) fn new(caches: Option<PathBuf>) -> KeptIndex {
        KeptIndex {
            caches,
            most_in_memory: MOST_POSITIONS,
            state: Mutex::default(),
            making: IndexMaking::default(),
        }
    }

    /// The same, as many positions being kept in memory.
    pub(crate) fn with_in_memory(self, positions: usize) -> KeptIndex {
        KeptIndex {
            most_in_memory: positions,
            ..self
        }
    }

    fn state(&self) -> MutexGuard<'_, KeptState> {
        self.state.lock()
    }

    fn path(&self, base: &dyn Base) -> Option<PathBuf> {
        Some(index_file(base, self.caches.as_ref()?))
    }

    /// Notes that a request is running, which the index thread must not slow
    /// down.
    pub(crate) fn note_reader(&self) {
        self.making.note_reader();
    }

    /// What the file has, if there is one.
    pub(crate) fn segment(&self, base: &dyn Base) -> Option<Arc<Segment>> {
        let path = self.path(base)?;
        let mut state = self.state();
        state.adopt(&self.making);
        if state.segment.is_none() && state.looks_again(&path) {
            match Segment::open(&path) {
                Ok(segment) => state.segment = Some(Arc::new(segment)),
                Err(error) => {
                    log::info!("{}: {error}", path.display());
                    if error.kind() != io::ErrorKind::InvalidData {
                        // It may be there the next time.
                        state.looked_at = None;
                    }
                }
            }
        }
        state.segment.clone()
    }

    /// The index of a base in this state. `None` if there is none yet; then it is
    /// being made, unless that is refused.
    ///
    /// # Errors
    ///
    /// [`SourceError`] if the headers of the base cannot be read.
    pub(crate) fn index(
        &self,
        base: &Arc<dyn Base>,
        opened: FilesState,
        in_variations: bool,
    ) -> Result<Option<PositionTable>, SourceError> {
        if let (Some(segment), Some(path)) = (self.segment(base.as_ref()), self.path(base.as_ref()))
        {
            let index = index_of(base.as_ref(), opened, &segment, &path, in_variations)?;
            if let Some(index) = index {
                self.renew_if_old(&index, base, opened);
                return Ok(Some(index));
            }
            self.discard(&segment);
        }
        if !self.is_large(base.as_ref())? {
            let most = self.most_in_memory;
            let index = PositionTable::build(&Searched(base.as_ref()), in_variations, most)?;
            if index.is_some() {
                self.state().in_memory = true;
                return Ok(index);
            }
            self.state().is_large = true;
        }
        self.make(base, opened);
        Ok(None)
    }

    /// Starts an update if the index is so outdated that it would soon be
    /// unusable.
    pub(crate) fn renew_if_old(
        &self,
        index: &PositionTable,
        base: &Arc<dyn Base>,
        opened: FilesState,
    ) {
        let changed = index.segment().map(|(_, changed)| changed.count() as usize);
        if changed.is_some_and(|changed| changed > MANY_CHANGED) {
            self.make(base, opened);
        }
    }

    /// Whether a file is not used any more.
    pub(crate) fn is_discarded(&self, segment: &Arc<Segment>) -> bool {
        let mut state = self.state();
        state.adopt(&self.making);
        !state
            .segment
            .as_ref()
            .is_some_and(|one| Arc::ptr_eq(one, segment))
    }

    /// Stops using a file that is damaged or too old.
    pub(crate) fn discard(&self, segment: &Arc<Segment>) {
        let mut state = self.state();
        if state
            .segment
            .as_ref()
            .is_some_and(|one| Arc::ptr_eq(one, segment))
        {
            state.segment = None;
        }
    }

    /// Whether there are too many positions for memory.
    fn is_large(&self, base: &dyn Base) -> Result<bool, SourceError> {
        if self.state().is_large {
            return Ok(true);
        }
        let positions = search::positions_of_headers(&Searched(base))?;
        let is_large = positions > self.most_in_memory as u64;
        let mut state = self.state();
        state.is_large = is_large;
        if positions * POSITION_BYTES > MOST_BYTES {
            state.refused = Some(format!(
                "none, since it would be large: `cbfs index {}` makes it",
                base.location()
                    .directory
                    .join(base.location().name.as_ref())
                    .display()
            ));
        }
        Ok(is_large)
    }

    /// Begins to make it beside the requests.
    fn make(&self, base: &Arc<dyn Base>, opened: FilesState) {
        let Some(path) = self.path(base.as_ref()) else {
            self.state().refused =
                Some("none, since there is no directory for caches: set HOME".into());
            return;
        };
        if self.state().refused.is_none() {
            self.making.start(base, opened, path);
        }
    }

    /// Ends the making; nothing is left of it.
    pub(crate) fn stop(&self) {
        self.making.stop();
    }

    /// What there is, for people.
    pub(crate) fn describe(&self) -> String {
        let mut state = self.state();
        state.adopt(&self.making);
        let made = match &state.segment {
            Some(segment) => Some(format!("in use, {} bytes", segment.bytes())),
            None if state.in_memory => Some("in memory".to_owned()),
            None => None,
        };
        let making = match self.making.progress() {
            Some(done) => Some(format!("being made, {done} %")),
            None => self.making.failed(),
        };
        match (made, making) {
            (Some(made), Some(making)) => format!("{made}; {making}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => {
                let refused = state.refused.clone();
                refused.unwrap_or_else(|| "none yet".to_owned())
            }
        }
    }
}

impl KeptState {
    /// Uses from now on what was made.
    fn adopt(&mut self, making: &IndexMaking) {
        if let Some(made) = making.take() {
            self.segment = Some(made);
        }
    }

    /// Whether the file is another one than when it was looked at last.
    fn looks_again(&mut self, path: &Path) -> bool {
        let now = fs::symlink_metadata(path).ok();
        let now = now.map(|file| {
            let [device, number] = [file.dev(), file.ino()].map(u64::cast_signed);
            [device, number, file.mtime(), file.mtime_nsec()]
        });
        let is_other = now.is_some() && now != self.looked_at;
        self.looked_at = now;
        is_other
    }
}
