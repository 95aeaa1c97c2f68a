//! The journal of a base: transactions that are not in its files yet.
//!
//! All integers are little-endian.
//!
//! ```text
//!    0    8  "cbfsjrnl"
//!    8    4  version of this layout: 1
//!   12    2  length of the journal's own name
//!   14    …  the name; zeros up to 496
//!  496    8  salt, another one whenever the journal begins anew
//!  504    8  checksum of the 504 bytes before
//!
//! 4    process id of the present or last writer of the base
//! 516    2  length of the writer's label
//! 518    …  the label, in UTF-8; zeros up to 1024
//!
//! 1024    …  records, one per transaction, without gaps:
//!   0    8  checksum of the rest of the record, seeded with the salt
//!   8    8  sequence number, from 1
//!  16    8  length of the record in bytes
//!  24    4  number of files it is about
//!           for each of them
//!   0    1    1 if it was there before, else 0
//!   1    8    its length before, else 0
//!   9    2    length of its name
//!  11    …    its name
//!   …    4  number of steps
//!           for each of them
//!   0    1    1 remove, 2 create, 3 write, 4 set the length
//!   1    4    which of the files, from 0
//!             to write
//!   5    8      offset
//!  13    8      length of the new bytes
//!  21    8      length of the old bytes: all that the file had there before
//!              the transaction
//!  29    …      new bytes, then old bytes
//!             to set the length
//!   5    8      the length
//! ```
//!
//! Checksums are XXH3 of 64 bits. The journal ends before the first incomplete
//! record: that record and the rest were never acknowledged. The header of 512
//! bytes is one sector, which media write atomically. It is all zeros if a
//! power cut came before the first save was durable.
//!
//! Lengths and old bytes tell whether the journal belongs to the base beside
//! it, also after a power cut during recovery, and after both were copied
//! elsewhere. Each file must have its old length or one that a step leaves, and
//! each changed byte its old or a new value. A journal is ignored unless its
//! owner is the present user, root or the owner of the base.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::record::{JournalRecord, MAX_RECORD, RECORD_HEADER};
use super::{Error, ReadBuffer, Storage, WritableFile};

const MAGIC: &[u8; 8] = b"cbfsjrnl";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 512;
const OWNER_BYTES: usize = 512;
const NAME_AT: usize = 14;
const SALT_AT: usize = 496;
const CHECKSUM_AT: usize = 504;

/// Offset of the first record.
pub(super) const RECORDS_AT: u64 = (HEADER_BYTES + OWNER_BYTES) as u64;

/// Maximum length of all records; no writer exceeds it.
const MAX_JOURNAL: u64 = 2 * MAX_RECORD;

/// Number of bytes read at once to verify a checksum.
const PIECE_BYTES: u64 = 1 << 20;

/// The content of a journal.
#[derive(Debug, Default)]
pub(super) struct JournalContent {
    pub(super) salt: u64,
    /// The complete records, in order.
    pub(super) records: Vec<Arc<JournalRecord>>,
}

impl JournalContent {
    /// Reads the journal `name` from `file`.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] if it has another version or is damaged,
    /// [`Error::DoesNotFit`] if it was made for another name; [`Error::Io`].
    pub(super) fn read(name: &OsStr, file: &dyn Storage) -> Result<JournalContent, Error> {
        let io = Error::io(name);
        let mut buffer = ReadBuffer::default();
        let header = file
            .read_up_to(0, HEADER_BYTES, &mut buffer)
            .map_err(&io)?
            .to_vec();
        // The journal of a writer that has just begun, or was interrupted then.
        if header.iter().all(|byte| *byte == 0) {
            return Ok(JournalContent::default());
        }
        ensure_version(name, &header)?;
        let len = file.len().map_err(&io)?;
        // Without a record, damage of the header does not matter. If the header
        // was never completed, there is no valid record either.
        let end = header.get(SALT_AT..).unwrap_or_default();
        if len <= RECORDS_AT || end.iter().all(|byte| *byte == 0) {
            return Ok(JournalContent::default());
        }
        let mut content = JournalContent {
            salt: read_salt(name, &header)?,
            records: Vec::new(),
        };
        let mut at = RECORDS_AT;
        loop {
            let sequence = content.records.len() as u64 + 1;
            let next = read_record(file, at, len, sequence, content.salt);
            let Some(bytes) = next.map_err(&io)? else {
                return Ok(content);
            };
            at += bytes.len() as u64;
            if at > RECORDS_AT + MAX_JOURNAL {
                return Err(unreadable(name, "longer than any journal"));
            }
            let record =
                JournalRecord::decode(Arc::new(bytes)).map_err(|what| unreadable(name, what))?;
            content.records.push(Arc::new(record));
        }
    }
}

