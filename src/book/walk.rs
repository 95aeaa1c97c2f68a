//! A walk over all positions of a book that moves from a start reach, each
//! once.
//!
//! The positions of the main line (the most played move of each position) come
//! first, then the others in breadth-first order. The first path to a position
//! is *the* path to it; every other is a transposition. There is no recursion,
//! and a position takes less than 100 bytes of memory.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, VecDeque};

use shakmaty::Move;

use super::choice::{Choice, choices};
use super::toward::Goal;
use super::{Book, BookEntry, BookLine, CanonicalBoard, Error};
use crate::game::Position;

/// Default maximum number of positions: at most 200 MB of memory.
pub const DEFAULT_POSITIONS: u32 = 2_000_000;

/// Limits of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of positions.
    pub positions: u32,
    /// Maximum number of plies from the start.
    pub plies: u32,
}

impl Limits {
    /// Limits the number of positions only.
    pub fn positions(positions: u32) -> Limits {
        Limits {
            positions,
            plies: u32::MAX,
        }
    }
}

/// The key of a real board, not normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BoardKey(u128);

impl BoardKey {
    fn of(position: &Position) -> Option<BoardKey> {
        CanonicalBoard::of(position).map(|board| BoardKey::of_board(&board))
    }

    pub(super) fn of_board(board: &CanonicalBoard) -> BoardKey {
        let turned = u128::from(board.is_black_to_move()) << 1 | u128::from(board.is_mirrored());
        // Two of the 128 bits record the normalization.
        BoardKey(board.key() << 2 | turned)
    }
}

/// The number of a position in the order of discovery.
pub type Number = u32;

/// The last step of the first path to a position.
#[derive(Clone, Copy, Debug)]
struct Predecessor {
    from: Number,
    /// The last move; `None` for the start.
    m: Option<Move>,
    ply: u32,
}

/// The positions that a walk has reached.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    numbers: HashMap<BoardKey, Number>,
    predecessors: Vec<Predecessor>,
}

impl Reached {
    /// Number of positions.
    pub fn len(&self) -> usize {
        self.predecessors.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.predecessors.is_empty()
    }

    /// Returns the number of a position; `None` if it was not reached.
    pub fn number(&self, position: &Position) -> Option<Number> {
        self.numbers.get(&BoardKey::of(position)?).copied()
    }

    /// Returns whether the first path to position `to` ends with move `m` in
    /// position `from`.
    pub fn is_first_path(&self, from: Number, m: Move, to: Number) -> bool {
        let predecessor = self.predecessors.get(to as usize);
        predecessor.is_some_and(|predecessor| predecessor.m == Some(m) && predecessor.from == from)
    }

    /// Number of plies of the first path to a position.
    pub fn ply(&self, to: Number) -> u32 {
        self.predecessors
            .get(to as usize)
            .map_or(0, |predecessor| predecessor.ply)
    }

    /// Counts, for each position, those whose first path leads through it,
    /// itself included.
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![1_u32; self.predecessors.len()];
        // A predecessor was discovered earlier.
        for (to, predecessor) in self.predecessors.iter().enumerate().skip(1).rev() {
            let size = sizes.get(to).copied().unwrap_or(0);
            if let Some(before) = sizes.get_mut(predecessor.from as usize) {
                *before = before.saturating_add(size);
            }
        }
        sizes
    }

    /// Returns the moves of the first path to a position.
    pub fn line(&self, to: Number) -> Vec<Move> {
        let mut moves = Vec::new();
        let mut at = to;
        while let Some(Predecessor {
            from, m: Some(m), ..
        }) = self.predecessors.get(at as usize)
        {
            moves.push(*m);
            at = *from;
        }
        moves.reverse();
        moves
    }

    /// Adds a position; `None` if it is known.
    fn add(&mut self, position: &Position, predecessor: Predecessor) -> Option<Number> {
        let number = Number::try_from(self.predecessors.len()).ok()?;
        match self.numbers.entry(BoardKey::of(position)?) {
            MapEntry::Occupied(_) => None,
            MapEntry::Vacant(place) => {
                place.insert(number);
                self.predecessors.push(predecessor);
                Some(number)
            }
        }
    }
}

/// A position visited by a walk.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Its number.
    pub number: Number,
    /// Number of plies of the first path to it.
    pub ply: u32,
    /// The position.
    pub position: Position,
    /// Its entry.
    pub entry: BookEntry,
    /// Its moves, sorted by games.
    pub choices: Vec<Choice>,
}

/// A walk through a book.
#[derive(Debug)]
pub struct BookWalk<'b> {
    book: &'b dyn Book,
    limits: Limits,
    reached: Reached,
    waiting: VecDeque<(Number, Position)>,
    is_cut: bool,
}

