//! Programs that remove what they could not write.
//!
//! Programs such as rclone remove a file that they could not write completely. After a
//! refused save, however, the stored game is unchanged and must not be deleted. So the
//! first `unlink` of that game by the same process, within ten seconds of the refusal,
//! fails with `EPERM`. A second one, or one by another process, deletes the game.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::vfs::Ino;

/// How long a program is taken to clear up after a refused save.
const WHILE_CLEARING_UP: Duration = Duration::from_secs(10);

/// So many refused saves are remembered.
const MOST: usize = 64;

/// Saves that were refused lately.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedSaves(Arc<Mutex<Vec<Refused>>>);

#[derive(Debug)]
struct Refused {
    file: Ino,
    process: Option<u32>,
    at: Instant,
}

impl RefusedSaves {
    /// Notes that the text that a thread has written to a file was refused.
    pub(super) fn note(&self, file: Ino, thread: u32) {
        let process = process_of(thread);
        let mut refused = self.0.lock();
        refused.retain(|one| one.file != file);
        let surplus = (refused.len() + 1).saturating_sub(MOST);
        refused.drain(..surplus);
        let at = Instant::now();
        refused.push(Refused { file, process, at });
    }

    /// Whether a thread that removes a file clears up after its refused save. Asked
    /// once more it does not.
    pub(super) fn clears_up(&self, file: Ino, thread: u32) -> bool {
        let mut refused = self.0.lock();
        refused.retain(|one| one.at.elapsed() < WHILE_CLEARING_UP);
        let Some(at) = refused.iter().position(|one| one.file == file) else {
            return false;
        };
        refused.remove(at).process == process_of(thread)
    }

    /// Forgets a file that was saved.
    pub(super) fn forget(&self, file: Ino) {
        let mut refused = self.0.lock();
        refused.retain(|one| one.file != file);
    }
}

/// The process of a thread; `None` for those of another PID namespace, which are taken
/// for one.
fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    group.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_clears_up_once_after_its_own_save() {
        let refused = RefusedSaves::default();
        let own = std::process::id();
        let (one, other) = (Ino(5), Ino(6));
        refused.note(one, own);
        assert!(!refused.clears_up(other, own));
        assert!(refused.clears_up(one, own));
        assert!(!refused.clears_up(one, own));
        refused.note(one, own);
        assert!(!refused.clears_up(one, 1), "another process");
        refused.note(one, own);
        refused.forget(one);
        assert!(!refused.clears_up(one, own));
        for number in 0..200 {
            refused.note(Ino(number), own);
        }
        assert_eq!(refused.0.lock().len(), MOST);
        assert!(!refused.clears_up(Ino(1), own) && refused.clears_up(Ino(199), own));
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        let of_thread =
            std::thread::spawn(|| process_of(nix::unistd::gettid().as_raw().unsigned_abs()));
        assert_eq!(of_thread.join().unwrap(), Some(std::process::id()));
    }
}