/// Reads the record at `at`, if it is complete and has this sequence number. It
/// is loaded into memory only after its checksum is verified.
fn read_record(
    file: &dyn Storage,
    at: u64,
    file_len: u64,
    sequence: u64,
    salt: u64,
) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = ReadBuffer::default();
    let start = file.read_up_to(at, RECORD_HEADER, &mut buffer)?;
    let (Some(found), Some(length)) = (u64_at(start, 8), u64_at(start, 16)) else {
        return Ok(None);
    };
    let stated = u64_at(start, 0);
    let fits =
        length >= RECORD_HEADER as u64 && length <= MAX_RECORD.min(file_len.saturating_sub(at));
    if found != sequence || !fits {
        return Ok(None);
    }
    if stated != checksum_in_file(file, at + 8..at + length, salt)? {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.fill(at, usize::try_from(length).unwrap_or(0), &mut bytes)?;
    // The file may have changed in between.
    let rest = bytes.get(8..).unwrap_or_default();
    let is_whole =
        bytes.len() as u64 == length && stated == Some(JournalRecord::checksum(rest, salt));
    Ok(is_whole.then_some(bytes))
}

/// Computes the checksum of the bytes in `range`, in pieces; `None` if the file
/// ends before.
fn checksum_in_file(file: &dyn Storage, range: Range<u64>, salt: u64) -> io::Result<Option<u64>> {
    let mut hasher = Xxh3::with_seed(salt);
    let mut buffer = ReadBuffer::default();
    let mut at = range.start;
    while at < range.end {
        let len = usize::try_from((range.end - at).min(PIECE_BYTES)).unwrap_or(0);
        let piece = file.read_up_to(at, len, &mut buffer)?;
        if piece.len() < len {
            return Ok(None);
        }
        hasher.update(piece);
        at += len as u64;
    }
    Ok(Some(hasher.digest()))
}

/// Checks that this version can read a journal with this header.
fn ensure_version(name: &OsStr, header: &[u8]) -> Result<(), Error> {
    if header.get(..8) != Some(MAGIC) {
        return Err(unreadable(name, "not a journal of cbfs"));
    }
    let version = header.get(8..12).and_then(|bytes| bytes.try_into().ok());
    match version.map(u32::from_le_bytes) {
        Some(version) if version != VERSION => {
            let what = format!("a journal of version {version}; this cbfs knows version {VERSION}");
            Err(unreadable(name, what))
        }
        _ => Ok(()),
    }
}

/// Returns the salt of the journal `name` from its header.
fn read_salt(name: &OsStr, header: &[u8]) -> Result<u64, Error> {
    let covered = header.get(..CHECKSUM_AT).unwrap_or_default();
    let is_whole = u64_at(header, CHECKSUM_AT) == Some(xxh3_64(covered));
    match u64_at(header, SALT_AT) {
        Some(salt) if is_whole && encode_header(name, salt) == header => Ok(salt),
        Some(_) if is_whole => Err(Error::DoesNotFit {
            journal: name.to_owned(),
            what: "they were made to a base of another name".to_owned(),
        }),
        _ => Err(unreadable(name, "its header is damaged")),
    }
}

/// Encodes the header of the journal `name`.
pub(super) fn encode_header(name: &OsStr, salt: u64) -> Vec<u8> {
    let name = name.as_bytes();
    let mut header = MAGIC.to_vec();
    header.extend(VERSION.to_le_bytes());
    header.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
    header.extend(name.iter().take(SALT_AT - NAME_AT));
    header.resize(SALT_AT, 0);
    header.extend(salt.to_le_bytes());
    header.extend(xxh3_64(&header).to_le_bytes());
    header
}

/// Returns a random salt.
pub(super) fn new_salt() -> u64 {
    RandomState::new().hash_one(0)
}

/// Records the writer of the base.
pub(super) fn write_owner(file: &dyn WritableFile, owner: &[u8]) -> io::Result<()> {
    file.write_at(HEADER_BYTES as u64, owner)
}

/// Encodes this process and its label as the writer of the base.
pub(super) fn encode_owner(label: &str) -> Vec<u8> {
    let label = label.as_bytes();
    let label = label.get(..label.len().min(OWNER_BYTES - 6));
    let label = label.unwrap_or_default();
    let mut owner = std::process::id().to_le_bytes().to_vec();
    owner.extend(u16::try_from(label.len()).unwrap_or(0).to_le_bytes());
    owner.extend(label);
    owner.resize(OWNER_BYTES, 0);
    owner
}

