//! All games of a base as one PGN stream, rendered while it is read.

use std::io::{self, Read};

use crate::base::Base;
use crate::cbh::{Decoded, Entry, GameId, RecordKind};
use crate::pgn;

/// Number of records that are read at a time.
const STRETCH: u32 = 256;

/// All games of a base that are not deleted, in order, as one PGN.
#[derive(Debug)]
pub(super) struct GamesAsPgn {
    database: Box<dyn Base>,
    decoded: Decoded,
    /// Number of the next record.
    next: u32,
    entries: std::vec::IntoIter<Entry>,
    text: Vec<u8>,
    /// Number of bytes of the rendered text that were read.
    read: usize,
}

impl GamesAsPgn {
    pub(super) fn of(database: Box<dyn Base>) -> GamesAsPgn {
        GamesAsPgn {
            database,
            decoded: Decoded::reading_ahead(),
            next: 1,
            entries: Vec::new().into_iter(),
            text: Vec::new(),
            read: 0,
        }
    }

    /// The next record; `None` after the last.
    fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Ok(Some(entry));
            }
            if self.next > self.database.last_id() {
                return Ok(None);
            }
            let mut entries = Vec::new();
            let count = STRETCH.min(self.database.last_id() - self.next + 1);
            let read = self
                .database
                .entries(GameId(self.next), count, &mut entries);
            read.map_err(io::Error::other)?;
            self.next = self.next.saturating_add(count);
            self.entries = entries.into_iter();
        }
    }

    /// Renders the next game; returns false after the last one.
    fn render_next(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.read = 0;
        while let Some(entry) = self.next_entry()? {
            if entry.is_deleted || entry.kind != RecordKind::Game {
                continue;
            }
            let read = self.database.read_game(entry.id, &mut self.decoded);
            read.map_err(|error| {
                io::Error::other(format!("game {} cannot be read: {error}", entry.id.0))
            })?;
            let Decoded { game, defects, .. } = &self.decoded;
            pgn::encode(game, defects, &mut self.text);
            return Ok(true);
        }
        Ok(false)
    }
}

impl Read for GamesAsPgn {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.len() && !self.render_next()? {
            return Ok(0);
        }
        let rest = self.text.get(self.read..).unwrap_or_default();
        let count = rest.len().min(bytes.len());
        for (place, byte) in bytes.iter_mut().zip(rest) {
            *place = *byte;
        }
        self.read += count;
        Ok(count)
    }
}
