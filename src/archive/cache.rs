//! A cache of decoded blocks.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::block::BLOCK_BYTES;

/// The smallest useful number of blocks: one game is read from a handful of
/// files.
const FEWEST: usize = 16;

/// The most recently used decoded blocks of any number of archives. Clones
/// share them.
#[derive(Clone, Debug)]
pub struct BlockCache {
    blocks: Arc<Mutex<LruCache<BlockKey, Arc<Vec<u8>>>>>,
}

/// Number of an open archive, and offset of a block in it.
pub(super) type BlockKey = (u64, u64);

impl Default for BlockCache {
    /// A cache of 8 MiB.
    fn default() -> BlockCache {
        BlockCache::new(8 << 20)
    }
}

impl BlockCache {
    /// A cache of at most `bytes` bytes, but of at least 1 MiB.
    pub fn new(bytes: usize) -> BlockCache {
        let count = (bytes / BLOCK_BYTES).max(FEWEST);
        let count = NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
        BlockCache {
            blocks: Arc::new(Mutex::new(LruCache::new(count))),
        }
    }

    /// Returns a block from the cache, or decodes it with `decode`. No lock is
    /// held meanwhile.
    pub(super) fn get(
        &self,
        key: BlockKey,
        decode: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<Arc<Vec<u8>>> {
        let locked = || self.blocks.lock();
        if let Some(block) = locked().get(&key) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(decode()?);
        locked().put(key, Arc::clone(&block));
        Ok(block)
    }
}
