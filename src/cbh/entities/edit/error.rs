//! Errors of editing an entity file.

use std::fmt;
use std::io;

use crate::bytes::Malformed;
use crate::cbh::EntityId;

/// Error of an operation on an entity file.
#[derive(Debug)]
pub enum EditError {
    /// The storage failed.
    Io(io::Error),
    /// The file violates its format: offset and description.
    Damaged(u64, String),
    /// Another live record has this key.
    Exists(EntityId),
    /// No live record has this id.
    NotThere(EntityId),
    /// All ids that a game can refer to are in use.
    Full,
}

impl EditError {
    pub(in crate::cbh::entities) fn damaged(offset: u64, what: impl Into<String>) -> EditError {
        EditError::Damaged(offset, what.into())
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditError::Io(source) => write!(f, "{source}"),
            EditError::Damaged(offset, what) => write!(f, "{what} at {offset:#x}"),
            EditError::Exists(id) => write!(f, "record {} has this name", id.0),
            EditError::NotThere(id) => write!(f, "there is no record {}", id.0),
            EditError::Full => write!(f, "the file holds as many records as it can"),
        }
    }
}

impl std::error::Error for EditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            EditError::Io(source) => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for EditError {
    fn from(source: io::Error) -> EditError {
        EditError::Io(source)
    }
}

impl From<Malformed> for EditError {
    fn from(fault: Malformed) -> EditError {
        EditError::Damaged(fault.offset as u64, fault.what)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn only_an_error_of_the_system_has_a_source() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let error = EditError::from(denied());
        let source = error.source().map(ToString::to_string);
        assert_eq!(source, Some(denied().to_string()));
        assert_eq!(source, Some(error.to_string()));
        assert!(EditError::Full.source().is_none());
        let fault = EditError::from(Malformed::new(18, "a fault"));
        assert_eq!(fault.to_string(), "a fault at 0x12");
    }
}
