//! A draft becomes a game, or is refused.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::MOST_GAME;
use super::failed;
use super::names::Place;
use super::settling::origin_of;
use super::state::{Draft, Purpose};
use super::status::{Becomes, DraftEvent, DraftStatus, Effect, Rejection};
use super::{Drafts, Handle};
use crate::fs::editor::{Editor, Refusal, Saved};
use crate::fs::mount::live_base::LiveBase;
use crate::fs::volume::Completeness;
use crate::fs::{Error, Ino};
use crate::storage::SharedBuffer;
use crate::storage::rejected::Origin;

/// What is to be saved, and as what.
pub(super) struct Job {
    pub(super) live: Arc<LiveBase>,
    pub(super) buffer: Arc<SharedBuffer>,
    pub(super) target: SavedAs,
    /// Mark of the text that the draft began with, or that a save of it made.
    pub(super) base: Option<u32>,
    /// The files that an earlier save of the same draft made, which this one
    /// takes the place of.
    pub(super) earlier: Vec<Ino>,
    /// Whether those stay if this one is refused. Of games they always do; of
    /// an import only if it was confirmed.
    pub(super) keeps_earlier: bool,
    /// Whether it is imported without its bad games.
    pub(super) skips_bad: bool,
    /// Through which handle it is saved, if through one.
    pub(super) handle: Option<Handle>,
    /// Whose draft it is, if it is refused.
    pub(super) origin: Origin,
    /// Status of its text.
    pub(super) status: DraftStatus,
}

/// What a text is saved as; numbers are those of the mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SavedAs {
    Game(Ino),
    New,
    Import,
}

/// The game as which a text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredGame {
    /// Number of its file in the mount.
    pub game: Ino,
    /// Whether the file has the same bytes as the text.
    pub is_as_written: bool,
}

/// Result of a job.
pub(super) struct SaveOutcome {
    /// The version that was saved or refused.
    pub(super) version: u64,
    /// Why, if it was refused.
    pub(super) rejection: Option<Rejection>,
    pub(super) made: Vec<Ino>,
    pub(super) base: Option<u32>,
    /// Digest of the imported text.
    pub(super) imported: Option<u64>,
    /// What is stored otherwise than it was written.
    pub(super) notes: Vec<String>,
    /// The game, if it is one.
    pub(super) stored: Option<StoredGame>,
    /// The games that were not imported because they are bad.
    pub(super) bad: Option<SharedBuffer>,
    pub(super) result: Result<(), Error>,
}

impl Job {
    /// Of a text that is new, and no draft's.
    pub(super) fn new(
        live: Arc<LiveBase>,
        buffer: Arc<SharedBuffer>,
        target: SavedAs,
        origin: Origin,
    ) -> Job {
        Job {
            live,
            buffer,
            target,
            base: None,
            earlier: Vec::new(),
            keeps_earlier: true,
            skips_bad: false,
            handle: None,
            origin,
            status: DraftStatus::Clean,
        }
    }

    /// Returns the one game that the draft was opened from, or was saved as
    /// before.
    fn game(&self) -> Option<Ino> {
        match self.target {
            SavedAs::Game(game) => Some(game),
            SavedAs::New => {
                let game = self.earlier.first()?;
                Some(game.in_base(self.live.number()))
            }
            SavedAs::Import => None,
        }
    }

    /// The file must be as the draft found it.
    fn check(&self) -> Result<(), Refusal> {
        let Some(game) = self.game() else {
            return Ok(());
        };
        let snapshot = self.live.snapshot();
        let present = snapshot.attr_of(&snapshot.volume.node(game.within_base())?)?;
        if self.base.is_some_and(|base| base != present.generation) {
            let why = "the game was changed by another program after this draft was begun";
            return Err(Refusal::Text(why.to_owned()));
        }
        Ok(())
    }

    /// The one game that `written` was saved as.
    fn stored(&self, made: &[Ino], written: &[u8]) -> Option<StoredGame> {
        let [made] = made else { return None };
        let text = self.live.present_text(*made).ok()?;
        Some(StoredGame {
            game: made.in_base(self.live.number()),
            is_as_written: *text == *written,
        })
    }

    /// Saves the one game that `text` is, after [`check`](Job::check).
    fn save(&self, editor: &dyn Editor, text: &[u8]) -> Result<Saved, Refusal> {
        match self.target {
            SavedAs::Game(game) => editor.replace(game.within_base(), text, &self.earlier),
            SavedAs::New | SavedAs::Import => editor.append(text, &self.earlier),
        }
    }
}

/// Whether only a part of a game could be read.
pub(super) fn is_partial(live: &LiveBase, game: Ino) -> bool {
    let measure = live.snapshot().sizes.get(game.within_base());
    measure.is_some_and(|measure| measure.completeness == Completeness::Partial)
}

