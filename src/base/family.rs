//! The set of files of a base, located before it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Base;
use crate::cbh::{self, Error, Options};
use crate::cbh2;
use crate::game::Defect;
use crate::storage::{FolderTree, split_name};

/// The files of one base of either format.
#[derive(Clone, Debug)]
pub enum AnyFamily {
    /// CBH.
    Older(Box<cbh::Family>),
    /// A base in the 2CBH format, which is read-only.
    Newer(Box<cbh2::Family>),
}

impl AnyFamily {
    /// Returns whether `path` has the extension of a header file. Each base has
    /// exactly one.
    pub fn is_headers(path: &Path) -> bool {
        let (_, extension) = split_name(path);
        extension == cbh::FileKind::Headers.extension()
            || extension == cbh2::FileKind::Headers.extension()
    }

    /// Locates the base that `path`, any of its files, belongs to.
    ///
    /// # Errors
    ///
    /// See [`cbh::Family::locate`], [`cbh2::Family::locate`].
    pub fn locate(path: &Path) -> Result<AnyFamily, Error> {
        if cbh2::Family::owns(path) {
            return Ok(AnyFamily::Newer(Box::new(cbh2::Family::locate(path)?)));
        }
        Ok(AnyFamily::Older(Box::new(cbh::Family::locate(path)?)))
    }

    /// Locates the only base in `tree`, the content of the archive at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] if there is none, or several; [`Error::Missing`]
    /// if a required file is absent.
    pub fn inside(path: &Path, tree: Arc<dyn FolderTree>) -> Result<AnyFamily, Error> {
        let mut names = tree.names();
        names.retain(|name| AnyFamily::is_headers(Path::new(name)));
        match &names[..] {
            [] => Err(Error::Unsupported {
                file: path.to_path_buf(),
                what: "holds no ChessBase base; `cbfs unpack` takes out what it holds".to_owned(),
            }),
            [only] if cbh2::Family::owns(Path::new(only)) => {
                let family = cbh2::Family::inside(path, only, tree)?;
                Ok(AnyFamily::Newer(Box::new(family)))
            }
            [only] => {
                let family = cbh::Family::inside(path, only, tree)?;
                Ok(AnyFamily::Older(Box::new(family)))
            }
            many => Err(Error::Unsupported {
                file: path.to_path_buf(),
                what: format!(
                    "holds {} bases; unpack it with `cbfs unpack` and name one",
                    many.len()
                ),
            }),
        }
    }

    /// Path of the header file.
    pub fn headers(&self) -> PathBuf {
        match self {
            AnyFamily::Older(family) => family.default_path(cbh::FileKind::Headers),
            AnyFamily::Newer(family) => family.default_path(cbh2::FileKind::Headers),
        }
    }

    /// Paths of the files that exist.
    pub fn files(&self) -> Vec<&Path> {
        match self {
            AnyFamily::Older(family) => {
                let kinds = cbh::FileKind::ALL.into_iter();
                kinds.filter_map(|kind| family.path(kind)).collect()
            }
            AnyFamily::Newer(family) => {
                let kinds = cbh2::FileKind::ALL.into_iter();
                kinds.filter_map(|kind| family.path(kind)).collect()
            }
        }
    }

    /// The folder of the files.
    pub fn directory(&self) -> &Path {
        match self {
            AnyFamily::Older(family) => family.directory(),
            AnyFamily::Newer(family) => family.directory(),
        }
    }

    /// Folders that may hold the pictures of texts.
    pub fn media_folders(&self) -> &[PathBuf] {
        match self {
            AnyFamily::Older(family) => family.media_folders(),
            AnyFamily::Newer(family) => family.media_folders(),
        }
    }

    /// Path of the journal, which holds saves that are not in the files yet.
    pub fn journal(&self) -> Option<PathBuf> {
        match self {
            AnyFamily::Older(family) => Some(family.directory().join(family.journal())),
            AnyFamily::Newer(_) => None,
        }
    }

    /// The reason why the base cannot be changed; `None` if it can.
    pub fn read_only_because(&self) -> Option<String> {
        match self {
            AnyFamily::Older(family) => family.read_only_because(),
            AnyFamily::Newer(_) => Some(format!(
                "{}: a base in the 2CBH format is read-only",
                self.headers().display()
            )),
        }
    }

    /// Opens the base for reading. `defects` are added to its own.
    ///
    /// # Errors
    ///
    /// See [`open`](super::open).
    pub fn open(self, options: &Options, defects: Vec<Defect>) -> Result<Box<dyn Base>, Error> {
        Ok(match self {
            AnyFamily::Older(family) => {
                let base = cbh::Database::open_family(*family, options)?;
                Box::new(base.with_defects(defects))
            }
            AnyFamily::Newer(family) => {
                let base = cbh2::Database::open_family(*family, options)?;
                Box::new(base.with_defects(defects))
            }
        })
    }
}
