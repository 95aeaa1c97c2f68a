//! Directories with what is being written.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use super::handles::Pin;
use super::names::NameTarget;
use super::state::{Draft, Purpose};
use super::{Access, Drafts, Handle, is_own};
use super::{FIRST_REJECTED, failed_of_rejected};
use crate::fs::mount::live_base::LiveBase;
use crate::fs::volume::{DirEntry, Node, NodeKind, Size};
use crate::fs::{Attr, Bytes, Error, Ino, ListingWithAttrs, status as about};
use crate::storage::rejected::Kept;

/// What `stat` says of a draft with a number of its own.
fn attr_of(draft: &Draft) -> Attr {
    let links = u32::from(draft.place.is_some());
    attr_of_file(draft.ino, draft.buffer.length(), links, draft.modified)
}

/// What `stat` says of a rejected draft.
fn attr_of_kept(live: &LiveBase, kept: &Kept) -> Attr {
    let ino = Ino::new(about::KIND, kept.number).in_base(live.number());
    let modified = kept.stat.modified().unwrap_or(UNIX_EPOCH);
    attr_of_file(ino, kept.stat.len(), 1, modified)
}

fn attr_of_file(ino: Ino, size: u64, links: u32, modified: SystemTime) -> Attr {
    let kind = NodeKind::File(Size::Known(size));
    let node = Node {
        ino,
        kind,
        links,
        modified,
    };
    Attr::of(&node, size, 1)
}

/// Whether this is the number of a rejected draft.
pub(super) fn is_rejected(ino: Ino) -> bool {
    about::holds(ino.within_base()) && ino.index() >= FIRST_REJECTED
}

/// What is being written in one directory.
#[derive(Default)]
pub(crate) struct Overlay {
    entries: Vec<(u64, Box<str>, NameTarget)>,
    names: HashSet<Box<str>>,
    rejected: Vec<Kept>,
}

impl Overlay {
    /// Whether what the volume has under this name is not shown.
    pub(crate) fn hides(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains(name)
    }
}

impl Drafts {
    /// What is being written in a directory.
    pub(crate) fn overlay(&self, live: &LiveBase, directory: Ino) -> Overlay {
        let mut overlay = Overlay::default();
        if directory.within_base() == about::REJECTED {
            let rejected = self.rejected(live);
            overlay.rejected = rejected.map(|all| all.all()).unwrap_or_default();
        } else if !self.is_unused() {
            overlay.entries = self.state.lock().names.of(directory);
            let names = overlay.entries.iter().map(|(_, name, _)| name.clone());
            overlay.names = names.collect();
        }
        overlay
    }

    /// Lists what a directory has of drafts: after all that the volume has.
    pub(crate) fn list_drafts(
        &self,
        live: &LiveBase,
        overlay: &Overlay,
        after: u64,
        listing: &mut ListingWithAttrs<'_>,
    ) {
        let rest = overlay.rejected.iter().filter_map(|kept| {
            let cookie = u64::from(kept.number);
            let attr = (cookie > after).then(|| attr_of_kept(live, kept))?;
            Some((cookie, &*kept.name, attr))
        });
        let entries = overlay.entries.iter();
        let entries = entries.filter(|(cookie, ..)| *cookie > after);
        let rest = rest.chain(entries.filter_map(|(cookie, name, entry)| {
            let attr = self.attr_of_entry(entry)?.ok()?;
            Some((*cookie, &**name, attr))
        }));
        for (cookie, name, attr) in rest {
            let node = attr.node();
            if !listing(&DirEntry { name, node, cookie }, Some(Ok(attr))) {
                return;
            }
        }
    }

    /// What `stat` says of the name of a draft, unless nothing is there.
    fn attr_of_entry(&self, entry: &NameTarget) -> Option<Result<Attr, Error>> {
        match entry {
            NameTarget::File(id) => self
                .state
                .lock()
                .drafts
                .get(id)
                .map(|draft| Ok(attr_of(draft))),
            NameTarget::Link(game) => Some(self.attr(*game)),
            NameTarget::Gone { .. } => None,
        }
    }

