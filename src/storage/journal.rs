//! The journal of a base: saves on their way into its files.
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
//!  512    4  process that has the base open for writing, or had it last
//!  516    2  length of what it says of itself
//!  518    …  that, in UTF-8; zeros up to 1024
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
//! Checksums are XXH3 of 64 bits. The first record that is not whole ends the
//! journal: what follows was never said to be kept. The 512 bytes of the
//! header are one sector, which media write as a whole: it is all zeros if a
//! power cut came before the first save was kept.
//!
//! Lengths and old bytes tell whether the journal is one of the base beside it,
//! also after a power cut amid bringing them together, and after both were
//! copied elsewhere: each file must be as long as it was before, or as some of
//! the steps leave it, and each byte in question an old one or a new one. Nor
//! is a journal read that was left by another than the caller, root or the
//! owner of the base.

use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::record::{MAX_RECORD, RECORD_HEADER, Record};
use super::{Error, ReadBuffer, Storage, WritableFile};

const MAGIC: &[u8; 8] = b"cbfsjrnl";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 512;
const OWNER_BYTES: usize = 512;
const NAME_AT: usize = 14;
const SALT_AT: usize = 496;
const CHECKSUM_AT: usize = 504;

/// Where the records begin.
pub(super) const RECORDS_AT: u64 = (HEADER_BYTES + OWNER_BYTES) as u64;

/// More bytes of records than any writer leaves.
const MAX_JOURNAL: u64 = 2 * MAX_RECORD;

/// How much of a record is read at once to check it.
const PIECE_BYTES: u64 = 1 << 20;

/// What a journal says.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) salt: u64,
    /// The whole records, in order.
    pub(super) records: Vec<Arc<Record>>,
}

impl Content {
    /// Reads the journal `name`.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] if it is of another version or damaged,
    /// [`Error::DoesNotFit`] if it was made under another name; [`Error::Io`].
    pub(super) fn read(name: &OsStr, file: &dyn Storage) -> Result<Content, Error> {
        let io = Error::io(name);
        let mut buffer = ReadBuffer::default();
        let header = file
            .read_up_to(0, HEADER_BYTES, &mut buffer)
            .map_err(&io)?
            .to_vec();
        // The journal of a writer that has just begun, or was cut off then.
        if header.iter().all(|byte| *byte == 0) {
            return Ok(Content::default());
        }
        ensure_version(name, &header)?;
        let len = file.len().map_err(&io)?;
        // Without a record it does not matter what is wrong with it; nor is
        // there one to trust if the header was never finished.
        let end = header.get(SALT_AT..).unwrap_or_default();
        if len <= RECORDS_AT || end.iter().all(|byte| *byte == 0) {
            return Ok(Content::default());
        }
        let mut content = Content {
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
            let record = Record::decode(Arc::new(bytes)).map_err(|what| unreadable(name, what))?;
            content.records.push(Arc::new(record));
        }
    }
}

/// The record at `at`, if it is whole and has this number. It is brought into
/// memory only when its checksum is known to be right.
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
    // It may have become another one since.
    let rest = bytes.get(8..).unwrap_or_default();
    let is_whole = bytes.len() as u64 == length && stated == Some(Record::checksum(rest, salt));
    Ok(is_whole.then_some(bytes))
}

/// The checksum of a record whose bytes after it are these of the file, read
/// in pieces; `None` if the file ends before.
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

/// Whether a journal with this header can be read by this version.
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

/// The salt of the journal `name` with this header.
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

/// The header of the journal `name`.
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

/// A salt no other journal has.
pub(super) fn new_salt() -> u64 {
    RandomState::new().hash_one(0)
}

/// Says who has the base open for writing.
pub(super) fn write_owner(file: &dyn WritableFile, label: &str) -> io::Result<()> {
    let label = label.as_bytes();
    let label = label.get(..label.len().min(OWNER_BYTES - 6));
    let label = label.unwrap_or_default();
    let mut owner = std::process::id().to_le_bytes().to_vec();
    owner.extend(u16::try_from(label.len()).unwrap_or(0).to_le_bytes());
    owner.extend(label);
    owner.resize(OWNER_BYTES, 0);
    file.write_at(HEADER_BYTES as u64, &owner)
}

/// The error that names who has the base open for writing.
pub(super) fn in_use(file: &dyn Storage) -> Error {
    let mut buffer = ReadBuffer::default();
    let owner = file
        .read_up_to(HEADER_BYTES as u64, OWNER_BYTES, &mut buffer)
        .unwrap_or_default();
    let pid = owner.get(..4).and_then(|bytes| bytes.try_into().ok());
    let length = owner.get(4..6).and_then(|bytes| bytes.try_into().ok());
    let length = usize::from(length.map_or(0, u16::from_le_bytes));
    let label = owner.get(6..6 + length).unwrap_or_default();
    Error::InUse {
        pid: pid.map(u32::from_le_bytes).filter(|pid| *pid != 0),
        label: String::from_utf8_lossy(label).replace(|c: char| c.is_control(), "\u{fffd}"),
    }
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
