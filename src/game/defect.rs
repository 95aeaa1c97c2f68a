//! What of a game or a base could not be read.

use std::fmt;

/// One fault of a file: which file, where, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The extension of the file, such as `cbg`.
    pub file: &'static str,
    /// Offset in that file.
    pub offset: u64,
    /// The fact, lower case, without full stop.
    pub what: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{} at {:#x}: {}", self.file, self.offset, self.what)
    }
}
