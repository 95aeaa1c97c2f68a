//! Which number stands for what in a book.
//!
//! | path | number |
//! |---|---|
//! | `/`, and what is there once | 1 to 17, see [`Fixed`] |
//! | positions, what belongs to them, links to them | kinds 1 to 58, see [`InoTable`] |
//! | `/games/0/` and so on | kind 60, index the source |
//! | games | kind 61, counted through all sources |

use super::texts::TOGETHER;
use crate::book::export::ExportFormat;
use crate::fs::Ino;
use crate::views::positions::{InoTable, Item, NodeKey};

/// The kinds of numbers that positions have, from the first to before the last.
const POSITION_KINDS: (u8, u8) = (1, 59);
const SOURCE_KIND: u8 = 60;
const GAME_KIND: u8 = 61;

/// An empty table of the numbers of positions.
pub(super) fn nodes() -> InoTable {
    let (first, end) = POSITION_KINDS;
    InoTable::new(first, end)
}

/// A file, directory or link that is there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Root,
    /// `tree`
    Tree,
    /// `uci`
    Uci,
    /// `fen/`
    Fen,
    /// `line/`
    Lines,
    /// `unreachable/`
    Unreachable,
    /// `export/`
    Exports,
    /// A file in `export/`.
    Export(ExportFormat),
    /// `games/`
    Games,
    /// `games/sources.tsv`
    Sources,
    Readme,
    Json,
    Warnings,
}

/// In the order of their numbers, which begin with 1.
const ALL: [Fixed; 17] = [
    Fixed::Root,
    Fixed::Tree,
    Fixed::Uci,
    Fixed::Fen,
    Fixed::Lines,
    Fixed::Unreachable,
    Fixed::Exports,
    Fixed::Games,
    Fixed::Sources,
    Fixed::Readme,
    Fixed::Json,
    Fixed::Warnings,
    Fixed::Export(ExportFormat::Pgn),
    Fixed::Export(ExportFormat::Epd),
    Fixed::Export(ExportFormat::Tsv),
    Fixed::Export(ExportFormat::Polyglot),
    Fixed::Export(ExportFormat::Openings),
];

/// What the root lists.
pub(super) const IN_ROOT: [(&str, Fixed); 10] = [
    ("tree", Fixed::Tree),
    ("uci", Fixed::Uci),
    ("fen", Fixed::Fen),
    ("line", Fixed::Lines),
    ("unreachable", Fixed::Unreachable),
    ("export", Fixed::Exports),
    ("games", Fixed::Games),
    ("README.txt", Fixed::Readme),
    ("book.json", Fixed::Json),
    ("warnings.txt", Fixed::Warnings),
];

/// What `export/` lists.
pub(super) const IN_EXPORTS: [(&str, Fixed); 5] = [
    ("book.pgn", Fixed::Export(ExportFormat::Pgn)),
    ("openings.pgn", Fixed::Export(ExportFormat::Openings)),
    ("book.epd", Fixed::Export(ExportFormat::Epd)),
    ("positions.tsv", Fixed::Export(ExportFormat::Tsv)),
    ("book.bin", Fixed::Export(ExportFormat::Polyglot)),
];

impl Fixed {
    /// Returns the file that represents all files written during the same walk.
    pub(super) fn walked_with(self) -> Fixed {
        match self {
            Fixed::Export(format) => {
                let mut groups = TOGETHER.into_iter();
                let group = groups.find(|formats| formats.contains(&format));
                let first = group.and_then(|formats| formats.first());
                Fixed::Export(first.copied().unwrap_or(format))
            }
            Fixed::Json => Fixed::Warnings,
            other => other,
        }
    }

    /// Its number.
    pub(super) fn ino(self) -> Ino {
        let place = ALL.iter().position(|fixed| *fixed == self);
        Ino(1 + place.unwrap_or(0) as u64)
    }
}

/// What a number stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BookNode {
    Fixed(Fixed),
    /// What belongs to a position.
    Position(NodeKey, Item),
    /// The directory of a source.
    Source(u16),
    /// A game, counted through all sources.
    Game(u32),
}

impl BookNode {
    /// That of a number which no position has; whether it is there is not
    /// asked.
    pub(super) fn without_position(ino: Ino) -> Option<BookNode> {
        match ino.kind() {
            _ if ino.base_number() > 0 => None,
            0 => {
                let place = usize::try_from(ino.0.checked_sub(1)?).ok()?;
                ALL.get(place).map(|fixed| BookNode::Fixed(*fixed))
            }
            SOURCE_KIND => Some(BookNode::Source(u16::try_from(ino.index()).ok()?)),
            GAME_KIND => Some(BookNode::Game(ino.index())),
            _ => None,
        }
    }
}

/// The number of the directory of a source.
pub(super) fn source(number: u16) -> Ino {
    Ino::new(SOURCE_KIND, number.into())
}

/// The number of a game, counted through all sources.
pub(super) fn game(index: u32) -> Ino {
    Ino::new(GAME_KIND, index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_nodes_have_distinct_numbers() {
        for fixed in ALL {
            assert_eq!(
                BookNode::without_position(fixed.ino()),
                Some(BookNode::Fixed(fixed))
            );
        }
        for (_, fixed) in IN_ROOT.iter().chain(&IN_EXPORTS) {
            assert_ne!(fixed.ino(), Ino::ROOT);
        }
        assert_eq!(Fixed::Root.ino(), Ino::ROOT);
        assert_eq!(BookNode::without_position(Ino(0)), None);
        assert_eq!(BookNode::without_position(Ino(18)), None);
    }

    #[test]
    fn sources_and_games_are_numbered_beside_positions() {
        assert_eq!(
            BookNode::without_position(source(7)),
            Some(BookNode::Source(7))
        );
        assert_eq!(BookNode::without_position(game(7)), Some(BookNode::Game(7)));
        for none in [Ino::new(60, 1 << 16), Ino::new(62, 1), Ino(u64::MAX)] {
            assert_eq!(BookNode::without_position(none), None);
        }
        let (first, end) = POSITION_KINDS;
        assert!(!(first..end).contains(&SOURCE_KIND) && !(first..end).contains(&GAME_KIND));
    }
}
