//! Entities merged: games and texts that refer to one refer to another.

use std::ops::Range;

use shakmaty::Color;

use super::headers::GameRecords;
use super::{SaveError, Saver, decode_record};
use crate::cbh::entities::{EntityId, EntityKind};
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::{self, CIRCUMSTANCES, GameRecord, RECORD_BYTES, TextRecord};
use crate::cbh::{FileKind, GameId, RecordKind};
use crate::storage::marked;

/// A place of a game or text that names an entity of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceSite {
    /// The game or text.
    pub game: GameId,
    /// The side, of players and teams.
    pub side: Option<Color>,
    /// The entity.
    pub entity: EntityId,
}

/// The places of a game, or of a text, for entities of a kind, each with its id.
/// Of two, the first is White's.
type Places<'r> = [Option<&'r mut u32>; 2];

impl Saver<'_> {
    /// Replaces references to entities of a kind in the games and texts with these
    /// numbers: `other` returns the new entity for a reference, or `None` to keep it.
    /// Returns the replaced references as they were. Entities that have lost their last
    /// reference are removed. This must be the first change to games in a save.
    ///
    /// # Errors
    ///
    /// [`SaveError`], also if no entity has an id that `other` gives.
    pub fn replace_references(
        &mut self,
        kind: EntityKind,
        games: Range<u32>,
        other: &mut dyn FnMut(ReferenceSite) -> Option<EntityId>,
    ) -> Result<Vec<ReferenceSite>, SaveError> {
        self.ensure_sound()?;
        let mut found: Vec<(ReferenceSite, EntityId)> = Vec::new();
        let with_extended = kind == EntityKind::Team;
        self.database.scan(games, with_extended, &mut |record| {
            let Ok(bytes) = <[u8; RECORD_BYTES]>::try_from(record.bytes) else {
                return;
            };
            let Ok(mut read) = Records::decode(&bytes, record.extended) else {
                return;
            };
            for (mention, _) in read.mentions(kind, record.id) {
                found.extend(other(mention).map(|other| (mention, other)));
            }
        })?;
        for of_game in found.chunk_by(|(one, _), (next, _)| one.game == next.game) {
            self.mention(kind, of_game)?;
        }
        Ok(found.into_iter().map(|(mention, _)| mention).collect())
    }

    /// Returns a number that tells a game from others: of its stamp of creation, which no
    /// other has and no save changes, or else of its date, result, round and ratings.
    ///
    /// # Errors
    ///
    /// [`SaveError`], also if there is no such record.
    pub fn stamp_of(&self, id: GameId) -> Result<u32, SaveError> {
        let extended = self.database.extended_bytes(id)?;
        let extended = ExtendedRecord::decode(extended.as_deref().unwrap_or_default());
        let mark = if extended.created == 0 {
            let bytes = self.database.header_bytes(id)?;
            match record::decode_kind(&bytes) {
                Some((RecordKind::Text, _)) => 0,
                _ => marked(1, bytes.get(CIRCUMSTANCES).unwrap_or_default()),
            }
        } else {
            marked(0, &extended.created.to_le_bytes())
        };
        let [.., a, b, c, d] = mark.to_be_bytes();
        Ok(u32::from_be_bytes([a, b, c, d]))
    }

    /// Returns the name of an entity.
    ///
    /// # Errors
    ///
    /// [`SaveError::Entity`] if no entity has the id.
    pub fn entity_name(&mut self, kind: EntityKind, id: EntityId) -> Result<String, SaveError> {
        Ok(self.entity(kind.file(), id)?.name())
    }

    /// Returns the data of the record of an entity, see
    /// [`EncodedEntity`](crate::cbh::EncodedEntity).
    ///
    /// # Errors
    ///
    /// [`SaveError::Entity`] if no entity has the id.
    pub fn entity_data(&mut self, kind: EntityKind, id: EntityId) -> Result<Vec<u8>, SaveError> {
        self.entities.data((kind.file(), id.0))
    }

    /// Returns the entity whose record has the key of such data.
    ///
    /// # Errors
    ///
    /// [`SaveError::Entity`].
    pub fn find_entity_data(
        &mut self,
        kind: EntityKind,
        data: &[u8],
    ) -> Result<Option<EntityId>, SaveError> {
        Ok(self.entities.find(kind.file(), data)?.map(EntityId))
    }

    /// The same; where there is none, adds one, which must be mentioned then.
    ///
    /// # Errors
    ///
    /// [`SaveError::Entity`].
    pub fn entity_of_data(&mut self, kind: EntityKind, data: &[u8]) -> Result<EntityId, SaveError> {
        Ok(EntityId(self.entities.find_or_restore(kind.file(), data)?))
    }

    /// Changes the mentions of one game or text.
    fn mention(
        &mut self,
        kind: EntityKind,
        changes: &[(ReferenceSite, EntityId)],
    ) -> Result<(), SaveError> {
        let Some((ReferenceSite { game: id, .. }, _)) = changes.first() else {
            return Ok(());
        };
        let id = *id;
        if self.records.contains_key(&id.0) {
            return Err(SaveError::Again(id));
        }
        let mut bytes = self.database.header_bytes(id)?;
        let extended = self.database.extended_bytes(id)?;
        let extended = extended.as_deref().unwrap_or_default();
        let before = Records::decode(&bytes, extended)?;
        let mut after = before;
        for (mention, place) in after.mentions(kind, id) {
            if let Some((_, other)) = changes.iter().find(|(it, _)| *it == mention) {
                *place = other.0;
            }
        }
        self.is_changed = true;
        let (old, new) = (before.entities(), after.entities());
        self.entities.change_references(id, old, new);
        match after {
            Records::Text(text) => {
                let encoded = text.encode(&mut bytes);
                encoded.map_err(SaveError::malformed(FileKind::Headers))?;
                self.records.insert(id.0, bytes);
            }
            Records::Game(after, teams) => {
                self.put_record(id, bytes, &after.record)?;
                if let (Records::Game(before, _), EntityKind::Team) = (before, kind) {
                    let after = ExtendedRecord {
                        white_team: team(teams[0]),
                        black_team: team(teams[1]),
                        ..after.extended
                    };
                    self.put_extended(id, &before.extended, &after)?;
                }
            }
        }
        Ok(())
    }
}

