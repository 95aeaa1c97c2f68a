//! Makes an archive.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::SystemTime;

use encoding_rs::Encoding;

use super::block::{self, BLOCK_BYTES};
use super::cipher::{Cipher, UNIT};
use super::header::{ArchiveHeader, MemberRecord, RECORD_BYTES};
use super::name::{UsedPaths, name_of};
use super::{Error, Options, Password};
use crate::storage::{
    ReadBuffer, Storage, WorkFolder, folder_of, make_as_private, move_to_free, sync_or_move_back,
};

/// Number of blocks that each thread packs at once.
const STRETCH: usize = 8;

/// A file to be packed.
#[derive(Debug)]
pub struct PackInput<'a> {
    /// Path in the archive, folders and name joined by `/`.
    pub path: String,
    /// Content.
    pub file: &'a dyn Storage,
    /// Time of the last change.
    pub modified: Option<SystemTime>,
}

/// Makes the archive `path` of `inputs`, in their order, whole or not at all.
/// It is enciphered if the options have a password. `progress` is called with
/// the number of bytes packed since the last call; if it returns `false`,
/// packing ends with an error of the kind `Interrupted`. `ensure` is a last
/// check before the archive appears; who cannot read the file `model` cannot read
/// the archive. Returns the length of the archive.
///
/// # Errors
///
/// [`Error::Io`], also if the path exists, a member cannot have the name of a
/// file, or `ensure` fails.
pub fn pack(
    path: &Path,
    inputs: &[PackInput<'_>],
    options: &Options,
    model: Option<&Path>,
    progress: &mut dyn FnMut(u64) -> bool,
    ensure: &dyn Fn() -> io::Result<()>,
) -> Result<u64, Error> {
    let mut packed = || {
        let name = path.file_name().unwrap_or_default();
        let folder = WorkFolder::begin_empty(folder_of(path), name)?;
        let temporary = folder.path().join(name);
        let mut file = File::create_new(&temporary)?;
        if let Some(model) = model {
            make_as_private(&file, model)?;
        }
        let mut out = BufWriter::new(&mut file);
        write(inputs, options, &mut out, progress)?;
        out.flush()?;
        drop(out);
        ensure()?;
        file.sync_all()?;
        let size = file.metadata()?.len();
        move_to_free(&temporary, path)?;
        sync_or_move_back(&temporary, path)?;
        Ok(size)
    };
    packed().map_err(|source| Error::Io {
        file: path.to_path_buf(),
        source,
    })
}

/// Writes the archive to `out`, which must be empty.
fn write(
    inputs: &[PackInput<'_>],
    options: &Options,
    out: &mut (impl Write + Seek),
    progress: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let names = names(inputs, options.page)?;
    let header = ArchiveHeader {
        members: u16::try_from(inputs.len()).map_err(|_| refused("too many files"))?,
        record_bytes: RECORD_BYTES,
    };
    let cipher = options.password.as_ref().map(Password::cipher);
    let mut streams = Streams::begin(out, header.table_end(), cipher)?;
    let mut table = header.encode();
    for (input, name) in inputs.iter().zip(names) {
        let offset = streams.end;
        let size = pack_file(input.file, &mut streams, progress)?;
        let record = MemberRecord {
            name: Some(name),
            offset,
            packed: streams.end - offset,
            size,
            modified: input.modified,
            is_consistent: true,
        };
        table.extend(record.encode());
    }
    streams.finish(table)
}

fn refused(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.into())
}

fn names(inputs: &[PackInput<'_>], page: &'static Encoding) -> io::Result<Vec<Vec<u8>>> {
    let mut taken = UsedPaths::default();
    let name = |input: &PackInput<'_>| {
        let free = taken.take(&input.path);
        free.map_err(|what| refused(format!("{} {what}", input.path)))?;
        name_of(&input.path, page).map_err(refused)
    };
    inputs.iter().map(name).collect()
}

/// Packs a file. Returns the length of its stream.
fn pack_file<W: Write + Seek>(
    file: &dyn Storage,
    streams: &mut Streams<'_, W>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> io::Result<u64> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut buffer = ReadBuffer::default();
    let mut size = 0;
    loop {
        let bytes = file.read_up_to(size, cores * STRETCH * BLOCK_BYTES, &mut buffer)?;
        if bytes.is_empty() {
            return Ok(size);
        }
        size += bytes.len() as u64;
        let packed: Vec<Vec<u8>> = thread::scope(|scope| {
            let parts = bytes.chunks(STRETCH * BLOCK_BYTES);
            let workers: Vec<_> = parts
                .map(|part| scope.spawn(|| pack_blocks(part)))
                .collect();
            let packed = workers.into_iter().map(thread::ScopedJoinHandle::join);
            packed.collect::<Result<_, _>>()
        })
        .map_err(|_| io::Error::other("a thread ended early"))?;
        for blocks in packed {
            streams.write(&blocks)?;
        }
        if !progress(bytes.len() as u64) {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
}

fn pack_blocks(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() / 2);
    for bytes in bytes.chunks(BLOCK_BYTES) {
        block::encode(bytes, &mut packed);
    }
    packed
}

/// Writer of the streams. The table in front of them is written last.
struct Streams<'a, W> {
    out: &'a mut W,
    cipher: Option<Cipher>,
    /// The first bytes of the streams, which share a cipher block with the end
    /// of the table.
    first: Vec<u8>,
    /// Number of those bytes.
    first_len: usize,
    /// Bytes that do not fill a cipher block yet.
    waiting: Vec<u8>,
    /// Offset of the next byte.
    end: u64,
}

impl<'a, W: Write + Seek> Streams<'a, W> {
    fn begin(out: &'a mut W, start: u64, cipher: Option<Cipher>) -> io::Result<Self> {
        let first = start.next_multiple_of(UNIT);
        out.seek(SeekFrom::Start(first))?;
        Ok(Streams {
            out,
            cipher,
            first: Vec::new(),
            first_len: usize::try_from(first - start).unwrap_or(0),
            waiting: Vec::new(),
            end: start,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.end += bytes.len() as u64;
        let missing = self.first_len - self.first.len();
        let (first, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
        self.first.extend_from_slice(first);
        self.waiting.extend_from_slice(rest);
        let whole = match self.cipher {
            Some(_) => self.waiting.len() / 8 * 8,
            None => self.waiting.len(),
        };
        self.write_waiting(whole)
    }

    fn write_waiting(&mut self, count: usize) -> io::Result<()> {
        let rest = self.waiting.split_off(count.min(self.waiting.len()));
        if let Some(cipher) = &self.cipher {
            cipher.encipher(&mut self.waiting);
        }
        self.out.write_all(&self.waiting)?;
        self.waiting = rest;
        Ok(())
    }

    fn finish(mut self, mut table: Vec<u8>) -> io::Result<()> {
        table.append(&mut self.first);
        if let Some(cipher) = &self.cipher {
            table.resize(table.len().next_multiple_of(8), 0);
            cipher.encipher(&mut table);
            self.waiting
                .resize(self.waiting.len().next_multiple_of(8), 0);
        }
        self.write_waiting(self.waiting.len())?;
        self.out.rewind()?;
        self.out.write_all(&table)?;
        self.out.flush()
    }
}
