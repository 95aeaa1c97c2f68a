//! Files are made, opened, written and closed.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::buffer::Sheet;
use super::desk::{Draft, Purpose, State};
use super::handles::{Open, Pin};
use super::names::{Entry, Link, Place};
use super::saving::is_partial;
use super::{KIND, MOST_GAME, rejected, text_of};
use crate::vfs::editor::Role;
use crate::vfs::slot::Slot;
use crate::vfs::volume::{NodeKind, Size};
use crate::vfs::{self, Access, Attr, Bytes, Error, Handle, Ino, Text, Vfs, about};

/// Why a draft is kept that nobody saved.
const NOT_SAVED: &str = "it was never closed or synced after it was written";

impl Vfs {
    /// See [`Vfs::create`].
    pub(in crate::vfs) fn create_file(
        &self,
        directory: Ino,
        name: &[u8],
        access: Access,
        is_exclusive: bool,
    ) -> Result<(Attr, Handle), Error> {
        let slot = self.edited(directory)?;
        if about::holds(directory.within_slot()) {
            return match self.lookup(directory, name) {
                Ok(_) => Err(Error::Exists),
                Err(_) => Err(Error::NotPermitted),
            };
        }
        let place = (directory, text_of(name)?.into());
        let entry = self.entry(&place);
        let present = match &entry {
            Some(Entry::Gone { game, link, .. }) => {
                return self.create_game(&slot, &place, *game, link.clone(), access);
            }
            Some(Entry::File(_) | Entry::Link(_)) => self.lookup(directory, name).map(Some)?,
            None => match self.lookup(directory, name) {
                Err(Error::NotFound) => None,
                present => Some(present?),
            },
        };
        if let Some(present) = present {
            if is_exclusive {
                return Err(Error::Exists);
            }
            let handle = self.open_any(present.ino, access)?;
            return Ok((self.attr(present.ino)?, handle));
        }
        let purpose = match Vfs::role(&slot, directory, &place.1)? {
            Role::New => Purpose::New,
            Role::Import => Purpose::Import,
            Role::Scratch => Purpose::Scratch,
            Role::Deleted(game) | Role::File(game) => {
                return self.create_game(&slot, &place, game, None, access);
            }
            Role::Refused => return Err(Error::NotPermitted),
        };
        self.create_own(&slot, &place, purpose, access)
    }

    /// What a name on the desk stands for.
    pub(super) fn entry(&self, place: &Place) -> Option<Entry> {
        self.desk.state().names.get(place.0, &place.1).cloned()
    }

    /// Makes a file with a number of its own.
    fn create_own(
        &self,
        slot: &Slot,
        place: &Place,
        purpose: Purpose,
        access: Access,
    ) -> Result<(Attr, Handle), Error> {
        let root = Ino::ROOT.in_slot(slot.number());
        let now = self.now();
        let (ino, handle) = {
            let mut state = self.desk.open_state()?;
            if state.names.get(place.0, &place.1).is_some() {
                return Err(Error::Exists);
            }
            state.names.check_room()?;
            let sheet = Sheet::new(&self.desk.pool);
            let id = state.add(Draft::new(sheet, purpose, root, now));
            state.name(id, place, now);
            let ino = state.drafts.get(&id).map_or(root, |draft| draft.ino);
            (
                ino,
                state.open(Open::new(ino, access, Some(id), Pin::Present)),
            )
        };
        Ok((self.attr(ino)?, handle))
    }

