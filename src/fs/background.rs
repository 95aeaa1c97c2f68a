//! Work of background threads: read-ahead, computing lengths and storing them,
//! and checking whether a base has changed.
//!
//! No thread is started here. [`Vfs::fill`] is given one by whoever runs the
//! mount, [`Vfs::read_ahead`] one or more, and they return when
//! [`Background::stop`] was called. Before they read ahead, these threads do
//! the first files together ([`Vfs::measure_first_files`]): a base of usual size is then
//! known when it is first listed. One more thread calls [`Vfs::refresh`]
//! whenever [`Background::pause`] returns.
//!
//! Of single files, all render without [`get_or_render`]: a request never
//! waits for a thread that may be of low priority; at worst one text is
//! rendered twice.
//!
//! [`Vfs::fill`]: crate::vfs::Vfs::fill
//! [`Vfs::read_ahead`]: crate::vfs::Vfs::read_ahead
//! [`Vfs::measure_first_files`]: crate::vfs::Vfs::measure_first_files
//! [`Vfs::refresh`]: crate::vfs::Vfs::refresh
//! [`get_or_render`]: crate::fs::TextCache::get_or_render

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::fs::Ino;
use crate::fs::content::concatenation::RenderJob;

/// Number of sequential readers that are tracked.
const STREAMS: usize = 4;

/// So many files one after the other make a sequence.
const SEQUENCE: u32 = 3;

/// A number may be missing in a sequence, if others are deleted.
const GAP: u64 = 4;

/// Files rendered ahead of a reader.
const WINDOW: u64 = 64;

/// Stretches that wait to be rendered ahead; older ones are given up.
const MOST_WANTED: usize = 8;

/// Number of files that the filling skips when it meets a reader.
const LEAP: u64 = 64;

/// Pause of the filling while a directory is listed or files are read: longer
/// than the time between two pages of a listing.
const REST: Duration = Duration::from_millis(5);

/// Time until a save is visible.
const MOMENT: Duration = Duration::from_millis(1);

/// Between two writes of the file of lengths.
const SAVE_INTERVAL: Duration = Duration::from_secs(300);

/// State of the work beside the requests.
#[derive(Debug, Default)]
pub struct Background {
    ahead: Mutex<Ahead>,
    pub(crate) wake: Condvar,
    is_stopping: AtomicBool,
    /// Whether a request waits for the next refresh.
    is_refresh_requested: AtomicBool,
    /// Number of the last file that a reader had to wait for.
    awaited: AtomicU64,
    /// Threads that read ahead.
    helpers: AtomicUsize,
    /// Whether a directory was listed since the filling last checked. The process
    /// that lists it may need all processors for its own work.
    pub(crate) is_listed: AtomicBool,
    /// Whether something was made for a reader since then.
    pub(crate) is_read: AtomicBool,
}

/// What a thread that reads ahead does next.
pub(crate) enum Task {
    /// Files that will be asked for one after the other.
    Files(Range<u64>),
    Job(RenderJob),
}

#[derive(Debug, Default)]
pub(crate) struct Ahead {
    streams: [BackgroundReader; STREAMS],
    /// The stream to give up when another one begins.
    oldest: usize,
    pub(crate) wanted: VecDeque<Range<u64>>,
    /// Whether there is a snapshot that nobody works at yet.
    has_snapshot: bool,
    /// Whether the first files are done, or taken on.
    pub(crate) has_first_lengths: bool,
}

/// A reader that goes from file to file.
#[derive(Clone, Copy, Debug, Default)]
struct BackgroundReader {
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
    pub(crate) fn wake(&self) {
        // Whoever has looked already is waiting once the lock is free.
        drop(self.lock());
        self.wake.notify_all();
    }

    /// How many threads read ahead. They are of the same priority as those
    /// that answer requests, which may wait for them.
    pub(crate) fn helpers(&self) -> usize {
        self.helpers.load(Relaxed)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock()
    }

