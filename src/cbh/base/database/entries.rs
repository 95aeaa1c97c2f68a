//! Listing of records: a range by one read of each file, or the rest of a file
//! that was truncated.

use std::io;
use std::time::SystemTime;

use super::lists::{RecordPair, summary_of};
use super::{Database, Error, FileKind, GameId, RECORD_BYTES, ReadBuffer, record_offset};
use crate::cbh::base::summary::Summary;
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::Entry;

/// A record in a listing, with the summary of a game.
#[derive(Clone, Copy, Debug)]
pub struct ListedRecord {
    /// The fields of every record.
    pub entry: Entry,
    /// Time of the last save, or else of creation, if the base contains it.
    pub modified: Option<SystemTime>,
    /// The summary of a game; `None` if it cannot be read, or its record in
    /// `.cbj` was lost since the base was opened.
    pub summary: Option<Summary>,
}

impl Database {
    /// Appends the used records of the `count` ids from `first` on, in order,
    /// by one read of `.cbh`. `count` bounds the memory.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also if the files were truncated. The records before the
    /// end have been appended then.
    pub fn entries(
        &self,
        first: GameId,
        count: u32,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        self.for_each_left(first, count, false, &mut |record| {
            entries.push(entry_of(record));
        })
    }

    /// As [`entries`](Database::entries), with times, and with the summaries of
    /// games, which takes a read of `.cbj` too.
    ///
    /// # Errors
    ///
    /// As [`entries`](Database::entries).
    pub fn listed(
        &self,
        first: GameId,
        count: u32,
        listed: &mut Vec<ListedRecord>,
    ) -> Result<(), Error> {
        self.for_each_left(first, count, true, &mut |record| {
            listed.push(ListedRecord {
                entry: entry_of(record),
                modified: self.modified_of(record),
                summary: summary_of(record).filter(|_| self.has_kept(record)),
            });
        })
    }

    fn modified_of(&self, record: &RecordPair<'_>) -> Option<SystemTime> {
        let is_whole = record.extended.len() == self.extended_record_bytes();
        let extended = is_whole.then(|| ExtendedRecord::decode(record.extended));
        extended.and_then(|extended| extended.modified())
    }

    /// Returns whether the record in `.cbj` is as long as when the base was
    /// opened.
    fn has_kept(&self, record: &RecordPair<'_>) -> bool {
        let Some((header, storage)) = &self.extended else {
            return true;
        };
        let length = header.record_bytes;
        match header.offset_of(record.id.0) {
            Some(offset) if record.extended.len() < length as usize => {
                storage.ensure_kept(offset + u64::from(length)).is_ok()
            }
            _ => true,
        }
    }

    /// Calls `take` with the used records of the `count` ids from `first` on,
    /// those of `.cbj` only if requested.
    fn for_each_left(
        &self,
        first: GameId,
        count: u32,
        with_extended: bool,
        take: &mut dyn FnMut(&RecordPair<'_>),
    ) -> Result<(), Error> {
        let first = first.0.max(1);
        let end = first
            .saturating_add(count)
            .min(self.last_id.saturating_add(1));
        if first >= end {
            return Ok(());
        }
        let length = RECORD_BYTES * (end - first) as usize;
        let mut buffer = ReadBuffer::default();
        let records = self
            .headers
            .read_up_to(record_offset(first), length, &mut buffer)
            .map_err(|source| self.io(FileKind::Headers, source))?;
        let mut extended_buffer = ReadBuffer::default();
        let extended = if with_extended {
            self.extended_records(first, end, &mut extended_buffer)?
        } else {
            &[]
        };
        self.for_each_used(first, records, extended, take);
        if records.len() < length {
            return Err(self.io(FileKind::Headers, io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(())
    }
}

fn entry_of(record: &RecordPair<'_>) -> Entry {
    Entry {
        id: record.id,
        kind: record.kind,
        is_deleted: record.is_deleted,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::cbh::Options;
    use crate::cbh::base::copy_of_sample;

    #[test]
    fn records_before_the_end_of_a_file_that_was_cut_are_listed() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let database = Database::open(&path, &Options::default()).unwrap();
        let last = database.last_id();
        let listed = |first, count| {
            let mut entries = Vec::new();
            let whole = database.entries(GameId(first), count, &mut entries);
            let ids = entries.iter().map(|entry| entry.id.0);
            (ids.collect::<Vec<_>>(), whole.is_ok())
        };
        let (all, is_whole) = listed(0, u32::MAX);
        assert!(is_whole && all.contains(&1) && all.contains(&last));
        assert_eq!(listed(2, 2), (vec![2, 3], true));
        assert_eq!(listed(last, 9), (vec![last], true));
        assert_eq!(listed(last + 1, 9), (Vec::new(), true));
        let mut records = Vec::new();
        database.listed(GameId(1), 2, &mut records).unwrap();
        assert!(records.iter().all(|record| record.summary.is_some()));
        let cut = File::options().write(true).open(&path).unwrap();
        cut.set_len(record_offset(4)).unwrap();
        assert_eq!(listed(1, 9), (vec![1, 2, 3], false));
        assert_eq!(listed(1, 3), (vec![1, 2, 3], true));
    }

    #[test]
    fn a_game_whose_further_record_was_cut_has_no_summary() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let database = Database::open(&path, &Options::default()).unwrap();
        let further = path.with_extension("cbj");
        let cut = File::options().write(true).open(&further).unwrap();
        // Three whole records behind the header, and a part of the fourth.
        cut.set_len(32 + 120 * 3 + 119).unwrap();
        let mut records = Vec::new();
        database.listed(GameId(1), 4, &mut records).unwrap();
        let known = records.iter().map(|record| record.summary.is_some());
        assert_eq!(known.collect::<Vec<_>>(), [true, true, true, false]);
        // What ended there when the base was opened is known.
        let database = Database::open(&path, &Options::default()).unwrap();
        database.listed(GameId(1), 4, &mut records).unwrap();
        assert!(records[4..].iter().all(|record| record.summary.is_some()));
    }
}
