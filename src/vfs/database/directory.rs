//! The directories of a database and their numbers.

use std::fmt::Write as _;

use crate::cbh::{EntityId, EntityKind, Group};
use crate::game::Eco;
use crate::vfs::volume::Ino;

use EntityKind::{Annotator, Player, Source, Team, Tournament};

/// The kind of number that the directory of the first kind of entity has; the
/// others follow.
const FIRST_ENTITY: u8 = 2;
/// The kinds of numbers that directories of openings and years have.
const ECO_LETTER: u8 = 7;
const ECO_CODE: u8 = 8;
const YEAR: u8 = 9;

/// The kind of number that `pgn/` and the directories in it have.
const WHOLE: u8 = 32;

/// Letters of opening codes, and codes with one letter.
const LETTERS: u16 = 5;
const CODES_OF_LETTER: u16 = Eco::COUNT / LETTERS;

/// Years have 12 bits.
const YEARS: u16 = 1 << 12;

/// A directory of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directory {
    Root,
    /// `games/`
    Games,
    /// `deleted/`
    Deleted,
    /// `texts/`
    Texts,
    /// `texts/media/`
    Media,
    /// `players/` and the like
    Entities(EntityKind),
    /// `eco/`
    Eco,
    /// `eco/A/` is 0, `eco/E/` 4.
    EcoLetter(u16),
    /// `years/`
    Years,
    /// Games that have something in common: `players/Carlsen, Magnus/`,
    /// `eco/B/B90/`, `eco/none/`, `years/1999/`.
    Group(Group),
    /// `pgn/` and the directories in it.
    Whole(Whole),
    /// `import/`
    Import,
    /// `import/lenient/`
    Lenient,
}

/// A directory of files that are directories in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// `pgn/`
    Top,
    /// `pgn/players/` and the like
    Entities(EntityKind),
    /// `pgn/eco/`
    Eco,
    /// `pgn/years/`
    Years,
}

impl Whole {
    /// The directories in `pgn/`, with their names.
    pub(super) const ALL: [(&str, Whole); 7] = [
        ("players", Whole::Entities(Player)),
        ("tournaments", Whole::Entities(Tournament)),
        ("annotators", Whole::Entities(Annotator)),
        ("sources", Whole::Entities(Source)),
        ("teams", Whole::Entities(Team)),
        ("eco", Whole::Eco),
        ("years", Whole::Years),
    ];

    /// 0 for `pgn/`; 1 is left to `all.pgn`.
    fn of(index: u16) -> Option<Whole> {
        let Some(place) = index.checked_sub(2) else {
            return (index == 0).then_some(Whole::Top);
        };
        Some(Whole::ALL.get(usize::from(place))?.1)
    }

    fn index(self) -> u32 {
        let mut places = (2..).zip(Whole::ALL);
        places
            .find(|(_, (_, other))| *other == self)
            .map_or(0, |(place, _)| place)
    }
}

impl Directory {
    /// The directories of the root, with their names. Their cookies count
    /// from 3.
    pub(super) const TOP: [(&str, Directory); 12] = [
        ("games", Directory::Games),
        ("players", Directory::Entities(Player)),
        ("tournaments", Directory::Entities(Tournament)),
        ("annotators", Directory::Entities(Annotator)),
        ("sources", Directory::Entities(Source)),
        ("teams", Directory::Entities(Team)),
        ("eco", Directory::Eco),
        ("years", Directory::Years),
        ("pgn", Directory::Whole(Whole::Top)),
        ("texts", Directory::Texts),
        ("deleted", Directory::Deleted),
        ("import", Directory::Import),
    ];

