//! Files are removed and copied.

use std::sync::Arc;

use super::Drafts;
use super::names::{Entry, Place};
use super::state::{Draft, Purpose};
use super::{MOST_GAME, text_of};
use super::{failed, failed_of_rejected, origin_of_file};
use crate::fs::editor::Role;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::volume::NodeKind;
use crate::fs::{Attr, Error, Ino, status as about};
use crate::storage::SharedBuffer;

impl Drafts {
    /// Deletes a game, or brings it back.
    pub(super) fn set_deleted(
        &self,
        slot: &LiveBase,
        game: Ino,
        is_deleted: bool,
    ) -> Result<(), Error> {
        let inner = game.within_slot();
        self.save(slot, &mut |editor| editor.set_deleted(inner, is_deleted))?;
        Ok(())
    }

    /// Removes a file; a game is deleted, which a new file of its name
    /// reverses.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::IsADirectory`], [`Error::NotPermitted`].
    pub fn unlink(&self, directory: Ino, name: &[u8]) -> Result<(), Error> {
        self.unlink_if(directory, name, |_| true)
    }

    /// As [`unlink`](Drafts::unlink), but a game is deleted only if `may_delete` says
    /// so of it.
    ///
    /// # Errors
    ///
    /// As [`unlink`](Drafts::unlink).
    pub fn unlink_if(
        &self,
        directory: Ino,
        name: &[u8],
        may_delete: impl FnOnce(Ino) -> bool,
    ) -> Result<(), Error> {
        let slot = self.edited(directory)?;
        drop(self.open_state()?);
        let place: Place = (directory, text_of(name)?.into());
        if about::holds(directory.within_slot()) {
            self.lookup(directory, name)?;
            if directory.within_slot() != about::REJECTED {
                return Err(Error::NotPermitted);
            }
            let rejected = self.rejected(&slot).ok_or(Error::NotFound)?;
            return rejected.remove(&place.1).map_err(failed_of_rejected);
        }
        let _one = slot.lock_saves();
        let now = self.now();
        match self.entry(&place) {
            Some(Entry::File(id)) => {
                self.remove_log(&place);
                let mut state = self.state.lock();
                if state.drafts.get(&id).is_some_and(Draft::is_stray) {
                    self.withdraw(&slot, &origin_of_file(&place));
                }
                if let Some(draft) = state.drafts.get_mut(&id) {
                    // Who writes on writes to nowhere.
                    draft.purpose = Purpose::Scratch;
                }
                state.unname(id, now);
                return Ok(());
            }
            Some(Entry::Link(_)) => {
                self.forget_link(&place);
                return Ok(());
            }
            Some(Entry::Gone { .. }) => return Err(Error::NotFound),
            None => {}
        }
        let attr = self.lookup(directory, name)?;
        if attr.kind == NodeKind::Directory {
            return Err(Error::IsADirectory);
        }
        if !may_delete(attr.ino) {
            log::warn!(
                "{} is not deleted: a program wants to clear up after its text was refused, and the \
                 stored game is not what it wrote; remove it once more to delete it",
                place.1
            );
            return Err(Error::NotPermitted);
        }
        self.delete(&slot, &place)
    }

    /// Deletes the game of this name, where that is what removing it means.
    pub(super) fn delete(&self, slot: &LiveBase, place: &Place) -> Result<(), Error> {
        let inner = place.0.within_slot();
        let is_deleted_so = Drafts::ask(slot, |editor| editor.deletes_in(inner))?;
        match Drafts::role(slot, place.0, &place.1)? {
            Role::File(game) if is_deleted_so => {
                self.set_deleted(slot, game, true)?;
                let mut state = self.state.lock();
                state.leave(game);
                Ok(())
            }
            _ => Err(Error::NotPermitted),
        }
    }

    /// The log of an import goes with it.
    fn remove_log(&self, place: &Place) {
        let now = self.now();
        let name: Box<str> = format!("{}.log", place.1).into();
        let mut state = self.state.lock();
        if let Some(Entry::File(log)) = state.names.get(place.0, &name).cloned()
            && state
                .drafts
                .get(&log)
                .is_some_and(|draft| draft.purpose == Purpose::Log)
        {
            state.unname(log, now);
        }
    }

    /// Makes an editor's own file that is a copy of this one.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::NotPermitted`] if the name is not one for
    /// such a file; [`Error::NoSpace`].
    pub fn link(&self, ino: Ino, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        let slot = self.edited(directory)?;
        if ino.slot() != directory.slot() {
            return Err(Error::Elsewhere);
        }
        let place: Place = (directory, text_of(name)?.into());
        if self.present(&place)?.is_some() {
            return Err(Error::Exists);
        }
        if about::holds(directory.within_slot())
            || Drafts::role(&slot, directory, &place.1)? != Role::Scratch
        {
            return Err(Error::NotPermitted);
        }
        let bytes = self.whole(ino)?;
        let buffer = SharedBuffer::of(&self.pool, &bytes).map_err(failed)?;
        let now = self.now();
        let own = {
            let mut state = self.open_state()?;
            state.add_file(buffer, Purpose::Scratch, &place, now)?.1
        };
        self.attr(own)
    }

    /// All bytes of a small file.
    fn whole(&self, ino: Ino) -> Result<Vec<u8>, Error> {
        let buffer = {
            let state = self.state.lock();
            let own = state.own(ino);
            own.map(|(_, draft)| Arc::clone(&draft.buffer))
        };
        let length = match &buffer {
            Some(buffer) => buffer.length(),
            None => self.attr(ino)?.size,
        };
        if length > MOST_GAME {
            return Err(Error::NotPermitted);
        }
        match buffer {
            Some(buffer) => Ok(buffer.all().map_err(failed)?.0),
            None => Ok(self.read(ino, 0, u32::MAX)?.to_vec()),
        }
    }
}
