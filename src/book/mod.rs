//! Opening books: the moves played in a position, and their results.
//!
//! A book holds records of positions. Statistics belong to positions: those of
//! a move are the statistics of the position after it.
//!
//! | file | content |
//! |---|---|
//! | `board.rs` | the normalized board, seen by the side to move |
//! | `board_code.rs` | the bit code of a board, shared by CTG and Kvetka |
//! | `record.rs` | a stored record, seen by the side to move |
//! | `entry.rs` | the same for White and Black, with real moves |
//! | `ctg/` | ChessBase's books, `.ctg` `.cto` `.ctb` |
//! | `kvetka/` | Kvetka's books, `.kob` `.kin` `.ksf` |
//! | `cache.rs`, `defects.rs` | cached pages and found defects of an open book |
//! |
//! | `line.rs` | moves that lead to a position |
//! | `choice.rs` | the moves of a position with their successors |
//! | `walk.rs` | all positions reachable from a start, the way to one of them |
//! | `toward.rs` | positions that may lead to another |
//! | `check.rs` | checks of a whole book |
//! | `unreachable.rs` | positions that no moves from the start reach |
//! | `export/` | PGN, EPD, a table, a Polyglot book |
//! | `kept.rs` | what a walk through the whole book found, kept for the next time |
//! | `position_files.rs`, `text.rs` | the files of one position, and their
//! fields |
//! | `facts.rs` | format, files, header fields |
//! | `files.rs` | files that belong together, and how to open them |
//!
//! A format implements [`Book::find`] and [`Book::scan`]; all else is built on
//! these two, for all formats.

pub mod check;
pub mod choice;
pub mod ctg;
pub mod export;
pub mod kept;
pub mod kvetka;
pub mod position_files;
pub mod text;
pub mod walk;

mod board;
mod board_code;
mod cache;
mod defects;
mod entry;
mod error;
mod facts;
mod files;
mod games;
mod line;
mod record;
mod toward;
mod unreachable;

pub use board::{CanonicalBoard, Castling, Squares};
pub use board_code::{BitReader, Bits, push_squares, read_squares};
pub use entry::{
    BookEntry, BookMove, BookStatistics, Flags, Rating, Refusal, RefusedMove, turned_nag,
};
pub use error::Error;
pub use facts::{BookFacts, BookFormat, BookMember, HeaderField};
pub use files::{belongs_to_book, files_of, open, stands_for_book, stem_of};
pub use games::{GameReference, GameSource, ReferencedGame, SourceKind};
pub use line::{BookLine, board_fields};
pub use record::{PositionRecord, RatingSum, RelativeMove, StoredMove};
pub use unreachable::Unreachable;

use std::fmt::Debug;
use std::ops::ControlFlow;

use crate::game::{Defect, Position};

/// A record found by a [scan](Book::scan).
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'a> {
    /// The normalized board, with White to move.
    pub board: &'a CanonicalBoard,
    /// The stored record.
    pub record: &'a PositionRecord,
    /// Extension of the file that contains it.
    pub file: &'static str,
    /// Name of that file, if several have the extension.
    pub name: Option<&'a str>,
    /// Its offset in that file.
    pub offset: u64,
}

impl Scanned<'_> {
    /// The defect of the record.
    fn defect(&self, what: String) -> Defect {
        Defect {
            file: self.file,
            offset: self.offset,
            what: in_file(what, self.name),
        }
    }
}

/// The fact `what` about the file `name`, which it names.
fn in_file(what: String, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{what} (in {name})"),
        None => what,
    }
}

/// An opening book, open for reading by any thread.
pub trait Book: Debug + Send + Sync {
    /// The format, the files and the header fields of the book.
    fn facts(&self) -> &BookFacts;

    /// The defects found so far, at opening and by look-ups. Their number is
    /// bounded; each is listed once.
    fn defects(&self) -> Vec<Defect>;

    /// Returns the record of a position; `None` if the book has none.
    ///
    /// Damage is no error. Positions that it hides are not found, and
    /// [`defects`](Book::defects) lists it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; [`Error::Unsupported`] for a book that is too large to be
    /// read without its directory.
    fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error>;

