//! Whether the entity files agree with the games.

use super::lists::Record;
use super::{Database, EntityFile, Error, FileKind, GameId, RecordKind, record_offset};
use crate::cbh::entities::{EntityKind, Kind};
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::{GameRecord, TextRecord};
use crate::cbh::references::{Reference, References, count};
use crate::game::Defect;

/// A reference to a record that is not there.
#[derive(Clone, Copy, Debug)]
struct Dangling {
    game: GameId,
    file: FileKind,
    entity: u32,
}

impl Dangling {
    fn defect(self) -> Defect {
        let Dangling { game, file, entity } = self;
        Defect {
            file: FileKind::Headers.extension(),
            offset: record_offset(game.0),
            what: format!(
                "game {} refers to record {entity} of .{}, which is not there",
                game.0,
                file.extension()
            ),
        }
    }
}

impl Database {
    /// How often the records refer to each entity, by one reading of `.cbh`
    /// and `.cbj`. Takes eight bytes for each entity and is not kept.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn references(&self) -> Result<References, Error> {
        self.count_references(&mut |_| {})
    }

    /// Reports everything in which the entity files do not agree with
    /// themselves or with the games: trees, chains of deleted records,
    /// counts, first games, and games that refer to what is not there.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; what was found before has been reported.
    pub fn verify_entities(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        let references = self.count_references(&mut |dangling| {
            // That its header is damaged is a defect of its own.
            if !self.is_headless(dangling.file) {
                report(dangling.defect());
            }
        })?;
        let of = |kind| references.kinds.of(kind).as_slice();
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
        if let Some(file) = &self.teams {
            self.verify_file(FileKind::Teams, file, of(EntityKind::Team), report)?;
        }
        if let Some(file) = &self.tags {
            self.verify_file(FileKind::Tags, file, &references.tags, report)?;
        }
        Ok(())
    }

    /// Whether the header of a file of entities is damaged.
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

    fn verify_file<K: Kind>(
        &self,
        kind: FileKind,
        file: &EntityFile<K>,
        references: &[Reference],
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

    fn count_references(&self, lost: &mut dyn FnMut(Dangling)) -> Result<References, Error> {
        let mut references = References::default();
        for kind in EntityKind::ALL {
            let count = self
                .count_entities(kind)
                .map_err(|source| self.io(kind.file(), source))?;
            let of_kind = references.kinds.of_mut(kind);
            of_kind.resize(count as usize, Reference::default());
        }
        if let Some(tags) = &self.tags {
            let count = tags
                .count_present()
                .map_err(|source| self.io(FileKind::Tags, source))?;
            let default = Reference::default();
            references.tags.resize(count as usize, default);
        }
        self.scan(1..u32::MAX, true, &mut |record| {
            self.add_references(record, &mut references, lost);
        })?;
        Ok(references)
    }

    /// Counts what one record refers to. Where there is no file of teams or
    /// tags, nothing can be said of them.
    fn add_references(
        &self,
        record: &Record<'_>,
        references: &mut References,
        lost: &mut dyn FnMut(Dangling),
    ) {
        let mut add = |file, list: &mut [Reference], entity| {
            if !count(list, entity, record.id) {
                let game = record.id;
                lost(Dangling { game, file, entity });
            }
        };
        for (kind, entity) in header_references(record).into_iter().flatten() {
            add(kind.file(), references.kinds.of_mut(kind), entity);
        }
        let extended = ExtendedRecord::decode(record.extended);
        let teams = [extended.white_team, extended.black_team];
        for team in teams.into_iter().filter(|_| self.teams.is_some()) {
            if let Ok(team) = u32::try_from(team) {
                let list = references.kinds.of_mut(EntityKind::Team);
                add(FileKind::Teams, list, team);
            }
        }
        if let Ok(tag) = u32::try_from(extended.tag)
            && self.tags.is_some()
        {
            add(FileKind::Tags, &mut references.tags, tag);
        }
    }
}

/// What a record of `.cbh` refers to.
pub(in crate::cbh) fn header_references(record: &Record<'_>) -> [Option<(EntityKind, u32)>; 5] {
    let (players, tournament, annotator, source) = match record.kind {
        RecordKind::Game => match GameRecord::decode(record.bytes) {
            Ok(game) => (
                Some((game.white, game.black)),
                game.tournament,
                game.annotator,
                game.source,
            ),
            Err(_) => return [None; 5],
        },
        RecordKind::Text => match TextRecord::decode(record.bytes) {
            Ok(text) => (None, text.tournament, text.annotator, text.source),
            Err(_) => return [None; 5],
        },
    };
    [
        players.map(|(white, _)| (EntityKind::Player, white)),
        players.map(|(_, black)| (EntityKind::Player, black)),
        Some((EntityKind::Tournament, tournament)),
        Some((EntityKind::Annotator, annotator)),
        Some((EntityKind::Source, source)),
    ]
}
