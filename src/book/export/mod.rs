//! Exports of a book to other formats, written during a walk.
//!
//! | file | output |
//! |---|---|
//! | `pgn.rs` | one game with variations, or one for each first moves |
//! | `epd.rs` | an EPD line per position |
//! | `tsv.rs` | a table row per position |
//! | `polyglot.rs` | a Polyglot book for engines |

mod epd;
mod movetext;
mod pgn;
mod polyglot;
mod tsv;

pub use epd::write_epd;
pub use pgn::{MOST_GAME_BYTES, PgnOptions, write_line, write_openings, write_pgn};
pub use polyglot::{polyglot_key, polyglot_move, write_polyglot};
pub use tsv::write_positions;

use std::fmt;
use std::io::{self, Write};

use super::walk::{Limits, Visit, Walk};
use super::{Book, Error, Line};

/// A format for a whole book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One game with variations.
    Pgn,
    /// PGN, a game for each first moves, none longer than Scid reads.
    Openings,
    /// A line of EPD for each position.
    Epd,
    /// A row of a table for each position.
    Tsv,
    /// A Polyglot book.
    Polyglot,
}

impl ExportFormat {
    /// Writes the whole book.
    ///
    /// # Errors
    ///
    /// As [`Book::find`]; errors of the writer.
    pub fn write(
        self,
        book: &dyn Book,
        limits: Limits,
        out: &mut dyn Write,
    ) -> Result<Exported, ExportError> {
        match self {
            ExportFormat::Pgn => {
                let options = PgnOptions {
                    limits,
                    has_numbers: true,
                };
                write_pgn(book, &Line::from_start_of(book), options, out)
            }
            ExportFormat::Openings => write_openings(book, limits, MOST_GAME_BYTES, out),
            ExportFormat::Epd => write_epd(book, limits, out),
            ExportFormat::Tsv => write_positions(book, limits, out),
            ExportFormat::Polyglot => write_polyglot(book, limits, out),
        }
    }

    /// The begin of a line that is a remark; `None` if the format has no
    /// remarks.
    pub fn remark(self) -> Option<&'static str> {
        match self {
            ExportFormat::Pgn | ExportFormat::Openings => Some("%"),
            ExportFormat::Epd | ExportFormat::Tsv => Some("#"),
            ExportFormat::Polyglot => None,
        }
    }
}

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of exported positions.
    pub positions: u64,
    /// Whether the book has more positions than the limit.
    pub is_cut: bool,
}

/// Writes a line for each position that moves from the start reach.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
fn write_lines(
    book: &dyn Book,
    limits: Limits,
    out: &mut dyn Write,
    line: impl Fn(&Visit) -> String,
) -> Result<Exported, ExportError> {
    let mut walk = Walk::new(book, &book.start(), limits)?;
    while let Some(visit) = walk.next_visit()? {
        writeln!(out, "{}", line(&visit))?;
    }
    out.flush()?;
    Ok(Exported {
        positions: walk.reached().len() as u64,
        is_cut: walk.is_cut(),
    })
}

/// An error of an export.
#[derive(Debug)]
pub enum ExportError {
    /// The book could not be read.
    Book(Error),
    /// The output could not be written.
    Write(io::Error),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Book(error) => error.fmt(f),
            ExportError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

impl From<Error> for ExportError {
    fn from(error: Error) -> ExportError {
        ExportError::Book(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Write(error)
    }
}
