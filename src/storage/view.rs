//! A file with the changes that are still in the journal.

use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::buffer::next_file_number;
use super::pieces::Pieces;
use super::recent_reads::RecentReads;
use super::record::{Action, JournalRecord};
use super::{Directory, OpenFile, ReadBuffer, Stamp, Storage};

/// Number of read attempts without the lock; then a read takes it.
const UNLOCKED_READS: usize = 4;

/// One file of a base, existing or not.
#[derive(Debug)]
pub(super) struct FileView {
    pub(super) name: OsString,
    /// Number of this open file, unique in the process.
    number: u64,
    state: RwLock<FileState>,
    recent: RecentReads,
}

/// The state of a file as programs see it.
#[derive(Debug)]
pub(super) struct FileState {
    /// Incremented with each change of the fields below.
    version: u64,
    /// The file on the medium; `None` if it does not exist.
    base: Option<Arc<dyn Storage>>,
    /// The file on the medium when last checked.
    pub(super) seen: Seen,
    /// Changes that are only in the journal.
    pending: Option<Pending>,
}

/// The result of the last check of a file on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was never read, so other programs may change it.
    Never,
    /// Its stamp; `None` if it did not exist.
    As(Option<Stamp>),
    /// This process is changing it, so there is no stamp to compare.
    InWork,
}

/// Changes in the journal that may not be in the file yet.
#[derive(Debug)]
struct Pending {
    /// Length after them; `None` if they remove the file.
    len: Option<u64>,
    /// Number of first bytes of the file on the medium that are still valid.
    kept: u64,
    pieces: Pieces,
}

/// The sources of the bytes of one read.
struct ReadPlan {
    version: u64,
    base: Arc<dyn Storage>,
    /// Number of bytes from the file on the medium.
    from_base: usize,
    /// Number of all bytes; `None` if it is that of the medium.
    total: Option<usize>,
}

impl FileView {
    /// A file that was never checked.
    pub(super) fn unseen(name: &OsStr) -> FileView {
        FileView {
            name: name.to_owned(),
            number: next_file_number(),
            state: RwLock::new(FileState {
                version: 0,
                base: None,
                seen: Seen::Never,
                pending: None,
            }),
            recent: RecentReads::new(),
        }
    }

    /// The file `base` with the changes of `record`, in which it has the index
    /// `at`.
    pub(super) fn over(
        name: &OsStr,
        base: Option<Arc<dyn Storage>>,
        record: &JournalRecord,
        at: usize,
    ) -> FileView {
        let file = FileView::unseen(name);
        {
            let mut state = file.state_mut();
            state.base = base;
            state.seen = Seen::InWork;
            state.lay(record, at);
        }
        file
    }

    pub(super) fn state(&self) -> RwLockReadGuard<'_, FileState> {
        self.state.read()
    }

    pub(super) fn state_mut(&self) -> RwLockWriteGuard<'_, FileState> {
        self.state.write()
    }

    /// Checks the file on the medium again. The stamp is read first, so that a
    /// change in between is noticed later.
    pub(super) fn look(&self, directory: &dyn Directory) -> io::Result<()> {
        let stamp = directory.stamp(&self.name)?;
        let base = match stamp {
            Some(_) => {
                let file: Arc<dyn OpenFile> = Arc::from(directory.open(&self.name)?);
                Some(file as Arc<dyn Storage>)
            }
            None => None,
        };
        let mut state = self.state_mut();
        state.version += 1;
        state.base = base;
        state.seen = Seen::As(stamp);
        Ok(())
    }

    /// Length in bytes when last checked, with the changes since; `None` if the
    /// file does not exist.
    pub(super) fn len_if_there(&self, directory: &dyn Directory) -> io::Result<Option<u64>> {
        match self.state().len_if_known() {
            Some(len) => len,
            None => Ok(directory.stamp(&self.name)?.map(|stamp| stamp.len)),
        }
    }
}

