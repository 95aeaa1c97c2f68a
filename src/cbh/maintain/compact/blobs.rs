//! Copying of blobs of `.cbg` and records of `.cba`.
//!
//! Each blob is appended to the copy. A blob that several games share is copied
//! once. If the size of a blob is impossible, it is taken to end where the next
//! one begins. Blobs that extend past the end of the file are copied last, with
//! everything that follows the first of them, so that they extend past the end
//! of the copy too.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;

use super::write_at;
use crate::cbh::annotations::record_size;
use crate::cbh::maintain::check::blobs_begin;
use crate::cbh::moves::blob_size;
use crate::cbh::{FileKind, GameId};
use crate::storage::{ReadBuffer, Storage};

/// Marks a blob that was not copied yet.
const NOWHERE: u64 = u64::MAX;

/// Block size for copying.
const PART_BYTES: u64 = 1 << 20;

/// Maximum size of a blob; also limits a blob whose size is unknown.
const MOST_BYTES: u64 = 1 << 24;

/// Maximum length of the copy as a multiple of the source. Overlapping blobs
/// are copied separately, so that the copy can grow.
const MOST_GROWTH: u64 = 2;

/// Header of a file whose own header is unknown.
const NEW_HEADER: [u8; 26] = *b"\0\x1a\0\0\0\x1a\0\0\0\0\0\0\0\0\0\0\0\x1a\0\0\0\0\0\0\0\0";

/// Offsets of blobs in the source and in the copy.
#[derive(Debug)]
pub(super) struct Blobs {
    file: FileKind,
    /// Offsets of the blobs in the source, ascending, and of each in the copy.
    starts: Vec<u64>,
    places: Vec<u64>,
    /// Length of the source, and the first valid offset of a blob.
    len: u64,
    begins: u64,
    /// Length of the copy so far.
    end: u64,
    /// Header of the copy.
    header: Vec<u8>,
    /// Offsets, and old and new game numbers, of blobs that extend past the end
    /// of the source.
    cut: Vec<(u64, GameId, GameId)>,
    buffer: ReadBuffer,
}

impl Blobs {
    /// Prepares the copying of blobs at these offsets, which may be in any
    /// order.
    pub(super) fn new(
        file: FileKind,
        storage: &dyn Storage,
        mut starts: Vec<u64>,
    ) -> io::Result<Blobs> {
        starts.sort_unstable();
        starts.dedup();
        let begins = blobs_begin(storage)?;
        let mut buffer = ReadBuffer::default();
        let stored = storage.read_up_to(0, usize::try_from(begins).unwrap_or(0), &mut buffer)?;
        let header = match stored {
            [] => NEW_HEADER.to_vec(),
            stored => stored.to_vec(),
        };
        Ok(Blobs {
            file,
            places: vec![NOWHERE; starts.len()],
            starts,
            len: storage.len()?,
            begins,
            end: header.len() as u64,
            header,
            cut: Vec::new(),
            buffer: ReadBuffer::ahead(),
        })
    }

