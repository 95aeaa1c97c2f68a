//! Nodes: the inodes of the kernel, of which one file can have several.
//!
//! The kernel caches pages and length for each node. A process that has the old
//! text of a game open during a save continues to read that text, so the old
//! and the new text are two nodes, although `stat` shows the number of the game
//! for both. Opening the node of an old text fails with `ESTALE`: the kernel
//! then looks up the name again, and finds the node of the current text.
//!
//! A writer of a game has a node of its own, so that others read the stored
//! text until it is saved; writers of the same draft share a node. The writer
//! gets the node of the text if that is not open; the next lookup of the text
//! then returns another one. If it is open, the reply is `ESTALE` too, and the
//! lookup that follows, by the same thread, returns a node for the writer.
//!
//! ```text
//!   bit 63       whether it is for one who writes
//!   bits 53..63  which content of the file it is, or a number for who writes
//!   bits 0..53   number of the file
//! ```
//!
//! The numbers of contents repeat after 1024. From then on, no pages are kept from one
//! opening to the next.
//!
//! The kernel repeats the lookup once for each `open`. If the file is saved
//! again in between, the process reads the text of its lookup.
//!
//! Differences to a disk, because several nodes are one file:
//!
//! * File locks are kept by cbfs, by the number of the file (`locks.rs`).
//! * Two processes that opened a game for writing, before either of them wrote,
//!   have separate nodes: bytes written by one are in the draft of both, but
//!   pages that the other has read stay unchanged.
//! * An inotify watch on the file itself misses saves, which happen on other
//!   nodes. A watch on the directory reports everything that is done by name.
//! * Threads of other PID namespaces cannot be distinguished. If one of them
//!   opens a game just as it is saved, it may get `ESTALE`; another attempt
//!   succeeds.

use std::collections::HashMap;
use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

use crate::vfs::{Attr, Error, Handle, Ino};

/// Number of bits of a file number.
const INO_BITS: u32 = 53;

/// Number of contents or writers of a file that are distinguished.
const CONTENTS: u32 = 1 << 10;

const IS_DRAFT: u64 = 1 << 63;

/// Thread id of all threads in other PID namespaces. They cannot be redirected,
/// because they cannot be distinguished.
const UNKNOWN: u32 = 0;

/// Maximum number of threads that are remembered until they look up a name
/// again.
const MAX_REDIRECTED: usize = 1024;

/// Number of nodes whose text the kernel was given that are remembered.
const MAX_GIVEN: NonZeroUsize = NonZeroUsize::new(1 << 13).unwrap();

/// An inode of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KernelInode(pub(super) u64);

impl KernelInode {
    /// The number of the file.
    pub(super) fn ino(self) -> Ino {
        Ino(self.0 & ((1 << INO_BITS) - 1))
    }

    /// The node of the content that `attr` describes; `None` for a draft of a
    /// game, and for content that the file no longer has.
    pub(super) fn of(attr: &Attr) -> Option<KernelInode> {
        let version = attr.version?;
        Some(KernelInode(attr.ino.0 | number(version)))
    }

    /// Returns whether the node belongs to a writer.
    pub(super) fn is_draft(self) -> bool {
        self.0 & IS_DRAFT != 0
    }

    fn of_draft(ino: Ino, count: u32) -> KernelInode {
        KernelInode(ino.0 | number(count) | IS_DRAFT)
    }
}

fn number(count: u32) -> u64 {
    u64::from(count % CONTENTS) << INO_BITS
}

/// Result of a request to open a file for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteOpen {
    /// The node is opened for writing. If it was the node of a text, it no
    /// longer is.
    Begins,
    /// The kernel has to look up the name again, and gets another node.
    IsElsewhere,
}

/// Result of the lookup that a thread was redirected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirected {
    /// The thread was not redirected, or has found another node.
    Unchanged,
    /// The thread opens the same node without a lookup, for example through
    /// `/dev/fd/3` or `/proc/self/fd/3`.
    Nothing,
    /// The thread found this node; the value is the mark of the text.
    Found(u32),
}

