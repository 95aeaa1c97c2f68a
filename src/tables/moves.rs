//! The column of moves as it is stored: few moves differ, so each is the number of
//! its word in a dictionary of those that occur, in as few bits as that needs.
//!
//! The writer of the crate would look each of a hundred moves of a game up by its
//! word, and compare it for statistics that serve nobody.

use std::io::Write;

use ::parquet::basic::{Compression, Encoding, PageType};
use ::parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::Result;
use ::parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use ::parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;

use super::uci::{self, CODES};
use crate::storage::append_varint;

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
        let mut chunk = Chunk::new(Dictionary::of(&self.codes));
        chunk.write_dictionary()?;
        let mut page = PageOfMoves::default();
        for &row in order {
            page.push(self.of(row as usize), &chunk.dictionary);
            if page.numbers.len() >= PAGE_MOVES {
                chunk.write(&mut page)?;
            }
        }
        if page.rows > 0 {
            chunk.write(&mut page)?;
        }
        self.codes.clear();
        self.ends.clear();
        chunk.append_to(column, group)
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
    /// Bits of a number.
    width: u32,
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
        let last = known.len().saturating_sub(1);
        Dictionary {
            numbers,
            codes: known,
            width: (usize::BITS - last.leading_zeros()).max(1),
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

/// The games of a page.
#[derive(Debug, Default)]
struct PageOfMoves {
    /// Of the moves, in the dictionary.
    numbers: Vec<u32>,
    /// 0 for the first move of a game, 1 for others.
    repetitions: Vec<u32>,
    /// 1 for a move; 0 for a game without moves.
    definitions: Vec<u32>,
    rows: u32,
}

impl PageOfMoves {
    fn push(&mut self, codes: &[u16], dictionary: &Dictionary) {
        let numbers = codes.iter().map(|&code| dictionary.number(code));
        self.numbers.extend(numbers);
        let levels = self.repetitions.len();
        self.repetitions.push(0);
        self.repetitions.resize(levels + codes.len().max(1), 1);
        let is_there = u32::from(!codes.is_empty());
        self.definitions.resize(self.repetitions.len(), is_there);
        self.rows += 1;
    }

    /// The page as it is stored.
    fn stored(&self, width: u32) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.numbers.len() * 2);
        let mut levels = Vec::new();
        for all in [&self.repetitions, &self.definitions] {
            levels.clear();
            append_packed(all, 1, &mut levels);
            append_length(levels.len(), &mut bytes);
            bytes.extend_from_slice(&levels);
        }
        bytes.extend_from_slice(&width.to_le_bytes()[..1]);
        append_packed(&self.numbers, width, &mut bytes);
        bytes
    }
}

fn append_length(length: usize, bytes: &mut Vec<u8>) {
    // Pages are short.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
}

/// Appends numbers of `width` bits as one run, filled up to eight of them.
fn append_packed(numbers: &[u32], width: u32, bytes: &mut Vec<u8>) {
    let eights = numbers.len().div_ceil(8) as u64;
    append_varint(eights << 1 | 1, bytes);
    let (mut word, mut used) = (0_u64, 0);
    let padding = numbers.len().next_multiple_of(8) - numbers.len();
    for &number in numbers.iter().chain(std::iter::repeat_n(&0, padding)) {
        word |= u64::from(number) << used;
        used += width;
        while used >= 8 {
            bytes.push(word.to_le_bytes()[0]);
            word >>= 8;
            used -= 8;
        }
    }
}

/// A column of a row group that is written into memory.
struct Chunk {
    sink: TrackedWrite<Vec<u8>>,
    dictionary: Dictionary,
    rows: u64,
    values: i64,
    data_offset: Option<u64>,
    pages: OffsetIndexBuilder,
    data_pages: i32,
}

impl Chunk {
    fn new(dictionary: Dictionary) -> Chunk {
        Chunk {
            sink: TrackedWrite::new(Vec::new()),
            dictionary,
            rows: 0,
            values: 0,
            data_offset: None,
            pages: OffsetIndexBuilder::new(),
            data_pages: 0,
        }
    }

    fn write_page(&mut self, page: Page) -> Result<PageWriteSpec> {
        let length = page.buffer().len();
        SerializedPageWriter::new(&mut self.sink).write_page(CompressedPage::new(page, length))
    }

    fn write_dictionary(&mut self) -> Result<()> {
        let page = Page::DictionaryPage {
            buf: self.dictionary.words().into(),
            num_values: u32::try_from(self.dictionary.codes.len()).unwrap_or(0),
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.write_page(page).map(drop)
    }

    /// Writes a page, and empties it.
    fn write(&mut self, page: &mut PageOfMoves) -> Result<()> {
        let values = u32::try_from(page.repetitions.len()).unwrap_or(u32::MAX);
        let written = self.write_page(Page::DataPage {
            buf: page.stored(self.dictionary.width).into(),
            num_values: values,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.data_offset.get_or_insert(written.offset);
        self.pages.append_row_count(page.rows.into());
        // Pages are short, and so is a row group.
        let size = i32::try_from(written.compressed_size).unwrap_or(i32::MAX);
        let offset = i64::try_from(written.offset).unwrap_or(i64::MAX);
        self.pages.append_offset_and_size(offset, size);
        self.rows += u64::from(page.rows);
        self.values += i64::from(values);
        self.data_pages += 1;
        page.numbers.clear();
        page.repetitions.clear();
        page.definitions.clear();
        page.rows = 0;
        Ok(())
    }

    /// Appends all to the row group as its next column.
    fn append_to<W: Write + Send>(
        self,
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let bytes: Bytes = self.sink.into_inner()?.into();
        let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let data_offset = i64::try_from(self.data_offset.unwrap_or(0)).unwrap_or(0);
        let pages = |page_type, encoding, count| PageEncodingStats {
            page_type,
            encoding,
            count,
        };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_page_encoding_stats(vec![
                pages(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
                pages(
                    PageType::DATA_PAGE,
                    Encoding::RLE_DICTIONARY,
                    self.data_pages,
                ),
            ])
            .set_total_compressed_size(length)
            .set_total_uncompressed_size(length)
            .set_num_values(self.values)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(data_offset)
            .build()?;
        group.append_column(
            &bytes,
            ColumnCloseResult {
                bytes_written: bytes.len() as u64,
                rows_written: self.rows,
                metadata,
                bloom_filter: None,
                column_index: None,
                offset_index: Some(self.pages.build()),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_from_the_lowest_bit() {
        // The example of the format: 0 to 7 in three bits each.
        let mut bytes = Vec::new();
        append_packed(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut bytes);
        assert_eq!(bytes, [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        bytes.clear();
        append_packed(&[1; 9], 1, &mut bytes);
        assert_eq!(bytes, [5, 0xff, 0x01]);
    }

    #[test]
    fn a_number_has_as_few_bits_as_the_dictionary_needs() {
        for (moves, width) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (2049, 12)] {
            let codes: Vec<u16> = (0..moves).collect();
            let dictionary = Dictionary::of(&codes);
            assert_eq!(dictionary.width, width, "{moves}");
            assert!(
                codes
                    .iter()
                    .all(|&code| dictionary.number(code) == u32::from(code))
            );
        }
    }
}
