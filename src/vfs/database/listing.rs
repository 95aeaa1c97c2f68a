//! What each directory lists, from any place on.

use super::{DatabaseVolume, GAMES, MEDIA, MEDIA_NAME, TEXTS, is_in};
use crate::cbh::{Entry, GameId, RecordKind, TextLanguage};
use crate::vfs::volume::{DirEntry, Ino, Listing, Node};
use crate::vfs::{Error, guiding, names};

/// The cookie of `texts/media/`, before those of the texts.
const MEDIA_COOKIE: u64 = 3;

/// Records read at once while listing: the first time, and at most.
const FIRST_RECORDS: u32 = 128;
const MOST_RECORDS: u32 = 2048;

impl DatabaseVolume {
    /// Lists the records of `games/` or `deleted/`, by ascending id.
    pub(super) fn list_records(
        &self,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let last = self.database.last_id();
        let mut entries = Vec::new();
        let mut name = String::new();
        let mut next = first_id(directory, after);
        let mut count = FIRST_RECORDS;
        while next <= last {
            entries.clear();
            let wanted = count.min(last - next + 1);
            let read = self.database.entries(GameId(next), wanted, &mut entries);
            for entry in entries.iter().filter(|entry| is_in(directory, entry)) {
                if !self.list_entry(directory, entry, after, &mut name, listing) {
                    return Ok(());
                }
            }
            // What could be read before the files end is listed all the same.
            read?;
            let Some(following) = next.checked_add(wanted) else {
                break;
            };
            next = following;
            count = (count * 2).min(MOST_RECORDS);
        }
        Ok(())
    }

    /// Lists the files of one record whose cookies are greater than `after`;
    /// false if there was no room. `scratch` is memory for a name.
    fn list_entry(
        &self,
        directory: Ino,
        entry: &Entry,
        after: u64,
        scratch: &mut String,
        listing: &mut Listing<'_>,
    ) -> bool {
        let mut show = |name: &str, node: Node, language| {
            let cookie = cookie(directory, entry.id, language);
            cookie <= after || listing(&DirEntry { name, node, cookie })
        };
        match entry.kind {
            RecordKind::Game => {
                names::format_game(entry.id, scratch);
                show(scratch, self.game_node(entry), TextLanguage(0))
            }
            RecordKind::Text => {
                let files = guiding::files_of(&self.database, entry.id);
                files.iter().all(|file| {
                    let node = self.file_node(file.ino, entry);
                    show(&file.name, node, file.language)
                })
            }
        }
    }

    pub(super) fn list_texts(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        if after < MEDIA_COOKIE && self.is_directory(MEDIA) {
            let entry = DirEntry {
                name: MEDIA_NAME,
                node: self.directory_node(MEDIA),
                cookie: MEDIA_COOKIE,
            };
            if !listing(&entry) {
                return Ok(());
            }
        }
        let mut name = String::new();
        let ids = self.guiding.ids(&self.database);
        let first = first_id(TEXTS, after);
        let from = ids.partition_point(|id| id.0 < first);
        for id in ids.get(from..).unwrap_or_default() {
            match self.entry(*id, RecordKind::Text) {
                Ok(entry) if is_in(TEXTS, &entry) => {
                    if !self.list_entry(TEXTS, &entry, after, &mut name, listing) {
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
        for (cookie, name, ino) in self.top() {
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
}

/// The cookie of a file; all but those of texts are in language 0.
fn cookie(directory: Ino, id: GameId, language: TextLanguage) -> u64 {
    let id = u64::from(id.0);
    if directory == GAMES {
        id + 2
    } else {
        (id << 8 | u64::from(language.0)) + 2
    }
}

/// The first record with cookies greater than `after`; that of `after` itself
/// where it may have several.
fn first_id(directory: Ino, after: u64) -> u32 {
    let after = after.saturating_sub(2);
    let id = if directory == GAMES {
        after + 1
    } else {
        after >> 8
    };
    u32::try_from(id).unwrap_or(u32::MAX).max(1)
}
