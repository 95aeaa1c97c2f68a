//! The kernel's side: a thin adapter between `fuser` and [`Vfs`].
//!
//! Every request is unwrapped, asked of the `Vfs`, and answered; a request
//! that panics is answered with `EIO` and logged, and the mount lives on.
//! Failed requests are logged here, once: debug for what is simply not there,
//! error for damage.
//!
//! A read-only mount is a profile of its own: the kernel may keep names,
//! attributes and texts for a day, `open` and `opendir` never reach cbfs, and
//! nobody is asked for extended attributes unless that is wanted. What was
//! read once is then read at the speed of any file in memory.
//!
//! When a base changes, the kernel is told to ask again for every name it
//! knows. The answer has the mark of the file's content as its *generation*:
//! with the same generation the kernel goes on with the file it has, pages and
//! all; with another one it begins a new file of the same number, and reading
//! on in the old one fails. Names too many to be told one by one begin an
//! *epoch* (Linux 6.16), which makes it forget the files too. An older kernel
//! may keep names for a second only, and then asks likewise.

mod kernel;
mod mounts;
mod session;

pub use mounts::{Mount, canonical, mount_at};
pub use session::{Access, MountError, Mounted, Options, Outcome, Stopper, detach};

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr,
    ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, Version, WriteFlags,
};

use crate::vfs::{Attr, Error, Ino, NodeKind, Vfs};

/// How long the kernel may keep what it was told: until it is told otherwise.
const KEEP: Duration = Duration::from_hours(24);

/// How long it may keep what there are few of (directories) or what may be of
/// no use soon (that there is no such name).
const KEEP_BRIEFLY: Duration = Duration::from_secs(1);

/// The first version of the protocol with epochs.
const EPOCHS: Version = Version(7, 44);

/// For what could not be told, or is made anew each second: the kernel asks
/// again each time.
const ASK_AGAIN: Duration = Duration::ZERO;

/// Largest base whose directories are always listed with attributes. Listing
/// names alone then costs a length per game, and memory in the kernel.
const SMALL_BASE: u64 = 50_000;

/// Requests the kernel may have under way for read-ahead.
const MAX_BACKGROUND: u16 = 64;

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
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) vfs: Arc<Vfs>,
    pub(crate) ownership: Ownership,
    pub(crate) readdirplus: ReadDirPlus,
    /// Whether files have extended attributes.
    pub(crate) xattr: bool,
    abilities: Abilities,
}

/// What the kernel can do; nothing until it has said so.
#[derive(Clone, Copy, Debug, Default)]
struct Abilities {
    /// Takes "no such call" for "need not be asked".
    can_skip_open: bool,
    can_skip_opendir: bool,
    /// Can be told to ask again for every name.
    has_epochs: bool,
}

impl Adapter {
    pub(crate) fn new(vfs: Arc<Vfs>, ownership: Ownership, options: &Options) -> Adapter {
        Adapter {
            vfs,
            ownership,
            readdirplus: options.readdirplus,
            xattr: options.xattr,
            abilities: Abilities::default(),
        }
    }

    fn file_attr(&self, attr: &Attr) -> FileAttr {
        let (kind, perm) = match attr.kind {
            NodeKind::Directory => (FileType::Directory, 0o555),
            NodeKind::File(_) => (FileType::RegularFile, 0o444),
            NodeKind::Symlink => (FileType::Symlink, 0o777),
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
        match attr.kind {
            _ if attr.is_renewed() => (ASK_AGAIN, ASK_AGAIN),
            NodeKind::Directory => (KEEP_BRIEFLY, KEEP_BRIEFLY),
            _ if self.abilities.has_epochs => (KEEP, KEEP),
            _ => (KEEP_BRIEFLY, KEEP),
        }
    }

    /// Attributes of what cannot be read, or not that quickly: they are not
    /// kept, so whoever wants to know asks.
    fn untold(&self, ino: Ino, kind: NodeKind) -> FileAttr {
        self.file_attr(&Attr {
            ino,
            kind,
            size: 0,
            links: 1,
            modified: SystemTime::UNIX_EPOCH,
            generation: 0,
        })
    }
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
                log::error!("{request}: {error}");
            }
            _ => log::debug!("{request}: {error}"),
        }
        Errno::from_i32(error.errno())
    })
}

