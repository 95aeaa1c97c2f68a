//! The index of positions of a mounted base: found in its file, made beside the
//! requests where there is none.
//!
//! All states of a base share one. Which games have changed since the file was
//! written each state finds out for itself, so it does not matter which state it was
//! made from, nor what is saved meanwhile.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::base::{self, Base, FilesState, Searched};
use crate::search::{self, Fault, Index, Phase, Segment};

/// Positions of all games that are kept in memory, at most: 64 MiB, which some
/// fifty thousand games have.
const MOST_POSITIONS: usize = 4 << 20;

/// A larger file is made only by who asks for it. A position takes less than so
/// many bytes there.
const MOST_BYTES: u64 = 1 << 30;
const POSITION_BYTES: u64 = 4;

/// So many changed games make it worth to be made anew.
const MANY_CHANGED: usize = search::MOST_CHANGED / 2;

/// How long the making rests when somebody asks for something, and how often in a
/// row: one who never stops asking does not end it.
const REST: Duration = Duration::from_millis(5);
const MOST_RESTS: u32 = 20;

/// The index of a base.
#[derive(Debug)]
pub(super) struct KeptIndex {
    /// Where indexes are; `None` if nowhere.
    caches: Option<PathBuf>,
    /// Positions that are kept in memory instead, at most.
    most_in_memory: usize,
    state: Mutex<State>,
    making: Arc<Making>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What is known of the file.
#[derive(Debug, Default)]
struct State {
    segment: Option<Arc<Segment>>,
    /// The file that was looked at last: its device, number and time.
    looked_at: Option<[i64; 4]>,
    /// Whether all positions are too many for memory.
    is_large: bool,
    in_memory: bool,
    /// Why none is made.
    refused: Option<String>,
}

/// What whoever makes it shares with those who ask.
#[derive(Debug, Default)]
struct Making {
    is_on: AtomicBool,
    /// What was made and nobody has looked at.
    made: Mutex<Option<Arc<Segment>>>,
    is_stopping: AtomicBool,
    /// Hundredths of the work that are done.
    done: AtomicUsize,
    /// Whether somebody asked for something since it looked last.
    is_asked: AtomicBool,
    failed: Mutex<Option<String>>,
}

impl KeptIndex {
    /// That of a base whose index may be in the directory `caches`.
    pub(super) fn new(caches: Option<PathBuf>) -> KeptIndex {
        KeptIndex {
            caches,
            most_in_memory: MOST_POSITIONS,
            state: Mutex::default(),
            making: Arc::default(),
            thread: Mutex::default(),
        }
    }

