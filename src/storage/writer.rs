//! The one who appends to the journal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use super::directory::several_names;
use super::journal::{self, Content, RECORDS_AT};
use super::record::Record;
use super::{Directory, Error, OpenFile, Stamp, WritableFile};

/// So often is a journal looked for that its writer is just removing.
const TRIES: usize = 16;

/// The open journal and what is in it.
#[derive(Debug)]
pub(super) struct Writer {
    name: OsString,
    /// Whether the journal was not there before.
    pub(super) is_new: bool,
    /// `None` if the base is open to read only, or was closed.
    file: Option<Arc<dyn WritableFile>>,
    /// What a journal that is only read was like then.
    pub(super) seen: Option<Stamp>,
    pub(super) salt: u64,
    /// Where the next record goes.
    end: u64,
    /// Those that may not be in the base for certain.
    pub(super) records: Vec<Arc<Record>>,
    condition: Condition,
    /// How many transactions there ever were, and how many of them survive a
    /// power cut.
    pub(super) committed: u64,
    pub(super) synced: u64,
    /// Whether something is being laid behind the ends of files: meanwhile
    /// nothing else is committed.
    pub(super) is_staging: bool,
}

/// What has to be done before anything else is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Ready,
    /// A part of a record that failed lies past the end.
    CutBack,
    /// A sync failed: what it was to keep must be written again.
    WriteAgain,
    /// All is in the base, but it is not certain that the journal forgot it:
    /// records written over it might bring back some of it.
    BeginAnew,
}

impl Writer {
    /// Of a base that is only read.
    pub(super) fn closed(name: &OsStr) -> Writer {
        Writer {
            name: name.to_owned(),
            is_new: false,
            file: None,
            seen: None,
            salt: 0,
            end: RECORDS_AT,
            records: Vec::new(),
            condition: Condition::Ready,
            committed: 0,
            synced: 0,
            is_staging: false,
        }
    }

    /// Locks the journal, makes it if needed, and reads it.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`], [`Error::Untrusted`]; and as [`Content::read`].
    pub(super) fn open(directory: &dyn Directory, name: &OsStr) -> Result<Writer, Error> {
        let (file, is_new) = lock(directory, name)?;
        ensure_trusted(directory, name, file.as_ref())?;
        let content = Content::read(name, file.as_ref())?;
        let lens = content.records.iter().map(|record| record.bytes.len());
        Ok(Writer {
            is_new,
            file: Some(Arc::from(file)),
            salt: content.salt,
            end: RECORDS_AT + lens.sum::<usize>() as u64,
            committed: content.records.len() as u64,
            records: content.records,
            ..Writer::closed(name)
        })
    }

    /// Says who has the base; a journal without saves begins anew.
    ///
    /// It need not be synced: nothing whole lies in the journal that could
    /// come back.
    pub(super) fn take_over(&mut self, label: &str) -> Result<(), Error> {
        if self.records.is_empty() {
            self.write_new_header()?;
        }
        let file = self.file()?;
        journal::write_owner(file.as_ref(), label).map_err(Error::io(&self.name))
    }

    /// The open journal.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] if there is none.
    pub(super) fn file(&self) -> Result<Arc<dyn WritableFile>, Error> {
        self.file.clone().ok_or(Error::ReadOnly)
    }

    /// As [`file`](Writer::file), to append to: nothing else shares it.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]; [`Error::Io`], also if the journal was given
    /// another name meanwhile, as a backup does.
    pub(super) fn ensure_own(&self) -> Result<(), Error> {
        let stamp = self.file()?.stamp().map_err(Error::io(&self.name))?;
        if stamp.links > 1 {
            return Err(Error::io(&self.name)(several_names(stamp.links)));
        }
        Ok(())
    }

    /// Removes the journal, if all is in the base, and lets others write.
    pub(super) fn close(&mut self, directory: &dyn Directory) -> Result<(), Error> {
        self.make_ready()?;
        if self.file.is_some() && self.records.is_empty() {
            directory
                .remove(&self.name)
                .map_err(Error::io(&self.name))?;
            self.file = None;
        }
        Ok(())
    }

    /// Does what an earlier failure left to be done.
    pub(super) fn make_ready(&mut self) -> Result<(), Error> {
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

    /// Appends a record. After a failure it is as if nothing was tried.
    pub(super) fn append(&mut self, record: Arc<Record>) -> Result<(), Error> {
        let file = self.file()?;
        if let Err(error) = file.write_at(self.end, &record.bytes) {
            if file.set_len(self.end).is_err() {
                self.condition = Condition::CutBack;
            }
            return Err(Error::io(&self.name)(error));
        }
        self.end += record.bytes.len() as u64;
        self.committed += 1;
        self.records.push(record);
        Ok(())
    }

    /// A sync of the journal failed.
    pub(super) fn sync_failed(&mut self) {
        self.condition = Condition::WriteAgain;
    }

    /// All records are in the base for certain: forgets them.
    pub(super) fn forget(&mut self) -> Result<(), Error> {
        self.records.clear();
        self.synced = self.committed;
        self.begin_anew()
    }

    /// Begins the journal anew. Until that survives a power cut nothing may
    /// be written over the old records: some of them would stay, and undo
    /// what came later. The new salt makes all of them void at once.
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

    /// Writes all that is there once more, as it is.
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
        Ok(())
    }
}

/// Whether the journal or note `name` was left by somebody who may.
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

/// Opens the journal as the only one; whether it was made for that.
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
        // The one before may have removed it in between.
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
