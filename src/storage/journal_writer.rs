//! The writer of the journal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use super::directory::several_names;
use super::journal::{self, JournalContent, RECORDS_AT};
use super::record::JournalRecord;
use super::{Directory, Error, OpenFile, Stamp, WritableFile};

/// Number of attempts to lock a journal that its former writer may just be
/// removing.
const TRIES: usize = 16;

/// The open journal and its records.
#[derive(Debug)]
pub(super) struct JournalWriter {
    name: OsString,
    /// Whether the journal was created by this writer.
    pub(super) is_new: bool,
    /// `None` if the base is open for reading only, or was closed.
    file: Option<Arc<dyn WritableFile>>,
    /// Stamp of a journal that is only read, at the time of reading.
    pub(super) seen: Option<Stamp>,
    pub(super) salt: u64,
    /// The bytes of this writer in the journal, written when it takes it over.
    owner: Vec<u8>,
    /// Offset of the next record.
    end: u64,
    /// Records that may not be in the files of the base yet.
    pub(super) records: Vec<Arc<JournalRecord>>,
    condition: Condition,
    /// Number of transactions so far.
    pub(super) committed: u64,
    pub(super) synced: u64,
    /// Whether a stage is open. No other transaction can be committed then.
    pub(super) is_staging: bool,
    /// The files of a stage that could not be undone: that comes before all else.
    pub(super) left_staged: Vec<OsString>,
}

/// The work that must precede the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Ready,
    /// Cut off a part of a failed record behind the end.
    CutBack,
    /// Write the records again, because a sync failed.
    WriteAgain,
    /// Begin the journal anew. All records are in the base, but the journal may
    /// still contain them on the medium: new records written over them could
    /// restore some.
    BeginAnew,
}

impl JournalWriter {
    /// The writer of a base that is open for reading only.
    pub(super) fn closed(name: &OsStr) -> JournalWriter {
        JournalWriter {
            name: name.to_owned(),
            is_new: false,
            file: None,
            seen: None,
            salt: 0,
            owner: Vec::new(),
            end: RECORDS_AT,
            records: Vec::new(),
            condition: Condition::Ready,
            committed: 0,
            synced: 0,
            is_staging: false,
            left_staged: Vec::new(),
        }
    }

    /// Locks the journal, creates it if needed, and reads it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`], [`Error::Untrusted`]; and as [`JournalContent::read`].
    pub(super) fn open(directory: &dyn Directory, name: &OsStr) -> Result<JournalWriter, Error> {
        let (file, is_new) = lock(directory, name)?;
        ensure_trusted(directory, name, file.as_ref())?;
        let mut writer = JournalWriter {
            is_new,
            file: Some(Arc::from(file)),
            ..JournalWriter::closed(name)
        };
        writer.read()?;
        Ok(writer)
    }

    /// Takes the records that the journal has.
    fn read(&mut self) -> Result<(), Error> {
        let JournalContent { salt, records } =
            JournalContent::read(&self.name, self.file()?.as_ref())?;
        let bytes: usize = records.iter().map(|record| record.bytes.len()).sum();
        self.salt = salt;
        self.end = RECORDS_AT + bytes as u64;
        self.committed = records.len() as u64;
        self.records = records;
        Ok(())
    }

    /// Records this process as the writer, and takes the records that another one,
    /// which the lock did not keep out, has appended until then: it refuses what
    /// comes later.
    ///
    /// It need not be synced: the journal has no complete record that could
    /// come back.
    pub(super) fn take_over(&mut self, label: &str) -> Result<(), Error> {
        self.owner = journal::encode_owner(label);
        let file = self.file()?;
        journal::write_owner(file.as_ref(), &self.owner).map_err(Error::io(&self.name))?;
        // A header without records may be damaged, which does not matter.
        let len = file.len().map_err(Error::io(&self.name))?;
        if len > RECORDS_AT || !self.records.is_empty() {
            self.read()?;
        }
        Ok(())
    }

