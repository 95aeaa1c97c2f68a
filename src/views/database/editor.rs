//! A base as something that is edited: what names mean where, and what each
//! edit comes to.

use std::io::Write;
use std::sync::atomic::AtomicBool;

use super::change::{error_of_store, refusal, take_back};
use super::directories::{Deleted, Entities, Games, LENIENT, row_of};
use super::groups::group_of;
use super::{DatabaseVolume, game_id};
use crate::cbh::{Decoded, Entry, GameId, RecordKind, SaveError};
use crate::fs::editor::{Editor, Input, Refusal, Role, Saved};
use crate::fs::{Error, Ino};
use crate::game::Game;
use crate::pgn::{self, Liberty, Permit};

impl DatabaseVolume {
    /// The record of this number, whatever it is.
    pub(super) fn any_entry(&self, id: GameId) -> Option<Entry> {
        let mut entries = Vec::with_capacity(1);
        self.base.entries(id, 1, &mut entries).ok()?;
        entries.first().copied()
    }

    /// The game that a text is, as it is to be stored, and what is stored in
    /// another form than it is written.
    fn parse(&self, text: &[u8]) -> Result<(Game, Vec<Liberty>), Refusal> {
        let (game, liberties) =
            pgn::decode_with_liberties(text).map_err(|error| match in_words(&error) {
                Refusal::Text(why) if error.expected == pgn::END_OF_ONE_GAME => {
                    Refusal::Text(why + "; import/ takes files of several games")
                }
                refusal => refusal,
            })?;
        Ok((self.without_dropped(game), liberties))
    }

    /// Whether this is the text of a game.
    fn shows(&self, file: Ino, text: &[u8]) -> bool {
        let (mut decoded, mut shown) = (Decoded::default(), Vec::new());
        let rendered = self.render_with(&mut decoded, file, &mut shown);
        rendered.is_ok() && shown == text
    }

    fn replace_game(&self, id: GameId, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal> {
        let parsed = self.parse(text);
        let (game, liberties) = parsed.map_err(|why| self.damage_of(id).unwrap_or(why))?;
        let own = ids(earlier);
        let others: Vec<_> = own.iter().copied().filter(|other| *other != id).collect();
        let removable = self.removable()?;
        let saved = self.change(&own, &mut |saver| {
            saver.replace(id, &game).map_err(refusal)?;
            saver.set_deleted(id, false).map_err(refusal)?;
            take_back(saver, &removable, &others)?;
            Ok(vec![id])
        })?;
        Ok(telling(saved, &liberties))
    }

    /// Returns the refusal of every text for a stored game that is damaged,
    /// because the text shown for it is incomplete; `None` if it is intact.
    fn damage_of(&self, id: GameId) -> Option<Refusal> {
        let mut decoded = Decoded::default();
        self.base.read_game(id, &mut decoded).ok()?;
        let defect = decoded.defects.into_iter().next()?;
        Some(refusal(SaveError::Defective(id, defect)))
    }

    /// A game without the tags that a base has no field for, if they are not
    /// to be kept.
    pub(super) fn without_dropped(&self, mut game: Game) -> Game {
        if self.drops_foreign_tags() {
            game.foreign_tags.clear();
        }
        game
    }

    /// Whether tags are left out that the base has no place for.
    pub(super) fn drops_foreign_tags(&self) -> bool {
        let editing = self.editing.as_ref();
        editing.is_some_and(|editing| editing.saving.drops_foreign_tags())
    }

    /// The game of a file that may be edited.
    fn game_of(&self, file: Ino) -> Result<GameId, Refusal> {
        let id = game_id(file).map_err(|_| Error::NotPermitted)?;
        match self.any_entry(id) {
            Some(entry) if entry.kind == RecordKind::Game => Ok(id),
            _ => Err(Error::NotFound.into()),
        }
    }
}

/// Returns the save of one game with notes on the liberties in its text.
fn telling(mut saved: Saved, liberties: &[Liberty]) -> Saved {
    let id = saved.files.first().and_then(|file| game_id(*file).ok());
    let place = id.map_or_else(String::new, |id| format!("game {}: ", id.0));
    let notes = liberties.iter().map(|liberty| format!("{place}{liberty}"));
    saved.notes.extend(notes);
    saved
}

impl Editor for DatabaseVolume {
    fn role(&self, directory: Ino, name: &[u8]) -> Role {
        match (group_of(directory), row_of(directory)) {
            (Some(group), _) => self.role_in_group(group, name),
            (None, Some(row)) => row.view.role(self, directory, name),
            (None, None) => Role::Refused,
        }
    }

