//! Nodes: what the kernel takes for a file.
//!
//! The kernel keeps the pages, and the length, of a node for all who have it
//! open. Whoever has the old text of a game open while it is saved reads on in
//! it, so old and new text are two nodes, though `stat` gives both the number
//! of the game. To open the node of a text that the file no longer has is
//! `ESTALE`: the kernel then looks the name up again, and finds the node of the
//! present text.
//!
//! Who writes a game has a node of its own, so that others read what is stored
//! until it is saved; those who write the same draft share it. If somebody has the node open that is to be written, the answer
//! is `ESTALE` too, and the look-up that follows, by the same thread, finds a
//! node for it.
//!
//! ```text
//!   bit 63       whether it is for one who writes
//!   bits 53..63  which content of the file it is, or a number for who writes
//!   bits 0..53   number of the file
//! ```
//!
//! Numbers of contents begin anew after 1024; then pages are kept no longer
//! than somebody has the node open.
//!
//! The kernel looks a name up again once for each `open`. Who finds that the
//! file was saved once more meanwhile reads the text that it was looked up with.
//!
//! What differs from a disk, since several nodes are one file:
//!
//! * Locks are kept by cbfs, for the number of the file (`locks.rs`).
//! * Two who opened a game to write it before either of them wrote have a node
//!   each: the bytes that one writes are in the draft of both, but pages that the
//!   other has read stay as they were.
//! * A watch (inotify) on the file itself sees no save, whose node is another. One
//!   on the directory sees all that is done by name.
//! * Threads of another namespace of processes cannot be told apart. One of them
//!   that opens a game just as it is saved may get `ESTALE`, and succeeds when it
//!   tries again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::vfs::{Attr, Error, Handle, Ino};

/// Bits of the number of a file.
const INO_BITS: u32 = 53;

/// Contents, or writers, of a file that are told apart.
const CONTENTS: u32 = 1 << 10;

const IS_DRAFT: u64 = 1 << 63;

/// The thread of who lives in another namespace of processes: all of them are
/// this one, so none can be sent anywhere. Who writes has a node alone there if
/// nobody has that of the text open, which is looked up as a new one then.
const UNKNOWN: u32 = 0;

/// Threads remembered that are to look up a name again.
const MOST_SENT: usize = 1024;

/// What the kernel takes for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node(pub(super) u64);

impl Node {
    /// The number of the file.
    pub(super) fn ino(self) -> Ino {
        Ino(self.0 & ((1 << INO_BITS) - 1))
    }

    /// The node of what `attr` tells of; none if it is a draft of a game, or
    /// what a file no longer is.
    pub(super) fn of(attr: &Attr) -> Option<Node> {
        let version = attr.version?;
        Some(Node(attr.ino.0 | number(version)))
    }

    /// Whether it is for one who writes.
    pub(super) fn is_draft(self) -> bool {
        self.0 & IS_DRAFT != 0
    }

    fn of_draft(ino: Ino, count: u32) -> Node {
        Node(ino.0 | number(count) | IS_DRAFT)
    }
}

fn number(count: u32) -> u64 {
    u64::from(count % CONTENTS) << INO_BITS
}

/// What becomes of a request to open a file for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// It is opened. If it was the node of a text, it no longer is.
    Begins,
    /// The kernel has to look the name up again.
    IsElsewhere,
    /// Likewise; what it finds has to be another node than this.
    IsTaken,
}

/// What a thread has found that was to look up a file again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sought {
    /// It was not sent, or found another node.
    NotYet,
    /// It has looked up nothing, but opens the same node: as through
    /// `/dev/fd/3`, or `/proc/self/fd/3`.
    Nothing,
    /// The node, and the text with this mark.
    Found(u32),
}

/// All nodes that are open.
#[derive(Debug)]
pub(super) struct Nodes(Mutex<State>);

#[derive(Debug)]
struct State {
    open: HashMap<Node, Users>,
    /// Threads that are to look up a name again.
    sent: LruCache<u32, Sent>,
    drafts: u32,
}

/// What a thread is to look up.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// This node, to write to it.
    Writer(Node),
    /// This file, to read it; the node that it found, and the mark of the text.
    Reader(Ino, Option<(Node, u32)>),
}

