//! A base into a folder of tables, on all cores: each writes a file at a time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use ::parquet::errors::ParquetError;
use ::parquet::file::writer::SerializedFileWriter;
use parking_lot::Mutex;

use super::asked::{Progress, TableOptions};
use super::buffer::RowGroup;
use super::games::{self, Rows};
use super::parts::{PartGame, YearPart, YearParts};
use super::positions;
use super::schema::Table;
use crate::base::Base;
use crate::cbh::{Decoded, Summary};
use crate::storage::make_folder;

/// Number of games of a row group.
const GROUP_GAMES: usize = 1 << 16;

/// Number of rows of a row group of positions.
const GROUP_POSITIONS: usize = 1 << 19;

/// Bytes of text of all row groups that are filled at the same time. The more there
/// are in one, the fewer times the base is read: its games are scattered in there.
const ALL_BYTES: usize = 96 << 20;

/// Bytes of text that any row group may have.
const LEAST_BYTES: usize = 1 << 20;

/// Number of games of a file that are read first, in the order of the base. They
/// tell how many more fit into a row group.
const FIRST_GAMES: usize = 1 << 10;

/// Fewer games are not read in the order of the base: it would not pay.
const LEAST_GAMES: usize = 1 << 9;

/// Progress is told after so many games of a core.
const GAMES_TOLD: usize = 1024;

/// Makes the folder of tables of a base: all of them, or none.
///
/// # Errors
///
/// `AlreadyExists` if there is something other than an empty folder;
/// `Interrupted` if `progress` ended the work; those of the file system, with
/// the file; those of the base's list of games; `Other` if the base was changed
/// meanwhile.
pub fn export(
    base: &dyn Base,
    folder: &Path,
    wishes: TableOptions,
    progress: &dyn Progress,
) -> io::Result<()> {
    make_folder(folder, |folder| {
        write(base, folder, wishes, progress)?;
        base.ensure_unchanged()
    })
}

fn write(
    base: &dyn Base,
    folder: &Path,
    wishes: TableOptions,
    progress: &dyn Progress,
) -> io::Result<()> {
    let is_wanted = |summary: &Summary| wishes.with_deleted || !summary.is_deleted;
    let parts = Mutex::new(YearParts::of(base, folder, &is_wanted)?);
    let has_failed = AtomicBool::new(false);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let worker = Worker {
        base,
        folder,
        wishes,
        group_bytes: group_bytes(cores, wishes),
        progress,
        parts: &parts,
        has_failed: &has_failed,
    };
    if parts.lock().is_empty() {
        // A table without rows still has its columns.
        return worker.write(&YearPart::default(), &mut Scratch::new());
    }
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(|| worker.run())).collect();
        let ended = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread ended early")))
        });
        // All of them end before the first error is returned.
        ended.fold(Ok(()), Result::and)
    })
}

/// Bytes of text of a row group, if each of these cores fills one of each table.
fn group_bytes(cores: usize, wishes: TableOptions) -> usize {
    let tables = if wishes.with_positions { 2 } else { 1 };
    let groups = cores.saturating_mul(tables).max(1);
    (ALL_BYTES / groups).max(LEAST_BYTES)
}

/// One core.
struct Worker<'a> {
    base: &'a dyn Base,
    folder: &'a Path,
    wishes: TableOptions,
    /// Bytes of text from which a row group is written, whatever its rows.
    group_bytes: usize,
    progress: &'a dyn Progress,
    parts: &'a Mutex<YearParts>,
    has_failed: &'a AtomicBool,
}

