//! A column of a row group that is written into memory, page by page.
//!
//! The writer of the `parquet` crate looks up each value in its dictionary, and
//! compares it for the statistics. Here the values are numbers of a known dictionary
//! already.

use std::io::Write;

use ::parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use ::parquet::bloom_filter::Sbbf;
use ::parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::Result;
use ::parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use ::parquet::file::page_index::column_index::ColumnIndexMetaData;
use ::parquet::file::statistics::Statistics;
use ::parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;
use zstd::bulk::Compressor;

use crate::bytes::append_varint;

/// Level of the compression.
pub(super) const LEVEL: i32 = 1;

/// Statistics, page index and Bloom filter of a column.
#[derive(Debug, Default)]
pub(super) struct ColumnStatistics {
    pub(super) statistics: Option<Statistics>,
    pub(super) pages: Option<ColumnIndexMetaData>,
    pub(super) bloom_filter: Option<Sbbf>,
}

/// A column of a row group.
pub(super) struct Chunk {
    sink: TrackedWrite<Vec<u8>>,
    /// `None` if the pages are stored as they are.
    packer: Option<Compressor<'static>>,
    rows: u64,
    values: i64,
    /// Length of all pages before they were packed.
    length: usize,
    data_offset: Option<u64>,
    pages: OffsetIndexBuilder,
    data_pages: i32,
    has_dictionary: bool,
}

impl Chunk {
    /// A column whose pages are packed.
    pub(super) fn packed() -> Result<Chunk> {
        Ok(Chunk {
            packer: Some(Compressor::new(LEVEL)?),
            ..Chunk::plain()
        })
    }

    /// A column whose pages are stored as they are.
    pub(super) fn plain() -> Chunk {
        Chunk {
            sink: TrackedWrite::new(Vec::new()),
            packer: None,
            rows: 0,
            values: 0,
            length: 0,
            data_offset: None,
            pages: OffsetIndexBuilder::new(),
            data_pages: 0,
            has_dictionary: false,
        }
    }

    /// Writes the words of the dictionary, each after its length.
    pub(super) fn write_dictionary(&mut self, words: Vec<u8>, count: usize) -> Result<()> {
        self.has_dictionary = true;
        self.write_page(words, |buf| Page::DictionaryPage {
            buf,
            num_values: u32::try_from(count).unwrap_or(0),
            encoding: Encoding::PLAIN,
            is_sorted: false,
        })
        .map(drop)
    }

    /// Writes a page of so many rows and values, NULL and empty lists among them.
    pub(super) fn write(&mut self, body: Vec<u8>, rows: u32, values: u32) -> Result<()> {
        let encoding = self.encoding();
        let written = self.write_page(body, |buf| Page::DataPage {
            buf,
            num_values: values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.data_offset.get_or_insert(written.offset);
        self.pages.append_row_count(rows.into());
        // Pages are short, and so is a row group.
        let size = i32::try_from(written.compressed_size).unwrap_or(i32::MAX);
        let offset = i64::try_from(written.offset).unwrap_or(i64::MAX);
        self.pages.append_offset_and_size(offset, size);
        self.rows += u64::from(rows);
        self.values += i64::from(values);
        self.data_pages += 1;
        Ok(())
    }

    fn write_page(
        &mut self,
        body: Vec<u8>,
        page: impl FnOnce(Bytes) -> Page,
    ) -> Result<PageWriteSpec> {
        let length = body.len();
        let stored = match &mut self.packer {
            Some(packer) => packer.compress(&body)?,
            None => body,
        };
        let page = CompressedPage::new(page(stored.into()), length);
        let written = SerializedPageWriter::new(&mut self.sink).write_page(page)?;
        self.length += written.uncompressed_size;
        Ok(written)
    }

    fn encoding(&self) -> Encoding {
        if self.has_dictionary {
            Encoding::RLE_DICTIONARY
        } else {
            Encoding::PLAIN
        }
    }

    /// How often each kind of page was written.
    fn kinds(&self) -> Vec<PageEncodingStats> {
        let kind = |page_type, encoding, count| PageEncodingStats {
            page_type,
            encoding,
            count,
        };
        let dictionary = kind(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1);
        let dictionary = self.has_dictionary.then_some(dictionary);
        let data = kind(PageType::DATA_PAGE, self.encoding(), self.data_pages);
        dictionary.into_iter().chain([data]).collect()
    }

    /// Appends all to the row group as its next column.
    pub(super) fn append_to<W: Write + Send>(
        self,
        column: ColumnDescPtr,
        told: ColumnStatistics,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let (kinds, encoding) = (self.kinds(), self.encoding());
        let bytes: Bytes = self.sink.into_inner()?.into();
        let data_offset = i64::try_from(self.data_offset.unwrap_or(0)).unwrap_or(0);
        let compression = match self.packer {
            Some(_) => Compression::ZSTD(ZstdLevel::try_new(LEVEL)?),
            None => Compression::UNCOMPRESSED,
        };
        let mut metadata = ColumnChunkMetaData::builder(column)
            .set_compression(compression)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, encoding])
            .set_page_encoding_stats(kinds)
            .set_total_compressed_size(i64::try_from(bytes.len()).unwrap_or(i64::MAX))
            .set_total_uncompressed_size(i64::try_from(self.length).unwrap_or(i64::MAX))
            .set_num_values(self.values)
            .set_dictionary_page_offset(self.has_dictionary.then_some(0))
            .set_data_page_offset(data_offset);
        if let Some(statistics) = told.statistics {
            metadata = metadata.set_statistics(statistics);
        }
        group.append_column(
            &bytes,
            ColumnCloseResult {
                bytes_written: bytes.len() as u64,
                rows_written: self.rows,
                metadata: metadata.build()?,
                bloom_filter: told.bloom_filter,
                column_index: told.pages,
                offset_index: Some(self.pages.build()),
            },
        )
    }
}

