//! A value that one thread computes while others wait.

use parking_lot::{Condvar, Mutex};

use crate::fs::Error;

/// A value that is worked out by the first thread that needs it.
#[derive(Debug)]
pub(crate) struct Once<T> {
    state: Mutex<OnceState<T>>,
    finished: Condvar,
}

#[derive(Debug)]
enum OnceState<T> {
    Waiting,
    UnderWay,
    Done(T),
}

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once::of(OnceState::Waiting)
    }
}

impl<T> From<T> for Once<T> {
    fn from(value: T) -> Once<T> {
        Once::of(OnceState::Done(value))
    }
}

impl<T> Once<T> {
    fn of(state: OnceState<T>) -> Once<T> {
        Once {
            state: Mutex::new(state),
            finished: Condvar::new(),
        }
    }
}

impl<T: Clone> Once<T> {
    /// The value, if it is there.
    pub(crate) fn get(&self) -> Option<T> {
        match &*self.state.lock() {
            OnceState::Done(value) => Some(value.clone()),
            OnceState::Waiting | OnceState::UnderWay => None,
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
        let mut state = self.state.lock();
        let is_under_way = |state: &mut OnceState<T>| matches!(state, OnceState::UnderWay);
        self.finished.wait_while(&mut state, is_under_way);
        if let OnceState::Done(value) = &*state {
            return Ok(value.clone());
        }
        *state = OnceState::UnderWay;
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
}

struct Flight<'a, T> {
    once: &'a Once<T>,
    value: Option<T>,
}

impl<T> Drop for Flight<'_, T> {
    fn drop(&mut self) {
        *self.once.state.lock() = self
            .value
            .take()
            .map_or(OnceState::Waiting, OnceState::Done);
        self.once.finished.notify_all();
    }
}
