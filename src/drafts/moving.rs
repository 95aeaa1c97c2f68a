//! Files are renamed.

use std::sync::Arc;

use super::names::{NameTarget, Place};
use super::saving::{Job, SavedAs};
use super::settling::game_name;
use super::state::{Purpose, State};
use super::status::DraftStatus;
use super::text_of;
use super::{Drafts, RenameMode};
use super::{failed, origin_of_file};
use crate::fs::editor::{Refusal, Role};
use crate::fs::mount::live_base::LiveBase;
use crate::fs::volume::NodeKind;
use crate::fs::{Attr, Error, Ino, status as about};
use crate::storage::SharedBuffer;
use crate::storage::rejected::Origin;

/// What is renamed.
enum MoveSource {
    /// The file of a draft.
    File(u32),
    /// A game, and whether the name is not its own.
    Game(Ino, bool),
    /// A directory.
    Directory,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Failed(error) => error,
            Refusal::Outdated => Error::Stale,
            Refusal::Text(why) => Error::Refused(why),
        }
    }
}

impl Drafts {
    /// Renames a file, or what a directory of games stands for. To put a file
    /// in the place of a game is to save it as that.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Exists`]; [`Error::NotEmpty`];
    /// [`Error::Invalid`] for an exchange; [`Error::NotPermitted`];
    /// [`Error::Elsewhere`] from base to base; those of [`Drafts::flush`].
    pub fn rename(
        &self,
        directory: Ino,
        name: &[u8],
        new_directory: Ino,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<(), Error> {
        let (from, to) = ((directory, name), (new_directory, new_name));
        let live = self.editable(from.0)?;
        drop(self.open_state()?);
        if mode == RenameMode::Exchange {
            return Err(Error::Invalid);
        }
        if from.0.base_number() != to.0.base_number() || about::holds(from.0.within_base()) {
            return Err(Error::Elsewhere);
        }
        let from: Place = (from.0, text_of(from.1)?.into());
        let to: Place = (to.0, text_of(to.1)?.into());
        let _one = live.lock_saves();
        let source = self.source(&from)?;
        let present = self.present(&to)?;
        if mode == RenameMode::NoReplace && present.is_some() {
            return Err(Error::Exists);
        }
        if from == to {
            return Ok(());
        }
        if about::holds(to.0.within_base()) {
            return Err(Error::NotPermitted);
        }
        match (source, present) {
            (MoveSource::Directory, _) => self.rename_directory(&live, &from, &to),
            (_, Some(present)) if present.kind == NodeKind::Directory => Err(Error::IsADirectory),
            (MoveSource::File(id), _) => self.rename_draft(&live, id, &from, &to),
            (MoveSource::Game(game, is_link), _) => {
                self.rename_game(&live, game, is_link, &from, &to)
            }
        }
    }

    fn source(&self, place: &Place) -> Result<MoveSource, Error> {
        match self.entry(place) {
            Some(NameTarget::File(id)) => return Ok(MoveSource::File(id)),
            Some(NameTarget::Link(game)) => return Ok(MoveSource::Game(game, true)),
            Some(NameTarget::Gone { .. }) => return Err(Error::NotFound),
            None => {}
        }
        let attr = self.lookup(place.0, place.1.as_bytes())?;
        Ok(match attr.kind {
            NodeKind::Directory => MoveSource::Directory,
            _ => MoveSource::Game(attr.ino, false),
        })
    }

    /// Returns the attributes of an existing name.
    pub(super) fn present(&self, place: &Place) -> Result<Option<Attr>, Error> {
        match self.lookup(place.0, place.1.as_bytes()) {
            Ok(attr) => Ok(Some(attr)),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns what a name means to the volume, regardless of drafts.
    fn meaning(&self, live: &LiveBase, place: &Place) -> Result<Role, Error> {
        match self.entry(place) {
            Some(NameTarget::Link(game) | NameTarget::Gone { game, .. }) => {
                match Drafts::role(live, place.0, &place.1)? {
                    Role::Deleted(game) => Ok(Role::Deleted(game)),
                    _ => Ok(Role::File(game)),
                }
            }
            _ => Drafts::role(live, place.0, &place.1),
        }
    }

    fn rename_directory(&self, live: &LiveBase, from: &Place, to: &Place) -> Result<(), Error> {
        // `mv A B` moves into B where there is a B.
        let is_into = from.0 != to.0 && from.1 == to.1;
        if from.0 != to.0 && !is_into {
            return Err(Error::NotPermitted);
        }
        let (inner, other) = (from.0.within_base(), to.0.within_base());
        let names = (from.1.as_bytes(), to.1.as_bytes());
        let saved = self.save(live, &mut |editor| {
            if is_into {
                editor.merge(inner, names.0, other)
            } else {
                editor.rename(inner, names.0, names.1)
            }
        });
        saved.map_err(|refusal| {
            let error = Error::from(refusal);
            if let Error::Refused(why) | Error::NameTooLong(why) = &error {
                log::warn!("{} is not renamed: {why}", from.1);
            }
            match error {
                // As EINVAL, mv would say that one lies in the other.
                Error::Refused(_) => Error::NotPermitted,
                error => error,
            }
        })?;
        Ok(())
    }

    /// Renames the file of a draft, which may be to save it. A game that was removed to
    /// make room comes back if it is refused.
    fn rename_draft(
        &self,
        live: &Arc<LiveBase>,
        id: u32,
        from: &Place,
        to: &Place,
    ) -> Result<(), Error> {
        let removed = match self.meaning(live, to)? {
            Role::Deleted(game) => Some(game),
            _ => None,
        };
        if let Some(game) = removed {
            self.note_revived(game);
        }
        let renamed = self.rename_draft_to(live, id, from, to);
        let Some(game) = removed else {
            return renamed;
        };
        let was_removed = {
            let mut state = self.state.lock();
            state.take_revived(game);
            state.was_removed(game)
        };
        if was_removed && matches!(renamed, Err(Error::Refused(_))) {
            self.set_deleted(live, game, false)?;
        }
        renamed
    }

    fn rename_draft_to(
        &self,
        live: &Arc<LiveBase>,
        id: u32,
        from: &Place,
        to: &Place,
    ) -> Result<(), Error> {
        let (stands_for, buffer, purpose, mut made, is_imported, is_stray) = {
            let state = self.state.lock();
            let draft = state.drafts.get(&id).ok_or(Error::NotFound)?;
            let is_settled = draft.status() == DraftStatus::Clean;
            (
                state.stands_for(id),
                Arc::clone(&draft.buffer),
                draft.purpose,
                draft.made.clone(),
                is_settled && draft.imported.is_some(),
                draft.is_stray(),
            )
        };
        if purpose == Purpose::Log {
            return Err(Error::NotPermitted);
        }
        let role = self.meaning(live, to)?;
        let (target, purpose) = match role {
            Role::Refused => return Err(Error::NotPermitted),
            Role::Scratch => (None, Purpose::Scratch),
            // A game that was renamed away, which is no other game.
            Role::File(game) | Role::Deleted(game) if stands_for.is_some_and(|own| own != game) => {
                return Err(Error::NotPermitted);
            }
            Role::File(game) | Role::Deleted(game) => {
                (Some(SavedAs::Game(game)), Purpose::Game(game))
            }
            Role::New => (Some(SavedAs::New), Purpose::New),
            Role::Import if is_imported => (None, Purpose::Import),
            Role::Import => (Some(SavedAs::Import), Purpose::Import),
        };
        let is_empty = buffer.length() == 0;
        if is_empty && matches!(target, Some(SavedAs::Game(_))) {
            return Err(Error::Refused("there is no game in it".to_owned()));
        }
        let Some(target) = target.filter(|_| !is_empty) else {
            self.move_name(id, from, to, purpose);
            return Ok(());
        };
        if made.len() > 1 && target != SavedAs::Import {
            made.clear();
        }
        if is_stray {
            self.forget_saved(live, &origin_of_file(from));
        }
        let origin = match target {
            SavedAs::Game(game) => Origin::Game(game_name(game)),
            SavedAs::New | SavedAs::Import => origin_of_file(to),
        };
        let job = Job {
            earlier: made,
            skips_bad: Drafts::skips_bad(live, Some(to)),
            ..Job::new(Arc::clone(live), buffer, target, origin)
        };
        let mut outcome = self.run(&job);
        if target == SavedAs::Import {
            self.log_import(to, &job, &mut outcome);
        }
        if outcome.result.is_ok() {
            if is_stray {
                log::warn!("{} is saved after all, as {}", from.1, to.1);
            }
            self.move_name(id, from, to, purpose);
        }
        self.settle(id, &job, &outcome);
        outcome.result
    }

    /// Gives a draft another name and purpose; what had the name gives way.
    fn move_name(&self, id: u32, from: &Place, to: &Place, purpose: Purpose) {
        let now = self.now();
        let mut state = self.state.lock();
        state.names.remove(from, now);
        let Some(draft) = state.drafts.get_mut(&id) else {
            return;
        };
        draft.place = None;
        draft.purpose = purpose;
        let backup_of = draft.backup_of.take();
        if let Purpose::Game(game) = purpose {
            self.turn_into_draft_of(&mut state, id, game, to);
        } else {
            self.take_name_from(&mut state, to);
            state.name(id, to, now);
        }
        match (backup_of, purpose) {
            // It is the backup still, under another name.
            (Some(place), Purpose::Scratch) => {
                if let Some(draft) = state.drafts.get_mut(&id) {
                    draft.backup_of = Some(place);
                }
            }
            (Some(place), _) => state.show_again(&place, Some(id), now),
            (None, _) => {}
        }
    }

    /// The file at `to` loses its name to another.
    fn take_name_from(&self, state: &mut State, to: &Place) {
        let now = self.now();
        if let Some(NameTarget::File(other)) = state.names.get(to.0, &to.1).cloned() {
            if let Some(draft) = state.drafts.get_mut(&other)
                && draft.purpose != Purpose::Log
            {
                draft.purpose = Purpose::Scratch;
            }
            state.unname(other, now);
        }
    }

    /// Turns a draft that was renamed over a game into the draft of that game.
    fn turn_into_draft_of(&self, state: &mut State, id: u32, game: Ino, to: &Place) {
        let now = self.now();
        state.leave(game);
        state.show_again(to, None, now);
        state.games.insert(game, id);
    }

    fn rename_game(
        &self,
        live: &Arc<LiveBase>,
        game: Ino,
        is_link: bool,
        from: &Place,
        to: &Place,
    ) -> Result<(), Error> {
        let own = match Drafts::role(live, from.0, &from.1)? {
            Role::File(own) => Some(own),
            _ => None,
        };
        let is_ours = is_link || own == Some(game);
        let inner = to.0.within_base();
        if !is_link && from.1 == to.1 && Drafts::ask(live, |editor| editor.lists_deleted(inner))? {
            self.delete(live, from)?;
            return Ok(());
        }
        match (self.meaning(live, to)?, is_link) {
            (Role::Scratch, _) if is_ours => self.rename_to_backup(live, game, is_link, from, to),
            (Role::File(other), true) if other == game => {
                self.forget_link(from);
                Ok(())
            }
            (Role::File(other), false) if other == game => Ok(()),
            (Role::Deleted(other), false) if other == game => self.set_deleted(live, game, false),
            (Role::File(other) | Role::Deleted(other), true) => {
                self.replace_by_link(live, game, other, from, to)
            }
            (Role::New, true) => {
                let now = self.now();
                let mut state = self.state.lock();
                self.take_name_from(&mut state, to);
                state.names.remove(from, now);
                state.names.set(to, NameTarget::Link(game), now);
                Ok(())
            }
            _ => Err(Error::NotPermitted),
        }
    }

    pub(super) fn forget_link(&self, place: &Place) {
        let now = self.now();
        let mut state = self.state.lock();
        state.names.remove(place, now);
    }

    /// A file that was taken for a new game, `new`, takes the place of another:
    /// the new one is deleted.
    fn replace_by_link(
        &self,
        live: &Arc<LiveBase>,
        new: Ino,
        game: Ino,
        from: &Place,
        to: &Place,
    ) -> Result<(), Error> {
        let text = live.present_text(new.within_base())?;
        let buffer = Arc::new(SharedBuffer::of(&self.pool, &text).map_err(failed)?);
        let origin = Origin::Game(game_name(game));
        let job = Job {
            earlier: vec![new.within_base()],
            ..Job::new(Arc::clone(live), buffer, SavedAs::Game(game), origin)
        };
        let outcome = self.run(&job);
        let now = self.now();
        let mut state = self.state.lock();
        if outcome.result.is_ok() {
            state.leave(game);
            state.leave(new);
            state.move_aliases(new, game);
            state.show_again(to, None, now);
            state.names.remove(from, now);
        }
        outcome.result
    }

    /// Renames a game to a name that is no game's, such as a backup. The new
    /// name is a copy, and the game is hidden here until a new file takes its
    /// name or the copy is removed.
    fn rename_to_backup(
        &self,
        live: &LiveBase,
        game: Ino,
        is_link: bool,
        from: &Place,
        to: &Place,
    ) -> Result<(), Error> {
        let text = live.present_text(game.within_base())?;
        let buffer = SharedBuffer::of(&self.pool, &text).map_err(failed)?;
        let now = self.now();
        let mut state = self.open_state()?;
        state.names.check_room()?;
        self.take_name_from(&mut state, to);
        let (backup, _) = state.add_file(buffer, Purpose::Scratch, to, now)?;
        if let Some(copy) = state.drafts.get_mut(&backup) {
            copy.backup_of = Some(from.clone());
        }
        state.leave(game);
        let gone = NameTarget::Gone {
            game,
            backup,
            is_link,
        };
        state.names.set(from, gone, now);
        Ok(())
    }
}
