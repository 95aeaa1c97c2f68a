//! A temporary text that several threads write and read.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use parking_lot::{Mutex, MutexGuard};
use xxhash_rust::xxh3::Xxh3;

use super::{Buffer, Pool};

/// Bytes that a reader takes at once.
const PIECE: usize = 1 << 18;

/// A temporary text, shared by all who write it.
#[derive(Debug)]
pub(crate) struct SharedBuffer {
    /// Unique among those of this process.
    number: u64,
    buffer: Mutex<Buffer>,
    /// Length in bytes, readable without waiting for a writer.
    length: AtomicU64,
    /// Incremented with each change.
    version: AtomicU64,
    /// Why a write failed, if one did: the first reason. The text is incomplete
    /// then.
    gap: Mutex<Option<io::Error>>,
}

impl SharedBuffer {
    /// An empty one.
    pub(crate) fn new(pool: &Arc<Pool>) -> SharedBuffer {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        SharedBuffer {
            number: NEXT.fetch_add(1, SeqCst),
            buffer: Mutex::new(Buffer::new(Arc::clone(pool))),
            length: AtomicU64::new(0),
            version: AtomicU64::new(0),
            gap: Mutex::default(),
        }
    }

    /// One with this on it.
    pub(crate) fn of(pool: &Arc<Pool>, bytes: &[u8]) -> io::Result<SharedBuffer> {
        let buffer = SharedBuffer::new(pool);
        buffer.lock().write(0, bytes)?;
        buffer.length.store(bytes.len() as u64, SeqCst);
        Ok(buffer)
    }

    /// Keeps all others from reading and writing it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock()
    }

    /// A number that no other one of this process has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn length(&self) -> u64 {
        self.length.load(SeqCst)
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(SeqCst)
    }

    /// Returns why the text is incomplete; `None` if it is complete. An empty
    /// text is complete.
    pub(crate) fn gap(&self) -> Option<io::Error> {
        let gap = self.gap.lock();
        gap.as_ref().map(copied)
    }

    /// Writes at `offset`, at the end if there is none; not beyond `most`
    /// bytes.
    pub(crate) fn write(&self, offset: Option<u64>, bytes: &[u8], most: u64) -> io::Result<()> {
        self.change(|buffer| {
            let offset = offset.unwrap_or(buffer.length());
            check_end(offset, bytes.len() as u64, most)?;
            buffer.write(offset, bytes)
        })
    }

    /// Cuts it, or fills it up with zeros; not beyond `most` bytes.
    pub(crate) fn set_length(&self, length: u64, most: u64) -> io::Result<()> {
        self.change(|buffer| {
            check_end(length, 0, most.max(buffer.length()))?;
            buffer.set_length(length)
        })
    }

    fn change(&self, change: impl FnOnce(&mut Buffer) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = self.lock();
        let changed = change(&mut buffer);
        let mut gap = self.gap.lock();
        match &changed {
            Err(error) => drop(gap.get_or_insert_with(|| copied(error))),
            Ok(()) if buffer.length() == 0 => *gap = None,
            Ok(()) => {}
        }
        drop(gap);
        // What failed may have been done in part.
        self.length.store(buffer.length(), SeqCst);
        self.version.fetch_add(1, SeqCst);
        changed
    }

    /// Up to `length` bytes from `offset` on.
    pub(crate) fn read(&self, offset: u64, length: u32) -> io::Result<Vec<u8>> {
        self.lock().read(offset, u64::from(length))
    }

    /// Returns a reader of the whole text. Others may read meanwhile. It fails
    /// if the text changes or `is_interrupted` is set.
    pub(crate) fn reader(
        &self,
        is_interrupted: &AtomicBool,
    ) -> BufReader<BufferReader<impl ReadAt>> {
        let version = self.version();
        let read = move |offset, bytes: &mut [u8]| {
            if is_interrupted.load(Relaxed) {
                return Err(io::Error::other("the mount ends"));
            }
            let read = self.lock().read_at(offset, bytes);
            if self.version() != version {
                return Err(io::Error::other("it is being written"));
            }
            read.map_err(of_medium)
        };
        let (length, offset) = (self.length(), 0);
        let pieces = BufferReader {
            read,
            length,
            offset,
        };
        BufReader::with_capacity(PIECE, pieces)
    }

    /// Returns a digest of the text.
    pub(crate) fn digest(&self, is_interrupted: &AtomicBool) -> io::Result<u64> {
        let mut hasher = Xxh3::new();
        let mut reader = self.reader(is_interrupted);
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

    /// Returns the whole text and its version.
    pub(crate) fn all(&self) -> io::Result<(Vec<u8>, u64)> {
        let buffer = self.lock();
        let all = buffer.read(0, buffer.length())?;
        Ok((all, self.version()))
    }
}

