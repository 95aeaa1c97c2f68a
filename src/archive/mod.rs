//! Archives of `ChessBase`: all files of a base in one.
//!
//! A `.cbv` has a table of its members and their streams, one after the other;
//! a stream is a row of [blocks](block), each packed by itself and of 61,440
//! bytes when it is not the last. So any byte of a member costs one block,
//! and an archive is read where it lies, as a [folder](Tree) whose files cannot
//! be changed. A `.cbz` is the same [enciphered](cipher).
//!
//! Nothing an archive says is believed: no two members have the same bytes,
//! and none is longer than its packed bytes can make it; a name that could
//! lead out of a folder is none. What is wrong with one member, or one block,
//! leaves the others as they are.

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
mod tree;
mod unpack;

pub use cache::BlockCache;
pub use cipher::Password;
pub use error::{Error, Fault};
pub use member::Member;
pub use pack::{Input, pack};
pub use unpack::{Unpacked, unpack};

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::storage::{DiskFile, OpenFile, ReadBuffer, Stamp, Storage, Tree, next_file_number};
use cipher::{Cipher, Deciphered};
use header::{HEADER_BYTES, Header, Record};
use name::Taken;
use tree::MemberFile;

/// More bytes than this behind the last stream are no padding.
const PADDING: u64 = cipher::UNIT - 1;

/// How an archive is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Password, for one that is enciphered.
    pub password: Option<Password>,
    /// The page that names of members are in.
    pub page: &'static Encoding,
    /// Where decoded blocks are kept.
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

/// An archive, open to be read.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    /// The file as it lies there.
    file: Arc<DiskFile>,
    /// File that the members lie in, deciphered.
    plain: Arc<dyn Storage>,
    /// Tells it from all others that are open.
    number: u64,
    /// State of the file when it was opened.
    stamp: Stamp,
    is_enciphered: bool,
    members: Vec<Member>,
    by_path: HashMap<String, usize>,
    left_out: Vec<Fault>,
    faults: Vec<Fault>,
    blocks: BlockCache,
}

/// Whether a file has the name of an archive.
pub fn has_name_of_one(path: &Path) -> bool {
    let extension = path.extension().map(OsStr::to_ascii_lowercase);
    extension.is_some_and(|extension| extension == "cbv" || extension == "cbz")
}

/// Whether a file has the name of an enciphered archive and does not begin as
/// one that anybody can read, so that its password has to be asked for.
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

/// First bytes of files that are no archives of `ChessBase`, and what to say.
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

/// What a file is that is not enciphered, if it is known by its first bytes:
/// an archive, or why it is none.
fn plain_kind(first: &[u8]) -> Option<Result<Header, &'static str>> {
    if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| first.starts_with(magic)) {
        return Some(Err(what));
    }
    Header::decode(*first.first_chunk()?).map(Ok)
}

fn first_bytes(file: &dyn Storage) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.fill(0, HEADER_BYTES, &mut bytes)?;
    Ok(bytes)
}

