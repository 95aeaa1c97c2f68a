//! What a database says of itself, and what is wrong with it.

use super::{DatabaseVolume, Error, Facts, Fault, GuidingText};
use crate::base::RecordCounts;
use crate::cbh::{self, Decoded, EntityKind, GameId};
use crate::game::Defect;

/// The records of a base of this size are counted in no time.
pub(super) const QUICKLY_COUNTED: u32 = 50_000;

impl DatabaseVolume {
    /// Counts the records, once; of those that cannot be read now again later.
    pub(super) fn counts(&self) -> RecordCounts {
        let counted = || RecordCounts::of(self.base.as_ref());
        let counts = self.counts.get().map_or_else(counted, |counts| Ok(*counts));
        match counts {
            Ok(counts) => *self.counts.get_or_init(|| counts),
            Err(counts) => counts,
        }
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
        for id in self.guiding.ids(self.base.as_ref())? {
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
