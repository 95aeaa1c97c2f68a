//! Mending what can be told from the rest: counts, trees and chains of
//! entities, lengths in headers, what records say of their games, copies of
//! offsets. No move and no remark is touched.
//!
//! | file | mended | from |
//! |---|---|---|
//! | `.cbh` | number of the next record; flags, magnitudes, medals and number of moves of a game | the records; its moves and remarks, if both can be read wholly |
//! | `.cbg` `.cba` | lengths in the header | the file |
//! | `.cba` | the game that a record of remarks is of | the one game that has it |
//! | `.cbj` | number of records; offsets | `.cbh` |
//! | `.cbtt` `.flags` | number of records | the file |
//! | entities | all but the names | the records of games and texts that refer to them; a damaged header also from the length of the file, if the records agree with the games |
//!
//! An entity that nobody refers to is deleted, and a deleted one that somebody
//! refers to is taken back. First come the headers of files, then what can be
//! read with their help. Each file that changes is copied before; then all of
//! it is one transaction. What is too much for one is several: then each of
//! them leaves a base that is no worse, and a later repair goes on.

mod entities;
mod headers;
#[cfg(test)]
mod tests;
mod work;

use crate::cbh::{ChangeError, Database, FileKind, OpenBase};
use crate::game::Defect;
use work::Work;

/// After so many rounds there is nothing more to be had.
const MOST_ROUNDS: usize = 4;

/// So many bytes of the journal are written at once.
const MOST_AT_ONCE: usize = 128 << 20;

/// Something that is to be mended: what is wrong, and the bytes that should
/// stand there.
#[derive(Clone, Debug)]
pub(in crate::cbh) struct Mend {
    pub(in crate::cbh) file: FileKind,
    pub(in crate::cbh) offset: u64,
    pub(in crate::cbh) bytes: Vec<u8>,
    pub(in crate::cbh) what: String,
}

/// Mends the base and gives each thing that was wrong to `report`, when it is
/// mended. `base` must be open to be changed; what was read of it before is
/// over then. `progress` is told from time to time how many records more have
/// been looked at.
///
/// # Errors
///
/// [`ChangeError`]: then the base is as it was, or, if much was to be done,
/// mended in part and no worse.
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
    let mut work = Work::new(base, at_once, report);
    for _ in 0..MOST_ROUNDS {
        let files = base.store.files_after(&work.transaction)?;
        let database = base.database.open_after(&files)?;
        let before = work.writes;
        headers::plan(&database, &files, &mut work)?;
        if work.writes == before {
            records(&database, progress, &mut work)?;
            entities::plan(&database, &mut work)?;
        }
        if work.writes == before {
            break;
        }
    }
    work.finish()
}

/// What is to be mended in the records of games.
fn records(
    database: &Database,
    progress: &dyn Fn(u64),
    work: &mut Work<'_>,
) -> Result<(), ChangeError> {
    let mut done = Ok(());
    database.for_each_mend(progress, &mut |mend| {
        if done.is_ok() {
            done = work.mend(mend);
        }
    })?;
    done
}
