//! Frames: the content of `.2cbg` and `.2cba` behind a head of 12 bytes, equal
//! in both files.
//!
//! Head of the file:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 8 | bytes of the file |
//! | 8 | 2 | 12, where the first frame begins |
//! | 10 | 2 | not used |
//!
//! Frame:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 8 | mark |
//! | 8 | 4 | A, bytes of the content |
//! | 12 | 4 | B, bytes of the spare area |
//! | 16 | 8 | check sum of the content, big-endian |
//! | 24 | 2 | tag: kind of the content |
//! | 26 | A | content |
//! | 26 + A | B | spare area |
//! | 26 + A + B | 8 | A + B + 34 |
//!
//! The checksum has eight bytes, each the sum of the bytes of one eighth of the
//! content; a remainder at the end is not counted. Content of less than eight
//! bytes is its own checksum.

use std::io;

use crate::bytes::{ByteReader, Malformed};
use crate::storage::{ReadBuffer, Storage};

/// The tag of the moves of a game.
pub(super) const GAME: u16 = 0x0001;
/// The tag of the moves of a Chess960 game.
pub(super) const CHESS960: u16 = 0x0002;
/// The tag of a guiding text.
pub(super) const TEXT: u16 = 0x1000;
/// The tag of annotations.
pub(super) const ANNOTATIONS: u16 = 0x2000;

/// Length of the head of a file.
pub(super) const FILE_HEAD_BYTES: usize = 12;

const MARK: [u8; 8] = [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];

/// Length of a frame before its content.
pub(super) const HEAD_BYTES: usize = 26;

/// Length of a frame without content and spare area.
const FIXED_BYTES: u64 = 34;

/// Maximum length of a content; more is damage. The longest known, a text, has
/// 1.2 MB.
const MAX_CONTENT_BYTES: u32 = 1 << 26;

/// Maximum length of a file.
const MOST_BYTES: u64 = 1 << 62;

/// Number of bytes read first: nearly every frame fits.
const READ_AHEAD: usize = 1024;

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
struct FrameHead {
    content: usize,
    spare: u64,
    sum: [u8; 8],
    tag: u16,
}

impl FrameHead {
    fn decode(bytes: &[u8]) -> Result<FrameHead, Malformed> {
        let mut reader = ByteReader::new(bytes);
        if reader.array()? != MARK {
            return Err(Malformed::new(0, "no record begins here"));
        }
        let (content, spare) = (reader.u32_le()?, reader.u32_le()?);
        let is_possible = content <= MAX_CONTENT_BYTES && spare.cast_signed() >= 0;
        if !is_possible {
            let what = format!("a record of {content} and {spare} bytes");
            return Err(Malformed::new(8, what));
        }
        Ok(FrameHead {
            content: content as usize,
            spare: spare.into(),
            sum: reader.array()?,
            tag: reader.u16_le()?,
        })
    }

    /// Length of the whole frame.
    fn len(&self) -> u64 {
        FIXED_BYTES + self.content as u64 + self.spare
    }
}

/// A decoded frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// Kind of the content.
    pub(super) tag: u16,
    /// The content. Its offset in the frame is [`HEAD_BYTES`].
    pub(super) content: &'a [u8],
}

