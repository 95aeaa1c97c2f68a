//! Files that are other files one after the other: `pgn/all.pgn` and its
//! like.
//!
//! A concatenation holds the texts of all rendered files of one directory, in
//! the order of its listing. A file that cannot be rendered is left out: it
//! adds no byte. What is known of a concatenation is its [`Index`]: its exact
//! length, and where in it every few files begin. The lengths it is made of
//! are those of [`Sizes`]; where they are missing, the files are rendered
//! once, by all threads that were lent and by the one that asks.
//!
//! ```text
//!   file      1 2 3 4 5 …        …                    …           last
//!   segment   |─────────|─────────|─────────|─────────|─────────|──|
//!   chunk     |───────────────────────────────────────|────────────|
//! ```
//!
//! A **segment** is a run of files between two marks of the index, a
//! **chunk** a few segments. Who reads here and there gets the files it asks
//! for, out of the texts kept. Who reads on and on is a **stream**: for it,
//! whole chunks are rendered ahead, each by one thread, and kept until room is
//! needed for others. A chunk that is being rendered is waited for, one that
//! waits for a thread is rendered by whoever needs it: without lent threads,
//! readers do all themselves.
//!
//! If a text is not as long as it was, all that follows would lie elsewhere.
//! Then reading ends with [`Error::Stale`].

mod chunks;
mod index;
mod measuring;
mod streams;

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use lru::LruCache;

use crate::fs::content::lengths::{Measure, Sizes};
use crate::fs::content::once::Once;
use crate::fs::content::text::mark;
use crate::fs::content::texts::Key;
use crate::fs::volume::Renderer;
use crate::fs::{Background, Bytes, Error, Ino, Text, TextCache, Volume};
use chunks::{Chunk, Chunks};
use index::{Index, Segment};
use measuring::Measuring;
use streams::Streams;

/// Indexes kept; those used least recently leave first.
const MOST_INDEXES: usize = 64;

/// Marks in all indexes kept: 2 MiB.
const MOST_MARKS: usize = 1 << 17;

/// Work that may wait for a thread; older work is given up.
const MOST_JOBS: usize = 256;

/// A longer chunk is not rendered as a whole: its files are long.
pub(crate) const MOST_CHUNK_BYTES: u64 = 2 << 20;

/// From so many files on, it pays to read the base ahead.
const MANY_FILES: usize = 16;

/// Files that are looked at to tell a length without rendering anything.
const FEW_FILES: u32 = 4096;

/// What concatenations are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// Number of the edition that all of it belongs to.
    pub(crate) edition: u64,
    pub(crate) volume: &'a dyn Volume,
    pub(crate) sizes: &'a Sizes,
    pub(crate) texts: &'a TextCache,
    pub(crate) background: &'a Background,
}

impl Sources<'_> {
    fn key(&self, ino: Ino) -> Key {
        (self.edition, ino)
    }

    /// The key of the text of a file, which editions may share.
    fn text_key(&self, ino: Ino) -> Key {
        (self.sizes.origin(ino), ino)
    }

    /// What was put together of a state that is over may lack files.
    fn ensure_present<T>(&self, made: T) -> Result<T, Error> {
        if self.volume.is_over() {
            return Err(Error::Stale);
        }
        Ok(made)
    }
}

/// Work for a thread that was lent.
#[derive(Debug)]
pub(crate) struct Job {
    edition: u64,
    work: Work,
}

#[derive(Debug)]
enum Work {
    /// Render ahead, if it is still wanted.
    Chunk(Weak<Chunk>),
    /// Help to find out lengths.
    Measuring(Arc<Measuring>),
}

impl Job {
    /// Number of the edition it is about.
    pub(crate) fn edition(&self) -> u64 {
        self.edition
    }

    /// Does it.
    pub(crate) fn run(self, sources: Sources<'_>) {
        match self.work {
            Work::Chunk(chunk) => {
                if let Some(chunk) = chunk.upgrade() {
                    chunk.render_ahead(sources);
                }
            }
            Work::Measuring(measuring) => measuring.help(sources),
        }
    }
}

