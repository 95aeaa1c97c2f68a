//! Files are removed and copied.

use std::sync::Arc;

use super::Drafts;
use super::names::{NameTarget, Place};
use super::state::{Draft, Purpose};
use super::{MOST_GAME, text_of};
use super::{failed, failed_of_rejected, origin_of_file};
use crate::fs::editor::Role;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::volume::NodeKind;
use crate::fs::{Attr, Error, Ino, status as about};
use crate::names::parse_game;
use crate::storage::SharedBuffer;

impl Drafts {
    /// Deletes a game, or brings it back.
    pub(super) fn set_deleted(
        &self,
        live: &LiveBase,
        game: Ino,
        is_deleted: bool,
    ) -> Result<(), Error> {
        let inner = game.within_base();
        self.save(live, &mut |editor| editor.set_deleted(inner, is_deleted))?;
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

    /// As [`unlink`](Drafts::unlink), but a game, or the name that it was written by, is
    /// removed only if `may_remove` says so of the game.
    ///
    /// # Errors
    ///
    /// As [`unlink`](Drafts::unlink).
    pub fn unlink_if(
        &self,
        directory: Ino,
        name: &[u8],
        may_remove: impl FnOnce(Ino) -> bool,
    ) -> Result<(), Error> {
        let live = self.editable(directory)?;
        drop(self.open_state()?);
        let place: Place = (directory, text_of(name)?.into());
        if about::holds(directory.within_base()) {
            self.lookup(directory, name)?;
            if directory.within_base() != about::REJECTED {
                return Err(Error::NotPermitted);
            }
            let rejected = self.rejected(&live).ok_or(Error::NotFound)?;
            return rejected.remove(&place.1).map_err(failed_of_rejected);
        }
        let _one = live.lock_saves();
        let now = self.now();
        let entry = self.entry(&place);
        let game = match entry {
            Some(NameTarget::File(_) | NameTarget::Gone { .. }) => None,
            Some(NameTarget::Link(game)) => Some(game),
            None => {
                let attr = self.lookup(directory, name)?;
                if attr.kind == NodeKind::Directory {
                    return Err(Error::IsADirectory);
                }
                Some(attr.ino)
            }
        };
        if !game.is_none_or(may_remove) {
            log::warn!(
                "{} is not removed: the program that removes it has just written it, and another \
                text is stored; remove it again to be rid of it",
                place.1
            );
            return Err(Error::NotPermitted);
        }
        match entry {
            Some(NameTarget::File(id)) => {
                self.remove_log(&place);
                let mut state = self.state.lock();
                if state.drafts.get(&id).is_some_and(Draft::is_stray) {
                    self.forget_saved(&live, &origin_of_file(&place));
                }
                if let Some(draft) = state.drafts.get_mut(&id) {
                    // Later writes through open handles are not saved.
                    draft.purpose = Purpose::Scratch;
                }
                state.unname(id, now);
                Ok(())
            }
            Some(NameTarget::Link(_)) => {
                self.forget_link(&place);
                Ok(())
            }
            Some(NameTarget::Gone { .. }) => Err(Error::NotFound),
            None => self.delete(&live, &place),
        }
    }

    /// Deletes the game of this name, where that is what removing it means.
    pub(super) fn delete(&self, live: &LiveBase, place: &Place) -> Result<(), Error> {
        let inner = place.0.within_base();
        let is_deleted_so = Drafts::ask(live, |editor| editor.deletes_in(inner))?;
        let name = place.1.as_bytes();
        let is_listed = |file| Drafts::ask(live, |editor| editor.is_listed_as(file, name));
        match Drafts::role(live, place.0, &place.1)? {
            // Such as a name that it had before it was saved: who removes it, as rsync does
            // after it has written the game by its new name, does not mean the game.
            Role::File(game) if parse_game(name).is_none() && !is_listed(game.within_base())? => {
                Err(Error::NotFound)
            }
            Role::File(game) if is_deleted_so => {
                self.set_deleted(live, game, true)?;
                let mut state = self.state.lock();
                state.leave(game);
                state.note_removed(game);
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
        if let Some(NameTarget::File(log)) = state.names.get(place.0, &name).cloned()
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
        let live = self.editable(directory)?;
        if ino.base_number() != directory.base_number() {
            return Err(Error::Elsewhere);
        }
        let place: Place = (directory, text_of(name)?.into());
        if self.present(&place)?.is_some() {
            return Err(Error::Exists);
        }
        if about::holds(directory.within_base())
            || Drafts::role(&live, directory, &place.1)? != Role::Scratch
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
