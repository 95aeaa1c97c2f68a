//! The files of a base, with reads and atomic saves.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::apply::Application;
use super::directory::several_names;
use super::fit::misfit;
use super::journal::JournalContent;
use super::journal_writer::{JournalWriter, ensure_trusted};
use super::record::{Action, JournalRecord, PresentFiles, is_plain_name};
use super::stage::{self, Stage};
use super::view::{FileView, Seen};
use super::{Directory, Error, OpenFile, Storage, Transaction};

#[cfg(test)]
mod tests;

/// With more bytes of records in the journal, the next commit syncs first.
const MAX_PENDING: u64 = 64 << 20;

/// Number of attempts to read the journal of a live writer without a change in
/// between.
const TRIES: usize = 8;

/// The access that a base is opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreAccess {
    /// Reading and writing; one process at a time.
    ReadWrite,
    /// Reading only, by any number of processes, also beside a writer. Nothing
    /// on the medium is changed.
    ReadOnly,
    /// Reading only, without the changes in the journal.
    WithoutJournal,
}

/// The condition for the name of a file to be one of the base's.
#[derive(Clone)]
pub struct FileFilter(Arc<dyn Fn(&OsStr) -> bool + Send + Sync>);

impl FileFilter {
    /// Accepts the names for which `belongs` is true.
    pub fn new(belongs: impl Fn(&OsStr) -> bool + Send + Sync + 'static) -> FileFilter {
        FileFilter(Arc::new(belongs))
    }

    /// Returns whether a file of this name may belong to the base.
    pub fn has(&self, name: &OsStr) -> bool {
        (self.0)(name)
    }
}

impl fmt::Debug for FileFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileFilter").finish_non_exhaustive()
    }
}

/// Options for opening a base.
#[derive(Clone, Debug)]
pub struct StoreOptions<'a> {
    /// Name of its journal.
    pub journal: &'a OsStr,
    /// A label that a second writer is shown, such as the mountpoint.
    pub label: &'a str,
    /// Whether it is to be changed.
    pub access: StoreAccess,
    /// The files that the base may have. A journal that names any other is
    /// rejected: anyone who can write to the folder could have made it.
    pub file_filter: FileFilter,
}

/// The files of one base, including the saves that are only in the journal.
/// [`journal`](super::journal) describes its layout.
///
/// A save is first appended to the journal ([`commit`](Store::commit)). From
/// then on it survives the end of the process, and reads show it. The files of
/// the base are changed only after the journal is durable
/// ([`sync`](Store::sync)), and the journal is emptied only after the files are
/// durable. So the base can be recovered at any time, and is when it is opened.
///
/// Reads take no lock that is held during a wait for a medium. A single read of
/// a file never sees a part of a transaction; for several reads see
/// [`epoch`](Store::epoch).
#[derive(Debug)]
pub struct Store {
    directory: Arc<dyn Directory>,
    journal: OsString,
    file_filter: FileFilter,
    access: StoreAccess,
    files: RwLock<BTreeMap<OsString, Arc<FileView>>>,
    writer: Mutex<JournalWriter>,
    /// Held by the thread that syncs.
    turn: Mutex<()>,
    /// Number of changes of what the files show; locked during a change.
    epoch: Mutex<u64>,
    /// Number of saves, incremented before a save is shown.
    saves: AtomicU64,
    /// Number of bytes of records in the journal.
    pending: AtomicU64,
    /// Whether the name of the journal survives a power cut.
    is_named: AtomicBool,
}

impl Store {
    /// Opens the base in `directory`. Saves that a crash left in its journal
    /// are first written to its files or, for reading only, laid over them.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] if another process has it open for writing;
    /// [`Error::DoesNotFit`], [`Error::Unreadable`] or [`Error::Untrusted`] if
    /// its journal cannot be used (it is not touched); [`Error::Io`].
    pub fn open(directory: Arc<dyn Directory>, opening: &StoreOptions<'_>) -> Result<Store, Error> {
        if opening.access != StoreAccess::ReadWrite {
            let store = Store::of(directory, JournalWriter::closed(opening.journal), opening);
            store.load()?;
            return Ok(store);
        }
        let writer = JournalWriter::open(directory.as_ref(), opening.journal)?;
        let is_new = writer.is_new;
        let store = Store::of(directory, writer, opening);
        if let Err(error) = store.recover(opening) {
            if is_new {
                // The journal is empty, and nothing depends on its removal.
                let _ = store.directory.remove(opening.journal);
            }
            return Err(error);
        }
        Ok(store)
    }

