//! Telling the kernel of names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use fuser::{Errno, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus, ReplyEntry};

use super::profile::ASK_AGAIN;
use super::{Adapter, answer, file_type};
use crate::vfs::{Attr, Error, Ino, NodeKind};

impl Adapter {
    /// Answers who looks up a name. A length that takes long to find out is
    /// left open: the kernel asks for it when it checks the mode of a file that
    /// is opened, and at a `stat`.
    pub(super) fn tell_name(&self, directory: Ino, name: &OsStr, reply: ReplyEntry) {
        let request = format_args!("lookup of {} in {directory:?}", name.display());
        let attr = answer(request, || {
            match self.vfs.lookup_at_once(directory, name.as_bytes()) {
                Err(Error::NotFound) => Ok(None),
                other => other.map(Some),
            }
        });
        if let Some(attr) = attr.transpose() {
            return self.tell_entry(attr, reply);
        }
        // Number 0 says: there is none, and how long that holds.
        let none = self.untold(Ino(0), NodeKind::Directory);
        let keep = if self.vfs.may_appear(directory) {
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
