//! A reusable buffer for reads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Storage;

/// Files up to this size are read as a whole when reading ahead.
const SMALL_FILE_BYTES: u64 = 1 << 18;

/// Number of bytes that are read ahead of larger files.
const WINDOW_BYTES: usize = 1 << 16;

/// Returns a number for an open file, unique in the process.
pub(crate) fn next_file_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}

/// The buffer that [`Storage::read`] fills. It is reused from read to read.
///
/// By default a read fetches exactly the requested bytes. A buffer that reads
/// ahead, for many records in order, keeps a window of each file and needs a
/// hundredth of the system calls. Its windows may be older than the files, so
/// it must be short-lived.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    /// The bytes of the last read.
    bytes: Vec<u8>,
    /// One window per file; `None` if each read is exact.
    windows: Option<Vec<Window>>,
}

/// A range of one file in memory.
#[derive(Debug)]
struct Window {
    /// Number of the file.
    file: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Returns the `len` bytes at `offset`, if the window contains all of them.
    fn part(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }

    /// Returns whether `offset` is close behind the window, so that reading
    /// ahead pays.
    fn is_near(&self, offset: u64) -> bool {
        let end = self.start + self.bytes.len() as u64;
        (self.start..=end + WINDOW_BYTES as u64 / 4).contains(&offset)
    }
}

impl ReadBuffer {
    /// Returns a buffer that reads ahead.
    pub fn ahead() -> ReadBuffer {
        ReadBuffer {
            bytes: Vec::new(),
            windows: Some(Vec::new()),
        }
    }

    /// Stores `bytes` that were read in another way.
    pub(crate) fn put(&mut self, bytes: Vec<u8>) -> &[u8] {
        self.bytes = bytes;
        &self.bytes
    }

    /// Reads the `len` bytes at `offset` of `file`, fewer at its end. The file
    /// has this `number`, and its [`fill`](Storage::fill) reads into a vector.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    pub(crate) fn read_filled(
        &mut self,
        file: &impl Storage,
        number: u64,
        offset: u64,
        len: usize,
    ) -> io::Result<&[u8]> {
        let fill = |offset, len, bytes: &mut Vec<u8>| file.fill(offset, len, bytes);
        let read = self.read(number, offset, len, || file.len(), fill)?;
        Ok(read.get(..len).unwrap_or(read))
    }

    /// Reads the `len` bytes at `offset` of the file with this number, fewer at
    /// its end. `read` reads a range of the file into a vector.
    pub(crate) fn read<E>(
        &mut self,
        file: u64,
        offset: u64,
        len: usize,
        file_len: impl FnOnce() -> Result<u64, E>,
        read: impl Fn(u64, usize, &mut Vec<u8>) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        let Some(windows) = &mut self.windows else {
            read(offset, len, &mut self.bytes)?;
            return Ok(&self.bytes);
        };
        let at = if let Some(at) = windows.iter().position(|window| window.file == file) {
            at
        } else {
            // The window of a small file is the whole file; that of a large one
            // begins with the requested bytes.
            let mut window = Window {
                file,
                start: offset,
                bytes: Vec::new(),
            };
            let whole = file_len()?;
            if whole <= SMALL_FILE_BYTES {
                window.start = 0;
                read(0, usize::try_from(whole).unwrap_or(0), &mut window.bytes)?;
            }
            windows.push(window);
            windows.len() - 1
        };
        let Some(window) = windows.get_mut(at) else {
            return Ok(&[]);
        };
        if window.part(offset, len).is_none() && window.is_near(offset) {
            window.start = offset;
            read(offset, len.max(WINDOW_BYTES), &mut window.bytes)?;
        }
        if window.part(offset, len).is_some() {
            return Ok(window.part(offset, len).unwrap_or_default());
        }
        read(offset, len, &mut self.bytes)?;
        Ok(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use super::*;

    /// Reads `wanted` of a file of `size` bytes; gives what the system was
    /// asked for.
    fn asked(size: usize, wanted: &[(u64, usize)]) -> Vec<(u64, usize)> {
        let content: Vec<u8> = (0..size)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        let asked = RefCell::new(Vec::new());
        let mut buffer = ReadBuffer::ahead();
        for &(offset, len) in wanted {
            let read = |from: u64, len: usize, bytes: &mut Vec<u8>| {
                asked.borrow_mut().push((from, len));
                let from = usize::try_from(from).unwrap().min(size);
                *bytes = content[from..(from + len).min(size)].to_vec();
                Ok::<(), Infallible>(())
            };
            let Ok(got) = buffer.read(1, offset, len, || Ok(size as u64), read);
            let from = usize::try_from(offset).unwrap().min(size);
            assert_eq!(got, &content[from..(from + len).min(size)], "{offset}");
        }
        asked.into_inner()
    }

    #[test]
    fn records_in_order_are_read_a_window_at_a_time() {
        let records: Vec<_> = (0..10_000).map(|record| (record * 46, 46)).collect();
        assert!(asked(460_000, &records).len() < 12);
    }

    #[test]
    fn a_small_file_is_read_once_in_any_order() {
        let records: Vec<_> = (0..2000)
            .map(|record| (record * 7919 % 100_000, 67))
            .collect();
        assert_eq!(asked(100_500, &records).len(), 1);
    }

    #[test]
    fn far_jumps_read_what_they_ask_for() {
        let jumps: Vec<_> = (1..100).map(|jump| (jump * 1_000_000, 67)).collect();
        let asked = asked(200_000_000, &jumps);
        assert!(asked[1..].iter().all(|&(_, len)| len == 67));
        let past_end = [(0, 10), (300_000_000, 10)];
        assert_eq!(self::asked(200_000_000, &past_end).len(), 2);
    }
}
