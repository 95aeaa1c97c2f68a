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
mod names;
mod pages;
mod patience;
mod profile;
mod session;

pub use mounts::{Mount, canonical, mount_at};
pub use session::{Audience, MountError, Mounted, Options, Outcome, Stopper, detach};

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use crate::vfs::{Access, Attr, Error, Handle, Ino, NodeKind, RenameMode, Vfs};
use kernel::Kernel;
use pages::Pages;
use patience::Patience;
use profile::Profile;

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
    pages: Arc<Pages>,
    patience: Patience,
    /// Known once the session has begun.
    kernel: Arc<OnceLock<Kernel>>,
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
            pages: Arc::new(Pages::new()),
            patience: Patience::default(),
        }
    }

    fn file_attr(&self, attr: &Attr) -> FileAttr {
        let (kind, perm) = match attr.kind {
            NodeKind::Directory => (FileType::Directory, 0o555),
            NodeKind::File(_) => (FileType::RegularFile, 0o444),
            NodeKind::Symlink => (FileType::Symlink, 0o777),
        };
        let perm = if self.profile.is_writable {
            self.vfs.permissions(attr).unwrap_or(perm)
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
        self.profile.keep(attr, self.vfs.is_settled(attr))
    }

    /// What keeps contents of one file apart. A file that can be written is
    /// one to the kernel whatever its content, since who has it open goes on
    /// with what becomes of it.
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

    /// Answers a request that writes. Names that lead elsewhere after it are
    /// not to be used any more once it is answered: the kernel itself gives a
    /// file that was renamed the new name, though it may be another file now.
    fn answer_writing<T>(
        &self,
        request: fmt::Arguments<'_>,
        handler: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Errno> {
        let answered = answer(request, || {
            self.ensure_writable()?;
            handler()
        });
        if self.profile.is_writable && !self.vfs.take_written().names.is_empty() {
            self.kernel.get().inspect(|kernel| kernel.begin_epoch());
        }
        answered
    }

    /// Opens a file; gives its handle, and what the kernel may do with it.
    fn open_file(&self, ino: Ino, access: Access) -> Result<(FileHandle, FopenFlags), Error> {
        let handle = self.vfs.open_file(ino, access)?;
        let flags = if access.write {
            self.pages.forget(ino);
            FopenFlags::empty()
        } else {
            self.flags_to_read(ino)
        };
        Ok((FileHandle(handle.0), flags))
    }

    /// What the kernel may do with a file that is opened to be read.
    fn flags_to_read(&self, ino: Ino) -> FopenFlags {
        let attr = self.vfs.attr(ino).ok();
        let attr = attr.filter(|attr| self.vfs.is_settled(attr));
        let is_known = attr.is_some_and(|attr| self.pages.open(ino, attr.generation));
        if is_known {
            FopenFlags::FOPEN_NOFLUSH | FopenFlags::FOPEN_KEEP_CACHE
        } else {
            FopenFlags::FOPEN_NOFLUSH
        }
    }

    /// Sets length, mode, owner and time, as far as they can be set.
    fn set_attributes(&self, ino: Ino, wanted: &Wanted) -> Result<Attr, Error> {
        let is_other = |wanted: Option<u32>, owner| wanted.is_some_and(|wanted| wanted != owner);
        if is_other(wanted.uid, self.ownership.uid) || is_other(wanted.gid, self.ownership.gid) {
            return Err(Error::NotPermitted);
        }
        let mut attr = None;
        if let Some(size) = wanted.size {
            self.pages.forget(ino);
            attr = Some(self.vfs.truncate(ino, wanted.handle, size)?);
        }
        if wanted.mode.is_some() || wanted.modified.is_some() {
            attr = Some(self.vfs.set_attributes(ino, wanted.mode, wanted.modified)?);
        }
        match attr {
            Some(attr) => Ok(attr),
            None => self.vfs.attr(ino),
        }
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

/// The access that the flags of open(2) ask for.
fn access_of(flags: OpenFlags) -> Access {
    let mode = flags.acc_mode();
    Access {
        read: mode != OpenAccMode::O_WRONLY,
        write: mode != OpenAccMode::O_RDONLY,
        truncate: flags.0 & libc::O_TRUNC != 0,
        append: flags.0 & libc::O_APPEND != 0,
    }
}

fn rename_mode(flags: RenameFlags) -> Result<RenameMode, Error> {
    if flags.is_empty() {
        Ok(RenameMode::Plain)
    } else if flags == RenameFlags::RENAME_NOREPLACE {
        Ok(RenameMode::NoReplace)
    } else if flags == RenameFlags::RENAME_EXCHANGE {
        Ok(RenameMode::Exchange)
    } else {
        Err(Error::Invalid)
    }
}

/// Answers a request that gives nothing.
fn confirm(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
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
        let files = self.vfs.capacity();
        self.profile.negotiate(config, self.readdirplus, files);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let directory = Ino(parent.0);
        let work = self.vfs.long_work(directory, Some(name.as_bytes()));
        let name = name.to_owned();
        self.in_time(work, move |this| {
            this.tell_name(directory, &name, reply);
        });
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
        let work = self.vfs.long_work(Ino(ino.0), None);
        self.in_time(work, move |this| {
            match answer(format_args!("stat of {ino:?}"), || {
                this.vfs.attr(Ino(ino.0))
            }) {
                Ok(attr) => reply.attr(&this.keep(&attr).1, &this.file_attr(&attr)),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match answer(format_args!("readlink of {ino:?}"), || {
            self.vfs.target(Ino(ino.0))
        }) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let access = access_of(flags);
        if self.profile.is_writable {
            let work = self.vfs.long_work(Ino(ino.0), None);
            self.in_time(work, move |this| {
                let request = format_args!("opening of {ino:?}");
                match answer(request, || this.open_file(Ino(ino.0), access)) {
                    Ok((handle, flags)) => reply.opened(handle, flags),
                    Err(errno) => reply.error(errno),
                }
            });
        } else if access.write {
            reply.error(Errno::EROFS);
        } else if self.profile.abilities.can_skip_open {
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
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let work = self.vfs.long_work(Ino(ino.0), None);
        self.in_time(work, move |this| {
            let request = format_args!("read of {ino:?} at {offset}");
            let read = || {
                if this.profile.is_writable {
                    this.vfs.read_open(Handle(handle.0), offset, size)
                } else {
                    this.vfs.read(Ino(ino.0), offset, size)
                }
            };
            match answer(request, read) {
                Ok(bytes) => reply.data(&bytes),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.profile.abilities.can_skip_opendir {
            reply.error(Errno::ENOSYS);
        } else if self.profile.is_writable {
            // What a save changes is listed by whoever opens a directory next.
            reply.opened(FileHandle(0), FopenFlags::empty());
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
        reply: ReplyDirectory,
    ) {
        let work = self.vfs.long_work(Ino(ino.0), None);
        self.in_time(work, move |this| {
            this.tell_names(Ino(ino.0), offset, reply);
        });
    }

    fn readdirplus(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        reply: ReplyDirectoryPlus,
    ) {
        let work = self.vfs.long_work(Ino(ino.0), None);
        self.in_time(work, move |this| {
            this.tell_entries(Ino(ino.0), offset, reply);
        });
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

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let wanted = Wanted {
            mode: mode.and_then(|mode| u16::try_from(mode & 0o7777).ok()),
            uid,
            gid,
            size,
            modified: modified.map(|time| match time {
                TimeOrNow::SpecificTime(time) => time,
                TimeOrNow::Now => SystemTime::now(),
            }),
            handle: handle.map(|handle| Handle(handle.0)),
        };
        let request = format_args!("setting attributes of {ino:?}");
        match self.answer_writing(request, || self.set_attributes(Ino(ino.0), &wanted)) {
            Ok(attr) => reply.attr(&self.keep(&attr).1, &self.file_attr(&attr)),
            Err(errno) => reply.error(errno),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let request = format_args!("making of {} in {parent:?}", name.display());
        let access = access_of(OpenFlags(flags));
        let is_exclusive = flags & libc::O_EXCL != 0;
        let created = self.answer_writing(request, || {
            let directory = Ino(parent.0);
            let (attr, handle) =
                self.vfs
                    .create(directory, name.as_bytes(), access, is_exclusive)?;
            self.pages.forget(attr.ino);
            let mode = u16::try_from(mode & !umask & 0o7777).ok();
            // A game has the mode it has.
            let attr = self
                .vfs
                .set_attributes(attr.ino, mode, None)
                .unwrap_or(attr);
            Ok((attr, handle))
        });
        match created {
            Ok((attr, handle)) => {
                let (name, attributes) = self.keep(&attr);
                reply.created(
                    &name.min(attributes),
                    &self.file_attr(&attr),
                    self.generation(&attr),
                    FileHandle(handle.0),
                    FopenFlags::empty(),
                );
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let request = format_args!("write to {ino:?} at {offset}");
        let written = answer(request, || {
            self.ensure_writable()?;
            // The kernel keeps what is written, whatever becomes of it.
            self.pages.forget(Ino(ino.0));
            self.vfs.write(Handle(handle.0), offset, data)
        });
        match written {
            Ok(count) => reply.written(count),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _: LockOwner,
        reply: ReplyEmpty,
    ) {
        let request = format_args!("closing of {ino:?}");
        if !self.profile.is_writable {
            // Then the kernel never asks again.
            return reply.error(Errno::ENOSYS);
        }
        let flushed = self.answer_writing(request, || self.vfs.flush(Handle(handle.0)));
        confirm(flushed, reply);
    }

    fn release(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let release = || {
            if self.profile.is_writable {
                self.vfs.release(Handle(handle.0));
            }
            Ok(())
        };
        confirm(answer(format_args!("release of {ino:?}"), release), reply);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        let request = format_args!("fsync of {ino:?}");
        if !self.profile.is_writable {
            return reply.ok();
        }
        let fsync = || self.vfs.fsync(Ino(ino.0), Some(Handle(handle.0)));
        confirm(self.answer_writing(request, fsync), reply);
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let fsync = || {
            if self.profile.is_writable {
                self.vfs.fsync_directory(Ino(ino.0))?;
            }
            Ok(())
        };
        confirm(answer(format_args!("fsync of {ino:?}"), fsync), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let request = format_args!("removal of {} in {parent:?}", name.display());
        let unlinked =
            self.answer_writing(request, || self.vfs.unlink(Ino(parent.0), name.as_bytes()));
        confirm(unlinked, reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let request = format_args!("removal of {} in {parent:?}", name.display());
        let removed = self.answer_writing(request, || {
            self.vfs.remove_directory(Ino(parent.0), name.as_bytes())
        });
        confirm(removed, reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let shown = (name.display(), new_name.display());
        let request = format_args!("renaming of {} to {}", shown.0, shown.1);
        let renamed = self.answer_writing(request, || {
            let mode = rename_mode(flags)?;
            let (from, to) = (Ino(parent.0), Ino(new_parent.0));
            self.vfs
                .rename(from, name.as_bytes(), to, new_name.as_bytes(), mode)
        });
        confirm(renamed, reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let request = format_args!("link {} to {ino:?}", name.display());
        let linked = self.answer_writing(request, || {
            self.vfs.link(Ino(ino.0), Ino(parent.0), name.as_bytes())
        });
        self.tell_entry(linked, reply);
    }

    fn mknod(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        _: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        self.make(parent, name, reply);
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        self.make(parent, name, reply);
    }

    fn symlink(&self, _: &Request, parent: INodeNo, name: &OsStr, _: &Path, reply: ReplyEntry) {
        self.make(parent, name, reply);
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
        match self.ensure_writable() {
            Ok(()) => reply.error(Errno::ENOTSUP),
            Err(_) => reply.error(Errno::EROFS),
        }
    }
}

impl Adapter {
    /// Answers who wants to make a directory, a link or a device.
    fn make(&self, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let request = format_args!("making of {} in {parent:?}", name.display());
        let made = self.answer_writing(request, || self.vfs.make(Ino(parent.0), name.as_bytes()));
        self.tell_entry(made, reply);
    }
}
