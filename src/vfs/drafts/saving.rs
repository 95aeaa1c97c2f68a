//! A draft becomes a game, or is refused.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::MOST_GAME;
use super::buffer::{Buffer, Sheet};
use super::desk::{Draft, Purpose};
use super::outcome::origin_of;
use super::rejected::Origin;
use crate::vfs::editor::{Editor, Refusal, Saved};
use crate::vfs::slot::Slot;
use crate::vfs::{Completeness, Error, Ino, Made, Vfs};

/// What is to be saved, and as what.
pub(super) struct Job {
    pub(super) slot: Arc<Slot>,
    pub(super) sheet: Arc<Sheet>,
    pub(super) target: Target,
    /// Mark of the text that the draft began with, or that a save of it made.
    pub(super) base: Option<u32>,
    /// What is taken back when this is saved.
    pub(super) instead_of: Option<Made>,
    /// Whose draft it is, if it is refused.
    pub(super) origin: Origin,
}

/// What a text is saved as; numbers are those of the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Game(Ino),
    New,
    Import,
}

/// What came of it.
pub(super) struct Outcome {
    /// The version that was saved or refused; none if it could be neither.
    pub(super) settled: Option<u64>,
    pub(super) made: Option<Made>,
    pub(super) base: Option<u32>,
    pub(super) result: Result<(), Error>,
}

impl Job {
    /// The one game that this was, or was saved as before.
    fn game(&self) -> Option<Ino> {
        match self.target {
            Target::Game(game) => Some(game),
            Target::New => {
                let game = self.instead_of.as_ref()?.files.first()?;
                Some(game.in_slot(self.slot.number()))
            }
            Target::Import => None,
        }
    }

    /// The file must be as the draft found it.
    fn check(&self) -> Result<(), Refusal> {
        let Some(game) = self.game() else {
            return Ok(());
        };
        let text = self.slot.edition().text(game.within_slot())?;
        if self.base.is_some_and(|base| base != text.mark()) {
            let why = "the game was changed by another program after this draft was begun";
            return Err(Refusal::Text(why.to_owned()));
        }
        if is_partial(&self.slot, game) {
            return Err(Refusal::Failed(Error::NotWritable));
        }
        Ok(())
    }

    fn save(&self, editor: &dyn Editor, text: &[u8]) -> Result<Saved, Refusal> {
        self.check()?;
        let instead_of = self.instead_of.as_ref();
        match self.target {
            Target::Game(game) => editor.replace(game.within_slot(), text, instead_of),
            Target::New => editor.append(text, instead_of),
            Target::Import => editor.import(&mut self.sheet.lock().reader(), instead_of),
        }
    }
}

/// Whether only a part of a game could be read.
pub(super) fn is_partial(slot: &Slot, game: Ino) -> bool {
    let measure = slot.edition().sizes.get(game.within_slot());
    measure.is_some_and(|measure| measure.completeness == Completeness::Partial)
}

/// What tells the content from others.
pub(super) fn digest(buffer: &Buffer) -> Result<u64, Error> {
    let mut hasher = Xxh3::new();
    let mut offset = 0;
    while offset < buffer.length() {
        let piece = buffer.read(offset, 1 << 16)?;
        hasher.update(&piece);
        offset += piece.len() as u64;
    }
    Ok(hasher.digest())
}

impl Vfs {
    /// Saves a draft if it is open work; who saves has let all others wait.
    pub(super) fn save_draft(&self, id: u32) -> Result<(), Error> {
        let (job, settled) = {
            let mut state = self.desk.state();
            let Some(draft) = state.drafts.get_mut(&id) else {
                return Ok(());
            };
            let version = draft.sheet.version();
            if version == draft.settled {
                let refusal = draft.refusal.clone();
                return refusal.map_or(Ok(()), |why| Err(Error::Refused(why)));
            }
            let target = match draft.purpose {
                Purpose::Scratch | Purpose::Log => None,
                // Whatever it was, it is no game without a text.
                _ if draft.sheet.length() == 0 => None,
                Purpose::Game(game) => Some(Target::Game(game)),
                Purpose::New => Some(Target::New),
                Purpose::Import => Some(Target::Import),
                Purpose::Over => None,
            };
            let is_over = draft.purpose == Purpose::Over && draft.sheet.length() > 0;
            match target {
                None if !is_over => {
                    draft.settled = version;
                    draft.refusal = None;
                    return Ok(());
                }
                None => (None, version),
                Some(target) => (Some(self.job(draft, target)?), draft.settled),
            }
        };
        match job {
            Some(job) => self.save_job(id, &job),
            None => self.refuse_over(id, settled),
        }
    }

    fn job(&self, draft: &Draft, target: Target) -> Result<Job, Error> {
        let slot = self.edited(draft.ino)?;
        Ok(Job {
            sheet: Arc::clone(&draft.sheet),
            target,
            base: draft.base,
            instead_of: draft.made.clone(),
            origin: origin_of(draft),
            slot,
        })
    }

