//! Appends to `.cbg` and `.cba`. Their headers, big-endian:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 2 | length of the header: 26, 10 in old bases |
//! | 2 | 4 | length of the file |
//! | 6 | 4 | number of wasted bytes |
//! | 10 | 8 | length of the file again |
//! | 18 | 8 | number of wasted bytes again |

use std::ffi::OsStr;

use super::SaveError;
use crate::bytes::{BytePatch, ByteReader, Malformed};
use crate::cbh::{Database, FileKind};
use crate::storage::{Error, ReadBuffer, Stage, Transaction};

/// The appends to a blob file.
#[derive(Debug)]
pub(super) struct BlobFile {
    kind: FileKind,
    header: Vec<u8>,
    /// Length of the file before the save.
    len: u64,
    /// Number of appended bytes that are in the file already.
    laid: u64,
    added: Vec<u8>,
    /// Number of bytes in blobs without references.
    wasted: u64,
}

impl BlobFile {
    /// Reads the header of `.cbg` or `.cba`.
    pub(super) fn open(database: &Database, kind: FileKind) -> Result<BlobFile, SaveError> {
        let io = |source| SaveError::Base(database.io(kind, source));
        let damaged = |what: String| SaveError::Damaged(kind, what);
        let Some(storage) = database.storage(kind) else {
            return Err(damaged("it is not there".to_owned()));
        };
        let len = storage.len().map_err(io)?;
        let mut buffer = ReadBuffer::default();
        let head = storage.read_up_to(0, 26, &mut buffer).map_err(io)?;
        let malformed = SaveError::malformed(kind);
        let mut reader = ByteReader::new(head);
        let header_bytes = reader.u16_be().map_err(&malformed)?;
        if ![10, 26].contains(&header_bytes) {
            return Err(damaged(format!("a header of {header_bytes} bytes")));
        }
        let claimed = u64::from(reader.u32_be().map_err(&malformed)?);
        let Some(header) = head.get(..usize::from(header_bytes)) else {
            return Err(damaged("it ends in its header".to_owned()));
        };
        if claimed > len {
            return Err(damaged(format!("{claimed} bytes claimed, it has {len}")));
        }
        Ok(BlobFile {
            kind,
            header: header.to_vec(),
            len,
            laid: 0,
            added: Vec::new(),
            wasted: 0,
        })
    }

    /// Appends a blob. Returns its offset.
    pub(super) fn append(&mut self, blob: &[u8]) -> Result<u32, SaveError> {
        let offset = self.end();
        let end = u32::try_from(offset + blob.len() as u64);
        let offset = u32::try_from(offset).ok().filter(|_| end.is_ok());
        let Some(offset) = offset else {
            return Err(SaveError::DoesNotFit {
                field: self.kind.holds(),
                value: format!("a blob of {} bytes", blob.len()),
                limit: format!("a .{} file has at most 4 GiB", self.kind.extension()),
            });
        };
        self.added.extend_from_slice(blob);
        Ok(offset)
    }

    /// Length of the file after the save.
    fn end(&self) -> u64 {
        self.len + self.laid + self.added.len() as u64
    }

    /// Number of appended bytes that are only in memory.
    pub(super) fn held(&self) -> usize {
        self.added.len()
    }

    /// Writes the appends so far behind the end of the file.
    pub(super) fn spill(&mut self, file: &OsStr, stage: &mut Stage<'_>) -> Result<(), Error> {
        stage.write(file, self.len + self.laid, &self.added)?;
        self.laid += self.added.len() as u64;
        self.added.clear();
        Ok(())
    }

    /// Counts the bytes of a blob that has lost its last reference.
    pub(super) fn waste(&mut self, bytes: usize) {
        self.wasted += bytes as u64;
    }

    /// Adds the writes to the transaction.
    pub(super) fn write(self, file: &OsStr, transaction: &mut Transaction) {
        if self.end() == self.len && self.wasted == 0 {
            return;
        }
        let mut header = self.header.clone();
        // The length was checked at opening.
        if self.encode_header(&mut header).is_ok() {
            transaction.write(file, self.len + self.laid, self.added);
            transaction.write(file, 0, header);
        }
    }

    fn encode_header(&self, header: &mut [u8]) -> Result<(), Malformed> {
        let len = self.end();
        let is_old = header.len() < 26;
        let mut patch = BytePatch::new(header);
        patch.skip(2)?;
        let short = u32::try_from(len).unwrap_or(u32::MAX);
        patch.put(short.to_be_bytes())?;
        let waste = patch.array::<4>()?;
        let wasted = u64::from(u32::from_be_bytes(*waste)).saturating_add(self.wasted);
        *waste = u32::try_from(wasted).unwrap_or(u32::MAX).to_be_bytes();
        if is_old {
            return Ok(());
        }
        patch.put(len.to_be_bytes())?;
        let waste = patch.array::<8>()?;
        let wasted = u64::from_be_bytes(*waste).saturating_add(self.wasted);
        *waste = wasted.to_be_bytes();
        Ok(())
    }
}