    /// What a name stands for, if drafts know: what is there, or that
    /// nothing is.
    pub(crate) fn lookup_draft(&self, directory: Ino, name: &[u8]) -> Option<Result<Attr, Error>> {
        if directory.within_base() == about::REJECTED {
            let live = self.mount.base(directory).ok()??;
            let find = || {
                let name = std::str::from_utf8(name).ok()?;
                let kept = self.rejected(&live)?.find(name)?;
                Some(attr_of_kept(&live, &kept))
            };
            return Some(find().ok_or(Error::NotFound));
        }
        if self.is_unused() {
            return None;
        }
        let place = (directory, std::str::from_utf8(name).ok()?.into());
        let entry = self.entry(&place)?;
        Some(self.attr_of_entry(&entry).unwrap_or(Err(Error::NotFound)))
    }

    /// What `stat` says of a number that is none of a volume.
    pub(crate) fn attr_of_draft(&self, ino: Ino) -> Option<Result<Attr, Error>> {
        if is_rejected(ino) {
            return Some(self.attr_of_rejected(ino));
        }
        if !is_own(ino) {
            return None;
        }
        if let Some(game) = self.became(ino) {
            return Some(self.attr(game).map(|attr| Attr { ino, ..attr }));
        }
        let state = self.state.lock();
        let own = state.own(ino).map(|(_, draft)| attr_of(draft));
        Some(own.ok_or(Error::NotFound))
    }

    fn attr_of_rejected(&self, ino: Ino) -> Result<Attr, Error> {
        let live = self.mount.base(ino)?.ok_or(Error::NotFound)?;
        let rejected = self.rejected(&live).ok_or(Error::NotFound)?;
        let kept = rejected
            .get(ino.within_base().index())
            .map_err(failed_of_rejected)?;
        Ok(attr_of_kept(&live, &kept))
    }

    /// Bytes of a draft, for who has not opened it.
    pub(crate) fn read_draft(
        &self,
        ino: Ino,
        offset: u64,
        length: u32,
    ) -> Option<Result<Bytes, Error>> {
        if !is_own(ino) && !is_rejected(ino) {
            return None;
        }
        let read = || {
            let handle = self.open_file(ino, Access::READ)?;
            let read = self.read_open(handle, offset, length);
            self.release(handle);
            read
        };
        Some(read())
    }

    /// What is told of a file or directory of a volume; a directory changes
    /// with the names of drafts in it.
    pub(crate) fn with_names(&self, attr: Attr) -> Attr {
        if self.is_unused() || attr.kind != NodeKind::Directory {
            return attr;
        }
        let modified = self.state.lock().names.modified(attr.ino);
        let modified = modified.map_or(attr.modified, |time| time.max(attr.modified));
        Attr { modified, ..attr }
    }

    /// What `stat` says of a file that is open: of the content that is read
    /// through the handle, whatever the file is by now.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; [`Error::Stale`] for a large file that changed since;
    /// those of [`Drafts::attr`].
    pub fn attr_open(&self, handle: Handle) -> Result<Attr, Error> {
        let (ino, pin, draft) = {
            let state = self.state.lock();
            let open = state.handles.get(handle)?;
            let draft = open.draft.and_then(|id| state.drafts.get(&id));
            (open.ino, open.pin.clone(), draft.map(attr_of))
        };
        match (draft, pin) {
            (Some(draft), _) if is_own(ino) => Ok(draft),
            (Some(draft), _) => Ok(Attr {
                ino,
                links: self.attr(ino).map_or(1, |attr| attr.links),
                kind: NodeKind::File(Size::Rendered),
                version: None,
                ..draft
            }),
            (None, Pin::Text(text)) => {
                let attr = self.attr(ino)?;
                let is_present = attr.generation == text.mark();
                Ok(Attr {
                    size: text.len() as u64,
                    generation: text.mark(),
                    version: attr.version.filter(|_| is_present),
                    ..attr
                })
            }
            (None, Pin::Mark(mark)) => {
                let attr = self.attr(ino)?;
                if attr.generation == mark {
                    return Ok(attr);
                }
                let live = self.mount.base(ino)?.ok_or(Error::Stale)?;
                let earlier = live.earlier_attr(ino.within_base(), mark)?;
                Ok(Attr { ino, ..earlier })
            }
            (None, Pin::Disk(_) | Pin::Present) => self.attr(ino),
        }
    }

    /// The mode of a draft with a number of its own, and whether
    /// it can be written.
    pub(crate) fn mode_of_draft(&self, ino: Ino) -> Option<(Option<u16>, bool)> {
        if !is_own(ino) {
            return None;
        }
        let state = self.state.lock();
        let (_, draft) = state.own(ino)?;
        Some((draft.mode, draft.purpose != Purpose::Log))
    }
}
