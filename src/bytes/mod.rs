//! Reading and writing of integers and strings in byte slices.
//!
//! Every decoder of the crate reads through [`ByteReader`], which checks each
//! length against the bytes that are left and reports the offset where it
//! stopped. Encoders of fixed records overwrite old bytes through
//! [`BytePatch`].

mod cursor;
mod patch;

pub use cursor::ByteReader;
pub use patch::BytePatch;

use std::fmt;

/// An error of decoding: the bytes do not follow their format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset of the fault in the slice that was decoded.
    pub offset: usize,
    /// Description of the fault, lower case, without full stop.
    pub what: String,
}

impl Malformed {
    /// Returns an error for the fault `what` at `offset`.
    pub fn new(offset: usize, what: impl Into<String>) -> Malformed {
        Malformed {
            offset,
            what: what.into(),
        }
    }
}

/// Reads an integer as [`append_varint`] writes it, from the bytes that `next`
/// returns; `None` if it has more than 64 bits.
///
/// # Errors
///
/// That of `next`.
pub fn varint<E>(mut next: impl FnMut() -> Result<u8, E>) -> Result<Option<u64>, E> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Appends an integer in as few bytes as it needs, seven bits each, the lowest
/// first, the highest bit set in all but the last (LEB128).
pub fn append_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.what, self.offset)
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_varying_length_come_back() {
        for (value, length) in [(0, 1), (127, 1), (128, 2), (1 << 35, 6), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            append_varint(value, &mut bytes);
            assert_eq!(bytes.len(), length);
            let mut rest = bytes.iter().copied();
            assert_eq!(varint(|| rest.next().ok_or(())), Ok(Some(value)));
            let mut cut = bytes.iter().take(length - 1).copied();
            assert_eq!(varint(|| cut.next().ok_or(())), Err(()));
        }
        assert_eq!(varint(|| Ok::<_, ()>(0x80)), Ok(None));
    }
}
