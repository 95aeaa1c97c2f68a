//! Bases on disk: one, and all of a directory.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::change::error_of_store;
use super::search_state::Common;
use super::{DatabaseVolume, Shown};
use crate::archive;
use crate::base::KeptIndex;
use crate::base::{self, Base, Family, Merges};
use crate::book::{stands_for_book, stem_of};
use crate::cbh::{self, Database, Error, Options, SaveHistory};
use crate::cbh2;
use crate::fs::mount::folder::{BaseInFolder, Bases};
use crate::fs::volume::Volume;
use crate::fs::{Error as RequestError, Source};
use crate::names;
use crate::storage::{Relisting, Store, folder_of, identities, modified};
use crate::views::book::{BookOptions, BookSource};

/// Bytes of a record of `.cbh`, for guesses only.
const RECORD_BYTES: u64 = 46;

/// A base on disk.
#[derive(Debug)]
pub struct DatabaseSource {
    path: PathBuf,
    options: Options,
    /// Where files of lengths are kept.
    caches: Option<PathBuf>,
    /// Settings for changing the base; `None` if it is read-only.
    writer: Option<Writer>,
    /// How it is read if it is an archive.
    archives: archive::Options,
    is_clean: bool,
    shown: Shown,
    /// What all states of the base share.
    common: Common,
    known: Mutex<Known>,
}

/// Settings for changing a base.
#[derive(Clone, Debug)]
pub struct Writer {
    /// Label shown to a second writer: the mountpoint.
    pub label: String,
    /// Clock for the timestamps of saves.
    pub clock: fn() -> SystemTime,
    /// Whether tags without a field in the base are dropped, instead of kept in
    /// a remark.
    pub drops_foreign_tags: bool,
    /// Where to keep what takes back merges, if directories of players and the like
    /// are merged by a rename.
    pub merges: Option<PathBuf>,
    /// Returns whether another process that has locked the base with this label
    /// is about to release it. May wait briefly.
    pub is_ending: fn(&str) -> bool,
}

/// The files of the base, as the directory listed them last.
#[derive(Debug, Default)]
struct Known {
    family: Option<Result<Family, String>>,
    directory: Relisting,
    /// The files to be changed, once they were opened.
    store: Option<Arc<Store>>,
    /// Device and inode of the folder that they were opened in.
    folder: Option<(u64, u64)>,
    /// Whether they are not to be changed any more.
    is_closed: bool,
    /// Why they could not be opened to be changed: then that is not tried
    /// again.
    refused: Option<String>,
    /// The folder that the files lie in, where a link leads elsewhere.
    target: Relisting,
    /// What the files were like when another program had changed them.
    identities: String,
}

impl Known {
    /// Returns a line that changes whenever another program changes the files.
    fn state(&mut self, is_written: bool) -> String {
        let family = match &self.family {
            Some(Ok(family)) => family,
            Some(Err(why)) => return why.clone(),
            None => return String::new(),
        };
        let changed = self.store.as_ref().map(|store| store.changed_outside());
        let is_ours = matches!(changed, Some(Ok(files)) if files.is_empty());
        if !is_ours {
            self.identities = identities(family.files().into_iter());
        }
        // What is not there, and what is no file of the set, is not ours.
        let is_read = self.store.is_none()
            && (!is_written
                || self.is_closed
                || self.refused.is_some()
                || family.read_only_because().is_some());
        let journal = family.journal().filter(|_| is_read);
        let others = family.media_folders().iter().chain(&journal);
        let others = identities(others.map(PathBuf::as_path));
        let names = family.files().into_iter();
        let names = names.map(|path| format!("{} ", path.display()));
        let folder = folder_at(family.directory());
        format!(
            "{folder:?} {}{}{others}",
            names.collect::<String>(),
            self.identities
        )
    }
}

impl Known {
    /// Releases the files if another folder now has the path of theirs.
    fn leave_if_moved(&mut self, family: &cbh::Family) {
        let folder = folder_at(family.directory());
        if self.folder != folder
            && let Some(store) = self.store.take()
            && let Err(error) = store.close()
        {
            log::error!("{}: {error}", family.directory().display());
        }
        self.folder = folder;
    }
}

/// Device and inode of a folder.
fn folder_at(path: &Path) -> Option<(u64, u64)> {
    let stat = fs::metadata(path).ok()?;
    Some((stat.dev(), stat.ino()))
}

