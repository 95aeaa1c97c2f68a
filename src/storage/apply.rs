//! Writes the transactions of the journal into the files of the base.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use super::record::{Action, JournalRecord};
use super::{Directory, Error, Stamp, WritableFile};

/// The first bytes of a new file are written after the others, because programs
/// recognize the file by them.
const FIRST_BYTES: u64 = 512;

/// Writes records into the files of a base.
///
/// The order: first, files are removed, such as search caches that would be
/// stale. Then appended bytes are written and synced. The bytes that point to
/// them come last. So a program that does not know the journal still finds all
/// unchanged games after a power cut, though not the changed ones.
///
/// All of it can be repeated after any failure or crash, with the same result.
#[derive(Debug)]
pub(super) struct Application<'a> {
    directory: &'a dyn Directory,
    files: BTreeMap<OsString, Box<dyn WritableFile>>,
    has_changed_names: bool,
}

impl<'a> Application<'a> {
    pub(super) fn new(directory: &'a dyn Directory) -> Application<'a> {
        Application {
            directory,
            files: BTreeMap::new(),
            has_changed_names: false,
        }
    }

    /// Applies the records. When it returns, they survive a power cut.
    pub(super) fn run(&mut self, records: &[Arc<JournalRecord>]) -> Result<(), Error> {
        let effects = effects(records);
        self.remove(&effects)?;
        for is_behind in [true, false] {
            for record in records {
                for step in &record.steps {
                    let name = record.file(step);
                    let effect = name.and_then(|name| Some((name, effects.get(name)?)));
                    if let Some((name, effect)) = effect {
                        let done = self.step(name, &step.action, record, *effect, is_behind);
                        done.map_err(Error::io(name))?;
                    }
                }
            }
            self.sync_files()?;
        }
        self.sync_names()
    }

    /// Removes the files for which the records do nothing but remove them.
    fn remove(&mut self, effects: &BTreeMap<&OsStr, Effect>) -> Result<(), Error> {
        for (name, effect) in effects {
            if *effect == Effect::Goes {
                let io = Error::io(name);
                self.has_changed_names |= self.directory.stamp(name).map_err(&io)?.is_some();
                self.remove_file(name).map_err(io)?;
            }
        }
        self.sync_names()
    }

    fn sync_files(&self) -> Result<(), Error> {
        for (name, file) in &self.files {
            file.sync().map_err(Error::io(name))?;
        }
        Ok(())
    }

    fn sync_names(&mut self) -> Result<(), Error> {
        if self.has_changed_names {
            self.directory.sync().map_err(Error::io(OsStr::new(".")))?;
        }
        self.has_changed_names = false;
        Ok(())
    }

    fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        match self.directory.remove(name) {
            // A folder with the name of a search cache is left alone.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the stamp of a file after the last write; `None` if the file
    /// does not exist, or was only looked for.
    pub(super) fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        self.files.get(name).map(|file| file.stamp()).transpose()
    }

    /// Applies a step: either the part behind the former end of the file
    /// (`is_behind`), or all but that part.
    fn step(
        &mut self,
        name: &OsStr,
        action: &Action,
        record: &JournalRecord,
        effect: Effect,
        is_behind: bool,
    ) -> io::Result<()> {
        let grows = matches!(effect, Effect::Grows(_));
        match action {
            Action::Write { offset, new, .. } => {
                let (at, bytes) = part_of(*offset, record.part(new), effect, is_behind);
                if bytes.is_empty() {
                    return Ok(());
                }
                self.file(name)?.write_at(at, bytes)
            }
            Action::Create if is_behind == grows => {
                // Its name may not have been synced when this was done before a
                // crash.
                self.has_changed_names = true;
                self.file(name)?.set_len(0)
            }
            Action::Remove if !is_behind => {
                self.has_changed_names = true;
                self.files.remove(name);
                self.remove_file(name)
            }
            Action::SetLen(len) if !is_behind => self.file(name)?.set_len(*len),
            Action::Create | Action::Remove | Action::SetLen(_) => Ok(()),
        }
    }

    /// Returns the file to write. If it does not exist, it is created: a record
    /// creates it, or a later one removed it before a crash.
    fn file(&mut self, name: &OsStr) -> io::Result<&dyn WritableFile> {
        if !self.files.contains_key(name) {
            let file = match self.directory.open_writable(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.has_changed_names = true;
                    self.directory.create(name)?
                }
                opened => opened?,
            };
            self.files.insert(name.to_owned(), file);
        }
        let file = self.files.get(name).map(AsRef::as_ref);
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The effect of all records on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The file is only removed.
    Goes,
    /// The file is only written. No reader looks at the bytes from this offset
    /// on before the sync.
    Grows(u64),
    /// Any other combination.
    Other,
}

/// Returns the part of a write behind the former end of the file (`is_behind`),
/// or the rest, with its offset.
fn part_of(offset: u64, bytes: &[u8], effect: Effect, is_behind: bool) -> (u64, &[u8]) {
    let end = match effect {
        Effect::Grows(end) => end,
        Effect::Goes | Effect::Other => u64::MAX,
    };
    let before = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
    let (before, behind) = bytes.split_at(before.min(bytes.len()));
    if is_behind {
        (offset.max(end), behind)
    } else {
        (offset, before)
    }
}

fn effects(records: &[Arc<JournalRecord>]) -> BTreeMap<&OsStr, Effect> {
    let mut effects = BTreeMap::new();
    for record in records {
        for step in &record.steps {
            let Some(before) = record.files.get(step.file) else {
                continue;
            };
            let end = before.len.unwrap_or(FIRST_BYTES);
            let alone = match &step.action {
                Action::Remove => Effect::Goes,
                Action::Create if before.len.is_none() => Effect::Grows(end),
                Action::Write { .. } => Effect::Grows(end),
                Action::Create | Action::SetLen(_) => Effect::Other,
            };
            effects
                .entry(before.name.as_os_str())
                .and_modify(|effect| {
                    *effect = match (*effect, alone) {
                        (Effect::Goes, Effect::Goes) => Effect::Goes,
                        (Effect::Grows(end), Effect::Grows(_)) => Effect::Grows(end),
                        _ => Effect::Other,
                    }
                })
                .or_insert(alone);
        }
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::record::PresentFiles;
    use crate::storage::{MemoryDirectory, SimulatedFailure, Transaction};

    /// A folder in which all files but new ones have ten bytes.
    struct Old;

    impl PresentFiles for Old {
        fn len(&self, file: &OsStr) -> Result<Option<u64>, Error> {
            Ok((file != "new").then_some(10))
        }

        fn read(&self, _: &OsStr, _: u64, len: usize) -> Result<Vec<u8>, Error> {
            Ok(vec![7; len])
        }
    }

    fn record(changes: impl FnOnce(&mut Transaction)) -> Arc<JournalRecord> {
        let mut transaction = Transaction::new();
        changes(&mut transaction);
        let record = JournalRecord::encode(&transaction, 1, 0, &Old);
        Arc::new(record.unwrap().unwrap())
    }

    #[test]
    fn what_records_do_to_a_file_together_says_when_it_is_written() {
        let removal = || record(|save| save.remove("a"));
        let write = || record(|save| save.write("a", 8, *b"1234"));
        let cut = || record(|save| save.set_len("a", 3));
        for (records, wanted) in [
            ([removal(), removal()], Effect::Goes),
            ([write(), write()], Effect::Grows(10)),
            ([removal(), write()], Effect::Other),
            ([write(), removal()], Effect::Other),
            ([write(), cut()], Effect::Other),
            ([cut(), cut()], Effect::Other),
        ] {
            assert_eq!(effects(&records)[OsStr::new("a")], wanted);
        }
        let new = [record(|save| save.create("new"))];
        assert_eq!(effects(&new)[OsStr::new("new")], Effect::Grows(FIRST_BYTES));
        let directory = MemoryDirectory::new();
        directory.put("a", *b"old");
        Application::new(&directory)
            .run(&[removal(), removal()])
            .unwrap();
        assert!(directory.files().is_empty());
    }

    #[test]
    fn what_is_appended_is_durable_before_anything_else_changes() {
        let records = [record(|save| {
            save.remove("a");
            save.create("a");
            save.write("a", 0, *b"text");
            save.set_len("b", 3);
            save.create("new");
            save.write("c", 8, *b"abcd");
        })];
        let directory = MemoryDirectory::new();
        for name in ["a", "b", "c"] {
            directory.put(name, *b"0123456789");
        }
        let files = |directory: &MemoryDirectory| {
            let files = directory.files().into_values();
            files
                .map(|bytes| String::from_utf8(bytes).unwrap())
                .collect::<Vec<_>>()
        };
        // The new file is made, the other one written, and then its sync fails.
        directory.fail_at(directory.operations() + 3, SimulatedFailure::PASSING[0]);
        Application::new(&directory).run(&records).unwrap_err();
        let appended = ["0123456789", "0123456789", "0123456789cd", ""];
        assert_eq!(files(&directory), appended);
        directory.heal();
        Application::new(&directory).run(&records).unwrap();
        let whole = ["text", "012", "01234567abcd", ""];
        assert_eq!(files(&directory.after_power_cut(|_| false)), whole);
    }

    #[test]
    fn removals_survive_a_power_cut() {
        let directory = MemoryDirectory::new();
        directory.put("a", *b"old");
        directory.put("b", *b"old");
        let records = [record(|save| {
            save.remove("a");
            save.remove("b");
        })];
        Application::new(&directory).run(&records).unwrap();
        assert!(directory.after_power_cut(|_| false).files().is_empty());
    }
}
