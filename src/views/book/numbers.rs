//! Which number stands for what in a book.
//!
//! | path | number |
//! |---|---|
//! | `/` | 1 |
//! | `/fen/`, `unreachable/`, `export/`, `games/` | 2 to 5 |
//! | `/README.txt`, `book.json`, `warnings.txt` | 16 to 18 |
//! | `/export/book.pgn` and what else is there | 24 to 27 |
//! | `/games/sources.tsv` | 32 |
//! | `/games/0/` and so on | kind 60, index the source |
//! | games | kind 61, counted through all sources |
//! | a line and its files | kind 1 to 58: 2^32 + 8 × line + which of them |
//!
//! A line, other than the two empty ones, has the hash of its start and moves
//! for a number, see [`lines`](super::lines).

use crate::fs::Ino;

/// How many numbers there are for lines.
pub(super) const LINES: u64 = 58 << 29;

/// The first number of a line.
const FIRST: u64 = 1 << 32;

/// Numbers of one line: the directory and its files.
const OF_LINE: u64 = 8;

/// The number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LineId(pub(super) u64);

impl LineId {
    /// `tree/`
    pub(super) const TREE: LineId = LineId(0);
    /// `uci/`
    pub(super) const UCI: LineId = LineId(1);
    /// The first number that is a hash.
    pub(super) const FIRST_HASH: u64 = 16;

    /// Its directory, or the link that stands in its place.
    pub(super) fn ino(self) -> Ino {
        Ino(FIRST + self.0 * OF_LINE)
    }
}

/// A directory that is there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Top {
    Root,
    Fen,
    Unreachable,
    Export,
    Games,
}

impl Top {
    const ALL: [Top; 5] = [
        Top::Root,
        Top::Fen,
        Top::Unreachable,
        Top::Export,
        Top::Games,
    ];

    pub(super) fn ino(self) -> Ino {
        Ino(1 + self as u64)
    }
}

/// A file in the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RootFile {
    Readme,
    Json,
    Warnings,
}

impl RootFile {
    pub(super) const ALL: [(&str, RootFile); 3] = [
        ("README.txt", RootFile::Readme),
        ("book.json", RootFile::Json),
        ("warnings.txt", RootFile::Warnings),
    ];
}

/// A file in `export/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Export {
    Pgn,
    Epd,
    Tsv,
    Polyglot,
}

impl Export {
    pub(super) const ALL: [(&str, Export); 4] = [
        ("book.pgn", Export::Pgn),
        ("book.epd", Export::Epd),
        ("positions.tsv", Export::Tsv),
        ("book.bin", Export::Polyglot),
    ];
}

/// A file in the directory of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LineFile {
    Fen,
    Board,
    Moves,
    Stats,
    Line,
    Pgn,
}

impl LineFile {
    pub(super) const ALL: [(&str, LineFile); 6] = [
        ("position.fen", LineFile::Fen),
        ("board.txt", LineFile::Board),
        ("moves.tsv", LineFile::Moves),
        ("stats.json", LineFile::Stats),
        ("line.pgn", LineFile::Line),
        ("book.pgn", LineFile::Pgn),
    ];

    /// Its number in the directory of `line`.
    pub(super) fn ino(self, line: LineId) -> Ino {
        Ino(line.ino().0 + 1 + self as u64)
    }
}

/// What a number stands for, by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    Top(Top),
    RootFile(RootFile),
    Export(Export),
    /// A line's directory, or a link.
    Line(LineId),
    LineFile(LineId, LineFile),
    /// `games/sources.tsv`
    Sources,
    /// The directory of a source
    Source(u16),
    /// A game, counted through all sources
    Game(u32),
}

const SOURCES: Ino = Ino(32);
const SOURCE_KIND: u8 = 60;
const GAME_KIND: u8 = 61;
const ROOT_FILES: u64 = 16;
const EXPORTS: u64 = 24;

/// The last kind of lines.
const LAST_KIND: u8 = 58;

impl Thing {
    /// That of this number; whether it is there is not asked.
    pub(super) fn of(ino: Ino) -> Option<Thing> {
        let nth = |from: u64| usize::try_from(ino.0.checked_sub(from)?).ok();
        match ino.kind() {
            _ if ino.slot() > 0 => None,
            _ if ino == SOURCES => Some(Thing::Sources),
            SOURCE_KIND => Some(Thing::Source(u16::try_from(ino.index()).ok()?)),
            GAME_KIND => Some(Thing::Game(ino.index())),
            0 => {
                let top = nth(1).and_then(|place| Top::ALL.get(place));
                let file = || nth(ROOT_FILES).and_then(|place| RootFile::ALL.get(place));
                let export = || nth(EXPORTS).and_then(|place| Export::ALL.get(place));
                top.map(|top| Thing::Top(*top))
                    .or_else(|| file().map(|file| Thing::RootFile(file.1)))
                    .or_else(|| export().map(|export| Thing::Export(export.1)))
            }
            kind if kind <= LAST_KIND => {
                let number = ino.0.checked_sub(FIRST)?;
                let line = LineId(number / OF_LINE);
                match usize::try_from(number % OF_LINE).ok()?.checked_sub(1) {
                    None => Some(Thing::Line(line)),
                    Some(place) => Some(Thing::LineFile(line, LineFile::ALL.get(place)?.1)),
                }
            }
            _ => None,
        }
    }

    /// Its number.
    pub(super) fn ino(self) -> Ino {
        match self {
            Thing::Top(top) => top.ino(),
            Thing::RootFile(file) => Ino(ROOT_FILES + file as u64),
            Thing::Export(export) => Ino(EXPORTS + export as u64),
            Thing::Line(line) => line.ino(),
            Thing::LineFile(line, file) => file.ino(line),
            Thing::Sources => SOURCES,
            Thing::Source(number) => Ino::new(SOURCE_KIND, number.into()),
            Thing::Game(index) => Ino::new(GAME_KIND, index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_things_tell_each_other() {
        let lines = [0, 1, 16, 12_345_678_901, LINES - 1].map(LineId);
        let small = (0..100).map(Ino);
        let of_lines = lines
            .iter()
            .flat_map(|line| (0..8).map(|item| Ino(line.ino().0 + item)));
        let mut found = 0;
        for ino in small.chain(of_lines) {
            if let Some(thing) = Thing::of(ino) {
                assert_eq!(thing.ino(), ino, "{thing:?}");
                found += 1;
            }
        }
        assert_eq!(found, 5 + 3 + 4 + 1 + 5 * 7);
        assert_eq!(Thing::of(Ino(u64::MAX)), None);
        assert_eq!(Thing::of(Ino::new(62, 1)), None);
    }

    #[test]
    fn the_last_line_has_the_last_number() {
        let last = LineFile::Pgn.ino(LineId(LINES - 1));
        assert_eq!(last.kind(), LAST_KIND);
        assert_eq!(Thing::of(Ino::new(60, 7)), Some(Thing::Source(7)));
        assert_eq!(Thing::of(Ino::new(60, 1 << 16)), None);
        assert!(LineId::TREE.ino().kind() == 1);
    }
}
