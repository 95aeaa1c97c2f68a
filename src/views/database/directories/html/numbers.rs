//! Numbers and names of what is in `html/`.
//!
//! | path | number |
//! |---|---|
//! | `html/`, and what is there once | kind 10, see [`Fixed`] |
//! | `html/games/000123.html` | kind 11, index 123 |
//! | `html/eco/B90.html` | kind 12, index the code, above it the piece |
//! | `html/tournaments/NAME.html` | kinds 13 to 16, the id, above it the piece |
//! | `html/players/NAME.html` | kinds 18 to 25, likewise |
//! | the same, of ids from 2^24 on | kinds 28 to 31 (players), 60 to 63: each a piece, index the id |
//! | `html/players.html` and the like | kind 26, index the piece, above it the section |
//! | `html/players/2/` and the like | kind 27, likewise |
//!
//! A page of many games is several, its pieces: the second one of
//! `players/NAME.html` is `players/2/NAME.html`, that of `players.html` is
//! `players-2.html`.

use crate::fs::Ino;
use crate::pages::Section;

const FIXED: u8 = 10;
const GAME: u8 = 11;
const ECO: u8 = 12;
const TOURNAMENT: (u8, u8) = (13, 4);
const PLAYER: (u8, u8) = (18, 8);
const LIST: u8 = 26;
const PIECE: u8 = 27;

/// Kinds of ids that do not fit into those: one for each piece.
const LARGE_PLAYER_ID: u8 = 28;
const LARGE_TOURNAMENT_ID: u8 = 60;
const LARGE_ID_KINDS: u8 = 4;

/// Bits of an id, of an opening code, and of a piece of a list.
const ID_BITS: u32 = 24;
const CODE_BITS: u32 = 16;

/// Nodes that exist once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Root,
    Games,
    Index,
    Style,
    Script,
}

const ALL: [Fixed; 5] = [
    Fixed::Root,
    Fixed::Games,
    Fixed::Index,
    Fixed::Style,
    Fixed::Script,
];

/// A node in `html/`. Pieces count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlNode {
    Fixed(Fixed),
    Game(u32),
    /// A piece of the page about a group: its folder, its id there, the piece.
    Group(Section, u32, u32),
    /// A piece of the list of all in a folder.
    List(Section, u32),
    /// The folder of the first pieces, or of all that are the second, third …
    Folder(Section, u32),
}

impl HtmlNode {
    /// Its number; `None` if numbers do not go so far.
    pub(super) fn ino(self) -> Option<Ino> {
        Some(match self {
            HtmlNode::Fixed(fixed) => {
                let place = ALL.iter().position(|one| *one == fixed)?;
                Ino::new(FIXED, u32::try_from(place).ok()?)
            }
            HtmlNode::Game(id) => Ino::new(GAME, id),
            HtmlNode::Group(Section::Eco, code, piece) => packed((ECO, 1), CODE_BITS, code, piece)?,
            HtmlNode::Group(Section::Players, id, piece) if id >> ID_BITS > 0 => {
                great(LARGE_PLAYER_ID, id, piece)?
            }
            HtmlNode::Group(Section::Tournaments, id, piece) if id >> ID_BITS > 0 => {
                great(LARGE_TOURNAMENT_ID, id, piece)?
            }
            HtmlNode::Group(Section::Tournaments, id, piece) => {
                packed(TOURNAMENT, ID_BITS, id, piece)?
            }
            HtmlNode::Group(Section::Players, id, piece) => packed(PLAYER, ID_BITS, id, piece)?,
            HtmlNode::List(section, piece) => {
                packed((LIST, 1), ID_BITS, piece, section as u32 + 1)?
            }
            HtmlNode::Folder(section, piece) => {
                packed((PIECE, 1), ID_BITS, piece, section as u32 + 1)?
            }
        })
    }

    /// What has this number.
    pub(super) fn of(ino: Ino) -> Option<HtmlNode> {
        let section = |number: u32| {
            let place = usize::try_from(number.checked_sub(1)?).ok()?;
            Section::ALL.get(place).copied()
        };
        match ino.kind() {
            _ if ino.base_number() > 0 => None,
            FIXED => {
                let place = usize::try_from(ino.index()).ok()?;
                ALL.get(place).map(|fixed| HtmlNode::Fixed(*fixed))
            }
            GAME => (ino.index() > 0).then_some(HtmlNode::Game(ino.index())),
            ECO => {
                let (code, piece) = unpacked((ECO, 1), CODE_BITS, ino)?;
                Some(HtmlNode::Group(Section::Eco, code, piece))
            }
            LIST => {
                let (piece, number) = unpacked((LIST, 1), ID_BITS, ino)?;
                Some(HtmlNode::List(section(number)?, piece)).filter(|_| piece > 0)
            }
            PIECE => {
                let (piece, number) = unpacked((PIECE, 1), ID_BITS, ino)?;
                Some(HtmlNode::Folder(section(number)?, piece)).filter(|_| piece > 0)
            }
            LARGE_PLAYER_ID..=31 => of_great(LARGE_PLAYER_ID, Section::Players, ino),
            LARGE_TOURNAMENT_ID..=63 => of_great(LARGE_TOURNAMENT_ID, Section::Tournaments, ino),
            _ => [
                (TOURNAMENT, Section::Tournaments),
                (PLAYER, Section::Players),
            ]
            .into_iter()
            .find_map(|(kinds, section)| {
                let (id, piece) = unpacked(kinds, ID_BITS, ino)?;
                Some(HtmlNode::Group(section, id, piece))
            }),
        }
    }
}

