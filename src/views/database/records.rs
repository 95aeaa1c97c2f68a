//! Records listed, a page after the other, from any place on.
//!
//! Directories of games page by record: the cookie of an entry is its id + 2,
//! so continuing from anywhere costs one read, and no list of names is ever
//! held. Where texts are listed, one id can have several names: the cookie is
//! `id << 8 | language`, + 2.

use super::directories::Games;
use super::{DatabaseVolume, GAME};
use crate::cbh::{self, Entry, GameGroup, GameId, ListedRecord, RecordKind, TextLanguage};
use crate::fs::Error;
use crate::fs::volume::{self, DirEntry, Ino, Listing, Node};
use crate::search::GameSet;

/// Records read at once while listing: the first time, which is what the
/// kernel usually has room for with attributes, and at most.
const FIRST_RECORDS: u32 = 200;
const MOST_RECORDS: u32 = 2048;

/// Records next to each other that are read at once for a group, which may
/// have all of them or two.
const GROUP_RECORDS: u32 = 128;

/// What records next to each other say.
#[derive(Debug, Default)]
struct RecordPage {
    records: Vec<ListedRecord>,
    /// Memory for a name.
    name: String,
}

impl DatabaseVolume {
    /// Lists `games/`, by ascending id.
    pub(super) fn list_games(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let mut page = RecordPage::default();
        self.for_each_stretch(first_id(after), |first, count| {
            let read = self.read_page(first, count, &mut page);
            let has_room = self.list_page(&mut page, after, Games::lists, listing);
            (has_room, read)
        })
    }

    /// Lists games and texts that `is_listed` has, by ascending id.
    pub(super) fn list_records(
        &self,
        is_listed: impl Fn(Entry) -> bool,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut page = RecordPage::default();
        self.for_each_stretch(first_id_of_files(after), |first, count| {
            let read = self.read_page(first, count, &mut page);
            let mut records = page.records.iter().filter(|record| is_listed(record.entry));
            let name = &mut page.name;
            let has_room = records.all(|record| match record.entry.kind {
                RecordKind::Game => {
                    let cookie = cookie_of_file(record.entry.id, TextLanguage(0));
                    cookie <= after || self.list_game(record, cookie, name, listing)
                }
                RecordKind::Text => self.list_text(record, after, listing),
            });
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
    pub(super) fn page_games(
        &self,
        after: u64,
        page: &mut volume::NumberListing<'_>,
    ) -> Result<(), Error> {
        let mut entries = Vec::new();
        self.for_each_stretch(first_id(after), |first, count| {
            entries.clear();
            let read = self.base.entries(first, count, &mut entries);
            let mut games = entries.iter().filter(|entry| Games::lists(**entry));
            let has_room = games.all(|entry| page_game(entry.id, page));
            (has_room, read.map_err(Error::from))
        })
    }

    /// Gives the numbers of the games of `group`.
    pub(super) fn page_group(
        &self,
        group: GameGroup,
        after: u64,
        page: &mut volume::NumberListing<'_>,
    ) -> Result<(), Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        for id in games.after(GameId(first_id(after) - 1)) {
            if !page_game(id?, page) {
                break;
            }
        }
        Ok(())
    }

    /// Lists the games of `group`, by ascending id.
    pub(super) fn list_group(
        &self,
        group: GameGroup,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        let before = first_id(after) - 1;
        let games = games.after(GameId(before));
        self.list_some(games, Games::lists, after, listing)
    }

    /// Gives the numbers of these games.
    pub(super) fn page_set(games: &GameSet, after: u64, page: &mut volume::NumberListing<'_>) {
        let mut games = games.from(first_id(after));
        games.all(|id| page_game(GameId(id), page));
    }

    /// Lists these games, by ascending id.
    pub(super) fn list_set(
        &self,
        games: &GameSet,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let is_game = |entry: Entry| entry.kind == RecordKind::Game;
        let games = games.from(first_id(after)).map(|id| Ok(GameId(id)));
        self.list_some(games, is_game, after, listing)
    }

    /// Lists those of `games`, which ascend, that `is_listed` has.
    fn list_some(
        &self,
        games: impl Iterator<Item = Result<GameId, cbh::Error>>,
        is_listed: impl Fn(Entry) -> bool,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut rest = games.peekable();
        let mut page = RecordPage::default();
        while let Some(first) = rest.next().transpose()? {
            let end = first.0.saturating_add(GROUP_RECORDS);
            let is_near = |id: &Result<GameId, _>| id.as_ref().is_ok_and(|id| id.0 < end);
            let near = std::iter::from_fn(|| rest.next_if(is_near)?.ok());
            let near: Vec<GameId> = std::iter::once(first).chain(near).collect();
            let count = near.last().map_or(0, |last| last.0 - first.0 + 1);
            let is_listed =
                |entry: Entry| is_listed(entry) && near.binary_search(&entry.id).is_ok();
            let read = self.read_page(first, count, &mut page);
            if !self.list_page(&mut page, after, is_listed, listing) {
                return Ok(());
            }
            read?;
        }
        Ok(())
    }

    /// Reads `count` records from `first` on; if the files end before, those
    /// that are left.
    fn read_page(&self, first: GameId, count: u32, page: &mut RecordPage) -> Result<(), Error> {
        page.records.clear();
        Ok(self.base.listed(first, count, &mut page.records)?)
    }

    /// Lists those games that `is_listed` has; false if there was no room.
    fn list_page(
        &self,
        page: &mut RecordPage,
        after: u64,
        is_listed: impl Fn(Entry) -> bool,
        listing: &mut Listing<'_>,
    ) -> bool {
        let mut records = page.records.iter().filter(|record| is_listed(record.entry));
        records.all(|record| {
            let cookie = cookie(record.entry.id);
            cookie <= after || self.list_game(record, cookie, &mut page.name, listing)
        })
    }

    fn list_game(
        &self,
        record: &ListedRecord,
        cookie: u64,
        name: &mut String,
        listing: &mut Listing<'_>,
    ) -> bool {
        self.format_name_of(record, name);
        let node = self.listed_game(record);
        listing(&DirEntry { name, node, cookie })
    }

    /// A game of a listing. One of which a record is gone is still listed;
    /// whoever wants more of it is told so.
    fn listed_game(&self, record: &ListedRecord) -> Node {
        match &record.summary {
            Some(summary) => self.game_node(record, summary),
            None => self.file_node(Ino::new(GAME, record.entry.id.0), record),
        }
    }
}

fn page_game(id: GameId, page: &mut volume::NumberListing<'_>) -> bool {
    page(Ino::new(GAME, id.0), cookie(id))
}

/// The cookie of a game where no text is listed.
fn cookie(id: GameId) -> u64 {
    u64::from(id.0) + 2
}

/// The cookie of a file where texts are listed; games are in language 0.
pub(super) fn cookie_of_file(id: GameId, language: TextLanguage) -> u64 {
    (u64::from(id.0) << 8 | u64::from(language.0)) + 2
}

/// The first game with a cookie greater than `after`.
fn first_id(after: u64) -> u32 {
    let id = after.saturating_sub(2).saturating_add(1);
    u32::try_from(id).unwrap_or(u32::MAX).max(1)
}

/// The record of the cookie `after`, which may have more files, where texts are
/// listed.
pub(super) fn first_id_of_files(after: u64) -> u32 {
    let id = after.saturating_sub(2) >> 8;
    u32::try_from(id).unwrap_or(u32::MAX).max(1)
}
