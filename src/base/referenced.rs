//! Reads the games that a book references from the files that contain them.
//!
//! | file | what is in it |
//! |---|---|
//! | `referenced/path.rs` | from an address of another computer to a file of this one |
//! | `referenced/pgn_file.rs` | one game of a PGN file |
//!
//! Nothing is kept open: a source that changes is read as it is then.

mod path;
mod pgn_file;

pub use path::SourceMap;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::pgn_file::PgnFiles;
use crate::book::{self, Book, GameReference, GameSource, ReferencedGame, SourceKind};
use crate::cbh::{self, CodePage, Database, Decoded, GameId, Options};
use crate::game::{Annotation, AnnotationText, Game, PlayerName, PlyId};
use crate::pgn;

/// The longest text of one game.
const MAX_GAME_BYTES: usize = 16 << 20;

/// Length of a game's record in a `.cbh`, and of what stands before the first.
const CBH_RECORD_BYTES: u32 = 46;

/// How games are looked for.
#[derive(Clone, Debug, Default)]
pub struct GamesOptions {
    /// Where the folders of another computer are on this one.
    pub maps: Vec<SourceMap>,
    /// The code page of ChessBase databases; detected if not given.
    pub code_page: Option<CodePage>,
}

/// The games of a book.
#[derive(Debug)]
pub struct BookGames {
    book: Arc<dyn Book>,
    /// Where the book lies.
    folder: PathBuf,
    options: GamesOptions,
    pgn_files: PgnFiles,
}

/// A source of a book. Its games have the numbers from 0 up to how many there
/// are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSource {
    /// Its number.
    pub number: u16,
    /// What the book says of it.
    pub source: GameSource,
    /// The file that its games are read from; `None` if there is none.
    pub path: Option<PathBuf>,
}

