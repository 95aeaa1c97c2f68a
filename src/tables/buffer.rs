//! The rows of one row group: the values of each column, until they are
//! written.

use ::parquet::data_type::{BoolType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use super::moves::Moves;
use super::schema::{Column, ColumnKind};
use super::texts::{Lists, LongTexts, TextColumn};

/// Number of rows that are given to the encoder at a time.
const BATCH: usize = 4096;

/// The rows of one row group.
#[derive(Debug)]
pub(super) struct RowGroup {
    columns: Vec<Buffer>,
    /// Where each row belongs among the others.
    places: Vec<u32>,
    /// Number of bytes of all texts.
    bytes: usize,
}

/// The values of one column, row after row.
#[derive(Debug)]
enum Buffer {
    Texts(TextColumn),
    LongTexts(LongTexts),
    Ints(Optional<i32>),
    Longs(Optional<i64>),
    Reals(Optional<f64>),
    Flags(Optional<bool>),
    Moves(Moves),
    Tags { names: Lists, values: Lists },
}

/// Values of which some are NULL.
#[derive(Debug)]
struct Optional<T: Stored> {
    values: Vec<T>,
    /// The row of each value; others are NULL.
    rows: Vec<u32>,
}

impl<T: Stored> Default for Optional<T> {
    fn default() -> Optional<T> {
        Optional {
            values: Vec::new(),
            rows: Vec::new(),
        }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'v> {
    Null,
    Text(&'v [u8]),
    Int(i32),
    Long(i64),
    Real(f64),
    Flag(bool),
    /// Codes of moves, as [`uci::code`] makes them.
    Moves(&'v [u16]),
    /// Names and values of tags.
    Tags(&'v [(&'v [u8], &'v [u8])]),
}

impl From<Option<i32>> for Cell<'_> {
    fn from(value: Option<i32>) -> Self {
        value.map_or(Cell::Null, Cell::Int)
    }
}

impl RowGroup {
    pub(super) fn new(columns: &[Column]) -> RowGroup {
        let buffer = |column: &Column| match column.kind {
            ColumnKind::Text => Buffer::Texts(TextColumn::default()),
            ColumnKind::Name => Buffer::Texts(TextColumn::looked_for()),
            ColumnKind::LongText => Buffer::LongTexts(LongTexts::default()),
            ColumnKind::Int | ColumnKind::Date => Buffer::Ints(Optional::default()),
            ColumnKind::Long => Buffer::Longs(Optional::default()),
            ColumnKind::Real => Buffer::Reals(Optional::default()),
            ColumnKind::Flag => Buffer::Flags(Optional::default()),
            ColumnKind::Moves => Buffer::Moves(Moves::default()),
            ColumnKind::Tags => Buffer::Tags {
                names: Lists::default(),
                values: Lists::default(),
            },
        };
        RowGroup {
            columns: columns.iter().map(buffer).collect(),
            places: Vec::new(),
            bytes: 0,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.places.len()
    }

    /// Memory of the values, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins a row, which is written before those of greater places.
    pub(super) fn begin(&mut self, place: u32) -> RowBuffer<'_> {
        // A row group is written long before it has so many rows.
        let number = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(place);
        RowBuffer {
            group: self,
            number,
        }
    }

    /// Writes all rows as a row group, and forgets them.
    pub(super) fn write<W: std::io::Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<()> {
        let mut leaves = file.schema_descr().columns().to_vec().into_iter();
        let mut leaf = || leaves.next().ok_or_else(|| general("columns are missing"));
        let mut group = file.next_row_group()?;
        let order = self.order();
        for column in &mut self.columns {
            let leaf_of_it = leaf()?;
            match column {
                Buffer::Texts(all) => all.write(&order, leaf_of_it, &mut group)?,
                Buffer::LongTexts(all) => all.write(&order, leaf_of_it, &mut group)?,
                Buffer::Ints(all) => all.write(&order, group.next_column()?)?,
                Buffer::Longs(all) => all.write(&order, group.next_column()?)?,
                Buffer::Reals(all) => all.write(&order, group.next_column()?)?,
                Buffer::Flags(all) => all.write(&order, group.next_column()?)?,
                Buffer::Moves(all) => all.write(&order, leaf_of_it, &mut group)?,
                Buffer::Tags { names, values } => {
                    names.write(&order, leaf_of_it, &mut group)?;
                    values.write(&order, leaf()?, &mut group)?;
                }
            }
        }
        group.close()?;
        self.places.clear();
        self.bytes = 0;
        Ok(())
    }

    /// The rows in the order of their places.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<(u32, u32)> = self.places.iter().copied().zip(0..).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, row)| row).collect()
    }
}

/// A row that is filled. Values that are not put are NULL, or empty lists.
#[derive(Debug)]
pub(super) struct RowBuffer<'g> {
    group: &'g mut RowGroup,
    number: u32,
}

impl RowBuffer<'_> {
    /// Puts a value into a column. One of another type is NULL.
    pub(super) fn put(&mut self, column: usize, value: Cell<'_>) {
        if let Some(column) = self.group.columns.get_mut(column) {
            self.group.bytes += column.push(self.number, value);
        }
    }
}

impl Buffer {
    /// Appends the value of a row; returns how much memory it takes.
    fn push(&mut self, row: u32, value: Cell<'_>) -> usize {
        match (self, value) {
            (Buffer::Texts(all), Cell::Text(text)) => return all.put(row, text),
            (Buffer::LongTexts(all), Cell::Text(text)) => return all.put(row, text),
            (Buffer::Ints(all), Cell::Int(value)) => all.push(row, value),
            (Buffer::Longs(all), Cell::Long(value)) => all.push(row, value),
            (Buffer::Reals(all), Cell::Real(value)) => all.push(row, value),
            (Buffer::Flags(all), Cell::Flag(value)) => all.push(row, value),
            (Buffer::Moves(all), Cell::Moves(moves)) => {
                all.push(moves);
                return size_of_val(moves);
            }
            (Buffer::Tags { names, values }, Cell::Tags(tags)) => {
                return names.push(tags.iter().map(|(name, _)| *name))
                    + values.push(tags.iter().map(|(_, value)| *value));
            }
            (Buffer::Moves(all), _) => all.push(&[]),
            (Buffer::Tags { names, values }, _) => {
                names.push(std::iter::empty());
                values.push(std::iter::empty());
            }
            _ => {}
        }
        0
    }
}

impl<T: Stored> Optional<T> {
    fn push(&mut self, row: u32, value: T) {
        self.values.push(value);
        self.rows.push(row);
    }

    /// Writes the rows in this order, and forgets them.
    fn write(&mut self, order: &[u32], column: Option<SerializedColumnWriter<'_>>) -> Result<()> {
        if let Some(mut column) = column {
            let places = self.places(order.len());
            let (mut batch, mut levels) = (Vec::new(), Vec::new());
            for rows in order.chunks(BATCH) {
                batch.clear();
                levels.clear();
                for &row in rows {
                    let value = places.get(row as usize).and_then(|&at| at.checked_sub(1));
                    levels.push(i16::from(value.is_some()));
                    batch.extend(value.and_then(|at| self.values.get(at as usize).copied()));
                }
                let column = column.typed::<T::Parquet>();
                column.write_batch(&batch, Some(&levels), None)?;
            }
            column.close()?;
        }
        self.values.clear();
        self.rows.clear();
        Ok(())
    }

    /// Which value each row has, from 1; 0 for NULL.
    fn places(&self, rows: usize) -> Vec<u32> {
        let mut places = vec![0; rows];
        for (at, &row) in (1..).zip(&self.rows) {
            if let Some(place) = places.get_mut(row as usize) {
                *place = at;
            }
        }
        places
    }
}

/// A type of values that a buffer holds.
trait Stored: Copy + std::fmt::Debug {
    /// The type in Parquet.
    type Parquet: DataType<T = Self>;
}

macro_rules! stored {
    ($($stored:ty, $parquet:ty;)*) => {$(
        impl Stored for $stored {
            type Parquet = $parquet;
        }
    )*};
}

stored! {
    i32, Int32Type;
    i64, Int64Type;
    f64, DoubleType;
    bool, BoolType;
}

fn general(text: &str) -> ParquetError {
    ParquetError::General(text.to_owned())
}
