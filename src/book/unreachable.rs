//! Positions of the book that no line from its start reaches: what is left of
//! lines whose first moves were deleted, and of set-up positions.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::walk::BoardKey;
use super::{Book, BookEntry, CanonicalBoard, Error};
use crate::game::Position;

/// The positions, in the order of their names.
#[derive(Debug)]
pub struct Unreachable {
    /// None, if the book has more positions than are looked at.
    positions: Option<Vec<(u128, CanonicalBoard)>>,
}

impl Unreachable {
    /// Those of a book that has none.
    pub fn none() -> Unreachable {
        Unreachable {
            positions: Some(Vec::new()),
        }
    }

    /// Walks the whole book, if it has no more than `limit` positions.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn find(book: &dyn Book, limit: u32) -> Result<Unreachable, Error> {
        let Some(reached) = reached(book, limit)? else {
            return Ok(Unreachable { positions: None });
        };
        let mut positions = Vec::new();
        let mut seen = 0_u32;
        let mut visit = |board: &CanonicalBoard| {
            seen += 1;
            if !reached.has(board) {
                positions.push((board.key(), *board));
            }
            if seen > limit {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        // What is wrong with the book is told elsewhere.
        book.scan(&mut |scanned| visit(scanned.board), &mut |_| {})?;
        positions.sort_by_key(|(key, _)| *key);
        positions.dedup_by_key(|(key, _)| *key);
        let is_whole = seen <= limit;
        Ok(Unreachable {
            positions: is_whole.then_some(positions),
        })
    }

    /// Their names, and the positions; without the first ones.
    pub fn links(&self, skipped: usize) -> impl Iterator<Item = (String, Position)> {
        let positions = self.positions.as_deref().unwrap_or_default();
        let positions = positions.get(skipped..).unwrap_or_default().iter();
        positions.map(|(key, board)| (name_of(*key), board.to_position()))
    }

    /// The one of this name.
    pub fn position(&self, name: &str) -> Option<Position> {
        let positions = self.positions.as_ref()?;
        let key = u128::from_str_radix(name, 16).ok()?;
        let place = positions.binary_search_by_key(&key, |(key, _)| *key);
        let (_, board) = positions.get(place.ok()?)?;
        // Each has one name only.
        (name_of(key) == name).then(|| board.to_position())
    }
}

/// Positions that moves from the start reach.
#[derive(Debug, Default)]
pub(super) struct FromStart {
    /// The keys of positions as they are stored: a board and its mirror images are
    /// one.
    stored: HashSet<u128>,
    boards: HashSet<BoardKey>,
}

impl FromStart {
    /// Whether a stored position is reached.
    pub(super) fn has(&self, board: &CanonicalBoard) -> bool {
        self.stored.contains(&board.key())
    }

    /// How many boards are reached.
    pub(super) fn boards(&self) -> u64 {
        self.boards.len() as u64
    }
}

/// All that moves from the start reach; `None` if that is more than `limit`
/// boards.
pub(super) fn reached(book: &dyn Book, limit: u32) -> Result<Option<FromStart>, Error> {
    let mut reached = FromStart::default();
    let mut open = vec![book.start()];
    while let Some(position) = open.pop() {
        let Some((board, record)) = book.record(&position)? else {
            continue;
        };
        if !reached.boards.insert(BoardKey::of_board(&board)) {
            continue;
        }
        reached.stored.insert(board.key());
        if reached.boards.len() > limit as usize {
            return Ok(None);
        }
        for known in BookEntry::new(&position, &board, record).moves {
            let mut next = position.clone();
            if next.play(known.m).is_ok() {
                open.push(next);
            }
        }
    }
    Ok(Some(reached))
}

/// The name of a position.
fn name_of(key: u128) -> String {
    format!("{key:032x}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::book::ctg::CtgBook;

    #[test]
    fn positions_that_no_line_reaches_are_listed_if_the_book_is_small_enough() {
        let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        let mut count = 0;
        let mut visit = |_: crate::book::Scanned<'_>| {
            count += 1;
            ControlFlow::Continue(())
        };
        book.scan(&mut visit, &mut |_| {}).unwrap();
        let all = Unreachable::find(&book, count).unwrap();
        let links: Vec<(String, Position)> = all.links(0).collect();
        assert_eq!(links.len(), 3);
        assert!(links.is_sorted_by_key(|(name, _)| name.clone()));
        for (name, position) in links {
            assert!(book.look_up(&position).unwrap().is_some(), "{name}");
            let named = all.position(&name).map(|known| format!("{known:?}"));
            assert_eq!(named, Some(format!("{position:?}")));
            assert!(all.position(&format!("0{name}")).is_none(), "{name}");
        }
        let cut = Unreachable::find(&book, count - 1).unwrap();
        assert_eq!(cut.links(0).count(), 0);
        assert_eq!(Unreachable::none().links(0).count(), 0);
    }
}
