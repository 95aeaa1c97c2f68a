//! A database as directories.
//!
//! | path | number |
//! |---|---|
//! | `/` | 1 |
//! | `/games/` | 2 |
//! | `/deleted/` | 3 |
//! | `/texts/` | 4, if the base has texts |
//! | `/texts/media/` | 5, if it has a media folder too |
//! | `/players/`, `tournaments/`, `annotators/`, `sources/`, `teams/` | 6 to 10 |
//! | `/eco/`, `/years/` | 11, 12 |
//! | `/import/`, `/import/lenient/` | 13, 14, if the base can be changed |
//! | `/headers.tsv` | 64 |
//! | `/games/000123.pgn`, `/deleted/000123.pgn` | kind 1, index 123 |
//! | `/players/Carlsen, Magnus/` and the like | kind 2 to 6, index the entity's id |
//! | `/eco/A/` to `/eco/E/` | kind 7, index 0 to 4 |
//! | `/eco/A/A00/` to `/eco/E/E99/`, `/eco/none/` | kind 8, index 0 to 499, 500 |
//! | `/years/1999/`, `/years/unknown/` | kind 9, index the year, 0 |
//! | `/pgn/` and what lies in it | kind 32 to 40, see [`whole`] |
//! | `/texts/000123.de.html`, `/deleted/000123.html` … | see [`guiding`] |
//!
//! A game has one number wherever it is listed, and as many links as there
//! are directories that list it: they are counted from its record and from
//! which entities there are, without looking at other games. Directories of
//! games page by record: the cookie of an entry is its id + 2, so continuing
//! from anywhere costs one read, and no list of names is ever held. Where
//! texts are listed, one id can have several names: the cookie is
//! `id << 8 | language`, + 2. The cookie of an entity is its id + 3.
//!
//! A directory that holds directories, other than the root and `texts/`, has
//! one link, which says that nobody counted: to count, all games would have
//! to be looked at.

mod change;
mod columns;
mod directory;
mod editor;
mod facts;
mod file_names;
mod groups;
mod headers_tsv;
mod import;
mod listing;
mod rename;
mod saving;
mod source;
mod whole;

pub(super) use self::source::{BaseInFolder, Relisting, identity, modified};
pub use self::source::{DatabaseSource, Folder, Writer};

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use self::columns::Names;
use self::directory::{Directory, Whole};
use self::facts::Counts;
use self::groups::Groups;
use self::headers_tsv::HeadersTsv;
use self::saving::Saving;
use super::guiding::{self, GuidingTexts, MEDIA_FILE, Media, TextFile};
use super::names;
use super::volume::{
    self, Completeness, Facts, Fault, Ino, Listing, Node, NodeKind, Page, Renderer, Size,
    Statistics, Volume,
};
use super::{Editor, Error};
use crate::base::Base;
use crate::cbh::{
    Changes, Database, Decoded, EntityKind, Entry, GameId, Group, GuidingText, RecordKind, Summary,
};
use crate::pgn::{self, Permit};

/// The file of headers, which is there once.
const HEADERS_TSV: Ino = Ino(64);

/// The kind of number that games have.
const GAME: u8 = 1;

/// The directory in `texts/` that comes before the texts.
const MEDIA_NAME: &str = "media";

/// Memory of a decoder that grew beyond this is given back.
const SCRATCH_MOVES: usize = 10_000;

/// A database as directories: its games, what they have in common, its texts;
/// and its headers as a table.
#[derive(Debug)]
pub struct DatabaseVolume {
    base: Arc<dyn Base>,
    options: String,
    /// Whether games are shown without private tags and commands.
    is_clean: bool,
    /// Memory of decoders, reused by whoever renders next.
    scratch: Mutex<Vec<Decoded>>,
    counts: OnceLock<Counts>,
    guiding: GuidingTexts,
    groups: Groups,
    headers_tsv: HeadersTsv,
    /// When something was last saved, if that was since it was opened.
    saved: Option<SystemTime>,
    /// What changes it, if it may be changed,
    editing: Option<Editing>,
    /// else why it may not, where that was told.
    read_only_because: Option<String>,
}

/// What a base is changed by. It is that which is shown.
#[derive(Debug)]
struct Editing {
    database: Arc<Database>,
    saving: Arc<Saving>,
}

impl DatabaseVolume {
    /// Shows `base`; `options` names what changes the texts, as part of the
    /// fingerprint.
    pub fn new(base: impl Base + 'static, options: &str) -> DatabaseVolume {
        DatabaseVolume::of(Arc::new(base), options)
    }

