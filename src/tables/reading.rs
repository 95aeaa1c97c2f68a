//! A folder of tables into PGN: the games that [`export`](super::export) wrote,
//! or a table of games of another program, such as lichess' public data set.
//!
//! Games come in the order of the column `number`, or of the files if there is
//! none. Their texts are in a temporary file until all are known.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ::parquet::basic::Type;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::schema::types::SchemaDescriptor;

use super::asked::{EXTENSION, is_parquet};
use super::column::{self, TableColumn};
use super::footer;
use super::games::{COLUMNS, TABLE, is_signed};
use super::guard::{GuardedFile, PageMemory, without_panic};
use super::sorter::{SortedRecords, Sorter};
use crate::game::Date;
use crate::storage::{Spool, open_regular};

/// Folders in folders are looked at to this depth.
const MOST_DEPTH: usize = 16;

/// Number of rows that are read at a time.
const ROWS: usize = 256;

/// A file may have so many rows more than bytes.
const FEW_ROWS: u64 = 1024;

/// Bytes of the rows that are read at a time, if they are more than one.
const ROWS_BYTES: u64 = 1 << 24;

/// Number of bytes of the length before each text of the temporary file.
const LENGTH_BYTES: usize = size_of::<u64>();

/// The games of a table as one PGN text, in order.
#[derive(Debug)]
pub struct TableAsPgn {
    /// Lengths and texts.
    spool: Spool,
    /// Numbers of games, and offsets in the spool.
    order: SortedRecords<2>,
    text: Vec<u8>,
    /// Number of bytes of the text that were read.
    read: usize,
}

impl TableAsPgn {
    /// Reads all games of a file, or of all Parquet files in a folder. If it has
    /// a folder `games`, only that. `progress` is told each number of games.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] if there is no Parquet file;
    /// [`ErrorKind::InvalidData`] for a file that is damaged, or has neither a
    /// column `movetext` nor `moves_uci`; those of the file system.
    pub fn open(path: &Path, progress: &dyn Fn(u64)) -> io::Result<TableAsPgn> {
        let files = files_of(path)?;
        if files.is_empty() {
            let what = format!("there is no .{EXTENSION} file in this folder");
            return Err(io::Error::new(ErrorKind::NotFound, what));
        }
        let mut taken = Taken::new()?;
        for file in files {
            let read = without_panic(|| taken.take(&file, progress));
            let read = read.unwrap_or_else(|| Err(damaged("the file is damaged")));
            read.map_err(|error| match file.strip_prefix(path) {
                // A file in the folder that was named.
                Ok(inside) if inside != Path::new("") => {
                    io::Error::new(error.kind(), format!("{}: {error}", inside.display()))
                }
                _ => error,
            })?;
        }
        taken.finish()
    }

    /// Reads the next text; returns false after the last.
    fn next(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.read = 0;
        let Some(record) = self.order.next() else {
            return Ok(false);
        };
        let [_, offset] = record?;
        let mut length = [0; LENGTH_BYTES];
        self.spool.read_exact_at(&mut length, offset)?;
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
        self.text.resize(length, 0);
        self.spool
            .read_exact_at(&mut self.text, offset + LENGTH_BYTES as u64)?;
        Ok(true)
    }
}

impl Read for TableAsPgn {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.len() && !self.next()? {
            return Ok(0);
        }
        let mut rest = self.text.get(self.read..).unwrap_or_default();
        let count = rest.read(bytes)?;
        self.read += count;
        Ok(count)
    }
}

fn damaged(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// The files of a table, sorted by path.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let games = path.join(TABLE.name);
    let path = if games.is_dir() { &games } else { path };
    add_files(path, MOST_DEPTH, &mut files)?;
    files.sort();
    Ok(files)
}

fn add_files(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // Engines write their notes into files with such names.
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".")
            || entry.file_name().as_encoded_bytes().starts_with(b"_");
        let is_folder = entry.file_type()?.is_dir();
        if !is_hidden && (is_folder && depth > 0 || !is_folder && is_parquet(&entry.path())) {
            add_files(&entry.path(), depth.saturating_sub(1), files)?;
        }
    }
    Ok(())
}

/// The texts that were taken from files so far.
struct Taken {
    out: BufWriter<File>,
    /// Length of the file, and what it may be after the table that is read.
    end: u64,
    most: u64,
    games: u64,
    order: Sorter<2>,
}

