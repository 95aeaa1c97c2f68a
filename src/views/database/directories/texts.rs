//! `texts/`: guiding texts as pages, and `texts/media/`: their pictures.
//!
//! | number | what |
//! |---|---|
//! | kind 17, index a digest of the name | a file of `texts/media/` |
//! | kind 64 + n, index id | the n-th file of a text, by language |

use std::io;
use std::time::{Duration, UNIX_EPOCH};

use super::super::records::{cookie_of_file, first_id_of_files};
use super::super::{DatabaseVolume, completeness};
use super::RootView;
use crate::base::texts::{self, MediaFile, TextFile};
use crate::cbh::{Entry, GameId, GuidingText, ListedRecord, RecordKind};
use crate::fs::Error;
use crate::fs::volume::{Completeness, DirEntry, Fault, Ino, Listing, Node, NodeKind, Size};

/// `texts/media/`, if the base has a media folder too.
const MEDIA: Ino = Ino(5);

/// Its name and cookie, which come before those of the texts.
const MEDIA_NAME: &str = "media";
const MEDIA_COOKIE: u64 = 3;

/// The kind of number that files of the media folder have.
pub(in super::super) const MEDIA_FILE: u8 = 17;

/// The kind of number that the first file of a text has; the next ones follow.
const FIRST_TEXT: u8 = 64;

const _: () = assert!(FIRST_TEXT as usize + texts::MOST_FILES == 256);

/// `texts/`
#[derive(Debug)]
pub(in super::super) struct Texts;

impl Texts {
    pub(in super::super) const NUMBER: Ino = Ino(4);

    /// Whether a record is listed.
    fn lists(entry: Entry) -> bool {
        entry.kind == RecordKind::Text && !entry.is_deleted
    }

    fn media(base: &DatabaseVolume) -> Result<Node, Error> {
        if !base.has_media() {
            return Err(Error::NotFound);
        }
        Ok(base.directory_node(MEDIA, 2))
    }

    fn list_media(base: &DatabaseVolume, after: u64, listing: &mut Listing<'_>) {
        let media = base.media();
        let first = usize::try_from(after.saturating_sub(2)).unwrap_or(usize::MAX);
        for at in first..media.count() {
            let Some((name, node)) = media.entry(at) else {
                return;
            };
            let cookie = at as u64 + 3;
            // One that is gone meanwhile is not listed.
            if let Ok(node) = node.map(media_node)
                && !listing(&DirEntry { name, node, cookie })
            {
                return;
            }
        }
    }

