//! A volume of the mount and its snapshots.
//!
//! Replies are never stale, and no reader gets a mixture of two contents:
//!
//! * Each reply about a file (lookup or listing) has the **mark** of its
//!   content. The kernel keeps files with different marks apart, even with the
//!   same number.
//! * A read does not say which content it wants; it is the one reported last.
//!   If the present snapshot has another content, the text comes from an
//!   earlier snapshot or from the texts being read; otherwise the read fails.
//!
//! Numbers in here are those of the volume, without that of the base.

mod requests;
mod saves;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};

use crate::fs::editor::{ChangedTexts, Edit, Refusal, Saved};
use crate::fs::kernel::lookups::LookupCounts;
use crate::fs::mount::broken::Broken;
use crate::fs::mount::snapshot::{Shared, Snapshot};
use crate::fs::source::Source;
use crate::fs::status::{self, About, Mounting, StatusReport, StatusTree, Subject};
use crate::fs::volume::{Ino, Volume};
use crate::fs::{Error, Text};
use crate::storage::SparseWords;

/// Maximum number of earlier snapshots, kept for their readers for `LOOKS`
/// refreshes; `SAVED` of those that share nearly everything with the next one.
const EARLIER: usize = 4;
const SAVED: usize = 64;
const LOOKS: u32 = 20;

/// Maximum number of times that a request is repeated because of saves.
const TRIES: usize = 16;

/// One volume of a mount, as it is now and as it was.
#[derive(Debug)]
pub(crate) struct LiveBase {
    number: u64,
    /// What it is opened from; none if it never changes.
    source: Option<Box<dyn Source>>,
    shared: Shared,
    snapshots: Mutex<Snapshots>,
    /// Held during a save, rename or removal, from its planning until its
    /// outcome is recorded.
    saving: Mutex<()>,
    /// Held while the source is opened, or something saved into it.
    watch: Mutex<SourceState>,
    /// Number and mark of the content of each file in the last reply, in one
    /// word.
    reported: SparseWords,
    /// Directories that were reported to the kernel.
    directories: Mutex<BTreeSet<Ino>>,
    /// The same for temporary inodes.
    held: LookupCounts,
    about: About,
    shown: Mutex<BaseStatus>,
    unsynced: Mutex<Unsynced>,
}

/// Saves that are not durable yet.
#[derive(Clone, Copy, Debug, Default)]
enum Unsynced {
    #[default]
    Nothing,
    /// At an unknown time.
    Something,
    /// At this time at the latest.
    Since(Instant),
}

/// State of a base for `.cbfs/status`, with its reasons.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseStatus {
    /// Why the present state cannot be opened; `None` if it can.
    pub(crate) complaint: Option<String>,
    /// Whether only this error is shown.
    pub(crate) is_broken: bool,
    /// What is wrong with saving: what is safe, and what to do.
    pub(crate) problem: Option<String>,
    /// Number of changes of what is shown.
    pub(crate) changes: u32,
    /// Time of the last change.
    pub(crate) changed: Option<SystemTime>,
}

#[derive(Debug, Default)]
struct Snapshots {
    current: Option<Arc<Snapshot>>,
    /// The latest first, and how many looks at the source it is kept for.
    earlier: VecDeque<(Arc<Snapshot>, u32)>,
}

impl Snapshots {
    /// Returns whether the oldest snapshot is to be dropped.
    fn has_too_many(&self) -> bool {
        let snapshots = self.current.iter();
        let snapshots = snapshots.chain(self.earlier.iter().map(|(snapshot, _)| snapshot));
        let pairs = snapshots.clone().zip(snapshots.skip(1));
        let lines = pairs
            .filter(|(one, other)| !one.shares_lineage(other))
            .count();
        lines > EARLIER || self.earlier.len() > SAVED
    }
}

