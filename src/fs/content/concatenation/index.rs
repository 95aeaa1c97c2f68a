//! Where in a concatenation its files begin.

use std::collections::HashSet;

use super::{Sources, length_of};
use crate::fs::{Error, Ino};

/// A segment ends with the file that makes it so long …
pub(super) const SEGMENT_BYTES: usize = 128 << 10;

/// … or is the last of so many.
const SEGMENT_FILES: u32 = 256;

/// Files rendered in one go to know their lengths.
const WAVE: usize = 1 << 14;

/// Where a segment begins.
#[derive(Clone, Copy, Debug, Default)]
struct SegmentStart {
    /// The place in the listing before its first file.
    cookie: u64,
    /// The place of its first byte.
    offset: u64,
}

/// A mark for every segment, 64 KiB for a million games; and the length.
#[derive(Debug)]
pub(super) struct SegmentMarks {
    marks: Vec<SegmentStart>,
    length: u64,
}

/// A run of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The place in the listing before the first file.
    pub(super) after: u64,
    /// The place of the last file; `None` if it is the last of all.
    pub(super) last: Option<u64>,
    /// The place of its first byte.
    pub(super) start: u64,
    /// The place after its last byte.
    pub(super) end: u64,
}

impl SegmentMarks {
    /// Walks through `directory`. `measure` is given files whose lengths are
    /// not known; those it gives back have none.
    ///
    /// # Errors
    ///
    /// That of listing, if nothing could be listed.
    pub(super) fn new(
        sources: Sources<'_>,
        directory: Ino,
        measure: impl Fn(Vec<Ino>) -> Vec<Ino>,
    ) -> Result<SegmentMarks, Error> {
        let mut walk = DirectoryWalk::default();
        let mut left_out = HashSet::new();
        loop {
            let mut unknown = Vec::new();
            let listed = sources
                .volume
                .rendered_in(directory, walk.last, &mut |ino, cookie| {
                    let is_known = sources.sizes.get(ino).is_some() || left_out.contains(&ino);
                    if !is_known {
                        unknown.push(ino);
                    } else if unknown.is_empty() {
                        walk.pass(cookie, length_of(sources.sizes, ino));
                    }
                    unknown.len() < WAVE
                });
            if !unknown.is_empty() {
                left_out = measure(unknown).into_iter().collect();
                continue;
            }
            match listed {
                Err(error) if walk.last == 0 => return Err(error),
                // Nothing is made of a state that is over.
                Err(Error::Stale) | Ok(()) => {}
                Err(error) => log::warn!("a listing of {directory:?} breaks off: {error}"),
            }
            return Ok(SegmentMarks {
                marks: walk.marks,
                length: walk.length,
            });
        }
    }

    /// Length of the whole in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// How many marks it has.
    pub(super) fn marks(&self) -> usize {
        self.marks.len()
    }

    /// The segment that holds the byte at `offset`.
    pub(super) fn segment_at(&self, offset: u64) -> usize {
        let after = self.marks.partition_point(|mark| mark.offset <= offset);
        after.saturating_sub(1)
    }

    /// A segment; `None` beyond the last.
    pub(super) fn segment(&self, number: usize) -> Option<Segment> {
        let first = self.marks.get(number)?;
        let following = self.marks.get(number + 1);
        Some(Segment {
            after: first.cookie,
            last: following.map(|mark| mark.cookie),
            start: first.offset,
            end: following.map_or(self.length, |mark| mark.offset),
        })
    }
}

/// A walk through the files of a directory.
#[derive(Debug)]
struct DirectoryWalk {
    marks: Vec<SegmentStart>,
    /// Bytes of the files passed.
    length: u64,
    /// The place of the file passed last.
    last: u64,
    /// Files passed since the last mark.
    files: u32,
}

impl Default for DirectoryWalk {
    fn default() -> DirectoryWalk {
        DirectoryWalk {
            marks: vec![SegmentStart::default()],
            length: 0,
            last: 0,
            files: 0,
        }
    }
}

impl DirectoryWalk {
    fn pass(&mut self, cookie: u64, bytes: u32) {
        let start = self.marks.last().map_or(0, |mark| mark.offset);
        // Only where a file follows, so that no segment is empty.
        if self.files == SEGMENT_FILES || self.length - start >= SEGMENT_BYTES as u64 {
            self.marks.push(SegmentStart {
                cookie: self.last,
                offset: self.length,
            });
            self.files = 0;
        }
        self.files += 1;
        self.last = cookie;
        self.length += u64::from(bytes);
    }
}
