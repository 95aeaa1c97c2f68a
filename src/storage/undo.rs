//! Undoing what was committed, and the files as they would be then.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use super::pieces::Pieces;
use super::record::{Action, Before, Present, Record};
use super::view::File;
use super::{Error, Storage, Store, Transaction};

/// A transaction that was committed, with what was there before.
#[derive(Clone, Debug)]
pub struct Committed {
    record: Arc<Record>,
    /// The lengths of files behind whose ends it laid bytes by a stage, from
    /// before that.
    staged: Vec<(OsString, u64)>,
}

impl Committed {
    pub(super) fn new(record: Arc<Record>) -> Committed {
        Committed {
            record,
            staged: Vec::new(),
        }
    }

    /// The same, with bytes laid behind these lengths of files.
    pub(super) fn behind(self, staged: Vec<(OsString, u64)>) -> Committed {
        Committed { staged, ..self }
    }

    /// Bytes of memory that it takes.
    pub fn size(&self) -> usize {
        self.record.bytes.len()
    }
}

impl Store {
    /// The transaction that undoes `committed`. `None` if anything it changed
    /// was changed again since, or if that cannot be known. Files that it
    /// only removed stay removed.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn inverse(&self, committed: &Committed) -> Result<Option<Transaction>, Error> {
        let record = &committed.record;
        let mut inverse = Transaction::new();
        for (at, before) in record.changed() {
            let Some(after) = After::of(record, at, before) else {
                return Ok(None);
            };
            if !after.is_so(self, &before.name)? {
                return Ok(None);
            }
            undo(record, at, before, &mut inverse);
        }
        for (name, len) in &committed.staged {
            // Nobody would have noticed what else was laid there.
            if !record.changed().any(|(_, before)| before.name == *name) {
                return Ok(None);
            }
            inverse.set_len(name, *len);
        }
        Ok(Some(inverse))
    }

    /// The files as they would be after `transaction`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]; [`Error::Io`].
    pub fn as_if(&self, transaction: &Transaction) -> Result<AsIf<'_>, Error> {
        let record = Record::encode(transaction, 1, 0, self)?;
        Ok(AsIf {
            store: self,
            record,
        })
    }
}

/// The files of a store as they would be after a transaction.
#[derive(Debug)]
pub struct AsIf<'s> {
    store: &'s Store,
    record: Option<Record>,
}

impl AsIf<'_> {
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
        let file = File::over(name, present, record, at);
        let is_there = file.len().is_ok();
        Ok(is_there.then(|| Arc::new(file) as Arc<dyn Storage>))
    }
}

impl AsIf<'_> {
    /// What `transaction` would be to undo, were it committed then; nothing if
    /// it would come to nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`]; [`Error::Io`].
    pub fn commit(&self, transaction: &Transaction) -> Result<Option<Committed>, Error> {
        let record = Record::encode(transaction, 1, 0, self)?;
        Ok(record.map(|record| Committed::new(Arc::new(record))))
    }
}

impl Present for AsIf<'_> {
    fn len(&self, name: &OsStr) -> Result<Option<u64>, Error> {
        let file = self.file(name)?;
        let len = file.map(|file| file.len()).transpose();
        len.map_err(Error::io(name))
    }

    fn read(&self, name: &OsStr, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        if let Some(file) = self.file(name)? {
            let filled = file.fill(offset, len, &mut bytes);
            filled.map_err(Error::io(name))?;
        }
        Ok(bytes)
    }
}

/// What a transaction left of a file.
struct After {
    len: Option<u64>,
    pieces: Pieces,
}

impl After {
    /// `None` if what the file was before is not known: it was made anew in
    /// the place of another, or cut.
    fn of(record: &Record, at: usize, before: &Before) -> Option<After> {
        let (mut len, mut pieces) = (before.len, Pieces::default());
        for step in record.steps.iter().filter(|step| step.file == at) {
            len = step.action.advance(len).ok()?;
            match &step.action {
                Action::Create if before.len.is_some() => return None,
                Action::Create | Action::Remove => {}
                Action::SetLen(_) => return None,
                Action::Write { offset, new, .. } => {
                    pieces.insert(*offset, &record.bytes, new.clone());
                }
            }
        }
        Some(After { len, pieces })
    }

