//! A file of pages with checksums, written once and then only read.
//!
//! Each page has 4088 bytes of content and their XXH3 hash, whose seed is that of
//! the file plus the number of the page: a byte that became another, a page in
//! another place or of another file is noticed by who reads it. The first page is
//! the head, written last; its seed is 0, and after what the owner puts there it
//! has the seed and the number of the pages. A file that is not as long as its
//! head says is not opened.
//!
//! Pages are read with `pread`, as all files here, and not mapped into memory: a
//! file that somebody cuts short meanwhile is an error of one read.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use nix::unistd::geteuid;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::private::open_at_once;
use crate::bytes::varint;

/// Bytes of a page on disk, and those of its content.
const PAGE: usize = 4096;
const CONTENT: usize = PAGE - 8;

/// Bytes of the head that its owner may use.
pub const HEAD: usize = CONTENT - 16;

/// Opens a file that this user alone can have written.
///
/// # Errors
///
/// `InvalidData` if it is a link, no regular file, or of another user or
/// writable for others; errors of the system.
pub fn open_own(path: &Path) -> io::Result<File> {
    let (file, stat) = open_at_once(path, libc::O_NOFOLLOW)?;
    if !stat.is_file() || stat.uid() != geteuid().as_raw() || stat.mode() & 0o022 != 0 {
        return Err(damaged("it is not a file that only this user can write"));
    }
    Ok(file)
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn checksum(content: &[u8], seed: u64, number: u64) -> [u8; 8] {
    xxh3_64_with_seed(content, seed.wrapping_add(number)).to_le_bytes()
}

/// Writes the content of a new file from its begin to its end.
#[derive(Debug)]
pub struct PageWriter<'f> {
    file: &'f File,
    out: BufWriter<&'f File>,
    seed: u64,
    /// What the present page has so far, and its number.
    page: Vec<u8>,
    number: u64,
}

impl<'f> PageWriter<'f> {
    /// Begins an empty file.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn new(file: &'f File, seed: u64) -> io::Result<PageWriter<'f>> {
        let mut out = BufWriter::with_capacity(1 << 18, file);
        out.write_all(&[0; PAGE])?;
        Ok(PageWriter {
            file,
            out,
            seed,
            page: Vec::with_capacity(PAGE),
            number: 1,
        })
    }

    /// Where the next byte goes.
    pub fn position(&self) -> u64 {
        (self.number - 1) * CONTENT as u64 + self.page.len() as u64
    }

    /// Appends to the content.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = CONTENT - self.page.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.page.extend_from_slice(now);
            if self.page.len() == CONTENT {
                self.end_page()?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn end_page(&mut self) -> io::Result<()> {
        let sum = checksum(&self.page, self.seed, self.number);
        self.page.extend_from_slice(&sum);
        self.out.write_all(&self.page)?;
        self.page.clear();
        self.number += 1;
        Ok(())
    }

    /// The seed of the file.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Ends the content and syncs it; returns the number of pages.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn end(mut self) -> io::Result<u64> {
        if !self.page.is_empty() {
            self.page.resize(CONTENT, 0);
            self.end_page()?;
        }
        self.out.flush()?;
        self.file.sync_data()?;
        Ok(self.number)
    }
}

