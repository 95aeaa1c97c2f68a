//! Sources, `.cbs`: title (25 bytes), publisher (16), date of publication
//! (i32), date of the version (i32), version (u8), quality (u8).

use std::cmp::Ordering;

use super::collation::{Collation, compare_strings};
use super::{EntityLayout, Fields, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{CodePage, date};
use crate::game::Source;

/// The records of `.cbs`.
#[derive(Debug)]
pub(crate) enum Sources {}

impl EntityLayout for Sources {
    type Value = Source;

    const DATA_BYTES: usize = 59;

    const STRINGS: &'static [usize] = &[25, 16];

    fn decode(data: &[u8], page: CodePage, source: &mut Source) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(data);
        read_string(&mut reader, 25, page, &mut source.title)?;
        read_string(&mut reader, 16, page, &mut source.publisher)?;
        source.published = date::decode(reader.u32_le()?);
        source.version_date = date::decode(reader.u32_le()?);
        source.version = reader.u8()?;
        source.quality = reader.u8()?;
        Ok(())
    }

    fn encode(source: &Source, fields: &mut Fields<'_>) -> Result<(), Malformed> {
        fields.string("SourceTitle", 25, &source.title)?;
        fields.string("Source", 16, &source.publisher)?;
        fields.date(source.published)?;
        fields.date(source.version_date)?;
        fields.patch.put([source.version, source.quality])
    }

    /// Sorted by title.
    fn compare(one: &[u8], other: &[u8], collation: Collation) -> Result<Ordering, Malformed> {
        let (mut one, mut other) = (ByteReader::new(one), ByteReader::new(other));
        compare_strings(&mut one, &mut other, &[25], collation)
    }
}
