//! Where volumes come from.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::fs::{Error, Volume};

/// Something on disk that is opened as a volume, and anew when it changed.
pub trait Source: Debug + Send + Sync {
    /// Opens it as it is now.
    ///
    /// # Errors
    ///
    /// The line that says why not, for people.
    fn open(&self) -> Result<Box<dyn Volume>, String>;

    /// A line that changes whenever opening might give something else.
    /// Called often; must cost little and open nothing.
    fn state(&self) -> String;

    /// When it last changed, for who looks at it from outside.
    fn modified(&self) -> SystemTime;

    /// How many files it may have, guessed without opening it.
    fn guess(&self) -> u64;

    /// Brings what was saved into its files, so that it survives a power cut,
    /// though what is shown now cannot be edited.
    ///
    /// # Errors
    ///
    /// Those of [`Editor::sync`](crate::fs::Editor::sync).
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Lets go of it: all that was saved survives a power cut then, and others
    /// may change it.
    ///
    /// # Errors
    ///
    /// The line that says why not; what was saved is not lost.
    fn close(&self) -> Result<(), String> {
        Ok(())
    }

    /// Where it lies.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// The file that keeps the lengths of texts for the next mount.
    fn sizes_file(&self) -> Option<PathBuf> {
        None
    }
}
