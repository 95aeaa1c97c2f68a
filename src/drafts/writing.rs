//! Open files are read, written and closed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::SystemTime;

use super::MOST_GAME;
use super::failed;
use super::handles::Pin;
use super::state::{Draft, Purpose, State};
use super::{Access, Drafts, Handle, StoredGame};
use crate::fs::{Attr, Bytes, Error, Ino};
use crate::storage::SharedBuffer;

/// Why a draft is kept that nobody saved.
const NOT_SAVED: &str = "it was never closed or synced after it was written";

/// Why a new game is none where it is.
const STRAY: &str =
    "new games can be written only to games/ or import/; this file is not saved in the database";

impl Drafts {
    /// Up to `length` bytes from `offset` on; fewer only at the end.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; those of [`Drafts::read`].
    pub fn read_open(&self, handle: Handle, offset: u64, length: u32) -> Result<Bytes, Error> {
        let (ino, pin, buffer) = {
            let state = self.state.lock();
            let open = state.handles.get(handle)?;
            if !open.access.read {
                return Err(Error::NotOpen);
            }
            let draft = open.draft.and_then(|id| state.drafts.get(&id));
            let buffer = draft.map(|draft| Arc::clone(&draft.buffer));
            (open.ino, open.pin.clone(), buffer)
        };
        if let Some(buffer) = buffer {
            return Ok(Bytes::Own(buffer.read(offset, length).map_err(failed)?));
        }
        match pin {
            Pin::Present => self.read(ino, offset, length),
            Pin::Text(text) => Ok(text.part(offset, length)),
            Pin::Mark(mark) => {
                let live = self.mount.base(ino)?.ok_or(Error::Stale)?;
                live.read_marked(ino.within_base(), mark, offset, length)
            }
            Pin::Disk(file) => {
                let part = part_of(&file, offset, length);
                Ok(Bytes::Own(
                    part.map_err(|error| Error::Damaged(error.to_string()))?,
                ))
            }
        }
    }

    /// Returns the mark of the content that a handle reads; `None` for a draft,
    /// or for the present content.
    pub fn content_of(&self, handle: Handle) -> Option<u32> {
        let state = self.state.lock();
        let open = state.handles.get(handle).ok()?;
        match &open.pin {
            _ if open.draft.is_some() => None,
            Pin::Text(text) => Some(text.mark()),
            Pin::Mark(mark) => Some(*mark),
            Pin::Present | Pin::Disk(_) => None,
        }
    }

    /// The draft that a handle writes, begun if need be.
    fn draft_of(&self, handle: Handle) -> Result<(Arc<SharedBuffer>, u64, bool), Error> {
        let begun = {
            let mut state = self.open_state()?;
            let open = state.handles.get(handle)?;
            if !open.access.write {
                return Err(Error::NotOpen);
            }
            let (game, is_replaced) = (open.ino, open.is_replaced);
            let shown = state.shown(game).filter(|_| !is_replaced);
            match (open.draft, shown.map(|(id, _)| id)) {
                (Some(_), _) => None,
                (None, Some(id)) => {
                    state.join(game, id);
                    None
                }
                (None, None) => Some((game, open.pin.clone())),
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
                let live = self.editable(game)?;
                let text = live.read_marked(game.within_base(), *mark, 0, u32::MAX)?;
                (text.to_vec(), *mark)
            }
            Pin::Present | Pin::Disk(_) => return Err(Error::NotOpen),
        };
        let buffer = SharedBuffer::of(&self.pool, &bytes).map_err(failed)?;
        let now = self.now();
        let mut state = self.open_state()?;
        let open = state.handles.get(handle)?;
        if open.draft.is_some() {
            return Ok(());
        }
        let is_replaced = open.is_replaced;
        let purpose = if is_replaced {
            Purpose::Replaced
        } else {
            Purpose::Game(game)
        };
        let mut draft = Draft::new(buffer, purpose, game, now);
        draft.base = Some(mark);
        let id = state.add(draft);
        if is_replaced {
            state.handles.get_mut(handle)?.draft = Some(id);
            if let Some(draft) = state.drafts.get_mut(&id) {
                (draft.open, draft.writers) = (1, 1);
            }
        } else {
            state.join(game, id);
        }
        Ok(())
    }

    /// Notes that something is written through a handle; gives the buffer, how
    /// much may be on it, and whether it is written at the end.
    fn mark_written(&self, handle: Handle) -> Result<(Arc<SharedBuffer>, u64, bool), Error> {
        let now = self.now();
        let mut state = self.open_state()?;
        let open = state.handles.get_mut(handle)?;
        open.is_written = true;
        let (id, at_end) = (open.draft.ok_or(Error::NotOpen)?, open.access.append);
        let draft = state.drafts.get_mut(&id).ok_or(Error::NotOpen)?;
        draft.modified = now;
        let most = match draft.purpose {
            Purpose::Game(_) | Purpose::New | Purpose::Replaced => MOST_GAME,
            Purpose::Scratch | Purpose::Import | Purpose::Log => u64::MAX,
        };
        Ok((Arc::clone(&draft.buffer), most, at_end))
    }

    /// Writes `bytes` at `offset`. Returns the number of bytes written.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; [`Error::TooLarge`] for a game of more than 16
    /// MiB, [`Error::NoSpace`].
    pub fn write(&self, handle: Handle, offset: u64, bytes: &[u8]) -> Result<u32, Error> {
        let length = u32::try_from(bytes.len()).map_err(|_| Error::Invalid)?;
        let (buffer, most, at_end) = self.draft_of(handle)?;
        buffer
            .write((!at_end).then_some(offset), bytes, most)
            .map_err(failed)?;
        Ok(length)
    }

