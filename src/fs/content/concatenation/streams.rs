//! Detection of sequential readers.

use std::ops::Range;

use crate::fs::content::texts::Key;

/// Readers that are told apart.
pub(super) const STREAMS: usize = 4;

/// The kernel asks for several stretches at once, which come in any order.
const NEAR: u64 = 1 << 20;

/// Where readers are.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: [Option<ConcatenationStream>; STREAMS],
    /// The one to give up when another one begins.
    oldest: usize,
}

#[derive(Clone, Copy, Debug)]
struct ConcatenationStream {
    concatenation: Key,
    /// Up to here it has read.
    position: u64,
    /// Up to this segment all is rendered, or about to be.
    ordered: usize,
}

impl Streams {
    /// Notes that `range` is read. If this continues a stream, returns the
    /// segment up to which texts are rendered for it.
    pub(super) fn saw(&mut self, concatenation: Key, range: &Range<u64>) -> Option<&mut usize> {
        let here = |stream: &Option<ConcatenationStream>| {
            stream.is_some_and(|stream| {
                stream.concatenation == concatenation
                    && range.start.abs_diff(stream.position) <= NEAR
            })
        };
        if let Some(known) = self.streams.iter().position(here) {
            let stream = self.streams.get_mut(known)?.as_mut()?;
            stream.position = stream.position.max(range.end);
            return Some(&mut stream.ordered);
        }
        if let Some(stream) = self.streams.get_mut(self.oldest) {
            *stream = Some(ConcatenationStream {
                concatenation,
                position: range.end,
                ordered: 0,
            });
        }
        self.oldest = (self.oldest + 1) % STREAMS;
        None
    }
}
