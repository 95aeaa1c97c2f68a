//! A thin adapter between the kernel interface `fuser` and [`Vfs`].
//!
//! Each request is unpacked, passed to the `Vfs`, and answered. A request that
//! panics is answered with `EIO` and logged, and the mount continues. Failed
//! requests are logged here, once: missing files as debug messages, damage as
//! errors, which are rate limited.
//!
//! On a read-only mount, the kernel may cache names, attributes and texts for a
//! day; `open` and `opendir` never reach cbfs, and extended attributes are not
//! requested unless they are enabled. Cached content is then read at the speed
//! of memory.
//!
//! On a writable mount, each text of a game is a separate node for the kernel,
//! though `stat` shows the same number: see [`nodes`].
//!
//! When a base changes, the names that the kernel has cached are invalidated.
//! The reply to the next lookup contains the mark of the content as its
//! *generation*: with the same generation, the kernel keeps its inode and
//! pages; with another one, it creates a new inode of the same number, and
//! reading through the old one fails. If there are too many names to invalidate
//! one by one, a new *epoch* begins (Linux 6.16), which also makes the kernel
//! drop the inodes. Older kernels may cache names for one second only.

mod cleanup;
mod handed_over;
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

pub use handed_over::{descriptor_of, ensure_is_fuse};
pub use mounts::{MountInfo, canonical, mount_at, mount_points};
pub use session::{Audience, MountError, Mounted, Options, Outcome, Stopper, detach};

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use fuser::{Errno, FileAttr, FileHandle, FileType, FopenFlags, Generation, INodeNo};
use parking_lot::Mutex;

use crate::vfs::{Access, Attr, Drafts, Error, Handle, Ino, NodeKind, Size, Vfs};
use cleanup::UnlikeSaves;
use kernel::Kernel;
use locks::Locks;
use nodes::{KernelInode, KernelInodes, Redirected, WriteOpen};
use profile::Profile;
use slow::SlowRequests;
use throttle::Throttle;

/// Number of bytes of the longest text that the kernel is given before it asks.
const MOST_GIVEN: u64 = 1 << 16;

/// Whether directory listings include attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadDirPlus {
    /// Depends on the size of the largest base: always up to 50,000 games,
    /// beyond that when the kernel decides so.
    #[default]
    BySize,
    /// When the kernel decides so, by the access pattern.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Owner and modes of all files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ownership {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Mask that is applied to the modes.
    pub(crate) mask: u16,
}

