//! What can go wrong with saving.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;

/// Why a base cannot be opened for saving, or a save not be made. The files
/// are named without their folder, which the caller knows.
#[derive(Debug)]
pub enum Error {
    /// The system refused.
    Io {
        /// The file it was about.
        file: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// Another writer has the base.
    InUse {
        /// Its process; `None` if it has not said yet.
        pid: Option<u32>,
        /// What it said of itself.
        label: String,
    },
    /// Another program changed a file since it was last read.
    ChangedOutside {
        /// The file.
        file: OsString,
    },
    /// The journal is not one of the base as it is now. It was left as it is.
    DoesNotFit {
        /// The journal.
        journal: OsString,
        /// The fact.
        what: String,
    },
    /// The journal cannot be read by this version. It was left as it is.
    Unreadable {
        /// The journal.
        journal: OsString,
        /// The fact.
        what: String,
    },
    /// A journal, or the note of an import, that says nothing of the base: it
    /// was left by somebody else, or is no plain file. It was left as it is.
    Untrusted {
        /// The file.
        file: OsString,
        /// The fact.
        what: String,
    },
    /// The base was opened to read only.
    ReadOnly,
    /// The transaction makes no sense: nothing was changed.
    Invalid {
        /// The file it is about.
        file: OsString,
        /// The fact.
        what: &'static str,
    },
}

impl Error {
    /// Names the file an error of the system is about.
    pub(super) fn io(file: &OsStr) -> impl Fn(io::Error) -> Error {
        |source| Error::Io {
            file: file.to_owned(),
            source,
        }
    }

    /// As [`io`](Error::io), of a journal or note: one that is not even a
    /// plain file with one name says nothing.
    pub(super) fn of_journal(file: &OsStr) -> impl Fn(io::Error) -> Error {
        |source| match source.kind() {
            // The system's own refusal has a number.
            io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied
                if source.raw_os_error().is_none() =>
            {
                Error::Untrusted {
                    file: file.to_owned(),
                    what: source.to_string(),
                }
            }
            _ => Error::io(file)(source),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { file, source } => write!(f, "{}: {source}", file.display()),
            Error::InUse { pid: None, .. } => {
                write!(f, "another process has opened the base for writing")
            }
            Error::InUse {
                pid: Some(pid),
                label,
            } => write!(
                f,
                "process {pid} has opened the base for writing already: {label}"
            ),
            Error::ChangedOutside { file } => {
                write!(f, "{}: changed by another program", file.display())
            }
            Error::DoesNotFit { journal, what } => write!(
                f,
                "{}: holds saves that do not fit the base: {what}; move it away to open the base without them",
                journal.display()
            ),
            Error::Unreadable { journal, what } => write!(
                f,
                "{}: {what}; move it away to open the base without it",
                journal.display()
            ),
            Error::Untrusted { file, what } => {
                write!(
                    f,
                    "{}: {what}; it is left aside: only moving it away, without its saves, lets others save to the base",
                    file.display()
                )
            }
            Error::ReadOnly => write!(f, "the base was opened to read only"),
            Error::Invalid { file, what } => write!(f, "{}: {what}", file.display()),
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
