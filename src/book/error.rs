//! Errors of opening books.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of reading a book.
#[derive(Debug)]
pub enum Error {
    /// The system reported an error.
    Io {
        /// The file concerned.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file violates its format so that nothing can be read.
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
    /// The file is of a kind that cbfs does not support.
    Unsupported {
        /// The file.
        file: PathBuf,
        /// Fact and remedy.
        what: String,
    },
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
                "{}: not found; a book cannot be read without its {holds}",
                file.display()
            ),
            Error::Unsupported { file, what } => write!(f, "{}: {what}", file.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_error_of_the_system_is_the_cause_of_ours() {
        let file = PathBuf::from("a.ctg");
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let told = format!("a.ctg: {source}");
        let error = Error::Io { file, source };
        assert_eq!(error.to_string(), told);
        assert!(error.source().is_some());
        let missing = Error::Missing {
            file: PathBuf::from("a.ctg"),
            holds: "positions",
        };
        assert!(missing.source().is_none());
    }
}