/// What is known of the source.
#[derive(Debug, Default)]
struct SourceState {
    /// Its state before the present snapshot was opened.
    state: String,
    /// Whether it was opened once more after the last change: a write within
    /// the same tick of the file system's clock leaves no other trace.
    is_settled: bool,
    version: u32,
}

impl LiveBase {
    /// A base whose volume is opened from `source` when first looked into.
    pub(crate) fn new(number: u64, source: Option<Box<dyn Source>>, shared: Shared) -> LiveBase {
        LiveBase {
            number,
            source,
            shared,
            snapshots: Mutex::default(),
            saving: Mutex::default(),
            watch: Mutex::default(),
            reported: SparseWords::default(),
            directories: Mutex::default(),
            held: LookupCounts::default(),
            about: About::default(),
            shown: Mutex::default(),
            unsynced: Mutex::default(),
        }
    }

    /// What is shown, and how that came.
    pub(crate) fn shown(&self) -> BaseStatus {
        self.shown.lock().clone()
    }

    /// Records the problem with saving, or that there is none. Returns whether
    /// it changed.
    pub(crate) fn note_problem(&self, problem: Option<String>) -> bool {
        let mut shown = self.shown.lock();
        let is_other = shown.problem != problem;
        shown.problem = problem;
        is_other
    }

    /// Records what is shown from now on: why the source cannot be opened, if
    /// so, and whether only that error is shown.
    fn note(&self, complaint: Option<String>, is_broken: bool, is_change: bool) {
        let mut shown = self.shown.lock();
        (shown.complaint, shown.is_broken) = (complaint, is_broken);
        if is_change {
            shown.changes = shown.changes.saturating_add(1);
            let mounting = self.shared.mounting.get();
            shown.changed = mounting.map(Mounting::time).or(shown.changed);
        }
    }

    /// Shows `volume` from now on.
    fn publish(&self, volume: Box<dyn Volume>, watch: &mut SourceState) -> Arc<Snapshot> {
        watch.version = watch.version.wrapping_add(1);
        let sizes_file = self.source.as_ref().and_then(|source| source.sizes_file());
        let shared = self.shared.clone();
        // If it changes right now nobody could say whose lengths these are.
        let source = self.source.as_ref();
        let is_still = source.is_none_or(|source| source.state() == watch.state);
        let sizes_file = sizes_file.filter(|_| is_still);
        let snapshot = Snapshot::new(volume, self.number, watch.version, sizes_file, shared);
        let snapshot = self.put(snapshot);
        self.shared.background.note_snapshot();
        snapshot
    }

    /// Lets this snapshot take the place of the present one.
    fn put(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        let mut snapshots = self.snapshots.lock();
        let before = snapshots.current.replace(Arc::clone(&snapshot));
        let mut outdated = Vec::new();
        if let Some(before) = before {
            snapshots.earlier.push_front((before, LOOKS));
            while snapshots.has_too_many() {
                outdated.extend(snapshots.earlier.pop_back());
            }
        }
        drop(snapshots);
        // It may take a while to be cleared away.
        drop(outdated);
        snapshot
    }

    /// Saves one edit of what is shown, and shows what is stored then.
    pub(crate) fn save(&self, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let mut watch = self.watch.lock();
        let snapshot = self.opened().ok_or(Error::Stale)?;
        // What is shown is not what other programs made of the files.
        if self.shown().complaint.is_some() {
            return Err(Refusal::Outdated);
        }
        let editor = snapshot.volume.editor().ok_or_else(|| {
            // It could be edited when somebody began to.
            let why = snapshot.volume.facts().read_only_because;
            why.map_or(Error::ReadOnly, Error::Protected)
        })?;
        let edited = edit(editor);
        let is_shown = edited.as_ref().is_ok_and(|saved| saved.volume.is_some());
        if !is_shown && snapshot.volume.is_superseded() {
            // It is saved, but cannot be shown: it is opened anew, soon.
            self.note_save();
            watch.state.clear();
            self.shared.background.request_refresh();
        }
        let mut saved = edited?;
        if let Some(volume) = saved.volume.take() {
            self.note_save();
            match &saved.touched {
                ChangedTexts::Unknown => drop(self.publish(volume, &mut watch)),
                ChangedTexts::Of(touched) => {
                    watch.version = watch.version.wrapping_add(1);
                    self.put(snapshot.after(volume, watch.version, touched));
                }
            }
        }
        Ok(saved)
    }