impl Drafts {
    /// Saves a draft if it is open work, or if it could not be saved the last
    /// time for a reason that may have gone. The caller has let all other
    /// saves wait.
    pub(super) fn save_draft(&self, id: u32, handle: Handle) -> Result<(), Error> {
        let job = {
            let mut state = self.state.lock();
            let Some(draft) = state.drafts.get_mut(&id) else {
                return Ok(());
            };
            let version = draft.buffer.version();
            let target = match draft.purpose {
                Purpose::Game(game) => Some(SavedAs::Game(game)),
                Purpose::New => Some(SavedAs::New),
                Purpose::Import => Some(SavedAs::Import),
                Purpose::Scratch | Purpose::Log | Purpose::Replaced => None,
            };
            let becomes = match target {
                // Whatever it was, it is no game without a text.
                _ if draft.buffer.length() == 0 => Becomes::Nothing,
                None if draft.purpose == Purpose::Replaced => Becomes::Replaced,
                None => Becomes::Nothing,
                Some(_) => Becomes::Games,
            };
            match (draft.note(version, DraftEvent::Flushed(becomes)), target) {
                (Effect::Save, Some(target)) => Some(self.job(draft, target, handle)?),
                (Effect::RefuseReplaced, _) => None,
                (Effect::Repeat(reason), _) => return Err(Error::Refused(reason)),
                (Effect::Nothing | Effect::Keep | Effect::Save, _) => return Ok(()),
            }
        };
        match job {
            Some(job) => self.save_job(id, job),
            None => self.refuse_over(id),
        }
    }

    fn job(&self, draft: &Draft, target: SavedAs, handle: Handle) -> Result<Job, Error> {
        let (live, buffer) = (self.editable(draft.ino)?, Arc::clone(&draft.buffer));
        Ok(Job {
            base: draft.base,
            earlier: draft.made.clone(),
            keeps_earlier: target != SavedAs::Import || draft.is_confirmed,
            handle: Some(handle),
            status: draft.status(),
            ..Job::new(live, buffer, target, origin_of(draft))
        })
    }

    fn save_job(&self, id: u32, mut job: Job) -> Result<(), Error> {
        if job.target == SavedAs::Import && self.is_imported(id, &job) {
            return Ok(());
        }
        let place = self.place_of(id);
        job.skips_bad =
            job.target == SavedAs::Import && Drafts::skips_bad(&job.live, place.as_ref());
        let mut outcome = self.run(&job);
        if job.target == SavedAs::Import {
            let place = self.place_of(id);
            if let Some(place) = place {
                self.log_import(&place, &job, &mut outcome);
            }
        }
        self.settle(id, &job, &outcome);
        outcome.result
    }

    /// Whether bad games are left out of what is written at a place.
    pub(super) fn skips_bad(live: &LiveBase, place: Option<&Place>) -> bool {
        place.is_some_and(|(directory, _)| {
            let directory = directory.within_base();
            Drafts::ask(live, |editor| editor.skips_bad(directory)).unwrap_or(false)
        })
    }

    /// Refuses a draft whose name now belongs to another file.
    fn refuse_over(&self, id: u32) -> Result<(), Error> {
        let why = "the file was replaced or removed while this draft was written";
        self.keep_draft(id, why);
        Err(Error::Refused(why.to_owned()))
    }

    /// Returns whether this exact text was imported from this file already.
    fn is_imported(&self, id: u32, job: &Job) -> bool {
        let imported = {
            let state = self.state.lock();
            state.drafts.get(&id).and_then(|draft| draft.imported)
        };
        let version = job.buffer.version();
        let is_same = |before| {
            let digest = job.buffer.digest(&self.is_ending);
            digest.is_ok_and(|digest| digest == before)
        };
        if !imported.is_some_and(is_same) {
            return false;
        }
        let mut state = self.state.lock();
        if let Some(draft) = state.drafts.get_mut(&id) {
            draft.note(version, DraftEvent::Saved);
        }
        true
    }

    /// Saves, or refuses and keeps what was refused.
    pub(super) fn run(&self, job: &Job) -> SaveOutcome {
        let version = job.buffer.version();
        if let Some(why) = job.buffer.gap() {
            return self.refused(job, version, Refusal::Text(reason_of_gap(&failed(why))));
        }
        match job.target {
            SavedAs::Import => self.import(job),
            SavedAs::Game(_) | SavedAs::New => self.save_game(job),
        }
    }

