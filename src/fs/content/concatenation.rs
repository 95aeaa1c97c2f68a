//! Files that are other files one after the other: `pgn/all.pgn` and its
//! like.
//!
//! A concatenation holds the texts of all rendered files of one directory, in
//! the order of its listing. A file that cannot be rendered is left out: it
//! adds no byte. What is known of a concatenation is its [`SegmentMarks`]: its exact
//! length, and where in it every few files begin. The lengths it is made of
//! are those of [`Sizes`]; where they are missing, the files are rendered
//! once, by all threads that were lent and by the one that asks.
//!
//! ```text
//!   file      1 2 3 4 5 …        …                    …           last
//!   segment   |─────────|─────────|─────────|─────────|─────────|──|
//! ```
//!
//! A **segment** is a run of files between two marks of the index. A read takes
//! the files that it needs from the cached texts. A sequential reader is a
//! **stream**: background threads render the texts of its next segments ahead.
//! Without such threads, readers render all texts themselves.
//!
//! If a text is not as long as it was, all that follows would lie elsewhere.
//! Then reading ends with [`Error::Stale`].

mod index;
mod measuring;
mod streams;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use crate::fs::content::lengths::{Measure, Sizes};
use crate::fs::content::once::Once;
use crate::fs::content::text::mark;
use crate::fs::content::texts::Key;
use crate::fs::volume::Renderer;
use crate::fs::{Background, Bytes, Error, Ino, Text, TextCache, Volume};
use index::{SEGMENT_BYTES, Segment, SegmentMarks};
use measuring::Measuring;
use streams::{STREAMS, Streams};

/// Indexes kept; those used least recently leave first.
const MOST_INDEXES: usize = 64;

/// Marks in all indexes kept: 2 MiB.
const MOST_MARKS: usize = 1 << 17;

/// Work that may wait for a thread; older work is given up.
const MOST_JOBS: usize = 256;

/// Segments rendered ahead for each thread that was lent.
const AHEAD: usize = 8;

/// From so many files on, it pays to read the base ahead.
const MANY_FILES: usize = 16;

/// Files that are looked at to tell a length without rendering anything.
const FEW_FILES: u32 = 4096;

/// What concatenations are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// Number of the snapshot that all of it belongs to.
    pub(crate) snapshot: u64,
    pub(crate) volume: &'a dyn Volume,
    pub(crate) sizes: &'a Sizes,
    pub(crate) texts: &'a TextCache,
    pub(crate) background: &'a Background,
}

impl Sources<'_> {
    fn key(&self, ino: Ino) -> Key {
        (self.snapshot, ino)
    }

    /// The key of the text of a file, which snapshots may share.
    fn text_key(&self, ino: Ino) -> Key {
        (self.sizes.origin(ino), ino)
    }

    /// Returns `made`, or [`Error::Stale`] if the state was replaced: files may
    /// be missing then.
    fn ensure_present<T>(&self, made: T) -> Result<T, Error> {
        if self.volume.is_superseded() {
            return Err(Error::Stale);
        }
        Ok(made)
    }
}

/// Work for a thread that was lent.
#[derive(Debug)]
pub(crate) struct RenderJob {
    snapshot: u64,
    work: ConcatenationWork,
}

#[derive(Debug)]
enum ConcatenationWork {
    /// Render what this directory lists there.
    Ahead(Ino, Segment),
    /// Help to find out lengths.
    Measuring(Arc<Measuring>),
}

impl RenderJob {
    /// Number of the snapshot it is about.
    pub(crate) fn snapshot(&self) -> u64 {
        self.snapshot
    }

    /// Does it.
    pub(crate) fn run(self, sources: Sources<'_>) {
        match self.work {
            ConcatenationWork::Ahead(directory, segment) => {
                render_ahead(sources, directory, &segment);
            }
            ConcatenationWork::Measuring(measuring) => measuring.help(sources),
        }
    }
}

