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
        let mut next = self.reopened_with(Some(effects))?;
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
            let before = self.lists.by_entity.of(kind);
            if before.made().is_some() {
                let count = next.count_entities(kind);
                let count = count.map_err(|source| next.io(kind.file(), source))?;
                *next.lists.by_entity.of_mut(kind) = before.after(&changes, count);
            }
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::cbh::base::crossref::GameGroup;
    use crate::cbh::base::samples;
    use crate::cbh::{Decoded, OpenBase, Options, Saver};

    /// The names and the games of each group, and the summaries, of a base.
    fn lists(database: &Database) -> Vec<String> {
        let mut lists = Vec::new();
        let kinds = EntityKind::ALL.map(Grouping::Entity).into_iter();
        for grouping in kinds.chain([Grouping::Eco, Grouping::Year]) {
            let crossref = database.crossref(grouping).unwrap();
            for (group, count) in crossref.groups().unwrap() {
                let games = crossref.games(group).unwrap();
                assert_eq!(games.len(), count);
                for id in games.iter() {
                    assert!(group.has(&database.summary(*id).unwrap()));
                    assert!(crossref.contains(group, *id).unwrap());
                }
                if let GameGroup::Entity(kind, id) = group {
                    assert!(database.has_entity(kind, id).unwrap(), "{group:?}");
                    let all = database.games_naming(kind, id).unwrap();
                    let is_left = |id: &&GameId| !database.summary(**id).unwrap().is_deleted;
                    assert!(all.iter().filter(is_left).eq(games.iter()), "{group:?}");
                }
                lists.push(format!("{group:?} {games:?}"));
            }
        }
        for kind in EntityKind::ALL {
            let (all, live) = (
                database.count_entities(kind),
                database.entities_claimed(kind),
            );
            lists.push(format!("{kind:?} {all:?} {live}"));
            let names = database.entity_names(kind).unwrap();
            for (id, name) in names.iter() {
                let more = (names.title(id), names.place(id), names.number(id));
                lists.push(format!("{kind:?} {id:?} {name} {more:?}"));
            }
        }
        let mut summaries = Vec::new();
        database
            .summaries(GameId(1), u32::MAX, &mut summaries)
            .unwrap();
        lists.extend(summaries.iter().map(|summary| format!("{summary:?}")));
        lists
    }

    #[test]
    fn a_base_after_a_save_has_the_lists_of_one_that_is_opened_anew() {
        for name in ["sample", "headers", "texts", "namesakes", "oldheaders"] {
            // What was not listed before is found then.
            for is_listed in [true, false] {
                let (_folder, path) = samples::copy_of(name);
                let mut base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
                let old = if is_listed {
                    lists(&base.database)
                } else {
                    Vec::new()
                };
                let mut saver = Saver::new(&base.database, SystemTime::UNIX_EPOCH);
                let [mut first, mut last] = [(); 2].map(|()| Decoded::default());
                let ids = (1..=base.database.last_id()).map(GameId);
                let whole: Vec<GameId> = ids
                    .filter(|id| base.database.read_game(*id, &mut last).is_ok())
                    .collect();
                base.database.read_game(whole[0], &mut first).unwrap();
                let mut edited = last.game.clone();
                edited.headers.white.last = "Nobody Yet".to_owned();
                edited.headers.date.year = 1234;
                saver.replace(whole[0], &edited).unwrap();
                saver.append(&first.game).unwrap();
                saver.set_deleted(whole[1], true).unwrap();
                let plan = saver.finish().unwrap();
                let before = base.database.summaries_of(&plan.effects.games).unwrap();
                base.store.commit(&plan.transaction).unwrap();
                let (next, changes) = base.database.after(&plan.effects, &before).unwrap();
                base.reopen(&path).unwrap();
                let fresh = lists(&base.database);
                assert_eq!(lists(&next), fresh, "{name}");
                assert_ne!(old, fresh);
                let id = |summary: Option<Summary>| summary.map(|game| game.id);
                let games = changes.games.iter();
                let changed: Vec<_> = games
                    .map(|game| (id(game.before), id(game.after)))
                    .collect();
                let new = GameId(plan.last_id);
                let [one, other] = [whole[0], whole[1]].map(|id| (Some(id), Some(id)));
                assert_eq!(changed, [one, other, (None, Some(new))], "{name}");
                // Of names that were listed only new and lost ones count.
                let mut renamed = changes.renamed.iter();
                assert!(!changes.renamed.is_empty());
                let are_players = renamed.all(|(kind, _)| *kind == EntityKind::Player);
                assert_eq!(are_players, is_listed, "{name}");
            }
        }
    }
}