impl ReadPlan {
    fn read_base(&self, offset: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
        // What is in there is written over, not set to zeros before.
        if self.from_base > 0 {
            self.base.fill(offset, self.from_base, bytes)?;
        } else {
            bytes.clear();
        }
        if let Some(total) = self.total {
            // The file was truncated by another program.
            if bytes.len() < self.from_base {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.resize(total, 0);
        }
        Ok(())
    }
}

impl FileState {
    /// Length in bytes, `None` if the file does not exist; `None` at all if it was
    /// never checked.
    fn len_if_known(&self) -> Option<io::Result<Option<u64>>> {
        match (&self.pending, self.seen) {
            (Some(pending), _) => Some(Ok(pending.len)),
            (None, Seen::Never) => None,
            // If another program changes it, nothing is saved until it is checked.
            (None, Seen::As(stamp)) => Some(Ok(stamp.map(|stamp| stamp.len))),
            (None, Seen::InWork) => {
                let base = self.base.as_ref();
                Some(base.map(Storage::len).transpose())
            }
        }
    }

    /// Adds the changes of a committed transaction to the file.
    pub(super) fn lay(&mut self, record: &JournalRecord, file: usize) {
        let Some(before) = record.files.get(file) else {
            return;
        };
        let pending = self.pending.get_or_insert_with(|| Pending {
            len: before.len,
            kept: before.len.unwrap_or(0),
            pieces: Pieces::default(),
        });
        self.version += 1;
        for step in record.steps.iter().filter(|step| step.file == file) {
            pending.len = step.action.advance(pending.len).unwrap_or(pending.len);
            match &step.action {
                Action::Remove | Action::Create => pending.cut_at(0),
                Action::SetLen(len) => pending.cut_at(*len),
                Action::Write { offset, new, .. } => {
                    pending.pieces.insert(*offset, &record.bytes, new.clone());
                }
            }
        }
    }

    /// Marks all changes as written to the file on the medium, which is `base`.
    pub(super) fn settle(&mut self, base: Option<Arc<dyn Storage>>, stamp: Option<Stamp>) {
        self.version += 1;
        self.base = base;
        self.pending = None;
        if self.seen != Seen::Never {
            self.seen = Seen::As(stamp);
        }
    }

    /// Drops the changes.
    pub(super) fn forget_pending(&mut self) {
        self.version += 1;
        self.pending = None;
    }

    fn plan(&self, offset: u64, len: usize) -> io::Result<ReadPlan> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let Some(pending) = &self.pending else {
            return Ok(ReadPlan {
                version: self.version,
                base: self.base.clone().ok_or_else(missing)?,
                from_base: len,
                total: None,
            });
        };
        let file_len = pending.len.ok_or_else(missing)?;
        let upto = |end: u64| {
            let rest = end.saturating_sub(offset);
            usize::try_from(rest).unwrap_or(usize::MAX).min(len)
        };
        let nothing = || Arc::new(super::MemoryFile::default()) as Arc<dyn Storage>;
        Ok(ReadPlan {
            version: self.version,
            base: self.base.clone().unwrap_or_else(nothing),
            from_base: upto(pending.kept.min(file_len)),
            total: Some(upto(file_len)),
        })
    }

    fn patch(&self, offset: u64, bytes: &mut [u8]) {
        if let Some(pending) = &self.pending {
            pending.pieces.patch(offset, bytes);
        }
    }
}

impl Pending {
    /// Invalidates all bytes from `len` on.
    fn cut_at(&mut self, len: u64) {
        self.kept = self.kept.min(len);
        self.pieces.cut(len, u64::MAX);
    }
}

impl Storage for FileView {
    fn len(&self) -> io::Result<u64> {
        let len = self.state().len_if_known().transpose()?.flatten();
        len.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn ensure_kept(&self, end: u64) -> io::Result<()> {
        let state = self.state();
        match (&state.pending, &state.base) {
            // The read itself fails if the medium lacks valid bytes.
            (Some(_), _) | (None, None) => Ok(()),
            (None, Some(base)) => base.ensure_kept(end),
        }
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        buffer.read_filled(self, self.number, offset, len)
    }

    fn fill(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        for _ in 0..UNLOCKED_READS {
            let plan = self.state().plan(offset, len)?;
            let (read, now) = ((plan.version, offset, len), Instant::now());
            if self.recent.recall(read, now, bytes) {
                return Ok(());
            }
            plan.read_base(offset, bytes)?;
            let state = self.state();
            if state.version == plan.version {
                state.patch(offset, bytes);
                self.recent.remember(read, now, bytes);
                return Ok(());
            }
        }
        let state = self.state();
        state.plan(offset, len)?.read_base(offset, bytes)?;
        state.patch(offset, bytes);
        Ok(())
    }
}