    fn list_texts(
        base: &DatabaseVolume,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let ids = base.guiding.ids(base.base.as_ref())?;
        let first = first_id_of_files(after);
        let from = ids.partition_point(|id| id.0 < first);
        for id in ids.get(from..).unwrap_or_default() {
            match base.record(*id, RecordKind::Text) {
                Ok(record) if Texts::lists(record.entry) => {
                    if !base.list_text(&record, after, listing) {
                        return Ok(());
                    }
                }
                Ok(_) | Err(Error::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl RootView for Texts {
    fn is_there(&self, base: &DatabaseVolume) -> bool {
        // If that cannot be read now, the directory says why.
        let ids = base.guiding.ids(base.base.as_ref());
        ids.map_or(true, |ids| !ids.is_empty())
    }

    fn holds(&self, ino: Ino) -> bool {
        ino == MEDIA || ino.kind() == MEDIA_FILE || parse_ino(ino).is_some()
    }

    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        match ino {
            Texts::NUMBER => Ok(base.directory_node(ino, 2 + u32::from(base.has_media()))),
            MEDIA => Texts::media(base),
            _ if ino.kind() == MEDIA_FILE => media_node_of(base.media().file(ino.index())),
            _ => {
                let (record, _) = base.text(ino)?;
                Ok(base.file_node(ino, &record))
            }
        }
    }

    fn parent(&self, _: &DatabaseVolume, directory: Ino) -> Result<Ino, Error> {
        match directory {
            MEDIA => Ok(Texts::NUMBER),
            _ => Err(Error::NotADirectory),
        }
    }

    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        match directory {
            Texts::NUMBER if name == MEDIA_NAME.as_bytes() => Texts::media(base),
            Texts::NUMBER => base.text_named(name, Texts::lists),
            MEDIA => media_node_of(base.media().lookup(name)),
            _ => Err(Error::NotADirectory),
        }
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        match directory {
            Texts::NUMBER => {
                if let (true, Ok(node)) = (after < MEDIA_COOKIE, Texts::media(base)) {
                    let (name, cookie) = (MEDIA_NAME, MEDIA_COOKIE);
                    if !listing(&DirEntry { name, node, cookie }) {
                        return Ok(());
                    }
                }
                Texts::list_texts(base, after, listing)
            }
            MEDIA => {
                Texts::list_media(base, after, listing);
                Ok(())
            }
            _ => Err(Error::NotADirectory),
        }
    }

    fn read(
        &self,
        base: &DatabaseVolume,
        ino: Ino,
        (offset, length): (u64, u32),
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let read = base.media().read(ino.index(), offset, length, bytes);
        read.map_err(|error| media_error(&error))
    }

    fn render(
        &self,
        base: &DatabaseVolume,
        ino: Ino,
        out: &mut Vec<u8>,
    ) -> Result<Completeness, Error> {
        let (ListedRecord { entry, .. }, TextFile { language, .. }) = base.text(ino)?;
        let mut text = GuidingText::default();
        let read = base.base.read_text(entry.id, &mut text);
        base.ensure_present()?;
        read?;
        let mut failed = None;
        let mut rewrite = |address: &str| {
            let of = base.base.as_ref();
            let rewritten = base
                .guiding
                .rewrite(of, address, language, entry.is_deleted);
            rewritten.unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        };
        let mut page = String::new();
        text.append_page(language, &mut rewrite, &mut page);
        if let Some(error) = failed {
            return Err(error.into());
        }
        out.extend_from_slice(page.as_bytes());
        Ok(completeness(text.defects.is_empty()))
    }

    fn faults_of(&self, base: &DatabaseVolume, ino: Ino, note: &mut dyn FnMut(Fault)) {
        if let Some((id, _)) = parse_ino(ino) {
            base.faults_of_text(id, note);
        }
    }
}

/// The text that this is the number of a file of, and which file that is
/// among those of the text.
fn parse_ino(ino: Ino) -> Option<(GameId, usize)> {
    let place = ino.kind().checked_sub(FIRST_TEXT)?;
    let id = GameId(ino.index());
    (id.0 > 0).then_some((id, usize::from(place)))
}

fn media_node_of(file: io::Result<MediaFile>) -> Result<Node, Error> {
    file.map(media_node).map_err(|error| media_error(&error))
}

fn media_node(file: MediaFile) -> Node {
    let (seconds, nanoseconds) = file.stamp.modified;
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
    let modified = UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
    Node {
        ino: Ino::new(MEDIA_FILE, file.number),
        kind: NodeKind::File(Size::Known(file.stamp.len)),
        links: 1,
        modified: modified.unwrap_or(UNIX_EPOCH),
    }
}

fn media_error(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound,
        _ => Error::Damaged(error.to_string()),
    }
}

impl DatabaseVolume {
    pub(super) fn has_media(&self) -> bool {
        Texts.is_there(self) && self.media().exists()
    }

    /// Record and file of a text's number.
    fn text(&self, ino: Ino) -> Result<(ListedRecord, TextFile), Error> {
        let (id, place) = parse_ino(ino).ok_or(Error::NotFound)?;
        let record = self.record(id, RecordKind::Text)?;
        let mut files = texts::files_of(self.base.as_ref(), id).into_iter();
        Ok((record, files.nth(place).ok_or(Error::NotFound)?))
    }

    /// The text of this name, if `is_listed` has it.
    pub(super) fn text_named(
        &self,
        name: &[u8],
        is_listed: impl Fn(Entry) -> bool,
    ) -> Result<Node, Error> {
        let id = crate::names::parse_text_number(name)
            .map(GameId)
            .ok_or(Error::NotFound)?;
        let record = self.record(id, RecordKind::Text)?;
        if !is_listed(record.entry) {
            return Err(Error::NotFound);
        }
        let files = texts::files_of(self.base.as_ref(), id);
        let mut numbered = (FIRST_TEXT..).zip(&files);
        let found = numbered.find(|(_, file)| file.name.as_bytes() == name);
        let (kind, _) = found.ok_or(Error::NotFound)?;
        Ok(self.file_node(Ino::new(kind, id.0), &record))
    }

    /// Lists the files of one text whose cookies are greater than `after`;
    /// false if there was no room.
    pub(in super::super) fn list_text(
        &self,
        record: &ListedRecord,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> bool {
        let id = record.entry.id;
        let files = texts::files_of(self.base.as_ref(), id);
        (FIRST_TEXT..=u8::MAX).zip(&files).all(|(kind, file)| {
            let name = &file.name;
            let node = self.file_node(Ino::new(kind, id.0), record);
            let cookie = cookie_of_file(id, file.language);
            cookie <= after || listing(&DirEntry { name, node, cookie })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_tells_text_and_file() {
        for (place, kind) in (FIRST_TEXT..=u8::MAX).enumerate() {
            let ino = Ino::new(kind, u32::MAX);
            assert!(ino.0 < 1 << 40);
            assert_eq!(parse_ino(ino), Some((GameId(u32::MAX), place)));
        }
        assert_eq!(parse_ino(Ino::new(1, 5)), None);
        assert_eq!(parse_ino(Ino::new(FIRST_TEXT, 0)), None);
    }
}
