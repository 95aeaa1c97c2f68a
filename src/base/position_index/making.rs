//! An index that is made beside requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{FilesState, make_index};
use crate::base::Base;
use crate::search::{Phase, Segment};

/// Time that the thread pauses while requests arrive, and maximum number of pauses in a
/// row, so that a constant load does not stop it.
const REST: Duration = Duration::from_millis(5);
const MOST_RESTS: u32 = 20;

/// After this time it is tried again to make an index that could not be made: whatever
/// was in the way, such as a full disk, may be gone.
const AGAIN_AFTER: Duration = Duration::from_secs(600);

/// A thread that makes an index, with low priority.
#[derive(Debug, Default)]
pub struct IndexMaking {
    work: Arc<SharedWork>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread shares with those who ask.
#[derive(Debug, Default)]
struct SharedWork {
    is_on: AtomicBool,
    /// What was made and nobody has taken.
    made: Mutex<Option<Arc<Segment>>>,
    is_stopping: AtomicBool,
    /// Hundredths of the work that are done.
    done: AtomicUsize,
    /// Whether somebody asked for something since it looked last.
    is_asked: AtomicBool,
    failed: Mutex<Option<Failure>>,
}

/// That an index could not be made.
#[derive(Debug)]
struct Failure {
    why: String,
    at: Instant,
}

impl Failure {
    fn is_recent(&self) -> bool {
        self.at.elapsed() < AGAIN_AFTER
    }
}

impl IndexMaking {
    /// Begins to make the index of a base in `path`, unless that is under way, was
    /// stopped, or has just failed.
    pub fn start(&self, base: &Arc<dyn Base>, opened: FilesState, path: PathBuf) {
        let work = Arc::clone(&self.work);
        if work.failed.lock().as_ref().is_some_and(Failure::is_recent)
            || work.is_stopping.load(Relaxed)
            || work.is_on.swap(true, Relaxed)
        {
            return;
        }
        let base = Arc::clone(base);
        let run = move || {
            // On Linux, this is that of this thread, and of those that it starts.
            if let Err(error) = rustix::process::nice(19) {
                log::debug!("nice: {error}");
            }
            work.run(base.as_ref(), opened, &path);
        };
        match thread::Builder::new().name("index".to_owned()).spawn(run) {
            Ok(started) => drop(self.thread.lock().replace(started)),
            Err(error) => {
                self.work.fail(&error.to_string());
                self.work.is_on.store(false, Relaxed);
            }
        }
    }

    /// Ends it; nothing is left of what is not finished.
    pub fn stop(&self) {
        self.work.is_stopping.store(true, Relaxed);
        let thread = self.thread.lock().take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            log::error!("the thread that made the index of positions panicked");
        }
    }

    /// Notes that somebody asks for something, who shall not wait.
    pub fn note_reader(&self) {
        self.work.is_asked.store(true, Relaxed);
    }

    /// What was made, once.
    pub fn take(&self) -> Option<Arc<Segment>> {
        self.work.made.lock().take()
    }

    /// Hundredths of it that are done, if it is under way.
    pub fn progress(&self) -> Option<usize> {
        let is_on = self.work.is_on.load(Relaxed);
        is_on.then(|| self.work.done.load(Relaxed))
    }

    /// Why it has failed, if so.
    pub fn failed(&self) -> Option<String> {
        let failed = self.work.failed.lock();
        failed.as_ref().map(|failure| failure.why.clone())
    }
}

impl SharedWork {
    fn fail(&self, why: &str) {
        let why = format!("cannot be made, answers come from a search: {why}");
        log::warn!("the index of positions {why}");
        let at = Instant::now();
        *self.failed.lock() = Some(Failure { why, at });
    }

    fn run(&self, base: &dyn Base, opened: FilesState, path: &Path) {
        self.done.store(0, Relaxed);
        let mut goes_on = |phase: Phase| {
            self.done.store(hundredths(phase), Relaxed);
            self.rest_while_asked();
            !self.is_stopping.load(Relaxed)
        };
        let made = make_index(base, opened, path, &mut goes_on);
        let made = made.and_then(|is_made| Ok(is_made.then(|| Segment::open(path)).transpose()?));
        match made {
            Ok(made) => {
                *self.made.lock() = made.map(Arc::new);
                *self.failed.lock() = None;
            }
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

/// How much is done; reading takes about two thirds of the time.
fn hundredths(phase: Phase) -> usize {
    let part = |done: u32, all: u32, of: u64| u64::from(done) * of / u64::from(all.max(1));
    let done = match phase {
        Phase::Reading(done, all) => part(done, all, 66),
        Phase::Writing(done, all) => 66 + part(done, all, 34),
    };
    usize::try_from(done.min(100)).unwrap_or(100)
}
