//! What is known of drafts, names and open files at a moment.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::SystemTime;

use super::Handle;
use super::handles::{Handles, Open};
use super::names::{DraftNames, NameTarget, Place};
use super::status::{DraftEvent, DraftStatus, Effect};
use super::{KIND, StoredGame};
use crate::fs::{Error, Ino};
use crate::names::is_pgn;
use crate::storage::SharedBuffer;

/// Numbers of files that became games, at most.
const MOST_ALIASES: usize = 10_000;

/// What a draft is to become when it is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing: it is an editor's own file.
    Scratch,
    /// This game.
    Game(Ino),
    /// A new game.
    New,
    /// New games.
    Import,
    /// Nothing: it says what became of an import.
    Log,
    /// Nothing: its name went to another file.
    Replaced,
}

/// A text that is being written, or was and is still to be read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) buffer: Arc<SharedBuffer>,
    pub(super) purpose: Purpose,
    /// Its number: its own, or that of the game it is of.
    pub(super) ino: Ino,
    /// Its name, if it has one of its own.
    pub(super) place: Option<Place>,
    /// The name that it had last, which stands for the game it became.
    pub(super) label: Option<Place>,
    /// Version of the buffer that was last saved or refused.
    settled: u64,
    /// Result of that save.
    status: DraftStatus,
    /// Files that an earlier save of this draft made or changed.
    pub(super) made: Vec<Ino>,
    /// The game that save stored. The first flush after it takes this.
    pub(super) stored: Option<StoredGame>,
    /// Handle that made that save.
    pub(super) made_by: Option<Handle>,
    /// Whether that save stays if a later text is refused, because `fsync` or
    /// `close` confirmed it to a program.
    pub(super) is_confirmed: bool,
    /// Mark of the text that it replaces.
    pub(super) base: Option<u32>,
    /// Digest of the imported text.
    pub(super) imported: Option<u64>,
    /// How many have it open, and how many of those for writing.
    pub(super) open: u32,
    pub(super) writers: u32,
    pub(super) mode: Option<u16>,
    pub(super) modified: SystemTime,
    /// The name of the game that it is a backup of, if that was renamed.
    pub(super) backup_of: Option<Place>,
}

impl Draft {
    pub(super) fn new(buffer: SharedBuffer, purpose: Purpose, ino: Ino, now: SystemTime) -> Draft {
        Draft {
            buffer: Arc::new(buffer),
            purpose,
            ino,
            place: None,
            label: None,
            settled: 0,
            status: DraftStatus::Clean,
            made: Vec::new(),
            stored: None,
            made_by: None,
            is_confirmed: false,
            base: None,
            imported: None,
            open: 0,
            writers: 0,
            mode: None,
            modified: now,
            backup_of: None,
        }
    }

    /// Whether something was written that is neither saved nor refused.
    pub(super) fn is_open_work(&self) -> bool {
        matches!(self.status(), DraftStatus::Dirty { .. })
    }

    /// Whether its text is neither stored nor in `rejected/`, and would be
    /// lost with the draft.
    pub(super) fn is_unkept(&self) -> bool {
        let has_purpose = !matches!(self.purpose, Purpose::Scratch | Purpose::Log);
        let has_text = has_purpose && self.buffer.length() > 0;
        let (_, effect) = self.status().after(DraftEvent::Ended { has_text });
        effect == Effect::Keep
    }

    /// Returns the status of its present text.
    pub(super) fn status(&self) -> DraftStatus {
        self.status_at(self.buffer.version())
    }

    /// Returns the status of this version of its text.
    pub(super) fn status_at(&self, version: u64) -> DraftStatus {
        let status = self.status.clone();
        if version == self.settled {
            return status;
        }
        let (status, _) = status.after(DraftEvent::Written);
        status
    }

    /// Applies an event to this version of the text. Returns the action to
    /// take.
    pub(super) fn note(&mut self, version: u64, event: DraftEvent) -> Effect {
        let (status, effect) = self.status_at(version).after(event);
        if !matches!(status, DraftStatus::Dirty { .. }) {
            self.settled = version;
        }
        self.status = status;
        effect
    }

    /// Lets its present text be settled, whatever became of it.
    pub(super) fn settle(&mut self) {
        if self.is_open_work() {
            self.note(self.buffer.version(), DraftEvent::Saved);
        }
    }

    /// Forgets what an earlier save made: what follows is another text.
    pub(super) fn begin_anew(&mut self) {
        self.made.clear();
        self.made_by = None;
        self.is_confirmed = false;
    }

