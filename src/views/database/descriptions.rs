//! Names of games that say what the game is: with `-o names=long`,
//! `000123 Carlsen-Anand 2013 B90 1-0.pgn`.
//!
//! Only the number says which game is meant; whatever follows it was true when the
//! directory was listed, and may be left out.

use super::DatabaseVolume;
use crate::base::append_description;
use crate::cbh::{GameId, ListedRecord};
use crate::names;

impl DatabaseVolume {
    /// The game that a file name means.
    pub(super) fn id_of_name(&self, name: &[u8]) -> Option<GameId> {
        let number = if self.shown.describes_games() {
            names::parse_described_game(name)
        } else {
            names::parse_game(name)
        };
        number.map(GameId)
    }

    /// The name by which a game is listed.
    pub(super) fn listed_name(&self, id: GameId) -> Option<String> {
        let (mut records, mut name) = (Vec::new(), String::new());
        self.base.listed(id, 1, &mut records).ok()?;
        self.format_name_of(records.first()?, &mut name);
        Some(name)
    }

    /// The name by which a game is listed. `name` is replaced.
    pub(super) fn format_name_of(&self, record: &ListedRecord, name: &mut String) {
        names::format_game(record.entry.id.0, name);
        if !self.shown.describes_games() {
            return;
        }
        let players = self.groups.player_names(self.base.as_ref());
        if let (Some(summary), Ok(players)) = (&record.summary, players) {
            let ending = name.find('.').map(|at| name.split_off(at));
            append_description(summary, players, name);
            name.extend(ending);
        }
    }
}
