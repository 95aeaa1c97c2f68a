//! How often the records of a base refer to each entity.

use std::collections::BTreeMap;

use super::database::lists::Record;
use super::entities::{EntityId, EntityKind, PerKind};
use super::save::cast_of;
use super::{FileKind, GameId};

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

/// How often each entity is referred to, by its file and number; as long as
/// the largest number.
pub(super) type Uses = BTreeMap<FileKind, Vec<Reference>>;

/// Ids in `.cbh` have so many bits; larger ones in `.cbj` are damage.
const ID_BITS: u32 = 24;

/// Counts what one record refers to, as that of game `number`.
pub(super) fn add_uses(uses: &mut Uses, record: &Record<'_>, number: GameId) {
    for (file, id) in cast_of(record.id, record.bytes, record.extended) {
        if id >> ID_BITS == 0 {
            let list = uses.entry(file).or_default();
            let len = list.len().max(id as usize + 1);
            list.resize(len, Reference::default());
            count(list, id, number);
        }
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
