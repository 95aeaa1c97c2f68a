//! Errors of archives.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of reading, making or unpacking an archive.
#[derive(Debug)]
pub enum Error {
    /// The system reported an error, or a member is damaged.
    Io {
        /// The file concerned.
        file: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is no archive, or its header is damaged.
    NotAnArchive {
        /// The file.
        file: PathBuf,
        /// Fact and remedy.
        what: String,
    },
    /// The archive is enciphered, and the password is missing or wrong.
    Password {
        /// The file.
        file: PathBuf,
        /// Whether no password was given; otherwise it is wrong.
        is_missing: bool,
    },
    /// The archive cannot be made or unpacked as requested.
    Refused {
        /// The file concerned.
        file: PathBuf,
        /// Fact and remedy.
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

/// A defect at an offset of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveDefect {
    /// Offset in the deciphered file.
    pub offset: u64,
    /// Description of the defect, lower case, without full stop.
    pub what: String,
}

impl ArchiveDefect {
    pub(super) fn new(offset: u64, what: impl Into<String>) -> ArchiveDefect {
        ArchiveDefect {
            offset,
            what: what.into(),
        }
    }
}
