//! Checks a book: its files, the legality of its moves, and the positions they
//! lead to.

use std::ops::ControlFlow;

use super::unreachable::{FromStart, reached};
use super::walk::Limits;
use super::{Book, BookEntry, Error, Scanned};
use crate::game::Defect;

/// Counts of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BookCounts {
    /// Number of readable positions. Mirror images are stored as one.
    pub positions: u64,
    /// Number of boards that moves from the start reach, mirror images apart;
    /// `None` if they are more than the limit.
    pub reached: Option<u64>,
    /// Number of legal moves.
    pub moves: u64,
    /// Number of positions that no moves from the start reach; `None` if the
    /// book has more positions than the limit. They are no defect.
    pub unreachable: Option<u64>,
}

/// Checks a book and passes each defect to `defect`. `progress` is called for
/// every record.
///
/// # Errors
///
/// As [`Book::find`].
pub fn check(
    book: &dyn Book,
    limits: Limits,
    progress: &dyn Fn(u64),
    defect: &mut dyn FnMut(Defect),
) -> Result<BookCounts, Error> {
    for known in book.defects() {
        defect(known);
    }
    book.check(defect)?;
    let reached = reached(book, limits.positions)?;
    let mut checked = BookCounts {
        reached: reached.as_ref().map(FromStart::boards),
        unreachable: reached.as_ref().map(|_| 0),
        ..BookCounts::default()
    };
    let mut failed = Ok(());
    // The book's own check has reported unreadable records already.
    let mut silent = |_| {};
    book.scan(
        &mut |scanned| {
            progress(1);
            checked.positions += 1;
            if let (Some(reached), Some(unreachable)) = (&reached, &mut checked.unreachable) {
                *unreachable += u64::from(!reached.has(scanned.board));
            }
            match check_moves(book, scanned, defect) {
                Ok(moves) => {
                    checked.moves += moves;
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed = Err(error);
                    ControlFlow::Break(())
                }
            }
        },
        &mut silent,
    )?;
    failed.map(|()| checked)
}

/// Checks the moves of a record: they must be legal, and the positions after
/// them in the book. Returns the number of legal moves.
fn check_moves(
    book: &dyn Book,
    scanned: Scanned<'_>,
    defect: &mut dyn FnMut(Defect),
) -> Result<u64, Error> {
    let Scanned { board, record, .. } = scanned;
    let mut say = |what| defect(scanned.defect(what));
    let position = board.to_position();
    if !position.is_regular() {
        say("a position that the rules forbid".to_owned());
    }
    let entry = BookEntry::new(&position, board, record.clone());
    for refused in &entry.refused {
        say(refused.to_string());
    }
    for book_move in &entry.moves {
        let mut after = position.clone();
        let Ok(san) = after.play(book_move.m) else {
            continue;
        };
        if book.record(&after)?.is_none() {
            say(format!("the position after {san} is not in the book"));
        }
    }
    Ok(entry.moves.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::path::Path;

    use super::*;
    use crate::book::ctg::CtgBook;
    use crate::book::{BookFacts, CanonicalBoard, PositionRecord};
    use crate::game::Position;

    /// The sample book with a defect, and without this position.
    #[derive(Debug)]
    struct Changed {
        book: CtgBook,
        lost: Option<u128>,
    }

    impl Book for Changed {
        fn facts(&self) -> &BookFacts {
            self.book.facts()
        }

        fn defects(&self) -> Vec<Defect> {
            vec![Defect {
                file: "ctg",
                offset: 7,
                what: "known".to_owned(),
            }]
        }

        fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error> {
            let found = self.book.find(board)?;
            Ok(found.filter(|_| self.lost != Some(board.key())))
        }

        fn scan(
            &self,
            visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
            defect: &mut dyn FnMut(Defect),
        ) -> Result<(), Error> {
            self.book.scan(visit, defect)
        }

        fn check(&self, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
            self.book.check(defect)
        }
    }

    fn sample(lost: Option<u128>) -> Changed {
        let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        Changed { book, lost }
    }

    fn checked(book: &dyn Book, limit: u32) -> (BookCounts, u64, Vec<String>) {
        let (seen, mut told) = (Cell::new(0), Vec::new());
        let progress = |count| seen.set(seen.get() + count);
        let limits = Limits::positions(limit);
        let counts = check(book, limits, &progress, &mut |defect| {
            told.push(defect.what);
        });
        (counts.unwrap(), seen.get(), told)
    }

    #[test]
    fn positions_and_legal_moves_of_a_book_are_counted() {
        let book = sample(None);
        let (mut positions, mut moves) = (0, 0);
        let mut visit = |scanned: Scanned<'_>| {
            let position = scanned.board.to_position();
            let entry = BookEntry::new(&position, scanned.board, scanned.record.clone());
            positions += 1;
            moves += entry.moves.len() as u64;
            ControlFlow::Continue(())
        };
        book.scan(&mut visit, &mut |_| {}).unwrap();
        let boards = reached(&book, u32::MAX).unwrap().unwrap().boards();
        let mut wanted = BookCounts {
            positions,
            reached: Some(boards),
            moves,
            unreachable: Some(3),
        };
        let known = vec!["known".to_owned()];
        assert_eq!(checked(&book, u32::MAX), (wanted, positions, known.clone()));
        (wanted.reached, wanted.unreachable) = (None, None);
        assert_eq!(checked(&book, 1), (wanted, positions, known));
    }

    #[test]
    fn a_move_to_a_position_that_is_not_there_is_told() {
        let mut after = Position::default();
        let entry = sample(None).look_up(&after).unwrap().unwrap();
        let san = after.play(entry.moves[0].m).unwrap();
        let board = CanonicalBoard::of(&after).unwrap();
        let (_, _, told) = checked(&sample(Some(board.key())), u32::MAX);
        let what = format!("the position after {san} is not in the book");
        assert!(told.contains(&what), "{told:?}");
    }
}
