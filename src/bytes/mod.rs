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

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}", self.what, self.offset)
    }
}

impl std::error::Error for Malformed {}
