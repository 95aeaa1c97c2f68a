//! Defects: parts of a game or base that could not be read.

use std::fmt;

/// A defect of a file: file, offset and description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The extension of the file, such as `cbg`.
    pub file: &'static str,
    /// Offset in that file.
    pub offset: u64,
    /// Description, lower case, without full stop.
    pub what: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{} at {:#x}: {}", self.file, self.offset, self.what)
    }
}