    /// The same, as many positions being kept in memory.
    pub(super) fn with_in_memory(self, positions: usize) -> KeptIndex {
        KeptIndex {
            most_in_memory: positions,
            ..self
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn path(&self, base: &dyn Base) -> Option<PathBuf> {
        Some(base::index_file(base, self.caches.as_ref()?))
    }

    /// Notes that somebody asks for something, who shall not wait.
    pub(super) fn note_reader(&self) {
        self.making.is_asked.store(true, Relaxed);
    }

    /// What the file has, if there is one.
    pub(super) fn segment(&self, base: &dyn Base) -> Option<Arc<Segment>> {
        let path = self.path(base)?;
        let mut state = self.state();
        state.adopt(&self.making);
        if state.segment.is_none() && state.looks_again(&path) {
            match Segment::open(&path) {
                Ok(segment) => state.segment = Some(Arc::new(segment)),
                Err(error) => log::info!("{}: {error}", path.display()),
            }
        }
        state.segment.clone()
    }

    /// The index of a base in this state. `None` if there is none yet; then it is
    /// being made, unless that is refused.
    ///
    /// # Errors
    ///
    /// [`Fault`] if the headers of the base cannot be read.
    pub(super) fn index(
        &self,
        base: &Arc<dyn Base>,
        opened: FilesState,
        in_variations: bool,
    ) -> Result<Option<Index>, Fault> {
        if let (Some(segment), Some(path)) = (self.segment(base.as_ref()), self.path(base.as_ref()))
        {
            let index = base::index_of(base.as_ref(), opened, &segment, &path, in_variations)?;
            if let Some(index) = index {
                self.renew_if_old(&index, base, opened);
                return Ok(Some(index));
            }
            self.leave(&segment);
        }
        if !self.is_large(base.as_ref())? {
            let most = self.most_in_memory;
            let index = Index::build(&Searched(base.as_ref()), in_variations, most)?;
            if index.is_some() {
                self.state().in_memory = true;
                return Ok(index);
            }
            self.state().is_large = true;
        }
        self.make(base, opened);
        Ok(None)
    }

    /// Has it made anew if so much has changed that it soon could not be used.
    pub(super) fn renew_if_old(&self, index: &Index, base: &Arc<dyn Base>, opened: FilesState) {
        let changed = index.segment().map(|(_, changed)| changed.count() as usize);
        if changed.is_some_and(|changed| changed > MANY_CHANGED) {
            self.make(base, opened);
        }
    }

    /// Whether a file is not used any more.
    pub(super) fn has_left(&self, segment: &Arc<Segment>) -> bool {
        let mut state = self.state();
        state.adopt(&self.making);
        !state
            .segment
            .as_ref()
            .is_some_and(|one| Arc::ptr_eq(one, segment))
    }

    /// Stops using a file that is damaged or too old.
    pub(super) fn leave(&self, segment: &Arc<Segment>) {
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
    fn is_large(&self, base: &dyn Base) -> Result<bool, Fault> {
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
        let making = &self.making;
        let is_refused = self.state().refused.is_some() || making.failed().is_some();
        if is_refused || making.is_stopping.load(Relaxed) || making.is_on.swap(true, Relaxed) {
            return;
        }
        let (base, making) = (Arc::clone(base), Arc::clone(making));
        let work = move || {
            // On Linux, this is that of this thread, and of those that it starts.
            if let Err(error) = rustix::process::nice(19) {
                log::debug!("nice: {error}");
            }
            making.run(base.as_ref(), opened, &path);
        };
        let started = thread::Builder::new().name("index".to_owned()).spawn(work);
        match started {
            Ok(started) => drop(self.thread().replace(started)),
            Err(error) => {
                self.making.fail(&error.to_string());
                self.making.is_on.store(false, Relaxed);
            }
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        lock(&self.thread)
    }

    /// Ends the making; nothing is left of it.
    pub(super) fn stop(&self) {
        self.making.is_stopping.store(true, Relaxed);
        let thread = self.thread().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread that made the index of positions panicked");
        }
    }

    /// What there is, for people.
    pub(super) fn describe(&self) -> String {
        let mut state = self.state();
        state.adopt(&self.making);
        let made = match &state.segment {
            Some(segment) => Some(format!("in use, {} bytes", segment.bytes())),
            None if state.in_memory => Some("in memory".to_owned()),
            None => None,
        };
        let making = if self.making.is_on.load(Relaxed) {
            Some(format!("being made, {} %", self.making.done.load(Relaxed)))
        } else {
            self.making.failed()
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

impl State {
    /// Uses from now on what was made.
    fn adopt(&mut self, making: &Making) {
        if let Some(made) = lock(&making.made).take() {
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

impl Making {
    fn failed(&self) -> Option<String> {
        lock(&self.failed).clone()
    }

    fn fail(&self, why: &str) {
        let why = format!("cannot be made, answers come from a search: {why}");
        log::warn!("the index of positions {why}");
        *lock(&self.failed) = Some(why);
    }

    fn run(&self, base: &dyn Base, opened: FilesState, path: &Path) {
        self.done.store(0, Relaxed);
        let mut goes_on = |phase: Phase| {
            self.done.store(hundredths(phase), Relaxed);
            self.rest_while_asked();
            !self.is_stopping.load(Relaxed)
        };
        let made = base::make_index(base, opened, path, &mut goes_on);
        let made = made.and_then(|is_made| Ok(is_made.then(|| Segment::open(path)).transpose()?));
        match made {
            Ok(made) => *lock(&self.made) = made.map(Arc::new),
            Err(fault) => self.fail(&format!("{}: {fault}", path.display())),
        }
        self.is_on.store(false, Relaxed);
    }

    fn rest_while_asked(&self) {
        for _ in 0..MOST_RESTS {
            if !self.is_asked.swap(false, Relaxed) || self.is_stopping.load(Relaxed) {
                return;
            }
            thread::sleep(REST);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How much is done; reading takes about two thirds of the time.
fn hundredths(phase: Phase) -> usize {
    let part = |done: u32, all: u32, of: u64| u64::from(done) * of / u64::from(all.max(1));
    let done = match phase {
        Phase::Reading(done, all) => part(done, all, 66),
        Phase::Writing(done, all) => 66 + part(done, all, 34),
    };
    usize::try_from(done.min(100)).unwrap_or(100)
}
