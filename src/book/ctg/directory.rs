//! The directory of a CTG book, `.ctb` and `.cto`: from a hash to a page.
//!
//! Pages are the leaves of a binary tree over the low bits of the hash. Nodes
//! are numbered by level: at level `k` with the mask `2^k - 1`, the node of a
//! hash is the mask plus the low `k` bits of the hash.
//!
//! `.ctb`, a bitmap of the inner nodes:
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | length of this header, 12; 1 |
//! | 4 | 4 | all nodes below this number are split |
//! | 8 | 4 | number of bits |
//! | 12 | | a bit per node, the lowest of a byte first; 1: split |
//!
//! `.cto`, the pages of the leaves:
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | length of this header, 16; 1 |
//! | 4 | 4 | number of entries |
//! | 8 | 8 | unknown; the number at 4 of the `.ctb` |
//! | 16 | 4 each | number of a page; −1 for a node without one |

use std::io;

use super::table::CtgTable;
use crate::game::Defect;

/// Length of the header of a `.ctb`.
const BITMAP_AT: u64 = 12;

/// Length of the header of a `.cto`.
const ENTRIES_AT: u64 = 16;

/// Entry of a node without a page.
const NO_PAGE: u32 = u32::MAX;

/// The page of a leaf, according to the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafPage {
    /// The number of the page.
    Page(u64),
    /// No page: the book has no position with such a hash.
    None,
    /// The entry is missing or invalid.
    Damaged,
}

/// The bitmap of the split nodes.
#[derive(Debug)]
pub(super) struct Bitmap {
    table: CtgTable,
    /// Number of bits in the file.
    bits: u64,
    /// Number of bits in the header.
    pub(super) announced: u64,
}

impl Bitmap {
    /// Reads the header; `None` if the file is too short.
    pub(super) fn open(table: CtgTable) -> io::Result<Option<Bitmap>> {
        let Some(bits) = table.len().checked_sub(BITMAP_AT) else {
            return Ok(None);
        };
        Ok(Some(Bitmap {
            bits: bits.saturating_mul(8),
            announced: table.u32_at(8)?.unwrap_or(0).into(),
            table,
        }))
    }

    /// Returns whether a node is split. Nodes beyond the bitmap are not.
    pub(super) fn is_split(&self, node: u64) -> io::Result<bool> {
        if node >= self.bits {
            return Ok(false);
        }
        let byte = self.table.u8_at(BITMAP_AT + node / 8)?.unwrap_or(0);
        Ok(byte >> (node % 8) & 1 == 1)
    }

    /// Returns the leaf of a hash.
    pub(super) fn leaf(&self, hash: u32) -> io::Result<u64> {
        for node in nodes(hash) {
            if !self.is_split(node)? {
                return Ok(node);
            }
        }
        Ok(u64::MAX)
    }

    /// Number of bits in the file.
    pub(super) fn bits(&self) -> u64 {
        self.bits
    }
}

/// The defect of a bitmap that does not lead to the page of a node.
pub(super) fn misled(node: u64) -> Defect {
    Defect {
        file: "ctb",
        offset: BITMAP_AT + node / 8,
        what: format!("the bits do not lead to node {node}, which has a page"),
    }
}

/// The nodes on the path of a hash, from the root.
pub(super) fn nodes(hash: u32) -> impl Iterator<Item = u64> {
    (0..=32).map(move |level| {
        let mask = (1_u64 << level) - 1;
        (u64::from(hash) & mask) + mask
    })
}

/// The page numbers of the leaves.
#[derive(Debug)]
pub(super) struct Entries {
    table: CtgTable,
    /// Number of entries in the file.
    pub(super) present: u64,
    /// Number of entries in the header.
    pub(super) announced: u64,
    /// Number of pages of the book.
    pages: u64,
}

