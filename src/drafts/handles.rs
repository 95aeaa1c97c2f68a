//! Open files.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use super::{Access, Handle};
use crate::fs::{Error, Ino, Text};

/// Bytes of texts that open files keep, of all together. Beyond that a reader
/// of a game that changes has to open it anew.
const MOST_PINNED: usize = 32 << 20;

/// An open file.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) ino: Ino,
    pub(super) access: Access,
    /// The draft that it is written to and read from.
    pub(super) draft: Option<u32>,
    pub(super) pin: Pin,
    /// Whether something was written through it.
    pub(super) is_written: bool,
    /// Whether the name of the file now belongs to another file.
    pub(super) is_replaced: bool,
}

impl Open {
    pub(super) fn new(ino: Ino, access: Access, draft: Option<u32>, pin: Pin) -> Open {
        Open {
            ino,
            access,
            draft,
            pin,
            is_written: false,
            is_replaced: false,
        }
    }
}

/// The content that an open file reads.
#[derive(Clone, Debug)]
pub(super) enum Pin {
    /// The present content at each read.
    Present,
    /// This text.
    Text(Text),
    /// The content with this mark.
    Mark(u32),
    /// That of a file on disk.
    Disk(Arc<File>),
}

/// All open files.
#[derive(Debug, Default)]
pub(super) struct Handles {
    open: HashMap<Handle, Open>,
    next: u64,
    /// Bytes of texts that they keep.
    pinned: usize,
}

impl Handles {
    pub(super) fn add(&mut self, mut open: Open) -> Handle {
        if let Pin::Text(text) = &open.pin {
            if self.pinned.saturating_add(text.len()) > MOST_PINNED {
                open.pin = Pin::Mark(text.mark());
            } else {
                self.pinned += text.len();
            }
        }
        self.next += 1;
        let handle = Handle(self.next);
        self.open.insert(handle, open);
        handle
    }

    pub(super) fn get(&self, handle: Handle) -> Result<&Open, Error> {
        self.open.get(&handle).ok_or(Error::NotOpen)
    }

    pub(super) fn get_mut(&mut self, handle: Handle) -> Result<&mut Open, Error> {
        self.open.get_mut(&handle).ok_or(Error::NotOpen)
    }

    pub(super) fn remove(&mut self, handle: Handle) -> Option<Open> {
        let open = self.open.remove(&handle)?;
        if let Pin::Text(text) = &open.pin {
            self.pinned = self.pinned.saturating_sub(text.len());
        }
        Some(open)
    }

    /// Those that write this file, without a draft as yet.
    pub(super) fn idle_writers(&mut self, ino: Ino) -> impl Iterator<Item = &mut Open> {
        self.open.values_mut().filter(move |open| {
            open.ino == ino && open.access.write && open.draft.is_none() && !open.is_replaced
        })
    }

    /// Those that write to this draft.
    pub(super) fn writers_of(&mut self, draft: u32) -> impl Iterator<Item = &mut Open> {
        let all = self.open.values_mut();
        all.filter(move |open| open.draft == Some(draft) && open.access.write)
    }
}