    /// Makes a file of the name of a game that was renamed or deleted: what
    /// is written will be that game.
    fn create_game(
        &self,
        slot: &Slot,
        place: &Place,
        game: Ino,
        link: Option<Link>,
        access: Access,
    ) -> Result<(Attr, Handle), Error> {
        let _one = self.desk.one_at_a_time();
        if is_partial(slot, game) {
            return Err(Error::NotWritable);
        }
        let is_deleted = matches!(
            Vfs::role(slot, place.0, &place.1)?,
            Role::Deleted(deleted) if deleted == game
        );
        if is_deleted {
            self.set_deleted(slot, game, false)?;
        }
        let base = slot.edition().text(game.within_slot())?.mark();
        let sheet = Sheet::new(&self.desk.pool);
        sheet.set_length(0, MOST_GAME)?;
        let now = self.now();
        let handle = {
            let mut state = self.desk.open_state()?;
            state.leave(game);
            match link {
                Some(link) => state.names.set(place, Entry::Link(link), now),
                None => state.names.remove(place, now),
            };
            state.tell_name(place);
            let mut draft = Draft::new(sheet, Purpose::Game(game), game, now);
            draft.base = Some(base);
            let id = state.add(draft);
            state.open(Open::new(game, access, Some(id), Pin::Present))
        };
        Ok((self.attr(game)?, handle))
    }

    /// See [`Vfs::open_file`].
    pub(in crate::vfs) fn open_any(&self, ino: Ino, access: Access) -> Result<Handle, Error> {
        if let Some(game) = self.became(ino) {
            return self.open_any(game, access);
        }
        let inner = ino.within_slot();
        if inner.kind() == KIND {
            return self.open_own(ino, access);
        }
        let slot = match self.place(ino)? {
            vfs::Place::Volume(slot, _) => Some(slot),
            vfs::Place::Shelf(..) => None,
        };
        let is_edited = slot.as_ref().is_some_and(|slot| slot.is_edited());
        if access.write && !is_edited {
            return Err(Error::ReadOnly);
        }
        let slot = slot.filter(|_| !about::holds(inner) || inner.index() >= rejected::FIRST);
        let Some(slot) = slot else {
            if self.attr(ino)?.kind == NodeKind::Directory {
                return Err(Error::IsADirectory);
            }
            let handle = Open::new(ino, access, None, Pin::Present);
            let handle = (!access.write)
                .then_some(handle)
                .ok_or(Error::NotWritable)?;
            return Ok(self.desk.state().open(handle));
        };
        if about::holds(inner) {
            return self.open_rejected(&slot, ino, access);
        }
        self.open_shown(&slot, ino, access)
    }

    /// The game that a file with a number of its own has become.
    pub(super) fn became(&self, ino: Ino) -> Option<Ino> {
        if ino.within_slot().kind() != KIND {
            return None;
        }
        let state = self.desk.state();
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
        let (handle, sheet) = {
            let mut state = self.desk.state();
            let id = state.own(ino).map(|(id, _)| id).ok_or(Error::NotFound)?;
            let draft = state.drafts.get_mut(&id).ok_or(Error::NotFound)?;
            if access.write && draft.purpose == Purpose::Log {
                return Err(Error::NotWritable);
            }
            if access.write && draft.writers == 0 {
                // What was saved stays saved; this is another draft.
                draft.made = None;
            }
            let sheet = Arc::clone(&draft.sheet);
            (
                state.open(Open::new(ino, access, Some(id), Pin::Present)),
                sheet,
            )
        };
        if access.truncate && access.write && sheet.length() > 0 {
            sheet.set_length(0, u64::MAX)?;
        }
        Ok(handle)
    }

    fn open_rejected(&self, slot: &Slot, ino: Ino, access: Access) -> Result<Handle, Error> {
        if access.write {
            return Err(Error::NotWritable);
        }
        let rejected = self.desk.rejected(slot).ok_or(Error::NotFound)?;
        let file = rejected.open(ino.within_slot().index())?;
        let pin = Pin::Disk(Arc::new(file));
        Ok(self.desk.state().open(Open::new(ino, access, None, pin)))
    }

