//! Work of the background threads: read-ahead, and computing lengths for this
//! mount and the next.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::fs::background::{Helper, Task};
use crate::fs::mount::snapshot::Snapshot;
use crate::fs::volume::{Completeness, Renderer};
use crate::vfs::{Ino, Vfs};

/// Files rendered in one go when filling: what the renderer keeps of the
/// base gets no older than that.
const STRETCH: u64 = 256;

/// Number of files that all threads measure when a mount begins: all files of
/// most bases, and about 50 ms of work for the largest.
const FIRST_FILES: u64 = 8192;

/// Number of files that a thread takes at a time then.
const SHARE: u64 = 64;

/// So often the whole base is looked at ahead of edits, if each time a save comes in
/// between. Then the next that needs it does so itself.
const TRIES: usize = 3;

/// Length of a text where none is known, for guesses only.
const USUAL_BYTES: u64 = 1000;

impl Vfs {
    /// Renders what readers are about to ask for, until stopped. Several
    /// threads may do so; one for each processor is best.
    pub fn read_ahead(&self) {
        let _helper = Helper::new(self.background());
        while let Some(task) = self.next_task() {
            match task {
                Task::Files(range) => self.prepare_files(range),
                Task::Job(job) => {
                    let mut snapshots = self.snapshots().into_iter();
                    let snapshot = snapshots.find(|snapshot| snapshot.serial() == job.snapshot());
                    if let Some(snapshot) = snapshot {
                        job.run(snapshot.sources());
                    }
                }
            }
        }
    }

    fn next_task(&self) -> Option<Task> {
        let background = self.background();
        let mut ahead = background.lock();
        loop {
            if background.is_stopping() {
                return None;
            }
            if let Some(job) = self.mount.shared.concatenations.next_job() {
                return Some(Task::Job(job));
            }
            if let Some(range) = ahead.wanted.pop_front() {
                return Some(Task::Files(range));
            }
            background.wake.wait(&mut ahead);
        }
    }

    fn prepare_files(&self, numbers: Range<u64>) {
        let base_number = Ino(numbers.start).base_number();
        let mut snapshots = self.snapshots().into_iter();
        let Some(snapshot) =
            snapshots.find(|snapshot| snapshot.rendered().0.base_number() == base_number)
        else {
            return;
        };
        let mut renderer = snapshot.volume.renderer();
        for number in numbers {
            if self.background().is_stopping() {
                return;
            }
            snapshot.prepare(Ino(number), true, &mut renderer);
        }
    }

    /// Computes the lengths of the first files with all threads that call this,
    /// and caches their texts as [`fill`](Vfs::fill) does. All calls return
    /// when the work is done.
    pub fn measure_first_files(&self) {
        for snapshot in self.snapshots() {
            self.measure_first_files_of(&snapshot);
        }
        // What others have taken on of it is done in a moment.
        self.background().lock().has_first_lengths = true;
        self.background().wake();
    }

    fn measure_first_files_of(&self, snapshot: &Snapshot) {
        snapshot.load_sizes_once();
        snapshot.volume.look_ahead();
        let (first, last) = snapshot.rendered();
        let end = (last.0 + 1).min(first.0 + FIRST_FILES);
        let comfortable = self.comfortable(snapshot);
        let mut renderer = snapshot.volume.renderer();
        loop {
            let begin = first.0 + snapshot.line.first_files_taken.fetch_add(SHARE, Relaxed);
            if begin >= end {
                return;
            }
            for number in begin..end.min(begin + SHARE) {
                if self.background().is_stopping() {
                    return;
                }
                if self.background().leap(number).is_some() {
                    break;
                }
                if snapshot.sizes.get(Ino(number).within_base()).is_none() {
                    snapshot.prepare(Ino(number), self.has_room(comfortable), &mut renderer);
                }
            }
        }
    }

    /// Works out all lengths of all that is open, and the texts as long as
    /// they fit into the cache comfortably; then keeps the files of lengths
    /// current. Until stopped.
    pub fn fill(&self) {
        loop {
            for snapshot in self.snapshots() {
                if !snapshot.line.is_filled.swap(true, Relaxed) {
                    self.fill_snapshot(&snapshot);
                }
                if self.background().is_stopping() {
                    return;
                }
            }
            if !self.background().wait_for_snapshot() {
                return;
            }
            self.save_sizes();
        }
    }

    fn fill_snapshot(&self, snapshot: &Snapshot) {
        self.prepare_edits(snapshot);
        snapshot.load_sizes_once();
        let (first, last) = snapshot.rendered();
        let comfortable = self.comfortable(snapshot);
        while self.fill_once(snapshot, first.0..last.0 + 1, comfortable) {}
        let Some(snapshot) = self.latest_of(snapshot) else {
            return;
        };
        if !self.background().is_stopping() {
            log::debug!("all lengths are known");
            snapshot.save_sizes();
            snapshot.examine();
        }
    }

