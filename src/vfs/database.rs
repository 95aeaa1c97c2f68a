//! A database as directories.
//!
//! | path | number |
//! |---|---|
//! | `/` | 1 |
//! | `/games/` | 2 |
//! | `/deleted/` | 3 |
//! | `/texts/` | 4, if the base has texts |
//! | `/texts/media/` | 5, if it has a media folder too |
//! | `/games/000123.pgn`, `/deleted/000123.pgn` | kind 1, index 123 |
//! | `/texts/000123.de.html`, `/deleted/000123.html` … | see [`guiding`] |
//!
//! A game has one number wherever it is listed. Directories of games page by
//! record: the cookie of an entry is its id + 2, so continuing from anywhere
//! costs one read, and no list of names is ever held. Where texts are listed,
//! one id can have several names: the cookie is `id << 8 | language`, + 2.

mod listing;
mod source;

pub(super) use source::Base;
pub use source::{DatabaseSource, Folder};

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::Error;
use super::guiding::{self, GuidingTexts, MEDIA_FILE, Media, TextFile};
use super::names;
use super::volume::{
    Completeness, Ino, Listing, Node, NodeKind, Renderer, Size, Statistics, Volume,
};
use crate::cbh::{Database, Decoded, Entry, GameId, GuidingText, RecordKind};
use crate::pgn;

const GAMES: Ino = Ino(2);
const DELETED: Ino = Ino(3);
const TEXTS: Ino = Ino(4);
const MEDIA: Ino = Ino(5);

/// The kind of number that games have.
const GAME: u8 = 1;

/// The directories of the root. Their cookies count from 3.
const TOP: [(&str, Ino); 3] = [("games", GAMES), ("deleted", DELETED), ("texts", TEXTS)];

/// The directory in `texts/` that comes before the texts.
const MEDIA_NAME: &str = "media";

/// Memory of a decoder that grew beyond this is given back.
const SCRATCH_MOVES: usize = 10_000;

/// A database as directories: `games/`, `deleted/` and `texts/`.
#[derive(Debug)]
pub struct DatabaseVolume {
    database: Database,
    options: String,
    /// Memory of decoders, reused by whoever renders next.
    scratch: Mutex<Vec<Decoded>>,
    games: OnceLock<u64>,
    guiding: GuidingTexts,
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
            guiding: GuidingTexts::default(),
        }
    }

    /// Whether there is a directory of this number.
    fn is_directory(&self, ino: Ino) -> bool {
        match ino {
            Ino::ROOT | GAMES | DELETED => true,
            TEXTS => !self.guiding.ids(&self.database).is_empty(),
            MEDIA => self.is_directory(TEXTS) && self.media().exists(),
            _ => false,
        }
    }

    fn directory_node(&self, ino: Ino) -> Node {
        let subdirectories = match ino {
            Ino::ROOT => self.top().count(),
            TEXTS => usize::from(self.media().exists()),
            _ => 0,
        };
        Node {
            ino,
            kind: NodeKind::Directory,
            links: 2 + u32::try_from(subdirectories).unwrap_or(0),
            modified: self.database.modified(),
        }
    }

    /// The directories of the root that there are, with their cookies.
    fn top(&self) -> impl Iterator<Item = (u64, &'static str, Ino)> {
        let all = (3..)
            .zip(TOP)
            .map(|(cookie, (name, ino))| (cookie, name, ino));
        all.filter(|(_, _, ino)| self.is_directory(*ino))
    }

    fn media(&self) -> &Media {
        self.guiding.media(&self.database)
    }

    fn file_node(&self, ino: Ino, entry: &Entry) -> Node {
        Node {
            ino,
            kind: NodeKind::File(Size::Rendered),
            links: 1,
            modified: entry.modified.unwrap_or_else(|| self.database.modified()),
        }
    }

    fn game_node(&self, entry: &Entry) -> Node {
        self.file_node(Ino::new(GAME, entry.id.0), entry)
    }

    /// The record of a game or text, if there is one of this number.
    fn entry(&self, id: GameId, kind: RecordKind) -> Result<Entry, Error> {
        let mut entries = Vec::with_capacity(1);
        self.database.entries(id, 1, &mut entries)?;
        entries
            .first()
            .filter(|entry| entry.kind == kind)
            .copied()
            .ok_or(Error::NotFound)
    }

    /// Record and file of a text's number.
    fn text(&self, ino: Ino) -> Result<(Entry, TextFile), Error> {
        let (id, place) = guiding::parse_ino(ino).ok_or(Error::NotFound)?;
        let entry = self.entry(id, RecordKind::Text)?;
        let mut files = guiding::files_of(&self.database, id).into_iter();
        Ok((entry, files.nth(place).ok_or(Error::NotFound)?))
    }

    fn lookup_game(&self, directory: Ino, id: GameId) -> Result<Node, Error> {
        let entry = self.entry(id, RecordKind::Game)?;
        if is_in(directory, &entry) {
            Ok(self.game_node(&entry))
        } else {
            Err(Error::NotFound)
        }
    }

    fn lookup_text(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        let id = names::parse_text_number(name).ok_or(Error::NotFound)?;
        let entry = self.entry(id, RecordKind::Text)?;
        if !is_in(directory, &entry) {
            return Err(Error::NotFound);
        }
        let files = guiding::files_of(&self.database, id);
        let file = files.iter().find(|file| file.name.as_bytes() == name);
        let file = file.ok_or(Error::NotFound)?;
        Ok(self.file_node(file.ino, &entry))
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
        Ok(completeness(scratch.defects.is_empty()))
    }

    fn render_text(&self, ino: Ino, out: &mut Vec<u8>) -> Result<Completeness, Error> {
        let (entry, TextFile { language, .. }) = self.text(ino)?;
        let mut text = GuidingText::default();
        self.database.read_text(entry.id, &mut text)?;
        let mut rewrite = |address: &str| {
            self.guiding
                .rewrite(&self.database, address, language, entry.is_deleted)
        };
        let mut page = String::new();
        guiding::render(&text, language, &mut rewrite, &mut page);
        out.extend_from_slice(page.as_bytes());
        Ok(completeness(text.defects.is_empty()))
    }

    /// Counts the games that are not deleted, once.
    fn count_games(&self) -> u64 {
        *self.games.get_or_init(|| {
            let mut count = 0;
            // Where the records end early, the count does too.
            let _ = self.list_records(GAMES, 0, &mut |_| {
                count += 1;
                true
            });
            count
        })
    }
}