/// Why a game is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The book names no such source or game, or the source no such game.
    NotFound,
    /// Its text is longer than 16 MiB.
    TooLarge,
    /// The source is not there, or is not what the book says; the line says
    /// why.
    Damaged(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound => f.write_str("the book names no such game"),
            Error::TooLarge => f.write_str("the game is longer than 16 MiB"),
            Error::Damaged(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<book::Error> for Error {
    fn from(why: book::Error) -> Error {
        Error::Damaged(why.to_string())
    }
}

impl BookGames {
    /// The games that `book` names.
    pub fn new(book: Arc<dyn Book>, options: GamesOptions) -> BookGames {
        let member = book.facts().members.first();
        let folder = member.and_then(|member| member.path.parent());
        let folder = folder.unwrap_or(Path::new("")).to_path_buf();
        BookGames {
            book,
            folder,
            options,
            pgn_files: PgnFiles::default(),
        }
    }

    /// All sources, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`] if the medium fails.
    pub fn list(&self) -> Result<Vec<ListedSource>, Error> {
        let sources = self.book.sources()?;
        let listed = (0..=u16::MAX).zip(sources).map(|(number, source)| {
            let path = match source.kind {
                SourceKind::Pgn | SourceKind::Cbh => self.file_of(number, &source).ok(),
                _ => None,
            };
            ListedSource {
                number,
                source,
                path,
            }
        });
        Ok(listed.collect())
    }

    /// Why no game of a source can be read; `None` if nothing is known to be in
    /// the way.
    ///
    /// # Errors
    ///
    /// As [`list`](BookGames::list); [`Error::NotFound`] if there is no such source.
    pub fn obstacle(&self, number: u16) -> Result<Option<String>, Error> {
        let sources = self.book.sources()?;
        let source = sources.get(usize::from(number)).ok_or(Error::NotFound)?;
        Ok(self.obstacle_of(number, source))
    }

    fn obstacle_of(&self, number: u16, source: &GameSource) -> Option<String> {
        match source.kind {
            SourceKind::Pgn | SourceKind::Cbh => {
                let missing = self.file_of(number, source).err()?;
                Some(missing.to_string())
            }
            SourceKind::Web => None,
            SourceKind::Empty => Some(format!("source {number} is empty")),
            SourceKind::Other(kind) => Some(unknown(number, kind)),
        }
    }

    /// Why games that the book names cannot be read, a line for each source.
    ///
    /// # Errors
    ///
    /// As [`list`](BookGames::list).
    pub fn obstacles(&self) -> Result<Vec<String>, Error> {
        let sources = self.book.sources()?;
        let named = (0..=u16::MAX).zip(sources);
        let named = named.filter(|(_, source)| source.games > 0);
        Ok(named
            .filter_map(|(number, source)| self.obstacle_of(number, &source))
            .collect())
    }

    /// All sources as a table: a line of names, then one for each.
    ///
    /// # Errors
    ///
    /// As [`list`](BookGames::list).
    pub fn table(&self) -> Result<String, Error> {
        let mut table = "source\tkind\tavailable\tgames\taddress\tfile\n".to_owned();
        for ListedSource {
            number,
            source,
            path,
        } in self.list()?
        {
            let is_there = path.is_some() || source.kind == SourceKind::Web;
            let kind = match source.kind {
                SourceKind::Empty => "empty".to_owned(),
                SourceKind::Pgn => "pgn".to_owned(),
                SourceKind::Web => "web".to_owned(),
                SourceKind::Cbh => "cbh".to_owned(),
                SourceKind::Other(kind) => kind.to_string(),
            };
            let fields = [
                number.to_string(),
                kind,
                u8::from(is_there && !source.is_bad).to_string(),
                source.games.to_string(),
                source.address,
                path.map_or_else(String::new, |path| path.display().to_string()),
            ];
            table.push_str(&fields.map(|field| one_line(&field)).join("\t"));
            table.push('\n');
        }
        Ok(table)
    }

    /// The text of a game as PGN, ending in an empty line: as it stands in its
    /// PGN file; made from a ChessBase database as cbfs shows that; of a page
    /// of the web what the book knows, and where the page is.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the book knows no such game,
    /// [`Error::TooLarge`] beyond 16 MiB, [`Error::Damaged`] with a line that
    /// says why if the source is not there or is not what the book says.
    pub fn render(&self, reference: GameReference) -> Result<Vec<u8>, Error> {
        let sources = self.book.sources()?;
        let number = reference.source;
        let source = sources.get(usize::from(number)).ok_or(Error::NotFound)?;
        let game = self.book.game(reference)?;
        let game = game.ok_or(Error::NotFound)?;
        let text = match source.kind {
            SourceKind::Pgn => {
                let path = self.file_of(number, source)?;
                self.pgn_files.read(&path, reference, &game)?
            }
            SourceKind::Cbh => self.out_of_database(&self.file_of(number, source)?, &game)?,
            SourceKind::Web => from_the_web(&source.address, &game),
            SourceKind::Empty => return Err(Error::NotFound),
            SourceKind::Other(kind) => {
                return Err(Error::Damaged(unknown(number, kind)));
            }
        };
        if text.len() > MAX_GAME_BYTES {
            return Err(Error::TooLarge);
        }
        Ok(text)
    }

    fn file_of(&self, number: u16, source: &GameSource) -> Result<PathBuf, Error> {
        let found = path::resolve(&source.address, &self.folder, &self.options.maps);
        found.map_err(|why| Error::Damaged(format!("source {number}: {}", one_line(&why))))
    }

    fn out_of_database(&self, path: &Path, game: &ReferencedGame) -> Result<Vec<u8>, Error> {
        let id = game.address / CBH_RECORD_BYTES;
        if !game.address.is_multiple_of(CBH_RECORD_BYTES)
            || id == 0
            || game.length != CBH_RECORD_BYTES
        {
            return Err(Error::Damaged(format!(
                "{}: the book says that a game has {} bytes at {:#x}, where no record is",
                path.display(),
                game.length,
                game.address
            )));
        }
        let options = Options {
            code_page: self.options.code_page,
        };
        let at = |why: cbh::Error| match why {
            cbh::Error::NotUsed(_) => Error::Damaged(format!("{}: {why}", path.display())),
            why => Error::Damaged(why.to_string()),
        };
        let database = Database::open(path, &options).map_err(at)?;
        let mut decoded = Decoded::default();
        database.read_game(GameId(id), &mut decoded).map_err(at)?;
        let mut text = Vec::new();
        pgn::encode(&decoded.game, &decoded.defects, &mut text);
        Ok(text)
    }
}

fn unknown(number: u16, kind: u8) -> String {
    format!("source {number} is of kind {kind}, which cbfs does not read")
}

/// Without tabs and line breaks.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// What the book knows of a game on a page of the web, without its moves.
fn from_the_web(url: &str, known: &ReferencedGame) -> Vec<u8> {
    /// Kinds of pages, in the six highest bits, whose games are counted.
    const COUNTED: [u32; 3] = [1, 2, 6];
    let (kind, within) = (known.address >> 26, known.address & 0x03FF_FFFF);
    let place = if COUNTED.contains(&kind) {
        format!("game {within} of the page")
    } else {
        format!("at byte {within} of the page")
    };
    let mut game = Game::default();
    let name = |name: &str| match name.split_once(", ") {
        Some((last, first)) => PlayerName {
            last: last.to_owned(),
            first: first.to_owned(),
        },
        None => PlayerName {
            last: name.to_owned(),
            first: String::new(),
        },
    };
    game.headers.white = name(&known.white);
    game.headers.black = name(&known.black);
    game.headers.white_elo = known.white_elo;
    game.headers.black_elo = known.black_elo;
    game.headers.result = known.result;
    let text = AnnotationText {
        text: format!("{} {place}", one_line(url)),
        ..AnnotationText::default()
    };
    game.annotations
        .add(PlyId::START, Annotation::TextAfter(text));
    let mut text = Vec::new();
    pgn::encode(&game, &[], &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::GameResult;

    #[test]
    fn a_game_of_the_web_says_where_it_is() {
        let mut known = ReferencedGame {
            address: 1 << 26 | 5,
            length: 0,
            white: "Svidler, P".to_owned(),
            black: "Caruana".to_owned(),
            white_elo: 2750,
            black_elo: 0,
            result: GameResult::Draw,
        };
        let url = "http://www.example.org/live/game1.htm";
        let text = |known: &ReferencedGame| String::from_utf8(from_the_web(url, known)).unwrap();
        let counted = text(&known);
        for part in [
            "[White \"Svidler, P\"]\n",
            "[Black \"Caruana\"]\n",
            "[WhiteElo \"2750\"]\n",
            "{http://www.example.org/live/game1.htm game 5 of the page}",
            "1/2-1/2\n\n",
        ] {
            assert!(counted.contains(part), "{counted}");
        }
        known.address = 8 << 26 | 0x4d2;
        assert!(text(&known).contains("at byte 1234 of the page"));
    }
}
