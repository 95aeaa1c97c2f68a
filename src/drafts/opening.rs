//! Files are made and opened.

use std::sync::Arc;

use super::handles::{Open, Pin};
use super::listing::is_rejected;
use super::names::{NameTarget, Place};
use super::saving::is_partial;
use super::state::Purpose;
use super::{Access, Drafts, Handle};
use super::{MOST_GAME, is_own, text_of};
use super::{failed, failed_of_rejected};
use crate::fs::editor::Role;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::volume::{NodeKind, Size};
use crate::fs::{Attr, Error, Ino, Text, status as about};
use crate::names::is_second_of_its_name;
use crate::storage::SharedBuffer;

impl Drafts {
    /// Makes a file and opens it; opens the one that is there, unless that
    /// is excluded (`O_EXCL`).
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::NotPermitted`] where there can be no such
    /// file; [`Error::NoSpace`]; those of [`Drafts::open_file`].
    pub fn create(
        &self,
        directory: Ino,
        name: &[u8],
        access: Access,
        is_exclusive: bool,
    ) -> Result<(Attr, Handle), Error> {
        let live = self.editable(directory)?;
        drop(self.open_state()?);
        if about::holds(directory.within_base()) {
            return match self.lookup(directory, name) {
                Ok(_) => Err(Error::Exists),
                Err(_) => Err(Error::NotPermitted),
            };
        }
        let place: Place = (directory, text_of(name)?.into());
        if let Some(NameTarget::Gone { game, is_link, .. }) = self.entry(&place) {
            return self.create_game(&live, &place, game, is_link, access);
        }
        if let Some(present) = self.present(&place)? {
            if is_exclusive {
                return Err(Error::Exists);
            }
            let handle = self.open_file(present.ino, access)?;
            return Ok((self.attr_open(handle)?, handle));
        }
        let purpose = match Drafts::role(&live, directory, &place.1)? {
            Role::New => Purpose::New,
            Role::Import => Purpose::Import,
            Role::Scratch => Purpose::Scratch,
            Role::Deleted(game) | Role::File(game) => {
                return self.create_game(&live, &place, game, false, access);
            }
            Role::Refused => return Err(Error::NotPermitted),
        };
        if purpose == Purpose::Scratch && is_second_of_its_name(name) {
            // Such as lf makes it of a file that it moves; what is in it would be lost.
            let beside = Drafts::role(&live, directory, "games.pgn")?;
            if beside == Role::Import {
                return Err(Error::NotPermitted);
            }
        }
        self.create_own(&place, purpose, access)
    }

    /// What the name of a draft stands for.
    pub(super) fn entry(&self, place: &Place) -> Option<NameTarget> {
        self.state.lock().names.get(place.0, &place.1).cloned()
    }

    /// Makes a file with a number of its own.
    fn create_own(
        &self,
        place: &Place,
        purpose: Purpose,
        access: Access,
    ) -> Result<(Attr, Handle), Error> {
        let now = self.now();
        let (ino, handle) = {
            let mut state = self.open_state()?;
            if state.names.get(place.0, &place.1).is_some() {
                return Err(Error::Exists);
            }
            let (id, ino) = state.add_file(SharedBuffer::new(&self.pool), purpose, place, now)?;
            let open = Open::new(ino, access, Some(id), Pin::Present);
            (ino, state.open(open))
        };
        Ok((self.attr(ino)?, handle))
    }

    /// Makes a file of the name of a game that was renamed or deleted: what
    /// is written will be that game.
    fn create_game(
        &self,
        live: &LiveBase,
        place: &Place,
        game: Ino,
        is_link: bool,
        access: Access,
    ) -> Result<(Attr, Handle), Error> {
        let _one = live.lock_saves();
        if is_partial(live, game) {
            return Err(Error::NotWritable);
        }
        let is_deleted = matches!(
            Drafts::role(live, place.0, &place.1)?,
            Role::Deleted(deleted) if deleted == game
        );
        if is_deleted {
            self.note_revived(game);
            self.set_deleted(live, game, false)?;
        }
        let base = live.present_text(game.within_base())?.mark();
        let buffer = SharedBuffer::new(&self.pool);
        buffer.set_length(0, MOST_GAME).map_err(failed)?;
        let now = self.now();
        let handle = {
            let mut state = self.open_state()?;
            state.leave(game);
            if is_link {
                state.names.set(place, NameTarget::Link(game), now);
            } else {
                state.names.remove(place, now);
            }
            let id = state.add_game(buffer, game, base, now);
            state.open(Open::new(game, access, Some(id), Pin::Present))
        };
        Ok((self.attr_open(handle)?, handle))
    }

    /// Opens a file. A handle that only reads keeps the present content.
    ///
    /// # Errors
    ///
    /// [`Error::NotWritable`] for writing what cannot be written,
    /// [`Error::NotPermitted`] for what is deleted; those of [`Drafts::read`].
    pub fn open_file(&self, ino: Ino, access: Access) -> Result<Handle, Error> {
        if let Some(game) = self.became(ino) {
            return self.open_file(game, access);
        }
        if is_own(ino) {
            return self.open_own(ino, access);
        }
        let live = self.mount.base(ino)?;
        let is_editable = live.as_ref().is_some_and(|live| live.is_editable());
        if access.write && !is_editable {
            return Err(Error::ReadOnly);
        }
        let is_status = about::holds(ino.within_base()) && !is_rejected(ino);
        let live = live.filter(|_| !is_status);
        let Some(live) = live else {
            if self.attr(ino)?.kind == NodeKind::Directory {
                return Err(Error::IsADirectory);
            }
            let handle = Open::new(ino, access, None, Pin::Present);
            let handle = (!access.write)
                .then_some(handle)
                .ok_or(Error::NotWritable)?;
            return Ok(self.state.lock().open(handle));
        };
        if is_rejected(ino) {
            return self.open_rejected(&live, ino, access);
        }
        self.open_shown(&live, ino, access)
    }

    /// The game that a file with a number of its own has become.
    pub(super) fn became(&self, ino: Ino) -> Option<Ino> {
        if !is_own(ino) {
            return None;
        }
        let state = self.state.lock();
        if let Some(game) = state.alias(ino) {
            return Some(game);
        }
        let (_, draft) = state.own(ino)?;
        if draft.is_open_work() {
            return None;
        }
        draft.game()
    }

    fn open_own(&self, ino: Ino, access: Access) -> Result<Handle, Error> {
        let (handle, buffer) = {
            let mut state = self.state.lock();
            let id = state.own(ino).map(|(id, _)| id).ok_or(Error::NotFound)?;
            let draft = state.drafts.get_mut(&id).ok_or(Error::NotFound)?;
            if access.write && draft.purpose == Purpose::Log {
                return Err(Error::NotWritable);
            }
            if access.write && (draft.writers == 0 || access.truncate) {
                draft.begin_anew();
            }
            let buffer = Arc::clone(&draft.buffer);
            (
                state.open(Open::new(ino, access, Some(id), Pin::Present)),
                buffer,
            )
        };
        if access.truncate && access.write && buffer.length() > 0 {
            buffer.set_length(0, u64::MAX).map_err(failed)?;
        }
        Ok(handle)
    }

    fn open_rejected(&self, live: &LiveBase, ino: Ino, access: Access) -> Result<Handle, Error> {
        if access.write {
            return Err(Error::NotWritable);
        }
        let rejected = self.rejected(live).ok_or(Error::NotFound)?;
        let file = rejected
            .open(ino.within_base().index())
            .map_err(failed_of_rejected)?;
        let pin = Pin::Disk(Arc::new(file));
        Ok(self.state.lock().open(Open::new(ino, access, None, pin)))
    }

    /// Opens a file that the volume shows.
    fn open_shown(&self, live: &LiveBase, ino: Ino, access: Access) -> Result<Handle, Error> {
        let inner = ino.within_base();
        if access.write {
            // Only texts are written; other lengths may take long to find out.
            let kind = live.ask(|snapshot| snapshot.volume.node(inner))?.kind;
            if matches!(kind, NodeKind::File(size) if size != Size::Rendered) {
                return Err(Error::NotWritable);
            }
        }
        // Records this content as reported, so that `getattr` returns its length.
        let present = live.present(inner)?;
        match present.kind {
            NodeKind::Directory => return Err(Error::IsADirectory),
            NodeKind::Symlink => return Err(Error::Invalid),
            NodeKind::File(Size::Rendered) => {}
            NodeKind::File(_) => {
                let open = Open::new(ino, access, None, Pin::Mark(present.generation));
                return Ok(self.state.lock().open(open));
            }
        }
        let text = live.present_text(inner)?;
        if !access.write {
            // The draft is for those who write it: others read what is stored.
            let open = Open::new(ino, access, None, Pin::Text(text));
            return Ok(self.state.lock().open(open));
        }
        Drafts::check_writable(live, ino)?;
        self.open_to_write(ino, access, text)
    }

    /// Opens a file to read the text that had this mark a moment ago.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if it is gone; those of [`Drafts::read`].
    pub fn open_earlier(&self, ino: Ino, mark: u32) -> Result<Handle, Error> {
        let live = self.mount.base(ino)?.ok_or(Error::Stale)?;
        let pin = Pin::Text(live.text_with(ino.within_base(), mark)?);
        let open = Open::new(ino, Access::READ, None, pin);
        Ok(self.state.lock().open(open))
    }

    /// Opens once more what a handle has open: the same draft, or the same text,
    /// whatever the file is by now.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; those of [`Drafts::truncate`].
    pub fn open_again(&self, handle: Handle, access: Access) -> Result<Handle, Error> {
        let (again, ino) = {
            let mut state = self.state.lock();
            let open = state.handles.get(handle)?;
            let (ino, is_replaced) = (open.ino, open.is_replaced);
            let again = Open::new(ino, access, open.draft, open.pin.clone());
            (
                state.open(Open {
                    is_replaced,
                    ..again
                }),
                ino,
            )
        };
        if access.truncate && access.write {
            let cut = self.truncate(ino, Some(again), 0);
            cut.inspect_err(|_| self.release(again))?;
        }
        Ok(again)
    }

    /// Returns whether a handle writes the draft that new writers of the file
    /// would share.
    pub fn has_present_draft(&self, handle: Handle) -> bool {
        let state = self.state.lock();
        let Ok(open) = state.handles.get(handle) else {
            return false;
        };
        let shown = state.shown(open.ino).map(|(id, _)| id);
        shown.is_some() && shown == open.draft
    }

    /// Whether what is written to a file that the volume shows may be saved.
    pub(super) fn check_writable(live: &LiveBase, game: Ino) -> Result<(), Error> {
        let (first, last) = live.snapshot().rendered();
        if !(first..=last).contains(&game) || is_partial(live, game) {
            return Err(Error::NotWritable);
        }
        let is_editable = Drafts::ask(live, |editor| editor.is_editable(game.within_base()))?;
        is_editable.then_some(()).ok_or(Error::NotPermitted)
    }

    fn open_to_write(&self, game: Ino, access: Access, text: Text) -> Result<Handle, Error> {
        let now = self.now();
        let (handle, buffer) = {
            let mut state = self.open_state()?;
            let mut draft = state.shown(game).map(|(id, _)| id);
            if draft.is_none() && access.truncate {
                let buffer = SharedBuffer::new(&self.pool);
                draft = Some(state.add_game(buffer, game, text.mark(), now));
            } else if draft.is_none() {
                // The one that is settled belongs to those who have it.
                state.games.remove(&game);
            }
            let buffer = draft.and_then(|id| state.drafts.get(&id));
            let buffer = buffer.map(|draft| Arc::clone(&draft.buffer));
            let pin = Pin::Text(text);
            (state.open(Open::new(game, access, draft, pin)), buffer)
        };
        if access.truncate
            && let Some(buffer) = buffer
        {
            buffer.set_length(0, MOST_GAME).map_err(failed)?;
        }
        Ok(handle)
    }
}
