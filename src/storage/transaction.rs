//! Changes that are made together or not at all.

use std::ffi::OsString;

/// Changes of several files, in order, that are wholly made or not at all.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    removals: Vec<OsString>,
    changes: Vec<Change>,
}

/// One change of one file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Create {
        file: OsString,
    },
    Write {
        file: OsString,
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen {
        file: OsString,
        len: u64,
    },
}

impl Change {
    pub(super) fn file(&self) -> &OsString {
        match self {
            Change::Create { file } | Change::Write { file, .. } | Change::SetLen { file, .. } => {
                file
            }
        }
    }
}

impl Transaction {
    /// One that changes nothing.
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// Removes a file, if it is there, before anything else is changed.
    pub fn remove(&mut self, file: impl Into<OsString>) {
        self.removals.push(file.into());
    }

    /// Makes a new file, which must not be there, or is removed by the same
    /// transaction.
    pub fn create(&mut self, file: impl Into<OsString>) {
        self.changes.push(Change::Create { file: file.into() });
    }

    /// Writes `bytes` at `offset`; the file grows as needed.
    pub fn write(&mut self, file: impl Into<OsString>, offset: u64, bytes: impl Into<Vec<u8>>) {
        self.changes.push(Change::Write {
            file: file.into(),
            offset,
            bytes: bytes.into(),
        });
    }

    /// Cuts a file, or makes it longer by zeros.
    pub fn set_len(&mut self, file: impl Into<OsString>, len: u64) {
        self.changes.push(Change::SetLen {
            file: file.into(),
            len,
        });
    }

    /// This one, then `other`. What `other` removes must not be what this one
    /// makes or changes.
    pub fn append(&mut self, other: Transaction) {
        self.removals.extend(other.removals);
        self.changes.extend(other.changes);
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.removals.is_empty() && self.changes.is_empty()
    }

    pub(super) fn removals(&self) -> &[OsString] {
        &self.removals
    }

    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }
}
