//! Where the index of positions of a base is kept, and whether it is of its files
//! as they are.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Base, Searched};
use crate::search::{Fault, Index, NewSegment, Phase, Segment};
use crate::storage::{marked, split_name};

/// Files that were written later than so many seconds ago could be written again
/// without another time.
const UNSETTLED: i64 = 3;

/// The file of the index of a base, in the directory `caches`.
pub fn index_file(base: &dyn Base, caches: &Path) -> PathBuf {
    let files = base.files();
    let headers = match base.location().archive {
        Some(_) => base.location().directory.to_path_buf(),
        None => files
            .first()
            .map(|file| file.path.clone())
            .unwrap_or_default(),
    };
    let headers = fs::canonicalize(&headers).unwrap_or(headers);
    let (stem, _) = split_name(&headers);
    let stem: String = stem.to_string_lossy().chars().take(40).collect();
    let hash = marked(0, headers.as_os_str().as_bytes());
    caches.join(format!("{stem}-{hash:016x}.positions"))
}

/// A number for the files as they are: another one whenever one of them could have
/// other bytes. 0 if nobody can say that.
fn state_of(base: &dyn Base) -> u64 {
    if !base.is_as_stored() {
        return 0;
    }
    let paths = match base.location().archive {
        Some(_) => vec![base.location().directory.to_path_buf()],
        None => base.files().into_iter().map(|file| file.path).collect(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |time| i64::try_from(time.as_secs()).unwrap_or(0));
    let mut state = 0;
    for path in paths {
        let Ok(file) = fs::metadata(&path) else {
            continue;
        };
        if file.mtime().max(file.ctime()) > now - UNSETTLED {
            return 0;
        }
        let times = [
            file.mtime(),
            file.mtime_nsec(),
            file.ctime(),
            file.ctime_nsec(),
        ];
        let numbers = [file.dev(), file.ino(), file.size()].map(u64::to_le_bytes);
        state = marked(state, path.as_os_str().as_bytes());
        state = marked(state, numbers.as_flattened());
        state = marked(state, times.map(i64::to_le_bytes).as_flattened());
    }
    state
}

/// What is known of the index of a base.
#[derive(Debug)]
pub enum IndexState {
    /// There is none.
    Missing,
    /// It cannot be used, and why.
    Unusable(String),
    /// It can be used.
    Usable(Index),
}

/// Opens the index of a base in `path`.
///
/// # Errors
///
/// [`Fault`] if the headers of the base cannot be read.
pub fn open_index(base: &dyn Base, path: &Path) -> Result<IndexState, Fault> {
    let segment = match Segment::open(path) {
        Ok(segment) => segment,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(IndexState::Missing);
        }
        Err(error) => return Ok(IndexState::Unusable(error.to_string())),
    };
    let state = state_of(base);
    let is_state = state != 0 && state == segment.state();
    Ok(
        match Index::of_segment(segment, &Searched(base), is_state)? {
            Some(index) => IndexState::Usable(index),
            None => IndexState::Unusable("too many games have changed since".to_owned()),
        },
    )
}

/// Makes the index of a base in `path`; false once `goes_on` says that it shall
/// not be.
///
/// # Errors
///
/// [`Fault`] if a game cannot be read, or the file not written.
pub fn make_index(
    base: &dyn Base,
    path: &Path,
    goes_on: &mut dyn FnMut(Phase) -> bool,
) -> Result<bool, Fault> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let before = state_of(base);
    let Some(made) = NewSegment::make(&Searched(base), folder, goes_on)? else {
        return Ok(false);
    };
    let is_still = state_of(base) == before;
    made.keep(path, if is_still { before } else { 0 })?;
    Ok(true)
}
