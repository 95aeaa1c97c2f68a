//! A draft becomes a game, or is refused.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use xxhash_rust::xxh3::Xxh3;

use super::buffer::{Buffer, Sheet};
use super::desk::{Draft, Purpose, State};
use super::names::{Entry, Link, Place};
use super::{MOST_GAME, text_of};
use crate::cbh::GameId;
use crate::vfs::editor::{Editor, Refusal, Role, Saved, Touched};
use crate::vfs::names::format_game;
use crate::vfs::slot::Slot;
use crate::vfs::{Completeness, Error, Ino, Made, Vfs};

/// So many files that changed at once are told one by one.
const FEW: usize = 1000;

/// Games named in a log, at most.
const MOST_NAMED: usize = 100;

/// What is to be saved, and as what.
pub(super) struct Job {
    pub(super) slot: Arc<Slot>,
    pub(super) sheet: Arc<Sheet>,
    pub(super) target: Target,
    /// Mark of the text that the draft began with, or that a save of it made.
    pub(super) base: Option<u32>,
    /// What is taken back when this is saved.
    pub(super) instead_of: Option<Made>,
    /// Under which name it is kept if it is refused.
    pub(super) name: String,
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
fn digest(buffer: &Buffer) -> Result<u64, Error> {
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
            name: name_of(draft),
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
            place
                .iter()
                .for_each(|place| self.log_import(place, job, &outcome));
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

    /// Writes down what came of a save.
    pub(super) fn settle(&self, id: u32, job: &Job, outcome: &Outcome) {
        let imported = match (&outcome.result, job.target) {
            (Ok(()), Target::Import) => digest(&job.sheet.lock()).ok(),
            _ => None,
        };
        let is_new = outcome.result.is_ok() && job.target == Target::New;
        let new_name = self.place_of(id).filter(|_| is_new);
        let role = new_name
            .as_ref()
            .map(|place| Vfs::role(&job.slot, place.0, &place.1));
        let is_given = matches!(role, Some(Ok(Role::File(_))));
        let now = self.now();
        let mut state = self.desk.state();
        let Some(draft) = state.drafts.get_mut(&id) else {
            return;
        };
        if let Some(version) = outcome.settled {
            draft.settled = version;
        }
        draft.refusal = match &outcome.result {
            Err(Error::Refused(why)) => Some(why.clone()),
            _ => None,
        };
        draft.made.clone_from(&outcome.made);
        draft.base = outcome.base;
        draft.imported = imported;
        let own = draft.ino;
        state.tell_files([own]);
        let is_taken_back = job.instead_of.is_some() && outcome.made.is_none();
        if is_taken_back && outcome.result.is_err() && job.target == Target::New {
            unlink(&mut state, id, now);
        }
        if let Some(place) = new_name {
            link(&mut state, id, &place, is_given, now);
        }
        state.clear(id);
    }

    /// Saves, or refuses and keeps what was refused.
    pub(super) fn run(&self, job: &Job) -> Outcome {
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
        self.tell_saved(&job.slot, &saved);
        if let Some(rejected) = self.desk.rejected(&job.slot) {
            rejected.withdraw(&job.name);
        }
        let before = job.instead_of.clone().filter(|_| !has_changed);
        let made = saved.made.or(before);
        let base = self.mark_of(job, made.as_ref());
        Outcome {
            settled: Some(version),
            made,
            base,
            result: Ok(()),
        }
    }

    /// Mark of the one game that a save was about, which is told with it.
    fn mark_of(&self, job: &Job, made: Option<&Made>) -> Option<u32> {
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
        self.keep(&job.slot, &job.name, &job.sheet, &why);
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
                    base = self.mark_of(job, None);
                }
                Err(error) => log::error!("{}: cannot be taken back: {error}", job.name),
            }
        }
        Outcome {
            settled,
            made,
            base,
            result: Err(error),
        }
    }

    /// Keeps a text that is not saved, and says so.
    pub(super) fn keep(&self, slot: &Slot, name: &str, sheet: &Sheet, why: &str) {
        if let Some(rejected) = self.desk.rejected(slot) {
            let kept = rejected.keep(name, &mut sheet.lock().reader(), why);
            match kept {
                Ok(()) => log::warn!("{name} is not saved: {why}; kept in .cbfs/rejected/"),
                Err(error) => {
                    log::error!("{name} is not saved: {why}; and cannot be kept: {error}");
                }
            }
        } else {
            log::error!("{name} is not saved: {why}; there is no directory to keep it in");
        }
    }

    /// As [`Vfs::keep`], for a draft.
    pub(super) fn keep_draft(&self, id: u32, why: &str) {
        let (slot, name, sheet) = {
            let state = self.desk.state();
            let Some(draft) = state.drafts.get(&id) else {
                return;
            };
            let Ok(slot) = self.edited(draft.ino) else {
                return;
            };
            (slot, name_of(draft), Arc::clone(&draft.sheet))
        };
        self.keep(&slot, &name, &sheet, why);
    }

    /// Lets the kernel know what a save has changed.
    pub(super) fn tell_saved(&self, slot: &Slot, saved: &Saved) {
        let globally = |ino: &Ino| ino.in_slot(slot.number());
        match &saved.touched {
            Touched::Files(files) if files.len() <= FEW => {
                let mut state = self.desk.state();
                state.tell_files(files.iter().map(globally));
            }
            _ => self.shared.names.call_back(),
        }
        let directories = slot.told_directories();
        self.desk.state().tell_directories(directories);
        self.shared.background.hurry();
    }

    /// Says beside an import what became of it.
    pub(super) fn log_import(&self, place: &Place, job: &Job, outcome: &Outcome) {
        let name = format!("{}.log", place.1);
        if text_of(name.as_bytes()).is_err() || name.len() > 255 {
            return;
        }
        let text = match &outcome.result {
            Ok(()) => line_of(&place.1, outcome.made.as_ref()),
            Err(error) => format!("{}: nothing was imported: {error}\n", place.1),
        };
        let Ok(sheet) = Sheet::of(&self.desk.pool, text.as_bytes()) else {
            return;
        };
        let place: Place = (place.0, name.into());
        let now = self.now();
        let mut state = self.desk.state();
        if let Some(Entry::File(before)) = state.names.get(place.0, &place.1).cloned() {
            state.unname(before, now);
        }
        let mut log = Draft::new(sheet, Purpose::Log, job.slot_ino(), now);
        log.settled = log.sheet.version();
        let id = state.add(log);
        state.name(id, &place, now);
    }

    fn place_of(&self, id: u32) -> Option<Place> {
        self.desk.state().drafts.get(&id)?.place.clone()
    }
}