impl Taken {
    fn new() -> io::Result<Taken> {
        Ok(Taken {
            out: Spool::begin()?,
            end: 0,
            most: 0,
            games: 0,
            order: Sorter::new(&std::env::temp_dir()),
        })
    }

    fn finish(self) -> io::Result<TableAsPgn> {
        Ok(TableAsPgn {
            spool: Spool::end(self.out)?,
            order: self.order.sorted()?,
            text: Vec::new(),
            read: 0,
        })
    }

    /// Adds the games of a file.
    fn take(&mut self, path: &Path, progress: &dyn Fn(u64)) -> io::Result<()> {
        let file = open_regular(path)?;
        let bytes = file.metadata()?.len();
        footer::check(&file)?;
        let reader = SerializedFileReader::new(GuardedFile(file)).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let columns = Columns::of(&schema);
        let moves = [columns.find("movetext"), columns.find("moves_uci")];
        if moves == [None, None] {
            return Err(damaged(
                "no table of games: no column `movetext` or `moves_uci`",
            ));
        }
        let mut moves = moves.into_iter().flatten();
        if moves.any(|leaf| schema.column(leaf).physical_type() != Type::BYTE_ARRAY) {
            return Err(damaged(
                "the column `movetext` or `moves_uci` is not of text; moves are texts",
            ));
        }
        ensure_plausible(bytes, &reader)?;
        self.most = bytes
            .saturating_mul(MOST_UNPACKED)
            .max(FEW_BYTES)
            .saturating_add(self.end);
        let year = year_of(path);
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).map_err(damaged)?;
            self.take_group(group.as_ref(), &columns, year.as_deref(), progress)?;
        }
        Ok(())
    }

    fn take_group(
        &mut self,
        group: &dyn RowGroupReader,
        columns: &Columns,
        year: Option<&str>,
        progress: &dyn Fn(u64),
    ) -> io::Result<()> {
        let mut readers = Vec::new();
        let held = PageMemory::default();
        for (role, leaf) in &columns.leaves {
            if let Some(reader) = TableColumn::open(group, *leaf, &held).map_err(damaged)? {
                readers.push((role, reader, column::ColumnTexts::default()));
            }
        }
        let rows = usize::try_from(group.metadata().num_rows()).map_err(damaged)?;
        let mut text = Vec::new();
        let step = rows_at_a_time(group);
        for first in (0..rows).step_by(step) {
            let count = step.min(rows - first);
            for (_, reader, texts) in &mut readers {
                if reader.read(count, texts).map_err(damaged)? < count {
                    return Err(damaged(format!(
                        "a column ends before row {rows} of its group"
                    )));
                }
            }
            for row in 0..count {
                let values = TableRow {
                    columns: &readers,
                    index: row,
                    year,
                };
                text.clear();
                values.write_pgn(&mut text);
                self.push(values.number(), &text)?;
            }
            progress(self.games);
        }
        Ok(())
    }

    /// Adds a game; without a number it comes behind all before it.
    fn push(&mut self, number: Option<u64>, text: &[u8]) -> io::Result<()> {
        let number = number.unwrap_or(self.games);
        self.order.push([number, self.end])?;
        self.out.write_all(&(text.len() as u64).to_le_bytes())?;
        self.out.write_all(text)?;
        self.end += (LENGTH_BYTES + text.len()) as u64;
        if self.end > self.most {
            return Err(damaged(format!(
                "its games are more than {MOST_UNPACKED} times as long as the file"
            )));
        }
        self.games += 1;
        Ok(())
    }
}

/// Texts of a table may be so many times as long as the file, or of so many bytes: equal
/// values are stored once.
const MOST_UNPACKED: u64 = 1000;
const FEW_BYTES: u64 = 1 << 28;

/// Rejects a file with more rows than bytes: no moves have so few.
fn ensure_plausible(bytes: u64, reader: &dyn FileReader) -> io::Result<()> {
    let rows = reader.metadata().file_metadata().num_rows();
    let groups = reader.metadata().row_groups().iter();
    let of_groups = groups.fold(0_i64, |rows, group| rows.saturating_add(group.num_rows()));
    if rows.max(of_groups).cast_unsigned() > bytes.saturating_add(FEW_ROWS) {
        let what = format!("{rows} rows are declared in a file of {bytes} bytes");
        return Err(damaged(what));
    }
    Ok(())
}

