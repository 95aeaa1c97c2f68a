//! How often the records of a base refer to each entity.

use std::collections::BTreeMap;

use super::database::lists::Record;
use super::entities::{ENTITY_FILES, EntityId, EntityKind, PerKind, records_present};
use super::save::cast_of;
use super::{Database, Error, FileKind, GameId};

/// What the records of a base say of one entity. Deleted games and texts
/// count, and a player on both sides counts twice: so ChessBase counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// How many references there are.
    pub count: u32,
    /// The first game or text that refers to it.
    pub first: Option<GameId>,
}

impl Reference {
    pub(super) fn add(&mut self, id: GameId) {
        self.count = self.count.saturating_add(1);
        self.first.get_or_insert(id);
    }
}

/// The references to all entities of a base, by kind and id.
#[derive(Debug, Default)]
pub struct References {
    pub(super) kinds: PerKind<Vec<Reference>>,
    pub(super) tags: Vec<Reference>,
}

impl References {
    /// The references to one entity.
    pub fn of(&self, kind: EntityKind, id: EntityId) -> Reference {
        let reference = self.kinds.of(kind).get(id.0 as usize);
        reference.copied().unwrap_or_default()
    }
}

/// How often each entity of a base is referred to, by its file and number.
///
/// Numbers of records that do not lie in the file count nothing: whatever a
/// record of `.cbh` or `.cbj` says, memory is bounded by the files of entities.
#[derive(Debug, Default)]
pub(super) struct Uses {
    files: BTreeMap<FileKind, UsesOfFile>,
}

/// The references to the entities of one file.
#[derive(Debug)]
struct UsesOfFile {
    /// Number of records that lie in the file.
    present: u32,
    /// As long as the largest number that is referred to.
    references: Vec<Reference>,
}

impl Uses {
    /// None yet of the entities of `database`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(super) fn new(database: &Database) -> Result<Uses, Error> {
        let mut uses = Uses::default();
        for file in ENTITY_FILES {
            if let Some(storage) = database.storage(file) {
                let present = records_present(file, storage);
                let of_file = UsesOfFile {
                    present: present.map_err(|source| database.io(file, source))?,
                    references: Vec::new(),
                };
                uses.files.insert(file, of_file);
            }
        }
        Ok(uses)
    }

    /// Counts what one record refers to, as that of game `number`.
    pub(super) fn add(&mut self, record: &Record<'_>, number: GameId) {
        for (file, id) in cast_of(record.id, record.bytes, record.extended) {
            let of_file = self.files.get_mut(&file);
            if let Some(of_file) = of_file.filter(|of_file| id < of_file.present) {
                let len = of_file.references.len().max(id as usize + 1);
                of_file.references.resize(len, Reference::default());
                count(&mut of_file.references, id, number);
            }
        }
    }

    /// The references to the entities of `file`, as long as the largest number
    /// that is referred to.
    pub(super) fn of(&self, file: FileKind) -> &[Reference] {
        self.files
            .get(&file)
            .map_or(&[], |of_file| &of_file.references)
    }
}

/// Counts a reference; `false` if there is no such entity.
pub(super) fn count(references: &mut [Reference], entity: u32, id: GameId) -> bool {
    match references.get_mut(entity as usize) {
        Some(reference) => {
            reference.add(id);
            true
        }
        None => false,
    }
}
