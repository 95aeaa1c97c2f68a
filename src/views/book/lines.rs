//! The lines that somebody looks at, each with its number.
//!
//! There are far more lines in a book than numbers could be computed for, so
//! the number of a line is the hash of its start and moves, and what it means
//! is remembered here: for as long as the kernel holds it, and while there is
//! room. Where the kernel holds more than that, those longest untouched are
//! forgotten all the same; who comes with such a number is told that it is
//! stale, whereupon the kernel looks the path up again.
//!
//! What is remembered does not depend on the book, and stays when that is
//! opened anew.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use shakmaty::{Move, Role};
use xxhash_rust::xxh3::Xxh3;

use super::numbers::{LINES, LineId};
use crate::fs::Error;
use crate::game::Position;

/// Lines remembered, at most: some 25 MB.
const MOST: usize = 1 << 18;

/// Numbers that a line can have: the first of them that no other has.
const PROBES: u64 = 4;

/// Where a line comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// `tree/`, the start of the book
    Tree,
    /// `uci/`, likewise
    Uci,
    /// A position in `fen/`, by its name there
    Fen(Box<str>),
    /// A position in `unreachable/`, by its name there
    Unreachable(Box<str>),
    /// One more move in another line
    Move(LineId, Move),
}

/// What is kept of a line is kept under its number and hash: a number that was
/// forgotten may become that of another line.
pub(super) type Key = (u64, LineId);

/// A line from its start.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) start: Origin,
    /// The moves, and the line that each of them makes.
    pub(super) moves: Vec<(Move, Key)>,
}

/// All lines that are remembered.
#[derive(Debug)]
pub(super) struct Lines {
    known: Mutex<LruCache<LineId, Origin>>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines::with_room(MOST)
    }
}

impl Lines {
    fn with_room(most: usize) -> Lines {
        // Memory is taken as it grows.
        let mut known = LruCache::unbounded();
        known.resize(NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN));
        Lines {
            known: Mutex::new(known),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<LineId, Origin>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a line, which is remembered from now on.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if there is no number for it; as good as never.
    pub(super) fn number(&self, origin: &Origin) -> Result<LineId, Error> {
        let hash = hash(origin);
        let wanted = (0..PROBES).map(|step| {
            let range = LINES - LineId::FIRST_HASH;
            LineId(LineId::FIRST_HASH + hash.wrapping_add(step) % range)
        });
        let wanted = match origin {
            Origin::Tree => return Ok(LineId::TREE),
            Origin::Uci => return Ok(LineId::UCI),
            _ => wanted,
        };
        let mut known = self.lock();
        let mut free = None;
        for id in wanted {
            match known.get(&id) {
                Some(other) if other == origin => return Ok(id),
                Some(_) => {}
                None => free = free.or(Some(id)),
            }
        }
        let id = free.ok_or(Error::Stale)?;
        known.put(id, origin.clone());
        Ok(id)
    }

    /// Where a line comes from.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if that is not remembered.
    pub(super) fn origin(&self, id: LineId) -> Result<Origin, Error> {
        origin(&mut self.lock(), id)
    }

    /// Under what something is kept of a line.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if the line is not remembered.
    pub(super) fn key(&self, id: LineId) -> Result<Key, Error> {
        Ok((hash(&self.origin(id)?), id))
    }

    /// The line from its start. It counts as touched, and so do all that it
    /// goes through, later than itself: what is forgotten first is at the end
    /// of a line.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if it is not remembered.
    pub(super) fn path(&self, id: LineId) -> Result<Path, Error> {
        let mut known = self.lock();
        let mut moves = Vec::new();
        let mut at = id;
        loop {
            let origin = origin(&mut known, at)?;
            match origin {
                Origin::Move(before, m) => {
                    moves.push((m, (hash(&origin), at)));
                    at = before;
                }
                start => {
                    moves.reverse();
                    return Ok(Path { start, moves });
                }
            }
        }
    }

    /// Nobody holds this line any more.
    pub(super) fn forget(&self, id: LineId) {
        self.lock().pop(&id);
    }

    /// How many are remembered.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.lock().len()
    }
}

