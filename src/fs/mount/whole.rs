//! All that is mounted, and which part of it a number belongs to.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::fs::mount::folder::BaseFolder;
use crate::fs::mount::live_base::LiveBase;
use crate::fs::mount::snapshot::{Shared, Snapshot};
use crate::fs::status::{self as about, Mounting};
use crate::fs::tree::Tree;
use crate::fs::volume::{Ino, NodeKind};
use crate::fs::{Attr, Bytes, Error};

/// What is mounted, as it is stored.
#[derive(Debug)]
pub(crate) struct Mount {
    pub(crate) mounted: MountRoot,
    pub(crate) shared: Shared,
}

#[derive(Debug)]
pub(crate) enum MountRoot {
    One(Arc<LiveBase>),
    Many(Box<BaseFolder>),
}

/// The target of an inode number.
pub(crate) enum InoTarget<'a> {
    /// To what a folder has itself: its root, and `.cbfs/`.
    BaseFolder(&'a BaseFolder, Ino),
    /// Into a volume, which knows it by this number.
    Volume(Arc<LiveBase>, Ino),
}

impl Mount {
    /// All bases.
    pub(crate) fn live_bases(&self) -> Vec<Arc<LiveBase>> {
        match &self.mounted {
            MountRoot::One(live) => vec![Arc::clone(live)],
            MountRoot::Many(folder) => folder.live_bases(),
        }
    }

    /// The same with those of a folder that went away: saves of theirs may be left.
    pub(crate) fn known_bases(&self) -> Vec<Arc<LiveBase>> {
        match &self.mounted {
            MountRoot::One(_) => self.live_bases(),
            MountRoot::Many(folder) => folder.known_bases(),
        }
    }

    /// Where a number leads.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Stale`].
    pub(crate) fn place(&self, ino: Ino) -> Result<InoTarget<'_>, Error> {
        let inner = ino.within_base();
        match &self.mounted {
            MountRoot::One(live) if ino.base_number() == 0 => {
                Ok(InoTarget::Volume(Arc::clone(live), inner))
            }
            MountRoot::Many(folder) if ino.base_number() > 0 => Ok(InoTarget::Volume(
                folder.live_base(ino.base_number())?,
                inner,
            )),
            MountRoot::Many(folder) if ino == Ino::ROOT || about::holds(ino) => {
                Ok(InoTarget::BaseFolder(folder, ino))
            }
            _ => Err(Error::NotFound),
        }
    }

    /// The base that a number belongs to; none for what a directory of bases
    /// has itself.
    ///
    /// # Errors
    ///
    /// As [`Mount::place`].
    pub(crate) fn base(&self, ino: Ino) -> Result<Option<Arc<LiveBase>>, Error> {
        match self.place(ino)? {
            InoTarget::Volume(live, _) => Ok(Some(live)),
            InoTarget::BaseFolder(..) => Ok(None),
        }
    }

    /// See [`Tree::lookup`].
    pub(crate) fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        let place = self.place(directory)?;
        if directory.within_base() == Ino::ROOT && name == about::NAME.as_bytes() {
            return self.attr(about::DIRECTORY.in_base(directory.base_number()));
        }
        let before = place.snapshot();
        let attr = place.ask(|tree, inner| tree.lookup(inner, name))?;
        if attr.kind != NodeKind::Directory && !attr.is_volatile() {
            self.shared.names.add(directory, name);
            self.invalidate_if_replaced(&place, before.as_deref());
        }
        Ok(with_mount_number(attr, directory.base_number()))
    }

    /// See [`Tree::attr`].
    pub(crate) fn attr(&self, ino: Ino) -> Result<Attr, Error> {
        let attr = self.place(ino)?.ask(|tree, inner| tree.attr(inner))?;
        Ok(with_mount_number(attr, ino.base_number()))
    }

    /// See [`Tree::read`].
    pub(crate) fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error> {
        let place = self.place(ino)?;
        place.ask(|tree, inner| tree.read(inner, offset, length))
    }

    /// Requests an invalidation if the snapshot `before` was replaced while a
    /// reply was built from it: the kernel would keep the old reply.
    pub(crate) fn invalidate_if_replaced(&self, place: &InoTarget<'_>, before: Option<&Snapshot>) {
        let is_current = |before| place.snapshot().is_some_and(|now| now.is(before));
        if !before.is_none_or(is_current) {
            self.shared.names.request_invalidation();
            self.shared.background.request_refresh();
        }
    }

    /// Returns the time; the epoch if [`Mounting`] has no clock yet.
    pub(crate) fn now(&self) -> SystemTime {
        let mounting = self.shared.mounting.get();
        mounting.map_or(UNIX_EPOCH, Mounting::time)
    }
}

impl InoTarget<'_> {
    /// Asks the tree that the number belongs to.
    pub(crate) fn ask<T>(
        &self,
        ask: impl FnOnce(&dyn Tree, Ino) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self {
            InoTarget::BaseFolder(folder, inner) if about::holds(*inner) => {
                ask(&folder.status(), *inner)
            }
            InoTarget::BaseFolder(folder, inner) => ask(*folder, *inner),
            InoTarget::Volume(live, inner) if about::holds(*inner) => ask(&live.status(), *inner),
            InoTarget::Volume(live, inner) => ask(&**live, *inner),
        }
    }

    /// What is shown there now, of a base that was looked into.
    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        match self {
            InoTarget::Volume(live, _) => live.opened(),
            InoTarget::BaseFolder(..) => None,
        }
    }
}

/// Returns attributes with the inode number in the mount. The root of a volume
/// has one more link, for its `.cbfs/`.
pub(crate) fn with_mount_number(attr: Attr, base_number: u64) -> Attr {
    let links = match attr.ino.within_base() {
        Ino::ROOT => about::links_of_root(attr.links),
        _ => attr.links,
    };
    Attr {
        ino: attr.ino.in_base(base_number),
        links,
        ..attr
    }
}