impl<'b> BookWalk<'b> {
    /// Begins a walk at `start`. It visits nothing if that is not in the book.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn new(
        book: &'b dyn Book,
        start: &Position,
        limits: Limits,
    ) -> Result<BookWalk<'b>, Error> {
        let mut walk = BookWalk {
            book,
            limits,
            reached: Reached::default(),
            waiting: VecDeque::new(),
            is_cut: false,
        };
        walk.take_main_line(start)?;
        Ok(walk)
    }

    fn take_main_line(&mut self, start: &Position) -> Result<(), Error> {
        let mut position = start.clone();
        let mut predecessor = Predecessor {
            from: 0,
            m: None,
            ply: 0,
        };
        while let Some(entry) = self.book.look_up(&position)? {
            let Some(number) = self.add(position.clone(), predecessor) else {
                return Ok(());
            };
            let best = choices(self.book, &position, &entry)?.into_iter().next();
            let Some(best) = best else {
                return Ok(());
            };
            predecessor = Predecessor {
                from: number,
                m: Some(best.book_move.m),
                ply: predecessor.ply + 1,
            };
            position = best.after;
        }
        Ok(())
    }

    fn add(&mut self, position: Position, predecessor: Predecessor) -> Option<Number> {
        if predecessor.ply > self.limits.plies {
            return None;
        }
        if self.reached.len() >= self.limits.positions as usize {
            self.is_cut |= self.reached.number(&position).is_none();
            return None;
        }
        let number = self.reached.add(&position, predecessor)?;
        self.waiting.push_back((number, position));
        Some(number)
    }

    /// Returns the next position; `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn next_visit(&mut self) -> Result<Option<Visit>, Error> {
        while let Some((number, position)) = self.waiting.pop_front() {
            // A book that changes meanwhile may have lost the position.
            let Some(entry) = self.book.look_up(&position)? else {
                continue;
            };
            return self.visit(number, position, entry).map(Some);
        }
        Ok(None)
    }

    fn visit(
        &mut self,
        number: Number,
        position: Position,
        entry: BookEntry,
    ) -> Result<Visit, Error> {
        let choices = choices(self.book, &position, &entry)?;
        let ply = self.reached.ply(number);
        for choice in choices.iter().filter(|choice| choice.child.is_some()) {
            let predecessor = Predecessor {
                from: number,
                m: Some(choice.book_move.m),
                ply: ply.saturating_add(1),
            };
            self.add(choice.after.clone(), predecessor);
        }
        Ok(Visit {
            number,
            ply,
            position,
            entry,
            choices,
        })
    }

    /// Walks to the end. Returns the positions reached, and whether the limit
    /// cut the walk.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn finish(mut self) -> Result<(Reached, bool), Error> {
        while self.next_visit()?.is_some() {}
        Ok((self.reached, self.is_cut))
    }

    /// The positions reached so far.
    pub fn reached(&self) -> &Reached {
        &self.reached
    }

    /// Returns whether there are more positions than the limit.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

/// The result of [`shortest_line`].
#[derive(Debug)]
pub enum LineSearch {
    /// The shortest line.
    Found(Box<BookLine>),
    /// There is none.
    Nowhere,
    /// There is none among the positions that were looked at.
    GivenUp,
}

impl LineSearch {
    /// The line, if there is one.
    pub fn found(self) -> Option<BookLine> {
        match self {
            LineSearch::Found(line) => Some(*line),
            LineSearch::Nowhere | LineSearch::GivenUp => None,
        }
    }
}

/// Returns the shortest line from the start of the book to a position: of
/// several, that of the more played first moves. It is given up once more than `most`
/// positions that may lead there were seen.
///
/// # Errors
///
/// As [`Book::find`].
pub fn shortest_line(book: &dyn Book, target: &Position, most: u32) -> Result<LineSearch, Error> {
    let target = Goal::new(target.clone());
    let mut reached = Reached::default();
    let mut waiting = VecDeque::new();
    let start = Predecessor {
        from: 0,
        m: None,
        ply: 0,
    };
    let mut steps = vec![(book.start(), start)];
    loop {
        for (position, predecessor) in steps {
            if let Some(number) = reached.add(&position, predecessor) {
                waiting.push_back((number, position));
            }
        }
        if let Some(found) = reached.number(target.position()) {
            let line = line_of(book, &reached.line(found));
            return Ok(line.map_or(LineSearch::Nowhere, |line| LineSearch::Found(line.into())));
        }
        let Some((from, position)) = waiting.pop_front() else {
            return Ok(LineSearch::Nowhere);
        };
        if reached.len() > most as usize {
            return Ok(LineSearch::GivenUp);
        }
        steps = steps_toward(book, &target, &position)?;
        let ply = reached.ply(from).saturating_add(1);
        for (_, predecessor) in &mut steps {
            (predecessor.from, predecessor.ply) = (from, ply);
        }
    }
}

