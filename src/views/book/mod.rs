//! An opening book as directories.
//!
//! | path | what it is |
//! |---|---|
//! | `tree/e4/c5/…` | a directory for each move of the book, by its notation |
//! | `uci/e2e4/c7c5/…` | the same by UCI |
//! | `fen/<FEN>/…` | any position; not listed |
//! | `unreachable/<hash>/…` | those that no line from the start reaches |
//! | `games/<source>/<number>.pgn` | the games that the book names, if it names any |
//! | `export/` | the whole book in other formats |
//! | `README.txt`, `book.json`, `warnings.txt` | about the book |
//!
//! A directory is a **line**: a start and the moves from there. It is made
//! when somebody looks, and has the files of [`LineFile`]. Where a move leads
//! to a position that was there before, a link to that directory stands in its
//! place, so every walk ends: no line is longer than the book has positions.
//!
//! | file | what is in it |
//! |---|---|
//! | `numbers.rs` | which number stands for what |
//! | `lines.rs` | the lines that somebody looks at |
//! | `standing.rs` | where a line has come to, and its moves |
//! | `fen_name.rs` | positions as names |
//! | `listing.rs` | what directories list |
//! | `texts.rs`, `about.rs` | what is in the files |
//! | `spool.rs` | where large texts lie |
//! | `unreachable.rs` | positions that no line reaches |
//! | `game_files.rs`, `games/` | the games that the book names |
//! | `source.rs` | books on disk |

mod about;
mod fen_name;
mod game_files;
mod games;
mod lines;
mod listing;
mod numbers;
mod source;
mod spool;
mod standing;
mod texts;
mod unreachable;

pub use games::{Games, GamesOptions, ListedSource, SourceMap};
pub(crate) use source::stem_of;
pub use source::{BookOptions, BookSource};

use std::sync::Arc;
use std::time::SystemTime;

use self::game_files::GameFiles;
use self::lines::{Lines, Origin};
use self::numbers::{Export, LineFile, LineId, RootFile, Thing, Top};
use self::spool::Spools;
use self::standing::{Standing, Standings};
use self::unreachable::Unreachable;
use crate::book::{self, Book};
use crate::fs::content::once::Once;
use crate::fs::volume::{
    Completeness, Facts, Fault, Ino, Listing, Node, NodeKind, Size, Statistics, Volume,
};
use crate::fs::{Error, Text, TextCache};

/// Memory for texts of small files, which the kernel asks for twice: for the
/// length and for the text.
const TEXT_BYTES: usize = 1 << 20;

/// Large texts of lines that are kept, in files; and their bytes, together.
const LINES_SPOOLED: usize = 64;
const LINES_SPOOLED_BYTES: u64 = 256 << 20;

/// A book as directories.
#[derive(Debug)]
pub struct BookVolume {
    book: Arc<dyn Book>,
    options: BookOptions,
    modified: SystemTime,
    bytes: u64,
    lines: Arc<Lines>,
    standings: Standings,
    texts: TextCache,
    /// Large texts of lines, those longest untouched leaving first.
    spools: Spools,
    exports: Spools,
    unreachable: Once<Arc<Unreachable>>,
    warnings: Once<Text>,
    games: GameFiles,
}

impl BookVolume {
    /// Shows `book`, whose files changed last when `modified` says.
    pub fn new(book: Arc<dyn Book>, options: BookOptions, modified: SystemTime) -> BookVolume {
        BookVolume::with_lines(book, options, modified, Arc::default())
    }

    /// As [`new`](BookVolume::new), with the lines that an earlier state of
    /// the book remembered.
    fn with_lines(
        book: Arc<dyn Book>,
        options: BookOptions,
        modified: SystemTime,
        lines: Arc<Lines>,
    ) -> BookVolume {
        let members = &book.facts().members;
        let bytes = members.iter().filter_map(|member| member.bytes);
        BookVolume {
            bytes: bytes.fold(0, u64::saturating_add),
            games: GameFiles::new(Games::new(Arc::clone(&book), options.games.clone())),
            book,
            options,
            modified,
            lines,
            standings: Standings::default(),
            texts: TextCache::new(TEXT_BYTES),
            spools: Spools::new(LINES_SPOOLED, LINES_SPOOLED_BYTES),
            exports: Spools::new(Export::ALL.len(), u64::MAX),
            unreachable: Once::default(),
            warnings: Once::default(),
        }
    }

