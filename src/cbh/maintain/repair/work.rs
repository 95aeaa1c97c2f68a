//! What is to be done to a base, and doing it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::Mend;
use crate::cbh::{ChangeError, FileKind, OpenBase};
use crate::game::Defect;
use crate::storage::{MOST_NAME, ReadBuffer, Storage, Transaction, cut_name};

/// So many copies of one file are kept at most.
const MOST_COPIES: u32 = 10_000;

/// Files are compared in blocks of this size.
const BLOCK_BYTES: usize = 512;

/// What a write takes in the journal beside its bytes, and more.
const WRITE_BYTES: usize = 64;

/// A repair that is under way.
pub(super) struct Work<'b> {
    base: &'b OpenBase,
    /// What is to be done.
    pub(super) transaction: Transaction,
    /// How many writes there were in all.
    pub(super) writes: usize,
    /// Bytes of the journal that it takes, and no more than these at once.
    size: usize,
    at_once: usize,
    /// The files that change,
    files: BTreeSet<FileKind>,
    /// and those that were copied.
    copied: BTreeSet<FileKind>,
    mended: Vec<Defect>,
    /// Damaged files that cannot be mended, with what is wrong, and where.
    left: BTreeMap<FileKind, (u64, String)>,
    report: &'b mut dyn FnMut(Defect),
}

impl<'b> Work<'b> {
    pub(super) fn new(
        base: &'b OpenBase,
        at_once: usize,
        report: &'b mut dyn FnMut(Defect),
    ) -> Work<'b> {
        Work {
            base,
            transaction: Transaction::new(),
            writes: 0,
            size: 0,
            at_once,
            files: BTreeSet::new(),
            copied: BTreeSet::new(),
            mended: Vec::new(),
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

    pub(super) fn told(&mut self, file: FileKind, offset: u64, what: String) {
        self.mended.push(Defect {
            file: file.extension(),
            offset,
            what,
        });
    }

    /// Notes that a file cannot be mended.
    pub(super) fn leave(&mut self, file: FileKind, offset: u64, what: String) {
        self.left.insert(file, (offset, what));
    }

    /// Does the rest, and says which files cannot be mended.
    pub(super) fn finish(mut self) -> Result<(), ChangeError> {
        self.commit()?;
        for (file, (offset, what)) in &self.left {
            let path = self.base.database.family().default_path(*file);
            let path = path.display();
            log::warn!(
                "{path} at {offset:#x}: {what}; it stays as it is, since its records do not \
                 agree with the games either"
            );
        }
        Ok(())
    }

    pub(super) fn mend(&mut self, mend: Mend) -> Result<(), ChangeError> {
        self.write(mend.file, mend.offset, mend.bytes)?;
        self.told(mend.file, mend.offset, mend.what);
        Ok(())
    }

    /// Writes the blocks in which a file is to be another; whether there are
    /// any. All of them at once, if there are not too many.
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

    /// Does what is to be done so far, if there is no room for so much more.
    fn make_room(&mut self, size: usize) -> Result<(), ChangeError> {
        if self.size + size > self.at_once && self.size > 0 {
            self.commit()?;
        }
        Ok(())
    }

    /// Does what is to be done. Nothing is changed before all files that it
    /// concerns were copied.
    pub(super) fn commit(&mut self) -> Result<(), ChangeError> {
        if self.files.is_empty() {
            return Ok(());
        }
        for file in std::mem::take(&mut self.files) {
            if !self.copied.contains(&file) {
                let name = self.name(file);
                let names = (1..MOST_COPIES).map(|number| name_of_copy(&name, number));
                self.base.store.copy(&name, names)?;
                self.copied.insert(file);
            }
        }
        let mut transaction = std::mem::take(&mut self.transaction);
        for booster in self.base.database.family().boosters() {
            transaction.remove(booster.file_name().unwrap_or_default());
        }
        self.size = 0;
        self.base.store.commit(&transaction)?;
        self.base.store.sync()?;
        self.mended.drain(..).for_each(&mut *self.report);
        Ok(())
    }

    fn name(&self, file: FileKind) -> OsString {
        let path = self.base.database.family().default_path(file);
        path.file_name().unwrap_or_default().to_owned()
    }
}

/// `base.cbp.before-repair`, then `base.cbp.before-repair.2`; a stem that
/// leaves no room for that is cut.
fn name_of_copy(name: &OsStr, number: u32) -> OsString {
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

/// `base` and `.cbp` of `base.cbp`.
fn split_at_extension(name: &OsStr) -> (&OsStr, &OsStr) {
    let bytes = name.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b'.');
    let (stem, extension) = bytes.split_at(at.unwrap_or(bytes.len()));
    (OsStr::from_bytes(stem), OsStr::from_bytes(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_are_names_of_files() {
        let copy = |name: &str, number| name_of_copy(OsStr::new(name), number);
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
