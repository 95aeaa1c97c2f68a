//! Everything between what a kernel writes and the [`Editor`] that saves it.
//!
//! Programs save in many ways: they write in place, or a temporary file that
//! they rename over the other; they rename the old one away first, or remove
//! it. All of them mean: this text is that game now. Drafts find out what
//! is meant, and when.
//!
//! Terms: a **draft** is a text that a program writes and that is not stored
//! yet. It belongs to the file, not to the open handle. Its bytes are in its
//! **buffer**. Its **purpose** says what a save makes of it; an editor's own
//! files (temporary, backup, lock) have the purpose nothing. A draft is
//! **settled** if its present text was saved or refused already; otherwise it
//! is **open work**. Handles that write a game read the draft; all others read
//! the stored text.
//!
//! | where | what |
//! |---|---|
//! | [`names`] | names that no volume has |
//! | [`handles`] | open files |
//! | [`state`] | all of these, and the drafts, at a moment |
//! | [`access`], [`opening`], [`writing`] | files are made, opened, read, written, closed |
//! | [`saving`], [`settling`] | a draft becomes a game, or is refused |
//! | [`status`] | clean, dirty or refused, and what follows |
//! | [`moving`], [`removing`] | files are renamed, removed, copied |
//! | [`listing`] | directories with what is being written |
//! | [`attributes`] | modes and times, and the end |
//!
//! One lock guards [`State`]. It is held for short steps, never during a save,
//! and during no I/O except the removal of a rejected draft by `unlink`. A second
//! lock, one per base, serializes saves, renames and removals.
//! A save has three steps: read the text from its buffer, save it with the
//! editor (only other saves wait), and record that the draft is clean. If a
//! step fails, the draft stays as it was. A text that is dropped unsaved is
//! kept in `rejected/`.

mod access;
mod attributes;
mod handles;
mod listing;
mod moving;
mod names;
mod opening;
mod removing;
mod saving;
mod settling;
mod state;
mod status;
mod writing;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};

pub use self::access::{Access, Handle, RenameMode};
use self::names::Place;
pub use self::saving::StoredGame;
use self::state::State;
use crate::fs::editor::{Edit, Editor, Refusal, Role, Saved};
use crate::fs::mount::live_base::LiveBase;
use crate::fs::mount::whole::Mount;
use crate::fs::{Attr, Bytes, Error, Ino};
use crate::storage::rejected::{Origin, Rejected};
use crate::storage::{Pool, name_of_set_elsewhere};

/// The kind of number that drafts with a name of their own have; no volume uses
/// it.
const KIND: u8 = 59;

/// Names of drafts come after all others in a listing.
const FIRST_COOKIE: u64 = 1 << 48;

/// Numbers of rejected drafts begin here.
const FIRST_REJECTED: u32 = 16;

/// Bytes of the text of a game, at most.
const MOST_GAME: u64 = 16 << 20;

/// All drafts of a mount, and what is open.
#[derive(Debug)]
pub struct Drafts {
    /// What they are of, and are saved into.
    mount: Arc<Mount>,
    pool: Arc<Pool>,
    state: Mutex<State>,
    /// Whether there ever was one.
    is_used: AtomicBool,
    /// Whether the mount ends, and nothing more can be written.
    is_ending: AtomicBool,
    /// Where rejected drafts are kept: in the first that can take one.
    directories: Vec<PathBuf>,
    /// The rejected drafts of each base.
    rejected: Mutex<HashMap<u64, Arc<Rejected>>>,
}

impl Drafts {
    /// None, of `mount`: they take up to `scratch_bytes`, and those that are
    /// refused are kept in the first of `directories` that can take one.
    pub(crate) fn new(mount: Arc<Mount>, scratch_bytes: u64, directories: &[PathBuf]) -> Drafts {
        Drafts {
            mount,
            pool: Arc::new(Pool::new(scratch_bytes, directories.first().cloned())),
            state: Mutex::default(),
            is_used: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            directories: directories.to_vec(),
            rejected: Mutex::default(),
        }
    }

