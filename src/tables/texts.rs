//! Columns of texts as they are stored: each text that occurs once, sorted, and of
//! each row the number of its text. Texts that differ in nearly every row are
//! stored one behind the other.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;

use ::parquet::basic::{BoundaryOrder, Type};
use ::parquet::bloom_filter::Sbbf;
use ::parquet::data_type::ByteArray;
use ::parquet::errors::Result;
use ::parquet::file::metadata::ColumnIndexBuilder;
use ::parquet::file::page_index::column_index::ColumnIndexMetaData;
use ::parquet::file::statistics::{Statistics, ValueStatistics};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::ColumnDescPtr;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::chunk::{Chunk, ColumnStatistics, PageValues, Runs, append_length, width};
use crate::game::cut;

/// A page has so many rows.
const PAGE_ROWS: usize = 1 << 12;

/// A page of lists, or of long texts, has so many values, or bytes, or few more.
const PAGE_VALUES: usize = 1 << 15;
const PAGE_BYTES: usize = 1 << 20;

/// Statistics have so many bytes of a text.
const TOLD_BYTES: usize = 64;

/// False-positive rate of a Bloom filter.
const FALSE_HITS: f64 = 0.05;

/// Texts, each once.
#[derive(Debug)]
struct Words {
    bytes: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
    /// The hash of each.
    hashes: Vec<u64>,
    /// By hash: the number of a text, from 1; 0 for none.
    slots: Vec<u32>,
    seed: u64,
    /// The text that was asked for last.
    last: u32,
}

impl Default for Words {
    fn default() -> Words {
        Words {
            bytes: Vec::new(),
            ends: Vec::new(),
            hashes: Vec::new(),
            slots: vec![0; 64],
            seed: RandomState::new().hash_one(0),
            last: 0,
        }
    }
}

impl Words {
    /// The number of a text, from 1; and what memory it takes.
    fn number(&mut self, text: &[u8]) -> (u32, usize) {
        if self.last > 0 && self.text(self.last) == text {
            return (self.last, 0);
        }
        let hash = xxh3_64_with_seed(text, self.seed);
        let slot = self.slot(hash, text);
        let found = self.slots.get(slot).copied().unwrap_or(0);
        if found > 0 {
            self.last = found;
            return (found, 0);
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        // A row group is written long before it has so many.
        self.last = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = self.last;
        }
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        }
        (self.last, text.len())
    }

    /// Where the number of a text is, or belongs.
    fn slot(&self, hash: u64, text: &[u8]) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = first_slot(hash, last);
        while let Some(&number) = self.slots.get(slot)
            && number > 0
            && (self.hash(number) != hash || self.text(number) != text)
        {
            slot = (slot + 1) & last;
        }
        slot
    }

    fn grow(&mut self) {
        let last = self.slots.len() * 2 - 1;
        self.slots.clear();
        self.slots.resize(last + 1, 0);
        for (number, &hash) in (1..).zip(&self.hashes) {
            let mut slot = first_slot(hash, last);
            while self.slots.get(slot).is_some_and(|&number| number > 0) {
                slot = (slot + 1) & last;
            }
            if let Some(slot) = self.slots.get_mut(slot) {
                *slot = number;
            }
        }
    }

    fn hash(&self, number: u32) -> u64 {
        let hash = self.hashes.get((number as usize).wrapping_sub(1));
        hash.copied().unwrap_or(0)
    }

    fn text(&self, number: u32) -> &[u8] {
        let at = (number as usize).wrapping_sub(1);
        let end = self.ends.get(at).copied().unwrap_or(0);
        let begin = at.checked_sub(1).and_then(|at| self.ends.get(at));
        let range = begin.copied().unwrap_or(0)..end;
        self.bytes.get(range).unwrap_or_default()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.hashes.clear();
        self.slots.fill(0);
        self.last = 0;
    }
}

/// Where a text with this hash is looked for first.
fn first_slot(hash: u64, last: usize) -> usize {
    usize::try_from(hash & last as u64).unwrap_or(0)
}

/// Texts in their order.
struct SortedTexts<'w> {
    words: &'w Words,
    order: Vec<u32>,
    /// Of each text, by its number: where it is in the order.
    places: Vec<u32>,
}

