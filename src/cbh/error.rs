//! What can go wrong with a base.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::GameId;
use crate::storage;

/// Why a base or a record of it cannot be read.
#[derive(Debug)]
pub enum Error {
    /// The system refused.
    Io {
        /// The file it was about.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not follow its format.
    Malformed {
        /// The file.
        file: PathBuf,
        /// Where in it.
        offset: u64,
        /// The fact.
        what: String,
    },
    /// A file that a base cannot do without is not there.
    Missing {
        /// The path where it should be.
        file: PathBuf,
        /// What it holds.
        holds: &'static str,
    },
    /// A file of a kind that cbfs does not read.
    Unsupported {
        /// The file.
        file: PathBuf,
        /// What it is, and what to do.
        what: String,
    },
    /// The base cannot be opened with the saves in its journal, or not to be
    /// changed.
    Store {
        /// The base.
        base: PathBuf,
        /// Why not.
        source: storage::Error,
    },
    /// No game or text has this number.
    NotUsed(GameId),
}

impl Error {
    /// The system's refusal to read a file.
    pub(crate) fn of_file(file: PathBuf, source: io::Error) -> Error {
        let source = match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(source.kind(), "the file has become shorter")
            }
            _ => source,
        };
        Error::Io { file, source }
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
            Error::NotUsed(id) => write!(f, "no game has the number {}", id.0),
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