/// Those who have a node open.
#[derive(Debug, Default)]
struct Users {
    handles: Vec<Handle>,
    /// Whether somebody writes it, or did since it was opened.
    is_written: bool,
    /// Requests to open it that are not answered.
    coming: usize,
}

impl Nodes {
    pub(super) fn new() -> Nodes {
        Nodes(Mutex::new(State {
            open: HashMap::new(),
            sent: LruCache::unbounded(),
            drafts: 0,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a thread has looked up a file; gives the node that it finds if
    /// it wants to write.
    pub(super) fn found(&self, thread: u32, attr: &Attr) -> Option<Node> {
        let mut state = self.lock();
        match state.sent.get_mut(&thread)? {
            Sent::Writer(node) if node.ino() == attr.ino => Some(*node),
            Sent::Reader(ino, found) if *ino == attr.ino => {
                *found = Node::of(attr).map(|node| (node, attr.generation));
                None
            }
            _ => None,
        }
    }

    /// Sends a thread to look up a file again that it wants to read.
    pub(super) fn send(&self, thread: u32, ino: Ino) {
        self.lock().send(thread, Sent::Reader(ino, None));
    }

    /// What a thread that opens this node to read it has found, if it was sent to
    /// look it up.
    pub(super) fn sought(&self, thread: u32, node: Node) -> Sought {
        match self.lock().sent.pop(&thread) {
            Some(Sent::Reader(_, Some((found, mark)))) if found == node => Sought::Found(mark),
            Some(Sent::Reader(ino, None)) if ino == node.ino() => Sought::Nothing,
            _ => Sought::NotYet,
        }
    }

    /// A thread wants to write to a node. If that [begins](Writing::Begins),
    /// [`Nodes::open`] or [`Nodes::give_up`] follows. `is_present` says whether a
    /// handle writes the draft that it is to write, too.
    pub(super) fn write(
        &self,
        thread: u32,
        node: Node,
        is_present: impl Fn(Handle) -> bool,
    ) -> Writing {
        let mut state = self.lock();
        let sent = state.sent.pop(&thread);
        let was_sent = matches!(sent, Some(Sent::Writer(to)) if to.ino() == node.ino());
        let is_written = state.open.get(&node).is_some_and(|users| users.is_written);
        // Some open by the node alone: they look up nothing.
        let is_free = || !state.open.contains_key(&node);
        if is_written || was_sent || (thread == UNKNOWN && is_free()) {
            let users = state.open.entry(node).or_default();
            users.is_written = true;
            users.coming += 1;
            return Writing::Begins;
        }
        if thread == UNKNOWN {
            return Writing::IsTaken;
        }
        let shared = state.draft_of(node.ino(), is_present);
        let draft = shared.unwrap_or_else(|| state.new_draft(node.ino()));
        state.send(thread, Sent::Writer(draft));
        Writing::IsElsewhere
    }

    /// A node for who makes a file; [`Nodes::open`] or [`Nodes::give_up`]
    /// follows.
    pub(super) fn create(&self, ino: Ino) -> Node {
        let mut state = self.lock();
        let node = state.new_draft(ino);
        let users = state.open.entry(node).or_default();
        users.is_written = true;
        users.coming = 1;
        node
    }

    /// Who wanted to write to a node does not.
    pub(super) fn give_up(&self, node: Node) {
        let mut state = self.lock();
        if let Some(users) = state.open.get_mut(&node) {
            users.coming = users.coming.saturating_sub(1);
        }
        state.close(node);
    }

    /// Notes that `handle` writes to a node.
    pub(super) fn open(&self, node: Node, handle: Handle) {
        let mut state = self.lock();
        let users = state.open.entry(node).or_default();
        users.coming = users.coming.saturating_sub(1);
        users.handles.push(handle);
    }

    /// Notes that `handle` reads a node, whose text is this `version` of the
    /// file; gives whether all pages that the kernel has of it are known to be
    /// of that text. `is_same` says whether another handle reads the same.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if it is not the node of that text.
    pub(super) fn read(
        &self,
        node: Node,
        handle: Handle,
        version: Option<u32>,
        is_same: impl Fn(Handle) -> bool,
    ) -> Result<bool, Error> {
        let mut state = self.lock();
        let users = state.open.entry(node).or_default();
        let other = users.handles.last().copied();
        // After so many contents it may be of an earlier one.
        let is_first = version.is_some_and(|version| version < CONTENTS);
        if users.is_written || !is_first && !other.is_none_or(is_same) {
            return Err(Error::Stale);
        }
        users.handles.push(handle);
        Ok(is_first || other.is_some())
    }

    /// Anyone who has a node open.
    pub(super) fn user(&self, node: Node) -> Option<Handle> {
        let state = self.lock();
        state.open.get(&node)?.handles.last().copied()
    }

    /// Notes that a handle is closed.
    pub(super) fn close(&self, node: Node, handle: Handle) {
        let mut state = self.lock();
        if let Some(users) = state.open.get_mut(&node) {
            users.handles.retain(|other| *other != handle);
        }
        state.close(node);
    }
}

impl State {
    fn send(&mut self, thread: u32, sent: Sent) {
        if thread == UNKNOWN {
            return;
        }
        self.sent.put(thread, sent);
        if self.sent.len() > MOST_SENT {
            self.sent.pop_lru();
        }
    }

    /// The node of those who write the present draft of a file.
    fn draft_of(&self, ino: Ino, is_present: impl Fn(Handle) -> bool) -> Option<Node> {
        let mut nodes = self.open.iter();
        let is_its = |(node, users): &(&Node, &Users)| {
            let last = users.handles.last();
            node.ino() == ino && node.is_draft() && last.is_some_and(|last| is_present(*last))
        };
        nodes.find(is_its).map(|(node, _)| *node)
    }

    /// A node that nobody has open, nor is sent to.
    fn new_draft(&mut self, ino: Ino) -> Node {
        for _ in 0..CONTENTS {
            self.drafts = self.drafts.wrapping_add(1);
            let node = Node::of_draft(ino, self.drafts);
            let mut sent = self.sent.iter();
            let mut is_sent =
                || sent.any(|(_, sent)| matches!(sent, Sent::Writer(other) if *other == node));
            if !self.open.contains_key(&node) && !is_sent() {
                return node;
            }
        }
        Node::of_draft(ino, self.drafts)
    }

    fn close(&mut self, node: Node) {
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

    fn node(version: u32) -> Node {
        Node::of(&attr(version, 0)).unwrap()
    }

    #[test]
    fn each_content_has_a_node_and_all_have_the_number_of_the_file() {
        assert_eq!(node(0), Node(GAME.0), "as long as nothing is saved");
        assert_ne!(node(1), node(0));
        assert_ne!(node(1023), node(1022));
        assert_eq!(node(1024), node(0));
        for node in [node(0), node(1), node(1023), Node::of_draft(GAME, 1023)] {
            assert_eq!(node.ino(), GAME);
        }
        let draft = Attr {
            version: None,
            ..attr(3, 0)
        };
        assert_eq!(Node::of(&draft), None);
    }

    #[test]
    fn who_writes_has_a_node_alone() {
        let nodes = Nodes::new();
        assert_eq!(
            nodes.write(THREAD, node(0), |_| false),
            Writing::IsElsewhere
        );
        assert_eq!(nodes.found(THREAD + 1, &attr(0, 5)), None);
        let draft = nodes.found(THREAD, &attr(0, 5)).unwrap();
        assert!(draft.is_draft());
        assert_eq!(
            nodes.write(THREAD + 1, draft, |_| false),
            Writing::IsElsewhere
        );
        let other = nodes.found(THREAD + 1, &attr(0, 5)).unwrap();
        assert_ne!(draft, other);
        assert_eq!(nodes.write(THREAD, draft, |_| false), Writing::Begins);
        nodes.open(draft, Handle(1));
        assert_eq!(nodes.found(THREAD, &attr(0, 5)), None);
        assert_eq!(nodes.user(draft), Some(Handle(1)));
        let read = |version| nodes.read(node(version), Handle(2), Some(version), |_| true);
        assert!(read(0).is_ok());
        // By the node alone, as through /dev/stdout.
        assert_eq!(nodes.write(THREAD, draft, |_| false), Writing::Begins);
        nodes.give_up(draft);
        nodes.close(draft, Handle(1));
        assert_eq!(nodes.user(draft), None);
        assert_eq!(nodes.write(THREAD, draft, |_| false), Writing::IsElsewhere);
    }

    #[test]
    fn those_who_write_one_draft_share_its_node() {
        let nodes = Nodes::new();
        let first = nodes.create(GAME);
        nodes.open(first, Handle(1));
        let write = |node, is_present: bool| nodes.write(THREAD, node, |_| is_present);
        assert_eq!(write(node(0), true), Writing::IsElsewhere);
        assert_eq!(nodes.found(THREAD, &attr(0, 5)), Some(first));
        assert_eq!(write(first, true), Writing::Begins);
        nodes.give_up(first);
        assert_eq!(write(node(0), false), Writing::IsElsewhere);
        assert_ne!(nodes.found(THREAD, &attr(0, 5)), Some(first));
    }

    #[test]
    fn who_cannot_be_told_from_others_writes_to_a_node_that_nobody_has() {
        let nodes = Nodes::new();
        let read = |version, handle| nodes.read(node(version), handle, Some(version), |_| true);
        assert!(read(0, Handle(1)).is_ok());
        assert_eq!(nodes.write(UNKNOWN, node(0), |_| false), Writing::IsTaken);
        assert_eq!(nodes.found(UNKNOWN, &attr(1, 5)), None);
        assert_eq!(nodes.write(UNKNOWN, node(1), |_| false), Writing::Begins);
        nodes.open(node(1), Handle(2));
        // Another, who is the same to the kernel, reads or writes elsewhere.
        assert_eq!(nodes.found(UNKNOWN, &attr(2, 5)), None);
        assert!(read(1, Handle(3)).is_err());
        assert!(read(2, Handle(3)).is_ok());
        nodes.send(UNKNOWN, GAME);
        assert_eq!(nodes.sought(UNKNOWN, node(2)), Sought::NotYet);
    }

    #[test]
    fn who_looks_up_nothing_writes_to_the_node_of_the_text_which_is_none_then() {
        let nodes = Nodes::new();
        assert_eq!(
            nodes.write(THREAD, node(0), |_| false),
            Writing::IsElsewhere
        );
        assert_eq!(nodes.write(THREAD, node(0), |_| false), Writing::Begins);
        let read = nodes.read(node(0), Handle(2), Some(0), |_| true);
        assert!(matches!(read, Err(Error::Stale)));
        nodes.give_up(node(0));
        assert!(nodes.read(node(0), Handle(2), Some(0), |_| true).is_ok());
    }

    #[test]
    fn who_looked_up_again_is_told_what_it_found() {
        let nodes = Nodes::new();
        nodes.send(THREAD, GAME);
        assert_eq!(nodes.found(THREAD, &attr(2, 5)), None);
        assert_eq!(nodes.found(THREAD, &attr(3, 6)), None);
        assert_eq!(nodes.sought(THREAD + 1, node(3)), Sought::NotYet);
        assert_eq!(nodes.sought(THREAD, node(3)), Sought::Found(6));
        assert_eq!(nodes.sought(THREAD, node(3)), Sought::NotYet, "once");
        nodes.send(THREAD, GAME);
        assert_eq!(nodes.sought(THREAD, node(3)), Sought::Nothing);
        for thread in 0..=1024 {
            nodes.send(thread, GAME);
        }
        assert_eq!(nodes.lock().sent.len(), MOST_SENT);
    }

    #[test]
    fn a_node_whose_number_comes_again_keeps_pages_while_it_is_open() {
        let nodes = Nodes::new();
        let read = |handle, version, is_same: bool| {
            nodes.read(node(version), Handle(handle), Some(version), |_| is_same)
        };
        assert!(matches!(read(1, 0, false), Ok(true)));
        assert!(matches!(read(2, 1024, false), Err(Error::Stale)));
        nodes.close(node(0), Handle(1));
        assert!(matches!(read(2, 1024, false), Ok(false)));
        assert!(matches!(read(3, 1024, true), Ok(true)));
    }

    #[test]
    fn nodes_of_those_who_write_are_taken_in_turn() {
        let nodes = Nodes::new();
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
