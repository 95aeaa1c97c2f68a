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
            call(&mut entity, &name)?;
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

/// Lets an entity be called so; what the name does not tell stays. A
/// tournament whose name lacks a part that it has is refused.
fn call(entity: &mut Entity, name: &str) -> Result<(), Refusal> {
    match entity {
        Entity::Player(player) => *player = player_of(name),
        Entity::Tournament(tournament) => call_tournament(tournament, name)?,
        Entity::Annotator(annotator) => name.clone_into(annotator),
        Entity::Source(source) => name.clone_into(&mut source.title),
        Entity::Team(team) => name.clone_into(&mut team.title),
        Entity::Tag(_) => {}
    }
    Ok(())
}

fn player_of(name: &str) -> PlayerName {
    let (last, first) = name.split_once(", ").unwrap_or((name, ""));
    PlayerName {
        last: last.to_owned(),
        first: first.to_owned(),
    }
}

/// The name of a tournament: `Title (Place) Year`, of which any part may be
/// missing.
struct Parts<'n> {
    title: &'n str,
    place: &'n str,
    /// 0 if it is missing.
    year: u16,
}

impl Parts<'_> {
    fn of(name: &str) -> Parts<'_> {
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
        let place = rest.strip_suffix(')').and_then(|rest| {
            let at = opening_of(rest)?;
            let (title, place) = rest.split_at_checked(at)?;
            Some((title.trim_end(), place.strip_prefix('(')?))
        });
        let (title, place) = place.unwrap_or((rest, ""));
        Parts { title, place, year }
    }

    /// The parts that are missing here and that the tournament has, in words.
    fn missing_of(&self, tournament: &Tournament) -> Option<String> {
        let is_lost = |old: &str, new: &str| !old.trim().is_empty() && new.trim().is_empty();
        let missing = [
            ("title", is_lost(&tournament.title, self.title)),
            ("place", is_lost(&tournament.place, self.place)),
            ("year", tournament.start.year > 0 && self.year == 0),
        ];
        let missing: Vec<_> = missing
            .iter()
            .filter_map(|(part, is_lost)| is_lost.then_some(*part))
            .collect();
        (!missing.is_empty()).then(|| missing.join(" and "))
    }
}

/// Who names a tournament by its title alone does not mean that it was nowhere
/// and never: no part that it has is taken from it.
fn call_tournament(tournament: &mut Tournament, name: &str) -> Result<(), Refusal> {
    let parts = Parts::of(name);
    if let Some(missing) = parts.missing_of(tournament) {
        let why = format!("a tournament is named Title (Place) Year; \"{name}\" has no {missing}");
        return Err(Refusal::Text(why));
    }
    parts.title.clone_into(&mut tournament.title);
    parts.place.clone_into(&mut tournament.place);
    tournament.start = in_year(tournament.start, parts.year);
    Ok(())
}

/// The same day of another year; the year alone if it has no such day.
fn in_year(date: Date, year: u16) -> Date {
    let moved = Date { year, ..date };
    let has_day = match (moved.month, moved.day) {
        (2, 29) => {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        }
        (2, day) => day <= 28,
        (4 | 6 | 9 | 11, day) => day <= 30,
        (month, day) => month <= 12 && day <= 31,
    };
    if has_day || year == date.year {
        return moved;
    }
    Date {
        year,
        ..Date::UNKNOWN
    }
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
            call_tournament(&mut tournament, name).unwrap();
            assert_eq!(tournament.title, title, "{name}");
            assert_eq!(tournament.place, place, "{name}");
            assert_eq!(tournament.start.year, year, "{name}");
        }
    }

    #[test]
    fn the_first_day_stays_where_the_year_has_it() {
        let date = |year, month, day| Date { year, month, day };
        for (start, name, expected) in [
            (date(1999, 2, 20), "Other 1999", date(1999, 2, 20)),
            (date(1999, 2, 20), "Other 2000", date(2000, 2, 20)),
            (date(2000, 2, 29), "Other 2004", date(2004, 2, 29)),
            (date(2000, 2, 29), "Other 1900", date(1900, 0, 0)),
            (date(1999, 4, 31), "Other 1999", date(1999, 4, 31)),
            (date(1999, 4, 31), "Other 2000", date(2000, 0, 0)),
            (date(1999, 13, 1), "Other 2000", date(2000, 0, 0)),
            (date(1999, 5, 0), "Other 2000", date(2000, 5, 0)),
            (date(0, 5, 1), "Other", date(0, 5, 1)),
            (date(0, 5, 1), "Other 2000", date(2000, 5, 1)),
        ] {
            let mut tournament = Tournament {
                start,
                ..Tournament::default()
            };
            call_tournament(&mut tournament, name).unwrap();
            assert_eq!(tournament.start, expected, "{start} {name}");
        }
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
