//! Reading and writing of integers and strings in byte slices.
//!
//! Every decoder of the crate reads through [`ByteReader`], which checks each
//! length against what is left and says where it stopped; encoders of fixed
//! records write over old bytes through [`BytePatch`].

mod cursor;
mod patch;

pub use cursor::ByteReader;
pub use patch::BytePatch;

use std::fmt;

/// Bytes that do not follow their format: where, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in the slice that was decoded.
    pub offset: usize,
    /// The fact, lower case, without full stop.
    pub what: String,
}

impl Malformed {
    /// A fault at `offset`.
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