    /// Writes the header.
    pub(super) fn begin(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.header)
    }

    /// Returns whether a blob can begin at this offset.
    fn is_inside(&self, offset: u64) -> bool {
        offset >= self.begins.max(1) && offset < self.len
    }

    /// Copies the blob at `offset`, unless it was copied already. `ids` are the
    /// old and the new number of its game.
    pub(super) fn copy(
        &mut self,
        storage: &dyn Storage,
        offset: u64,
        ids: (GameId, GameId),
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Ok(at) = self.starts.binary_search(&offset) else {
            return Ok(());
        };
        if self.places.get(at) != Some(&NOWHERE) || !self.is_inside(offset) {
            return Ok(());
        }
        let head = storage.read_up_to(offset, 16, &mut self.buffer)?;
        let size = match self.file {
            FileKind::Moves => blob_size(head),
            _ => record_size(head),
        };
        let next = self.starts.get(at + 1).copied().unwrap_or(self.len);
        let end = match size {
            Ok(size) => offset + size as u64,
            Err(_) => next.min(self.len).min(offset + MOST_BYTES),
        };
        if end > self.len {
            self.cut.push((offset, ids.0, ids.1));
            return Ok(());
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = self.end;
        }
        self.end += end - offset;
        if self.end > MOST_GROWTH.saturating_mul(self.len) {
            let what = "the blobs of its games overlap too much";
            return Err(io::Error::other(what));
        }
        let mut rest = offset..end;
        if self.file == FileKind::Annotations {
            let number = renumbered(head, ids);
            rest.start = end.min(offset + ID_BYTES);
            let len = usize::try_from(rest.start - offset).unwrap_or(0);
            out.write_all(number.get(..len).unwrap_or(&number))?;
        }
        if rest.end - rest.start <= PART_BYTES {
            let size = usize::try_from(rest.end - rest.start).unwrap_or(0);
            return out.write_all(storage.read(rest.start, size, &mut self.buffer)?);
        }
        copy_range(storage, rest, out)
    }

    /// Copies the blobs that extend past the end of the source.
    pub(super) fn end(&mut self, storage: &dyn Storage, out: &mut impl Write) -> io::Result<()> {
        let Some(first) = self.cut.iter().map(|(offset, ..)| *offset).min() else {
            return Ok(());
        };
        for (offset, ..) in &self.cut {
            if let Ok(at) = self.starts.binary_search(offset)
                && let Some(place) = self.places.get_mut(at)
            {
                *place = self.end + (offset - first);
            }
        }
        self.end += self.len - first;
        copy_range(storage, first..self.len, out)
    }

    /// Updates the counters in the header of the copy, and the game numbers in
    /// the annotation records that were copied last.
    pub(super) fn count(&self, copy: &File) -> io::Result<()> {
        let short = u32::try_from(self.end).unwrap_or(u32::MAX);
        let mut counts = short.to_be_bytes().to_vec();
        counts.extend([0; 4]);
        if self.header.len() > 10 {
            counts.extend(self.end.to_be_bytes());
            counts.extend([0; 8]);
        }
        write_at(copy, 2, &counts)?;
        for &(offset, old, new) in &self.cut {
            if self.file == FileKind::Annotations {
                let mut head = [0; 3];
                let place = self.place(offset);
                std::os::unix::fs::FileExt::read_exact_at(copy, &mut head, place)?;
                write_at(copy, place, &renumbered(&head, (old, new)))?;
            }
        }
        Ok(())
    }

    /// How many blobs extend past the end of the source or begin where none can.
    pub(super) fn cut_count(&self) -> usize {
        let outside = self
            .starts
            .iter()
            .filter(|offset| !self.is_inside(**offset));
        outside.count() + self.cut.len()
    }

    /// Offset in the copy of the blob at `offset`. An invalid offset stays
    /// unchanged.
    pub(super) fn place(&self, offset: u64) -> u64 {
        let at = self.starts.binary_search(&offset).ok();
        let place = at.and_then(|at| self.places.get(at)).copied();
        place.filter(|&place| place != NOWHERE).unwrap_or(offset)
    }
}

/// Length of the game number at the start of an annotation record.
const ID_BYTES: u64 = 3;

/// The first bytes of an annotation record with the new game number, if it
/// states the old one.
fn renumbered(head: &[u8], (old, new): (GameId, GameId)) -> Vec<u8> {
    let stored = head.get(..head.len().min(3)).unwrap_or_default();
    let number = |id: GameId| id.0.to_be_bytes().into_iter().skip(1);
    if stored.iter().copied().eq(number(old)) {
        return number(new).collect();
    }
    stored.to_vec()
}

