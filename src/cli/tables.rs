//! Tables in Parquet files: `cbfs export --format parquet`, and such a folder as
//! a source of `cbfs import`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use indicatif::ProgressBar;

use super::{Failure, signals};
use crate::base::Base;
use crate::cbh::{Error, GameId};
use crate::escape::Escaped;
use crate::tables::{self, Progress, TableAsPgn, TableOptions};

/// Writes the games of a base as tables into a new folder, completely or not at
/// all. Returns the number of games that cannot be read.
pub(super) fn export(
    base: &dyn Base,
    folder: &Path,
    wishes: TableOptions,
    bar: &ProgressBar,
) -> Result<u64, Failure> {
    let ending = signals::block_unless_ignored().map_err(Failure::new)?;
    let watch = Watch {
        bar,
        is_ended: signals::flag_on_signal(ending),
        unreadable: AtomicU64::new(0),
    };
    let made = tables::export(base, folder, wishes, &watch);
    made.map_err(|error| Failure::not_made(folder, &error))?;
    Ok(watch.unreadable.into_inner())
}

/// Shows progress, and ends the work on a signal.
struct Watch<'b> {
    bar: &'b ProgressBar,
    is_ended: Arc<AtomicBool>,
    unreadable: AtomicU64,
}

impl Progress for Watch<'_> {
    fn written(&self, games: u64) -> bool {
        self.bar.inc(games);
        !self.is_ended.load(Relaxed)
    }

    fn unreadable(&self, id: GameId, error: &Error) {
        self.unreadable.fetch_add(1, Relaxed);
        log::error!("game {}: {error}", id.0);
    }
}

/// The games of a table as PGN.
pub(super) fn read(path: &Path, bar: &ProgressBar) -> Result<TableAsPgn, Failure> {
    let name = Escaped(path.display()).to_string();
    let progress = |games: u64| bar.set_message(format!("{name}: {games} games read"));
    TableAsPgn::open(path, &progress).map_err(|error| Failure::about(path, error))
}
