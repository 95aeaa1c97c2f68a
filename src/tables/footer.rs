//! The footer of a file, looked through before the reader of the format makes
//! values of it: that one takes memory for as many as a list claims, and calls
//! itself for each level of a schema.
//!
//! The footer is a struct of Thrift's compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>).

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use crate::bytes::{ByteReader, varint};

/// Most bytes of a footer: more than any program writes for a table of games.
const MOST_BYTES: u64 = 1 << 24;

/// Most levels of values in values, and of columns in columns.
const MOST_DEPTH: usize = 32;

/// Length of the footer and magic at the end of the file.
const TAIL_BYTES: usize = 8;

/// The field of the footer that has the columns, and the field of a column that
/// says how many are in it.
const SCHEMA: i16 = 2;
const CHILDREN: i16 = 5;

/// Kinds of values in the compact protocol.
mod kind {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
}

/// Fails if the footer of a file claims more than it has, or nests too deep.
///
/// # Errors
///
/// [`ErrorKind::InvalidData`] for such a file; those of the file system.
pub(super) fn check(file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut tail = [0; TAIL_BYTES];
    let Some(end) = length.checked_sub(TAIL_BYTES as u64) else {
        // The reader of the format says that it is none.
        return Ok(());
    };
    file.read_exact_at(&mut tail, end)?;
    let [a, b, c, d, ..] = tail;
    let claimed = u64::from(u32::from_le_bytes([a, b, c, d]));
    let Some(start) = end.checked_sub(claimed) else {
        return Ok(());
    };
    let refused = |why: &str| {
        let what = format!("the footer, {claimed} bytes at offset {start}, {why}");
        io::Error::new(ErrorKind::InvalidData, what)
    };
    if claimed > MOST_BYTES {
        return Err(refused("is longer than any that is read"));
    }
    let mut bytes = vec![0; usize::try_from(claimed).unwrap_or(0)];
    file.read_exact_at(&mut bytes, start)?;
    Values(ByteReader::new(&bytes)).footer().map_err(refused)
}

/// Values that were not looked at yet.
struct Values<'b>(ByteReader<'b>);

type FooterResult<T> = Result<T, &'static str>;

/// Said of a footer that is no sequence of values.
const DAMAGED: &str = "is damaged";

