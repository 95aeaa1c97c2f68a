//! Check of the entity files against the games.

use std::collections::BTreeMap;

use crate::cbh::base::database::record_offset;
use crate::cbh::base::references::{Dangling, ReferenceCount};
use crate::cbh::entities::{EntityFile, EntityKind, EntityLayout};
use crate::cbh::{Database, Error, FileKind};
use crate::game::Defect;

fn defect(dangling: Dangling) -> Defect {
    let Dangling { game, entity } = dangling;
    let (file, entity) = entity;
    Defect {
        file: FileKind::Headers.extension(),
        offset: record_offset(game.0),
        what: format!(
            "game {} refers to record {entity} of .{}, which does not exist",
            game.0,
            file.extension()
        ),
    }
}

impl Database {
    /// Reports all defects of the entity files: trees, chains of deleted
    /// records, counts and first games, and references from games to missing
    /// entities. Without `.cbj`, nothing is known of the references to teams and
    /// labels.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the defects found before were reported.
    pub fn verify_entities(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        let mut missing = BTreeMap::new();
        let references = self.count_references(&mut |dangling| {
            let file = dangling.entity.0;
            if self.family().path(file).is_none() {
                missing.entry(file).or_insert(dangling.game);
            } else if self.storage(file).is_some() && !self.is_headless(file) {
                // A file that is damaged as a whole is reported separately.
                report(defect(dangling));
            }
        })?;
        for (file, game) in missing {
            let what = format!(
                "the file is missing, to which games refer, first game {}",
                game.0
            );
            report(Defect {
                file: file.extension(),
                offset: 0,
                what,
            });
        }
        let of = |kind| Some(references.kinds.of(kind).as_slice());
        let players = of(EntityKind::Player);
        self.verify_file(FileKind::Players, &self.players, players, report)?;
        let tournaments = of(EntityKind::Tournament);
        self.verify_file(
            FileKind::Tournaments,
            &self.tournaments,
            tournaments,
            report,
        )?;
        let annotators = of(EntityKind::Annotator);
        self.verify_file(FileKind::Annotators, &self.annotators, annotators, report)?;
        let sources = of(EntityKind::Source);
        self.verify_file(FileKind::Sources, &self.sources, sources, report)?;
        if self.lacks_extended()? {
            let what = "the file is missing, which says what games have teams and labels";
            report(Defect {
                file: FileKind::Extended.extension(),
                offset: 0,
                what: what.to_owned(),
            });
        }
        let has_extended = self.extended.is_some();
        if let Some(file) = &self.teams {
            let teams = of(EntityKind::Team).filter(|_| has_extended);
            self.verify_file(FileKind::Teams, file, teams, report)?;
        }
        if let Some(file) = &self.tags {
            let tags = has_extended.then_some(references.tags.as_slice());
            self.verify_file(FileKind::Tags, file, tags, report)?;
        }
        Ok(())
    }

    /// Returns whether the header of an entity file is damaged.
    fn is_headless(&self, file: FileKind) -> bool {
        match file {
            FileKind::Players => self.players.is_headless(),
            FileKind::Tournaments => self.tournaments.is_headless(),
            FileKind::Annotators => self.annotators.is_headless(),
            FileKind::Sources => self.sources.is_headless(),
            FileKind::Teams => self.teams.as_ref().is_some_and(EntityFile::is_headless),
            FileKind::Tags => self.tags.as_ref().is_some_and(EntityFile::is_headless),
            _ => false,
        }
    }

    fn verify_file<K: EntityLayout>(
        &self,
        kind: FileKind,
        file: &EntityFile<K>,
        references: Option<&[ReferenceCount]>,
        report: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        let mut report = |offset, what| {
            report(Defect {
                file: kind.extension(),
                offset,
                what,
            });
        };
        file.verify(references, &mut report)
            .map_err(|source| self.io(kind, source))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::{copy_of_sample, samples};

    #[test]
    fn teams_and_labels_are_not_said_to_be_without_a_game_where_the_cbj_is_unreadable() {
        let found = |change: &dyn Fn(&mut Vec<u8>)| {
            let folder = copy_of_sample();
            let path = folder.path().join("sample.cbh");
            let extended = path.with_extension("cbj");
            let mut bytes = fs::read(&extended).unwrap();
            change(&mut bytes);
            fs::remove_file(&extended).unwrap();
            if !bytes.is_empty() {
                fs::write(&extended, bytes).unwrap();
            }
            let database = Database::open(&path, &Options::default()).unwrap();
            let mut found = Vec::new();
            let mut report = |defect: Defect| found.push(defect.to_string());
            database.check(&|_| {}, &mut report).unwrap();
            found
        };
        assert_eq!(found(&|_| {}), [""; 0]);
        assert_eq!(
            found(&Vec::clear),
            [".cbj at 0x0: the file is missing, which says what games have teams and labels"]
        );
        // Another size that is possible, but not for this version.
        assert_eq!(
            found(&|bytes| bytes[4] = 119),
            [
                ".cbj at 0x4: records of 119 bytes are not those of version 11; the file is left aside"
            ]
        );
        assert_eq!(
            found(&|bytes| bytes[4] = 7),
            [".cbj at 0x4: record size 7 is impossible; the file is left aside"]
        );
        // A size that fills the file is that of a version that is not known.
        let longer = |bytes: &mut Vec<u8>| {
            let (head, records) = bytes.split_at(32);
            let records = records.chunks(120);
            let longer = records.flat_map(|record| [record, &[0; 4]].concat());
            *bytes = head.iter().copied().chain(longer).collect();
            bytes[4] = 124;
        };
        assert_eq!(found(&longer), [""; 0]);
    }

    #[test]
    fn a_missing_file_of_teams_or_labels_that_games_refer_to_is_reported_once() {
        let (_folder, path) = samples::copy_of("sample");
        for extension in ["cbe", "cbl"] {
            fs::remove_file(path.with_extension(extension)).unwrap();
        }
        let database = Database::open(&path, &Options::default()).unwrap();
        let found = samples::defects(&database);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [
                ".cbe at the file is missing, to which games refer, first game",
                ".cbl at the file is missing, to which games refer, first game",
            ]
        );
    }

    #[test]
    fn games_that_refer_to_a_file_with_a_damaged_header_are_not_reported() {
        for extension in ["cbp", "cbt", "cbc", "cbs", "cbe", "cbl"] {
            let folder = copy_of_sample();
            let path = folder.path().join("sample.cbh");
            let damaged = path.with_extension(extension);
            let mut bytes = fs::read(&damaged).unwrap();
            bytes.truncate(40);
            bytes[..28].fill(0xee);
            fs::write(&damaged, bytes).unwrap();
            let database = Database::open(&path, &Options::default()).unwrap();
            let mut found = Vec::new();
            let mut report = |defect: Defect| found.push(defect.file);
            database.verify_entities(&mut report).unwrap();
            assert!(!found.contains(&"cbh"), "{extension}: {found:?}");
        }
    }
}
