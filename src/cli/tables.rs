//! Tables in Parquet files: `cbfs export --format parquet`, and such a folder as
//! a source of `cbfs import`.

use std::path::Path;

use indicatif::ProgressBar;

use super::Failure;
use crate::base::Base;

/// What is to be exported.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    pub(super) is_clean: bool,
    pub(super) with_positions: bool,
    pub(super) with_deleted: bool,
}

/// Said by a program that cannot write or read Parquet.
#[cfg(not(feature = "parquet"))]
const WITHOUT: &str = "this cbfs was built without Parquet; build it with --features parquet";

/// Writes the games of a base as tables into a new folder, completely or not at
/// all. Returns the number of games that cannot be read.
#[cfg(feature = "parquet")]
pub(super) fn export(
    base: &dyn Base,
    folder: &Path,
    wishes: Wishes,
    bar: &ProgressBar,
) -> Result<u64, Failure> {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::signals;
    use crate::tables;

    ensure_unused(folder)?;
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let about = |error| Failure::about(folder, error);
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let temporary = tempfile::Builder::new()
        .prefix(".cbfs-export-")
        .permissions(fs::Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .map_err(about)?;
    signals::remove_on_signal(ending, temporary.path().to_path_buf());
    let watch = Watch::new(bar);
    let wishes = tables::Wishes {
        is_clean: wishes.is_clean,
        with_positions: wishes.with_positions,
        with_deleted: wishes.with_deleted,
    };
    tables::export(base, temporary.path(), wishes, &watch).map_err(about)?;
    // This replaces an empty folder, and nothing else.
    fs::rename(temporary.path(), folder).map_err(about)?;
    drop(temporary.keep());
    let synced = fs::File::open(parent).and_then(|parent| parent.sync_all());
    synced.map_err(about)?;
    Ok(watch.unreadable())
}

#[cfg(not(feature = "parquet"))]
pub(super) fn export(_: &dyn Base, _: &Path, _: Wishes, _: &ProgressBar) -> Result<u64, Failure> {
    Err(Failure::new(WITHOUT))
}

/// Checks that nothing is at this path, or an empty folder.
#[cfg(feature = "parquet")]
fn ensure_unused(folder: &Path) -> Result<(), Failure> {
    if folder.symlink_metadata().is_err() {
        return Ok(());
    }
    let is_empty = folder
        .read_dir()
        .map(|mut entries| entries.next().is_none());
    match is_empty {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::about(
            folder,
            "exists already and is not empty; tables need a new folder",
        )),
        Err(_) => Err(Failure::about(
            folder,
            "exists already and is no folder; tables need a new folder",
        )),
    }
}

/// Shows progress.
#[cfg(feature = "parquet")]
struct Watch<'b> {
    bar: &'b ProgressBar,
    unreadable: std::sync::atomic::AtomicU64,
}

#[cfg(feature = "parquet")]
impl Watch<'_> {
    fn new(bar: &ProgressBar) -> Watch<'_> {
        Watch {
            bar,
            unreadable: 0.into(),
        }
    }

    fn unreadable(&self) -> u64 {
        self.unreadable.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(feature = "parquet")]
impl crate::tables::Progress for Watch<'_> {
    fn written(&self, games: u64) {
        self.bar.inc(games);
    }

    fn unreadable(&self, id: crate::cbh::GameId, error: &crate::cbh::Error) {
        use std::sync::atomic::Ordering::Relaxed;

        self.unreadable.fetch_add(1, Relaxed);
        log::error!("game {}: {error}", id.0);
    }
}

/// Returns whether a path is a folder, or a Parquet file.
pub(super) fn is_table(path: &Path) -> bool {
    #[cfg(feature = "parquet")]
    {
        crate::tables::is_table(path)
    }
    #[cfg(not(feature = "parquet"))]
    {
        let extension = path.extension();
        path.is_dir() || extension.is_some_and(|extension| extension == "parquet")
    }
}

/// The games of a table as PGN.
#[cfg(feature = "parquet")]
pub(super) fn read(path: &Path, bar: &ProgressBar) -> Result<crate::tables::Texts, Failure> {
    let name = crate::escape::Escaped(path.display()).to_string();
    let progress = |games: u64| bar.set_message(format!("{name}: {games} games read"));
    crate::tables::Texts::open(path, &progress).map_err(|error| Failure::about(path, error))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn read(_: &Path, _: &ProgressBar) -> Result<std::io::Empty, Failure> {
    Err(Failure::new(WITHOUT))
}
