//! Edits of what is mounted, and what is shown after each.

use std::time::{Duration, Instant};

use super::{Edit, Error, Ino, Refusal, Saved, Source, Vfs};
use crate::fs::mount::whole::InoTarget;

/// Maximum time until a save is durable.
const SYNCED_AFTER: Duration = Duration::from_secs(3);

impl Vfs {
    /// Saves an edit of the volume that `ino` belongs to; when it returns, the
    /// mount shows what is stored then. Numbers in it are those of the volume.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: nothing has changed.
    pub fn edit(&self, ino: Ino, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        match self.mount.place(ino)? {
            InoTarget::Volume(live, _) => live.edit(edit),
            InoTarget::BaseFolder(..) => Err(Error::NotPermitted.into()),
        }
    }

    /// Returns when all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// The first that any base has; the others are synced all the same.
    pub fn sync(&self) -> Result<(), Error> {
        let live_bases = self.mount.known_bases();
        let synced = live_bases.iter().map(|live| live.sync());
        synced.fold(Ok(()), Result::and)
    }

    /// Syncs what was saved some seconds ago. To be called again and again,
    /// with the time it is, by a thread that may wait for a medium.
    pub fn sync_if_due(&self, now: Instant) {
        for live in self.mount.known_bases() {
            if live.is_sync_due(now, SYNCED_AFTER) {
                // It is told in the log and in `.cbfs/status`, and tried again.
                let _ = live.sync();
            }
        }
    }

    /// Syncs and releases all bases, so that other processes can change them.
    /// Later saves fail.
    pub fn close(&self) {
        for live in self.mount.known_bases() {
            if let Some(Err(why)) = live.source().map(Source::close) {
                log::error!("{why}");
            }
        }
    }
}
