//! What one thread works out while others wait for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::fs::Error;

/// A value that is worked out by the first thread that needs it.
#[derive(Debug)]
pub(crate) struct Once<T> {
    state: Mutex<State<T>>,
    landing: Condvar,
}

#[derive(Debug)]
enum State<T> {
    Waiting,
    UnderWay,
    Done(T),
}

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once {
            state: Mutex::new(State::Waiting),
            landing: Condvar::new(),
        }
    }
}

impl<T: Clone> Once<T> {
    /// The value, if it is there.
    pub(crate) fn get(&self) -> Option<T> {
        match &*lock(&self.state) {
            State::Done(value) => Some(value.clone()),
            State::Waiting | State::UnderWay => None,
        }
    }

    /// The value. If another thread works it out, waits for that; no lock is
    /// held meanwhile.
    ///
    /// # Errors
    ///
    /// That of `work`, which is then asked again by who waited for it.
    pub(crate) fn get_or_work_out(
        &self,
        work: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let state = lock(&self.state);
        let mut state = self
            .landing
            .wait_while(state, |state| matches!(state, State::UnderWay))
            .unwrap_or_else(PoisonError::into_inner);
        if let State::Done(value) = &*state {
            return Ok(value.clone());
        }
        *state = State::UnderWay;
        drop(state);
        // Dropped on every way out, by panic too: nobody waits for ever.
        let mut flight = Flight {
            once: self,
            value: None,
        };
        let value = work()?;
        flight.value = Some(value.clone());
        Ok(value)
    }

    /// Works it out unless another thread has done so or is doing it. An
    /// error is left to who needs the value.
    pub(crate) fn work_out_ahead(&self, work: impl FnOnce() -> Result<T, Error>) {
        if matches!(*lock(&self.state), State::Waiting) {
            // Should another one come between: it waits, or finds it done.
            let _ = self.get_or_work_out(work);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Flight<'a, T> {
    once: &'a Once<T>,
    value: Option<T>,
}

impl<T> Drop for Flight<'_, T> {
    fn drop(&mut self) {
        *lock(&self.once.state) = self.value.take().map_or(State::Waiting, State::Done);
        self.once.landing.notify_all();
    }
}