/// Writes the head of a file with this seed and as many pages, and syncs it.
///
/// # Errors
///
/// `InvalidInput` if the head is longer than [`HEAD`]; errors of the system.
pub fn write_head(file: &File, seed: u64, pages: u64, head: &[u8]) -> io::Result<()> {
    if head.len() > HEAD {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut page = head.to_vec();
    page.resize(HEAD, 0);
    page.extend_from_slice(&seed.to_le_bytes());
    page.extend_from_slice(&pages.to_le_bytes());
    let sum = checksum(&page, 0, 0);
    page.extend_from_slice(&sum);
    file.write_all_at(&page, 0)?;
    file.sync_all()
}

/// A file that [`PageWriter`] has written.
#[derive(Debug)]
pub struct PagedFile {
    file: File,
    seed: u64,
    count: u64,
    head: Vec<u8>,
}

impl PagedFile {
    /// Reads the head.
    ///
    /// # Errors
    ///
    /// `InvalidData` if it is no such file or not whole; errors of the system.
    pub fn open(file: File) -> io::Result<PagedFile> {
        let mut page = [0; PAGE];
        file.read_exact_at(&mut page, 0).map_err(cut_short)?;
        let (content, sum) = page.split_at(CONTENT);
        if sum != checksum(content, 0, 0) {
            return Err(damaged("its head is damaged"));
        }
        let (head, rest) = content.split_at(HEAD);
        let mut numbers = rest
            .as_chunks()
            .0
            .iter()
            .map(|one| u64::from_le_bytes(*one));
        let mut number = || numbers.next().unwrap_or_default();
        let (seed, count) = (number(), number());
        if Some(file.metadata()?.len()) != count.checked_mul(PAGE as u64) {
            return Err(damaged("it is not as long as its head says"));
        }
        Ok(PagedFile {
            head: head.to_vec(),
            file,
            seed,
            count,
        })
    }

    /// What the owner has put into the head.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The seed of the file.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Bytes that it takes on disk.
    pub fn bytes(&self) -> u64 {
        self.count * PAGE as u64
    }

    /// Reads from a place on.
    pub fn cursor(&self, position: u64) -> Cursor<'_> {
        let mut cursor = Cursor {
            pages: self,
            page: vec![0; PAGE],
            number: 0,
            wanted: 0,
            at: 0,
        };
        cursor.seek(position);
        cursor
    }
}

fn cut_short(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it is cut short"),
        _ => error,
    }
}

/// A place in the content, with the page there.
#[derive(Debug)]
pub struct Cursor<'p> {
    pages: &'p PagedFile,
    page: Vec<u8>,
    /// Number of the page in memory; 0 if none is.
    number: u64,
    /// Number of the page with the next byte.
    wanted: u64,
    /// Offset of the next byte in that page.
    at: usize,
}

