//! What a database says of itself, and what is wrong with it.

use super::{DatabaseVolume, Error, Facts, Fault, GuidingText};
use crate::cbh::{self, Changes, Decoded, EntityKind, GameId, RecordKind, Summary};
use crate::game::Defect;

/// Records read at once.
const RECORDS: u32 = 4096;

/// The records of a base of this size are counted in no time.
pub(super) const QUICKLY_COUNTED: u32 = 50_000;

/// How many records there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Games that are not deleted.
    pub(super) games: u64,
    /// Games that are.
    pub(super) deleted: u64,
    /// Texts, deleted ones too.
    pub(super) texts: u64,
}

impl Counts {
    /// The same after a save of games.
    pub(super) fn after(mut self, changes: &Changes) -> Counts {
        for game in &changes.games {
            if let Some(count) = self.count_of(game.before.as_ref()) {
                *count = count.saturating_sub(1);
            }
            if let Some(count) = self.count_of(game.after.as_ref()) {
                *count += 1;
            }
        }
        self
    }

    fn count_of(&mut self, game: Option<&Summary>) -> Option<&mut u64> {
        Some(if game?.is_deleted {
            &mut self.deleted
        } else {
            &mut self.games
        })
    }
}

impl DatabaseVolume {
    /// Counts the records, once.
    pub(super) fn counts(&self) -> Counts {
        *self.counts.get_or_init(|| {
            let mut counts = Counts::default();
            // Where the records end early, the count does too.
            let _ = self.count_records(&mut counts);
            counts
        })
    }

    fn count_records(&self, counts: &mut Counts) -> Result<(), cbh::Error> {
        let mut entries = Vec::with_capacity(RECORDS as usize);
        let mut first = 1;
        while first <= self.base.last_id() {
            entries.clear();
            let read = self.base.entries(GameId(first), RECORDS, &mut entries);
            for entry in &entries {
                let count = match (entry.kind, entry.is_deleted) {
                    (RecordKind::Game, false) => &mut counts.games,
                    (RecordKind::Game, true) => &mut counts.deleted,
                    (RecordKind::Text, _) => &mut counts.texts,
                };
                *count += 1;
            }
            read?;
            first = first.saturating_add(RECORDS);
        }
        Ok(())
    }

    pub(super) fn tell_facts(&self) -> Facts {
        let base = self.base.as_ref();
        let counts = if base.last_id() <= QUICKLY_COUNTED {
            Some(self.counts())
        } else {
            self.counts.get().copied()
        };
        let entities = |kind| Some(u64::from(base.entities_claimed(kind)));
        let (page, is_page_given) = base.code_page();
        Facts {
            kind: "database",
            counts: vec![
                ("games", counts.map(|counts| counts.games)),
                ("deleted", counts.map(|counts| counts.deleted)),
                ("texts", counts.map(|counts| counts.texts)),
                ("players", entities(EntityKind::Player)),
                ("tournaments", entities(EntityKind::Tournament)),
                ("annotators", entities(EntityKind::Annotator)),
                ("sources", entities(EntityKind::Source)),
                ("teams", entities(EntityKind::Team)),
            ],
            versions: base.versions(),
            code_page: Some((page.name(), is_page_given)),
            bytes: base.size_on_disk(),
            rendered: counts.map(|counts| counts.games + counts.deleted),
            read_only_because: self.read_only_because.clone(),
            advice: base.advice(),
            positions: Some(self.search.common.kept.describe()),
            refused_queries: self.search.common.refused.lines(),
        }
    }

    /// A defect of this game or text, or of the whole if that is 0.
    pub(super) fn fault(&self, record: u32, defect: &Defect) -> Fault {
        self.fault_of(record, "game", defect)
    }

    fn fault_of(&self, record: u32, kind: &str, defect: &Defect) -> Fault {
        let place = match record {
            0 => String::new(),
            _ => format!("{kind} {record}: "),
        };
        Fault {
            record,
            file: defect.file,
            offset: defect.offset,
            line: format!("{place}{}{defect}", self.base.name_for(defect.file)),
        }
    }

    pub(super) fn faults_of_game(&self, id: GameId, note: &mut dyn FnMut(Fault)) {
        let mut decoded = Decoded::default();
        match self.base.read_game_to_render(id, &mut decoded) {
            Ok(_permit) => {
                for defect in &decoded.defects {
                    note(self.fault(id.0, defect));
                }
            }
            Err(error) => note(unreadable("game", id, &error)),
        }
    }

    pub(super) fn faults_of_text(&self, id: GameId, note: &mut dyn FnMut(Fault)) {
        let mut text = GuidingText::default();
        match self.base.read_text(id, &mut text) {
            Ok(()) => {
                for defect in &text.defects {
                    note(self.fault_of(id.0, "text", defect));
                }
            }
            Err(error) => note(unreadable("text", id, &error)),
        }
    }

    /// Counts the records, and looks at what is no game.
    pub(super) fn examine_whole(&self, note: &mut dyn FnMut(Fault)) -> Result<(), Error> {
        self.counts();
        for id in self.guiding.ids(self.base.as_ref()) {
            self.faults_of_text(*id, note);
        }
        let report = &mut |defect: Defect| note(self.fault(0, &defect));
        Ok(self.base.check_whole(report)?)
    }
}

/// What is said of a game or text of which nothing can be shown.
fn unreadable(kind: &str, id: GameId, error: &cbh::Error) -> Fault {
    Fault {
        record: id.0,
        file: "",
        offset: 0,
        line: format!("{kind} {}: {error}", id.0),
    }
}
