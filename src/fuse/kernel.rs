//! Messages to the kernel that fuser has no call for: invalidation of its
//! caches, and replies for nodes.
//!
//! Numbers in the messages are in the byte order of the machine.
#![expect(
    clippy::host_endian_bytes,
    reason = "the kernel of this machine is spoken to"
)]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{FileAttr, FileType, Filesystem, INodeNo, Notifier, RequestId, Session};

use super::nodes::KernelInode;
use crate::vfs::{Changes, Handle, Ino};

/// Codes of FUSE notifications.
const EXPIRED_NAME: i32 = 3;
const NEW_EPOCH: i32 = 8;

/// Flag: only the name expires; the inode stays.
const EXPIRE_ONLY: u32 = 1;

/// Sends invalidations to the kernel. Use it only in a thread that answers no
/// requests and holds no lock, because the kernel may wait for an answer first.
/// The exception is [`Kernel::begin_epoch`], which waits for nothing.
#[derive(Debug)]
pub(super) struct Kernel {
    notifier: Notifier,
    /// The FUSE connection, for messages that fuser cannot send.
    connection: File,
    /// Whether the mount is writable.
    is_writable: bool,
}

impl Kernel {
    /// The kernel side of a session.
    pub(super) fn of<F: Filesystem>(session: &Session<F>, is_writable: bool) -> io::Result<Kernel> {
        Ok(Kernel {
            is_writable,
            notifier: session.notifier(),
            connection: File::from(session.as_fd().try_clone_to_owned()?),
        })
    }

    /// Invalidates these names and the listings of these directories, so that
    /// the kernel looks them up again. Cached pages stay; the next lookup shows
    /// whether the name still leads to the same content.
    ///
    /// On a writable mount, single names are not invalidated, because they are
    /// cached for at most one second there. An invalidation would wait for
    /// processes that create or remove files in the directory, and these might
    /// wait for a daemon that has died.
    pub(super) fn tell(&self, changes: &Changes) {
        if self.is_writable {
            if changes.names.as_ref().is_none_or(|names| !names.is_empty()) {
                self.begin_epoch();
            }
            return;
        }
        match &changes.names {
            Some(names) => names
                .iter()
                .for_each(|(directory, name)| self.expire(*directory, name)),
            None => self.begin_epoch(),
        }
        for directory in &changes.directories {
            let number = INodeNo(directory.0);
            // Invalidates the attributes and the listing.
            if let Err(error) = self.notifier.inval_inode(number, 0, 0) {
                log::debug!("telling of a change in {number:?}: {error}");
            }
        }
    }

    /// Gives the kernel the text of a node that it has, so that it need not ask
    /// for it. The kernel waits for pages of the node that it is asking for.
    pub(super) fn give(&self, node: KernelInode, text: &[u8]) {
        if let Err(error) = self.notifier.store(INodeNo(node.0), 0, text) {
            log::debug!("giving the text of {node:?}: {error}");
        }
    }

    /// Sends the reply to a request.
    ///
    /// # Errors
    ///
    /// Errors of the connection; the request is unanswered then.
    pub(super) fn answer(&self, request: RequestId, parts: &[&[u8]]) -> io::Result<()> {
        self.send(0, request.0, parts)
    }

    /// Invalidates a name. Before Linux 6.2, this also drops its inode with all
    /// pages.
    fn expire(&self, directory: Ino, name: &[u8]) {
        let mut body = Vec::with_capacity(17 + name.len());
        body.extend_from_slice(&directory.0.to_ne_bytes());
        body.extend_from_slice(&u32::try_from(name.len()).unwrap_or(0).to_ne_bytes());
        body.extend_from_slice(&EXPIRE_ONLY.to_ne_bytes());
        body.extend_from_slice(name);
        body.push(0);
        self.notify(EXPIRED_NAME, &body);
    }

    /// Invalidates all names, and drops the inodes that are not in use. Before
    /// Linux 6.16, this has no effect; names are cached only briefly there.
    pub(super) fn begin_epoch(&self) {
        self.notify(NEW_EPOCH, &[]);
    }

    fn notify(&self, code: i32, body: &[u8]) {
        // A notification is not the reply to a request.
        match self.send(code, 0, &[body]) {
            // The kernel has dropped the name already.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log::debug!("notification {code}: {error}");
            }
            _ => {}
        }
    }

    /// Sends a message with a single write.
    fn send(&self, code: i32, request: u64, parts: &[&[u8]]) -> io::Result<()> {
        let length: usize = 16 + parts.iter().map(|part| part.len()).sum::<usize>();
        let mut message = Vec::with_capacity(length);
        message.extend_from_slice(&u32::try_from(length).unwrap_or(0).to_ne_bytes());
        message.extend_from_slice(&code.to_ne_bytes());
        message.extend_from_slice(&request.to_ne_bytes());
        for part in parts {
            message.extend_from_slice(part);
        }
        (&self.connection).write(&message).map(|_| ())
    }
}

/// The reply to a lookup (`fuse_entry_out`): node, cache times of name and
/// attributes, and the attributes, which include the inode number of the file.
pub(super) fn entry(node: KernelInode, keep: (Duration, Duration), attr: &FileAttr) -> Vec<u8> {
    let (name, attributes) = keep;
    let times = [attr.atime, attr.mtime, attr.ctime].map(seconds_of);
    let kind = match attr.kind {
        FileType::Directory => libc::S_IFDIR,
        FileType::Symlink => libc::S_IFLNK,
        _ => libc::S_IFREG,
    };
    let mut entry = Vec::with_capacity(128);
    let generation = 0_u64;
    for word in [node.0, generation, name.as_secs(), attributes.as_secs()] {
        entry.extend_from_slice(&word.to_ne_bytes());
    }
    for part in [name.subsec_nanos(), attributes.subsec_nanos()] {
        entry.extend_from_slice(&part.to_ne_bytes());
    }
    for word in [attr.ino.0, attr.size, attr.blocks] {
        entry.extend_from_slice(&word.to_ne_bytes());
    }
    for (seconds, _) in times {
        entry.extend_from_slice(&seconds.to_ne_bytes());
    }
    for (_, nanoseconds) in times {
        entry.extend_from_slice(&nanoseconds.to_ne_bytes());
    }
    let mode = kind | u32::from(attr.perm);
    let (links, owner) = (attr.nlink, [attr.uid, attr.gid]);
    let flags = 0;
    let rest = [
        mode,
        links,
        owner[0],
        owner[1],
        attr.rdev,
        attr.blksize,
        flags,
    ];
    for part in rest {
        entry.extend_from_slice(&part.to_ne_bytes());
    }
    entry
}

/// The reply to opening a new file (`fuse_open_out`).
pub(super) fn opened(handle: Handle) -> [u8; 16] {
    // No flags, and no backing file.
    let mut opened = [0; 16];
    opened[..8].copy_from_slice(&handle.0.to_ne_bytes());
    opened
}

/// A time as seconds since 1970 and nanoseconds.
fn seconds_of(time: SystemTime) -> (i64, u32) {
    let seconds = |duration: Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => (seconds(after), after.subsec_nanos()),
        Err(before) => match before.duration() {
            before if before.subsec_nanos() == 0 => (-seconds(before), 0),
            before => (-seconds(before) - 1, 1_000_000_000 - before.subsec_nanos()),
        },
    }
}
