//! File locks: flock(2) and fcntl(2).
//!
//! Each text of a game is an inode of its own for the kernel, and a writer has
//! an inode alone, so kernel locks would not exclude anyone. Locks are
//! therefore kept here, by the number of the game: the holder of a lock
//! excludes all others, whichever text they have open.
//!
//! fuser does not report the kind of a lock. A process that holds both kinds
//! through one open file does not exclude itself; otherwise, both kinds exclude
//! each other, as on NFS.
//!
//! While a process waits for a lock, the kernel does not interrupt the request
//! on a signal, and fuser ignores `FUSE_INTERRUPT`. A thread therefore polls for
//! pending signals of the waiting threads, and answers `EINTR`. Threads of
//! another PID namespace cannot be inspected: they get `EINTR` after a fixed
//! time, and have to ask again.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fuser::Errno;
use parking_lot::{Mutex, MutexGuard};

use crate::vfs::{Handle, Ino};

/// Interval of polling for signals.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum wait of threads whose signals cannot be inspected.
const MAX_UNSEEN_WAIT: Duration = Duration::from_secs(1);

/// The last byte of a file, as lock ranges count them.
const END: u64 = i64::MAX as u64;

/// Maximum number of locks, and of waiting requests, for one file.
const MOST: usize = 10_000;

/// A lock on a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    /// The kernel's id of the open file or process that owns the lock.
    pub(super) owner: u64,
    pub(super) handle: Handle,
    pub(super) process: u32,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) is_exclusive: bool,
}

impl Lock {
    fn excludes(&self, other: &Lock) -> bool {
        let is_same = self.owner == other.owner
            || (self.process == other.process && self.handle == other.handle);
        let overlaps = self.first <= other.last && other.first <= self.last;
        !is_same && overlaps && (self.is_exclusive || other.is_exclusive)
    }

    fn is_whole(&self) -> bool {
        self.first == 0 && self.last >= END
    }
}

/// Callback for the reply to a waiting request.
type Answer = Box<dyn FnOnce(Result<(), Errno>) + Send>;

struct Waiting {
    lock: Lock,
    thread: u32,
    since: Instant,
    answer: Answer,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiting").field(&self.lock).finish()
    }
}

#[derive(Debug, Default)]
struct LockTable {
    files: HashMap<Ino, LockedFile>,
    is_looking: bool,
}

#[derive(Debug, Default)]
struct LockedFile {
    held: Vec<Lock>,
    /// In order of arrival.
    waiting: Vec<Waiting>,
}

impl LockedFile {
    fn conflict(&self, wanted: &Lock) -> Option<Lock> {
        self.held.iter().find(|lock| lock.excludes(wanted)).copied()
    }

    /// Releases a range of bytes of an owner.
    fn release(&mut self, owner: u64, first: u64, last: u64) {
        let held = std::mem::take(&mut self.held);
        for lock in held {
            if lock.owner != owner || lock.first > last || lock.last < first {
                self.held.push(lock);
                continue;
            }
            if lock.first < first {
                let last = first - 1;
                self.held.push(Lock { last, ..lock });
            }
            if lock.last > last {
                let first = last + 1;
                self.held.push(Lock { first, ..lock });
            }
        }
    }

    fn hold(&mut self, lock: Lock) {
        self.release(lock.owner, lock.first, lock.last);
        self.held.push(lock);
    }

    /// Grants the waiting locks that are free now. Returns their replies.
    fn grant(&mut self) -> Vec<Answer> {
        let mut granted = Vec::new();
        let mut at = 0;
        while let Some(next) = self.waiting.get(at) {
            if self.conflict(&next.lock).is_some() {
                at += 1;
                continue;
            }
            let Waiting { lock, answer, .. } = self.waiting.remove(at);
            self.hold(lock);
            granted.push(answer);
        }
        granted
    }
}

/// All file locks of a mount.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks(Arc<Mutex<LockTable>>);

