//! The names of all entities of one kind, in one piece of memory.

use std::io;

use super::id_set::IdSet;
use super::{EntityFile, EntityId, Kind};
use crate::cbh::CodePage;
use crate::game::Tournament;

/// The names of all entities of one kind, deleted ones left out.
///
/// A player is `Last, First`, a tournament `Title (Place) Year` with the
/// parts it has, an annotator its name, a source or team its title. A name may
/// be empty, and two entities may have the same.
#[derive(Debug, Default)]
pub struct EntityNames {
    /// All names, one after the other.
    text: String,
    /// Where the name of each id begins in `text`, and one more: where the
    /// last ends. Deleted ones are empty.
    starts: Vec<u32>,
    live: IdSet,
    /// Bytes of title and of place in the name of each id; of tournaments
    /// only.
    parts: Vec<(u16, u16)>,
}

impl EntityNames {
    /// The name of `id`; `None` if there is no such entity.
    pub fn get(&self, id: EntityId) -> Option<&str> {
        if !self.live.contains(id.0) {
            return None;
        }
        let at = id.0 as usize;
        let (from, to) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        self.text.get(from as usize..to as usize)
    }

    /// Whether there is such an entity.
    pub fn contains(&self, id: EntityId) -> bool {
        self.live.contains(id.0)
    }

    /// The title of tournament `id`; `None` if there is no such tournament.
    pub fn title(&self, id: EntityId) -> Option<&str> {
        let (title, _) = self.parts.get(id.0 as usize)?;
        self.get(id)?.get(..usize::from(*title))
    }

    /// The place of tournament `id`; `None` if there is no such tournament.
    pub fn place(&self, id: EntityId) -> Option<&str> {
        let (title, place) = self.parts.get(id.0 as usize)?;
        let name = self.get(id)?.get(usize::from(*title)..)?;
        let name = name.strip_prefix(' ').unwrap_or(name);
        match *place {
            0 => Some(""),
            place => name.strip_prefix('(')?.get(..usize::from(place)),
        }
    }

    /// Id and name of every entity, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, &str)> {
        let ids = (0..self.bound()).map(EntityId);
        ids.filter_map(|id| Some((id, self.get(id)?)))
    }

    /// All ids lie below this.
    pub fn bound(&self) -> u32 {
        u32::try_from(self.starts.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Reads the names of a file; `append` writes that of one entity.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(in crate::cbh) fn read<K: Kind<Value: Default>>(
        file: &EntityFile<K>,
        page: CodePage,
        append: impl Fn(&K::Value, &mut String),
    ) -> io::Result<EntityNames> {
        EntityNames::read_with(file, page, |value, names| append(value, &mut names.text))
    }

    /// Reads the names of the tournaments.
    ///
    /// # Errors
    ///
    /// The medium's.
    pub(in crate::cbh) fn read_tournaments(
        file: &EntityFile<super::Tournaments>,
        page: CodePage,
    ) -> io::Result<EntityNames> {
        EntityNames::read_with(file, page, |tournament, names| {
            names.parts.resize(names.starts.len() - 1, (0, 0));
            let parts = append_tournament(tournament, &mut names.text);
            names.parts.push(parts);
        })
    }

    fn read_with<K: Kind<Value: Default>>(
        file: &EntityFile<K>,
        page: CodePage,
        append: impl Fn(&K::Value, &mut EntityNames),
    ) -> io::Result<EntityNames> {
        let bound = file.count_present()?;
        let mut names = EntityNames {
            starts: Vec::with_capacity(bound as usize + 1),
            live: IdSet::below(bound),
            ..EntityNames::default()
        };
        file.for_each(page, |id, value| {
            names.begin(id);
            names.live.insert(id);
            append(value, &mut names);
        })?;
        names.begin(bound);
        names.text.shrink_to_fit();
        names.parts.shrink_to_fit();
        Ok(names)
    }

    /// Lets the name of `id` begin here; those before that have none are
    /// empty.
    fn begin(&mut self, id: u32) {
        // No more than 2^24 records of at most 70 bytes, each at most three
        // bytes of UTF-8.
        let here = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.starts.resize(id as usize + 1, here);
    }
}

/// Appends `Title (Place) Year`; gives the lengths of title and place.
fn append_tournament(tournament: &Tournament, out: &mut String) -> (u16, u16) {
    let begin = out.len();
    let part = |part: &str| u16::try_from(part.len()).unwrap_or(0);
    let title = given(&tournament.title);
    let place = given(&tournament.place);
    out.push_str(title);
    if !place.is_empty() {
        separate(begin, out);
        out.push('(');
        out.push_str(place);
        out.push(')');
    }
    if tournament.start.year > 0 {
        separate(begin, out);
        out.push_str(&tournament.start.year.to_string());
    }
    (part(title), part(place))
}

/// A part that consists of blanks is not given.
fn given(part: &str) -> &str {
    if part.trim().is_empty() { "" } else { part }
}

/// Appends a blank unless nothing was written since `begin`.
fn separate(begin: usize, out: &mut String) {
    if out.len() > begin {
        out.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Date;

    #[test]
    fn a_tournament_is_named_by_the_parts_it_has() {
        let cases = [
            ("Linares", "Linares", 1999, "Linares (Linares) 1999"),
            ("Linares", "", 1999, "Linares 1999"),
            ("Linares", " ", 0, "Linares"),
            ("", "Linares", 1999, "(Linares) 1999"),
            ("(Open)", "Graz (Austria)", 0, "(Open) (Graz (Austria))"),
            ("", "", 476, "476"),
            ("", "", 0, ""),
        ];
        let mut names = EntityNames {
            live: IdSet::below(100),
            ..EntityNames::default()
        };
        for (id, (title, place, year, _)) in (0..).zip(cases) {
            let start = Date {
                year,
                ..Date::UNKNOWN
            };
            let tournament = Tournament {
                title: title.to_owned(),
                place: place.to_owned(),
                start,
                ..Tournament::default()
            };
            names.begin(id);
            names.live.insert(id);
            let parts = append_tournament(&tournament, &mut names.text);
            names.parts.push(parts);
        }
        names.begin(7);
        for ((id, name), (title, place, _, wanted)) in names.iter().zip(cases) {
            assert_eq!(name, wanted);
            assert_eq!(names.title(id), Some(title));
            assert_eq!(names.place(id), Some(place.trim()));
        }
        assert_eq!(names.iter().count(), 7);
        assert_eq!(names.get(EntityId(7)), None);
        assert!(names.contains(EntityId(6)) && !names.contains(EntityId(7)));
    }
}
