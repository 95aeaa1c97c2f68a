//! Blocks of 2048 bytes: a length, then elements without gaps. The bytes behind
//! them are left-overs.

use super::key::{KEY_BYTES, KvetkaKey};
use crate::bytes::{ByteReader, Malformed};

/// Length of a block in bytes.
pub(super) const BLOCK_BYTES: usize = 2048;

/// Length of the field with the used length of a block.
const LENGTH_BYTES: usize = 2;

/// Length of the shortest element: key, three counters, no moves, no flags.
const MIN_ELEMENT_BYTES: usize = KEY_BYTES + 3 + 1 + 1;

/// A block.
#[derive(Clone, Copy, Debug)]
pub(super) struct KvetkaBlock<'a> {
    bytes: &'a [u8],
    claimed: usize,
    used: usize,
}

/// An element of a block, not decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    /// Offset in the block, where its length field begins.
    pub(super) offset: usize,
    /// The key.
    pub(super) key: &'a KvetkaKey,
    /// The bytes behind the key.
    pub(super) rest: &'a [u8],
    /// Their offset in the block.
    pub(super) rest_offset: usize,
}

impl<'a> KvetkaBlock<'a> {
    /// Returns the block in `bytes`, which may be truncated.
    pub(super) fn new(bytes: &'a [u8]) -> KvetkaBlock<'a> {
        let claimed = bytes.first_chunk().map_or(0, |&n| u16::from_be_bytes(n));
        let claimed = usize::from(claimed);
        let bytes = bytes.get(..BLOCK_BYTES).unwrap_or(bytes);
        KvetkaBlock {
            bytes,
            claimed,
            used: claimed.max(LENGTH_BYTES).min(bytes.len()),
        }
    }

    /// The defect of the length field, if any.
    pub(super) fn fault(self) -> Option<Malformed> {
        let KvetkaBlock { claimed, bytes, .. } = self;
        let possible = LENGTH_BYTES..=bytes.len();
        (!possible.contains(&claimed)).then(|| {
            let what = format!("a block of {claimed} bytes, 2 to {BLOCK_BYTES} are possible");
            Malformed::new(0, what)
        })
    }

    /// Its elements, in order. An error ends the iteration, because the begin
    /// of the next element is unknown.
    pub(super) fn elements(self) -> Elements<'a> {
        Elements {
            bytes: self.bytes.get(..self.used).unwrap_or_default(),
            at: LENGTH_BYTES,
            // The end of the elements is unknown, so only ascending keys are
            // trusted.
            must_ascend: self.claimed > BLOCK_BYTES,
            last: None,
        }
    }

    /// Key of its first element.
    pub(super) fn first_key(self) -> Option<&'a KvetkaKey> {
        Some(self.elements().next()?.ok()?.key)
    }
}

/// Iterates over the elements of a block; see [`KvetkaBlock::elements`].
#[derive(Clone, Debug)]
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    must_ascend: bool,
    last: Option<&'a KvetkaKey>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let element = element_at(self.bytes, self.at);
        match &element {
            Ok(element) if self.must_ascend && self.last >= Some(element.key) => {
                self.at = self.bytes.len();
                return None;
            }
            Ok(element) => {
                self.at = element.rest_offset + element.rest.len();
                self.last = Some(element.key);
            }
            Err(_) => self.at = self.bytes.len(),
        }
        Some(element)
    }
}

#[inline]
fn element_at(bytes: &[u8], offset: usize) -> Result<Element<'_>, Malformed> {
    let mut reader = ByteReader::new(bytes.get(offset..).unwrap_or_default());
    let damaged = |what: String| {
        let what = format!("{what}; the rest of the block cannot be read");
        Malformed::new(offset, what)
    };
    let length = compact(&mut reader).map_err(|malformed| damaged(malformed.what))?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let left = reader.rest().len();
    let body = reader.rest().get(..length);
    let parts = body
        .filter(|_| length >= MIN_ELEMENT_BYTES)
        .and_then(|body| body.split_first_chunk());
    let Some((key, rest)) = parts else {
        let what = format!("an element of {length} bytes, {MIN_ELEMENT_BYTES} to {left} fit");
        return Err(damaged(what));
    };
    Ok(Element {
        offset,
        key,
        rest,
        rest_offset: offset + reader.position() + KEY_BYTES,
    })
}