    /// Calls `visit` with each record, in file order, until it breaks. Memory
    /// does not grow with the book. Defects go to `defect`; unreadable records
    /// are skipped.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn scan(
        &self,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        defect: &mut dyn FnMut(Defect),
    ) -> Result<(), Error>;

    /// Checks that the files of the book agree, in more depth than
    /// [`scan`](Book::scan), and passes each defect to `defect`. The positions
    /// after moves are not checked.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn check(&self, defect: &mut dyn FnMut(Defect)) -> Result<(), Error>;

    /// The start position of the book's lines. It may be missing in the book.
    fn start(&self) -> Position {
        Position::default()
    }

    /// The sources of the games that entries reference; none in a CTG book.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn sources(&self) -> Result<Vec<GameSource>, Error> {
        Ok(Vec::new())
    }

    /// Returns the data of a referenced game; `None` if the book has none.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    fn game(&self, _reference: GameReference) -> Result<Option<ReferencedGame>, Error> {
        Ok(None)
    }

    /// Returns the stored record of a position, as [`find`](Book::find).
    ///
    /// The en passant file is part of a position if a pawn stands beside the
    /// one that stepped. Programs differ on whether the capture must be legal,
    /// too. If it is not, the position without it is looked up next.
    ///
    /// # Errors
    ///
    /// As [`find`](Book::find).
    fn record(
        &self,
        position: &Position,
    ) -> Result<Option<(CanonicalBoard, PositionRecord)>, Error> {
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

    /// Returns the entry of a position, for White and Black.
    ///
    /// # Errors
    ///
    /// As [`find`](Book::find).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use cbfs::book::Book;
    /// use cbfs::book::ctg::CtgBook;
    /// use cbfs::game::Position;
    ///
    /// let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg"))?;
    /// let entry = book.look_up(&Position::default())?.expect("an entry");
    /// assert_eq!(entry.moves.len(), 5);
    /// # Ok::<(), cbfs::book::Error>(())
    /// ```
    fn look_up(&self, position: &Position) -> Result<Option<BookEntry>, Error> {
        let found = self.record(position)?;
        Ok(found.map(|(board, record)| BookEntry::new(position, &board, record)))
    }

    /// Returns the statistics of a position, as [`look_up`](Book::look_up)
    /// without the moves.
    ///
    /// # Errors
    ///
    /// As [`find`](Book::find).
    fn without_moves(&self, position: &Position) -> Result<Option<BookEntry>, Error> {
        let found = self.record(position)?;
        Ok(found.map(|(_, record)| BookEntry::without_moves(position.turn(), record)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ctg::CtgBook;
    use super::*;

    /// A book of one position.
    #[derive(Debug)]
    struct One(CtgBook, CanonicalBoard);

    impl Book for One {
        fn facts(&self) -> &BookFacts {
            self.0.facts()
        }

        fn defects(&self) -> Vec<Defect> {
            Vec::new()
        }

        fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error> {
            Ok((*board == self.1).then(PositionRecord::default))
        }

        fn scan(
            &self,
            _visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
            _defect: &mut dyn FnMut(Defect),
        ) -> Result<(), Error> {
            Ok(())
        }

        fn check(&self, _defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn a_book_may_leave_out_a_step_of_a_pawn_that_cannot_be_taken() {
        for (fen, may_be_left_out) in [
            ("8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1", true),
            ("4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1", false),
        ] {
            let setup: shakmaty::fen::Fen = fen.parse().unwrap();
            let mode = shakmaty::CastlingMode::Standard;
            let position = Position::from_setup(setup.into_setup(), mode);
            let board = CanonicalBoard::of(&position).unwrap();
            let found = |board| {
                let sample = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
                let found = One(sample, board).record(&position).unwrap();
                found.map(|(board, _)| board)
            };
            assert!(board.en_passant().is_some());
            assert_eq!(found(board), Some(board));
            let without = board.without_en_passant();
            assert_eq!(found(without), may_be_left_out.then_some(without));
        }
    }
}