impl Worker<'_> {
    /// Writes parts as long as there are any.
    fn run(&self) -> io::Result<()> {
        let mut scratch = Scratch::new();
        while !self.has_failed.load(Relaxed) {
            let part = self.parts.lock().next();
            let written = match part {
                Ok(Some(part)) => self.write(&part, &mut scratch),
                Ok(None) => return Ok(()),
                Err(error) => Err(error),
            };
            if written.is_err() {
                self.has_failed.store(true, Relaxed);
                return written;
            }
        }
        Ok(())
    }

    fn write(&self, part: &YearPart, scratch: &mut Scratch) -> io::Result<()> {
        let Scratch {
            rows,
            games,
            positions,
        } = scratch;
        let mut games = self.begin(&games::TABLE, part, games)?;
        let mut positions = if self.wishes.with_positions {
            Some(self.begin(&positions::TABLE, part, positions)?)
        } else {
            None
        };
        let mut all = (0..).zip(part.games.iter().copied());
        loop {
            let mut batch: Vec<(u32, PartGame)> = all.by_ref().take(games.room()).collect();
            if batch.is_empty() {
                break;
            }
            // Read in the order of the file, written in that of the table.
            batch.sort_unstable_by_key(|(_, listed)| listed.id.0);
            self.write_batch(&batch, part.year, rows, &mut games, &mut positions)?;
        }
        games.finish()?;
        positions.map_or(Ok(()), Output::finish)
    }

    /// Begins the file of a part.
    fn begin<'s>(
        &self,
        table: &Table,
        part: &YearPart,
        group: &'s mut RowGroup,
    ) -> io::Result<Output<'s>> {
        let path = part.path(&self.folder.join(table.name));
        if let Some(year) = path.parent() {
            fs::create_dir_all(year).map_err(|error| about(year, &error))?;
        }
        let file = File::create_new(&path).map_err(|error| about(&path, &error))?;
        let writer = table.schema().and_then(|schema| {
            let properties = Arc::new(table.properties()?);
            SerializedFileWriter::new(file, schema, properties)
        });
        Ok(Output {
            file: writer.map_err(|error| failed(&path, error))?,
            path,
            group,
            group_bytes: self.group_bytes,
        })
    }

    fn write_batch(
        &self,
        batch: &[(u32, PartGame)],
        year: u16,
        rows: &mut Rows,
        games: &mut Output<'_>,
        positions: &mut Option<Output<'_>>,
    ) -> io::Result<()> {
        let mut decoded = Decoded::reading_many();
        for games_told in batch.chunks(GAMES_TOLD) {
            for &game in games_told {
                let positions = positions.as_mut();
                self.write_game(game, year, &mut decoded, rows, games, positions)?;
            }
            self.tell(games_told.len() as u64)?;
        }
        games.write_if_full()
    }

    fn write_game(
        &self,
        (place, listed): (u32, PartGame),
        year: u16,
        decoded: &mut Decoded,
        rows: &mut Rows,
        games: &mut Output<'_>,
        positions: Option<&mut Output<'_>>,
    ) -> io::Result<()> {
        let id = listed.id;
        let _permit = match self.base.read_game_to_render(id, decoded) {
            Ok(permit) => permit,
            Err(error) => {
                self.progress.unreadable(id, &error);
                return Ok(());
            }
        };
        let is_clean = self.wishes.is_clean;
        rows.push((place, listed), year, decoded, is_clean, games.group);
        games.write_if(GROUP_GAMES)?;
        if let Some(positions) = positions {
            positions::push(place, id, &decoded.game, positions.group);
            positions.write_if(GROUP_POSITIONS)?;
        }
        Ok(())
    }

    /// Fails if the work is to end.
    fn tell(&self, games: u64) -> io::Result<()> {
        let is_wanted = self.progress.written(games);
        if is_wanted && !self.has_failed.load(Relaxed) {
            return Ok(());
        }
        Err(io::ErrorKind::Interrupted.into())
    }
}

/// Buffers of a thread that writes files, used again for each of them.
struct Scratch {
    rows: Rows,
    games: RowGroup,
    positions: RowGroup,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch {
            rows: Rows::new(),
            games: RowGroup::new(games::TABLE.columns),
            positions: RowGroup::new(positions::TABLE.columns),
        }
    }
}

/// A file that is written.
struct Output<'s> {
    path: PathBuf,
    file: SerializedFileWriter<File>,
    group: &'s mut RowGroup,
    /// Bytes of text from which a row group is written.
    group_bytes: usize,
}

impl Output<'_> {
    /// Number of rows that fit into the row group, by the length of those in it.
    fn room(&self) -> usize {
        let group = &*self.group;
        let Some(length) = group.bytes().checked_div(group.rows()) else {
            return FIRST_GAMES;
        };
        let bytes = self.group_bytes.saturating_sub(group.bytes());
        let rows = GROUP_GAMES.saturating_sub(group.rows());
        rows.min(bytes / length.max(1)).max(LEAST_GAMES)
    }

    /// Writes the row group if it has so many rows, or much text.
    fn write_if(&mut self, rows: usize) -> io::Result<()> {
        if self.group.rows() < rows && self.group.bytes() < self.group_bytes {
            return Ok(());
        }
        self.write()
    }

    /// Writes the row group if there is no room for many games more.
    fn write_if_full(&mut self) -> io::Result<()> {
        if self.group.rows() > 0 && self.room() <= LEAST_GAMES {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.group.write(&mut self.file);
        written.map_err(|error| failed(&self.path, error))
    }

    fn finish(mut self) -> io::Result<()> {
        if self.group.rows() > 0 {
            self.write()?;
        }
        let ended = self.file.finish();
        ended.map_err(|error| failed(&self.path, error))?;
        Ok(())
    }
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// An error of the writer: that of the file system, if it is one.
fn failed(path: &Path, error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => about(path, &error),
            Err(inner) => about(path, &io::Error::other(inner)),
        },
        error => about(path, &io::Error::other(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_does_not_grow_with_the_cores() {
        for with_positions in [false, true] {
            let wishes = TableOptions {
                with_positions,
                ..TableOptions::default()
            };
            let tables = 1 + usize::from(with_positions);
            for cores in [1, 2, 3, 8, 40] {
                assert!(group_bytes(cores, wishes) * cores * tables <= ALL_BYTES);
            }
            assert_eq!(group_bytes(1000, wishes), LEAST_BYTES);
        }
    }
}