    fn save_job(&self, id: u32, job: &Job) -> Result<(), Error> {
        if job.target == Target::Import && self.is_imported(id, job)? {
            return Ok(());
        }
        let outcome = self.run(job);
        if job.target == Target::Import {
            let place = self.place_of(id);
            if let Some(place) = place {
                self.log_import(&place, job, &outcome);
            }
        }
        self.settle(id, job, &outcome);
        outcome.result
    }

    /// What was written to a file whose name went to another has no place to
    /// go.
    fn refuse_over(&self, id: u32, version: u64) -> Result<(), Error> {
        let why = "the file was replaced or removed while this draft was written".to_owned();
        self.keep_draft(id, &why);
        let mut state = self.desk.state();
        if let Some(draft) = state.drafts.get_mut(&id) {
            draft.settled = version;
            draft.refusal = Some(why.clone());
        }
        Err(Error::Refused(why))
    }

    /// Whether just that was imported from this file already.
    fn is_imported(&self, id: u32, job: &Job) -> Result<bool, Error> {
        let (digest, version) = {
            let buffer = job.sheet.lock();
            (digest(&buffer)?, job.sheet.version())
        };
        let mut state = self.desk.state();
        let Some(draft) = state.drafts.get_mut(&id) else {
            return Ok(false);
        };
        if draft.imported != Some(digest) {
            return Ok(false);
        }
        draft.settled = version;
        draft.refusal = None;
        Ok(true)
    }

    /// Saves, or refuses and keeps what was refused.
    pub(super) fn run(&self, job: &Job) -> Outcome {
        if job.sheet.is_torn() {
            let why = "a part of it could not be written".to_owned();
            let version = job.sheet.version();
            return self.refused(job, Some(version), Refusal::Text(why));
        }
        let is_game = job.target != Target::Import;
        let (text, version) = match job.sheet.length() {
            length if is_game && length > MOST_GAME => {
                return self.refused(job, None, Error::TooLarge.into());
            }
            _ if !is_game => (Vec::new(), job.sheet.version()),
            _ => match job.sheet.all() {
                Ok(all) => all,
                Err(error) => return self.refused(job, None, error.into()),
            },
        };
        let mut has_changed = false;
        let saved = job.slot.edit(&mut |editor| {
            let saved = job.save(editor, &text)?;
            has_changed = saved.volume.is_some();
            Ok(saved)
        });
        let saved = match saved {
            Ok(saved) => saved,
            Err(refusal) => return self.refused(job, Some(version), refusal),
        };
        if has_changed {
            self.tell_saved(&job.slot, &saved);
        }
        if !matches!(job.target, Target::Game(_)) {
            self.give_way(&job.slot);
        }
        if let Some(rejected) = self.desk.rejected(&job.slot) {
            rejected.withdraw(&job.origin);
        }
        let before = job.instead_of.clone().filter(|_| !has_changed);
        let made = saved.made.or(before);
        let base = Vfs::mark_of(job, made.as_ref());
        Outcome {
            settled: Some(version),
            made,
            base,
            result: Ok(()),
        }
    }

    /// Mark of the one game that a save was about, which is told with it.
    fn mark_of(job: &Job, made: Option<&Made>) -> Option<u32> {
        let game = match job.target {
            Target::Game(game) => game.within_slot(),
            Target::New => *made?.files.first()?,
            Target::Import => return None,
        };
        let attr = job.slot.present(game).ok()?;
        Some(attr.generation)
    }

    /// Keeps what was refused, and takes back what an earlier save of the
    /// same draft made.
    fn refused(&self, job: &Job, version: Option<u64>, refusal: Refusal) -> Outcome {
        let why = refusal.to_string();
        let (error, settled) = match refusal {
            Refusal::Text(why) => (Error::Refused(why), version),
            Refusal::Outdated => (Error::Refused(why.clone()), version),
            // What failed may be tried again.
            Refusal::Failed(error) => (error, None),
        };
        self.keep(&job.slot, &job.origin, &job.sheet, &why);
        let is_text = settled.is_some();
        let (mut made, mut base) = (job.instead_of.clone(), job.base);
        if is_text && let Some(early) = &job.instead_of {
            let taken = job.slot.edit(&mut |editor| {
                job.check()?;
                editor.take_back(early)
            });
            match taken {
                Ok(saved) => {
                    self.tell_saved(&job.slot, &saved);
                    made = None;
                    base = Vfs::mark_of(job, None);
                }
                Err(error) => {
                    let name = job.origin.name();
                    log::error!("{name}: cannot be taken back: {error}");
                }
            }
        }
        Outcome {
            settled,
            made,
            base,
            result: Err(error),
        }
    }
}