impl SortedTexts<'_> {
    fn of(words: &Words) -> SortedTexts<'_> {
        let mut order: Vec<u32> = (1..).zip(&words.ends).map(|(number, _)| number).collect();
        order.sort_unstable_by(|&a, &b| words.text(a).cmp(words.text(b)));
        let mut places = vec![0; order.len() + 1];
        for (at, &number) in (0..).zip(&order) {
            if let Some(place) = places.get_mut(number as usize) {
                *place = at;
            }
        }
        SortedTexts {
            words,
            order,
            places,
        }
    }

    fn place(&self, number: u32) -> u32 {
        self.places.get(number as usize).copied().unwrap_or(0)
    }

    fn text(&self, place: u32) -> &[u8] {
        let number = self.order.get(place as usize);
        self.words.text(number.copied().unwrap_or(0))
    }

    fn write_to(&self, chunk: &mut Chunk) -> Result<()> {
        let texts = self.order.iter().map(|&number| self.words.text(number));
        let mut stored = Vec::with_capacity(self.words.bytes.len() + 4 * self.order.len());
        for text in texts {
            append_length(text.len(), &mut stored);
            stored.extend_from_slice(text);
        }
        chunk.write_dictionary(stored, self.order.len())
    }

    /// The least and the greatest text, and how many values are none.
    fn statistics(&self, none: u64) -> Option<Statistics> {
        let first = *self.order.first()?;
        let last = *self.order.last()?;
        let (first, last) = (self.words.text(first), self.words.text(last));
        let (least, greatest) = (at_least(first), at_most(last)?);
        let (is_least, is_greatest) = (least == first, greatest == last);
        let bounds = [least.to_vec(), greatest].map(|text| Some(ByteArray::from(text)));
        let [least, greatest] = bounds;
        let told = ValueStatistics::new(least, greatest, None, Some(none), false);
        let told = told.with_min_is_exact(is_least);
        Some(told.with_max_is_exact(is_greatest).into())
    }

    fn bloom_filter(&self) -> Result<Sbbf> {
        let mut filter = Sbbf::new_with_ndv_fpp(self.order.len() as u64, FALSE_HITS)?;
        for &number in &self.order {
            filter.insert(self.words.text(number));
        }
        Ok(filter)
    }
}

/// A text that is not greater, of few bytes.
fn at_least(text: &[u8]) -> &[u8] {
    match str::from_utf8(text) {
        Ok(text) => Some(cut(text, TOLD_BYTES).as_bytes()),
        Err(_) => text.get(..TOLD_BYTES),
    }
    .unwrap_or(text)
}

/// A text that is not less, of few bytes.
fn at_most(text: &[u8]) -> Option<Vec<u8>> {
    let begin = at_least(text);
    if begin.len() == text.len() {
        return Some(text.to_vec());
    }
    let mut begin = str::from_utf8(begin).ok()?.to_owned();
    while let Some(last) = begin.pop() {
        let greater = u32::from(last) + 1..=u32::from(char::MAX);
        if let Some(next) = greater.into_iter().find_map(char::from_u32) {
            begin.push(next);
            return Some(begin.into_bytes());
        }
    }
    None
}

/// A column of texts.
#[derive(Debug, Default)]
pub(super) struct TextColumn {
    words: Words,
    /// Of each row, from 1; 0 for NULL. Rows at the end may be missing: they are
    /// NULL.
    numbers: Vec<u32>,
    has_bloom_filter: bool,
}

impl TextColumn {
    /// A column for which a Bloom filter is written.
    pub(super) fn looked_for() -> TextColumn {
        TextColumn {
            has_bloom_filter: true,
            ..TextColumn::default()
        }
    }

    /// Sets the text of a row; returns how much memory it takes.
    pub(super) fn put(&mut self, row: u32, text: &[u8]) -> usize {
        let (number, bytes) = self.words.number(text);
        self.numbers.resize(row as usize, 0);
        self.numbers.push(number);
        bytes
    }

    /// Writes the rows in this order, and forgets them.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        order: &[u32],
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let sorted = SortedTexts::of(&self.words);
        let width = width(sorted.order.len());
        let mut chunk = Chunk::packed()?;
        sorted.write_to(&mut chunk)?;
        let (mut page, mut bounds, mut none) = (PageValues::default(), Vec::new(), 0);
        for rows in order.chunks(PAGE_ROWS) {
            for &row in rows {
                let number = self.numbers.get(row as usize).copied().unwrap_or(0);
                page.push((number > 0).then(|| sorted.place(number)));
            }
            let nulls = page.rows - u32::try_from(page.all.len()).unwrap_or(0);
            let least = page.all.iter().min().copied();
            bounds.push((least.zip(page.all.iter().max().copied()), nulls));
            none += u64::from(nulls);
            page.write(width, &mut chunk)?;
        }
        let told = ColumnStatistics {
            statistics: sorted.statistics(none).or_else(|| Some(nothing_but(none))),
            pages: index(&sorted, &bounds)?,
            bloom_filter: if self.has_bloom_filter {
                Some(sorted.bloom_filter()?)
            } else {
                None
            },
        };
        self.words.clear();
        self.numbers.clear();
        chunk.append_to(column, told, group)
    }
}

/// Says how many values are none.
fn nothing_but(none: u64) -> Statistics {
    let told = ValueStatistics::<ByteArray>::new(None, None, None, Some(none), false);
    told.into()
}

/// Says of each page where its least and its greatest text are in the order, and
/// how many rows have none.
fn index(
    sorted: &SortedTexts<'_>,
    pages: &[(Option<(u32, u32)>, u32)],
) -> Result<Option<ColumnIndexMetaData>> {
    let mut index = ColumnIndexBuilder::new(Type::BYTE_ARRAY);
    let bounds = || pages.iter().filter_map(|(bounds, _)| *bounds);
    if bounds().is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1) {
        index.set_boundary_order(BoundaryOrder::ASCENDING);
    }
    for &(bounds, none) in pages {
        let Some((least, greatest)) = bounds else {
            index.append(true, Vec::new(), Vec::new(), none.into(), None);
            continue;
        };
        let Some(greatest) = at_most(sorted.text(greatest)) else {
            return Ok(None);
        };
        let least = at_least(sorted.text(least)).to_vec();
        index.append(false, least, greatest, none.into(), None);
    }
    index.build().map(Some)
}

