//! Records the outcome of a save: in the drafts, for the kernel, in the log
//! beside an import and, if the text was refused, on disk.

use std::sync::Arc;
use std::time::SystemTime;

use super::Drafts;
use super::names::{NameTarget, Place};
use super::origin_of_file;
use super::saving::{Job, SaveOutcome, SavedAs};
use super::state::{Draft, Purpose, State};
use super::status::{DraftEvent, Rejection};
use super::text_of;
use crate::escape::{push_line, without_numbers};
use crate::fs::Ino;
use crate::fs::editor::Role;
use crate::fs::mount::live_base::LiveBase;
use crate::names::{format_game, is_second_of_its_name, parse_described_game};
use crate::storage::rejected::Origin;
use crate::storage::{SharedBuffer, reader_of};

/// End of the name of the games that were left out of an import.
const BAD_GAMES: &str = ".bad.pgn";

/// Reason that is given for these games.
const WHY_BAD: &str = "the line before each game says what is wrong with it";

impl Drafts {
    /// Writes down what came of a save.
    pub(super) fn settle(&self, id: u32, job: &Job, outcome: &SaveOutcome) {
        let is_new = outcome.result.is_ok() && job.target == SavedAs::New;
        let new_name = self.place_of(id).filter(|_| is_new);
        let role = new_name
            .as_ref()
            .map(|place| Drafts::role(&job.live, place.0, &place.1));
        let is_given = matches!(role, Some(Ok(Role::File(_))));
        let now = self.now();
        let mut state = self.state.lock();
        let Some(draft) = state.drafts.get_mut(&id) else {
            return;
        };
        let event = outcome
            .rejection
            .clone()
            .map_or(DraftEvent::Saved, DraftEvent::Refused);
        draft.note(outcome.version, event);
        draft.made.clone_from(&outcome.made);
        if outcome.result.is_ok() {
            draft.made_by = job.handle;
            draft.stored = outcome.stored;
        }
        draft.base = outcome.base;
        if outcome.result.is_ok() || outcome.made.is_empty() {
            draft.imported = outcome.imported;
        }
        state.names.is_changed = true;
        if let Some(place) = new_name {
            link(&mut state, id, &place, is_given, now);
        }
        state.clear(id);
    }

    /// Keeps a text that is not saved, and says so; gives whether it is kept.
    pub(super) fn keep(
        &self,
        live: &LiveBase,
        origin: &Origin,
        buffer: &SharedBuffer,
        why: &str,
    ) -> bool {
        // Several bases have a game of this number.
        let base = live.source().and_then(|source| source.path());
        let base = base.map(|base| format!("{}: ", base.display()));
        let name = format!("{}{}", base.unwrap_or_default(), origin.name());
        let Some(rejected) = self.rejected(live) else {
            log::error!("{name} is not saved: {why}; there is no directory to keep it in");
            return false;
        };
        let text = buffer.lock();
        let kept = rejected.keep(origin, buffer.number(), &|| reader_of(&text), why);
        drop(text);
        match &kept {
            Ok((kept, path)) => {
                let path = path.display();
                log::warn!("{name} is not saved: {why}; kept as .cbfs/rejected/{kept}, {path}");
            }
            Err(error) => {
                log::error!("{name} is not saved: {why}; and cannot be kept: {error}");
            }
        }
        kept.is_ok()
    }

    /// Notes the text of a deleted game, of which the file is made anew; not if it was
    /// removed in this mount, because that is how programs replace a file.
    pub(super) fn note_revived(&self, game: Ino) {
        if self.state.lock().was_removed(game) {
            return;
        }
        if let Ok(text) = self.read(game, 0, u32::MAX) {
            self.state.lock().note_revived(game, text.to_vec());
        }
    }

    /// Keeps the text of a game that was deleted before, if another game was saved in its
    /// place.
    pub(super) fn keep_replaced(&self, live: &LiveBase, game: Ino, written: &[u8]) {
        let Some(replaced) = self.state.lock().take_revived(game) else {
            return;
        };
        if players(&replaced) == players(written) {
            return;
        }
        let name = game_name(game);
        let origin = Origin::File(game.0, format!("deleted {name}").into());
        let why = "another game was saved under the number of this deleted one";
        let kept = SharedBuffer::of(&self.pool, &replaced)
            .is_ok_and(|buffer| self.keep(live, &origin, &buffer, why));
        if !kept {
            log::error!("{name}: the deleted game that had this number is gone");
        }
    }

    /// Files to which a program gave a second name, such as `000007.pgn_`, and which are
    /// no copies of that game: nothing else may have their text.
    pub(super) fn unknown_copies(&self) -> Vec<u32> {
        let state = self.state.lock();
        let seconds = state.drafts.iter().filter_map(|(id, draft)| {
            let place = draft.place.as_ref().filter(|_| draft.is_own())?;
            let is_second = is_second_of_its_name(place.1.as_bytes());
            is_second.then(|| (*id, place.clone(), Arc::clone(&draft.buffer)))
        });
        let mut seconds: Vec<_> = seconds.collect();
        drop(state);
        seconds.retain(|(_, place, buffer)| {
            let text = buffer.all().map(|(text, _)| text).unwrap_or_default();
            let game = self.first_of_name(place);
            !text.is_empty() && game.is_none_or(|game| players(&game) != players(&text))
        });
        seconds.into_iter().map(|(id, ..)| id).collect()
    }

    /// The text of the game whose name a second name begins with.
    fn first_of_name(&self, place: &Place) -> Option<Vec<u8>> {
        let (name, _) = place.1.split_once('.')?;
        let live = self.editable(place.0).ok()?;
        match Drafts::role(&live, place.0, &format!("{name}.pgn")) {
            Ok(Role::File(game)) => Some(self.read(game, 0, u32::MAX).ok()?.to_vec()),
            _ => None,
        }
    }

