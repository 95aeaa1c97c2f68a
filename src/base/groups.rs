//! Which games have something in common, and what that is called.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::once::ReadOnce;
use super::{Base, Error};
use crate::cbh::{Changes, Crossref, EntityId, EntityKind, EntityNames, GameGroup, GameId};
use crate::names::FileNames;

/// The entities of one kind, with their names.
#[derive(Debug)]
struct NamedEntities {
    names: Arc<EntityNames>,
    /// Only listing and look-up want them.
    file_names: OnceLock<FileNames>,
}

/// What is known of the groups of a base's games, worked out when first
/// asked.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    entities: [ReadOnce<Arc<NamedEntities>>; EntityKind::ALL.len()],
    /// How many entities of a kind were asked for one by one.
    asked: [AtomicU32; EntityKind::ALL.len()],
}

/// Of so many entities of a base one is asked for alone before all are read.
const PER_QUESTION: u32 = 32;

impl Groups {
    /// The entities of a kind.
    fn entities(&self, base: &dyn Base, kind: EntityKind) -> Result<&NamedEntities, Error> {
        #[expect(clippy::indexing_slicing, reason = "there is one for each kind")]
        let entities = self.entities[kind as usize].get_or_read(|| {
            let names = base.entity_names(kind)?;
            let file_names = OnceLock::new();
            Ok::<_, Error>(Arc::new(NamedEntities { names, file_names }))
        });
        entities.map(AsRef::as_ref)
    }

    /// The same after a save. What the entities of a kind are called is worked
    /// out anew where one of them came, went or got another name.
    pub(crate) fn after(&self, changes: &Changes) -> Groups {
        let is_renamed = |kind: EntityKind| changes.renamed.iter().any(|(of, _)| *of == kind);
        let mut after = Groups::default();
        for (kind, (old, new)) in EntityKind::ALL
            .into_iter()
            .zip(self.entities.iter().zip(&mut after.entities))
        {
            if !is_renamed(kind) {
                new.clone_from(old);
            }
        }
        after
    }

    /// Those of a kind that are listed, if they have games.
    pub(crate) fn named<'g>(
        &'g self,
        base: &dyn Base,
        kind: EntityKind,
    ) -> Result<Named<'g>, Error> {
        let entities = self.entities(base, kind)?;
        let names = &entities.names;
        let all = || names.iter().map(|(id, name)| (id.0, name));
        let file_names = entities.file_names.get_or_init(|| FileNames::new(all));
        Ok(Named { names, file_names })
    }

    /// Whether there is such a player, such a team … In a large base the first
    /// ones are asked for alone: a look at a few games does not wait for all
    /// names.
    pub(crate) fn has_entity(
        &self,
        base: &dyn Base,
        kind: EntityKind,
        id: EntityId,
    ) -> Result<bool, Error> {
        let at = kind as usize;
        let is_read = self
            .entities
            .get(at)
            .is_some_and(|read| read.get().is_some());
        let most = base.entities_claimed(kind) / PER_QUESTION;
        let is_early = |asked: &AtomicU32| asked.fetch_add(1, Relaxed) < most;
        if !is_read
            && self.asked.get(at).is_some_and(is_early)
            && let Ok(has_entity) = base.has_entity(kind, id)
        {
            return Ok(has_entity);
        }
        Ok(self.entities(base, kind)?.names.contains(id))
    }

    /// What players are called.
    pub(crate) fn player_names(&self, base: &dyn Base) -> Result<&EntityNames, Error> {
        let players = self.entities(base, EntityKind::Player)?;
        Ok(&players.names)
    }

    /// The games of `group`, ascending. None if what they have in common is
    /// not there.
    pub(crate) fn games(&self, base: &dyn Base, group: GameGroup) -> Result<GamesOf, Error> {
        let is_there = match group {
            GameGroup::Entity(kind, id) => self.has_entity(base, kind, id)?,
            GameGroup::Eco(_) | GameGroup::Year(_) => true,
        };
        let crossref = if is_there {
            Some(base.crossref(group.grouping())?)
        } else {
            None
        };
        Ok(GamesOf { crossref, group })
    }
}

/// The games of one group.
#[derive(Debug)]
pub(crate) struct GamesOf {
    crossref: Option<Arc<Crossref>>,
    group: GameGroup,
}

impl GamesOf {
    /// Those with a higher number than `id`, ascending.
    pub(crate) fn after(&self, id: GameId) -> impl Iterator<Item = Result<GameId, Error>> {
        let crossref = self.crossref.iter();
        crossref.flat_map(move |crossref| crossref.iter_after(self.group, id))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> Result<bool, Error> {
        let crossref = self.crossref.as_ref();
        crossref.map_or(Ok(true), |crossref| crossref.is_empty(self.group))
    }

    /// Whether the game is one of them.
    pub(crate) fn contains(&self, id: GameId) -> Result<bool, Error> {
        let crossref = self.crossref.as_ref();
        crossref.map_or(Ok(false), |crossref| crossref.contains(self.group, id))
    }
}

/// The entities of one kind, with file names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'g> {
    names: &'g EntityNames,
    file_names: &'g FileNames,
}

impl Named<'_> {
    /// All ids lie below this.
    pub(crate) fn bound(&self) -> u32 {
        self.names.bound()
    }

    /// The file name of this one, if there is one.
    pub(crate) fn file_name(&self, id: EntityId) -> Option<String> {
        Some(self.file_names.of(id.0, self.names.get(id)?))
    }

    /// The one of this file name.
    pub(crate) fn find(&self, file_name: &[u8]) -> Option<EntityId> {
        let file_name = std::str::from_utf8(file_name).ok()?;
        let name_of = |id| self.names.get(EntityId(id));
        self.file_names.find(file_name, name_of).map(EntityId)
    }
}