    /// Becomes the writer of the base and writes the saves that a crash left in
    /// the journal to its files.
    fn recover(&self, opening: &StoreOptions<'_>) -> Result<(), Error> {
        let records = {
            let mut writer = self.writer();
            let directory = self.directory.as_ref();
            // Before anything is changed.
            ensure_fit(directory, opening, &writer.records)?;
            writer.take_over(opening.label)?;
            ensure_fit(directory, opening, &writer.records)?;
            // A stage begins with an empty journal, so a record in it was made
            // for the stage.
            if writer.records.is_empty() {
                stage::clean_up(directory, opening.journal, &opening.file_filter)?;
            }
            writer.begin()?;
            writer.records.clone()
        };
        self.publish(&records)?;
        self.sync()
    }

    fn of(
        directory: Arc<dyn Directory>,
        writer: JournalWriter,
        opening: &StoreOptions<'_>,
    ) -> Store {
        Store {
            directory,
            journal: opening.journal.to_owned(),
            access: opening.access,
            file_filter: opening.file_filter.clone(),
            files: RwLock::default(),
            writer: Mutex::new(writer),
            turn: Mutex::default(),
            epoch: Mutex::default(),
            saves: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            is_named: AtomicBool::new(false),
        }
    }

    /// Returns the file `name`, which shows all later commits; `None` if it
    /// does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<Arc<dyn Storage>>, Error> {
        let name = name.as_ref();
        let file = self.watched(name)?;
        let len = file.len_if_there(self.directory.as_ref());
        let is_there = len.map_err(Error::io(name))?.is_some();
        Ok(is_there.then_some(file as Arc<dyn Storage>))
    }

    /// Commits a transaction. When this returns, all files show it, and it
    /// survives the end of this process; after [`sync`](Store::sync) also a power
    /// cut. On an error nothing has changed. Returns whether anything changed.
    ///
    /// # Errors
    ///
    /// [`Error::ChangedOutside`] if another program changed a file that was
    /// looked at through this store: [`refresh`](Store::refresh) it and read
    /// anew; [`Error::Invalid`], [`Error::ReadOnly`]; [`Error::Io`], also if
    /// there is no room, or a file has several names.
    pub fn commit(&self, transaction: &Transaction) -> Result<bool, Error> {
        self.commit_when(transaction, false)
    }

    /// As [`commit`](Store::commit), for the transaction of a stage.
    pub(super) fn commit_staged(&self, transaction: &Transaction) -> Result<bool, Error> {
        self.commit_when(transaction, true)
    }

    fn commit_when(&self, transaction: &Transaction, is_staging: bool) -> Result<bool, Error> {
        for change in transaction.changes() {
            if is_plain_name(change.file()) {
                self.watched(change.file())?;
            }
        }
        let mut writer = self.writer();
        while self.pending() > MAX_PENDING {
            drop(writer);
            self.sync()?;
            writer = self.writer();
        }
        writer.ensure_own()?;
        writer.make_ready()?;
        self.undo_left_stage(&mut writer)?;
        if writer.is_staging != is_staging {
            return Err(staging());
        }
        if let Some(file) = self.changed_files()?.into_iter().next() {
            return Err(Error::ChangedOutside { file });
        }
        self.ensure_sole_names(transaction)?;
        let sequence = writer.records.len() as u64 + 1;
        let Some(record) = JournalRecord::encode(transaction, sequence, writer.salt, self)? else {
            return Ok(false);
        };
        let record = Arc::new(record);
        writer.append(Arc::clone(&record))?;
        self.publish(&[record])?;
        Ok(true)
    }

    /// Begins appends to these files, which must exist, for a transaction that
    /// is larger than the journal can hold. No other transaction can be
    /// committed meanwhile.
    ///
    /// # Errors
    ///
    /// As [`commit`](Store::commit) and [`sync`](Store::sync);
    /// [`Error::InUse`] if another stage is open.
    pub fn stage(&self, names: &[OsString]) -> Result<Stage<'_>, Error> {
        for name in names {
            self.watched(name)?;
        }
        loop {
            self.sync()?;
            let mut writer = self.writer();
            writer.ensure_own()?;
            if writer.is_staging {
                return Err(staging());
            }
            if !writer.records.is_empty() {
                continue;
            }
            self.undo_left_stage(&mut writer)?;
            if let Some(file) = self.changed_files()?.into_iter().next() {
                return Err(Error::ChangedOutside { file });
            }
            let stage = Stage::begin(self, names)?;
            writer.is_staging = true;
            for name in names {
                self.known(name).state_mut().seen = Seen::InWork;
            }
            return Ok(stage);
        }
    }

    /// Ends a stage, whose appends are now durable or removed.
    pub(super) fn end_stage<'n>(&self, names: impl Iterator<Item = &'n OsString>) {
        let mut writer = self.writer();
        writer.is_staging = false;
        self.look_again(names);
    }

    /// Ends a stage whose appends could not be removed.
    pub(super) fn leave_stage<'n>(&self, names: impl Iterator<Item = &'n OsString>) {
        let mut writer = self.writer();
        writer.is_staging = false;
        writer.left_staged = names.cloned().collect();
    }

    /// Removes what a [stage](Store::stage) left that could not be undone: until then
    /// the files do not look as a save expects them.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn make_ready(&self) -> Result<(), Error> {
        self.undo_left_stage(&mut self.writer())
    }

    fn undo_left_stage(&self, writer: &mut JournalWriter) -> Result<(), Error> {
        if writer.left_staged.is_empty() || writer.is_staging {
            return Ok(());
        }
        stage::clean_up(self.directory(), &self.journal, &self.file_filter)?;
        self.look_again(std::mem::take(&mut writer.left_staged).iter());
        Ok(())
    }

    /// Looks at files that this process has changed. One that cannot be looked at now
    /// is as if never seen, and looked at by who reads it next.
    fn look_again<'n>(&self, names: impl Iterator<Item = &'n OsString>) {
        for name in names {
            let file = self.known(name);
            if let Err(error) = file.look(self.directory.as_ref()) {
                log::warn!("{}: {error}", name.display());
                file.state_mut().seen = Seen::Never;
            }
        }
    }

    pub(super) fn directory(&self) -> &dyn Directory {
        self.directory.as_ref()
    }

    pub(super) fn journal(&self) -> &OsStr {
        &self.journal
    }

    /// Returns when all commits before the call survive a power cut, and the
    /// files of the base contain them. Concurrent calls share the work.
    ///
    /// # Errors
    ///
    /// [`Error::ChangedOutside`] if another program changed a file to be
    /// written; [`Error::Io`]. The commits are still shown and in the journal,
    /// and a later call tries again.
    pub fn sync(&self) -> Result<(), Error> {
        let wanted = self.writer().committed;
        let _turn = self.turn.lock();
        let records = {
            let mut writer = self.writer();
            writer.make_ready()?;
            if writer.synced >= wanted {
                return Ok(());
            }
            writer.records.clone()
        };
        // Other threads can commit meanwhile; the rest is done under the lock.
        let mut application = Application::new(self.directory.as_ref());
        let file = self.writer().file()?;
        let synced = file.sync();
        let mut writer = self.writer();
        self.ensure_synced(synced, &mut writer)?;
        self.claim(&records)?;
        drop(writer);
        application.run(&records)?;
        let mut writer = self.writer();
        let rest = writer.records.get(records.len()..).unwrap_or_default();
        if !rest.is_empty() {
            let rest = rest.to_vec();
            writer.make_ready()?;
            let synced = file.sync();
            self.ensure_synced(synced, &mut writer)?;
            self.claim(&writer.records)?;
            application.run(&rest)?;
        }
        writer.ensure_not_taken_over()?;
        self.settle(&application, &writer.records)?;
        writer.forget()
    }

    /// Syncs, removes the journal and releases the base for other writers.
    /// Later commits fail.
    ///
    /// # Errors
    ///
    /// As [`sync`](Store::sync). The journal then stays for the next process
    /// that opens the base.
    pub fn close(&self) -> Result<(), Error> {
        loop {
            self.sync()?;
            let mut writer = self.writer();
            // Another thread may have committed since.
            if writer.synced >= writer.committed {
                return writer.close(self.directory.as_ref());
            }
        }
    }

    /// Returns whether it is open for writing and not closed.
    pub fn is_writable(&self) -> bool {
        self.writer().file().is_ok()
    }

    /// Number of bytes of the journal that may not be in the base yet.
    pub fn pending(&self) -> u64 {
        self.pending.load(Relaxed)
    }

    /// A number that changes with each change of what the files show. Reads of
    /// several files are of one state if the number is the same before and
    /// after.
    pub fn epoch(&self) -> u64 {
        *self.epoch.lock()
    }

    /// A number that changes before any part of a later save is shown. All
    /// reads before a check that found it unchanged are of one state.
    pub fn saves(&self) -> u64 {
        self.saves.load(Acquire)
    }

    /// Returns the files that another program changed, created or removed since
    /// they were last read here. With read-only access also the journal, in
    /// which the writer may save, unless it is ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn changed_outside(&self) -> Result<Vec<OsString>, Error> {
        let mut changed = self.changed_files()?;
        let writer = self.writer();
        let reads_journal = writer.file().is_err() && self.access != StoreAccess::WithoutJournal;
        if reads_journal && self.journal_stamp()? != writer.seen {
            changed.push(self.journal.clone());
        }
        Ok(changed)
    }

    /// Checks that no other program changed the files since they were last read
    /// here, as [`changed_outside`](Store::changed_outside) tells it.
    ///
    /// # Errors
    ///
    /// An error that names a changed file; errors of the system.
    pub fn ensure_unchanged_outside(&self) -> io::Result<()> {
        let changed = self.changed_outside();
        let changed = changed.map_err(|error| io::Error::other(error.to_string()))?;
        match changed.first() {
            None => Ok(()),
            Some(file) => Err(io::Error::other(format!(
                "{} was changed by another program meanwhile; try again",
                file.display()
            ))),
        }
    }

    /// Reads the changes of other programs: the files show them and can be
    /// saved to again.
    ///
    /// # Errors
    ///
    /// [`Error::ChangedOutside`] if they contradict the journal (both stay as
    /// they are); [`Error::Io`].
    pub fn refresh(&self) -> Result<(), Error> {
        let _turn = self.turn.lock();
        let writer = self.writer();
        if writer.file().is_err() {
            drop(writer);
            return self.load();
        }
        self.ensure_unchanged(&writer.records)?;
        let changed = self.changed_files()?;
        let mut epoch = self.epoch.lock();
        *epoch += 1;
        for name in changed {
            let looked = self.known(&name).look(self.directory.as_ref());
            looked.map_err(Error::io(&name))?;
        }
        Ok(())
    }

    /// Reads the journal, for read-only access, and lays its records over the
    /// files.
    fn load(&self) -> Result<(), Error> {
        let opening = StoreOptions {
            journal: &self.journal,
            label: "",
            access: StoreAccess::ReadOnly,
            file_filter: self.file_filter.clone(),
        };
        let mut tries = 0;
        let (seen, records) = loop {
            if self.access == StoreAccess::WithoutJournal {
                break (None, Vec::new());
            }
            tries += 1;
            let seen = self.journal_stamp()?;
            let records = self.read_journal(&opening);
            // A live writer may be in the middle of any change.
            if self.journal_stamp()? == seen {
                break (seen, records?);
            }
            if tries == TRIES {
                break (seen, records.map_err(|_| in_use())?);
            }
        };
        for file in self.known_files() {
            file.state_mut().forget_pending();
            if file.state().seen != Seen::Never {
                let looked = file.look(self.directory.as_ref());
                looked.map_err(Error::io(&file.name))?;
            }
        }
        self.pending.store(0, Relaxed);
        self.publish(&records)?;
        let mut writer = self.writer();
        writer.seen = seen;
        Ok(())
    }

    /// Returns the records of the journal. If there are none, returns the cut
    /// that removes the appends of an interrupted import.
    fn read_journal(&self, opening: &StoreOptions<'_>) -> Result<Vec<Arc<JournalRecord>>, Error> {
        let directory = self.directory.as_ref();
        let file = match directory.open(&self.journal) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            file => Some(file.map_err(Error::of_journal(&self.journal))?),
        };
        let mut records = Vec::new();
        if let Some(file) = file {
            ensure_trusted(directory, &self.journal, file.as_ref())?;
            records = JournalContent::read(&self.journal, file.as_ref())?.records;
        }
        if records.is_empty() {
            let cut = stage::undoing(directory, opening.journal, &opening.file_filter)?;
            let cut = JournalRecord::encode(&cut, 1, 0, self)?;
            return Ok(cut.into_iter().map(Arc::new).collect());
        }
        ensure_fit(directory, opening, &records)?;
        Ok(records)
    }

    fn journal_stamp(&self) -> Result<Option<super::Stamp>, Error> {
        let stamp = self.directory.stamp(&self.journal);
        stamp.map_err(Error::io(&self.journal))
    }

    /// Shows the changes of transactions. Each appears in all files at once for
    /// readers that check the epoch.
    fn publish(&self, records: &[Arc<JournalRecord>]) -> Result<(), Error> {
        for record in records {
            // All that can fail is done before anything is shown.
            let changed = record.steps.iter();
            for step in changed.filter(|step| step.action != Action::Remove) {
                if let Some(name) = record.file(step) {
                    self.watched(name)?;
                }
            }
        }
        let mut epoch = self.epoch.lock();
        for record in records {
            *epoch += 1;
            self.saves.fetch_add(1, Release);
            for (at, before) in record.changed() {
                self.known(&before.name).state_mut().lay(record, at);
            }
            self.pending.fetch_add(record.bytes.len() as u64, Relaxed);
        }
        Ok(())
    }

    /// Handles the result of a sync of the journal. At the first success its
    /// name is synced, too.
    fn ensure_synced(
        &self,
        synced: io::Result<()>,
        writer: &mut JournalWriter,
    ) -> Result<(), Error> {
        if let Err(error) = synced {
            writer.sync_failed();
            return Err(Error::io(&self.journal)(error));
        }
        if !self.is_named.load(Relaxed) {
            let synced = self.directory.sync();
            synced.map_err(Error::io(&self.journal))?;
            self.is_named.store(true, Relaxed);
        }
        writer.ensure_not_taken_over()
    }

    /// Checks, before files of the base are written, that they are the ones the
    /// records were made for. Their stamps are then unknown until
    /// [`settle`](Store::settle).
    fn claim(&self, records: &[Arc<JournalRecord>]) -> Result<(), Error> {
        let mut files: Vec<Arc<FileView>> = Vec::new();
        let mut is_certain = true;
        for (_, before) in records.iter().flat_map(|record| record.changed()) {
            let file = self.known(&before.name);
            if files.iter().any(|other| Arc::ptr_eq(other, &file)) {
                continue;
            }
            let now = self.directory.stamp(&file.name);
            let now = now.map_err(Error::io(&file.name))?;
            let seen = file.state().seen;
            is_certain &= seen == Seen::Never || seen == Seen::As(now);
            files.push(file);
        }
        if !is_certain {
            self.ensure_unchanged(records)?;
        }
        for file in files {
            let mut state = file.state_mut();
            if state.seen != Seen::Never {
                state.seen = Seen::InWork;
            }
        }
        Ok(())
    }

    /// Checks that no other program touched the files that the records change.
    fn ensure_unchanged(&self, records: &[Arc<JournalRecord>]) -> Result<(), Error> {
        let directory = self.directory.as_ref();
        let is_untouched = |name: &OsStr| matches!(self.known(name).state().seen, Seen::As(_));
        match misfit(directory, records, &is_untouched)? {
            Some((file, _)) => {
                let file = file.into_os_string();
                Err(Error::ChangedOutside { file })
            }
            None => Ok(()),
        }
    }

    /// Shows the files of the base themselves, which now contain all changes.
    fn settle(
        &self,
        application: &Application<'_>,
        records: &[Arc<JournalRecord>],
    ) -> Result<(), Error> {
        let mut settled = BTreeMap::new();
        for (_, before) in records.iter().flat_map(|record| record.changed()) {
            let name = before.name.as_os_str();
            if settled.contains_key(name) {
                continue;
            }
            let io = Error::io(name);
            let stamp = application.stamp(name).map_err(&io)?;
            let base = match stamp {
                Some(written) => {
                    let now = self.directory.stamp(name).map_err(&io)?;
                    // Another file may have taken its name meanwhile.
                    if !now.is_some_and(|now| now.is_same_file(&written)) {
                        let file = name.to_owned();
                        return Err(Error::ChangedOutside { file });
                    }
                    let opened = self.directory.open(name).map_err(Error::io(name))?;
                    let opened: Arc<dyn OpenFile> = Arc::from(opened);
                    Some(opened as Arc<dyn Storage>)
                }
                None => None,
            };
            settled.insert(name, (base, stamp));
        }
        for (name, (base, stamp)) in settled {
            self.known(name).state_mut().settle(base, stamp);
        }
        self.pending.store(0, Relaxed);
        Ok(())
    }

    fn changed_files(&self) -> Result<Vec<OsString>, Error> {
        let mut changed = Vec::new();
        for file in self.known_files() {
            let Seen::As(seen) = file.state().seen else {
                continue;
            };
            let now = self.directory.stamp(&file.name);
            if now.map_err(Error::io(&file.name))? != seen {
                changed.push(file.name.clone());
            }
        }
        Ok(changed)
    }

    /// Checks that the files to be changed have one name each, as of the last
    /// check.
    fn ensure_sole_names(&self, transaction: &Transaction) -> Result<(), Error> {
        for change in transaction.changes() {
            let seen = self.known(change.file()).state().seen;
            if let Seen::As(Some(stamp)) = seen
                && stamp.links > 1
            {
                return Err(Error::io(change.file())(several_names(stamp.links)));
            }
        }
        Ok(())
    }

    fn known_files(&self) -> Vec<Arc<FileView>> {
        let files = self.files.read();
        files.values().cloned().collect()
    }

    /// Returns the state of a file, known or new.
    fn known(&self, name: &OsStr) -> Arc<FileView> {
        let files = self.files.read();
        if let Some(file) = files.get(name) {
            return Arc::clone(file);
        }
        drop(files);
        let mut files = self.files.write();
        let file = files
            .entry(name.to_owned())
            .or_insert_with(|| Arc::new(FileView::unseen(name)));
        Arc::clone(file)
    }

    /// Returns a file and begins to watch it for changes by other programs.
    fn watched(&self, name: &OsStr) -> Result<Arc<FileView>, Error> {
        let file = self.known(name);
        if file.state().seen == Seen::Never {
            let looked = file.look(self.directory.as_ref());
            looked.map_err(Error::io(name))?;
        }
        Ok(file)
    }

    fn writer(&self) -> MutexGuard<'_, JournalWriter> {
        self.writer.lock()
    }
}

