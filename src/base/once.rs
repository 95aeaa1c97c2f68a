//! A value that is read once.

use std::sync::OnceLock;

use parking_lot::Mutex;

/// A value that the first thread that needs it reads, while others wait. After an error
/// nothing is kept.
#[derive(Debug)]
pub(super) struct ReadOnce<T> {
    value: OnceLock<T>,
    reading: Mutex<()>,
}

impl<T> Default for ReadOnce<T> {
    fn default() -> ReadOnce<T> {
        ReadOnce {
            value: OnceLock::new(),
            reading: Mutex::default(),
        }
    }
}

impl<T: Clone> Clone for ReadOnce<T> {
    fn clone(&self) -> ReadOnce<T> {
        ReadOnce {
            value: self.value.clone(),
            reading: Mutex::default(),
        }
    }
}

impl<T> ReadOnce<T> {
    /// The value, if it was read.
    pub(super) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, which `read` reads if that was not done.
    ///
    /// # Errors
    ///
    /// That of `read`.
    pub(super) fn get_or_read<E>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let _reading = self.reading.lock();
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let value = read()?;
        Ok(self.value.get_or_init(|| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_once_and_an_error_is_not_kept() {
        let value = ReadOnce::default();
        assert_eq!(value.get_or_read(|| Err("gone")), Err("gone"));
        assert_eq!(value.get(), None);
        assert_eq!(value.get_or_read(|| Ok::<_, &str>(7)), Ok(&7));
        assert_eq!(value.get_or_read(|| Err("never asked")), Ok(&7));
        assert_eq!(value.clone().get(), Some(&7));
    }
}