impl Entries {
    /// Reads the header; `None` if the file is too short.
    pub(super) fn open(table: CtgTable, pages: u64) -> io::Result<Option<Entries>> {
        let Some(bytes) = table.len().checked_sub(ENTRIES_AT) else {
            return Ok(None);
        };
        Ok(Some(Entries {
            present: bytes / 4,
            announced: table.u32_at(4)?.unwrap_or(0).into(),
            pages,
            table,
        }))
    }

    /// Returns the page of a node.
    pub(super) fn place(&self, node: u64) -> io::Result<LeafPage> {
        if node >= self.present {
            let is_lost = node < self.announced;
            return Ok(if is_lost {
                LeafPage::Damaged
            } else {
                LeafPage::None
            });
        }
        Ok(match self.table.u32_at(ENTRIES_AT + 4 * node)? {
            Some(NO_PAGE) => LeafPage::None,
            Some(page) if u64::from(page) < self.pages => LeafPage::Page(page.into()),
            _ => LeafPage::Damaged,
        })
    }

    /// The defect of an invalid entry.
    pub(super) fn fault(&self, node: u64) -> Defect {
        let offset = ENTRIES_AT + 4 * node;
        let what = if node < self.present {
            format!("node {node} leads to a page that is not there")
        } else {
            format!("the file ends before the entry of node {node}")
        };
        Defect {
            file: "cto",
            offset,
            what,
        }
    }

    /// Number behind the last node with an entry.
    pub(super) fn end(&self) -> u64 {
        self.present.max(self.announced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    fn table(bytes: &[u8]) -> CtgTable {
        CtgTable::open(Box::new(MemoryFile::from(bytes.to_vec()))).unwrap()
    }

    #[test]
    fn a_hash_goes_down_the_bits_to_its_leaf() {
        // Nodes 0 and 2 are split: the leaves are 1 (…0), 4 (…01), 6 (…11).
        let bitmap = [&[0, 12, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8][..], &[0b101]].concat();
        let bitmap = Bitmap::open(table(&bitmap)).unwrap().unwrap();
        for (hash, leaf) in [(0b00, 1), (0b10, 1), (0b01, 4), (0b11, 6), (u32::MAX, 6)] {
            assert_eq!(bitmap.leaf(hash).unwrap(), leaf, "{hash:#b}");
        }
        assert_eq!((bitmap.bits(), bitmap.announced), (8, 8));
    }

    #[test]
    fn a_hash_in_a_bitmap_of_ones_ends_beyond_it() {
        let bitmap = Bitmap::open(table(&[0xFF; 13])).unwrap().unwrap();
        assert_eq!(bitmap.leaf(0).unwrap(), 15);
        assert_eq!(bitmap.leaf(u32::MAX).unwrap(), 14);
        assert!(Bitmap::open(table(&[0; 11])).unwrap().is_none());
    }

    #[test]
    fn an_entry_is_a_page_or_none_or_lost() {
        let header = [0, 16, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0];
        let entries = [[0xFF; 4], [0, 0, 0, 1], [0, 0, 0, 2]].concat();
        let entries = Entries::open(table(&[&header[..], &entries].concat()), 2);
        let entries = entries.unwrap().unwrap();
        let places = [
            LeafPage::None,
            LeafPage::Page(1),
            LeafPage::Damaged,
            LeafPage::Damaged,
            LeafPage::None,
        ];
        for (node, place) in (0..).zip(places) {
            assert_eq!(entries.place(node).unwrap(), place, "{node}");
        }
        assert_eq!(entries.end(), 4);
        let faults = [2, 3].map(|node| entries.fault(node));
        assert_eq!(faults.each_ref().map(|fault| fault.offset), [24, 28]);
        assert!(faults[0].what.ends_with("a page that is not there"));
        assert!(faults[1].what.starts_with("the file ends before"));
    }

    #[test]
    fn a_bit_that_misleads_is_told_with_its_byte() {
        let told = [7, 8, 17].map(|node| misled(node).offset);
        assert_eq!(told, [12, 13, 14]);
    }
}
