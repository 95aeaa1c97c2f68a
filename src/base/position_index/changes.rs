//! The games that have changed since an index was made, noted beside it: so they
//! need not be looked for again while the files are as they were then.
//!
//! A note says to which index and to which state of the files it belongs. It is
//! written whole under another name, checked when it is read, and may be missing.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::search::{GameSet, MOST_CHANGED, Segment};
use crate::storage::{marked, new_own, open_own};

const MAGIC: &[u8] = b"cbfs changed 1\n";

/// Bytes of a note, at most.
const MOST_BYTES: u64 = 64 + 4 * MOST_CHANGED as u64;

/// The file of the note on the index in `path`.
pub(super) fn file(path: &Path) -> PathBuf {
    path.with_extension("changed")
}

/// What a note begins with.
fn head(segment: &Segment, state: u64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(segment.id().to_le_bytes());
    bytes.extend(state.to_le_bytes());
    bytes
}

/// The games that were noted for this state of the files.
pub(super) fn read(path: &Path, segment: &Segment, state: u64) -> Option<GameSet> {
    let mut bytes = Vec::new();
    let file = open_own(&file(path)).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let (content, sum) = bytes.split_last_chunk()?;
    if marked(0, content) != u64::from_le_bytes(*sum) {
        return None;
    }
    let games = content.strip_prefix(&*head(segment, state))?;
    let (games, rest) = games.as_chunks();
    let games = games.iter().map(|game| u32::from_le_bytes(*game));
    rest.is_empty().then(|| games.collect())
}

/// Notes them.
pub(super) fn write(path: &Path, segment: &Segment, state: u64, games: &GameSet) -> io::Result<()> {
    let mut bytes = head(segment, state);
    for game in games.from(0) {
        bytes.extend(game.to_le_bytes());
    }
    bytes.extend(marked(0, &bytes).to_le_bytes());
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut new = new_own(folder)?;
    new.write_all(&bytes)?;
    new.persist(file(path)).map_err(|error| error.error)?;
    Ok(())
}
