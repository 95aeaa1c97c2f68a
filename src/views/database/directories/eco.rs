//! `eco/`: games by opening code, `eco/B/B90/`, and those without in
//! `eco/none/`.

use super::super::DatabaseVolume;
use super::RootView;
use crate::cbh::{GameGroup, Grouping};
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Ino, Listing, Node};
use crate::game;

/// Letters of opening codes, and codes with one letter.
const LETTERS: u16 = 5;
const CODES_OF_LETTER: u16 = game::Eco::COUNT / LETTERS;

/// The kind of number that `eco/A/`, index 0, to `eco/E/` have.
const LETTER: u8 = 7;

/// `eco/`
#[derive(Debug)]
pub(in super::super) struct Eco;

impl Eco {
    pub(in super::super) const NUMBER: Ino = Ino(11);

    /// The directory that a code's lies in.
    pub(in super::super) fn parent_of(code: Option<game::Eco>) -> Ino {
        code.map_or(Eco::NUMBER, |code| {
            Ino::new(LETTER, u32::from(code.index() / CODES_OF_LETTER))
        })
    }

    /// All codes in order, none last.
    pub(super) fn all() -> impl Iterator<Item = GameGroup> {
        let codes = (0..game::Eco::COUNT).filter_map(|code| game::Eco::new(code, 0));
        let codes = codes.map(Some).chain([None]);
        codes.map(GameGroup::Eco)
    }

    /// The codes of a letter.
    fn of_letter(letter: Ino) -> impl Iterator<Item = GameGroup> {
        Eco::all().filter(move |group| {
            matches!(group, GameGroup::Eco(Some(code)) if Eco::parent_of(Some(*code)) == letter)
        })
    }

    fn letter(base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        let crossref = base.base.crossref(Grouping::Eco)?;
        for code in Eco::of_letter(ino) {
            if !crossref.is_empty(code)? {
                return Ok(base.directory_node(ino, 1));
            }
        }
        Err(Error::NotFound)
    }

    /// The group of this name: `B90` or `none`.
    pub(in super::super) fn parse(name: &[u8]) -> Option<GameGroup> {
        let code = match name {
            b"none" => None,
            [letter @ b'A'..=b'E', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
                let number = u16::from(tens - b'0') * 10 + u16::from(ones - b'0');
                let letter = u16::from(letter - b'A') * CODES_OF_LETTER;
                Some(game::Eco::new(letter + number, 0)?)
            }
            _ => return None,
        };
        Some(GameGroup::Eco(code))
    }

    /// The letters: cookies, names and numbers.
    fn letters() -> impl Iterator<Item = (u64, char, Ino)> {
        let letters = ('A'..).zip(0..u32::from(LETTERS));
        let letters = letters.map(|(name, index)| (name, Ino::new(LETTER, index)));
        (3..)
            .zip(letters)
            .map(|(cookie, (name, ino))| (cookie, name, ino))
    }
}

impl RootView for Eco {
    fn holds(&self, ino: Ino) -> bool {
        ino.kind() == LETTER && ino.index() < u32::from(LETTERS)
    }

    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        match ino {
            Eco::NUMBER => Ok(base.directory_node(ino, 1)),
            _ => Eco::letter(base, ino),
        }
    }

    fn parent(&self, _: &DatabaseVolume, _: Ino) -> Result<Ino, Error> {
        Ok(Eco::NUMBER)
    }

    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        if let (Eco::NUMBER, [letter]) = (directory, name) {
            let mut letters = Eco::letters();
            let found = letters.find(|(_, name, _)| *name == char::from(*letter));
            let (_, _, ino) = found.ok_or(Error::NotFound)?;
            return Eco::letter(base, ino);
        }
        match Eco::parse(name) {
            Some(GameGroup::Eco(code)) if Eco::parent_of(code) == directory => {
                base.group_node(GameGroup::Eco(code))
            }
            _ => Err(Error::NotFound),
        }
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        if directory != Eco::NUMBER {
            return base.list_groups((3..).zip(Eco::of_letter(directory)), after, listing);
        }
        let mut bytes = [0; 4];
        for (cookie, letter, ino) in Eco::letters().filter(|(cookie, ..)| *cookie > after) {
            let node = match Eco::letter(base, ino) {
                Ok(node) => node,
                Err(Error::NotFound) => continue,
                Err(error) => return Err(error),
            };
            let name: &str = letter.encode_utf8(&mut bytes);
            if !listing(&DirEntry { name, node, cookie }) {
                return Ok(());
            }
        }
        let none = [(u64::from(LETTERS) + 3, GameGroup::Eco(None))];
        base.list_groups(none, after, listing)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::groups::format_name;
    use super::*;

    #[test]
    fn each_code_lies_in_the_directory_of_its_letter() {
        let letters: Vec<_> = Eco::letters().collect();
        assert_eq!(letters.len(), 5);
        assert_eq!((letters[0].1, letters[4].1), ('A', 'E'));
        let mut name = String::new();
        for (_, letter, ino) in letters {
            assert!(Eco.holds(ino));
            let codes: Vec<_> = Eco::of_letter(ino).collect();
            assert_eq!(codes.len(), 100);
            for code in codes {
                format_name(code, &mut name);
                assert!(name.starts_with(letter), "{name}");
                assert_eq!(Eco::parse(name.as_bytes()), Some(code));
            }
        }
        assert_eq!(Eco::parse(b"none"), Some(GameGroup::Eco(None)));
        for other in [&b"a00"[..], b"A1", b"A000", b"F00", b""] {
            assert_eq!(Eco::parse(other), None);
        }
    }
}