/// The records of a game or text.
#[derive(Clone, Copy, Debug)]
enum Records {
    /// The teams of a game are those that it has.
    Game(GameRecords, [Option<u32>; 2]),
    Text(TextRecord),
}

impl Records {
    fn decode(bytes: &[u8; RECORD_BYTES], extended: &[u8]) -> Result<Records, SaveError> {
        let malformed = SaveError::malformed(FileKind::Headers);
        if let Some((RecordKind::Text, _)) = record::decode_kind(bytes) {
            return Ok(Records::Text(TextRecord::decode(bytes).map_err(malformed)?));
        }
        let extended = ExtendedRecord::decode(extended);
        let teams = [extended.white_team, extended.black_team];
        let record = decode_record(bytes)?;
        let teams = teams.map(|team| u32::try_from(team).ok());
        Ok(Records::Game(GameRecords { record, extended }, teams))
    }

    /// The entities that they refer to.
    fn entities(&self) -> Vec<(FileKind, u32)> {
        match self {
            Records::Game(game, teams) => {
                let mut game = *game;
                game.extended.white_team = team(teams[0]);
                game.extended.black_team = team(teams[1]);
                game.entities()
            }
            Records::Text(text) => vec![
                (FileKind::Tournaments, text.tournament),
                (FileKind::Annotators, text.annotator),
                (FileKind::Sources, text.source),
            ],
        }
    }

    fn places(&mut self, kind: EntityKind) -> Places<'_> {
        match self {
            Records::Game(GameRecords { record, .. }, teams) => {
                let [white_team, black_team] = teams;
                let GameRecord {
                    white,
                    black,
                    tournament,
                    annotator,
                    source,
                    ..
                } = record;
                match kind {
                    EntityKind::Player => [Some(white), Some(black)],
                    EntityKind::Tournament => [Some(tournament), None],
                    EntityKind::Annotator => [Some(annotator), None],
                    EntityKind::Source => [Some(source), None],
                    EntityKind::Team => [white_team.as_mut(), black_team.as_mut()],
                }
            }
            Records::Text(text) => match kind {
                EntityKind::Player | EntityKind::Team => [None, None],
                EntityKind::Tournament => [Some(&mut text.tournament), None],
                EntityKind::Annotator => [Some(&mut text.annotator), None],
                EntityKind::Source => [Some(&mut text.source), None],
            },
        }
    }

    /// The mentions of a kind, each with the place of its id.
    fn mentions(
        &mut self,
        kind: EntityKind,
        game: GameId,
    ) -> impl Iterator<Item = (ReferenceSite, &mut u32)> {
        let has_sides = matches!(kind, EntityKind::Player | EntityKind::Team);
        let sides = [Color::White, Color::Black].map(|side| has_sides.then_some(side));
        let places = self.places(kind).into_iter().zip(sides);
        places.filter_map(move |(place, side)| {
            let place = place?;
            let entity = EntityId(*place);
            let mention = ReferenceSite { game, side, entity };
            Some((mention, place))
        })
    }
}

