//! The room that temporary texts take together: a little memory, and one file
//! without a name, in blocks.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::storage::make_private_folder;

/// Bytes in a block of the file.
pub(super) const BLOCK: usize = 16 << 10;

/// Bytes that are kept in memory, of all texts together.
const MOST_MEMORY: u64 = 8 << 20;

/// What temporary texts take, and what they may take.
#[derive(Debug)]
pub struct Pool {
    /// Bytes in memory and file together.
    most: u64,
    /// Where the file is made; else where the system has temporary files.
    directory: Option<PathBuf>,
    taken: Mutex<TakenBlocks>,
}

#[derive(Debug, Default)]
struct TakenBlocks {
    /// Made when the first block is taken.
    file: Option<Arc<File>>,
    free: Vec<u32>,
    /// Blocks that the file has, free ones included.
    blocks: u32,
    memory: u64,
}

impl TakenBlocks {
    fn bytes(&self) -> u64 {
        let blocks = u64::from(self.blocks) - self.free.len() as u64;
        blocks * BLOCK as u64 + self.memory
    }
}

impl Pool {
    /// Room for so many bytes, in a file that is made in `directory` if
    /// possible.
    pub fn new(most: u64, directory: Option<PathBuf>) -> Pool {
        Pool {
            most,
            directory,
            taken: Mutex::default(),
        }
    }

    /// Bytes there may be.
    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Bytes there are.
    pub fn bytes(&self) -> u64 {
        self.taken.lock().bytes()
    }

    /// Takes so many bytes of memory; gives whether there is room for them
    /// in memory.
    pub(super) fn take_memory(&self, bytes: u64) -> bool {
        let mut taken = self.taken.lock();
        let has_room = taken.memory + bytes <= MOST_MEMORY && taken.bytes() + bytes <= self.most;
        if has_room {
            taken.memory += bytes;
        }
        has_room
    }

    pub(super) fn give_memory(&self, bytes: u64) {
        let mut taken = self.taken.lock();
        taken.memory = taken.memory.saturating_sub(bytes);
    }

    /// Takes a block; what is in it is not said.
    pub(super) fn take_block(&self) -> io::Result<u32> {
        let mut taken = self.taken.lock();
        if taken.bytes() + BLOCK as u64 > self.most {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(block) = taken.free.pop() {
            return Ok(block);
        }
        if taken.file.is_none() {
            taken.file = Some(Arc::new(self.make_file()?));
        }
        let block = taken.blocks;
        taken.blocks = block.checked_add(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(block)
    }

    fn make_file(&self) -> io::Result<File> {
        let made = self.directory.as_deref().map(|directory| {
            make_private_folder(directory)?;
            let file = tempfile::tempfile_in(directory)?;
            // On a full disk there is room for a file, and none for a block of it.
            file.write_all_at(&[0; BLOCK], 0)?;
            io::Result::Ok(file)
        });
        match made {
            Some(Ok(file)) => Ok(file),
            _ => tempfile::tempfile(),
        }
    }

    pub(super) fn give_block(&self, block: u32) {
        let mut taken = self.taken.lock();
        taken.free.push(block);
        if taken.free.len() as u64 == u64::from(taken.blocks) {
            // The disk gets its room back.
            taken.free = Vec::new();
            taken.blocks = 0;
            taken.file = None;
        }
    }

    fn file(&self) -> io::Result<Arc<File>> {
        self.taken.lock().file.clone().ok_or_else(gone)
    }

    /// Fills `bytes` from a block.
    pub(super) fn read(&self, block: u32, start: usize, bytes: &mut [u8]) -> io::Result<()> {
        self.file()?.read_exact_at(bytes, place(block, start))
    }

    /// Writes `bytes` into a block.
    pub(super) fn write(&self, block: u32, start: usize, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write_all_at(bytes, place(block, start))
    }
}

fn place(block: u32, start: usize) -> u64 {
    u64::from(block) * BLOCK as u64 + start as u64
}

/// A block or a part of one is not there, although it was taken.
pub(super) fn gone() -> io::Error {
    io::ErrorKind::NotFound.into()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;

    #[test]
    fn the_file_is_made_in_the_directory_and_goes_with_its_last_block() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Pool::new(2 * BLOCK as u64, Some(folder.path().join("room")));
        let blocks = [pool.take_block().unwrap(), pool.take_block().unwrap()];
        assert_eq!((blocks, pool.bytes()), ([0, 1], pool.most()));
        assert!(pool.take_block().is_err() && !pool.take_memory(1));
        let number = pool.file().unwrap().as_raw_fd();
        let path = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
        assert!(path.starts_with(folder.path().join("room")), "{path:?}");
        pool.give_block(0);
        assert!(pool.take_memory(BLOCK as u64) && !pool.take_memory(1));
        pool.give_memory(BLOCK as u64);
        assert_eq!(pool.take_block().unwrap(), 0);
        pool.give_block(1);
        pool.give_block(0);
        assert_eq!(pool.bytes(), 0);
        assert!(pool.file().is_err());
    }

    #[test]
    fn the_file_lies_elsewhere_if_its_directory_cannot_be_made() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("file");
        std::fs::write(&closed, "mine").unwrap();
        let pool = Pool::new(BLOCK as u64, Some(closed));
        pool.take_block().unwrap();
        assert!(pool.file().is_ok());
    }

    #[test]
    fn little_lies_in_memory_whatever_room_there_is() {
        let pool = Pool::new(u64::MAX, None);
        assert!(pool.take_memory(MOST_MEMORY - 1));
        assert!(!pool.take_memory(2) && pool.take_memory(1) && !pool.take_memory(1));
        assert_eq!(pool.bytes(), MOST_MEMORY);
        pool.give_memory(5);
        assert!(!pool.take_memory(6) && pool.take_memory(5));
    }
}
