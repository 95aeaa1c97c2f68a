//! The kernel's side: a thin adapter between `fuser` and [`Vfs`].
//!
//! Every request is unwrapped, asked of the `Vfs`, and answered; a request
//! that panics is answered with `EIO` and logged, and the mount lives on.
//! Failed requests are logged here, once: debug for what is simply not there,
//! error for damage, of which many at once are counted.
//!
//! A read-only mount is a profile of its own: the kernel may keep names,
//! attributes and texts for a day, `open` and `opendir` never reach cbfs, and
//! nobody is asked for extended attributes unless that is wanted. What was
//! read once is then read at the speed of any file in memory.
//!
//! On a writable mount each text of a game is a file of its own to the kernel,
//! though `stat` gives the same number: see [`nodes`].
//!
//! When a base changes, the kernel is told to ask again for every name it
//! knows. The answer has the mark of the file's content as its *generation*:
//! with the same generation the kernel goes on with the file it has, pages and
//! all; with another one it begins a new file of the same number, and reading
//! on in the old one fails. Names too many to be told one by one begin an
//! *epoch* (Linux 6.16), which makes it forget the files too. An older kernel
//! may keep names for a second only, and then asks likewise.

mod kernel;
mod locks;
mod mounts;
mod names;
mod nodes;
mod profile;
mod requests;
mod session;
mod slow;
mod throttle;

pub use mounts::{Mount, canonical, mount_at};
pub use session::{Audience, MountError, Mounted, Options, Outcome, Stopper, detach};

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{Errno, FileAttr, FileHandle, FileType, FopenFlags, Generation, INodeNo};

use crate::vfs::{Access, Attr, Drafts, Error, Handle, Ino, NodeKind, Vfs};
use kernel::Kernel;
use locks::Locks;
use nodes::{Node, Nodes, Sought, Writing};
use profile::Profile;
use slow::SlowRequests;
use throttle::Throttle;

/// Whether the kernel asks for attributes together with names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadDirPlus {
    /// By the size of the largest base: always up to 50,000 games, beyond that
    /// as the kernel sees fit.
    #[default]
    BySize,
    /// As the kernel sees fit: when it looks as if they were wanted.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Owner and modes of all that is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ownership {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Bits of the modes that are kept.
    pub(crate) mask: u16,
}

/// One mount, as fuser sees it.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    pub(crate) vfs: Arc<Vfs>,
    pub(crate) ownership: Ownership,
    pub(crate) readdirplus: ReadDirPlus,
    /// Whether files have extended attributes.
    pub(crate) xattr: bool,
    profile: Profile,
    nodes: Arc<Nodes>,
    locks: Locks,
    slow: SlowRequests,
    /// Known once the session has begun.
    kernel: Arc<OnceLock<Kernel>>,
    /// Held while the kernel is told of what was written.
    telling: Arc<Mutex<()>>,
}

impl Adapter {
    fn new(
        vfs: Arc<Vfs>,
        ownership: Ownership,
        options: &Options,
        kernel: Arc<OnceLock<Kernel>>,
    ) -> Adapter {
        Adapter {
            kernel,
            vfs,
            ownership,
            readdirplus: options.readdirplus,
            xattr: options.xattr,
            profile: Profile::new(options.is_writable),
            nodes: Arc::new(Nodes::new()),
            locks: Locks::default(),
            telling: Arc::default(),
            slow: SlowRequests::default(),
        }
    }