/// What is known of concatenations, each named by its snapshot and its
/// directory.
#[derive(Debug)]
pub(crate) struct Concatenations {
    indexes: Mutex<LruCache<Key, Arc<Once<Arc<SegmentMarks>>>>>,
    /// All reported lengths: if the kernel gets another one, it drops what it
    /// has read.
    lengths: Mutex<HashMap<u64, HashMap<Ino, u64>>>,
    streams: Mutex<Streams>,
    /// Held by who finds out lengths: the next one may find them known.
    measuring: Mutex<()>,
    jobs: Mutex<VecDeque<RenderJob>>,
}

impl Default for Concatenations {
    fn default() -> Concatenations {
        Concatenations {
            indexes: Mutex::new(LruCache::unbounded()),
            lengths: Mutex::default(),
            streams: Mutex::default(),
            measuring: Mutex::default(),
            jobs: Mutex::default(),
        }
    }
}

impl Concatenations {
    /// How many indexes are kept; the most.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.indexes.lock().len(), MOST_INDEXES)
    }

    /// Work that waits for a thread.
    pub(crate) fn next_job(&self) -> Option<RenderJob> {
        self.jobs.lock().pop_front()
    }

    /// Exact length of the concatenation of `directory`, in bytes. What is
    /// not known yet is rendered, with all threads there are.
    ///
    /// # Errors
    ///
    /// Those of listing the directory.
    pub(crate) fn length(&self, sources: Sources<'_>, directory: Ino) -> Result<u64, Error> {
        let known = self.told_length(sources.key(directory));
        match known {
            Some(length) => Ok(length),
            None => Ok(self.index(sources, directory)?.length()),
        }
    }

    fn told_length(&self, (snapshot, directory): Key) -> Option<u64> {
        let lengths = self.lengths.lock();
        lengths.get(&snapshot)?.get(&directory).copied()
    }

    /// Its length, if that can be told at once.
    pub(crate) fn known_length(&self, sources: Sources<'_>, directory: Ino) -> Option<u64> {
        let known = self.told_length(sources.key(directory));
        if known.is_some() {
            return known;
        }
        let (mut length, mut files) = (Some(0), 0);
        let walked = sources.volume.rendered_in(directory, 0, &mut |ino, _| {
            files += 1;
            let bytes = sources.sizes.get(ino).filter(|_| files <= FEW_FILES);
            length = length
                .zip(bytes)
                .map(|(sum, measure)| sum + u64::from(measure.bytes));
            length.is_some()
        });
        walked
            .ok()
            .and(length)
            .filter(|_| !sources.volume.is_superseded())
    }

    /// Up to `length` bytes from `offset` on; fewer only at the end.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if texts are no longer as long as they were, or that
    /// of a text which could be read before.
    pub(crate) fn read(
        &self,
        sources: Sources<'_>,
        directory: Ino,
        offset: u64,
        length: u32,
    ) -> Result<Bytes, Error> {
        let index = self.index(sources, directory)?;
        let end = offset.saturating_add(u64::from(length)).min(index.length());
        if offset >= end {
            return Ok(Bytes::Own(Vec::new()));
        }
        let result = self.read_range(sources, directory, &index, offset..end);
        if matches!(result, Err(Error::Stale)) {
            self.forget(sources.key(directory));
        }
        result.and_then(|bytes| sources.ensure_present(bytes))
    }

    fn read_range(
        &self,
        sources: Sources<'_>,
        directory: Ino,
        index: &SegmentMarks,
        range: Range<u64>,
    ) -> Result<Bytes, Error> {
        self.order_ahead(sources, directory, index, &range);
        let bytes = usize::try_from(range.end - range.start).unwrap_or(0);
        let mut reply = Vec::with_capacity(bytes);
        let numbers = index.segment_at(range.start)..=index.segment_at(range.end - 1);
        for segment in numbers.filter_map(|number| index.segment(number)) {
            append_part(sources, directory, &segment, &range, &mut reply)?;
        }
        if reply.len() != bytes {
            return Err(Error::Stale);
        }
        Ok(Bytes::Own(reply))
    }

    /// Where the range belongs to a stream, lets what follows be rendered.
    fn order_ahead(
        &self,
        sources: Sources<'_>,
        directory: Ino,
        index: &SegmentMarks,
        range: &Range<u64>,
    ) {
        let mut streams = self.streams.lock();
        let Some(ordered) = streams.saw(sources.key(directory), range) else {
            return;
        };
        // One reader does not take the room of another.
        let room = sources.texts.capacity() / SEGMENT_BYTES / STREAMS;
        let next = index.segment_at(range.end - 1) + 1;
        let end = next + room.min(AHEAD * sources.background.helpers());
        let from = next.max(*ordered);
        *ordered = end.max(*ordered);
        drop(streams);
        let segments = (from..end).filter_map(|number| index.segment(number));
        let mut work = segments.map(|segment| ConcatenationWork::Ahead(directory, segment));
        if let Some(first) = work.next() {
            self.give(sources, std::iter::once(first).chain(work));
        }
    }

    /// Lets lent threads do some work.
    fn give(&self, sources: Sources<'_>, work: impl Iterator<Item = ConcatenationWork>) {
        let Sources {
            snapshot,
            background,
            ..
        } = sources;
        let mut jobs = self.jobs.lock();
        jobs.extend(work.map(|work| RenderJob { snapshot, work }));
        let excess = jobs.len().saturating_sub(MOST_JOBS);
        jobs.drain(..excess);
        drop(jobs);
        background.wake();
    }

    /// The index of a concatenation; one thread makes it, others wait.
    fn index(&self, sources: Sources<'_>, directory: Ino) -> Result<Arc<SegmentMarks>, Error> {
        let key = sources.key(directory);
        let once = Arc::clone(self.indexes.lock().get_or_insert(key, Arc::default));
        if let Some(index) = once.get() {
            return Ok(index);
        }
        let index = once.get_or_work_out(|| {
            let _turn = self.measuring.lock();
            let measure = |files| self.measure(sources, files);
            let index = SegmentMarks::new(sources, directory, measure)?;
            sources.ensure_present(Arc::new(index))
        })?;
        let length = index.length();
        self.lengths
            .lock()
            .entry(key.0)
            .or_default()
            .insert(key.1, length);
        self.trim_indexes();
        Ok(index)
    }

    /// Renders `files` to know their lengths; gives those that have none.
    fn measure(&self, sources: Sources<'_>, files: Vec<Ino>) -> Vec<Ino> {
        let helpers = sources.background.helpers();
        let measuring = Arc::new(Measuring::new(files, helpers));
        let useful = helpers.min(measuring.batches().saturating_sub(1));
        if useful > 0 {
            let work = (0..useful).map(|_| ConcatenationWork::Measuring(Arc::clone(&measuring)));
            self.give(sources, work);
        }
        measuring.finish(sources)
    }

    fn trim_indexes(&self) {
        let mut indexes = self.indexes.lock();
        let marks = |(_, once): (&Key, &Arc<Once<Arc<SegmentMarks>>>)| {
            once.get().map_or(0, |index| index.marks())
        };
        let mut all: usize = indexes.iter().map(marks).sum();
        while indexes.len() > 1 && (indexes.len() > MOST_INDEXES || all > MOST_MARKS) {
            let removed = indexes.pop_lru();
            all -= removed.map_or(0, |(key, once)| marks((&key, &once)));
        }
    }

    /// Lets go of all that is known of one: it is not true any more.
    fn forget(&self, key: Key) {
        self.indexes.lock().pop(&key);
        if let Some(lengths) = self.lengths.lock().get_mut(&key.0) {
            lengths.remove(&key.1);
        }
    }

    /// Lets go of all that is known of a snapshot.
    pub(crate) fn forget_snapshot(&self, snapshot: u64) {
        let mut indexes = self.indexes.lock();
        let keys: Vec<_> = indexes.iter().map(|(key, _)| *key).collect();
        for key in keys.iter().filter(|(other, _)| *other == snapshot) {
            indexes.pop(key);
        }
        drop(indexes);
        self.lengths.lock().remove(&snapshot);
        self.jobs.lock().retain(|job| job.snapshot != snapshot);
    }
}