    /// Where the line has come to.
    fn standing(&self, line: LineId) -> Result<Arc<Standing>, Error> {
        let key = self.lines.key(line)?;
        if let Some(standing) = self.standings.get(key) {
            return Ok(standing);
        }
        let path = self.lines.path(line)?;
        // From the last place that is known.
        let before = path.moves.iter().enumerate().rev().skip(1);
        let mut known = before.filter_map(|(place, (_, key))| {
            let standing = self.standings.get(*key)?;
            Some((place + 1, standing))
        });
        let (from, mut standing) = match known.next() {
            Some(known) => known,
            None => (0, Arc::new(self.start(path.start)?)),
        };
        for (m, key) in path.moves.iter().skip(from) {
            standing = Arc::new(standing.after(*m).ok_or(Error::Stale)?);
            self.standings.put(*key, &standing);
        }
        if path.moves.is_empty() {
            self.standings.put(key, &standing);
        }
        Ok(standing)
    }

    /// The start of a line.
    fn start(&self, origin: Origin) -> Result<Standing, Error> {
        let position = match &origin {
            Origin::Tree | Origin::Uci => Some(self.book.start()),
            Origin::Fen(name) => fen_name::position(name.as_bytes()),
            Origin::Unreachable(name) => self.unreachable()?.position(name),
            Origin::Move(..) => None,
        };
        Ok(Standing::new(origin, position.ok_or(Error::Stale)?))
    }

    fn unreachable(&self) -> Result<Arc<Unreachable>, Error> {
        self.unreachable.get_or_work_out(|| {
            let limit = self.options.export_limit;
            Ok(Arc::new(Unreachable::find(&*self.book, limit)?))
        })
    }

    /// Whether this can only be told once the whole book, or all of a line,
    /// has been walked.
    fn is_to_be_walked(&self, thing: Thing) -> bool {
        match thing {
            Thing::Export(_)
            | Thing::LineFile(_, LineFile::Pgn)
            | Thing::RootFile(RootFile::Warnings) => self.known_length(thing).is_none(),
            Thing::Top(Top::Unreachable) => self.unreachable.get().is_none(),
            _ => false,
        }
    }

    fn file_node(&self, ino: Ino) -> Node {
        self.node_of(ino, NodeKind::File(Size::Asked), 1)
    }

    fn node_of(&self, ino: Ino, kind: NodeKind, links: u32) -> Node {
        Node {
            ino,
            kind,
            links,
            modified: self.modified,
        }
    }

    /// A line's directory, or the link in its place. Nobody counts the moves,
    /// which one link says.
    fn line_node(&self, line: LineId, repeats: bool) -> Node {
        let kind = if repeats {
            NodeKind::Symlink
        } else {
            NodeKind::Directory
        };
        self.node_of(line.ino(), kind, 1)
    }

    fn top_node(&self, top: Top) -> Node {
        let links = match top {
            Top::Root => 7 + u32::from(self.games.exist()),
            Top::Fen | Top::Unreachable | Top::Games => 1,
            Top::Export => 2,
        };
        self.node_of(top.ino(), NodeKind::Directory, links)
    }
}

