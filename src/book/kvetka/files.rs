//! Locates the files of a Kvetka book.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::book::Error;
use crate::storage::{folder_of, is_same_stem, join_name, names_in, split_name};

/// Extensions of the files.
const EXTENSIONS: [&str; 3] = ["kob", "kin", "ksf"];

/// Description of their content for messages, in that order.
pub(super) const HOLDS: [&str; 3] = ["positions", "first keys", "sources of games"];

/// Maximum number of `.kob` files that are kept open; each has 20 MB.
const MAX_PARTS: usize = 500;

/// Paths of the files of a book, in any letter case.
#[derive(Clone, Debug)]
pub struct KvetkaFiles {
    pub(super) stem: OsString,
    /// `STEM_0.kob`, `STEM_1.kob` … without a gap.
    pub(super) positions: Vec<PathBuf>,
    /// The first `.kob` after a gap in the numbers.
    pub(super) stray: Option<PathBuf>,
    /// `.kin` and `.ksf`: the path, and whether the file exists.
    pub(super) others: [(PathBuf, bool); 2],
}

impl KvetkaFiles {
    /// Returns whether a path has the extension of a file of a Kvetka book.
    pub fn is_one(path: &Path) -> bool {
        EXTENSIONS.contains(&split_name(path).1.as_str())
    }

    /// Locates the book of the file `path`, in any letter case.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for other extensions and for a book with too many
    /// files, [`Error::Missing`] if there is no `_0.kob`, [`Error::Io`] if the
    /// folder cannot be read.
    pub fn locate(path: &Path) -> Result<KvetkaFiles, Error> {
        let unsupported = |what: String| Error::Unsupported {
            file: path.to_path_buf(),
            what,
        };
        if !KvetkaFiles::is_one(path) {
            let what = "not a file of a Kvetka book; name its _0.kob";
            return Err(unsupported(what.to_owned()));
        }
        let stem = match split_name(path) {
            (stem, extension) if extension == "kob" => {
                let Some((name, _)) = split_number(&stem) else {
                    let what = "the .kob of a book is called NAME_0.kob, and this is not";
                    return Err(unsupported(what.to_owned()));
                };
                name.to_owned()
            }
            (stem, _) => stem,
        };
        let directory = folder_of(path);
        let names = names_in(directory).map_err(|source| Error::Io {
            file: directory.to_path_buf(),
            source,
        })?;
        let files = KvetkaFiles::among(directory, stem, names);
        if files.positions.is_empty() {
            return Err(Error::Missing {
                file: directory.join(numbered(&files.stem, 0)),
                holds: HOLDS[0],
            });
        }
        if files.positions.len() > MAX_PARTS {
            return Err(unsupported(format!(
                "a book in {} files; up to {MAX_PARTS} can be read",
                files.positions.len()
            )));
        }
        Ok(files)
    }

    /// Selects the files of a book from the names in a folder. A stem in the
    /// same letter case is preferred.
    fn among(directory: &Path, stem: OsString, names: Vec<OsString>) -> KvetkaFiles {
        let mut others = ["kin", "ksf"].map(|extension| {
            let name = join_name(&stem, extension);
            (directory.join(name), false)
        });
        let mut numbered: BTreeMap<u32, PathBuf> = BTreeMap::new();
        for name in names {
            let path = directory.join(name);
            let (other, extension) = split_name(&path);
            let is_ours = |other: &OsStr| is_same_stem(other, &stem);
            match extension.as_str() {
                "kob" => {
                    let Some((other, number)) = split_number(&other) else {
                        continue;
                    };
                    if is_ours(other) && (other == stem || !numbered.contains_key(&number)) {
                        numbered.insert(number, path);
                    }
                }
                "kin" | "ksf" if is_ours(&other) => {
                    let [kin, ksf] = &mut others;
                    let place = if extension == "kin" { kin } else { ksf };
                    if other == stem || !place.1 {
                        *place = (path, true);
                    }
                }
                _ => {}
            }
        }
        let mut positions = Vec::new();
        let mut stray = None;
        for (expected, (number, path)) in (0..).zip(numbered) {
            if number != expected {
                stray = Some(path);
                break;
            }
            positions.push(path);
        }
        KvetkaFiles {
            stem,
            positions,
            stray,
            others,
        }
    }
}

/// Splits `NAME_12` into the name of the book and the number of the file.
fn split_number(stem: &OsStr) -> Option<(&OsStr, u32)> {
    let bytes = stem.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'_')?;
    let (name, digits) = bytes.split_at_checked(at)?;
    let digits = std::str::from_utf8(digits.get(1..)?).ok()?;
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some((OsStr::from_bytes(name), number))
}

/// The stem of the `.kob` file with this number.
fn numbered(stem: &OsStr, number: u32) -> OsString {
    let mut name = stem.to_owned();
    name.push(format!("_{number}.kob"));
    name
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_book_is_found_by_any_of_its_files_in_any_letter_case() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [
            "My_1_0.KOB",
            "my_1_1.kob",
            "my_1_3.kob",
            "my_1_01.kob",
            "MY_1.kin",
            "My_1.Ksf",
            "My_0.kob",
        ] {
            fs::write(at(name), "").unwrap();
        }
        for name in ["My_1_0.KOB", "my_1_1.kob", "MY_1.kin", "My_1.KSF"] {
            let files = KvetkaFiles::locate(&at(name)).unwrap();
            assert_eq!(
                files.positions,
                ["My_1_0.KOB", "my_1_1.kob"].map(at),
                "{name}"
            );
            assert_eq!(files.stray, Some(at("my_1_3.kob")));
            let others = ["MY_1.kin", "My_1.Ksf"].map(|name| (at(name), true));
            assert_eq!(files.others, others);
        }
        let files = KvetkaFiles::locate(&at("My_0.kob")).unwrap();
        assert_eq!(files.positions, [at("My_0.kob")]);
        assert_eq!(files.others[0], (at("My.kin"), false));
    }

    #[test]
    fn the_error_for_a_non_book_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let why = |name: &str| {
            let path = folder.path().join(name);
            KvetkaFiles::locate(&path).unwrap_err().to_string()
        };
        assert!(why("book.pgn").ends_with("name its _0.kob"));
        assert!(why("book.kob").contains("NAME_0.kob"));
        assert!(why("book.kin").contains("book_0.kob: not found"));
        assert!(why("book_1.kob").contains("book_0.kob: not found"));
    }
}
