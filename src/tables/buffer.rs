//! The rows of one row group: the values of each column, until they are
//! written.

use std::mem::take;

use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use ::parquet::errors::Result;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use super::schema::{Column, Kind};
use super::uci;

/// Number of values that are given to the encoder at a time.
const BATCH: usize = 4096;

/// The rows of one row group.
#[derive(Debug)]
pub(super) struct Group {
    columns: Vec<Buffer>,
    rows: usize,
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
    Moves(Lists<u16>),
    Tags {
        names: Lists<Text>,
        values: Lists<Text>,
    },
}

/// Values of which some are NULL.
#[derive(Debug)]
struct Optional<T: Stored> {
    values: T::Many,
    /// 1 for a value, 0 for NULL.
    levels: Vec<i16>,
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
            levels: Vec::new(),
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
            Kind::Moves => Buffer::Moves(Lists::default()),
            Kind::Tags => Buffer::Tags {
                names: Lists::default(),
                values: Lists::default(),
            },
        };
        Group {
            columns: columns.iter().map(buffer).collect(),
            rows: 0,
            bytes: 0,
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Memory of the values, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a row. A value of another type than its column is NULL.
    pub(super) fn push<'v>(&mut self, values: impl IntoIterator<Item = Value<'v>>) {
        self.rows += 1;
        let mut values = values.into_iter();
        for column in &mut self.columns {
            let value = values.next().unwrap_or(Value::Null);
            self.bytes += column.push(value);
        }
    }

    /// Writes all rows as a row group, and forgets them.
    pub(super) fn write<W: std::io::Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> Result<()> {
        let mut group = file.next_row_group()?;
        for column in &mut self.columns {
            match column {
                Buffer::Texts(all) => all.write(group.next_column()?)?,
                Buffer::Ints(all) => all.write(group.next_column()?)?,
                Buffer::Longs(all) => all.write(group.next_column()?)?,
                Buffer::Reals(all) => all.write(group.next_column()?)?,
                Buffer::Flags(all) => all.write(group.next_column()?)?,
                Buffer::Moves(all) => all.write(group.next_column()?)?,
                Buffer::Tags { names, values } => {
                    names.write(group.next_column()?)?;
                    values.write(group.next_column()?)?;
                }
            }
        }
        group.close()?;
        self.rows = 0;
        self.bytes = 0;
        Ok(())
    }
}

impl Buffer {
    /// Appends a value; returns how much memory it takes.
    fn push(&mut self, value: Value<'_>) -> usize {
        match (self, value) {
            (Buffer::Texts(all), Value::Text(text)) => {
                all.push(text);
                return text.len();
            }
            (Buffer::Ints(all), Value::Int(value)) => all.push(value),
            (Buffer::Longs(all), Value::Long(value)) => all.push(value),
            (Buffer::Reals(all), Value::Real(value)) => all.push(value),
            (Buffer::Flags(all), Value::Flag(value)) => all.push(value),
            (Buffer::Moves(all), Value::Moves(moves)) => {
                all.push(moves.iter().copied());
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
            (Buffer::Texts(all), _) => all.levels.push(0),
            (Buffer::Ints(all), _) => all.levels.push(0),
            (Buffer::Longs(all), _) => all.levels.push(0),
            (Buffer::Reals(all), _) => all.levels.push(0),
            (Buffer::Flags(all), _) => all.levels.push(0),
            (Buffer::Moves(all), _) => all.lengths.push(0),
            (Buffer::Tags { names, values }, _) => {
                names.lengths.push(0);
                values.lengths.push(0);
            }
        }
        0
    }
}

impl<T: Stored> Optional<T> {
    fn push(&mut self, value: T::Given<'_>) {
        T::push(&mut self.values, value);
        self.levels.push(1);
    }

    fn write(&mut self, column: Option<SerializedColumnWriter<'_>>) -> Result<()> {
        if let Some(mut column) = column {
            let mut values = T::encoded(&mut self.values);
            let mut batch = Vec::new();
            for levels in self.levels.chunks(BATCH) {
                let present = levels.iter().filter(|&&level| level == 1).count();
                batch.clear();
                batch.extend(values.by_ref().take(present));
                let column = column.typed::<T::Parquet>();
                column.write_batch(&batch, Some(levels), None)?;
            }
            column.close()?;
        }
        self.levels.clear();
        Ok(())
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

    fn write(&mut self, column: Option<SerializedColumnWriter<'_>>) -> Result<()> {
        if let Some(mut column) = column {
            let mut values = T::encoded(&mut self.values);
            let (mut batch, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
            let last = self.lengths.len().wrapping_sub(1);
            for (row, &length) in self.lengths.iter().enumerate() {
                let length = length as usize;
                batch.extend(values.by_ref().take(length));
                // An empty list has one entry too, which says that it is empty.
                defined.resize(defined.len() + length.max(1), i16::from(length > 0));
                repeated.push(0);
                repeated.resize(defined.len(), 1);
                if defined.len() >= BATCH || row == last {
                    let column = column.typed::<T::Parquet>();
                    column.write_batch(&batch, Some(&defined), Some(&repeated))?;
                    batch.clear();
                    defined.clear();
                    repeated.clear();
                }
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

    fn push(all: &mut Self::Many, value: Self::Given<'_>);

    /// Takes all values out, as Parquet wants them.
    fn encoded(
        all: &mut Self::Many,
    ) -> impl Iterator<Item = <Self::Parquet as DataType>::T> + use<'_, Self>;
}

macro_rules! plain {
    ($($stored:ty, $parquet:ty;)*) => {$(
        impl Stored for $stored {
            type Parquet = $parquet;
            type Given<'v> = $stored;
            type Many = Vec<$stored>;

            fn push(all: &mut Vec<$stored>, value: $stored) {
                all.push(value);
            }

            fn encoded(all: &mut Vec<$stored>) -> impl Iterator<Item = $stored> + use<'_> {
                all.drain(..)
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

    fn push(all: &mut Joined, value: &[u8]) {
        all.bytes.extend_from_slice(value);
        all.lengths.push(value.len());
    }

    fn encoded(all: &mut Joined) -> impl Iterator<Item = ByteArray> + use<'_> {
        let capacity = all.bytes.len();
        let bytes = ByteArray::from(take(&mut all.bytes));
        all.bytes.reserve(capacity);
        let mut start = 0;
        all.lengths.drain(..).map(move |length| {
            let text = bytes.slice(start, length);
            start += length;
            text
        })
    }
}

/// Moves.
impl Stored for u16 {
    type Parquet = ByteArrayType;
    type Given<'v> = u16;
    type Many = Vec<u16>;

    fn push(all: &mut Vec<u16>, code: u16) {
        all.push(code);
    }

    fn encoded(all: &mut Vec<u16>) -> impl Iterator<Item = ByteArray> + use<'_> {
        let words = uci::Words::new();
        all.drain(..).map(move |code| words.word(code))
    }
}
