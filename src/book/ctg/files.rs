//! Locates the files of a CTG book.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::book::Error;
use crate::storage::{folder_of, is_same_stem, join_name, names_in, split_name};

/// Extensions of the files: positions, entries, bitmap.
pub(super) const EXTENSIONS: [&str; 3] = ["ctg", "cto", "ctb"];

/// Description of their content for messages.
pub(super) const HOLDS: [&str; 3] = ["positions", "page numbers", "page tree"];

/// Paths of the files of a book, in any letter case.
#[derive(Clone, Debug)]
pub struct CtgFiles {
    pub(super) stem: OsString,
    /// In the order of [`EXTENSIONS`]: the path, and whether the file exists.
    pub(super) paths: [(PathBuf, bool); 3],
}

impl CtgFiles {
    /// Returns whether a path has the extension of a file of a CTG book.
    pub fn is_one(path: &Path) -> bool {
        EXTENSIONS.contains(&split_name(path).1.as_str())
    }

    /// Locates the book of the file `path`, in any letter case.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for other extensions, [`Error::Missing`] if there
    /// is no `.ctg`, [`Error::Io`] if the folder cannot be read.
    pub fn locate(path: &Path) -> Result<CtgFiles, Error> {
        if !CtgFiles::is_one(path) {
            return Err(Error::Unsupported {
                file: path.to_path_buf(),
                what: "not a file of a CTG book; name its .ctg".to_owned(),
            });
        }
        let directory = folder_of(path);
        let names = names_in(directory).map_err(|source| Error::Io {
            file: directory.to_path_buf(),
            source,
        })?;
        let files = CtgFiles::among(directory, split_name(path).0, names);
        match files.paths {
            [(_, true), ..] => Ok(files),
            [(file, false), ..] => Err(Error::Missing {
                file,
                holds: HOLDS[0],
            }),
        }
    }

    /// Selects the files of a book from the names in a folder. A stem in the
    /// same letter case is preferred.
    fn among(directory: &Path, stem: OsString, names: Vec<OsString>) -> CtgFiles {
        let mut paths = EXTENSIONS.map(|extension| {
            let name = join_name(&stem, extension);
            (directory.join(name), false)
        });
        for name in names {
            let path = directory.join(name);
            let (other, extension) = split_name(&path);
            if !is_same_stem(&other, &stem) {
                continue;
            }
            for (known, place) in EXTENSIONS.into_iter().zip(&mut paths) {
                if known == extension && (other == stem || !place.1) {
                    *place = (path.clone(), true);
                }
            }
        }
        CtgFiles { stem, paths }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_book_is_found_by_any_of_its_files_in_any_letter_case() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["Book.CTG", "book.Ctb", "BOOK.cto", "other.cto"] {
            fs::write(at(name), "").unwrap();
        }
        for name in ["Book.CTG", "book.Ctb", "bOOk.cto", "BOOK.ctb"] {
            let files = CtgFiles::locate(&at(name)).unwrap();
            let expected = ["Book.CTG", "BOOK.cto", "book.Ctb"].map(|name| (at(name), true));
            assert_eq!(files.paths, expected, "{name}");
        }
        let missing = CtgFiles::locate(&at("other.ctb")).unwrap_err();
        assert_eq!(
            missing.to_string(),
            format!(
                "{}: not found; a book cannot be read without its positions",
                at("other.ctg").display()
            )
        );
        let other = CtgFiles::locate(&at("other.pgn")).unwrap_err();
        assert!(other.to_string().ends_with("name its .ctg"), "{other}");
    }
}
