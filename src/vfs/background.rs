//! What is done beside the requests: read-ahead, lengths not yet asked for,
//! and their file; and watching whether a base has changed.
//!
//! No thread is started here. [`Vfs::fill`] is given one by whoever runs the
//! mount, [`Vfs::read_ahead`] one or more, and they return when
//! [`Background::stop`] was called. Before they read ahead, these threads do
//! the first files together ([`Vfs::hasten`]): a base of usual size is then
//! known when it is first listed. One more thread calls [`Vfs::refresh`] whenever
//! [`Background::pause`] returns.
//!
//! Of single files, all render without [`get_or_render`](super::TextCache::get_or_render): a request never waits
//! for a thread that may be of low priority; at worst one text is rendered
//! twice.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::concatenation::Job;
use super::edition::Edition;
use super::volume::{Completeness, Renderer};
use super::{Ino, Vfs};

/// Readers that are told apart.
const STREAMS: usize = 4;

/// So many files one after the other make a sequence.
const SEQUENCE: u32 = 3;

/// A number may be missing in a sequence, if others are deleted.
const GAP: u64 = 4;

/// Files rendered ahead of a reader.
const WINDOW: u64 = 64;

/// Stretches that wait to be rendered ahead; older ones are given up.
const MOST_WANTED: usize = 8;

/// Files rendered in one go when filling: what the renderer keeps of the
/// base gets no older than that.
const STRETCH: u64 = 256;

/// Files done in haste when a mount begins: all of most bases, and of the
/// largest no more than a twentieth of a second takes.
const HASTE: u64 = 8192;

/// Files that a thread takes on at once then.
const SHARE: u64 = 64;

/// How far the filling leaps ahead of a reader that it meets.
const LEAP: u64 = 64;

/// How long the filling rests when it sees that somebody lists: longer than
/// from one page of a listing to the next.
const REST: Duration = Duration::from_millis(5);

/// Length of a text where none is known, for guesses only.
const USUAL_BYTES: u64 = 1000;

/// As long as it takes until what was saved is shown.
const MOMENT: Duration = Duration::from_millis(1);

/// Between two writes of the file of lengths.
const SAVE_INTERVAL: Duration = Duration::from_mins(5);

/// State of the work beside the requests.
#[derive(Debug, Default)]
pub struct Background {
    ahead: Mutex<Ahead>,
    wake: Condvar,
    is_stopping: AtomicBool,
    /// Whether somebody waits for a change of a base to be noticed.
    is_hurried: AtomicBool,
    /// The number rendered last because a reader waited for it.
    awaited: AtomicU64,
    /// Threads that read ahead.
    helpers: AtomicUsize,
    /// Whether somebody was told of files since the filling looked last.
    is_listed: AtomicBool,
}

/// What a thread that reads ahead does next.
enum Task {
    /// Files that will be asked for one after the other.
    Files(Range<u64>),
    Job(Job),
}

#[derive(Debug, Default)]
struct Ahead {
    streams: [Stream; STREAMS],
    /// The stream to give up when another one begins.
    oldest: usize,
    wanted: VecDeque<Range<u64>>,
    /// Whether there is an edition that nobody works at yet.
    has_edition: bool,
    /// Whether the first files are done, or taken on.
    is_hastened: bool,
}

/// A reader that goes from file to file.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// The number it is expected to ask for next.
    next: u64,
    /// How many it asked for one after the other.
    seen: u32,
    /// Up to here all is rendered or about to be.
    ahead: u64,
}

impl Background {
    /// Makes the methods that were lent a thread return soon.
    pub fn stop(&self) {
        self.is_stopping.store(true, Relaxed);
        self.wake();
    }

    /// Makes the threads look whether there is something to do.
    pub(super) fn wake(&self) {
        // Whoever has looked already is waiting once the lock is free.
        drop(self.lock());
        self.wake.notify_all();
    }

