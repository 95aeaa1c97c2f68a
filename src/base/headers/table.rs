//! `headers.tsv`: a line of column names, then a line per game.
//!
//! The file is as long as a fifth of the games themselves, so its lines are
//! made when they are read. Where a line begins is not known before all lines
//! before it were made once: the first who asks for the length pays for that
//! pass, and the place of every [`BLOCK`]th record is kept. A read makes the
//! lines of the blocks it touches.

use std::ops::Range;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread::{self, ScopedJoinHandle};

use parking_lot::Mutex;

use super::{HeaderNames, LineLengths, Output, append_names};
use crate::base::{Base, Error};
use crate::cbh::{GameId, Summary};
use crate::search::GameSet;

/// Records between two places that are kept. Their lines are about 7 KiB: of
/// what a reader of 128 KiB has made, a thirtieth is in vain at each end.
const BLOCK: u32 = 64;

/// Blocks that are measured in less time than a thread takes to start.
const FEW_BLOCKS: u32 = 64;

/// The file of one state of a base, or of some games of it.
#[derive(Debug, Default)]
pub struct HeadersTsv {
    /// Where each block begins; the last one is where the file ends. The line
    /// of names belongs to the first block.
    places: OnceLock<Vec<u64>>,
    /// Held by who makes the pass.
    pass: Mutex<()>,
}

impl HeadersTsv {
    /// How many bytes there are, if that is known already.
    pub fn known_size(&self) -> Option<u64> {
        self.places.get().and_then(|places| places.last().copied())
    }

    /// How many bytes there are, of all games or of `some`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn size(&self, base: &dyn Base, some: Option<&GameSet>) -> Result<u64, Error> {
        Ok(self.places(base, some)?.last().copied().unwrap_or(0))
    }

    /// Appends up to `length` bytes from `offset` on to `bytes`; fewer at the
    /// end only.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Malformed`] if a record or name is another than
    /// before.
    pub fn read(
        &self,
        base: &dyn Base,
        some: Option<&GameSet>,
        (offset, length): (u64, u32),
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let places = self.places(base, some)?;
        let size = places.last().copied().unwrap_or(0);
        let end = offset.saturating_add(u64::from(length)).min(size);
        if offset >= end {
            return Ok(());
        }
        let first = places.partition_point(|place| *place <= offset) - 1;
        let mut lines = LineMaker::of(base, some)?;
        let start = bytes.len();
        let blocks = (0..).zip(places.windows(2)).skip(first);
        for (block, span) in blocks {
            let &[from, to] = span else { break };
            if from >= end {
                break;
            }
            let before = bytes.len();
            lines.append_block(block, bytes)?;
            if (bytes.len() - before) as u64 != to - from {
                return Err(Error::Malformed {
                    file: PathBuf::from("headers.tsv"),
                    offset: from,
                    what: "the headers have changed since it was measured".to_owned(),
                });
            }
        }
        let from = places.get(first).copied().unwrap_or(0);
        let unwanted = usize::try_from(offset - from).unwrap_or(usize::MAX);
        let wanted = usize::try_from(end - offset).unwrap_or(usize::MAX);
        bytes.drain(start..start.saturating_add(unwanted).min(bytes.len()));
        bytes.truncate(start.saturating_add(wanted));
        Ok(())
    }

    /// Where the blocks begin, by a pass over all of them if need be.
    fn places(&self, base: &dyn Base, some: Option<&GameSet>) -> Result<&[u64], Error> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        // Whoever comes meanwhile waits, rather than doing the same.
        let _pass = self.pass.lock();
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let blocks = base.last_id().div_ceil(BLOCK).max(1);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let most = u32::try_from(cores).unwrap_or(u32::MAX);
        let share = blocks.div_ceil(most).max(FEW_BLOCKS);
        let parts: Vec<Result<Vec<u64>, Error>> = thread::scope(|scope| {
            let shares = (0..blocks).step_by(share as usize);
            let measuring = shares.map(|first| {
                let part = first..blocks.min(first.saturating_add(share));
                scope.spawn(|| lengths(base, some, part))
            });
            let measuring: Vec<_> = measuring.collect();
            let measured = measuring.into_iter().map(ScopedJoinHandle::join);
            measured
                .map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut places = vec![0];
        let mut place = 0;
        for part in parts {
            for length in part? {
                place += length;
                places.push(place);
            }
        }
        Ok(self.places.get_or_init(|| places))
    }
}

/// How many bytes each of these blocks has.
fn lengths(base: &dyn Base, some: Option<&GameSet>, blocks: Range<u32>) -> Result<Vec<u64>, Error> {
    let mut lines = LineMaker::of(base, some)?;
    let mut lengths = LineLengths::default();
    let measured = blocks.map(|block| {
        lines.append_block(block, &mut lengths)?;
        Ok(lengths.take())
    });
    measured.collect()
}

/// Makes lines, a block at a time.
struct LineMaker<'d> {
    base: &'d dyn Base,
    /// The games that have lines, unless all have.
    some: Option<&'d GameSet>,
    names: HeaderNames,
    summaries: Vec<Summary>,
}

impl<'d> LineMaker<'d> {
    fn of(base: &'d dyn Base, some: Option<&'d GameSet>) -> Result<LineMaker<'d>, Error> {
        Ok(LineMaker {
            some,
            names: HeaderNames::of(base)?,
            summaries: Vec::new(),
            base,
        })
    }

    /// Appends the lines of block number `block`, from 0.
    fn append_block<O: Output>(&mut self, block: u32, out: &mut O) -> Result<(), Error> {
        if block == 0 {
            append_names(out.bytes());
        }
        let first = GameId(1 + block * BLOCK);
        let is_wanted = |number| self.some.is_none_or(|some| some.contains(number));
        let next = self.some.map(|some| some.from(first.0).next());
        if next.is_some_and(|next| next.is_none_or(|next| next - first.0 >= BLOCK)) {
            return Ok(());
        }
        self.summaries.clear();
        self.base.summaries(first, BLOCK, &mut self.summaries)?;
        for summary in &self.summaries {
            if is_wanted(summary.id.0) {
                self.names.row(summary).append_to(out);
            }
        }
        Ok(())
    }
}