    /// Begins a journal without records anew.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        if self.records.is_empty() {
            self.write_new_header()?;
        }
        Ok(())
    }

    /// Returns the open journal.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] if there is none.
    pub(super) fn file(&self) -> Result<Arc<dyn WritableFile>, Error> {
        self.file.clone().ok_or(Error::ReadOnly)
    }

    /// Checks that the journal is open for appending, still has its name, and is still
    /// this writer's.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::TakenOver`]; [`Error::Io`], also if the journal was
    /// renamed meanwhile, as by a backup.
    pub(super) fn ensure_own(&self) -> Result<(), Error> {
        let stamp = self.file()?.stamp().map_err(Error::io(&self.name))?;
        if stamp.links > 1 {
            return Err(Error::io(&self.name)(several_names(stamp.links)));
        }
        self.ensure_not_taken_over()
    }

    /// Checks that no other writer has taken the journal over. The lock does not keep
    /// out one that reaches the folder by another file system, such as one of the
    /// network. Each writer records itself before it changes anything else.
    ///
    /// # Errors
    ///
    /// [`Error::TakenOver`]; [`Error::ReadOnly`]; [`Error::Io`].
    pub(super) fn ensure_not_taken_over(&self) -> Result<(), Error> {
        let file = self.file()?;
        let owner = journal::read_owner(file.as_ref()).map_err(Error::io(&self.name))?;
        if owner == self.owner {
            return Ok(());
        }
        let (pid, label) = journal::decode_owner(&owner);
        Err(Error::TakenOver { pid, label })
    }

    /// Removes the journal, if all is in the base, and releases the lock. That of
    /// another writer stays.
    pub(super) fn close(&mut self, directory: &dyn Directory) -> Result<(), Error> {
        if self.file.is_some()
            && let Err(Error::TakenOver { .. }) = self.ensure_not_taken_over()
        {
            self.file = None;
            return Ok(());
        }
        self.make_ready()?;
        if self.file.is_some() && self.records.is_empty() {
            directory
                .remove(&self.name)
                .map_err(Error::io(&self.name))?;
            self.file = None;
        }
        Ok(())
    }

    /// Does the work that an earlier failure left.
    pub(super) fn make_ready(&mut self) -> Result<(), Error> {
        if self.condition != Condition::Ready {
            self.ensure_not_taken_over()?;
        }
        let done = match self.condition {
            Condition::Ready => Ok(()),
            Condition::CutBack => self.file()?.set_len(self.end),
            Condition::WriteAgain => self.write_again(),
            Condition::BeginAnew => return self.begin_anew(),
        };
        done.map_err(Error::io(&self.name))?;
        self.condition = Condition::Ready;
        Ok(())
    }

    /// Appends a record. After a failure the journal is as before.
    pub(super) fn append(&mut self, record: Arc<JournalRecord>) -> Result<(), Error> {
        let file = self.file()?;
        if let Err(error) = file.write_at(self.end, &record.bytes) {
            if file.set_len(self.end).is_err() {
                self.condition = Condition::CutBack;
            }
            return Err(Error::io(&self.name)(error));
        }
        // One that another writer took over meanwhile keeps no record.
        if let Err(taken @ Error::TakenOver { .. }) = self.ensure_not_taken_over() {
            return Err(taken);
        }
        self.end += record.bytes.len() as u64;
        self.committed += 1;
        self.records.push(record);
        Ok(())
    }

    /// Notes that a sync of the journal failed.
    pub(super) fn sync_failed(&mut self) {
        self.condition = Condition::WriteAgain;
    }

    /// Empties the journal, because all records are durable in the base.
    pub(super) fn forget(&mut self) -> Result<(), Error> {
        self.records.clear();
        self.synced = self.committed;
        self.begin_anew()
    }

    /// Begins the journal anew with a new salt, which invalidates all old
    /// records at once. Until that is durable, nothing may be written over
    /// them: some would stay valid and undo later changes.
    fn begin_anew(&mut self) -> Result<(), Error> {
        self.condition = Condition::BeginAnew;
        self.write_new_header()?;
        self.file()?.sync().map_err(Error::io(&self.name))?;
        self.condition = Condition::Ready;
        Ok(())
    }

    fn write_new_header(&mut self) -> Result<(), Error> {
        let io = Error::io(&self.name);
        let file = self.file()?;
        let salt = journal::new_salt();
        let header = journal::encode_header(&self.name, salt);
        file.write_at(0, &header).map_err(&io)?;
        file.set_len(RECORDS_AT).map_err(&io)?;
        self.salt = salt;
        self.end = RECORDS_AT;
        Ok(())
    }

    /// Writes all records again, unchanged, and nothing else.
    fn write_again(&self) -> io::Result<()> {
        let Ok(file) = self.file() else {
            return Ok(());
        };
        file.write_at(0, &journal::encode_header(&self.name, self.salt))?;
        let mut at = RECORDS_AT;
        for record in &self.records {
            file.write_at(at, &record.bytes)?;
            at += record.bytes.len() as u64;
        }
        // A part of a record that was refused may stand behind them.
        file.set_len(self.end)
    }
}

