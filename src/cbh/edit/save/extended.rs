//! Changes of `.cbj` by a save.

use std::collections::btree_map::Entry;

use super::writing::write_joined;
use super::{SaveError, Saver, file_name};
use crate::cbh::extended::{ExtendedHeader, ExtendedRecord, HEADER_BYTES};
use crate::cbh::record::{self, GameRecord};
use crate::cbh::{FileKind, GameId, RecordKind};
use crate::storage::Transaction;

/// Version and record size of a new `.cbj`.
pub(super) const NEW_EXTENDED: ExtendedHeader = ExtendedHeader {
    version: 11,
    record_bytes: 120,
    count: 0,
};

impl Saver<'_> {
    /// A stamp of creation that no game has.
    pub(super) fn created(&mut self) -> Result<u64, SaveError> {
        let now = self.now;
        Ok(self.entities.scan()?.clock.next(now))
    }

    pub(super) fn put_extended(
        &mut self,
        id: GameId,
        before: &ExtendedRecord,
        after: &ExtendedRecord,
    ) -> Result<(), SaveError> {
        let mut bytes = match self.database.extended_bytes(id)? {
            Some(bytes) => bytes,
            None if needs_record(before, after) => {
                return self.put_new_extended(id, after);
            }
            None => return Ok(()),
        };
        ensure_place(&mut bytes, after)?;
        ExtendedRecord::note_save(&mut bytes, self.now);
        self.extended_records.insert(id.0, bytes);
        Ok(())
    }

    pub(super) fn put_new_extended(
        &mut self,
        id: GameId,
        after: &ExtendedRecord,
    ) -> Result<(), SaveError> {
        if self.extended.is_none() {
            let bare = ExtendedRecord::decode(&ExtendedRecord::new_bytes(120));
            if !needs_record(&bare, after) {
                return Ok(());
            }
        }
        self.reach(id)?;
        let bytes = self.extended_records.entry(id.0).or_default();
        let offsets = ExtendedRecord::decode(bytes);
        let after = ExtendedRecord {
            moves_offset: offsets.moves_offset,
            annotations_offset: offsets.annotations_offset,
            created: after.created,
            ..*after
        };
        ensure_place(bytes, &after)
    }

    /// Extends `.cbj` up to this record, and creates it if there is none. Records that
    /// were missing before get default values, and so does this one.
    fn reach(&mut self, id: GameId) -> Result<(), SaveError> {
        let mut header = self.extended.unwrap_or(NEW_EXTENDED);
        let size = header.record_bytes as usize;
        // What stands behind the last game belongs to none.
        let first = self.extended_present()?.saturating_add(1).min(id.0);
        let last = match self.extended {
            Some(_) => id.0,
            // A new file has a record for each game.
            None => id.0.max(self.database.last_id()),
        };
        for gap in first..=last {
            if let Entry::Vacant(place) = self.extended_records.entry(gap) {
                // The first may be there in part.
                let stored = self.database.extended_bytes(GameId(gap))?;
                place.insert(stored.unwrap_or_else(|| ExtendedRecord::new_bytes(size)));
            }
        }
        let mut records = std::mem::take(&mut self.extended_records);
        let mut tell = |id: GameId, bytes: &[u8]| {
            if let Some(record) = records.get_mut(&id.0) {
                tell_offsets(bytes, record);
            }
        };
        let end = last.saturating_add(1);
        self.database.scan(first..end, false, &mut |record| {
            tell(record.id, record.bytes);
        })?;
        let laid = first.max(self.database.last_id().saturating_add(1))..self.laid;
        self.scan_laid(laid, &mut |id, bytes, _| tell(id, bytes))?;
        for (&id, bytes) in self.records.range(first.min(end)..end) {
            tell(GameId(id), bytes);
        }
        self.extended_records = records;
        header.count = header.count.max(last);
        self.extended = Some(header);
        Ok(())
    }

    /// How many records `.cbj` has. One that was cut is not filled up: what is gone may
    /// be brought back from a backup.
    fn extended_present(&self) -> Result<u32, SaveError> {
        let claimed = self.extended.map_or(0, |header| header.count);
        match &self.database.extended {
            Some((header, storage)) if header.count == claimed => {
                let io = |source| self.database.io(FileKind::Extended, source);
                let bytes = storage
                    .len()
                    .map_err(io)?
                    .saturating_sub(HEADER_BYTES as u64);
                let present = bytes / u64::from(header.record_bytes);
                if present < u64::from(claimed) {
                    let what = format!(
                        "{claimed} records claimed, {present} found; bring back the whole file, \
                         or let `cbfs check --repair` go on without what is gone"
                    );
                    return Err(SaveError::Damaged(FileKind::Extended, what));
                }
                Ok(claimed)
            }
            _ => Ok(claimed),
        }
    }

    /// The records come before the header that counts them.
    pub(super) fn write_extended(&self, transaction: &mut Transaction) -> Result<(), SaveError> {
        let Some(header) = self.extended else {
            return Ok(());
        };
        let name = file_name(self.database, FileKind::Extended);
        let stored = self.database.extended.as_ref().map(|(header, _)| *header);
        if stored.is_none() {
            transaction.create(&name);
        }
        let size = u64::from(header.record_bytes);
        let records = self.extended_records.iter();
        let records = records.map(|(&id, bytes)| {
            (
                HEADER_BYTES as u64 + size * u64::from(id - 1),
                bytes.as_slice(),
            )
        });
        write_joined(records, &name, transaction);
        if stored != Some(header) {
            let mut bytes = [0; HEADER_BYTES];
            let encoded = header.encode(&mut bytes);
            encoded.map_err(SaveError::malformed(FileKind::Extended))?;
            let changed = if stored.is_none() { HEADER_BYTES } else { 12 };
            transaction.write(&name, 0, bytes.get(..changed).unwrap_or_default());
        }
        if stored.is_some_and(|stored| stored.count > header.count) {
            let end = HEADER_BYTES as u64 + size * u64::from(header.count);
            transaction.set_len(&name, end);
        }
        Ok(())
    }
}

