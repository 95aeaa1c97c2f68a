//! All positions of a book that moves lead to from a start, each once.
//!
//! First come the positions of the main line, the move with the most games
//! each time, then the others in the order in which moves lead to them. The
//! way by which a position is reached first is *the* way to it; every other
//! is a transposition. There is no recursion, and what is remembered of a
//! position takes less than 100 bytes.

use std::collections::hash_map::Entry as Place;
use std::collections::{HashMap, VecDeque};

use shakmaty::Move;

use super::choice::{Choice, choices};
use super::{Book, CanonicalBoard, Entry, Error};
use crate::game::Position;

/// How many positions are walked unless something else is asked for: 200 MB
/// of memory at most.
pub const DEFAULT_POSITIONS: u32 = 2_000_000;

/// How far a walk goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many positions.
    pub positions: u32,
    /// So many plies from the start.
    pub plies: u32,
}

impl Limits {
    /// So many positions, however far away.
    pub fn positions(positions: u32) -> Limits {
        Limits {
            positions,
            plies: u32::MAX,
        }
    }
}

/// The position of a real board, colours and files as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u128);

impl Key {
    fn of(position: &Position) -> Option<Key> {
        let board = CanonicalBoard::of(position)?;
        let turned = u128::from(board.is_black_to_move()) << 1 | u128::from(board.is_mirrored());
        // Two of 128 bits tell how the board was turned.
        Some(Key(board.key() << 2 | turned))
    }
}

/// The number of a position in the order in which a walk came to know it.
pub type Number = u32;

/// How a position was reached first.
#[derive(Clone, Copy, Debug)]
struct Way {
    from: Number,
    /// `None` for the start.
    m: Option<Move>,
    ply: u32,
}

/// The positions that a walk has come to know.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    numbers: HashMap<Key, Number>,
    ways: Vec<Way>,
}

impl Reached {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ways.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// The number of a position; `None` if the walk did not come there.
    pub fn number(&self, position: &Position) -> Option<Number> {
        self.numbers.get(&Key::of(position)?).copied()
    }

    /// Whether the way to a position goes by this move from that one.
    pub fn is_the_way(&self, from: Number, m: Move, to: Number) -> bool {
        let way = self.ways.get(to as usize);
        way.is_some_and(|way| way.m == Some(m) && way.from == from)
    }

    /// Plies from the start on the way to a position.
    pub fn ply(&self, to: Number) -> u32 {
        self.ways.get(to as usize).map_or(0, |way| way.ply)
    }

    /// The way to a position from the start.
    pub fn line(&self, to: Number) -> Vec<Move> {
        let mut moves = Vec::new();
        let mut at = to;
        while let Some(Way {
            from, m: Some(m), ..
        }) = self.ways.get(at as usize)
        {
            moves.push(*m);
            at = *from;
        }
        moves.reverse();
        moves
    }

    /// Adds a position, if it is not known.
    fn add(&mut self, position: &Position, way: Way) -> Option<Number> {
        let number = Number::try_from(self.ways.len()).ok()?;
        match self.numbers.entry(Key::of(position)?) {
            Place::Occupied(_) => None,
            Place::Vacant(place) => {
                place.insert(number);
                self.ways.push(way);
                Some(number)
            }
        }
    }
}

/// A position of a walk.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Its number.
    pub number: Number,
    /// Plies from the start on the first way to it.
    pub ply: u32,
    /// The position.
    pub position: Position,
    /// What the book has of it.
    pub entry: Entry,
    /// Its moves, most games first.
    pub choices: Vec<Choice>,
}

/// A walk through a book.
#[derive(Debug)]
pub struct Walk<'b> {
    book: &'b dyn Book,
    limits: Limits,
    reached: Reached,
    waiting: VecDeque<(Number, Position)>,
    is_cut: bool,
}

impl<'b> Walk<'b> {
    /// Begins at `start`; where that is not in the book, there is nothing.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn new(book: &'b dyn Book, start: &Position, limits: Limits) -> Result<Walk<'b>, Error> {
        let mut walk = Walk {
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
        let mut way = Way {
            from: 0,
            m: None,
            ply: 0,
        };
        while let Some(entry) = self.book.look_up(&position)? {
            let Some(number) = self.add(position.clone(), way) else {
                return Ok(());
            };
            let best = choices(self.book, &position, &entry)?.into_iter().next();
            let Some(best) = best else {
                return Ok(());
            };
            way = Way {
                from: number,
                m: Some(best.book_move.m),
                ply: way.ply + 1,
            };
            position = best.after;
        }
        Ok(())
    }

    fn add(&mut self, position: Position, way: Way) -> Option<Number> {
        if way.ply > self.limits.plies {
            return None;
        }
        if self.reached.len() >= self.limits.positions as usize {
            self.is_cut |= self.reached.number(&position).is_none();
            return None;
        }
        let number = self.reached.add(&position, way)?;
        self.waiting.push_back((number, position));
        Some(number)
    }

    /// The next position; `None` if that was all.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn next_visit(&mut self) -> Result<Option<Visit>, Error> {
        while let Some((number, position)) = self.waiting.pop_front() {
            // A book that changes meanwhile may have lost it.
            let Some(entry) = self.book.look_up(&position)? else {
                continue;
            };
            return self.visit(number, position, entry).map(Some);
        }
        Ok(None)
    }

    fn visit(&mut self, number: Number, position: Position, entry: Entry) -> Result<Visit, Error> {
        let choices = choices(self.book, &position, &entry)?;
        let ply = self.reached.ply(number);
        for choice in choices.iter().filter(|choice| choice.child.is_some()) {
            let way = Way {
                from: number,
                m: Some(choice.book_move.m),
                ply: ply.saturating_add(1),
            };
            self.add(choice.after.clone(), way);
        }
        Ok(Visit {
            number,
            ply,
            position,
            entry,
            choices,
        })
    }

    /// Walks to the end; all positions that were reached.
    ///
    /// # Errors
    ///
    /// As [`Book::find`].
    pub fn finish(mut self) -> Result<(Reached, bool), Error> {
        while self.next_visit()?.is_some() {}
        Ok((self.reached, self.is_cut))
    }

    /// The positions that were reached so far.
    pub fn reached(&self) -> &Reached {
        &self.reached
    }

    /// Whether there are more positions than the limit allows.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}
