//! Stands for the room of tables in a program that was built without Parquet:
//! it knows a table when it sees one, and says that it can do nothing with it.

use std::io::{self, Read};
use std::path::Path;

use crate::base::Base;

mod asked;

pub use asked::{Progress, TableOptions, is_table};

/// Said instead of writing or reading tables.
const WITHOUT: &str = "this cbfs was built without Parquet; build it with --features parquet";

fn absent() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, WITHOUT)
}

/// Writes no tables.
///
/// # Errors
///
/// `Unsupported`, always.
pub fn export(_: &dyn Base, _: &Path, _: TableOptions, _: &dyn Progress) -> io::Result<()> {
    Err(absent())
}

/// The games of a table, of which there is none.
#[derive(Debug)]
pub struct TableAsPgn(io::Empty);

impl TableAsPgn {
    /// Opens no table.
    ///
    /// # Errors
    ///
    /// `Unsupported`, always.
    pub fn open(_: &Path, _: &dyn Fn(u64)) -> io::Result<TableAsPgn> {
        Err(absent())
    }
}

impl Read for TableAsPgn {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}