/// Whether something changes that only a record of `.cbj` can tell.
fn needs_record(before: &ExtendedRecord, after: &ExtendedRecord) -> bool {
    let told = |record: &ExtendedRecord| {
        let types = [record.white_elo_type, record.black_elo_type];
        let types = types.map(|kind| Some(kind).filter(|kind| !kind.is_usual()));
        let teams = [record.white_team, record.black_team].map(|team| team.max(-1));
        (types, teams, record.tag.max(-1))
    };
    told(before) != told(after)
}

/// Writes what is told into a record of any version, if it has the place.
fn ensure_place(bytes: &mut [u8], told: &ExtendedRecord) -> Result<(), SaveError> {
    told.encode(bytes);
    let written = ExtendedRecord::decode(bytes);
    let no_place = |field, value| {
        let why = "the records of .cbj are of a version that has no such field";
        Err(SaveError::NoPlace { field, value, why })
    };
    for (field, written, told) in [
        (
            "CbhWhiteEloType",
            written.white_elo_type,
            told.white_elo_type,
        ),
        (
            "CbhBlackEloType",
            written.black_elo_type,
            told.black_elo_type,
        ),
    ] {
        if !told.is_usual() && written != told {
            return no_place(field, format!("{:02x?}", told.bytes));
        }
    }
    if told.tag >= 0 && written.tag != told.tag {
        return no_place("CbhTag", "a label".to_owned());
    }
    Ok(())
}

/// Repeats the offsets of a record of `.cbh` in one of `.cbj`.
fn tell_offsets(header: &[u8], record: &mut [u8]) {
    let is_text = matches!(record::decode_kind(header), Some((RecordKind::Text, _)));
    let told = match (is_text, GameRecord::decode(header)) {
        (false, Ok(game)) => (
            u64::from(game.moves_offset),
            u64::from(game.annotations_offset),
        ),
        (true, _) => match record::TextRecord::decode(header) {
            Ok(text) => (text.offset.into(), 0),
            Err(_) => return,
        },
        (false, Err(_)) => return,
    };
    let mut extended = ExtendedRecord::decode(record);
    // Beyond 4 GiB a record that was cut may tell the whole offset.
    let low = |offset: u64| offset & u64::from(u32::MAX);
    if low(extended.moves_offset) != told.0 {
        extended.moves_offset = told.0;
    }
    if low(extended.annotations_offset) != told.1 {
        extended.annotations_offset = told.1;
    }
    extended.encode(record);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_teams_labels_and_kinds_of_ratings_need_a_record() {
        let before = ExtendedRecord::decode(&ExtendedRecord::new_bytes(120));
        let needs = |change: &dyn Fn(&mut ExtendedRecord)| {
            let mut after = before;
            change(&mut after);
            needs_record(&before, &after)
        };
        assert!(needs(&|record| record.white_team = 0));
        assert!(needs(&|record| record.black_team = 2));
        assert!(needs(&|record| record.tag = 0));
        assert!(needs(&|record| record.white_elo_type.bytes[0] ^= 2));
        assert!(!needs(&|record| record.tag = -7));
        assert!(!needs(&|record| record.black_team = -2));
        assert!(!needs(&|record| record.moves_offset = 9));
    }
}