/// A column of lists of texts.
#[derive(Debug, Default)]
pub(super) struct Lists {
    words: Words,
    /// Of each text of each row, from 1.
    numbers: Vec<u32>,
    /// Where the texts of each row end.
    ends: Vec<usize>,
}

impl Lists {
    /// Appends a row; returns how much memory it takes.
    pub(super) fn push<'v>(&mut self, texts: impl Iterator<Item = &'v [u8]>) -> usize {
        let mut bytes = 0;
        for text in texts {
            let (number, new) = self.words.number(text);
            self.numbers.push(number);
            bytes += new + size_of::<u32>();
        }
        self.ends.push(self.numbers.len());
        bytes
    }

    fn of(&self, row: usize) -> &[u32] {
        let before = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let end = self.ends.get(row).copied().unwrap_or(0);
        let range = before.copied().unwrap_or(0)..end;
        self.numbers.get(range).unwrap_or_default()
    }

    /// Writes the rows in this order, and forgets them.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        order: &[u32],
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let sorted = SortedTexts::of(&self.words);
        let width = width(sorted.order.len());
        let mut chunk = Chunk::packed()?;
        sorted.write_to(&mut chunk)?;
        let (mut page, mut none) = (PageValues::lists(), 0);
        for &row in order {
            let numbers = self.of(row as usize);
            none += u64::from(numbers.is_empty());
            page.push_list(numbers.iter().map(|&number| sorted.place(number)));
            if page.all.len() >= PAGE_VALUES {
                page.write(width, &mut chunk)?;
            }
        }
        page.write(width, &mut chunk)?;
        let told = ColumnStatistics {
            statistics: sorted.statistics(none).or_else(|| Some(nothing_but(none))),
            ..ColumnStatistics::default()
        };
        self.words.clear();
        self.numbers.clear();
        self.ends.clear();
        chunk.append_to(column, told, group)
    }
}

/// A column of texts that differ.
#[derive(Debug, Default)]
pub(super) struct LongTexts {
    bytes: Vec<u8>,
    /// Where the text of each row ends, if the row has one. Rows at the end may be
    /// missing: they have none.
    ends: Vec<(bool, usize)>,
}

impl LongTexts {
    /// Sets the text of a row; returns how much memory it takes.
    pub(super) fn put(&mut self, row: u32, text: &[u8]) -> usize {
        self.ends.resize(row as usize, (false, self.bytes.len()));
        self.bytes.extend_from_slice(text);
        self.ends.push((true, self.bytes.len()));
        text.len()
    }

    fn of(&self, row: usize) -> Option<&[u8]> {
        let &(is_there, end) = self.ends.get(row)?;
        let before = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let begin = before.map_or(0, |(_, end)| *end);
        self.bytes.get(begin..end).filter(|_| is_there)
    }

    /// Writes the rows in this order, and forgets them.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        order: &[u32],
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<()> {
        let mut chunk = Chunk::packed()?;
        let (mut texts, mut levels) = (Vec::new(), Runs::default());
        for (at, &row) in order.iter().enumerate() {
            let text = self.of(row as usize);
            levels.push(text.is_some(), 1);
            if let Some(text) = text {
                append_length(text.len(), &mut texts);
                texts.extend_from_slice(text);
            }
            if texts.len() >= PAGE_BYTES || at + 1 == order.len() {
                let rows = levels.count;
                let mut body = Vec::with_capacity(texts.len() + 1024);
                levels.end(&mut body);
                body.append(&mut texts);
                chunk.write(body, rows, rows)?;
            }
        }
        self.bytes.clear();
        self.ends.clear();
        chunk.append_to(column, ColumnStatistics::default(), group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_number() {
        let mut words = Words::default();
        for _ in 0..2 {
            for round in 0..2 {
                for text in 0..10_000_u32 {
                    let (number, bytes) = words.number(text.to_string().as_bytes());
                    assert_eq!(number, text + 1);
                    assert_eq!(bytes > 0, round == 0);
                }
            }
            words.clear();
        }
    }

    #[test]
    fn bounds_of_long_texts_are_short_and_true() {
        let long = "z".repeat(100);
        let accented = format!("{}{}", "x".repeat(63), "é".repeat(9));
        let last = char::MAX.to_string().repeat(20);
        for text in ["", "short", &long, &accented, &last] {
            let bytes = text.as_bytes();
            let least = at_least(bytes);
            assert!(least <= bytes && least.len() <= TOLD_BYTES);
            let greatest = at_most(bytes);
            assert_eq!(greatest.is_none(), text == last);
            assert!(greatest.is_none_or(|greatest| *greatest >= *bytes));
        }
    }
}