    /// That of this number, if it is one of a directory; what lies in it, or
    /// whether there is such a thing in the base, is not asked.
    pub(super) fn of(ino: Ino) -> Option<Directory> {
        let index = ino.index();
        let short = u16::try_from(index).ok();
        let entity = |place: u8| EntityKind::ALL.get(usize::from(place)).copied();
        Some(match ino.kind() {
            0 => match short? {
                1 => Directory::Root,
                2 => Directory::Games,
                3 => Directory::Deleted,
                4 => Directory::Texts,
                5 => Directory::Media,
                11 => Directory::Eco,
                12 => Directory::Years,
                13 => Directory::Import,
                14 => Directory::Lenient,
                index => Directory::Entities(entity(u8::try_from(index.checked_sub(6)?).ok()?)?),
            },
            ECO_LETTER => Directory::EcoLetter(short.filter(|letter| *letter < LETTERS)?),
            ECO_CODE => Directory::Group(Group::Eco(match short? {
                Eco::COUNT => None,
                code => Some(Eco::new(code, 0)?),
            })),
            WHOLE => Directory::Whole(Whole::of(short?)?),
            YEAR => Directory::Group(Group::Year(short.filter(|year| *year < YEARS)?)),
            kind => {
                let kind = entity(kind.checked_sub(FIRST_ENTITY)?)?;
                Directory::Group(Group::Entity(kind, EntityId(index)))
            }
        })
    }

    /// Its number.
    pub(super) fn ino(self) -> Ino {
        let (kind, index) = match self {
            Directory::Root => (0, 1),
            Directory::Games => (0, 2),
            Directory::Deleted => (0, 3),
            Directory::Texts => (0, 4),
            Directory::Media => (0, 5),
            Directory::Entities(kind) => (0, 6 + kind as u32),
            Directory::Eco => (0, 11),
            Directory::Years => (0, 12),
            Directory::Import => (0, 13),
            Directory::Lenient => (0, 14),
            Directory::EcoLetter(letter) => (ECO_LETTER, u32::from(letter)),
            Directory::Whole(whole) => (WHOLE, whole.index()),
            Directory::Group(group) => match group {
                Group::Entity(kind, id) => (FIRST_ENTITY + kind as u8, id.0),
                Group::Eco(eco) => (ECO_CODE, u32::from(eco.map_or(Eco::COUNT, Eco::index))),
                Group::Year(year) => (YEAR, u32::from(year)),
            },
        };
        Ino::new(kind, index)
    }

    /// The one that it lies in.
    pub(super) fn parent(self) -> Directory {
        match self {
            Directory::Media => Directory::Texts,
            Directory::Lenient => Directory::Import,
            Directory::EcoLetter(_) | Directory::Group(Group::Eco(None)) => Directory::Eco,
            Directory::Group(Group::Entity(kind, _)) => Directory::Entities(kind),
            Directory::Group(Group::Eco(Some(eco))) => {
                Directory::EcoLetter(eco.index() / CODES_OF_LETTER)
            }
            Directory::Group(Group::Year(_)) => Directory::Years,
            Directory::Whole(Whole::Entities(_) | Whole::Eco | Whole::Years) => {
                Directory::Whole(Whole::Top)
            }
            _ => Directory::Root,
        }
    }

    /// What `eco/`, `eco/B/`, `years/` and `import/` can list: cookies and directories
    /// in order.
    pub(super) fn children(self) -> Vec<(u64, Directory)> {
        let codes = |letter: u16| letter * CODES_OF_LETTER..(letter + 1) * CODES_OF_LETTER;
        let group = Directory::Group;
        let children: Vec<Directory> = match self {
            Directory::Eco => (0..LETTERS)
                .map(Directory::EcoLetter)
                .chain([group(Group::Eco(None))])
                .collect(),
            Directory::EcoLetter(letter) => codes(letter)
                .filter_map(|code| Some(group(Group::Eco(Some(Eco::new(code, 0)?)))))
                .collect(),
            Directory::Years => (0..YEARS).map(|year| group(Group::Year(year))).collect(),
            Directory::Import => vec![Directory::Lenient],
            _ => Vec::new(),
        };
        (3..).zip(children).collect()
    }

