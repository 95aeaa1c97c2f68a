//! `ChessBase` archives: the files of a base packed into one.
//!
//! A `.cbv` has a table of its members, then their streams, one after the
//! other. A stream is a sequence of [blocks](block), which are packed
//! separately; each unpacks to 61,440 bytes except the last. So the read of any
//! byte decodes one block, and an archive is read in place, as a [folder](FolderTree)
//! of read-only files. A `.cbz` is a `.cbv`, [enciphered](cipher).
//!
//! No field of an archive is trusted. Two members share no bytes; no member is
//! longer than its packed bytes allow; a name with a path out of the folder is
//! rejected. A defect of one member or block does not affect the others.

mod block;
mod cache;
mod cipher;
mod error;
mod header;
mod huffman;
mod lz;
mod member;
mod name;
mod pack;
mod survey;
mod tree;
mod unpack;

pub use cache::BlockCache;
pub use cipher::Password;
pub use error::{ArchiveDefect, Error};
pub use member::ArchiveMember;
pub use pack::{PackInput, pack};
pub use unpack::{Unpacked, complete_unpacked, unpack};

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::storage::{
    DiskFile, FolderTree, OpenFile, ReadBuffer, Stamp, Storage, next_file_number,
};
use cipher::{Cipher, Deciphered};
use header::{ArchiveHeader, HEADER_BYTES, MemberRecord};
use name::UsedPaths;
use tree::MemberFile;

/// Longest padding behind the last stream, in bytes.
const PADDING: u64 = cipher::UNIT - 1;

/// Options for reading an archive.
#[derive(Clone, Debug)]
pub struct Options {
    /// Password of an enciphered archive.
    pub password: Option<Password>,
    /// Code page of the names of members.
    pub page: &'static Encoding,
    /// Cache of decoded blocks.
    pub blocks: BlockCache,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            password: None,
            page: WINDOWS_1252,
            blocks: BlockCache::default(),
        }
    }
}

/// An archive, open for reading.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    /// The file itself, enciphered or not.
    file: Arc<DiskFile>,
    /// The deciphered content of the file.
    plain: Arc<dyn Storage>,
    /// Number of this open archive, unique in the process.
    number: u64,
    /// The stamp of the file when it was opened.
    stamp: Stamp,
    is_enciphered: bool,
    members: Vec<ArchiveMember>,
    /// Numbers of the members, those of a folder next to each other.
    by_path: BTreeMap<String, usize>,
    left_out: Vec<ArchiveDefect>,
    faults: Vec<ArchiveDefect>,
    blocks: BlockCache,
}

/// Returns whether `path` has the extension of an archive.
pub fn has_archive_extension(path: &Path) -> bool {
    let extension = path.extension().map(OsStr::to_ascii_lowercase);
    extension.is_some_and(|extension| extension == "cbv" || extension == "cbz")
}

/// Returns whether a file has the name of an enciphered archive and does not
/// begin as one that is not enciphered, so that its password has to be asked
/// for.
pub fn asks_for_password(path: &Path) -> bool {
    let is_cbz = path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("cbz"));
    let first = || {
        let file = DiskFile::open(path).ok()?;
        first_bytes(&file).ok()
    };
    is_cbz && first().is_some_and(|first| plain_kind(&first).is_none())
}

/// First bytes of other file formats, and the message for each.
const OTHERS: [(&[u8], &str); 7] = [
    (
        b"PK",
        "a ZIP file, as comic books are; not an archive of ChessBase",
    ),
    (
        b"Rar!",
        "a RAR file, not an archive of ChessBase; unpack it first",
    ),
    (
        b"7z\xbc\xaf",
        "a 7-Zip file, not an archive of ChessBase; unpack it first",
    ),
    (b"\x1f\x8b", "packed by gzip; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd; unpack it first"),
    (
        b"<!",
        "a page of the web, not an archive: the download went wrong; fetch it again",
    ),
    (
        b"<html",
        "a page of the web, not an archive: the download went wrong; fetch it again",
    ),
];

