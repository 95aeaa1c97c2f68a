//! Kinds of columns, and the schema of a file.

use std::fmt::Write as _;
use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::Result;
use ::parquet::file::metadata::{KeyValue, SortingColumn};
use ::parquet::file::properties::WriterProperties;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::{ColumnPath, TypePtr};

use super::chunk::LEVEL;

/// Changes whenever a column of a table is added, removed, renamed or gets
/// another meaning. Files have it under the key `cbfs.schema`.
pub const SCHEMA_VERSION: u32 = 1;

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnKind,
    /// What it says, in a few words.
    pub meaning: &'static str,
}

impl Column {
    pub(super) const fn new(name: &'static str, kind: ColumnKind, meaning: &'static str) -> Column {
        Column {
            name,
            kind,
            meaning,
        }
    }
}

/// The type of a column. All but [`ColumnKind::Moves`] and [`ColumnKind::Tags`] may be
/// NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// UTF-8 text.
    Text,
    /// Text that differs in nearly every row, such as the moves.
    LongText,
    /// Text by which rows are looked for: engines skip row groups without it.
    Name,
    /// 32-bit integer.
    Int,
    /// 64-bit integer.
    Long,
    /// 64-bit floating-point number.
    Real,
    /// Boolean.
    Flag,
    /// Date, a number of days.
    Date,
    /// A list of texts: moves in UCI notation.
    Moves,
    /// A map of texts to texts: tag names to values.
    Tags,
}

impl ColumnKind {
    /// The type's name in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            ColumnKind::Text | ColumnKind::LongText | ColumnKind::Name => "VARCHAR",
            ColumnKind::Int => "INTEGER",
            ColumnKind::Long => "BIGINT",
            ColumnKind::Real => "DOUBLE",
            ColumnKind::Flag => "BOOLEAN",
            ColumnKind::Date => "DATE",
            ColumnKind::Moves => "VARCHAR[]",
            ColumnKind::Tags => "MAP(VARCHAR, VARCHAR)",
        }
    }

    /// The type of a column `name` in a message of Parquet.
    fn declare(self, name: &str, message: &mut String) {
        let _ = match self {
            ColumnKind::Text | ColumnKind::LongText | ColumnKind::Name => {
                writeln!(message, "optional binary {name} (STRING);")
            }
            ColumnKind::Int => writeln!(message, "optional int32 {name};"),
            ColumnKind::Long => writeln!(message, "optional int64 {name};"),
            ColumnKind::Real => writeln!(message, "optional double {name};"),
            ColumnKind::Flag => writeln!(message, "optional boolean {name};"),
            ColumnKind::Date => writeln!(message, "optional int32 {name} (DATE);"),
            ColumnKind::Moves => writeln!(
                message,
                "required group {name} (LIST) {{ repeated group list {{ \
                 required binary element (STRING); }} }}"
            ),
            ColumnKind::Tags => writeln!(
                message,
                "required group {name} (MAP) {{ repeated group key_value {{ \
                 required binary key (STRING); required binary value (STRING); }} }}"
            ),
        };
    }

    /// Number of columns that Parquet stores it in.
    fn leaves(self) -> i32 {
        if self == ColumnKind::Tags { 2 } else { 1 }
    }
}

/// A table: its name and its columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// Name of its folder.
    pub(super) name: &'static str,
    /// Its columns, in order.
    pub(super) columns: &'static [Column],
    /// Names of the columns that its rows are sorted by.
    pub(super) sorted_by: &'static [&'static str],
}

impl Table {
    /// The schema of its files.
    pub(super) fn schema(&self) -> Result<TypePtr> {
        let mut message = format!("message {} {{\n", self.name);
        for column in self.columns {
            column.kind.declare(column.name, &mut message);
        }
        message.push('}');
        Ok(Arc::new(parse_message_type(&message)?))
    }

    /// How its files are written.
    pub(super) fn properties(&self) -> Result<WriterProperties> {
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("cbfs version {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                "cbfs.schema".to_owned(),
                SCHEMA_VERSION.to_string(),
            )]))
            .set_sorting_columns(Some(self.sorting_columns()));
        for column in self.columns {
            let path = ColumnPath::from(column.name);
            properties = match column.kind {
                // Rows are sorted by number within an opening: differences are small.
                ColumnKind::Long => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                _ => properties,
            };
        }
        Ok(properties.build())
    }

    fn sorting_columns(&self) -> Vec<SortingColumn> {
        let mut leaf = 0;
        let mut found = Vec::new();
        for column in self.columns {
            if self.sorted_by.contains(&column.name) {
                found.push(SortingColumn {
                    column_idx: leaf,
                    descending: false,
                    nulls_first: true,
                });
            }
            leaf += column.kind.leaves();
        }
        found
    }
}
