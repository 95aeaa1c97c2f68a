//! Modes and times, directory sync, and the end of writing.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;

use super::Drafts;
use crate::fs::editor::Role;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::{Attr, Error, Ino, NodeKind, status as about};

/// A name that no game and no import has.
const SCRATCH: &str = ".cbfs~";

impl Drafts {
    /// See [`Drafts::permissions`].
    pub(crate) fn is_writable(&self, attr: &Attr) -> Result<bool, Error> {
        let base = self.mount.base(attr.ino)?;
        let Some(live) = base.filter(|live| live.is_editable()) else {
            return Ok(false);
        };
        let inner = attr.ino.within_base();
        if about::holds(inner) {
            return Ok(inner == about::REJECTED);
        }
        if attr.kind == NodeKind::Directory {
            // For other users than root the kernel refuses what the mode does not allow.
            let names_change = Drafts::ask(&live, |editor| {
                editor.lists_deleted(inner) || editor.renames_in(inner)
            })?;
            return Ok(names_change || Drafts::role(&live, attr.ino, SCRATCH)? != Role::Refused);
        }
        match Drafts::check_writable(&live, attr.ino) {
            Ok(()) => Ok(true),
            Err(Error::NotWritable | Error::NotPermitted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sets mode and time (`chmod`, `utimens`). An editor's own file keeps
    /// them; all else that can be written stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::NotPermitted`] for what cannot be
    /// written.
    pub fn set_attributes(
        &self,
        ino: Ino,
        mode: Option<u16>,
        modified: Option<SystemTime>,
    ) -> Result<Attr, Error> {
        self.editable(ino)?;
        let attr = self.attr(ino)?;
        {
            let mut state = self.state.lock();
            let own = state.own(ino).map(|(id, _)| id);
            if let Some(draft) = own.and_then(|id| state.drafts.get_mut(&id)) {
                draft.mode = mode.or(draft.mode);
                draft.modified = modified.unwrap_or(draft.modified);
            }
        }
        if attr.kind == NodeKind::Directory || self.became(ino).is_some() {
            return Ok(attr);
        }
        let is_own = self.mode_of_draft(ino).is_some();
        if is_own || self.is_writable(&attr)? {
            return self.attr(ino);
        }
        Err(Error::NotPermitted)
    }

    /// Returns when all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// That of the medium.
    pub fn fsync_directory(&self, ino: Ino) -> Result<(), Error> {
        let bases = match self.mount.base(ino)? {
            Some(live) => vec![live],
            None => self.mount.known_bases(),
        };
        sync_all(&bases)
    }

    /// Returns whether names have changed since the last call, so that the
    /// kernel must look up all names again. Call it before the reply to a
    /// request that writes: then the requester sees the new state.
    pub fn take_name_changes(&self) -> bool {
        !self.is_unused() && std::mem::take(&mut self.state.lock().names.is_changed)
    }

    /// Ends writing, before the mount goes: drafts that were not saved are
    /// kept in `.cbfs/rejected/`, and all that was saved survives a power cut
    /// when this returns.
    ///
    /// # Errors
    ///
    /// That of the medium.
    pub fn end(&self) -> Result<(), Error> {
        // What is being imported is not waited for.
        self.is_ending.store(true, Relaxed);
        let live_bases = self.mount.live_bases();
        let _all: Vec<_> = live_bases.iter().map(|live| live.lock_saves()).collect();
        let unsaved: Vec<u32> = {
            let state = self.state.lock();
            let drafts = state.drafts.iter();
            let unsaved = drafts.filter(|(_, draft)| draft.is_unkept());
            unsaved.map(|(id, _)| *id).collect()
        };
        for id in unsaved {
            self.keep_draft(id, "the mount ended before it was closed");
        }
        for id in self.unknown_copies() {
            self.keep_draft(id, "it has the name of no game");
        }
        sync_all(&self.mount.known_bases())
    }
}

/// Syncs the bases that can be written, or could be when something was saved; also those
/// behind one that fails.
fn sync_all(bases: &[Arc<LiveBase>]) -> Result<(), Error> {
    let saved = |live: &&Arc<LiveBase>| live.is_editable() || live.is_unsynced();
    let synced: Vec<_> = bases.iter().filter(saved).map(|live| live.sync()).collect();
    synced.into_iter().collect()
}
