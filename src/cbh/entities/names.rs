//! The names of all entities of one kind, in contiguous memory.

use std::io;
use std::sync::Arc;

use imbl::OrdMap;

use super::id_set::IdSet;
use super::{EntityFile, EntityId, EntityLayout, LookupError};
use crate::cbh::CodePage;
use crate::game::{Team, Tournament};
use crate::storage::ReadBuffer;

/// The names of all live entities of one kind.
///
/// Forms: a player is `Last, First`, a tournament `Title (Place) Year` without
/// the parts it lacks, an annotator the name, a source or team the title. A
/// name may be empty, and several entities may have the same name.
///
/// Clones after a save share nearly all memory with the names before.
#[derive(Clone, Debug, Default)]
pub struct EntityNames {
    read: Arc<AllNames>,
    /// Names that have changed since the file was read. `None`: deleted.
    changes: OrdMap<u32, Option<Arc<OneName>>>,
}

/// The name of one entity that has changed.
#[derive(Debug)]
struct OneName {
    text: String,
    parts: Option<(u16, u16)>,
    number: Option<u32>,
}

/// All names as read from the file once.
#[derive(Debug, Default)]
pub(in crate::cbh) struct AllNames {
    /// The names, concatenated.
    text: String,
    /// Offset of the name of each id in `text`, and the end of the last name.
    /// Deleted entities have an empty range.
    starts: Vec<u32>,
    live: IdSet,
    /// Length of title and place in bytes for each id; for tournaments only.
    parts: Vec<(u16, u16)>,
    /// Number of the team within its club for each id; for teams only.
    numbers: Vec<u32>,
}

impl EntityNames {
    /// The name of `id`; `None` if there is no such entity.
    pub fn get(&self, id: EntityId) -> Option<&str> {
        match self.changes.get(&id.0) {
            Some(changed) => changed.as_ref().map(|name| name.text.as_str()),
            None => self.read.get(id),
        }
    }

    /// Returns whether the entity exists.
    pub fn contains(&self, id: EntityId) -> bool {
        match self.changes.get(&id.0) {
            Some(changed) => changed.is_some(),
            None => self.read.live.contains(id.0),
        }
    }

    /// The title of tournament `id`; `None` if there is no such tournament.
    pub fn title(&self, id: EntityId) -> Option<&str> {
        let (title, _) = self.parts(id)?;
        self.get(id)?.get(..usize::from(title))
    }

    /// The place of tournament `id`; `None` if there is no such tournament.
    pub fn place(&self, id: EntityId) -> Option<&str> {
        let (title, place) = self.parts(id)?;
        let name = self.get(id)?.get(usize::from(title)..)?;
        let name = name.strip_prefix(' ').unwrap_or(name);
        match place {
            0 => Some(""),
            place => name.strip_prefix('(')?.get(..usize::from(place)),
        }
    }

    fn parts(&self, id: EntityId) -> Option<(u16, u16)> {
        match self.changes.get(&id.0) {
            Some(changed) => changed.as_ref()?.parts,
            None => self.read.parts.get(id.0 as usize).copied(),
        }
    }

    /// The number of team `id` within its club, 0 if it has none; `None` if
    /// there is no such team.
    pub fn number(&self, id: EntityId) -> Option<u32> {
        match self.changes.get(&id.0) {
            Some(changed) => changed.as_ref()?.number,
            None => self.read.numbers.get(id.0 as usize).copied(),
        }
    }

    /// Id and name of every entity, by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (EntityId, &str)> {
        let ids = (0..self.bound()).map(EntityId);
        ids.filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Upper bound of the ids, exclusive.
    pub fn bound(&self) -> u32 {
        let changed = self.changes.get_max().map_or(0, |(id, _)| id + 1);
        self.read.bound().max(changed)
    }

    /// Replaces the name of entity `id` with the only name in `now`, or removes
    /// it if `now` is empty. Returns whether it has changed.
    pub(in crate::cbh) fn change(&mut self, id: EntityId, now: &AllNames) -> bool {
        let first = EntityId(0);
        let name = now.get(first).map(|text| OneName {
            text: text.to_owned(),
            parts: now.parts.first().copied(),
            number: now.numbers.first().copied(),
        });
        let is_same = match &name {
            None => !self.contains(id),
            Some(name) => {
                self.get(id) == Some(name.text.as_str())
                    && self.parts(id) == name.parts
                    && self.number(id) == name.number
            }
        };
        if !is_same {
            self.changes.insert(id.0, name.map(Arc::new));
        }
        !is_same
    }
}

