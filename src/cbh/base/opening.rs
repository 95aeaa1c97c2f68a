//! Opening a base together with its journal.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::cbh::{Database, Error, Family, Options, SaveError};
use crate::storage::{self, Store, StoreAccess};

/// An error of opening a base for changes, or of a change. The base is as
/// before.
#[derive(Debug)]
pub enum ChangeError {
    /// The content of the base, or the change.
    Save(SaveError),
    /// The files or the journal.
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
    /// The kind of error of a file, if it is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            ChangeError::Save(SaveError::Base(Error::Io { source, .. }))
            | ChangeError::Store(storage::Error::Io { source, .. }) => Some(source.kind()),
            _ => None,
        }
    }

    /// Returns whether the disk was full.
    pub fn is_without_room(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self.io_kind(), Some(StorageFull | QuotaExceeded))
    }

    /// Returns whether another process changed a file of the base or its journal meanwhile.
    pub fn is_of_other_process(&self) -> bool {
        use storage::Error::ChangedOutside;
        matches!(
            self,
            ChangeError::Store(ChangedOutside { .. })
                | ChangeError::Save(SaveError::Base(Error::Store {
                    source: ChangedOutside { .. },
                    ..
                }))
        )
    }

    /// Returns whether the journal, or the note beside it, prevents the
    /// opening: it is unreadable, or was left by another user.
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

/// An open base, with the store that reads and saves its files.
#[derive(Debug)]
pub struct OpenBase {
    /// The base.
    pub database: Database,
    /// The files.
    pub store: Arc<Store>,
}

impl OpenBase {
    /// Opens the base of the file `path`. For writing, saves in its journal are
    /// first written to its files; for reading only, they are laid over the
    /// files in memory. `label` is shown to others who want to write meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Database::open`] and [`Store::open`].
    pub fn open(
        path: &Path,
        options: &Options,
        access: StoreAccess,
        label: &str,
    ) -> Result<OpenBase, ChangeError> {
        let store = Family::locate(path)?.store(access, label)?;
        OpenBase::of(path, *options, access, Arc::new(store))
    }

    fn of(
        path: &Path,
        options: Options,
        access: StoreAccess,
        store: Arc<Store>,
    ) -> Result<OpenBase, ChangeError> {
        match Database::open_in(path, &options, Arc::clone(&store)) {
            Ok(database) => Ok(OpenBase { database, store }),
            Err(error) => {
                if access == StoreAccess::ReadWrite {
                    store.close()?;
                }
                Err(error.into())
            }
        }
    }

    /// Opens the base again as it is after a save. `path` is the one that it was
    /// opened by.
    ///
    /// # Errors
    ///
    /// As [`Database::open`].
    pub fn reopen(&mut self, path: &Path) -> Result<(), Error> {
        let is_given = self.database.is_code_page_given();
        let options = Options {
            code_page: is_given.then(|| self.database.code_page()),
        };
        self.database = Database::open_in(path, &options, Arc::clone(&self.store))?;
        Ok(())
    }

    /// As [`open`](OpenBase::open), for writing.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn to_change(path: &Path, options: &Options, label: &str) -> Result<OpenBase, ChangeError> {
        OpenBase::open(path, options, StoreAccess::ReadWrite, label)
    }

    /// As [`open`](OpenBase::open), for reading only.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn to_read(path: &Path, options: &Options) -> Result<OpenBase, ChangeError> {
        OpenBase::open(path, options, StoreAccess::ReadOnly, "")
    }

    /// As [`to_read`](OpenBase::to_read), with all saves: a journal that
    /// cannot be used is an error.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn to_copy(path: &Path, options: &Options) -> Result<OpenBase, ChangeError> {
        let store = Family::locate(path)?.store_with_journal()?;
        OpenBase::of(path, *options, StoreAccess::ReadOnly, Arc::new(store))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn an_error_of_a_change_tells_where_it_is_from() {
        let io = |kind: io::ErrorKind| {
            ChangeError::Store(storage::Error::Io {
                file: "base.cbg".into(),
                source: kind.into(),
            })
        };
        let of_base = |source| {
            let base = "base.cbh".into();
            ChangeError::Save(SaveError::Base(Error::Store { base, source }))
        };
        let (file, what) = ("journal".into(), String::new());
        let untrusted = storage::Error::Untrusted { file, what };
        for (error, is_full, is_of_journal) in [
            (io(io::ErrorKind::StorageFull), true, false),
            (io(io::ErrorKind::QuotaExceeded), true, false),
            (io(io::ErrorKind::NotFound), false, false),
            (of_base(storage::Error::ReadOnly), false, false),
            (of_base(untrusted), false, true),
            (
                ChangeError::from(SaveError::ReadsBackOtherwise),
                false,
                false,
            ),
        ] {
            let source = error.source().map(ToString::to_string);
            assert_eq!(source, Some(error.to_string()));
            assert_eq!(error.is_without_room(), is_full, "{error}");
            assert_eq!(error.is_of_journal(), is_of_journal, "{error}");
            assert!(!error.is_of_other_process(), "{error}");
        }
        let changed = || {
            let file = "base.cbg".into();
            storage::Error::ChangedOutside { file }
        };
        for error in [ChangeError::Store(changed()), of_base(changed())] {
            assert!(error.is_of_other_process(), "{error}");
        }
    }

    #[test]
    fn an_opening_that_fails_leaves_no_journal() {
        let folder = super::super::copy_of_sample();
        let path = folder.path().join("sample.cbh");
        std::fs::write(&path, [0; 3]).unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let before = count();
        assert!(OpenBase::to_change(&path, &Options::default(), "").is_err());
        assert!(OpenBase::to_read(&path, &Options::default()).is_err());
        assert_eq!(count(), before);
    }
}
