//! Raw records of `.cbh` and `.cbj`, and the open files.

use super::{Database, record_offset};
use crate::cbh::entities::EntityFile;
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::{self, GameRecord, RECORD_BYTES};
use crate::cbh::{Error, FileKind, GameId, RecordKind};
use crate::storage::{ReadBuffer, Storage};

impl Database {
    /// The `.cbj` records from `first` to before `end`, as far as they exist.
    pub(super) fn extended_records<'b>(
        &'b self,
        first: u32,
        end: u32,
        buffer: &'b mut ReadBuffer,
    ) -> Result<&'b [u8], Error> {
        let Some((storage, offset, length)) = self.extended_stretch(first, end) else {
            return Ok(&[]);
        };
        storage
            .read_up_to(offset, length, buffer)
            .map_err(|source| self.io(FileKind::Extended, source))
    }

    /// File, offset and length of the `.cbj` records from `first` to before
    /// `end`, as far as its header counts them.
    fn extended_stretch(&self, first: u32, end: u32) -> Option<(&dyn Storage, u64, usize)> {
        let (header, storage) = self.extended.as_ref()?;
        let offset = header.offset_of(first)?;
        let count = (end - first).min(header.count - (first - 1));
        let length = header.record_bytes as usize * count as usize;
        Some((storage.as_ref(), offset, length))
    }

    /// Returns the bytes of a record of `.cbh` that is in use.
    pub(in crate::cbh) fn header_bytes(&self, id: GameId) -> Result<[u8; RECORD_BYTES], Error> {
        let buffer = &mut ReadBuffer::default();
        let (_, bytes) = self.used_record(id, buffer)?;
        bytes.first_chunk().copied().ok_or(Error::NotUsed(id))
    }

    /// Returns the [whole bytes](ExtendedRecord::whole_bytes) of a record of `.cbj`;
    /// `None` if it has none for the game.
    pub(in crate::cbh) fn extended_bytes(&self, id: GameId) -> Result<Option<Vec<u8>>, Error> {
        let buffer = &mut ReadBuffer::default();
        let end = id.0.saturating_add(1);
        let bytes = self.kept_extended_records(id.0, end, buffer)?;
        let size = self.extended_record_bytes();
        Ok((!bytes.is_empty()).then(|| ExtendedRecord::whole_bytes(bytes, size)))
    }

    /// A file of the base as it was opened; `None` if it has none, or it was
    /// left aside.
    pub(in crate::cbh) fn storage(&self, kind: FileKind) -> Option<&dyn Storage> {
        match kind {
            FileKind::Headers => Some(self.headers.as_ref()),
            FileKind::Moves => Some(self.moves.as_ref()),
            FileKind::Annotations => Some(self.annotations.as_ref()),
            FileKind::Players => Some(self.players.storage()),
            FileKind::Tournaments => Some(self.tournaments.storage()),
            FileKind::Annotators => Some(self.annotators.storage()),
            FileKind::Sources => Some(self.sources.storage()),
            FileKind::Extended => self.extended.as_ref().map(|(_, file)| file.as_ref()),
            FileKind::Teams => self.teams.as_ref().map(EntityFile::storage),
            FileKind::Tags => self.tags.as_ref().map(EntityFile::storage),
            FileKind::TournamentExtras | FileKind::TopGames => None,
        }
    }

    pub(super) fn game_record(
        &self,
        id: GameId,
        buffer: &mut ReadBuffer,
    ) -> Result<GameRecord, Error> {
        GameRecord::decode(self.record(id, RecordKind::Game, buffer)?)
            .map_err(|fault| self.malformed(FileKind::Headers, record_offset(id.0), fault))
    }

    /// Returns the bytes of the record, if it is of this kind.
    pub(super) fn record<'b>(
        &'b self,
        id: GameId,
        wanted: RecordKind,
        buffer: &'b mut ReadBuffer,
    ) -> Result<&'b [u8], Error> {
        match self.used_record(id, buffer)? {
            (kind, bytes) if kind == wanted => Ok(bytes),
            _ => Err(Error::NotUsed(id)),
        }
    }

    /// Returns the bytes and the kind of a record that is in use.
    fn used_record<'b>(
        &'b self,
        id: GameId,
        buffer: &'b mut ReadBuffer,
    ) -> Result<(RecordKind, &'b [u8]), Error> {
        if id.0 == 0 || id.0 > self.last_id {
            return Err(Error::NotUsed(id));
        }
        let bytes = self
            .headers
            .read(record_offset(id.0), RECORD_BYTES, buffer)
            .map_err(|source| self.io(FileKind::Headers, source))?;
        match record::decode_kind(bytes) {
            Some((kind, _)) => Ok((kind, bytes)),
            None => Err(Error::NotUsed(id)),
        }
    }

    pub(super) fn extended_record(
        &self,
        id: GameId,
        buffer: &mut ReadBuffer,
    ) -> Result<ExtendedRecord, Error> {
        let bytes = self.kept_extended_records(id.0, id.0 + 1, buffer)?;
        Ok(ExtendedRecord::decode(bytes))
    }

    /// As [`extended_records`](Database::extended_records); an error if some
    /// are missing that were there when the base was opened.
    pub(in crate::cbh) fn kept_extended_records<'b>(
        &'b self,
        first: u32,
        end: u32,
        buffer: &'b mut ReadBuffer,
    ) -> Result<&'b [u8], Error> {
        let bytes = self.extended_records(first, end, buffer)?;
        if let Some((storage, offset, length)) = self.extended_stretch(first, end)
            && bytes.len() < length
        {
            storage
                .ensure_kept(offset + length as u64)
                .map_err(|source| self.io(FileKind::Extended, source))?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use super::*;
    use crate::cbh::base::copy_of_sample;
    use crate::cbh::{Decoded, Options};
    use crate::game::{Game, Moments};

    #[test]
    fn moves_beyond_4_gib_are_where_the_cbj_says() {
        let folder = copy_of_sample();
        let moves_of = |game: &Game| {
            let line = game.tree.main_line();
            line.map(|id| game.tree.ply(id).unwrap().mv)
                .collect::<Vec<_>>()
        };
        let (id, options) = (GameId(2), Options::default());
        let path = folder.path().join("sample.cbh");
        let database = Database::open(&path, &options).unwrap();
        let mut whole = Decoded::default();
        database.read_game(id, &mut whole).unwrap();
        let stored = database.stored_game(id).unwrap();
        let record = database
            .game_record(id, &mut ReadBuffer::default())
            .unwrap();
        let offset = u64::from(record.moves_offset);

        // The moves 4 GiB further, and nothing where they were.
        let far = offset + (1 << 32);
        let open = |path: &Path| File::options().write(true).open(path).unwrap();
        let moves = open(&path.with_extension("cbg"));
        moves.write_all_at(&stored.moves, far).unwrap();
        let nothing = vec![0; stored.moves.len()];
        moves.write_all_at(&nothing, offset).unwrap();
        let extended = open(&path.with_extension("cbj"));
        let at = 32 + 120 + 30;
        extended.write_all_at(&far.to_be_bytes(), at).unwrap();

        let database = Database::open(&path, &options).unwrap();
        let mut decoded = Decoded::default();
        let mut plies = 0;
        assert!(database.glance(id, &mut decoded, Moments::ALL, &mut |_| {
            plies += 1;
            true
        }));
        assert_eq!(plies, whole.game.tree.main_line_len() + 1);
        database.read_moves_only(id, &mut decoded).unwrap();
        assert_eq!(moves_of(&decoded.game), moves_of(&whole.game));
        assert_eq!(database.stored_game(id).unwrap(), stored);
        database.read_game(id, &mut decoded).unwrap();
        assert_eq!(moves_of(&decoded.game), moves_of(&whole.game));
    }
}
