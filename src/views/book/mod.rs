//! An opening book as directories.
//!
//! | path | what it is |
//! |---|---|
//! | `tree`, `uci` | links to the start position |
//! | `fen/<FEN>/`, `line/<moves>` | positions, see [`positions`] |
//! | `unreachable/<hash>` | links to those that no line from the start reaches |
//! | `games/<source>/<number>.pgn` | the games that the book names, if it names any |
//! | `export/` | the whole book in other formats |
//! | `README.txt`, `book.json`, `warnings.txt` | about the book |
//!
//! | file | what is in it |
//! |---|---|
//! | `numbers.rs` | which number stands for what |
//! | `listing.rs` | what directories list |
//! | `texts.rs`, `about.rs` | what is in the files |
//! | `spool.rs` | large texts, written once |
//! | `game_files.rs` | the games that the book names |
//! | `source.rs` | books on disk |

mod about;
mod game_files;
mod listing;
mod numbers;
mod source;
mod spool;
mod texts;

pub use source::{BookOptions, BookSource};

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::SystemTime;

use lru::LruCache;
use parking_lot::Mutex;
use shakmaty::Move;

use self::about::Examination;
use self::game_files::GameFiles;
use self::numbers::{BookNode, Fixed};
use self::spool::Spools;
use self::texts::TOGETHER;
use super::positions::{
    self, InoTable, Item, LinkLocation, NodeKey, PositionFile, PositionVolume, Scope,
};
use crate::base::referenced::{self, BookGames};
use crate::book::kept::BookCache;
use crate::book::walk::{LineSearch, shortest_line};
use crate::book::{self, Book, BookLine, Unreachable, board_fields};
use crate::fs::content::once::Once;
use crate::fs::volume::{
    Completeness, Facts, Fault, Ino, Listing, Node, NodeKind, Size, Volume, VolumeSize,
};
use crate::fs::{Error, TextCache};
use crate::game::Position;
use crate::storage::Spool;

/// Memory for texts of small files, which the kernel asks for twice: for the
/// length and for the text.
const TEXT_BYTES: usize = 1 << 20;

/// Large texts of positions that are kept, in files; and their bytes, together.
const SPOOLED: usize = 64;
const SPOOLED_BYTES: u64 = 256 << 20;

/// Lines to positions that are remembered.
const LINES: usize = 1024;

/// Positions that are looked at for the shortest line to one, at most: two seconds' work.
const MOST_SEARCHED: u32 = 500_000;

/// What each position lists before its moves.
const ITEMS: [(&str, Item); 8] = [
    ("position.fen", Item::File(PositionFile::Fen)),
    ("board.txt", Item::File(PositionFile::Board)),
    ("board.svg", Item::File(PositionFile::Picture)),
    ("moves.tsv", Item::File(PositionFile::Moves)),
    ("stats.json", Item::File(PositionFile::Stats)),
    ("line.pgn", Item::File(PositionFile::Line)),
    ("book.pgn", Item::File(PositionFile::BookPgn)),
    ("openings.pgn", Item::File(PositionFile::Openings)),
];

/// A line to a position.
#[derive(Debug)]
struct LineTo {
    line: BookLine,
    /// The search for one was given up, so it begins with the position.
    is_given_up: bool,
}

/// A book as directories.
#[derive(Debug)]
pub struct BookVolume {
    book: Arc<dyn Book>,
    options: BookOptions,
    modified: SystemTime,
    bytes: u64,
    nodes: Arc<InoTable>,
    /// The lines to positions, by their names.
    lines: Mutex<LruCache<Box<str>, Arc<LineTo>>>,
    searching: Mutex<()>,
    texts: TextCache,
    /// Each `book.pgn`, those longest untouched leaving first.
    spools: Spools,
    /// Exports, as they are written together.
    exports: [Once<Arc<[Spool]>>; TOGETHER.len()],
    kept: BookCache,
    unreachable: Once<Arc<Unreachable>>,
    examination: Once<Examination>,
    games: GameFiles,
}

impl BookVolume {
    /// Shows `book`, whose files changed last when `modified` says.
    pub fn new(book: Arc<dyn Book>, options: BookOptions, modified: SystemTime) -> BookVolume {
        BookVolume::numbered_by(Arc::new(numbers::nodes()), book, options, modified)
    }

    /// As [`new`](BookVolume::new), with the numbers that an earlier state of
    /// the book told.
    fn numbered_by(
        nodes: Arc<InoTable>,
        book: Arc<dyn Book>,
        options: BookOptions,
        modified: SystemTime,
    ) -> BookVolume {
        let members = &book.facts().members;
        let bytes = members.iter().filter_map(|member| member.bytes);
        let lines = NonZeroUsize::new(LINES).unwrap_or(NonZeroUsize::MIN);
        BookVolume {
            bytes: bytes.fold(0, u64::saturating_add),
            kept: BookCache::of(book.as_ref(), options.caches.as_deref(), options.settings()),
            games: GameFiles::new(BookGames::new(Arc::clone(&book), options.games.clone())),
            book,
            options,
            modified,
            nodes,
            lines: Mutex::new(LruCache::new(lines)),
            searching: Mutex::default(),
            texts: TextCache::new(TEXT_BYTES),
            spools: Spools::new(SPOOLED, SPOOLED_BYTES),
            exports: Default::default(),
            unreachable: Once::default(),
            examination: Once::default(),
        }
    }

