//! A database as directories: those of [`directories`], and what lies in
//! several of them.
//!
//! | path | number |
//! |---|---|
//! | `/` | 1 |
//! | `/games/000123.pgn`, `/deleted/000123.pgn` | kind 1, index 123 |
//! | `/players/Carlsen, Magnus/` and the like | kind 2 to 6, index the entity's id |
//! | `/eco/A/A00/` to `/eco/E/E99/`, `/eco/none/` | kind 8, index 0 to 499, 500 |
//! | `/years/1999/`, `/years/unknown/` | kind 9, index the year, 0 |
//! | `/texts/000123.de.html`, `/deleted/000123.html` … | see [`texts`] |
//!
//! A game has one number wherever it is listed, and as many links as there
//! are directories that list it: they are counted from its record and from
//! which entities there are, without looking at other games.
//!
//! A directory that holds directories has the link count 1, which means
//! unknown, because counting would need a look at all games. Exceptions are
//! `texts/`, `import/`, positions, queries and, in a base of at most 50,000
//! records, the root.

mod change;
mod descriptions;
mod directories;
mod editor;
mod facts;
mod groups;
mod import;
mod pages;
mod records;
mod rename;
mod search_state;
mod source;

pub use self::directories::Shown;
pub use self::pages::write_site;
pub use self::source::{BasesFolder, DatabaseSource, Writer};

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::Mutex;

use self::directories::{DirectoryRow, Games, HeadersFile, Positions, RootView, TABLE, row_of};
use self::facts::QUICKLY_COUNTED;
use self::groups::{group_of, parent_of};
use self::search_state::{Common, SearchState};
use crate::base::texts::{self, GuidingTexts, Media};
use crate::base::{Base, FilesState, Groups, HeaderNames, HeadersTsv, KeptIndex, RecordCounts};
use crate::cbh::{
    Changes, Database, Decoded, Entry, GameId, GuidingText, ListedRecord, RecordKind, SaveHistory,
    Summary,
};
use crate::fs::volume::{
    self, Completeness, DirEntry, Facts, Fault, Ino, Listing, Node, NodeKind, NumberListing,
    Renderer, Size, Volume, VolumeSize,
};
use crate::fs::{Editor, Error, TextCache};
use crate::pgn;
use crate::storage::identity;
use directories::MEDIA_FILE;

/// The kind of number that games have.
const GAME: u8 = 1;

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
    shown: Shown,
    /// Memory of decoders, reused by whoever renders next.
    scratch: Mutex<Vec<Decoded>>,
    counts: OnceLock<RecordCounts>,
    guiding: GuidingTexts,
    groups: Groups,
    headers_tsv: HeadersTsv,
    search: SearchState,
    /// Pages for browsers that were made of this state.
    pages: TextCache,
    sections: pages::Sections,
    /// When something was last saved, if that was since it was opened.
    saved: Option<SystemTime>,
    /// When a save last changed what a directory lists, if that was since it was
    /// opened.
    relisted: Option<SystemTime>,
    /// Means to change the base; `None` if it is read-only.
    editing: Option<Editing>,
    /// Why the base is read-only, if a reason was given.
    read_only_because: Option<String>,
}

/// The means to change the base that is shown.
#[derive(Debug)]
struct Editing {
    database: Arc<Database>,
    saving: Arc<SaveHistory>,
}

impl DatabaseVolume {
    /// Shows `base`; `options` names what changes the texts, as part of the
    /// fingerprint.
    pub fn new(base: impl Base + 'static, options: &str) -> DatabaseVolume {
        DatabaseVolume::alone(Arc::new(base), options)
    }

    fn alone(base: Arc<dyn Base>, options: &str) -> DatabaseVolume {
        let search = SearchState::new(Common::new(KeptIndex::new(None)), FilesState::default());
        DatabaseVolume::of(base, options, search)
    }

