//! A database as directories.
//!
//! | path | number |
//! |---|---|
//! | `/` | 1 |
//! | `/games/` | 2 |
//! | `/deleted/` | 3 |
//! | `/games/000123.pgn`, `/deleted/000123.pgn` | kind 1, index 123 |
//!
//! A game has one number wherever it is listed. Directories of games page by
//! record: the cookie of an entry is its id + 2, so continuing from anywhere
//! costs one read, and no list of names is ever held.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::Error;
use super::names;
use super::volume::{
    Completeness, DirEntry, Ino, Listing, Node, NodeKind, Renderer, Size, Statistics, Volume,
};
use crate::cbh::{Database, Decoded, Entry, FileKind, GameId, RecordKind};
use crate::pgn;

const GAMES: Ino = Ino(2);
const DELETED: Ino = Ino(3);

/// The kind of number that games have.
const GAME: u16 = 1;

/// The directories of the root. Their cookies count from 3.
const TOP: [(&str, Ino); 2] = [("games", GAMES), ("deleted", DELETED)];

/// Records read at once while listing: the first time, and at most.
const FIRST_RECORDS: u32 = 128;
const MOST_RECORDS: u32 = 2048;

/// Memory of a decoder that grew beyond this is given back.
const SCRATCH_MOVES: usize = 10_000;

/// A database as directories: `games/` and `deleted/`.
#[derive(Debug)]
pub struct DatabaseVolume {
    database: Database,
    options: String,
    /// Memory of decoders, reused by whoever renders next.
    scratch: Mutex<Vec<Decoded>>,
    games: OnceLock<u64>,
}

impl DatabaseVolume {
    /// Shows `database`; `options` names what changes the texts, as part of
    /// the fingerprint.
    pub fn new(database: Database, options: &str) -> DatabaseVolume {
        DatabaseVolume {
            database,
            options: options.to_owned(),
            scratch: Mutex::default(),
            games: OnceLock::new(),
        }
    }

    fn directory_node(&self, ino: Ino) -> Node {
        let subdirectories = if ino == Ino::ROOT { TOP.len() } else { 0 };
        Node {
            ino,
            kind: NodeKind::Directory,
            links: 2 + u32::try_from(subdirectories).unwrap_or(0),
            modified: self.database.modified(),
        }
    }

    fn game_node(&self, entry: &Entry) -> Node {
        Node {
            ino: Ino::new(GAME, u64::from(entry.id.0)),
            kind: NodeKind::File(Size::Rendered),
            links: 1,
            modified: entry.modified.unwrap_or_else(|| self.database.modified()),
        }
    }

    /// The record of a game, if there is a game of this number.
    fn game(&self, id: GameId) -> Result<Entry, Error> {
        let mut entries = Vec::with_capacity(1);
        self.database.entries(id, 1, &mut entries)?;
        entries
            .first()
            .filter(|entry| entry.kind == RecordKind::Game)
            .copied()
            .ok_or(Error::NotFound)
    }

    fn scratch(&self) -> MutexGuard<'_, Vec<Decoded>> {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn render_with(
        &self,
        scratch: &mut Decoded,
        ino: Ino,
        text: &mut Vec<u8>,
    ) -> Result<Completeness, Error> {
        self.database.read_game(game_id(ino)?, scratch)?;
        pgn::encode(&scratch.game, &scratch.defects, text);
        Ok(if scratch.defects.is_empty() {
            Completeness::Whole
        } else {
            Completeness::Partial
        })
    }

    fn list_games(
        &self,
        first: u32,
        is_listed: impl Fn(&Entry) -> bool,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let last = self.database.last_id();
        let mut entries = Vec::new();
        let mut name = String::new();
        let mut next = first;
        let mut count = FIRST_RECORDS;
        while next <= last {
            entries.clear();
            let wanted = count.min(last - next + 1);
            let read = self.database.entries(GameId(next), wanted, &mut entries);
            for entry in entries.iter().filter(|entry| is_listed(entry)) {
                names::format_game(entry.id, &mut name);
                let entry = DirEntry {
                    name: &name,
                    node: self.game_node(entry),
                    cookie: u64::from(entry.id.0) + 2,
                };
                if !listing(&entry) {
                    return Ok(());
                }
            }
            read?;
            let Some(following) = next.checked_add(wanted) else {
                break;
            };
            next = following;
            count = (count * 2).min(MOST_RECORDS);
        }
        Ok(())
    }

    fn list_top(&self, after: u64, listing: &mut Listing<'_>) {
        for (cookie, (name, ino)) in (3..).zip(TOP) {
            let entry = DirEntry {
                name,
                node: self.directory_node(ino),
                cookie,
            };
            if cookie > after && !listing(&entry) {
                return;
            }
        }
    }

    /// Counts the games that are not deleted, once.
    fn count_games(&self) -> u64 {
        *self.games.get_or_init(|| {
            let mut count = 0;
            let is_listed = |entry: &Entry| is_in(GAMES, entry);
            // Where the records end early, the count does too.
            let _ = self.list_games(1, is_listed, &mut |_| {
                count += 1;
                true
            });
            count
        })
    }
}

