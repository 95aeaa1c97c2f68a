//! A scan of all records of a base, done once when a save first needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cbh::base::references::{EntityRef, referred};
use crate::cbh::entities::{ENTITY_FILES, EntityEditor};
use crate::cbh::extended::{CreationClock, ExtendedRecord};
use crate::cbh::{Database, EditError, FileKind, SaveError};

/// Ids of entities, by file.
pub(super) type IdsByFile = BTreeMap<FileKind, BTreeSet<u32>>;

/// The results of the scan.
#[derive(Clone, Debug)]
pub(super) struct BaseScan {
    pub(super) clock: CreationClock,
    /// Entities that games or texts refer to and that do not exist. No save
    /// adds any.
    lost: Arc<IdsByFile>,
}

impl BaseScan {
    /// Scans all records.
    pub(super) fn of(database: &Database) -> Result<BaseScan, SaveError> {
        let mut live = BTreeMap::new();
        for file in ENTITY_FILES {
            if let Some(storage) = database.storage(file) {
                let found = EntityEditor::open(file, storage).and_then(|editor| editor.live());
                match found {
                    Ok(found) => live.insert(file, found),
                    // Nothing is added to a file with such damage.
                    Err(EditError::Damaged(..)) => continue,
                    Err(error) => return Err(SaveError::entity(file)(error)),
                };
            }
        }
        let is_live = |(file, id): EntityRef| live.get(&file).is_some_and(|live| live.contains(id));
        let mut clock = CreationClock::default();
        let mut lost = IdsByFile::new();
        database.scan(1..u32::MAX, true, &mut |record| {
            clock.note(ExtendedRecord::decode(record.extended).created);
            for (file, id) in referred(record.bytes, record.extended) {
                if !is_live((file, id)) {
                    lost.entry(file).or_default().insert(id);
                }
            }
        })?;
        Ok(BaseScan {
            clock,
            lost: Arc::new(lost),
        })
    }

    /// The ids of a file that no new entity may get.
    pub(super) fn lost(&self) -> Arc<IdsByFile> {
        Arc::clone(&self.lost)
    }
}