/// All open nodes.
#[derive(Debug)]
pub(super) struct KernelInodes(Mutex<NodeTable>);

#[derive(Debug)]
struct NodeTable {
    open: HashMap<KernelInode, OpenHandles>,
    /// Threads that are to look up a name again.
    sent: LruCache<u32, Sent>,
    /// Nodes whose text the kernel was given when they were opened.
    given: LruCache<KernelInode, ()>,
    drafts: u32,
}

/// The reason why a thread looks up a name again.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// To write to this node.
    Writer(KernelInode),
    /// To read this file; then the node it found, and the mark of the text.
    Reader(Ino, Option<(KernelInode, u32)>),
}

/// The open handles of a node.
#[derive(Debug, Default)]
struct OpenHandles {
    handles: Vec<Handle>,
    /// Whether the node is being written, or was written since it was opened.
    is_written: bool,
    /// Whether all of the handles are of one draft.
    is_of_draft: bool,
    /// Number of open requests that are not answered yet.
    coming: usize,
}

impl KernelInodes {
    pub(super) fn new() -> KernelInodes {
        KernelInodes(Mutex::new(NodeTable {
            open: HashMap::new(),
            sent: LruCache::unbounded(),
            given: LruCache::new(MAX_GIVEN),
            drafts: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, NodeTable> {
        self.0.lock()
    }

    /// Records that a thread has looked up a file. Returns the node for it if
    /// it is going to write.
    pub(super) fn found(&self, thread: u32, attr: &Attr) -> Option<KernelInode> {
        let mut state = self.lock();
        match state.sent.get_mut(&thread)? {
            Sent::Writer(node) if node.ino() == attr.ino => Some(*node),
            Sent::Reader(ino, found) if *ino == attr.ino => {
                *found = KernelInode::of(attr).map(|node| (node, attr.generation));
                None
            }
            _ => None,
        }
    }

    /// Redirects a thread that wants to read a file to a new lookup.
    pub(super) fn send(&self, thread: u32, ino: Ino) {
        self.lock().send(thread, Sent::Reader(ino, None));
    }

    /// Returns what a thread that opens this node for reading has found, if it
    /// was redirected. Until [`arrived`](KernelInodes::arrived) no writer takes
    /// the node.
    pub(super) fn redirected(&self, thread: u32, node: KernelInode) -> Redirected {
        match self.lock().sent.peek(&thread) {
            Some(Sent::Reader(_, Some((found, mark)))) if *found == node => {
                Redirected::Found(*mark)
            }
            Some(Sent::Reader(ino, None)) if *ino == node.ino() => Redirected::Nothing,
            _ => Redirected::Unchanged,
        }
    }

    /// Records that a thread looks for nothing any more.
    pub(super) fn arrived(&self, thread: u32) {
        self.lock().sent.pop(&thread);
    }

    /// Requests a node for writing by a thread. If the result is
    /// [`WriteOpen::Begins`], call [`KernelInodes::open`] or [`KernelInodes::cancel`] next.
    /// `is_present` tells whether a handle writes the same draft; `renew` gives the
    /// text another node, before anybody is redirected to that.
    pub(super) fn write(
        &self,
        thread: u32,
        node: KernelInode,
        is_present: impl Fn(Handle) -> bool,
        renew: impl FnOnce(),
    ) -> WriteOpen {
        let mut state = self.lock();
        let sent = state.sent.pop(&thread);
        let was_sent = matches!(sent, Some(Sent::Writer(to)) if to.ino() == node.ino());
        let users = state.open.get(&node);
        let (is_open, is_written) = (users.is_some(), users.is_some_and(|users| users.is_written));
        // Some processes open by the node alone, without a lookup.
        let is_expected = is_written || was_sent || (thread == UNKNOWN && !is_open);
        let shared = if is_expected {
            None
        } else {
            state.draft_of(node.ino(), is_present)
        };
        if is_expected || (!is_open && state.is_takeable(node, shared)) {
            let users = state.open.entry(node).or_default();
            users.is_of_draft |= !is_open;
            users.is_written = true;
            users.coming += 1;
            if !node.is_draft() {
                renew();
            }
            return WriteOpen::Begins;
        }
        if thread == UNKNOWN {
            renew();
            return WriteOpen::IsElsewhere;
        }
        let draft = shared.unwrap_or_else(|| state.new_draft(node.ino()));
        state.send(thread, Sent::Writer(draft));
        WriteOpen::IsElsewhere
    }

    /// Returns a node for a new file. Call [`KernelInodes::open`] or [`KernelInodes::cancel`]
    /// next.
    pub(super) fn create(&self, ino: Ino) -> KernelInode {
        let mut state = self.lock();
        let node = state.new_draft(ino);
        let users = state.open.entry(node).or_default();
        users.is_written = true;
        users.is_of_draft = true;
        users.coming = 1;
        node
    }

    /// Releases a node that is not written to after all.
    pub(super) fn cancel(&self, node: KernelInode) {
        let mut state = self.lock();
        if let Some(users) = state.open.get_mut(&node) {
            users.coming = users.coming.saturating_sub(1);
        }
        state.close(node);
    }

    /// Records that `handle` has a node open: to write to it, or to read its draft.
    pub(super) fn open(&self, node: KernelInode, handle: Handle) {
        let mut state = self.lock();
        let users = state.open.entry(node).or_default();
        users.coming = users.coming.saturating_sub(1);
        users.handles.push(handle);
    }

    /// Records that `handle` reads a node, whose text is this `version` of the
    /// file. Returns whether all pages that the kernel has cached of it are
    /// known to be of that text. `is_same` tells whether another handle reads
    /// the same text. `give` gives the kernel the text of a node of which it has
    /// probably no page. No other thread opens a node meanwhile: a request to read
    /// the node, which the kernel would wait for, cannot be on its way.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if the node does not belong to that text.
    pub(super) fn read(
        &self,
        node: KernelInode,
        handle: Handle,
        version: Option<u32>,
        is_same: impl Fn(Handle) -> bool,
        give: impl FnOnce(),
    ) -> Result<bool, Error> {
        let mut state = self.lock();
        let users = state.open.entry(node).or_default();
        let other = users.handles.last().copied();
        // After that many contents, pages may be of an earlier one.
        let is_first = version.is_some_and(|version| version < CONTENTS);
        if users.is_written || !is_first && !other.is_none_or(is_same) {
            return Err(Error::Stale);
        }
        users.handles.push(handle);
        if is_first && other.is_none() && state.given.put(node, ()).is_none() {
            give();
        }
        // That another has opened it is no reason: the kernel may not have got the reply
        // yet that lets it drop the pages of an earlier text.
        Ok(is_first)
    }

    /// Returns any handle of a node.
    pub(super) fn user(&self, node: KernelInode) -> Option<Handle> {
        let state = self.lock();
        state.open.get(&node)?.handles.last().copied()
    }

    /// Returns any handle of a node, if all are of one draft.
    pub(super) fn writer(&self, node: KernelInode) -> Option<Handle> {
        let state = self.lock();
        let users = state.open.get(&node).filter(|users| users.is_of_draft)?;
        users.handles.last().copied()
    }

    /// Records that a handle was closed.
    pub(super) fn close(&self, node: KernelInode, handle: Handle) {
        let mut state = self.lock();
        if let Some(users) = state.open.get_mut(&node) {
            users.handles.retain(|other| *other != handle);
        }
        state.close(node);
    }
}

impl NodeTable {
    fn send(&mut self, thread: u32, sent: Sent) {
        if thread == UNKNOWN {
            return;
        }
        self.sent.put(thread, sent);
        if self.sent.len() > MAX_REDIRECTED {
            self.sent.pop_lru();
        }
    }

    /// The node of the writers of the current draft of a file.
    fn draft_of(&self, ino: Ino, is_present: impl Fn(Handle) -> bool) -> Option<KernelInode> {
        let mut nodes = self.open.iter();
        let is_its = |(node, users): &(&KernelInode, &OpenHandles)| {
            let last = users.handles.last();
            node.ino() == ino && users.is_of_draft && last.is_some_and(|last| is_present(*last))
        };
        nodes.find(is_its).map(|(node, _)| *node)
    }

    /// Whether a writer may take the node of a text that is not open: no draft
    /// has a node yet, and no reader is on the way to the text for the second
    /// time, who would get an error.
    fn is_takeable(&self, node: KernelInode, draft: Option<KernelInode>) -> bool {
        let mut sent = self.sent.iter();
        let mut is_sought =
            || sent.any(|(_, sent)| matches!(sent, Sent::Reader(ino, _) if *ino == node.ino()));
        !node.is_draft() && draft.is_none() && !is_sought()
    }

    /// A node that is not open and that no thread was redirected to.
    fn new_draft(&mut self, ino: Ino) -> KernelInode {
        for _ in 0..CONTENTS {
            self.drafts = self.drafts.wrapping_add(1);
            let node = KernelInode::of_draft(ino, self.drafts);
            let mut sent = self.sent.iter();
            let mut is_sent =
                || sent.any(|(_, sent)| matches!(sent, Sent::Writer(other) if *other == node));
            if !self.open.contains_key(&node) && !is_sent() {
                return node;
            }
        }
        KernelInode::of_draft(ino, self.drafts)
    }

    fn close(&mut self, node: KernelInode) {
        let users = self.open.get(&node);
        if users.is_some_and(|users| users.handles.is_empty() && users.coming == 0) {
            self.open.remove(&node);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::vfs::{NodeKind, Size};

    const GAME: Ino = Ino::new(1, 7);
    const THREAD: u32 = 50;

    fn attr(version: u32, mark: u32) -> Attr {
        Attr {
            ino: GAME,
            kind: NodeKind::File(Size::Rendered),
            size: 1,
            is_sized: true,
            links: 1,
            modified: UNIX_EPOCH,
            generation: mark,
            version: Some(version),
        }
    }

    fn node(version: u32) -> KernelInode {
        KernelInode::of(&attr(version, 0)).unwrap()
    }

    #[test]
    fn each_content_has_a_node_with_the_number_of_the_file() {
        assert_eq!(node(0), KernelInode(GAME.0), "as long as nothing is saved");
        assert_ne!(node(1), node(0));
        assert_ne!(node(1023), node(1022));
        assert_eq!(node(1024), node(0));
        for node in [
            node(0),
            node(1),
            node(1023),
            KernelInode::of_draft(GAME, 1023),
        ] {
            assert_eq!(node.ino(), GAME);
        }
        let draft = Attr {
            version: None,
            ..attr(3, 0)
        };
        assert_eq!(KernelInode::of(&draft), None);
    }

    #[test]
    fn a_writer_takes_the_node_of_an_unread_text() {
        let nodes = KernelInodes::new();
        let write = |thread, version| nodes.write(thread, node(version), |_| true, || ());
        assert_eq!(write(THREAD, 0), WriteOpen::Begins);
        nodes.open(node(0), Handle(1));
        assert_eq!(nodes.writer(node(0)), Some(Handle(1)));
        assert!(matches!(read(&nodes, 0, 2), Err(Error::Stale)));
        // The text has another node now, and the draft keeps its own.
        assert_eq!(write(THREAD + 1, 1), WriteOpen::IsElsewhere);
        assert_eq!(nodes.found(THREAD + 1, &attr(1, 5)), Some(node(0)));
        assert_eq!(write(THREAD + 1, 0), WriteOpen::Begins);
        nodes.cancel(node(0));
        nodes.close(node(0), Handle(1));
        assert_eq!(nodes.writer(node(0)), None);
        // A reader is on the way to it.
        nodes.send(THREAD, GAME);
        assert_eq!(write(THREAD + 2, 1), WriteOpen::IsElsewhere);
        assert_eq!(nodes.found(THREAD, &attr(1, 5)), None);
        assert_eq!(write(THREAD + 3, 1), WriteOpen::IsElsewhere);
        assert_eq!(nodes.redirected(THREAD, node(1)), Redirected::Found(5));
        assert_eq!(write(THREAD + 4, 1), WriteOpen::IsElsewhere);
        nodes.arrived(THREAD);
        assert_eq!(write(THREAD + 5, 1), WriteOpen::Begins);
    }

    /// A handle to the text of this version is opened.
    fn read(nodes: &KernelInodes, version: u32, handle: u64) -> Result<bool, Error> {
        let (node, handle) = (node(version), Handle(handle));
        nodes.read(node, handle, Some(version), |_| true, || ())
    }

    /// Nodes of which a reader has that of the text open.
    fn being_read() -> KernelInodes {
        let nodes = KernelInodes::new();
        assert!(read(&nodes, 0, 9).is_ok());
        nodes
    }

    #[test]
    fn the_kernel_is_given_a_text_when_it_is_opened_for_the_first_time() {
        let nodes = KernelInodes::new();
        let is_given = |version, handle| {
            let mut is_given = false;
            let (node, handle) = (node(version), Handle(handle));
            let give = || is_given = true;
            let read = nodes.read(node, handle, Some(version), |_| true, give);
            assert!(read.is_ok());
            is_given
        };
        assert!(is_given(0, 1));
        assert!(!is_given(0, 2), "another has it open");
        nodes.close(node(0), Handle(1));
        nodes.close(node(0), Handle(2));
        assert!(!is_given(0, 3), "the kernel has it");
        assert!(is_given(1, 4), "it is another text");
        // The kernel may have pages of an earlier text with this number.
        assert!(!is_given(CONTENTS + 2, 5));
    }

    #[test]
    fn a_writer_beside_readers_has_a_node_alone() {
        let nodes = being_read();
        assert_eq!(
            nodes.write(THREAD, node(0), |_| false, || ()),
            WriteOpen::IsElsewhere
        );
        assert_eq!(nodes.found(THREAD + 1, &attr(0, 5)), None);
        let draft = nodes.found(THREAD, &attr(0, 5)).unwrap();
        assert!(draft.is_draft());
        assert_eq!(
            nodes.write(THREAD + 1, draft, |_| false, || ()),
            WriteOpen::IsElsewhere
        );
        let other = nodes.found(THREAD + 1, &attr(0, 5)).unwrap();
        assert_ne!(draft, other);
        assert_eq!(
            nodes.write(THREAD, draft, |_| false, || ()),
            WriteOpen::Begins
        );
        nodes.open(draft, Handle(1));
        assert_eq!(nodes.found(THREAD, &attr(0, 5)), None);
        assert_eq!(nodes.user(draft), Some(Handle(1)));
        assert!(read(&nodes, 0, 2).is_ok());
        // Without a lookup, as through /dev/stdout.
        assert_eq!(
            nodes.write(THREAD, draft, |_| false, || ()),
            WriteOpen::Begins
        );
        nodes.cancel(draft);
        nodes.close(draft, Handle(1));
        assert_eq!(nodes.user(draft), None);
        assert_eq!(
            nodes.write(THREAD, draft, |_| false, || ()),
            WriteOpen::IsElsewhere
        );
    }

    #[test]
    fn writers_of_one_draft_share_its_node() {
        let nodes = being_read();
        let first = nodes.create(GAME);
        nodes.open(first, Handle(1));
        let write = |node, is_present: bool| nodes.write(THREAD, node, |_| is_present, || ());
        assert_eq!(write(node(0), true), WriteOpen::IsElsewhere);
        assert_eq!(nodes.found(THREAD, &attr(0, 5)), Some(first));
        assert_eq!(write(first, true), WriteOpen::Begins);
        nodes.cancel(first);
        assert_eq!(write(node(0), false), WriteOpen::IsElsewhere);
        assert_ne!(nodes.found(THREAD, &attr(0, 5)), Some(first));
    }

    #[test]
    fn a_thread_of_another_namespace_writes_to_an_unused_node() {
        let nodes = KernelInodes::new();
        assert!(read(&nodes, 0, 1).is_ok());
        assert_eq!(
            nodes.write(UNKNOWN, node(0), |_| false, || ()),
            WriteOpen::IsElsewhere
        );
        assert_eq!(nodes.found(UNKNOWN, &attr(1, 5)), None);
        assert_eq!(
            nodes.write(UNKNOWN, node(1), |_| false, || ()),
            WriteOpen::Begins
        );
        nodes.open(node(1), Handle(2));
        // Another thread, which cannot be distinguished, reads or writes
        // elsewhere.
        assert_eq!(nodes.found(UNKNOWN, &attr(2, 5)), None);
        assert!(read(&nodes, 1, 3).is_err());
        assert!(read(&nodes, 2, 3).is_ok());
        nodes.send(UNKNOWN, GAME);
        assert_eq!(nodes.redirected(UNKNOWN, node(2)), Redirected::Unchanged);
    }

    #[test]
    fn a_writer_without_a_lookup_takes_over_the_node_of_the_text() {
        let nodes = being_read();
        assert_eq!(
            nodes.write(THREAD, node(0), |_| false, || ()),
            WriteOpen::IsElsewhere
        );
        assert_eq!(
            nodes.write(THREAD, node(0), |_| false, || ()),
            WriteOpen::Begins
        );
        assert!(matches!(read(&nodes, 0, 2), Err(Error::Stale)));
        assert_eq!(nodes.writer(node(0)), None, "a reader has it open, too");
        nodes.cancel(node(0));
        nodes.close(node(0), Handle(9));
        assert!(read(&nodes, 0, 2).is_ok());
    }

    #[test]
    fn a_redirected_thread_gets_what_it_found() {
        let nodes = KernelInodes::new();
        nodes.send(THREAD, GAME);
        assert_eq!(nodes.found(THREAD, &attr(2, 5)), None);
        assert_eq!(nodes.found(THREAD, &attr(3, 6)), None);
        assert_eq!(nodes.redirected(THREAD + 1, node(3)), Redirected::Unchanged);
        assert_eq!(nodes.redirected(THREAD, node(3)), Redirected::Found(6));
        nodes.arrived(THREAD);
        assert_eq!(nodes.redirected(THREAD, node(3)), Redirected::Unchanged);
        nodes.send(THREAD, GAME);
        assert_eq!(nodes.redirected(THREAD, node(3)), Redirected::Nothing);
        for thread in 0..=1024 {
            nodes.send(thread, GAME);
        }
        assert_eq!(nodes.lock().sent.len(), MAX_REDIRECTED);
    }

    #[test]
    fn a_repeated_node_number_keeps_no_pages() {
        let nodes = KernelInodes::new();
        let read = |handle, version, is_same: bool| {
            nodes.read(
                node(version),
                Handle(handle),
                Some(version),
                |_| is_same,
                || (),
            )
        };
        assert!(matches!(read(1, 0, false), Ok(true)));
        assert!(matches!(read(2, 1024, false), Err(Error::Stale)));
        nodes.close(node(0), Handle(1));
        assert!(matches!(read(2, 1024, false), Ok(false)));
        assert!(matches!(read(3, 1024, true), Ok(false)));
    }

    #[test]
    fn nodes_of_writers_are_used_in_turn() {
        let nodes = KernelInodes::new();
        let mut taken = std::collections::HashSet::new();
        for handle in 0..1024 {
            let node = nodes.create(GAME);
            nodes.open(node, Handle(handle));
            assert!(taken.insert(node));
        }
        let free = *taken.iter().nth(500).unwrap();
        let handle = nodes.user(free).unwrap();
        nodes.close(free, handle);
        assert_eq!(nodes.create(GAME), free);
    }
}