impl PresentFiles for Store {
    fn len(&self, name: &OsStr) -> Result<Option<u64>, Error> {
        let len = self.known(name).len_if_there(self.directory.as_ref());
        len.map_err(Error::io(name))
    }

    fn read(&self, name: &OsStr, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let filled = self.known(name).fill(offset, len, &mut bytes);
        filled.map_err(Error::io(name))?;
        Ok(bytes)
    }
}

/// The error for a writer that saves so often that no consistent read is
/// possible.
fn in_use() -> Error {
    Error::InUse {
        pid: None,
        label: String::new(),
    }
}

/// The error for a commit during an import.
fn staging() -> Error {
    Error::InUse {
        pid: Some(std::process::id()),
        label: "games are being imported".to_owned(),
    }
}

/// Checks that records belong to the base that is opened.
fn ensure_fit(
    directory: &dyn Directory,
    opening: &StoreOptions<'_>,
    records: &[Arc<JournalRecord>],
) -> Result<(), Error> {
    let names = records.iter().flat_map(|record| &record.files);
    let note = stage::note_name(opening.journal);
    let mut strangers = names.filter(|before| {
        before.name == opening.journal
            || (before.name != note && !opening.file_filter.has(&before.name))
    });
    let reason = match strangers.next() {
        Some(before) => Some((before.name.clone(), "is not a file of it")),
        None => misfit(directory, records, &|_| false)?
            .map(|(name, what)| (name.into_os_string(), what)),
    };
    match reason {
        Some((name, what)) => Err(Error::DoesNotFit {
            journal: opening.journal.to_owned(),
            what: format!("{} {what}", name.display()),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
impl Store {
    /// Opens all files of a directory to be written, for a test.
    pub(super) fn of_any_files(directory: &super::MemoryDirectory) -> Result<Store, Error> {
        let opening = StoreOptions {
            journal: OsStr::new(".x.cbfs-journal"),
            label: "",
            access: StoreAccess::ReadWrite,
            file_filter: FileFilter::new(|_| true),
        };
        Store::open(Arc::new(directory.clone()), &opening)
    }
}
