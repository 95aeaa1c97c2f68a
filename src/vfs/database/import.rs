//! A text of any number of games into a base: all of them, or none.
//!
//! The text is read once, unpacked if need be, from wherever it lies; its games
//! are parsed on all cores and laid into the files as they come, so memory is bounded whatever
//! the length, but for sixteen bytes for each game.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use super::DatabaseVolume;
use super::change::{
    inos, is_followed, note_of, note_of_kept, outdated_or, refusal, refusal_of_store,
};
use super::editor::in_words;
use super::saving::Undo;
use crate::cbh::{Appended, ChangeError, Imported, Importer, PreparedGame, SaveError};
use crate::import::{Input, Text, for_each_text};
use crate::pgn::{self, Prepared, StreamError};
use crate::vfs::{Error, Made, Refusal, Saved};

/// Lines for the log, at most.
const MOST_NOTES: usize = 100;

/// What takes more memory is not kept to be undone.
const MOST_UNDO_BYTES: usize = 64 << 20;

/// A prepared game, with the line of its section.
type Game = (Result<PreparedGame, SaveError>, usize);

impl From<StreamError> for Refusal {
    fn from(error: StreamError) -> Refusal {
        match error {
            StreamError::Pgn(error) => in_words(&error),
            StreamError::Io(error) => error.into(),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        let why = error.to_string();
        match error.kind() {
            ErrorKind::InvalidData => Refusal::Text(why),
            _ => Refusal::Failed(Error::Damaged(why)),
        }
    }
}

/// What is stored otherwise than it was written.
#[derive(Debug, Default)]
struct Notes {
    lines: Vec<String>,
    further: usize,
    is_foreign: bool,
}

impl Notes {
    fn add(&mut self, line: String) {
        if self.lines.len() < MOST_NOTES {
            self.lines.push(line);
        } else {
            self.further += 1;
        }
    }

    /// Says once that the text is not UTF-8 at a line and column.
    fn add_foreign(&mut self, place: Option<(usize, usize)>) {
        if let Some((line, column)) = place.filter(|_| !self.is_foreign) {
            self.is_foreign = true;
            self.add(format!(
                "line {line}, column {column}: not UTF-8; read as Windows-1252"
            ));
        }
    }

    fn add_game(&mut self, appended: &Appended) {
        let place = format!("game {}: ", appended.id.0);
        for unfit in &appended.unfit {
            self.add(format!("{place}{}", note_of(unfit)));
        }
        for kept in &appended.kept {
            self.add(format!("{place}{}", note_of_kept(kept)));
        }
    }

    fn into_lines(mut self) -> Vec<String> {
        if self.further > 0 {
            let further = format!("and {} more of that kind", self.further);
            self.lines.push(further);
        }
        self.lines
    }
}

impl DatabaseVolume {
    /// Makes new games of all that a file has.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; with the place of the first game that is none.
    pub(super) fn import_all(&self, file: &mut dyn Input) -> Result<Saved, Refusal> {
        let (store, saving) = self.parts()?;
        if self.database.is_over() {
            return Err(Refusal::Outdated);
        }
        let knowledge = saving.knowledge().clone();
        let importer = Importer::knowing(knowledge, &self.database, store, saving.now());
        let mut notes = Notes::default();
        let imported = self.append_all(file, importer, &mut notes);
        let imported = imported.map_err(|refusal| outdated_or(store, refusal))?;
        for unfit in &imported.unfit {
            notes.add(note_of(unfit));
        }
        self.imported(imported, notes)
    }

    fn append_all(
        &self,
        file: &mut dyn Input,
        mut importer: Importer<'_>,
        notes: &mut Notes,
    ) -> Result<Imported, Refusal> {
        for_each_text(Path::new(""), file, &mut |text| {
            let member = text.member.clone();
            let appended = self.append_text(text, &mut importer, notes);
            appended.map_err(|refusal| in_member(member.as_deref(), refusal))
        })?;
        importer.commit().map_err(refused)
    }

    fn append_text(
        &self,
        text: Text<'_>,
        importer: &mut Importer<'_>,
        notes: &mut Notes,
    ) -> Result<(), Refusal> {
        if text.was_utf16 {
            notes.add("read as UTF-16".to_owned());
        }
        pgn::for_each_game_in_order(
            text.reader,
            |game, line| (PreparedGame::new(self.without_dropped(game)), line),
            |section: Prepared<Game>| {
                notes.add_foreign(section.not_utf8);
                for (game, line) in section.games {
                    let appended = game.map_err(ChangeError::from);
                    let appended = appended.and_then(|game| importer.append(game));
                    notes.add_game(&appended.map_err(|error| at_line(line, error))?);
                }
                section.error.map_or(Ok(()), |error| Err(in_words(&error)))
            },
        )
    }

    /// What an import comes to for who shows it.
    fn imported(&self, imported: Imported, notes: Notes) -> Result<Saved, Refusal> {
        let (_, saving) = self.parts()?;
        let notes = notes.into_lines();
        let Some(committed) = imported.committed else {
            return Ok(Saved::nothing(notes));
        };
        *saving.knowledge() = imported.knowledge;
        let effects = imported.effects;
        let before = vec![
            None;
            if is_followed(&effects) {
                effects.games.len()
            } else {
                0
            }
        ];
        let (volume, touched) = self.next(&effects, &before)?;
        let new = effects.games.clone();
        Ok(Saved {
            volume: Some(volume),
            touched,
            made: Some(Made {
                files: inos(&new),
                undo: Arc::new(Undo::within(MOST_UNDO_BYTES, Some(committed), effects, new)),
            }),
            notes,
        })
    }
}

/// Says in which member of an archive a text is at fault.
fn in_member(member: Option<&str>, refusal: Refusal) -> Refusal {
    match (member, refusal) {
        (Some(member), Refusal::Text(why)) => Refusal::Text(format!("{member}: {why}")),
        (_, refusal) => refusal,
    }
}

/// Why nothing is imported, because of the section that begins in `line`.
fn at_line(line: usize, error: ChangeError) -> Refusal {
    match refused(error) {
        Refusal::Text(why) => Refusal::Text(format!(
            "line {line}, column 1: this game cannot be stored: {why}"
        )),
        other => other,
    }
}

fn refused(error: ChangeError) -> Refusal {
    match error {
        ChangeError::Save(error) => refusal(error),
        ChangeError::Store(error) => refusal_of_store(error),
    }
}
