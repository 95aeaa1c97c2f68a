//! What belongs to a position: its directory, what is in there, and links to it.

/// Something in the block of numbers of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Its directory.
    Directory,
    /// A file in there.
    File(PositionFile),
    /// `games/`
    Games,
    /// A link to its directory.
    Link(LinkLocation),
}

/// A file in the directory of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PositionFile {
    /// `position.fen`
    Fen,
    /// `board.txt`
    Board,
    /// `board.svg`
    Picture,
    /// `moves.tsv`
    Moves,
    /// `stats.json`
    Stats,
    /// `line.pgn`
    Line,
    /// `book.pgn`
    BookPgn,
    /// `openings.pgn`
    Openings,
    /// `games.tsv`
    GamesTsv,
    /// `games.pgn`
    GamesPgn,
}

/// Where a link lies that leads to a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkLocation {
    /// In `fen/`, under another spelling.
    Fen,
    /// In another position.
    Position,
    /// In `line/` and other directories beside `fen/`.
    Lines,
    /// Beside `fen/` itself.
    Above,
}

const ITEMS: [Item; 16] = [
    Item::Directory,
    Item::File(PositionFile::Fen),
    Item::File(PositionFile::Board),
    Item::File(PositionFile::Moves),
    Item::File(PositionFile::Stats),
    Item::File(PositionFile::Line),
    Item::File(PositionFile::BookPgn),
    Item::File(PositionFile::GamesTsv),
    Item::File(PositionFile::GamesPgn),
    Item::Games,
    Item::Link(LinkLocation::Fen),
    Item::Link(LinkLocation::Position),
    Item::Link(LinkLocation::Lines),
    Item::Link(LinkLocation::Above),
    Item::File(PositionFile::Picture),
    Item::File(PositionFile::Openings),
];

impl Item {
    /// Its place in the block of a position.
    pub(crate) fn number(self) -> u64 {
        let place = ITEMS.iter().position(|item| *item == self);
        place.unwrap_or(0) as u64
    }

    /// The one in this place.
    pub(crate) fn of(number: u64) -> Option<Item> {
        ITEMS.get(usize::try_from(number).ok()?).copied()
    }
}

impl LinkLocation {
    /// The target of a link to the position of this name.
    pub(crate) fn target(self, name: &str) -> Vec<u8> {
        let way = match self {
            LinkLocation::Fen => "",
            LinkLocation::Position => "../",
            LinkLocation::Lines => "../fen/",
            LinkLocation::Above => "fen/",
        };
        format!("{way}{name}").into_bytes()
    }
}

/// `position.fen` of a position that is named by these four fields.
pub(crate) fn position_fen(fields: &str) -> String {
    format!("{fields} 0 1\n")
}