    fn of(base: Arc<dyn Base>, options: &str) -> DatabaseVolume {
        DatabaseVolume {
            base,
            options: options.to_owned(),
            is_clean: false,
            scratch: Mutex::default(),
            counts: OnceLock::new(),
            guiding: GuidingTexts::default(),
            groups: Groups::default(),
            headers_tsv: HeadersTsv::default(),
            saved: None,
            editing: None,
            read_only_because: None,
        }
    }

    /// The same, its games shown without tags and commands that only cbfs
    /// reads; such texts are not to be saved.
    #[must_use]
    pub fn clean(mut self) -> DatabaseVolume {
        self.options.push_str(" clean");
        self.is_clean = true;
        self
    }

    /// Shows `database`, which may be changed.
    fn editable(database: Database, saving: Arc<Saving>, options: &str) -> DatabaseVolume {
        let database = Arc::new(database);
        let base = Arc::clone(&database) as Arc<dyn Base>;
        DatabaseVolume {
            editing: Some(Editing { database, saving }),
            ..DatabaseVolume::of(base, options)
        }
    }

    /// The same, not to be changed because of `why`.
    fn read_only_because(mut self, why: String) -> DatabaseVolume {
        self.read_only_because = Some(why);
        self
    }

    /// The next state, after a save at the time `saved`; all that is known of
    /// the base is brought up to date, or left to be worked out when asked.
    fn after(
        &self,
        database: Database,
        saving: &Arc<Saving>,
        changes: &Changes,
        saved: SystemTime,
    ) -> DatabaseVolume {
        let counts = self.counts.get().map(|counts| counts.after(changes));
        let mut games = changes.games.iter();
        let keeps_links = games.all(|game| game.before == game.after);
        DatabaseVolume {
            counts: counts.map(OnceLock::from).unwrap_or_default(),
            guiding: self.guiding.after(keeps_links),
            groups: self.groups.after(changes),
            saved: Some(saved),
            ..DatabaseVolume::editable(database, Arc::clone(saving), &self.options)
        }
    }

    /// As [`after`](DatabaseVolume::after), where nothing is known of what has
    /// changed but that it is no text.
    fn anew(&self, database: Database, saving: &Arc<Saving>, saved: SystemTime) -> DatabaseVolume {
        DatabaseVolume {
            guiding: self.guiding.after(false),
            saved: Some(saved),
            ..DatabaseVolume::editable(database, Arc::clone(saving), &self.options)
        }
    }

    /// When what this directory lists was last changed. The root lists the same
    /// whatever is saved.
    fn listed(&self, directory: Directory) -> SystemTime {
        match directory {
            Directory::Root => self.base.modified(),
            _ => self.modified(),
        }
    }

    /// When anything was last changed.
    fn modified(&self) -> SystemTime {
        self.saved.unwrap_or_else(|| self.base.modified())
    }

    /// The directory of this number, if it is there.
    fn directory(&self, ino: Ino) -> Result<Option<Directory>, Error> {
        match Directory::of(ino) {
            Some(directory) if self.has(directory)? => Ok(Some(directory)),
            _ => Ok(None),
        }
    }

    /// Whether there is this directory.
    fn has(&self, directory: Directory) -> Result<bool, Error> {
        match directory {
            Directory::Texts => Ok(self.has_texts()),
            Directory::Media => Ok(self.has_media()),
            Directory::Import | Directory::Lenient => Ok(self.editing.is_some()),
            other => self.groups.has_directory(self.base.as_ref(), other),
        }
    }

    fn has_texts(&self) -> bool {
        !self.guiding.ids(self.base.as_ref()).is_empty()
    }

    fn has_media(&self) -> bool {
        self.has_texts() && self.media().exists()
    }

    fn directory_node(&self, directory: Directory) -> Node {
        let links = match directory {
            Directory::Root => 2 + u32::try_from(self.top().count()).unwrap_or(0),
            Directory::Texts => 2 + u32::from(self.has_media()),
            Directory::Import => 3,
            Directory::Entities(_)
            | Directory::Eco
            | Directory::EcoLetter(_)
            | Directory::Years
            | Directory::Whole(Whole::Top) => 1,
            Directory::Games
            | Directory::Deleted
            | Directory::Media
            | Directory::Lenient
            | Directory::Group(_)
            | Directory::Whole(_) => 2,
        };
        Node {
            ino: directory.ino(),
            kind: NodeKind::Directory,
            links,
            modified: self.listed(directory),
        }
    }