    /// Lets go of what was kept.
    pub(super) fn forget_saved(&self, live: &LiveBase, origin: &Origin) {
        if let Some(rejected) = self.rejected(live) {
            rejected.forget_saved(origin);
        }
    }

    /// As [`Drafts::keep`], for a draft, which is settled afterwards. The
    /// reason is `why`, unless the same text was refused before.
    pub(super) fn keep_draft(&self, id: u32, why: &str) {
        let (live, origin, buffer, version, reason) = {
            let state = self.state.lock();
            let Some(draft) = state.drafts.get(&id) else {
                return;
            };
            let Ok(live) = self.editable(draft.ino) else {
                return;
            };
            let buffer = Arc::clone(&draft.buffer);
            let version = buffer.version();
            let reason = draft.status_at(version).first_reason(why);
            (live, origin_of(draft), buffer, version, reason)
        };
        let rejection = Rejection {
            is_kept: self.keep(&live, &origin, &buffer, &reason),
            reason,
            may_retry: false,
        };
        let mut state = self.state.lock();
        if let Some(draft) = state.drafts.get_mut(&id) {
            draft.note(version, DraftEvent::Refused(rejection));
        }
    }

    /// Removes empty new drafts whose number now belongs to an existing game.
    pub(super) fn remove_superseded_drafts(&self, live: &LiveBase) {
        let waiting: Vec<(u32, Place)> = {
            let state = self.state.lock();
            let drafts = state.drafts.iter();
            let waiting = drafts.filter_map(|(id, draft)| {
                let place = draft.place.as_ref()?;
                let is_idle = draft.purpose == Purpose::New && draft.writers == 0;
                let is_here = place.0.base_number() == live.number();
                let is_number = parse_described_game(place.1.as_bytes()).is_some();
                (is_idle && is_here && is_number).then(|| (*id, place.clone()))
            });
            waiting.collect()
        };
        let now = self.now();
        for (id, place) in waiting {
            let role = Drafts::role(live, place.0, &place.1);
            if matches!(role, Ok(Role::File(_))) {
                self.state.lock().unname(id, now);
            }
        }
    }

    /// Says beside an import what became of it.
    pub(super) fn log_import(&self, place: &Place, job: &Job, outcome: &mut SaveOutcome) {
        let line = match &outcome.result {
            Ok(()) => line_of(&place.1, &outcome.made),
            Err(error) => format!("{}: nothing was imported: {error}", place.1),
        };
        let mut text = String::new();
        push_line(&mut text, without_numbers(line));
        for note in &outcome.notes {
            push_line(&mut text, note);
        }
        if let Some(bad) = outcome.bad.take().filter(|bad| bad.length() > 0) {
            // What lies beside the file is gone with the mount.
            let kept: Place = (place.0, format!("{}{BAD_GAMES}", place.1).into());
            self.keep(&job.live, &origin_of_file(&kept), &bad, WHY_BAD);
            self.put_beside(place, BAD_GAMES, bad);
        }
        if let Ok(buffer) = SharedBuffer::of(&self.pool, text.as_bytes()) {
            self.put_beside(place, ".log", buffer);
        }
    }

    /// Shows a file that says something of another, beside it.
    fn put_beside(&self, place: &Place, ending: &str, buffer: SharedBuffer) {
        let name = format!("{}{ending}", place.1);
        if text_of(name.as_bytes()).is_err() || name.len() > 255 {
            return;
        }
        let place: Place = (place.0, name.into());
        let now = self.now();
        let mut state = self.state.lock();
        if let Some(NameTarget::File(before)) = state.names.get(place.0, &place.1).cloned() {
            state.unname(before, now);
        }
        if let Ok((id, _)) = state.add_file(buffer, Purpose::Log, &place, now)
            && let Some(log) = state.drafts.get_mut(&id)
        {
            log.settle();
        }
    }

    pub(super) fn place_of(&self, id: u32) -> Option<Place> {
        self.state.lock().drafts.get(&id)?.place.clone()
    }
}

/// Links the name of a new game to it, unless the volume shows it under that
/// name.
fn link(state: &mut State, id: u32, place: &Place, is_given: bool, now: SystemTime) {
    let Some(draft) = state.drafts.get_mut(&id) else {
        return;
    };
    draft.place = None;
    let Some(game) = draft.game() else {
        return;
    };
    if is_given {
        state.names.remove(place, now);
    } else {
        state.names.set(place, NameTarget::Link(game), now);
    }
}

/// Whose draft this is, if it is refused.
pub(super) fn origin_of(draft: &Draft) -> Origin {
    match (&draft.purpose, &draft.label) {
        (Purpose::Game(game), _) => Origin::Game(game_name(*game)),
        (_, Some(place)) => origin_of_file(place),
        (_, None) => Origin::Game(game_name(draft.game().unwrap_or(draft.ino))),
    }
}

/// The lines of a text that say who played.
fn players(text: &[u8]) -> Vec<&[u8]> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.map(<[u8]>::trim_ascii);
    let of_players = |line: &&[u8]| line.starts_with(b"[White ") || line.starts_with(b"[Black ");
    lines.filter(of_players).take(2).collect()
}

pub(super) fn game_name(game: Ino) -> String {
    let mut name = String::new();
    format_game(game.within_base().index(), &mut name);
    name
}

/// What was imported, for people; games of an import follow each other.
fn line_of(name: &str, files: &[Ino]) -> String {
    match files {
        [] => format!("{name}: no games"),
        [one] => format!("{name}: 1 game: {}", game_name(*one)),
        [first, .., last] => {
            let (first, last) = (game_name(*first), game_name(*last));
            format!("{name}: {} games: {first} to {last}", files.len())
        }
    }
}
