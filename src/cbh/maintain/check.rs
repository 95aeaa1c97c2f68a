//! Whether a base is sound.
//!
//! First come the files as wholes, then the records of `.cbh` by their
//! numbers, each with its moves and remarks, then what overlaps, then the
//! entities. The records are looked at by all cores: one takes this stretch
//! of [`STRETCH`] records, the next core the next one, and the stretches are
//! reported in order, so the report is the same each time. A core that is
//! ahead waits; memory is sixteen bytes a game and some for each core.

mod extents;
mod files;
mod records;

use std::sync::mpsc::{Receiver, sync_channel};
use std::{io, thread};

use crate::cbh::maintain::repair::Mend;
use crate::cbh::{Database, Error, FileKind};
use crate::game::Defect;
pub(in crate::cbh) use files::blobs_begin;

use extents::Extents;
use records::{Misnamed, Stretch};

/// Records looked at by one core at a time.
const STRETCH: u32 = 256;

/// Stretches of one core that may wait to be reported.
const WAITING: usize = 4;

impl Database {
    /// Reports everything that is wrong with the base: all games are decoded
    /// and all files held against each other. `progress` is told from time to
    /// time how many records more have been looked at.
    ///
    /// Some of what is reported does no harm to a reader, as a game without its
    /// end marker; nothing is reported that `ChessBase` itself writes.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; what was found before has been reported.
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

    /// Gives all that can be mended in the records of games and texts to
    /// `take`, in order.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub(in crate::cbh) fn for_each_mend(
        &self,
        progress: &dyn Fn(u64),
        take: &mut dyn FnMut(Mend),
    ) -> Result<(), Error> {
        let mut remarks = Extents::new(FileKind::Annotations, 0);
        let mut misnamed = Vec::new();
        self.check_records(&mut |stretch| {
            stretch.mends.into_iter().for_each(&mut *take);
            remarks.extend(stretch.remarks);
            misnamed.extend(stretch.misnamed);
            progress(stretch.records.into());
        })?;
        // What two games have is of neither.
        let shared = remarks.overlapping();
        let misnamed = misnamed.into_iter();
        let own = misnamed.filter(|found| shared.binary_search(&found.record).is_err());
        own.filter_map(Misnamed::mend).for_each(take);
        Ok(())
    }

    /// Reports everything that is wrong with the base but its games: the
    /// headers of its files, and the entities.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; what was found before has been reported.
    pub fn check_whole(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        self.check_files(report)?;
        self.verify_entities(report)
    }

    /// Gives what is found in each stretch of records to `take`, in order.
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
                            // A closed channel: nobody wants to know any more.
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
