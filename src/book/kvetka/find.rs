//! Looks up the element of a key.
//!
//! Neither the order of the blocks nor the `.kin` is trusted. If a key is not
//! found and there was any sign of disorder on the way, it is looked up again
//! with an index of the blocks.

use std::ops::ControlFlow;

use super::KvetkaBook;
use super::block::{Element, KvetkaBlock};
use super::index::{KinIndex, MAX_INDEXED_BLOCKS, MAX_SCATTERED_BLOCKS, hash};
use super::key::KvetkaKey;
use super::kin::Kin;
use crate::book::{Error, PositionRecord};
use crate::bytes::Malformed;
use crate::game::Defect;

/// Maximum number of blocks without a readable key that a binary search skips.
const MAX_PASSED_OVER: u64 = 64;

/// The result of a search in one block.
struct Searched {
    record: Option<PositionRecord>,
    first: Option<KvetkaKey>,
    /// Whether a larger key follows, so that no other block can have this one.
    has_later: bool,
    is_sorted: bool,
}

/// The result of a look-up through the `.kin`.
enum Lead {
    Found(PositionRecord),
    NotInTheBook,
    /// The `.kin` cannot be relied on.
    Misled,
}

impl KvetkaBook {
    /// Returns the record of a key.
    pub(super) fn find_key(&self, key: &KvetkaKey) -> Result<Option<PositionRecord>, Error> {
        if self.blocks == 0 {
            return Ok(None);
        }
        if self.index.get().is_none()
            && let Some(kin) = &self.kin
        {
            match self.find_by(kin, key)? {
                Lead::Found(record) => return Ok(Some(record)),
                Lead::NotInTheBook => return Ok(None),
                Lead::Misled => {}
            }
        }
        let candidates = match self.index()?.blocks(key) {
            Some(blocks) => blocks,
            None => self.halve(key)?.into_iter().collect(),
        };
        for block in candidates {
            if let Some(record) = self.search(block, key)?.record {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn find_by(&self, kin: &Kin, key: &KvetkaKey) -> Result<Lead, Error> {
        let last = kin.last_not_after(key, self.blocks);
        let believed = |block| {
            let is_in_place = self.is_in_place(kin, block)?;
            Ok(if is_in_place {
                Lead::NotInTheBook
            } else {
                Lead::Misled
            })
        };
        let Some(block) = last.map_err(|source| self.io(source))? else {
            return believed(0);
        };
        let searched = self.search(block, key)?;
        if let Some(record) = searched.record {
            return Ok(Lead::Found(record));
        }
        if !searched.is_sorted || !self.is_key_of(kin, block, searched.first)? {
            return Ok(Lead::Misled);
        }
        if searched.has_later || block + 1 == self.blocks {
            return Ok(Lead::NotInTheBook);
        }
        believed(block + 1)
    }

    /// Searches a block for a key and notes its defects.
    fn search(&self, number: u64, key: &KvetkaKey) -> Result<Searched, Error> {
        let look = |bytes: &[u8]| {
            let block = KvetkaBlock::new(bytes);
            let mut searched = Searched {
                record: None,
                first: None,
                has_later: false,
                is_sorted: true,
            };
            let mut last: Option<Element<'_>> = None;
            for element in block.elements() {
                let element = match element {
                    Ok(element) => element,
                    Err(malformed) => {
                        self.note(number, malformed);
                        break;
                    }
                };
                if element.key == key {
                    let (record, fault) = element.decode(self.layout);
                    if let Some(fault) = fault {
                        self.note(number, fault);
                    }
                    searched.record = Some(record);
                    return searched;
                }
                searched.first = searched.first.or(Some(*element.key));
                searched.has_later |= element.key > key;
                if last.is_some_and(|last| last.key >= element.key) {
                    searched.is_sorted = false;
                    self.note(number, not_sorted(element));
                }
                last = Some(element);
            }
            if let Some(fault) = block.fault() {
                self.note(number, fault);
            }
            searched
        };
        self.with_block(number, look)
    }

    fn with_block<T>(&self, number: u64, look: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        let offset = self.offset_of(number);
        let seen = self.cache.with(&self.file, offset, look);
        seen.map_err(|source| self.io(source))
    }

    fn first_key(&self, number: u64) -> Result<Option<KvetkaKey>, Error> {
        self.with_block(number, |bytes| KvetkaBlock::new(bytes).first_key().copied())
    }

    /// Returns whether the `.kin` has the first key of a block; true if the
    /// block has no readable key.
    pub(super) fn is_in_place(&self, kin: &Kin, block: u64) -> Result<bool, Error> {
        let first = self.first_key(block)?;
        self.is_key_of(kin, block, first)
    }

    fn is_key_of(&self, kin: &Kin, block: u64, first: Option<KvetkaKey>) -> Result<bool, Error> {
        let said = kin.key(block).map_err(|source| self.io(source))?;
        let is_so = first.is_none() || said == first;
        if !is_so {
            self.defects.note(Defect {
                file: "kin",
                offset: block * 22,
                what: format!("not the first key of block {block}; the .kin is ignored"),
            });
        }
        Ok(is_so)
    }

    /// Returns the index that replaces the `.kin`.
    fn index(&self) -> Result<&KinIndex, Error> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let _making = self.making.lock();
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let made = self.make_index()?;
        Ok(self.index.get_or_init(|| made))
    }

    fn make_index(&self) -> Result<KinIndex, Error> {
        if self.blocks > MAX_INDEXED_BLOCKS {
            return Ok(KinIndex::Halving);
        }
        let mut firsts: Vec<(KvetkaKey, u32)> = Vec::new();
        let mut last: Option<KvetkaKey> = None;
        let mut is_sorted = true;
        self.each_block(&mut |number, block| {
            let mut is_first = true;
            for element in block.elements().flatten() {
                if last.as_ref() >= Some(element.key) {
                    self.note(number, not_sorted(element));
                    is_sorted = false;
                }
                if is_first {
                    firsts.push((*element.key, u32::try_from(number).unwrap_or(u32::MAX)));
                }
                is_first = false;
                last = Some(*element.key);
            }
            ControlFlow::Continue(())
        })?;
        if is_sorted {
            return Ok(KinIndex::Sorted(firsts));
        }
        if self.blocks > MAX_SCATTERED_BLOCKS {
            return Ok(KinIndex::Halving);
        }
        let mut hashes = Vec::new();
        self.each_block(&mut |number, block| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let keys = block.elements().flatten();
            hashes.extend(keys.map(|element| (hash(element.key), number)));
            ControlFlow::Continue(())
        })?;
        hashes.sort_unstable();
        Ok(KinIndex::Scattered(hashes))
    }

    /// Returns the last block that does not begin after `key`, by binary
    /// search.
    fn halve(&self, key: &KvetkaKey) -> Result<Option<u64>, Error> {
        let (mut from, mut to) = (0, self.blocks);
        let mut found = None;
        while from < to {
            let middle = from + (to - from) / 2;
            let end = to.min(middle + MAX_PASSED_OVER);
            let mut at = middle;
            let mut first = None;
            while at < end && first.is_none() {
                first = self.first_key(at)?;
                at += 1;
            }
            match first {
                Some(first) if first <= *key => {
                    found = Some(at - 1);
                    from = at;
                }
                _ => to = middle,
            }
        }
        Ok(found)
    }
}

fn not_sorted(element: Element<'_>) -> Malformed {
    let what = "the key of an element is not after the one before it";
    Malformed::new(element.offset, what)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::OnceLock;

    use super::*;
    use crate::book::Book;
    use crate::book::kvetka::KvetkaOptions;
    use crate::book::kvetka::block::BLOCK_BYTES;

    /// Looks up all positions of a book without its `.kin`, and one that it has not.
    fn find_all(mut book: KvetkaBook, index: OnceLock<KinIndex>) -> KinIndex {
        (book.kin, book.index) = (None, index);
        let mut boards = Vec::new();
        let mut visit = |scanned: crate::book::Scanned<'_>| {
            boards.push(*scanned.board);
            ControlFlow::Continue(())
        };
        book.scan(&mut visit, &mut |_| {}).unwrap();
        assert!(boards.len() > 5 && book.blocks > 2);
        for board in boards {
            assert!(book.find(&board).unwrap().is_some(), "{board:?}");
        }
        let other = crate::book::CanonicalBoard::from_fen(b"4k3/8/8/8/8/8/8/4K3 w - -");
        assert!(book.find(&other.unwrap()).unwrap().is_none());
        book.index.take().unwrap()
    }

