//! One save of a base, from what is to change to the state that is shown
//! then.

use std::io;
use std::sync::Arc;

use super::saving::{Saving, Undo};
use super::{DatabaseVolume, GAME};
use crate::cbh::{
    Changes, Database, EditError, Effects, GameChange, GameId, Plan, SaveError, Saver, Summary,
    Unfit,
};
use crate::storage::{self, AsIf, Committed, Store, Transaction};
use crate::vfs::{Error, Ino, Made, Refusal, Saved, Touched, Volume};

/// Of a save of more games it is not followed what it changes of all that is
/// known: that is worked out anew, when somebody asks.
const MOST_FOLLOWED: usize = 10_000;

/// What a save is planned upon.
#[derive(Clone, Copy)]
pub(super) enum Ground<'m> {
    /// The base as it is.
    Present,
    /// As it was before the save that this one takes the place of.
    Undone,
    /// As it is, with that save in it: something was saved on top of it.
    OnTop(&'m Undo),
}

/// What is known of the games of a save.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The games that it is about,
    pub(super) games: Vec<GameId>,
    /// and those of them that it makes.
    pub(super) new: Vec<GameId>,
}

/// Says what is to be saved.
pub(super) type Tell<'t> = dyn FnMut(&mut Saver<'_>, Ground<'_>) -> Result<Told, Refusal> + 't;

/// A save that was planned.
struct Planned {
    transaction: Transaction,
    plan: Plan,
    told: Told,
    effects: Effects,
    /// To undo it, if it is planned on what is not the present state.
    undo: Option<Committed>,
}

impl DatabaseVolume {
    /// The base that is edited.
    pub(super) fn edited(&self) -> Result<&Arc<Database>, Refusal> {
        let editing = self.editing.as_ref();
        Ok(&editing.ok_or(Error::ReadOnly)?.database)
    }

    /// The files, and what saves them.
    pub(super) fn parts(&self) -> Result<(&Arc<Store>, &Arc<Saving>), Refusal> {
        let store = self.edited()?.store();
        let saving = self.editing.as_ref().map(|editing| &editing.saving);
        let parts = store.zip(saving);
        parts.ok_or(Refusal::Failed(Error::ReadOnly))
    }

    /// Saves what `tell` says, in the place of `instead_of`.
    pub(super) fn change(
        &self,
        instead_of: Option<&Made>,
        tell: &mut Tell<'_>,
    ) -> Result<Saved, Refusal> {
        let (store, _) = self.parts()?;
        if self.base.is_over() {
            return Err(Refusal::Outdated);
        }
        let planned = self.plan(instead_of, tell);
        let planned = planned.map_err(|refusal| outdated_or(store, refusal))?;
        self.commit(planned)
    }

    fn plan(&self, instead_of: Option<&Made>, tell: &mut Tell<'_>) -> Result<Planned, Refusal> {
        let (store, saving) = self.parts()?;
        let knowledge = saving.knowledge().clone();
        let undo = instead_of.and_then(|made| made.undo.downcast_ref::<Undo>());
        let inverse = undo.map(|undo| self.inverse(undo)).transpose()?.flatten();
        let Some((inverse, undo)) = inverse.zip(undo) else {
            let ground = undo.map_or(Ground::Present, Ground::OnTop);
            let mut saver = Saver::knowing(knowledge, self.edited()?, saving.now());
            let told = tell(&mut saver, ground)?;
            let mut plan = saver.finish().map_err(refusal)?;
            return Ok(Planned {
                transaction: std::mem::take(&mut plan.transaction),
                effects: plan.effects.clone(),
                plan,
                told,
                undo: None,
            });
        };
        let as_if = store.as_if(&inverse).map_err(refusal_of_store)?;
        let before = self.edited()?.open_as_if(&as_if).map_err(Error::from)?;
        let mut saver = Saver::knowing(knowledge.after_undoing(), &before, saving.now());
        let told = tell(&mut saver, Ground::Undone)?;
        let plan = saver.finish().map_err(refusal)?;
        Planned::instead(inverse, undo, plan, told, &as_if)
    }

    /// What undoes a save, if nothing was saved on top of it.
    pub(super) fn inverse(&self, undo: &Undo) -> Result<Option<Transaction>, Refusal> {
        let (store, _) = self.parts()?;
        match undo.committed() {
            Some(committed) => store.inverse(committed).map_err(refusal_of_store),
            None => Ok(None),
        }
    }

    fn commit(&self, planned: Planned) -> Result<Saved, Refusal> {
        let (store, saving) = self.parts()?;
        let Planned {
            transaction,
            plan,
            told,
            effects,
            undo,
        } = planned;
        let notes = notes(&told.games, &plan);
        let before = if is_followed(&effects) {
            let before = self.edited()?.summaries_of(&effects.games);
            before.map_err(Error::from)?
        } else {
            Vec::new()
        };
        let committed = store.commit(&transaction).map_err(refusal_of_store)?;
        let Some(committed) = committed else {
            return Ok(Saved::nothing(notes));
        };
        *saving.knowledge() = plan.knowledge;
        let (volume, touched) = self.next(&effects, &before)?;
        let undo = undo.unwrap_or(committed);
        let undo = Undo::new(Some(undo), plan.effects, told.new);
        Ok(Saved {
            volume: Some(volume),
            touched,
            made: Some(Made {
                files: inos(&told.games),
                undo: Arc::new(undo),
            }),
            notes,
        })
    }

