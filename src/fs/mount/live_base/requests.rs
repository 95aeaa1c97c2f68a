//! Requests to one base, and what was reported to the kernel.

use std::sync::Arc;

use super::LiveBase;
use crate::fs::mount::snapshot::{ReadWay, Snapshot};
use crate::fs::tree::Tree;
use crate::fs::volume::{DirEntry, Ino, Listing, NodeKind, Size};
use crate::fs::{Attr, Bytes, Error, ListingWithAttrs, Text};

impl LiveBase {
    /// Notes that `attr` is reported to the kernel, by a lookup or a listing.
    /// Returns the number of the content among those reported for the file.
    fn tell(&self, snapshot: &Snapshot, attr: &Attr) -> u32 {
        match attr.kind {
            _ if snapshot.volume.is_held(attr.ino) => return self.held.tell(attr.ino, Some(attr)),
            NodeKind::Directory => self.tell_directory(attr.ino),
            _ => {
                let word = self
                    .reported
                    .update(attr.ino.0, |word| next_word(word, attr.generation));
                return reported_parts(word).0;
            }
        }
        0
    }

    /// As [`Drafts::renew`](crate::drafts::Drafts::renew).
    pub(crate) fn renew(&self, ino: Ino) {
        if self
            .opened()
            .is_some_and(|snapshot| snapshot.volume.is_held(ino))
        {
            return self.held.renew(ino);
        }
        self.reported.update(ino.0, |word| {
            let (version, mark) = reported_parts(word);
            word_of(version.wrapping_add(1), mark)
        });
    }

    pub(crate) fn tell_directory(&self, ino: Ino) {
        self.directories.lock().insert(ino);
    }

    /// The directories that somebody was told of, by numbers of the mount.
    pub(crate) fn reported_directories(&self) -> Vec<Ino> {
        let mut directories = self.held.directories();
        directories.extend(self.directories.lock().iter());
        let numbers = directories.into_iter();
        numbers.map(|ino| ino.in_base(self.number)).collect()
    }

    /// See [`Vfs::forget`](crate::vfs::Vfs::forget).
    pub(crate) fn forget(&self, ino: Ino, lookups: u64) {
        if self.held.forget(ino, lookups)
            && let Some(snapshot) = self.opened()
        {
            snapshot.volume.forget(ino);
        }
    }

    /// Mark of the content that was told last, if one was.
    fn reported(&self, ino: Ino) -> Option<u32> {
        let (_, mark) = reported_parts(self.reported.get(ino.0));
        (mark > 0)
            .then_some(mark)
            .or_else(|| self.held.reported(ino))
    }

    /// Returns the attributes of the content in the last reply.
    fn reported_attr(&self, ino: Ino) -> Result<Attr, Error> {
        let mut attr = self.answer(|snapshot| snapshot.attr_of(&snapshot.volume.node(ino)?))?;
        if let Some(mark) = self.reported(ino)
            && mark != attr.generation
            && attr.kind != NodeKind::Directory
        {
            let earlier = self.earlier(ino, mark);
            let earlier = earlier.or_else(|| self.earlier_asked(ino, mark));
            let earlier = earlier.ok_or(Error::Stale)?;
            attr = earlier.attr_of(&earlier.volume.node(ino)?)?;
        }
        let version = Some(self.reported_version(ino));
        Ok(Attr { version, ..attr })
    }

    /// Returns the attributes of the answer that had this mark before a save. They have
    /// no version: no node of the kernel is of it any more.
    pub(crate) fn earlier_attr(&self, ino: Ino, mark: u32) -> Result<Attr, Error> {
        let earlier = self.earlier_asked(ino, mark).ok_or(Error::Stale)?;
        let attr = earlier.attr_of(&earlier.volume.node(ino)?)?;
        let version = None;
        Ok(Attr { version, ..attr })
    }

    /// Which of the contents of a file was told last.
    fn reported_version(&self, ino: Ino) -> u32 {
        match reported_parts(self.reported.get(ino.0)) {
            (0, 0) => self.held.version(ino),
            (version, _) => version,
        }
    }

    /// Whether it can be edited.
    pub(crate) fn is_editable(&self) -> bool {
        let snapshot = self.opened();
        snapshot.is_some_and(|snapshot| snapshot.volume.editor().is_some())
    }

