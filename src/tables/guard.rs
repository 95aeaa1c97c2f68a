//! Limits for damaged or hostile files: a page of a few kilobytes can unpack to
//! 2 GB, and a list can have more values than fit into memory.

use std::cell::Cell;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};

use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use parking_lot::Mutex;

/// Most values of a page, and of the lists of some rows: more than any program
/// writes.
const MOST_VALUES: u64 = 1 << 23;

/// Most bytes of an unpacked page. A game has at most 16 MiB.
const MOST_PAGE: u64 = 1 << 27;

/// Most bytes of all unpacked pages that are held together.
const MOST_HELD: u64 = 1 << 28;

thread_local! {
    /// Whether a panic of this thread is expected.
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Reads by the crate, which may panic on a damaged file; `None` if it did. Nothing
/// is printed then.
pub(super) fn without_panic<T>(read: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_EXPECTED.get() {
                usual(panic);
            }
        }));
    });
    IS_EXPECTED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    IS_EXPECTED.set(false);
    done.ok()
}

fn refused(what: String) -> ParquetError {
    ParquetError::General(what)
}

/// A file that tells how long a page will be before it is unpacked.
#[derive(Debug)]
pub(super) struct GuardedFile(pub(super) File);

impl Length for GuardedFile {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for GuardedFile {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<BufReader<File>> {
        let mut head = [0; 24];
        let read = self.0.read_at(&mut head, start)?;
        match unpacked_length(head.get(..read).unwrap_or_default()) {
            Some(length) if length > MOST_PAGE => Err(refused(format!(
                "at offset {start}, a page unpacks to {length} bytes; more than {MOST_PAGE} are not read"
            ))),
            _ => self.0.get_read(start),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.0.len()) {
            return Err(refused(format!(
                "{length} bytes at offset {start} are wanted; the file ends before"
            )));
        }
        self.0.get_bytes(start, length)
    }
}

/// How many bytes a page unpacks to, by the begin of its header; `None` for what is
/// no header. Its first fields are the kind of page and the length, each an integer
/// behind the byte 0x15.
fn unpacked_length(head: &[u8]) -> Option<u64> {
    let mut rest = head;
    let kind = field(&mut rest)?;
    let length = field(&mut rest)?;
    let is_header = kind < 4 && rest.first() == Some(&0x15);
    is_header.then_some(length)
}

fn field(rest: &mut &[u8]) -> Option<u64> {
    let (0x15, mut behind) = rest.split_first().map(|(&byte, behind)| (byte, behind))? else {
        return None;
    };
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, after) = behind.split_first()?;
        behind = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            *rest = behind;
            // The lowest bit is the sign; a negative length is a great one here.
            return Some(if value & 1 == 0 { value >> 1 } else { u64::MAX });
        }
    }
    None
}

/// Memory of the pages of all columns.
#[derive(Clone, Debug, Default)]
pub(super) struct PageMemory(Arc<Mutex<u64>>);

/// Memory of the pages of a column since rows were begun to be read.
#[derive(Clone, Debug, Default)]
pub(super) struct BatchMemory(Arc<Mutex<PageCounts>>);

#[derive(Debug, Default)]
struct PageCounts {
    /// Bytes of the page that values are taken from.
    last: u64,
    /// Bytes of the pages before.
    before: u64,
    /// Values of the pages that were begun.
    values: u64,
}

impl BatchMemory {
    /// Rows are begun: nothing holds the pages before.
    pub(super) fn begin(&self, held: &PageMemory) {
        let mut counts = self.0.lock();
        *held.0.lock() -= counts.before;
        counts.before = 0;
        counts.values = 0;
    }

    fn add(&self, page: &Page, held: &PageMemory) -> Result<()> {
        let bytes = page.buffer().len() as u64;
        let mut counts = self.0.lock();
        counts.before += counts.last;
        counts.last = bytes;
        counts.values += u64::from(page.num_values());
        let mut held = held.0.lock();
        *held += bytes;
        if *held > MOST_HELD {
            return Err(refused(format!(
                "some rows take more than {MOST_HELD} bytes of memory, which is not read"
            )));
        }
        Ok(())
    }
}

/// The pages of a column.
pub(super) struct ColumnPages {
    pub(super) unguarded: Box<dyn PageReader>,
    pub(super) round: BatchMemory,
    pub(super) held: PageMemory,
    /// Whether a row may have many values.
    pub(super) is_list: bool,
}

impl ColumnPages {
    fn check(&self, page: &Page) -> Result<()> {
        self.round.add(page, &self.held)?;
        let values = if self.is_list {
            self.round.0.lock().values
        } else {
            page.num_values().into()
        };
        if values > MOST_VALUES {
            return Err(refused(format!(
                "some rows claim {values} values; more than {MOST_VALUES} are not read"
            )));
        }
        Ok(())
    }
}

impl PageReader for ColumnPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.unguarded.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.unguarded.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.unguarded.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.unguarded.at_record_boundary()
    }
}

impl Iterator for ColumnPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_page_is_told_by_its_header() {
        let header = [0x15, 0x00, 0x15, 0x80, 0x80, 0x80, 0x80, 0x08, 0x15, 0x02];
        assert_eq!(unpacked_length(&header), Some(1 << 30));
        let negative = [0x15, 0x04, 0x15, 0x01, 0x15, 0x02];
        assert_eq!(unpacked_length(&negative), Some(u64::MAX));
        for other in [
            &b""[..],
            b"PAR1",
            &[0x15, 0x02, 0x19, 0x02],
            &[0x15, 0x08, 0x15, 0x02, 0x15],
            &[0x15, 0x00, 0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(unpacked_length(other), None, "{other:?}");
        }
    }
}