    /// Whether the file is still so.
    fn is_so(&self, present: &dyn Present, name: &OsStr) -> Result<bool, Error> {
        if present.len(name)? != self.len {
            return Ok(false);
        }
        for (offset, bytes) in self.pieces.iter() {
            if present.read(name, offset, bytes.len())? != bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Puts back what a file was before.
fn undo(record: &Record, at: usize, before: &Before, inverse: &mut Transaction) {
    let Some(len) = before.len else {
        inverse.remove(&before.name);
        return;
    };
    let mut is_there = true;
    // The old bytes are those before all steps.
    for step in record.steps.iter().filter(|step| step.file == at) {
        match &step.action {
            Action::Write { offset, old, .. } => {
                inverse.write(&before.name, *offset, record.part(old));
            }
            Action::Remove => is_there = false,
            Action::Create | Action::SetLen(_) => {}
        }
    }
    if is_there {
        inverse.set_len(&before.name, len);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::storage::{Access, Belonging, MemoryDirectory, Opening};

    fn store(directory: &MemoryDirectory) -> Store {
        let opening = Opening {
            journal: OsStr::new(".x.journal"),
            label: "",
            access: Access::ReadWrite,
            belonging: Belonging::new(|_| true),
        };
        Store::open(Arc::new(directory.clone()), &opening).unwrap()
    }

    fn directory() -> MemoryDirectory {
        let directory = MemoryDirectory::new();
        directory.put("a", b"0123456789".to_vec());
        directory.put("b", b"abcdef".to_vec());
        directory.put("cache", b"old".to_vec());
        directory
    }

    /// Writes over one file, appends to it, makes another, removes a third.
    fn change() -> Transaction {
        let mut change = Transaction::new();
        change.remove("cache");
        change.write("a", 2, b"xx".to_vec());
        change.write("a", 8, b"longer".to_vec());
        change.create("new");
        change.write("new", 0, b"n".to_vec());
        change.write("a", 3, b"y".to_vec());
        change
    }

    fn content(store: &Store) -> BTreeMap<OsString, Vec<u8>> {
        let names = ["a", "b", "cache", "new"].map(OsString::from);
        let files = names.into_iter().filter_map(|name| {
            let file = store.file(&name).unwrap()?;
            let mut bytes = Vec::new();
            let len = usize::try_from(file.len().unwrap()).unwrap();
            file.fill(0, len, &mut bytes).unwrap();
            Some((name, bytes))
        });
        files.collect()
    }

    #[test]
    fn what_was_committed_can_be_undone_before_and_after_it_is_synced() {
        for is_synced in [false, true] {
            let directory = directory();
            let store = store(&directory);
            let mut before = content(&store);
            let committed = store.commit(&change()).unwrap().unwrap();
            assert_eq!(content(&store)[OsStr::new("a")], b"01xy4567longer");
            if is_synced {
                store.sync().unwrap();
            }
            let inverse = store.inverse(&committed).unwrap().unwrap();
            let as_if = store.as_if(&inverse).unwrap();
            let file = as_if.file("a").unwrap().unwrap();
            assert_eq!(file.len().unwrap(), 10);
            assert!(as_if.file("new").unwrap().is_none());
            store.commit(&inverse).unwrap();
            before.remove(OsStr::new("cache"));
            assert_eq!(content(&store), before);
            store.close().unwrap();
            assert_eq!(directory.files(), before);
        }
    }

    #[test]
    fn what_was_changed_again_is_not_undone() {
        for (file, offset, bytes) in [("a", 3, b"z"), ("a", 14, b"z"), ("new", 0, b"z")] {
            let store = store(&directory());
            let committed = store.commit(&change()).unwrap().unwrap();
            let mut other = Transaction::new();
            other.write(file, offset, bytes.to_vec());
            store.commit(&other).unwrap();
            assert!(store.inverse(&committed).unwrap().is_none(), "{file}");
        }
        let store = store(&directory());
        let committed = store.commit(&change()).unwrap().unwrap();
        let mut other = Transaction::new();
        other.write("b", 0, b"z".to_vec());
        other.write("a", 5, b"z".to_vec());
        store.commit(&other).unwrap();
        let inverse = store.inverse(&committed).unwrap().unwrap();
        store.commit(&inverse).unwrap();
        let content = content(&store);
        assert_eq!(content[OsStr::new("a")], b"01234z6789");
        assert_eq!(content[OsStr::new("b")], b"zbcdef");
    }

    #[test]
    fn one_commit_takes_the_place_of_another() {
        let store = store(&directory());
        let mut before = content(&store);
        before.remove(OsStr::new("cache"));
        let mut committed = store.commit(&change()).unwrap().unwrap();
        for text in [b"once".to_vec(), b"and again".to_vec()] {
            let inverse = store.inverse(&committed).unwrap().unwrap();
            let as_if = store.as_if(&inverse).unwrap();
            let mut new = Transaction::new();
            new.write("a", 10, text.clone());
            new.create("new");
            new.write("new", 0, text.clone());
            let undo = as_if.commit(&new).unwrap().unwrap();
            let mut both = inverse.clone();
            both.append(new);
            store.commit(&both).unwrap();
            assert_eq!(content(&store)[OsStr::new("new")], text);
            assert_eq!(
                content(&store)[OsStr::new("a")],
                [b"0123456789", &text[..]].concat()
            );
            committed = undo;
        }
        let inverse = store.inverse(&committed).unwrap().unwrap();
        store.commit(&inverse).unwrap();
        assert_eq!(content(&store), before);
    }
}
