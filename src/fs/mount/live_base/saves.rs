//! Edits of a base, and bringing them to the disk.

use super::{LiveBase, Unsynced};
use crate::fs::editor::{Edit, Refusal, Saved};
use crate::fs::{Error, Source};

impl LiveBase {
    /// Saves an edit, and shows what is stored then. One of a state that is over
    /// is tried once more with the present one.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: nothing has changed.
    pub(crate) fn edit(&self, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let saved = match self.save(edit) {
            Err(Refusal::Outdated) => {
                self.refresh();
                self.save(edit)
                    .map_err(|refusal| self.with_complaint(refusal))?
            }
            saved => saved?,
        };
        for note in &saved.notes {
            log::warn!("{note}");
        }
        Ok(saved)
    }

    /// The refusal, or why the base cannot be opened as other programs left it.
    fn with_complaint(&self, refusal: Refusal) -> Refusal {
        match (refusal, self.shown().complaint) {
            (Refusal::Outdated, Some(why)) => Refusal::Failed(Error::Damaged(why)),
            (refusal, _) => refusal,
        }
    }

    /// Returns when all that was saved survives a power cut; why it does not is
    /// logged once, and stands in `.cbfs/status` until it succeeds.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        let snapshot = self.opened();
        let unsynced = std::mem::replace(&mut *self.unsynced.lock(), Unsynced::Nothing);
        // One that went away is not shown, but may have saves in its journal.
        if snapshot.is_none() && matches!(unsynced, Unsynced::Nothing) {
            return Ok(());
        }
        let editor = snapshot.as_ref().and_then(|shown| shown.volume.editor());
        let synced = match (editor, self.source()) {
            (Some(editor), _) => editor.sync(),
            // It could be edited when something was saved.
            (None, Some(source)) => source.sync(),
            (None, None) => Ok(()),
        };
        if synced.is_err() {
            self.note_save();
        }
        let problem = synced.as_ref().err().map(problem_of);
        if self.note_problem(problem.clone()) {
            let path = self.source().and_then(Source::path);
            let name = path.map_or("the base".into(), |path| path.to_string_lossy());
            match problem {
                None => log::info!("{name}: all saves are durable again"),
                Some(problem) => log::error!("{name}: {problem}"),
            }
        }
        synced
    }
}

/// What is wrong if saves cannot be brought into the files of a base, what is
/// safe, and what to do.
fn problem_of(error: &Error) -> String {
    let (why, advice) = match error {
        Error::Protected(why) => (why.clone(), "the mount only reads until that is mended"),
        Error::NoSpace => ("the disk is full".to_owned(), "free some space on it"),
        Error::Stale => (
            "another program changed the files of the base".to_owned(),
            "restore those files, or unmount and move the journal away, which discards these \
            saves",
        ),
        other => (other.to_string(), "see to that, or to the disk it lies on"),
    };
    format!(
        "saves are not in the files of the base yet: {why}. They are in its journal and survive \
         a crash of cbfs, but perhaps no power cut; {advice}. It is tried again every few seconds"
    )
}