/// What is known of concatenations, each named by its edition and its
/// directory.
#[derive(Debug)]
pub(crate) struct Concatenations {
    indexes: Mutex<LruCache<Key, Arc<Once<Arc<Index>>>>>,
    /// All lengths that were told: a kernel which is then told otherwise
    /// forgets what it has read.
    lengths: Mutex<HashMap<u64, HashMap<Ino, u64>>>,
    reading: Mutex<Reading>,
    /// Held by who finds out lengths: the next one may find them known.
    measuring: Mutex<()>,
    jobs: Mutex<VecDeque<Job>>,
}

#[derive(Debug)]
struct Reading {
    streams: Streams,
    chunks: Chunks,
}

#[cfg(test)]
impl Concatenations {
    /// How many indexes are kept, and bytes of pieces; the most of each.
    pub(crate) fn kept(&self) -> [(u64, u64); 2] {
        let bytes = lock(&self.reading).chunks.bytes();
        let indexes = lock(&self.indexes).len() as u64;
        [(indexes, MOST_INDEXES as u64), (bytes, 2 << 20)]
    }
}

impl Concatenations {
    /// Keeps chunks of `capacity` bytes at most, and the one used last.
    pub(crate) fn new(capacity: usize) -> Concatenations {
        Concatenations {
            indexes: Mutex::new(LruCache::unbounded()),
            lengths: Mutex::default(),
            reading: Mutex::new(Reading {
                streams: Streams::default(),
                chunks: Chunks::new(capacity as u64),
            }),
            measuring: Mutex::default(),
            jobs: Mutex::default(),
        }
    }

    /// Work that waits for a thread.
    pub(crate) fn next_job(&self) -> Option<Job> {
        lock(&self.jobs).pop_front()
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

    fn told_length(&self, (edition, directory): Key) -> Option<u64> {
        let lengths = lock(&self.lengths);
        lengths.get(&edition)?.get(&directory).copied()
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
            .filter(|_| !sources.volume.is_over())
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
        index: &Index,
        range: Range<u64>,
    ) -> Result<Bytes, Error> {
        let numbers = index.chunk_at(range.start)..=index.chunk_at(range.end - 1);
        let chunks = self.chunks(sources, directory, index, &range);
        if let [Some(chunk)] = chunks.as_slice() {
            let text = chunk.text(sources)?;
            return Ok(Bytes::Chunk(text, chunk.within(&range)));
        }
        let bytes = usize::try_from(range.end - range.start).unwrap_or(0);
        let mut reply = Vec::with_capacity(bytes);
        for (number, chunk) in numbers.zip(chunks) {
            if let Some(chunk) = chunk {
                let text = chunk.text(sources)?;
                let part = text.get(chunk.within(&range)).ok_or(Error::Stale)?;
                reply.extend_from_slice(part);
            } else {
                for segment in index.segments(number) {
                    append_part(sources, directory, &segment, &range, &mut reply)?;
                }
            }
        }
        if reply.len() != bytes {
            return Err(Error::Stale);
        }
        Ok(Bytes::Own(reply))
    }

    /// The chunks that hold `range`, those that are not there or not worth it
    /// left out. Where the range belongs to a stream, all are there, and those
    /// that follow will be rendered.
    fn chunks(
        &self,
        sources: Sources<'_>,
        directory: Ino,
        index: &Index,
        range: &Range<u64>,
    ) -> Vec<Option<Arc<Chunk>>> {
        let first = index.chunk_at(range.start);
        let last = index.chunk_at(range.end - 1);
        let key = sources.key(directory);
        let mut wanted = Vec::new();
        let mut reading = lock(&self.reading);
        let is_stream = reading.streams.saw(key, range);
        let here = (first..=last).map(|number| {
            if !is_stream {
                return reading.chunks.get(key, index, number);
            }
            let (chunk, is_new) = reading.chunks.get_or_add(key, index, number)?;
            // The first is rendered by who asks.
            if is_new && number != first {
                wanted.push(Arc::downgrade(&chunk));
            }
            Some(chunk)
        });
        let here = here.collect();
        let helpers = sources.background.helpers();
        if is_stream && helpers > 0 {
            for number in last + 1..=last + reading.chunks.ahead(helpers) {
                if let Some((chunk, true)) = reading.chunks.get_or_add(key, index, number) {
                    wanted.push(Arc::downgrade(&chunk));
                }
            }
        }
        drop(reading);
        if helpers > 0 && !wanted.is_empty() {
            self.give(sources, wanted.into_iter().map(Work::Chunk));
        }
        here
    }

    /// Lets lent threads do some work.
    fn give(&self, sources: Sources<'_>, work: impl Iterator<Item = Work>) {
        let Sources {
            edition,
            background,
            ..
        } = sources;
        let mut jobs = lock(&self.jobs);
        jobs.extend(work.map(|work| Job { edition, work }));
        let excess = jobs.len().saturating_sub(MOST_JOBS);
        jobs.drain(..excess);
        drop(jobs);
        background.wake();
    }

    /// The index of a concatenation; one thread makes it, others wait.
    fn index(&self, sources: Sources<'_>, directory: Ino) -> Result<Arc<Index>, Error> {
        let key = sources.key(directory);
        let once = Arc::clone(lock(&self.indexes).get_or_insert(key, Arc::default));
        if let Some(index) = once.get() {
            return Ok(index);
        }
        let index = once.get_or_work_out(|| {
            let _turn = lock(&self.measuring);
            let measure = |files| self.measure(sources, files);
            let index = Index::new(sources, directory, measure)?;
            sources.ensure_present(Arc::new(index))
        })?;
        let length = index.length();
        lock(&self.lengths)
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
            let work = (0..useful).map(|_| Work::Measuring(Arc::clone(&measuring)));
            self.give(sources, work);
        }
        measuring.finish(sources)
    }