/// The moves of a position that may lead to the target, most games first.
fn steps_toward(
    book: &dyn Book,
    target: &Goal,
    position: &Position,
) -> Result<Vec<(Position, Predecessor)>, Error> {
    let Some(entry) = book.look_up(position)? else {
        return Ok(Vec::new());
    };
    let choices = choices(book, position, &entry)?.into_iter();
    let choices = choices.filter(|choice| target.may_follow(&choice.after));
    let steps = choices.map(|choice| {
        let m = Some(choice.book_move.m);
        let predecessor = Predecessor { from: 0, m, ply: 0 };
        (choice.after, predecessor)
    });
    Ok(steps.collect())
}

/// A line from the start of the book.
fn line_of(book: &dyn Book, moves: &[Move]) -> Option<BookLine> {
    let mut line = BookLine::from_start_of(book);
    for m in moves {
        line.play(*m).ok()?;
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::book::ctg::CtgBook;

    fn sample() -> CtgBook {
        CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap()
    }

    #[test]
    fn a_walk_reaches_each_position_once_by_its_first_path() {
        let (book, start) = (sample(), Position::default());
        let mut walk = BookWalk::new(&book, &start, Limits::positions(1000)).unwrap();
        let mut visits = Vec::new();
        while let Some(visit) = walk.next_visit().unwrap() {
            visits.push(visit);
        }
        assert_eq!(walk.reached().len(), visits.len());
        let (reached, is_cut) = walk.finish().unwrap();
        assert!(!is_cut && !reached.is_empty());
        let mut sizes = vec![1; visits.len()];
        for visit in visits.iter().rev() {
            let number = visit.number;
            assert_eq!(reached.number(&visit.position), Some(number));
            let line = reached.line(number);
            assert_eq!(line.len(), visit.ply as usize);
            assert_eq!(reached.ply(number), visit.ply);
            let mut position = start.clone();
            let mut from = 0;
            for m in line {
                from = reached.number(&position).unwrap();
                position.play(m).unwrap();
            }
            assert_eq!(position.key(), visit.position.key());
            if let Some(last) = reached.line(number).last() {
                assert!(reached.is_first_path(from, *last, number));
                assert!(!reached.is_first_path(number, *last, number));
                sizes[from as usize] += sizes[number as usize];
            }
        }
        assert_eq!(reached.sizes(), sizes);
        assert_eq!(sizes[0] as usize, reached.len());
        // The main line comes first.
        let main = visits
            .iter()
            .zip(0..)
            .take_while(|(visit, ply)| visit.ply == *ply);
        assert_eq!(main.count(), 15);
    }

    #[test]
    fn the_shortest_line_to_a_position_is_found_among_so_many() {
        let book = sample();
        let mut walk = BookWalk::new(&book, &book.start(), Limits::positions(1000)).unwrap();
        while let Some(visit) = walk.next_visit().unwrap() {
            let line = |most| shortest_line(&book, &visit.position, most).unwrap().found();
            let found = line(1000).unwrap();
            assert_eq!(found.position().key(), visit.position.key());
            assert!(found.plies().len() <= visit.ply as usize);
            // The start is one, and what its moves lead to is looked at, too.
            assert_eq!(line(1).is_some(), found.plies().len() < 2);
        }
        let mut other = Position::default();
        other
            .play(shakmaty::Move::Normal {
                role: shakmaty::Role::Pawn,
                from: shakmaty::Square::H2,
                capture: None,
                to: shakmaty::Square::H3,
                promotion: None,
            })
            .unwrap();
        let found = shortest_line(&book, &other, 1000).unwrap();
        assert!(matches!(found, LineSearch::Nowhere), "{found:?}");
    }

    #[test]
    fn a_walk_is_cut_at_its_limits() {
        let (book, start) = (sample(), Position::default());
        let walked = |positions, plies| {
            let limits = Limits { positions, plies };
            let mut walk = BookWalk::new(&book, &start, limits).unwrap();
            while walk.next_visit().unwrap().is_some() {}
            let is_known = walk.is_cut();
            let (reached, is_cut) = walk.finish().unwrap();
            assert_eq!(is_known, is_cut);
            (reached.len(), is_cut)
        };
        let (all, _) = walked(1000, u32::MAX);
        let all_positions = u32::try_from(all).unwrap();
        assert_eq!(walked(all_positions, u32::MAX), (all, false));
        assert_eq!(walked(all_positions - 1, u32::MAX), (all - 1, true));
        assert_eq!(walked(1000, 0), (1, false));
        assert_eq!(walked(1000, 1), (6, false));
    }
}