    /// The directories of the root that there are, with their cookies.
    fn top(&self) -> impl Iterator<Item = (u64, &'static str, Directory)> {
        let all = (3..).zip(Directory::TOP);
        let all = all.map(|(cookie, (name, directory))| (cookie, name, directory));
        all.filter(|(_, _, directory)| match directory {
            Directory::Texts => self.has_texts(),
            Directory::Import => self.editing.is_some(),
            _ => true,
        })
    }

    fn media(&self) -> &Media {
        self.guiding.media(self.base.as_ref())
    }

    fn file_node(&self, ino: Ino, entry: &Entry) -> Node {
        Node {
            ino,
            kind: NodeKind::File(Size::Rendered),
            links: 1,
            modified: self.changed(entry),
        }
    }

    /// When what is shown of a record became another.
    fn changed(&self, entry: &Entry) -> SystemTime {
        let stamp = entry.modified.unwrap_or_else(|| self.base.modified());
        let editing = self.editing.as_ref();
        let changed = editing.and_then(|editing| editing.saving.changed(entry.id));
        changed.map_or(stamp, |changed| changed.max(stamp))
    }

    fn headers_tsv_node(&self) -> Node {
        let size = self.headers_tsv.known_size();
        Node {
            ino: HEADERS_TSV,
            kind: NodeKind::File(size.map_or(Size::Asked, Size::Known)),
            links: 1,
            modified: self.modified(),
        }
    }

    /// A game, of which `entry` and `summary` are what the records say.
    fn game_node(&self, entry: &Entry, summary: &Summary) -> Node {
        Node {
            links: self.groups.count_listings(self.base.as_ref(), summary),
            ..self.file_node(Ino::new(GAME, entry.id.0), entry)
        }
    }

    /// The game of this number, if `is_listed` has it.
    fn game(&self, id: GameId, is_listed: impl Fn(&Entry) -> bool) -> Result<Node, Error> {
        let mut records = Vec::with_capacity(1);
        self.base.listed(id, 1, &mut records)?;
        let is_one = |entry: &Entry| entry.kind == RecordKind::Game && is_listed(entry);
        let record = records.first().filter(|record| is_one(&record.entry));
        let record = record.ok_or(Error::NotFound)?;
        match &record.summary {
            Some(summary) => Ok(self.game_node(&record.entry, summary)),
            // Why not is said by who reads nothing else.
            None => Ok(self.game_node(&record.entry, &self.base.summary(id)?)),
        }
    }

    /// The record of a game or text, if there is one of this number.
    fn entry(&self, id: GameId, kind: RecordKind) -> Result<Entry, Error> {
        let mut entries = Vec::with_capacity(1);
        self.base.entries(id, 1, &mut entries)?;
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
        let mut files = guiding::files_of(self.base.as_ref(), id).into_iter();
        Ok((entry, files.nth(place).ok_or(Error::NotFound)?))
    }

    /// What the header of a game says; `None` for what is no game.
    fn summary(&self, ino: Ino) -> Result<Option<Summary>, Error> {
        let Ok(id) = game_id(ino) else {
            return Ok(None);
        };
        Ok(Some(self.base.summary(id)?))
    }

    /// What this name of a game, a text or a directory stands for.
    fn lookup_record(&self, directory: Directory, name: &[u8]) -> Result<Node, Error> {
        match (names::parse_game(name), directory) {
            (Some(id), _) => self.game(id, |entry| is_in(directory, entry)),
            (None, Directory::Games) => Err(Error::NotFound),
            (None, Directory::Texts) if name == MEDIA_NAME.as_bytes() => {
                self.node(Directory::Media.ino())
            }
            (None, _) => self.lookup_text(directory, name),
        }
    }

