//! Rendered texts, kept while there is room.
//!
//! The kernel keeps what it has read, so a text is asked for seldom: once for
//! its length, once to be read, and again when the kernel was short of memory.
//! The cache serves the time between the first two, and read-ahead.
//!
//! Texts lie in shards by number, each with its own lock, held only to look
//! up or to insert: never while a text is rendered. One text asked for twice
//! at once is rendered once, the second request waits for the first; requests
//! for different texts never wait for one another.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::{Error, Ino};

const SHARDS: usize = 16;

/// What an entry takes beside its text, roughly.
const ENTRY_BYTES: usize = 128;

/// Texts by number, those used least recently leaving first.
///
/// Holds at most `capacity` bytes and the text that came last.
#[derive(Debug)]
pub struct TextCache {
    shards: [Mutex<Shard>; SHARDS],
    bytes: AtomicUsize,
    capacity: usize,
}

#[derive(Debug)]
struct Shard {
    texts: LruCache<Ino, Arc<[u8]>>,
    flights: HashMap<Ino, Arc<Flight>>,
}

/// A text that is being rendered.
#[derive(Debug, Default)]
struct Flight {
    has_landed: Mutex<bool>,
    landing: Condvar,
}

impl TextCache {
    /// An empty cache for `capacity` bytes.
    pub fn new(capacity: usize) -> TextCache {
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
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    /// Bytes it may hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The text of `ino`, if it is here.
    pub fn get(&self, ino: Ino) -> Option<Arc<[u8]>> {
        self.shard(ino).texts.get(&ino).cloned()
    }

    /// Whether the text of `ino` is here; does not count as use.
    pub fn contains(&self, ino: Ino) -> bool {
        self.shard(ino).texts.contains(&ino)
    }

    /// The text of `ino`, rendered if it is not here. If another thread is
    /// rendering it, waits for that.
    ///
    /// # Errors
    ///
    /// That of `render`, which is then asked again by who waited for it.
    pub fn get_or_render(
        &self,
        ino: Ino,
        render: impl FnOnce() -> Result<Arc<[u8]>, Error>,
    ) -> Result<Arc<[u8]>, Error> {
        loop {
            let mut shard = self.shard(ino);
            if let Some(text) = shard.texts.get(&ino) {
                return Ok(Arc::clone(text));
            }
            let Some(flight) = shard.flights.get(&ino).map(Arc::clone) else {
                shard.flights.insert(ino, Arc::default());
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
        let _landing = Landing { cache: self, ino };
        let text = render()?;
        self.insert(ino, Arc::clone(&text));
        Ok(text)
    }

    /// Keeps `text` as that of `ino`.
    pub fn insert(&self, ino: Ino, text: Arc<[u8]>) {
        let added = text.len() + ENTRY_BYTES;
        let mut shard = self.shard(ino);
        let replaced = shard.texts.put(ino, text);
        let removed = replaced.map_or(0, |old| old.len() + ENTRY_BYTES);
        self.bytes.fetch_add(added, Relaxed);
        self.bytes.fetch_sub(removed, Relaxed);
        self.evict(&mut shard, 1);
        drop(shard);
        if self.bytes() > self.capacity {
            self.evict_elsewhere(ino);
        }
    }

    /// Makes room in the shards that `ino` is not in, one after the other.
    fn evict_elsewhere(&self, ino: Ino) {
        let own = shard_of(ino);
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

    fn shard(&self, ino: Ino) -> MutexGuard<'_, Shard> {
        #[expect(clippy::indexing_slicing, reason = "shard_of is below SHARDS")]
        lock(&self.shards[shard_of(ino)])
    }
}

fn shard_of(ino: Ino) -> usize {
    usize::try_from(ino.0 % SHARDS as u64).unwrap_or(0)
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Landing<'a> {
    cache: &'a TextCache,
    ino: Ino,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        let flight = self.cache.shard(self.ino).flights.remove(&self.ino);
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

    fn text(length: usize) -> Arc<[u8]> {
        vec![b'x'; length].into()
    }

    #[test]
    fn it_holds_no_more_than_its_capacity() {
        let cache = TextCache::new(100_000);
        for number in 0..10_000 {
            cache.insert(Ino(number), text(1000));
            assert!(cache.bytes() <= 100_000);
        }
        assert!(cache.bytes() > 90_000, "and uses it: {}", cache.bytes());
        assert!(cache.contains(Ino(9_999)));
        assert!(!cache.contains(Ino(0)));
    }

    #[test]
    fn a_text_larger_than_the_cache_stays_until_the_next_comes() {
        let cache = TextCache::new(1000);
        cache.insert(Ino(1), text(100));
        cache.insert(Ino(2), text(5000));
        assert!(cache.contains(Ino(2)));
        assert!(!cache.contains(Ino(1)));
        cache.insert(Ino(3), text(100));
        assert!(!cache.contains(Ino(2)));
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
                    let text = cache.get_or_render(Ino(7), || {
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
                cache.get_or_render(Ino(7), || {
                    start.wait();
                    std::thread::sleep(Duration::from_millis(50));
                    panic!("on purpose")
                })
            });
            start.wait();
            let second = cache.get_or_render(Ino(7), || Ok(text(10)));
            assert_eq!(second.unwrap().len(), 10);
            assert!(first.join().is_err());
        });
        assert!(
            cache
                .get_or_render(Ino(8), || Err(Error::TooLarge))
                .is_err()
        );
        assert!(cache.get_or_render(Ino(8), || Ok(text(1))).is_ok());
    }
}
