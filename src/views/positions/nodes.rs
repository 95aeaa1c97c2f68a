//! Numbers of positions, and of queries.
//!
//! There are far more positions than numbers could be computed for, so the
//! number of one is a hash of it, and what it means is remembered here while
//! there is room; the least recently used are dropped first. A request with a
//! number that was dropped fails with `ESTALE`, and the kernel then looks up the
//! path again.
//!
//! Each has a block of numbers: for its directory, for each file in there, and
//! for links to it. What is remembered does not depend on the state of the book
//! or base, and stays when that is opened anew.

use std::sync::Arc;

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use xxhash_rust::xxh3::Xxh3;

use super::names;
use crate::base::Scope;
use crate::fs::{Error, Ino};
use crate::game::Position;

/// Numbers in one block.
pub(crate) const BLOCK: u64 = 16;

/// Bytes of what is remembered, at most.
const MOST_BYTES: usize = 16 << 20;

/// What each takes beside its name, roughly.
const ENTRY_BYTES: usize = 160;

/// Blocks that a position can have: the first of them that no other has.
const PROBES: u64 = 4;

/// Owner of a block of numbers: a scope, or a position in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeKey {
    pub(crate) scope: Scope,
    /// The name of a position; none for the scope itself.
    pub(crate) position: Option<Box<str>>,
}

impl NodeKey {
    /// The position, if it is one.
    pub(crate) fn position(&self) -> Result<Position, Error> {
        let name = self.position.as_ref().ok_or(Error::NotADirectory)?;
        names::position(name.as_bytes())
    }

    fn bytes(&self) -> usize {
        let terms: usize = self.scope.iter().map(|term| term.len() + 16).sum();
        ENTRY_BYTES + terms + self.position.as_ref().map_or(0, |name| name.len())
    }

    /// A hash of it.
    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        for part in self.scope.iter().chain(&self.position) {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        hasher.update(&[u8::from(self.position.is_some())]);
        hasher.digest()
    }
}

/// The table of numbers.
#[derive(Debug)]
pub(crate) struct InoTable {
    /// The numbers from the first to before the last.
    first: Ino,
    blocks: u64,
    known: Mutex<KnownNumbers>,
}

#[derive(Debug)]
struct KnownNumbers {
    keys: LruCache<u64, NodeKey>,
    bytes: usize,
}

impl InoTable {
    /// A table of the numbers of the kinds from `first` to before `end`.
    pub(crate) fn new(first: u8, end: u8) -> InoTable {
        let (first, end) = (Ino::new(first, 0), Ino::new(end, 0));
        InoTable {
            first,
            blocks: (end.0 - first.0) / BLOCK,
            known: Mutex::new(KnownNumbers {
                keys: LruCache::unbounded(),
                bytes: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, KnownNumbers> {
        self.known.lock()
    }

    /// Returns the number at `place` in the block of a key, and remembers it.
    /// The first block belongs to the scope of all games.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if there is no block for it; as good as never.
    pub(crate) fn number(&self, key: &NodeKey, place: u64) -> Result<Ino, Error> {
        let block = if key.scope.is_empty() && key.position.is_none() {
            0
        } else {
            self.block(key)?
        };
        Ok(Ino(self.first.0 + block * BLOCK + place))
    }

    fn block(&self, key: &NodeKey) -> Result<u64, Error> {
        let hash = key.hash();
        let mut known = self.lock();
        let mut free = None;
        for step in 0..PROBES {
            let block = 1 + hash.wrapping_add(step) % (self.blocks - 1);
            match known.keys.get(&block) {
                Some(other) if other == key => return Ok(block),
                Some(_) => {}
                None => free = free.or(Some(block)),
            }
        }
        let block = free.ok_or(Error::Stale)?;
        known.bytes += key.bytes();
        known.keys.put(block, key.clone());
        while known.bytes > MOST_BYTES && known.keys.len() > 1 {
            let Some((_, oldest)) = known.keys.pop_lru() else {
                break;
            };
            known.bytes -= oldest.bytes();
        }
        Ok(block)
    }

    /// Returns the key whose block this number is in, and its place there.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if it is in none, [`Error::Stale`] if that is not
    /// remembered.
    pub(crate) fn key(&self, ino: Ino) -> Result<(NodeKey, u64), Error> {
        let (block, place) = self.block_of(ino).ok_or(Error::NotFound)?;
        if block == 0 {
            let scope = Arc::default();
            let position = None;
            return Ok((NodeKey { scope, position }, place));
        }
        let key = self.lock().keys.get(&block).cloned();
        Ok((key.ok_or(Error::Stale)?, place))
    }

    fn block_of(&self, ino: Ino) -> Option<(u64, u64)> {
        let number = ino.0.checked_sub(self.first.0)?;
        let block = number / BLOCK;
        (block < self.blocks).then_some((block, number % BLOCK))
    }

    /// Whether this number means something only while it is remembered.
    pub(crate) fn is_remembered(&self, ino: Ino) -> bool {
        self.block_of(ino).is_some_and(|(block, _)| block > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(terms: &[&str], position: Option<&str>) -> NodeKey {
        NodeKey {
            scope: terms.iter().map(|term| Box::from(*term)).collect(),
            position: position.map(Box::from),
        }
    }

    #[test]
    fn a_position_has_one_block_and_the_block_that_position() {
        let [nodes, other] = [(); 2].map(|()| InoTable::new(41, 43));
        let keys = [
            key(&[], Some("a")),
            key(&["a"], None),
            key(&["a"], Some("a")),
            key(&["a", "a"], None),
            key(&["a", "b"], Some("a")),
            key(&[], None),
        ];
        for key in &keys {
            for place in [0, 3, BLOCK - 1] {
                let ino = nodes.number(key, place).unwrap();
                assert_eq!(nodes.key(ino).unwrap(), (key.clone(), place));
                assert!((41..43).contains(&ino.kind()));
                // The same at the next mount.
                assert_eq!(other.number(key, place).unwrap(), ino);
            }
        }
        for no_number in [Ino(5), Ino::new(40, 7), Ino::new(43, 0)] {
            assert!(matches!(nodes.key(no_number), Err(Error::NotFound)));
        }
        let never_told = Ino::new(42, 12345);
        assert!(matches!(nodes.key(never_told), Err(Error::Stale)));
    }

    #[test]
    fn keys_of_one_hash_have_blocks_side_by_side() {
        let nodes = InoTable::new(41, 42);
        let one = key(&[], Some("a"));
        let first = nodes.number(&one, 0).unwrap();
        let (block, _) = nodes.block_of(first).unwrap();
        nodes.lock().keys.put(block, key(&[], Some("b")));
        let second = nodes.number(&one, 0).unwrap();
        assert_eq!(second.0, first.0 + BLOCK);
        assert_eq!(nodes.key(second).unwrap().0, one);
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let nodes = InoTable::new(41, 61);
        let long = "x".repeat(10_000);
        let number = |at: usize| nodes.number(&key(&[&long], Some(&at.to_string())), 0);
        let first = number(0).unwrap();
        for at in 1..2000 {
            number(at).unwrap();
        }
        assert!(matches!(nodes.key(first), Err(Error::Stale)));
        assert!(nodes.lock().bytes <= MOST_BYTES);
        assert!(nodes.lock().keys.len() > 1000);
        assert_eq!(number(0).unwrap(), first);
    }
}