    /// The game of this name, if it is in the group.
    fn lookup_in_group(&self, group: Group, name: &[u8]) -> Result<Node, Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        let id = names::parse_game(name).filter(|id| games.contains(*id));
        self.game(id.ok_or(Error::NotFound)?, |entry| {
            is_in(Directory::Games, entry)
        })
    }

    fn lookup_entity(&self, kind: EntityKind, name: &[u8]) -> Result<Node, Error> {
        let named = self.groups.named(self.base.as_ref(), kind);
        let id = named.and_then(|named| named.find(name));
        self.node_of(id.map(|id| Directory::Group(Group::Entity(kind, id))))
    }

    /// The node of a directory that may or may not be there.
    fn node_of(&self, directory: Option<Directory>) -> Result<Node, Error> {
        match directory {
            Some(directory) if self.has(directory)? => Ok(self.directory_node(directory)),
            _ => Err(Error::NotFound),
        }
    }

    fn lookup_text(&self, directory: Directory, name: &[u8]) -> Result<Node, Error> {
        let id = names::parse_text_number(name).ok_or(Error::NotFound)?;
        let entry = self.entry(id, RecordKind::Text)?;
        if !is_in(directory, &entry) {
            return Err(Error::NotFound);
        }
        let files = guiding::files_of(self.base.as_ref(), id);
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
        let id = game_id(ino)?;
        let _permit = permit(self.base.as_ref(), id, scratch);
        let read = self.base.read_game(id, scratch);
        self.ensure_present()?;
        read?;
        if self.is_clean {
            pgn::encode_clean(&scratch.game, text);
        } else {
            pgn::encode(&scratch.game, &scratch.defects, text);
        }
        Ok(completeness(scratch.defects.is_empty()))
    }

    /// What was read while something was saved may be of two states.
    fn ensure_present(&self) -> Result<(), Error> {
        if self.base.is_over() {
            return Err(Error::Stale);
        }
        Ok(())
    }

    fn render_text(&self, ino: Ino, out: &mut Vec<u8>) -> Result<Completeness, Error> {
        let (entry, TextFile { language, .. }) = self.text(ino)?;
        let mut text = GuidingText::default();
        let read = self.base.read_text(entry.id, &mut text);
        self.ensure_present()?;
        read?;
        let mut rewrite = |address: &str| {
            self.guiding
                .rewrite(self.base.as_ref(), address, language, entry.is_deleted)
        };
        let mut page = String::new();
        guiding::render(&text, language, &mut rewrite, &mut page);
        out.extend_from_slice(page.as_bytes());
        Ok(completeness(text.defects.is_empty()))
    }
}

/// Whether `directory` lists this record.
/// The leave to render a game. One whose size cannot be read is as good as
/// none: reading it tells why.
fn permit(base: &dyn Base, id: GameId, scratch: &mut Decoded) -> Permit {
    Permit::wait_to_render(base.stored_bytes(id, scratch).unwrap_or(0))
}

