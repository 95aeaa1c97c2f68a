//! Telling the kernel what it may not keep any longer.
//!
//! The order of bytes in messages to the kernel is that of this machine.
#![expect(
    clippy::host_endian_bytes,
    reason = "the kernel of this machine is spoken to"
)]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

use fuser::{Filesystem, INodeNo, Notifier, Session};

use crate::vfs::{Changes, Ino};

/// Codes of notifications.
const EXPIRED_NAME: i32 = 3;
const NEW_EPOCH: i32 = 8;

/// The name expires, and what it leads to stays.
const EXPIRE_ONLY: u32 = 1;

/// The kernel, told of changes. Only to be used by a thread that answers no
/// requests and holds no lock, since the kernel may wait for an answer first;
/// but for [`Kernel::begin_epoch`], which waits for nothing.
#[derive(Debug)]
pub(super) struct Kernel {
    notifier: Notifier,
    /// The connection, for what fuser has no call for.
    connection: File,
    /// Whether files can be written.
    is_writable: bool,
}

impl Kernel {
    /// The kernel at the other end of this session.
    pub(super) fn of<F: Filesystem>(session: &Session<F>, is_writable: bool) -> io::Result<Kernel> {
        Ok(Kernel {
            is_writable,
            notifier: session.notifier(),
            connection: File::from(session.as_fd().try_clone_to_owned()?),
        })
    }

    /// Makes it ask again for these names when they are used next, and forget
    /// the listings of these directories. The pages it has read of a file it
    /// keeps: the answer says whether the name still leads to that content.
    ///
    /// On a writable mount, where nothing is kept for longer than a second, it
    /// is told of no single name: it would wait for whoever makes or removes
    /// something in that directory, and they for a daemon that may have died
    /// meanwhile.
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
            // Attributes, and all of what it keeps of the listing.
            if let Err(error) = self.notifier.inval_inode(number, 0, 0) {
                log::debug!("telling of a change in {number:?}: {error}");
            }
        }
    }

    /// This name is to be asked for again. Before Linux 6.2 the file it leads
    /// to is forgotten, pages and all.
    fn expire(&self, directory: Ino, name: &[u8]) {
        let mut body = Vec::with_capacity(17 + name.len());
        body.extend_from_slice(&directory.0.to_ne_bytes());
        body.extend_from_slice(&u32::try_from(name.len()).unwrap_or(0).to_ne_bytes());
        body.extend_from_slice(&EXPIRE_ONLY.to_ne_bytes());
        body.extend_from_slice(name);
        body.push(0);
        self.notify(EXPIRED_NAME, &body);
    }

    /// All names told until now are to be asked for again, and the files they
    /// lead to are forgotten unless they are in use. Before Linux 6.16 names
    /// are kept for a moment only.
    pub(super) fn begin_epoch(&self) {
        self.notify(NEW_EPOCH, &[]);
    }

    fn notify(&self, code: i32, body: &[u8]) {
        let length = u32::try_from(16 + body.len()).unwrap_or(0);
        let mut message = Vec::with_capacity(16 + body.len());
        message.extend_from_slice(&length.to_ne_bytes());
        message.extend_from_slice(&code.to_ne_bytes());
        // No request that it would be the answer to.
        message.extend_from_slice(&0_u64.to_ne_bytes());
        message.extend_from_slice(body);
        match (&self.connection).write(&message) {
            // It does not know the name any more.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                log::debug!("notification {code}: {error}");
            }
            _ => {}
        }
    }
}