/// The values of a page: levels, and numbers of words in a dictionary.
#[derive(Debug, Default)]
pub(super) struct PageValues {
    /// In the dictionary, from 0.
    pub(super) all: Vec<u32>,
    /// 0 for the first value of a list, 1 for others. Columns without lists have
    /// none.
    repetitions: Option<Runs>,
    /// 1 for a value, 0 for NULL and for an empty list.
    definitions: Runs,
    pub(super) rows: u32,
}

impl PageValues {
    /// Lists, of which there are none yet.
    pub(super) fn lists() -> PageValues {
        PageValues {
            repetitions: Some(Runs::default()),
            ..PageValues::default()
        }
    }

    /// Appends a row: a number, or NULL.
    pub(super) fn push(&mut self, number: Option<u32>) {
        self.definitions.push(number.is_some(), 1);
        self.all.extend(number);
        self.rows += 1;
    }

    /// Appends a row: a list.
    pub(super) fn push_list(&mut self, numbers: impl Iterator<Item = u32>) {
        let before = self.all.len();
        self.all.extend(numbers);
        let count = self.all.len() - before;
        // An empty list has one entry too, which says that it is empty.
        self.definitions.push(count > 0, count.max(1));
        if let Some(repetitions) = &mut self.repetitions {
            repetitions.push(false, 1);
            repetitions.push(true, count.saturating_sub(1));
        }
        self.rows += 1;
    }

    /// Writes the page, if it has rows, and empties it.
    pub(super) fn write(&mut self, width: u32, chunk: &mut Chunk) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut body = Vec::with_capacity(self.all.len() * 2);
        let values = self.definitions.count;
        if let Some(repetitions) = &mut self.repetitions {
            repetitions.end(&mut body);
        }
        self.definitions.end(&mut body);
        body.extend_from_slice(&width.to_le_bytes()[..1]);
        append_numbers(&self.all, width, &mut body);
        self.all.clear();
        chunk.write(body, std::mem::take(&mut self.rows), values)
    }
}

/// Levels that are 0 or 1, as runs of equal ones.
#[derive(Debug, Default)]
pub(super) struct Runs {
    bytes: Vec<u8>,
    /// The last run.
    level: bool,
    length: u64,
    /// Number of levels.
    pub(super) count: u32,
}

impl Runs {
    pub(super) fn push(&mut self, level: bool, count: usize) {
        if level != self.level {
            self.end_run();
            self.level = level;
        }
        self.length += count as u64;
        self.count += u32::try_from(count).unwrap_or(0);
    }

    fn end_run(&mut self) {
        if self.length > 0 {
            append_varint(self.length << 1, &mut self.bytes);
            self.bytes.push(self.level.into());
        }
        self.length = 0;
    }

    /// Appends all runs after their length, and forgets them.
    pub(super) fn end(&mut self, body: &mut Vec<u8>) {
        self.end_run();
        append_length(self.bytes.len(), body);
        body.append(&mut self.bytes);
        self.count = 0;
    }
}

/// Bits of a number of a dictionary with so many words.
pub(super) fn width(words: usize) -> u32 {
    let last = words.saturating_sub(1);
    (usize::BITS - last.leading_zeros()).max(1)
}

pub(super) fn append_length(length: usize, bytes: &mut Vec<u8>) {
    // Pages are short.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
}

/// Appends numbers as runs, where there are few, or each in `width` bits.
fn append_numbers(numbers: &[u32], width: u32, bytes: &mut Vec<u8>) {
    let runs = numbers.chunk_by(|a, b| a == b);
    // A run takes about four bytes.
    let most = numbers.len() * width as usize / 32;
    if runs.clone().take(most + 1).count() > most {
        return append_packed(numbers, width, bytes);
    }
    let size = width.div_ceil(8) as usize;
    for run in runs {
        append_varint((run.len() as u64) << 1, bytes);
        let number = run.first().copied().unwrap_or(0).to_le_bytes();
        bytes.extend_from_slice(number.get(..size).unwrap_or_default());
    }
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
        if used >= u32::BITS {
            bytes.extend_from_slice(&word.to_le_bytes()[..4]);
            word >>= u32::BITS;
            used -= u32::BITS;
        }
    }
    // Eight numbers fill whole bytes.
    let rest = word.to_le_bytes();
    bytes.extend_from_slice(rest.get(..used as usize / 8).unwrap_or_default());
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
    fn few_runs_are_written_as_runs() {
        let mut bytes = Vec::new();
        append_numbers(&[[700; 100], [3; 100]].concat(), 10, &mut bytes);
        assert_eq!(bytes, [200, 1, 188, 2, 200, 1, 3, 0]);
        let mut levels = Runs::default();
        for (level, count) in [(true, 3), (true, 2), (false, 1), (true, 0), (false, 1)] {
            levels.push(level, count);
        }
        bytes.clear();
        levels.end(&mut bytes);
        assert_eq!(bytes, [6, 0, 0, 0, 10, 1, 2, 0, 2, 0]);
    }

    #[test]
    fn a_number_has_as_few_bits_as_the_dictionary_needs() {
        for (words, bits) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (2049, 12)] {
            assert_eq!(width(words), bits, "{words}");
        }
    }
}