    /// Whether it is a program's own file, and no backup of a game.
    pub(super) fn is_own(&self) -> bool {
        self.purpose == Purpose::Scratch && self.backup_of.is_none()
    }

    /// Returns whether it has text and the name of a PGN file, but lies in a directory in
    /// which no games can be created, such as `players/X/`.
    pub(super) fn is_stray(&self) -> bool {
        let place = self.place.as_ref().filter(|_| self.is_own());
        place.is_some_and(|(_, name)| is_pgn(name.as_bytes())) && self.buffer.length() > 0
    }

    /// The game that a save of it made or changed.
    pub(super) fn game(&self) -> Option<Ino> {
        match self.purpose {
            Purpose::Game(game) => Some(game),
            Purpose::New => {
                let game = self.made.first()?;
                Some(game.in_base(self.ino.base_number()))
            }
            _ => None,
        }
    }
}

/// The whole state. Each method leaves it consistent.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) drafts: HashMap<u32, Draft>,
    /// The draft that each game shows at present.
    pub(super) games: HashMap<Ino, u32>,
    pub(super) handles: Handles,
    pub(super) names: DraftNames,
    /// Which game a file with a number of its own became.
    aliases: HashMap<Ino, Ino>,
    oldest_aliases: VecDeque<Ino>,
    next: u32,
    /// Games that were removed in this mount, the latest ones.
    removed: HashSet<Ino>,
    /// Texts of games that were deleted before, until what takes their place is saved.
    revived: HashMap<Ino, Vec<u8>>,
}

/// So many games are known to have been removed.
const MOST_REMOVED: usize = 1 << 16;

impl State {
    /// Notes that a game was removed.
    pub(super) fn note_removed(&mut self, game: Ino) {
        if self.removed.len() >= MOST_REMOVED {
            self.removed.clear();
        }
        self.removed.insert(game);
    }

    /// Returns whether a program removed this game in this mount. Programs do so to
    /// replace a file.
    pub(super) fn was_removed(&self, game: Ino) -> bool {
        self.removed.contains(&game)
    }

    /// Keeps the text of a game that was deleted before, while another takes its place.
    pub(super) fn note_revived(&mut self, game: Ino, text: Vec<u8>) {
        self.revived.insert(game, text);
    }

    /// The text that was kept so.
    pub(super) fn take_revived(&mut self, game: Ino) -> Option<Vec<u8>> {
        self.revived.remove(&game)
    }