/// Reads the frame at `offset` and calls `take` with it and with those of its
/// defects that leave the content readable.
///
/// # Errors
///
/// Errors of the medium, also if the file was truncated after it was opened;
/// inside, [`Malformed`] if there is no frame.
pub(super) fn with_frame<T>(
    storage: &dyn Storage,
    offset: u64,
    buffer: &mut ReadBuffer,
    take: impl FnOnce(Frame<'_>, Vec<Malformed>) -> T,
) -> io::Result<Result<T, Malformed>> {
    let outside = || Malformed::new(0, "the place lies outside the file");
    if !(FILE_HEAD_BYTES as u64..MOST_BYTES).contains(&offset) {
        return Ok(Err(outside()));
    }
    let start = storage.read_up_to(offset, READ_AHEAD, buffer)?;
    if start.is_empty() {
        storage.ensure_kept(offset + 1)?;
        return Ok(Err(outside()));
    }
    let head = match FrameHead::decode(start) {
        Ok(head) => head,
        Err(fault) => {
            if start.len() < HEAD_BYTES {
                storage.ensure_kept(offset + HEAD_BYTES as u64)?;
            }
            return Ok(Err(fault));
        }
    };
    let content_end = HEAD_BYTES + head.content;
    let whole = usize::try_from(head.len()).ok();
    if let Some(whole) = whole.and_then(|len| start.get(..len)) {
        let content = whole.get(HEAD_BYTES..content_end).unwrap_or_default();
        let trailer = whole.last_chunk().copied();
        return Ok(Ok(take_frame(head, content, trailer, take)));
    }
    let end = offset + head.len();
    let left = storage.len()?.saturating_sub(offset);
    if head.len() > left {
        storage.ensure_kept(end)?;
        let len = head.len();
        let what = format!("a record of {len} bytes ends past the file ({left} left)");
        return Ok(Err(Malformed::new(8, what)));
    }
    let mut trailer_buffer = ReadBuffer::default();
    let trailer = storage.read(end - 8, 8, &mut trailer_buffer)?;
    let trailer = trailer.first_chunk().copied();
    let bytes = storage.read(offset, content_end, buffer)?;
    let content = bytes.get(HEAD_BYTES..).unwrap_or_default();
    Ok(Ok(take_frame(head, content, trailer, take)))
}

/// Returns the length of the content of the frame at `offset`; 0 if there is no
/// frame.
///
/// # Errors
///
/// Errors of the medium.
pub(super) fn content_bytes(
    storage: &dyn Storage,
    offset: u64,
    buffer: &mut ReadBuffer,
) -> io::Result<u64> {
    let start = storage.read_up_to(offset.min(MOST_BYTES), READ_AHEAD, buffer)?;
    Ok(FrameHead::decode(start).map_or(0, |head| head.content as u64))
}

fn take_frame<T>(
    head: FrameHead,
    content: &[u8],
    trailer: Option<[u8; 8]>,
    take: impl FnOnce(Frame<'_>, Vec<Malformed>) -> T,
) -> T {
    let mut faults = Vec::new();
    if check_sum(content) != head.sum {
        faults.push(Malformed::new(16, "the check sum of the record is wrong"));
    }
    let repeated = trailer.map_or(0, u64::from_le_bytes);
    if repeated != head.len() {
        let what = format!(
            "the record ends with {repeated}, not its {} bytes",
            head.len()
        );
        faults.push(Malformed::new(8, what));
    }
    let frame = Frame {
        tag: head.tag,
        content,
    };
    take(frame, faults)
}

/// Returns the checksum of a content.
fn check_sum(content: &[u8]) -> [u8; 8] {
    let mut sums = [0; 8];
    let eighth = content.len() / 8;
    if eighth == 0 {
        for (sum, byte) in sums.iter_mut().rev().zip(content) {
            *sum = *byte;
        }
        return sums;
    }
    for (sum, part) in sums.iter_mut().rev().zip(content.chunks_exact(eighth)) {
        *sum = part.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte));
    }
    sums
}

/// Returns the contents of consecutive frames in the first part of a file, as
/// far as they are readable.
pub(super) fn sample(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = file.get(FILE_HEAD_BYTES..).unwrap_or_default();
    std::iter::from_fn(move || {
        let head = FrameHead::decode(rest).ok()?;
        let content = rest.get(HEAD_BYTES..HEAD_BYTES + head.content)?;
        rest = rest
            .get(usize::try_from(head.len()).ok()?..)
            .unwrap_or_default();
        Some(content)
    })
}

