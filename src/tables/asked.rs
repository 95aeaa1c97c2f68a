//! What is asked of the export of tables, and which paths are read as tables.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::cbh::{Error, GameId};

/// Extension of files.
pub(super) const EXTENSION: &str = "parquet";

/// First bytes of a file.
const MAGIC: &[u8] = b"PAR1";

/// What is to be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions {
    /// Leave out tags and commands that only cbfs reads.
    pub is_clean: bool,
    /// Also write the table of positions.
    pub with_positions: bool,
    /// Also write games that are marked deleted.
    pub with_deleted: bool,
}

/// Is told how the export goes on, by any thread.
pub trait Progress: Sync {
    /// So many more games were written. `false` ends the work.
    fn written(&self, games: u64) -> bool;

    /// A game cannot be read, and is not in the tables.
    fn unreadable(&self, id: GameId, error: &Error);
}

/// Returns whether a path is a folder, or a Parquet file by its first bytes or
/// its extension.
pub fn is_table(path: &Path) -> bool {
    let has_magic = |path: &Path| {
        let mut head = [0; MAGIC.len()];
        let read = File::open(path).and_then(|file| file.read_exact_at(&mut head, 0));
        read.is_ok() && head == MAGIC
    };
    let Ok(metadata) = fs::metadata(path) else {
        return false;
    };
    metadata.is_dir() || metadata.is_file() && (is_parquet(path) || has_magic(path))
}

pub(super) fn is_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION))
}