/// One mount, as fuser uses it.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    pub(crate) vfs: Arc<Vfs>,
    pub(crate) ownership: Ownership,
    pub(crate) readdirplus: ReadDirPlus,
    /// Whether files have extended attributes.
    pub(crate) xattr: bool,
    profile: Profile,
    nodes: Arc<KernelInodes>,
    locks: Locks,
    unlike: UnlikeSaves,
    slow: SlowRequests,
    /// Set when the session has started.
    kernel: Arc<OnceLock<Kernel>>,
    /// Held while invalidations after a write are sent.
    invalidating: Arc<Mutex<()>>,
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
            nodes: Arc::new(KernelInodes::new()),
            locks: Locks::default(),
            unlike: UnlikeSaves::default(),
            invalidating: Arc::default(),
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

    /// Cache times of a name and of its attributes.
    fn keep(&self, attr: &Attr) -> (Duration, Duration) {
        let is_present = attr.version.is_some();
        let is_settled = is_present && self.vfs.drafts().is_settled(attr);
        self.profile.keep(attr, is_settled)
    }

    /// The generation of a file. It is constant for content with its own
    /// [`KernelInode`]: changing it would break open files.
    fn generation(&self, attr: &Attr) -> Generation {
        if self.profile.is_writable {
            Generation(0)
        } else {
            Generation(attr.generation.into())
        }
    }

    /// Refuses changes on a read-only mount. The kernel does that too, unless
    /// the mount was remounted as writable.
    fn ensure_writable(&self) -> Result<(), Error> {
        if self.profile.is_writable {
            Ok(())
        } else {
            Err(Error::ReadOnly)
        }
    }

    /// Answers a request that writes, and invalidates all affected names,
    /// lengths and directories before the reply, so that a saved game is found
    /// everywhere at once. This also covers renaming, after which the kernel
    /// keeps the old inode under the new name though it may be another file.
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
            self.invalidate_written();
        }
        answered
    }

    /// Invalidates everything that has changed. When this returns, the
    /// invalidation has begun, possibly in another thread.
    fn invalidate_written(&self) {
        let _one = self.invalidating.lock();
        if self.vfs.drafts().take_name_changes() {
            self.kernel.get().inspect(|kernel| kernel.begin_epoch());
        }
    }

    /// Opens a node. Returns the handle, and flags for the pages that the
    /// kernel has cached.
    fn open_node(
        &self,
        node: KernelInode,
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
        node: KernelInode,
        access: Access,
        thread: u32,
    ) -> Result<(Handle, FopenFlags), Error> {
        let sought = self.nodes.redirected(thread, node);
        let opened = self.open_sought(node, access, sought);
        match opened {
            // The kernel looks up the name once more.
            Err(Error::Stale) if sought == Redirected::Unchanged => {
                self.nodes.send(thread, node.ino());
            }
            _ => self.nodes.arrived(thread),
        }
        opened
    }

    /// Opens a node to read, for a thread that has found it as `sought` says.
    fn open_sought(
        &self,
        node: KernelInode,
        access: Access,
        sought: Redirected,
    ) -> Result<(Handle, FopenFlags), Error> {
        let ino = node.ino();
        if (node.is_draft() || sought == Redirected::Nothing)
            && let Some(writer) = self.nodes.writer(node)
        {
            // Reopened through `/dev/fd/` by a process that has it open.
            let handle = self.vfs.drafts().open_again(writer, access)?;
            self.nodes.open(node, handle);
            return Ok((handle, FopenFlags::empty()));
        }
        let handle = self.vfs.drafts().open_file(ino, access)?;
        let attr = self.vfs.drafts().attr_open(handle);
        if let Ok(attr) = &attr
            && KernelInode::of(attr) == Some(node)
        {
            return self.begin_to_read(node, handle, Some(attr));
        }
        self.vfs.drafts().release(handle);
        attr?;
        let handle = match (sought, self.nodes.user(node)) {
            (Redirected::Found(mark), _) => self.vfs.drafts().open_earlier(ino, mark)?,
            (Redirected::Nothing, Some(reader)) => self.vfs.drafts().open_again(reader, access)?,
            (Redirected::Nothing | Redirected::Unchanged, _) => return Err(Error::Stale),
        };
        self.begin_to_read(node, handle, None)
    }

    /// Opens a node with a handle to its text; an earlier text has no attributes.
    /// Returns the flags for the pages that the kernel has cached.
    fn begin_to_read(
        &self,
        node: KernelInode,
        handle: Handle,
        attr: Option<&Attr>,
    ) -> Result<(Handle, FopenFlags), Error> {
        let content = self.vfs.drafts().content_of(handle);
        let is_same = |other| self.vfs.drafts().content_of(other) == content;
        let give = || {
            let is_text = |attr: &&Attr| attr.kind == NodeKind::File(Size::Rendered);
            let is_short = |attr: &&Attr| attr.size <= MOST_GIVEN;
            let text = content.and(attr).filter(is_text).filter(is_short);
            if let (Some(_), Some(kernel)) = (text, self.kernel.get())
                && let Ok(text) = self.vfs.drafts().read_open(handle, 0, u32::MAX)
            {
                kernel.give(node, &text);
            }
        };
        let version = attr.and_then(|attr| attr.version);
        match self.nodes.read(node, handle, version, is_same, give) {
            Ok(is_kept) if is_kept && content.is_some() => Ok((
                handle,
                FopenFlags::FOPEN_NOFLUSH | FopenFlags::FOPEN_KEEP_CACHE,
            )),
            Ok(_) => Ok((handle, FopenFlags::FOPEN_NOFLUSH)),
            Err(error) => {
                // The following lookup gets an unused node.
                self.vfs.drafts().renew(node.ino());
                self.vfs.drafts().release(handle);
                Err(error)
            }
        }
    }

    fn open_to_write(
        &self,
        node: KernelInode,
        access: Access,
        thread: u32,
    ) -> Result<Handle, Error> {
        let ino = node.ino();
        if Drafts::is_shared(ino) {
            // A temporary file may have become a game.
            let handle = self.vfs.drafts().open_file(ino, access)?;
            if self.vfs.drafts().attr_open(handle)?.ino != ino {
                self.vfs.drafts().release(handle);
                return Err(Error::Stale);
            }
            self.nodes.open(node, handle);
            return Ok(handle);
        }
        let is_present = |handle| self.vfs.drafts().has_present_draft(handle);
        let renew = || self.vfs.drafts().renew(ino);
        if self.nodes.write(thread, node, is_present, renew) == WriteOpen::IsElsewhere {
            return Err(Error::Stale);
        }
        if !node.is_draft() {
            // Who asks for the length of the text is not to get that of the draft.
            self.kernel.get().inspect(|kernel| kernel.begin_epoch());
        }
        let opened = match self.nodes.writer(node) {
            // The kernel has cached the bytes of that draft.
            Some(writer) => self.vfs.drafts().open_again(writer, access),
            None => self.vfs.drafts().open_file(ino, access),
        };
        match &opened {
            Ok(handle) => self.nodes.open(node, *handle),
            Err(_) => self.nodes.cancel(node),
        }
        opened
    }

    /// Creates and opens a file; also returns its node.
    fn create_file(
        &self,
        directory: Ino,
        name: &OsStr,
        access: Access,
        is_exclusive: bool,
        mode: Option<u16>,
    ) -> Result<(Attr, KernelInode, Handle), Error> {
        let name = name.as_bytes();
        let (attr, handle) = self
            .vfs
            .drafts()
            .create(directory, name, access, is_exclusive)?;
        // The mode of a game is fixed.
        let with_mode = self.vfs.drafts().set_attributes(attr.ino, mode, None);
        let (attr, node) = if Drafts::is_shared(attr.ino) {
            (with_mode.unwrap_or(attr), KernelInode(attr.ino.0))
        } else {
            (attr, self.nodes.create(attr.ino))
        };
        self.nodes.open(node, handle);
        Ok((attr, node, handle))
    }

    /// The attributes of a node, with the length of the text that is read
    /// through it.
    fn attr_of_node(&self, node: KernelInode) -> Result<Attr, Error> {
        if !self.profile.is_writable {
            return self.vfs.attr(node.ino());
        }
        while let Some(handle) = self.nodes.user(node) {
            match self.vfs.drafts().attr_open(handle) {
                // It was closed in between.
                Err(Error::NotOpen) if self.nodes.user(node) != Some(handle) => {}
                attr => return attr,
            }
        }
        // If it is not open, any length is correct.
        let attr = self.vfs.attr(node.ino())?;
        let version = attr
            .version
            .filter(|_| KernelInode::of(&attr) == Some(node));
        Ok(Attr { version, ..attr })
    }

    /// Sets length, mode, owner and time, where possible.
    fn set_attributes(&self, node: KernelInode, wanted: &Wanted) -> Result<Attr, Error> {
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

    /// Attributes of a file that cannot be read, or not quickly. They are not
    /// cached, so that a later request gets the real ones.
    fn unknown_attr(&self, ino: Ino, kind: NodeKind) -> FileAttr {
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

/// The changes that `setattr` requests.
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

/// Handles a request. Errors and panics are logged and turned into an errno.
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

/// Logs why a request failed. The rate is limited: if all games of a bad disk
/// are read, the first failures are logged, and the number of the others.
fn log_failure(line: fmt::Arguments<'_>) {
    static FAILURES: Mutex<Throttle> = Mutex::new(Throttle::new());
    let mut failures = FAILURES.lock();
    let Some(left_out) = failures.admit(Instant::now()) else {
        return;
    };
    if left_out > 0 {
        log::error!("{left_out} more requests failed; .cbfs/defects.txt names what is damaged");
    }
    log::error!("{line}");
}
