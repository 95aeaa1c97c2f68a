//! Long texts are worked on one after the other: reading and saving one takes
//! several times its length of memory.

use parking_lot::{Condvar, Mutex};

use super::decode::MAX_BYTES;

/// A text of no more bytes needs no permit.
const SHORT: usize = 1 << 16;

/// A stored game becomes a text of several times its bytes.
const TEXT_OF_STORED: u64 = 4;

/// A permit to process a long text; dropping it releases it.
///
/// The texts that are saved at the same time in this process have together at most the
/// size of one game, not counting short ones. The same limit applies to the stored
/// games that are rendered. The caller must hold no lock that another text needs. A
/// save may render, but rendering waits for no save.
#[derive(Debug)]
pub struct Permit {
    bytes: usize,
    of: &'static Permits,
}

impl Permit {
    /// Waits until a text of so many bytes may be read and saved.
    pub fn wait(bytes: usize) -> Permit {
        static PERMITS: Permits = Permits::new();
        PERMITS.take(bytes)
    }

    /// Waits until a game that takes so many bytes in its files may be
    /// rendered.
    pub fn wait_to_render(stored_bytes: u64) -> Permit {
        static PERMITS: Permits = Permits::new();
        let bytes = stored_bytes.saturating_mul(TEXT_OF_STORED);
        PERMITS.take(usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

impl Permit {
    /// Whether others may wait until it is dropped.
    pub(super) fn is_of_long_text(&self) -> bool {
        self.bytes > 0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.bytes > 0 {
            *self.of.taken.lock() -= self.bytes;
            self.of.given_back.notify_all();
        }
    }
}

/// How much is worked on.
#[derive(Debug)]
struct Permits {
    /// Bytes of all texts with a permit.
    taken: Mutex<usize>,
    given_back: Condvar,
}

impl Permits {
    const fn new() -> Permits {
        Permits {
            taken: Mutex::new(0),
            given_back: Condvar::new(),
        }
    }

    fn take(&'static self, bytes: usize) -> Permit {
        if bytes <= SHORT {
            return Permit { bytes: 0, of: self };
        }
        let has_no_room = |taken: &mut usize| *taken > 0 && taken.saturating_add(bytes) > MAX_BYTES;
        let mut taken = self.taken.lock();
        self.given_back.wait_while(&mut taken, has_no_room);
        let bytes = bytes.min(usize::MAX - *taken);
        *taken += bytes;
        Permit { bytes, of: self }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_long_text_waits_for_another_and_a_short_one_does_not() {
        static PERMITS: Permits = Permits::new();
        let whole = PERMITS.take(MAX_BYTES);
        drop(PERMITS.take(SHORT));
        let (sender, given) = channel();
        let waiting = thread::spawn(move || {
            let halves = [PERMITS.take(MAX_BYTES / 2), PERMITS.take(MAX_BYTES / 2)];
            sender.send(()).unwrap();
            halves
        });
        let early = given.recv_timeout(Duration::from_millis(50));
        assert!(early.is_err());
        drop(whole);
        given.recv().unwrap();
        drop(waiting.join().unwrap());
        // One that is longer than all may be is alone.
        drop(PERMITS.take(3 * MAX_BYTES));
        assert_eq!(*PERMITS.taken.lock(), 0);
    }

    #[test]
    fn a_game_can_be_rendered_while_a_text_is_saved() {
        let _saving = Permit::wait(MAX_BYTES);
        let whole = Permit::wait_to_render(u64::MAX);
        let _short = Permit::wait_to_render(SHORT as u64 / TEXT_OF_STORED);
        let other = thread::spawn(|| drop(Permit::wait_to_render(1 << 20)));
        thread::sleep(Duration::from_millis(20));
        assert!(!other.is_finished());
        drop(whole);
        other.join().unwrap();
    }
}
