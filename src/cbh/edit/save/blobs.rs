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
use std::io;
use std::ops::Range;

use super::SaveError;
use crate::bytes::{BytePatch, ByteReader, Malformed};
use crate::cbh::base::database::{head_bytes, stated_size};
use crate::cbh::maintain::check::blobs_begin;
use crate::cbh::{Database, Error, FileKind};
use crate::storage::{self, ReadBuffer, Stage, Storage, Transaction};

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

/// So many of the last records are asked where their blobs end.
const RECORDS_ASKED: u32 = 1 << 14;

/// A blob that begins further behind the end of its file was never in it.
const MOST_LOST: u64 = 1 << 26;

/// No blob is longer.
const MOST_BLOB_BYTES: u64 = 1 << 24;

/// Refuses a file that was cut, or is an older copy: what is appended would be read as the
/// rest of a blob that ends past its end, or as one that began behind it.
///
/// # Errors
///
/// [`SaveError::Damaged`]; [`SaveError::Base`] of the medium.
pub(super) fn ensure_no_blob_is_cut(database: &Database, kind: FileKind) -> Result<(), SaveError> {
    let Some(storage) = database.storage(kind) else {
        return Ok(());
    };
    let io = |source| database.io(kind, source);
    let len = storage.len().map_err(io)?;
    let end = database.last_id().saturating_add(1);
    let asked = end.saturating_sub(RECORDS_ASKED)..end;
    let blobs = Blobs::of(database, kind, asked, len)?;
    let cut = blobs.cut(kind, storage, len).map_err(io)?;
    let Some(offset) = blobs.lost.or(cut.first().map(|cut| cut.start)) else {
        return Ok(());
    };
    let what = format!(
        "the blob at {offset:#x} ends past its end, {len:#x}; `cbfs check --repair` makes room"
    );
    Err(SaveError::Damaged(kind, what))
}

/// Where blobs begin that records refer to.
pub(in crate::cbh) struct Blobs {
    /// In the file, ascending.
    starts: Vec<u64>,
    /// The last one that begins behind the end of the file.
    pub(in crate::cbh) lost: Option<u64>,
}

impl Blobs {
    /// Those of some records, in a file of `len` bytes.
    pub(in crate::cbh) fn of(
        database: &Database,
        kind: FileKind,
        ids: Range<u32>,
        len: u64,
    ) -> Result<Blobs, Error> {
        let (mut starts, mut lost, mut read) = (Vec::new(), None, Ok(()));
        database.scan(
            ids,
            true,
            &mut |record| match database.blob_offset(kind, record) {
                Ok(Some(offset)) if offset < len => starts.push(offset),
                Ok(Some(offset)) if offset <= len + MOST_LOST => lost = lost.max(Some(offset)),
                Ok(_) => {}
                Err(error) => read = Err(error),
            },
        )?;
        read?;
        starts.sort_unstable();
        starts.dedup();
        Ok(Blobs { starts, lost })
    }

    /// Those that the end of the file cuts, each up to the next one. Where one begins in
    /// another that is whole, or in the header, or has no room for its head before the next
    /// one, its offset is wrong.
    pub(in crate::cbh) fn cut(
        &self,
        kind: FileKind,
        storage: &dyn Storage,
        len: u64,
    ) -> io::Result<Vec<Range<u64>>> {
        let head_bytes = head_bytes(kind);
        let mut buffer = ReadBuffer::ahead();
        let mut cut = Vec::new();
        // Where the furthest of the whole ones ends so far, or the header.
        let mut whole_end = blobs_begin(storage)?;
        // Blobs before that reach neither the end of the file nor a blob that does.
        let near = len.saturating_sub(2 * MOST_BLOB_BYTES);
        let near = self.starts.partition_point(|start| *start < near);
        let starts = self.starts.get(near..).unwrap_or_default();
        let nexts = starts.iter().skip(1).chain([&len]);
        for (&offset, &next) in starts.iter().zip(nexts) {
            let head = storage.read_up_to(offset, head_bytes, &mut buffer)?;
            let size = if head.len() < head_bytes {
                Some(head_bytes)
            } else {
                stated_size(kind, head).ok()
            };
            let Some(end) = size.map(|size| offset + size as u64) else {
                continue;
            };
            if end <= len {
                whole_end = whole_end.max(end);
            } else if offset >= whole_end && (next == len || next - offset >= head_bytes as u64) {
                cut.push(offset..next);
            }
        }
        Ok(cut)
    }
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
    pub(super) fn spill(
        &mut self,
        file: &OsStr,
        stage: &mut Stage<'_>,
    ) -> Result<(), storage::Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::base::samples;
    use crate::cbh::{OpenBase, Options};

