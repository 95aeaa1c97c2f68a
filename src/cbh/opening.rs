//! A base opened together with the saves that lie in its journal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Database, Error, Family, FileKind, Options, SaveError};
use crate::storage::{self, Access, DiskDirectory, Opening, Storage, Store};

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
    pub store: Store,
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
        let family = Family::locate(path)?;
        let directory = DiskDirectory::new(family.directory());
        let journal = family.journal();
        let cbh = family.default_path(FileKind::Headers);
        let store = Store::open(
            Arc::new(directory),
            &Opening {
                journal: &journal,
                label,
                access,
                belongs: &|name| Family::is_file_of(&cbh, Path::new(name)),
            },
        )?;
        let database = read(&family, &store, *options)?;
        Ok(OpenBase { database, store })
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

    /// As [`open`](OpenBase::open) to read only; before that the base is
    /// brought to a whole state, if something was left to do and it can be
    /// changed.
    ///
    /// # Errors
    ///
    /// As [`open`](OpenBase::open).
    pub fn open_whole(path: &Path, options: &Options) -> Result<OpenBase, ChangeError> {
        let family = Family::locate(path)?;
        let left = [family.journal(), storage::stage_note(&family.journal())];
        if left
            .iter()
            .any(|name| family.directory().join(name).exists())
        {
            match OpenBase::to_change(path, options, "cbfs") {
                Ok(base) => base.store.close()?,
                Err(ChangeError::Store(
                    storage::Error::Io { .. } | storage::Error::InUse { .. },
                )) => {}
                Err(error) => return Err(error),
            }
        }
        OpenBase::to_read(path, options)
    }
}

fn read(family: &Family, store: &Store, options: Options) -> Result<Database, ChangeError> {
    let family = shown(family, store)?;
    let database = Database::open_with(family, &options, &|path| {
        let name = path.file_name().unwrap_or_default();
        let file = store.file(name).map_err(io::Error::other)?;
        let file = file.ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(file) as Box<dyn Storage>)
    })?;
    Ok(database)
}

/// The files of a base that a store shows: a save may have made some.
fn shown(family: &Family, store: &Store) -> Result<Family, ChangeError> {
    let directory = family.directory();
    let io = |source| Error::Io {
        file: directory.to_path_buf(),
        source,
    };
    let mut names: Vec<OsString> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        names.push(entry.map_err(io)?.file_name());
    }
    let usual = FileKind::ALL.map(|kind| family.default_path(kind));
    names.extend(
        usual
            .iter()
            .filter_map(|path| path.file_name())
            .map(OsStr::to_owned),
    );
    let cbh = family.default_path(FileKind::Headers);
    let mut there = Vec::new();
    for name in names {
        let is_file = Family::is_file_of(&cbh, Path::new(&name));
        if !is_file || store.file(&name)?.is_some() {
            there.push(name);
        }
    }
    Ok(Family::among(&cbh, there)?)
}