/// How many rows of a group are read at a time: fewer if they are long.
fn rows_at_a_time(group: &dyn RowGroupReader) -> usize {
    let whole = |number: i64| u64::try_from(number).unwrap_or(0);
    let metadata = group.metadata();
    let bytes = metadata
        .columns()
        .iter()
        .map(|column| whole(column.uncompressed_size()))
        .fold(0, u64::saturating_add);
    let of_row = bytes / whole(metadata.num_rows()).max(1);
    let rows = ROWS_BYTES / of_row.max(1);
    usize::try_from(rows).unwrap_or(ROWS).clamp(1, ROWS)
}

/// The year that the folder of a file names.
fn year_of(path: &Path) -> Option<String> {
    let folders = path.parent()?.iter().rev();
    let mut years = folders.filter_map(|name| name.to_str()?.strip_prefix("year="));
    let year = years.next()?;
    let is_year = year.len() <= 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    is_year.then(|| year.to_owned())
}

/// The columns of a file that are read: what each is, and its index.
struct Columns {
    leaves: Vec<(Role, usize)>,
}

/// Content of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// The tag with this name.
    Tag(String),
    /// A column that is no tag, by its name in lower case.
    Other(String),
    /// Names of the tags in `tags`, and their values.
    TagNames,
    TagValues,
}

impl Columns {
    fn of(schema: &SchemaDescriptor) -> Columns {
        let roles = schema.columns().iter().enumerate();
        let roles = roles.filter_map(|(index, column)| {
            let parts = column.path().parts();
            Some((role_of(parts, column.max_rep_level())?, index))
        });
        Columns {
            leaves: roles.collect(),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        let wanted = Role::Other(name.to_owned());
        let mut leaves = self.leaves.iter();
        leaves
            .find(|(role, _)| *role == wanted)
            .map(|(_, leaf)| *leaf)
    }
}

/// Returns the content of the column with this path; `None` if it is not read.
fn role_of(path: &[String], repetition: i16) -> Option<Role> {
    let (first, last) = (path.first()?, path.last()?);
    let lower = first.to_ascii_lowercase();
    if lower == "tags" && repetition == 1 {
        return match last.as_str() {
            "key" => Some(Role::TagNames),
            "value" => Some(Role::TagValues),
            _ => None,
        };
    }
    if lower == "moves_uci" && repetition == 1 {
        return Some(Role::Other(lower));
    }
    if repetition > 0 || path.len() > 1 {
        return None;
    }
    let mut known = COLUMNS.iter();
    // Some engines store names in lower case.
    match known.find(|column| column.name.eq_ignore_ascii_case(first)) {
        Some(column) if is_tag(column.name) => Some(Role::Tag(column.name.to_owned())),
        Some(_) => Some(Role::Other(lower)),
        None if lower == "year" => Some(Role::Other(lower)),
        None => (is_tag(first) && is_tag_name(first)).then(|| Role::Tag(first.clone())),
    }
}

/// Columns that are tags begin with a capital.
fn is_tag(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
}

fn is_tag_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.len() < 256 && name.bytes().all(is_part)
}

/// The values of each tag, by its name.
type TagValues<'r> = BTreeMap<&'r [u8], Vec<Vec<u8>>>;

/// A row of the rows that were read.
struct TableRow<'r> {
    columns: &'r [(&'r Role, TableColumn, column::ColumnTexts)],
    index: usize,
    year: Option<&'r str>,
}

impl<'r> TableRow<'r> {
    fn number(&self) -> Option<u64> {
        number_in(self.other("number"))
    }

