//! Why a request fails, and the number the kernel is told.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::escape::without_numbers;
use crate::names;

/// Why a request fails.
#[derive(Debug)]
pub enum Error {
    /// There is no such file.
    NotFound,
    /// A name was looked for in something that is no directory.
    NotADirectory,
    /// A directory was read as a file.
    IsADirectory,
    /// The mount cannot be written.
    ReadOnly,
    /// The files of the base are not to be written; the line says why.
    Protected(String),
    /// There is one of that name already.
    Exists,
    /// A directory of that name has something in it.
    NotEmpty,
    /// The operation is never permitted for this file.
    NotPermitted,
    /// The file cannot be written.
    NotWritable,
    /// The handle is not open, or not for this access.
    NotOpen,
    /// The target is in another base: the rename fails with `EXDEV`.
    Elsewhere,
    /// What was written is not saved; the line says why.
    Refused(String),
    /// A name is longer than what it names can have; the line says so.
    NameTooLong(String),
    /// There is no room for it.
    NoSpace,
    /// The request makes no sense for this file.
    Invalid,
    /// The file or the content that was being read no longer exists (`ESTALE`).
    Stale,
    /// The text is longer than cbfs shows.
    TooLarge,
    /// What is on disk cannot be read as what it should be; the line says
    /// file, place and fact.
    Damaged(String),
    /// A request handler panicked; the line is its message.
    Panicked(String),
}

impl Error {
    /// Refuses a name that no file can have, whoever asks for it.
    ///
    /// # Errors
    ///
    /// [`Error::NameTooLong`].
    pub(crate) fn ensure_short(name: &[u8]) -> Result<(), Error> {
        names::too_long(name).map_or(Ok(()), |why| Err(Error::NameTooLong(why)))
    }

    /// Calls `ask`, and turns a panic into [`Error::Panicked`]: a defect of
    /// cbfs that one game triggers affects only that game.
    ///
    /// # Errors
    ///
    /// That of `ask`, or [`Error::Panicked`].
    pub fn unless_panic<T>(ask: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        // A panic leaves no state half changed: values under construction are
        // dropped, and each change under a lock is a single step.
        catch_unwind(AssertUnwindSafe(ask))
            .unwrap_or_else(|panic| Err(Error::Panicked(message_of(panic.as_ref()))))
    }

    /// The system's number for it. This is the one place that chooses.
    pub fn errno(&self) -> i32 {
        match self {
            Error::NotFound => libc::ENOENT,
            Error::NotADirectory => libc::ENOTDIR,
            Error::IsADirectory => libc::EISDIR,
            Error::ReadOnly | Error::Protected(_) => libc::EROFS,
            Error::Exists => libc::EEXIST,
            Error::NotEmpty => libc::ENOTEMPTY,
            Error::NotPermitted => libc::EPERM,
            Error::NotWritable => libc::EACCES,
            Error::NotOpen => libc::EBADF,
            Error::Elsewhere => libc::EXDEV,
            Error::NameTooLong(_) => libc::ENAMETOOLONG,
            Error::NoSpace => libc::ENOSPC,
            Error::Invalid | Error::Refused(_) => libc::EINVAL,
            Error::Stale => libc::ESTALE,
            Error::TooLarge => libc::EFBIG,
            Error::Damaged(_) | Error::Panicked(_) => libc::EIO,
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Damaged(what)
            | Error::Refused(what)
            | Error::NameTooLong(what)
            | Error::Protected(what) => f.write_str(what),
            Error::Panicked(what) => write!(f, "a defect of cbfs: {what}"),
            Error::TooLarge => f.write_str("longer than 16 MiB, the most that is shown of a text"),
            other => {
                let told = io::Error::from_raw_os_error(other.errno());
                f.write_str(&without_numbers(told))
            }
        }
    }
}

impl std::error::Error for Error {}