impl Locks {
    fn lock(&self) -> MutexGuard<'_, LockTable> {
        self.0.lock()
    }

    /// Returns a lock that conflicts with `wanted`, if there is one.
    pub(super) fn conflict(&self, ino: Ino, wanted: &Lock) -> Option<Lock> {
        self.lock().files.get(&ino)?.conflict(wanted)
    }

    /// Acquires a lock, or fails with `EAGAIN`.
    pub(super) fn try_hold(&self, ino: Ino, lock: Lock) -> Result<(), Errno> {
        let mut answers = Vec::new();
        let held = {
            let mut state = self.lock();
            let file = state.files.entry(ino).or_default();
            if file.conflict(&lock).is_some() {
                Err(Errno::EAGAIN)
            } else if file.held.len() >= MOST {
                Err(Errno::ENOLCK)
            } else {
                file.hold(lock);
                // The new lock may be weaker than the one before.
                answers = file.grant();
                Ok(())
            }
        };
        answer_all(answers);
        held
    }

    /// Acquires a lock as soon as possible, and answers then. `thread` is the
    /// waiting thread.
    pub(super) fn hold(
        &self,
        ino: Ino,
        lock: Lock,
        thread: u32,
        answer: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        let held = self.try_hold(ino, lock);
        if held != Err(Errno::EAGAIN) {
            return answer(held);
        }
        let mut state = self.lock();
        let file = state.files.entry(ino).or_default();
        if file.waiting.len() >= MOST {
            drop(state);
            return answer(Err(Errno::ENOLCK));
        }
        if lock.is_whole() {
            // As flock(2) does, so that two holders of a shared lock can wait
            // for each other.
            file.release(lock.owner, 0, u64::MAX);
        }
        file.waiting.push(Waiting {
            lock,
            thread,
            since: Instant::now(),
            answer: Box::new(answer),
        });
        let answers = file.grant();
        let looks = std::mem::replace(&mut state.is_looking, true);
        drop(state);
        answer_all(answers);
        if !looks {
            self.poll_signals();
        }
    }

    /// Releases a range of bytes.
    pub(super) fn release(&self, ino: Ino, owner: u64, first: u64, last: u64) {
        self.change(ino, |file| file.release(owner, first, last));
    }

    /// Releases all locks of a handle that is being closed.
    pub(super) fn close(&self, ino: Ino, handle: Handle) {
        self.change(ino, |file| file.held.retain(|lock| lock.handle != handle));
    }

    fn change(&self, ino: Ino, change: impl FnOnce(&mut LockedFile)) {
        let mut state = self.lock();
        let Some(file) = state.files.get_mut(&ino) else {
            return;
        };
        change(file);
        let answers = file.grant();
        if file.held.is_empty() && file.waiting.is_empty() {
            state.files.remove(&ino);
        }
        drop(state);
        answer_all(answers);
    }

    /// Starts a thread that polls for signals while requests wait.
    fn poll_signals(&self) {
        let locks = self.clone();
        let thread = thread::Builder::new().name("locks".to_owned());
        let started = thread.spawn(move || {
            while locks.interrupt(is_interrupted) {
                thread::sleep(POLL_INTERVAL);
            }
        });
        if let Err(error) = started {
            log::error!("waits for locks cannot be interrupted: {error}");
            self.lock().is_looking = false;
        }
    }

    /// Answers the waiting requests for which `to_stop` is true. Returns
    /// whether others still wait.
    fn interrupt(&self, to_stop: impl Fn(u32, Duration) -> bool) -> bool {
        let mut state = self.lock();
        let mut stopped = Vec::new();
        let mut is_waiting = false;
        for file in state.files.values_mut() {
            let waiting = std::mem::take(&mut file.waiting);
            let (gone, left) = waiting
                .into_iter()
                .partition(|one| to_stop(one.thread, one.since.elapsed()));
            file.waiting = left;
            is_waiting |= !file.waiting.is_empty();
            stopped.extend(gone);
        }
        state.is_looking = is_waiting;
        drop(state);
        for Waiting { answer, .. } in stopped {
            answer(Err(Errno::EINTR));
        }
        is_waiting
    }
}

fn answer_all(answers: Vec<Answer>) {
    for answer in answers {
        answer(Ok(()));
    }
}

/// Returns whether a waiting thread has a pending signal, or cannot be
/// inspected and has waited long enough.
fn is_interrupted(thread: u32, waited: Duration) -> bool {
    let status = match thread {
        0 => None,
        thread => fs::read_to_string(format!("/proc/{thread}/status")).ok(),
    };
    status.map_or(waited >= MAX_UNSEEN_WAIT, |status| has_signal(&status))
}