/// Whether `directory` lists this record.
fn is_in(directory: Ino, entry: &Entry) -> bool {
    match directory {
        GAMES => entry.kind == RecordKind::Game && !entry.is_deleted,
        TEXTS => entry.kind == RecordKind::Text && !entry.is_deleted,
        _ => entry.is_deleted,
    }
}

fn completeness(is_whole: bool) -> Completeness {
    if is_whole {
        Completeness::Whole
    } else {
        Completeness::Partial
    }
}

/// The game with this number, if it is one of a game.
fn game_id(ino: Ino) -> Result<GameId, Error> {
    match (ino.kind(), ino.index()) {
        (GAME, id) if id > 0 => Ok(GameId(id)),
        _ => Err(Error::NotFound),
    }
}

impl Volume for DatabaseVolume {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        match directory {
            Ino::ROOT => self
                .top()
                .find(|(_, top, _)| top.as_bytes() == name)
                .map(|(_, _, ino)| self.directory_node(ino))
                .ok_or(Error::NotFound),
            GAMES | DELETED | TEXTS => match names::parse_game(name) {
                Some(id) => self.lookup_game(directory, id),
                None if directory == GAMES => Err(Error::NotFound),
                None if directory == TEXTS && name == MEDIA_NAME.as_bytes() => self.node(MEDIA),
                None => self.lookup_text(directory, name),
            },
            MEDIA => self.media().lookup(name),
            other => {
                self.node(other)?;
                Err(Error::NotADirectory)
            }
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        if self.is_directory(ino) {
            return Ok(self.directory_node(ino));
        }
        match ino.kind() {
            GAME => Ok(self.game_node(&self.entry(game_id(ino)?, RecordKind::Game)?)),
            MEDIA_FILE => self.media().node(ino),
            _ => {
                let (entry, _) = self.text(ino)?;
                Ok(self.file_node(ino, &entry))
            }
        }
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        if self.is_directory(directory) {
            return Ok(if directory == MEDIA { TEXTS } else { Ino::ROOT });
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
            GAMES | DELETED => self.list_records(directory, after, listing),
            TEXTS => self.list_texts(after, listing),
            MEDIA => {
                self.list_media(after, listing);
                Ok(())
            }
            other => {
                self.node(other)?;
                Err(Error::NotADirectory)
            }
        }
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        if ino.kind() != GAME {
            return self.render_text(ino, text);
        }
        let mut scratch = self.scratch().pop().unwrap_or_default();
        let completeness = self.render_with(&mut scratch, ino, text)?;
        if text.len() < 16 * SCRATCH_MOVES {
            self.scratch().push(scratch);
        }
        Ok(completeness)
    }

    fn renderer(&self) -> Renderer<'_> {
        let mut scratch = Decoded::reading_ahead();
        Box::new(move |ino, text| match ino.kind() {
            GAME => self.render_with(&mut scratch, ino, text),
            _ => self.render_text(ino, text),
        })
    }

    fn read(&self, ino: Ino, offset: u64, length: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        if ino.kind() != MEDIA_FILE {
            return Err(Error::NotFound);
        }
        self.media().read(ino, offset, length, bytes)
    }

    fn is_as_stored(&self, ino: Ino) -> bool {
        ino.kind() == MEDIA_FILE
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            bytes: self.database.size_on_disk(),
            files: self.count_games(),
        }
    }

    fn rendered(&self) -> (Ino, Ino) {
        (Ino::new(GAME, 1), Ino::new(GAME, self.database.last_id()))
    }

    fn fingerprint(&self) -> Option<String> {
        let mut line = format!(
            "{} render {} {} options {}",
            env!("CARGO_PKG_VERSION"),
            pgn::RENDER_VERSION,
            guiding::RENDER_VERSION,
            self.options
        );
        for path in source::files_of(self.database.family()) {
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
