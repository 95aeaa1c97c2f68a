//! The file of the position index of a base, and whether it matches the present
//! files.

mod changes;
mod making;

pub use making::IndexMaking;

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Base, Searched};
use crate::search::{
    GameSet, MOST_CHANGED, NewSegment, Phase, PositionTable, SearchedGames, Segment, SourceError,
    masks_file,
};
use crate::storage::{marked, name_elsewhere};

/// Age in seconds below which a file could change again without a new
/// timestamp.
const UNSETTLED: i64 = 3;

/// Age in seconds below which a power cut may undo a write but keep its
/// timestamp.
const UNSYNCED: i64 = 120;

/// A new one for each start of the system.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

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
    caches.join(name_elsewhere(&headers) + ".positions")
}

/// A number for the files of a base as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesState(u64);

impl FilesState {
    /// Returns the state of the files now. It changes whenever the bytes of a
    /// file could have changed. Call it directly after opening the base: it is
    /// wrong for files that were replaced since.
    pub fn of(base: &dyn Base) -> FilesState {
        let is_stored = base.is_as_stored();
        FilesState(is_stored.then(|| state_of(base)).flatten().unwrap_or(0))
    }

    /// Whether it says anything.
    fn is_known(self) -> bool {
        self.0 != 0
    }
}

fn state_of(base: &dyn Base) -> Option<u64> {
    let paths = match base.location().archive {
        Some(_) => vec![base.location().directory.to_path_buf()],
        None => base.files().into_iter().map(|file| file.path).collect(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = i64::try_from(now.ok()?.as_secs()).ok()?;
    let (mut state, mut latest) = (1, 0);
    for path in paths {
        let Ok(file) = fs::metadata(&path) else {
            continue;
        };
        latest = latest.max(file.mtime()).max(file.ctime());
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
    if latest > now - UNSYNCED {
        state = marked(state, &fs::read(BOOT).ok()?);
    }
    (latest <= now - UNSETTLED).then_some(state)
}

/// What is known of the index of a base.
#[derive(Debug)]
pub enum IndexState {
    /// There is none.
    Missing,
    /// It cannot be used, and why.
    Unusable(String),
    /// It can be used.
    Usable(PositionTable),
}

/// Opens the index of a base in `path`; `opened` is the state in which the files of
/// the base were opened.
///
/// # Errors
///
/// [`SourceError`] if the headers of the base cannot be read.
pub fn open_index(
    base: &dyn Base,
    opened: FilesState,
    path: &Path,
    in_variations: bool,
) -> Result<IndexState, SourceError> {
    let segment = match Segment::open(path) {
        Ok(segment) => Arc::new(segment),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(IndexState::Missing);
        }
        Err(error) => return Ok(IndexState::Unusable(error.to_string())),
    };
    let index = index_of(base, opened, &segment, path, in_variations)?;
    Ok(index.map_or_else(
        || {
            IndexState::Unusable(
                "it is of another base, or too many games have changed since".to_owned(),
            )
        },
        IndexState::Usable,
    ))
}

/// Returns the index of a base from the segment in `path`, with the games that
/// have changed; `None` if there are too many.
///
/// # Errors
///
/// [`SourceError`] if the headers of the base cannot be read.
pub fn index_of(
    base: &dyn Base,
    opened: FilesState,
    segment: &Arc<Segment>,
    path: &Path,
    in_variations: bool,
) -> Result<Option<PositionTable>, SourceError> {
    let source = Searched(base);
    let is_open = || opened.is_known() && opened == FilesState::of(base);
    let known = if !is_open() {
        None
    } else if opened.0 == segment.state() {
        Some(GameSet::default())
    } else {
        changes::read(path, segment, opened.0)
    };
    let changed = if let Some(known) = known {
        known
    } else {
        let Some(changed) = segment.changed(&source, MOST_CHANGED, &|| true)? else {
            return Ok(None);
        };
        // Another base has put its own there.
        if changed.count() > segment.last().max(source.last()) / 2 {
            return Ok(None);
        }
        if is_open()
            && let Err(error) = changes::write(path, segment, opened.0, &changed)
        {
            log::debug!("{}: {error}", path.display());
        }
        changed
    };
    PositionTable::of_segment(segment, &source, &changed, in_variations)
}

/// Makes a segment, from that in `path` if it can be used.
fn make_segment(
    source: &Searched<'_>,
    path: &Path,
    folder: &Path,
    goes_on: &mut dyn FnMut(Phase) -> bool,
) -> Result<Option<NewSegment>, SourceError> {
    if let Ok(old) = Segment::open(path) {
        match NewSegment::make_from(&old, source, folder, goes_on) {
            Ok(made) => return Ok(made),
            Err(fault) => log::info!("{}: {fault}; it is made anew", path.display()),
        }
    }
    NewSegment::make(source, folder, goes_on)
}

/// Builds the index of a base in `path`, or updates it. `opened` is the state
/// of the files at opening. Returns `false` if `goes_on` stopped it.
///
/// # Errors
///
/// [`SourceError`] if the headers cannot be read, or the file not written.
pub fn make_index(
    base: &dyn Base,
    opened: FilesState,
    path: &Path,
    goes_on: &mut dyn FnMut(Phase) -> bool,
) -> Result<bool, SourceError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let Some(made) = make_segment(&Searched(base), path, folder, goes_on)? else {
        return Ok(false);
    };
    let is_still = FilesState::of(base) == opened;
    made.keep(path, if is_still { opened.0 } else { 0 })?;
    let _ = fs::remove_file(changes::file(path));
    Ok(true)
}

/// Deletes the index in `path`.
///
/// # Errors
///
/// Errors of the system; there being none is none.
pub fn delete_index(path: &Path) -> io::Result<()> {
    for file in [path.to_path_buf(), changes::file(path), masks_file(path)] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
