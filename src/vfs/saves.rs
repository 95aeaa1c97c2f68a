//! Edits of what is mounted, and what is shown after each.

use super::editor::{Editor, Refusal, Saved};
use super::slot::Slot;
use super::{Error, Ino, Place, Vfs};

/// What saves one edit.
pub(super) type Edit<'a> = dyn FnMut(&dyn Editor) -> Result<Saved, Refusal> + 'a;

impl Vfs {
    /// Saves an edit of the volume that `ino` belongs to; when it returns, the
    /// mount shows what is stored then. Numbers in it are those of the volume.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: nothing has changed.
    pub(super) fn edit(&self, ino: Ino, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        match self.place(ino)? {
            Place::Volume(slot, _) => slot.edit(edit),
            Place::Shelf(..) => Err(Error::NotPermitted.into()),
        }
    }

    /// Returns when all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// That of the medium; what could be synced was.
    pub fn sync(&self) -> Result<(), Error> {
        let mut synced = Ok(());
        for edition in self.editions() {
            if let Some(editor) = edition.volume.editor() {
                synced = editor.sync().and(synced);
            }
        }
        synced
    }
}

impl Slot {
    /// As [`Vfs::edit`]. An edit of a state that is over is tried once more
    /// with the present one.
    pub(super) fn edit(&self, edit: &mut Edit<'_>) -> Result<Saved, Refusal> {
        let saved = match self.save(edit) {
            Err(Refusal::Outdated) => {
                self.refresh();
                self.save(edit)?
            }
            saved => saved?,
        };
        for note in &saved.notes {
            log::warn!("{note}");
        }
        Ok(saved)
    }
}
