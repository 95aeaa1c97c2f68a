//! The rows of one row group: the values of each column, until they are
//! written.

use std::ops::Range;

use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use ::parquet::errors::Result;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use super::moves::Moves;
use super::schema::{Column, Kind};

/// Number of rows that are given to the encoder at a time.
const BATCH: usize = 4096;

/// The rows of one row group.
#[derive(Debug)]
pub(super) struct Group {
    columns: Vec<Buffer>,
    /// Where each row belongs among the others.
    places: Vec<u32>,
    /// Number of bytes of all texts.
    bytes: usize,
}

/// The values of one column, row after row.
#[derive(Debug)]
enum Buffer {
    Texts(Optional<Text>),
    Ints(Optional<i32>),
    Longs(Optional<i64>),
    Reals(Optional<f64>),
    Flags(Optional<bool>),
    Moves(Moves),
    Tags {
        names: Lists<Text>,
        values: Lists<Text>,
    },
}

/// Values of which some are NULL.
#[derive(Debug)]
struct Optional<T: Stored> {
    values: T::Many,
    /// The row of each value; others are NULL.
    rows: Vec<u32>,
}

/// Lists of values.
#[derive(Debug)]
struct Lists<T: Stored> {
    values: T::Many,
    /// Number of values of each row.
    lengths: Vec<u32>,
}

impl<T: Stored> Default for Optional<T> {
    fn default() -> Optional<T> {
        Optional {
            values: T::Many::default(),
            rows: Vec::new(),
        }
    }
}

impl<T: Stored> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists {
            values: T::Many::default(),
            lengths: Vec::new(),
        }
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'v> {
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

impl From<Option<i32>> for Value<'_> {
    fn from(value: Option<i32>) -> Self {
        value.map_or(Value::Null, Value::Int)
    }
}