/// Returns the defects of the head of a file of `len` bytes, with their offsets
/// in the file.
///
/// # Errors
///
/// [`Malformed`] if the first frame does not begin at 12.
pub(super) fn check_file_head(head: &[u8], len: u64) -> Result<Vec<Malformed>, Malformed> {
    let mut reader = ByteReader::new(head);
    let claimed = reader.u64_le()?;
    let begin = reader.u16_le()?;
    if usize::from(begin) != FILE_HEAD_BYTES {
        let what = format!("records begin at {begin}, not at 12");
        return Err(Malformed::new(8, what));
    }
    let what = format!("the file claims {claimed} bytes, it has {len}");
    Ok((claimed != len)
        .then(|| Malformed::new(0, what))
        .into_iter()
        .collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    /// A file of one frame.
    pub(crate) fn file_of(tag: u16, content: &[u8], spare: usize) -> Vec<u8> {
        let len = (34 + content.len() + spare) as u64;
        let mut file = (12 + len).to_le_bytes().to_vec();
        file.extend([12, 0, 0, 5]);
        file.extend(MARK);
        file.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        file.extend(u32::try_from(spare).unwrap().to_le_bytes());
        file.extend(check_sum(content));
        file.extend(tag.to_le_bytes());
        file.extend(content);
        file.extend(vec![0; spare]);
        file.extend(len.to_le_bytes());
        file
    }

    fn read(file: Vec<u8>, offset: u64) -> Result<(u16, Vec<u8>, Vec<String>), String> {
        let file = MemoryFile::from(file);
        let take = |frame: Frame<'_>, faults: Vec<Malformed>| {
            let faults = faults.into_iter().map(|fault| fault.what).collect();
            (frame.tag, frame.content.to_vec(), faults)
        };
        let read = with_frame(&file, offset, &mut ReadBuffer::default(), take);
        read.unwrap().map_err(|fault| fault.what)
    }

    #[test]
    fn check_sums_are_those_of_real_records() {
        // source: stored records of the bases "probe", quoted in the notes of
        // the descriptions; the last one is of no annotations.
        for (content, expected) in [
            ("fcff3fad2db05f326b83ffff", "325fb02dad3ffffc"),
            ("fcff3fad2db05f326b83613cffff", "325fb02dad3ffffc"),
            ("fcff3fad2db05f326b83613ceb93ffff", "fe7e9dee91ddecfb"),
            ("ffffff7f", "000000007fffffff"),
            ("0102030405060708090a0b0c0d0e0f1011", "1f1b17130f0b0703"),
            ("010203", "0000000000030201"),
        ] {
            let content = data_encoding::HEXLOWER.decode(content.as_bytes()).unwrap();
            let sum = data_encoding::HEXLOWER.encode(&check_sum(&content));
            assert_eq!(sum, expected);
        }
    }

    #[test]
    fn a_frame_of_any_length_gives_its_content() {
        for len in [0, 4, 7, 8, 990, 991, 1100, 100_000] {
            let content: Vec<u8> = (0..len).map(|at: u32| at.to_le_bytes()[0]).collect();
            for spare in [0, 98, 3000] {
                let file = file_of(GAME, &content, spare);
                assert_eq!(read(file, 12), Ok((GAME, content.clone(), Vec::new())));
            }
        }
    }

    #[test]
    fn a_damaged_frame_says_what_is_wrong() {
        let file = |at: usize, byte: u8| {
            let mut file = file_of(GAME, &[7; 20], 4);
            file[at] ^= byte;
            file
        };
        assert!(read(file(12, 1), 12).unwrap_err().contains("no record"));
        assert!(read(file(21, 1), 12).unwrap_err().contains("past the file"));
        assert!(read(file(27, 0x80), 12).unwrap_err().contains("bytes"));
        assert!(read(file(12, 0), 11).unwrap_err().contains("outside"));
        assert!(read(file(12, 0), 1 << 60).unwrap_err().contains("outside"));
        let faults = |file| read(file, 12).unwrap().2;
        assert!(faults(file(40, 1))[0].contains("check sum"));
        assert!(faults(file(28, 1))[0].contains("check sum"));
        assert!(faults(file(12 + 26 + 24, 1))[0].contains("ends with"));
        assert_eq!(faults(file(12, 0)), Vec::<String>::new());
    }
}