impl DatabaseSource {
    /// The base that `path`, any file of it, belongs to. Lengths of texts are
    /// kept in the directory `caches`.
    pub fn new(path: &Path, options: Options, caches: Option<PathBuf>) -> DatabaseSource {
        DatabaseSource {
            path: path.to_path_buf(),
            options,
            writer: None,
            archives: archive::Options::default(),
            is_clean: false,
            shown: Shown::default(),
            common: Common::new(KeptIndex::new(caches.clone())),
            caches,
            known: Mutex::default(),
        }
    }

    /// The same, an archive being read as these options say.
    #[must_use]
    pub fn with_archives(mut self, archives: archive::Options) -> DatabaseSource {
        self.archives = archives;
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

    /// Whether it is an archive, by its name.
    fn is_archive(&self) -> bool {
        archive::has_archive_extension(&self.path)
    }

    /// The same, its games shown without tags and commands that only cbfs
    /// reads if `is_clean`; then it has no writer.
    #[must_use]
    pub fn clean(mut self, is_clean: bool) -> DatabaseSource {
        self.is_clean = is_clean;
        self
    }

    /// The same with these directories.
    #[must_use]
    pub fn showing(mut self, shown: Shown) -> DatabaseSource {
        self.shown = shown;
        self
    }

    /// The same, to be changed by `writer`, if it can be.
    #[must_use]
    pub fn written_by(mut self, writer: Option<Writer>) -> DatabaseSource {
        let merges = writer.as_ref().and_then(|writer| writer.merges.as_ref());
        self.common.merges = merges.map(|state| Arc::new(Merges::of(state, &self.path)));
        self.writer = writer;
        self
    }

    /// Opens the base for writing. Returns the reason if that is not allowed or
    /// not possible.
    fn open_to_write(&self) -> Result<Result<(Database, SaveHistory), String>, Error> {
        if self.is_archive() {
            return Ok(Err(format!(
                "{}: an archive is read-only; unpack it with `cbfs unpack` to change the base",
                self.path.display()
            )));
        }
        let writer = self.writer.as_ref().filter(|_| !self.is_clean);
        if writer.is_none() && !cbh2::Family::owns(&self.path) {
            return Ok(Err("it was mounted so".to_owned()));
        }
        let family = Family::locate(&self.path)?;
        if let Some(why) = family.read_only_because() {
            log::info!("{why}; the base is mounted read-only");
            return Ok(Err(why));
        }
        let (Family::Older(family), Some(writer)) = (&family, writer) else {
            return Ok(Err("it was mounted so".to_owned()));
        };
        let (store, is_new) = match self.store_of(family, writer)? {
            Ok(store) => store,
            Err(why) => return Ok(Err(why)),
        };
        // Nobody waits for the files to be read.
        let opened = Database::open_in(&self.path, &self.options, Arc::clone(&store));
        if opened.is_err() && is_new {
            self.let_go(&store)?;
        }
        Ok(Ok((
            opened?,
            SaveHistory::new(writer.clock, writer.drops_foreign_tags),
        )))
    }

    /// The files of the base to be changed, and whether they were opened just
    /// now; or why they are not to be changed.
    fn store_of(
        &self,
        family: &cbh::Family,
        writer: &Writer,
    ) -> Result<Result<(Arc<Store>, bool), String>, Error> {
        let mut known = self.known();
        if known.is_closed {
            return Ok(Err("the mount ends".to_owned()));
        }
        if let Some(why) = &known.refused {
            return Ok(Err(why.clone()));
        }
        known.leave_if_moved(family);
        if let Some(store) = &known.store {
            store.refresh().map_err(|source| Error::Store {
                base: self.path.clone(),
                source,
            })?;
            return Ok(Ok((Arc::clone(store), false)));
        }
        match base::take(family, &writer.label, writer.is_ending) {
            Ok(store) => {
                let store = Arc::new(store);
                known.store = Some(Arc::clone(&store));
                Ok(Ok((store, true)))
            }
            Err(error) => {
                let why = base::read_only_after(family, &error).ok_or(error)?;
                log::warn!("{why}");
                known.refused = Some(why.clone());
                Ok(Err(why))
            }
        }
    }

    /// Closes files that do not hold the base shown, unless another base uses
    /// them too.
    fn let_go(&self, store: &Arc<Store>) -> Result<(), Error> {
        let mut known = self.known();
        let is_known = |known: &Arc<Store>| Arc::ptr_eq(known, store);
        // One is `store`, one is in `known`.
        if known.store.as_ref().is_some_and(is_known) && Arc::strong_count(store) <= 2 {
            known.store = None;
            store.close().map_err(|source| Error::Store {
                base: self.path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The `.cbh`, or the archive.
    ///
    /// # Errors
    ///
    /// See [`Family::locate`].
    pub fn headers(&self) -> Result<PathBuf, Error> {
        if self.is_archive() {
            return Ok(self.path.clone());
        }
        Ok(Family::locate(&self.path)?.headers())
    }
}

impl Source for DatabaseSource {
    fn open(&self) -> Result<Box<dyn Volume>, String> {
        let written = self.open_to_write().map_err(|error| error.to_string())?;
        // Lengths of texts in another page are other lengths.
        let options = |base: &dyn Base| format!("codepage={}", base.code_page().0.name());
        let volume = match written {
            Ok((database, saving)) => {
                let options = options(&database);
                DatabaseVolume::editable(database, Arc::new(saving), &options)
            }
            Err(why) => {
                let base = base::open_any(&self.path, &self.options, &self.archives)?;
                let options = options(base.as_ref());
                DatabaseVolume::of(base.into(), &options).read_only_because(why)
            }
        };
        for defect in volume.base.defects() {
            log::warn!("{}: {defect}", self.path.display());
        }
        let volume = volume.showing(self.shown).sharing(&self.common);
        Ok(Box::new(if self.is_clean {
            volume.clean()
        } else {
            volume
        }))
    }

    fn state(&self) -> String {
        if self.is_archive() {
            return identities([self.path.as_path()].into_iter());
        }
        let mut known = self.known();
        let target = match &known.family {
            Some(Ok(family)) => family.directory().to_path_buf(),
            _ => folder_of(&self.path).to_path_buf(),
        };
        let is_due = known.directory.is_due(folder_of(&self.path));
        if known.target.is_due(&target) || is_due || known.family.is_none() {
            let located = Family::locate(&self.path).map_err(|error| error.to_string());
            known.family = Some(located);
        }
        known.state(self.writer.is_some())
    }

    fn sync(&self) -> Result<(), RequestError> {
        let store = self.known().store.clone();
        let synced = store.map_or(Ok(()), |store| store.sync());
        synced.map_err(|error| error_of_store(&error))
    }

    fn close(&self) -> Result<(), String> {
        self.common.kept.stop();
        let mut known = self.known();
        known.is_closed = true;
        let store = known.store.take();
        drop(known);
        let closed = store.map_or(Ok(()), |store| store.close());
        closed.map_err(|error| format!("{}: {error}", self.path.display()))
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

    fn is_gone(&self) -> bool {
        if self.is_archive() {
            return !self.path.exists();
        }
        Family::locate(&self.path).is_err()
    }

    fn sizes_file(&self) -> Option<PathBuf> {
        let headers = self.headers().ok()?;
        let mut hasher = DefaultHasher::new();
        headers.hash(&mut hasher);
        let stem = headers.file_stem()?.to_string_lossy();
        let stem: String = stem.chars().take(40).collect();
        let name = format!("{stem}-{:016x}.sizes", hasher.finish());
        Some(self.caches.as_ref()?.join(name))
    }
}

/// A directory of bases and books.
#[derive(Debug)]
pub struct Folder {
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

impl Folder {
    /// The bases directly in `path`, all read as `options` say. Lengths of
    /// texts are kept in the directory `caches`.
    pub fn new(path: &Path, options: Options, caches: Option<PathBuf>) -> Folder {
        Folder {
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
    pub fn with_archives(mut self, archives: archive::Options) -> Folder {
        self.archives = archives;
        self
    }

    /// The same, games shown as by [`DatabaseSource::clean`].
    #[must_use]
    pub fn clean(mut self, is_clean: bool) -> Folder {
        self.is_clean = is_clean;
        self
    }

    /// The same with these directories.
    #[must_use]
    pub fn showing(mut self, shown: Shown) -> Folder {
        self.shown = shown;
        self
    }

    /// The same, to be changed by `writer`, as far as they can be.
    #[must_use]
    pub fn written_by(mut self, writer: Option<Writer>) -> Folder {
        self.writer = writer;
        self
    }

    /// The same with books that are read as these options say.
    #[must_use]
    pub fn with_books(self, book_options: BookOptions) -> Folder {
        Folder {
            book_options,
            ..self
        }
    }
}

impl Bases for Folder {
    fn path(&self) -> &Path {
        &self.path
    }

    fn modified(&self) -> SystemTime {
        modified(&self.path)
    }

    fn list_if_changed(&self) -> Result<Option<Vec<BaseInFolder>>, String> {
        let is_due = self
            .relisting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_due(&self.path);
        if !is_due {
            return Ok(None);
        }
        let told = |error: io::Error| format!("{}: {error}", self.path.display());
        let mut paths = Vec::new();
        let mut links = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(told)? {
            let entry = entry.map_err(told)?;
            let path = entry.path();
            if is_headers(&path) || is_book(&path) || is_archive(&path) {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if is_link { &mut links } else { &mut paths }.push(path);
            }
        }
        add_links(&mut paths, links);
        // A name that a base has already gets the extension too.
        paths.sort_by_key(|path| (rank(path), path.clone()));
        Ok(Some(named(paths)))
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

/// Adds those links that lead to what is not there already: a base is shown
/// once, since it has one writer.
fn add_links(paths: &mut Vec<PathBuf>, mut links: Vec<PathBuf>) {
    if links.is_empty() {
        return;
    }
    let place = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut places: HashSet<PathBuf> = paths.iter().map(place).collect();
    links.sort();
    paths.extend(links.into_iter().filter(|link| places.insert(place(link))));
}

/// Whether this is the file of headers of a base.
fn is_headers(path: &Path) -> bool {
    Family::is_headers(path) && is_shown(path)
}

/// Whether this is an archive.
fn is_archive(path: &Path) -> bool {
    archive::has_archive_extension(path) && is_shown(path)
}

/// Which of several with one name has it: a base before one in the newer
/// format, that before an archive, and that before a book.
fn rank(path: &Path) -> u8 {
    match path {
        path if stands_for_book(path) => 3,
        path if archive::has_archive_extension(path) => 2,
        path if cbh2::Family::owns(path) => 1,
        _ => 0,
    }
}

/// Whether this is the file that stands for a book.
fn is_book(path: &Path) -> bool {
    stands_for_book(path) && is_shown(path)
}

/// Whether this is a file, and not hidden: what macOS puts beside each file is
/// called as that is.
fn is_shown(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !name.as_encoded_bytes().starts_with(b".") && path.is_file()
}

fn named(paths: Vec<PathBuf>) -> Vec<BaseInFolder> {
    let mut stems = HashSet::new();
    let mut taken = HashSet::new();
    let mut bases = Vec::new();
    for path in paths {
        let (Some(stem), Some(extension)) = (stem_of(&path), path.extension()) else {
            continue;
        };
        let extension = extension.to_ascii_lowercase();
        // `x.cbh` and `x.CBH` are one base.
        let whole_stem = path.file_stem().unwrap_or_default();
        if !stems.insert((whole_stem.to_owned(), extension.clone())) {
            continue;
        }
        let mut plain = names::shown(&stem);
        if taken.contains(&plain) && rank(&path) > 0 {
            plain = names::shown(&format!("{plain}.{}", extension.to_string_lossy()));
        }
        let mut name = plain.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = names::shown(&format!("{plain} ~{number}"));
        }
        bases.push(BaseInFolder { name, path });
    }
    bases.sort_by(|one, other| one.name.cmp(&other.name));
    bases
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn bases_and_books_are_named_by_their_stems() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "a.cbh",
            "a.CBH",
            "B.CbH",
            "b.cbh",
            "c.cbg",
            "cbh",
            ".d.cbh",
            "._a.cbh",
            "a.ctg",
            "e.CTG",
            "e.ctb",
            ".e.ctg",
            "x.cbh.bak",
            "a.cbv",
            "g.CBZ",
            ".g.cbv",
        ] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        fs::create_dir(directory.path().join("f.cbh")).unwrap();
        let folder = Folder::new(directory.path(), Options::default(), None);
        let bases = folder.list_if_changed().unwrap().unwrap();
        let names: Vec<&str> = bases.iter().map(|base| base.name.as_str()).collect();
        assert_eq!(names, ["B", "a", "a.cbv", "a.ctg", "b", "e", "g"]);
    }

    #[test]
    fn names_that_look_alike_are_told_apart() {
        let paths = ["e\u{301}.cbh", "é.cbh", "é ~2.cbh"].map(PathBuf::from);
        let names: Vec<String> = named(paths.into())
            .into_iter()
            .map(|base| base.name)
            .collect();
        assert_eq!(names, ["é", "é ~2", "é ~2 ~2"]);
    }

    #[test]
    fn names_that_are_not_utf8_are_those_of_several_bases() {
        let paths = [&b"b\xe8.cbh"[..], b"b\xe9.cbh"];
        let paths = paths.map(|name| PathBuf::from(OsStr::from_bytes(name)));
        let bases = named(paths.clone().into());
        let names: Vec<&str> = bases.iter().map(|base| &*base.name).collect();
        assert_eq!(names, ["b\u{fffd}", "b\u{fffd} ~2"]);
        assert_eq!(bases[0].path, paths[0]);
        assert_eq!(bases[1].path, paths[1]);
    }
}