    fn save_game(&self, job: &Job) -> SaveOutcome {
        let mut version = job.buffer.version();
        if job.buffer.length() > MOST_GAME {
            return self.refused(job, version, Error::TooLarge.into());
        }
        let mut has_changed = false;
        let mut written = Vec::new();
        let saved = self.save(&job.live, &mut |editor| {
            job.check()?;
            (written, version) = job.buffer.all().map_err(failed)?;
            let saved = job.save(editor, &written)?;
            has_changed = saved.is_change;
            Ok(saved)
        });
        match saved {
            Ok(saved) => {
                // An editor that was refused puts back what was there before:
                // what it could not save is not settled by that.
                if has_changed || job.status.was_refused() {
                    self.forget_saved(&job.live, &job.origin);
                }
                if let SavedAs::Game(game) = job.target {
                    self.keep_replaced(&job.live, game, &written);
                }
                let outcome = self.saved(job, version, saved, None);
                let stored = job.stored(&outcome.made, &written);
                SaveOutcome { stored, ..outcome }
            }
            Err(refusal) => self.refused(job, version, refusal),
        }
    }

    /// Imports all games of a text, which may be long: it is read from its
    /// buffer as they come.
    fn import(&self, job: &Job) -> SaveOutcome {
        let version = job.buffer.version();
        let mut digest = None;
        let mut bad = None;
        let imported = self.save(&job.live, &mut |editor| {
            let mut text = job.buffer.reader(&self.is_ending);
            bad = job.skips_bad.then(|| SharedBuffer::new(&self.pool));
            let mut out = bad.as_ref();
            let out = out.as_mut().map(|out| out as &mut dyn Write);
            let saved = editor.import(&mut text, out, &self.is_ending, &job.earlier)?;
            let is_same = |_: &u64| job.buffer.version() == version;
            digest = job.buffer.digest(&self.is_ending).ok().filter(is_same);
            Ok(saved)
        });
        let refusal = match imported {
            Ok(saved) => {
                self.forget_saved(&job.live, &job.origin);
                let outcome = self.saved(job, version, saved, digest);
                return SaveOutcome { bad, ..outcome };
            }
            Err(refusal) => refusal,
        };
        let refusal = if job.buffer.version() != version {
            Refusal::Text("it was written while it was imported".to_owned())
        } else if self.is_ending.load(Relaxed) {
            Refusal::Text("the mount ended before all of it was imported".to_owned())
        } else {
            refusal
        };
        self.refused(job, version, refusal)
    }

    fn saved(&self, job: &Job, version: u64, saved: Saved, imported: Option<u64>) -> SaveOutcome {
        if !matches!(job.target, SavedAs::Game(_)) {
            self.remove_superseded_drafts(&job.live);
        }
        let made = saved.files;
        let base = Drafts::mark_of(job, &made);
        SaveOutcome {
            version,
            rejection: None,
            made,
            base,
            imported,
            notes: saved.notes,
            stored: None,
            bad: None,
            result: Ok(()),
        }
    }

    /// Returns the mark of the one saved game, which is reported with it.
    fn mark_of(job: &Job, made: &[Ino]) -> Option<u32> {
        let game = match job.target {
            SavedAs::Game(game) => game.within_base(),
            SavedAs::New => *made.first()?,
            SavedAs::Import => return None,
        };
        let attr = job.live.present(game).ok()?;
        Some(attr.generation)
    }

    /// Keeps what was refused.
    fn refused(&self, job: &Job, version: u64, refusal: Refusal) -> SaveOutcome {
        if !job.keeps_earlier && !job.earlier.is_empty() {
            let withdrawn = self.save(&job.live, &mut |editor| editor.withdraw(&job.earlier));
            if let Err(why) = withdrawn {
                log::warn!("earlier games of this import stay: {why}");
            }
        }
        let why = refusal.to_string();
        let (error, may_retry) = match refusal {
            Refusal::Text(_) => (Error::Refused(why.clone()), false),
            Refusal::Outdated => (Error::Stale, true),
            Refusal::Failed(error) => (error, true),
        };
        let reason = job.status.first_reason(&why);
        let rejection = Rejection {
            is_kept: self.keep(&job.live, &job.origin, &job.buffer, &reason),
            reason,
            may_retry,
        };
        SaveOutcome {
            version,
            rejection: Some(rejection),
            made: job.earlier.clone(),
            base: job.base,
            imported: None,
            notes: Vec::new(),
            stored: None,
            bad: None,
            result: Err(error),
        }
    }
}

/// What is said of a part of a draft that could not be written.
fn reason_of_gap(error: &Error) -> String {
    let why = match error {
        Error::TooLarge => "a game takes up to 16 MiB".to_owned(),
        Error::NoSpace => {
            "drafts take as much as --scratch-size says and their disk has room for".to_owned()
        }
        other => other.to_string(),
    };
    format!("a part of it could not be written: {why}")
}
