//! Rendered texts, kept while there is room.
//!
//! The kernel keeps what it has read, so a text is asked for seldom: once for
//! its length, once to be read, and again when the kernel was short of memory.
//! The cache serves the time between the first two, and read-ahead.
//!
//! One cache serves a whole mount: a text is that of a number in one
//! [snapshot](crate::fs::mount::snapshot) of one base.
//!
//! Texts lie in shards by number, each with its own lock, held only to look
//! up or to insert: never while a text is rendered. One text asked for twice
//! at once is rendered once, the second request waits for the first; requests
//! for different texts never wait for one another.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

use crate::fs::content::once::Once;
use crate::fs::{Error, Ino, Text};

const SHARDS: usize = 16;

/// What an entry takes beside its text, roughly.
const ENTRY_BYTES: usize = 192;

/// Which text: the number of its snapshot, and that of its file.
pub(crate) type Key = (u64, Ino);

/// Texts by number, those used least recently leaving first.
///
/// Holds at most `capacity` bytes and the text that came last.
#[derive(Debug)]
pub(crate) struct TextCache {
    /// Made when a text is first asked for: of many caches none ever is.
    shards: OnceLock<Box<[Mutex<Shard>; SHARDS]>>,
    bytes: AtomicUsize,
    capacity: usize,
}

type Shard = LruCache<Key, CachedText>;

/// A text, or one that is being rendered.
#[derive(Debug)]
struct CachedText {
    text: Arc<Once<Text>>,
    /// What is counted of it.
    bytes: usize,
}