    /// How many threads read ahead. They are of the same priority as those
    /// that answer requests, which may wait for them.
    pub(super) fn helpers(&self) -> usize {
        self.helpers.load(Relaxed)
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes [`pause`](Background::pause) return, since a base has changed.
    pub(super) fn hurry(&self) {
        if !self.is_hurried.swap(true, Relaxed) {
            self.wake();
        }
    }

    /// Waits as long as this, or until it is worth looking for changes;
    /// false if stopped.
    pub fn pause(&self, longest: Duration) -> bool {
        let wake = |_: &mut Ahead| !self.is_stopping() && !self.is_hurried.load(Relaxed);
        drop(self.wake.wait_timeout_while(self.lock(), longest, wake));
        self.is_hurried.store(false, Relaxed);
        !self.is_stopping()
    }

    /// Waits a moment, for a save to be shown.
    fn rest(&self) {
        drop(self.wake.wait_timeout(self.lock(), MOMENT));
    }

    /// Waits as long as this; false if stopped.
    pub fn pass(&self, time: Duration) -> bool {
        let wake = |_: &mut Ahead| !self.is_stopping();
        drop(self.wake.wait_timeout_while(self.lock(), time, wake));
        !self.is_stopping()
    }

    /// Notes that there is an edition whose lengths are not known.
    pub(super) fn saw_edition(&self) {
        self.lock().has_edition = true;
        self.wake.notify_all();
    }

    /// Waits until there is such an edition, or it is time to save; false if
    /// stopped.
    fn wait_for_edition(&self) -> bool {
        let wait = |ahead: &mut Ahead| !self.is_stopping() && !ahead.has_edition;
        let waited = self
            .wake
            .wait_timeout_while(self.lock(), SAVE_INTERVAL, wait);
        let (mut ahead, _) = waited.unwrap_or_else(PoisonError::into_inner);
        ahead.has_edition = false;
        !self.is_stopping()
    }

    /// Waits until [`Vfs::hasten`] is done, or as long as this.
    pub fn wait_for_haste(&self, longest: Duration) {
        let wait = |ahead: &mut Ahead| !self.is_stopping() && !ahead.is_hastened;
        drop(self.wake.wait_timeout_while(self.lock(), longest, wait));
    }

    /// Notes that somebody is told of files, who may want all processors for
    /// what is done with that.
    pub(super) fn saw_listing(&self) {
        self.is_listed.store(true, Relaxed);
    }

    /// Waits until nobody is told of files any more.
    fn rest_while_listed(&self) {
        while self.is_listed.load(Relaxed) && self.is_listed.swap(false, Relaxed) {
            let wait = |_: &mut Ahead| !self.is_stopping();
            drop(self.wake.wait_timeout_while(self.lock(), REST, wait));
        }
    }

    /// Notes that a reader waits for `ino` to be rendered.
    pub(super) fn saw_render(&self, ino: Ino) {
        self.awaited.store(ino.0, Relaxed);
    }

    /// Where to go on instead of at `number`, if a reader is at that place
    /// now: both doing the same would help nobody.
    fn leap(&self, number: u64) -> Option<u64> {
        let awaited = self.awaited.load(Relaxed);
        let is_here = (awaited..awaited + LEAP).contains(&number);
        (is_here && awaited != 0).then(|| {
            self.awaited.store(0, Relaxed);
            awaited + LEAP
        })
    }

    /// Notes that the text of `ino` is wanted now. Where this continues a
    /// sequence, the next ones will be wanted too, `last` at most.
    pub(super) fn saw_request(&self, ino: Ino, last: Ino) {
        let mut ahead = self.lock();
        let wanted = ahead.wanted_after(ino.0, last.0);
        if let Some(range) = wanted {
            if ahead.wanted.len() >= MOST_WANTED {
                ahead.wanted.pop_front();
            }
            ahead.wanted.push_back(range);
            drop(ahead);
            self.wake.notify_all();
        }
    }
}

/// A thread that reads ahead, counted while it does.
struct Helper<'a>(&'a Background);