impl Group {
    pub(super) fn new(columns: &[Column]) -> Group {
        let buffer = |column: &Column| match column.kind {
            Kind::Text | Kind::LongText | Kind::Name => Buffer::Texts(Optional::default()),
            Kind::Int | Kind::Date => Buffer::Ints(Optional::default()),
            Kind::Long => Buffer::Longs(Optional::default()),
            Kind::Real => Buffer::Reals(Optional::default()),
            Kind::Flag => Buffer::Flags(Optional::default()),
            Kind::Moves => Buffer::Moves(Moves::default()),
            Kind::Tags => Buffer::Tags {
                names: Lists::default(),
                values: Lists::default(),
            },
        };
        Group {
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
    pub(super) fn begin(&mut self, place: u32) -> Row<'_> {
        // A row group is written long before it has so many rows.
        let number = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(place);
        Row {
            group: self,
            number,
        }
    }

    /// Writes all rows as a row group, and forgets them.
    pub(super) fn write<W: std::io::Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<()> {
        let descriptions = file.schema_descr().columns().to_vec();
        let mut descriptions = descriptions.into_iter();
        let mut group = file.next_row_group()?;
        let order = self.order();
        for column in &mut self.columns {
            let description = descriptions.next();
            match column {
                Buffer::Texts(all) => all.write(&order, group.next_column()?)?,
                Buffer::Ints(all) => all.write(&order, group.next_column()?)?,
                Buffer::Longs(all) => all.write(&order, group.next_column()?)?,
                Buffer::Reals(all) => all.write(&order, group.next_column()?)?,
                Buffer::Flags(all) => all.write(&order, group.next_column()?)?,
                Buffer::Moves(all) => {
                    if let Some(description) = description {
                        all.write(&order, description, &mut group)?;
                    }
                }
                Buffer::Tags { names, values } => {
                    descriptions.next();
                    names.write(&order, group.next_column()?)?;
                    values.write(&order, group.next_column()?)?;
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
pub(super) struct Row<'g> {
    group: &'g mut Group,
    number: u32,
}

impl Row<'_> {
    /// Puts a value into a column. One of another type is NULL.
    pub(super) fn put(&mut self, column: usize, value: Value<'_>) {
        if let Some(column) = self.group.columns.get_mut(column) {
            self.group.bytes += column.push(self.number, value);
        }
    }
}

impl Buffer {
    /// Appends the value of a row; returns how much memory it takes.
    fn push(&mut self, row: u32, value: Value<'_>) -> usize {
        match (self, value) {
            (Buffer::Texts(all), Value::Text(text)) => {
                all.push(row, text);
                return text.len();
            }
            (Buffer::Ints(all), Value::Int(value)) => all.push(row, value),
            (Buffer::Longs(all), Value::Long(value)) => all.push(row, value),
            (Buffer::Reals(all), Value::Real(value)) => all.push(row, value),
            (Buffer::Flags(all), Value::Flag(value)) => all.push(row, value),
            (Buffer::Moves(all), Value::Moves(moves)) => {
                all.push(moves);
                return size_of_val(moves);
            }
            (Buffer::Tags { names, values }, Value::Tags(tags)) => {
                names.push(tags.iter().map(|(name, _)| *name));
                values.push(tags.iter().map(|(_, value)| *value));
                return tags
                    .iter()
                    .map(|(name, text)| name.len() + text.len())
                    .sum();
            }
            (Buffer::Moves(all), _) => all.push(&[]),
            (Buffer::Tags { names, values }, _) => {
                names.lengths.push(0);
                values.lengths.push(0);
            }
            _ => {}
        }
        0
    }
}

impl<T: Stored> Optional<T> {
    fn push(&mut self, row: u32, value: T::Given<'_>) {
        T::push(&mut self.values, value);
        self.rows.push(row);
    }

    /// Writes the rows in this order, and forgets them.
    fn write(&mut self, order: &[u32], column: Option<SerializedColumnWriter<'_>>) -> Result<()> {
        if let Some(mut column) = column {
            let values = T::taken(&mut self.values);
            let places = self.places(order.len());
            let (mut batch, mut levels) = (Vec::new(), Vec::new());
            for rows in order.chunks(BATCH) {
                batch.clear();
                levels.clear();
                for &row in rows {
                    let value = places.get(row as usize).and_then(|&at| at.checked_sub(1));
                    levels.push(i16::from(value.is_some()));
                    batch.extend(value.and_then(|at| T::stored(&values, at as usize)));
                }
                let column = column.typed::<T::Parquet>();
                column.write_batch(&batch, Some(&levels), None)?;
            }
            column.close()?;
        }
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

/// Where the values of each row begin, and where the last end.
fn starts(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut end = 0;
    let ends = counts.map(|count| {
        end += count;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// Which values a row has.
fn range(starts: &[usize], row: u32) -> Range<usize> {
    let row = row as usize;
    match starts.get(row..).unwrap_or_default() {
        [start, end, ..] => *start..*end,
        _ => 0..0,
    }
}

impl<T: Stored> Lists<T> {
    fn push<'v>(&mut self, values: impl ExactSizeIterator<Item = T::Given<'v>>) {
        self.lengths
            .push(u32::try_from(values.len()).unwrap_or(u32::MAX));
        for value in values {
            T::push(&mut self.values, value);
        }
    }

    /// Writes the rows in this order, and forgets them.
    fn write(&mut self, order: &[u32], column: Option<SerializedColumnWriter<'_>>) -> Result<()> {
        if let Some(mut column) = column {
            let values = T::taken(&mut self.values);
            let starts = starts(self.lengths.iter().map(|&length| length as usize));
            let (mut batch, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
            for rows in order.chunks(BATCH / 8) {
                for range in rows.iter().map(|&row| range(&starts, row)) {
                    // An empty list has one entry too, which says that it is empty.
                    let levels = defined.len() + range.len().max(1);
                    defined.resize(levels, i16::from(!range.is_empty()));
                    repeated.push(0);
                    repeated.resize(levels, 1);
                    batch.extend(range.filter_map(|at| T::stored(&values, at)));
                }
                let column = column.typed::<T::Parquet>();
                column.write_batch(&batch, Some(&defined), Some(&repeated))?;
                batch.clear();
                defined.clear();
                repeated.clear();
            }
            column.close()?;
        }
        self.lengths.clear();
        Ok(())
    }
}

/// A type of values that a buffer holds.
trait Stored {
    /// The type in Parquet.
    type Parquet: DataType;
    /// A value as it is given.
    type Given<'v>;
    /// Many values, in little memory.
    type Many: Default + std::fmt::Debug;
    /// All of them, as Parquet wants them.
    type Taken;

    fn push(all: &mut Self::Many, value: Self::Given<'_>);

    /// Takes all values out.
    fn taken(all: &mut Self::Many) -> Self::Taken;

    /// One of them, as Parquet wants it.
    fn stored(all: &Self::Taken, at: usize) -> Option<<Self::Parquet as DataType>::T>;
}

macro_rules! plain {
    ($($stored:ty, $parquet:ty;)*) => {$(
        impl Stored for $stored {
            type Parquet = $parquet;
            type Given<'v> = $stored;
            type Many = Vec<$stored>;
            type Taken = Vec<$stored>;

            fn push(all: &mut Vec<$stored>, value: $stored) {
                all.push(value);
            }

            fn taken(all: &mut Vec<$stored>) -> Vec<$stored> {
                take_all(all)
            }

            fn stored(all: &Vec<$stored>, at: usize) -> Option<$stored> {
                all.get(at).copied()
            }
        }
    )*};
}

plain! {
    i32, Int32Type;
    i64, Int64Type;
    f64, DoubleType;
    bool, BoolType;
}

/// Takes the values out, and leaves room for as many.
fn take_all<T>(all: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(all.len());
    std::mem::replace(all, room)
}

/// A text: all texts of a column lie in one buffer.
#[derive(Debug)]
struct Text;

/// Texts, one behind the other.
#[derive(Debug, Default)]
struct Joined {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Stored for Text {
    type Parquet = ByteArrayType;
    type Given<'v> = &'v [u8];
    type Many = Joined;
    type Taken = (ByteArray, Vec<usize>);

    fn push(all: &mut Joined, value: &[u8]) {
        all.bytes.extend_from_slice(value);
        all.lengths.push(value.len());
    }

    fn taken(all: &mut Joined) -> (ByteArray, Vec<usize>) {
        let starts = starts(all.lengths.drain(..));
        (ByteArray::from(take_all(&mut all.bytes)), starts)
    }

    fn stored((bytes, starts): &(ByteArray, Vec<usize>), at: usize) -> Option<ByteArray> {
        let (start, end) = (*starts.get(at)?, *starts.get(at + 1)?);
        Some(bytes.slice(start, end - start))
    }
}
