//! One save of a base, from what is to change to the state that is shown
//! then.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::{DatabaseVolume, GAME};
use crate::cbh::{
    Changes, Database, EditError, Effects, GameChange, GameId, Plan, RecordKind, SaveError,
    SaveHistory, Saver, Summary, Unfit,
};
use crate::fs::{ChangedTexts, Error, Ino, Refusal, Saved, Volume};
use crate::storage::{self, Store};

/// Maximum number of games in a save after which cached results are updated.
/// After a larger save they are dropped, and computed when needed.
const MOST_FOLLOWED: usize = 10_000;

/// Describes an edit to a [`Saver`]. Returns the games that it changes.
pub(super) type Tell<'t> = dyn FnMut(&mut Saver<'_>) -> Result<Vec<GameId>, Refusal> + 't;

impl DatabaseVolume {
    /// The base that is edited.
    pub(super) fn writable(&self) -> Result<&Arc<Database>, Refusal> {
        let editing = self.editing.as_ref();
        Ok(&editing.ok_or(Error::ReadOnly)?.database)
    }

    /// The files, and what saves them.
    pub(super) fn parts(&self) -> Result<(&Arc<Store>, &Arc<SaveHistory>), Refusal> {
        let store = self.writable()?.store();
        let saving = self.editing.as_ref().map(|editing| &editing.saving);
        let parts = store.zip(saving);
        parts.ok_or(Refusal::Failed(Error::ReadOnly))
    }

    /// The games that may be removed without a trace.
    pub(super) fn removable(&self) -> Result<Range<u32>, Refusal> {
        let (_, saving) = self.parts()?;
        Ok(saving.removable(self.base.last_id()))
    }

    /// Saves what `tell` says, for a draft that made its `own` games before.
    pub(super) fn change(&self, own: &[GameId], tell: &mut Tell<'_>) -> Result<Saved, Refusal> {
        let (store, _) = self.parts()?;
        if self.base.is_superseded() {
            return Err(Refusal::Outdated);
        }
        store.make_ready().map_err(refusal_of_store)?;
        let planned = self.plan(tell);
        let (plan, games) = planned.map_err(|refusal| outdated_or(store, refusal))?;
        self.commit(plan, &games, own)
    }

    fn plan(&self, tell: &mut Tell<'_>) -> Result<(Plan, Vec<GameId>), Refusal> {
        let (_, saving) = self.parts()?;
        let knowledge = saving.knowledge();
        let mut saver = Saver::knowing(knowledge, self.writable()?, saving.now());
        let games = tell(&mut saver)?;
        Ok((saver.finish().map_err(refusal)?, games))
    }

    fn commit(&self, plan: Plan, games: &[GameId], own: &[GameId]) -> Result<Saved, Refusal> {
        let (store, saving) = self.parts()?;
        let (notes, files) = (notes(games, &plan), inos(games));
        let before = if is_followed(&plan.effects) {
            let before = self.writable()?.summaries_of(&plan.effects.games);
            before.map_err(Error::from)?
        } else {
            Vec::new()
        };
        // A save that failed may be made whole from the journal later.
        let known = saving.take_knowledge();
        if !store.commit(&plan.transaction).map_err(refusal_of_store)? {
            saving.keep_knowledge(known);
            return Ok(Saved::nothing(files, notes));
        }
        saving.keep_knowledge(plan.knowledge);
        let last = (self.base.last_id(), plan.last_id);
        saving.follow(&plan.effects.games, own, last);
        let (volume, touched) = self.next_if_readable(&plan.effects, &before);
        Ok(Saved {
            is_change: true,
            volume,
            touched,
            files,
            notes,
        })
    }

    /// As [`next`](DatabaseVolume::next); none if that cannot be read now. That is no
    /// error: the save is stored, and a caller that was told of an error would store it
    /// again.
    pub(super) fn next_if_readable(
        &self,
        effects: &Effects,
        before: &[Option<Summary>],
    ) -> (Option<Box<dyn Volume>>, ChangedTexts) {
        match self.next(effects, before) {
            Ok((volume, touched)) => (Some(volume), touched),
            Err(refusal) => {
                log::warn!("saved, but not shown until it can be read: {refusal}");
                (None, ChangedTexts::Unknown)
            }
        }
    }