/// Reads a number in base 128, highest digit first. All bytes but the last have
/// their highest bit set.
///
/// # Errors
///
/// [`Malformed`] if it is unfinished or exceeds 32 bits.
#[inline]
pub(super) fn compact(reader: &mut ByteReader<'_>) -> Result<u32, Malformed> {
    let start = reader.position();
    let mut value: u64 = 0;
    for _ in 0..5 {
        let byte = reader.u8()?;
        value = value << 7 | u64::from(byte & 0x7F);
        if byte < 0x80 {
            return u32::try_from(value).map_err(|_| too_long(start));
        }
    }
    Err(too_long(start))
}

#[cold]
fn too_long(start: usize) -> Malformed {
    Malformed::new(start, "a number of more than 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(bytes: &[u8]) -> Option<u32> {
        compact(&mut ByteReader::new(bytes)).ok()
    }

    #[test]
    fn numbers_have_up_to_32_bits() {
        assert_eq!(number(&[0x7F]), Some(127));
        assert_eq!(number(&[0x81, 0x00]), Some(128));
        assert_eq!(number(&[0x8F, 0xFF, 0xFF, 0xFF, 0x7F]), Some(u32::MAX));
        assert_eq!(number(&[0x90, 0x80, 0x80, 0x80, 0x00]), None);
        assert_eq!(number(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00]), None);
        assert_eq!(number(&[0x80, 0x80]), None);
    }

    fn element(first: u8) -> Vec<u8> {
        let mut key = [0; KEY_BYTES];
        key[0] = first;
        [&[27][..], &key, &[0; 5]].concat()
    }

    fn block(claimed: u16, content: &[u8]) -> Vec<u8> {
        let mut bytes = [&claimed.to_be_bytes()[..], content].concat();
        bytes.resize(BLOCK_BYTES, 0);
        bytes
    }

    /// First bytes of the keys, and whether all could be read.
    fn read(bytes: &[u8]) -> (Vec<u8>, bool) {
        let block = KvetkaBlock::new(bytes);
        let elements: Vec<_> = block.elements().collect();
        let keys = elements.iter().flatten().map(|element| element.key[0]);
        let is_whole = elements.iter().all(Result::is_ok) && block.fault().is_none();
        (keys.collect(), is_whole)
    }

    #[test]
    fn elements_are_read_up_to_the_length_of_the_block() {
        let three = [element(1), element(2), element(3)].concat();
        assert_eq!(read(&block(86, &three)), (vec![1, 2, 3], true));
        assert_eq!(read(&block(58, &three)), (vec![1, 2], true));
        assert_eq!(read(&block(57, &three)), (vec![1], false));
        assert_eq!(read(&block(2, &three)), (vec![], true));
        assert_eq!(read(&block(1, &three)), (vec![], false));
        assert_eq!(read(&block(5000, &three)), (vec![1, 2, 3], false));
        assert_eq!(read(&[]), (vec![], false));
        let mut short = three;
        short[28] = 26;
        assert_eq!(read(&block(86, &short)), (vec![1], false));
    }

    #[test]
    fn what_was_there_before_is_no_element() {
        let old = [element(1), element(5), element(3), element(4)].concat();
        assert_eq!(read(&block(5000, &old)), (vec![1, 5], false));
    }

    #[test]
    fn a_full_block_is_read_whole_though_its_keys_do_not_ascend() {
        let mut content: Vec<u8> = (1..=72).flat_map(element).collect();
        let mut last = element(5);
        last.extend([0; 2]);
        last[0] += 2;
        content.append(&mut last);
        let keys: Vec<u8> = (1..=72).chain([5]).collect();
        assert_eq!(read(&block(2048, &content)), (keys.clone(), true));
        assert_eq!(read(&block(2049, &content)), (keys[..72].to_vec(), false));
    }

    #[test]
    fn any_bytes_are_read_to_an_end() {
        for fill in 0..=255 {
            let bytes = [fill; BLOCK_BYTES];
            assert!(read(&bytes).0.len() < BLOCK_BYTES / MIN_ELEMENT_BYTES);
        }
    }
}