    /// What a number stands for.
    fn thing(&self, ino: Ino) -> Result<BookNode, Error> {
        if let Some(thing) = BookNode::without_position(ino) {
            return Ok(thing);
        }
        let (key, place) = self.nodes.key(ino)?;
        let item = Item::of(place).filter(|_| key.position.is_some());
        Ok(BookNode::Position(key, item.ok_or(Error::NotFound)?))
    }

    /// The shortest line to a position; one from there if none is found.
    fn line(&self, key: &NodeKey) -> Result<Arc<LineTo>, Error> {
        let name = key.position.as_ref().ok_or(Error::NotFound)?;
        if let Some(line) = self.lines.lock().get(name) {
            return Ok(Arc::clone(line));
        }
        let position = key.position()?;
        // One at a time: each may take as much memory as a walk.
        let _one = self.searching.lock();
        if let Some(line) = self.lines.lock().get(name) {
            return Ok(Arc::clone(line));
        }
        let search = shortest_line(&*self.book, &position, MOST_SEARCHED)?;
        let is_given_up = matches!(search, LineSearch::GivenUp);
        let line = search.found();
        let line = Arc::new(LineTo {
            line: line.unwrap_or_else(|| BookLine::set_up(position)),
            is_given_up,
        });
        self.lines.lock().put(name.clone(), Arc::clone(&line));
        Ok(line)
    }

    fn unreachable(&self) -> Result<Arc<Unreachable>, Error> {
        self.unreachable.get_or_work_out(|| {
            let examined = self.kept.examined();
            let counted = examined.and_then(|examined| examined.checked.unreachable);
            let found = match counted {
                Some(0) => Unreachable::none(),
                _ => Unreachable::find(&*self.book, self.options.export_limit)?,
            };
            Ok(Arc::new(found))
        })
    }

    /// Returns whether the node can be shown only after a walk through the book
    /// or a part of it.
    fn is_to_be_walked(&self, thing: &BookNode) -> bool {
        match thing {
            // Its length may be known from an earlier mount, its text is not.
            BookNode::Fixed(Fixed::Export(format)) => !self.is_written(*format),
            BookNode::Fixed(Fixed::Warnings | Fixed::Json)
            | BookNode::Position(
                _,
                Item::File(PositionFile::Line | PositionFile::BookPgn | PositionFile::Openings),
            ) => self.known_length(thing).is_none(),
            BookNode::Fixed(Fixed::Unreachable) => self.unreachable.get().is_none(),
            _ => false,
        }
    }

    fn file_node(&self, ino: Ino) -> Node {
        self.node_of(ino, NodeKind::File(Size::Computed), 1)
    }

    fn node_of(&self, ino: Ino, kind: NodeKind, links: u32) -> Node {
        Node {
            ino,
            kind,
            links,
            modified: self.modified,
        }
    }

    fn fixed_node(&self, fixed: Fixed) -> Node {
        let (kind, links) = match fixed {
            Fixed::Root => (NodeKind::Directory, 6 + u32::from(self.games.exist())),
            Fixed::Fen | Fixed::Games => (NodeKind::Directory, 1),
            Fixed::Lines | Fixed::Unreachable | Fixed::Exports => (NodeKind::Directory, 2),
            Fixed::Tree | Fixed::Uci => (NodeKind::Symlink, 1),
            _ => (NodeKind::File(Size::Computed), 1),
        };
        self.node_of(fixed.ino(), kind, links)
    }
}

impl PositionVolume for BookVolume {
    fn items(&self) -> &'static [(&'static str, Item)] {
        &ITEMS
    }

    fn fields(&self, position: &Position) -> String {
        board_fields(position)
    }

    fn start(&self) -> Position {
        self.book.start()
    }

    fn moves(&self, _: &Scope, position: &Position) -> Result<Vec<Option<Move>>, Error> {
        let entry = self.book.look_up(position)?;
        let moves = entry.iter().flat_map(|entry| &entry.moves);
        Ok(moves.map(|known| Some(known.m)).collect())
    }

    fn nodes(&self) -> &InoTable {
        &self.nodes
    }

    fn node(&self, ino: Ino, item: Item) -> Node {
        match item {
            Item::Directory => self.node_of(ino, NodeKind::Directory, 2),
            Item::Link(_) => self.node_of(ino, NodeKind::Symlink, 1),
            Item::File(_) | Item::Games => self.file_node(ino),
        }
    }
}

