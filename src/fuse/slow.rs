//! Requests whose answers take long, such as the first `stat` of a book's
//! export: threads of their own answer them, so that a few of them do not keep
//! all others of the mount waiting.
//!
//! Requests that wait for the same work are answered one after the other by
//! one thread: the first does the work, and the others find it done.
//!
//! A save that may have to wait has a thread to itself, since what it waits for
//! is another save, not a work that is done once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use fuser::INodeNo;

use super::Adapter;
use super::nodes::Node;
use super::session::cores;
use crate::vfs::Ino;

/// An answer that somebody waits for.
type Answer = Box<dyn FnOnce() + Send>;

/// What each work is waited for by. Work that is here has been given to a
/// thread, or will be.
type Waiting = Mutex<HashMap<Ino, Vec<Answer>>>;

/// Threads that have time. They are started when first needed, and end with
/// the mount, which does not wait for them: what they write is in files
/// without a name.
#[derive(Clone, Default)]
pub(super) struct SlowRequests {
    waiting: Arc<Waiting>,
    work: Arc<OnceLock<Sender<Ino>>>,
}

impl std::fmt::Debug for SlowRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let works: Vec<Ino> = lock(&self.waiting).keys().copied().collect();
        f.debug_tuple("SlowRequests").field(&works).finish()
    }
}

impl SlowRequests {
    /// Gives `answer` when `work` is done, which it does itself if nobody has.
    fn answer(&self, work: Ino, answer: Answer) {
        let mut waiting = lock(&self.waiting);
        let is_new = !waiting.contains_key(&work);
        waiting.entry(work).or_default().push(answer);
        drop(waiting);
        let threads = self.work.get_or_init(|| start(&self.waiting));
        if is_new && threads.send(work).is_err() {
            // Without a single thread who asked does it.
            do_work(&self.waiting, work);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(waiting: &Arc<Waiting>) -> Sender<Ino> {
    let (sender, receiver) = mpsc::channel();
    let works = Arc::new(Mutex::new(receiver));
    for _ in 0..cores().clamp(4, 16) {
        let (works, waiting) = (Arc::clone(&works), Arc::clone(waiting));
        let thread = thread::Builder::new().name("slow".to_owned());
        if let Err(error) = thread.spawn(move || serve(&works, &waiting)) {
            log::error!("a thread for what takes long: {error}");
        }
    }
    sender
}

fn serve(works: &Mutex<Receiver<Ino>>, waiting: &Waiting) {
    loop {
        let next = lock(works).recv();
        match next {
            Ok(work) => do_work(waiting, work),
            // The mount has ended.
            Err(mpsc::RecvError) => return,
        }
    }
}

/// Gives all answers that wait for this, until none is left.
fn do_work(waiting: &Waiting, work: Ino) {
    loop {
        let mut all = lock(waiting);
        let answers = match all.get_mut(&work).map(std::mem::take) {
            Some(answers) if !answers.is_empty() => answers,
            _ => {
                all.remove(&work);
                return;
            }
        };
        drop(all);
        for answer in answers {
            answer();
        }
    }
}

impl Adapter {
    /// Answers at once, or if there is `work` to be done first that takes
    /// long, in a thread that has time.
    pub(super) fn in_time(
        &self,
        work: Option<Ino>,
        answer: impl FnOnce(&Adapter) + Send + 'static,
    ) {
        if let Some(work) = work {
            let adapter = self.clone();
            self.slow.answer(work, Box::new(move || answer(&adapter)));
        } else {
            answer(self);
        }
    }

    /// Has a request answered that saves `ino`, or what is called `name` in it.
    /// If that may take long a thread of its own does it: those that answer all
    /// other requests are few.
    pub(super) fn answer_save(
        &self,
        ino: INodeNo,
        name: Option<&OsStr>,
        answer: impl FnOnce(&Adapter) + Send + 'static,
    ) {
        let name = name.map(OsStr::as_bytes);
        if !self.profile.is_writable || !self.vfs.drafts().may_take_long(Node(ino.0).ino(), name) {
            return answer(self);
        }
        let adapter = self.clone();
        let thread = thread::Builder::new().name("save".to_owned());
        // fuser answers with an error what nobody answers.
        if let Err(error) = thread.spawn(move || answer(&adapter)) {
            log::error!("nothing can be saved: {error}");
        }
    }
}