impl Archive {
    /// Opens the archive at `path`, or that a link there leads to. Its table
    /// of members is read, and no block.
    ///
    /// # Errors
    ///
    /// [`Error::NotAnArchive`]; [`Error::Password`] if it is enciphered and the
    /// password missing or wrong; [`Error::Io`]. What is wrong with single
    /// members is in [`faults`](Archive::faults).
    pub fn open(path: &Path, options: &Options) -> Result<Arc<Archive>, Error> {
        let io = |source| Error::Io {
            file: path.to_path_buf(),
            source,
        };
        let file = Arc::new(DiskFile::open(path).map_err(io)?);
        let stamp = file.stamp().map_err(io)?;
        let (plain, header, is_enciphered) = uncover(path, &file, options)?;
        let mut archive = Archive {
            path: path.to_path_buf(),
            plain,
            number: next_file_number(),
            stamp,
            is_enciphered,
            members: Vec::new(),
            by_path: HashMap::new(),
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

    fn records(&self, header: Header) -> io::Result<Vec<Record>> {
        let len = usize::try_from(header.table_end()).unwrap_or(usize::MAX) - HEADER_BYTES;
        let mut buffer = ReadBuffer::default();
        let table = self.plain.read(HEADER_BYTES as u64, len, &mut buffer)?;
        let records = table.chunks_exact(usize::from(header.record_bytes));
        Ok(records.map(Record::decode).collect())
    }

    /// Takes the members that have a valid name and valid numbers; tells of the
    /// others.
    fn add_members(
        &mut self,
        header: Header,
        records: &[Record],
        page: &'static Encoding,
    ) -> io::Result<()> {
        let file_len = self.plain.len()?;
        if self.is_enciphered && self.file.len()? > file_len {
            let what = "has no whole number of enciphered units: it was cut short".to_owned();
            self.faults.push(Fault::new(file_len, what));
        }
        let rooms = rooms(header, records, file_len);
        let mut taken = Taken::default();
        for (at, (record, room)) in records.iter().zip(rooms).enumerate() {
            let place = HEADER_BYTES as u64 + at as u64 * u64::from(header.record_bytes);
            let named = path_of(record, page, &mut taken);
            let member = named.and_then(|path| match room {
                Ok(room) => Member::new(path, record, room, file_len),
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
                    self.left_out.push(Fault::new(place, what));
                }
            }
        }
        self.tell_gaps(header, records, file_len);
        Ok(())
    }

    /// Tells of bytes that belong to no member.
    fn tell_gaps(&mut self, header: Header, records: &[Record], file_len: u64) {
        let mut streams: Vec<(u64, u64)> = (records.iter())
            .map(|record| (record.offset, record.offset.saturating_add(record.packed)))
            .filter(|(offset, end)| end > offset && (header.table_end()..file_len).contains(offset))
            .collect();
        streams.sort_unstable();
        let mut end = header.table_end();
        for (offset, stream_end) in streams {
            if offset > end {
                let what = format!("{} bytes here belong to no member", offset - end);
                self.faults.push(Fault::new(end, what));
            }
            end = end.max(stream_end);
        }
        if file_len > end.saturating_add(PADDING) {
            let what = format!("{} bytes here belong to no member", file_len - end);
            self.faults.push(Fault::new(end, what));
        }
    }

    /// Where it lies, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is enciphered.
    pub fn is_enciphered(&self) -> bool {
        self.is_enciphered
    }

    /// The members that can be read, in the order of the table.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What is wrong with the table: members that are left out, streams that
    /// are cut, bytes of no member.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.left_out.iter().chain(&self.faults)
    }

    /// The folder of all members.
    pub fn root(self: &Arc<Archive>) -> Arc<dyn Tree> {
        tree::root(self)
    }

    /// The bytes of a member, each part decoded when it is read.
    fn open_member(self: &Arc<Archive>, number: usize) -> Option<MemberFile> {
        (number < self.members.len()).then(|| MemberFile::new(self, number))
    }

    /// The block `number` of a member, decoded.
    fn block(&self, member: &Member, number: u64) -> io::Result<Arc<Vec<u8>>> {
        let plain = self.plain.as_ref();
        let (offset, head) = member.find(number, plain)?;
        let decode = || member.decode(number, (offset, head), plain);
        self.blocks.get((self.number, offset), decode)
    }

    /// Decodes everything, and tells what is wrong with it.
    /// `progress` is given the number of decoded bytes again and again; when it
    /// says `false`, that is the end.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn examine(
        &self,
        progress: &mut dyn FnMut(u64) -> bool,
        note: &mut dyn FnMut(Fault),
    ) -> io::Result<()> {
        self.faults().cloned().for_each(&mut *note);
        let plain = self.plain.as_ref();
        for member in &self.members {
            for number in 0..member.blocks() {
                let found = member.find(number, plain);
                let decoded = found.and_then(|place| member.decode(number, place, plain));
                match decoded {
                    Ok(bytes) if !progress(bytes.len() as u64) => return Ok(()),
                    Ok(_) => {}
                    // Where nothing more follows, that is said once.
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        note(Fault::new(
                            member.offset(),
                            format!("{}: {error}", member.path()),
                        ));
                        break;
                    }
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        note(Fault::new(
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

/// The path of a member, which is then taken.
fn path_of(record: &Record, page: &'static Encoding, taken: &mut Taken) -> Result<String, String> {
    let path = name::path_of(record.name.as_deref(), page)?;
    match taken.take(&path) {
        Ok(()) => Ok(path),
        Err(what) => Err(format!("({path}) {what}")),
    }
}

/// Where the stream of each member ends at the latest: where the next one
/// begins, or at the end of the file. Why it has no room, if it has none.
fn rooms(header: Header, records: &[Record], file_len: u64) -> Vec<Result<u64, String>> {
    let mut starts: Vec<(u64, usize)> = (records.iter().enumerate())
        .filter(|(_, record)| record.packed > 0)
        .map(|(at, record)| (record.offset, at))
        .collect();
    starts.sort_unstable();
    let room = |(at, record): (usize, &Record)| {
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
    records.iter().enumerate().map(room).collect()
}

/// What the members lie in, deciphered if need be, and the header.
fn uncover(
    path: &Path,
    file: &Arc<DiskFile>,
    options: &Options,
) -> Result<(Arc<dyn Storage>, Header, bool), Error> {
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

/// The file as `cipher` shows it, if that is an archive: its first stream
/// begins where its table ends.
fn deciphered(
    file: &Arc<DiskFile>,
    cipher: Cipher,
) -> io::Result<Option<(Arc<dyn Storage>, Header)>> {
    let plain = Deciphered::new(Arc::clone(file), cipher);
    let first = first_bytes(&plain)?;
    let header = first.first_chunk().and_then(|first| Header::decode(*first));
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
    let is_one = Record::decode(&record).offset == header.table_end();
    Ok(is_one.then(|| (Arc::new(plain) as Arc<dyn Storage>, header)))
}
