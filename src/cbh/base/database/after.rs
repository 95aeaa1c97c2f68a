//! A base after a save: what was read of all of it is brought up to date, and
//! not read again.

use std::sync::Arc;

use super::lists::{Kept, Lists, summary_of};
use super::{Database, Error, GameId};
use crate::cbh::base::crossref::{Crossref, Grouping};
use crate::cbh::base::summary::Summary;
use crate::cbh::entities::{EntityId, EntityKind, PerKind, Which};

/// What a save concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Games of which a record is another.
    pub games: Vec<GameId>,
    /// Entities of which a record is another.
    pub entities: Vec<(EntityKind, EntityId)>,
}

/// What a save made of a game; `None` where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameChange {
    /// What its records said.
    pub before: Option<Summary>,
    /// What they say now.
    pub after: Option<Summary>,
}

/// What a save changed of what is known of all.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The games whose records are others.
    pub games: Vec<GameChange>,
    /// The entities that are called otherwise, came or went.
    pub renamed: Vec<(EntityKind, EntityId)>,
}

impl Database {
    /// What the records of these games say, each read by itself.
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

    /// The base after a save that concerned no more than `effects`, where the
    /// games were as `before` says; and what is another now. Costs nothing
    /// that grows with the base.
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
        next.lists = Lists {
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

    /// The names of a kind, as far as those of `before` were read.
    fn names_after(
        &self,
        before: &Database,
        kind: EntityKind,
        effects: &Effects,
        renamed: &mut Vec<(EntityKind, EntityId)>,
    ) -> Result<Kept<crate::cbh::EntityNames>, Error> {
        let made = before.lists.names.of(kind).made();
        let touched = effects.entities.iter().filter(|(of, _)| *of == kind);
        let Some(mut names) = made else {
            renamed.extend(touched);
            return Ok(Kept::default());
        };
        for (_, id) in touched {
            let now = self.read_names(kind, Which::One(*id))?;
            if Arc::make_mut(&mut names).change(*id, &now) {
                renamed.push((kind, *id));
            }
        }
        Ok(Kept::of(Some(names)))
    }

    /// The games, deleted ones too, that refer to an entity; by one reading of
    /// all records.
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

impl Kept<Crossref> {
    /// The same after a save, if it was made; `entities` of its kind are there
    /// then.
    fn after(&self, changes: &Changes, entities: u32) -> Kept<Crossref> {
        let made = self.made().map(|made| {
            let mut crossref = Crossref::clone(&made);
            for game in &changes.games {
                crossref.change(game.before.as_ref(), game.after.as_ref(), entities);
            }
            Arc::new(crossref)
        });
        Kept::of(made)
    }
}