fn is_in(directory: Directory, entry: &Entry) -> bool {
    match directory {
        Directory::Games => entry.kind == RecordKind::Game && !entry.is_deleted,
        Directory::Texts => entry.kind == RecordKind::Text && !entry.is_deleted,
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
        let Some(directory) = self.directory(directory)? else {
            self.node(directory)?;
            return Err(Error::NotADirectory);
        };
        match directory {
            Directory::Root if name == headers_tsv::NAME.as_bytes() => Ok(self.headers_tsv_node()),
            Directory::Root => {
                let mut top = self.top();
                self.node_of(
                    top.find(|(_, top, _)| top.as_bytes() == name)
                        .map(|(_, _, top)| top),
                )
            }
            Directory::Games | Directory::Deleted | Directory::Texts => {
                self.lookup_record(directory, name)
            }
            Directory::Media => self.media().lookup(name),
            Directory::Lenient => Err(Error::NotFound),
            Directory::Entities(kind) => self.lookup_entity(kind, name),
            Directory::Eco | Directory::EcoLetter(_) | Directory::Years | Directory::Import => {
                self.node_of(directory.child(name))
            }
            Directory::Group(group) => self.lookup_in_group(group, name),
            Directory::Whole(whole) => self.lookup_whole(whole, name),
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        if let Some(directory) = self.directory(ino)? {
            return Ok(self.directory_node(directory));
        }
        if ino == HEADERS_TSV {
            return Ok(self.headers_tsv_node());
        }
        match ino.kind() {
            GAME => self.game(game_id(ino)?, |_| true),
            MEDIA_FILE => self.media().node(ino),
            _ if guiding::parse_ino(ino).is_some() => {
                let (entry, _) = self.text(ino)?;
                Ok(self.file_node(ino, &entry))
            }
            _ => self.whole_file(ino),
        }
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        if let Some(directory) = self.directory(directory)? {
            return Ok(directory.parent().ino());
        }
        self.node(directory)?;
        Err(Error::NotADirectory)
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let Some(directory) = self.directory(directory)? else {
            self.node(directory)?;
            return Err(Error::NotADirectory);
        };
        match directory {
            Directory::Root => {
                self.list_top(after, listing);
                Ok(())
            }
            Directory::Games | Directory::Deleted => self.list_records(directory, after, listing),
            Directory::Texts => self.list_texts(after, listing),
            Directory::Media => {
                self.list_media(after, listing);
                Ok(())
            }
            Directory::Lenient => Ok(()),
            Directory::Entities(kind) => self.list_entities(kind, after, listing),
            Directory::Eco | Directory::EcoLetter(_) | Directory::Years | Directory::Import => {
                self.list_children(directory, after, listing)
            }
            Directory::Group(group) => self.list_group(group, after, listing),
            Directory::Whole(whole) => self.list_whole(whole, after, listing),
        }
    }

    fn rendered_in(&self, directory: Ino, after: u64, page: &mut Page<'_>) -> Result<(), Error> {
        match self.directory(directory)? {
            Some(Directory::Games) => self.page_games(after, page),
            Some(Directory::Group(group)) => self.page_group(group, after, page),
            _ => volume::rendered_among_listed(self, directory, after, page),
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
            GAME => {
                let rendered = self.render_with(&mut scratch, ino, text);
                if text.len() >= 16 * SCRATCH_MOVES {
                    scratch = Decoded::reading_ahead();
                }
                rendered
            }
            _ => self.render_text(ino, text),
        })
    }

    fn read(&self, ino: Ino, offset: u64, length: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        if ino == HEADERS_TSV {
            let read = self
                .headers_tsv
                .read(self.base.as_ref(), offset, length, bytes);
            self.ensure_present()?;
            return read;
        }
        if ino.kind() != MEDIA_FILE {
            return Err(Error::NotFound);
        }
        self.media().read(ino, offset, length, bytes)
    }

    fn size(&self, ino: Ino) -> Result<u64, Error> {
        match ino {
            HEADERS_TSV => {
                let size = self.headers_tsv.size(self.base.as_ref());
                self.ensure_present()?;
                size
            }
            _ => Err(Error::NotFound),
        }
    }

    fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.summary(ino)? {
            Some(summary) => Ok(Names::of(self.base.as_ref())?.row(&summary).attribute(name)),
            None => Ok(None),
        }
    }

    fn list_attributes(&self, ino: Ino, listing: &mut dyn FnMut(&str)) -> Result<(), Error> {
        if let Some(summary) = self.summary(ino)? {
            let names = Names::of(self.base.as_ref())?;
            names.row(&summary).list_attributes(listing);
        }
        Ok(())
    }

    fn is_as_stored(&self, ino: Ino) -> bool {
        ino.kind() == MEDIA_FILE
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            bytes: self.base.size_on_disk(),
            files: self.counts().games,
        }
    }

    fn rendered(&self) -> (Ino, Ino) {
        (Ino::new(GAME, 1), Ino::new(GAME, self.base.last_id()))
    }

    fn facts(&self) -> Facts {
        self.tell_facts()
    }

    fn faults(&self, note: &mut dyn FnMut(Fault)) {
        for defect in self.base.defects() {
            note(self.fault(0, defect));
        }
    }

    fn faults_of(&self, ino: Ino, note: &mut dyn FnMut(Fault)) {
        match (game_id(ino), guiding::parse_ino(ino)) {
            (Ok(id), _) => self.faults_of_game(id, note),
            (Err(_), Some((id, _))) => self.faults_of_text(id, note),
            (Err(_), None) => {}
        }
    }

    fn examine(&self, note: &mut dyn FnMut(Fault)) -> Result<(), Error> {
        self.examine_whole(note)
    }

    fn is_over(&self) -> bool {
        self.base.is_over()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        self.editing.is_some().then_some(self as &dyn Editor)
    }

    fn fingerprint(&self) -> Option<String> {
        if !self.base.is_as_stored() {
            return None;
        }
        let mut line = format!(
            "{} render {} {} options {}",
            env!("CARGO_PKG_VERSION"),
            pgn::RENDER_VERSION,
            guiding::RENDER_VERSION,
            self.options
        );
        let location = self.base.location();
        let paths: Vec<PathBuf> = if location.archive.is_some() {
            vec![location.directory.to_path_buf()]
        } else {
            let files = self.base.files().into_iter();
            let files = files.filter(|file| file.bytes.is_some());
            // What a text says depends on which pictures there are.
            let folders = location.media_folders.iter().cloned();
            files.map(|file| file.path).chain(folders).collect()
        };
        for path in paths {
            let file = fs::metadata(path).ok()?;
            line.push(' ');
            line.push_str(&source::identity(&file));
        }
        Some(line)
    }
}
