//! Texts that are being read in several requests.
//!
//! The kernel asks for a long text piece by piece, and says nothing of where
//! the first piece came from. So that a reader gets one text from beginning
//! to end, a text stays here from its first piece to its last, in spite of
//! what becomes of the base meanwhile. What is here at a time is bounded; a
//! reader that is pushed out fails rather than get another text.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::fs::{Ino, Text};

/// Bytes of texts being read, and one more text.
const MOST_BYTES: usize = 32 << 20;

/// Texts being read, at most.
const MOST_TEXTS: usize = 1024;

/// Texts that are being read, by numbers of the mount, those longest untouched leaving first.
#[derive(Debug)]
pub(crate) struct Readers(Mutex<Reading>);

#[derive(Debug)]
struct Reading {
    texts: LruCache<Ino, Text>,
    bytes: usize,
}

impl Default for Readers {
    fn default() -> Readers {
        Readers(Mutex::new(Reading {
            texts: LruCache::unbounded(),
            bytes: 0,
        }))
    }
}

impl Readers {
    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a part of `text` was read, and not the last one.
    pub(crate) fn began(&self, ino: Ino, text: &Text) {
        let mut reading = self.lock();
        if reading
            .texts
            .get(&ino)
            .is_some_and(|known| known.mark() == text.mark())
        {
            return;
        }
        reading.bytes += text.len();
        if let Some(other) = reading.texts.put(ino, text.clone()) {
            reading.bytes -= other.len();
        }
        while reading.texts.len() > 1
            && (reading.bytes > MOST_BYTES || reading.texts.len() > MOST_TEXTS)
        {
            let Some((_, oldest)) = reading.texts.pop_lru() else {
                return;
            };
            reading.bytes -= oldest.len();
        }
    }

    /// Notes that the text was read to its end.
    pub(crate) fn ended(&self, ino: Ino) {
        let mut reading = self.lock();
        if let Some(text) = reading.texts.pop(&ino) {
            reading.bytes -= text.len();
        }
    }

    /// The text with this mark, if it is being read.
    pub(crate) fn text(&self, ino: Ino, mark: u32) -> Option<Text> {
        let mut reading = self.lock();
        let text = reading.texts.get(&ino)?;
        (text.mark() == mark).then(|| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_while_it_is_read() {
        let readers = Readers::default();
        let text = Text::from(vec![b'x'; 1000]);
        readers.began(Ino(1), &text);
        assert!(readers.text(Ino(1), text.mark()).is_some());
        assert!(readers.text(Ino(1), text.mark() ^ 1).is_none());
        readers.ended(Ino(1));
        assert!(readers.text(Ino(1), text.mark()).is_none());
        assert_eq!(readers.lock().bytes, 0);
    }

    #[test]
    fn those_being_read_are_bounded() {
        let readers = Readers::default();
        for number in 0..100 {
            let text = Text::from(vec![b'x'; 1_000_000 + usize::try_from(number).unwrap()]);
            readers.began(Ino(number), &text);
            assert!(readers.text(Ino(number), text.mark()).is_some());
        }
        let reading = readers.lock();
        assert!(reading.bytes <= MOST_BYTES && reading.texts.len() > 30);
        let bytes: usize = reading.texts.iter().map(|(_, text)| text.len()).sum();
        assert_eq!(bytes, reading.bytes);
    }
}
