//! Directories of players, tournaments and the like renamed: what the new name
//! says.

use std::fs;

use super::DatabaseVolume;
use super::change::{inos, refusal};
use super::directories::Entities;
use super::groups::group_of;
use crate::base::{ALL_GAMES, Merged};
use crate::cbh::{EntityId, EntityKind, FileKind, GameGroup};
use crate::fs::{ChangedTexts, Error, Ino, Refusal, Saved};
use crate::names;

/// Of an entity with more games it is not told which texts change.
const MOST_TOUCHED: usize = 10_000;

impl DatabaseVolume {
    /// Gives an entity another name, in all its games.
    pub(super) fn rename_entity(
        &self,
        kind: EntityKind,
        from: &[u8],
        to: &[u8],
    ) -> Result<Saved, Refusal> {
        let named = self.groups.named(self.base.as_ref(), kind);
        let named = named.map_err(Error::from)?;
        let id = named.find(from).ok_or(Error::NotFound)?;
        let to = std::str::from_utf8(to).map_err(|_| Error::Invalid)?;
        if let Some(other) = named.find(to.as_bytes()).filter(|other| *other != id) {
            return self.merge_entity(kind, id, other);
        }
        let name = names::of_directory(to).map_err(Refusal::Text)?;
        let mut saved = self.change(&[], &mut |saver| {
            let mut entity = saver.entity(file_of(kind), id).map_err(refusal)?;
            entity.rename(&name).map_err(Refusal::Text)?;
            names::ensure_shown_as(&entity.name(), to).map_err(Refusal::Text)?;
            saver.rename_entity(id, &entity).map_err(refusal)?;
            Ok(Vec::new())
        })?;
        if saved.is_change {
            saved.touched = self.touched_by(kind, id);
        }
        Ok(saved)
    }

    /// Lets all that a directory in `directory` has belong to `into`, which lies beside
    /// it.
    pub(super) fn merge_directory(
        &self,
        directory: Ino,
        from: &[u8],
        into: Ino,
    ) -> Result<Saved, Refusal> {
        let kind = Entities::kind_of(directory).ok_or(Error::NotPermitted)?;
        let into = match group_of(into) {
            Some(GameGroup::Entity(of, into)) if of == kind => into,
            _ => return Err(Error::NotPermitted.into()),
        };
        let named = self.groups.named(self.base.as_ref(), kind);
        let from = named.map_err(Error::from)?.find(from);
        let from = from
            .filter(|from| *from != into)
            .ok_or(Error::NotPermitted)?;
        self.merge_entity(kind, from, into)
    }

    /// Lets all games name `into` instead of `from`, if that is wished for. Tournaments
    /// have details of their own, which would be lost.
    fn merge_entity(
        &self,
        kind: EntityKind,
        from: EntityId,
        into: EntityId,
    ) -> Result<Saved, Refusal> {
        let merges = self.search.common.merges.as_ref();
        let merges = merges.filter(|_| kind != EntityKind::Tournament);
        let merges = merges.ok_or(Error::NotEmpty)?;
        let touched = self.touched_by(kind, from);
        let mut kept = None;
        let saved = self.change(&[], &mut |saver| {
            let pairs = [(from, into)];
            let merged = Merged::of(saver, kind, &pairs).map_err(refusal)?;
            merged.plan(saver, &pairs, ALL_GAMES).map_err(refusal)?;
            let path = merges.keep(&merged);
            kept = Some(path.map_err(|error| Error::Protected(error.to_string()))?);
            Ok(Vec::new())
        });
        match (saved, kept) {
            (Err(refusal), Some(path)) => {
                // What was not merged cannot be taken back.
                let _ = fs::remove_file(path);
                Err(refusal)
            }
            (Err(refusal), None) => Err(refusal),
            (Ok(saved), _) => Ok(Saved { touched, ..saved }),
        }
    }

    fn touched_by(&self, kind: EntityKind, id: EntityId) -> ChangedTexts {
        let games = self.writable().map(|base| base.games_naming(kind, id));
        match games {
            Ok(Ok(games)) if games.len() <= MOST_TOUCHED => ChangedTexts::Of(inos(&games)),
            _ => ChangedTexts::Unknown,
        }
    }
}

fn file_of(kind: EntityKind) -> FileKind {
    match kind {
        EntityKind::Player => FileKind::Players,
        EntityKind::Tournament => FileKind::Tournaments,
        EntityKind::Annotator => FileKind::Annotators,
        EntityKind::Source => FileKind::Sources,
        EntityKind::Team => FileKind::Teams,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::Entity;
    use crate::game::{PlayerName, Team};

    #[test]
    fn a_name_that_lists_differently_is_refused() {
        let nameless = PlayerName {
            first: "Garry".to_owned(),
            ..PlayerName::default()
        };
        for (entity, name) in [
            (Entity::Player(nameless), ", Garry"),
            (Entity::Team(Team::default()), ""),
        ] {
            let refused = names::ensure_shown_as(&entity.name(), name);
            assert!(refused.is_err(), "{name:?}");
        }
    }
}