    /// Returns the attributes of the present content, and notes them as
    /// reported.
    pub(crate) fn present(&self, ino: Ino) -> Result<Attr, Error> {
        self.answer(|snapshot| {
            let attr = snapshot.attr_of(&snapshot.volume.node(ino)?)?;
            // `getattr` and `open` do not raise the lookup count.
            let version = if snapshot.volume.is_held(ino) {
                self.held.tell_again(&attr)
            } else {
                self.tell(snapshot, &attr)
            };
            let version = Some(version);
            Ok(Attr { version, ..attr })
        })
    }

    /// As [`LiveBase::read`], of the content with this mark, whatever was told.
    pub(crate) fn read_marked(
        &self,
        ino: Ino,
        mark: u32,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        self.answer(|snapshot| match snapshot.file(ino)? {
            ReadWay::Pieces { mark: other, .. } if other != mark => {
                let earlier = self.earlier_asked(ino, mark).ok_or(Error::Stale)?;
                earlier.read(ino, Size::Computed, offset, length)
            }
            ReadWay::Pieces { size, .. } => snapshot.read(ino, size, offset, length),
            ReadWay::Rendered => {
                let text = self.text(snapshot, ino, Some(mark))?;
                Ok(text.part(offset, length))
            }
        })
    }

    /// The text of a rendered file that has, or had, this mark.
    pub(crate) fn text_with(&self, ino: Ino, mark: u32) -> Result<Text, Error> {
        self.answer(|snapshot| match snapshot.file(ino)? {
            ReadWay::Rendered => self.text(snapshot, ino, Some(mark)),
            ReadWay::Pieces { .. } => Err(Error::Stale),
        })
    }

    fn read_from(
        &self,
        snapshot: &Snapshot,
        ino: Ino,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        let reported = self.reported(ino);
        match snapshot.file(ino) {
            Ok(ReadWay::Pieces { size, mark }) => {
                let Some(reported) = reported.filter(|reported| *reported != mark) else {
                    return snapshot.read(ino, size, offset, length);
                };
                self.request_invalidation();
                return self.read_marked(ino, reported, offset, length);
            }
            // It may have gone; who began to read it goes on.
            Err(error) if reported.is_none() => return Err(error),
            Err(error @ (Error::IsADirectory | Error::Invalid)) => return Err(error),
            Ok(ReadWay::Rendered) | Err(_) => {}
        }
        Ok(self.text(snapshot, ino, reported)?.part(offset, length))
    }

    /// The text that was `told`, wherever it still is.
    fn text(&self, snapshot: &Snapshot, ino: Ino, reported: Option<u32>) -> Result<Text, Error> {
        let Some(mark) = reported else {
            return snapshot.text(ino);
        };
        let present = match snapshot.text(ino) {
            Ok(text) if text.mark() == mark => return Ok(text),
            other => other,
        };
        let earlier = self.earlier(ino, mark);
        if let Some(Ok(text)) = earlier.map(|snapshot| snapshot.text(ino))
            && text.mark() == mark
        {
            return Ok(text);
        }
        // Either the base was changed a moment ago and nobody has looked yet,
        // or this reader comes too late.
        self.request_invalidation();
        Err(present.err().unwrap_or(Error::Stale))
    }

    /// Makes the kernel look up all names again, soon.
    fn request_invalidation(&self) {
        self.shared.names.request_invalidation();
        self.shared.background.request_refresh();
    }

    /// Returns an earlier snapshot that still has the answers about `ino` with
    /// this mark.
    fn earlier_asked(&self, ino: Ino, mark: u32) -> Option<Arc<Snapshot>> {
        let snapshots = self.snapshots.lock();
        let earlier = snapshots.earlier.iter();
        let earlier: Vec<_> = earlier.map(|(snapshot, _)| Arc::clone(snapshot)).collect();
        drop(snapshots);
        earlier.into_iter().find(|snapshot| {
            let node = snapshot.volume.node(ino);
            let asked = node.is_ok_and(|node| node.kind == NodeKind::File(Size::Computed));
            let has_it =
                |reading| matches!(reading, ReadWay::Pieces { mark: its, .. } if its == mark);
            asked && snapshot.file(ino).is_ok_and(has_it)
        })
    }

    /// An earlier snapshot in which `ino` has this mark.
    fn earlier(&self, ino: Ino, mark: u32) -> Option<Arc<Snapshot>> {
        let snapshots = self.snapshots.lock();
        let has_it = |snapshot: &&(Arc<Snapshot>, u32)| {
            let measure = snapshot.0.sizes.get(ino);
            measure.is_some_and(|measure| measure.mark == mark)
        };
        snapshots
            .earlier
            .iter()
            .find(has_it)
            .map(|(snapshot, _)| Arc::clone(snapshot))
    }
}

