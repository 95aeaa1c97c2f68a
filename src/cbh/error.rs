//! Errors of reading a base.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::GameId;
use crate::storage;

/// An error of reading a base or one of its records.
#[derive(Debug)]
pub enum Error {
    /// The system reported an error.
    Io {
        /// The file concerned.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file violates its format.
    Malformed {
        /// The file.
        file: PathBuf,
        /// The offset of the violation.
        offset: u64,
        /// Description.
        what: String,
    },
    /// A required file does not exist.
    Missing {
        /// The expected path.
        file: PathBuf,
        /// Its content, for the message.
        holds: &'static str,
    },
    /// A file of a kind that cbfs does not support.
    Unsupported {
        /// The file.
        file: PathBuf,
        /// Fact and remedy.
        what: String,
    },
    /// The base cannot be opened with the saves in its journal, or not for
    /// writing.
    Store {
        /// The base.
        base: PathBuf,
        /// The reason.
        source: storage::Error,
    },
    /// No game or text has this number.
    NotUsed(GameId),
}

impl Error {
    /// The error of the system for reading a file.
    pub(crate) fn of_file(file: PathBuf, source: io::Error) -> Error {
        let source = match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(source.kind(), "the file has become shorter")
            }
            _ => source,
        };
        Error::Io { file, source }
    }

    /// Whether it is an error of the system that [may pass](storage::may_pass).
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Error::Io { source, .. } if storage::may_pass(source))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { file, source } => write!(f, "{}: {source}", file.display()),
            Error::Malformed { file, offset, what } => {
                write!(f, "{} at {offset:#x}: {what}", file.display())
            }
            Error::Missing { file, holds } => write!(
                f,
                "{}: not found; a base cannot be read without its {holds}",
                file.display()
            ),
            Error::Unsupported { file, what } => write!(f, "{}: {what}", file.display()),
            Error::Store { base, source } => write!(f, "{}: {source}", base.display()),
            Error::NotUsed(id) => write!(f, "no game or text has the number {}", id.0),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Store { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_error_of_the_system_is_the_source_of_that_of_the_base() {
        let file = PathBuf::from("base.cbh");
        let ended = io::Error::from(io::ErrorKind::UnexpectedEof);
        let error = Error::of_file(file.clone(), ended);
        assert_eq!(error.to_string(), "base.cbh: the file has become shorter");
        let source = error.source().map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("the file has become shorter"));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let shown = format!("base.cbh: {denied}");
        assert_eq!(Error::of_file(file, denied).to_string(), shown);
        let store = Error::Store {
            base: PathBuf::from("base.cbh"),
            source: crate::storage::Error::ReadOnly,
        };
        let source = store.source().unwrap().to_string();
        assert_eq!(store.to_string(), format!("base.cbh: {source}"));
        let absent = Error::NotUsed(GameId(7));
        assert!(absent.source().is_none());
        assert_eq!(absent.to_string(), "no game or text has the number 7");
    }
}
