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

/// Returns a 32-bit digest of `bytes`, because the kernel has 32 bits to tell
/// contents apart. It is never 0, which means "unknown". All versions of cbfs
/// that store marks in files of this format use the same digest.
pub(crate) fn mark(bytes: &[u8]) -> u32 {
    u32::try_from(xxh3_64(bytes) >> 32).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else files of lengths and numbers of bases in a folder mean something else.
    #[test]
    fn marks_keep_their_meaning() {
        let text = Text::from(b"1. e4 e5".to_vec());
        assert_eq!((text.mark(), mark(b"")), (1_680_694_479, 755_400_709));
    }
}
