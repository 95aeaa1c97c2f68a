//! The writes of a save to `.cbh` and `.cbtt`.

use std::ffi::OsStr;

use super::{SaveError, Saver, file_name};
use crate::cbh::FileKind;
use crate::cbh::entities::{TournamentExtras, Unfit};
use crate::cbh::record::{self, RECORD_BYTES};
use crate::storage::{MemoryFile, ReadBuffer, Transaction};

/// Offset of a record of `.cbh`.
pub(super) fn offset_of(id: u32) -> u64 {
    RECORD_BYTES as u64 * u64::from(id)
}

/// Joins adjacent parts.
pub(super) fn joined<'p>(parts: impl Iterator<Item = (u64, &'p [u8])>) -> Vec<(u64, Vec<u8>)> {
    let mut joined: Vec<(u64, Vec<u8>)> = Vec::new();
    for (offset, bytes) in parts {
        match joined.last_mut() {
            Some((at, before)) if *at + before.len() as u64 == offset => {
                before.extend_from_slice(bytes);
            }
            _ => joined.push((offset, bytes.to_vec())),
        }
    }
    joined
}

/// Writes adjacent parts as one.
pub(super) fn write_joined<'p>(
    parts: impl Iterator<Item = (u64, &'p [u8])>,
    file: &OsStr,
    transaction: &mut Transaction,
) {
    for (offset, bytes) in joined(parts) {
        transaction.write(file, offset, bytes);
    }
}

impl Saver<'_> {
    pub(super) fn write_records(&self, transaction: &mut Transaction) -> Result<(), SaveError> {
        let name = file_name(self.database, FileKind::Headers);
        let records = self.records.iter();
        let records = records.map(|(&id, bytes)| (offset_of(id), bytes.as_slice()));
        write_joined(records, &name, transaction);
        if self.next_id == self.database.last_id().saturating_add(1) {
            return Ok(());
        }
        let Some(headers) = self.database.storage(FileKind::Headers) else {
            return Ok(());
        };
        let mut buffer = ReadBuffer::default();
        let read = headers.read(0, RECORD_BYTES, &mut buffer);
        let read = read.map_err(|source| self.database.io(FileKind::Headers, source))?;
        let mut bytes = read.to_vec();
        let header = record::FileHeader {
            next_id: self.next_id,
            ..self.database.header
        };
        let encoded = header.encode(&mut bytes);
        encoded.map_err(SaveError::malformed(FileKind::Headers))?;
        transaction.write(&name, 0, bytes);
        if self.next_id <= self.database.last_id() {
            transaction.set_len(&name, offset_of(self.next_id));
        }
        Ok(())
    }

    /// Writes the last days of tournaments. The file is created if one is
    /// known.
    pub(super) fn write_extras(&mut self, transaction: &mut Transaction) -> Result<(), SaveError> {
        if self.extras.is_empty() {
            return Ok(());
        }
        let file = FileKind::TournamentExtras;
        let refused = SaveError::entity(file);
        let name = file_name(self.database, file);
        let is_known = self.extras.values().any(|change| !change.end.is_unknown());
        let made;
        let extras = match &self.database.tournament_extras {
            Some(extras) => extras,
            None if !is_known => return Ok(()),
            None if self.database.family().path(file).is_some() => {
                return Err(SaveError::Damaged(
                    file,
                    "it could not be opened".to_owned(),
                ));
            }
            None => {
                let begin: Vec<u8> = [3, 65, 0, 0, 0, 0, 0, 0]
                    .into_iter()
                    .flat_map(u32::to_le_bytes)
                    .collect();
                transaction.create(&name);
                transaction.write(&name, 0, begin.clone());
                made = TournamentExtras::open(Box::new(MemoryFile::from(begin)))
                    .map_err(|source| self.database.io(file, source))?
                    .map_err(SaveError::malformed(file))?;
                &made
            }
        };
        let changed = extras.writes(&self.extras).map_err(refused)?;
        for (offset, bytes) in changed.writes {
            transaction.write(&name, offset, bytes);
        }
        for id in changed.unfit {
            let end = self.extras.get(&id).map(|change| change.end.to_string());
            self.unfit.push(Unfit {
                field: "EventEndDate",
                stored: String::new(),
                whole: end.unwrap_or_default(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_follow_one_another_are_one() {
        let parts: [(u64, &[u8]); 5] = [(3, b"ab"), (5, b"c"), (6, b"d"), (8, b"e"), (8, b"f")];
        let one = |at: u64, bytes: &[u8]| (at, bytes.to_vec());
        let wanted = [one(3, b"abcd"), one(8, b"e"), one(8, b"f")];
        assert_eq!(joined(parts.into_iter()), wanted);
        assert_eq!((offset_of(0), offset_of(3)), (0, 138));
    }
}
