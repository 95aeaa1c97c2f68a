//! A reader of integers and strings in a byte slice.

use super::Malformed;

/// Reads integers and strings from a slice, front to back.
///
/// `be` and `le` name the byte order; `u24` is three bytes.
///
/// ```
/// use cbfs::bytes::ByteReader;
///
/// let mut reader = ByteReader::new(&[0x00, 0x2a, 0x00, 0x00, 0x01]);
/// assert_eq!(reader.u16_be().unwrap(), 42);
/// assert_eq!(reader.u24_be().unwrap(), 1);
/// assert!(reader.u8().is_err());
/// ```
#[derive(Clone, Debug)]
pub struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// Begins at the front of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { bytes, at: 0 }
    }

    /// Number of bytes read so far, which is the offset of the next one.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The bytes not read yet; empty at the end.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Reads the next `count` bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`], with the offset of the first of them, if fewer are left.
    /// The position then stays where it was. All other methods fail the same
    /// way.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| Some((end, self.bytes.get(self.at..end)?))) {
            Some((end, taken)) => {
                self.at = end;
                Ok(taken)
            }
            None => Err(self.too_short(count)),
        }
    }

    /// Skips `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.take(count).map(drop)
    }

    /// Reads the next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.chunk().copied()
    }

    /// As [`array`](ByteReader::array), where it stands: its bytes are read in one piece
    /// when they are put together, not from a copy that was written in others.
    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], Malformed> {
        match self.rest().first_chunk() {
            Some(chunk) => {
                self.at += N;
                Ok(chunk)
            }
            None => Err(self.too_short(N)),
        }
    }

    #[cold]
    fn too_short(&self, count: usize) -> Malformed {
        let left = self.rest().len();
        Malformed::new(self.at, format!("{count} bytes expected, {left} left"))
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.chunk().map(|[byte]| *byte)
    }

    /// Reads two bytes, big-endian.
    #[inline]
    pub fn u16_be(&mut self) -> Result<u16, Malformed> {
        self.chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Reads two bytes, little-endian.
    #[inline]
    pub fn u16_le(&mut self) -> Result<u16, Malformed> {
        self.chunk().map(|bytes| u16::from_le_bytes(*bytes))
    }

    /// Reads three bytes, big-endian.
    #[inline]
    pub fn u24_be(&mut self) -> Result<u32, Malformed> {
        self.chunk()
            .map(|[a, b, c]| u32::from_be_bytes([0, *a, *b, *c]))
    }

    /// Reads four bytes, big-endian.
    #[inline]
    pub fn u32_be(&mut self) -> Result<u32, Malformed> {
        self.chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// Reads four bytes, little-endian.
    #[inline]
    pub fn u32_le(&mut self) -> Result<u32, Malformed> {
        self.chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// Reads four bytes, big-endian, two's complement.
    #[inline]
    pub fn i32_be(&mut self) -> Result<i32, Malformed> {
        self.chunk().map(|bytes| i32::from_be_bytes(*bytes))
    }

    /// Reads four bytes, little-endian, two's complement.
    #[inline]
    pub fn i32_le(&mut self) -> Result<i32, Malformed> {
        self.chunk().map(|bytes| i32::from_le_bytes(*bytes))
    }

    /// Reads eight bytes, big-endian.
    #[inline]
    pub fn u64_be(&mut self) -> Result<u64, Malformed> {
        self.chunk().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// Reads eight bytes, little-endian.
    #[inline]
    pub fn u64_le(&mut self) -> Result<u64, Malformed> {
        self.chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Reads a fixed field of `count` bytes that holds a string. Returns the
    /// bytes before the first zero byte, or the whole field if it has none. The
    /// bytes behind the zero are garbage and are skipped.
    #[inline]
    pub fn string_field(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let field = self.take(count)?;
        Ok(field.get(..length_before_zero(field)).unwrap_or(field))
    }
}

/// Number of bytes before the first zero byte, eight at a time: names are
/// short, and a base has many.
fn length_before_zero(field: &[u8]) -> usize {
    let (words, rest) = field.as_chunks();
    for (at, word) in words.iter().enumerate() {
        if let Some(zero) = first_zero(u64::from_le_bytes(*word)) {
            return 8 * at + usize::from(zero);
        }
    }
    let in_rest = rest.iter().position(|&byte| byte == 0);
    8 * words.len() + in_rest.unwrap_or(rest.len())
}

/// Which of eight bytes, the lowest first, is the first zero; all are looked at at
/// once.
#[inline]
fn first_zero(bytes: u64) -> Option<u8> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    // The lowest high bit left is that of the first zero byte.
    let zeros = bytes.wrapping_sub(ONES) & !bytes & HIGH_BITS;
    let first = u8::try_from(zeros.trailing_zeros() / 8).ok()?;
    (zeros != 0).then_some(first)
}