/// Recognizes an archive that is not enciphered by its first bytes. Returns its
/// header, the reason why it is no archive of `ChessBase`, or `None` if the
/// bytes are unknown.
fn plain_kind(first: &[u8]) -> Option<Result<ArchiveHeader, &'static str>> {
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| first.starts_with(magic)) {
        return Some(Err(what));
    }
    ArchiveHeader::decode(*first.first_chunk()?).map(Ok)
}

fn first_bytes(file: &dyn Storage) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.fill(0, HEADER_BYTES, &mut bytes)?;
    Ok(bytes)
}

impl Archive {
    /// Opens the archive at `path`, following links. Reads its table of members
    /// but no block.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnArchive`]; [`Error::Password`] if it is enciphered and the
    /// password is missing or wrong; [`Error::Io`]. Defects of single members
    /// are no errors: see [`faults`](Archive::faults).
    pub fn open(path: &Path, options: &Options) -> Result<Arc<Archive>, Error> {
        let io = |source| Error::Io {
            file: path.to_path_buf(),
            source,
        };
        let file = Arc::new(DiskFile::open(path).map_err(io)?);
        file.expect_sequential_reads(false);
        let stamp = file.stamp().map_err(io)?;
        let (plain, header, is_enciphered) = open_plain(path, &file, options)?;
        let mut archive = Archive {
            path: path.to_path_buf(),
            plain,
            number: next_file_number(),
            stamp,
            is_enciphered,
            members: Vec::new(),
            by_path: BTreeMap::new(),
            left_out: Vec::new(),
            faults: Vec::new(),
            blocks: options.blocks.clone(),
            file,
        };
        let records = archive.records(header).map_err(io)?;
        archive
            .add_members(header, &records, options.page)
            .map_err(io)?;
        Ok(Arc::new(archive))
    }

    fn records(&self, header: ArchiveHeader) -> io::Result<Vec<MemberRecord>> {
        let len = usize::try_from(header.table_end()).unwrap_or(usize::MAX) - HEADER_BYTES;
        let mut buffer = ReadBuffer::default();
        let table = self.plain.read(HEADER_BYTES as u64, len, &mut buffer)?;
        let records = table.chunks_exact(usize::from(header.record_bytes));
        Ok(records.map(MemberRecord::decode).collect())
    }

    /// Adds the members with a valid name and valid numbers, and a fault for
    /// each other one.
    fn add_members(
        &mut self,
        header: ArchiveHeader,
        records: &[MemberRecord],
        page: &'static Encoding,
    ) -> io::Result<()> {
        let file_len = self.plain.len()?;
        if self.is_enciphered && self.file.len()? > file_len {
            let what = "has no whole number of enciphered units: it was cut short".to_owned();
            self.faults.push(ArchiveDefect::new(file_len, what));
        }
        let limits = stream_limits(header, records, file_len);
        let mut taken = UsedPaths::default();
        for (at, (record, limit)) in records.iter().zip(limits).enumerate() {
            let place = HEADER_BYTES as u64 + at as u64 * u64::from(header.record_bytes);
            let named = path_of(record, page, &mut taken);
            let member = named.and_then(|path| match limit {
                Ok(limit) => ArchiveMember::new(path, record, limit, file_len),
                Err(what) => Err(format!("{path} {what}")),
            });
            match member {
                Ok((member, fault)) => {
                    self.faults.extend(fault);
                    self.by_path
                        .insert(member.path().to_owned(), self.members.len());
                    self.members.push(member);
                }
                Err(why) => {
                    let what = format!("member {} {why}; it is left out", at + 1);
                    self.left_out.push(ArchiveDefect::new(place, what));
                }
            }
        }
        self.note_gaps(header, records, file_len);
        Ok(())
    }

