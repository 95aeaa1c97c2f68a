//! Opening books: what was played in a position, and with what success.
//!
//! A book holds records of positions. Its numbers belong to positions, not
//! to moves: those of a move are the numbers of the position it leads to.
//!
//! | file | what is in it |
//! |---|---|
//! | `board.rs` | the board as books store it, seen by the side to move |
//! | `board_code.rs` | the bits of a board, which CTG and Kvetka share |
//! | `record.rs` | one record as it is stored, seen by the side to move |
//! | `entry.rs` | the same as people see it, White's and Black's |
//! | `ctg/` | ChessBase's books, `.ctg` `.cto` `.ctb` |
//! | `kvetka/` | Kvetka's books, `.kob` `.kin` `.ksf` |
//! | `cache.rs`, `defects.rs` | what back ends keep while they are open |
//! | `line.rs` | the moves that lead to a position |
//! | `choice.rs` | the moves of a position, and where they lead |
//! | `walk.rs` | all positions from a start |
//! | `check.rs` | everything held against everything |
//! | `export/` | PGN, EPD, a table, a Polyglot book |
//! | `sheet.rs`, `text.rs` | what is said of one position |
//! | `facts.rs` | what a book is: files, pages, header fields |
//!
//! A back end is [`Book::find`] and [`Book::scan`]; everything else is made
//! of those two, once for all formats.

pub mod check;
pub mod choice;
pub mod ctg;
pub mod export;
pub mod kvetka;
pub mod sheet;
pub mod text;
pub mod walk;

mod board;
mod board_code;
mod cache;
mod defects;
mod entry;
mod error;
mod facts;
mod games;
mod line;
mod record;

pub use board::{CanonicalBoard, Castling, Squares};
pub use board_code::{BitReader, Bits, push_squares, read_squares};
pub use entry::{BookMove, Entry, Flags, Rating, Refusal, RefusedMove, Statistics, turned_nag};
pub use error::Error;
pub use facts::{Facts, Format, HeaderField, Member};
pub use games::{GameReference, GameSource, ReferencedGame, SourceKind};
pub use line::{Line, board_fields};
pub use record::{RatingSum, Record, StoredMove, Way};

use std::fmt::Debug;
use std::ops::ControlFlow;

use crate::game::{Defect, Position};

/// A record that a [scan](Book::scan) came to.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'a> {
    /// The position, with White to move.
    pub board: &'a CanonicalBoard,
    /// What is stored of it.
    pub record: &'a Record,
    /// The extension of the file it lies in.
    pub file: &'static str,
    /// Where it begins there.
    pub offset: u64,
}

/// An opening book that is open for reading, by any thread.
pub trait Book: Debug + Send + Sync {
    /// What the book is: its files and what their headers say.
    fn facts(&self) -> &Facts;

    /// What was found wrong with it so far: when it was opened, and by the
    /// look-ups since. Bounded; each fact once.
    fn defects(&self) -> Vec<Defect>;

    /// The record of a position; `None` if the book has none.
    ///
    /// Damage is no error: what it hides is not found, and
    /// [`defects`](Book::defects) tells of it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], and [`Error::Unsupported`] for a book too large to be
    /// read without its directory.
    fn find(&self, board: &CanonicalBoard) -> Result<Option<Record>, Error>;

    /// Passes every record to `visit`, in the order of the file, until that
    /// breaks. Nothing is kept, so a book of any size can be looked through.
    /// What is wrong goes to `defect`; what cannot be read is passed over.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn scan(
        &self,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        defect: &mut dyn FnMut(Defect),
    ) -> Result<(), Error>;

    /// Holds the files of the book against each other, in more depth than a
    /// [`scan`](Book::scan) does: a line for each defect. What the moves lead
    /// to is not looked at.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn check(&self, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        self.scan(&mut |_| ControlFlow::Continue(()), defect)
    }

    /// The position that the book's lines start from. It need not be in the
    /// book.
    fn start(&self) -> Position {
        Position::default()
    }

    /// The sources of the games that entries name; none in a CTG book.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn sources(&self) -> Result<Vec<GameSource>, Error> {
        Ok(Vec::new())
    }

    /// What the book knows of a game that an entry names; `None` if it knows
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn game(&self, _reference: GameReference) -> Result<Option<ReferencedGame>, Error> {
        Ok(None)
    }

    /// The stored record of a position, as [`find`](Book::find).
    ///
    /// A capture in passing is part of a position where a pawn stands beside
    /// the one that stepped; programs differ on whether it must be legal too.
    /// Where it is not, the position without it is looked up next.
    ///
    /// # Errors
    ///
    /// As [`find`](Book::find).
    fn record(&self, position: &Position) -> Result<Option<(CanonicalBoard, Record)>, Error> {
        let Some(board) = CanonicalBoard::of(position) else {
            return Ok(None);
        };
        if let Some(record) = self.find(&board)? {
            return Ok(Some((board, record)));
        }
        if board.en_passant().is_none() || position.can_take_en_passant() {
            return Ok(None);
        }
        let board = board.without_en_passant();
        Ok(self.find(&board)?.map(|record| (board, record)))
    }

    /// What the book says of a position, in White's and Black's numbers.
    ///
    /// # Errors
    ///
    /// As [`find`](Book::find).
    fn look_up(&self, position: &Position) -> Result<Option<Entry>, Error> {
        let found = self.record(position)?;
        Ok(found.map(|(board, record)| Entry::new(position, &board, record)))
    }

    /// The numbers of a position alone, as [`look_up`](Book::look_up).
    ///
    /// # Errors
    ///
    /// As [`find`](Book::find).
    fn without_moves(&self, position: &Position) -> Result<Option<Entry>, Error> {
        let found = self.record(position)?;
        Ok(found.map(|(_, record)| Entry::without_moves(position.turn(), record)))
    }
}
