//! Counts of the references to each entity.

use std::collections::BTreeMap;

use crate::cbh::base::database::lists::RecordPair;
use crate::cbh::entities::{ENTITY_FILES, EntityId, EntityKind, PerKind, records_present};
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::{self, TextRecord};
use crate::cbh::{Database, Error, FileKind, GameId, RecordKind};

/// An entity by its file and id.
pub(in crate::cbh) type EntityRef = (FileKind, u32);

/// The files of entities that only records of `.cbj` refer to.
pub(in crate::cbh) const OF_EXTENDED: [FileKind; 2] = [FileKind::Teams, FileKind::Tags];

/// Returns the entities that the records of a game or text in `.cbh` and `.cbj`
/// refer to, existing or not.
#[inline]
pub(in crate::cbh) fn referred(bytes: &[u8], extended: &[u8]) -> impl Iterator<Item = EntityRef> {
    let of_header = header_references(bytes);
    let of_extended = if of_header.is_some() && !extended.is_empty() {
        extended_references(extended)
    } else {
        [None; 3]
    };
    let of_header = of_header.unwrap_or_default();
    of_header.into_iter().chain(of_extended).flatten()
}

/// Returns the entities that a record of `.cbh` refers to; none if it is
/// damaged.
#[inline]
fn header_references(bytes: &[u8]) -> Option<[Option<EntityRef>; 5]> {
    let (kind, _) = record::decode_kind(bytes)?;
    let (players, tournament, annotator, source) = match kind {
        RecordKind::Game => match record::entities_of_game(bytes) {
            Some([white, black, tournament, annotator, source]) => {
                (Some((white, black)), tournament, annotator, source)
            }
            None => return Some([None; 5]),
        },
        RecordKind::Text => match TextRecord::decode(bytes) {
            Ok(text) => (None, text.tournament, text.annotator, text.source),
            Err(_) => return Some([None; 5]),
        },
    };
    Some([
        players.map(|(white, _)| (FileKind::Players, white)),
        players.map(|(_, black)| (FileKind::Players, black)),
        Some((FileKind::Tournaments, tournament)),
        Some((FileKind::Annotators, annotator)),
        Some((FileKind::Sources, source)),
    ])
}

/// Returns the entities that a record of `.cbj` refers to.
fn extended_references(extended: &[u8]) -> [Option<EntityRef>; 3] {
    let extended = ExtendedRecord::decode(extended);
    [
        (FileKind::Teams, extended.white_team),
        (FileKind::Teams, extended.black_team),
        (FileKind::Tags, extended.tag),
    ]
    .map(|(file, id)| Some((file, u32::try_from(id).ok()?)))
}

/// The references to one entity. Deleted games and texts count, and a player on
/// both sides counts twice, as ChessBase counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReferenceCount {
    /// Number of references.
    pub count: u32,
    /// The first game or text with a reference.
    pub first: Option<GameId>,
}

impl ReferenceCount {
    pub(in crate::cbh) fn add(&mut self, id: GameId) {
        self.count = self.count.saturating_add(1);
        self.first.get_or_insert(id);
    }
}

/// The references to all entities of a base, by kind and id.
#[derive(Debug, Default)]
pub struct References {
    pub(in crate::cbh) kinds: PerKind<Vec<ReferenceCount>>,
    pub(in crate::cbh) tags: Vec<ReferenceCount>,
}

impl References {
    /// The references to one entity.
    pub fn of(&self, kind: EntityKind, id: EntityId) -> ReferenceCount {
        let reference = self.kinds.of(kind).get(id.0 as usize);
        reference.copied().unwrap_or_default()
    }

    /// The references to the entities of a file.
    fn of_file(&mut self, file: FileKind) -> Option<&mut Vec<ReferenceCount>> {
        if file == FileKind::Tags {
            return Some(&mut self.tags);
        }
        let kind = EntityKind::ALL.into_iter().find(|kind| kind.file() == file);
        kind.map(|kind| self.kinds.of_mut(kind))
    }
}

/// A reference to an entity that does not exist.
#[derive(Clone, Copy, Debug)]
pub(in crate::cbh) struct Dangling {
    pub(in crate::cbh) game: GameId,
    pub(in crate::cbh) entity: EntityRef,
}

impl Database {
    /// Returns whether there are teams or labels, but no `.cbj` that says which
    /// games have them.
    pub(in crate::cbh) fn lacks_extended(&self) -> Result<bool, Error> {
        if self.family().path(FileKind::Extended).is_some() {
            return Ok(false);
        }
        for file in OF_EXTENDED {
            if let Some(storage) = self.storage(file)
                && records_present(file, storage).map_err(|source| self.io(file, source))? > 0
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Counts the references to each entity by a scan of `.cbh` and `.cbj`. It
    /// takes eight bytes per entity and is not cached.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn references(&self) -> Result<References, Error> {
        self.count_references(&mut |_| {})
    }

    /// As [`references`](Database::references). Dangling references are passed
    /// to `lost`, also those to a file that is missing.
    pub(in crate::cbh) fn count_references(
        &self,
        lost: &mut dyn FnMut(Dangling),
    ) -> Result<References, Error> {
        let mut references = References::default();
        for kind in EntityKind::ALL {
            let count = self.count_entities(kind);
            let count = count.map_err(|source| self.io(kind.file(), source))?;
            let of_kind = references.kinds.of_mut(kind);
            of_kind.resize(count as usize, ReferenceCount::default());
        }
        if let Some(tags) = &self.tags {
            let count = tags.count_present();
            let count = count.map_err(|source| self.io(FileKind::Tags, source))?;
            references
                .tags
                .resize(count as usize, ReferenceCount::default());
        }
        self.scan(1..u32::MAX, true, &mut |record| {
            for (file, id) in referred(record.bytes, record.extended) {
                let Some(list) = references.of_file(file) else {
                    continue;
                };
                if !count(list, id, record.id) {
                    let game = record.id;
                    lost(Dangling {
                        game,
                        entity: (file, id),
                    });
                }
            }
        })?;
        Ok(references)
    }
}

/// The references to each entity of a base, by its file and id.
///
/// Ids beyond the end of an entity file are not counted, so memory is bounded
/// by the entity files.
#[derive(Clone, Debug, Default)]
pub(in crate::cbh) struct ReferenceCounts {
    files: BTreeMap<FileKind, FileReferences>,
}

/// The references to the entities of one file.
#[derive(Clone, Debug)]
struct FileReferences {
    /// Number of records in the file.
    present: u32,
    /// Its length is the largest referenced id + 1.
    references: Vec<ReferenceCount>,
}

impl ReferenceCounts {
    /// Empty counts for the entities of `database`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(in crate::cbh) fn new(database: &Database) -> Result<ReferenceCounts, Error> {
        let mut uses = ReferenceCounts::default();
        for file in ENTITY_FILES {
            if let Some(storage) = database.storage(file) {
                let present = records_present(file, storage);
                let of_file = FileReferences {
                    present: present.map_err(|source| database.io(file, source))?,
                    references: Vec::new(),
                };
                uses.files.insert(file, of_file);
            }
        }
        Ok(uses)
    }