    #[test]
    fn positions_are_found_by_an_index_and_in_a_book_too_large_for_one() {
        let folder = copied();
        find_all(opened(&folder), OnceLock::from(KinIndex::Halving));
        let index = find_all(opened(&folder), OnceLock::new());
        assert!(matches!(index, KinIndex::Sorted(_)), "{index:?}");
        let file = folder.path().join("kvetka_0.kob");
        let whole = std::fs::read(&file).unwrap();
        let begin = whole.len() - BLOCK_BYTES;
        let mut bytes = whole.clone();
        bytes[begin..begin + 2].copy_from_slice(&[0, 2]);
        // A block without elements is passed over.
        std::fs::write(&file, bytes).unwrap();
        find_all(opened(&folder), OnceLock::from(KinIndex::Halving));
        let mut bytes = whole.clone();
        let keys = first_block(&bytes);
        let (behind, first) = (keys[1].0, keys[0].1);
        bytes[behind - first.len()..behind].copy_from_slice(&first);
        std::fs::write(&file, bytes).unwrap();
        let index = find_all(opened(&folder), OnceLock::new());
        assert!(matches!(index, KinIndex::Scattered(_)), "{index:?}");
    }

    /// A copy of the sample book.
    fn copied() -> tempfile::TempDir {
        let (folder, sample) = (tempfile::tempdir().unwrap(), Path::new("fixtures/book"));
        for name in ["kvetka.kin", "kvetka_0.kob", "kvetka_1.kob"] {
            std::fs::copy(sample.join(name), folder.path().join(name)).unwrap();
        }
        folder
    }