/// Copies a range of a file.
pub(super) fn copy_range(
    storage: &dyn Storage,
    mut range: Range<u64>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut buffer = ReadBuffer::default();
    while !range.is_empty() {
        let size = usize::try_from((range.end - range.start).min(PART_BYTES)).unwrap_or(0);
        out.write_all(storage.read(range.start, size, &mut buffer)?)?;
        range.start += size as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    /// Copies these blobs of a file. Returns the copy, and where they are in it.
    fn copied(
        file: FileKind,
        bytes: &[u8],
        games: &[(u64, u32)],
    ) -> io::Result<(Vec<u8>, Vec<u64>)> {
        let storage = MemoryFile::from(bytes.to_vec());
        let starts = games.iter().map(|(offset, _)| *offset).collect();
        let mut blobs = Blobs::new(file, &storage, starts)?;
        let copy = tempfile::NamedTempFile::new()?;
        let mut out = copy.reopen()?;
        blobs.begin(&mut out)?;
        for &(offset, id) in games {
            blobs.copy(&storage, offset, (GameId(id), GameId(id + 1)), &mut out)?;
        }
        blobs.end(&storage, &mut out)?;
        blobs.count(&copy.reopen()?)?;
        let places = games.iter().map(|(offset, _)| blobs.place(*offset));
        Ok((std::fs::read(copy.path())?, places.collect()))
    }

    #[test]
    fn blobs_are_copied_once_and_those_that_were_cut_last() {
        let moves = |size: u8, fill: u8| [&[0, 0, 0, size][..], &[fill; 6]].concat();
        let remarks = |id: u8, size: u8| {
            let mut record = vec![0, 0, id, 1, 0, 14, 14, 0, 0, 0, 0, 0, 0, size];
            record.extend([id; 2]);
            record
        };
        for stated in [10_u8, 26] {
            let header_bytes = usize::from(stated);
            let mut header = NEW_HEADER[..header_bytes].to_vec();
            header[1] = stated;
            let start = u64::from(stated);
            // The last two end past the file; a game shares the second one.
            let blobs = [moves(10, 1), moves(10, 2), moves(30, 3), moves(200, 4)];
            let old = [&header, &*blobs.concat()].concat();
            let games = [(20, 1), (10, 2), (30, 3), (0, 4), (10, 5), (500, 6)];
            let games = games.map(|(offset, id)| (start + offset, id));
            let (copy, places) = copied(FileKind::Moves, &old, &games).unwrap();
            let wanted = [&blobs[1][..], &blobs[0], &blobs[2], &blobs[3]].concat();
            assert_eq!(copy[header_bytes..], wanted);
            let wanted = [20, 0, 30, 10, 0, 500].map(|offset| start + offset);
            assert_eq!(places, wanted);
            let len = start + 40;
            assert_eq!(copy[2..6], [0, 0, 0, stated + 40]);
            assert_eq!(copy[6..10], [0; 4]);
            if header_bytes == 26 {
                assert_eq!(copy[10..18], len.to_be_bytes());
                assert_eq!(copy[18..26], [0; 8]);
            }
            // Records of remarks have the new numbers of their games.
            let records = [remarks(1, 16), remarks(2, 50), remarks(3, 50)];
            let old = [&header, &*records.concat()].concat();
            let games = [(16, 2), (0, 1), (32, 7)].map(|(offset, id)| (start + offset, id));
            let (copy, places) = copied(FileKind::Annotations, &old, &games).unwrap();
            assert_eq!(places, games.map(|(offset, _)| offset));
            let mut wanted = records;
            (wanted[0][2], wanted[1][2]) = (2, 3);
            assert_eq!(copy[header_bytes..], wanted.concat());
        }
    }

    #[test]
    fn blobs_may_overlap_until_the_copy_has_twice_the_length() {
        let mut file = NEW_HEADER.to_vec();
        file.extend([0; 72]);
        let mut games = Vec::new();
        // Each blob of four bytes holds the next one, all but one whole.
        for (id, offset) in (1..).zip((26..66).step_by(4)) {
            file[offset + 3] = 34;
            games.push((offset as u64, id));
        }
        let copied = |count| copied(FileKind::Moves, &file, &games[..count]);
        assert_eq!(copied(5).unwrap().0.len(), 2 * file.len());
        let told = copied(6).unwrap_err().to_string();
        assert_eq!(told, "the blobs of its games overlap too much");
    }

    #[test]
    fn a_blob_without_a_size_ends_where_the_next_one_begins() {
        let mut file = NEW_HEADER.to_vec();
        file.extend([0, 0, 0, 2, 9, 9, 0, 0, 0, 5, 7, 0, 0, 0, 1, 8]);
        let games = [(26, 1), (32, 2), (37, 3)];
        let (copy, places) = copied(FileKind::Moves, &file, &games).unwrap();
        assert_eq!(copy[26..], file[26..]);
        assert_eq!(places, [26, 32, 37]);
    }
}
