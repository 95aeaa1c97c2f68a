//! Locks of files: flock(2) and fcntl(2).
//!
//! Each text of a game is a file of its own to the kernel, and whoever writes
//! has one alone, so its own locks would exclude nobody. They are kept here, for
//! the number of the game: who holds a lock excludes all others, whichever text
//! they have open.
//!
//! fuser does not say of which kind a lock is. One process that holds both kinds
//! on one open file does not exclude itself; else both kinds exclude each other,
//! as on NFS.
//!
//! The kernel waits for the answer to a request even if a signal comes, and
//! fuser takes no notice when it tells so. A thread looks for signals of those
//! that wait, and answers `EINTR`. Those of another namespace of processes cannot
//! be looked at: they are answered so after a while, and ask again.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fuser::Errno;

use crate::vfs::{Handle, Ino};

/// Between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// So long those wait whose signals cannot be seen.
const BLIND_WAIT: Duration = Duration::from_secs(1);

/// The last byte of a file, as locks count them.
const END: u64 = i64::MAX as u64;

/// Locks of one file, or waits for them, at most.
const MOST: usize = 10_000;

/// A lock of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    /// The kernel's number of the open file, or of the process, that has it.
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

/// Takes the answer to one who waits.
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
struct State {
    files: HashMap<Ino, File>,
    is_looking: bool,
}

#[derive(Debug, Default)]
struct File {
    held: Vec<Lock>,
    /// In the order in which they came.
    waiting: Vec<Waiting>,
}

impl File {
    fn conflict(&self, wanted: &Lock) -> Option<Lock> {
        self.held.iter().find(|lock| lock.excludes(wanted)).copied()
    }

    /// Takes these bytes from an owner.
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

    /// Gives those who wait what they can have now; gives their answers.
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

/// All locks of a mount.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks(Arc<Mutex<State>>);

impl Locks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock that keeps this one from being held, if there is one.
    pub(super) fn conflict(&self, ino: Ino, wanted: &Lock) -> Option<Lock> {
        self.lock().files.get(&ino)?.conflict(wanted)
    }

    /// Holds a lock, or answers `EAGAIN`.
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
                // It may be a weaker one than before.
                answers = file.grant();
                Ok(())
            }
        };
        answer_all(answers);
        held
    }

    /// Holds a lock as soon as that can be, and answers then; `thread` waits for
    /// the answer.
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
            // As flock(2) does, so that two who share it can wait for each other.
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
            self.look_for_signals();
        }
    }

    /// Gives back these bytes.
    pub(super) fn release(&self, ino: Ino, owner: u64, first: u64, last: u64) {
        self.change(ino, |file| file.release(owner, first, last));
    }

    /// Gives back all that was locked through a handle, which is closed.
    pub(super) fn close(&self, ino: Ino, handle: Handle) {
        self.change(ino, |file| file.held.retain(|lock| lock.handle != handle));
    }

    fn change(&self, ino: Ino, change: impl FnOnce(&mut File)) {
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

    /// Starts a thread that lives as long as somebody waits.
    fn look_for_signals(&self) {
        let locks = self.clone();
        let thread = thread::Builder::new().name("locks".to_owned());
        let started = thread.spawn(move || {
            while locks.interrupt(is_to_stop) {
                thread::sleep(LOOK);
            }
        });
        if let Err(error) = started {
            log::error!("waits for locks cannot be interrupted: {error}");
            self.lock().is_looking = false;
        }
    }

    /// Answers those who are `to_stop` waiting; gives whether others still wait.
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

/// Whether a thread that waits has got a signal, or cannot be looked at and has
/// waited for long.
fn is_to_stop(thread: u32, waited: Duration) -> bool {
    let status = match thread {
        0 => None,
        thread => fs::read_to_string(format!("/proc/{thread}/status")).ok(),
    };
    status.map_or(waited >= BLIND_WAIT, |status| has_signal(&status))
}

/// Whether `/proc/PID/status` tells of a signal that is neither blocked nor
/// handled yet.
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

    /// Of the whole file, by a process that has it open once.
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
    fn a_lock_excludes_others_of_the_same_file_until_it_is_given_back() {
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
    fn who_waits_gets_the_lock_when_it_is_free() {
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
    fn two_who_share_a_file_can_both_wait_to_have_it_alone() {
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
    fn bytes_are_locked_apart() {
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
    fn a_process_that_holds_both_kinds_through_one_file_does_not_exclude_itself() {
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
    fn who_waits_and_gets_a_signal_is_answered() {
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
        assert!(is_to_stop(0, BLIND_WAIT) && !is_to_stop(0, LOOK));
    }
}