    /// Opens a file that the volume shows.
    fn open_shown(&self, slot: &Slot, ino: Ino, access: Access) -> Result<Handle, Error> {
        let inner = ino.within_slot();
        let kind = slot.edition().volume.node(inner)?.kind;
        match kind {
            NodeKind::Directory => return Err(Error::IsADirectory),
            NodeKind::Symlink => return Err(Error::Invalid),
            NodeKind::File(_) => {}
        }
        if kind != NodeKind::File(Size::Rendered) {
            if access.write {
                return Err(Error::NotWritable);
            }
            let pin = Pin::Mark(slot.present(inner)?.generation);
            return Ok(self.desk.state().open(Open::new(ino, access, None, pin)));
        }
        // Told: whoever asks for the length now is told the same.
        slot.present(inner)?;
        let text = slot.edition().text(inner)?;
        if !access.write {
            let mut state = self.desk.state();
            let draft = state.shown(ino).map(|(id, _)| id);
            return Ok(state.open(Open::new(ino, access, draft, Pin::Text(text))));
        }
        self.check_writable(slot, ino)?;
        self.open_to_write(ino, access, text)
    }

    fn check_writable(&self, slot: &Slot, game: Ino) -> Result<(), Error> {
        let (first, last) = slot.edition().rendered();
        if !(first..=last).contains(&game) || is_partial(slot, game) {
            return Err(Error::NotWritable);
        }
        let is_editable = Vfs::ask(slot, |editor| editor.is_editable(game.within_slot()))?;
        is_editable.then_some(()).ok_or(Error::NotPermitted)
    }

    fn open_to_write(&self, game: Ino, access: Access, text: Text) -> Result<Handle, Error> {
        let now = self.now();
        let base = text.mark();
        let (handle, sheet) = {
            let mut state = self.desk.open_state()?;
            let mut draft = state.shown(game).map(|(id, _)| id);
            if draft.is_none() && access.truncate {
                let sheet = Sheet::new(&self.desk.pool);
                let mut new = Draft::new(sheet, Purpose::Game(game), game, now);
                new.base = Some(base);
                draft = Some(state.add(new));
            } else if draft.is_none() {
                // The one that is settled belongs to those who have it.
                state.games.remove(&game);
            }
            let sheet = draft.and_then(|id| state.drafts.get(&id));
            let sheet = sheet.map(|draft| Arc::clone(&draft.sheet));
            let pin = Pin::Text(text);
            (state.open(Open::new(game, access, draft, pin)), sheet)
        };
        if access.truncate
            && let Some(sheet) = sheet
        {
            sheet.set_length(0, MOST_GAME)?;
        }
        Ok(handle)
    }

