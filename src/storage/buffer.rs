//! A reusable buffer for reads.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Storage;

/// Files up to this size are read as a whole when reading ahead.
const SMALL_FILE_BYTES: u64 = 1 << 18;

/// Number of bytes that are read ahead of larger files.
const WINDOW_BYTES: usize = 1 << 16;

/// Number of bytes of a block that is kept of a file read here and there.
const BLOCK_BYTES: usize = 1 << 12;

/// Number of blocks that are kept of a file.
const BLOCKS: usize = 1 << 10;

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
    /// The window behind the last one that was read: the next one, as long as
    /// each game is read from the same files.
    next: usize,
    /// Whether blocks are kept of files that are read here and there.
    keeps_blocks: bool,
}

/// A range of one file in memory.
#[derive(Debug)]
struct Window {
    /// Number of the file.
    file: u64,
    start: u64,
    bytes: Vec<u8>,
    /// Offset and length of the last read elsewhere.
    elsewhere: (u64, usize),
    /// Blocks elsewhere, each in the place of its number modulo [`BLOCKS`].
    blocks: Vec<CachedBlock>,
}

/// A block of a file in memory; empty before it is read.
#[derive(Clone, Debug, Default)]
struct CachedBlock {
    start: u64,
    bytes: Vec<u8>,
}

/// Returns the `len` bytes at `offset`, if these bytes from `start` on contain all
/// of them.
fn part_of(bytes: &[u8], start: u64, offset: u64, len: usize) -> Option<&[u8]> {
    let from = usize::try_from(offset.checked_sub(start)?).ok()?;
    bytes.get(from..from.checked_add(len)?)
}

impl Window {
    /// Returns the `len` bytes at `offset`, if the window contains all of them.
    fn part(&self, offset: u64, len: usize) -> Option<&[u8]> {
        part_of(&self.bytes, self.start, offset, len)
    }

    /// Returns the `len` bytes at `offset` out of a block that is kept, or `read`
    /// now; `None` if they are not all in it, or it cannot be read.
    fn block_part<E>(
        &mut self,
        offset: u64,
        len: usize,
        read: impl Fn(u64, usize, &mut Vec<u8>) -> Result<(), E>,
    ) -> Option<&[u8]> {
        let within = offset % BLOCK_BYTES as u64;
        if len as u64 > BLOCK_BYTES as u64 - within {
            return None;
        }
        let start = offset - within;
        self.blocks.resize(BLOCKS, CachedBlock::default());
        let number = start / BLOCK_BYTES as u64 % BLOCKS as u64;
        let place = usize::try_from(number).ok();
        let block = place.and_then(|place| self.blocks.get_mut(place))?;
        if block.start != start || block.bytes.is_empty() {
            // After an error nothing is kept.
            let mut bytes = std::mem::take(&mut block.bytes);
            if read(start, BLOCK_BYTES, &mut bytes).is_err() {
                return None;
            }
            *block = CachedBlock { start, bytes };
        }
        part_of(&block.bytes, start, offset, len)
    }

    /// Returns whether `offset` is so close behind the window, or behind the last
    /// read elsewhere, that reading ahead pays.
    fn is_near(&self, offset: u64, most: usize) -> bool {
        let is_behind = |start: u64, len: usize| {
            let end = start.saturating_add(len as u64);
            (start..=end.saturating_add(most as u64)).contains(&offset)
        };
        let (start, len) = self.elsewhere;
        is_behind(self.start, self.bytes.len()) || len > 0 && is_behind(start, len)
    }
}

impl ReadBuffer {
    /// Returns a buffer that reads ahead.
    pub fn ahead() -> ReadBuffer {
        ReadBuffer {
            bytes: Vec::new(),
            windows: Some(Vec::new()),
            ..ReadBuffer::default()
        }
    }

    /// Returns a buffer that reads ahead and keeps up to 4 MiB of each file that is
    /// read here and there, as the names of many games are.
    pub fn ahead_of_many() -> ReadBuffer {
        ReadBuffer {
            keeps_blocks: true,
            ..ReadBuffer::ahead()
        }
    }