/// Checks that a permitted user left the journal or note `name`.
///
/// # Errors
///
/// [`Error::Untrusted`] if not; [`Error::Io`].
pub(super) fn ensure_trusted(
    directory: &dyn Directory,
    name: &OsStr,
    file: &dyn OpenFile,
) -> Result<(), Error> {
    let stamp = file.stamp();
    let trusted = stamp.and_then(|stamp| directory.ensure_trusted(&stamp));
    trusted.map_err(Error::of_journal(name))
}

/// Opens and locks the journal. Returns whether it was created.
fn lock(directory: &dyn Directory, name: &OsStr) -> Result<(Box<dyn WritableFile>, bool), Error> {
    let io = Error::of_journal(name);
    for _ in 0..TRIES {
        let (file, is_new) = match directory.open_writable(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (directory.create(name), true),
            opened => (opened, false),
        };
        let file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file.map_err(&io)?,
        };
        if !file.try_lock().map_err(&io)? {
            return Err(journal::in_use(file.as_ref()));
        }
        // The former writer may have removed it in between.
        let ours = file.stamp().map_err(&io)?;
        let named = directory.stamp(name).map_err(&io)?;
        if named.is_some_and(|named| named.is_same_file(&ours)) {
            return Ok((file, is_new));
        }
    }
    Err(Error::InUse {
        pid: None,
        label: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::record::PresentFiles;
    use crate::storage::{MemoryDirectory, SimulatedFailure, Store, Transaction};

    const NAME: &str = ".x.cbfs-journal";

    /// A folder without files.
    struct Empty;

    impl PresentFiles for Empty {
        fn len(&self, _: &OsStr) -> Result<Option<u64>, Error> {
            Ok(None)
        }

        fn read(&self, _: &OsStr, _: u64, _: usize) -> Result<Vec<u8>, Error> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_journal_that_is_opened_again_goes_on_after_its_records() {
        let directory = MemoryDirectory::new();
        for (former, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            let mut writer = JournalWriter::open(&directory, OsStr::new(NAME)).unwrap();
            assert_eq!(writer.records.len(), former);
            writer.take_over("").unwrap();
            writer.begin().unwrap();
            let mut change = Transaction::new();
            change.create(name);
            let record =
                JournalRecord::encode(&change, former as u64 + 1, writer.salt, &Empty).unwrap();
            writer.append(Arc::new(record.unwrap())).unwrap();
        }
    }

    #[test]
    fn a_base_that_could_not_be_opened_is_left_without_a_journal() {
        let full = SimulatedFailure {
            errno: libc::ENOSPC,
            writes_half: true,
            lasts: false,
        };
        let mut failures = 0;
        loop {
            let directory = MemoryDirectory::new();
            directory.fail_at(failures, full);
            if Store::of_any_files(&directory).is_ok() {
                break;
            }
            assert!(directory.files().is_empty(), "{failures}");
            failures += 1;
        }
        assert!(failures > 1);
    }
}