    /// See [`Vfs::read_open`].
    pub(in crate::vfs) fn read_handle(
        &self,
        handle: Handle,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        let (ino, pin, sheet) = {
            let state = self.desk.state();
            let open = state.handles.get(handle)?;
            if !open.access.read {
                return Err(Error::NotOpen);
            }
            let draft = open.draft.and_then(|id| state.drafts.get(&id));
            let sheet = draft.map(|draft| Arc::clone(&draft.sheet));
            (open.ino, open.pin.clone(), sheet)
        };
        if let Some(sheet) = sheet {
            return Ok(Bytes::Own(sheet.read(offset, length)?));
        }
        match pin {
            Pin::Present => self.read(ino, offset, length),
            Pin::Text(text) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(text.len());
                let end = start.saturating_add(length as usize).min(text.len());
                Ok(Bytes::Shared(Arc::clone(text.bytes()), start..end))
            }
            Pin::Mark(mark) => match self.place(ino)? {
                vfs::Place::Volume(slot, inner) => slot.read_marked(inner, mark, offset, length),
                vfs::Place::Shelf(..) => Err(Error::Stale),
            },
            Pin::Disk(file) => {
                let mut bytes = vec![0; length as usize];
                let read = file.read_at(&mut bytes, offset);
                bytes.truncate(read.map_err(|error| Error::Damaged(error.to_string()))?);
                Ok(Bytes::Own(bytes))
            }
        }
    }

    /// The draft that a handle writes, begun if need be.
    fn draft_of(&self, handle: Handle) -> Result<(Arc<Sheet>, u64, bool), Error> {
        let begun = {
            let mut state = self.desk.open_state()?;
            let open = state.handles.get(handle)?;
            if !open.access.write {
                return Err(Error::NotOpen);
            }
            match open.draft {
                Some(_) => None,
                None if !open.is_over && state.shown(open.ino).is_some() => {
                    let game = open.ino;
                    let id = state.shown(game).map(|(id, _)| id);
                    id.into_iter().for_each(|id| state.join(game, id));
                    None
                }
                None => Some((open.ino, open.pin.clone())),
            }
        };
        if let Some((game, pin)) = begun {
            self.begin(handle, game, &pin)?;
        }
        self.mark_written(handle)
    }

    /// Begins a draft with the text that the file had when it was opened.
    fn begin(&self, handle: Handle, game: Ino, pin: &Pin) -> Result<(), Error> {
        let (bytes, mark) = match pin {
            Pin::Text(text) => (text.to_vec(), text.mark()),
            Pin::Mark(mark) => {
                let slot = self.edited(game)?;
                let text = slot.read_marked(game.within_slot(), *mark, 0, u32::MAX)?;
                (text.to_vec(), *mark)
            }
            Pin::Present | Pin::Disk(_) => return Err(Error::NotOpen),
        };
        let sheet = Sheet::of(&self.desk.pool, &bytes)?;
        let now = self.now();
        let mut state = self.desk.open_state()?;
        let open = state.handles.get(handle)?;
        if open.draft.is_some() {
            return Ok(());
        }
        let is_over = open.is_over;
        let purpose = match is_over {
            true => Purpose::Over,
            false => Purpose::Game(game),
        };
        let mut draft = Draft::new(sheet, purpose, game, now);
        draft.base = Some(mark);
        let id = state.add(draft);
        if is_over {
            state.handles.get_mut(handle)?.draft = Some(id);
            if let Some(draft) = state.drafts.get_mut(&id) {
                (draft.open, draft.writers) = (1, 1);
            }
        } else {
            state.join(game, id);
        }
        Ok(())
    }

    /// Notes that something is written through a handle; gives the sheet, how
    /// much may be on it, and whether it is written at the end.
    fn mark_written(&self, handle: Handle) -> Result<(Arc<Sheet>, u64, bool), Error> {
        let now = self.now();
        let mut state = self.desk.open_state()?;
        let open = state.handles.get_mut(handle)?;
        open.is_written = true;
        let (id, at_end) = (open.draft.ok_or(Error::NotOpen)?, open.access.append);
        let draft = state.drafts.get_mut(&id).ok_or(Error::NotOpen)?;
        draft.modified = now;
        let most = match draft.purpose {
            Purpose::Game(_) | Purpose::New | Purpose::Over => MOST_GAME,
            Purpose::Scratch | Purpose::Import | Purpose::Log => u64::MAX,
        };
        Ok((Arc::clone(&draft.sheet), most, at_end))
    }

    /// See [`Vfs::write`].
    pub(in crate::vfs) fn write_handle(
        &self,
        handle: Handle,
        offset: u64,
        bytes: &[u8],
    ) -> Result<u32, Error> {
        let length = u32::try_from(bytes.len()).map_err(|_| Error::Invalid)?;
        let (sheet, most, at_end) = self.draft_of(handle)?;
        sheet.write((!at_end).then_some(offset), bytes, most)?;
        Ok(length)
    }

    /// See [`Vfs::truncate`].
    pub(in crate::vfs) fn truncate_any(
        &self,
        ino: Ino,
        handle: Option<Handle>,
        length: u64,
    ) -> Result<Attr, Error> {
        if let Some(handle) = handle {
            let (sheet, most, _) = self.draft_of(handle)?;
            sheet.set_length(length, most)?;
            return self.attr(ino);
        }
        let access = Access {
            write: true,
            ..Access::READ
        };
        let handle = self.open_any(ino, access)?;
        let cut = self.truncate_by_name(handle, length);
        self.release_handle(handle);
        cut?;
        self.attr(ino)
    }

    fn truncate_by_name(&self, handle: Handle, length: u64) -> Result<(), Error> {
        let is_alone = {
            let mut state = self.desk.state();
            let id = state.handles.get(handle)?.draft;
            let draft = id.and_then(|id| state.drafts.get(&id));
            let is_own = draft.is_some_and(|draft| draft.place.is_some());
            let is_alone = draft.is_none_or(|draft| draft.writers <= 1);
            if let Some(id) = id.filter(|_| !is_alone) {
                let writers = state.handles.writers_of(id);
                writers.for_each(|open| open.is_written = true);
            }
            is_alone && !is_own
        };
        if is_alone && length == 0 {
            // What follows says what is to become of it.
            return Ok(());
        }
        let (sheet, most, _) = self.draft_of(handle)?;
        sheet.set_length(length, most)?;
        if is_alone {
            return self.flush_handle(handle);
        }
        Ok(())
    }

    /// See [`Vfs::flush`].
    pub(in crate::vfs) fn flush_handle(&self, handle: Handle) -> Result<(), Error> {
        let id = {
            let mut state = self.desk.state();
            let open = state.handles.get(handle)?;
            let (id, is_written) = (open.draft, open.is_written || open.access.truncate);
            let draft = id.and_then(|id| state.drafts.get_mut(&id));
            let Some(draft) = draft.filter(|_| is_written) else {
                return Ok(());
            };
            if draft.purpose == Purpose::Scratch {
                return Ok(());
            }
            id
        };
        let Some(id) = id else {
            return Ok(());
        };
        let _one = self.desk.one_at_a_time();
        self.save_draft(id)
    }

    /// See [`Vfs::release`].
    pub(in crate::vfs) fn release_handle(&self, handle: Handle) {
        let now = self.now();
        let unsaved = {
            let mut state = self.desk.state();
            let Some(open) = state.handles.remove(handle) else {
                return;
            };
            open.draft
                .and_then(|id| close(&mut state, id, open.access.write))
        };
        let Some((id, is_unsaved)) = unsaved else {
            return;
        };
        if is_unsaved {
            self.keep_draft(id, NOT_SAVED);
        }
        let mut state = self.desk.state();
        let is_new = |draft: &Draft| draft.purpose == Purpose::New && draft.made.is_none();
        let draft = state.drafts.get(&id);
        let is_refused = draft.is_some_and(|draft| is_new(draft) && draft.refusal.is_some());
        if is_refused || is_unsaved && draft.is_some_and(is_new) {
            state.unname(id, now);
        }
        finish(&mut state, id);
    }
}