/// Appends to `reply` what of `range` lies in this segment.
fn append_part(
    sources: Sources<'_>,
    directory: Ino,
    segment: &Segment,
    range: &Range<u64>,
    reply: &mut Vec<u8>,
) -> Result<(), Error> {
    if range.end <= segment.start || segment.end <= range.start {
        return Ok(());
    }
    let mut wanted = Vec::new();
    let mut start = segment.start;
    for ino in files_of(sources.volume, directory, segment)? {
        let bytes = length_of(sources.sizes, ino);
        let end = start + u64::from(bytes);
        // What adds nothing is not asked for: it may not be readable.
        if bytes > 0 && start < range.end && range.start < end {
            wanted.push((ino, start, bytes));
        }
        start = end;
    }
    if start != segment.end {
        return Err(Error::Stale);
    }
    let mut renderer: Renderer<'_> = if wanted.len() >= MANY_FILES {
        sources.volume.renderer()
    } else {
        Box::new(|ino, text| sources.volume.render(ino, text))
    };
    for (ino, start, bytes) in wanted {
        let text = text_of(sources, &mut renderer, ino)?;
        if text.len() != bytes as usize {
            return Err(Error::Stale);
        }
        let part = text.get(within(range, start, text.len()));
        reply.extend_from_slice(part.unwrap_or_default());
    }
    Ok(())
}

