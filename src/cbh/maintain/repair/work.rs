//! Collection of repairs, and their execution in transactions.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::Fix;
use crate::cbh::{ChangeError, FileKind, OpenBase};
use crate::game::Defect;
use crate::storage::{MOST_NAME, ReadBuffer, Storage, Transaction, cut_name};

/// Maximum number of backups of one file.
const MOST_BACKUPS: u32 = 10_000;

/// Block size for comparing files.
const BLOCK_BYTES: usize = 512;

/// Upper bound of the journal bytes for a write, in addition to its data.
const WRITE_BYTES: usize = 64;

/// A repair in progress.
pub(super) struct RepairWork<'b> {
    base: &'b OpenBase,
    /// The changes that are not committed yet.
    pub(super) transaction: Transaction,
    /// Total number of writes.
    pub(super) writes: usize,
    /// Journal size of the pending transaction, and its maximum.
    size: usize,
    at_once: usize,
    /// Files that the pending transaction changes.
    files: BTreeSet<FileKind>,
    /// Files that were backed up.
    backed_up: BTreeSet<FileKind>,
    repaired: Vec<Defect>,
    /// Damaged files that cannot be repaired: offset and description of the
    /// damage, and what that means.
    left: BTreeMap<FileKind, (u64, String)>,
    report: &'b mut dyn FnMut(Defect),
}

impl<'b> RepairWork<'b> {
    pub(super) fn new(
        base: &'b OpenBase,
        at_once: usize,
        report: &'b mut dyn FnMut(Defect),
    ) -> RepairWork<'b> {
        RepairWork {
            base,
            transaction: Transaction::new(),
            writes: 0,
            size: 0,
            at_once,
            files: BTreeSet::new(),
            backed_up: BTreeSet::new(),
            repaired: Vec::new(),
            left: BTreeMap::new(),
            report,
        }
    }

    fn write(&mut self, file: FileKind, offset: u64, bytes: Vec<u8>) -> Result<(), ChangeError> {
        let size = WRITE_BYTES + 2 * bytes.len();
        self.make_room(size)?;
        self.size += size;
        self.writes += 1;
        self.files.insert(file);
        self.transaction.write(self.name(file), offset, bytes);
        Ok(())
    }

    pub(super) fn add_repaired(&mut self, file: FileKind, offset: u64, what: String) {
        self.repaired.push(Defect {
            file: file.extension(),
            offset,
            what,
        });
    }

    /// Records that a file cannot be repaired.
    pub(super) fn leave(&mut self, file: FileKind, offset: u64, what: &str) {
        let what = format!(
            "{what}; it stays as it is, since its records do not agree with the games either"
        );
        self.left.insert(file, (offset, what));
    }

    /// Records that `.cbj` cannot be read.
    pub(super) fn leave_extended(&mut self, offset: u64, what: &str) {
        let what = format!(
            "{what}; teams and labels stay as they are, since only this file says which games \
             have them"
        );
        self.left.insert(FileKind::Extended, (offset, what));
    }

    /// Commits the remaining changes, and reports the files that cannot be
    /// repaired.
    pub(super) fn finish(mut self) -> Result<(), ChangeError> {
        self.commit()?;
        for (file, (offset, what)) in &self.left {
            let path = self.base.database.family().default_path(*file);
            let path = path.display();
            log::warn!("{path} at {offset:#x}: {what}");
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, fix: Fix) -> Result<(), ChangeError> {
        self.write(fix.file, fix.offset, fix.bytes)?;
        self.add_repaired(fix.file, fix.offset, fix.what);
        Ok(())
    }

    /// Writes the blocks in which a file has to change, in one transaction if
    /// they are not too many. Returns whether there are any.
    pub(super) fn rewrite(
        &mut self,
        file: FileKind,
        storage: &dyn Storage,
        bytes: &[u8],
    ) -> Result<bool, ChangeError> {
        let io = |source| self.base.database.io(file, source);
        let mut buffer = ReadBuffer::ahead();
        let mut changed = Vec::new();
        for (at, block) in (0..).step_by(BLOCK_BYTES).zip(bytes.chunks(BLOCK_BYTES)) {
            let stored = storage.read_up_to(at, block.len(), &mut buffer);
            if stored.map_err(io)? != block {
                changed.push((at, block));
            }
        }
        self.make_room(changed.len() * (WRITE_BYTES + 2 * BLOCK_BYTES))?;
        let is_changed = !changed.is_empty();
        for (at, block) in changed {
            self.write(file, at, block.to_vec())?;
        }
        Ok(is_changed)
    }

    /// Commits the pending changes if `size` more bytes do not fit.
    fn make_room(&mut self, size: usize) -> Result<(), ChangeError> {
        if self.size + size > self.at_once && self.size > 0 {
            self.commit()?;
        }
        Ok(())
    }

    /// Commits the pending changes. All files concerned are backed up before.
    pub(super) fn commit(&mut self) -> Result<(), ChangeError> {
        if self.files.is_empty() {
            return Ok(());
        }
        for file in std::mem::take(&mut self.files) {
            if !self.backed_up.contains(&file) {
                let name = self.name(file);
                let names = (1..MOST_BACKUPS).map(|number| backup_name(&name, number));
                self.base.store.copy(&name, names)?;
                self.backed_up.insert(file);
            }
        }
        let mut transaction = std::mem::take(&mut self.transaction);
        for booster in self.base.database.family().boosters() {
            transaction.remove(booster.file_name().unwrap_or_default());
        }
        self.size = 0;
        self.base.store.commit(&transaction)?;
        self.base.store.sync()?;
        self.repaired.drain(..).for_each(&mut *self.report);
        Ok(())
    }

    fn name(&self, file: FileKind) -> OsString {
        let path = self.base.database.family().default_path(file);
        path.file_name().unwrap_or_default().to_owned()
    }
}

