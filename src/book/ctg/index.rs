//! An index from hashes to pages, made by reading all pages. It replaces a
//! missing or damaged directory.
//!
//! The positions of a page share the low bits of their hashes, as many as the
//! depth of the page in the tree. So the index stores only the shared bits of
//! each page. A page with misplaced positions shares fewer bits and is read
//! more often, but no position is missed.

/// The low bits that all hashes of a page share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    /// Number of shared bits, 0 to 32.
    bits: u8,
    /// Their value.
    value: u32,
    page: u32,
}

/// All pages with the shared bits of their hashes.
#[derive(Debug, Default)]
pub(super) struct PageIndex {
    pages: Vec<Shared>,
}

impl PageIndex {
    /// Adds a page with these hashes.
    pub(super) fn add(&mut self, page: u32, mut hashes: impl Iterator<Item = u32>) {
        let Some(first) = hashes.next() else {
            return;
        };
        let differing = hashes.fold(0, |differing, hash| differing | (hash ^ first));
        let bits = differing.trailing_zeros();
        self.pages.push(Shared {
            bits: u8::try_from(bits).unwrap_or(32),
            value: first & low_bits(bits),
            page,
        });
    }

    /// To be called when all pages are there.
    pub(super) fn finish(&mut self) {
        self.pages.sort_unstable();
        self.pages.shrink_to_fit();
    }

    /// The pages that may hold a position with this hash.
    pub(super) fn pages(&self, hash: u32) -> impl Iterator<Item = u64> {
        (0..=32_u8).flat_map(move |bits| {
            let value = hash & low_bits(bits.into());
            let wanted = (bits, value);
            let key = |shared: &Shared| (shared.bits, shared.value);
            let from = self.pages.partition_point(|shared| key(shared) < wanted);
            let after = self.pages.get(from..).unwrap_or_default().iter();
            after
                .take_while(move |shared| key(shared) == wanted)
                .map(|shared| u64::from(shared.page))
        })
    }
}

fn low_bits(count: u32) -> u32 {
    1_u32.checked_shl(count).map_or(u32::MAX, |bit| bit - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_is_on_one_of_its_pages() {
        let pages: [&[u32]; 5] = [
            &[0b0001, 0b0101, 0b1001],
            &[0b0011, 0b0111],
            &[0b0000, 0b0001],
            &[],
            &[u32::MAX],
        ];
        let mut index = PageIndex::default();
        for (number, hashes) in (0..).zip(pages) {
            index.add(number, hashes.iter().copied());
        }
        index.finish();
        for (number, hashes) in (0..).zip(pages) {
            for &hash in hashes {
                assert!(index.pages(hash).any(|page| page == number), "{hash:#b}");
            }
        }
        assert_eq!(
            index.pages(0b10).collect::<Vec<_>>(),
            [2],
            "the page of strays"
        );
    }
}
