//! A view of the files after a transaction that is not committed.

use std::ffi::OsStr;
use std::sync::Arc;

use super::record::JournalRecord;
use super::view::FileView;
use super::{Error, Storage, Store, Transaction};

impl Store {
    /// Returns a view of the files after `transaction`, which is not committed.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]; [`Error::Io`].
    pub fn files_after(&self, transaction: &Transaction) -> Result<FilesAfter<'_>, Error> {
        let record = JournalRecord::encode(transaction, 1, 0, self)?;
        Ok(FilesAfter {
            store: self,
            record,
        })
    }
}

/// A view of the files of a store after a transaction that is not committed.
#[derive(Debug)]
pub struct FilesAfter<'s> {
    store: &'s Store,
    record: Option<JournalRecord>,
}

impl FilesAfter<'_> {
    /// As [`Store::file`].
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<Arc<dyn Storage>>, Error> {
        let name = name.as_ref();
        let present = self.store.file(name)?;
        let record = self.record.as_ref();
        let changed = record.and_then(|record| {
            let mut files = record.changed();
            let (at, _) = files.find(|(_, before)| before.name == name)?;
            Some((record, at))
        });
        let Some((record, at)) = changed else {
            return Ok(present);
        };
        let file = FileView::over(name, present, record, at);
        let is_there = file.len().is_ok();
        Ok(is_there.then(|| Arc::new(file) as Arc<dyn Storage>))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryDirectory;

    #[test]
    fn files_are_shown_as_a_transaction_would_leave_them_and_stay_as_they_are() {
        let directory = MemoryDirectory::new();
        directory.put("a", b"0123456789".to_vec());
        directory.put("gone", b"old".to_vec());
        let before = directory.files();
        let store = Store::of_any_files(&directory).unwrap();
        for name in ["a", "gone"] {
            assert!(store.file(name).unwrap().is_some());
        }
        let mut change = Transaction::new();
        change.remove("gone");
        change.write("a", 8, b"longer".to_vec());
        change.create("new");
        change.write("new", 0, b"n".to_vec());
        let as_if = store.files_after(&change).unwrap();
        let content = |name: &str| {
            let file = as_if.file(name).unwrap()?;
            let mut bytes = Vec::new();
            let len = usize::try_from(file.len().unwrap()).unwrap();
            file.fill(0, len, &mut bytes).unwrap();
            Some(bytes)
        };
        assert_eq!(content("a").unwrap(), b"01234567longer");
        assert_eq!(content("new").unwrap(), b"n");
        assert_eq!(content("gone"), None);
        drop(as_if);
        store.close().unwrap();
        assert_eq!(directory.files(), before);
    }
}
