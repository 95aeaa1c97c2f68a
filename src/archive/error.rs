//! Errors of archives.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why an archive cannot be read, made or unpacked.
#[derive(Debug)]
pub enum Error {
    /// The system refused, or a member is damaged.
    Io {
        /// The file it was about.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is something else, or damaged.
    NotAnArchive {
        /// The file.
        file: PathBuf,
        /// The fact, and the remedy.
        what: String,
    },
    /// The archive is enciphered.
    Password {
        /// The file.
        file: PathBuf,
        /// Whether there was no password; else it was a wrong one.
        is_missing: bool,
    },
    /// It cannot be made or unpacked as asked for.
    Refused {
        /// The file it was about.
        file: PathBuf,
        /// The fact, and what to do.
        what: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { file, source } => write!(f, "{}: {source}", file.display()),
            Error::NotAnArchive { file, what } | Error::Refused { file, what } => {
                write!(f, "{}: {what}", file.display())
            }
            Error::Password { file, is_missing } => {
                let what = if *is_missing {
                    "has a password; name a file that holds it: --password-file FILE"
                } else {
                    "this is not its password, or it is no archive of ChessBase"
                };
                write!(f, "{}: {what}", file.display())
            }
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

/// A fact about a place in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The offset in the file, deciphered.
    pub offset: u64,
    /// The fact, lower case, without full stop.
    pub what: String,
}

impl Fault {
    pub(super) fn new(offset: u64, what: impl Into<String>) -> Fault {
        Fault {
            offset,
            what: what.into(),
        }
    }
}