    /// Adds a fault for each range of bytes that belongs to no member.
    fn note_gaps(&mut self, header: ArchiveHeader, records: &[MemberRecord], file_len: u64) {
        let mut streams: Vec<(u64, u64)> = (records.iter())
            .map(|record| (record.offset, record.offset.saturating_add(record.packed)))
            .filter(|(offset, end)| end > offset && (header.table_end()..file_len).contains(offset))
            .collect();
        streams.sort_unstable();
        let mut end = header.table_end();
        for (offset, stream_end) in streams {
            if offset > end {
                let what = format!("{} bytes here belong to no member", offset - end);
                self.faults.push(ArchiveDefect::new(end, what));
            }
            end = end.max(stream_end);
        }
        if file_len > end.saturating_add(PADDING) {
            let what = format!("{} bytes here belong to no member", file_len - end);
            self.faults.push(ArchiveDefect::new(end, what));
        }
    }

    /// The path it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether it is enciphered.
    pub fn is_enciphered(&self) -> bool {
        self.is_enciphered
    }

    /// The readable members, in the order of the table.
    pub fn members(&self) -> &[ArchiveMember] {
        &self.members
    }

    /// Defects of the table: rejected members, streams that are cut off, bytes
    /// of no member.
    pub fn faults(&self) -> impl Iterator<Item = &ArchiveDefect> {
        self.left_out.iter().chain(&self.faults)
    }

    /// The root folder of the members.
    pub fn root(self: &Arc<Archive>) -> Arc<dyn FolderTree> {
        tree::root(self)
    }

    /// Opens a member. Its blocks are decoded when they are read.
    fn open_member(self: &Arc<Archive>, number: usize) -> Option<MemberFile> {
        (number < self.members.len()).then(|| MemberFile::new(self, number))
    }

    /// Returns the decoded block `number` of a member.
    fn block(&self, member: &ArchiveMember, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let plain = self.plain.as_ref();
        let (offset, head) = member.find(number, plain)?;
        let decode = || member.decode(number, (offset, head), plain);
        self.blocks.get((self.number, offset), decode)
    }

    /// Decodes all members and reports their defects. `progress` is called with
    /// the number of decoded bytes; if it returns `false`, the check ends.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn examine(
        &self,
        progress: &mut dyn FnMut(u64) -> bool,
        note: &mut dyn FnMut(ArchiveDefect),
    ) -> io::Result<()> {
        self.file.expect_sequential_reads(true);
        self.faults().cloned().for_each(&mut *note);
        let plain = self.plain.as_ref();
        for member in &self.members {
            for number in 0..member.blocks() {
                let found = member.find(number, plain);
                let decoded = found.and_then(|place| member.decode(number, place, plain));
                match decoded {
                    Ok(bytes) if !progress(bytes.len() as u64) => return Ok(()),
                    Ok(_) => {}
                    // The end of the stream is reported once.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        note(ArchiveDefect::new(
                            member.offset(),
                            format!("{}: {error}", member.path()),
                        ));
                        break;
                    }
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        note(ArchiveDefect::new(
                            member.offset(),
                            format!("{}: {error}", member.path()),
                        ));
                    }
                    Err(error) => return Err(error),
                }
            }
            if let Some(rest) = member.rest(plain)? {
                note(rest);
            }
        }
        Ok(())
    }
}

/// Returns the path of a member and adds it to `taken`.
fn path_of(
    record: &MemberRecord,
    page: &'static Encoding,
    taken: &mut UsedPaths,
) -> Result<String, String> {
    let path = name::path_of(record.name.as_deref(), page)?;
    match taken.take(&path) {
        Ok(()) => Ok(path),
        Err(what) => Err(format!("({path}) {what}")),
    }
}

