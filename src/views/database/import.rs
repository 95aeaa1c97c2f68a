//! A text of any number of games into a base: all of them, or none.
//!
//! The text is read once, unpacked if need be, from wherever it lies; its games
//! are parsed on all cores and laid into the files as they come, so memory is bounded whatever
//! the length, but for sixteen bytes for each game.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::DatabaseVolume;
use super::change::{inos, outdated_or, refusal, refusal_of_store};
use crate::cbh::{Appended, ChangeError, GameId, Imported, Importer, Summary};
use crate::fs::{Error, Refusal, Saved};
use crate::import::{
    BadGame, BadText, GamesInput, ImportOptions, ImportStop, Notes, Session, Watch, cut_names,
    for_each_text,
};

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        let why = error.to_string();
        match error.kind() {
            ErrorKind::InvalidData => Refusal::Text(why),
            _ => Refusal::Failed(Error::Damaged(why)),
        }
    }
}

impl From<ImportStop> for Refusal {
    fn from(stop: ImportStop) -> Refusal {
        match stop {
            ImportStop::Bad(bad) => Refusal::Text(format!("{}{bad}", place(bad.line, bad.column))),
            ImportStop::Medium(error) => error.into(),
            ImportStop::Base(error) => refused(error),
            ImportStop::Interrupted => Refusal::Failed(Error::Stale),
        }
    }
}

fn place(line: usize, column: usize) -> String {
    format!("line {line}, column {column}: ")
}

/// Records what becomes of the games of a file.
struct BadGameSink<'n, 'b> {
    notes: &'n mut Notes,
    /// Output for bad games; without one, the first bad game ends the import.
    bad: Option<&'n mut (dyn Write + 'b)>,
    bad_games: usize,
    member: String,
}

impl Watch for BadGameSink<'_, '_> {
    fn appended(&mut self, _: &Appended) {}

    fn bad(&mut self, bad: BadGame, text: BadText<'_>) -> Result<(), ImportStop> {
        let Some(out) = &mut self.bad else {
            return Err(ImportStop::Bad(bad));
        };
        self.bad_games += 1;
        let place = format!("{}{}", self.member, place(bad.line, bad.column));
        self.notes.add(format!("not imported: {place}{bad}"));
        text.write(out, place.trim_end_matches(": "), &bad)?;
        Ok(())
    }

    fn more_of_bad(&mut self, text: BadText<'_>) -> Result<(), ImportStop> {
        if let Some(out) = &mut self.bad {
            text.write_more(out)?;
        }
        Ok(())
    }
}

impl DatabaseVolume {
    /// Makes new games of all that a file has; of all but the bad ones, if
    /// there is a place for these. They take the place of `earlier` games.
    ///
    /// # Errors
    ///
    /// [`Refusal`]; with the place of the first game that is none.
    pub(super) fn import_all(
        &self,
        file: &mut dyn GamesInput,
        bad: Option<&mut dyn Write>,
        is_interrupted: &AtomicBool,
        earlier: Vec<GameId>,
    ) -> Result<Saved, Refusal> {
        let (store, saving) = self.parts()?;
        if self.base.is_superseded() {
            return Err(Refusal::Outdated);
        }
        store.make_ready().map_err(refusal_of_store)?;
        let importer = Importer::knowing(saving.knowledge(), self.writable()?, store, saving.now());
        let before = self
            .writable()?
            .summaries_of(&earlier)
            .map_err(Error::from)?;
        let before = earlier.iter().copied().zip(before).collect();
        let removable = self.removable()?;
        let own = earlier.clone();
        let importer = importer.in_place_of(earlier, removable);
        let mut notes = Notes::default();
        let imported = self.append_all(file, importer, &mut notes, bad, is_interrupted);
        let imported = imported.map_err(|refusal| outdated_or(store, refusal))?;
        for line in cut_names(&imported.unfit) {
            notes.add(line);
        }
        let last = (self.base.last_id(), imported.last_id);
        if imported.is_change {
            saving.follow(&imported.effects.games, &own, last);
        }
        self.imported(imported, before, notes)
    }

    fn append_all(
        &self,
        file: &mut dyn GamesInput,
        importer: Importer<'_>,
        notes: &mut Notes,
        bad: Option<&mut dyn Write>,
        is_interrupted: &AtomicBool,
    ) -> Result<Imported, Refusal> {
        let wishes = ImportOptions {
            drops_foreign_tags: self.drops_foreign_tags(),
            ..ImportOptions::default()
        };
        let mut session = Session::new(importer, wishes, is_interrupted);
        let mut clerk = BadGameSink {
            notes,
            bad,
            bad_games: 0,
            member: String::new(),
        };
        for_each_text(Path::new(""), file, &mut |text| {
            let member = text.member.as_ref();
            clerk.member = member.map(|name| format!("{name}: ")).unwrap_or_default();
            let read = session.read(text, &mut clerk);
            let understood = read.map_err(|stop| in_member(&clerk.member, stop.into()))?;
            for told in understood {
                let place = place(told.line, told.column);
                clerk
                    .notes
                    .add(format!("{}{place}{}", clerk.member, told.what));
            }
            Ok::<(), Refusal>(())
        })?;
        let bad_games = clerk.bad_games;
        // An import that failed may be made whole from the journal later.
        let (_, saving) = self.parts()?;
        drop(saving.take_knowledge());
        let imported = session.commit().map_err(refused)?;
        if imported.games.is_empty() && bad_games > 0 {
            let why = format!("none of its games can be imported: {}", notes.first());
            return Err(Refusal::Text(why));
        }
        Ok(imported)
    }

    /// Returns the result of an import. `before` holds the summaries of the
    /// games that it replaces.
    fn imported(
        &self,
        imported: Imported,
        mut before: BTreeMap<GameId, Option<Summary>>,
        notes: Notes,
    ) -> Result<Saved, Refusal> {
        let (_, saving) = self.parts()?;
        let (notes, files) = (notes.into_lines(), inos(&imported.all));
        saving.keep_knowledge(imported.knowledge);
        if !imported.is_change {
            return Ok(Saved::nothing(files, notes));
        }
        let effects = imported.effects;
        let games = effects.games.iter();
        let before: Vec<_> = games.map(|id| before.remove(id).flatten()).collect();
        let (volume, touched) = self.next_if_readable(&effects, &before);
        Ok(Saved {
            is_change: true,
            volume,
            touched,
            files,
            notes,
        })
    }
}

/// Says in which member of an archive a text is at fault.
fn in_member(member: &str, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::Text(why) => Refusal::Text(format!("{member}{why}")),
        other => other,
    }
}

fn refused(error: ChangeError) -> Refusal {
    match error {
        ChangeError::Save(error) => refusal(error),
        ChangeError::Store(error) => refusal_of_store(error),
    }
}
