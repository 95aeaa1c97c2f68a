//! Bases on disk: one, and all of a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::change::error_of_store;
use super::search_state::{Common, SearchState};
use super::{DatabaseVolume, Shown};
use crate::archive;
pub use crate::base::Writer;
use crate::base::{Base, BaseOnDisk, FilesState, KeptIndex, Merges, Opened, bases_in};
use crate::book::stands_for_book;
use crate::cbh::{Error, Options};
use crate::fs::mount::folder::{BaseInFolder, Bases};
use crate::fs::volume::Volume;
use crate::fs::{Error as RequestError, Source};
use crate::storage::{Relisting, modified, name_elsewhere};
use crate::views::book::{BookOptions, BookSource};

/// Bytes of a record of `.cbh`, for guesses only.
const RECORD_BYTES: u64 = 46;

/// A base on disk.
#[derive(Debug)]
pub struct DatabaseSource {
    path: PathBuf,
    on_disk: BaseOnDisk,
    /// Where files of lengths are kept.
    caches: Option<PathBuf>,
    is_clean: bool,
    shown: Shown,
    /// What all states of the base share.
    common: Common,
}

impl DatabaseSource {
    /// The base that `path`, any file of it, belongs to. Lengths of texts are
    /// kept in the directory `caches`.
    pub fn new(path: &Path, options: Options, caches: Option<PathBuf>) -> DatabaseSource {
        DatabaseSource {
            path: path.to_path_buf(),
            on_disk: BaseOnDisk::new(path, options),
            is_clean: false,
            shown: Shown::default(),
            common: Common::new(KeptIndex::new(caches.clone())),
            caches,
        }
    }

    /// The same, an archive being read as these options say.
    #[must_use]
    pub fn with_archives(mut self, archives: archive::Options) -> DatabaseSource {
        self.on_disk.archives = archives;
        self
    }

    /// The same, with its positions indexed in a file if there are more than so
    /// many.
    #[must_use]
    pub fn keeping_in_memory(mut self, positions: usize) -> DatabaseSource {
        let kept = KeptIndex::new(self.caches.clone()).with_in_memory(positions);
        self.common = Common::new(kept);
        self
    }

    /// The same, its games shown without tags and commands that only cbfs
    /// reads if `is_clean`; then it has no writer.
    #[must_use]
    pub fn clean(mut self, is_clean: bool) -> DatabaseSource {
        self.is_clean = is_clean;
        self.on_disk.writer.take_if(|_| is_clean);
        self
    }

    /// The same with these directories.
    #[must_use]
    pub fn showing(mut self, shown: Shown) -> DatabaseSource {
        self.shown = shown;
        self
    }

    /// The base's file of headers, or the archive.
    ///
    /// # Errors
    ///
    /// That there is no such base.
    pub fn headers(&self) -> Result<PathBuf, Error> {
        self.on_disk.headers()
    }

    /// The same, to be changed by `writer`, if it can be.
    #[must_use]
    pub fn written_by(mut self, writer: Option<Writer>) -> DatabaseSource {
        let merges = writer.as_ref().and_then(|writer| writer.merges.as_ref());
        self.common.merges = merges.map(|state| Arc::new(Merges::of(state, &self.path)));
        self.on_disk.writer = writer.filter(|_| !self.is_clean);
        self
    }
}

impl Source for DatabaseSource {
    fn open(&self) -> Result<Box<dyn Volume>, String> {
        // Lengths of texts in another page are other lengths.
        let options = |base: &dyn Base| format!("codepage={}", base.code_page().0.name());
        let search = |base| SearchState::new(self.common.clone(), FilesState::of(base));
        let volume = match self.on_disk.open()? {
            Opened::ToChange(database, saving) => {
                let (options, search) = (options(database.as_ref()), search(database.as_ref()));
                DatabaseVolume::editable(*database, Arc::new(saving), &options, search)
            }
            Opened::ToRead(base, why) => {
                let (options, search) = (options(base.as_ref()), search(base.as_ref()));
                DatabaseVolume::of(base, &options, search).read_only_because(why)
            }
        };
        for defect in volume.base.defects() {
            log::warn!("{}: {defect}", self.path.display());
        }
        let volume = volume.showing(self.shown);
        Ok(Box::new(if self.is_clean {
            volume.clean()
        } else {
            volume
        }))
    }