/// Returns for each member the offset where its stream must end: the begin of
/// the next stream, or the end of the file. The reason, if the stream has no
/// room.
fn stream_limits(
    header: ArchiveHeader,
    records: &[MemberRecord],
    file_len: u64,
) -> Vec<Result<u64, String>> {
    let mut starts: Vec<(u64, usize)> = (records.iter().enumerate())
        .filter(|(_, record)| record.packed > 0)
        .map(|(at, record)| (record.offset, at))
        .collect();
    starts.sort_unstable();
    let limit_of = |(at, record): (usize, &MemberRecord)| {
        if !record.is_consistent {
            return Err("has two sets of numbers that disagree".to_owned());
        }
        if record.packed == 0 {
            return Ok(record.offset);
        }
        if !(header.table_end()..=file_len).contains(&record.offset) {
            return Err(format!(
                "begins at {:#x}, outside the streams",
                record.offset
            ));
        }
        let first = starts.partition_point(|(offset, _)| *offset < record.offset);
        let is_first = starts.get(first).is_some_and(|(_, it)| *it == at);
        if !is_first {
            return Err("begins where an earlier one does".to_owned());
        }
        let next = starts.partition_point(|(offset, _)| *offset <= record.offset);
        let next = starts.get(next).map_or(file_len, |(offset, _)| *offset);
        Ok(next.min(file_len))
    };
    records.iter().enumerate().map(limit_of).collect()
}

/// Opens the content of the archive, deciphered if necessary, and its header.
fn open_plain(
    path: &Path,
    file: &Arc<DiskFile>,
    options: &Options,
) -> Result<(Arc<dyn Storage>, ArchiveHeader, bool), Error> {
    let io = |source| Error::Io {
        file: path.to_path_buf(),
        source,
    };
    let refused = |what: String| Error::NotAnArchive {
        file: path.to_path_buf(),
        what,
    };
    let first = first_bytes(file).map_err(io)?;
    if first.len() < HEADER_BYTES {
        let len = first.len();
        return Err(refused(format!(
            "too short for an archive of ChessBase: {len} bytes; fetch it again"
        )));
    }
    let fault = match plain_kind(&first) {
        Some(Err(what)) => return Err(refused(what.to_owned())),
        Some(Ok(header)) => match header.fault(file.len().map_err(io)?) {
            None => return Ok((Arc::clone(file) as Arc<dyn Storage>, header, false)),
            Some(fault) => Some(fault),
        },
        None => None,
    };
    let ciphers = options.password.iter().flat_map(Password::ciphers);
    for cipher in ciphers {
        if let Some((plain, header)) = deciphered(file, cipher).map_err(io)? {
            return Ok((plain, header, true));
        }
    }
    if let Some(fault) = fault {
        return Err(refused(fault));
    }
    let is_cbz = path
        .extension()
        .is_some_and(|it| it.eq_ignore_ascii_case("cbz"));
    if is_cbz || options.password.is_some() {
        return Err(Error::Password {
            file: path.to_path_buf(),
            is_missing: options.password.is_none(),
        });
    }
    let first = first
        .first_chunk()
        .map_or(0, |first| u64::from_be_bytes(*first));
    Err(refused(format!(
        "not an archive of ChessBase: it begins with {first:016x}; one with a password is called .cbz"
    )))
}

/// Returns the content of `file` deciphered with `cipher`, if it is an archive:
/// the first stream must begin where the table ends.
fn deciphered(
    file: &Arc<DiskFile>,
    cipher: Cipher,
) -> io::Result<Option<(Arc<dyn Storage>, ArchiveHeader)>> {
    let plain = Deciphered::new(Arc::clone(file), cipher);
    let first = first_bytes(&plain)?;
    let header = first
        .first_chunk()
        .and_then(|first| ArchiveHeader::decode(*first));
    let len = plain.len()?;
    let Some(header) = header.filter(|header| header.fault(len).is_none()) else {
        return Ok(None);
    };
    let mut record = Vec::new();
    plain.fill(
        HEADER_BYTES as u64,
        usize::from(header.record_bytes),
        &mut record,
    )?;
    let is_one = MemberRecord::decode(&record).offset == header.table_end();
    Ok(is_one.then(|| (Arc::new(plain) as Arc<dyn Storage>, header)))
}
