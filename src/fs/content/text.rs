//! A rendered text, and the mark that tells it from others.

use std::ops::Deref;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::fs::Bytes;

/// A rendered text. Cloning it copies no bytes.
#[derive(Clone, Debug)]
pub struct Text {
    bytes: Arc<[u8]>,
    mark: u32,
}

impl Text {
    /// What a read of `length` bytes at `offset` gets.
    pub(crate) fn part(&self, offset: u64, length: u32) -> Bytes {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let start = start.min(self.len());
        let end = start.saturating_add(length as usize).min(self.len());
        Bytes::Shared(Arc::clone(&self.bytes), start..end)
    }

    /// See [`mark`].
    pub(crate) fn mark(&self) -> u32 {
        self.mark
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Text {
        Text {
            mark: mark(&bytes),
            bytes: bytes.into(),
        }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns a 32-bit digest of `bytes`. It is never 0. All versions of cbfs give the bases
/// of a folder their numbers by it.
pub(crate) fn digest(bytes: &[u8]) -> u32 {
    u32::try_from(xxh3_64(bytes) >> 32).unwrap_or(0).max(1)
}

/// Bits of a mark that hold the length of the text.
const LENGTH_BITS: u32 = 13;

/// The length bits of a mark whose text is longer than they can hold.
pub(crate) const LONG: u32 = (1 << LENGTH_BITS) - 1;

/// Returns the mark of a text, which tells it from others: the kernel has 32 bits to
/// tell contents apart. The lowest 13 say how long it is, as [`length_of_mark`] reads them,
/// the others are of its digest. It is never 0, which means "unknown".
pub(crate) fn mark(bytes: &[u8]) -> u32 {
    mark_of(digest(bytes), bytes.len())
}

/// The mark of a text of this length whose digest has the highest 19 bits of `digest`.
pub(crate) fn mark_of(digest: u32, length: usize) -> u32 {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    digest & !LONG | length.saturating_add(1).min(LONG)
}

/// How long the text of a mark is; `None` if it is longer than a mark can say.
pub(crate) fn length_of_mark(mark: u32) -> Option<u32> {
    (mark & LONG)
        .checked_sub(1)
        .filter(|length| length + 1 < LONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else files of lengths and numbers of bases in a folder mean something else.
    #[test]
    fn digests_and_marks_keep_their_meaning() {
        let text = Text::from(b"1. e4 e5".to_vec());
        assert_eq!((digest(&text), digest(b"")), (1_680_694_479, 755_400_709));
        assert_eq!(text.mark(), 1_680_694_479 >> 13 << 13 | 9);
    }

    #[test]
    fn a_mark_says_how_long_its_text_is() {
        let length = |bytes: usize| length_of_mark(mark(&vec![b'x'; bytes]));
        assert_eq!([0, 1, 8189].map(length), [0, 1, 8189].map(Some));
        assert_eq!([8190, 8191, 20_000].map(length), [None; 3]);
        assert_eq!(length_of_mark(0), None);
    }
}
