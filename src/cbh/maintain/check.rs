//! Check of a whole base.
//!
//! The order is: the files as wholes, the records of `.cbh` by number, each
//! with its moves and annotations, then overlaps, and last the entities. All
//! cores check records, in ranges of [`STRETCH`] records each, and the defects
//! are reported in the order of the ranges, so that the report is always the
//! same. A core that is ahead waits. Memory is sixteen bytes for each game and
//! a constant amount for each core.

mod extents;
mod files;
mod records;

use std::sync::mpsc::{Receiver, sync_channel};
use std::{io, thread};

use crate::cbh::maintain::repair::Fix;
use crate::cbh::{Database, Error, FileKind};
use crate::game::Defect;
pub(in crate::cbh) use files::blobs_begin;

use extents::Extents;
use records::{Misnamed, Stretch};

/// Number of records that a core checks at a time.
const STRETCH: u32 = 256;

/// Number of checked ranges of one core that may wait to be reported.
const WAITING: usize = 4;

impl Database {
    /// Reports all defects of the base: decodes all games, and compares all
    /// files with each other. `progress` is called now and then with the number
    /// of records checked since the last call.
    ///
    /// Some of the defects are harmless for readers, such as a missing end
    /// marker. Nothing is reported that `ChessBase` itself writes.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the defects found before were reported.
    pub fn check(
        &self,
        progress: &dyn Fn(u64),
        report: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        for defect in &self.defects {
            report(defect.clone());
        }
        self.check_files(report)?;
        let mut moves = Extents::new(FileKind::Moves, self.last_id());
        let mut remarks = Extents::new(FileKind::Annotations, 0);
        self.check_records(&mut |stretch| {
            stretch.defects.into_iter().for_each(&mut *report);
            moves.extend(stretch.moves);
            remarks.extend(stretch.remarks);
            progress(stretch.records.into());
        })?;
        moves.report_overlaps(report);
        remarks.report_overlaps(report);
        self.verify_entities(report)
    }

    /// Calls `take` for each possible repair in the records of games and texts,
    /// in order.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(in crate::cbh) fn for_each_fix(
        &self,
        progress: &dyn Fn(u64),
        take: &mut dyn FnMut(Fix),
    ) -> Result<(), Error> {
        let mut remarks = Extents::new(FileKind::Annotations, 0);
        let mut misnamed = Vec::new();
        self.check_records(&mut |stretch| {
            stretch.fixes.into_iter().for_each(&mut *take);
            remarks.extend(stretch.remarks);
            misnamed.extend(stretch.misnamed);
            progress(stretch.records.into());
        })?;
        // If games share a record, it belongs to none of them.
        let shared = remarks.overlapping();
        let misnamed = misnamed.into_iter();
        let own = misnamed.filter(|found| shared.binary_search(&found.record).is_err());
        own.filter_map(Misnamed::fix).for_each(take);
        Ok(())
    }

    /// Reports the defects that do not concern single games: those of file
    /// headers and of entities.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the defects found before were reported.
    pub fn check_whole(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        self.check_files(report)?;
        self.verify_entities(report)
    }

    /// Calls `take` with the result of each range of records, in order.
    fn check_records(&self, take: &mut dyn FnMut(Stretch)) -> Result<(), Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let stretches = self.last_id().div_ceil(STRETCH);
        thread::scope(|scope| {
            let receivers: Vec<Receiver<Result<Stretch, Error>>> = (0..cores)
                .map(|core| {
                    let (sender, receiver) = sync_channel(WAITING);
                    scope.spawn(move || {
                        for stretch in (0..stretches).skip(core).step_by(cores) {
                            let found = self.check_stretch(1 + stretch * STRETCH);
                            // The receiver has stopped.
                            if sender.send(found).is_err() {
                                break;
                            }
                        }
                    });
                    receiver
                })
                .collect();
            for (_, receiver) in (0..stretches).zip(receivers.iter().cycle()) {
                let ended =
                    |_| self.io(FileKind::Headers, io::Error::other("a thread ended early"));
                take(receiver.recv().map_err(ended)??);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::samples;
    use crate::cbh::record::RECORD_BYTES;

    #[test]
    fn each_of_many_records_is_checked_once_and_told_in_order() {
        let (_folder, path) = samples::copy_of("sample");
        let mut bytes = fs::read(&path).unwrap();
        let first = u32::try_from(bytes.len() / RECORD_BYTES).unwrap();
        let next = first + 2 * STRETCH + 9;
        bytes.resize(next as usize * RECORD_BYTES, 0x70);
        for at in [6, 40] {
            bytes[at..at + 4].copy_from_slice(&next.to_be_bytes());
        }
        fs::write(&path, bytes).unwrap();
        let database = Database::open(&path, &Options::default()).unwrap();
        let (checked, mut told) = (Cell::new(0), Vec::new());
        let progress = |count| checked.set(checked.get() + count);
        let mut report = |defect: Defect| {
            if defect.what.contains("neither game nor text") {
                told.push(defect.offset);
            }
        };
        database.check(&progress, &mut report).unwrap();
        assert_eq!(checked.take(), u64::from(next - 1));
        let offsets = (first..next).map(|id| u64::from(id) * RECORD_BYTES as u64);
        assert!(told.into_iter().eq(offsets));
        database.for_each_fix(&progress, &mut |_| {}).unwrap();
        assert_eq!(checked.take(), u64::from(next - 1));
    }
}
