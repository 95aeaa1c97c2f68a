//! Programs that remove what they wrote.
//!
//! Programs such as rclone remove a file that they could not write, or that has another
//! size or other bytes afterwards. After a refused save, however, the stored game is
//! unchanged, and what was saved may be the same game in another text. Neither may go.
//! So the first `unlink` of that game by the same process, within ten seconds of the
//! save, fails with `EPERM`. A second one, or one by another process, removes it.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::vfs::Ino;

/// How long a program is taken to clear up after such a save.
const WHILE_CLEARING_UP: Duration = Duration::from_secs(10);

/// So many saves are remembered.
const MOST: usize = 1 << 12;

/// The last saves after which a file had not the bytes that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct UnlikeSaves(Arc<Mutex<Vec<UnlikeSave>>>);

#[derive(Debug)]
struct UnlikeSave {
    file: Ino,
    process: Option<u32>,
    at: Instant,
}

impl UnlikeSaves {
    /// Notes that a file has other bytes than those that a thread has written to it.
    pub(super) fn note(&self, file: Ino, thread: u32) {
        let process = process_of(thread);
        let mut saves = self.0.lock();
        saves.retain(|one| one.file != file);
        let surplus = (saves.len() + 1).saturating_sub(MOST);
        saves.drain(..surplus);
        let at = Instant::now();
        saves.push(UnlikeSave { file, process, at });
    }

    /// Whether a thread that removes a file clears up after its save. Asked once more
    /// it does not.
    pub(super) fn clears_up(&self, file: Ino, thread: u32) -> bool {
        let mut saves = self.0.lock();
        saves.retain(|one| one.at.elapsed() < WHILE_CLEARING_UP);
        let Some(at) = saves.iter().position(|one| one.file == file) else {
            return false;
        };
        saves.remove(at).process == process_of(thread)
    }

    /// Forgets a file that has the bytes that were written.
    pub(super) fn forget(&self, file: Ino) {
        let mut saves = self.0.lock();
        saves.retain(|one| one.file != file);
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
        let saves = UnlikeSaves::default();
        let own = std::process::id();
        let (one, other) = (Ino(5), Ino(6));
        saves.note(one, own);
        assert!(!saves.clears_up(other, own));
        assert!(saves.clears_up(one, own));
        assert!(!saves.clears_up(one, own));
        saves.note(one, own);
        assert!(!saves.clears_up(one, 1), "another process");
        saves.note(one, own);
        saves.forget(one);
        assert!(!saves.clears_up(one, own));
        for number in 0..2 * MOST as u64 {
            saves.note(Ino(number), own);
        }
        assert_eq!(saves.0.lock().len(), MOST);
        assert!(!saves.clears_up(Ino(1), own) && saves.clears_up(Ino(2 * MOST as u64 - 1), own));
    }

    #[test]
    fn a_thread_belongs_to_its_process() {
        let of_thread =
            std::thread::spawn(|| process_of(nix::unistd::gettid().as_raw().unsigned_abs()));
        assert_eq!(of_thread.join().unwrap(), Some(std::process::id()));
    }
}
