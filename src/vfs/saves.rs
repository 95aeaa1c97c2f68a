//! Edits of what is mounted, and what is shown after each.

use super::editor::{Editor, Refusal, Saved};
use super::slot::Slot;

/// What saves one edit.
pub(super) type Edit<'a> = dyn FnMut(&dyn Editor) -> Result<Saved, Refusal> + 'a;

impl Slot {
    /// Saves an edit; when it returns, the mount shows what is stored then.
    /// Numbers in it are those of the volume. An edit of a state that is over
    /// is tried once more with the present one.
    ///
    /// # Errors
    ///
    /// [`Refusal`]: nothing has changed.
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
