//! Bytes of a temporary text, in memory while they are few, else in blocks of
//! a pool.

use std::io;
use std::sync::Arc;

use super::pool::{BLOCK, Pool, gone};

/// A temporary text.
#[derive(Debug)]
pub struct Buffer {
    pool: Arc<Pool>,
    length: u64,
    place: BufferedBytes,
}

#[derive(Debug)]
enum BufferedBytes {
    /// As many bytes are taken of the pool's memory.
    Memory(Vec<u8>),
    /// Of a block that is not there all bytes are zero; so are those of the
    /// last one beyond the end.
    Blocks(Vec<Option<u32>>),
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match &self.place {
            BufferedBytes::Memory(bytes) => self.pool.give_memory(bytes.len() as u64),
            BufferedBytes::Blocks(blocks) => {
                for block in blocks.iter().flatten() {
                    self.pool.give_block(*block);
                }
            }
        }
    }
}

impl Buffer {
    /// An empty one.
    pub fn new(pool: Arc<Pool>) -> Buffer {
        Buffer {
            pool,
            length: 0,
            place: BufferedBytes::Memory(Vec::new()),
        }
    }

    /// Number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Up to `length` bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// Errors of the file.
    pub fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let rest = self.length.saturating_sub(offset);
        let mut bytes = vec![0; index(rest.min(length))?];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` from `offset` on; returns how many, fewer only at the end.
    ///
    /// # Errors
    ///
    /// Errors of the file.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let start = offset.min(self.length);
        let end = start.saturating_add(bytes.len() as u64).min(self.length);
        let length = index(end - start)?;
        let bytes = bytes.get_mut(..length).unwrap_or_default();
        match &self.place {
            BufferedBytes::Memory(memory) => {
                let range = index(start)?..index(end)?;
                let memory = memory.get(range).ok_or_else(gone)?;
                bytes.copy_from_slice(memory);
            }
            BufferedBytes::Blocks(blocks) => {
                for part in parts(start, end) {
                    let place = blocks.get(part.block).copied().flatten();
                    let from = index(part.at - start)?;
                    let Some(into) = bytes.get_mut(from..from + part.length) else {
                        return Err(gone());
                    };
                    match place {
                        Some(block) => self.pool.read(block, part.start, into)?,
                        None => into.fill(0),
                    }
                }
            }
        }
        Ok(length)
    }

    /// Writes at `offset`. A gap before it reads as zeros.
    ///
    /// # Errors
    ///
    /// `StorageFull`; errors of the file. It is as long as before then, but some of
    /// what was there may be overwritten.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let before = self.length;
        let end = offset + bytes.len() as u64;
        if end > before {
            self.grow(end)?;
        }
        let written = self.put(offset, end, bytes);
        if written.is_err() && end > before {
            // What there was no room for is not there.
            self.set_length(before)?;
        }
        written
    }

    /// Writes where there is something already.
    fn put(&mut self, start: u64, end: u64, bytes: &[u8]) -> io::Result<()> {
        if let BufferedBytes::Memory(memory) = &mut self.place {
            let range = index(start)?..index(end)?;
            if let Some(into) = memory.get_mut(range) {
                into.copy_from_slice(bytes);
            }
            return Ok(());
        }
        for part in parts(start, end) {
            let from = index(part.at - start)?;
            let piece = bytes.get(from..from + part.length).unwrap_or_default();
            self.write_into(part.block, part.start, piece)?;
        }
        Ok(())
    }

    /// Writes into a block, which is made if it is not there.
    fn write_into(&mut self, number: usize, start: usize, bytes: &[u8]) -> io::Result<()> {
        let BufferedBytes::Blocks(blocks) = &mut self.place else {
            return Ok(());
        };
        let Some(place) = blocks.get_mut(number) else {
            return Err(gone());
        };
        if let Some(block) = *place {
            return self.pool.write(block, start, bytes);
        }
        let mut whole = vec![0; BLOCK];
        if let Some(into) = whole.get_mut(start..start + bytes.len()) {
            into.copy_from_slice(bytes);
        }
        let block = self.pool.take_block()?;
        *place = Some(block);
        self.pool.write(block, 0, &whole)
    }

    /// Cuts it, or fills it up with zeros.
    ///
    /// # Errors
    ///
    /// As [`write`](Buffer::write).
    pub fn set_length(&mut self, length: u64) -> io::Result<()> {
        if length > self.length {
            return self.grow(length);
        }
        match &mut self.place {
            BufferedBytes::Memory(bytes) => {
                bytes.truncate(index(length)?);
                self.pool.give_memory(self.length - length);
            }
            BufferedBytes::Blocks(blocks) => {
                let kept = index(length.div_ceil(BLOCK as u64))?;
                for block in blocks.drain(kept.min(blocks.len())..).flatten() {
                    self.pool.give_block(block);
                }
                let rest = index(length % BLOCK as u64)?;
                if rest > 0
                    && let Some(block) = blocks.last().copied().flatten()
                {
                    self.pool.write(block, rest, &vec![0; BLOCK - rest])?;
                }
            }
        }
        self.length = length;
        Ok(())
    }

    /// Adds zeros.
    fn grow(&mut self, length: u64) -> io::Result<()> {
        if length > self.pool.most() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let BufferedBytes::Memory(bytes) = &mut self.place {
            let is_small = length <= BLOCK as u64;
            if is_small && self.pool.take_memory(length - self.length) {
                bytes.resize(index(length)?, 0);
                self.length = length;
                return Ok(());
            }
            self.move_to_blocks()?;
        }
        if let BufferedBytes::Blocks(blocks) = &mut self.place {
            blocks.resize(index(length.div_ceil(BLOCK as u64))?, None);
        }
        self.length = length;
        Ok(())
    }

    fn move_to_blocks(&mut self) -> io::Result<()> {
        let BufferedBytes::Memory(bytes) = &mut self.place else {
            return Ok(());
        };
        if bytes.is_empty() {
            self.place = BufferedBytes::Blocks(Vec::new());
            return Ok(());
        }
        let mut whole = bytes.clone();
        whole.resize(BLOCK, 0);
        let block = self.pool.take_block()?;
        if let Err(error) = self.pool.write(block, 0, &whole) {
            self.pool.give_block(block);
            return Err(error);
        }
        self.pool.give_memory(bytes.len() as u64);
        self.place = BufferedBytes::Blocks(vec![Some(block)]);
        Ok(())
    }
}

/// A part of one block.
struct BlockPart {
    block: usize,
    /// Where in the block.
    start: usize,
    length: usize,
    /// Where in the whole.
    at: u64,
}

/// The parts of blocks from `start` to `end`.
fn parts(start: u64, end: u64) -> impl Iterator<Item = BlockPart> {
    let mut at = start;
    std::iter::from_fn(move || {
        let rest = end.checked_sub(at).filter(|rest| *rest > 0)?;
        let inside = at % BLOCK as u64;
        let length = rest.min(BLOCK as u64 - inside);
        let part = BlockPart {
            block: usize::try_from(at / BLOCK as u64).ok()?,
            start: usize::try_from(inside).ok()?,
            length: usize::try_from(length).ok()?,
            at,
        };
        at += length;
        Some(part)
    })
}

fn index(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_there_is_no_room_for_stays_as_it_was() {
        let pool = Arc::new(Pool::new(3 * BLOCK as u64, None));
        let (mut text, mut other) = (Buffer::new(pool.clone()), Buffer::new(pool.clone()));
        other.write(0, &[9; BLOCK]).unwrap();
        text.write(0, &[1; 10]).unwrap();
        // Its second block is the last one that there is.
        let full = text.write(10, &vec![2; 3 * BLOCK - 10]).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!((text.length(), pool.bytes()), (10, 2 * BLOCK as u64));
        text.set_length(20).unwrap();
        let start = [[1; 10], [0; 10]].concat();
        assert_eq!(text.read(0, 99).unwrap(), start);
        assert_eq!(text.read(8, 4).unwrap(), [1, 1, 0, 0]);
        let full = text.set_length(3 * BLOCK as u64 + 1).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        text.set_length(3 * BLOCK as u64).unwrap();
        // Zeros take no room.
        assert_eq!(pool.bytes(), 2 * BLOCK as u64);
        drop((text, other));
        assert_eq!(pool.bytes(), 0);
    }

    #[test]
    fn parts_end_with_their_blocks() {
        let block = BLOCK as u64;
        for (start, end, wanted) in [
            (0, 0, vec![]),
            (5, 9, vec![(0, 5, 4, 5)]),
            (0, block, vec![(0, 0, BLOCK, 0)]),
            (
                block - 1,
                block + 1,
                vec![(0, BLOCK - 1, 1, block - 1), (1, 0, 1, block)],
            ),
            (
                3 * block + 2,
                5 * block,
                vec![(3, 2, BLOCK - 2, 3 * block + 2), (4, 0, BLOCK, 4 * block)],
            ),
        ] {
            let found =
                parts(start, end).map(|part| (part.block, part.start, part.length, part.at));
            assert_eq!(found.collect::<Vec<_>>(), wanted, "{start} {end}");
        }
    }
}