/// Name of a backup: `base.cbp.before-repair`, then `base.cbp.before-repair.2`.
/// A stem that is too long is truncated.
fn backup_name(name: &OsStr, number: u32) -> OsString {
    let (stem, extension) = split_at_extension(name);
    let mut ending = extension.to_owned();
    ending.push(".before-repair");
    if number > 1 {
        ending.push(format!(".{number}"));
    }
    let mut copy = cut_name(stem, MOST_NAME.saturating_sub(ending.len()));
    copy.push(ending);
    copy
}

/// Splits `base.cbp` into `base` and `.cbp`.
fn split_at_extension(name: &OsStr) -> (&OsStr, &OsStr) {
    let bytes = name.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'.');
    let (stem, extension) = bytes.split_at(at.unwrap_or(bytes.len()));
    (OsStr::from_bytes(stem), OsStr::from_bytes(extension))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::samples;
    use crate::storage::StoreAccess;

    #[test]
    fn a_file_that_cannot_be_repaired_is_left_with_the_reason() {
        let (_folder, path) = samples::copy_of("sample");
        let access = StoreAccess::ReadWrite;
        let base = OpenBase::open(&path, &Options::default(), access, "").unwrap();
        let mut report = |_| {};
        let mut work = RepairWork::new(&base, 1, &mut report);
        work.leave(FileKind::Players, 4, "no tree");
        work.leave_extended(7, "no file");
        let left = |file| work.left.get(&file).cloned().unwrap();
        let (at, what) = left(FileKind::Players);
        assert!(at == 4 && what.starts_with("no tree; it stays as it is"));
        let (at, what) = left(FileKind::Extended);
        assert!(at == 7 && what.starts_with("no file; teams and labels stay"));
    }

    #[test]
    fn writes_are_committed_together_as_far_as_they_fit() {
        let bytes = vec![0; 4];
        let size = WRITE_BYTES + 2 * bytes.len();
        for (at_once, wanted) in [
            (2 * size, [0, 0, 2, 3]),
            (2 * size - 1, [0, 1, 2, 3]),
            (3 * size, [0, 0, 0, 3]),
            (0, [0, 1, 2, 3]),
        ] {
            let (folder, path) = samples::copy_of("sample");
            let access = StoreAccess::ReadWrite;
            let base = OpenBase::open(&path, &Options::default(), access, "").unwrap();
            let told = Cell::new(0);
            let mut report = |_| told.set(told.get() + 1);
            let mut work = RepairWork::new(&base, at_once, &mut report);
            let mut found = Vec::new();
            for offset in [100, 200, 300] {
                work.apply(Fix {
                    file: FileKind::Players,
                    offset,
                    bytes: bytes.clone(),
                    what: String::new(),
                })
                .unwrap();
                found.push(told.get());
            }
            assert_eq!(work.writes, 3);
            work.finish().unwrap();
            found.push(told.get());
            assert_eq!(found, wanted, "{at_once}");
            base.store.close().unwrap();
            let repaired = std::fs::read(path.with_extension("cbp")).unwrap();
            for at in [100, 200, 300] {
                assert_eq!(repaired[at..at + 4], bytes);
            }
            let names = std::fs::read_dir(folder.path()).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name());
            let is_copy = |name: &OsString| name.to_string_lossy().contains(".before-repair");
            assert_eq!(names.filter(is_copy).count(), 1);
        }
    }

    #[test]
    fn backup_names_are_valid_file_names() {
        let copy = |name: &str, number| backup_name(OsStr::new(name), number);
        assert_eq!(copy("b.cbp", 1), "b.cbp.before-repair");
        assert_eq!(copy("b.cbp", 2), "b.cbp.before-repair.2");
        let long = format!("{}.cbtt", "\u{e9}".repeat(125));
        for number in [1, 2, 99] {
            let copy = copy(&long, number).into_string().unwrap();
            assert!((254..=255).contains(&copy.len()), "{}", copy.len());
            assert!(copy.starts_with("\u{e9}\u{e9}") && copy.contains("\u{e9}.cbtt.before-repair"));
        }
    }
}