    /// Counts the references of one record, that of game `number`.
    pub(in crate::cbh) fn add(&mut self, record: &RecordPair<'_>, number: GameId) {
        for name in referred(record.bytes, record.extended) {
            self.add_one(name, number);
        }
    }

    /// Counts a reference of game `number`. Returns `false` if the entity has no
    /// record.
    #[inline]
    pub(in crate::cbh) fn add_one(&mut self, (file, id): EntityRef, number: GameId) -> bool {
        let of_file = self.files.get_mut(&file);
        let Some(of_file) = of_file.filter(|of_file| id < of_file.present) else {
            return false;
        };
        let references = &mut of_file.references;
        if references.len() <= id as usize {
            references.resize(id as usize + 1, ReferenceCount::default());
        }
        count(references, id, number)
    }

    /// Adds the references of later records.
    pub(in crate::cbh) fn extend(&mut self, later: &ReferenceCounts) {
        for (file, later) in &later.files {
            let Some(of_file) = self.files.get_mut(file) else {
                continue;
            };
            let references = &mut of_file.references;
            let len = references.len().max(later.references.len());
            references.resize(len, ReferenceCount::default());
            for (reference, later) in references.iter_mut().zip(&later.references) {
                reference.count = reference.count.saturating_add(later.count);
                reference.first = reference.first.or(later.first);
            }
        }
    }

    /// The references to the entities of `file`, up to the largest referenced
    /// id.
    pub(in crate::cbh) fn of(&self, file: FileKind) -> &[ReferenceCount] {
        self.files
            .get(&file)
            .map_or(&[], |of_file| &of_file.references)
    }
}

/// Counts a reference. Returns `false` if the entity does not exist.
fn count(references: &mut [ReferenceCount], entity: u32, id: GameId) -> bool {
    match references.get_mut(entity as usize) {
        Some(reference) => {
            reference.add(id);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::samples;

    fn opened(path: &std::path::Path) -> Database {
        Database::open(path, &Options::default()).unwrap()
    }

    #[test]
    fn references_are_counted_from_the_first_game_on() {
        let mut references = vec![ReferenceCount::default(); 2];
        for (entity, game, is_there) in [(1, 4, true), (1, 6, true), (2, 7, false), (0, 9, true)] {
            assert_eq!(count(&mut references, entity, GameId(game)), is_there);
        }
        let found = references.iter().map(|of| (of.count, of.first.unwrap().0));
        assert_eq!(found.collect::<Vec<_>>(), [(1, 9), (2, 4)]);
    }

    #[test]
    fn both_counts_of_a_base_agree() {
        let database = opened("fixtures/cbh/sample/sample.cbh".as_ref());
        let mut lost = 0;
        let mut all = database.count_references(&mut |_| lost += 1).unwrap();
        assert_eq!(lost, 0);
        let mut counts = ReferenceCounts::new(&database).unwrap();
        let mut add = |record: &RecordPair<'_>| counts.add(record, record.id);
        database.scan(1..u32::MAX, true, &mut add).unwrap();
        let mut total = 0;
        for file in ENTITY_FILES {
            let (some, whole) = (counts.of(file), all.of_file(file).unwrap());
            assert_eq!(some, &whole[..some.len()], "{file:?}");
            assert!(whole[some.len()..].iter().all(|rest| rest.count == 0));
            total += some.iter().map(|of| of.count).sum::<u32>();
        }
        assert!(total > 20, "{total}");
        let player = all.of(EntityKind::Player, EntityId(0));
        assert!(player.count > 0 && player == counts.of(FileKind::Players)[0]);
        let missing = all.of(EntityKind::Player, EntityId(9999));
        assert_eq!(missing, ReferenceCount::default());
        assert!(all.of_file(FileKind::Moves).is_none());
    }

    #[test]
    fn teams_and_labels_whose_games_only_a_missing_cbj_knows_are_noticed() {
        let (_folder, path) = samples::copy_of("sample");
        assert!(!opened(&path).lacks_extended().unwrap());
        fs::remove_file(path.with_extension("cbj")).unwrap();
        let has_some = opened(&path).lacks_extended().unwrap();
        for extension in ["cbe", "cbl"] {
            let _ = fs::remove_file(path.with_extension(extension));
        }
        assert!(!opened(&path).lacks_extended().unwrap());
        assert!(has_some);
    }
}