/// Gives `bytes` to a caller who has `room` for so many; without any room
/// only their number was asked for.
fn give(bytes: &[u8], room: u32, reply: ReplyXattr) {
    match (u32::try_from(bytes.len()), room) {
        (Ok(length), 0) => reply.size(length),
        (Ok(length), room) if length <= room => reply.data(bytes),
        _ => reply.error(Errno::ERANGE),
    }
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let readdirplus = match self.readdirplus {
            ReadDirPlus::BySize if self.vfs.capacity() <= SMALL_BASE => ReadDirPlus::On,
            ReadDirPlus::BySize => ReadDirPlus::Auto,
            chosen => chosen,
        };
        let plus = InitFlags::FUSE_DO_READDIRPLUS;
        let auto = InitFlags::FUSE_READDIRPLUS_AUTO;
        let mut wanted = vec![
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
            InitFlags::FUSE_EXPLICIT_INVAL_DATA,
        ];
        match readdirplus {
            ReadDirPlus::On => wanted.push(plus),
            ReadDirPlus::Auto | ReadDirPlus::BySize => wanted.push(plus | auto),
            ReadDirPlus::Off => {}
        }
        // A refusal refuses all that was asked for at once.
        for flags in wanted {
            if let Err(missing) = config.add_capabilities(flags) {
                log::debug!("the kernel has no {missing:?}");
            }
        }
        self.abilities.can_skip_open = config
            .add_capabilities(InitFlags::FUSE_NO_OPEN_SUPPORT)
            .is_ok();
        self.abilities.can_skip_opendir = config
            .add_capabilities(InitFlags::FUSE_NO_OPENDIR_SUPPORT)
            .is_ok();
        self.abilities.has_epochs = config.kernel_abi() >= EPOCHS;
        // Neither number is refused by fuser.
        let _ = config.set_max_background(MAX_BACKGROUND);
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let request = format_args!("lookup of {} in {parent:?}", name.display());
        let attr = answer(request, || {
            match self.vfs.lookup(Ino(parent.0), name.as_bytes()) {
                Err(Error::NotFound) => Ok(None),
                other => other.map(Some),
            }
        });
        match attr {
            Ok(Some(attr)) => {
                let (name, attributes) = self.keep(&attr);
                let generation = Generation(attr.generation.into());
                reply.entry_with_ttls(&attributes, &name, &self.file_attr(&attr), generation);
            }
            Ok(None) => {
                // Number 0 says: there is none, and that may be kept.
                let none = self.untold(Ino(0), NodeKind::Directory);
                reply.entry(&KEEP_BRIEFLY, &none, Generation(0));
            }
            Err(errno) => reply.error(errno),
        }
    }

    // Forgetting several at once is forgetting one after the other.
    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        // It has no answer, nor an error to tell.
        let _ = answer(format_args!("forgetting {ino:?}"), || {
            self.vfs.forget(Ino(ino.0), lookups);
            Ok(())
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match answer(format_args!("stat of {ino:?}"), || {
            self.vfs.attr(Ino(ino.0))
        }) {
            Ok(attr) => reply.attr(&self.keep(&attr).1, &self.file_attr(&attr)),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match answer(format_args!("readlink of {ino:?}"), || {
            self.vfs.target(Ino(ino.0))
        }) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            reply.error(Errno::EROFS);
        } else if self.abilities.can_skip_open {
            reply.error(Errno::ENOSYS);
        } else {
            let flags = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH;
            reply.opened(FileHandle(0), flags);
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let request = format_args!("read of {ino:?} at {offset}");
        match answer(request, || self.vfs.read(Ino(ino.0), offset, size)) {
            Ok(bytes) => reply.data(&bytes),
            Err(errno) => reply.error(errno),
        }
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.abilities.can_skip_opendir {
            reply.error(Errno::ENOSYS);
        } else {
            let flags = FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR;
            reply.opened(FileHandle(0), flags);
        }
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut is_empty = true;
        let listed = answer(format_args!("listing of {ino:?} from {offset}"), || {
            self.vfs.list(Ino(ino.0), offset, &mut |entry| {
                is_empty = false;
                let number = INodeNo(entry.node.ino.0);
                !reply.add(number, entry.cookie, file_type(entry.node.kind), entry.name)
            })
        });
        match listed {
            // What follows the last one is asked for next, and told then.
            Err(errno) if is_empty => reply.error(errno),
            _ => reply.ok(),
        }
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let request = format_args!("listing of {ino:?} from {offset}");
        let mut is_empty = true;
        let listed = answer(request, || {
            self.vfs
                .list_with_attrs(Ino(ino.0), offset, &mut |entry, attr| {
                    is_empty = false;
                    let number = entry.node.ino;
                    let (keep, attr, generation) = match attr {
                        Some(Ok(attr)) => {
                            let keep = self.keep(&attr).0;
                            (keep, self.file_attr(&attr), attr.generation)
                        }
                        // The name is there; whoever asks for more is told then.
                        untold => {
                            if let Some(Err(error)) = untold {
                                log::debug!("{request}: {}: {error}", entry.name);
                            }
                            (ASK_AGAIN, self.untold(number, entry.node.kind), 0)
                        }
                    };
                    let number = INodeNo(number.0);
                    let generation = Generation(generation.into());
                    !reply.add(number, entry.cookie, entry.name, &keep, &attr, generation)
                })
        });
        match listed {
            Err(errno) if is_empty => reply.error(errno),
            _ => reply.ok(),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCK: u32 = 4096;
        match answer(format_args!("statfs"), || Ok(self.vfs.statistics())) {
            Ok(all) => {
                let blocks = all.bytes.div_ceil(u64::from(BLOCK));
                reply.statfs(blocks, 0, 0, all.files, 0, BLOCK, 255, BLOCK);
            }
            Err(errno) => reply.error(errno),
        }
    }

    // Where there are no extended attributes, the kernel asks once and never
    // again on this mount.

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, room: u32, reply: ReplyXattr) {
        let request = format_args!("attribute {} of {ino:?}", name.display());
        let name = name.as_bytes();
        if !self.xattr {
            reply.error(Errno::ENOSYS);
        } else if !name.starts_with(b"user.") {
            reply.error(Errno::ENOTSUP);
        } else {
            match answer(request, || self.vfs.attribute(Ino(ino.0), name)) {
                Ok(Some(value)) => give(&value, room, reply),
                Ok(None) => reply.error(Errno::ENODATA),
                Err(errno) => reply.error(errno),
            }
        }
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, room: u32, reply: ReplyXattr) {
        if !self.xattr {
            reply.error(Errno::ENOSYS);
            return;
        }
        // Each name ends in a zero byte.
        let mut names = Vec::new();
        let listed = answer(format_args!("attributes of {ino:?}"), || {
            self.vfs.list_attributes(Ino(ino.0), &mut |name| {
                names.extend_from_slice(name.as_bytes());
                names.push(0);
            })
        });
        match listed {
            Ok(()) => give(&names, room, reply),
            Err(errno) => reply.error(errno),
        }
    }

    // On a read-only mount the kernel refuses what follows by itself; these
    // are for whoever remounts it writable behind our back.

    fn setattr(
        &self,
        _: &Request,
        _: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.error(Errno::EROFS);
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn mkdir(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn rmdir(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EROFS);
    }

    fn symlink(&self, _: &Request, _: INodeNo, _: &OsStr, _: &Path, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn link(&self, _: &Request, _: INodeNo, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.error(Errno::EROFS);
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EROFS);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply.error(Errno::EROFS);
    }

    fn setxattr(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EROFS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}