    /// The state, to add something to it.
    fn open_state(&self) -> Result<MutexGuard<'_, State>, Error> {
        self.is_used.store(true, Relaxed);
        let state = self.state.lock();
        if self.is_ending.load(Relaxed) {
            return Err(Error::ReadOnly);
        }
        Ok(state)
    }

    /// Returns whether no draft was ever created.
    fn is_unused(&self) -> bool {
        !self.is_used.load(Relaxed)
    }

    /// Where the rejected drafts of a base lie, if they are kept.
    fn rejected(&self, live: &LiveBase) -> Option<Arc<Rejected>> {
        if self.directories.is_empty() {
            return None;
        }
        let known = self.rejected.lock();
        let mut known = known;
        let rejected = known.entry(live.number()).or_insert_with(|| {
            let of_base = name_of(live);
            let directories = self.directories.iter();
            let directories = directories.map(|directory| directory.join(&of_base));
            Arc::new(Rejected::new(directories.collect(), FIRST_REJECTED))
        });
        Some(Arc::clone(rejected))
    }
}

/// Returns the origin under which a refused draft of the file at `place` is kept.
fn origin_of_file(place: &Place) -> Origin {
    Origin::file(place.0.0, &place.1)
}

/// Why bytes of a draft are not read or written.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn failed(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::NoSpace,
        // A limit of the system is no limit of cbfs.
        io::ErrorKind::FileTooLarge if error.raw_os_error().is_none() => Error::TooLarge,
        io::ErrorKind::NotFound => Error::Stale,
        _ => Error::Damaged(format!("the temporary file of drafts: {error}")),
    }
}

/// Why a rejected draft is not read or removed.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn failed_of_rejected(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound,
        _ => Error::Damaged(format!("a rejected draft: {error}")),
    }
}

/// Returns a directory name that is unique for a base, whichever of its files
/// was given.
fn name_of(live: &LiveBase) -> String {
    let Some(path) = live.source().and_then(crate::fs::Source::path) else {
        return "base".to_owned();
    };
    name_of_set_elsewhere(path)
}

/// Whether a file is a draft with a number of its own.
pub(crate) fn is_own(ino: Ino) -> bool {
    ino.within_base().kind() == KIND
}

/// A name that can be listed.
fn text_of(name: &[u8]) -> Result<&str, Error> {
    Error::ensure_short(name)?;
    let name = std::str::from_utf8(name).map_err(|_| Error::Invalid)?;
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(Error::Invalid);
    }
    Ok(name)
}

impl Drafts {
    fn now(&self) -> SystemTime {
        self.mount.now()
    }

    /// What `name` in `directory` stands for; its length may be left open.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::NotADirectory`], [`Error::NameTooLong`],
    /// [`Error::Damaged`], [`Error::Stale`].
    pub fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        if let Some(found) = self.lookup_draft(directory, name) {
            return found;
        }
        Ok(self.with_names(self.mount.lookup(directory, name)?))
    }

    /// What `stat` says.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Damaged`], [`Error::Stale`].
    pub fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        if let Some(known) = self.attr_of_draft(ino) {
            return known;
        }
        Ok(self.with_names(self.mount.attr(ino)?))
    }

    /// Up to `length` bytes from `offset` on, for who has not opened the file.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::IsADirectory`], [`Error::Damaged`],
    /// [`Error::Stale`].
    pub fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        if let Some(read) = self.read_draft(ino, offset, length) {
            return read;
        }
        self.mount.read(ino, offset, length)
    }

    /// The base that a number belongs to, if it can be edited.
    pub(super) fn editable(&self, ino: Ino) -> Result<Arc<LiveBase>, Error> {
        match self.mount.base(ino)? {
            Some(live) if live.is_editable() => Ok(live),
            _ => Err(Error::ReadOnly),
        }
    }

    /// Calls `ask` with the editor of the present snapshot.
    fn ask<T>(live: &LiveBase, ask: impl Fn(&dyn Editor) -> T) -> Result<T, Error> {
        live.ask(|snapshot| {
            let editor = snapshot.volume.editor().ok_or(Error::ReadOnly)?;
            Ok(ask(editor))
        })
    }

    /// Saves an edit, and notes that names must be invalidated.
    fn save(&self, live: &LiveBase, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let saved = live.edit(edit)?;
        self.state.lock().names.is_changed = true;
        Ok(saved)
    }

    /// Returns the meaning of a name. Files have the inode numbers of the
    /// mount.
    fn role(live: &LiveBase, directory: Ino, name: &str) -> Result<Role, Error> {
        let with_mount_number = |ino: Ino| ino.in_base(live.number());
        let inner = directory.within_base();
        let role = Drafts::ask(live, |editor| editor.role(inner, name.as_bytes()))?;
        Ok(match role {
            Role::File(ino) => Role::File(with_mount_number(ino)),
            Role::Deleted(ino) => Role::Deleted(with_mount_number(ino)),
            other => other,
        })
    }
}