    /// Adds a draft. Its own number is that of the draft.
    pub(super) fn add(&mut self, mut draft: Draft) -> u32 {
        self.next = self.next.wrapping_add(1).max(1);
        while self.drafts.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1).max(1);
        }
        let id = self.next;
        match draft.purpose {
            Purpose::Game(game) => {
                self.games.insert(game, id);
            }
            Purpose::Replaced => {}
            _ => draft.ino = Ino::new(KIND, id).in_base(draft.ino.base_number()),
        }
        self.aliases.remove(&draft.ino);
        self.drafts.insert(id, draft);
        id
    }

    /// Adds a file with a name and a number of its own; gives the draft and that.
    pub(super) fn add_file(
        &mut self,
        buffer: SharedBuffer,
        purpose: Purpose,
        place: &Place,
        now: SystemTime,
    ) -> Result<(u32, Ino), Error> {
        self.names.check_room()?;
        let live = Ino::ROOT.in_base(place.0.base_number());
        let id = self.add(Draft::new(buffer, purpose, live, now));
        self.name(id, place, now);
        let ino = self.drafts.get(&id).map_or(live, |draft| draft.ino);
        Ok((id, ino))
    }

    /// Adds a draft of a game whose text has this mark.
    pub(super) fn add_game(
        &mut self,
        buffer: SharedBuffer,
        game: Ino,
        mark: u32,
        now: SystemTime,
    ) -> u32 {
        let mut draft = Draft::new(buffer, Purpose::Game(game), game, now);
        draft.base = Some(mark);
        self.add(draft)
    }

    /// The draft whose own number this is.
    pub(super) fn own(&self, ino: Ino) -> Option<(u32, &Draft)> {
        let id = ino.within_base().index();
        let draft = self.drafts.get(&id)?;
        (ino.within_base().kind() == KIND && draft.ino == ino).then_some((id, draft))
    }

    /// The game that the file with this number of its own became.
    pub(super) fn alias(&self, ino: Ino) -> Option<Ino> {
        self.aliases.get(&ino).copied()
    }

    /// Redirects the aliases of game `from` to game `to`.
    pub(super) fn move_aliases(&mut self, from: Ino, to: Ino) {
        for game in self.aliases.values_mut().filter(|game| **game == from) {
            *game = to;
        }
    }

    pub(super) fn add_alias(&mut self, ino: Ino, game: Ino) {
        if ino == game || self.aliases.insert(ino, game).is_some() {
            return;
        }
        self.oldest_aliases.push_back(ino);
        if self.oldest_aliases.len() > MOST_ALIASES
            && let Some(oldest) = self.oldest_aliases.pop_front()
        {
            self.aliases.remove(&oldest);
        }
    }

    /// Returns the draft that is shown for a game; `None` if the stored text is
    /// shown.
    pub(super) fn shown(&self, game: Ino) -> Option<(u32, &Draft)> {
        let id = *self.games.get(&game)?;
        let draft = self.drafts.get(&id)?;
        draft.is_open_work().then_some((id, draft))
    }

    /// Opens a file.
    pub(super) fn open(&mut self, open: Open) -> Handle {
        if let Some(draft) = open.draft.and_then(|id| self.drafts.get_mut(&id)) {
            draft.open += 1;
            draft.writers += u32::from(open.access.write);
        }
        self.handles.add(open)
    }

    /// Lets all who write a game, and have not begun yet, write to this draft.
    pub(super) fn join(&mut self, game: Ino, id: u32) {
        let Some(draft) = self.drafts.get_mut(&id) else {
            return;
        };
        for open in self.handles.idle_writers(game) {
            open.draft = Some(id);
            draft.open += 1;
            draft.writers += 1;
        }
    }

    /// Ends all writing of a game: its name goes to another text.
    pub(super) fn leave(&mut self, game: Ino) {
        for open in self.handles.idle_writers(game) {
            open.is_replaced = true;
        }
        if let Some(id) = self.games.remove(&game)
            && let Some(draft) = self.drafts.get_mut(&id)
        {
            draft.purpose = Purpose::Replaced;
            self.clear(id);
        }
    }

    /// Forgets a draft that nobody has open and that has no name.
    pub(super) fn clear(&mut self, id: u32) {
        let Some(draft) = self.drafts.get(&id) else {
            return;
        };
        if draft.open > 0 || draft.place.is_some() {
            return;
        }
        let Some(draft) = self.drafts.remove(&id) else {
            return;
        };
        if let Purpose::Game(game) = draft.purpose
            && self.games.get(&game) == Some(&id)
        {
            self.games.remove(&game);
        }
        if let Some(game) = draft.game() {
            self.add_alias(draft.ino, game);
        }
    }

    /// Takes the name from a draft; the game that it is a backup of comes
    /// back.
    pub(super) fn unname(&mut self, id: u32, now: SystemTime) {
        let Some(draft) = self.drafts.get_mut(&id) else {
            return;
        };
        let (place, backup_of) = (draft.place.take(), draft.backup_of.take());
        if let Some(place) = place {
            self.names.remove(&place, now);
        }
        if let Some(place) = backup_of {
            self.show_again(&place, Some(id), now);
        }
        self.clear(id);
    }

    /// The game that a draft is the backup of, as long as nothing else has its name.
    pub(super) fn stands_for(&self, id: u32) -> Option<Ino> {
        let place = self.drafts.get(&id)?.backup_of.as_ref()?;
        match self.names.get(place.0, &place.1)? {
            NameTarget::Gone { game, backup, .. } if *backup == id => Some(*game),
            _ => None,
        }
    }

    /// Shows a game under its name again, of which `backup` is the backup.
    pub(super) fn show_again(&mut self, place: &Place, backup: Option<u32>, now: SystemTime) {
        let Some(NameTarget::Gone {
            game,
            backup: of,
            is_link,
        }) = self.names.get(place.0, &place.1)
        else {
            return;
        };
        if backup.is_some_and(|backup| backup != *of) {
            return;
        }
        if *is_link {
            let link = NameTarget::Link(*game);
            self.names.set(place, link, now);
        } else {
            self.names.remove(place, now);
        }
    }

    /// Gives a draft a name.
    pub(super) fn name(&mut self, id: u32, place: &Place, now: SystemTime) {
        if let Some(draft) = self.drafts.get_mut(&id) {
            draft.place = Some(place.clone());
            draft.label = Some(place.clone());
            self.names.set(place, NameTarget::File(id), now);
        }
    }
}