impl Volume for BookVolume {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        match self.thing(directory)? {
            BookNode::Fixed(fixed) => self.lookup_in_fixed(fixed, name),
            BookNode::Position(key, Item::Directory) => {
                positions::lookup_in_position(self, &key, name)
            }
            BookNode::Source(number) => {
                let game = self.games.named(number, name)?;
                Ok(self.file_node(numbers::game(game)))
            }
            _ => Err(Error::NotADirectory),
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        match self.thing(ino)? {
            BookNode::Fixed(fixed) => Ok(self.fixed_node(fixed)),
            BookNode::Position(_, item) => Ok(PositionVolume::node(self, ino, item)),
            BookNode::Source(number) => {
                self.games.source(number)?;
                Ok(self.node_of(ino, NodeKind::Directory, 2))
            }
            BookNode::Game(index) => {
                self.games.reference(index)?;
                Ok(self.file_node(ino))
            }
        }
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        let thing = self.thing(directory)?;
        match (Volume::node(self, directory)?.kind, thing) {
            (NodeKind::Directory, BookNode::Fixed(_)) => Ok(Ino::ROOT),
            (NodeKind::Directory, BookNode::Position(..)) => Ok(Fixed::Fen.ino()),
            (NodeKind::Directory, BookNode::Source(_)) => Ok(Fixed::Games.ino()),
            _ => Err(Error::NotADirectory),
        }
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        match self.thing(directory)? {
            BookNode::Fixed(fixed) => self.list_fixed(fixed, after, listing),
            BookNode::Position(key, Item::Directory) => {
                positions::list_position(self, &key, after, listing)
            }
            BookNode::Source(number) => self.list_games(number, after, listing),
            _ => Err(Error::NotADirectory),
        }
    }

    fn render(&self, _: Ino, _: &mut Vec<u8>) -> Result<Completeness, Error> {
        // There are no files of that kind.
        Err(Error::NotFound)
    }

    fn size(&self, ino: Ino) -> Result<u64, Error> {
        if let Some(known) = self.known_size(ino) {
            return Ok(known);
        }
        self.with_text(ino, |text| text.len() as u64, |spool| Ok(spool.bytes()))
    }

    fn read(&self, ino: Ino, offset: u64, length: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.extend(self.part(ino, offset, length)?);
        Ok(())
    }

    fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        match self.thing(link)? {
            BookNode::Fixed(Fixed::Tree | Fixed::Uci) => {
                let start = positions::name(self, &PositionVolume::start(self));
                Ok(LinkLocation::Above.target(&start.ok_or(Error::NotFound)?))
            }
            BookNode::Position(key, Item::Link(place)) => {
                Ok(place.target(&key.position.ok_or(Error::NotFound)?))
            }
            _ => Err(Error::NotFound),
        }
    }

    fn known_size(&self, ino: Ino) -> Option<u64> {
        self.known_length(&self.thing(ino).ok()?)
    }

    fn long_work(&self, ino: Ino, name: Option<&[u8]>) -> Option<Ino> {
        let thing = self.thing(ino).ok()?;
        let is_asked = match name {
            None => true,
            // All other names are looked up without their lengths.
            Some(_) => thing == BookNode::Fixed(Fixed::Unreachable),
        };
        (is_asked && self.is_to_be_walked(&thing)).then(|| match thing {
            BookNode::Fixed(fixed) => fixed.walked_with().ino(),
            _ => ino,
        })
    }

    fn look_ahead(&self) {
        let members = &self.book.facts().members;
        // A book without its directory would be searched from end to end.
        if members.iter().any(|member| member.bytes.is_none()) {
            return;
        }
        let start = positions::name(self, &PositionVolume::start(self)).map(Into::into);
        let key = NodeKey {
            scope: Scope::default(),
            position: start,
        };
        if let Ok(moves) = self
            .nodes
            .number(&key, Item::File(PositionFile::Moves).number())
        {
            // Its error, if any, comes again when somebody looks.
            let _ = self.size(moves);
        }
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn is_held(&self, ino: Ino) -> bool {
        self.nodes.is_remembered(ino)
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize {
            bytes: self.bytes,
            files: self.book.facts().positions.unwrap_or(0),
        }
    }

    fn rendered(&self) -> (Ino, Ino) {
        // None: the last one is before the first.
        (Ino(1), Ino(0))
    }

    fn facts(&self) -> Facts {
        let facts = self.book.facts();
        Facts {
            kind: facts.format.name(),
            counts: vec![("positions", facts.positions), ("games", facts.games)],
            bytes: self.bytes,
            rendered: Some(0),
            read_only_because: Some("an opening book is read-only".to_owned()),
            ..Facts::default()
        }
    }

    fn faults(&self, note: &mut dyn FnMut(Fault)) {
        for defect in self.book.defects() {
            note(about::fault(&defect));
        }
    }
}

impl From<book::Error> for Error {
    fn from(error: book::Error) -> Error {
        Error::Damaged(error.to_string())
    }
}

impl From<referenced::Error> for Error {
    fn from(error: referenced::Error) -> Error {
        match error {
            referenced::Error::NotFound => Error::NotFound,
            referenced::Error::TooLarge => Error::TooLarge,
            referenced::Error::Damaged(why) => Error::Damaged(why),
        }
    }
}