    #[test]
    fn the_header_says_how_long_the_file_is_and_how_much_lies_waste() {
        for header_bytes in [26, 10] {
            let (_folder, path) = samples::copy_of("sample");
            let file = path.with_extension("cbg");
            let mut old = std::fs::read(&file).unwrap();
            old[..2].copy_from_slice(&u16::to_be_bytes(header_bytes));
            old[6..10].copy_from_slice(&9_u32.to_be_bytes());
            old[18..26].copy_from_slice(&(1_u64 << 40).to_be_bytes());
            std::fs::write(&file, &old).unwrap();
            let base = OpenBase::to_change(&path, &Options::default(), "").unwrap();
            let begin = || BlobFile::open(&base.database, FileKind::Moves).unwrap();
            let mut nothing = Transaction::default();
            begin().write(OsStr::new("sample.cbg"), &mut nothing);
            assert!(nothing.is_empty());
            let mut blobs = begin();
            let len = u32::try_from(old.len()).unwrap();
            assert_eq!(blobs.append(b"one").unwrap(), len);
            assert_eq!(blobs.append(b"other").unwrap(), len + 3);
            assert_eq!(blobs.held(), 8);
            blobs.waste(100);
            let mut transaction = Transaction::default();
            blobs.write(OsStr::new("sample.cbg"), &mut transaction);
            base.store.commit(&transaction).unwrap();
            base.store.close().unwrap();
            let new = std::fs::read(&file).unwrap();
            let mut wanted = old.clone();
            wanted.extend(b"oneother");
            wanted[2..6].copy_from_slice(&(len + 8).to_be_bytes());
            wanted[6..10].copy_from_slice(&109_u32.to_be_bytes());
            if header_bytes == 26 {
                wanted[10..18].copy_from_slice(&u64::from(len + 8).to_be_bytes());
                wanted[18..26].copy_from_slice(&((1_u64 << 40) + 100).to_be_bytes());
            }
            assert!(new == wanted, "{header_bytes}");
        }
    }

    #[test]
    fn a_file_is_not_changed_beyond_its_limits_or_damaged() {
        let (_folder, path) = samples::copy_of("sample");
        let file = path.with_extension("cbg");
        let sound = std::fs::read(&file).unwrap();
        let opens = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            let database = Database::open(&path, &Options::default()).unwrap();
            let opened = BlobFile::open(&database, FileKind::Moves);
            opened.map_err(|error| error.to_string())
        };
        let mut blobs = opens(&sound).unwrap();
        blobs.laid = u64::from(u32::MAX) - blobs.len - 3;
        assert!(blobs.append(b"four").is_err());
        assert_eq!(blobs.append(b"new").unwrap(), u32::MAX - 3);
        let with = |at: usize, byte| {
            let mut bytes = sound.clone();
            bytes[at] = byte;
            bytes
        };
        let told = opens(&with(1, 27)).unwrap_err();
        assert_eq!(told, ".cbg is damaged: a header of 27 bytes");
        let told = opens(&with(2, 1)).unwrap_err();
        assert!(told.contains("bytes claimed, it has"), "{told}");
        let told = opens(&sound[..20]).unwrap_err();
        assert_eq!(told, ".cbg is damaged: it ends in its header");
    }
}