impl Volume for BookVolume {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        match Thing::of(directory).ok_or(Error::NotFound)? {
            Thing::Top(top) => self.lookup_in_top(top, name),
            Thing::Line(line) => self.lookup_in_line(line, name),
            Thing::Source(number) => {
                let game = self.games.named(number, name)?;
                Ok(self.file_node(Thing::Game(game).ino()))
            }
            _ => Err(Error::NotADirectory),
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        match Thing::of(ino).ok_or(Error::NotFound)? {
            Thing::Top(top) => Ok(self.top_node(top)),
            Thing::Line(line) => {
                let standing = self.standing(line)?;
                Ok(self.line_node(line, standing.repeats.is_some()))
            }
            Thing::LineFile(line, _) => {
                self.lines.origin(line)?;
                Ok(self.file_node(ino))
            }
            Thing::Source(number) => {
                self.games.source(number)?;
                Ok(self.node_of(ino, NodeKind::Directory, 2))
            }
            Thing::Game(index) => {
                self.games.reference(index)?;
                Ok(self.file_node(ino))
            }
            Thing::RootFile(_) | Thing::Export(_) | Thing::Sources => Ok(self.file_node(ino)),
        }
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        match Thing::of(directory).ok_or(Error::NotFound)? {
            Thing::Top(_) => Ok(Ino::ROOT),
            Thing::Source(_) => Ok(Top::Games.ino()),
            Thing::Line(line) => Ok(match self.lines.origin(line)? {
                Origin::Tree | Origin::Uci => Ino::ROOT,
                Origin::Fen(_) => Top::Fen.ino(),
                Origin::Unreachable(_) => Top::Unreachable.ino(),
                Origin::Move(before, _) => before.ino(),
            }),
            _ => Err(Error::NotADirectory),
        }
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        match Thing::of(directory).ok_or(Error::NotFound)? {
            Thing::Top(top) => self.list_top(top, after, listing),
            Thing::Line(line) => self.list_line(line, after, listing),
            Thing::Source(number) => self.list_games(number, after, listing),
            _ => Err(Error::NotADirectory),
        }
    }

    fn render(&self, _: Ino, _: &mut Vec<u8>) -> Result<Completeness, Error> {
        // There are no files of that kind.
        Err(Error::NotFound)
    }

    fn size(&self, ino: Ino) -> Result<u64, Error> {
        self.with_text(ino, |text| text.len() as u64, |spool| Ok(spool.bytes()))
    }

    fn read(&self, ino: Ino, offset: u64, length: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        bytes.extend(self.part(ino, offset, length)?);
        Ok(())
    }

    fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        let Some(Thing::Line(line)) = Thing::of(link) else {
            return Err(Error::NotFound);
        };
        let standing = self.standing(line)?;
        let earlier = standing.repeats.ok_or(Error::NotFound)?;
        // It lies in the directory of the move before it.
        let up = (standing.ply - 1).saturating_sub(earlier);
        Ok(vec![".."; up].join("/").into_bytes())
    }

    fn known_size(&self, ino: Ino) -> Option<u64> {
        self.known_length(Thing::of(ino)?)
    }

    fn long_work(&self, ino: Ino, name: Option<&[u8]>) -> Option<Ino> {
        let thing = Thing::of(ino)?;
        let is_asked = match name {
            None => true,
            // All other names are looked up without their lengths.
            Some(_) => thing == Thing::Top(Top::Unreachable),
        };
        (is_asked && self.is_to_be_walked(thing)).then_some(ino)
    }

    fn look_ahead(&self) {
        let members = &self.book.facts().members;
        // A book without its directory would be searched from end to end.
        if members.iter().all(|member| member.bytes.is_some()) {
            // Its error, if any, comes again when somebody looks.
            let _ = self.size(LineFile::Moves.ino(LineId::TREE));
        }
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn is_held(&self, ino: Ino) -> bool {
        match Thing::of(ino) {
            Some(Thing::Line(line) | Thing::LineFile(line, _)) => line.0 >= LineId::FIRST_HASH,
            _ => false,
        }
    }

    fn forget(&self, ino: Ino) {
        if let Some(Thing::Line(line)) = Thing::of(ino) {
            self.lines.forget(line);
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            bytes: self.bytes,
            files: self.book.facts().positions.unwrap_or(0),
        }
    }

    fn rendered(&self) -> (Ino, Ino) {
        // None: the last one is before the first.
        (LineId::TREE.ino(), Ino(LineId::TREE.ino().0 - 1))
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
