//! A member of an archive, and the index of its blocks.

use std::io;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::block::{self, BLOCK_BYTES, BlockHead, HEAD_BYTES};
use super::error::ArchiveDefect;
use super::header::MemberRecord;
use super::survey;
use crate::storage::Storage;

/// A block that is so many blocks behind the last known one is found by a
/// [survey] of the stream.
const FAR: usize = 256;

/// A file in an archive.
#[derive(Debug)]
pub struct ArchiveMember {
    path: String,
    offset: u64,
    /// Upper limit of the end of its stream.
    end: u64,
    packed: u64,
    size: u64,
    modified: Option<SystemTime>,
    index: Mutex<BlockIndex>,
}

/// Offsets of the blocks found so far.
#[derive(Debug)]
struct BlockIndex {
    blocks: Vec<(u64, BlockHead)>,
    /// Offset of the next block.
    next: u64,
    /// Whether a survey did not get where it should.
    is_broken: bool,
}

impl ArchiveMember {
    /// Returns the member of `record`, whose stream ends at `limit` at the
    /// latest, and the defect of the record, if it has one.
    ///
    /// # Errors
    ///
    /// The reason why the record is no valid member.
    pub(super) fn new(
        path: String,
        record: &MemberRecord,
        limit: u64,
        file_len: u64,
    ) -> Result<(ArchiveMember, Option<ArchiveDefect>), String> {
        let claimed = record.offset.saturating_add(record.packed);
        let end = claimed.min(limit);
        // A stream that the end of the file cuts off may have been longer; one
        // that runs into the next member may not.
        let packed = if limit == file_len {
            record.packed
        } else {
            end.saturating_sub(record.offset)
        };
        let most = (packed / block::SHORTEST).saturating_mul(BLOCK_BYTES as u64);
        if record.size > most {
            return Err(format!(
                "({path}) has {} bytes by the table, which cannot come from {packed} packed ones",
                record.size
            ));
        }
        let fault = (end < claimed).then(|| {
            let left = end.saturating_sub(record.offset);
            let what = format!(
                "{path}: {} packed bytes, of which {left} are there",
                record.packed
            );
            ArchiveDefect::new(record.offset, what)
        });
        let member = ArchiveMember {
            path,
            offset: record.offset,
            end,
            packed: record.packed,
            size: record.size,
            modified: record.modified,
            index: Mutex::new(BlockIndex {
                blocks: Vec::new(),
                next: record.offset,
                is_broken: false,
            }),
        };
        Ok((member, fault))
    }

    /// Path in the archive, folders and name joined by `/`. It has no part such
    /// as `..` that leads out of the folder.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Packed length in bytes.
    pub fn packed(&self) -> u64 {
        self.packed
    }

