//! The files of a base in use: opened to be read or changed, looked at for
//! changes by others, and closed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};

use super::{AnyFamily, Base, open_any, read_only_after, take};
use crate::archive;
use crate::cbh::{self, Database, Error, Options, SaveHistory};
use crate::cbh2;
use crate::storage::{self, Relisting, Store, folder_of, identities};

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

/// A base on disk, which is opened again when it changed.
#[derive(Debug)]
pub(crate) struct BaseOnDisk {
    path: PathBuf,
    options: Options,
    /// Settings for changing the base; `None` if it is read-only.
    pub(crate) writer: Option<Writer>,
    /// How it is read if it is an archive.
    pub(crate) archives: archive::Options,
    known: Mutex<ListedBaseFiles>,
}

/// A base that was opened.
#[derive(Debug)]
pub(crate) enum Opened {
    /// It can be changed.
    ToChange(Box<Database>, SaveHistory),
    /// It can be read only; the line says why.
    ToRead(Arc<dyn Base>, String),
}

/// The files of the base, as the directory listed them last.
#[derive(Debug, Default)]
struct ListedBaseFiles {
    family: Option<Result<AnyFamily, String>>,
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

impl ListedBaseFiles {
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

impl ListedBaseFiles {
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

impl BaseOnDisk {
    /// Opens the base that `path`, any file of it, belongs to.
    pub(crate) fn new(path: &Path, options: Options) -> BaseOnDisk {
        BaseOnDisk {
            path: path.to_path_buf(),
            options,
            writer: None,
            archives: archive::Options::default(),
            known: Mutex::default(),
        }
    }

    /// Whether it is an archive, by its name.
    pub(crate) fn is_archive(&self) -> bool {
        archive::has_archive_extension(&self.path)
    }

    /// Opens the base: to be changed, if it can be.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(crate) fn open(&self) -> Result<Opened, String> {
        let written = self.open_to_write().map_err(|error| error.to_string())?;
        Ok(match written {
            Ok((database, saving)) => Opened::ToChange(Box::new(database), saving),
            Err(why) => {
                let base = open_any(&self.path, &self.options, &self.archives)?;
                Opened::ToRead(base.into(), why)
            }
        })
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
        let writer = self.writer.as_ref();
        if writer.is_none() && !cbh2::Family::owns(&self.path) {
            return Ok(Err("it was mounted so".to_owned()));
        }
        let family = AnyFamily::locate(&self.path)?;
        if let Some(why) = family.read_only_because() {
            log::info!("{why}; the base is mounted read-only");
            return Ok(Err(why));
        }
        let (AnyFamily::Older(family), Some(writer)) = (&family, writer) else {
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
        match take(family, &writer.label, writer.is_ending) {
            Ok(store) => {
                let store = Arc::new(store);
                known.store = Some(Arc::clone(&store));
                Ok(Ok((store, true)))
            }
            Err(error) => {
                let why = read_only_after(family, &error).ok_or(error)?;
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

    fn known(&self) -> MutexGuard<'_, ListedBaseFiles> {
        self.known.lock()
    }

    /// The `.cbh`, or the archive.
    ///
    /// # Errors
    ///
    /// See [`AnyFamily::locate`].
    pub(crate) fn headers(&self) -> Result<PathBuf, Error> {
        if self.is_archive() {
            return Ok(self.path.clone());
        }
        Ok(AnyFamily::locate(&self.path)?.headers())
    }

    /// Returns a line that changes whenever another program changes the base.
    pub(crate) fn state(&self) -> String {
        if self.is_archive() {
            return identities([self.path.as_path()].into_iter());
        }
        let mut known = self.known();
        let target = match &known.family {
            Some(Ok(family)) => family.directory().to_path_buf(),
            _ => folder_of(&self.path).to_path_buf(),
        };
        let is_due = known.directory.is_due(folder_of(&self.path));
        // What could not be located, for an error that may pass, is located again.
        let is_known = matches!(known.family, Some(Ok(_)));
        if known.target.is_due(&target) || is_due || !is_known {
            let located = AnyFamily::locate(&self.path).map_err(|error| error.to_string());
            known.family = Some(located);
        }
        known.state(self.writer.is_some())
    }

    /// Waits until all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// That of the store.
    pub(crate) fn sync(&self) -> Result<(), storage::Error> {
        let store = self.known().store.clone();
        store.map_or(Ok(()), |store| store.sync())
    }

    /// Closes the files, which are not to be changed any more.
    ///
    /// # Errors
    ///
    /// Why they could not be closed.
    pub(crate) fn close(&self) -> Result<(), String> {
        let mut known = self.known();
        known.is_closed = true;
        let store = known.store.take();
        drop(known);
        let closed = store.map_or(Ok(()), |store| store.close());
        closed.map_err(|error| {
            let next = match error {
                storage::Error::ChangedOutside { .. } => {
                    "which fits the base as it was before: put that in its place, and mount it again"
                }
                storage::Error::TakenOver { .. } => "which that process brings into the base",
                _ => "and the next writable mount writes them into the base",
            };
            let path = self.path.display();
            format!("{path}: {error}; the saves are in the journal only, {next}")
        })
    }
}
