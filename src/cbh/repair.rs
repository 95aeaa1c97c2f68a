//! Mending what can be told from the rest: counts, trees and chains of
//! entities, lengths in headers, what records say of their games, copies of
//! offsets. No move and no remark is touched.
//!
//! | file | mended | from |
//! |---|---|---|
//! | `.cbh` | number of the next record; flags, magnitudes, medals and number of moves of a game | the records; its moves and remarks, if both can be read wholly |
//! | `.cbg` `.cba` | lengths in the header | the file |
//! | `.cbj` | number of records; offsets | `.cbh` |
//! | `.cbtt` `.flags` | number of records | the file |
//! | entities | all but the names | the records of games and texts that refer to them |
//!
//! An entity that nobody refers to is deleted, and a deleted one that somebody
//! refers to is taken back. First come the headers of files, then what can be
//! read with their help. All goes through the journal; each file that changes
//! is copied before.

mod headers;
mod rosters;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{ChangeError, Database, Error, FileKind, OpenBase};
use crate::game::Defect;
use crate::storage::{ReadBuffer, Storage, Transaction};

/// After so many rounds there is nothing more to be had.
const MOST_ROUNDS: usize = 4;

/// So many copies of one file are kept at most.
const MOST_COPIES: u32 = 10_000;

/// Files are compared in blocks of this size.
const BLOCK_BYTES: usize = 512;

/// Something that is to be mended: what is wrong, and the bytes that should
/// stand there.
#[derive(Clone, Debug)]
pub(super) struct Mend {
    pub(super) file: FileKind,
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) what: String,
}

/// What is to be done to a base in one round.
#[derive(Debug, Default)]
struct Plan {
    transaction: Transaction,
    /// The files that change.
    files: BTreeSet<FileKind>,
    mended: Vec<Defect>,
}

impl Plan {
    fn write(&mut self, database: &Database, file: FileKind, offset: u64, bytes: Vec<u8>) {
        self.files.insert(file);
        let path = database.family().default_path(file);
        let name = path.file_name().unwrap_or_default();
        self.transaction.write(name, offset, bytes);
    }

    fn told(&mut self, file: FileKind, offset: u64, what: String) {
        self.mended.push(Defect {
            file: file.extension(),
            offset,
            what,
        });
    }

    fn mend(&mut self, database: &Database, mend: Mend) {
        self.told(mend.file, mend.offset, mend.what);
        self.write(database, mend.file, mend.offset, mend.bytes);
    }

    /// Writes the blocks in which a file is to be another.
    fn rewrite(
        &mut self,
        database: &Database,
        file: FileKind,
        storage: &dyn Storage,
        bytes: &[u8],
    ) -> io::Result<bool> {
        let mut buffer = ReadBuffer::ahead();
        let mut is_changed = false;
        for (at, block) in (0..).step_by(BLOCK_BYTES).zip(bytes.chunks(BLOCK_BYTES)) {
            if storage.read_up_to(at, block.len(), &mut buffer)? != block {
                self.write(database, file, at, block.to_vec());
                is_changed = true;
            }
        }
        Ok(is_changed)
    }
}

/// Mends the base and gives each thing that was wrong to `report`, when it is
/// mended. `base` must be open to be changed, and shows the mended base then.
/// `progress` is told from time to time how many records more have been looked
/// at.
///
/// # Errors
///
/// [`ChangeError`]: then the base is as it was, or mended in part and no
/// worse.
pub fn repair(
    base: &mut OpenBase,
    progress: &dyn Fn(u64),
    report: &mut dyn FnMut(Defect),
) -> Result<(), ChangeError> {
    let mut copied = BTreeSet::new();
    for round in 0..MOST_ROUNDS {
        let mut plan = headers::plan(base)?;
        let is_about_headers = !plan.files.is_empty();
        if !is_about_headers {
            plan = records(&base.database, progress)?;
            rosters::plan(&base.database, &mut plan)?;
        }
        if plan.files.is_empty() {
            return Ok(());
        }
        for file in &plan.files {
            if copied.insert(*file) {
                keep_copy(base, *file)?;
            }
        }
        if round == 0 {
            for booster in base.database.family().boosters() {
                let name = booster.file_name().unwrap_or_default();
                plan.transaction.remove(name);
            }
        }
        base.store.commit(&plan.transaction)?;
        base.store.sync()?;
        base.reopen()?;
        plan.mended.into_iter().for_each(&mut *report);
    }
    Ok(())
}

/// What is to be mended in the records of games.
fn records(database: &Database, progress: &dyn Fn(u64)) -> Result<Plan, ChangeError> {
    let mut plan = Plan::default();
    database.for_each_mend(progress, &mut |mend| plan.mend(database, mend))?;
    Ok(plan)
}

/// Copies a file beside itself, before it is changed for the first time.
fn keep_copy(base: &OpenBase, file: FileKind) -> Result<(), ChangeError> {
    let path = base.database.family().default_path(file);
    let copied = copy_beside(&path);
    Ok(copied.map_err(|source| Error::Io { file: path, source })?)
}

fn copy_beside(path: &Path) -> io::Result<()> {
    let mut source = File::open(path)?;
    let (name, mut copy) = (1..MOST_COPIES)
        .map(|number| {
            let name = name_of_copy(path, number);
            let file = File::create_new(&name);
            (name, file)
        })
        .find(|(_, file)| match file {
            Err(error) => error.kind() != io::ErrorKind::AlreadyExists,
            Ok(_) => true,
        })
        .ok_or(io::ErrorKind::AlreadyExists)
        .map(|(name, file)| file.map(|file| (name, file)))??;
    let copied = io::copy(&mut source, &mut copy).and_then(|_| copy.sync_all());
    if copied.is_err() {
        let _ = fs::remove_file(&name);
    }
    copied?;
    let folder = name.parent().filter(|folder| *folder != Path::new(""));
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// `base.cbp.before-repair`, then `base.cbp.before-repair.2`.
fn name_of_copy(path: &Path, number: u32) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(OsStr::new(".before-repair"));
    if number > 1 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}
