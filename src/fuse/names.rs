//! Telling the kernel of names.

use std::ffi::OsStr;
use std::mem;
use std::os::unix::ffi::OsStrExt;

use fuser::{
    Errno, FileHandle, FopenFlags, Generation, INodeNo, ReplyCreate, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEntry, Request, RequestId,
};

use super::nodes::Node;
use super::profile::ASK_AGAIN;
use super::{Adapter, answer, file_type, kernel};
use crate::vfs::{Attr, Error, Handle, Ino, NodeKind};

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    pub(super) request: RequestId,
    /// Number of the thread that waits for it.
    thread: u32,
}

impl Asker {
    pub(super) fn of(request: &Request) -> Asker {
        Asker {
            request: request.unique(),
            thread: request.pid(),
        }
    }
}

impl Adapter {
    /// Answers who looks up a name. A length that takes long to find out is
    /// left open: the kernel asks for it when it checks the mode of a file that
    /// is opened, and at a `stat`.
    pub(super) fn tell_name(&self, directory: Ino, name: &OsStr, asker: Asker, reply: ReplyEntry) {
        let request = format_args!("lookup of {} in {directory:?}", name.display());
        let attr = answer(request, || {
            match self.vfs.lookup_at_once(directory, name.as_bytes()) {
                Err(Error::NotFound) => Ok(None),
                other => other.map(Some),
            }
        });
        match attr {
            Ok(Some(attr)) => return self.tell_found(&attr, asker, reply),
            Ok(None) => {}
            Err(errno) => return reply.error(errno),
        }
        // Number 0 says: there is none, and how long that holds.
        let none = self.untold(Ino(0), NodeKind::Directory);
        let keep = if self.vfs.drafts().may_appear(directory) {
            ASK_AGAIN
        } else {
            self.profile.keep_absence()
        };
        reply.entry(&keep, &none, Generation(0));
    }

    /// Answers with what was found or made.
    pub(super) fn tell_entry(&self, attr: Result<Attr, Errno>, reply: ReplyEntry) {
        match attr {
            Ok(attr) => {
                let (name, attributes) = self.keep(&attr);
                let generation = self.generation(&attr);
                reply.entry_with_ttls(&attributes, &name, &self.file_attr(&attr), generation);
            }
            Err(errno) => reply.error(errno),
        }
    }

    /// Answers who looked up a file with its node, which may be one of those
    /// that have another number than the file.
    fn tell_found(&self, attr: &Attr, asker: Asker, reply: ReplyEntry) {
        let is_writable = self.profile.is_writable;
        let node = Node::of(attr).filter(|_| is_writable);
        let to_write = is_writable.then(|| self.nodes.found(asker.thread, attr));
        let (node, attr) = match (to_write.flatten(), node) {
            (Some(node), _) => (
                node,
                Attr {
                    version: None,
                    ..*attr
                },
            ),
            (None, Some(node)) => (node, *attr),
            (None, None) => (Node(attr.ino.0), *attr),
        };
        if node.0 == attr.ino.0 {
            return self.tell_entry(Ok(attr), reply);
        }
        let entry = self.entry(node, &attr);
        self.answer_by_hand(asker.request, &[&entry], reply, ReplyEntry::error);
    }

    /// Answers who made a file and has it open.
    pub(super) fn tell_made(
        &self,
        attr: &Attr,
        node: Node,
        handle: Handle,
        asker: Asker,
        reply: ReplyCreate,
    ) {
        if node.0 == attr.ino.0 {
            let (name, attributes) = self.keep(attr);
            let (handle, flags) = (FileHandle(handle.0), FopenFlags::empty());
            let (attr, generation) = (self.file_attr(attr), self.generation(attr));
            return reply.created(&name.min(attributes), &attr, generation, handle, flags);
        }
        let parts = [&self.entry(node, attr)[..], &kernel::opened(handle)];
        self.answer_by_hand(asker.request, &parts, reply, ReplyCreate::error);
    }

    /// Whether the node of a file has another number than the file.
    fn has_other_node(&self, attr: &Attr) -> bool {
        self.profile.is_writable && Node::of(attr) != Some(Node(attr.ino.0))
    }

    fn entry(&self, node: Node, attr: &Attr) -> Vec<u8> {
        kernel::entry(node, self.keep(attr), &self.file_attr(attr))
    }

    /// Answers a request as fuser cannot, which takes the number of a file for
    /// that of its node.
    fn answer_by_hand<R>(
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
            // It would answer once more when it is dropped; all it has is a
            // share in the connection.
            Some(Ok(())) => mem::forget(reply),
            Some(Err(error)) => {
                log::debug!("answer to {request:?}: {error}");
                fail(reply, Errno::EIO);
            }
            None => fail(reply, Errno::EAGAIN),
        }
    }

    /// Lists a directory.
    pub(super) fn tell_names(&self, directory: Ino, offset: u64, mut reply: ReplyDirectory) {
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
            // What follows the last one is asked for next, and told then.
            Err(errno) if is_empty => reply.error(errno),
            _ => reply.ok(),
        }
    }

    /// Lists a directory with what `stat` says of each entry.
    pub(super) fn tell_entries(&self, directory: Ino, offset: u64, mut reply: ReplyDirectoryPlus) {
        let request = format_args!("listing of {directory:?} from {offset}");
        let mut is_empty = true;
        let listed = answer(request, || {
            self.vfs
                .list_with_attrs(directory, offset, &mut |entry, attr| {
                    is_empty = false;
                    let number = entry.node.ino;
                    let (keep, attr, generation) = match attr {
                        Some(Ok(attr)) if self.has_other_node(&attr) => {
                            // fuser cannot tell of it: who asks for it finds it.
                            let first = self.attr_of_node(Node(number.0)).unwrap_or(attr);
                            (ASK_AGAIN, self.file_attr(&first), Generation(0))
                        }
                        Some(Ok(attr)) => {
                            let keep = self.keep(&attr).0;
                            (keep, self.file_attr(&attr), self.generation(&attr))
                        }
                        // The name is there; whoever asks for more is told then.
                        untold => {
                            if let Some(Err(error)) = untold {
                                log::debug!("{request}: {}: {error}", entry.name);
                            }
                            (
                                ASK_AGAIN,
                                self.untold(number, entry.node.kind),
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