    /// Time of the last change of the packed file; `None` if unknown.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.size.div_ceil(BLOCK_BYTES as u64)
    }

    /// Returns offset and head of a block. The heads before it are read at the
    /// first request.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if there is no such block; errors of the medium.
    pub(super) fn find(&self, number: u64, archive: &dyn Storage) -> io::Result<(u64, BlockHead)> {
        let wanted = usize::try_from(number).unwrap_or(usize::MAX);
        let mut index = self.index.lock();
        loop {
            if let Some(found) = index.blocks.get(wanted) {
                return Ok(*found);
            }
            let offset = index.next;
            let far = wanted.saturating_sub(index.blocks.len());
            if far >= FAR && !index.is_broken {
                let range = survey::Range {
                    start: offset,
                    until: offset.saturating_add(block::LONGEST.saturating_mul(far as u64)),
                    end: self.end,
                    most: far + 1,
                };
                let (mut blocks, next) = survey::blocks(range, archive);
                index.blocks.append(&mut blocks);
                index.next = next;
                index.is_broken = index.blocks.len() <= wanted;
                continue;
            }
            let head = self.head_at(index.blocks.len(), offset, archive)?;
            index.blocks.push((offset, head));
            index.next = offset + HEAD_BYTES as u64 + u64::from(head.len);
        }
    }

    /// Reads the head at `offset`. The block must end within the stream.
    fn head_at(&self, number: usize, offset: u64, archive: &dyn Storage) -> io::Result<BlockHead> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        if self.end.saturating_sub(offset) >= HEAD_BYTES as u64 {
            archive.fill(offset, HEAD_BYTES, &mut bytes)?;
        }
        let head = bytes.first_chunk().map(|bytes| BlockHead::decode(*bytes));
        let fits = |head: &BlockHead| {
            let limit = self.end.saturating_sub(offset + HEAD_BYTES as u64);
            (1..=limit).contains(&u64::from(head.len))
        };
        head.filter(fits).ok_or_else(|| {
            let what = format!("block {number} of its archive, at {offset:#x}, is cut off or has an impossible length");
            io::Error::new(io::ErrorKind::UnexpectedEof, what)
        })
    }

    /// Reads and decodes the block that [`find`](ArchiveMember::find) returned.
    ///
    /// # Errors
    ///
    /// `InvalidData` if it is damaged; errors of the medium.
    pub(super) fn decode(
        &self,
        number: u64,
        (offset, head): (u64, BlockHead),
        archive: &dyn Storage,
    ) -> io::Result<Vec<u8>> {
        let mut payload = Vec::with_capacity(usize::from(head.len));
        archive.fill(
            offset + HEAD_BYTES as u64,
            usize::from(head.len),
            &mut payload,
        )?;
        let before = number.saturating_mul(BLOCK_BYTES as u64);
        let len = self.size.saturating_sub(before).min(BLOCK_BYTES as u64);
        let len = usize::try_from(len).unwrap_or(BLOCK_BYTES);
        block::decode(&payload, head, len).map_err(|what| {
            let what = format!("block {number} of its archive, at {offset:#x}, {what}");
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// Returns the defect behind the last block, if there is one.
    pub(super) fn rest(&self, archive: &dyn Storage) -> io::Result<Option<ArchiveDefect>> {
        let Some(last) = self.blocks().checked_sub(1) else {
            return Ok(None);
        };
        match self.find(last, archive) {
            Ok((offset, head)) => {
                let end = offset + HEAD_BYTES as u64 + u64::from(head.len);
                let rest = self.end.saturating_sub(end);
                let what = format!("{}: {rest} bytes behind its last block", self.path);
                Ok((rest > 0).then(|| ArchiveDefect::new(end, what)))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    fn noise(len: usize, seed: u32) -> Vec<u8> {
        let step = |number: &u32| Some(number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let numbers = std::iter::successors(Some(seed), step);
        let bytes = numbers.map(|number| number.to_be_bytes()[0]);
        bytes.take(len).collect()
    }

    /// A stream of many stored blocks of all lengths, with heads that are none
    /// in some of them.
    fn stream() -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut offsets) = (vec![7; 99], Vec::new());
        for number in 0..1500_u32 {
            offsets.push(bytes.len() as u64);
            let mut payload = vec![0];
            let len = 1 + number.wrapping_mul(2_654_435_761) as usize % 9000;
            payload.extend(noise(len, number));
            if number % 3 == 0 {
                // Two blocks of one byte each, by their heads.
                payload.extend([2, 0, 0, 1, 0, 1, 2, 0, 0, 1, 0, 1]);
            }
            let words = payload.as_chunks::<2>().0.iter();
            let sum = words.fold(0_u16, |sum, word| {
                sum.wrapping_add(u16::from_le_bytes(*word))
            });
            bytes.extend(u16::try_from(payload.len()).unwrap().to_le_bytes());
            bytes.extend(sum.to_le_bytes());
            bytes.extend(payload);
        }
        (bytes, offsets)
    }

    fn member(len: usize, blocks: usize) -> ArchiveMember {
        ArchiveMember {
            path: "a".to_owned(),
            offset: 99,
            end: len as u64,
            packed: len as u64 - 99,
            size: blocks as u64 * BLOCK_BYTES as u64,
            modified: None,
            index: Mutex::new(BlockIndex {
                blocks: Vec::new(),
                next: 99,
                is_broken: false,
            }),
        }
    }

    #[test]
    fn a_far_block_is_found_where_a_walk_finds_it() {
        let (bytes, offsets) = stream();
        let archive = MemoryFile::from(bytes.clone());
        for far in [FAR, 700, offsets.len() - 1] {
            let member = member(bytes.len(), offsets.len());
            assert_eq!(member.find(far as u64, &archive).unwrap().0, offsets[far]);
            for (number, offset) in offsets.iter().enumerate() {
                let (found, _) = member.find(number as u64, &archive).unwrap();
                assert_eq!(found, *offset, "{number}");
            }
            assert!(member.find(offsets.len() as u64, &archive).is_err());
        }
    }

    #[test]
    fn behind_a_damaged_head_nothing_is_found_near_or_far() {
        let (mut bytes, offsets) = stream();
        let at = usize::try_from(offsets[600]).unwrap();
        bytes[at..at + 2].copy_from_slice(&[0, 0]);
        let archive = MemoryFile::from(bytes.clone());
        let member = member(bytes.len(), offsets.len());
        assert!(member.find(1400, &archive).is_err());
        assert_eq!(member.find(599, &archive).unwrap().0, offsets[599]);
        assert!(member.find(600, &archive).is_err());
        assert!(member.find(900, &archive).is_err());
    }
}
