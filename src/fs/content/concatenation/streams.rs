//! Readers that read on and on.

use std::ops::Range;

use crate::fs::content::texts::Key;

/// Readers that are told apart.
pub(super) const STREAMS: usize = 4;

/// The kernel asks for several stretches at once, which come in any order.
const NEAR: u64 = 1 << 20;

/// Where readers are.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: [Option<Stream>; STREAMS],
    /// The one to give up when another one begins.
    oldest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    concatenation: Key,
    /// Up to here it has read.
    position: u64,
}

impl Streams {
    /// Notes that `range` is read; gives whether a reader went on to it.
    pub(super) fn saw(&mut self, concatenation: Key, range: &Range<u64>) -> bool {
        let known = self.streams.iter_mut().flatten();
        let here = |stream: &&mut Stream| {
            stream.concatenation == concatenation && range.start.abs_diff(stream.position) <= NEAR
        };
        if let Some(stream) = known.into_iter().find(here) {
            stream.position = stream.position.max(range.end);
            return true;
        }
        if let Some(stream) = self.streams.get_mut(self.oldest) {
            *stream = Some(Stream {
                concatenation,
                position: range.end,
            });
        }
        self.oldest = (self.oldest + 1) % STREAMS;
        false
    }
}
