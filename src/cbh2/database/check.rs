//! Checks a base.
//!
//! First come the files as wholes, then the records of `.2cbh` by their
//! numbers, each with its moves and remarks, then the entities. The records
//! are looked at by all cores, a stretch of [`STRETCH`] each, and reported in
//! order. A core that is ahead waits.

use std::sync::mpsc::{Receiver, sync_channel};
use std::{io, thread};

use super::{
    Cbh2Record, Database, Decoded, Error, FileKind, GameId, GuidingText, RECORD_BYTES, RecordType,
    record_offset,
};
use crate::game::Defect;

/// Number of records that one thread checks at a time.
const STRETCH: u32 = 256;

/// Number of checked ranges per thread that can wait for their report.
const WAITING: usize = 4;

/// The defects of a range.
type Found = Result<Vec<Defect>, Error>;

impl Database {
    /// Reports all defects of the base. All games are decoded, with all that
    /// they refer to. `progress` is called with the number of records checked
    /// since the last call.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the defects found before have been reported.
    pub fn check(
        &self,
        progress: &dyn Fn(u64),
        report: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        self.defects.iter().cloned().for_each(&mut *report);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let stretches = self.last_id.div_ceil(STRETCH);
        thread::scope(|scope| {
            let receivers: Vec<Receiver<Found>> = (0..cores)
                .map(|core| {
                    let (sender, receiver) = sync_channel(WAITING);
                    scope.spawn(move || {
                        let mut mine = (0..stretches).skip(core).step_by(cores);
                        // A closed channel: the report has ended.
                        mine.all(|stretch| sender.send(self.check_stretch(stretch)).is_ok());
                    });
                    receiver
                })
                .collect();
            for (stretch, receiver) in (0..stretches).zip(receivers.iter().cycle()) {
                let ended =
                    |_| self.io(FileKind::Headers, io::Error::other("a thread ended early"));
                let found = receiver.recv().map_err(ended)??;
                found.into_iter().for_each(&mut *report);
                progress(u64::from(STRETCH.min(self.last_id - stretch * STRETCH)));
            }
            Ok(())
        })?;
        self.check_whole(report)
    }

    /// Reports the defects of the base except those of its games: those of the
    /// entities.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; the defects found before have been reported.
    pub fn check_whole(&self, report: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        let mut report = |offset, what| {
            report(Defect {
                file: FileKind::Entities.extension(),
                offset,
                what,
            });
        };
        let verified = self.entities.verify(self.page, &mut report);
        verified.map_err(|source| self.io(FileKind::Entities, source))
    }

    fn check_stretch(&self, stretch: u32) -> Found {
        let first = 1 + stretch * STRETCH;
        let (mut decoded, mut text) = (Decoded::reading_ahead(), GuidingText::default());
        let mut found = Vec::new();
        for id in (first..=self.last_id).take(STRETCH as usize).map(GameId) {
            let mut bytes = [0; RECORD_BYTES];
            match self.record(id, &mut bytes, &mut decoded.buffer) {
                Err(Error::NotUsed(_)) => found.push(unknown(id)),
                Err(error) => return Err(error),
                Ok((RecordType::Text, record)) => {
                    marks(&record, &mut found);
                    self.read_text(id, &mut text)?;
                    found.append(&mut text.defects);
                }
                Ok((kind, record)) => {
                    marks(&record, &mut found);
                    self.read_game(id, &mut decoded)?;
                    if decoded.defects.is_empty() && kind == RecordType::Game {
                        count_moves(&record, &decoded, &mut found);
                    }
                    found.append(&mut decoded.defects);
                }
            }
        }
        Ok(found)
    }
}

fn of_record(id: GameId, at: u64, what: String) -> Defect {
    Defect {
        file: FileKind::Headers.extension(),
        offset: record_offset(id) + at,
        what,
    }
}

fn unknown(id: GameId) -> Defect {
    let what = format!("record {} is neither game nor text nor analysis", id.0);
    of_record(id, 2, what)
}

fn marks(record: &Cbh2Record<'_>, found: &mut Vec<Defect>) {
    if !record.has_usual_marks() {
        let what = format!("the first bytes of record {} contradict", record.id.0);
        found.push(of_record(record.id, 0, what));
    }
}

/// Compares the stored number of moves with the decoded ones.
fn count_moves(record: &Cbh2Record<'_>, decoded: &Decoded, found: &mut Vec<Defect>) {
    let game = &decoded.game;
    let black_begins = usize::from(game.start.position.turn().is_black());
    let moves = (game.tree.main_line_len() + 1 + black_begins) / 2;
    let claimed = record.summary().map_or(0, |summary| summary.move_count);
    if usize::from(claimed) != moves {
        let id = record.id.0;
        let what = format!("game {id} has {moves} moves, its record says {claimed}");
        found.push(of_record(record.id, 0x8a, what));
    }
}
