//! Long texts are worked on one after the other: reading and saving one takes
//! several times its length of memory.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::decode::MAX_BYTES;

/// A text of no more bytes needs no permit.
const SHORT: usize = 1 << 16;

/// The leave to work on a long text, given back when it is dropped.
///
/// All texts together that are worked on in this process have no more bytes
/// than one game may have, short ones aside. Who waits for a permit must hold
/// no lock that the work on another text needs.
#[derive(Debug)]
pub struct Permit {
    bytes: usize,
    of: &'static Permits,
}

impl Permit {
    /// Waits until a text of so many bytes may be worked on.
    pub fn wait(bytes: usize) -> Permit {
        static PERMITS: Permits = Permits {
            taken: Mutex::new(0),
            given_back: Condvar::new(),
        };
        PERMITS.take(bytes)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.bytes > 0 {
            *self.of.taken() -= self.bytes;
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
    fn taken(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&'static self, bytes: usize) -> Permit {
        if bytes <= SHORT {
            return Permit { bytes: 0, of: self };
        }
        let has_no_room = |taken: &mut usize| *taken > 0 && *taken + bytes > MAX_BYTES;
        let taken = self.given_back.wait_while(self.taken(), has_no_room);
        *taken.unwrap_or_else(PoisonError::into_inner) += bytes;
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
        static PERMITS: Permits = Permits {
            taken: Mutex::new(0),
            given_back: Condvar::new(),
        };
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
        assert_eq!(*PERMITS.taken(), 0);
    }
}
