//! What a file of games is packed in: gzip, Zstandard, bzip2 or zip, told
//! from its first bytes.
//!
//! Nothing is unpacked ahead of being read, so memory is that of the decoder:
//! its window, which a Zstandard frame may ask 128 MiB for.

mod gzip;
mod zip;

use std::fmt::{self, Display};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use bzip2::bufread::MultiBzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use self::gzip::GzipDecoder;
use self::zip::for_each_member;
use super::utf16::{Utf16, Utf16Reader};

/// A file of games. Only a zip archive needs [`Seek`], which may fail.
pub trait GamesInput: BufRead + Seek + Send {}

impl<I: BufRead + Seek + Send> GamesInput for I {}

/// A text of games.
pub struct UnpackedText<'a> {
    /// The member of an archive that it is.
    pub member: Option<String>,
    /// Whether it was UTF-16 before.
    pub was_utf16: bool,
    /// Its bytes: UTF-8, or Windows-1252, or both.
    pub reader: Box<dyn BufRead + Send + 'a>,
}

impl fmt::Debug for UnpackedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Text")
            .field("member", &self.member)
            .field("was_utf16", &self.was_utf16)
            .finish_non_exhaustive()
    }
}

/// The first bytes of a file say what it is; so many are looked at.
const HEAD_BYTES: u64 = 512;

/// So much of a text tells in which page it is.
const PAGE_BYTES: u64 = 1 << 20;

/// So much unpacked text is read at once.
const READ_BYTES: usize = 1 << 16;

/// What a file can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstandard,
    Bzip2,
    Zip,
    /// Packed by what is not read here.
    Foreign(&'static str),
}

/// Passes each text in a file to `take`: the file itself, or in order each
/// member of a zip archive whose name ends in `.pgn`, `.pgn.gz` or the like.
/// `name` is the name of the file.
///
/// # Errors
///
/// The first of `take`; that of the medium; [`ErrorKind::InvalidData`] for a
/// file that is not what it says it is, and later from a text's reader for
/// packed data that is damaged or cut short, with its offset in the file.
pub fn for_each_text<E: From<io::Error>>(
    name: &Path,
    input: &mut dyn GamesInput,
    take: &mut dyn FnMut(UnpackedText<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut head = Vec::new();
    (&mut *input).take(HEAD_BYTES).read_to_end(&mut head)?;
    let format = format_of(&head, name)?;
    if format == Packing::Zip {
        return for_each_member(input, take);
    }
    let reader = unpacked_reader(format, Cursor::new(head).chain(input));
    take(UnpackedText::new(None, reader)?)
}

/// Unpacks what is read, unless it is plain.
fn unpacked_reader<'a>(
    format: Packing,
    input: impl BufRead + Send + 'a,
) -> Box<dyn BufRead + Send + 'a> {
    let tally = Arc::new(Tally::default());
    let input = Tallied {
        inner: input,
        tally: Arc::clone(&tally),
    };
    let unpacked: Box<dyn Read + Send + 'a> = match format {
        Packing::Gzip => Box::new(GzipDecoder::new(input)),
        Packing::Bzip2 => Box::new(MultiBzDecoder::new(input)),
        Packing::Zstandard => Box::new(ZstdDecoder::new(input)),
        _ => return Box::new(input.inner),
    };
    let unpacked = Unpacked {
        inner: unpacked,
        format: format.name(),
        tally,
    };
    Box::new(BufReader::with_capacity(READ_BYTES, unpacked))
}

impl Packing {
    fn name(self) -> &'static str {
        match self {
            Packing::Plain => "PGN",
            Packing::Gzip => "gzip",
            Packing::Zstandard => "Zstandard",
            Packing::Bzip2 => "bzip2",
            Packing::Zip => "zip",
            Packing::Foreign(name) => name,
        }
    }
}

