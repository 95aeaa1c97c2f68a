//! The parts of a file that games occupy, and overlaps between them.

use crate::cbh::FileKind;
use crate::game::Defect;

/// One blob or record; extents are ordered by their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    pub(super) offset: u64,
    /// At most 16 MiB, as for all blobs.
    pub(super) size: u32,
    pub(super) record: u32,
}

impl Extent {
    fn end(self) -> u64 {
        self.offset.saturating_add(self.size.into())
    }
}

/// All extents in a file, sixteen bytes each.
#[derive(Debug)]
pub(super) struct Extents {
    file: FileKind,
    extents: Vec<Extent>,
}

impl Extents {
    /// An empty list with room for `count` extents.
    pub(super) fn new(file: FileKind, count: u32) -> Extents {
        Extents {
            file,
            extents: Vec::with_capacity(count as usize),
        }
    }

    pub(super) fn extend(&mut self, extents: Vec<Extent>) {
        self.extents.extend(extents);
    }

    /// Reports each extent that begins before the end of an earlier one.
    pub(super) fn report_overlaps(self, report: &mut dyn FnMut(Defect)) {
        let file = self.file.extension();
        self.for_each_overlap(&mut |extent, furthest| {
            report(Defect {
                file,
                offset: extent.offset,
                what: format!(
                    "the blob of record {} overlaps that of record {}",
                    extent.record, furthest.record
                ),
            });
        });
    }

    /// The records whose extents overlap others, in ascending order.
    pub(super) fn overlapping(self) -> Vec<u32> {
        let mut records = Vec::new();
        self.for_each_overlap(&mut |one, other| records.extend([one.record, other.record]));
        records.sort_unstable();
        records.dedup();
        records
    }

    /// Calls `take` with each extent that begins before the end of an earlier
    /// one, and with that one.
    fn for_each_overlap(mut self, take: &mut dyn FnMut(Extent, Extent)) {
        self.extents.sort_unstable();
        let mut extents = self.extents.into_iter();
        let Some(mut furthest) = extents.next() else {
            return;
        };
        for extent in extents {
            if extent.offset < furthest.end() {
                take(extent, furthest);
            }
            if extent.end() > furthest.end() {
                furthest = extent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overlaps(extents: &[(u64, u32)]) -> Vec<String> {
        let mut all = Extents::new(FileKind::Moves, 0);
        let extents = (1..).zip(extents);
        all.extend(
            extents
                .map(|(record, &(offset, size))| Extent {
                    offset,
                    size,
                    record,
                })
                .collect(),
        );
        let mut found = Vec::new();
        all.report_overlaps(&mut |defect| found.push(defect.to_string()));
        found
    }

    #[test]
    fn neighbours_in_any_order_do_not_overlap() {
        assert_eq!(overlaps(&[]), [""; 0]);
        assert_eq!(overlaps(&[(30, 10), (26, 4), (45, 5), (40, 5)]), [""; 0]);
    }

    #[test]
    fn an_overlap_is_reported_with_the_extent_that_ends_last() {
        assert_eq!(
            overlaps(&[(26, 100), (30, 5), (40, 5), (126, 5), (130, 2)]),
            [
                ".cbg at 0x1e: the blob of record 2 overlaps that of record 1",
                ".cbg at 0x28: the blob of record 3 overlaps that of record 1",
                ".cbg at 0x82: the blob of record 5 overlaps that of record 4",
            ]
        );
        assert_eq!(overlaps(&[(26, 5), (26, 5)]).len(), 1);
        let mut all = Extents::new(FileKind::Annotations, 0);
        all.extend(
            [(30, 1), (20, 2), (30, 3), (40, 4)]
                .map(|(offset, record)| Extent {
                    offset,
                    size: 10,
                    record,
                })
                .to_vec(),
        );
        assert_eq!(all.overlapping(), [1, 3]);
        assert_eq!(
            overlaps(&[(u64::MAX - 9, u32::MAX), (u64::MAX - 5, 1)]).len(),
            1
        );
    }
}