/// Builder of [`EntityNames`]; entities are added in the order of their ids.
#[derive(Debug)]
pub(crate) struct NamesBuilder {
    names: AllNames,
    bound: u32,
}

impl NamesBuilder {
    /// A builder for ids below `bound`.
    pub(crate) fn below(bound: u32) -> NamesBuilder {
        NamesBuilder {
            names: AllNames {
                live: IdSet::below(bound),
                ..AllNames::default()
            },
            bound,
        }
    }

    /// Adds an entity; `append` writes its name.
    pub(crate) fn add(&mut self, id: EntityId, append: impl FnOnce(&mut String)) {
        self.names.begin(id.0);
        self.names.live.insert(id.0);
        append(&mut self.names.text);
    }

    /// Adds a tournament.
    pub(crate) fn add_tournament(&mut self, id: EntityId, tournament: &Tournament) {
        self.names.parts.resize(id.0 as usize, (0, 0));
        let mut parts = (0, 0);
        self.add(id, |out| parts = append_tournament(tournament, out));
        self.names.parts.push(parts);
    }

    /// Adds a team.
    pub(crate) fn add_team(&mut self, id: EntityId, team: &Team) {
        self.names.numbers.resize(id.0 as usize, 0);
        self.names.numbers.push(team.number);
        self.add(id, |out| out.push_str(&team.title));
    }

    /// The collected names.
    pub(crate) fn build(mut self) -> EntityNames {
        self.names.begin(self.bound);
        self.names.text.shrink_to_fit();
        self.names.into()
    }
}

impl From<AllNames> for EntityNames {
    fn from(read: AllNames) -> EntityNames {
        EntityNames {
            read: Arc::new(read),
            changes: OrdMap::new(),
        }
    }
}

impl AllNames {
    fn get(&self, id: EntityId) -> Option<&str> {
        if !self.live.contains(id.0) {
            return None;
        }
        let at = id.0 as usize;
        let (from, to) = (*self.starts.get(at)?, *self.starts.get(at + 1)?);
        self.text.get(from as usize..to as usize)
    }

    fn bound(&self) -> u32 {
        u32::try_from(self.starts.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Reads the names of a file, or of one entity, which gets the id 0.
    /// `append` writes the name of an entity.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(in crate::cbh) fn read<K: EntityLayout>(
        file: &EntityFile<K>,
        which: Which,
        page: CodePage,
        append: impl Fn(&K::Value, &mut String),
    ) -> io::Result<AllNames> {
        AllNames::read_with(file, which, page, |value, names| {
            append(value, &mut names.text);
        })
    }

    /// Reads the names of tournaments.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(in crate::cbh) fn read_tournaments(
        file: &EntityFile<super::Tournaments>,
        which: Which,
        page: CodePage,
    ) -> io::Result<AllNames> {
        AllNames::read_with(file, which, page, |tournament, names| {
            names.parts.resize(names.starts.len() - 1, (0, 0));
            let parts = append_tournament(tournament, &mut names.text);
            names.parts.push(parts);
        })
    }

    /// Reads the names of teams.
    ///
    /// # Errors
    ///
    /// Read errors of the storage.
    pub(in crate::cbh) fn read_teams(
        file: &EntityFile<super::Teams>,
        which: Which,
        page: CodePage,
    ) -> io::Result<AllNames> {
        AllNames::read_with(file, which, page, |team, names| {
            names.numbers.resize(names.starts.len() - 1, 0);
            names.numbers.push(team.number);
            names.text.push_str(&team.title);
        })
    }

    fn read_with<K: EntityLayout>(
        file: &EntityFile<K>,
        which: Which,
        page: CodePage,
        append: impl Fn(&K::Value, &mut AllNames),
    ) -> io::Result<AllNames> {
        let bound = match which {
            Which::All => file.count_present()?,
            Which::One(_) => 1,
        };
        let mut names = AllNames {
            starts: Vec::with_capacity(bound as usize + 1),
            live: IdSet::below(bound),
            ..AllNames::default()
        };
        let mut take = |id, value: &K::Value| {
            names.begin(id);
            names.live.insert(id);
            append(value, &mut names);
        };
        match which {
            Which::All => file.for_each(page, take)?,
            Which::One(EntityId(id)) => {
                let mut value = K::Value::default();
                match file.read(id, page, &mut ReadBuffer::default(), &mut value) {
                    Ok(()) => take(0, &value),
                    Err(LookupError::Fault(..)) => {}
                    Err(LookupError::Io(error)) => return Err(error),
                }
            }
        }
        names.begin(bound);
        names.text.shrink_to_fit();
        names.parts.shrink_to_fit();
        Ok(names)
    }