    /// The state after a save that concerned no more than `effects`, where
    /// the games were as `before` says if it is followed; and whose texts are
    /// others.
    fn next(
        &self,
        effects: &Effects,
        before: &[Option<Summary>],
    ) -> Result<(Box<dyn Volume>, ChangedTexts), Refusal> {
        let (_, saving) = self.parts()?;
        if !is_followed(effects) {
            let database = self.writable()?.reopened().map_err(Error::from)?;
            let volume = self.anew(database, saving, saving.now());
            return Ok((Box::new(volume), ChangedTexts::Unknown));
        }
        let after = self.writable()?.after(effects, before);
        let (database, changes) = after.map_err(Error::from)?;
        let now = saving.now();
        let volume = self.after(database, saving, &changes, now);
        for &id in &effects.games {
            let record = volume.record(id, RecordKind::Game).ok();
            saving.note(id, record.and_then(|record| record.modified), now);
        }
        let touched = ChangedTexts::Of(inos(&effects.games));
        Ok((Box::new(volume), touched))
    }
}

/// Whether a directory may list something else after these changes: what the
/// places and long names of games come from is another.
pub(super) fn relists(changes: &Changes) -> bool {
    let place = |game: &Summary| {
        let people = (game.white, game.black, game.annotator);
        let teams = (game.white_team, game.black_team);
        let rest = (
            game.tournament,
            game.source,
            game.date,
            game.eco,
            game.result,
        );
        (game.is_deleted, people, teams, rest)
    };
    let is_moved = |game: &GameChange| match (&game.before, &game.after) {
        (Some(before), Some(after)) => place(before) != place(after),
        _ => true,
    };
    !changes.renamed.is_empty() || changes.games.iter().any(is_moved)
}

/// Whether what a save changes of all that is known is brought up to date.
pub(super) fn is_followed(effects: &Effects) -> bool {
    effects.games.len() <= MOST_FOLLOWED
}

/// Returns [`Refusal::Outdated`] if another program changed the files,
/// otherwise `refusal`.
pub(super) fn outdated_or(store: &Store, refusal: Refusal) -> Refusal {
    match store.changed_outside() {
        Ok(files) if !files.is_empty() => Refusal::Outdated,
        _ => refusal,
    }
}

/// Removes games that another save takes the place of, the `removable` ones
/// without a trace; the others are deleted.
pub(super) fn take_back(
    saver: &mut Saver<'_>,
    removable: &Range<u32>,
    games: &[GameId],
) -> Result<(), Refusal> {
    for &id in games.iter().rev() {
        let is_removed = removable.contains(&id.0) && saver.remove_last(id).map_err(refusal)?;
        if !is_removed {
            saver.set_deleted(id, true).map_err(refusal)?;
        }
    }
    Ok(())
}

pub(super) fn inos(games: &[GameId]) -> Vec<Ino> {
    games.iter().map(|id| Ino::new(GAME, id.0)).collect()
}

/// Returns notes on values that are stored differently from how they were
/// written.
fn notes(games: &[GameId], plan: &Plan) -> Vec<String> {
    let place = match games {
        [one] => format!("game {}: ", one.0),
        _ => String::new(),
    };
    let notes = plan.unfit.iter().map(Unfit::note_if_cut);
    let notes = notes.chain(plan.kept.iter().map(Unfit::note_if_kept));
    notes.map(|note| place.clone() + &note).collect()
}

/// Returns the refusal for an edit that could not be planned.
pub(super) fn refusal(error: SaveError) -> Refusal {
    match error {
        SaveError::Base(error) => Refusal::Failed(error.into()),
        SaveError::Entity(_, EditError::Exists(_)) => Refusal::Failed(Error::NotEmpty),
        error if error.is_too_long() => Refusal::Failed(Error::NameTooLong(error.to_string())),
        SaveError::Defective(..) => Refusal::Text(format!(
            "{error}; \"cbfs check --repair\" of the base, unmounted, repairs what can be repaired"
        )),
        SaveError::PageLost(..) => Refusal::Text(error.to_string()),
        error if error.is_of_game() => Refusal::Text(error.to_string()),
        other => Refusal::Failed(Error::Damaged(other.to_string())),
    }
}

pub(super) fn refusal_of_store(error: storage::Error) -> Refusal {
    match error {
        storage::Error::ChangedOutside { .. } => Refusal::Outdated,
        storage::Error::ReadOnly => Refusal::Failed(Error::ReadOnly),
        other => Refusal::Failed(error_of_store(&other)),
    }
}

/// Why something cannot be kept.
pub(super) fn error_of_store(error: &storage::Error) -> Error {
    match error {
        storage::Error::Io { source, .. }
            if matches!(source.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) =>
        {
            Error::NoSpace
        }
        storage::Error::Io { source, .. }
            if matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Error::Protected(error.to_string())
        }
        storage::Error::TakenOver { .. } => Error::Protected(error.to_string()),
        storage::Error::Invalid { .. } => Error::TooLarge,
        storage::Error::ChangedOutside { .. } => Error::Stale,
        other => Error::Damaged(other.to_string()),
    }
}
