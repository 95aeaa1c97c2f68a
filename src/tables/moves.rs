//! The column of moves as it is stored: few moves differ, so each is the number of
//! its word in a dictionary of those that occur, in as few bits as that needs.

use std::io::Write;

use ::parquet::errors::Result;
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::ColumnDescPtr;

use super::chunk::{Chunk, ColumnStatistics, PageValues, append_length, width};
use super::uci::{self, CODES};
/// A page has so many moves or few more.
const PAGE_MOVES: usize = 1 << 15;

/// Says of a code that it has no number yet.
const NONE: u16 = u16::MAX;

/// The moves of many games.
#[derive(Debug, Default)]
pub(super) struct Moves {
    codes: Vec<u16>,
    /// Where the codes of each game end.
    ends: Vec<usize>,
}

impl Moves {
    /// Appends the moves of a game, as [`uci::code`] makes them.
    pub(super) fn push(&mut self, codes: &[u16]) {
        self.codes.extend_from_slice(codes);
        self.ends.push(self.codes.len());
    }

    /// Writes all games, in this order, and forgets them.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        order: &[u32],
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let dictionary = Dictionary::of(&self.codes);
        let width = width(dictionary.codes.len());
        let mut chunk = Chunk::plain();
        chunk.write_dictionary(dictionary.words(), dictionary.codes.len())?;
        let mut page = PageValues::lists();
        for &row in order {
            let codes = self.of(row as usize).iter();
            page.push_list(codes.map(|&code| dictionary.number(code)));
            if page.all.len() >= PAGE_MOVES {
                page.write(width, &mut chunk)?;
            }
        }
        page.write(width, &mut chunk)?;
        self.codes.clear();
        self.ends.clear();
        chunk.append_to(column, ColumnStatistics::default(), group)
    }

    fn of(&self, row: usize) -> &[u16] {
        let before = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let end = self.ends.get(row).copied().unwrap_or(0);
        let range = before.copied().unwrap_or(0)..end;
        self.codes.get(range).unwrap_or_default()
    }
}

/// The moves that occur.
struct Dictionary {
    /// By code.
    numbers: Vec<u16>,
    /// By number.
    codes: Vec<u16>,
}

impl Dictionary {
    fn of(codes: &[u16]) -> Dictionary {
        let mut numbers = vec![NONE; usize::from(CODES)];
        let mut known = Vec::new();
        for &code in codes {
            if let Some(number) = numbers.get_mut(usize::from(code))
                && *number == NONE
            {
                // There are fewer codes than numbers.
                *number = u16::try_from(known.len()).unwrap_or(NONE);
                known.push(code);
            }
        }
        Dictionary {
            numbers,
            codes: known,
        }
    }

    fn number(&self, code: u16) -> u32 {
        let number = self.numbers.get(usize::from(code));
        number.copied().unwrap_or(0).into()
    }

    /// The words of all moves, with their lengths.
    fn words(&self) -> Vec<u8> {
        let mut words = Vec::new();
        let mut word = Vec::new();
        for &code in &self.codes {
            word.clear();
            uci::append(code, &mut word);
            append_length(word.len(), &mut words);
            words.extend_from_slice(&word);
        }
        words
    }
}