impl LiveBase {
    /// See [`Volume::attribute`](crate::fs::Volume::attribute).
    pub(crate) fn attribute(&self, ino: Ino, name: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.ask(|snapshot| snapshot.volume.attribute(ino, name))
    }

    /// See [`Volume::target`](crate::fs::Volume::target).
    pub(crate) fn target(&self, link: Ino) -> Result<Vec<u8>, Error> {
        self.ask(|snapshot| match snapshot.volume.node(link)?.kind {
            NodeKind::Symlink => snapshot.volume.target(link),
            _ => Err(Error::Invalid),
        })
    }

    /// Lists a directory as it is in a snapshot.
    fn list_from(
        &self,
        snapshot: &Snapshot,
        directory: Ino,
        after: u64,
        with_attrs: bool,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        // Who lists one that is held was told of it before.
        if !snapshot.volume.is_held(directory) {
            self.tell_directory(directory);
        }
        if !with_attrs {
            let listing: &mut Listing<'_> = &mut |entry| listing(entry, None);
            return snapshot.volume.list(directory, after, listing);
        }
        let is_editable = snapshot.volume.editor().is_some();
        snapshot.list_with_attrs(directory, after, &mut |entry, mut attr| {
            if let Some(Ok(attr)) = &mut attr
                && attr.kind != NodeKind::Directory
                && !snapshot.volume.is_held(attr.ino)
            {
                let next_word = |word| next_word(word, attr.generation);
                let word = if is_editable {
                    // Who opens it meanwhile must not find another version.
                    self.reported.update(attr.ino.0, next_word)
                } else {
                    next_word(self.reported.get(attr.ino.0))
                };
                attr.version = Some(reported_parts(word).0);
            }
            if let Some(Ok(attr)) = &mut attr
                && snapshot.volume.is_held(attr.ino)
            {
                attr.version = Some(self.held.would_be(attr));
            }
            let reported = attr.as_ref().and_then(|attr| attr.as_ref().ok()).copied();
            let has_room = listing(entry, attr);
            match reported.filter(|_| has_room) {
                Some(attr) if snapshot.volume.is_held(attr.ino) => {
                    self.held.tell(attr.ino, Some(&attr));
                }
                Some(attr) if attr.kind == NodeKind::Directory => self.tell_directory(attr.ino),
                Some(attr) => {
                    self.reported
                        .update(attr.ino.0, |word| next_word(word, attr.generation));
                }
                // The kernel takes the number all the same.
                None if has_room && snapshot.volume.is_held(entry.node.ino) => {
                    self.held.tell(entry.node.ino, None);
                }
                None => {}
            }
            has_room
        })
    }
}

impl Tree for LiveBase {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        self.answer(|snapshot| {
            let attr = snapshot.attr_at_once(&snapshot.volume.lookup(directory, name)?)?;
            let version = Some(self.tell(snapshot, &attr));
            Ok(Attr { version, ..attr })
        })
    }

    fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        if self.is_editable() {
            return self.present(ino);
        }
        self.reported_attr(ino)
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        self.ask(|snapshot| snapshot.volume.parent(directory))
    }

    fn list(
        &self,
        directory: Ino,
        after: u64,
        with_attrs: bool,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error> {
        let mut is_begun = false;
        self.answer(|snapshot| {
            let mut give = |entry: &DirEntry<'_>, attr| {
                is_begun = true;
                listing(entry, attr)
            };
            let listed = self.list_from(snapshot, directory, after, with_attrs, &mut give);
            match listed {
                // What was given cannot be given again.
                Err(error) if is_begun => Ok(Err(error)),
                listed => listed.map(Ok),
            }
        })?
    }

    fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        self.answer(|snapshot| self.read_from(snapshot, ino, offset, length))
    }
}

/// Returns the number and the mark of the content in the last reply, from the
/// word of a file.
fn reported_parts(word: u64) -> (u32, u32) {
    let [version, mark] = [word >> 32, word & u64::from(u32::MAX)];
    let half = |word| u32::try_from(word).unwrap_or(0);
    (half(version), half(mark))
}

fn word_of(version: u32, mark: u32) -> u64 {
    u64::from(version) << 32 | u64::from(mark)
}

/// Returns the word of a file after the content with this mark is reported.
fn next_word(word: u64, mark: u32) -> u64 {
    let (version, before) = reported_parts(word);
    let is_other = before != 0 && before != mark;
    word_of(version.wrapping_add(u32::from(is_other)), mark)
}
