//! A rendered text, and the mark that tells it from others.

use std::ops::Deref;
use std::sync::Arc;

use crate::fs::Bytes;

/// A rendered text. Cloning it copies no bytes.
#[derive(Clone, Debug)]
pub struct Text {
    bytes: Arc<[u8]>,
    mark: u32,
}

impl Text {
    /// The bytes, for whoever holds them longer than the text.
    pub(crate) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

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

/// A number that differs where bytes differ, but for one chance in four
/// thousand million: the kernel has room for 32 bits to tell contents apart.
/// Never 0, which stands for "not known". The same in every version that
/// keeps marks in files of this format.
pub(crate) fn mark(bytes: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    let mut state = (bytes.len() as u64 + 1).wrapping_mul(FACTOR);
    for word in words.iter().chain([&last]) {
        state = (state ^ u64::from_le_bytes(*word))
            .wrapping_mul(FACTOR)
            .rotate_left(29);
    }
    state = (state ^ state >> 32).wrapping_mul(FACTOR);
    state ^= state >> 29;
    u32::try_from(state >> 32).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn any_changed_byte_or_length_changes_the_mark() {
        let text: Vec<u8> = (1..=200_u8).map(|at| at.wrapping_mul(7)).collect();
        let mut marks = HashSet::from([mark(&text)]);
        for at in 0..text.len() {
            for change in [1, 0x80] {
                let mut other = text.clone();
                other[at] ^= change;
                assert!(marks.insert(mark(&other)), "{at}");
            }
            assert!(marks.insert(mark(&text[..at])), "{at}");
        }
        for length in 0..100 {
            assert!(marks.insert(mark(&vec![0; length])) || length == 0);
        }
    }

    #[test]
    fn marks_in_files_keep_their_meaning() {
        assert_eq!(mark(b""), mark(&[]));
        assert_ne!(mark(b""), 0);
        let text = Text::from(b"1. e4 e5".to_vec());
        assert_eq!((text.mark(), text.len()), (mark(b"1. e4 e5"), 8));
    }
}
