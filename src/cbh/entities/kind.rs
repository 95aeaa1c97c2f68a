//! Which kinds of entities there are.

use crate::cbh::FileKind;

/// Number of an entity in the file of its kind, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityId(pub u32);

/// What games have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntityKind {
    /// Who played.
    Player,
    /// In which event.
    Tournament,
    /// Who annotated.
    Annotator,
    /// Where it was published.
    Source,
    /// For which team.
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

    /// The kind that a file holds, if it holds one.
    pub(in crate::cbh) fn of_file(file: FileKind) -> Option<EntityKind> {
        let mut kinds = EntityKind::ALL.into_iter();
        kinds.find(|kind| kind.file() == file)
    }

    /// The file that holds the entities of this kind.
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

/// One of something for each kind.
#[derive(Debug, Default)]
pub(in crate::cbh) struct PerKind<T> {
    players: T,
    tournaments: T,
    annotators: T,
    sources: T,
    teams: T,
}

impl<T> PerKind<T> {
    /// That of `kind`.
    pub(in crate::cbh) fn of(&self, kind: EntityKind) -> &T {
        match kind {
            EntityKind::Player => &self.players,
            EntityKind::Tournament => &self.tournaments,
            EntityKind::Annotator => &self.annotators,
            EntityKind::Source => &self.sources,
            EntityKind::Team => &self.teams,
        }
    }

    /// That of `kind`, to be changed.
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
