//! Errors of opening and saving a base.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;

/// An error of opening a base for saving, or of a save. File names are without
/// their folder, which the caller knows.
#[derive(Debug)]
pub enum Error {
    /// The system reported an error.
    Io {
        /// The file concerned.
        file: OsString,
        /// The error of the system.
        source: io::Error,
    },
    /// Another process has the base open for writing.
    InUse {
        /// Id of that process; `None` if it is not recorded yet.
        pid: Option<u32>,
        /// The label that it gave for itself.
        label: String,
    },
    /// Another process, which the lock did not keep out, has taken the journal over.
    TakenOver {
        /// Id of that process; `None` if it is not recorded.
        pid: Option<u32>,
        /// The label that it gave for itself.
        label: String,
    },
    /// Another program changed a file since it was last read here.
    ChangedOutside {
        /// The file.
        file: OsString,
    },
    /// The journal does not belong to the base in its present state. It was not
    /// touched.
    DoesNotFit {
        /// The journal.
        journal: OsString,
        /// Description.
        what: String,
    },
    /// This version cannot read the journal. It was not touched.
    Unreadable {
        /// The journal.
        journal: OsString,
        /// Description.
        what: String,
    },
    /// The journal, or the note of an import, belongs to another user or is no
    /// regular file, so it is not followed. It was not touched.
    Untrusted {
        /// The file.
        file: OsString,
        /// Description.
        what: String,
    },
    /// The base was renamed without its journal, whose saves a new one would keep out
    /// for ever. It was not touched.
    Renamed {
        /// The journal of its former name.
        journal: OsString,
        /// That name.
        former: OsString,
    },
    /// The base is open for reading only.
    ReadOnly,
    /// The transaction is invalid. Nothing was changed.
    Invalid {
        /// The file concerned.
        file: OsString,
        /// Description.
        what: &'static str,
    },
}

impl Error {
    /// Returns a function that adds the name of the file to an error of the
    /// system.
    pub(super) fn io(file: &OsStr) -> impl Fn(io::Error) -> Error {
        |source| Error::Io {
            file: file.to_owned(),
            source,
        }
    }

    /// As [`io`](Error::io) for a journal or note. One that is no regular file
    /// with one name is untrusted.
    pub(super) fn of_journal(file: &OsStr) -> impl Fn(io::Error) -> Error {
        |source| match source.kind() {
            // Errors that the system itself reports have a number.
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
            Error::TakenOver { pid, label } => {
                let pid = pid.map(|pid| format!("{pid} ")).unwrap_or_default();
                write!(
                    f,
                    "process {pid}writes to the base by another way and has taken over its journal: \
                     {label}; unmount here, and mount one way only"
                )
            }
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
                    "{}: {what}; it is ignored; saving to the base is refused until it is moved away, which discards the saves in it",
                    file.display()
                )
            }
            Error::Renamed { journal, former } => write!(
                f,
                "{}: has the last saves of this base, which was named {}; give it that name \
                 again, and they are brought in, or remove this file, which discards them",
                journal.display(),
                former.display()
            ),
            Error::ReadOnly => write!(f, "the base was opened to read only"),
            Error::Invalid { file, what } => write!(f, "{}: {what}", file.display()),
        }
    }
}

/// Whether an error of reading may be gone the next time: what was not read then is not
/// to be taken for what there is. A file that ends early stays so.
pub(crate) fn may_pass(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::UnexpectedEof
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
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = Error::io(OsStr::new("x.cbh"))(full);
        let cause = error.source().map(ToString::to_string);
        assert!(cause.is_some_and(|cause| error.to_string().contains(&cause)));
        assert!(Error::ReadOnly.source().is_none());
    }

    #[test]
    fn a_journal_is_not_trusted_for_what_is_found_of_it_but_not_by_the_system() {
        use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};
        for (source, is_untrusted) in [
            (InvalidInput.into(), true),
            (PermissionDenied.into(), true),
            (NotFound.into(), false),
            (io::Error::from_raw_os_error(libc::EINVAL), false),
            (io::Error::from_raw_os_error(libc::EACCES), false),
        ] {
            let told: io::Error = source;
            let text = told.to_string();
            let error = Error::of_journal(OsStr::new("x"))(told);
            let found = matches!(error, Error::Untrusted { .. });
            assert_eq!(found, is_untrusted, "{error}");
            assert!(error.to_string().starts_with(&format!("x: {text}")));
        }
    }
}