    /// The texts of a column.
    fn texts(&self, wanted: &Role) -> Option<&'r column::ColumnTexts> {
        let mut columns = self.columns.iter();
        let (_, _, texts) = columns.find(|(role, _, _)| *role == wanted)?;
        Some(texts)
    }

    /// The text of a column that is no tag.
    fn other(&self, name: &str) -> Option<&'r [u8]> {
        let texts = self.texts(&Role::Other(name.to_owned()))?;
        texts.text_of_row(self.index)
    }

    fn tag(&self, name: &str) -> Option<&'r [u8]> {
        let texts = self.texts(&Role::Tag(name.to_owned()))?;
        texts.text_of_row(self.index)
    }

    /// Appends the game as PGN.
    fn write_pgn(&self, out: &mut Vec<u8>) {
        let mut tags = self.other_tags();
        for (role, _, texts) in self.columns {
            if let Role::Tag(name) = role
                && let Some(value) = texts.text_of_row(self.index)
            {
                let has_sign =
                    !is_signed(name) || value.starts_with(b"-") || value.starts_with(b"+");
                let sign = if has_sign { &b""[..] } else { b"+" };
                let value = [sign, value].concat();
                // Of a tag that is there several times the column holds the first.
                let values = tags.entry(name.as_bytes()).or_default();
                if values.first() != Some(&value) {
                    values.insert(0, value);
                }
            }
        }
        self.derive_tags(&mut tags);
        // The order matters to people only, but they begin with the roster.
        for name in ["Event", "Site", "Date", "Round", "White", "Black", "Result"] {
            let unknown = if name == "Result" { "*" } else { "?" };
            let values = tags.remove(name.as_bytes());
            for value in values.unwrap_or_else(|| vec![unknown.into()]) {
                write_tag(name.as_bytes(), &value, out);
            }
        }
        for (name, values) in &tags {
            for value in values {
                write_tag(name, value, out);
            }
        }
        out.push(b'\n');
        match self.other("movetext") {
            Some(movetext) => out.extend_from_slice(movetext),
            None => self.write_moves(out),
        }
        out.extend_from_slice(b"\n\n");
    }

    /// The tags of the column `tags`.
    fn other_tags(&self) -> TagValues<'r> {
        let (Some(names), Some(values)) =
            (self.texts(&Role::TagNames), self.texts(&Role::TagValues))
        else {
            return TagValues::new();
        };
        let names = names.of_row(self.index).iter();
        let mut tags = TagValues::new();
        for (name, value) in names.zip(values.of_row(self.index)) {
            if std::str::from_utf8(name.data()).is_ok_and(is_tag_name) {
                let values = tags.entry(name.data()).or_default();
                values.push(value.data().to_vec());
            }
        }
        tags
    }

    /// Adds tags that columns with numbers stand for, unless they are there.
    fn derive_tags(&self, tags: &mut TagValues<'r>) {
        let field = |name: &str| self.other(name);
        if let Some(date) = self.date() {
            tags.entry(b"Date").or_insert(vec![date]);
        }
        if field("round").is_some() || field("subround").is_some() {
            let mut round = field("round").unwrap_or(b"?").to_vec();
            if let Some(subround) = field("subround") {
                round.push(b'.');
                round.extend_from_slice(subround);
            }
            tags.entry(b"Round").or_insert(vec![round]);
        }
        if self.tag("FEN").is_some() {
            tags.entry(b"SetUp").or_insert(vec![b"1".to_vec()]);
        }
    }

    /// The date from the parts that are known: `2016.07.??`.
    fn date(&self) -> Option<Vec<u8>> {
        let utc = self.tag("UTCDate");
        if let Some(date) = self.tag("Date") {
            return Some(date.to_vec());
        }
        let year = self.other("year").or(self.year.map(str::as_bytes));
        let (month, day) = (self.other("month"), self.other("day"));
        if year.is_none() && month.is_none() && day.is_none() {
            return utc.map(<[u8]>::to_vec);
        }
        let date = Date {
            year: number_in(year).unwrap_or(0),
            month: number_in(month).unwrap_or(0),
            day: number_in(day).unwrap_or(0),
        };
        let mut written = Vec::new();
        date.append_to(&mut written);
        Some(written)
    }

    /// Writes the moves of the column `moves_uci`, and the result.
    fn write_moves(&self, out: &mut Vec<u8>) {
        let moves = self.texts(&Role::Other("moves_uci".to_owned()));
        for m in moves.map_or(&[][..], |moves| moves.of_row(self.index)) {
            // A null move of PGN.
            let is_null = m.data() == b"0000";
            out.extend_from_slice(if is_null { b"--" } else { m.data() });
            out.push(b' ');
        }
        out.extend_from_slice(self.tag("Result").unwrap_or(b"*"));
    }
}

/// The number that a text is.
fn number_in<N: FromStr>(text: Option<&[u8]>) -> Option<N> {
    std::str::from_utf8(text?).ok()?.parse().ok()
}

fn write_tag(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(b'[');
    out.extend_from_slice(name);
    out.extend_from_slice(b" \"");
    for &byte in value {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        // A line break would begin another tag.
        out.push(if byte < b' ' { b' ' } else { byte });
    }
    out.extend_from_slice(b"\"]\n");
}