    /// Locks out other saves, renames and removals in this base.
    pub(crate) fn lock_saves(&self) -> MutexGuard<'_, ()> {
        self.saving.lock()
    }

    /// Returns whether a save, rename or removal is running.
    pub(crate) fn is_saving(&self) -> bool {
        self.saving.is_locked()
    }

    /// Notes that something is to be synced.
    pub(crate) fn note_save(&self) {
        let mut unsynced = self.unsynced.lock();
        if matches!(*unsynced, Unsynced::Nothing) {
            *unsynced = Unsynced::Something;
        }
    }

    /// Returns whether a save waits for a sync.
    pub(crate) fn is_unsynced(&self) -> bool {
        !matches!(*self.unsynced.lock(), Unsynced::Nothing)
    }

    /// Returns whether a save has waited for a sync for at least `after`.
    pub(crate) fn is_sync_due(&self, now: Instant, after: Duration) -> bool {
        let mut unsynced = self.unsynced.lock();
        match *unsynced {
            Unsynced::Nothing => false,
            Unsynced::Something => {
                *unsynced = Unsynced::Since(now);
                false
            }
            Unsynced::Since(since) => now.saturating_duration_since(since) >= after,
        }
    }

    /// Answers from the present snapshot; if a save replaces it meanwhile, from
    /// the new one.
    fn answer<T>(
        &self,
        mut ask: impl FnMut(&Arc<Snapshot>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut snapshot = self.snapshot();
        for _ in 0..TRIES {
            match ask(&snapshot) {
                Err(Error::Stale) if snapshot.volume.is_superseded() => {}
                answered => return answered,
            }
            // The running save publishes the next snapshot before it releases this lock.
            drop(self.watch.lock());
            snapshot = self.snapshot();
        }
        ask(&snapshot)
    }

    /// As [`LiveBase::answer`], for requests to which a replaced snapshot could
    /// give an answer that lacks files.
    pub(crate) fn ask<T>(&self, ask: impl Fn(&Snapshot) -> Result<T, Error>) -> Result<T, Error> {
        self.answer(|snapshot| {
            let answer = ask(snapshot);
            if snapshot.volume.is_superseded() {
                return Err(Error::Stale);
            }
            answer
        })
    }

    /// The text of a rendered file as it is now. Not for who is saving: they
    /// have the state that they save on top of.
    pub(crate) fn present_text(&self, ino: Ino) -> Result<Text, Error> {
        self.answer(|snapshot| snapshot.text(ino))
    }

    /// Shows a volume that does not change.
    pub(crate) fn show(&self, volume: Box<dyn Volume>) {
        self.publish(volume, &mut self.watch.lock());
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn source(&self) -> Option<&dyn Source> {
        self.source.as_deref()
    }

    /// What is shown now, if it was looked into.
    pub(crate) fn opened(&self) -> Option<Arc<Snapshot>> {
        self.snapshots.lock().current.clone()
    }

    /// What is shown now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.opened().unwrap_or_else(|| {
            let (snapshot, complaint) = self.open();
            if let Some(why) = complaint {
                log::warn!("{why}");
            }
            snapshot
        })
    }

    /// Opens the source if it is not open. Returns the snapshot and, if it
    /// shows only an error, that error.
    pub(crate) fn open(&self) -> (Arc<Snapshot>, Option<String>) {
        let mut watch = self.watch.lock();
        if let Some(opened) = self.opened() {
            return (opened, None);
        }
        let opened = match &self.source {
            Some(source) => {
                watch.state = source.state();
                open_source(source.as_ref())
            }
            None => Err("there is nothing".to_owned()),
        };
        let complaint = opened.as_ref().err().cloned();
        let volume = opened.unwrap_or_else(|why| self.broken(&why));
        watch.is_settled = true;
        self.note(complaint.clone(), complaint.is_some(), false);
        (self.publish(volume, &mut watch), complaint)
    }

    fn broken(&self, why: &str) -> Box<dyn Volume> {
        let source = self.source.as_ref();
        let modified = source.map_or(UNIX_EPOCH, |source| source.modified());
        Box::new(Broken::new(why, modified))
    }

    /// Reopens the source if it has changed. Returns whether something else is
    /// shown now.
    pub(crate) fn refresh(&self) -> bool {
        self.refresh_holding(&mut self.watch.lock())
    }

    /// As [`refresh`](LiveBase::refresh), but skips it while a save runs: a
    /// save checks for changes itself.
    pub(crate) fn refresh_if_idle(&self) -> bool {
        let watch = self.watch.try_lock();
        watch.is_some_and(|mut watch| self.refresh_holding(&mut watch))
    }

    fn refresh_holding(&self, watch: &mut SourceState) -> bool {
        let (Some(source), Some(_)) = (&self.source, self.opened()) else {
            return false;
        };
        self.forget_earlier();
        let state = source.state();
        let is_changed = state != watch.state;
        let before = self.shown();
        if !is_changed && watch.is_settled && before.complaint.is_none() {
            return false;
        }
        let opened = open_source(source.as_ref());
        let complaint = opened.as_ref().err().cloned();
        if let Some(why) = &complaint {
            if before.complaint == complaint {
                return false;
            }
            log::warn!("{why}");
        }
        let volume = match opened {
            Ok(volume) => volume,
            Err(why) if before.is_broken => self.broken(&why),
            Err(_) => {
                self.note(complaint, false, false);
                return false;
            }
        };
        let is_broken = complaint.is_some();
        // Opened once more to be sure, it is no change.
        self.note(complaint, is_broken, is_changed || before.is_broken);
        watch.is_settled = !is_changed;
        watch.state = state;
        self.publish(volume, watch);
        true
    }

    fn forget_earlier(&self) {
        let mut outdated = Vec::new();
        let mut snapshots = self.snapshots.lock();
        for (_, looks) in &mut snapshots.earlier {
            *looks = looks.saturating_sub(1);
        }
        while snapshots
            .earlier
            .back()
            .is_some_and(|(_, looks)| *looks == 0)
        {
            outdated.extend(snapshots.earlier.pop_back());
        }
        drop(snapshots);
        drop(outdated);
    }

    /// Stops showing anything, until looked into again.
    pub(crate) fn close(&self) {
        let snapshots = std::mem::take(&mut *self.snapshots.lock());
        drop(snapshots);
    }
}

impl LiveBase {
    /// Its `.cbfs/`.
    pub(crate) fn status(&self) -> StatusTree<'_> {
        self.about.of(self)
    }
}

impl Subject for LiveBase {
    fn modified(&self) -> SystemTime {
        let root = self.snapshot().volume.node(Ino::ROOT);
        root.map_or(UNIX_EPOCH, |root| root.modified)
    }

    fn mounting(&self) -> Option<&Mounting> {
        self.shared.mounting.get()
    }

    fn report(&self) -> StatusReport {
        let source = self.source().and_then(Source::path);
        status::of_base(&self.snapshot(), &self.shown(), source, &self.shared)
    }
}

/// Opens `source`; a panic is a defect that stays with it.
fn open_source(source: &dyn Source) -> Result<Box<dyn Volume>, String> {
    let opened = Error::unless_panic(|| source.open().map_err(Error::Damaged));
    opened.map_err(|error| error.to_string())
}
