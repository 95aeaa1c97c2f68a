//! A writer of integers over existing bytes.

use super::Malformed;

/// Overwrites integers in a slice, front to back, and skips the bytes that
/// stay. The counterpart of [`ByteReader`](super::ByteReader).
///
/// ```
/// use cbfs::bytes::BytePatch;
///
/// let mut bytes = [1, 2, 3, 4, 5, 6];
/// let mut patch = BytePatch::new(&mut bytes);
/// patch.skip(1).unwrap();
/// patch.u24_be(42).unwrap();
/// assert!(patch.u24_be(7).is_err());
/// assert_eq!(bytes, [1, 0, 0, 42, 5, 6]);
/// ```
#[derive(Debug)]
pub struct BytePatch<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> BytePatch<'a> {
    /// Begins at the front of `bytes`.
    pub fn new(bytes: &'a mut [u8]) -> BytePatch<'a> {
        BytePatch { bytes, at: 0 }
    }

    /// Returns the next `count` bytes, to be changed.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if fewer are left. The position then stays where it was.
    pub fn take(&mut self, count: usize) -> Result<&mut [u8], Malformed> {
        let left = self.bytes.len().saturating_sub(self.at);
        let from = self.at;
        let end = from.checked_add(count);
        match end.and_then(|end| self.bytes.get_mut(from..end)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => Err(Malformed::new(
                from,
                format!("{count} bytes expected, {left} left"),
            )),
        }
    }

    /// Returns the next `N` bytes as an array, to be changed.
    pub fn array<const N: usize>(&mut self) -> Result<&mut [u8; N], Malformed> {
        let at = self.at;
        let taken = self.take(N)?;
        taken
            .first_chunk_mut()
            .ok_or_else(|| Malformed::new(at, "too short"))
    }

    /// Skips `count` bytes.
    pub fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.take(count).map(drop)
    }

    /// Overwrites the next `N` bytes.
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Result<(), Malformed> {
        *self.array()? = bytes;
        Ok(())
    }

    /// Overwrites three bytes, big-endian.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `number` is above `0xff_ffff`, or fewer bytes are left.
    pub fn u24_be(&mut self, number: u32) -> Result<(), Malformed> {
        match number.to_be_bytes() {
            [0, a, b, c] => self.put([a, b, c]),
            _ => Err(Malformed::new(
                self.at,
                format!("{number} does not fit three bytes"),
            )),
        }
    }
}