/// Closes a draft; if it was the last to write it, gives the draft and
/// whether there is something on it that was neither saved nor refused.
fn close(state: &mut State, id: u32, is_writer: bool) -> Option<(u32, bool)> {
    let draft = state.drafts.get_mut(&id)?;
    draft.open = draft.open.saturating_sub(1);
    draft.writers = draft.writers.saturating_sub(u32::from(is_writer));
    if draft.writers > 0 || !is_writer {
        state.clear(id);
        return None;
    }
    let has_purpose = !matches!(draft.purpose, Purpose::Scratch | Purpose::Log);
    let is_unsaved = draft.is_open_work() && draft.sheet.length() > 0;
    Some((id, has_purpose && is_unsaved))
}

/// Ends what nobody writes any more: the game shows what is stored.
fn finish(state: &mut State, id: u32) {
    let Some(draft) = state.drafts.get_mut(&id) else {
        return;
    };
    if draft.writers == 0 {
        if draft.place.is_none() {
            draft.settled = draft.sheet.version();
        }
        let (ino, game) = (draft.ino, draft.purpose);
        if let Purpose::Game(game) = game
            && state.games.get(&game) == Some(&id)
        {
            state.games.remove(&game);
        }
        state.tell_files([ino]);
    }
    state.clear(id);
}