    /// Waits as long as this, or until stopped or `is_enough`.
    fn wait(&self, longest: Duration, is_enough: impl Fn(&Ahead) -> bool) -> MutexGuard<'_, Ahead> {
        let mut ahead = self.lock();
        let goes_on = |ahead: &mut Ahead| !self.is_stopping() && !is_enough(ahead);
        self.wake.wait_while_for(&mut ahead, goes_on, longest);
        ahead
    }

    /// Makes [`pause`](Background::pause) return, since a base has changed.
    pub(crate) fn request_refresh(&self) {
        if !self.is_refresh_requested.swap(true, Relaxed) {
            self.wake();
        }
    }

    /// Waits as long as this, or until it is worth looking for changes;
    /// false if stopped.
    pub fn pause(&self, longest: Duration) -> bool {
        drop(self.wait(longest, |_| self.is_refresh_requested.load(Relaxed)));
        self.is_refresh_requested.store(false, Relaxed);
        !self.is_stopping()
    }

    /// Waits a moment, for a save to be shown.
    pub(crate) fn rest(&self) {
        self.pass(MOMENT);
    }

    /// Waits as long as this; false if stopped.
    pub fn pass(&self, time: Duration) -> bool {
        drop(self.wait(time, |_| false));
        !self.is_stopping()
    }

    /// Notes that there is a snapshot whose lengths are not known.
    pub(crate) fn note_snapshot(&self) {
        self.lock().has_snapshot = true;
        self.wake.notify_all();
    }

    /// Waits until there is such a snapshot, or it is time to save; false if
    /// stopped.
    pub(crate) fn wait_for_snapshot(&self) -> bool {
        self.wait(SAVE_INTERVAL, |ahead| ahead.has_snapshot)
            .has_snapshot = false;
        !self.is_stopping()
    }

    /// Waits until [`Vfs::measure_first_files`](crate::vfs::Vfs::measure_first_files) is done, or as long as this.
    pub fn wait_for_first_lengths(&self, longest: Duration) {
        drop(self.wait(longest, |ahead| ahead.has_first_lengths));
    }

    /// Pauses until a whole pause has passed without this flag being set.
    pub(crate) fn rest_while(&self, is_noted: &AtomicBool) {
        while is_noted.load(Relaxed) && is_noted.swap(false, Relaxed) {
            self.pass(REST);
        }
    }

    /// Notes that a request waits for `ino` to be rendered.
    pub(crate) fn note_render(&self, ino: Ino) {
        self.awaited.store(ino.0, Relaxed);
    }

    /// Returns where to continue instead of `number`, if a reader is rendering
    /// there now.
    pub(crate) fn leap(&self, number: u64) -> Option<u64> {
        let awaited = self.awaited.load(Relaxed);
        let is_here = (awaited..awaited + LEAP).contains(&number);
        (is_here && awaited != 0).then(|| {
            self.awaited.store(0, Relaxed);
            awaited + LEAP
        })
    }

    /// Notes that the text of `ino` is read. If this continues a sequence, the
    /// next files up to `last` are wanted too.
    pub(crate) fn note_read(&self, ino: Ino, last: Ino) {
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
pub(crate) struct Helper<'a>(&'a Background);

impl<'a> Helper<'a> {
    pub(crate) fn new(background: &'a Background) -> Helper<'a> {
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
                *stream = BackgroundReader {
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
    fn waiting_for_first_lengths_ends_when_done_or_timed_out() {
        let background = Background::default();
        background.wait_for_first_lengths(Duration::from_millis(1));
        assert!(!background.lock().has_first_lengths);
        background.lock().has_first_lengths = true;
        background.wait_for_first_lengths(Duration::from_secs(3600));
    }

    #[test]
    fn the_filling_pauses_for_listings_and_readers_until_it_is_stopped() {
        let background = Background::default();
        for is_noted in [&background.is_listed, &background.is_read] {
            let before = Instant::now();
            background.rest_while(is_noted);
            is_noted.store(true, Relaxed);
            background.rest_while(is_noted);
            assert!(before.elapsed() >= REST);
            assert!(!is_noted.load(Relaxed), "it goes on then");
        }
        background.stop();
        background.is_read.store(true, Relaxed);
        background.rest_while(&background.is_read);
        assert!(!background.is_read.load(Relaxed));
    }

    #[test]
    fn read_ahead_stops_at_the_last_file() {
        let mut ahead = Ahead::default();
        let ranges: Vec<_> = (9_900..=10_000)
            .filter_map(|number| ahead.wanted_after(number, 10_000))
            .collect();
        assert_eq!(ranges.last().unwrap().end, 10_001);
    }
}
