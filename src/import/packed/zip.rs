//! The texts in a zip archive.

use std::fmt::Display;
use std::io::{self, BufReader, ErrorKind, Read, SeekFrom};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use flate2::Crc;
use zip::read::ZipFile;
use zip::{CompressionMethod, ZipArchive};

use super::{GamesInput, READ_BYTES, UnpackedText, ZstdDecoder, invalid};

/// Gives every text of games in a zip archive to `take`.
pub(super) fn for_each_member<E: From<io::Error>>(
    input: &mut dyn GamesInput,
    take: &mut dyn FnMut(UnpackedText<'_>) -> Result<(), E>,
) -> Result<(), E> {
    if input.seek(SeekFrom::Start(0)).is_err() {
        let what = "a zip archive is read from its end and must be a file, not a pipe";
        return Err(invalid(what).into());
    }
    let damaged = |error: zip::result::ZipError| invalid_zip(&error);
    let mut archive = ZipArchive::new(input).map_err(damaged)?;
    let mut count = 0;
    for index in 0..archive.len() {
        // What cannot be read must not be passed over.
        let name = match archive.name_for_index(index) {
            Some(name) => name.map_err(damaged)?.into_owned(),
            None => continue,
        };
        if !is_pgn(&name) {
            continue;
        }
        count += 1;
        let about = |error: &dyn Display| invalid(format_args!("{name}: {error}"));
        let member = archive.by_index_raw(index);
        let member = member.map_err(|error| about(&error))?;
        if !member.is_file() {
            return Err(about(&"this member is no plain file").into());
        }
        let start = member.data_start().unwrap_or_default();
        let text: Box<dyn Read + Send + '_> = match member.compression() {
            CompressionMethod::Stored | CompressionMethod::Deflated => {
                drop(member);
                let member = archive.by_index(index);
                Box::new(member.map_err(|error| about(&error))?)
            }
            _ if member.encrypted() => {
                return Err(about(&"this member has a password; unpack it first").into());
            }
            method => unpacked(member, method).map_err(|error| about(&error))?,
        };
        let text = UnpackedText::of_member(&name, start, text);
        take(text.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => about(&error),
            _ => error,
        })?)?;
    }
    if count == 0 {
        return Err(invalid("no member of this zip archive is a .pgn").into());
    }
    Ok(())
}

/// Unpacks what the archive's own reader does not.
fn unpacked<'m, R: Read + Send + 'm>(
    member: ZipFile<'m, R>,
    method: CompressionMethod,
) -> io::Result<Box<dyn Read + Send + 'm>> {
    let crc = member.crc32();
    let raw = BufReader::with_capacity(READ_BYTES, member);
    Ok(match method {
        CompressionMethod::BZIP2 => Box::new(ChecksumReader::new(MultiBzDecoder::new(raw), crc)),
        CompressionMethod::ZSTD | CompressionMethod::ZSTD_DEPRECATED => {
            Box::new(ChecksumReader::new(ZstdDecoder::new(raw), crc))
        }
        method => {
            let name = match method {
                CompressionMethod::LZMA => "LZMA",
                CompressionMethod::XZ => "xz",
                CompressionMethod::DEFLATE64 => "Deflate64",
                _ => "another method",
            };
            let what = format!(
                "this member is packed by {name}, which cbfs does not unpack; unpack it first"
            );
            return Err(invalid(what));
        }
    })
}

/// Whether a member is a text of games, packed once more perhaps: `._x.pgn` is
/// what macOS knows of `x.pgn`.
fn is_pgn(member: &str) -> bool {
    let name = Path::new(member.rsplit('/').next().unwrap_or(member));
    let is = |name: &Path, wanted: &str| {
        let extension = name.extension();
        extension.is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
    };
    let is_packed = ["gz", "bz2", "zst"].iter().any(|packed| is(name, packed));
    let stem = Path::new(name.file_stem().unwrap_or_default());
    let is_text = is(name, "pgn") || (is_packed && is(stem, "pgn"));
    is_text && !name.to_string_lossy().starts_with("._")
}

fn invalid_zip(error: &zip::result::ZipError) -> io::Error {
    match error {
        zip::result::ZipError::Io(source) if source.kind() != ErrorKind::UnexpectedEof => {
            io::Error::new(source.kind(), source.to_string())
        }
        error => invalid(format_args!("damaged zip archive: {error}")),
    }
}

/// Holds the checksum of what is read against that of the archive.
struct ChecksumReader<R> {
    inner: R,
    crc: Crc,
    stated: u32,
}

impl<R> ChecksumReader<R> {
    fn new(inner: R, stated: u32) -> ChecksumReader<R> {
        ChecksumReader {
            inner,
            crc: Crc::new(),
            stated,
        }
    }
}

impl<R: Read> Read for ChecksumReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(bytes)?;
        self.crc.update(bytes.get(..length).unwrap_or_default());
        if length == 0 && !bytes.is_empty() && self.crc.sum() != self.stated {
            return Err(invalid("the checksum of this member is wrong"));
        }
        Ok(length)
    }
}