    /// Returns whether it reads ahead, and what it gives may be older than the files.
    pub(crate) fn reads_ahead(&self) -> bool {
        self.windows.is_some()
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
        let is_of_file = |window: &Window| window.file == file;
        let at = if windows.get(self.next).is_some_and(is_of_file) {
            self.next
        } else if let Some(at) = windows.iter().position(is_of_file) {
            at
        } else {
            // The window of a small file is the whole file; that of a large one
            // begins with the requested bytes.
            let mut window = Window {
                file,
                start: offset,
                bytes: Vec::new(),
                elsewhere: (0, 0),
                blocks: Vec::new(),
            };
            let whole = file_len()?;
            if whole <= SMALL_FILE_BYTES {
                let whole = usize::try_from(whole).unwrap_or(0);
                if read(0, whole, &mut window.bytes).is_ok() {
                    window.start = 0;
                } else {
                    window.bytes.clear();
                }
            }
            windows.push(window);
            windows.len() - 1
        };
        self.next = at + 1;
        let Some(window) = windows.get_mut(at) else {
            return Ok(&[]);
        };
        // To read a block costs less than to read all that is between.
        let most = if self.keeps_blocks {
            2 * BLOCK_BYTES
        } else {
            WINDOW_BYTES / 4
        };
        if window.part(offset, len).is_none() && window.is_near(offset, most) {
            // After an error nothing is kept, and no more is read than what is asked for.
            let mut bytes = std::mem::take(&mut window.bytes);
            if read(offset, len.max(WINDOW_BYTES), &mut bytes).is_ok() {
                (window.start, window.bytes) = (offset, bytes);
            }
        }
        if window.part(offset, len).is_some() {
            return Ok(window.part(offset, len).unwrap_or_default());
        }
        window.elsewhere = (offset, len);
        if self.keeps_blocks
            && let Some(part) = window.block_part(offset, len, &read)
        {
            return Ok(part);
        }
        read(offset, len, &mut self.bytes)?;
        Ok(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::convert::Infallible;

    use super::*;

    /// Reads `wanted` of a file of `size` bytes; gives what the system was
    /// asked for.
    fn asked(size: usize, wanted: &[(u64, usize)]) -> Vec<(u64, usize)> {
        asked_by(ReadBuffer::ahead(), size, wanted)
    }

    fn asked_by(mut buffer: ReadBuffer, size: usize, wanted: &[(u64, usize)]) -> Vec<(u64, usize)> {
        let content: Vec<u8> = (0..size)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        let asked = RefCell::new(Vec::new());
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
    fn after_an_error_no_bytes_are_given_for_others() {
        let size = 1 << 20;
        for fails_after in 0..40 {
            for mut buffer in [ReadBuffer::ahead(), ReadBuffer::ahead_of_many()] {
                let count = Cell::new(0);
                // A failing read has overwritten a part of what was there.
                let read = |from: u64, len: usize, bytes: &mut Vec<u8>| {
                    count.set(count.get() + 1);
                    let end = (from + len as u64).min(size);
                    let content = (from..end).map(|at| (at % 251) as u8);
                    bytes.clear();
                    if count.get() == fails_after {
                        bytes.extend(content.take(100));
                        return Err(());
                    }
                    bytes.extend(content);
                    Ok(())
                };
                let near = (0..3000).map(|record| record * 46);
                let far = (1..50).map(|jump| jump * 70_001 % size);
                for offset in near.clone().chain(far).chain(near) {
                    let wanted: Vec<u8> =
                        (offset..offset + 46).map(|at| (at % 251) as u8).collect();
                    if let Ok(got) = buffer.read(1, offset, 46, || Ok(size), read) {
                        assert_eq!(got, wanted, "{offset} after {fails_after} reads");
                    }
                }
            }
        }
    }

    #[test]
    fn only_what_touches_a_bad_sector_cannot_be_read() {
        let bad = 300_000..300_512_u64;
        let size = 500_000;
        for small in [false, true] {
            let size = if small { 250_000 } else { size };
            let bad = if small { 100_000..100_512 } else { bad.clone() };
            for mut buffer in [ReadBuffer::ahead(), ReadBuffer::ahead_of_many()] {
                let read = |from: u64, len: usize, bytes: &mut Vec<u8>| {
                    let end = (from + len as u64).min(size);
                    bytes.clear();
                    if from < bad.end && end > bad.start {
                        return Err(());
                    }
                    bytes.extend((from..end).map(|at| (at % 251) as u8));
                    Ok(())
                };
                let near = (0..size / 46).map(|record| record * 46);
                let far = (1..99).map(|jump| jump * 70_001 % size);
                for offset in near.clone().chain(far).chain(near) {
                    let is_bad = offset < bad.end && offset + 46 > bad.start;
                    let got = buffer.read(1, offset, 46, || Ok(size), read);
                    assert_eq!(got.is_err(), is_bad, "{offset}");
                }
            }
        }
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
    fn stretches_far_from_each_other_are_read_a_window_at_a_time() {
        let stretches = (0..100).map(|stretch| stretch * 1_000_000);
        let records: Vec<_> = stretches
            .flat_map(|start| (0..1000).map(move |record| (start + record * 46, 46)))
            .collect();
        assert!(asked(200_000_000, &records).len() <= 200);
    }

    #[test]
    fn far_jumps_read_what_they_ask_for() {
        let jumps: Vec<_> = (1..100).map(|jump| (jump * 1_000_000, 67)).collect();
        let asked = asked(200_000_000, &jumps);
        assert!(asked[1..].iter().all(|&(_, len)| len == 67));
        let past_end = [(0, 10), (300_000_000, 10)];
        assert_eq!(self::asked(200_000_000, &past_end).len(), 2);
    }

    #[test]
    fn names_less_than_two_blocks_ahead_are_read_with_all_between() {
        let near = WINDOW_BYTES + 2 * BLOCK_BYTES;
        let asked = |offset: usize| {
            let wanted = [(0, 67), (offset as u64, 67)];
            asked_by(ReadBuffer::ahead_of_many(), 1 << 20, &wanted)[1]
        };
        assert_eq!(asked(near), (near as u64, WINDOW_BYTES));
        assert_eq!(asked(near + 1), (near as u64, BLOCK_BYTES));
    }

    #[test]
    fn names_of_many_games_are_read_a_block_at_a_time() {
        let names: Vec<_> = (0..20_000)
            .map(|name| (name * 7919 % 30_000 * 67, 67))
            .collect();
        let asked = asked_by(ReadBuffer::ahead_of_many(), 30_000 * 67, &names);
        assert!(asked.len() < 1000, "{}", asked.len());
        // Two blocks have one place: the last that was read is there.
        let size = 3 * BLOCKS * BLOCK_BYTES;
        let far = (BLOCKS * BLOCK_BYTES) as u64;
        let turns: Vec<_> = (0..20).map(|turn| (turn % 3 * far + 70_000, 67)).collect();
        asked_by(ReadBuffer::ahead_of_many(), size, &turns);
        let ends = [(0, 10), (size as u64 - 20, 67), (size as u64 + 9, 67)];
        asked_by(ReadBuffer::ahead_of_many(), size, &ends);
    }

    #[test]
    fn records_less_than_a_quarter_of_a_window_ahead_are_read_with_all_between() {
        let asked_last = |wanted: &[usize]| {
            let wanted: Vec<_> = wanted.iter().map(|offset| (*offset as u64, 67)).collect();
            *asked(1 << 20, &wanted).last().unwrap()
        };
        let near = WINDOW_BYTES + WINDOW_BYTES / 4;
        assert_eq!(asked_last(&[0, near]), (near as u64, WINDOW_BYTES));
        assert_eq!(asked_last(&[0, near + 1]), (near as u64 + 1, 67));
        // So are those behind the last one that was read elsewhere.
        let elsewhere = 10 * WINDOW_BYTES;
        let near = elsewhere + 67 + WINDOW_BYTES / 4;
        assert_eq!(
            asked_last(&[0, elsewhere, near]),
            (near as u64, WINDOW_BYTES)
        );
        assert_eq!(asked_last(&[0, elsewhere, near + 1]), (near as u64 + 1, 67));
    }

    #[test]
    fn a_name_at_the_end_of_a_block_is_read_with_it_and_one_that_goes_on_alone() {
        let block = BLOCK_BYTES as u64;
        let asked = |offset| {
            let wanted = [(0, 67), (100 * block + offset, 67)];
            asked_by(ReadBuffer::ahead_of_many(), 1 << 20, &wanted)[1]
        };
        assert_eq!(asked(block - 67), (100 * block, BLOCK_BYTES));
        assert_eq!(asked(block - 66), (101 * block - 66, 67));
    }
}