    fn state(&self) -> String {
        self.on_disk.state()
    }

    fn sync(&self) -> Result<(), RequestError> {
        let synced = self.on_disk.sync();
        synced.map_err(|error| error_of_store(&error))
    }

    fn close(&self) -> Result<(), String> {
        self.common.kept.stop();
        self.on_disk.close()
    }

    fn modified(&self) -> SystemTime {
        modified(&self.path)
    }

    fn guess(&self) -> u64 {
        // Packed, a game takes about as much as its record does on disk.
        fs::metadata(&self.path).map_or(0, |stat| stat.len() / RECORD_BYTES)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn sizes_file(&self) -> Option<PathBuf> {
        let headers = self.headers().ok()?;
        let name = name_elsewhere(&headers) + ".sizes";
        Some(self.caches.as_ref()?.join(name))
    }
}

/// A directory of bases and books.
#[derive(Debug)]
pub struct BasesFolder {
    path: PathBuf,
    options: Options,
    book_options: BookOptions,
    caches: Option<PathBuf>,
    writer: Option<Writer>,
    archives: archive::Options,
    is_clean: bool,
    shown: Shown,
    relisting: Mutex<Relisting>,
}

impl BasesFolder {
    /// The bases directly in `path`, all read as `options` say. Lengths of
    /// texts are kept in the directory `caches`.
    pub fn new(path: &Path, options: Options, caches: Option<PathBuf>) -> BasesFolder {
        BasesFolder {
            path: path.to_path_buf(),
            options,
            book_options: BookOptions::default(),
            caches,
            writer: None,
            archives: archive::Options::default(),
            is_clean: false,
            shown: Shown::default(),
            relisting: Mutex::default(),
        }
    }

    /// The same with archives that are read as these options say.
    #[must_use]
    pub fn with_archives(mut self, archives: archive::Options) -> BasesFolder {
        self.archives = archives;
        self
    }

    /// The same, games shown as by [`DatabaseSource::clean`].
    #[must_use]
    pub fn clean(mut self, is_clean: bool) -> BasesFolder {
        self.is_clean = is_clean;
        self
    }

    /// The same with these directories.
    #[must_use]
    pub fn showing(mut self, shown: Shown) -> BasesFolder {
        self.shown = shown;
        self
    }

    /// The same, to be changed by `writer`, as far as they can be.
    #[must_use]
    pub fn written_by(mut self, writer: Option<Writer>) -> BasesFolder {
        self.writer = writer;
        self
    }

    /// The same with books that are read as these options say.
    #[must_use]
    pub fn with_books(self, book_options: BookOptions) -> BasesFolder {
        BasesFolder {
            book_options,
            ..self
        }
    }
}

impl Bases for BasesFolder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn modified(&self) -> SystemTime {
        modified(&self.path)
    }

    fn list_if_changed(&self) -> Result<Option<Vec<BaseInFolder>>, String> {
        let is_due = self.relisting.lock().is_due(&self.path);
        if !is_due {
            return Ok(None);
        }
        let bases = bases_in(&self.path).map_err(|error| {
            self.relisting.lock().note_failure();
            format!("{}: {error}", self.path.display())
        })?;
        let bases = bases.into_iter();
        let bases = bases.map(|(name, path)| BaseInFolder { name, path });
        Ok(Some(bases.collect()))
    }

    fn source(&self, path: &Path) -> Box<dyn Source> {
        if stands_for_book(path) {
            return Box::new(BookSource::new(path, self.book_options.clone()));
        }
        let base = DatabaseSource::new(path, self.options, self.caches.clone());
        let base = base.with_archives(self.archives.clone());
        let base = base.written_by(self.writer.clone()).clean(self.is_clean);
        Box::new(base.showing(self.shown))
    }
}