    /// The state after a save that concerned no more than `effects`, where
    /// the games were as `before` says if it is followed; and whose texts are
    /// others.
    pub(super) fn next(
        &self,
        effects: &Effects,
        before: &[Option<Summary>],
    ) -> Result<(Box<dyn Volume>, Touched), Refusal> {
        let (_, saving) = self.parts()?;
        if !is_followed(effects) {
            let database = self.edited()?.reopened().map_err(Error::from)?;
            let volume = self.anew(database, saving, saving.now());
            return Ok((Box::new(volume), Touched::Any));
        }
        let after = self.edited()?.after(effects, before);
        let (database, changes) = after.map_err(Error::from)?;
        let now = saving.now();
        let volume = self.after(database, saving, &changes, now);
        for &id in &effects.games {
            let entry = volume.any_entry(id);
            saving.note(id, entry.and_then(|entry| entry.modified), now);
        }
        let files = inos(&effects.games);
        let touched = if are_listed_alike(&changes) {
            Touched::Texts(files)
        } else {
            Touched::Files(files)
        };
        Ok((Box::new(volume), touched))
    }

    /// Undoes a save; what cannot be undone is deleted, as far as it was new.
    pub(super) fn undo(&self, made: &Made) -> Result<Saved, Refusal> {
        let undo = made.undo.downcast_ref::<Undo>();
        let undo = undo.ok_or(Refusal::Failed(Error::Invalid))?;
        let Some(inverse) = self.inverse(undo)? else {
            return self.change(None, &mut |saver, _| delete(saver, &undo.new));
        };
        let (_, saving) = self.parts()?;
        if self.base.is_over() {
            return Err(Refusal::Outdated);
        }
        let knowledge = saving.knowledge().clone().after_undoing();
        self.commit(Planned {
            transaction: inverse,
            plan: Plan {
                knowledge,
                ..Plan::default()
            },
            told: Told::default(),
            effects: undo.effects.clone(),
            undo: None,
        })
    }
}

impl Planned {
    /// `plan`, made for the state that `inverse` leads back to.
    fn instead(
        inverse: Transaction,
        undo: &Undo,
        mut plan: Plan,
        told: Told,
        as_if: &AsIf<'_>,
    ) -> Result<Planned, Refusal> {
        let new = std::mem::take(&mut plan.transaction);
        let undo_new = as_if.commit(&new).map_err(refusal_of_store)?;
        let mut transaction = inverse;
        transaction.append(new);
        let mut effects = undo.effects.clone();
        effects.games.extend(&plan.effects.games);
        effects.games.sort_unstable();
        effects.games.dedup();
        effects.entities.extend(&plan.effects.entities);
        Ok(Planned {
            transaction,
            plan,
            told,
            effects,
            undo: undo_new,
        })
    }
}

/// Whether all directories list what they did before.
fn are_listed_alike(changes: &Changes) -> bool {
    let place = |game: &Summary| {
        let people = (game.white, game.black, game.annotator);
        let teams = (game.white_team, game.black_team);
        let rest = (game.tournament, game.source, game.date, game.eco);
        (game.is_deleted, people, teams, rest)
    };
    let is_alike = |game: &GameChange| match (&game.before, &game.after) {
        (Some(before), Some(after)) => place(before) == place(after),
        _ => false,
    };
    changes.renamed.is_empty() && changes.games.iter().all(is_alike)
}

/// Whether what a save changes of all that is known is brought up to date.
pub(super) fn is_followed(effects: &Effects) -> bool {
    effects.games.len() <= MOST_FOLLOWED
}

/// What went wrong because another program changed the files is that.
pub(super) fn outdated_or(store: &Store, refusal: Refusal) -> Refusal {
    match store.changed_outside() {
        Ok(files) if !files.is_empty() => Refusal::Outdated,
        _ => refusal,
    }
}

/// Sets the deleted flag of games.
pub(super) fn delete(saver: &mut Saver<'_>, games: &[GameId]) -> Result<Told, Refusal> {
    for id in games {
        saver.set_deleted(*id, true).map_err(refusal)?;
    }
    Ok(Told {
        games: games.to_vec(),
        new: Vec::new(),
    })
}

pub(super) fn inos(games: &[GameId]) -> Vec<Ino> {
    games.iter().map(|id| Ino::new(GAME, id.0)).collect()
}

/// What is stored otherwise than it was written.
fn notes(games: &[GameId], plan: &Plan) -> Vec<String> {
    let place = match games {
        [one] => format!("game {}: ", one.0),
        _ => String::new(),
    };
    let unfit = plan.unfit.iter().map(note_of);
    let kept = plan.kept.iter().map(note_of_kept);
    unfit
        .chain(kept)
        .map(|note| place.clone() + &note)
        .collect()
}

/// What is said of a name that does not fit.
pub(super) fn note_of(unfit: &Unfit) -> String {
    let Unfit {
        field,
        stored,
        whole,
    } = unfit;
    format!("{field}: \"{whole}\" does not fit and is stored as \"{stored}\"")
}

/// What is said of a value that others share.
pub(super) fn note_of_kept(kept: &Unfit) -> String {
    let Unfit {
        field,
        stored,
        whole,
    } = kept;
    format!("{field} stays \"{stored}\" for the games that share it, not \"{whole}\"")
}

/// Why it is not saved, from why it cannot be planned.
pub(super) fn refusal(error: SaveError) -> Refusal {
    match error {
        SaveError::Base(error) => Refusal::Failed(error.into()),
        SaveError::Entity(_, EditError::Exists(_)) => Refusal::Failed(Error::NotEmpty),
        error if error.is_too_long() => Refusal::Failed(Error::NameTooLong(error.to_string())),
        SaveError::Defective(..) => Refusal::Text(format!(
            "{error}; \"cbfs check --repair\" of the base, unmounted, mends what can be mended"
        )),
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
        storage::Error::Invalid { .. } => Error::TooLarge,
        storage::Error::ChangedOutside { .. } => Error::Stale,
        other => Error::Damaged(other.to_string()),
    }
}
