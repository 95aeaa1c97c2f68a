//! What only a reading of all records tells: found out once, when a save
//! first needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cbh::base::references::{Name, referred};
use crate::cbh::entities::{ENTITY_FILES, EntityEditor};
use crate::cbh::extended::{CreationClock, ExtendedRecord};
use crate::cbh::{Database, EditError, FileKind, SaveError};

/// Ids of entities by their files.
pub(super) type Ids = BTreeMap<FileKind, BTreeSet<u32>>;

/// What all records of a base tell.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    pub(super) clock: CreationClock,
    /// Those that some game or text refers to, and that are not there. No save
    /// makes any more of them.
    lost: Arc<Ids>,
}

impl Survey {
    /// Reads all records.
    pub(super) fn of(database: &Database) -> Result<Survey, SaveError> {
        let mut live = BTreeMap::new();
        for file in ENTITY_FILES {
            if let Some(storage) = database.storage(file) {
                let found = EntityEditor::open(file, storage).and_then(|editor| editor.live());
                match found {
                    Ok(found) => live.insert(file, found),
                    // Nothing is added to a file that is damaged so.
                    Err(EditError::Damaged(..)) => continue,
                    Err(error) => return Err(SaveError::entity(file)(error)),
                };
            }
        }
        let is_live = |(file, id): Name| live.get(&file).is_some_and(|live| live.contains(id));
        let mut clock = CreationClock::default();
        let mut lost = Ids::new();
        database.scan(1..u32::MAX, true, &mut |record| {
            clock.note(ExtendedRecord::decode(record.extended).created);
            for (file, id) in referred(record.bytes, record.extended) {
                if !is_live((file, id)) {
                    lost.entry(file).or_default().insert(id);
                }
            }
        })?;
        Ok(Survey {
            clock,
            lost: Arc::new(lost),
        })
    }

    /// The ids of a file that no new entity may have.
    pub(super) fn lost(&self) -> Arc<Ids> {
        Arc::clone(&self.lost)
    }
}
