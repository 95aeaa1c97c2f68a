//! The bytes of a draft.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use parking_lot::{Mutex, MutexGuard};
use xxhash_rust::xxh3::Xxh3;

use super::pool::{BLOCK, Pool};
use crate::fs::Error;

/// Bytes that a reader takes at once.
const PIECE: usize = 1 << 18;

/// What is written on, by all who have the draft open.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Tells it from all others of this process.
    number: u64,
    buffer: Mutex<Buffer>,
    /// Its length, for who does not want to wait for a writer.
    length: AtomicU64,
    /// Counts what was done to it.
    version: AtomicU64,
    /// Why something that was to be written on it is missing, if so: the
    /// first reason.
    gap: Mutex<Option<String>>,
}

impl Sheet {
    /// An empty one.
    pub(super) fn new(pool: &Arc<Pool>) -> Sheet {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Sheet {
            number: NEXT.fetch_add(1, SeqCst),
            buffer: Mutex::new(Buffer::new(Arc::clone(pool))),
            length: AtomicU64::new(0),
            version: AtomicU64::new(0),
            gap: Mutex::default(),
        }
    }

    /// One with this on it.
    pub(super) fn of(pool: &Arc<Pool>, bytes: &[u8]) -> Result<Sheet, Error> {
        let sheet = Sheet::new(pool);
        sheet.lock().write(0, bytes)?;
        sheet.length.store(bytes.len() as u64, SeqCst);
        Ok(sheet)
    }

    /// Keeps all others from reading and writing it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock()
    }

    /// A number that no other sheet of this process has.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn length(&self) -> u64 {
        self.length.load(SeqCst)
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(SeqCst)
    }

    /// Why something that was to be written on it is missing, if so: then it
    /// is not what anybody wanted to save. An empty one misses nothing.
    pub(super) fn gap(&self) -> Option<String> {
        let gap = self.gap.lock();
        gap.clone()
    }

    /// Writes at `offset`, at the end if there is none; not beyond `most`
    /// bytes.
    pub(super) fn write(&self, offset: Option<u64>, bytes: &[u8], most: u64) -> Result<(), Error> {
        self.change(|buffer| {
            let offset = offset.unwrap_or(buffer.length);
            check_end(offset, bytes.len() as u64, most)?;
            buffer.write(offset, bytes)
        })
    }

    /// Cuts it, or fills it up with zeros; not beyond `most` bytes.
    pub(super) fn set_length(&self, length: u64, most: u64) -> Result<(), Error> {
        self.change(|buffer| {
            check_end(length, 0, most.max(buffer.length))?;
            buffer.set_length(length)
        })
    }

    fn change(&self, change: impl FnOnce(&mut Buffer) -> Result<(), Error>) -> Result<(), Error> {
        let mut buffer = self.lock();
        let changed = change(&mut buffer);
        let mut gap = self.gap.lock();
        match &changed {
            Err(error) => drop(gap.get_or_insert_with(|| reason_of_gap(error))),
            Ok(()) if buffer.length == 0 => *gap = None,
            Ok(()) => {}
        }
        drop(gap);
        // What failed may have been done in part.
        self.length.store(buffer.length, SeqCst);
        self.version.fetch_add(1, SeqCst);
        changed
    }

    /// Up to `length` bytes from `offset` on.
    pub(super) fn read(&self, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        self.lock().read(offset, u64::from(length))
    }

    /// Reads it from beginning to end, while others may read it too; fails if
    /// somebody writes on it meanwhile, or when `is_over` is set.
    pub(super) fn reader(&self, is_over: &AtomicBool) -> BufReader<Pieces<impl ReadAt>> {
        let version = self.version();
        let read = move |offset, bytes: &mut [u8]| {
            if is_over.load(Relaxed) {
                return Err(io::Error::other("the mount ends"));
            }
            let read = self.lock().read_at(offset, bytes);
            if self.version() != version {
                return Err(io::Error::other("it is being written"));
            }
            read.map_err(|error| io::Error::other(error.to_string()))
        };
        let (length, offset) = (self.length(), 0);
        let pieces = Pieces {
            read,
            length,
            offset,
        };
        BufReader::with_capacity(PIECE, pieces)
    }

    /// What tells what is on it from others.
    pub(super) fn digest(&self, is_over: &AtomicBool) -> io::Result<u64> {
        let mut hasher = Xxh3::new();
        let mut reader = self.reader(is_over);
        loop {
            let piece = reader.fill_buf()?;
            if piece.is_empty() {
                return Ok(hasher.digest());
            }
            hasher.update(piece);
            let length = piece.len();
            reader.consume(length);
        }
    }

    /// All of it, and of which version that is.
    pub(super) fn all(&self) -> Result<(Vec<u8>, u64), Error> {
        let buffer = self.lock();
        let all = buffer.read(0, buffer.length)?;
        Ok((all, self.version()))
    }
}

