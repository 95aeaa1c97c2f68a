//! A scan of all records of a base, done once when a save first needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use crate::cbh::base::references::{EntityRef, referred};
use crate::cbh::entities::{ENTITY_FILES, EntityEditor, IdSet};
use crate::cbh::extended::{CreationClock, ExtendedRecord};
use crate::cbh::{Database, EditError, FileKind, SaveError};

/// So few records are read as fast as a thread begins.
const FEW_RECORDS: u32 = 1 << 14;

/// Ids of entities, by file.
pub(super) type IdsByFile = BTreeMap<FileKind, BTreeSet<u32>>;

/// The entities that exist, by file.
type LiveByFile = BTreeMap<FileKind, IdSet>;

/// The results of the scan.
#[derive(Clone, Debug, Default)]
pub(super) struct BaseScan {
    pub(super) clock: CreationClock,
    /// Entities that games or texts refer to and that do not exist. No save
    /// adds any.
    lost: Arc<IdsByFile>,
}

impl BaseScan {
    /// Scans all records, on all cores if they are many.
    pub(super) fn of(database: &Database) -> Result<BaseScan, SaveError> {
        let live = live_entities(database)?;
        let records = database.last_id();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let most = u32::try_from(cores).unwrap_or(u32::MAX);
        let share = records.div_ceil(most).max(FEW_RECORDS);
        let part = |first: u32| first.saturating_add(1)..first.saturating_add(share + 1);
        if records <= share {
            return BaseScan::of_records(database, &live, part(0));
        }
        let parts: Vec<Result<BaseScan, SaveError>> = thread::scope(|scope| {
            let shares = (0..records).step_by(share as usize);
            let scanning = shares.map(|first| {
                let live = &live;
                scope.spawn(move || BaseScan::of_records(database, live, part(first)))
            });
            let scanning: Vec<_> = scanning.collect();
            let scanned = scanning.into_iter().map(ScopedJoinHandle::join);
            scanned
                .map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut whole = BaseScan::default();
        for part in parts {
            whole = whole.with(&part?);
        }
        Ok(whole)
    }

    /// Scans some of the records.
    fn of_records(
        database: &Database,
        live: &LiveByFile,
        ids: Range<u32>,
    ) -> Result<BaseScan, SaveError> {
        let is_live = |(file, id): EntityRef| live.get(&file).is_some_and(|live| live.contains(id));
        let mut clock = CreationClock::default();
        let mut lost = IdsByFile::new();
        database.scan(ids, true, &mut |record| {
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

    /// This and that of other records.
    fn with(mut self, other: &BaseScan) -> BaseScan {
        self.clock = self.clock.with(other.clock);
        let lost = Arc::make_mut(&mut self.lost);
        for (file, ids) in other.lost.iter() {
            lost.entry(*file).or_default().extend(ids);
        }
        self
    }

    /// The ids of a file that no new entity may get.
    pub(super) fn lost(&self) -> Arc<IdsByFile> {
        Arc::clone(&self.lost)
    }
}

/// The entities of each file that can be read.
fn live_entities(database: &Database) -> Result<LiveByFile, SaveError> {
    let mut live = LiveByFile::new();
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
    Ok(live)
}