    /// Starts the name of `id` at the end of `text`. Ids that were skipped get
    /// empty names.
    fn begin(&mut self, id: u32) {
        // At most 2^24 records of at most 70 bytes, each at most three bytes of
        // UTF-8.
        let here = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        self.starts.resize(id as usize + 1, here);
    }
}

/// Selection of the entities to read.
#[derive(Clone, Copy, Debug)]
pub(in crate::cbh) enum Which {
    All,
    One(EntityId),
}

/// Appends `Title (Place) Year`. Returns the lengths of title and place in
/// bytes.
pub(super) fn append_tournament(tournament: &Tournament, out: &mut String) -> (u16, u16) {
    let begin = out.len();
    let part = |part: &str| u16::try_from(part.len()).unwrap_or(0);
    let title = without_blanks(&tournament.title);
    let place = without_blanks(&tournament.place);
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

/// Returns the part, or an empty string if it consists of blanks.
fn without_blanks(part: &str) -> &str {
    if part.trim().is_empty() { "" } else { part }
}

/// Appends a blank unless `out` has ended at `begin` so far.
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
    fn the_name_of_a_tournament_leaves_out_missing_parts() {
        let cases = [
            ("Linares", "Linares", 1999, "Linares (Linares) 1999"),
            ("Linares", "", 1999, "Linares 1999"),
            ("Linares", " ", 0, "Linares"),
            ("", "Linares", 1999, "(Linares) 1999"),
            ("(Open)", "Graz (Austria)", 0, "(Open) (Graz (Austria))"),
            ("", "", 476, "476"),
            ("", "", 0, ""),
        ];
        let mut names = AllNames {
            live: IdSet::below(100),
            ..AllNames::default()
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
        let names = EntityNames::from(names);
        for ((id, name), (title, place, _, wanted)) in names.iter().zip(cases) {
            assert_eq!(name, wanted);
            assert_eq!(names.title(id), Some(title));
            assert_eq!(names.place(id), Some(place.trim()));
        }
        assert_eq!(names.iter().count(), 7);
        assert_eq!(names.get(EntityId(7)), None);
        assert!(names.contains(EntityId(6)) && !names.contains(EntityId(7)));
    }

    #[test]
    fn a_changed_name_may_be_behind_all_that_were_read() {
        let mut names = NamesBuilder::below(3);
        names.add_team(
            EntityId(1),
            &Team {
                title: "Hastings".to_owned(),
                number: 2,
                ..Team::default()
            },
        );
        let mut names = names.build();
        assert_eq!(names.bound(), 3);
        assert_eq!(names.number(EntityId(1)), Some(2));
        let mut one = AllNames {
            starts: vec![0, 4],
            live: IdSet::below(1),
            text: "Lund".to_owned(),
            numbers: vec![5],
            ..AllNames::default()
        };
        one.live.insert(0);
        assert!(names.change(EntityId(7), &one));
        assert!(!names.change(EntityId(7), &one));
        assert_eq!((names.bound(), names.number(EntityId(7))), (8, Some(5)));
        let all: Vec<_> = names.iter().map(|(id, name)| (id.0, name)).collect();
        assert_eq!(all, [(1, "Hastings"), (7, "Lund")]);
    }

    #[test]
    fn a_removed_name_is_a_change_only_where_there_is_one() {
        let mut names = NamesBuilder::below(2);
        let tournament = Tournament {
            title: "Linares".to_owned(),
            place: "Spain".to_owned(),
            ..Tournament::default()
        };
        names.add_tournament(EntityId(1), &tournament);
        let mut names = names.build();
        let all: Vec<_> = names.iter().collect();
        assert_eq!(all, [(EntityId(1), "Linares (Spain)")]);
        assert_eq!(names.title(EntityId(1)), Some("Linares"));
        assert_eq!(names.place(EntityId(1)), Some("Spain"));
        let nothing = AllNames::default();
        let changed = [0, 1, 1, 5].map(|id| names.change(EntityId(id), &nothing));
        assert_eq!(changed, [false, true, false, false]);
        assert_eq!(names.iter().count(), 0);
    }
}
