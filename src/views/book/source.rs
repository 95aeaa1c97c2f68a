//! Books on disk.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use encoding_rs::Encoding;

use super::{BookVolume, numbers};
use crate::base::referenced::GamesOptions;
use crate::book::Book;
use crate::book::ctg::{CtgBook, CtgFiles};
use crate::book::kvetka::{KvetkaBook, KvetkaFiles, KvetkaOptions};
use crate::fs::Source;
use crate::fs::volume::Volume;
use crate::storage::{folder_of, is_same_stem};
use crate::views::database::{Relisting, identity, modified};
use crate::views::positions::Nodes;

/// How a book is shown.
#[derive(Clone, Debug)]
pub struct BookOptions {
    /// Positions that a file of `export/` or a `book.pgn` has, at most.
    pub export_limit: u32,
    /// Where the games lie that the book names, and in which code page the
    /// names of players are.
    pub games: GamesOptions,
}

impl Default for BookOptions {
    fn default() -> BookOptions {
        BookOptions {
            export_limit: 2_000_000,
            games: GamesOptions::default(),
        }
    }
}

/// A book on disk.
#[derive(Debug)]
pub struct BookSource {
    path: PathBuf,
    options: BookOptions,
    /// Numbers mean the same in all states of the book.
    nodes: Arc<Nodes>,
    known: Mutex<Known>,
}

/// The files of the book, as the directory listed them last.
#[derive(Debug, Default)]
struct Known {
    files: Vec<PathBuf>,
    relisting: Relisting,
}

impl BookSource {
    /// The book that `path`, any file of it, belongs to.
    pub fn new(path: &Path, options: BookOptions) -> BookSource {
        BookSource {
            path: path.to_path_buf(),
            options,
            nodes: Arc::new(numbers::nodes()),
            known: Mutex::default(),
        }
    }

    /// Whether a file belongs to a book, going by its name.
    pub fn is_one(path: &Path) -> bool {
        CtgFiles::is_one(path) || KvetkaFiles::is_one(path)
    }

    /// Whether a file is the one of its book that a directory of books knows
    /// it by.
    pub(crate) fn stands_for_one(path: &Path) -> bool {
        let extension = path.extension().unwrap_or_default();
        let stem = path.file_stem().unwrap_or_default();
        extension.eq_ignore_ascii_case("ctg")
            || extension.eq_ignore_ascii_case("kob") && stem.as_encoded_bytes().ends_with(b"_0")
    }

    /// The files of the book that are there.
    fn files(&self) -> Vec<PathBuf> {
        let directory = folder_of(&self.path);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.relisting.is_due(directory) {
            // Where nothing can be listed, the file that was named counts.
            let files = files_of(directory, &self.path);
            known.files = files.unwrap_or_else(|_| vec![self.path.clone()]);
        }
        known.files.clone()
    }

    fn open_book(&self) -> Result<Arc<dyn Book>, String> {
        let opened: Result<Arc<dyn Book>, _> = if KvetkaFiles::is_one(&self.path) {
            // A code page has the name by which the standard knows it.
            let page = self.options.games.code_page;
            let code_page = page.and_then(|page| Encoding::for_label(page.name().as_bytes()));
            let book = KvetkaBook::open(&self.path, KvetkaOptions { code_page });
            book.map(|book| Arc::new(book) as Arc<dyn Book>)
        } else {
            CtgBook::open(&self.path).map(|book| Arc::new(book) as Arc<dyn Book>)
        };
        opened.map_err(|error| error.to_string())
    }
}

/// What the files of one book have in common: whether they are Kvetka's, and
/// the stem, without the number of a `.kob`. Letter case does not matter.
fn book_of(path: &Path) -> (bool, &OsStr) {
    let stem = path.file_stem().unwrap_or_default();
    let extension = path.extension().unwrap_or_default();
    let name = if extension.eq_ignore_ascii_case("kob") {
        without_number(stem.as_bytes())
    } else {
        None
    };
    (
        KvetkaFiles::is_one(path),
        name.map_or(stem, OsStr::from_bytes),
    )
}

/// What is before the `_12` at the end of a stem.
fn without_number(stem: &[u8]) -> Option<&[u8]> {
    let last = stem.iter().rposition(|byte| !byte.is_ascii_digit())?;
    stem.get(..=last)?.strip_suffix(b"_")
}

/// Whether two files belong to one book.
fn are_of_one_book(one: &Path, other: &Path) -> bool {
    let ((one, stem), (other, other_stem)) = (book_of(one), book_of(other));
    one == other && is_same_stem(stem, other_stem)
}

/// The name by which a book is shown among others.
pub(crate) fn stem_of(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_string_lossy();
    let stem = match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("kob") => stem.strip_suffix("_0"),
        _ => None,
    }
    .unwrap_or(&stem);
    Some(stem.to_owned())
}

fn files_of(directory: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let other = entry?.path();
        if BookSource::is_one(&other) && are_of_one_book(&other, path) {
            files.push(other);
        }
    }
    files.sort();
    Ok(files)
}

impl Source for BookSource {
    fn open(&self) -> Result<Box<dyn Volume>, String> {
        let book = self.open_book()?;
        for defect in book.defects() {
            log::warn!("{}: {defect}", self.path.display());
        }
        let (nodes, options) = (Arc::clone(&self.nodes), self.options.clone());
        let volume = BookVolume::numbered_by(nodes, book, options, self.modified());
        Ok(Box::new(volume))
    }

    fn state(&self) -> String {
        let mut state = String::new();
        for path in self.files() {
            let stat = fs::metadata(path);
            state.push_str(&stat.map_or_else(|error| error.to_string(), |stat| identity(&stat)));
            state.push(' ');
        }
        state
    }

    fn modified(&self) -> SystemTime {
        let times = self.files().into_iter().map(|path| modified(&path));
        times.max().unwrap_or(UNIX_EPOCH)
    }

    fn guess(&self) -> u64 {
        // None of its files is rendered ahead of being asked for.
        0
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }
}
