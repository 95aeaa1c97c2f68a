//! Whether a book's files are whole, its moves legal, and what they lead to
//! in the book.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::walk::{Limits, Walk};
use super::{Book, CanonicalBoard, Entry, Error, Scanned};
use crate::game::Defect;

/// What a check came to know besides defects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Positions that could be read.
    pub positions: u64,
    /// Legal moves.
    pub moves: u64,
    /// Positions that no moves from the start lead to; `None` if the book has
    /// more positions than were walked. This is no defect.
    pub unreachable: Option<u64>,
}

/// Passes a fact to `defect` for everything that is wrong with a book, and
/// tells `progress` of every record.
///
/// # Errors
///
/// As [`Book::find`].
pub fn check(
    book: &dyn Book,
    limits: Limits,
    progress: &dyn Fn(u64),
    defect: &mut dyn FnMut(Defect),
) -> Result<Checked, Error> {
    for known in book.defects() {
        defect(known);
    }
    book.check(defect)?;
    let reached = reached(book, limits)?;
    let mut checked = Checked {
        unreachable: reached.as_ref().map(|_| 0),
        ..Checked::default()
    };
    let mut failed = Ok(());
    // What cannot be read was said by the book's own check.
    let mut silent = |_| {};
    book.scan(
        &mut |scanned| {
            progress(1);
            checked.positions += 1;
            if let (Some(reached), Some(unreachable)) = (&reached, &mut checked.unreachable) {
                *unreachable += u64::from(!reached.contains(&scanned.board.key()));
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

/// The boards that moves lead to from the start; `None` if there are more
/// than the limit allows.
fn reached(book: &dyn Book, limits: Limits) -> Result<Option<HashSet<u128>>, Error> {
    let mut walk = Walk::new(book, &book.start(), limits)?;
    let mut keys = HashSet::new();
    while let Some(visit) = walk.next_visit()? {
        keys.extend(CanonicalBoard::of(&visit.position).map(|board| board.key()));
    }
    Ok((!walk.is_cut()).then_some(keys))
}

/// Holds the moves of a record against the rules and the book; gives how many
/// are legal.
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
    let entry = Entry::new(&position, board, record.clone());
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