    fn file_attr(&self, attr: &Attr) -> FileAttr {
        let (kind, perm) = match attr.kind {
            NodeKind::Directory => (FileType::Directory, 0o555),
            NodeKind::File(_) => (FileType::RegularFile, 0o444),
            NodeKind::Symlink => (FileType::Symlink, 0o777),
        };
        let perm = if self.profile.is_writable {
            self.vfs.drafts().permissions(attr).unwrap_or(perm)
        } else {
            perm
        };
        FileAttr {
            ino: INodeNo(attr.ino.0),
            size: attr.size,
            blocks: attr.size.div_ceil(512),
            atime: attr.modified,
            mtime: attr.modified,
            ctime: attr.modified,
            crtime: attr.modified,
            kind,
            perm: perm & self.ownership.mask,
            nlink: attr.links,
            uid: self.ownership.uid,
            gid: self.ownership.gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// How long the kernel may keep a name of this, and its attributes.
    fn keep(&self, attr: &Attr) -> (Duration, Duration) {
        let is_present = attr.version.is_some();
        let is_settled = is_present && self.vfs.drafts().is_settled(attr);
        self.profile.keep(attr, is_settled)
    }

    /// What keeps contents of one file apart, unless that is its [`Node`]: to
    /// change it would break the files that are open.
    fn generation(&self, attr: &Attr) -> Generation {
        if self.profile.is_writable {
            Generation(0)
        } else {
            Generation(attr.generation.into())
        }
    }

    /// Refuses what would change something on a mount that cannot be written.
    /// The kernel does that by itself, unless somebody remounts it writable
    /// behind our back.
    fn ensure_writable(&self) -> Result<(), Error> {
        if self.profile.is_writable {
            Ok(())
        } else {
            Err(Error::ReadOnly)
        }
    }

    /// Answers a request that writes. What was told of names, lengths and
    /// directories before is not to be used any more once it is answered:
    /// whoever saved a game finds it in all other places at once. And the
    /// kernel itself gives a file that was renamed the new name, though it may
    /// be another file now.
    fn answer_writing<T>(
        &self,
        request: fmt::Arguments<'_>,
        handler: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Errno> {
        let answered = answer(request, || {
            self.ensure_writable()?;
            handler()
        });
        if self.profile.is_writable {
            self.tell_written();
        }
        answered
    }

    /// Lets the kernel ask again for what is another now, if anything is. When
    /// this returns that has begun, whichever thread let it.
    fn tell_written(&self) {
        let _one = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        if self.vfs.drafts().take_change() {
            self.kernel.get().inspect(|kernel| kernel.begin_epoch());
        }
    }

    /// Opens a node; gives the handle, and what the kernel may do with its
    /// pages.
    fn open_node(
        &self,
        node: Node,
        access: Access,
        thread: u32,
    ) -> Result<(FileHandle, FopenFlags), Error> {
        let (handle, flags) = if access.write {
            (
                self.open_to_write(node, access, thread)?,
                FopenFlags::empty(),
            )
        } else {
            self.open_to_read(node, access, thread)?
        };
        Ok((FileHandle(handle.0), flags))
    }

    fn open_to_read(
        &self,
        node: Node,
        access: Access,
        thread: u32,
    ) -> Result<(Handle, FopenFlags), Error> {
        let ino = node.ino();
        let sought = self.nodes.sought(thread, node);
        if node.is_draft()
            && let Some(writer) = self.nodes.user(node)
        {
            // Who has it open, and opens it again by `/dev/fd/`.
            let handle = self.vfs.drafts().open_again(writer, access)?;
            self.nodes.open(node, handle);
            return Ok((handle, FopenFlags::empty()));
        }
        let handle = self.vfs.drafts().open_file(ino, access)?;
        let attr = self.vfs.drafts().attr_open(handle);
        if let Ok(attr) = &attr
            && Node::of(attr) == Some(node)
        {
            return self.begin_to_read(node, handle, attr.version);
        }
        self.vfs.drafts().release(handle);
        attr?;
        let earlier = match (sought, self.nodes.user(node)) {
            (Sought::Found(mark), _) => Some(self.vfs.drafts().open_earlier(ino, mark)?),
            (Sought::Nothing, Some(reader)) => Some(self.vfs.drafts().open_again(reader, access)?),
            (Sought::Nothing | Sought::NotYet, _) => None,
        };
        if let Some(handle) = earlier {
            return self.begin_to_read(node, handle, None);
        }
        self.nodes.send(thread, ino);
        Err(Error::Stale)
    }

    /// Opens a node with a handle to its text, which may be an earlier one, and
    /// has no version then; gives what the kernel may do with the pages.
    fn begin_to_read(
        &self,
        node: Node,
        handle: Handle,
        version: Option<u32>,
    ) -> Result<(Handle, FopenFlags), Error> {
        let content = self.vfs.drafts().content_of(handle);
        let is_same = |other| self.vfs.drafts().content_of(other) == content;
        match self.nodes.read(node, handle, version, is_same) {
            Ok(is_kept) if is_kept && content.is_some() => Ok((
                handle,
                FopenFlags::FOPEN_NOFLUSH | FopenFlags::FOPEN_KEEP_CACHE,
            )),
            Ok(_) => Ok((handle, FopenFlags::FOPEN_NOFLUSH)),
            Err(error) => {
                // The look-up that follows finds a node that nobody has.
                self.vfs.drafts().renew(node.ino());
                self.vfs.drafts().release(handle);
                Err(error)
            }
        }
    }

    fn open_to_write(&self, node: Node, access: Access, thread: u32) -> Result<Handle, Error> {
        let ino = node.ino();
        if Drafts::is_shared(ino) {
            // It may have become a game.
            let handle = self.vfs.drafts().open_file(ino, access)?;
            if self.vfs.drafts().attr_open(handle)?.ino != ino {
                self.vfs.drafts().release(handle);
                return Err(Error::Stale);
            }
            self.nodes.open(node, handle);
            return Ok(handle);
        }
        let is_present = |handle| self.vfs.drafts().has_present_draft(handle);
        match self.nodes.write(thread, node, is_present) {
            Writing::Begins => {}
            Writing::IsElsewhere => return Err(Error::Stale),
            Writing::IsTaken => {
                self.vfs.drafts().renew(ino);
                return Err(Error::Stale);
            }
        }
        if !node.is_draft() {
            // It is not the node of the text any more.
            self.vfs.drafts().renew(ino);
        }
        let opened = match self.nodes.user(node).filter(|_| node.is_draft()) {
            // The kernel has the bytes of that draft.
            Some(writer) => self.vfs.drafts().open_again(writer, access),
            None => self.vfs.drafts().open_file(ino, access),
        };
        match &opened {
            Ok(handle) => self.nodes.open(node, *handle),
            Err(_) => self.nodes.give_up(node),
        }
        opened
    }

    /// Makes a file and opens it; gives its node too.
    fn create_file(
        &self,
        directory: Ino,
        name: &OsStr,
        access: Access,
        is_exclusive: bool,
        mode: Option<u16>,
    ) -> Result<(Attr, Node, Handle), Error> {
        let name = name.as_bytes();
        let (attr, handle) = self
            .vfs
            .drafts()
            .create(directory, name, access, is_exclusive)?;
        // A game has the mode it has.
        let with_mode = self.vfs.drafts().set_attributes(attr.ino, mode, None);
        let (attr, node) = if Drafts::is_shared(attr.ino) {
            (with_mode.unwrap_or(attr), Node(attr.ino.0))
        } else {
            (attr, self.nodes.create(attr.ino))
        };
        self.nodes.open(node, handle);
        Ok((attr, node, handle))
    }

    /// What `stat` says of a node: of the text that is read through it.
    fn attr_of_node(&self, node: Node) -> Result<Attr, Error> {
        if !self.profile.is_writable {
            return self.vfs.attr(node.ino());
        }
        while let Some(handle) = self.nodes.user(node) {
            match self.vfs.drafts().attr_open(handle) {
                // It was closed just now.
                Err(Error::NotOpen) if self.nodes.user(node) != Some(handle) => {}
                attr => return attr,
            }
        }
        // Without anybody who has it open any length will do.
        let attr = self.vfs.attr(node.ino())?;
        let version = attr.version.filter(|_| Node::of(&attr) == Some(node));
        Ok(Attr { version, ..attr })
    }

    /// Sets length, mode, owner and time, as far as they can be set.
    fn set_attributes(&self, node: Node, wanted: &Wanted) -> Result<Attr, Error> {
        let ino = node.ino();
        let is_other = |wanted: Option<u32>, owner| wanted.is_some_and(|wanted| wanted != owner);
        if is_other(wanted.uid, self.ownership.uid) || is_other(wanted.gid, self.ownership.gid) {
            return Err(Error::NotPermitted);
        }
        if let Some(size) = wanted.size {
            self.vfs.drafts().truncate(ino, wanted.handle, size)?;
        }
        if wanted.mode.is_some() || wanted.modified.is_some() {
            self.vfs
                .drafts()
                .set_attributes(ino, wanted.mode, wanted.modified)?;
        }
        if let Some(handle) = wanted.handle {
            return self.vfs.drafts().attr_open(handle);
        }
        self.attr_of_node(node)
    }

    /// Attributes of what cannot be read, or not that quickly: they are not
    /// kept, so whoever wants to know asks.
    fn untold(&self, ino: Ino, kind: NodeKind) -> FileAttr {
        self.file_attr(&Attr {
            ino,
            kind,
            size: 0,
            is_sized: false,
            links: 1,
            modified: SystemTime::UNIX_EPOCH,
            generation: 0,
            version: Some(0),
        })
    }
}

/// What `setattr` asks for.
#[derive(Debug)]
struct Wanted {
    mode: Option<u16>,
    uid: Option<u32>,
    gid: Option<u32>,
    size: Option<u64>,
    modified: Option<SystemTime>,
    handle: Option<Handle>,
}

fn file_type(kind: NodeKind) -> FileType {
    match kind {
        NodeKind::Directory => FileType::Directory,
        NodeKind::File(_) => FileType::RegularFile,
        NodeKind::Symlink => FileType::Symlink,
    }
}

/// Runs a request; what fails, or panics, is logged and becomes a number.
fn answer<T>(
    request: fmt::Arguments<'_>,
    handler: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Errno> {
    let result = Error::unless_panic(handler);
    result.map_err(|error| {
        match &error {
            Error::Damaged(_) | Error::Panicked(_) | Error::TooLarge => {
                log_failure(format_args!("{request}: {error}"));
            }
            _ => log::debug!("{request}: {error}"),
        }
        Errno::from_i32(error.errno())
    })
}

/// Logs why a request failed, unless many did lately: whoever reads all games
/// of a bad disk is told of the first ones and of how many there are.
fn log_failure(line: fmt::Arguments<'_>) {
    static FAILURES: Mutex<Throttle> = Mutex::new(Throttle::new());
    let mut failures = FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(left_out) = failures.admit(Instant::now()) else {
        return;
    };
    if left_out > 0 {
        log::error!("{left_out} more requests failed; .cbfs/defects.txt names what is damaged");
    }
    log::error!("{line}");
}