impl Values<'_> {
    fn footer(&mut self) -> FooterResult<()> {
        let mut last = 0;
        while let Some((field, kind)) = self.field(&mut last)? {
            if (field, kind) == (SCHEMA, kind::LIST) {
                self.schema()?;
            } else {
                self.skip(kind, MOST_DEPTH)?;
            }
        }
        Ok(())
    }

    /// The columns, each behind the one that it is in.
    fn schema(&mut self) -> FooterResult<()> {
        let (count, kind) = self.list()?;
        if kind != kind::STRUCT {
            return Err(DAMAGED);
        }
        // How many are still to come in each that is open.
        let mut open: Vec<usize> = Vec::new();
        let mut unclaimed = count;
        for _ in 0..count {
            let children = self.children()?;
            while open.pop_if(|left| *left == 0).is_some() {}
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            unclaimed = unclaimed
                .checked_sub(children)
                .ok_or("claims more columns than it has")?;
            open.push(children);
            if open.len() > MOST_DEPTH {
                return Err("has columns in columns, too deep to be read");
            }
        }
        Ok(())
    }

    /// How many columns are in the next one.
    fn children(&mut self) -> FooterResult<usize> {
        let (mut last, mut children) = (0, 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            if (field, kind) == (CHILDREN, kind::I32) {
                let number = signed(self.varint()?);
                children = usize::try_from(number).map_err(|_| DAMAGED)?;
            } else {
                self.skip(kind, MOST_DEPTH)?;
            }
        }
        Ok(children)
    }

    /// Number and kind of the next field of a struct; `None` behind the last.
    /// `last` is the number of the field before.
    fn field(&mut self, last: &mut i16) -> FooterResult<Option<(i16, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => i16::try_from(signed(self.varint()?)).map_err(|_| DAMAGED)?,
            step => last.checked_add(step.into()).ok_or(DAMAGED)?,
        };
        Ok(Some((*last, head & 0xf)))
    }

    /// Number and kind of the values of a list.
    fn list(&mut self) -> FooterResult<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            few => few.into(),
        };
        Ok((self.fitting(count)?, head & 0xf))
    }

    /// A number of values, each of which takes a byte or more.
    fn fitting(&self, count: u64) -> FooterResult<usize> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > self.0.rest().len() {
            return Err("claims more values than it has bytes");
        }
        Ok(count)
    }

    /// Skips the value of a field.
    fn skip(&mut self, kind: u8, depth: usize) -> FooterResult<()> {
        match kind {
            kind::TRUE | kind::FALSE => Ok(()),
            kind => self.skip_whole(kind, depth),
        }
    }

    /// Skips a value, a Boolean in a list among them: only in a list it has a byte.
    fn skip_whole(&mut self, kind: u8, depth: usize) -> FooterResult<()> {
        let deeper = || depth.checked_sub(1).ok_or("has values in values, too deep");
        match kind {
            kind::TRUE | kind::FALSE | kind::BYTE => self.skip_bytes(1),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(drop),
            kind::DOUBLE => self.skip_bytes(8),
            kind::BINARY => {
                let length = self.varint()?;
                let length = self.fitting(length)?;
                self.skip_bytes(length)
            }
            kind::LIST | kind::SET => {
                let (count, kind) = self.list()?;
                let depth = deeper()?;
                (0..count).try_for_each(|_| self.skip_whole(kind, depth))
            }
            kind::MAP => self.skip_map(deeper()?),
            kind::STRUCT => {
                let (depth, mut last) = (deeper()?, 0);
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth)?;
                }
                Ok(())
            }
            _ => Err(DAMAGED),
        }
    }

    fn skip_map(&mut self, depth: usize) -> FooterResult<()> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        for _ in 0..self.fitting(count)? {
            self.skip_whole(kinds >> 4, depth)?;
            self.skip_whole(kinds & 0xf, depth)?;
        }
        Ok(())
    }

    fn varint(&mut self) -> FooterResult<u64> {
        varint(|| self.byte())?.ok_or(DAMAGED)
    }

    fn byte(&mut self) -> FooterResult<u8> {
        self.0.u8().map_err(|_| DAMAGED)
    }

    fn skip_bytes(&mut self, count: usize) -> FooterResult<()> {
        self.0.skip(count).map_err(|_| DAMAGED)
    }
}

/// A number whose lowest bit is the sign.
fn signed(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer that has only columns: one in the other, of which each says that it
    /// has so many children, and the last none.
    fn nested(levels: usize, children: u8) -> Vec<u8> {
        let mut bytes = vec![0x29, 0xfc];
        crate::bytes::append_varint(levels as u64 + 1, &mut bytes);
        for _ in 0..levels {
            bytes.extend([0x55, children << 1, 0]);
        }
        bytes.extend([0, 0]);
        bytes
    }

    fn checked(bytes: &[u8]) -> FooterResult<()> {
        Values(ByteReader::new(bytes)).footer()
    }

    #[test]
    fn columns_in_columns_are_read_to_a_depth() {
        assert_eq!(checked(&nested(MOST_DEPTH - 1, 1)), Ok(()));
        for levels in [MOST_DEPTH, 1 << 20] {
            assert!(checked(&nested(levels, 1)).unwrap_err().contains("deep"));
        }
        assert_eq!(checked(&nested(0, 0)), Ok(()));
    }

    #[test]
    fn no_more_columns_are_claimed_than_there_are() {
        assert!(checked(&nested(1, 63)).unwrap_err().contains("claims"));
        assert!(checked(&nested(2, 2)).unwrap_err().contains("claims"));
    }

    #[test]
    fn lists_have_no_more_values_than_bytes() {
        // Field 4, a list of 2^35 structs.
        let list = [0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0];
        assert!(checked(&list).unwrap_err().contains("claims"));
        let map = [0x4b, 0xff, 0x7f, 0x55, 0, 0];
        assert!(checked(&map).unwrap_err().contains("claims"));
    }

    #[test]
    fn values_in_values_end() {
        // Lists of one list each.
        let lists = [vec![0x49], vec![0x19; 1 << 20], vec![0x13, 0, 0]].concat();
        assert!(checked(&lists).unwrap_err().contains("deep"));
        let structs = vec![0x1c; 1 << 20];
        assert!(checked(&structs).unwrap_err().contains("deep"));
    }

    #[test]
    fn a_cut_footer_is_damaged() {
        let whole = nested(5, 1);
        for end in 0..whole.len() {
            assert!(checked(&whole[..end]).is_err(), "{end}");
        }
    }
}