/// Renders the texts of a segment before somebody asks.
fn render_ahead(sources: Sources<'_>, directory: Ino, segment: &Segment) {
    // Whoever asks for a text meets its error, or that of the listing.
    let files = files_of(sources.volume, directory, segment).unwrap_or_default();
    let mut renderer = sources.volume.renderer();
    for ino in files {
        let is_wanted = length_of(sources.sizes, ino) > 0;
        if is_wanted && !sources.texts.contains(sources.text_key(ino)) {
            let _ = text_of(sources, &mut renderer, ino);
        }
    }
}

/// The text of a file, rendered if it is not kept.
fn text_of(sources: Sources<'_>, renderer: &mut Renderer<'_>, ino: Ino) -> Result<Text, Error> {
    sources.texts.get_or_render(sources.text_key(ino), || {
        let mut text = Vec::new();
        append_text(renderer, ino, &mut text)?;
        Ok(Text::from(text))
    })
}

/// Where `range` lies in the `length` bytes that begin at `start`.
fn within(range: &Range<u64>, start: u64, length: usize) -> Range<usize> {
    let place = |offset: u64| {
        let offset = usize::try_from(offset.saturating_sub(start));
        offset.unwrap_or(usize::MAX).min(length)
    };
    place(range.start)..place(range.end)
}

/// Returns the rendered files of a segment. If the listing ends early, the
/// lengths show whether a file is missing.
fn files_of(volume: &dyn Volume, directory: Ino, segment: &Segment) -> Result<Vec<Ino>, Error> {
    let mut files = Vec::new();
    let walked = volume.rendered_in(directory, segment.after, &mut |ino, cookie| {
        let is_inside = segment.last.is_none_or(|last| cookie <= last);
        if is_inside {
            files.push(ino);
        }
        is_inside && segment.last != Some(cookie)
    });
    match walked {
        Err(error) if files.is_empty() => Err(error),
        _ => Ok(files),
    }
}

/// What a file adds to a concatenation: nothing, if it has no known length.
fn length_of(sizes: &Sizes, ino: Ino) -> u32 {
    sizes.get(ino).map_or(0, |measure| measure.bytes)
}

/// Appends the text of `ino`, or nothing if there is an error.
///
/// # Errors
///
/// That of rendering; [`Error::TooLarge`].
fn append_text(
    renderer: &mut Renderer<'_>,
    ino: Ino,
    text: &mut Vec<u8>,
) -> Result<Measure, Error> {
    let start = text.len();
    let rendered = Error::unless_panic(|| renderer(ino, text));
    let measure = rendered.and_then(|completeness| {
        let bytes = u32::try_from(text.len() - start)
            .ok()
            .filter(|bytes| *bytes <= Measure::MAX_BYTES)
            .ok_or(Error::TooLarge)?;
        Ok(Measure {
            bytes,
            mark: mark(text.get(start..).unwrap_or_default()),
            completeness,
        })
    });
    if measure.is_err() {
        text.truncate(start);
    }
    measure
}
