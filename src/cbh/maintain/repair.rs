//! Repair of everything that can be derived from other data: counts, trees and
//! chains of entities, lengths in headers, data about games in records, copies
//! of offsets. What is read of moves and annotations never changes.
//!
//! | file | repaired | from |
//! |---|---|---|
//! | `.cbh` | number of the next record; a last one that lacks some bytes; flags, magnitudes, medals and number of moves of a game | the records; its moves and remarks, if both can be read wholly |
//! | `.cbg` `.cba` | lengths in the header, and that of a last blob that is cut | the file |
//! | `.cba` | the game that a record of remarks is of | the one game that has it |
//! | `.cbj` | record size; number of records; offsets | its version and length; `.cbh` |
//! | `.cbtt` `.flags` | number of records | the file |
//! | entities | all but the names | the records of games and texts that refer to them; a damaged header also from the length of the file, if the records agree with the games |
//!
//! Entities without references are deleted, and deleted entities with
//! references are restored; but teams and labels stay as they are if the records
//! of `.cbj`, which alone refer to them, cannot be read. File headers are repaired
//! first, because reading the rest depends on them. Each file is backed up before
//! it is changed. All changes form one transaction. If that would be too large,
//! there are several; each leaves the base no worse, and another repair continues
//! where one was interrupted.

mod entities;
mod headers;
#[cfg(test)]
mod tests;
mod work;

use crate::cbh::{ChangeError, Database, FileKind, OpenBase};
use crate::game::Defect;
use work::RepairWork;

/// Maximum number of passes; more do not find anything new.
const MOST_ROUNDS: usize = 4;

/// Maximum size of one transaction in the journal, in bytes.
const MOST_AT_ONCE: usize = 128 << 20;

/// A defect and the bytes that repair it.
#[derive(Clone, Debug)]
pub(in crate::cbh) struct Fix {
    pub(in crate::cbh) file: FileKind,
    pub(in crate::cbh) offset: u64,
    pub(in crate::cbh) bytes: Vec<u8>,
    pub(in crate::cbh) what: String,
}

/// Repairs the base. Calls `report` for each defect once it is repaired, and
/// `progress` now and then with the number of records checked since the last
/// call. `base` must be open for writing; data read from it before are out of
/// date afterwards.
///
/// # Errors
///
/// [`ChangeError`]; the base is then unchanged or, if several transactions were
/// needed, partly repaired.
pub fn repair(
    base: &OpenBase,
    progress: &dyn Fn(u64),
    report: &mut dyn FnMut(Defect),
) -> Result<(), ChangeError> {
    repair_by_parts(base, MOST_AT_ONCE, progress, report)
}

fn repair_by_parts(
    base: &OpenBase,
    at_once: usize,
    progress: &dyn Fn(u64),
    report: &mut dyn FnMut(Defect),
) -> Result<(), ChangeError> {
    let mut work = RepairWork::new(base, at_once, report);
    for _ in 0..MOST_ROUNDS {
        let files = base.store.files_after(&work.transaction)?;
        let database = base.database.open_after(&files)?;
        let before = work.writes;
        let has_extended = headers::plan(&database, &files, &mut work)?;
        if work.writes == before {
            records(&database, has_extended, progress, &mut work)?;
            entities::plan(&database, has_extended, &mut work)?;
        }
        if work.writes == before {
            break;
        }
    }
    work.finish()
}

/// Plans the repair of the records of games; those of `.cbj` only if it is known
/// where they are.
fn records(
    database: &Database,
    has_extended: bool,
    progress: &dyn Fn(u64),
    work: &mut RepairWork<'_>,
) -> Result<(), ChangeError> {
    let mut done = Ok(());
    database.for_each_fix(progress, &mut |fix| {
        if done.is_ok() && (has_extended || fix.file != FileKind::Extended) {
            done = work.apply(fix);
        }
    })?;
    done
}