    fn trim_indexes(&self) {
        let mut indexes = lock(&self.indexes);
        let marks =
            |(_, once): (&Key, &Arc<Once<Arc<Index>>>)| once.get().map_or(0, |index| index.marks());
        let mut all: usize = indexes.iter().map(marks).sum();
        while indexes.len() > 1 && (indexes.len() > MOST_INDEXES || all > MOST_MARKS) {
            let removed = indexes.pop_lru();
            all -= removed.map_or(0, |(key, once)| marks((&key, &once)));
        }
    }

    /// Lets go of all that is known of one: it is not true any more.
    fn forget(&self, key: Key) {
        lock(&self.indexes).pop(&key);
        if let Some(lengths) = lock(&self.lengths).get_mut(&key.0) {
            lengths.remove(&key.1);
        }
        lock(&self.reading).chunks.forget(|other| other == key);
    }

    /// Lets go of all that is known of an edition.
    pub(crate) fn forget_edition(&self, edition: u64) {
        let mut indexes = lock(&self.indexes);
        let keys: Vec<_> = indexes.iter().map(|(key, _)| *key).collect();
        for key in keys.iter().filter(|(other, _)| *other == edition) {
            indexes.pop(key);
        }
        drop(indexes);
        lock(&self.lengths).remove(&edition);
        lock(&self.reading)
            .chunks
            .forget(|(other, _)| other == edition);
        lock(&self.jobs).retain(|job| job.edition != edition);
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
        let text = sources.texts.get_or_render(sources.text_key(ino), || {
            let mut text = Vec::with_capacity(bytes as usize);
            append_text(&mut renderer, ino, &mut text)?;
            Ok(Text::from(text))
        })?;
        if text.len() != bytes as usize {
            return Err(Error::Stale);
        }
        let part = text.get(within(range, start, text.len()));
        reply.extend_from_slice(part.unwrap_or_default());
    }
    Ok(())
}

/// Where `range` lies in the `length` bytes that begin at `start`.
fn within(range: &Range<u64>, start: u64, length: usize) -> Range<usize> {
    let place = |offset: u64| {
        let offset = usize::try_from(offset.saturating_sub(start));
        offset.unwrap_or(usize::MAX).min(length)
    };
    place(range.start)..place(range.end)
}

/// The rendered files of a segment. Where the listing breaks off, it is the
/// lengths that tell whether something is missing.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
