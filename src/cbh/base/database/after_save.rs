//! Updates an open base after a save, without reading all of it again.

use std::sync::Arc;

use super::lists::{Cached, CachedLists, summary_of};
use super::{Database, Error, GameId};
use crate::cbh::base::crossref::{Crossref, Grouping};
use crate::cbh::base::summary::Summary;
use crate::cbh::entities::{EntityId, EntityKind, PerKind, Which};

/// The games and entities that a save affects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Games with a changed record.
    pub games: Vec<GameId>,
    /// Entities with a changed record.
    pub entities: Vec<(EntityKind, EntityId)>,
}

/// A game before and after a save; `None` where it does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameChange {
    /// The summary before the save.
    pub before: Option<Summary>,
    /// The summary after the save.
    pub after: Option<Summary>,
}

/// Changes of the lists of all games and names by a save.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The games with a changed record.
    pub games: Vec<GameChange>,
    /// The entities that were renamed, added or removed.
    pub renamed: Vec<(EntityKind, EntityId)>,
}

impl Database {
    /// Returns the summaries of these games, with one read each.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn summaries_of(&self, games: &[GameId]) -> Result<Vec<Option<Summary>>, Error> {
        let summary = |id: &GameId| match self.summary(*id) {
            Ok(summary) => Ok(Some(summary)),
            Err(Error::NotUsed(_)) => Ok(None),
            Err(error) => Err(error),
        };
        games.iter().map(summary).collect()
    }

    /// Returns the base after a save that affected only `effects`, and the
    /// changes from the summaries `before`. The cost does not grow with the
    /// base.
    ///
    /// # Errors
    ///
    /// As [`open_in`](Database::open_in).
    pub fn after(
        &self,
        effects: &Effects,
        before: &[Option<Summary>],
    ) -> Result<(Database, Changes), Error> {
        let mut next = self.reopened()?;
        let after = next.summaries_of(&effects.games)?;
        let games = before.iter().copied().zip(after);
        let mut changes = Changes {
            games: games
                .map(|(before, after)| GameChange { before, after })
                .collect(),
            renamed: Vec::new(),
        };
        next.lists = CachedLists {
            names: PerKind::default(),
            by_entity: PerKind::default(),
            by_eco: self.lists.by_eco.after(&changes, 0),
            by_year: self.lists.by_year.after(&changes, 0),
        };
        for kind in EntityKind::ALL {
            let count = next.count_entities(kind);
            let count = count.map_err(|source| next.io(kind.file(), source))?;
            *next.lists.by_entity.of_mut(kind) =
                self.lists.by_entity.of(kind).after(&changes, count);
            let names = next.names_after(self, kind, effects, &mut changes.renamed)?;
            *next.lists.names.of_mut(kind) = names;
        }
        Ok((next, changes))
    }

    /// Returns the names of a kind after the save, if those of `before` were
    /// read.
    fn names_after(
        &self,
        before: &Database,
        kind: EntityKind,
        effects: &Effects,
        renamed: &mut Vec<(EntityKind, EntityId)>,
    ) -> Result<Cached<crate::cbh::EntityNames>, Error> {
        let made = before.lists.names.of(kind).made();
        let touched = effects.entities.iter().filter(|(of, _)| *of == kind);
        let Some(mut names) = made else {
            renamed.extend(touched);
            return Ok(Cached::default());
        };
        for (_, id) in touched {
            let now = self.read_names(kind, Which::One(*id))?;
            if Arc::make_mut(&mut names).change(*id, &now) {
                renamed.push((kind, *id));
            }
        }
        Ok(Cached::of(Some(names)))
    }

    /// Returns the games, deleted ones included, that refer to an entity, by a
    /// scan of all records.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn games_naming(&self, kind: EntityKind, id: EntityId) -> Result<Vec<GameId>, Error> {
        let mut games = Vec::new();
        let with_extended = kind == EntityKind::Team;
        self.scan(1..u32::MAX, with_extended, &mut |record| {
            let summary = summary_of(record);
            if summary.is_some_and(|game| Grouping::Entity(kind).has(&game, id)) {
                games.push(record.id);
            }
        })?;
        Ok(games)
    }
}

impl Cached<Crossref> {
    /// Returns the crossref after a save, if there was one. The base then has
    /// `entities` of its kind.
    fn after(&self, changes: &Changes, entities: u32) -> Cached<Crossref> {
        let made = self.made().map(|made| {
            let mut crossref = Crossref::clone(&made);
            for game in &changes.games {
                crossref.change(game.before.as_ref(), game.after.as_ref(), entities);
            }
            Arc::new(crossref)
        });
        Cached::of(made)
    }
}
