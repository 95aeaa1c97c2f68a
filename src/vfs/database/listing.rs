//! What each directory lists, from any place on.

use super::directory::Directory;
use super::{DatabaseVolume, GAME, HEADERS_TSV, MEDIA_NAME, headers_tsv, is_in};
use crate::cbh::{EntityId, EntityKind, Entry, GameId, Group, Listed, RecordKind, TextLanguage};
use crate::vfs::volume::{self, DirEntry, Ino, Listing, Node};
use crate::vfs::{Error, guiding, names};

/// The cookie of `texts/media/`, before those of the texts.
const MEDIA_COOKIE: u64 = 3;

/// Records read at once while listing: the first time, which is what the
/// kernel usually has room for with attributes, and at most.
const FIRST_RECORDS: u32 = 200;
const MOST_RECORDS: u32 = 2048;

/// Records next to each other that are read at once for a group, which may
/// have all of them or two.
const GROUP_RECORDS: u32 = 128;

/// What records next to each other say.
#[derive(Debug, Default)]
struct Page {
    records: Vec<Listed>,
    /// Memory for a name.
    name: String,
}

impl DatabaseVolume {
    /// Lists the records of `games/` or `deleted/`, by ascending id.
    pub(super) fn list_records(
        &self,
        directory: Directory,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut page = Page::default();
        let is_listed = |entry: &Entry| is_in(directory, entry);
        self.for_each_stretch(first_id(directory, after), |first, count| {
            let read = self.read_page(first, count, &mut page);
            let has_room = self.list_page(directory, &mut page, after, is_listed, listing);
            (has_room, read)
        })
    }

    /// Has `read` take all records from `first` on, a stretch after the other,
    /// each given by its first record and their number, as long as there is
    /// room. What could be read before the files end counts all the same.
    fn for_each_stretch(
        &self,
        first: u32,
        mut read: impl FnMut(GameId, u32) -> (bool, Result<(), Error>),
    ) -> Result<(), Error> {
        let last = self.base.last_id();
        let mut next = first;
        let mut count = FIRST_RECORDS;
        while next <= last {
            let wanted = count.min(last - next + 1);
            let (has_room, result) = read(GameId(next), wanted);
            if !has_room {
                return Ok(());
            }
            result?;
            let Some(following) = next.checked_add(wanted) else {
                break;
            };
            next = following;
            count = (count * 2).min(MOST_RECORDS);
        }
        Ok(())
    }

    /// Gives the numbers of `games/`.
    pub(super) fn page_games(&self, after: u64, page: &mut volume::Page<'_>) -> Result<(), Error> {
        let mut entries = Vec::new();
        self.for_each_stretch(first_id(Directory::Games, after), |first, count| {
            entries.clear();
            let read = self.base.entries(first, count, &mut entries);
            let mut games = entries
                .iter()
                .filter(|entry| is_in(Directory::Games, entry));
            let has_room = games.all(|entry| page_game(Directory::Games, entry.id, page));
            (has_room, read.map_err(Error::from))
        })
    }