/// Reads the bytes of the present or last writer.
pub(super) fn read_owner(file: &dyn Storage) -> io::Result<Vec<u8>> {
    let mut buffer = ReadBuffer::default();
    let owner = file.read_up_to(HEADER_BYTES as u64, OWNER_BYTES, &mut buffer)?;
    Ok(owner.to_vec())
}

/// Decodes the process id and the label of a writer, as far as they are there.
pub(super) fn decode_owner(owner: &[u8]) -> (Option<u32>, String) {
    let pid = owner.get(..4).and_then(|bytes| bytes.try_into().ok());
    let length = owner.get(4..6).and_then(|bytes| bytes.try_into().ok());
    let length = usize::from(length.map_or(0, u16::from_le_bytes));
    let label = owner.get(6..6 + length).unwrap_or_default();
    (
        pid.map(u32::from_le_bytes).filter(|pid| *pid != 0),
        String::from_utf8_lossy(label).replace(|c: char| c.is_control(), "\u{fffd}"),
    )
}

/// Returns the error that names the writer of the base.
pub(super) fn in_use(file: &dyn Storage) -> Error {
    let (pid, label) = decode_owner(&read_owner(file).unwrap_or_default());
    Error::InUse { pid, label }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn unreadable(name: &OsStr, what: impl Into<String>) -> Error {
    Error::Unreadable {
        journal: name.to_owned(),
        what: what.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Directory, MemoryDirectory, MemoryFile};

    #[test]
    fn the_writer_of_a_base_is_told_by_its_process_and_label() {
        let [long, cut] = [OWNER_BYTES, OWNER_BYTES - 6].map(|length| "x".repeat(length));
        for (label, wanted) in [
            ("/mnt/base", "/mnt/base"),
            ("", ""),
            ("a\nb", "a\u{fffd}b"),
            (&long, &cut),
        ] {
            let directory = MemoryDirectory::new();
            let file = directory.create(OsStr::new("x")).unwrap();
            write_owner(file.as_ref(), &encode_owner(label)).unwrap();
            assert_eq!(file.len().unwrap(), RECORDS_AT);
            let Error::InUse { pid, label } = in_use(file.as_ref()) else {
                panic!("another error");
            };
            assert_eq!((pid, label.as_str()), (Some(std::process::id()), wanted));
        }
        for bytes in [vec![], vec![0; 1024], vec![0; 514]] {
            let error = in_use(&MemoryFile::from(bytes));
            let is_unnamed =
                matches!(&error, Error::InUse { pid: None, label } if label.is_empty());
            assert!(is_unnamed, "{error}");
        }
    }

    #[test]
    fn a_header_has_the_name_and_the_salt_and_no_other_byte() {
        let long = "n".repeat(1000);
        for name in [".x.cbfs-journal", "", &long] {
            let name = OsStr::new(name);
            let header = encode_header(name, 7);
            assert_eq!(header.len(), HEADER_BYTES);
            assert_eq!(read_salt(name, &header).unwrap(), 7);
            ensure_version(name, &header).unwrap();
            let other = read_salt(OsStr::new("other"), &header).unwrap_err();
            assert!(matches!(other, Error::DoesNotFit { .. }), "{other}");
            for at in 0..HEADER_BYTES {
                let mut changed = header.clone();
                changed[at] ^= 1;
                let error = read_salt(name, &changed).unwrap_err();
                assert!(matches!(error, Error::Unreadable { .. }), "{at}: {error}");
                assert_eq!(ensure_version(name, &changed).is_err(), at < 12);
            }
            for end in 0..HEADER_BYTES {
                assert!(read_salt(name, &header[..end]).is_err());
            }
        }
    }

    #[test]
    fn a_record_of_an_impossible_length_ends_the_journal() {
        let (name, salt) = (OsStr::new("x"), 7);
        for length in [0, 7, 8, 16, 23, 25, u64::MAX] {
            let rest = [1, length].map(u64::to_le_bytes).concat();
            // What the checksum is about as far as it is there.
            let covered = usize::try_from(length.saturating_sub(8)).unwrap_or(0);
            let covered = &rest[..covered.min(rest.len())];
            let checksum = JournalRecord::checksum(covered, salt).to_le_bytes();
            let mut bytes = encode_header(name, salt);
            bytes.resize(HEADER_BYTES + OWNER_BYTES, 0);
            bytes.extend([&checksum[..], &rest].concat());
            let content = JournalContent::read(name, &MemoryFile::from(bytes)).unwrap();
            assert!(content.records.is_empty(), "{length}");
        }
    }
}