/// Returns whether `/proc/PID/status` shows a pending signal that is not
/// blocked.
fn has_signal(status: &str) -> bool {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
            .unwrap_or(0)
    };
    (set("SigPnd:") | set("ShdPnd:")) & !set("SigBlk:") != 0
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, TryRecvError, channel};

    use super::*;

    const GAME: Ino = Ino::new(1, 7);

    /// A lock of the whole file by a process that has it open once.
    fn lock(owner: u64, is_exclusive: bool) -> Lock {
        Lock {
            owner,
            handle: Handle(owner),
            process: u32::try_from(owner).unwrap(),
            first: 0,
            last: END,
            is_exclusive,
        }
    }

    fn wait(locks: &Locks, lock: Lock) -> Receiver<Result<(), Errno>> {
        let (sender, receiver) = channel();
        let answer = move |answer| sender.send(answer).unwrap();
        locks.hold(GAME, lock, std::process::id(), answer);
        receiver
    }

    fn answer_to(waiting: &Receiver<Result<(), Errno>>) -> Result<(), Errno> {
        waiting.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    #[test]
    fn a_lock_excludes_others_until_it_is_released() {
        let locks = Locks::default();
        locks.try_hold(GAME, lock(1, false)).unwrap();
        locks.try_hold(GAME, lock(2, false)).unwrap();
        assert_eq!(locks.try_hold(GAME, lock(3, true)), Err(Errno::EAGAIN));
        locks.try_hold(Ino::new(1, 8), lock(3, true)).unwrap();
        locks.release(GAME, 1, 0, END);
        assert_eq!(locks.try_hold(GAME, lock(2, true)), Ok(()), "it is its own");
        assert_eq!(locks.conflict(GAME, &lock(3, false)), Some(lock(2, true)));
        locks.close(GAME, Handle(2));
        assert_eq!(locks.conflict(GAME, &lock(3, true)), None);
        assert!(!locks.lock().files.contains_key(&GAME));
    }

    #[test]
    fn a_waiting_request_gets_the_lock_when_it_is_free() {
        let locks = Locks::default();
        locks.try_hold(GAME, lock(1, true)).unwrap();
        let (second, third) = (wait(&locks, lock(2, true)), wait(&locks, lock(3, true)));
        assert_eq!(second.try_recv(), Err(TryRecvError::Empty));
        locks.release(GAME, 1, 0, END);
        assert_eq!(answer_to(&second), Ok(()));
        assert_eq!(third.try_recv(), Err(TryRecvError::Empty));
        locks.close(GAME, Handle(2));
        assert_eq!(answer_to(&third), Ok(()));
    }

    #[test]
    fn two_shared_holders_can_both_wait_for_the_exclusive_lock() {
        let locks = Locks::default();
        locks.try_hold(GAME, lock(1, false)).unwrap();
        locks.try_hold(GAME, lock(2, false)).unwrap();
        let first = wait(&locks, lock(1, true));
        let second = wait(&locks, lock(2, true));
        assert_eq!(answer_to(&second), Ok(()));
        locks.close(GAME, Handle(2));
        assert_eq!(answer_to(&first), Ok(()));
    }

    #[test]
    fn ranges_are_locked_independently() {
        let locks = Locks::default();
        let part = |owner, first, last| Lock {
            first,
            last,
            ..lock(owner, true)
        };
        locks.try_hold(GAME, part(1, 0, 99)).unwrap();
        locks.try_hold(GAME, part(2, 100, 199)).unwrap();
        assert!(locks.try_hold(GAME, part(2, 99, 99)).is_err());
        locks.release(GAME, 1, 10, 19);
        locks.try_hold(GAME, part(2, 10, 19)).unwrap();
        for byte in [9, 20] {
            assert!(locks.try_hold(GAME, part(2, byte, byte)).is_err(), "{byte}");
        }
    }

    #[test]
    fn both_kinds_of_lock_through_one_open_file_do_not_conflict() {
        let locks = Locks::default();
        locks.try_hold(GAME, lock(1, true)).unwrap();
        let other_kind = Lock {
            owner: 50,
            ..lock(1, true)
        };
        locks.try_hold(GAME, other_kind).unwrap();
        let other_file = Lock {
            handle: Handle(9),
            ..other_kind
        };
        assert!(
            locks
                .conflict(
                    GAME,
                    &Lock {
                        owner: 51,
                        ..other_file
                    }
                )
                .is_some()
        );
    }

    #[test]
    fn a_signal_interrupts_waiting() {
        let locks = Locks::default();
        locks.try_hold(GAME, lock(1, true)).unwrap();
        let waiting = wait(&locks, lock(2, true));
        assert!(locks.interrupt(|_, _| false));
        assert_eq!(waiting.try_recv(), Err(TryRecvError::Empty));
        assert!(!locks.interrupt(|thread, _| thread == std::process::id()));
        assert_eq!(answer_to(&waiting), Err(Errno::EINTR));
        locks.release(GAME, 1, 0, END);
        locks.try_hold(GAME, lock(3, true)).unwrap();
        let status = |pending: &str, shared: &str, blocked: &str| {
            format!("Name:\tx\nSigPnd:\t{pending}\nShdPnd:\t{shared}\nSigBlk:\t{blocked}\n")
        };
        let none = "0000000000000000";
        let two = "0000000000000002";
        assert!(has_signal(&status(two, none, none)));
        assert!(has_signal(&status(none, two, none)));
        assert!(!has_signal(&status(two, none, two)));
        assert!(!has_signal(&status(none, none, none)));
        assert!(is_interrupted(0, MAX_UNSEEN_WAIT) && !is_interrupted(0, POLL_INTERVAL));
    }
}