/// How many pieces of a page have numbers.
pub(in super::super::super) fn most_pieces(section: Section, id: u32) -> usize {
    match section {
        Section::Eco => 1 << (32 - CODE_BITS),
        _ if id >> ID_BITS > 0 => LARGE_ID_KINDS.into(),
        Section::Tournaments => usize::from(TOURNAMENT.1) << (32 - ID_BITS),
        Section::Players => usize::from(PLAYER.1) << (32 - ID_BITS),
    }
}

fn great(first: u8, id: u32, piece: u32) -> Option<Ino> {
    let piece = u8::try_from(piece.checked_sub(1)?).ok()?;
    (piece < LARGE_ID_KINDS).then(|| Ino::new(first + piece, id))
}

fn of_great(first: u8, section: Section, ino: Ino) -> Option<HtmlNode> {
    let is_great = ino.index() >> ID_BITS > 0;
    let piece = u32::from(ino.kind() - first) + 1;
    is_great.then_some(HtmlNode::Group(section, ino.index(), piece))
}

/// A number of some kinds: `low` in the lower bits, `piece`, from 1, above.
fn packed((first, kinds): (u8, u8), bits: u32, low: u32, piece: u32) -> Option<Ino> {
    let high = u64::from(piece.checked_sub(1)?);
    let packed = high << bits | u64::from(low);
    let fits = u64::from(low) >> bits == 0 && packed >> 32 < u64::from(kinds);
    fits.then_some(Ino((u64::from(first) << 32) + packed))
}

fn unpacked((first, kinds): (u8, u8), bits: u32, ino: Ino) -> Option<(u32, u32)> {
    let packed = ino.0.checked_sub(u64::from(first) << 32)?;
    if packed >> 32 >= u64::from(kinds) {
        return None;
    }
    let low = u32::try_from(packed & ((1 << bits) - 1)).ok()?;
    Some((low, u32::try_from(packed >> bits).ok()? + 1))
}

/// A piece in a name: from 2 on, without leading zeros.
pub(super) fn parse_piece(digits: &str) -> Option<u32> {
    let piece: u32 = digits.parse().ok()?;
    (piece >= 2 && piece.to_string() == digits).then_some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_tell_what_they_stand_for() {
        let mut all: Vec<HtmlNode> = ALL.into_iter().map(HtmlNode::Fixed).collect();
        all.extend([1, 123, u32::MAX].map(HtmlNode::Game));
        for section in Section::ALL {
            for piece in [1, 2, 1000] {
                let folders = [
                    HtmlNode::List(section, piece),
                    HtmlNode::Folder(section, piece),
                ];
                all.extend(folders);
                all.extend([0, 1, 500, 65_535].map(|id| HtmlNode::Group(section, id, piece)));
            }
        }
        all.push(HtmlNode::Group(Section::Players, (1 << 24) - 1, 2048));
        for section in [Section::Players, Section::Tournaments] {
            for id in [1 << 24, u32::MAX] {
                all.extend([1, 2, 4].map(|piece| HtmlNode::Group(section, id, piece)));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for thing in all {
            let ino = thing.ino().unwrap();
            assert_eq!(HtmlNode::of(ino), Some(thing));
            assert!(seen.insert(ino), "{thing:?}");
            let kinds = [10..=16, 18..=31, 60..=63];
            assert!(kinds.iter().any(|kinds| kinds.contains(&ino.kind())));
            if let HtmlNode::Group(section, id, piece) = thing {
                assert!(piece as usize <= most_pieces(section, id), "{thing:?}");
            }
        }
        for beyond in [
            HtmlNode::Group(Section::Players, 1 << 24, 5),
            HtmlNode::Group(Section::Players, 1, 2049),
            HtmlNode::Group(Section::Eco, 1, 65_537),
            HtmlNode::List(Section::Players, 1 << 24),
        ] {
            assert_eq!(beyond.ino(), None, "{beyond:?}");
        }
        for other in [
            Ino::ROOT,
            Ino::new(10, 5),
            Ino::new(11, 0),
            Ino::new(17, 1),
            Ino::new(28, 1),
        ] {
            assert_eq!(HtmlNode::of(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_piece_has_one_name() {
        assert_eq!(parse_piece("2"), Some(2));
        for other in ["1", "02", "+2", "", "x", "99999999999"] {
            assert_eq!(parse_piece(other), None, "{other}");
        }
    }
}
