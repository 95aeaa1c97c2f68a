//! Edits of what is mounted, and what is shown after each.

use std::time::{Duration, Instant};

use super::editor::{Edit, Refusal, Saved};
use super::slot::Slot;
use super::source::Source;
use super::{Error, Ino, Place, Vfs};

/// So long after a save it survives a power cut, at the latest.
const SYNCED_AFTER: Duration = Duration::from_secs(3);

impl Vfs {
    /// Saves an edit of the volume that `ino` belongs to; when it returns, the
    /// mount shows what is stored then. Numbers in it are those of the volume.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: nothing has changed.
    pub fn edit(&self, ino: Ino, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        match self.place(ino)? {
            Place::Volume(slot, _) => slot.edit(edit),
            Place::Shelf(..) => Err(Error::NotPermitted.into()),
        }
    }

    /// Returns when all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// The first that any base has; the others are synced all the same.
    pub fn sync(&self) -> Result<(), Error> {
        let slots = self.slots();
        let synced = slots.iter().map(|slot| slot.sync());
        synced.fold(Ok(()), Result::and)
    }

    /// Syncs what was saved some seconds ago. To be called again and again,
    /// with the time it is, by a thread that may wait for a medium.
    pub fn sync_if_due(&self, now: Instant) {
        for slot in self.slots() {
            if slot.is_sync_due(now, SYNCED_AFTER) {
                // It is told in the log and in `.cbfs/status`, and tried again.
                let _ = slot.sync();
            }
        }
    }

    /// Lets go of all bases: what was saved survives a power cut then, and
    /// others may change them. Nothing can be saved any more.
    pub fn close(&self) {
        for slot in self.slots() {
            if let Some(Err(why)) = slot.source().map(Source::close) {
                log::error!(
                    "{why}; what was saved is in the journal, and shown by each mount; one that \
                     can write brings it into the base"
                );
            }
        }
    }
}

impl Slot {
    /// As [`Vfs::edit`]. An edit of a state that is over is tried once more
    /// with the present one.
    pub(super) fn edit(&self, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let saved = match self.save(edit) {
            Err(Refusal::Outdated) => {
                self.refresh();
                self.save(edit).map_err(|refusal| self.or_gone(refusal))?
            }
            saved => saved?,
        };
        for note in &saved.notes {
            log::warn!("{note}");
        }
        Ok(saved)
    }

    /// The refusal, or why the base cannot be opened any more if a file of it
    /// is gone.
    fn or_gone(&self, refusal: Refusal) -> Refusal {
        match (refusal, self.shown().complaint) {
            (Refusal::Outdated, Some(why)) if self.source().is_some_and(Source::is_gone) => {
                Refusal::Failed(Error::Damaged(why))
            }
            (refusal, _) => refusal,
        }
    }

    /// As [`Vfs::sync`]; why it fails is logged once, and stands in
    /// `.cbfs/status` until it succeeds.
    pub(super) fn sync(&self) -> Result<(), Error> {
        let Some(edition) = self.opened() else {
            return Ok(());
        };
        self.begin_sync();
        let synced = match (edition.volume.editor(), self.source()) {
            (Some(editor), _) => editor.sync(),
            // It could be edited when something was saved.
            (None, Some(source)) => source.sync(),
            (None, None) => Ok(()),
        };
        self.tell_synced(&synced);
        synced
    }

    fn tell_synced(&self, synced: &Result<(), Error>) {
        let name = || {
            let path = self.source().and_then(Source::path);
            path.map_or("the base".to_owned(), |path| path.display().to_string())
        };
        match synced {
            Ok(()) => {
                if self.note_problem(None) {
                    log::warn!("{}: all saves are on the disk now", name());
                }
            }
            Err(error) => {
                self.note_save();
                let problem = problem_of(error);
                if self.note_problem(Some(problem.clone())) {
                    log::error!("{}: {problem}", name());
                }
            }
        }
    }
}

/// What is wrong if saves cannot be brought into the files of a base, what is
/// safe, and what to do.
fn problem_of(error: &Error) -> String {
    let (why, advice) = match error {
        Error::Protected(why) => (why.clone(), "the mount only reads until that is mended"),
        Error::NoSpace => ("the disk is full".to_owned(), "free some space on it"),
        Error::Stale => (
            "another program changed the files under them".to_owned(),
            "put its files back as they were, or unmount and move the journal away to go on \
             without these saves",
        ),
        other => (other.to_string(), "see to the disk it lies on"),
    };
    format!(
        "saves are not in the files of the base yet: {why}. They are in its journal and survive \
         a crash of cbfs, but perhaps no power cut; {advice}. It is tried again every few seconds"
    )
}
