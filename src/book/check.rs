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
    let Scanned {
        board,
        record,
        file,
        offset,
    } = scanned;
    let mut say = |what| defect(Defect { file, offset, what });
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