impl TextCache {
    /// An empty cache for `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> TextCache {
        TextCache {
            shards: OnceLock::new(),
            bytes: AtomicUsize::new(0),
            capacity,
        }
    }

    /// Bytes it holds at present.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Bytes it may hold.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The text of `key`, if it is here.
    pub(crate) fn get(&self, key: Key) -> Option<Text> {
        self.shard(key).get(&key)?.text.get()
    }

    /// Whether the text of `key` is here; does not count as use.
    pub(crate) fn contains(&self, key: Key) -> bool {
        let shard = self.shard(key);
        shard
            .peek(&key)
            .is_some_and(|entry| entry.text.get().is_some())
    }

    /// The text of `key`, rendered if it is not here. If another thread is
    /// rendering it, waits for that.
    ///
    /// # Errors
    ///
    /// That of `render`, which is then asked again by who waited for it.
    pub(crate) fn get_or_render(
        &self,
        key: Key,
        render: impl FnOnce() -> Result<Text, Error>,
    ) -> Result<Text, Error> {
        let mut is_new = false;
        let text = self.once(key).get_or_work_out(|| {
            is_new = true;
            render()
        })?;
        if is_new {
            self.insert(key, text.clone());
        }
        Ok(text)
    }

    fn once(&self, key: Key) -> Arc<Once<Text>> {
        let mut shard = self.shard(key);
        if let Some(entry) = shard.get(&key) {
            return Arc::clone(&entry.text);
        }
        let text: Arc<Once<Text>> = Arc::default();
        self.put(shard, key, Arc::clone(&text), ENTRY_BYTES);
        text
    }

    /// Keeps `text` as that of `key`.
    pub(crate) fn insert(&self, key: Key, text: Text) {
        // Between texts of different lengths the allocator loses a third.
        let bytes = (text.len() + ENTRY_BYTES) * 4 / 3;
        self.put(self.shard(key), key, Arc::new(Once::from(text)), bytes);
    }

    fn put(&self, mut shard: MutexGuard<'_, Shard>, key: Key, text: Arc<Once<Text>>, bytes: usize) {
        let replaced = shard.put(key, CachedText { text, bytes });
        self.bytes.fetch_add(bytes, Relaxed);
        self.give_back(replaced);
        self.evict(&mut shard, 1);
        drop(shard);
        if self.bytes() > self.capacity {
            self.evict_elsewhere(key);
        }
    }

    fn give_back(&self, removed: Option<CachedText>) {
        let bytes = removed.map_or(0, |entry| entry.bytes);
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Gives up the texts of some snapshots.
    pub(crate) fn forget(&self, is_dropped: impl Fn(u64) -> bool) {
        for shard in self.shards() {
            let mut shard = shard.lock();
            let all = shard.iter().map(|(key, _)| *key);
            let keys: Vec<Key> = all.filter(|(of, _)| is_dropped(*of)).collect();
            for key in keys {
                self.give_back(shard.pop(&key));
            }
        }
    }

    /// Makes room in the shards that `key` is not in, one after the other.
    fn evict_elsewhere(&self, key: Key) {
        let own = shard_of(key);
        for shard in self.shards().iter().cycle().skip(own + 1).take(SHARDS - 1) {
            if self.bytes() <= self.capacity {
                return;
            }
            self.evict(&mut shard.lock(), 0);
        }
    }

    /// Removes the texts used least recently until there is room, but for the
    /// last `keep`.
    fn evict(&self, shard: &mut Shard, keep: usize) {
        while self.bytes() > self.capacity && shard.len() > keep {
            self.give_back(shard.pop_lru().map(|(_, entry)| entry));
        }
    }

    fn shards(&self) -> &[Mutex<Shard>; SHARDS] {
        let make = || Box::new(std::array::from_fn(|_| Mutex::new(LruCache::unbounded())));
        self.shards.get_or_init(make)
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, Shard> {
        #[expect(clippy::indexing_slicing, reason = "shard_of is below SHARDS")]
        self.shards()[shard_of(key)].lock()
    }
}

fn shard_of(key: Key) -> usize {
    usize::try_from(key.1.0 % SHARDS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;

    fn key(number: u64) -> Key {
        (1, Ino(number))
    }

    fn text(length: usize) -> Text {
        vec![b'x'; length].into()
    }

    #[test]
    fn it_holds_no_more_than_its_capacity() {
        let cache = TextCache::new(100_000);
        for number in 0..10_000 {
            cache.insert(key(number), text(1000));
            assert!(cache.bytes() <= 100_000);
        }
        assert!(cache.bytes() > 90_000, "and uses it: {}", cache.bytes());
        assert!(cache.contains(key(9_999)));
        assert!(!cache.contains(key(0)));
    }

    #[test]
    fn texts_of_another_snapshot_are_others() {
        let cache = TextCache::new(100_000);
        for number in 0..20 {
            cache.insert((1, Ino(number)), text(10));
            cache.insert((2, Ino(number)), text(20));
        }
        assert_eq!(cache.get((1, Ino(3))).unwrap().len(), 10);
        cache.forget(|snapshot| snapshot == 1);
        assert!(cache.get((1, Ino(3))).is_none());
        assert_eq!(cache.get((2, Ino(3))).unwrap().len(), 20);
        cache.forget(|snapshot| snapshot == 2);
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn a_text_larger_than_the_cache_stays_until_the_next_comes() {
        let cache = TextCache::new(1000);
        cache.insert(key(1), text(100));
        cache.insert(key(2), text(5000));
        assert!(cache.contains(key(2)));
        assert!(!cache.contains(key(1)));
        cache.insert(key(3), text(100));
        assert!(!cache.contains(key(2)));
        assert!(cache.bytes() <= 1000);
    }

    #[test]
    fn a_text_asked_for_twice_at_once_is_rendered_once() {
        let cache = TextCache::new(1000);
        let renderings = AtomicU32::new(0);
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let text = cache.get_or_render(key(7), || {
                        renderings.fetch_add(1, Relaxed);
                        std::thread::sleep(Duration::from_millis(50));
                        Ok(text(10))
                    });
                    assert_eq!(text.unwrap().len(), 10);
                });
            }
        });
        assert_eq!(renderings.load(Relaxed), 1);
    }

    #[test]
    fn a_waiter_retries_after_a_failure_or_panic() {
        let cache = TextCache::new(1000);
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                cache.get_or_render(key(7), || {
                    start.wait();
                    std::thread::sleep(Duration::from_millis(50));
                    panic!("on purpose")
                })
            });
            start.wait();
            let second = cache.get_or_render(key(7), || Ok(text(10)));
            assert_eq!(second.unwrap().len(), 10);
            assert!(first.join().is_err());
        });
        assert!(
            cache
                .get_or_render(key(8), || Err(Error::TooLarge))
                .is_err()
        );
        assert!(cache.get_or_render(key(8), || Ok(text(1))).is_ok());
    }
}
