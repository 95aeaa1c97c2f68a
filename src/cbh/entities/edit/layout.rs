//! Layout of the records of one kind, as a value: [`EntityLayout`] without its type.

use std::cmp::Ordering;

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::FileKind;
use crate::cbh::entities::collation::Collation;
use crate::cbh::entities::{
    Annotators, EntityLayout, LINK_BYTES, Players, Sources, TagRecords, Teams, Tournaments,
};

/// Compares the data of two records.
pub(in crate::cbh::entities) type Compare =
    fn(&[u8], &[u8], Collation) -> Result<Ordering, Malformed>;

/// Layout of the records of one entity file.
#[derive(Clone, Copy, Debug)]
pub(in crate::cbh::entities) struct Layout {
    pub(in crate::cbh::entities) data_bytes: usize,
    pub(super) strings: &'static [usize],
    pub(in crate::cbh::entities) compare: Compare,
    /// Collation of current files whose names do not show it.
    pub(super) collation: Collation,
}

impl Layout {
    fn new<K: EntityLayout>(collation: Collation) -> Layout {
        Layout {
            data_bytes: K::DATA_BYTES,
            strings: K::STRINGS,
            compare: K::compare,
            collation,
        }
    }

    pub(in crate::cbh::entities) fn of(file: FileKind) -> Option<Layout> {
        Some(match file {
            FileKind::Players => Layout::new::<Players>(Collation::Unsigned),
            FileKind::Tournaments => Layout::new::<Tournaments>(Collation::Signed),
            FileKind::Annotators => Layout::new::<Annotators>(Collation::Signed),
            FileKind::Sources => Layout::new::<Sources>(Collation::Signed),
            FileKind::Teams => Layout::new::<Teams>(Collation::Unsigned),
            FileKind::Tags => Layout::new::<TagRecords>(Collation::Signed),
            _ => return None,
        })
    }

    pub(in crate::cbh::entities) fn record_bytes(&self) -> usize {
        LINK_BYTES + self.data_bytes
    }

    /// The collation to assume if the names do not show it. `further_bytes` is
    /// the length of the header beyond 28 bytes; it is 0 in old files.
    pub(in crate::cbh::entities) fn usual_collation(&self, further_bytes: u32) -> Collation {
        match further_bytes {
            0 => Collation::Signed,
            _ => self.collation,
        }
    }

    /// The strings at the start of the data of a record.
    pub(super) fn strings_of<'d>(&self, data: &'d [u8]) -> impl Iterator<Item = &'d [u8]> {
        let mut reader = ByteReader::new(data);
        self.strings
            .iter()
            .map_while(move |&size| reader.string_field(size).ok())
    }
}
