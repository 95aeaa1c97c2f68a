//! A base opened together with the saves that lie in its journal.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::cbh::{Database, Error, Family, Options, SaveError};
use crate::storage::{self, Access, Store};

/// Why a base cannot be opened to be changed, or not be changed. It is as it
/// was.
#[derive(Debug)]
pub enum ChangeError {
    /// What is in the base, or is to be.
    Save(SaveError),
    /// The files, or the journal.
    Store(storage::Error),
}

impl std::fmt::Display for ChangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChangeError::Save(error) => write!(f, "{error}"),
            ChangeError::Store(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ChangeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ChangeError::Save(error) => Some(error),
            ChangeError::Store(error) => Some(error),
        }
    }
}

impl From<SaveError> for ChangeError {
    fn from(error: SaveError) -> ChangeError {
        ChangeError::Save(error)
    }
}

impl ChangeError {
    /// Whether there was no room on the disk.
    pub fn is_without_room(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        let (ChangeError::Save(SaveError::Base(Error::Io { source, .. }))
        | ChangeError::Store(storage::Error::Io { source, .. })) = self
        else {
            return false;
        };
        matches!(source.kind(), StorageFull | QuotaExceeded)
    }

    /// Whether the base cannot be opened because of its journal, or the note
    /// beside that: neither a stranger's nor one that cannot be read is used.
    pub fn is_of_journal(&self) -> bool {
        use storage::Error::{DoesNotFit, Unreadable, Untrusted};
        matches!(
            self,
            ChangeError::Save(SaveError::Base(Error::Store {
                source: DoesNotFit { .. } | Unreadable { .. } | Untrusted { .. },
                ..
            }))
        )
    }
}

impl From<Error> for ChangeError {
    fn from(error: Error) -> ChangeError {
        ChangeError::Save(error.into())
    }
}

impl From<storage::Error> for ChangeError {
    fn from(error: storage::Error) -> ChangeError {
        ChangeError::Store(error)
    }
}

/// A base, and the store that shows and saves its files.
#[derive(Debug)]
pub struct OpenBase {
    /// What the files say.
    pub database: Database,
    /// The files.
    pub store: Arc<Store>,
}

impl OpenBase {
    /// Opens the base that `path`, any file of it, belongs to. To be changed,
    /// it is first brought to a whole state; to read only, its journal is laid
    /// over it in memory. `label` is what others are told who want to change
    /// it meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Database::open`] and [`Store::open`].
    pub fn open(
        path: &Path,
        options: &Options,
        access: Access,
        label: &str,
    ) -> Result<OpenBase, ChangeError> {
        let store = Family::locate(path)?.store(access, label)?;
        OpenBase::of(path, *options, access, Arc::new(store))
    }

    fn of(
        path: &Path,
        options: Options,
        access: Access,
        store: Arc<Store>,
    ) -> Result<OpenBase, ChangeError> {
        match Database::open_in(path, &options, Arc::clone(&store)) {
            Ok(database) => Ok(OpenBase { database, store }),
            Err(error) => {
                if access == Access::ReadWrite {
                    store.close()?;
                }
                Err(error.into())
            }
        }
    }

    /// As [`open`](OpenBase::open), to be changed.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn to_change(path: &Path, options: &Options, label: &str) -> Result<OpenBase, ChangeError> {
        OpenBase::open(path, options, Access::ReadWrite, label)
    }

    /// As [`open`](OpenBase::open), to read only.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn to_read(path: &Path, options: &Options) -> Result<OpenBase, ChangeError> {
        OpenBase::open(path, options, Access::ReadOnly, "")
    }

    /// As [`to_read`](OpenBase::to_read), with all saves: a journal that
    /// cannot be used is an error.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn to_copy(path: &Path, options: &Options) -> Result<OpenBase, ChangeError> {
        let store = Family::locate(path)?.store_with_journal()?;
        OpenBase::of(path, *options, Access::ReadOnly, Arc::new(store))
    }
}
