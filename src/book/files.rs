//! Files of books in any format: which ones belong together, and how to open
//! them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::Encoding;

use super::ctg::{CtgBook, CtgFiles};
use super::kvetka::{KvetkaBook, KvetkaFiles, KvetkaOptions};
use super::{Book, Error};
use crate::storage::{folder_of, is_same_stem, names_in};

/// Opens the book that a file belongs to; `None` if the file has no extension
/// of a book. Names in Kvetka's books are in `code_page`, detected if not
/// given.
pub fn open(
    path: &Path,
    code_page: Option<&'static Encoding>,
) -> Option<Result<Arc<dyn Book>, Error>> {
    if CtgFiles::is_one(path) {
        return Some(CtgBook::open(path).map(|book| Arc::new(book) as Arc<dyn Book>));
    }
    if KvetkaFiles::is_one(path) {
        let book = KvetkaBook::open(path, KvetkaOptions { code_page });
        return Some(book.map(|book| Arc::new(book) as Arc<dyn Book>));
    }
    None
}

/// Whether a file belongs to a book, going by its name.
pub fn belongs_to_book(path: &Path) -> bool {
    CtgFiles::is_one(path) || KvetkaFiles::is_one(path)
}

/// Whether a file is the one of its book that a list of books names.
pub fn stands_for_book(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default();
    extension.eq_ignore_ascii_case("ctg")
        || extension.eq_ignore_ascii_case("kob") && stem.as_encoded_bytes().ends_with(b"_0")
}

/// The name of a book in a list of books.
pub fn stem_of(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_string_lossy();
    let stem = match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("kob") => stem.strip_suffix("_0"),
        _ => None,
    }
    .unwrap_or(&stem);
    Some(stem.to_owned())
}

/// The files of the book that the file `path` belongs to, sorted.
///
/// # Errors
///
/// Errors of the system.
pub fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = folder_of(path);
    let files = names_in(folder)?.into_iter().map(|name| folder.join(name));
    let mut files: Vec<_> = files
        .filter(|other| belongs_to_book(other) && are_of_one_book(other, path))
        .collect();
    files.sort();
    Ok(files)
}

/// Whether two files belong to one book.
fn are_of_one_book(one: &Path, other: &Path) -> bool {
    let ((one, stem), (other, other_stem)) = (book_of(one), book_of(other));
    one == other && is_same_stem(stem, other_stem)
}

/// Whether a file is one of Kvetka's, and the stem of its book: without the
/// number of a `.kob`.
fn book_of(path: &Path) -> (bool, &OsStr) {
    let stem = path.file_stem().unwrap_or_default();
    let extension = path.extension().unwrap_or_default();
    let name = if extension.eq_ignore_ascii_case("kob") {
        without_number(stem.as_bytes())
    } else {
        None
    };
    let stem = name.map_or(stem, OsStr::from_bytes);
    (KvetkaFiles::is_one(path), stem)
}

/// Returns the stem without a number at its end, such as `_12`; `None` if it
/// has none.
fn without_number(stem: &[u8]) -> Option<&[u8]> {
    let last = stem.iter().rposition(|byte| !byte.is_ascii_digit())?;
    stem.get(..=last)?.strip_suffix(b"_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_has_all_files_of_its_name_and_kind() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "a.ctg", "A.CTO", "a.ctb", "a.kin", "a.ksf", "a_0.kob", "a_12.kob", "a_1.ctg",
            "ab.ctg", "b.cto", "b_0.kob", "a.pgn",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let of = |name: &str| {
            let files = files_of(&folder.path().join(name)).unwrap();
            let names = files.iter().filter_map(|file| file.file_name()?.to_str());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of("a.ctg"), ["A.CTO", "a.ctb", "a.ctg"]);
        assert_eq!(of("a_12.kob"), ["a.kin", "a.ksf", "a_0.kob", "a_12.kob"]);
        assert_eq!(of("a_1.ctg"), ["a_1.ctg"]);
        assert_eq!(of("b_0.kob"), ["b_0.kob"]);
    }

    #[test]
    fn any_file_of_a_book_opens_it_and_one_stands_for_it() {
        let folder = Path::new("fixtures/book");
        for (name, stem, stands) in [
            ("small/small.ctg", "small", true),
            ("small/small.cto", "small", false),
            ("kvetka_0.kob", "kvetka", true),
            ("kvetka_1.kob", "kvetka", false),
            ("kvetka.kin", "kvetka", false),
        ] {
            let path = folder.join(name);
            let book = open(&path, None).unwrap().unwrap();
            assert_eq!(book.facts().stem, stem, "{name}");
            assert!(belongs_to_book(&path), "{name}");
            assert_eq!(stands_for_book(&path), stands, "{name}");
            if stands {
                assert_eq!(stem_of(&path).as_deref(), Some(stem), "{name}");
            }
        }
        let other = folder.join("kvetka.pgn");
        assert!(open(&other, None).is_none() && !belongs_to_book(&other));
        assert!(open(&folder.join("none.ctg"), None).unwrap().is_err());
    }
}