    /// The one of `children` with this name.
    pub(super) fn child(self, name: &[u8]) -> Option<Directory> {
        let name = std::str::from_utf8(name).ok()?;
        let child = match (self, name) {
            (Directory::Eco, "none") => Directory::Group(Group::Eco(None)),
            (Directory::Import, "lenient") => Directory::Lenient,
            (Directory::Years, "unknown") => Directory::Group(Group::Year(0)),
            (Directory::Eco, _) => {
                let letter = name.bytes().next()?.checked_sub(b'A')?;
                Directory::EcoLetter(u16::from(letter)).checked()?
            }
            (Directory::EcoLetter(letter), _) => {
                let code: u16 = name.get(1..)?.parse().ok()?;
                let code = code.checked_add(letter * CODES_OF_LETTER)?;
                Directory::Group(Group::Eco(Some(Eco::new(code, 0)?)))
            }
            (Directory::Years, _) => Directory::Group(Group::Year(name.parse().ok()?)).checked()?,
            _ => return None,
        };
        // It has one name only.
        let mut formatted = String::new();
        child.format(&mut formatted);
        (formatted == name && child.parent() == self).then_some(child)
    }

    /// Itself, if there is a number for it.
    fn checked(self) -> Option<Directory> {
        Directory::of(self.ino())
    }

    /// Writes the name that a directory of openings or a year has; those of
    /// entities have the names of the base. `name` is replaced.
    pub(super) fn format(self, name: &mut String) {
        name.clear();
        // Writing to a string does not fail.
        let _ = match self {
            Directory::EcoLetter(letter) => {
                let first = Eco::new(letter * CODES_OF_LETTER, 0);
                write!(name, "{}", first.map_or(' ', |eco| eco.bytes()[0].into()))
            }
            Directory::Group(Group::Eco(Some(eco))) => write!(name, "{eco}"),
            Directory::Lenient => write!(name, "lenient"),
            Directory::Group(Group::Eco(None)) => write!(name, "none"),
            Directory::Group(Group::Year(0)) => write!(name, "unknown"),
            Directory::Group(Group::Year(year)) => write!(name, "{year:04}"),
            _ => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_and_directories_tell_each_other() {
        let mut found = BTreeSet::new();
        for kind in 0..=WHOLE + 20 {
            for index in 0..6000 {
                let ino = Ino::new(kind, index);
                let Some(directory) = Directory::of(ino) else {
                    continue;
                };
                assert_eq!(directory.ino(), ino, "{directory:?}");
                assert!(found.insert(ino));
            }
        }
        // The root, those in it, texts/media, import/lenient, entities, letters,
        // codes, years, those in pgn/.
        assert_eq!(found.len(), 1 + 12 + 1 + 1 + 5 * 6000 + 5 + 501 + 4096 + 7);
        for (_, top) in Directory::TOP {
            assert!(found.contains(&top.ino()));
            assert_eq!(top.parent(), Directory::Root);
        }
        assert_eq!(Directory::of(Ino(u64::MAX)), None);
    }

    #[test]
    fn children_know_their_parent_and_have_names_of_their_own() {
        let mut name = String::new();
        let mut last = Vec::new();
        for parent in [
            Directory::Eco,
            Directory::EcoLetter(4),
            Directory::Years,
            Directory::EcoLetter(0),
        ] {
            let mut names = BTreeSet::new();
            for (_, child) in parent.children() {
                assert_eq!(child.parent(), parent);
                child.format(&mut name);
                assert_eq!(parent.child(name.as_bytes()), Some(child));
                assert!(!name.trim().is_empty());
                assert!(names.insert(name.clone()), "{name}");
            }
            last.push((names.len(), name.clone()));
        }
        let expected = [(6, "none"), (100, "E99"), (4096, "4095"), (100, "A99")];
        assert_eq!(last, expected.map(|(count, name)| (count, name.to_owned())));
        assert!(Directory::Games.children().is_empty());
    }
}