fn origin(known: &mut LruCache<LineId, Origin>, id: LineId) -> Result<Origin, Error> {
    match id {
        LineId::TREE => Ok(Origin::Tree),
        LineId::UCI => Ok(Origin::Uci),
        id => known.get(&id).cloned().ok_or(Error::Stale),
    }
}

fn hash(origin: &Origin) -> u64 {
    let mut hasher = Xxh3::new();
    match origin {
        Origin::Tree => return LineId::TREE.0,
        Origin::Uci => return LineId::UCI.0,
        Origin::Fen(name) => hasher.update(name.as_bytes()),
        Origin::Unreachable(name) => {
            hasher.update(b"unreachable/");
            hasher.update(name.as_bytes());
        }
        Origin::Move(before, m) => {
            hasher.update(&before.0.to_le_bytes());
            let from = m.from().map_or(64, |square| square as u8);
            let promotion = m.promotion().map_or(0, |role: Role| role as u8);
            hasher.update(&[from, m.to() as u8, promotion]);
        }
    }
    hasher.digest()
}

/// What tells one position from all others, so far as a repetition goes:
/// where the pieces stand, who moves, who may castle, and what may be taken in
/// passing.
pub(super) type Identity = [u64; 10];

/// See [`Identity`].
pub(super) fn identity(position: &Position) -> Identity {
    let board = position.board();
    let mut identity = [0; 10];
    let pieces = Role::ALL
        .into_iter()
        .map(|role| board.by_role(role).0)
        .chain([
            board.by_color(shakmaty::Color::White).0,
            position.castling_rights().0,
            u64::from(position.turn().is_white()),
            position
                .en_passant_square()
                .filter(|_| position.can_take_en_passant())
                .map_or(0, |square| square as u64),
        ]);
    for (place, word) in identity.iter_mut().zip(pieces) {
        *place = word;
    }
    identity
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fen(number: usize) -> Origin {
        Origin::Fen(number.to_string().into())
    }

    #[test]
    fn a_line_has_one_number_and_the_number_that_line() {
        let lines = Lines::default();
        let m = Move::Normal {
            role: Role::Pawn,
            from: shakmaty::Square::E2,
            capture: None,
            to: shakmaty::Square::E4,
            promotion: None,
        };
        let first = Origin::Move(LineId::TREE, m);
        let other = Origin::Move(LineId::UCI, m);
        let id = lines.number(&first).unwrap();
        assert_eq!(lines.number(&first).unwrap(), id);
        assert_ne!(lines.number(&other).unwrap(), id);
        assert_eq!(lines.origin(id).unwrap(), first);
        assert_eq!(lines.number(&Origin::Tree).unwrap(), LineId::TREE);
        let path = lines.path(id).unwrap();
        let key = lines.key(id).unwrap();
        assert_eq!((path.start, path.moves), (Origin::Tree, vec![(m, key)]));
        lines.forget(id);
        assert!(matches!(lines.origin(id), Err(Error::Stale)));
        assert_eq!(lines.number(&first).unwrap(), id);
    }

    #[test]
    fn lines_that_want_one_number_get_several() {
        let lines = Lines::default();
        let origin = fen(1);
        let id = lines.number(&origin).unwrap();
        // Another line has its number.
        lines.lock().put(id, fen(2));
        let next = lines.number(&origin).unwrap();
        assert_eq!(next, LineId(id.0 + 1));
        // It keeps its number when the first one gets free again.
        lines.forget(id);
        assert_eq!(lines.number(&origin).unwrap(), next);
    }

    #[test]
    fn no_more_are_remembered_than_there_is_room_for() {
        let lines = Lines::with_room(100);
        let first = lines.number(&fen(0)).unwrap();
        let m = Move::Castle {
            king: shakmaty::Square::E1,
            rook: shakmaty::Square::H1,
        };
        let last = lines.number(&Origin::Move(first, m)).unwrap();
        for number in 1..1000 {
            lines.number(&fen(number)).unwrap();
            // Who looks at a line goes through all before it.
            lines.path(last).unwrap();
        }
        assert_eq!(lines.count(), 100);
        assert!(lines.origin(first).is_ok());
        let gone = lines.number(&fen(1000)).unwrap();
        lines.forget(gone);
        assert!(matches!(lines.path(gone), Err(Error::Stale)));
    }
}