    fn of(base: Arc<dyn Base>, options: &str, search: SearchState) -> DatabaseVolume {
        DatabaseVolume {
            base,
            options: options.to_owned(),
            is_clean: false,
            shown: Shown::default(),
            scratch: Mutex::default(),
            counts: OnceLock::new(),
            guiding: GuidingTexts::default(),
            groups: Groups::default(),
            headers_tsv: HeadersTsv::default(),
            search,
            pages: pages::cache(),
            sections: Default::default(),
            saved: None,
            relisted: None,
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

    /// The same with these directories.
    #[must_use]
    pub fn showing(mut self, shown: Shown) -> DatabaseVolume {
        self.shown = shown;
        self
    }

    /// Shows `database`, which may be changed.
    fn editable(
        database: Database,
        saving: Arc<SaveHistory>,
        options: &str,
        search: SearchState,
    ) -> DatabaseVolume {
        let database = Arc::new(database);
        let base = Arc::clone(&database) as Arc<dyn Base>;
        DatabaseVolume {
            editing: Some(Editing { database, saving }),
            ..DatabaseVolume::of(base, options, search)
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
        saving: &Arc<SaveHistory>,
        changes: &Changes,
        saved: SystemTime,
    ) -> DatabaseVolume {
        let counts = self.counts.get().map(|counts| counts.after(changes));
        let mut games = changes.games.iter();
        let keeps_links = games.all(|game| game.before == game.after);
        let search = self.search.after(changes);
        let relists = change::relists(changes);
        DatabaseVolume {
            counts: counts.map(OnceLock::from).unwrap_or_default(),
            guiding: self.guiding.after(keeps_links),
            groups: self.groups.after(changes),
            saved: Some(saved),
            relisted: if relists { Some(saved) } else { self.relisted },
            shown: self.shown,
            ..DatabaseVolume::editable(database, Arc::clone(saving), &self.options, search)
        }
    }

    /// As [`after`](DatabaseVolume::after), where nothing is known of what has
    /// changed but that it is no text.
    fn anew(
        &self,
        database: Database,
        saving: &Arc<SaveHistory>,
        saved: SystemTime,
    ) -> DatabaseVolume {
        let search = SearchState::new(self.search.common.clone(), FilesState::default());
        DatabaseVolume {
            guiding: self.guiding.after(false),
            saved: Some(saved),
            relisted: Some(saved),
            shown: self.shown,
            ..DatabaseVolume::editable(database, Arc::clone(saving), &self.options, search)
        }
    }

    /// When anything was last changed.
    fn modified(&self) -> SystemTime {
        self.saved.unwrap_or_else(|| self.base.modified())
    }

    /// A directory that has `links`, and lists what the headers of games say.
    fn directory_node(&self, ino: Ino, links: u32) -> Node {
        Node {
            modified: self.relisted.unwrap_or_else(|| self.base.modified()),
            ..self.directory_of_moves(ino, links)
        }
    }

    /// A directory that has `links`, and may list something else after any save.
    fn directory_of_moves(&self, ino: Ino, links: u32) -> Node {
        Node {
            ino,
            kind: NodeKind::Directory,
            links,
            modified: self.modified(),
        }
    }

    /// The root, which lists the same whatever is saved. Whether it has
    /// `texts/` only a look at all records tells: in a large base it has one
    /// link until somebody asked for that.
    fn root(&self) -> Node {
        let node = Node {
            modified: self.base.modified(),
            ..self.directory_node(Ino::ROOT, 1)
        };
        if self.base.last_id() > QUICKLY_COUNTED && !self.guiding.are_found() {
            return node;
        }
        let is_directory = |row: &&DirectoryRow| {
            ![HeadersFile::NUMBER, Positions::TREE.number()].contains(&row.number)
        };
        let directories = self.top().filter(is_directory).count();
        Node {
            links: 2 + u32::try_from(directories).unwrap_or(0),
            ..node
        }
    }

    /// What the root lists.
    fn top(&self) -> impl Iterator<Item = &'static DirectoryRow> {
        let all = TABLE.iter().filter(|row| !self.shown.hides(row.name));
        all.filter(|row| row.view.is_there(self))
    }

    /// The root for a directory of the table; one below it knows its own.
    fn parent_of_row(&self, directory: Ino) -> Result<Ino, Error> {
        let row = self.row(directory)?;
        if row.number != directory {
            return row.view.parent(self, directory);
        }
        match row.view.node(self, directory)?.kind {
            NodeKind::Directory => Ok(Ino::ROOT),
            _ => Err(Error::NotADirectory),
        }
    }

    /// Returns the implementation of a directory. Do not call it for files.
    fn directory(&self, directory: Ino) -> Result<&'static dyn RootView, Error> {
        self.parent_of_row(directory)?;
        Ok(self.row(directory)?.view)
    }

    /// The line of the directory that this number belongs to.
    fn row(&self, ino: Ino) -> Result<&'static DirectoryRow, Error> {
        let row = row_of(ino).filter(|row| row.view.is_there(self));
        row.ok_or(Error::NotFound)
    }

