//! Rendered texts, kept while there is room.
//!
//! The kernel keeps what it has read, so a text is asked for seldom: once for
//! its length, once to be read, and again when the kernel was short of memory.
//! The cache serves the time between the first two, and read-ahead.
//!
//! One cache serves a whole mount: a text is that of a number in one
//! [edition](crate::fs::mount::snapshot) of one base.
//!
//! Texts lie in shards by number, each with its own lock, held only to look
//! up or to insert: never while a text is rendered. One text asked for twice
//! at once is rendered once, the second request waits for the first; requests
//! for different texts never wait for one another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::fs::{Error, Ino, Text};

const SHARDS: usize = 16;

/// What an entry takes beside its text, roughly.
const ENTRY_BYTES: usize = 128;

/// Which text: the number of its edition, and that of its file.
pub(crate) type Key = (u64, Ino);

/// Texts by number, those used least recently leaving first.
///
/// Holds at most `capacity` bytes and the text that came last.
#[derive(Debug)]
pub(crate) struct TextCache {
    shards: [Mutex<Shard>; SHARDS],
    bytes: AtomicUsize,
    capacity: usize,
}

#[derive(Debug)]
struct Shard {
    texts: LruCache<Key, Text>,
    flights: HashMap<Key, Arc<Flight>>,
}

/// A text that is being rendered.
#[derive(Debug, Default)]
struct Flight {
    has_landed: Mutex<bool>,
    landing: Condvar,
}

impl TextCache {
    /// An empty cache for `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> TextCache {
        TextCache {
            shards: std::array::from_fn(|_| {
                Mutex::new(Shard {
                    texts: LruCache::unbounded(),
                    flights: HashMap::new(),
                })
            }),
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
        self.shard(key).texts.get(&key).cloned()
    }

    /// Whether the text of `key` is here; does not count as use.
    pub(crate) fn contains(&self, key: Key) -> bool {
        self.shard(key).texts.contains(&key)
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
        loop {
            let mut shard = self.shard(key);
            if let Some(text) = shard.texts.get(&key) {
                return Ok(text.clone());
            }
            let Some(flight) = shard.flights.get(&key).map(Arc::clone) else {
                shard.flights.insert(key, Arc::default());
                break;
            };
            drop(shard);
            let has_landed = flight
                .has_landed
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let landed = flight.landing.wait_while(has_landed, |landed| !*landed);
            drop(landed);
        }
        // Dropped on every way out, by panic too: nobody waits for ever.
        let _landing = Landing { cache: self, key };
        let text = render()?;
        self.insert(key, text.clone());
        Ok(text)
    }

    /// Keeps `text` as that of `key`.
    pub(crate) fn insert(&self, key: Key, text: Text) {
        let added = text.len() + ENTRY_BYTES;
        let mut shard = self.shard(key);
        let replaced = shard.texts.put(key, text);
        let removed = replaced.map_or(0, |old| old.len() + ENTRY_BYTES);
        self.bytes.fetch_add(added, Relaxed);
        self.bytes.fetch_sub(removed, Relaxed);
        self.evict(&mut shard, 1);
        drop(shard);
        if self.bytes() > self.capacity {
            self.evict_elsewhere(key);
        }
    }

    /// Gives up the texts of some editions.
    pub(crate) fn forget(&self, is_over: impl Fn(u64) -> bool) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            let all = shard.texts.iter().map(|(key, _)| *key);
            let keys: Vec<Key> = all.filter(|(of, _)| is_over(*of)).collect();
            for text in keys.iter().filter_map(|key| shard.texts.pop(key)) {
                self.bytes.fetch_sub(text.len() + ENTRY_BYTES, Relaxed);
            }
        }
    }

    /// Makes room in the shards that `key` is not in, one after the other.
    fn evict_elsewhere(&self, key: Key) {
        let own = shard_of(key);
        for shard in self.shards.iter().cycle().skip(own + 1).take(SHARDS - 1) {
            if self.bytes() <= self.capacity {
                return;
            }
            self.evict(&mut lock(shard), 0);
        }
    }

    /// Removes the texts used least recently until there is room, but for the
    /// last `keep`.
    fn evict(&self, shard: &mut Shard, keep: usize) {
        while self.bytes() > self.capacity && shard.texts.len() > keep {
            let Some((_, text)) = shard.texts.pop_lru() else {
                return;
            };
            self.bytes.fetch_sub(text.len() + ENTRY_BYTES, Relaxed);
        }
    }

    fn shard(&self, key: Key) -> MutexGuard<'_, Shard> {
        #[expect(clippy::indexing_slicing, reason = "shard_of is below SHARDS")]
        lock(&self.shards[shard_of(key)])
    }
}

fn shard_of(key: Key) -> usize {
    usize::try_from(key.1.0 % SHARDS as u64).unwrap_or(0)
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Landing<'a> {
    cache: &'a TextCache,
    key: Key,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let flight = self.cache.shard(self.key).flights.remove(&self.key);
        if let Some(flight) = flight {
            *flight
                .has_landed
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = true;
            flight.landing.notify_all();
        }
    }
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
    fn texts_of_another_edition_are_others() {
        let cache = TextCache::new(100_000);
        for number in 0..20 {
            cache.insert((1, Ino(number)), text(10));
            cache.insert((2, Ino(number)), text(20));
        }
        assert_eq!(cache.get((1, Ino(3))).unwrap().len(), 10);
        cache.forget(|edition| edition == 1);
        assert!(cache.get((1, Ino(3))).is_none());
        assert_eq!(cache.get((2, Ino(3))).unwrap().len(), 20);
        cache.forget(|edition| edition == 2);
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
    fn who_waited_for_a_failure_or_a_panic_tries_again() {
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