/// What is said of a part that could not be written.
fn reason_of_gap(error: &Error) -> String {
    let why = match error {
        Error::TooLarge => "a game takes up to 16 MiB".to_owned(),
        Error::NoSpace => {
            "drafts take as much as --scratch-size says and their disk has room for".to_owned()
        }
        other => other.to_string(),
    };
    format!("a part of it could not be written: {why}")
}

/// Writes at the end.
impl Write for &Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = Sheet::write(self, None, bytes, u64::MAX);
        written.map_err(|error| io::Error::from_raw_os_error(error.errno()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check_end(offset: u64, length: u64, most: u64) -> Result<(), Error> {
    let end = offset.checked_add(length);
    end.filter(|end| *end <= most).ok_or(Error::TooLarge)?;
    Ok(())
}

/// Bytes in memory while they are few, else in blocks of the pool.
#[derive(Debug)]
pub(super) struct Buffer {
    pool: Arc<Pool>,
    length: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// As many bytes are taken of the pool's memory.
    Memory(Vec<u8>),
    /// Of a block that is not there all bytes are zero; so are those of the
    /// last one beyond the end.
    Blocks(Vec<Option<u32>>),
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match &self.place {
            Place::Memory(bytes) => self.pool.give_memory(bytes.len() as u64),
            Place::Blocks(blocks) => {
                for block in blocks.iter().flatten() {
                    self.pool.give_block(*block);
                }
            }
        }
    }
}

impl Buffer {
    fn new(pool: Arc<Pool>) -> Buffer {
        Buffer {
            pool,
            length: 0,
            place: Place::Memory(Vec::new()),
        }
    }

    /// Up to `length` bytes from `offset` on.
    fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, Error> {
        let rest = self.length.saturating_sub(offset);
        let mut bytes = vec![0; index(rest.min(length))?];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` from `offset` on; gives how many, fewer only at the end.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, Error> {
        let start = offset.min(self.length);
        let end = start.saturating_add(bytes.len() as u64).min(self.length);
        let length = index(end - start)?;
        let bytes = bytes.get_mut(..length).unwrap_or_default();
        match &self.place {
            Place::Memory(memory) => {
                let range = index(start)?..index(end)?;
                let memory = memory.get(range).ok_or(Error::Stale)?;
                bytes.copy_from_slice(memory);
            }
            Place::Blocks(blocks) => {
                for part in parts(start, end) {
                    let place = blocks.get(part.block).copied().flatten();
                    let from = index(part.at - start)?;
                    let Some(into) = bytes.get_mut(from..from + part.length) else {
                        return Err(Error::Stale);
                    };
                    match place {
                        Some(block) => self.pool.read(block, part.start, into)?,
                        None => into.fill(0),
                    }
                }
            }
        }
        Ok(length)
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let before = self.length;
        let end = offset + bytes.len() as u64;
        if end > before {
            self.grow(end)?;
        }
        let written = self.put(offset, end, bytes);
        if written.is_err() && end > before {
            // What there was no room for is not there.
            self.set_length(before)?;
        }
        written
    }

    /// Writes where there is something already.
    fn put(&mut self, start: u64, end: u64, bytes: &[u8]) -> Result<(), Error> {
        if let Place::Memory(memory) = &mut self.place {
            let range = index(start)?..index(end)?;
            if let Some(into) = memory.get_mut(range) {
                into.copy_from_slice(bytes);
            }
            return Ok(());
        }
        for part in parts(start, end) {
            let from = index(part.at - start)?;
            let piece = bytes.get(from..from + part.length).unwrap_or_default();
            self.write_into(part.block, part.start, piece)?;
        }
        Ok(())
    }

    /// Writes into a block, which is made if it is not there.
    fn write_into(&mut self, number: usize, start: usize, bytes: &[u8]) -> Result<(), Error> {
        let Place::Blocks(blocks) = &mut self.place else {
            return Ok(());
        };
        let Some(place) = blocks.get_mut(number) else {
            return Err(Error::Stale);
        };
        if let Some(block) = *place {
            return self.pool.write(block, start, bytes);
        }
        let mut whole = vec![0; BLOCK];
        if let Some(into) = whole.get_mut(start..start + bytes.len()) {
            into.copy_from_slice(bytes);
        }
        let block = self.pool.take_block()?;
        *place = Some(block);
        self.pool.write(block, 0, &whole)
    }

    fn set_length(&mut self, length: u64) -> Result<(), Error> {
        if length > self.length {
            return self.grow(length);
        }
        match &mut self.place {
            Place::Memory(bytes) => {
                bytes.truncate(index(length)?);
                self.pool.give_memory(self.length - length);
            }
            Place::Blocks(blocks) => {
                let kept = index(length.div_ceil(BLOCK as u64))?;
                for block in blocks.drain(kept.min(blocks.len())..).flatten() {
                    self.pool.give_block(block);
                }
                let rest = index(length % BLOCK as u64)?;
                if rest > 0
                    && let Some(block) = blocks.last().copied().flatten()
                {
                    self.pool.write(block, rest, &vec![0; BLOCK - rest])?;
                }
            }
        }
        self.length = length;
        Ok(())
    }

    /// Adds zeros.
    fn grow(&mut self, length: u64) -> Result<(), Error> {
        if length > self.pool.most() {
            return Err(Error::NoSpace);
        }
        if let Place::Memory(bytes) = &mut self.place {
            let is_small = length <= BLOCK as u64;
            if is_small && self.pool.take_memory(length - self.length) {
                bytes.resize(index(length)?, 0);
                self.length = length;
                return Ok(());
            }
            self.move_to_blocks()?;
        }
        if let Place::Blocks(blocks) = &mut self.place {
            blocks.resize(index(length.div_ceil(BLOCK as u64))?, None);
        }
        self.length = length;
        Ok(())
    }

    fn move_to_blocks(&mut self) -> Result<(), Error> {
        let Place::Memory(bytes) = &mut self.place else {
            return Ok(());
        };
        if bytes.is_empty() {
            self.place = Place::Blocks(Vec::new());
            return Ok(());
        }
        let mut whole = bytes.clone();
        whole.resize(BLOCK, 0);
        let block = self.pool.take_block()?;
        if let Err(error) = self.pool.write(block, 0, &whole) {
            self.pool.give_block(block);
            return Err(error);
        }
        self.pool.give_memory(bytes.len() as u64);
        self.place = Place::Blocks(vec![Some(block)]);
        Ok(())
    }

    /// Reads it from beginning to end.
    pub(super) fn reader(&self) -> BufReader<Pieces<impl ReadAt>> {
        let read = |offset, bytes: &mut [u8]| {
            let read = self.read_at(offset, bytes);
            read.map_err(|error| io::Error::other(error.to_string()))
        };
        let (length, offset) = (self.length, 0);
        let pieces = Pieces {
            read,
            length,
            offset,
        };
        BufReader::with_capacity(PIECE, pieces)
    }
}

/// A part of one block.
struct Part {
    block: usize,
    /// Where in the block.
    start: usize,
    length: usize,
    /// Where in the whole.
    at: u64,
}

/// The parts of blocks from `start` to `end`.
fn parts(start: u64, end: u64) -> impl Iterator<Item = Part> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = end.checked_sub(at).filter(|rest| *rest > 0)?;
        let inside = at % BLOCK as u64;
        let length = rest.min(BLOCK as u64 - inside);
        let part = Part {
            block: usize::try_from(at / BLOCK as u64).ok()?,
            start: usize::try_from(inside).ok()?,
            length: usize::try_from(length).ok()?,
            at,
        };
        at += length;
        Some(part)
    })
}

fn index(offset: u64) -> Result<usize, Error> {
    usize::try_from(offset).map_err(|_| Error::TooLarge)
}

/// Fills bytes from an offset on; gives how many, fewer only at the end.
pub(super) trait ReadAt: Fn(u64, &mut [u8]) -> io::Result<usize> {}

impl<F: Fn(u64, &mut [u8]) -> io::Result<usize>> ReadAt for F {}

/// Reads from beginning to end, or from elsewhere.
#[derive(Debug)]
pub(super) struct Pieces<F> {
    read: F,
    length: u64,
    offset: u64,
}

impl<F: ReadAt> Read for Pieces<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = (self.read)(self.offset, bytes)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl<F: ReadAt> Seek for Pieces<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.offset.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        self.offset = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a `Vec`.
        #[test]
        fn it_keeps_bytes_as_a_file_does(
            steps in prop::collection::vec((any::<bool>(), 0..70_000_usize, 0..20_000_usize), 1..12),
        ) {
            let pool = Arc::new(Pool::new(1 << 20, None));
            let sheet = Sheet::new(&pool);
            let mut model: Vec<u8> = Vec::new();
            for (number, (is_write, offset, length)) in steps.into_iter().enumerate() {
                if is_write {
                    let bytes = vec![u8::try_from(number + 1).unwrap(); length];
                    sheet.write(Some(offset as u64), &bytes, 1 << 20).unwrap();
                    if length > 0 {
                        model.resize(model.len().max(offset + length), 0);
                        model[offset..offset + length].copy_from_slice(&bytes);
                    }
                } else {
                    sheet.set_length(offset as u64, 1 << 20).unwrap();
                    model.resize(offset, 0);
                }
                prop_assert_eq!(sheet.length(), model.len() as u64);
                prop_assert!(sheet.all().unwrap().0 == model);
                let mut read = Vec::new();
                sheet.lock().reader().read_to_end(&mut read).unwrap();
                prop_assert!(read == model);
            }
            drop(sheet);
            prop_assert_eq!(pool.bytes(), 0);
        }
    }

    #[test]
    fn there_is_room_for_no_more_than_was_said() {
        let pool = Arc::new(Pool::new(10 * BLOCK as u64, None));
        let sheet = Sheet::new(&pool);
        let block = vec![1; BLOCK];
        for number in 0..10 {
            sheet
                .write(Some(number * BLOCK as u64), &block, u64::MAX)
                .unwrap();
        }
        let full = sheet.write(None, b"x", u64::MAX);
        assert_eq!(full.unwrap_err().errno(), libc::ENOSPC);
        let other = Sheet::new(&pool);
        assert!(other.write(None, b"x", u64::MAX).is_err());
        assert_eq!(sheet.all().unwrap().0, vec![1; 10 * BLOCK]);
        let large = sheet.write(Some(100), b"x", 100);
        assert_eq!(large.unwrap_err().errno(), libc::EFBIG);
        drop(sheet);
        other.write(None, b"x", u64::MAX).unwrap();
        assert_eq!(pool.bytes(), BLOCK as u64);
    }
}
