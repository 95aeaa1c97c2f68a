//! What can go wrong with a book.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a book cannot be read.
#[derive(Debug)]
pub enum Error {
    /// The system refused.
    Io {
        /// The file it was about.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not follow its format, and nothing can be read of it.
    Malformed {
        /// The file.
        file: PathBuf,
        /// Where in it.
        offset: u64,
        /// The fact.
        what: String,
    },
    /// A file that the book cannot do without is not there.
    Missing {
        /// The path where it should be.
        file: PathBuf,
        /// What it holds.
        holds: &'static str,
    },
    /// What cbfs does not read, or not so.
    Unsupported {
        /// The file.
        file: PathBuf,
        /// What it is, and what to do.
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
