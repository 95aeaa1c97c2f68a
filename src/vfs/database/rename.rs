//! Directories of players, tournaments and the like renamed: what the new name
//! says.

use super::DatabaseVolume;
use super::change::{Told, inos, refusal};
use crate::cbh::{Entity, EntityId, EntityKind, FileKind};
use crate::game::{Date, PlayerName, Tournament};
use crate::vfs::{Error, Refusal, Saved, Touched, names};

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
        let named = self.groups.named(&self.database, kind);
        let named = named.ok_or(Error::NotFound)?;
        let id = named.find(from).ok_or(Error::NotFound)?;
        let to = std::str::from_utf8(to).map_err(|_| Error::Invalid)?;
        if named.find(to.as_bytes()).is_some_and(|other| other != id) {
            return Err(Error::NotEmpty.into());
        }
        let name = name_of(to).ok_or(Error::Invalid)?;
        let mut saved = self.change(None, &mut |saver, _| {
            let mut entity = saver.entity(file_of(kind), id).map_err(refusal)?;
            call(&mut entity, &name);
            saver.rename_entity(id, &entity).map_err(refusal)?;
            Ok(Told::default())
        })?;
        saved.made = None;
        if saved.volume.is_some() {
            saved.touched = self.touched_by(kind, id);
        }
        Ok(saved)
    }

    fn touched_by(&self, kind: EntityKind, id: EntityId) -> Touched {
        match self.database.games_naming(kind, id) {
            Ok(games) if games.len() <= MOST_TOUCHED => Touched::Files(inos(&games)),
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

/// What something is called whose directory shall have this name; `None` if
/// nothing can have it.
fn name_of(directory: &str) -> Option<String> {
    if names::ends_in_id(directory) || names::shown(directory) != directory {
        return None;
    }
    let name = directory.replace('\u{ff0f}', "/");
    Some(match name.strip_prefix('\u{ff0e}') {
        Some(rest) => format!(".{rest}"),
        None => name,
    })
}

/// Lets an entity be called so; what the name does not tell stays.
fn call(entity: &mut Entity, name: &str) {
    match entity {
        Entity::Player(player) => *player = player_of(name),
        Entity::Tournament(tournament) => call_tournament(tournament, name),
        Entity::Annotator(annotator) => name.clone_into(annotator),
        Entity::Source(source) => name.clone_into(&mut source.title),
        Entity::Team(team) => name.clone_into(&mut team.title),
        Entity::Tag(_) => {}
    }
}

fn player_of(name: &str) -> PlayerName {
    let (last, first) = name.split_once(", ").unwrap_or((name, ""));
    PlayerName {
        last: last.to_owned(),
        first: first.to_owned(),
    }
}

/// `Title (Place) Year`, of which any part may be missing.
fn call_tournament(tournament: &mut Tournament, name: &str) {
    let is_year = |word: &str| {
        let is_plain = !word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse()
            .ok()
            .filter(|year| is_plain && (1..4096).contains(year))
    };
    let (rest, word) = name.rsplit_once(' ').unwrap_or(("", name));
    let (rest, year) = match is_year(word) {
        Some(year) => (rest, year),
        None => (name, 0),
    };
    if year != tournament.start.year {
        tournament.start = Date {
            year,
            ..Date::UNKNOWN
        };
    }
    let place = rest.strip_suffix(')').and_then(|rest| {
        let at = opening_of(rest)?;
        let (title, place) = rest.split_at_checked(at)?;
        Some((title.trim_end(), place.strip_prefix('(')?))
    });
    let (title, place) = place.unwrap_or((rest, ""));
    title.clone_into(&mut tournament.title);
    place.clone_into(&mut tournament.place);
}

/// Where the parenthesis is opened that ends behind `text`.
fn opening_of(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tournament_is_called_by_the_parts_of_its_directory() {
        for (name, title, place, year) in [
            ("Linares (Linares) 1999", "Linares", "Linares", 1999),
            ("Linares 1999", "Linares", "", 1999),
            ("Linares", "Linares", "", 0),
            ("(Linares) 1999", "", "Linares", 1999),
            ("(Open) (Graz (Austria))", "(Open)", "Graz (Austria)", 0),
            ("476", "", "", 476),
            ("Open 0476", "Open 0476", "", 0),
            ("Open 9999", "Open 9999", "", 0),
            ("Open) 1999", "Open)", "", 1999),
        ] {
            let mut tournament = Tournament::default();
            call_tournament(&mut tournament, name);
            assert_eq!(tournament.title, title, "{name}");
            assert_eq!(tournament.place, place, "{name}");
            assert_eq!(tournament.start.year, year, "{name}");
        }
    }

    #[test]
    fn the_first_day_stays_where_the_year_does() {
        let start = Date {
            year: 1999,
            month: 2,
            day: 20,
        };
        let mut tournament = Tournament {
            start,
            ..Tournament::default()
        };
        call_tournament(&mut tournament, "Other 1999");
        assert_eq!(tournament.start, start);
        call_tournament(&mut tournament, "Other 2000");
        assert_eq!(tournament.start.month, 0);
    }

    #[test]
    fn names_of_directories_are_read_back() {
        let name = |name| name_of(name);
        assert_eq!(name("AC／DC").as_deref(), Some("AC/DC"));
        assert_eq!(name("．NET").as_deref(), Some(".NET"));
        for impossible in ["Lee ~7", " Lee", ".Lee", "Lee ", "e\u{301}", "(none) ~1"] {
            assert_eq!(name(impossible), None, "{impossible:?}");
        }
        let player = player_of("Kasparov, Garry, Jr");
        assert_eq!(
            (player.last.as_str(), player.first.as_str()),
            ("Kasparov", "Garry, Jr")
        );
    }
}