    /// Gives the numbers of the games of `group`.
    pub(super) fn page_group(
        &self,
        group: Group,
        after: u64,
        page: &mut volume::Page<'_>,
    ) -> Result<(), Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        let directory = Directory::Group(group);
        let before = GameId(first_id(directory, after) - 1);
        let mut games = games.after(before);
        games.all(|id| page_game(directory, id, page));
        Ok(())
    }

    /// Lists the games of `group`, by ascending id.
    pub(super) fn list_group(
        &self,
        group: Group,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        let before = first_id(Directory::Group(group), after) - 1;
        let mut rest = games.after(GameId(before)).peekable();
        let mut page = Page::default();
        while let Some(first) = rest.peek().copied() {
            let end = first.0.saturating_add(GROUP_RECORDS);
            let near = std::iter::from_fn(|| rest.next_if(|id| id.0 < end));
            let near: Vec<GameId> = near.collect();
            let count = near.last().map_or(0, |last| last.0 - first.0 + 1);
            let is_listed = |entry: &Entry| {
                is_in(Directory::Games, entry) && near.binary_search(&entry.id).is_ok()
            };
            let read = self.read_page(first, count, &mut page);
            let directory = Directory::Group(group);
            if !self.list_page(directory, &mut page, after, is_listed, listing) {
                return Ok(());
            }
            read?;
        }
        Ok(())
    }

    /// Reads `count` records from `first` on; if the files end before, those
    /// that are left.
    fn read_page(&self, first: GameId, count: u32, page: &mut Page) -> Result<(), Error> {
        page.records.clear();
        Ok(self.base.listed(first, count, &mut page.records)?)
    }

    /// Lists those records that `is_listed` has; false if there was no room.
    fn list_page(
        &self,
        directory: Directory,
        page: &mut Page,
        after: u64,
        is_listed: impl Fn(&Entry) -> bool,
        listing: &mut Listing<'_>,
    ) -> bool {
        for record in &page.records {
            let entry = &record.entry;
            if !is_listed(entry) {
                continue;
            }
            let has_room = match entry.kind {
                RecordKind::Game => {
                    names::format_game(entry.id, &mut page.name);
                    let node = self.listed_game(record);
                    let cookie = cookie(directory, entry.id, TextLanguage(0));
                    let name = &page.name;
                    cookie <= after || listing(&DirEntry { name, node, cookie })
                }
                RecordKind::Text => self.list_text(directory, entry, after, listing),
            };
            if !has_room {
                return false;
            }
        }
        true
    }

    /// A game of a listing. One of which a record is gone is still listed;
    /// whoever wants more of it is told so.
    fn listed_game(&self, record: &Listed) -> Node {
        let entry = &record.entry;
        match &record.summary {
            Some(summary) => self.game_node(entry, summary),
            None => self.file_node(Ino::new(GAME, entry.id.0), entry),
        }
    }

    /// Lists the files of one text whose cookies are greater than `after`;
    /// false if there was no room.
    fn list_text(
        &self,
        directory: Directory,
        entry: &Entry,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> bool {
        let files = guiding::files_of(self.base.as_ref(), entry.id);
        files.iter().all(|file| {
            let name = &file.name;
            let node = self.file_node(file.ino, entry);
            let cookie = cookie(directory, entry.id, file.language);
            cookie <= after || listing(&DirEntry { name, node, cookie })
        })
    }

    /// Lists the players, tournaments … that have games, by ascending id.
    pub(super) fn list_entities(
        &self,
        kind: EntityKind,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let Some(named) = self.groups.named(self.base.as_ref(), kind) else {
            return Ok(());
        };
        let first = u32::try_from(after.saturating_sub(2)).unwrap_or(u32::MAX);
        for id in (first..named.bound()).map(EntityId) {
            let directory = Directory::Group(Group::Entity(kind, id));
            if !self.has(directory)? {
                continue;
            }
            let Some(name) = named.file_name(id) else {
                continue;
            };
            let entry = DirEntry {
                name: &name,
                node: self.directory_node(directory),
                cookie: u64::from(id.0) + 3,
            };
            if !listing(&entry) {
                break;
            }
        }
        Ok(())
    }

    /// Lists the openings, or years, that have games.
    pub(super) fn list_children(
        &self,
        directory: Directory,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut name = String::new();
        let children = directory.children().into_iter();
        for (cookie, child) in children.filter(|(cookie, _)| *cookie > after) {
            if !self.has(child)? {
                continue;
            }
            child.format(&mut name);
            let entry = DirEntry {
                name: &name,
                node: self.directory_node(child),
                cookie,
            };
            if !listing(&entry) {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn list_texts(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        if after < MEDIA_COOKIE && self.has_media() {
            let entry = DirEntry {
                name: MEDIA_NAME,
                node: self.directory_node(Directory::Media),
                cookie: MEDIA_COOKIE,
            };
            if !listing(&entry) {
                return Ok(());
            }
        }
        let ids = self.guiding.ids(self.base.as_ref());
        let first = first_id(Directory::Texts, after);
        let from = ids.partition_point(|id| id.0 < first);
        for id in ids.get(from..).unwrap_or_default() {
            match self.entry(*id, RecordKind::Text) {
                Ok(entry) if is_in(Directory::Texts, &entry) => {
                    if !self.list_text(Directory::Texts, &entry, after, listing) {
                        return Ok(());
                    }
                }
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn list_media(&self, after: u64, listing: &mut Listing<'_>) {
        let media = self.media();
        let first = usize::try_from(after.saturating_sub(2)).unwrap_or(usize::MAX);
        for at in first..media.count() {
            let Some((name, node)) = media.entry(at) else {
                return;
            };
            let cookie = at as u64 + 3;
            // One that is gone meanwhile is not listed.
            if let Ok(node) = node
                && !listing(&DirEntry { name, node, cookie })
            {
                return;
            }
        }
    }

    pub(super) fn list_top(&self, after: u64, listing: &mut Listing<'_>) {
        for (cookie, name, directory) in self.top() {
            let entry = DirEntry {
                name,
                node: self.directory_node(directory),
                cookie,
            };
            if cookie > after && !listing(&entry) {
                return;
            }
        }
        let cookie = HEADERS_TSV.0;
        if cookie > after {
            // It is the last, so whether there was room for it is all one.
            let _ = listing(&DirEntry {
                name: headers_tsv::NAME,
                node: self.headers_tsv_node(),
                cookie,
            });
        }
    }
}

fn page_game(directory: Directory, id: GameId, page: &mut volume::Page<'_>) -> bool {
    let number = Ino::new(GAME, id.0);
    page(number, cookie(directory, id, TextLanguage(0)))
}

/// Whether one id can have several names in this directory.
fn has_texts(directory: Directory) -> bool {
    matches!(directory, Directory::Texts | Directory::Deleted)
}

/// The cookie of a file; all but those of texts are in language 0.
fn cookie(directory: Directory, id: GameId, language: TextLanguage) -> u64 {
    let id = u64::from(id.0);
    if has_texts(directory) {
        (id << 8 | u64::from(language.0)) + 2
    } else {
        id + 2
    }
}

/// The first record with cookies greater than `after`; that of `after` itself
/// where it may have several.
fn first_id(directory: Directory, after: u64) -> u32 {
    let after = after.saturating_sub(2);
    let id = if has_texts(directory) {
        after >> 8
    } else {
        after.saturating_add(1)
    };
    u32::try_from(id).unwrap_or(u32::MAX).max(1)
}