/// Refuses what is no text, such as a file of a base. The NULs that a machine
/// leaves behind a text when it goes down are no reason to.
fn ensure_text(head: &[u8]) -> io::Result<()> {
    if head.get(257..262) == Some(b"ustar") {
        return Err(invalid(format_args!(
            "this is a tar archive, which cbfs does not unpack; unpack it first"
        )));
    }
    let begin = head.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = u8::from(begin.len() >= TEXT_BYTES);
    let is_binary = |byte: &&u8| (first..=8).contains(*byte) || matches!(byte, 14..=25 | 28..=31);
    if head.iter().filter(is_binary).count() * BINARY_SHARE > head.len() {
        return Err(invalid(format_args!(
            "this is no text; `cbfs export BASE | cbfs import OTHER -` copies the games of a base"
        )));
    }
    Ok(())
}

/// What is no text has more than one of so many bytes that no text has.
const BINARY_SHARE: usize = 10;

/// No file of another kind begins with so many bytes without a NUL.
const TEXT_BYTES: usize = 64;

/// What a file is, by its first bytes; one whose name promises something else
/// may still be plain text, which programs that load files leave unpacked.
fn format_of(head: &[u8], name: &Path) -> io::Result<Packing> {
    let told = match head {
        [0x1f, 0x8b, ..] => Packing::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstandard,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 7, 8, ..] => Packing::Zip,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Foreign("an xz file"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Packing::Foreign("a 7-Zip archive"),
        [b'R', b'a', b'r', b'!', 0x1a, ..] => Packing::Foreign("a RAR archive"),
        _ => Packing::Plain,
    };
    if let Packing::Foreign(name) = told {
        return Err(invalid(format_args!(
            "this is {name}, which cbfs does not unpack; unpack it first"
        )));
    }
    let promised = format_of_name(name);
    let is_text = !head.is_empty() && !head.contains(&0);
    match promised.filter(|_| told == Packing::Plain && !is_text) {
        Some(promised) => Err(invalid(format_args!(
            "the name says {}, but there is no {} data at offset 0",
            promised.name(),
            promised.name()
        ))),
        None => Ok(told),
    }
}

fn format_of_name(name: &Path) -> Option<Packing> {
    let extension = name.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "gz" => Packing::Gzip,
        "zst" => Packing::Zstandard,
        "bz2" => Packing::Bzip2,
        "zip" => Packing::Zip,
        _ => return None,
    })
}

fn invalid(what: impl Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}

/// A frame that is sound, but needs more memory than is given to it.
fn too_wide(requested: u64, most: u64) -> io::Error {
    let window = requested.div_ceil(1 << 20);
    let most = most >> 20;
    let what = format!(
        "a frame was packed with a window of {window} MiB, and cbfs unpacks up to {most} MiB; \
         unpack the file first, with zstd -d --long=31"
    );
    io::Error::new(ErrorKind::Unsupported, what)
}

impl<'a> UnpackedText<'a> {
    /// Looks whether the bytes are UTF-16. Fails for what is no text.
    fn new(
        member: Option<String>,
        mut reader: impl BufRead + Send + 'a,
    ) -> io::Result<UnpackedText<'a>> {
        let mut head = Vec::new();
        reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        let utf16 = Utf16::of(&head);
        if utf16.is_none() {
            ensure_text(&head)?;
        }
        let reader = Cursor::new(head).chain(reader);
        Ok(UnpackedText {
            member,
            was_utf16: utf16.is_some(),
            reader: match utf16 {
                Some(utf16) => Box::new(BufReader::new(Utf16Reader::new(utf16, reader))),
                None => Box::new(reader),
            },
        })
    }

    /// Its first bytes, a mebibyte at most, and the rest if there may be any.
    pub(super) fn split(mut self) -> (Vec<u8>, Option<Box<dyn BufRead + Send + 'a>>) {
        let mut head = Vec::new();
        match self.reader.by_ref().take(PAGE_BYTES).read_to_end(&mut head) {
            Ok(bytes) if (bytes as u64) < PAGE_BYTES => (head, None),
            Ok(_) => (head, Some(self.reader)),
            // What was read before comes first.
            Err(error) => (head, Some(Box::new(BufReader::new(Failed(Some(error)))))),
        }
    }

    /// A member of a zip archive, whose packed data begins at an offset. It may
    /// be packed once more.
    fn of_member(
        name: &str,
        data_start: u64,
        member: Box<dyn Read + Send + 'a>,
    ) -> io::Result<UnpackedText<'a>> {
        let unpacked = Unpacked {
            tally: Arc::new(Tally {
                bytes: AtomicU64::new(data_start),
                ..Tally::default()
            }),
            inner: member,
            format: "zip",
        };
        let mut reader = BufReader::with_capacity(READ_BYTES, unpacked);
        let mut head = Vec::new();
        reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        let format = format_of(&head, Path::new(name))?;
        if format == Packing::Zip {
            return Err(invalid("a zip archive in another one; unpack it first"));
        }
        let reader = unpacked_reader(format, Cursor::new(head).chain(reader));
        UnpackedText::new(Some(name.to_owned()), reader)
    }
}

