//! Access to files, and atomic and durable saves.
//!
//! A base is a set of files that another program may change, cut short or
//! replace at any moment. They are read with `pread` and never mapped into
//! memory: a file that ends early is then an error of that one read, not a
//! signal that ends the daemon, and the crate needs no `unsafe`. Measured on
//! a base of 6117 games, the reads of one game cost a tenth of what the
//! kernel's round trip to the daemon costs.
//!
//! Saves go through a [`Store`]. A [`Transaction`] on several files is applied
//! as a whole or not at all, after any failure, by means of a redo [`journal`]
//! beside the base.

mod apply;
mod buffer;
mod copy;
mod directory;
mod disk;
mod error;
mod files_after;
mod fit;
mod folder;
mod folder_watch;
mod joined;
mod journal;
mod journal_writer;
mod memory;
mod memory_directory;
mod new_folder;
mod pages;
mod pieces;
mod plain_files;
mod private;
mod recent_reads;
mod record;
pub(crate) mod rejected;
mod scratch;
mod sparse_words;
mod spilled_words;
mod stage;
mod store;
mod transaction;
mod unfinished;
mod view;
mod work_folder;

pub use buffer::ReadBuffer;
pub(crate) use buffer::next_file_number;
pub(crate) use directory::length_and_time;
pub use directory::{Directory, FolderTree, OpenFile, Stamp, WritableFile};
pub use disk::{DiskDirectory, DiskFile, Rights, make_as_private};
pub use error::Error;
pub(crate) use error::may_pass;
pub use files_after::FilesAfter;
pub use fit::{has_saves, has_saves_for};
pub(crate) use folder::write_whole;
pub use folder::{
    LeftOut, MOST_NAME, TOO_DEEP, copy_plain_file, cut_name, folder_of, is_same_stem, join_name,
    kind_of, name_elsewhere, name_of_set_elsewhere, names_in, split_name, sync_folder,
    sync_or_move_back,
};
pub use folder_watch::{Relisting, identities, identity, modified};
pub use joined::JoinedFiles;
pub use memory::MemoryFile;
pub use memory_directory::{MemoryDirectory, SimulatedFailure};
pub use new_folder::make_folder;
pub use pages::{Cursor, HEAD, PageWriter, PagedFile, open_own, write_head};
pub use plain_files::PlainFiles;
pub use private::{make_private_folder, open_plain_file, open_regular};
pub use scratch::{Buffer, Pool, Spool};
pub(crate) use scratch::{SharedBuffer, reader_of};
pub(crate) use sparse_words::SparseWords;
pub(crate) use spilled_words::SpilledWords;
pub use stage::{Stage, note_name as stage_note};
pub use store::{FileFilter, Store, StoreAccess, StoreOptions};
pub use transaction::Transaction;
pub use unfinished::new_own;
pub use work_folder::{WorkFolder, WorkFolderError, is_hidden_of_cbfs, move_to_free};

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

/// Returns the mark `before` extended by these bytes. It changes if they
/// change.
pub(crate) fn marked(before: u64, bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, before)
}

/// A file, read at any offset by any thread.
pub trait Storage: Debug + Send + Sync {
    /// Present length in bytes.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn len(&self) -> io::Result<u64>;

    /// Returns whether the file is empty.
    ///
    /// # Errors
    ///
    /// As [`len`](Storage::len).
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Checks, after a read found the file shorter than `end`, that it was as
    /// short when it was opened.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if it was truncated since; else errors of the medium.
    fn ensure_kept(&self, _end: u64) -> io::Result<()> {
        Ok(())
    }

    /// Reads the `len` bytes at `offset`. Returns a part of the file itself if
    /// it is in memory, or else the filled `buffer`.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if the file ends before; else errors of the medium.
    fn read<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        let read = self.read_up_to(offset, len, buffer)?;
        if read.len() < len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(read)
    }

    /// As [`read`](Storage::read), but returns fewer bytes at the end of the
    /// file.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]>;

    /// Sets `bytes` to the `len` bytes at `offset`, fewer at the end of the
    /// file.
    ///
    /// # Errors
    ///
    /// Errors of the medium.
    fn fill(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        let mut buffer = ReadBuffer::default();
        bytes.extend_from_slice(self.read_up_to(offset, len, &mut buffer)?);
        Ok(())
    }
}

impl<S: Storage + ?Sized> Storage for Arc<S> {
    fn len(&self) -> io::Result<u64> {
        self.as_ref().len()
    }

    fn ensure_kept(&self, end: u64) -> io::Result<()> {
        self.as_ref().ensure_kept(end)
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        self.as_ref().read_up_to(offset, len, buffer)
    }

    fn fill(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.as_ref().fill(offset, len, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_bytes_and_their_order() {
        let mark = |parts: [&[u8]; 2]| parts.into_iter().fold(0, marked);
        assert_eq!(mark([b"a", b"b"]), mark([b"a", b"b"]));
        assert_ne!(mark([b"a", b"b"]), mark([b"b", b"a"]));
        assert_ne!(mark([b"a", b"b"]), mark([b"a", b"c"]));
    }

    #[test]
    fn a_read_gets_all_bytes_or_what_there_is_if_that_is_asked_for() {
        let file = MemoryFile::from(b"0123".to_vec());
        assert!(!file.is_empty().unwrap() && MemoryFile::default().is_empty().unwrap());
        let mut buffer = ReadBuffer::default();
        assert_eq!(file.read(1, 3, &mut buffer).unwrap(), b"123");
        let short = file.read(2, 3, &mut buffer).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::UnexpectedEof);
        let mut bytes = b"before".to_vec();
        for (offset, wanted) in [(2, &b"23"[..]), (0, b"012"), (9, b"")] {
            file.fill(offset, 3, &mut bytes).unwrap();
            assert_eq!(bytes, wanted);
        }
    }

    #[test]
    fn a_shared_file_answers_as_the_file_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123").unwrap();
        let file: Arc<dyn Storage> = Arc::new(DiskFile::open(&path).unwrap());
        assert_eq!(Storage::len(&file).unwrap(), 4);
        let mut bytes = Vec::new();
        Storage::fill(&file, 1, 9, &mut bytes).unwrap();
        assert_eq!(bytes, b"123");
        let writable = std::fs::File::options().write(true).open(&path).unwrap();
        writable.set_len(2).unwrap();
        assert!(Storage::ensure_kept(&file, 2).is_ok());
        assert!(Storage::ensure_kept(&file, 3).is_err());
    }
}
