//! The desk: everything between what a kernel writes and the [`Editor`] that
//! saves it.
//!
//! Programs save in many ways: they write in place, or a temporary file that
//! they rename over the other; they rename the old one away first, or remove
//! it. All of them mean: this text is that game now. The desk finds out what
//! is meant, and when.
//!
//! Words: a **draft** is a text that is being written, on a **sheet**. It
//! belongs to the file, not to who has it open; its **purpose** says what it
//! becomes when it is saved. An editor's own files (temporary, backup, lock)
//! are drafts too, whose purpose is nothing. A draft is **settled** while its
//! text is the one that was saved or refused last, and **open work** else.
//! Those who write a game read the draft; all others read what is stored.
//!
//! | where | what |
//! |---|---|
//! | [`pool`], [`buffer`] | the bytes of drafts |
//! | [`names`] | names that no volume has |
//! | [`handles`] | open files |
//! | [`desk`] | all of these, and the drafts, at a moment |
//! | [`opening`], [`using`] | files are made, opened, read, written, closed |
//! | [`saving`], [`outcome`] | a draft becomes a game, or is refused |
//! | [`status`] | clean, dirty or refused, and what follows |
//! | [`moving`], [`removing`] | files are renamed, removed, copied |
//! | [`showing`] | directories with what lies on the desk |
//! | [`rejected`], [`private`] | refused drafts, on disk |
//! | [`ending`] | modes and times, and the end |
//!
//! One lock keeps the books ([`State`]) and is held for steps, never while
//! something is read, written or saved. Another, of each base, lets one save or
//! renaming in it happen after the other. A save goes through these steps: the text is read
//! from its sheet, the editor saves it while nobody waits but other saves,
//! and the books say that the draft is settled. What failed in between leaves
//! the draft where it was; so nothing is lost that is on the desk, and what
//! leaves it unsaved lies in `rejected/`.

mod buffer;
mod desk;
mod ending;
mod handles;
mod moving;
mod names;
mod opening;
mod outcome;
mod pool;
mod private;
mod rejected;
mod removing;
mod saving;
mod showing;
mod status;
mod using;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use xxhash_rust::xxh3::xxh3_64;

use self::desk::State;
use self::pool::Pool;
use self::rejected::Rejected;
use super::about::Mounting;
use super::editor::Edit;
use super::editor::{Editor, Refusal, Role, Saved};
use super::slot::Slot;
use super::{Error, Ino, Options, Place, Vfs};

/// The kind of number that drafts with a name of their own have; no volume uses
/// it.
const KIND: u8 = 59;

/// Names on the desk come after all others in a listing.
const FIRST_COOKIE: u64 = 1 << 48;

/// Bytes of the text of a game, at most.
const MOST_GAME: u64 = 16 << 20;

/// All drafts of a mount.
#[derive(Debug)]
pub(super) struct Desk {
    pool: Arc<Pool>,
    state: Mutex<State>,
    /// Whether anything was ever put on it.
    is_used: AtomicBool,
    /// Whether the mount ends, and nothing more can be written.
    is_over: AtomicBool,
    /// Where rejected drafts are kept: in the first that can take one.
    directories: Vec<PathBuf>,
    /// The rejected drafts of each slot.
    rejected: Mutex<HashMap<u64, Arc<Rejected>>>,
}

impl Desk {
    /// An empty desk.
    pub(super) fn new(options: &Options) -> Desk {
        Desk {
            pool: Arc::new(Pool::new(
                options.scratch_bytes,
                options.state.first().cloned(),
            )),
            state: Mutex::default(),
            is_used: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            directories: options.state.clone(),
            rejected: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The books, to put something on the desk.
    fn open_state(&self) -> Result<MutexGuard<'_, State>, Error> {
        self.is_used.store(true, Relaxed);
        let state = self.state();
        if self.is_over.load(Relaxed) {
            return Err(Error::ReadOnly);
        }
        Ok(state)
    }

    /// Whether there is nothing on the desk, and never was.
    fn is_unused(&self) -> bool {
        !self.is_used.load(Relaxed)
    }

    /// Where the rejected drafts of a base lie, if they are kept.
    fn rejected(&self, slot: &Slot) -> Option<Arc<Rejected>> {
        if self.directories.is_empty() {
            return None;
        }
        let known = self.rejected.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let rejected = known.entry(slot.number()).or_insert_with(|| {
            let of_base = name_of(slot);
            let directories = self.directories.iter();
            let directories = directories.map(|directory| directory.join(&of_base));
            Arc::new(Rejected::new(directories.collect()))
        });
        Some(Arc::clone(rejected))
    }
}

/// Tells a base from others, whichever file of it was named.
fn name_of(slot: &Slot) -> String {
    let Some(path) = slot.source().and_then(super::Source::path) else {
        return "base".to_owned();
    };
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let whole = whole.with_extension("");
    let stem = whole.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.chars().take(40).collect();
    let hash = xxh3_64(whole.as_os_str().as_encoded_bytes());
    format!("{stem}-{hash:016x}")
}

/// Whether a file is a draft with a number of its own.
pub(super) fn is_own(ino: Ino) -> bool {
    ino.within_slot().kind() == KIND
}

/// A name that can be listed.
fn text_of(name: &[u8]) -> Result<&str, Error> {
    crate::vfs::names::ensure_short(name)?;
    let name = std::str::from_utf8(name).map_err(|_| Error::Invalid)?;
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(Error::Invalid);
    }
    Ok(name)
}

impl Vfs {
    /// The time, as far as who mounts has brought a clock.
    fn now(&self) -> SystemTime {
        let mounting = self.shared.mounting.get();
        mounting.map_or(UNIX_EPOCH, Mounting::time)
    }

    /// The base that a number belongs to, if it can be edited.
    pub(super) fn edited(&self, ino: Ino) -> Result<Arc<Slot>, Error> {
        match self.place(ino)? {
            Place::Volume(slot, _) if slot.is_edited() => Ok(slot),
            _ => Err(Error::ReadOnly),
        }
    }

    /// Asks the editor of a base what holds at present.
    fn ask<T>(slot: &Slot, ask: impl Fn(&dyn Editor) -> T) -> Result<T, Error> {
        slot.ask(|edition| {
            let editor = edition.volume.editor().ok_or(Error::ReadOnly)?;
            Ok(ask(editor))
        })
    }

    /// Saves an edit, of which the kernel has to be told.
    fn save(&self, slot: &Slot, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let saved = slot.edit(edit)?;
        self.desk.state().names.is_changed = true;
        Ok(saved)
    }

    /// What a name means; files by their numbers in the mount.
    fn role(slot: &Slot, directory: Ino, name: &str) -> Result<Role, Error> {
        let globally = |ino: Ino| ino.in_slot(slot.number());
        let inner = directory.within_slot();
        let role = Vfs::ask(slot, |editor| editor.role(inner, name.as_bytes()))?;
        Ok(match role {
            Role::File(ino) => Role::File(globally(ino)),
            Role::Deleted(ino) => Role::Deleted(globally(ino)),
            other => other,
        })
    }
}