    fn is_editable(&self, file: Ino) -> bool {
        let entry = game_id(file).ok().and_then(|id| self.any_entry(id));
        entry.is_some_and(Games::lists)
    }

    fn is_listed_as(&self, file: Ino, name: &[u8]) -> bool {
        !self.shown.describes_games()
            || game_id(file)
                .is_ok_and(|id| self.listed_name(id).is_some_and(|it| it.as_bytes() == name))
    }

    fn deletes_in(&self, directory: Ino) -> bool {
        directory == Games::NUMBER
    }

    fn lists_deleted(&self, directory: Ino) -> bool {
        directory == Deleted::NUMBER
    }

    fn renames_in(&self, directory: Ino) -> bool {
        Entities::kind_of(directory).is_some()
    }

    fn replace(&self, file: Ino, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal> {
        let permit = Permit::wait(text.len());
        let saved = self.replace_game(self.game_of(file)?, text, earlier);
        drop(permit);
        match saved {
            // A game that cannot be written takes the text that it has, as from the
            // backup of an editor.
            Err(Refusal::Text(_))
                if earlier.is_empty() && self.is_editable(file) && self.shows(file, text) =>
            {
                Ok(Saved::nothing(vec![file], Vec::new()))
            }
            saved => saved,
        }
    }

    fn append(&self, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal> {
        if let [first, others @ ..] = earlier {
            return self.replace(*first, text, others);
        }
        let _permit = Permit::wait(text.len());
        let (game, liberties) = self.parse(text)?;
        let saved = self.change(&[], &mut |saver| {
            Ok(vec![saver.append(&game).map_err(refusal)?])
        })?;
        Ok(telling(saved, &liberties))
    }

    fn import(
        &self,
        mut text: &mut dyn Input,
        bad: Option<&mut dyn Write>,
        is_interrupted: &AtomicBool,
        earlier: &[Ino],
    ) -> Result<Saved, Refusal> {
        self.import_all(&mut text, bad, is_interrupted, ids(earlier))
    }

    fn skips_bad(&self, directory: Ino) -> bool {
        directory == LENIENT
    }

    fn set_deleted(&self, file: Ino, is_deleted: bool) -> Result<Saved, Refusal> {
        let id = self.game_of(file)?;
        self.change(&[], &mut |saver| {
            saver.set_deleted(id, is_deleted).map_err(refusal)?;
            Ok(vec![id])
        })
    }

    fn rename(&self, directory: Ino, from: &[u8], to: &[u8]) -> Result<Saved, Refusal> {
        match Entities::kind_of(directory) {
            Some(kind) => self.rename_entity(kind, from, to),
            None => Err(Error::NotPermitted.into()),
        }
    }

    fn merge(&self, directory: Ino, from: &[u8], into: Ino) -> Result<Saved, Refusal> {
        self.merge_directory(directory, from, into)
    }

    fn withdraw(&self, files: &[Ino]) -> Result<Saved, Refusal> {
        let (games, removable) = (ids(files), self.removable()?);
        self.change(&games, &mut |saver| {
            take_back(saver, &removable, &games)?;
            Ok(Vec::new())
        })
    }

    fn sync(&self) -> Result<(), Error> {
        let store = self.writable().ok().and_then(|base| base.store());
        let store = store.ok_or(Error::ReadOnly)?;
        store.sync().map_err(|error| error_of_store(&error))
    }
}

/// The numbers of games, in order.
fn ids(files: &[Ino]) -> Vec<GameId> {
    let games = files.iter().filter_map(|file| game_id(*file).ok());
    let mut games: Vec<_> = games.collect();
    games.sort_unstable();
    games
}

/// Returns the refusal for a text, in words for users who do not know parser
/// messages.
pub(super) fn in_words(error: &pgn::Error) -> Refusal {
    Refusal::Text(format!(
        "line {}, column {}: {}; expected {}",
        error.line, error.column, error.found, error.expected
    ))
}
