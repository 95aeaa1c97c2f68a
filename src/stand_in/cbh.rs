//! Stands in for the room `cbh` until it is furnished: lists the records of a
//! `.cbh`, and knows nothing of what is in the games.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::game::Game;

/// Number of a game or text in its base, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GameId(pub u32);

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A game.
    Game,
    /// A guiding text.
    Text,
}

/// What a listing needs to know of a record.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its number.
    pub id: GameId,
    /// Game or text.
    pub kind: RecordKind,
    /// Whether it carries the deleted flag.
    pub is_deleted: bool,
    /// When it was last saved, or else made, if the base tells.
    pub modified: Option<SystemTime>,
}

/// A code page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage(());

/// How a base is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The page of its names and texts.
    pub code_page: Option<CodePage>,
}

/// A file of the set, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `.cbh`: a record per game or text.
    Headers,
    /// `.cbg`: moves and texts.
    Moves,
}

impl FileKind {
    /// All kinds that cbfs reads; the required ones first.
    pub const ALL: [FileKind; 2] = [FileKind::Headers, FileKind::Moves];

    /// What the file holds, for messages.
    pub fn holds(self) -> &'static str {
        match self {
            FileKind::Headers => "game headers",
            FileKind::Moves => "moves",
        }
    }
}

/// The paths of one base's files.
#[derive(Clone, Debug)]
pub struct Family {
    headers: PathBuf,
    moves: PathBuf,
}

impl Family {
    /// Finds the base that `path` belongs to.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn locate(path: &Path) -> Result<Family, Error> {
        let unsupported = |what: &str| Error::Unsupported {
            file: path.to_path_buf(),
            what: what.to_owned(),
        };
        match path.extension().and_then(OsStr::to_str) {
            Some("cbh" | "cbg") => {}
            Some("2cbh") => return Err(unsupported("a base in the 2CBH format of ChessBase 17")),
            _ => return Err(unsupported("not a file of a ChessBase base")),
        }
        let family = Family {
            headers: path.with_extension("cbh"),
            moves: path.with_extension("cbg"),
        };
        if !family.headers.exists() {
            return Err(Error::Missing {
                file: family.headers,
                holds: FileKind::Headers.holds(),
            });
        }
        Ok(family)
    }

    /// Where this file lies.
    pub fn path(&self, kind: FileKind) -> Option<&Path> {
        Some(match kind {
            FileKind::Headers => &self.headers,
            FileKind::Moves => &self.moves,
        })
    }

    /// The name that all files of the base share.
    pub fn stem(&self) -> &str {
        self.headers
            .file_stem()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
    }

    /// The directory of the base.
    pub fn directory(&self) -> &Path {
        self.headers.parent().unwrap_or(Path::new("."))
    }
}

/// Why a base or a record of it cannot be read.
#[derive(Debug)]
pub enum Error {
    /// The system refused.
    Io {
        /// The file it was about.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file that a base cannot do without is not there.
    Missing {
        /// The path where it should be.
        file: PathBuf,
        /// What it holds.
        holds: &'static str,
    },
    /// A file of a kind that cbfs does not read.
    Unsupported {
        /// The file.
        file: PathBuf,
        /// What it is.
        what: String,
    },
    /// No game or text has this number.
    NotUsed(GameId),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { file, source } => write!(f, "{}: {source}", file.display()),
            Error::Missing { file, holds } => write!(f, "{}: no {holds}", file.display()),
            Error::Unsupported { file, what } => write!(f, "{}: {what}", file.display()),
            Error::NotUsed(GameId(id)) => write!(f, "no game {id}"),
        }
    }
}

impl std::error::Error for Error {}

/// What was readable of a game.
#[derive(Debug, Default)]
pub struct Decoded {
    /// The game.
    pub game: Game,
    /// What was not.
    pub defects: Vec<Defect>,
}

/// Something of a game that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect;

/// An open base.
#[derive(Debug)]
pub struct Database {
    family: Family,
    headers: File,
    modified: SystemTime,
    last_id: u32,
}

impl Database {
    /// Opens the base that `path` belongs to.
    ///
    /// # Errors
    ///
    /// If it is none, or cannot be opened.
    pub fn open(path: &Path, _options: &Options) -> Result<Database, Error> {
        let family = Family::locate(path)?;
        let io = |source| Error::Io {
            file: family.headers.clone(),
            source,
        };
        let headers = File::open(&family.headers).map_err(io)?;
        let metadata = headers.metadata().map_err(io)?;
        Ok(Database {
            modified: metadata.modified().map_err(io)?,
            last_id: u32::try_from(metadata.len() / 46).unwrap_or(1) - 1,
            headers,
            family,
        })
    }

    /// Its files.
    pub fn family(&self) -> &Family {
        &self.family
    }

    /// The highest number of a record.
    pub fn last_id(&self) -> u32 {
        self.last_id
    }

    /// The used records among `first..first+count`, appended to `entries`.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn entries(
        &self,
        first: GameId,
        count: u32,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        let mut bytes = vec![0; 46 * count as usize];
        let length = self
            .headers
            .read_at(&mut bytes, 46 * u64::from(first.0))
            .map_err(|source| Error::Io {
                file: self.family.headers.clone(),
                source,
            })?;
        bytes.truncate(length);
        for (id, record) in (first.0..).zip(bytes.chunks_exact(46)) {
            let flags = record.first().copied().unwrap_or_default();
            if flags & 1 == 0 {
                continue;
            }
            entries.push(Entry {
                id: GameId(id),
                kind: if flags & 2 == 0 {
                    RecordKind::Game
                } else {
                    RecordKind::Text
                },
                is_deleted: flags & 0x80 != 0,
                modified: None,
            });
        }
        Ok(())
    }

    /// Decodes one game into `decoded`.
    ///
    /// # Errors
    ///
    /// If there is none of this number.
    pub fn read_game(&self, id: GameId, decoded: &mut Decoded) -> Result<(), Error> {
        let mut bytes = [0; 46];
        self.headers
            .read_exact_at(&mut bytes, 46 * u64::from(id.0))
            .map_err(|source| Error::Io {
                file: self.family.headers.clone(),
                source,
            })?;
        if bytes.first().copied().unwrap_or_default() & 3 != 1 {
            return Err(Error::NotUsed(id));
        }
        decoded.game.clear();
        decoded.defects.clear();
        Ok(())
    }

    /// Bytes of all files.
    pub fn size_on_disk(&self) -> u64 {
        self.headers.metadata().map_or(0, |metadata| metadata.len())
    }

    /// When `.cbh` was last changed.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }
}
