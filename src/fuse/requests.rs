//! The requests of the kernel, as fuser passes them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, INodeNo, KernelConfig, LockOwner,
    OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLock, ReplyOpen, ReplyStatfs, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use super::locks::Lock;
use super::names::Requester;
use super::nodes::KernelInode;
use super::{Adapter, Wanted, answer};
use crate::vfs::{Access, Error, Handle, Ino, RenameMode};

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let files = self.vfs.capacity();
        self.profile.negotiate(config, self.readdirplus, files);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let directory = Ino(parent.0);
        let work = self.vfs.long_work(directory, Some(name.as_bytes()));
        let name = name.to_owned();
        let asker = Requester::of(request);
        self.in_time(work, move |this| {
            this.reply_lookup(directory, &name, asker, reply);
        });
    }

    // fuser turns a request to forget several nodes into single ones.
    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        // Forgetting has no reply.
        let _ = answer(format_args!("forgetting inode {ino}"), || {
            self.vfs.forget(KernelInode(ino.0).ino(), lookups);
            Ok(())
        });
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let node = KernelInode(ino.0);
        let work = self.vfs.long_work(node.ino(), None);
        self.in_time(work, move |this| {
            match answer(format_args!("stat of inode {ino}"), || {
                this.attr_of_node(node)
            }) {
                Ok(attr) => reply.attr(&this.keep(&attr).1, &this.file_attr(&attr)),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match answer(format_args!("readlink of inode {ino}"), || {
            self.vfs.target(KernelInode(ino.0).ino())
        }) {
            Ok(target) => reply.data(&target),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let access = access_of(flags);
        if self.profile.is_writable {
            let (node, thread) = (KernelInode(ino.0), request.pid());
            let work = self.vfs.long_work(node.ino(), None);
            self.in_time(work, move |this| {
                let request = format_args!("opening of inode {ino}");
                match answer(request, || this.open_node(node, access, thread)) {
                    Ok((handle, flags)) => reply.opened(handle, flags),
                    Err(errno) => reply.error(errno),
                }
            });
        } else if access.write {
            reply.error(Errno::EROFS);
        } else if self.profile.features.can_skip_open {
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
        let work = self.vfs.long_work(KernelInode(ino.0).ino(), None);
        self.in_time(work, move |this| {
            let request = format_args!("read of inode {ino} at {offset}");
            let read = || {
                if this.profile.is_writable {
                    this.vfs.drafts().read_open(Handle(handle.0), offset, size)
                } else {
                    this.vfs.read(KernelInode(ino.0).ino(), offset, size)
                }
            };
            match answer(request, read) {
                Ok(bytes) => reply.data(&bytes),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.profile.features.can_skip_opendir {
            reply.error(Errno::ENOSYS);
        } else if self.profile.is_writable {
            // A later opendir must show changes of saves.
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
        let work = self.vfs.long_work(KernelInode(ino.0).ino(), None);
        self.in_time(work, move |this| {
            this.reply_listing(KernelInode(ino.0).ino(), offset, reply);
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
        let work = self.vfs.long_work(KernelInode(ino.0).ino(), None);
        self.in_time(work, move |this| {
            this.reply_listing_plus(KernelInode(ino.0).ino(), offset, reply);
        });
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        const BLOCK: u32 = 4096;
        match answer(format_args!("statfs"), || Ok(self.vfs.statistics())) {
            Ok(all) => {
                let used = all.bytes.div_ceil(u64::from(BLOCK));
                let free = if self.profile.is_writable {
                    self.vfs.free_bytes() / u64::from(BLOCK)
                } else {
                    0
                };
                // Used space is the total less the free space.
                let blocks = used.saturating_add(free);
                reply.statfs(blocks, free, free, all.files, 0, BLOCK, 255, BLOCK);
            }
            Err(errno) => reply.error(errno),
        }
    }

    // Without extended attributes, the kernel asks only once per mount.

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, room: u32, reply: ReplyXattr) {
        let request = format_args!("attribute {} of inode {ino}", name.display());
        let name = name.as_bytes();
        if !self.xattr {
            reply.error(Errno::ENOSYS);
        } else if !name.starts_with(b"user.") {
            reply.error(Errno::ENOTSUP);
        } else {
            match answer(request, || {
                self.vfs.attribute(KernelInode(ino.0).ino(), name)
            }) {
                Ok(Some(value)) => reply_bytes(&value, room, reply),
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
        // Names are separated by zero bytes.
        let mut names = Vec::new();
        let listed = answer(format_args!("attributes of inode {ino}"), || {
            self.vfs
                .list_attributes(KernelInode(ino.0).ino(), &mut |name| {
                    names.extend_from_slice(name.as_bytes());
                    names.push(0);
                })
        });
        match listed {
            Ok(()) => reply_bytes(&names, room, reply),
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
        // Without a handle, the change is saved at once.
        self.answer_save(ino, None, move |adapter| {
            let request = format_args!("setting attributes of inode {ino}");
            let node = KernelInode(ino.0);
            match adapter.answer_writing(request, || adapter.set_attributes(node, &wanted)) {
                Ok(attr) => reply.attr(&adapter.keep(&attr).1, &adapter.file_attr(&attr)),
                Err(errno) => reply.error(errno),
            }
        });
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let access = access_of(OpenFlags(flags));
        let is_exclusive = flags & libc::O_EXCL != 0;
        let mode = u16::try_from(mode & !umask & 0o7777).ok();
        let own = name.to_owned();
        let asker = Requester::of(request);
        self.answer_save(parent, Some(name), move |adapter| {
            let request = format_args!("making of {} in inode {parent}", own.display());
            let created = adapter.answer_writing(request, || {
                adapter.create_file(Ino(parent.0), &own, access, is_exclusive, mode)
            });
            match created {
                Ok((attr, node, handle)) => {
                    adapter.reply_created(&attr, node, handle, asker, reply);
                }
                Err(errno) => reply.error(errno),
            }
        });
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
        let request = format_args!("write to inode {ino} at {offset}");
        let written = answer(request, || {
            self.ensure_writable()?;
            self.vfs.drafts().write(Handle(handle.0), offset, data)
        });
        match written {
            Ok(count) => reply.written(count),
            Err(errno) => reply.error(errno),
        }
    }

    fn flush(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        if !self.profile.is_writable {
            // The kernel does not send it again then.
            return reply.error(Errno::ENOSYS);
        }
        let thread = request.pid();
        self.answer_save(ino, None, move |adapter| {
            let request = format_args!("closing of inode {ino}");
            let flush = || adapter.vfs.drafts().flush(Handle(handle.0));
            let flushed = adapter.answer_writing(request, flush);
            let file = KernelInode(ino.0).ino();
            match &flushed {
                Err(_) => adapter.unlike.note(file, thread),
                Ok(Some(stored)) if stored.is_as_written => adapter.unlike.forget(stored.game),
                Ok(Some(stored)) => adapter.unlike.note(stored.game, thread),
                Ok(None) => {}
            }
            // Closing a file releases the fcntl(2) locks of a process.
            adapter.locks.release(file, owner.0, 0, u64::MAX);
            confirm(flushed.map(drop), reply);
        });
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
                self.nodes.close(KernelInode(ino.0), Handle(handle.0));
                self.locks.close(KernelInode(ino.0).ino(), Handle(handle.0));
                self.vfs.drafts().release(Handle(handle.0));
            }
            Ok(())
        };
        confirm(
            answer(format_args!("release of inode {ino}"), release),
            reply,
        );
    }

    fn fsync(&self, _: &Request, ino: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        if !self.profile.is_writable {
            return reply.ok();
        }
        self.answer_save(ino, None, move |adapter| {
            let request = format_args!("fsync of inode {ino}");
            let fsync = || {
                adapter
                    .vfs
                    .drafts()
                    .fsync(KernelInode(ino.0).ino(), Some(Handle(handle.0)))
            };
            confirm(adapter.answer_writing(request, fsync), reply);
        });
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let fsync = || {
            if self.profile.is_writable {
                self.vfs
                    .drafts()
                    .fsync_directory(KernelInode(ino.0).ino())?;
            }
            Ok(())
        };
        confirm(answer(format_args!("fsync of inode {ino}"), fsync), reply);
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let own = name.to_owned();
        let thread = request.pid();
        self.answer_save(parent, Some(name), move |adapter| {
            let request = format_args!("removal of {} in inode {parent}", own.display());
            let unlink = || {
                let (directory, name) = (Ino(parent.0), own.as_bytes());
                let may_remove = |game| !adapter.unlike.clears_up(game, thread);
                adapter.vfs.drafts().unlink_if(directory, name, may_remove)
            };
            confirm(adapter.answer_writing(request, unlink), reply);
        });
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let request = format_args!("removal of {} in inode {parent}", name.display());
        let removed = self.answer_writing(request, || {
            self.vfs
                .drafts()
                .remove_directory(Ino(parent.0), name.as_bytes())
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
        let names = (name.to_owned(), new_name.to_owned());
        self.answer_save(parent, Some(name), move |adapter| {
            let (name, new_name) = &names;
            let shown = (name.display(), new_name.display());
            let request = format_args!("renaming of {} to {}", shown.0, shown.1);
            let renamed = adapter.answer_writing(request, || {
                let mode = rename_mode(flags)?;
                let (from, to) = (Ino(parent.0), Ino(new_parent.0));
                let names = (name.as_bytes(), new_name.as_bytes());
                adapter
                    .vfs
                    .drafts()
                    .rename(from, names.0, to, names.1, mode)
            });
            confirm(renamed, reply);
        });
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let request = format_args!("link {} to inode {ino}", name.display());
        let linked = self.answer_writing(request, || {
            self.vfs
                .drafts()
                .link(KernelInode(ino.0).ino(), Ino(parent.0), name.as_bytes())
        });
        self.reply_entry(linked, reply);
    }

    fn getlk(
        &self,
        _: &Request,
        ino: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        first: u64,
        last: u64,
        kind: i32,
        process: u32,
        reply: ReplyLock,
    ) {
        let wanted = lock_of(handle, owner, (first, last), kind, process);
        match self.locks.conflict(KernelInode(ino.0).ino(), &wanted) {
            Some(other) => {
                let kind = if other.is_exclusive {
                    libc::F_WRLCK
                } else {
                    libc::F_RDLCK
                };
                reply.locked(other.first, other.last, kind, other.process);
            }
            None => reply.locked(first, last, libc::F_UNLCK, 0),
        }
    }

    fn setlk(
        &self,
        request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        owner: LockOwner,
        first: u64,
        last: u64,
        kind: i32,
        process: u32,
        waits: bool,
        reply: ReplyEmpty,
    ) {
        let file = KernelInode(ino.0).ino();
        if kind == libc::F_UNLCK {
            self.locks.release(file, owner.0, first, last);
            return reply.ok();
        }
        let lock = lock_of(handle, owner, (first, last), kind, process);
        if waits {
            let answer = |held| confirm(held, reply);
            self.locks.hold(file, lock, request.pid(), answer);
        } else {
            confirm(self.locks.try_hold(file, lock), reply);
        }
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
    /// Answers requests to create a directory, a link or a device.
    fn make(&self, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let request = format_args!("making of {} in inode {parent}", name.display());
        let made = self.answer_writing(request, || {
            self.vfs.drafts().make(Ino(parent.0), name.as_bytes())
        });
        self.reply_entry(made, reply);
    }
}

fn lock_of(
    handle: FileHandle,
    owner: LockOwner,
    (first, last): (u64, u64),
    kind: i32,
    process: u32,
) -> Lock {
    Lock {
        owner: owner.0,
        handle: Handle(handle.0),
        process,
        first,
        last,
        is_exclusive: kind == libc::F_WRLCK,
    }
}

/// The access mode of open(2) flags.
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

/// Answers a request without result data.
fn confirm(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

/// Answers with `bytes` if `room` is sufficient. If `room` is 0, answers with
/// their number.
fn reply_bytes(bytes: &[u8], room: u32, reply: ReplyXattr) {
    match (u32::try_from(bytes.len()), room) {
        (Ok(length), 0) => reply.size(length),
        (Ok(length), room) if length <= room => reply.data(bytes),
        _ => reply.error(Errno::ERANGE),
    }
}
