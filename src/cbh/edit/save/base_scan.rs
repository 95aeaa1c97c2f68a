//! Facts about all records of a base: found by one scan, before a save needs them if
//! there is time, and kept up to date by later saves.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use imbl::OrdMap;

use crate::cbh::base::references::{EntityRef, ReferenceCounts, referred};
use crate::cbh::entities::{ENTITY_FILES, EntityEditor, IdSet};
use crate::cbh::extended::{CreationClock, ExtendedRecord};
use crate::cbh::{Database, EditError, FileKind, SaveError};

/// So many records are scanned between two questions whether to go on: less than a
/// megabyte.
const RECORDS_AT_ONCE: u32 = 1 << 12;

/// So few records are read as fast as a thread begins.
const FEW_RECORDS: u32 = 1 << 14;

/// So many cores scan at once: each counts the references to all entities.
const MOST_CORES: usize = 8;

/// Ids of entities, by file.
pub(super) type IdsByFile = BTreeMap<FileKind, BTreeSet<u32>>;

/// The results of the scan, with what saves have changed since.
#[derive(Clone, Debug, Default)]
pub(super) struct BaseScan {
    pub(super) clock: CreationClock,
    /// Entities that games or texts refer to and that do not exist. No save
    /// adds any.
    lost: Arc<IdsByFile>,
    /// The references that were found.
    references: Arc<ReferenceCounts>,
    /// How many references entities have whose number a save has changed, if known.
    changed: OrdMap<EntityRef, Option<u32>>,
}

/// The findings of one core in some of the records.
struct PartialScan {
    clock: CreationClock,
    references: ReferenceCounts,
    /// References to entities that have no record.
    without_record: IdsByFile,
}

impl BaseScan {
    /// Scans all records, on all cores if they are many.
    pub(super) fn of(database: &Database) -> Result<BaseScan, SaveError> {
        BaseScan::of_found(database, PartialScan::of_all(database)?)
    }

    /// Scans all records on this core, as long as `goes_on`; `None` if it does not.
    pub(super) fn while_idle(
        database: &Database,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<BaseScan>, SaveError> {
        let mut whole = PartialScan::new(database)?;
        let end = database.last_id().saturating_add(1);
        for first in (1..end).step_by(RECORDS_AT_ONCE as usize) {
            if !goes_on() {
                return Ok(None);
            }
            whole.add(database, first..first.saturating_add(RECORDS_AT_ONCE))?;
        }
        BaseScan::of_found(database, whole).map(Some)
    }

    /// The facts that the findings in all records are.
    fn of_found(database: &Database, mut whole: PartialScan) -> Result<BaseScan, SaveError> {
        let mut lost = std::mem::take(&mut whole.without_record);
        for file in ENTITY_FILES {
            let live = live_entities(database, file)?;
            let is_live = |id| live.as_ref().is_some_and(|live| live.contains(id));
            let references = (0..).zip(whole.references.of(file));
            let referred = references.filter(|(_, reference)| reference.count > 0);
            let dead: Vec<u32> = referred
                .map(|(id, _)| id)
                .filter(|id| !is_live(*id))
                .collect();
            if !dead.is_empty() {
                lost.entry(file).or_default().extend(dead);
            }
        }
        Ok(BaseScan {
            clock: whole.clock,
            lost: Arc::new(lost),
            references: Arc::new(whole.references),
            changed: OrdMap::new(),
        })
    }

    /// The ids of a file that no new entity may get.
    pub(super) fn lost(&self) -> Arc<IdsByFile> {
        Arc::clone(&self.lost)
    }

    /// How many references an entity has, unless it has no record or damage makes
    /// that unsure.
    pub(super) fn references(&self, (file, id): EntityRef) -> Option<u32> {
        if let Some(changed) = self.changed.get(&(file, id)) {
            return *changed;
        }
        if self.lost.get(&file).is_some_and(|lost| lost.contains(&id)) {
            return None;
        }
        let reference = self.references.of(file).get(id as usize);
        Some(reference.map_or(0, |reference| reference.count))
    }

    /// The entities whose number of references saves have changed.
    pub(super) fn changed(&self) -> impl Iterator<Item = EntityRef> {
        self.changed.keys().copied()
    }

    /// Notes that a save added and removed so many references to an entity.
    pub(super) fn note_change(&mut self, name: EntityRef, added: u32, removed: u32) {
        let after = self.references_after(name, added, removed);
        self.changed.insert(name, after);
    }

    /// How many references an entity has after so many were added and removed.
    pub(super) fn references_after(
        &self,
        name: EntityRef,
        added: u32,
        removed: u32,
    ) -> Option<u32> {
        let with_added = self.references(name)?.checked_add(added)?;
        with_added.checked_sub(removed)
    }
}

impl PartialScan {
    fn of_all(database: &Database) -> Result<PartialScan, SaveError> {
        let records = database.last_id();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let most = u32::try_from(cores.min(MOST_CORES)).unwrap_or(1);
        let share = records.div_ceil(most).max(FEW_RECORDS);
        let part = |first: u32| first.saturating_add(1)..first.saturating_add(share + 1);
        if records <= share {
            return PartialScan::of(database, part(0));
        }
        let parts: Vec<Result<PartialScan, SaveError>> = thread::scope(|scope| {
            let shares = (0..records).step_by(share as usize);
            let scanning: Vec<_> = shares
                .map(|first| scope.spawn(move || PartialScan::of(database, part(first))))
                .collect();
            let scanned = scanning.into_iter().map(ScopedJoinHandle::join);
            scanned
                .map(|part| part.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let whole = parts.into_iter().reduce(|whole, later| {
            let mut whole = whole?;
            whole.extend(later?);
            Ok(whole)
        });
        whole.unwrap_or_else(|| PartialScan::of(database, 0..0))
    }

    /// Scans some of the records.
    fn of(database: &Database, ids: Range<u32>) -> Result<PartialScan, SaveError> {
        let mut scan = PartialScan::new(database)?;
        scan.add(database, ids)?;
        Ok(scan)
    }

    /// The findings in no record.
    fn new(database: &Database) -> Result<PartialScan, SaveError> {
        Ok(PartialScan {
            clock: CreationClock::default(),
            references: ReferenceCounts::new(database)?,
            without_record: IdsByFile::new(),
        })
    }

    /// Scans some more of the records, which come after those before.
    fn add(&mut self, database: &Database, ids: Range<u32>) -> Result<(), SaveError> {
        Ok(database.scan(ids, true, &mut |record| {
            let extended = ExtendedRecord::decode(record.extended);
            self.clock.note(extended.created);
            for name in referred(record.bytes, record.extended) {
                if !self.references.add_one(name, record.id) {
                    let (file, id) = name;
                    self.without_record.entry(file).or_default().insert(id);
                }
            }
        })?)
    }

    /// Adds what later records have.
    fn extend(&mut self, later: PartialScan) {
        self.clock = self.clock.with(later.clock);
        self.references.extend(&later.references);
        for (file, ids) in later.without_record {
            self.without_record.entry(file).or_default().extend(ids);
        }
    }
}

/// The entities of a file that can be read; `None` if there is no such file, or
/// damage makes it one that nothing is added to.
fn live_entities(database: &Database, file: FileKind) -> Result<Option<IdSet>, SaveError> {
    let Some(storage) = database.storage(file) else {
        return Ok(None);
    };
    match EntityEditor::open(file, storage).and_then(|editor| editor.live()) {
        Ok(live) => Ok(Some(live)),
        Err(EditError::Damaged(..)) => Ok(None),
        Err(error) => Err(SaveError::entity(file)(error)),
    }
}
