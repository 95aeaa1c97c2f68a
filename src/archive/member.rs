//! A member: where its blocks are.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::block::{self, BLOCK_BYTES, HEAD_BYTES, Head};
use super::error::Fault;
use super::header::Record;
use crate::storage::Storage;

/// A file in an archive.
#[derive(Debug)]
pub struct Member {
    path: String,
    offset: u64,
    /// Where its stream ends at the latest.
    end: u64,
    packed: u64,
    size: u64,
    modified: Option<SystemTime>,
    index: Mutex<Index>,
}

/// Where the blocks are, as far as anybody asked.
#[derive(Debug)]
struct Index {
    blocks: Vec<(u64, Head)>,
    /// Where the next block begins.
    next: u64,
}

impl Member {
    /// The member of a record whose stream ends at `room` at the latest; and
    /// what is wrong with it.
    ///
    /// # Errors
    ///
    /// Why there can be no such member.
    pub(super) fn new(
        path: String,
        record: &Record,
        room: u64,
        file_len: u64,
    ) -> Result<(Member, Option<Fault>), String> {
        let claimed = record.offset.saturating_add(record.packed);
        let end = claimed.min(room);
        // What a cut took away may have been there; what another member has
        // not.
        let packed = if room == file_len {
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
            Fault::new(record.offset, what)
        });
        let member = Member {
            path,
            offset: record.offset,
            end,
            packed: record.packed,
            size: record.size,
            modified: record.modified,
            index: Mutex::new(Index {
                blocks: Vec::new(),
                next: record.offset,
            }),
        };
        Ok((member, fault))
    }

    /// The path in the archive, folders and name joined by `/`. No part of it
    /// leads anywhere else.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Length of what it is packed into.
    pub fn packed(&self) -> u64 {
        self.packed
    }

    /// When the file that was packed was last changed; `None` if that is not
    /// known.
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many blocks it has.
    pub(super) fn blocks(&self) -> u64 {
        self.size.div_ceil(BLOCK_BYTES as u64)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offset and head of a block. The heads before it are read when first
    /// asked for.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if there is no such block; the medium's.
    pub(super) fn find(&self, number: u64, archive: &dyn Storage) -> io::Result<(u64, Head)> {
        let wanted = usize::try_from(number).unwrap_or(usize::MAX);
        let mut index = self.index();
        loop {
            if let Some(found) = index.blocks.get(wanted) {
                return Ok(*found);
            }
            let offset = index.next;
            let head = self.head_at(index.blocks.len(), offset, archive)?;
            index.blocks.push((offset, head));
            index.next = offset + HEAD_BYTES as u64 + u64::from(head.len);
        }
    }

    /// The head at `offset`, if a block begins there that ends within the
    /// stream.
    fn head_at(&self, number: usize, offset: u64, archive: &dyn Storage) -> io::Result<Head> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        if self.end.saturating_sub(offset) >= HEAD_BYTES as u64 {
            archive.fill(offset, HEAD_BYTES, &mut bytes)?;
        }
        let head = bytes.first_chunk().map(|bytes| Head::decode(*bytes));
        let fits = |head: &Head| {
            let room = self.end.saturating_sub(offset + HEAD_BYTES as u64);
            (1..=room).contains(&u64::from(head.len))
        };
        head.filter(fits).ok_or_else(|| {
            let what = format!("block {number} of its archive, at {offset:#x}, is not there whole");
            io::Error::new(io::ErrorKind::UnexpectedEof, what)
        })
    }

    /// The bytes of a block that was found.
    ///
    /// # Errors
    ///
    /// `InvalidData` if it is damaged; the medium's.
    pub(super) fn decode(
        &self,
        number: u64,
        (offset, head): (u64, Head),
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

    /// Defect behind its last block, if there is one.
    pub(super) fn rest(&self, archive: &dyn Storage) -> io::Result<Option<Fault>> {
        let Some(last) = self.blocks().checked_sub(1) else {
            return Ok(None);
        };
        match self.find(last, archive) {
            Ok((offset, head)) => {
                let end = offset + HEAD_BYTES as u64 + u64::from(head.len);
                let rest = self.end.saturating_sub(end);
                let what = format!("{}: {rest} bytes behind its last block", self.path);
                Ok((rest > 0).then(|| Fault::new(end, what)))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }
}
