//! Transactions: changes of several files, applied together or not at all.

use std::ffi::OsString;

/// An ordered list of changes of several files, applied as a whole or not at
/// all.
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
    /// An empty transaction.
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// Removes a file, if it exists, before all other changes.
    pub fn remove(&mut self, file: impl Into<OsString>) {
        self.removals.push(file.into());
    }

    /// Creates a file. It must not exist, or be removed by the same
    /// transaction.
    pub fn create(&mut self, file: impl Into<OsString>) {
        self.changes.push(Change::Create { file: file.into() });
    }

    /// Writes `bytes` at `offset`. The file grows as needed.
    pub fn write(&mut self, file: impl Into<OsString>, offset: u64, bytes: impl Into<Vec<u8>>) {
        self.changes.push(Change::Write {
            file: file.into(),
            offset,
            bytes: bytes.into(),
        });
    }

    /// Truncates a file, or extends it with zeros.
    pub fn set_len(&mut self, file: impl Into<OsString>, len: u64) {
        self.changes.push(Change::SetLen {
            file: file.into(),
            len,
        });
    }

    /// Appends the changes of `other`. It must not remove a file that this one
    /// creates or changes.
    pub fn append(&mut self, other: Transaction) {
        self.removals.extend(other.removals);
        self.changes.extend(other.changes);
    }

    /// Returns whether it changes nothing.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_the_changes_of_those_appended() {
        let mut whole = Transaction::new();
        assert!(whole.is_empty());
        let (mut removal, mut change) = (Transaction::new(), Transaction::new());
        removal.remove("a");
        change.set_len("b", 3);
        assert!(!removal.is_empty() && !change.is_empty());
        whole.append(removal);
        whole.append(change);
        assert_eq!(whole.removals(), ["a"]);
        let files = whole.changes().iter().map(Change::file);
        assert_eq!(files.collect::<Vec<_>>(), ["b"]);
    }
}