    /// Truncates a file, or extends it with zeros. Without a handle, a game is
    /// saved at once, except that truncation to 0 changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Drafts::write`]; without a handle, those of [`Drafts::open_file`]
    /// and [`Drafts::flush`].
    pub fn truncate(&self, ino: Ino, handle: Option<Handle>, length: u64) -> Result<Attr, Error> {
        if let Some(handle) = handle {
            let (buffer, most, _) = self.draft_of(handle)?;
            buffer.set_length(length, most).map_err(failed)?;
            return self.attr_open(handle);
        }
        let access = Access {
            write: true,
            ..Access::READ
        };
        let handle = self.open_file(ino, access)?;
        let cut = self.truncate_by_name(handle, length);
        self.release(handle);
        cut?;
        self.attr(ino)
    }

    fn truncate_by_name(&self, handle: Handle, length: u64) -> Result<(), Error> {
        let is_alone = {
            let mut state = self.state.lock();
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
        let (buffer, most, _) = self.draft_of(handle)?;
        buffer.set_length(length, most).map_err(failed)?;
        if is_alone {
            return self.save_written(handle).map(drop);
        }
        Ok(())
    }

    /// Saves what was written through `handle`; the file shows what is
    /// stored when this returns. Nothing if nothing was written. Returns the game that
    /// it is stored as, if it is one and no earlier flush has returned it.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`]; [`Error::NotOpen`]; that of the medium.
    pub fn flush(&self, handle: Handle) -> Result<Option<StoredGame>, Error> {
        let id = self.save_written(handle)?;
        let mut state = self.state.lock();
        let draft = id.and_then(|id| state.drafts.get_mut(&id));
        Ok(draft.and_then(|draft| draft.stored.take()))
    }

    /// Saves as [`flush`](Drafts::flush); gives the draft, if something was written.
    pub(super) fn save_written(&self, handle: Handle) -> Result<Option<u32>, Error> {
        let (id, ino) = {
            let mut state = self.state.lock();
            let open = state.handles.get(handle)?;
            let (id, is_written) = (open.draft, open.is_written || open.access.truncate);
            let draft = id.and_then(|id| state.drafts.get_mut(&id));
            let Some(draft) = draft.filter(|_| is_written) else {
                return Ok(None);
            };
            if draft.made_by.is_some_and(|by| by != handle) {
                // It is another program's by now.
                draft.is_confirmed = true;
            }
            let is_stray = draft.is_stray() && draft.is_open_work();
            if draft.purpose == Purpose::Scratch {
                draft.settle();
                drop(state);
                if let Some(id) = id.filter(|_| is_stray) {
                    self.keep_draft(id, STRAY);
                }
                return Ok(None);
            }
            (id, draft.ino)
        };
        let (Some(id), Some(live)) = (id, self.mount.base(ino)?) else {
            return Ok(None);
        };
        let _one = live.lock_saves();
        self.save_draft(id, handle)?;
        Ok(Some(id))
    }

    /// Closes a file without saving: a program that writes completely has
    /// flushed.
    pub fn release(&self, handle: Handle) {
        let now = self.now();
        let unsaved = {
            let mut state = self.state.lock();
            let Some(open) = state.handles.remove(handle) else {
                return;
            };
            open.draft
                .and_then(|id| close(&mut state, id, handle, open.access.write))
        };
        let Some((id, is_unsaved)) = unsaved else {
            return;
        };
        if is_unsaved {
            self.keep_draft(id, NOT_SAVED);
        }
        let is_new = self.finish(id, is_unsaved, now);
        if let Some(live) = is_new.and_then(|ino| self.editable(ino).ok()) {
            self.remove_superseded_drafts(&live);
        }
    }

    /// Ends what nobody writes any more; gives its number if it was to be a
    /// new game.
    fn finish(&self, id: u32, is_unsaved: bool, now: SystemTime) -> Option<Ino> {
        let mut state = self.state.lock();
        let draft = state.drafts.get(&id)?;
        let is_new = draft.purpose == Purpose::New && draft.made.is_empty();
        let new = is_new.then_some(draft.ino);
        if is_new && (is_unsaved || draft.status().was_refused()) {
            state.unname(id, now);
        }
        finish(&mut state, id);
        new
    }
}

/// Reads up to `length` bytes of a file on disk; fewer only at its end.
fn part_of(file: &File, offset: u64, length: u32) -> io::Result<Vec<u8>> {
    let left = file.metadata()?.len().saturating_sub(offset);
    let wanted = usize::try_from(left.min(u64::from(length))).unwrap_or(0);
    let mut bytes = vec![0; wanted];
    let read = file.read_at(&mut bytes, offset)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Closes a draft; if `handle` was the last to write it, gives the draft and
/// whether its text would be lost with it.
fn close(state: &mut State, id: u32, handle: Handle, is_writer: bool) -> Option<(u32, bool)> {
    let draft = state.drafts.get_mut(&id)?;
    draft.is_confirmed |= draft.made_by == Some(handle);
    draft.open = draft.open.saturating_sub(1);
    draft.writers = draft.writers.saturating_sub(u32::from(is_writer));
    if draft.writers > 0 || !is_writer {
        state.clear(id);
        return None;
    }
    Some((id, draft.is_unkept()))
}

/// Ends a draft without writers: the game shows its stored text again.
fn finish(state: &mut State, id: u32) {
    let Some(draft) = state.drafts.get_mut(&id) else {
        return;
    };
    if draft.writers == 0 {
        if draft.place.is_none() {
            draft.settle();
        }
        if draft.made.len() > 1 {
            // Many games are not taken the place of any more.
            draft.made = Vec::new();
        }
        if let Purpose::Game(game) = draft.purpose
            && state.games.get(&game) == Some(&id)
        {
            state.games.remove(&game);
        }
    }
    state.clear(id);
}