    fn opened(folder: &tempfile::TempDir) -> KvetkaBook {
        let path = folder.path().join("kvetka.kin");
        KvetkaBook::open(&path, KvetkaOptions::default()).unwrap()
    }

    /// The first block: where the keys of its elements end in the file, and these.
    fn first_block(bytes: &[u8]) -> Vec<(usize, KvetkaKey)> {
        let at = bytes.len() - BLOCK_BYTES;
        let block = KvetkaBlock::new(&bytes[at..]);
        let elements = block.elements().flatten();
        elements
            .map(|element| (at + element.rest_offset, *element.key))
            .collect()
    }

    #[test]
    fn a_key_that_is_there_twice_is_told_and_makes_the_index_doubtful() {
        let folder = copied();
        let file = folder.path().join("kvetka_0.kob");
        let mut bytes = std::fs::read(&file).unwrap();
        let keys = first_block(&bytes);
        let [(_, first), (behind, second), ..] = keys[..] else {
            panic!("{keys:?}");
        };
        let book = opened(&folder);
        assert!(book.find_key(&second).unwrap().is_some());
        assert!(book.index.get().is_none());
        bytes[behind - first.len()..behind].copy_from_slice(&first);
        std::fs::write(&file, bytes).unwrap();
        let book = opened(&folder);
        assert!(book.find_key(&second).unwrap().is_none());
        assert!(book.index.get().is_some());
        let defects = book.defects();
        assert_eq!(defects.len(), 1, "{defects:?}");
        assert!(defects[0].what.contains("not after the one before it"));
    }

    #[test]
    fn a_large_book_is_indexed_and_one_out_of_order_if_it_is_not_as_large() {
        let folder = copied();
        let last = folder.path().join("kvetka_1.kob");
        let last = std::fs::File::options().write(true).open(last).unwrap();
        last.set_len((MAX_INDEXED_BLOCKS + 1) * BLOCK_BYTES as u64)
            .unwrap();
        let index_of = |blocks| {
            let mut book = opened(&folder);
            book.blocks = blocks;
            book.make_index().unwrap()
        };
        let index = index_of(1 << 17);
        assert!(matches!(index, KinIndex::Sorted(_)), "{index:?}");
        assert!(matches!(index_of((1 << 17) + 1), KinIndex::Halving));
        let file = folder.path().join("kvetka_0.kob");
        let mut bytes = std::fs::read(&file).unwrap();
        let keys = first_block(&bytes);
        let (behind, first) = (keys[1].0, keys[0].1);
        bytes[behind - first.len()..behind].copy_from_slice(&first);
        std::fs::write(&file, bytes).unwrap();
        let index = index_of(1 << 15);
        assert!(matches!(index, KinIndex::Scattered(_)), "{index:?}");
        assert!(matches!(index_of((1 << 15) + 1), KinIndex::Halving));
    }

    #[test]
    fn the_next_block_is_asked_for_a_key_behind_all_of_one() {
        let folder = copied();
        let bytes = std::fs::read(folder.path().join("kvetka_0.kob")).unwrap();
        let keys = first_block(&bytes);
        let kin = folder.path().join("kvetka.kin");
        let mut firsts = std::fs::read(&kin).unwrap();
        // The first key of the second block is another there.
        firsts[43] ^= 1;
        std::fs::write(&kin, firsts).unwrap();
        let [first, last] = [keys[0], keys[keys.len() - 1]].map(|(_, mut key)| {
            key[21] ^= 1;
            key
        });
        assert!(first > keys[0].1 && last > keys[keys.len() - 1].1);
        let book = opened(&folder);
        assert!(book.find_key(&first).unwrap().is_none());
        assert!(book.index.get().is_none() && book.defects().is_empty());
        assert!(book.find_key(&last).unwrap().is_none());
        assert!(book.index.get().is_some());
        let what = "not the first key of block 1; the .kin is ignored".to_owned();
        let (file, offset) = ("kin", 22);
        assert_eq!(book.defects(), [Defect { file, offset, what }]);
    }
}