    /// Finds out ahead of edits what one would keep its writer waiting for. Readers go
    /// first.
    fn prepare_edits(&self, snapshot: &Snapshot) {
        for _ in 0..TRIES {
            let Some(snapshot) = self.latest_of(snapshot) else {
                return;
            };
            let is_superseded = || snapshot.volume.is_superseded();
            let prepared = snapshot.volume.prepare_edits(&mut || {
                self.background().rest_while(&self.background().is_read);
                let is_shown = self.latest_of(&snapshot).is_some();
                is_shown && !self.background().is_stopping() && !is_superseded()
            });
            if let Err(error) = prepared {
                log::debug!("looking ahead of edits: {error}");
            }
            if !is_superseded() {
                return;
            }
            self.background().rest();
        }
    }

    /// Returns the present snapshot, if only saves lie between it and this one.
    fn latest_of(&self, snapshot: &Snapshot) -> Option<Arc<Snapshot>> {
        let mut snapshots = self.snapshots().into_iter();
        snapshots.find(|current| current.shares_lineage(snapshot))
    }

    /// Prepares `numbers`, and caches texts while the cache has fewer than
    /// `comfortable` bytes. Returns whether some were left out: a reader at the
    /// same position renders them, or a save happened.
    fn fill_once(
        &self,
        snapshot: &Snapshot,
        numbers: Range<u64>,
        comfortable: Option<usize>,
    ) -> bool {
        let mut is_incomplete = false;
        let mut number = numbers.start;
        while number < numbers.end && !self.background().is_stopping() {
            let Some(snapshot) = self.latest_of(snapshot) else {
                return false;
            };
            let mut renderer = snapshot.volume.renderer();
            let end = (number + STRETCH).min(numbers.end);
            while number < end && !snapshot.volume.is_superseded() {
                if self.background().is_stopping() {
                    return false;
                }
                if let Some(ahead) = self.background().leap(number) {
                    is_incomplete = true;
                    number = ahead;
                    break;
                }
                self.background().rest_while(&self.background().is_read);
                let keeps_text = self.has_room(comfortable);
                // A listing needs the lengths now; texts can wait until it is done.
                if keeps_text && snapshot.sizes.get(Ino(number).within_base()).is_some() {
                    self.background().rest_while(&self.background().is_listed);
                }
                snapshot.prepare(Ino(number), keeps_text, &mut renderer);
                // What was saved meanwhile is rendered from the next state.
                number += u64::from(!snapshot.volume.is_superseded());
            }
            if snapshot.volume.is_superseded() {
                self.background().rest();
            }
        }
        is_incomplete && self.latest_of(snapshot).is_some()
    }

    /// Returns how many bytes of texts may be cached before they are read;
    /// `None` if all texts would probably not fit.
    fn comfortable(&self, snapshot: &Snapshot) -> Option<usize> {
        let comfortable = self.mount.shared.texts.capacity() / 4 * 3;
        let all = usize::try_from(snapshot.capacity() * USUAL_BYTES).ok()?;
        (all < comfortable).then_some(comfortable)
    }

    fn has_room(&self, comfortable: Option<usize>) -> bool {
        comfortable.is_some_and(|bytes| self.mount.shared.texts.bytes() < bytes)
    }

    /// Writes the lengths for the next mount.
    pub fn save_sizes(&self) {
        for snapshot in self.snapshots() {
            snapshot.save_sizes();
        }
    }
}

impl Snapshot {
    /// Renders one file ahead of a request, if its length is unknown, or its
    /// text is wanted and not cached. `number` is the inode number in the
    /// mount.
    fn prepare(&self, number: Ino, wants_text: bool, renderer: &mut Renderer<'_>) {
        let ino = number.within_base();
        let is_wanted = wants_text && !self.has_text(ino);
        if let Some(measure) = self.sizes.get(ino) {
            // Another one rendered it, or an earlier mount.
            if measure.completeness == Completeness::Partial {
                self.note_faults(ino, None);
            }
            if !is_wanted {
                return;
            }
        }
        // Unused numbers and damage show when somebody asks.
        if let Ok(text) = self.render(ino, renderer)
            && wants_text
        {
            self.keep_text(ino, text);
        }
    }

    fn load_sizes_once(&self) {
        self.line.sizes_loaded.get_or_init(|| {
            if let Err(error) = self.load_sizes() {
                log::debug!("no lengths from earlier: {error}");
            }
        });
    }

    fn load_sizes(&self) -> io::Result<()> {
        let Some((path, fingerprint)) = &self.line.sizes_file else {
            return Ok(());
        };
        let is_same = self.sizes.load(path, fingerprint)?;
        log::debug!("{}: lengths of this base: {is_same}", path.display());
        Ok(())
    }

    /// Returns whether saves of this mount made this snapshot, and it is the present one.
    fn is_saved(&self) -> bool {
        self.is_later() && !self.volume.is_superseded()
    }

    /// Writes the lengths for the next mount. That it fails, or that the base
    /// has changed meanwhile, costs time at the next mount and is no error.
    fn save_sizes(&self) {
        let Some((path, fingerprint)) = &self.line.sizes_file else {
            return;
        };
        // After a save the lengths belong to something else, once that is in
        // the files.
        let present = self.volume.fingerprint();
        let is_same = present.as_ref() == Some(fingerprint);
        let Some(present) = present.filter(|_| is_same || self.is_saved()) else {
            return;
        };
        if let Err(error) = self.sizes.save(path, &present) {
            log::debug!("{}: {error}", path.display());
        }
    }
}