impl Job {
    /// Any number in the slot.
    fn slot_ino(&self) -> Ino {
        Ino::ROOT.in_slot(self.slot.number())
    }
}

/// Lets the name of a new game stand for it, unless the volume has given it
/// that name.
fn link(state: &mut State, id: u32, place: &Place, is_given: bool, now: SystemTime) {
    let Some(draft) = state.drafts.get_mut(&id) else {
        return;
    };
    draft.place = None;
    let Some(game) = draft.game() else {
        return;
    };
    let made = draft.made.clone();
    if is_given {
        state.names.remove(place, now);
    } else {
        let link = Link { game, made };
        state.names.set(place, Entry::Link(link), now);
    }
    state.tell_name(place);
    state.tell_files([game]);
}

/// Gives a draft its name back, which stood for a game that was taken back.
fn unlink(state: &mut State, id: u32, now: SystemTime) {
    let Some(draft) = state.drafts.get(&id) else {
        return;
    };
    let Some(place) = draft.label.clone().filter(|_| draft.place.is_none()) else {
        return;
    };
    match state.names.get(place.0, &place.1) {
        Some(Entry::File(_) | Entry::Gone { .. }) => {}
        Some(Entry::Link(_)) | None => state.name(id, &place, now),
    }
}

/// Under which name a draft is kept if it is refused.
pub(super) fn name_of(draft: &Draft) -> String {
    match (&draft.purpose, &draft.label) {
        (Purpose::Game(game), _) => game_name(*game),
        (_, Some((_, name))) => name.to_string(),
        (_, None) => game_name(draft.game().unwrap_or(draft.ino)),
    }
}

pub(super) fn game_name(game: Ino) -> String {
    let mut name = String::new();
    format_game(GameId(game.within_slot().index()), &mut name);
    name
}

/// What was imported, for people.
fn line_of(name: &str, made: Option<&Made>) -> String {
    let files = made.map_or(&[][..], |made| &made.files);
    let mut line = format!("{name}: {} games\n", files.len());
    for file in files.iter().take(MOST_NAMED) {
        // Writing to a string does not fail.
        let _ = writeln!(line, "{}", game_name(*file));
    }
    if files.len() > MOST_NAMED {
        line.push_str("…\n");
    }
    line
}
