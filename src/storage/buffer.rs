//! Memory to read into.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Storage;

/// Files up to this size are read whole when reading ahead.
const SMALL_FILE_BYTES: u64 = 1 << 18;

/// How much of a larger file is read at once when reading ahead.
const WINDOW_BYTES: usize = 1 << 16;

/// A number that tells an open file from all others that are.
pub(crate) fn next_file_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Relaxed)
}

/// Memory that [`Storage::read`] fills, reused from
/// read to read.
///
/// By default it reads exactly what is asked for. One that reads ahead, for
/// many records in order, keeps stretches of the files and asks the system
/// for a hundredth as much; what it keeps may be older than the files, so it
/// must not be kept long itself.
#[derive(Debug, Default)]
pub struct ReadBuffer {
    /// What was read last.
    bytes: Vec<u8>,
    /// A stretch per file; `None` if each read is exact.
    windows: Option<Vec<Window>>,
}

/// A stretch of one file.
#[derive(Debug)]
struct Window {
    /// Which file.
    file: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The part of the stretch at `offset`, if all of it lies inside.
    fn part(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }

    /// Whether `offset` goes on from here, and so is worth reading ahead.
    fn is_near(&self, offset: u64) -> bool {
        let end = self.start + self.bytes.len() as u64;
        (self.start..=end + WINDOW_BYTES as u64 / 4).contains(&offset)
    }
}

impl ReadBuffer {
    /// One that reads ahead.
    pub fn ahead() -> ReadBuffer {
        ReadBuffer {
            bytes: Vec::new(),
            windows: Some(Vec::new()),
        }
    }

    /// Keeps `bytes`, which somebody else has read.
    pub(crate) fn put(&mut self, bytes: Vec<u8>) -> &[u8] {
        self.bytes = bytes;
        &self.bytes
    }

    /// The `len` bytes at `offset` of a `file` that [fills](Storage::fill) a
    /// vector and has this number, fewer where it ends.
    ///
    /// # Errors
    ///
    /// The medium's.
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

    /// The `len` bytes at `offset` of the file numbered `file`, fewer where
    /// it ends; `read` fills a vector with a stretch of the file.
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
            // A small file is one window; a large one begins with what
            // is asked for.
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
