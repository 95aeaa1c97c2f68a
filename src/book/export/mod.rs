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

pub use pgn::{MOST_GAME_BYTES, PgnOptions, write_line, write_openings, write_pgn};
pub use polyglot::{polyglot_key, polyglot_move};

use std::fmt;
use std::io::{self, Write};

use super::walk::{BookWalk, Limits};
use super::{Book, BookLine, Error};

/// To be raised when an export has other bytes than before of the same book.
pub const RENDER_VERSION: u32 = 2;

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
        write_together(book, limits, &mut [(self, out)])
    }

    /// The begin of a line that is a remark; `None` if the format has no
    /// remarks.
    fn remark(self) -> Option<&'static str> {
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

/// Writes the whole book in several formats during one walk, which costs as much
/// as to write one of them. A text that is cut ends in a remark that says so.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writers.
pub fn write_together(
    book: &dyn Book,
    limits: Limits,
    outputs: &mut [(ExportFormat, &mut dyn Write)],
) -> Result<Exported, ExportError> {
    let start = BookLine::from_start_of(book);
    let mut walk = BookWalk::new(book, start.position(), limits)?;
    let mut entries = polyglot::Entries::default();
    for (format, out) in &mut *outputs {
        if *format == ExportFormat::Tsv {
            writeln!(out, "{}", tsv::COLUMNS)?;
        }
    }
    while let Some(visit) = walk.next_visit()? {
        for (format, out) in &mut *outputs {
            match format {
                ExportFormat::Epd => writeln!(out, "{}", epd::line(&visit))?,
                ExportFormat::Tsv => writeln!(out, "{}", tsv::line(&visit))?,
                ExportFormat::Polyglot => entries.add(&visit),
                // These are no lists of positions.
                ExportFormat::Pgn | ExportFormat::Openings => {}
            }
        }
    }
    let (reached, is_cut) = walk.finish()?;
    let tree = pgn::ReachedTree {
        book,
        start: &start,
        reached: &reached,
        plies: limits.plies,
        has_numbers: true,
    };
    for (format, out) in outputs {
        match format {
            ExportFormat::Pgn => tree.write_one_game(out)?,
            ExportFormat::Openings => tree.write_games(MOST_GAME_BYTES, out)?,
            ExportFormat::Polyglot => entries.write(out)?,
            ExportFormat::Epd | ExportFormat::Tsv => {}
        }
        if let Some(mark) = format.remark().filter(|_| is_cut) {
            write_cut(mark, limits.positions, out)?;
        }
        out.flush()?;
    }
    Ok(Exported {
        positions: reached.len() as u64,
        is_cut,
    })
}

/// Writes a remark, which begins with `mark`, that the book has more positions than these.
///
/// # Errors
///
/// Those of the writer.
pub fn write_cut(mark: &str, limit: u32, out: &mut dyn Write) -> io::Result<()> {
    let why = "a larger --export-limit allows more";
    writeln!(
        out,
        "{mark} The book has more positions than these {limit}; {why}"
    )
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

/// The sample book in this format, for a test.
#[cfg(test)]
fn sample_as(format: ExportFormat) -> String {
    let sample = std::path::Path::new("fixtures/book/small/small.ctg");
    let book = super::ctg::CtgBook::open(sample).unwrap();
    let mut text = Vec::new();
    format
        .write(&book, Limits::positions(1000), &mut text)
        .unwrap();
    String::from_utf8(text).unwrap()
}

#[cfg(test)]
impl ExportFormat {
    pub(in crate::book) const ALL: [ExportFormat; 5] = [
        ExportFormat::Pgn,
        ExportFormat::Openings,
        ExportFormat::Epd,
        ExportFormat::Tsv,
        ExportFormat::Polyglot,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::ctg::CtgBook;

    #[test]
    fn each_text_has_remarks_of_its_own_and_a_polyglot_book_has_none() {
        let wanted = [Some("%"), Some("%"), Some("#"), Some("#"), None];
        assert_eq!(ExportFormat::ALL.map(ExportFormat::remark), wanted);
    }

    #[test]
    fn an_export_tells_how_many_positions_it_has_and_whether_there_are_more() {
        let sample = std::path::Path::new("fixtures/book/small/small.ctg");
        let book = CtgBook::open(sample).unwrap();
        let lines_of = |limit| {
            let mut text = Vec::new();
            let limits = Limits::positions(limit);
            let exported = ExportFormat::Epd.write(&book, limits, &mut text).unwrap();
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let (remarks, lines): (Vec<_>, Vec<_>) = lines.partition(|line| line[0] == b'#');
            assert_eq!(exported.positions, lines.len() as u64);
            assert_eq!(remarks.len(), usize::from(exported.is_cut));
            (lines.len(), exported.is_cut)
        };
        let (all, is_cut) = lines_of(1000);
        assert!(all > 20 && !is_cut, "{all}");
        assert_eq!(lines_of(3), (3, true));
        let full = ExportFormat::Tsv.write(&book, Limits::positions(3), &mut [0; 9].as_mut_slice());
        let error = full.unwrap_err();
        assert!(matches!(&error, ExportError::Write(why) if error.to_string() == why.to_string()));
    }
}
