//! Books on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use encoding_rs::Encoding;
use parking_lot::Mutex;

use super::{BookVolume, numbers};
use crate::base::referenced::GamesOptions;
use crate::book;
use crate::fs::Source;
use crate::fs::volume::Volume;
use crate::storage::{Relisting, folder_of, identities, modified};
use crate::views::positions::InoTable;

/// How a book is shown.
#[derive(Clone, Debug)]
pub struct BookOptions {
    /// Positions that a file of `export/` or a `book.pgn` has, at most.
    pub export_limit: u32,
    /// Where the games lie that the book names, and in which code page the
    /// names of players are.
    pub games: GamesOptions,
    /// Directory of what is kept for the next mount; `None` if nothing is.
    pub caches: Option<PathBuf>,
}

impl BookOptions {
    /// The options that the texts of a book depend on, for the key of its cache.
    pub(super) fn settings(&self) -> String {
        let (limit, page) = (self.export_limit, self.games.code_page);
        format!("limit {limit} code page {page:?}")
    }
}

impl Default for BookOptions {
    fn default() -> BookOptions {
        BookOptions {
            export_limit: 2_000_000,
            games: GamesOptions::default(),
            caches: None,
        }
    }
}

/// A book on disk.
#[derive(Debug)]
pub struct BookSource {
    path: PathBuf,
    options: BookOptions,
    /// Numbers mean the same in all states of the book.
    nodes: Arc<InoTable>,
    known: Mutex<ListedFiles>,
}

/// The files of the book, as the directory listed them last.
#[derive(Debug, Default)]
struct ListedFiles {
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

    /// The files of the book that are there.
    fn files(&self) -> Vec<PathBuf> {
        let mut known = self.known.lock();
        if known.relisting.is_due(folder_of(&self.path)) {
            known.files = book::files_of(&self.path).unwrap_or_else(|_| {
                // Where nothing can be listed, the file that was named counts.
                known.relisting.note_failure();
                vec![self.path.clone()]
            });
        }
        known.files.clone()
    }
}

impl Source for BookSource {
    fn open(&self) -> Result<Box<dyn Volume>, String> {
        // A code page has the name by which the standard knows it.
        let page = self.options.games.code_page;
        let code_page = page.and_then(|page| Encoding::for_label(page.name().as_bytes()));
        let book = book::open(&self.path, code_page);
        let book = book.ok_or_else(|| format!("{}: no file of a book", self.path.display()))?;
        let book = book.map_err(|error| error.to_string())?;
        for defect in book.defects() {
            log::warn!("{}: {defect}", self.path.display());
        }
        let (nodes, options) = (Arc::clone(&self.nodes), self.options.clone());
        let volume = BookVolume::numbered_by(nodes, book, options, self.modified());
        Ok(Box::new(volume))
    }

    fn state(&self) -> String {
        identities(self.files().iter().map(PathBuf::as_path))
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
