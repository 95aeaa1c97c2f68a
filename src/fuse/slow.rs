//! Requests with slow replies, such as the first `stat` of the export of a
//! book. Separate threads answer them, so that they do not delay the other
//! requests of the mount.
//!
//! Requests that need the same work are answered by one thread in turn: the
//! first one does the work, and the others find it done.
//!
//! A save that may have to wait has a thread of its own, because it waits for
//! another save and not for work that is done once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, OnceLock};
use std::thread;

use fuser::INodeNo;
use parking_lot::Mutex;

use super::Adapter;
use super::nodes::KernelInode;
use super::session::cores;
use crate::vfs::Ino;

/// Callback that answers a request.
type Answer = Box<dyn FnOnce() + Send>;

/// Pending requests by the work that they need. Each work in the map has a
/// thread, or is in the queue for one.
type Waiting = Mutex<HashMap<Ino, Vec<Answer>>>;

/// Threads for slow requests. They start when first needed and end with the
/// mount, which does not wait for them: what they write is in unnamed files.
#[derive(Clone, Default)]
pub(super) struct SlowRequests {
    waiting: Arc<Waiting>,
    work: Arc<OnceLock<Sender<Ino>>>,
}

impl std::fmt::Debug for SlowRequests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let works: Vec<Ino> = self.waiting.lock().keys().copied().collect();
        f.debug_tuple("SlowRequests").field(&works).finish()
    }
}

impl SlowRequests {
    /// Calls `answer` in a thread that does this work, unless it was done
    /// before.
    fn answer(&self, work: Ino, answer: Answer) {
        let mut waiting = self.waiting.lock();
        let is_new = !waiting.contains_key(&work);
        waiting.entry(work).or_default().push(answer);
        drop(waiting);
        let threads = self.work.get_or_init(|| start(&self.waiting));
        if is_new && threads.send(work).is_err() {
            // If no thread could be started, the work is done here.
            do_work(&self.waiting, work);
        }
    }
}

fn start(waiting: &Arc<Waiting>) -> Sender<Ino> {
    let (sender, receiver) = mpsc::channel();
    let works = Arc::new(Mutex::new(receiver));
    for _ in 0..cores().clamp(4, 16) {
        let (works, waiting) = (Arc::clone(&works), Arc::clone(waiting));
        let thread = thread::Builder::new().name("slow".to_owned());
        if let Err(error) = thread.spawn(move || serve(&works, &waiting)) {
            log::error!("cannot start a thread for slow requests: {error}");
        }
    }
    sender
}

fn serve(works: &Mutex<Receiver<Ino>>, waiting: &Waiting) {
    loop {
        let next = works.lock().recv();
        match next {
            Ok(work) => do_work(waiting, work),
            // The mount has ended.
            Err(mpsc::RecvError) => return,
        }
    }
}

/// Calls all answers that wait for this work.
fn do_work(waiting: &Waiting, work: Ino) {
    loop {
        let mut all = waiting.lock();
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
    /// Answers at once, or in a separate thread if there is slow `work` to be
    /// done first.
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

    /// Answers a request that saves `ino`, or the file `name` in it. If that
    /// may take long, a thread of its own does it, because the request threads
    /// are few.
    pub(super) fn answer_save(
        &self,
        ino: INodeNo,
        name: Option<&OsStr>,
        answer: impl FnOnce(&Adapter) + Send + 'static,
    ) {
        let name = name.map(OsStr::as_bytes);
        if !self.profile.is_writable
            || !self
                .vfs
                .drafts()
                .may_take_long(KernelInode(ino.0).ino(), name)
        {
            return answer(self);
        }
        let adapter = self.clone();
        let thread = thread::Builder::new().name("save".to_owned());
        // fuser answers with an error when the reply is dropped.
        if let Err(error) = thread.spawn(move || answer(&adapter)) {
            log::error!("cannot start a thread for a save: {error}");
        }
    }
}