impl<'a> Helper<'a> {
    fn new(background: &'a Background) -> Helper<'a> {
        background.helpers.fetch_add(1, Relaxed);
        Helper(background)
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.0.helpers.fetch_sub(1, Relaxed);
    }
}

impl Ahead {
    fn wanted_after(&mut self, number: u64, last: u64) -> Option<Range<u64>> {
        let Ahead {
            streams, oldest, ..
        } = self;
        let found = streams
            .iter_mut()
            // A file is asked for up to twice: for its length, and to read.
            .find(|stream| (stream.next..stream.next + GAP).contains(&(number + 1)));
        let Some(stream) = found else {
            let next = number + 1;
            if let Some(stream) = streams.get_mut(*oldest) {
                *stream = Stream {
                    next,
                    seen: 1,
                    ahead: next,
                };
            }
            *oldest = (*oldest + 1) % STREAMS;
            return None;
        };
        if stream.next == number + 1 {
            return None;
        }
        stream.next = number + 1;
        stream.seen = stream.seen.saturating_add(1);
        if stream.seen < SEQUENCE || stream.ahead > number + WINDOW / 2 {
            return None;
        }
        let from = stream.ahead.max(number + 1);
        let to = (number + 1 + WINDOW).min(last + 1);
        stream.ahead = to.max(from);
        (from < to).then_some(from..to)
    }
}

impl Vfs {
    /// Renders what readers are about to ask for, until stopped. Several
    /// threads may do so; one for each processor is best.
    pub fn read_ahead(&self) {
        let _helper = Helper::new(self.background());
        while let Some(task) = self.next_task() {
            match task {
                Task::Files(range) => self.prepare_files(range),
                Task::Job(job) => {
                    let mut editions = self.editions().into_iter();
                    let edition = editions.find(|edition| edition.serial() == job.edition());
                    if let Some(edition) = edition {
                        job.run(edition.sources());
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
            if let Some(job) = self.shared.concatenations.next_job() {
                return Some(Task::Job(job));
            }
            if let Some(range) = ahead.wanted.pop_front() {
                return Some(Task::Files(range));
            }
            ahead = background
                .wake
                .wait(ahead)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn prepare_files(&self, numbers: Range<u64>) {
        let slot = Ino(numbers.start).slot();
        let mut editions = self.editions().into_iter();
        let Some(edition) = editions.find(|edition| edition.rendered().0.slot() == slot) else {
            return;
        };
        let mut renderer = edition.volume.renderer();
        for number in numbers {
            if self.background().is_stopping() {
                return;
            }
            edition.prepare(Ino(number), true, &mut renderer);
        }
    }

    /// Works out the lengths of the first files as fast as can be, and keeps
    /// their texts as [`fill`](Vfs::fill) does. Any number of threads share
    /// the work; all return when it is done.
    pub fn hasten(&self) {
        for edition in self.editions() {
            self.hasten_edition(&edition);
        }
        // What others have taken on of it is done in a moment.
        self.background().lock().is_hastened = true;
        self.background().wake();
    }

    fn hasten_edition(&self, edition: &Edition) {
        edition.load_sizes_once();
        edition.volume.look_ahead();
        let (first, last) = edition.rendered();
        let end = (last.0 + 1).min(first.0 + HASTE);
        let comfortable = self.comfortable(edition);
        let mut renderer = edition.volume.renderer();
        loop {
            let begin = first.0 + edition.line.hastened.fetch_add(SHARE, Relaxed);
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
                if edition.sizes.get(Ino(number).within_slot()).is_none() {
                    edition.prepare(Ino(number), self.has_room(comfortable), &mut renderer);
                }
            }
        }
    }

    /// Works out all lengths of all that is open, and the texts as long as
    /// they fit into the cache comfortably; then keeps the files of lengths
    /// current. Until stopped.
    pub fn fill(&self) {
        loop {
            for edition in self.editions() {
                if !edition.line.is_filled.swap(true, Relaxed) {
                    self.fill_edition(&edition);
                }
                if self.background().is_stopping() {
                    return;
                }
            }
            if !self.background().wait_for_edition() {
                return;
            }
            self.save_sizes();
        }
    }

    fn fill_edition(&self, edition: &Edition) {
        edition.load_sizes_once();
        let (first, last) = edition.rendered();
        let comfortable = self.comfortable(edition);
        while self.fill_once(edition, first.0..last.0 + 1, comfortable) {}
        let Some(edition) = self.latest_of(edition) else {
            return;
        };
        if !self.background().is_stopping() {
            log::debug!("all lengths are known");
            edition.save_sizes();
            edition.examine();
        }
    }

    /// What is shown of this edition now: itself, or what saves made of it.
    fn latest_of(&self, edition: &Edition) -> Option<Arc<Edition>> {
        let mut editions = self.editions().into_iter();
        editions.find(|current| current.is_of_line(edition))
    }

    /// Goes through `numbers`, keeping texts while the cache holds fewer than
    /// `comfortable` bytes; true if some were left out, because a reader was
    /// at the same place and does them itself, or something was saved.
    fn fill_once(
        &self,
        edition: &Edition,
        numbers: Range<u64>,
        comfortable: Option<usize>,
    ) -> bool {
        let mut is_incomplete = false;
        let mut number = numbers.start;
        while number < numbers.end && !self.background().is_stopping() {
            let Some(edition) = self.latest_of(edition) else {
                return false;
            };
            let mut renderer = edition.volume.renderer();
            let end = (number + STRETCH).min(numbers.end);
            while number < end && !edition.volume.is_over() {
                if self.background().is_stopping() {
                    return false;
                }
                if let Some(ahead) = self.background().leap(number) {
                    is_incomplete = true;
                    number = ahead;
                    break;
                }
                let keeps_text = self.has_room(comfortable);
                // A length may be wanted by who lists, a text is not yet.
                if keeps_text && edition.sizes.get(Ino(number).within_slot()).is_some() {
                    self.background().rest_while_listed();
                }
                edition.prepare(Ino(number), keeps_text, &mut renderer);
                // What was saved meanwhile is rendered from the next state.
                number += u64::from(!edition.volume.is_over());
            }
            if edition.volume.is_over() {
                self.background().rest();
            }
        }
        is_incomplete && self.latest_of(edition).is_some()
    }

    /// How many bytes of texts may be kept unasked: some part of the cache, if
    /// all will probably fit into it.
    fn comfortable(&self, edition: &Edition) -> Option<usize> {
        let comfortable = self.shared.texts.capacity() / 4 * 3;
        let all = usize::try_from(edition.capacity() * USUAL_BYTES).ok()?;
        (all < comfortable).then_some(comfortable)
    }

    fn has_room(&self, comfortable: Option<usize>) -> bool {
        comfortable.is_some_and(|bytes| self.shared.texts.bytes() < bytes)
    }

    /// Writes the lengths for the next mount.
    pub fn save_sizes(&self) {
        for edition in self.editions() {
            edition.save_sizes();
        }
    }
}

impl Edition {
    /// Renders one file ahead of its being asked for, if its length is not
    /// known, or its text is wanted and not here. `number` is that of the
    /// mount.
    fn prepare(&self, number: Ino, wants_text: bool, renderer: &mut Renderer<'_>) {
        let ino = number.within_slot();
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

    /// Whether this is what saves made of the one it began with.
    fn is_saved(&self) -> bool {
        self.is_later() && !self.volume.is_over()
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn wanted(ahead: &mut Ahead, numbers: impl IntoIterator<Item = u64>) -> Vec<Range<u64>> {
        numbers
            .into_iter()
            .filter_map(|number| ahead.wanted_after(number, 10_000))
            .collect()
    }

    #[test]
    fn a_sequence_is_read_ahead_without_gaps() {
        let mut ahead = Ahead::default();
        let ranges = wanted(&mut ahead, 100..400);
        assert_eq!(ranges[0], 103..167);
        for pair in ranges.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
        }
        assert!(ranges.last().unwrap().end > 400);
    }

    #[test]
    fn asking_twice_for_each_changes_nothing() {
        let once = wanted(&mut Ahead::default(), 100..400);
        let twice = wanted(&mut Ahead::default(), (100..400).flat_map(|n| [n, n]));
        assert_eq!(once, twice);
    }

    #[test]
    fn four_readers_are_told_apart_and_random_reads_are_none() {
        let mut ahead = Ahead::default();
        let four = (0..50).flat_map(|n| [n, 1000 + n, 2000 + n, 3000 + n]);
        let ranges = wanted(&mut ahead, four);
        for start in [0, 1000, 2000, 3000] {
            assert!(ranges.iter().any(|range| range.contains(&(start + 40))));
        }
        let mut ahead = Ahead::default();
        let random = (0..1000).map(|n| n * 7919 % 9973);
        assert_eq!(wanted(&mut ahead, random), []);
    }

    #[test]
    fn who_waits_for_the_haste_goes_on_when_it_is_done_or_takes_long() {
        let background = Background::default();
        background.wait_for_haste(Duration::from_millis(1));
        assert!(!background.lock().is_hastened);
        background.lock().is_hastened = true;
        background.wait_for_haste(Duration::from_hours(1));
    }

    #[test]
    fn the_filling_rests_while_somebody_lists_and_not_when_stopped() {
        let background = Background::default();
        let rested = || {
            let before = Instant::now();
            background.rest_while_listed();
            before.elapsed() >= REST
        };
        assert!(!background.is_listed.load(Relaxed));
        background.saw_listing();
        assert!(rested());
        assert!(!background.is_listed.load(Relaxed), "it goes on then");
        background.stop();
        background.saw_listing();
        background.rest_while_listed();
        assert!(!background.is_listed.load(Relaxed));
    }

    #[test]
    fn nothing_is_wanted_beyond_the_last() {
        let mut ahead = Ahead::default();
        let ranges: Vec<_> = (9_900..=10_000)
            .filter_map(|number| ahead.wanted_after(number, 10_000))
            .collect();
        assert_eq!(ranges.last().unwrap().end, 10_001);
    }
}