impl Cursor<'_> {
    /// Goes to a place.
    pub fn seek(&mut self, position: u64) {
        let length = CONTENT as u64;
        self.wanted = (position / length).saturating_add(1);
        // Less than the length of a page.
        self.at = usize::try_from(position % length).unwrap_or(0);
    }

    /// The present place.
    pub fn position(&self) -> u64 {
        let before = self.wanted.saturating_sub(1);
        before.saturating_mul(CONTENT as u64) + self.at as u64
    }

    /// The content of the present page from the present place on.
    fn rest(&mut self) -> io::Result<&[u8]> {
        if self.at == CONTENT {
            (self.wanted, self.at) = (self.wanted.saturating_add(1), 0);
        }
        if self.number != self.wanted {
            self.read_page()?;
        }
        Ok(self.page.get(self.at..CONTENT).unwrap_or_default())
    }

    fn read_page(&mut self) -> io::Result<()> {
        let PagedFile {
            file, seed, count, ..
        } = self.pages;
        if self.wanted >= *count {
            return Err(damaged("it refers to what lies past its end"));
        }
        self.number = 0;
        let offset = self.wanted * PAGE as u64;
        file.read_exact_at(&mut self.page, offset)
            .map_err(cut_short)?;
        let (content, sum) = self.page.split_at(CONTENT);
        if sum != checksum(content, *seed, self.wanted) {
            return Err(damaged("a page of it is damaged"));
        }
        self.number = self.wanted;
        Ok(())
    }

    /// Reads as many bytes.
    ///
    /// # Errors
    ///
    /// `InvalidData` if they are damaged or not there; errors of the system.
    pub fn read(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let rest = self.rest()?;
            let length = rest.len().min(bytes.len());
            let (now, later) = bytes.split_at_mut(length);
            now.copy_from_slice(rest.get(..length).unwrap_or_default());
            self.at += length;
            bytes = later;
        }
        Ok(())
    }

    /// Reads an integer of `N` bytes, little-endian; 8 at most.
    ///
    /// # Errors
    ///
    /// As [`read`](Cursor::read).
    pub fn integer<const N: usize>(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(bytes.get_mut(..N).unwrap_or_default())?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads an integer that [`append_varint`](crate::bytes::append_varint) has written.
    ///
    /// # Errors
    ///
    /// As [`read`](Cursor::read).
    pub fn varint(&mut self) -> io::Result<u64> {
        let read = varint(|| {
            let byte = self.rest()?.first().copied().unwrap_or_default();
            self.at += 1;
            Ok::<u8, io::Error>(byte)
        })?;
        read.ok_or_else(|| damaged("it has a number that is none"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::bytes::append_varint;
    use crate::storage::open_regular;

    fn written(content: &[u8]) -> Vec<u8> {
        let file = tempfile::tempfile().unwrap();
        let mut writer = PageWriter::new(&file, 5).unwrap();
        for part in content.chunks(777) {
            writer.write(part).unwrap();
        }
        assert_eq!(writer.position(), content.len() as u64);
        let pages = writer.end().unwrap();
        write_head(&file, 5, pages, b"head").unwrap();
        let mut bytes = vec![0; usize::try_from(file.metadata().unwrap().len()).unwrap()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn opened(bytes: &[u8]) -> io::Result<PagedFile> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        PagedFile::open(file)
    }

    fn content(length: usize) -> Vec<u8> {
        let byte = |at: usize| u8::try_from(at * 31 % 251).unwrap();
        (0..length).map(byte).collect()
    }

    #[test]
    fn pages_read_back_from_any_offset() {
        for length in [0, 1, CONTENT - 1, CONTENT, CONTENT + 1, 3 * CONTENT + 9] {
            let content = content(length);
            let written = written(&content);
            let pages = opened(&written).unwrap();
            assert_eq!((&pages.head()[..5], pages.seed()), (&b"head\0"[..], 5));
            assert_eq!(pages.bytes(), written.len() as u64);
            let mut cursor = pages.cursor(0);
            for start in (0..=length).step_by(97) {
                cursor.seek(start as u64);
                let mut bytes = vec![0; (length - start).min(5000)];
                cursor.read(&mut bytes).unwrap();
                assert_eq!(bytes, content[start..start + bytes.len()]);
                assert_eq!(cursor.position(), (start + bytes.len()) as u64);
            }
            cursor.seek(length.next_multiple_of(CONTENT) as u64);
            assert!(cursor.read(&mut [0]).is_err());
        }
    }

    #[test]
    fn integers_come_back() {
        let values: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1]).collect();
        let mut bytes = Vec::new();
        for &value in &values {
            append_varint(value, &mut bytes);
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([0xff; 12]);
        let pages = opened(&written(&bytes)).unwrap();
        let mut cursor = pages.cursor(0);
        for &value in &values {
            assert_eq!(cursor.varint().unwrap(), value);
            assert_eq!(cursor.integer::<8>().unwrap(), value);
        }
        assert!(cursor.varint().is_err());
    }

    #[test]
    fn no_byte_can_become_another_and_no_page_move() {
        let content = content(2 * CONTENT + 9);
        let good = written(&content);
        let read = |bytes: &[u8]| {
            let pages = opened(bytes)?;
            let mut read = vec![0; content.len()];
            pages.cursor(0).read(&mut read)?;
            Ok::<_, io::Error>(read)
        };
        assert_eq!(read(&good).unwrap(), content);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(read(&bad).is_err(), "{at}");
        }
        for length in 0..good.len() {
            assert!(opened(&good[..length]).is_err(), "{length}");
        }
        assert!(opened(&[&good[..], &[0]].concat()).is_err());
        let (one, two) = (PAGE..2 * PAGE, 2 * PAGE..3 * PAGE);
        let swapped = [&good[..PAGE], &good[two], &good[one], &good[3 * PAGE..]].concat();
        assert!(read(&swapped).is_err());
    }

    #[test]
    fn only_a_file_of_this_user_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "x").unwrap();
        let mode = |mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs::set_permissions(&path, mode).unwrap();
        };
        mode(0o600);
        assert!(open_own(&path).is_ok());
        mode(0o622);
        assert!(open_own(&path).is_err());
        mode(0o600);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(open_own(&link).is_err() && open_own(folder.path()).is_err());
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
        assert!(open_own(&pipe).is_err() && open_regular(&pipe).is_err());
        assert!(open_regular(&link).is_ok() && open_regular(folder.path()).is_err());
        if geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
            assert!(open_own(&path).is_err());
        }
    }
}