/// A reader that returns one error, then the end.
struct Failed(Option<io::Error>);

impl Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// How far a packed file was read.
#[derive(Debug, Default)]
struct Tally {
    bytes: AtomicU64,
    /// Whether the medium, not the data, is at fault.
    has_failed: AtomicBool,
}

/// Counts what is read.
struct Tallied<R> {
    inner: R,
    tally: Arc<Tally>,
}

impl<R: BufRead> Read for Tallied<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let length = available.read(bytes)?;
        self.consume(length);
        Ok(length)
    }
}

impl<R: BufRead> BufRead for Tallied<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let filled = self.inner.fill_buf();
        if let Err(error) = &filled
            && error.kind() != ErrorKind::Interrupted
        {
            self.tally.has_failed.store(true, Relaxed);
        }
        filled
    }

    fn consume(&mut self, amount: usize) {
        self.tally.bytes.fetch_add(amount as u64, Relaxed);
        self.inner.consume(amount);
    }
}

/// What a decoder gives; its errors have their place.
struct Unpacked<'a> {
    inner: Box<dyn Read + Send + 'a>,
    format: &'static str,
    tally: Arc<Tally>,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.inner.read(bytes).map_err(|error| {
            if self.tally.has_failed.load(Relaxed) || error.kind() == ErrorKind::Interrupted {
                return error;
            }
            let at = self.tally.bytes.load(Relaxed);
            let format = self.format;
            if error.kind() == ErrorKind::Unsupported {
                return invalid(format_args!("{format} data up to offset {at}: {error}"));
            }
            invalid(format_args!(
                "{format} data damaged or cut short, read up to offset {at}: {error}"
            ))
        })
    }
}

/// All frames of a Zstandard file, one after the other, as one text.
struct ZstdDecoder<R> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> ZstdDecoder<R> {
    fn new(source: R) -> ZstdDecoder<R> {
        ZstdDecoder {
            source,
            decoder: FrameDecoder::new(),
            is_in_frame: false,
        }
    }

    /// Begins the next frame, or passes over one that holds no data; whether
    /// there was any.
    fn next_frame(&mut self) -> io::Result<bool> {
        if self.source.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.init(&mut self.source) {
            Ok(()) => self.is_in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let mut frame = (&mut self.source).take(length.into());
                if io::copy(&mut frame, &mut io::sink())? < u64::from(length) {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
            }
            Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                return Err(too_wide(requested, max));
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(true)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(invalid("the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for ZstdDecoder<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while !bytes.is_empty() {
            if !self.is_in_frame {
                if self.next_frame()? {
                    continue;
                }
                break;
            }
            let length = self.decoder.read(bytes)?;
            if length > 0 {
                return Ok(length);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = self.decoder.decode_blocks(&mut self.source, one);
            decoded.map_err(io::Error::other)?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests;