/// Whether `directory` lists this record.
fn is_in(directory: Ino, entry: &Entry) -> bool {
    entry.kind == RecordKind::Game && entry.is_deleted == (directory == DELETED)
}

/// The game with this number, if it is one of a game.
fn game_id(ino: Ino) -> Result<GameId, Error> {
    if ino.kind() != u64::from(GAME) {
        return Err(Error::NotFound);
    }
    match u32::try_from(ino.index()) {
        Ok(id) if id > 0 => Ok(GameId(id)),
        _ => Err(Error::NotFound),
    }
}

fn is_directory(ino: Ino) -> bool {
    matches!(ino, Ino::ROOT | GAMES | DELETED)
}

impl Volume for DatabaseVolume {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        match directory {
            Ino::ROOT => TOP
                .iter()
                .find(|(top, _)| top.as_bytes() == name)
                .map(|(_, ino)| self.directory_node(*ino))
                .ok_or(Error::NotFound),
            GAMES | DELETED => {
                let id = names::parse_game(name).ok_or(Error::NotFound)?;
                let entry = self.game(id)?;
                if is_in(directory, &entry) {
                    Ok(self.game_node(&entry))
                } else {
                    Err(Error::NotFound)
                }
            }
            other => {
                self.node(other)?;
                Err(Error::NotADirectory)
            }
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        if is_directory(ino) {
            return Ok(self.directory_node(ino));
        }
        Ok(self.game_node(&self.game(game_id(ino)?)?))
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        if is_directory(directory) {
            return Ok(Ino::ROOT);
        }
        self.node(directory)?;
        Err(Error::NotADirectory)
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        match directory {
            Ino::ROOT => {
                self.list_top(after, listing);
                Ok(())
            }
            GAMES | DELETED => {
                // The cookie of the entry before the first is 2, its id + 2.
                let Ok(first) = u32::try_from(after.saturating_sub(2) + 1) else {
                    return Ok(());
                };
                self.list_games(first, |entry| is_in(directory, entry), listing)
            }
            other => {
                self.node(other)?;
                Err(Error::NotADirectory)
            }
        }
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        let mut scratch = self.scratch().pop().unwrap_or_default();
        let completeness = self.render_with(&mut scratch, ino, text)?;
        if text.len() < 16 * SCRATCH_MOVES {
            self.scratch().push(scratch);
        }
        Ok(completeness)
    }

    fn renderer(&self) -> Renderer<'_> {
        let mut scratch = Decoded::reading_ahead();
        Box::new(move |ino, text| self.render_with(&mut scratch, ino, text))
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            bytes: self.database.size_on_disk(),
            files: self.count_games(),
        }
    }

    fn rendered(&self) -> (Ino, Ino) {
        (
            Ino::new(GAME, 1),
            Ino::new(GAME, u64::from(self.database.last_id())),
        )
    }

    fn fingerprint(&self) -> Option<String> {
        let mut line = format!(
            "{} render {} options {}",
            env!("CARGO_PKG_VERSION"),
            pgn::RENDER_VERSION,
            self.options
        );
        let family = self.database.family();
        for path in FileKind::ALL
            .into_iter()
            .filter_map(|kind| family.path(kind))
        {
            let file = fs::metadata(path).ok()?;
            write!(
                line,
                " {}:{}:{}:{}.{}",
                file.dev(),
                file.ino(),
                file.size(),
                file.mtime(),
                file.mtime_nsec()
            )
            .ok()?;
        }
        Some(line)
    }
}