/// A team as a record of `.cbj` has it.
fn team(id: Option<u32>) -> i32 {
    id.and_then(|id| i32::try_from(id).ok()).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::cbh::base::samples;
    use crate::cbh::{Database, OpenBase, Options};

    type Mention = (ReferenceSite, String);

    /// All mentions of a kind, each with the name of the entity.
    fn mentions(database: &Database, kind: EntityKind) -> Vec<Mention> {
        let mut saver = Saver::new(database, SystemTime::UNIX_EPOCH);
        let mut mentions = Vec::new();
        let mut note = |site| {
            mentions.push(site);
            None
        };
        let replaced = saver.replace_references(kind, 1..u32::MAX, &mut note);
        assert!(replaced.unwrap().is_empty());
        let named = mentions.into_iter().map(|site| {
            let name = saver.entity_name(kind, site.entity).unwrap();
            (site, name)
        });
        named.collect()
    }

    fn saved(base: &mut OpenBase, saver: impl FnOnce(&mut Saver<'_>)) {
        let mut edit = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
        saver(&mut edit);
        let plan = edit.finish().unwrap();
        base.store.commit(&plan.transaction).unwrap();
        let path = base.database.family().default_path(FileKind::Headers);
        base.reopen(&path).unwrap();
        assert!(samples::defects(&base.database).is_empty());
    }

    #[test]
    fn mentions_of_an_entity_become_those_of_another_and_again_its_own() {
        let kinds = EntityKind::ALL.into_iter();
        let cases = kinds.flat_map(|kind| ["sample", "headers", "texts"].map(|name| (name, kind)));
        let mut merged = 0;
        for (name, kind) in cases {
            let (_folder, path) = samples::copy_of(name);
            let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let before = mentions(&base.database, kind);
            let Some(entity) = before.first().map(|(site, _)| site.entity) else {
                continue;
            };
            let Some((other, _)) = before.iter().find(|(site, _)| site.entity != entity) else {
                continue;
            };
            let all = 1..u32::MAX;
            let mut data = Vec::new();
            saved(&mut base, |saver| {
                data = saver.entity_data(kind, entity).unwrap();
                let merge = |site: ReferenceSite| (site.entity == entity).then_some(other.entity);
                let replaced = saver.replace_references(kind, all.clone(), &mut { merge });
                let sites = before.iter().map(|(site, _)| *site);
                let wanted: Vec<_> = sites.filter(|site| site.entity == entity).collect();
                assert_eq!(replaced.unwrap(), wanted);
            });
            merged += 1;
            let now = mentions(&base.database, kind);
            assert_eq!(now.len(), before.len());
            for ((site, now), (was, old)) in now.iter().zip(&before) {
                assert_eq!((site.game, site.side), (was.game, was.side));
                let is_merged = was.entity == entity;
                assert_eq!(
                    site.entity,
                    if is_merged { other.entity } else { was.entity }
                );
                assert!(is_merged || now == old, "{name} {old}");
            }
            saved(&mut base, |saver| {
                assert_eq!(saver.find_entity_data(kind, &data).unwrap(), None);
                let again = saver.entity_of_data(kind, &data).unwrap();
                assert_eq!(saver.find_entity_data(kind, &data).unwrap(), Some(again));
                let mut part = |site: ReferenceSite| {
                    let is_there =
                        |was: &ReferenceSite| (was.game, was.side) == (site.game, site.side);
                    let was = before.iter().find(|(was, _)| is_there(was));
                    was.filter(|(was, _)| was.entity == entity).map(|_| again)
                };
                saver
                    .replace_references(kind, all.clone(), &mut part)
                    .unwrap();
            });
            let told = |mentions: Vec<Mention>| -> Vec<_> {
                let told = mentions.into_iter();
                told.map(|(site, name)| (site.game, site.side, name))
                    .collect()
            };
            assert_eq!(told(mentions(&base.database, kind)), told(before));
        }
        assert!(merged > 10, "{merged}");
    }
}
