//! The kinds of entities.

use crate::cbh::FileKind;

/// Number of an entity within the file of its kind, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(pub u32);

/// A kind of entity: data that several games share, stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntityKind {
    /// Players.
    Player,
    /// Tournaments and other events.
    Tournament,
    /// Annotators.
    Annotator,
    /// Publications that a game was taken from.
    Source,
    /// Teams.
    Team,
}

impl EntityKind {
    /// All kinds.
    pub const ALL: [EntityKind; 5] = [
        EntityKind::Player,
        EntityKind::Tournament,
        EntityKind::Annotator,
        EntityKind::Source,
        EntityKind::Team,
    ];

    /// The kind that is stored in a file, if it is an entity file.
    pub(in crate::cbh) fn of_file(file: FileKind) -> Option<EntityKind> {
        let mut kinds = EntityKind::ALL.into_iter();
        kinds.find(|kind| kind.file() == file)
    }

    /// The file that stores this kind.
    pub(in crate::cbh) fn file(self) -> FileKind {
        match self {
            EntityKind::Player => FileKind::Players,
            EntityKind::Tournament => FileKind::Tournaments,
            EntityKind::Annotator => FileKind::Annotators,
            EntityKind::Source => FileKind::Sources,
            EntityKind::Team => FileKind::Teams,
        }
    }
}

/// One value for each kind.
#[derive(Debug, Default)]
pub(in crate::cbh) struct PerKind<T> {
    players: T,
    tournaments: T,
    annotators: T,
    sources: T,
    teams: T,
}

impl<T> PerKind<T> {
    /// The value of a kind.
    pub(in crate::cbh) fn of(&self, kind: EntityKind) -> &T {
        match kind {
            EntityKind::Player => &self.players,
            EntityKind::Tournament => &self.tournaments,
            EntityKind::Annotator => &self.annotators,
            EntityKind::Source => &self.sources,
            EntityKind::Team => &self.teams,
        }
    }

    /// The value of a kind, mutable.
    pub(in crate::cbh) fn of_mut(&mut self, kind: EntityKind) -> &mut T {
        match kind {
            EntityKind::Player => &mut self.players,
            EntityKind::Tournament => &mut self.tournaments,
            EntityKind::Annotator => &mut self.annotators,
            EntityKind::Source => &mut self.sources,
            EntityKind::Team => &mut self.teams,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_file_and_a_value_of_its_own() {
        let mut values: PerKind<Option<EntityKind>> = PerKind::default();
        for kind in EntityKind::ALL {
            assert_eq!(EntityKind::of_file(kind.file()), Some(kind));
            *values.of_mut(kind) = Some(kind);
        }
        for kind in EntityKind::ALL {
            assert_eq!(*values.of(kind), Some(kind));
        }
        assert_eq!(EntityKind::of_file(FileKind::Tags), None);
    }
}
