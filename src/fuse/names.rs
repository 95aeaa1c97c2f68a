//! Replies about names: lookup, creation and listing.

use std::ffi::OsStr;
use std::mem;
use std::os::unix::ffi::OsStrExt;

use fuser::{
    Errno, FileHandle, FopenFlags, Generation, INodeNo, ReplyCreate, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEntry, Request, RequestId,
};

use super::nodes::KernelInode;
use super::profile::ASK_AGAIN;
use super::{Adapter, answer, file_type, kernel};
use crate::vfs::{Attr, Error, Handle, Ino, NodeKind};

/// The request that a reply is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requester {
    pub(super) request: RequestId,
    /// Id of the thread that waits for it.
    thread: u32,
}

impl Requester {
    pub(super) fn of(request: &Request) -> Requester {
        Requester {
            request: request.unique(),
            thread: request.pid(),
        }
    }
}

impl Adapter {
    /// Answers a lookup. A length that takes long to compute is left out: the
    /// kernel asks for it when a file is opened, and for `stat`.
    pub(super) fn reply_lookup(
        &self,
        directory: Ino,
        name: &OsStr,
        requester: Requester,
        reply: ReplyEntry,
    ) {
        let request = format_args!("lookup of {} in {directory:?}", name.display());
        let attr = answer(request, || {
            match self.vfs.lookup_at_once(directory, name.as_bytes()) {
                Err(Error::NotFound) => Ok(None),
                other => other.map(Some),
            }
        });
        match attr {
            Ok(Some(attr)) => return self.reply_found(&attr, requester, reply),
            Ok(None) => {}
            Err(errno) => return reply.error(errno),
        }
        // Inode 0 is a negative entry, with the time for which it is valid.
        let none = self.unknown_attr(Ino(0), NodeKind::Directory);
        let keep = if self.vfs.drafts().may_appear(directory) {
            ASK_AGAIN
        } else {
            self.profile.keep_absence()
        };
        reply.entry(&keep, &none, Generation(0));
    }

    /// Answers with the attributes of a file that was found or created.
    pub(super) fn reply_entry(&self, attr: Result<Attr, Errno>, reply: ReplyEntry) {
        match attr {
            Ok(attr) => {
                let (name, attributes) = self.keep(&attr);
                let generation = self.generation(&attr);
                reply.entry_with_ttls(&attributes, &name, &self.file_attr(&attr), generation);
            }
            Err(errno) => reply.error(errno),
        }
    }

    /// Answers a lookup with the node of the file, which can have another
    /// number than the file.
    fn reply_found(&self, attr: &Attr, requester: Requester, reply: ReplyEntry) {
        let is_writable = self.profile.is_writable;
        let node = KernelInode::of(attr).filter(|_| is_writable);
        let to_write = is_writable.then(|| self.nodes.found(requester.thread, attr));
        let (node, attr) = match (to_write.flatten(), node) {
            (Some(node), _) => (
                node,
                Attr {
                    version: None,
                    ..*attr
                },
            ),
            (None, Some(node)) => (node, *attr),
            (None, None) => (KernelInode(attr.ino.0), *attr),
        };
        if node.0 == attr.ino.0 {
            return self.reply_entry(Ok(attr), reply);
        }
        let entry = self.entry(node, &attr);
        self.reply_directly(requester.request, &[&entry], reply, ReplyEntry::error);
    }

    /// Answers a request that created and opened a file.
    pub(super) fn reply_created(
        &self,
        attr: &Attr,
        node: KernelInode,
        handle: Handle,
        requester: Requester,
        reply: ReplyCreate,
    ) {
        if node.0 == attr.ino.0 {
            let (name, attributes) = self.keep(attr);
            let (handle, flags) = (FileHandle(handle.0), FopenFlags::empty());
            let (attr, generation) = (self.file_attr(attr), self.generation(attr));
            return reply.created(&name.min(attributes), &attr, generation, handle, flags);
        }
        let parts = [&self.entry(node, attr)[..], &kernel::opened(handle)];
        self.reply_directly(requester.request, &parts, reply, ReplyCreate::error);
    }

    /// Returns whether the node of a file has another number than the file.
    fn has_other_node(&self, attr: &Attr) -> bool {
        self.profile.is_writable && KernelInode::of(attr) != Some(KernelInode(attr.ino.0))
    }

    fn entry(&self, node: KernelInode, attr: &Attr) -> Vec<u8> {
        kernel::entry(node, self.keep(attr), &self.file_attr(attr))
    }

    /// Answers a request directly, because fuser uses one number for file and
    /// node.
    fn reply_directly<R>(
        &self,
        request: RequestId,
        parts: &[&[u8]],
        reply: R,
        fail: impl FnOnce(R, Errno),
    ) {
        match self
            .kernel
            .get()
            .map(|kernel| kernel.answer(request, parts))
        {
            // Dropping the reply would answer again. It holds only a reference
            // to the connection, which leaks.
            Some(Ok(())) => mem::forget(reply),
            Some(Err(error)) => {
                log::debug!("answer to {request:?}: {error}");
                fail(reply, Errno::EIO);
            }
            None => fail(reply, Errno::EAGAIN),
        }
    }

    /// Lists a directory.
    pub(super) fn reply_listing(&self, directory: Ino, offset: u64, mut reply: ReplyDirectory) {
        let mut is_empty = true;
        let request = format_args!("listing of {directory:?} from {offset}");
        let listed = answer(request, || {
            self.vfs.list(directory, offset, &mut |entry| {
                is_empty = false;
                let number = INodeNo(entry.node.ino.0);
                !reply.add(number, entry.cookie, file_type(entry.node.kind), entry.name)
            })
        });
        match listed {
            // Report this error when the kernel asks for the rest of the
            // listing.
            Err(errno) if is_empty => reply.error(errno),
            _ => reply.ok(),
        }
    }

    /// Lists a directory with the attributes of each entry.
    pub(super) fn reply_listing_plus(
        &self,
        directory: Ino,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let request = format_args!("listing of {directory:?} from {offset}");
        let mut is_empty = true;
        let listed = answer(request, || {
            self.vfs
                .list_with_attrs(directory, offset, &mut |entry, attr| {
                    is_empty = false;
                    let number = entry.node.ino;
                    let (keep, attr, generation) = match attr {
                        Some(Ok(attr)) if self.has_other_node(&attr) => {
                            // fuser cannot report another node here; a lookup
                            // will find it.
                            let first = self.attr_of_node(KernelInode(number.0)).unwrap_or(attr);
                            (ASK_AGAIN, self.file_attr(&first), Generation(0))
                        }
                        Some(Ok(attr)) => {
                            let keep = self.keep(&attr).0;
                            (keep, self.file_attr(&attr), self.generation(&attr))
                        }
                        // The name exists; requests for more report the error.
                        unknown_attr => {
                            if let Some(Err(error)) = unknown_attr {
                                log::debug!("{request}: {}: {error}", entry.name);
                            }
                            (
                                ASK_AGAIN,
                                self.unknown_attr(number, entry.node.kind),
                                Generation(0),
                            )
                        }
                    };
                    let number = INodeNo(number.0);
                    !reply.add(number, entry.cookie, entry.name, &keep, &attr, generation)
                })
        });
        match listed {
            Err(errno) if is_empty => reply.error(errno),
            _ => reply.ok(),
        }
    }
}
