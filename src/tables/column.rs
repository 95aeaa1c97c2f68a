//! The values of one column of a file as texts, as they stand in PGN.

use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::column::reader::{
    ColumnReader, ColumnReaderImpl, get_column_reader, get_typed_column_reader,
};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::reader::RowGroupReader;
use ::parquet::schema::types::ColumnDescPtr;

use super::guard::{BatchMemory, ColumnPages, PageMemory};
use crate::calendar::date_of;
use crate::game::Date;

/// The texts of some rows of a column.
#[derive(Debug, Default)]
pub(super) struct ColumnTexts {
    values: Vec<ByteArray>,
    /// Index of the first value of each row, and the number of values.
    starts: Vec<usize>,
}

impl ColumnTexts {
    /// The values of a row: at most one, but for lists and maps.
    pub(super) fn of_row(&self, row: usize) -> &[ByteArray] {
        let start = self.starts.get(row).copied().unwrap_or(0);
        let end = self.starts.get(row + 1).copied().unwrap_or(start);
        self.values.get(start..end).unwrap_or_default()
    }

    /// The text of a row, unless it is NULL.
    pub(super) fn text_of_row(&self, row: usize) -> Option<&[u8]> {
        self.of_row(row).first().map(ByteArray::data)
    }

    fn clear(&mut self) {
        self.values.clear();
        self.starts.clear();
    }
}

/// Reads a column of a row group.
pub(super) struct TableColumn {
    kind: ColumnValues,
    round: BatchMemory,
    held: PageMemory,
    /// Level of a value that is there.
    max_definition: i16,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

enum ColumnValues {
    Texts(ColumnReaderImpl<ByteArrayType>),
    Ints(ColumnReaderImpl<Int32Type>, IntegerMeaning, Vec<i32>),
    Longs(ColumnReaderImpl<Int64Type>, IntegerMeaning, Vec<i64>),
}

/// Meaning of the integers of a column.
#[derive(Clone, Copy, Debug)]
enum IntegerMeaning {
    Number,
    Days,
    /// Time since 1970-01-01, in parts of a day.
    PartsOfDay(i64),
}

impl TableColumn {
    /// Reads the column with this index; `None` if its type is not one of a tag,
    /// such as a floating-point number. `held` counts the memory of all columns.
    pub(super) fn open(
        group: &dyn RowGroupReader,
        index: usize,
        held: &PageMemory,
    ) -> Result<Option<TableColumn>> {
        let column = group.metadata().schema_descr().column(index);
        let round = BatchMemory::default();
        let pages = ColumnPages {
            unguarded: group.get_column_page_reader(index)?,
            round: round.clone(),
            held: held.clone(),
            is_list: column.max_rep_level() > 0,
        };
        let Some(format) = format_of(&column) else {
            return Ok(None);
        };
        let max_definition = column.max_def_level();
        let kind = match get_column_reader(column, Box::new(pages)) {
            ColumnReader::ByteArrayColumnReader(reader) => ColumnValues::Texts(reader),
            reader @ ColumnReader::Int32ColumnReader(_) => {
                ColumnValues::Ints(get_typed_column_reader(reader), format, Vec::new())
            }
            reader @ ColumnReader::Int64ColumnReader(_) => {
                ColumnValues::Longs(get_typed_column_reader(reader), format, Vec::new())
            }
            _ => return Ok(None),
        };
        Ok(Some(TableColumn {
            kind,
            round,
            held: held.clone(),
            max_definition,
            definitions: Vec::new(),
            repetitions: Vec::new(),
        }))
    }

    /// Reads the next rows, at most `rows`; returns their number.
    pub(super) fn read(&mut self, rows: usize, texts: &mut ColumnTexts) -> Result<usize> {
        texts.clear();
        self.round.begin(&self.held);
        self.definitions.clear();
        self.repetitions.clear();
        let levels = (&mut self.definitions, &mut self.repetitions);
        let rows = match &mut self.kind {
            ColumnValues::Texts(reader) => read(reader, rows, levels, &mut texts.values)?,
            ColumnValues::Ints(reader, format, values) => {
                values.clear();
                let rows = read(reader, rows, levels, values)?;
                let days = values.iter().map(|&value| format.text(value.into()));
                texts.values.extend(days);
                rows
            }
            ColumnValues::Longs(reader, format, values) => {
                values.clear();
                let rows = read(reader, rows, levels, values)?;
                texts
                    .values
                    .extend(values.iter().map(|&value| format.text(value)));
                rows
            }
        };
        self.find_rows(texts);
        Ok(rows)
    }

    /// Finds where the values of each row begin.
    fn find_rows(&self, texts: &mut ColumnTexts) {
        let count = texts.values.len();
        if self.definitions.is_empty() {
            return texts.starts.extend(0..=count);
        }
        let mut value = 0;
        for (at, &definition) in self.definitions.iter().enumerate() {
            if self.repetitions.get(at).is_none_or(|&level| level == 0) {
                texts.starts.push(value);
            }
            value += usize::from(definition == self.max_definition);
        }
        texts.starts.push(count);
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    (definitions, repetitions): (&mut Vec<i16>, &mut Vec<i16>),
    values: &mut Vec<T::T>,
) -> Result<usize> {
    let (rows, _, _) = reader.read_records(rows, Some(definitions), Some(repetitions), values)?;
    Ok(rows)
}

/// Returns the meaning of the numbers of a column; `None` for types that are no
/// tag.
fn format_of(column: &ColumnDescPtr) -> Option<IntegerMeaning> {
    if let Some(LogicalType::Timestamp(time)) = column.logical_type_ref() {
        let second = match time.unit {
            TimeUnit::MILLIS => 1_000,
            TimeUnit::MICROS => 1_000_000,
            TimeUnit::NANOS => 1_000_000_000,
        };
        return Some(IntegerMeaning::PartsOfDay(86_400 * second));
    }
    let day = 86_400_000;
    Some(match (column.physical_type(), column.converted_type()) {
        (Type::INT32, ConvertedType::DATE) => IntegerMeaning::Days,
        (Type::INT64, ConvertedType::TIMESTAMP_MILLIS) => IntegerMeaning::PartsOfDay(day),
        (Type::INT64, ConvertedType::TIMESTAMP_MICROS) => IntegerMeaning::PartsOfDay(day * 1000),
        (_, ConvertedType::DECIMAL) => return None,
        (Type::INT32 | Type::INT64 | Type::BYTE_ARRAY, _) => IntegerMeaning::Number,
        _ => return None,
    })
}

impl IntegerMeaning {
    fn text(self, value: i64) -> ByteArray {
        let days = match self {
            IntegerMeaning::Number => return value.to_string().as_str().into(),
            IntegerMeaning::Days => value,
            IntegerMeaning::PartsOfDay(parts) => value.div_euclid(parts),
        };
        let mut text = Vec::new();
        let date = i32::try_from(days).ok().and_then(date_of);
        let date = date.map(|(year, month, day)| Date { year, month, day });
        date.unwrap_or_default().append_to(&mut text);
        text.into()
    }
}