/// Writes at the end.
impl Write for &SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SharedBuffer::write(self, None, bytes, u64::MAX)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check_end(offset: u64, length: u64, most: u64) -> io::Result<()> {
    let end = offset.checked_add(length);
    end.filter(|end| *end <= most)
        .ok_or(io::ErrorKind::FileTooLarge)?;
    Ok(())
}

/// The same error once more.
fn copied(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// An error that says nothing of the text which is read.
#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
fn of_medium(error: io::Error) -> io::Error {
    io::Error::other(format!("the temporary file of drafts: {error}"))
}

/// Reads bytes that nobody else can change meanwhile, from beginning to end.
pub(crate) fn reader_of(buffer: &Buffer) -> BufReader<BufferReader<impl ReadAt>> {
    let pieces = BufferReader {
        read: |offset, bytes: &mut [u8]| buffer.read_at(offset, bytes).map_err(of_medium),
        length: buffer.length(),
        offset: 0,
    };
    BufReader::with_capacity(PIECE, pieces)
}

/// Fills bytes from an offset on; gives how many, fewer only at the end.
pub(crate) trait ReadAt: Fn(u64, &mut [u8]) -> io::Result<usize> {}

impl<F: Fn(u64, &mut [u8]) -> io::Result<usize>> ReadAt for F {}

/// Reads from beginning to end, or from elsewhere.
#[derive(Debug)]
pub(crate) struct BufferReader<F> {
    read: F,
    length: u64,
    offset: u64,
}

impl<F: ReadAt> Read for BufferReader<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = (self.read)(self.offset, bytes)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl<F: ReadAt> Seek for BufferReader<F> {
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

    const BLOCK: usize = 16 << 10;

    proptest! {
        /// Against a `Vec`.
        #[test]
        fn it_keeps_bytes_as_a_file_does(
            steps in prop::collection::vec((any::<bool>(), 0..70_000_usize, 0..20_000_usize), 1..12),
        ) {
            let pool = Arc::new(Pool::new(1 << 20, None));
            let buffer = SharedBuffer::new(&pool);
            let mut model: Vec<u8> = Vec::new();
            for (number, (is_write, offset, length)) in steps.into_iter().enumerate() {
                if is_write {
                    let bytes = vec![u8::try_from(number + 1).unwrap(); length];
                    buffer.write(Some(offset as u64), &bytes, 1 << 20).unwrap();
                    if length > 0 {
                        model.resize(model.len().max(offset + length), 0);
                        model[offset..offset + length].copy_from_slice(&bytes);
                    }
                } else {
                    buffer.set_length(offset as u64, 1 << 20).unwrap();
                    model.resize(offset, 0);
                }
                prop_assert_eq!(buffer.length(), model.len() as u64);
                prop_assert!(buffer.all().unwrap().0 == model);
                let mut read = Vec::new();
                reader_of(&buffer.lock()).read_to_end(&mut read).unwrap();
                prop_assert!(read == model);
            }
            drop(buffer);
            prop_assert_eq!(pool.bytes(), 0);
        }
    }

    #[test]
    fn a_text_is_read_as_long_as_it_stays_and_nothing_interrupts() {
        let pool = Arc::new(Pool::new(1 << 20, None));
        let buffer = SharedBuffer::of(&pool, b"one text").unwrap();
        let other = SharedBuffer::new(&pool);
        (&other).write_all(b"one ").unwrap();
        (&other).write_all(b"text").unwrap();
        assert_ne!(buffer.number(), other.number());
        assert_eq!((buffer.length(), other.length()), (8, 8));
        assert_eq!(buffer.read(2, 4).unwrap(), b"e te");
        assert_eq!(buffer.read(4, 9).unwrap(), b"text");
        let (goes_on, ends) = (AtomicBool::new(false), AtomicBool::new(true));
        let digest = buffer.digest(&goes_on).unwrap();
        assert_eq!(digest, other.digest(&goes_on).unwrap());
        let text = |is_interrupted| io::read_to_string(buffer.reader(is_interrupted));
        assert_eq!(text(&goes_on).unwrap(), "one text");
        assert!(text(&ends).is_err() && buffer.digest(&ends).is_err());
        let mut reader = buffer.reader(&goes_on);
        buffer.write(Some(0), b"t", 8).unwrap();
        assert!(reader.fill_buf().is_err());
        assert_ne!(buffer.digest(&goes_on).unwrap(), digest);
    }

    #[test]
    fn a_text_is_read_from_where_the_reader_goes() {
        let pool = Arc::new(Pool::new(1 << 20, None));
        let buffer = SharedBuffer::of(&pool, b"0123456789").unwrap();
        let goes_on = AtomicBool::new(false);
        let mut reader = buffer.reader(&goes_on);
        let mut two = [0; 2];
        for (to, wanted) in [
            (SeekFrom::Start(3), b"34"),
            (SeekFrom::Current(2), b"78"),
            (SeekFrom::Current(-9), b"01"),
            (SeekFrom::End(-2), b"89"),
        ] {
            reader.seek(to).unwrap();
            reader.read_exact(&mut two).unwrap();
            assert_eq!(two, *wanted, "{to:?}");
        }
        assert!(reader.seek(SeekFrom::End(-11)).is_err());
    }

    #[test]
    fn there_is_room_for_no_more_than_was_said() {
        let pool = Arc::new(Pool::new(10 * BLOCK as u64, None));
        let buffer = SharedBuffer::new(&pool);
        let block = vec![1; BLOCK];
        for number in 0..10 {
            buffer
                .write(Some(number * BLOCK as u64), &block, u64::MAX)
                .unwrap();
        }
        let full = buffer.write(None, b"x", u64::MAX);
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        let other = SharedBuffer::new(&pool);
        assert!(other.write(None, b"x", u64::MAX).is_err());
        assert_eq!(buffer.all().unwrap().0, vec![1; 10 * BLOCK]);
        let large = buffer.write(Some(100), b"x", 100);
        assert_eq!(large.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        drop(buffer);
        other.write(None, b"x", u64::MAX).unwrap();
        assert_eq!(pool.bytes(), BLOCK as u64);
    }

    #[test]
    fn a_text_that_was_not_written_whole_is_incomplete_until_it_is_emptied() {
        let pool = Arc::new(Pool::new(1 << 20, None));
        let buffer = SharedBuffer::new(&pool);
        buffer.write(None, b"text", 10).unwrap();
        assert!(buffer.gap().is_none());
        buffer.write(None, b"too long", 10).unwrap_err();
        let why = |buffer: &SharedBuffer| buffer.gap().map(|error| error.kind());
        assert_eq!(why(&buffer), Some(io::ErrorKind::FileTooLarge));
        buffer.write(None, b"more", 10).unwrap();
        assert_eq!(why(&buffer), Some(io::ErrorKind::FileTooLarge));
        buffer.set_length(0, 10).unwrap();
        assert_eq!(why(&buffer), None);
    }
}
