//! Directories of players, tournaments and the like renamed: what the new name
//! says.

use super::DatabaseVolume;
use super::change::{inos, refusal};
use crate::cbh::{Entity, EntityId, EntityKind, FileKind};
use crate::fs::{Error, Refusal, Saved, Touched, names};

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
        let named = named.ok_or(Error::NotFound)?;
        let id = named.find(from).ok_or(Error::NotFound)?;
        let to = std::str::from_utf8(to).map_err(|_| Error::Invalid)?;
        if named.find(to.as_bytes()).is_some_and(|other| other != id) {
            return Err(Error::NotEmpty.into());
        }
        let name = name_of(to).map_err(Refusal::Text)?;
        let mut saved = self.change(&[], &mut |saver| {
            let mut entity = saver.entity(file_of(kind), id).map_err(refusal)?;
            entity.rename(&name).map_err(Refusal::Text)?;
            ensure_listed_so(&entity, to)?;
            saver.rename_entity(id, &entity).map_err(refusal)?;
            Ok(Vec::new())
        })?;
        if saved.volume.is_some() {
            saved.touched = self.touched_by(kind, id);
        }
        Ok(saved)
    }

    fn touched_by(&self, kind: EntityKind, id: EntityId) -> Touched {
        let games = self.edited().map(|base| base.games_naming(kind, id));
        match games {
            Ok(Ok(games)) if games.len() <= MOST_TOUCHED => Touched::Files(inos(&games)),
            _ => Touched::Any,
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

/// What something is called whose directory shall have this name; if nothing
/// can have it, the reason.
fn name_of(directory: &str) -> Result<String, String> {
    if names::ends_in_id(directory) {
        let why = "so end the names of directories that would have the same";
        return Err(format!("\"{directory}\" ends in ~ and a number: {why}"));
    }
    let shown = names::shown(directory);
    if shown != directory {
        return Err(listed_otherwise(directory, &shown));
    }
    let name = directory.replace('\u{ff0f}', "/");
    Ok(match name.strip_prefix('\u{ff0e}') {
        Some(rest) => format!(".{rest}"),
        None => name,
    })
}

fn listed_otherwise(directory: &str, shown: &str) -> String {
    format!("\"{directory}\" would be listed as \"{shown}\"")
}

/// The directory that was asked for must be there afterwards.
fn ensure_listed_so(entity: &Entity, directory: &str) -> Result<(), Refusal> {
    let shown = names::shown(&entity.name());
    if shown == directory {
        return Ok(());
    }
    Err(Refusal::Text(listed_otherwise(directory, &shown)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{PlayerName, Team};

    #[test]
    fn what_would_be_listed_otherwise_is_refused() {
        let nameless = PlayerName {
            first: "Garry".to_owned(),
            ..PlayerName::default()
        };
        for (entity, name) in [
            (Entity::Player(nameless), ", Garry"),
            (Entity::Team(Team::default()), ""),
        ] {
            let refused = ensure_listed_so(&entity, name);
            assert!(matches!(refused, Err(Refusal::Text(_))), "{name:?}");
        }
    }

    #[test]
    fn names_of_directories_are_read_back() {
        let name = |name| name_of(name);
        assert_eq!(name("AC／DC").as_deref(), Ok("AC/DC"));
        assert_eq!(name("．NET").as_deref(), Ok(".NET"));
        for impossible in ["Lee ~7", " Lee", ".Lee", "Lee ", "e\u{301}", "(none) ~1"] {
            assert!(name(impossible).is_err(), "{impossible:?}");
        }
    }
}