    /// Returns [`Error::NotADirectory`], or the error of a number that does not
    /// exist.
    fn not_a_directory<T>(&self, ino: Ino) -> Result<T, Error> {
        self.node(ino)?;
        Err(Error::NotADirectory)
    }

    fn list_top(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        for (cookie, row) in (3..).zip(TABLE) {
            let is_listed = !self.shown.hides(row.name) && row.view.is_there(self);
            if cookie <= after || !is_listed {
                continue;
            }
            let (name, node) = (row.name, row.view.node(self, row.number)?);
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn media(&self) -> &Media {
        self.guiding.media(self.base.as_ref())
    }

    fn file_node(&self, ino: Ino, record: &ListedRecord) -> Node {
        Node {
            ino,
            kind: NodeKind::File(Size::Rendered),
            links: 1,
            modified: self.changed(record),
        }
    }

    /// Returns when what is shown of a record last changed.
    fn changed(&self, record: &ListedRecord) -> SystemTime {
        let stamp = record.modified.unwrap_or_else(|| self.base.modified());
        let editing = self.editing.as_ref();
        let changed = editing.and_then(|editing| editing.saving.changed(record.entry.id));
        changed.map_or(stamp, |changed| changed.max(stamp))
    }

    /// A game, of which `record` and `summary` are what the records say.
    fn game_node(&self, record: &ListedRecord, summary: &Summary) -> Node {
        Node {
            links: self.count_listings(summary),
            ..self.file_node(Ino::new(GAME, record.entry.id.0), record)
        }
    }

    /// The game of this number, if `is_listed` has it.
    fn game(&self, id: GameId, is_listed: impl Fn(Entry) -> bool) -> Result<Node, Error> {
        let record = self.record(id, RecordKind::Game)?;
        if !is_listed(record.entry) {
            return Err(Error::NotFound);
        }
        match &record.summary {
            Some(summary) => Ok(self.game_node(&record, summary)),
            // `summary` returns the error that explains why the header is missing.
            None => Ok(self.game_node(&record, &self.base.summary(id)?)),
        }
    }

    /// The record of a game or text, if there is one of this number.
    fn record(&self, id: GameId, kind: RecordKind) -> Result<ListedRecord, Error> {
        let mut records = Vec::with_capacity(1);
        self.base.listed(id, 1, &mut records)?;
        let record = records.pop().filter(|record| record.entry.kind == kind);
        record.ok_or(Error::NotFound)
    }

    /// Returns the header of a game; `None` if the file is no game.
    fn summary(&self, ino: Ino) -> Result<Option<Summary>, Error> {
        let Ok(id) = game_id(ino) else {
            return Ok(None);
        };
        Ok(Some(self.base.summary(id)?))
    }

    fn render_with(
        &self,
        scratch: &mut Decoded,
        ino: Ino,
        text: &mut Vec<u8>,
    ) -> Result<Completeness, Error> {
        let id = game_id(ino)?;
        let read = self.base.read_game_to_render(id, scratch);
        self.ensure_present()?;
        let _permit = read?;
        pgn::encode_as(self.is_clean, &scratch.game, &scratch.defects, text);
        Ok(completeness(scratch.defects.is_empty()))
    }

    /// Returns an error if a save happened since: reads may mix two states.
    fn ensure_present(&self) -> Result<(), Error> {
        if self.base.is_superseded() {
            return Err(Error::Stale);
        }
        Ok(())
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
        match group_of(directory) {
            None if directory == Ino::ROOT => {
                let row = self.top().find(|row| row.name.as_bytes() == name);
                let row = row.ok_or(Error::NotFound)?;
                row.view.node(self, row.number)
            }
            None if directory.kind() == GAME => self.not_a_directory(directory),
            None => self.directory(directory)?.lookup(self, directory, name),
            Some(group) => self.lookup_in_group(group, name),
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        match group_of(ino) {
            None if ino == Ino::ROOT => Ok(self.root()),
            None if ino.kind() == GAME => self.game(game_id(ino)?, |_| true),
            None => self.row(ino)?.view.node(self, ino),
            Some(group) => self.group_node(group),
        }
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        match group_of(directory) {
            None if directory == Ino::ROOT => Ok(Ino::ROOT),
            None if directory.kind() == GAME => self.not_a_directory(directory),
            None => self.parent_of_row(directory),
            Some(group) => self.group_node(group).map(|_| parent_of(group)),
        }
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        match group_of(directory) {
            None if directory == Ino::ROOT => self.list_top(after, listing),
            None if directory.kind() == GAME => self.not_a_directory(directory),
            None => self
                .directory(directory)?
                .list(self, directory, after, listing),
            Some(group) => {
                self.group_node(group)?;
                self.list_group(group, after, listing)
            }
        }
    }

    fn rendered_in(
        &self,
        directory: Ino,
        after: u64,
        page: &mut NumberListing<'_>,
    ) -> Result<(), Error> {
        match group_of(directory) {
            None if directory == Games::NUMBER => self.page_games(after, page),
            None => {
                let view = self.directory(directory)?;
                if view.page(self, directory, after, page)? {
                    return Ok(());
                }
                volume::rendered_among_listed(self, directory, after, page)
            }
            Some(group) => self.page_group(group, after, page),
        }
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        if ino.kind() != GAME {
            return self.row(ino)?.view.render(self, ino, text);
        }
        self.search.common.kept.note_reader();
        let mut scratch = self.scratch.lock().pop().unwrap_or_default();
        let completeness = self.render_with(&mut scratch, ino, text)?;
        if text.len() < 16 * SCRATCH_MOVES {
            self.scratch.lock().push(scratch);
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
            _ => self.row(ino)?.view.render(self, ino, text),
        })
    }

    fn read(&self, ino: Ino, offset: u64, length: u32, bytes: &mut Vec<u8>) -> Result<(), Error> {
        let row = self.row(ino)?;
        row.view.read(self, ino, (offset, length), bytes)
    }

    fn size(&self, ino: Ino) -> Result<u64, Error> {
        self.row(ino)?.view.size(self, ino)
    }

    fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.summary(ino)? {
            Some(summary) => Ok(HeaderNames::of(self.base.as_ref())?
                .row(&summary)
                .attribute(name)),
            None => Ok(None),
        }
    }

    fn list_attributes(&self, ino: Ino, listing: &mut dyn FnMut(&str)) -> Result<(), Error> {
        if let Some(summary) = self.summary(ino)? {
            let names = HeaderNames::of(self.base.as_ref())?;
            names.row(&summary).list_attributes(listing);
        }
        Ok(())
    }

    fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        self.row(link)?.view.target(self, link)
    }

    fn is_held(&self, ino: Ino) -> bool {
        self.search.common.nodes.is_remembered(ino)
    }

    fn is_as_stored(&self, ino: Ino) -> bool {
        ino.kind() == MEDIA_FILE
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize {
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
        match (game_id(ino), self.row(ino)) {
            (Ok(id), _) => self.faults_of_game(id, note),
            (Err(_), Ok(row)) => row.view.faults_of(self, ino, note),
            (Err(_), Err(_)) => {}
        }
    }

    fn examine(&self, note: &mut dyn FnMut(Fault)) -> Result<(), Error> {
        self.examine_whole(note)
    }

    fn prepare_edits(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let Some(Editing { database, saving }) = &self.editing else {
            return Ok(());
        };
        let looked = saving.look_ahead(database, goes_on);
        looked.map_err(|error| Error::Damaged(error.to_string()))
    }

    fn is_superseded(&self) -> bool {
        self.base.is_superseded()
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
            texts::RENDER_VERSION,
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
            line.push_str(&identity(&file));
        }
        Some(line)
    }
}
