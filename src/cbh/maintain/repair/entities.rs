//! Repair of entities: counts, first games, trees, chains of deleted records.

use super::work::RepairWork;
use crate::cbh::base::references::{OF_EXTENDED, ReferenceCount, ReferenceCounts};
use crate::cbh::edit::save::SaveError;
use crate::cbh::entities::{ENTITY_FILES, EntityTable};
use crate::cbh::{ChangeError, Database, EditError, FileKind};
use crate::storage::Storage;

/// Plans the repair of all entity files. Without the records of `.cbj`, teams and
/// labels are left alone, since all would seem to be without a game.
pub(super) fn plan(
    database: &Database,
    has_extended: bool,
    work: &mut RepairWork<'_>,
) -> Result<(), ChangeError> {
    let mut uses = ReferenceCounts::new(database)?;
    database.scan(1..u32::MAX, true, &mut |record| {
        uses.add(record, record.id);
    })?;
    if database.lacks_extended()? {
        work.leave_extended(0, "the file is missing");
    }
    for file in ENTITY_FILES {
        if !has_extended && OF_EXTENDED.contains(&file) {
            continue;
        }
        table(database, file, uses.of(file), work)?;
    }
    Ok(())
}

/// Reads a file. A damaged header is rebuilt and added to `found`; if that is
/// impossible, the file is left unchanged.
fn read(
    database: &Database,
    file: FileKind,
    storage: &dyn Storage,
    uses: &[ReferenceCount],
    found: &mut Vec<(u64, String)>,
    work: &mut RepairWork<'_>,
) -> Result<Option<EntityTable>, ChangeError> {
    let refused = SaveError::entity(file);
    let (offset, what) = match EntityTable::read(file, storage) {
        Ok(table) => {
            let is_wrong = table.has_wrong_header(storage, uses);
            if !is_wrong.map_err(|error| database.io(file, error))? {
                return Ok(Some(table));
            }
            let what = "the header is not that of a file of this length";
            (24, what.to_owned())
        }
        Err(EditError::Damaged(offset, what)) => (offset, what),
        Err(error) => return Err(refused(error).into()),
    };
    let rescued = EntityTable::rescue(file, storage, uses).map_err(refused)?;
    match &rescued {
        Some(_) => found.push((offset, format!("{what}: the header is rebuilt"))),
        None => work.leave(file, offset, &what),
    }
    Ok(rescued)
}

/// Plans the repair of one file.
fn table(
    database: &Database,
    file: FileKind,
    uses: &[ReferenceCount],
    work: &mut RepairWork<'_>,
) -> Result<(), ChangeError> {
    let Some(storage) = database.storage(file) else {
        return Ok(());
    };
    let mut found = Vec::new();
    let Some(mut table) = read(database, file, storage, uses, &mut found, work)? else {
        return Ok(());
    };
    if let Some(stated) = table.impossible_header_bytes() {
        found.push((24, format!("{stated} further bytes of the header claimed")));
    }
    let used = u32::try_from(uses.len()).unwrap_or(u32::MAX);
    let capacity = table.capacity();
    if used > capacity && table.present() > capacity {
        table.set_capacity(used);
        let should = table.capacity();
        found.push((0, format!("{capacity} records claimed, {should} found")));
    } else if table.claimed() > capacity {
        let claimed = table.claimed();
        found.push((0, format!("{claimed} records claimed, {capacity} found")));
    }
    let collation = table.sound_collation();
    let mut is_rearranged = false;
    for id in 0..table.capacity() {
        let uses = uses.get(id as usize).copied().unwrap_or_default();
        let what = match (table.is_live(id), uses.first) {
            (true, None) => {
                table.delete(id);
                is_rearranged = true;
                "is in use without a game: deleted".to_owned()
            }
            (false, Some(game)) => {
                table.revive(id);
                table.set_reference(id, uses);
                is_rearranged = true;
                format!("is deleted, but game {} refers to it: restored", game.0)
            }
            (true, Some(first)) if table.set_reference(id, uses) => {
                let count = uses.count;
                format!(
                    "is referred to {count} times, first in game {}, but stated other numbers",
                    first.0
                )
            }
            _ => continue,
        };
        found.push((table.offset_of(id), format!("record {id} {what}")));
    }
    if is_rearranged || collation.is_none() {
        table.rebuild_tree(collation);
    }
    if is_rearranged || !table.has_sound_chain() {
        table.rebuild_chain();
    }
    if collation.is_none() {
        found.push((4, "the tree is damaged: rebuilt".to_owned()));
    }
    let (claimed, live) = (table.claimed_live(), table.live_count());
    if claimed != live {
        found.push((
            20,
            format!("{claimed} records in use claimed, {live} found"),
        ));
    }
    if work.rewrite(file, storage, &table.into_bytes())? {
        if found.is_empty() {
            found.push((
                16,
                "the chain of deleted records is damaged: rebuilt".to_owned(),
            ));
        }
        for (offset, what) in found {
            work.add_repaired(file, offset, what);
        }
    }
    Ok(())
}
