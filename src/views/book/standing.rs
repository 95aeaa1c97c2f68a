//! Where a line has come to, and where it can go from there.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use lru::LruCache;
use shakmaty::{CastlingSide, Move, Role};

use super::lines::{Identity, Key, Origin, identity};
use crate::book::Book;
use crate::fs::Error;
use crate::game::{Position, San};

/// Ends of lines kept, at most: a few MB.
const MOST: usize = 2048;

/// The end of a line.
#[derive(Debug)]
pub(super) struct Standing {
    pub(super) start: Origin,
    pub(super) position: Position,
    /// How many moves it took.
    pub(super) ply: usize,
    /// The positions since the last capture or move of a pawn, this one too,
    /// with the number of moves that each took.
    seen: Vec<(usize, Identity)>,
    /// The number of moves after which the same position was there before.
    pub(super) repeats: Option<usize>,
    steps: OnceLock<Vec<Step>>,
}

/// A move of the book.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) m: Move,
    san: San,
    /// Whether the position after it was there before.
    pub(super) repeats: bool,
}

impl Standing {
    /// A line without a move.
    pub(super) fn new(start: Origin, position: Position) -> Standing {
        Standing {
            seen: vec![(0, identity(&position))],
            start,
            position,
            ply: 0,
            repeats: None,
            steps: OnceLock::new(),
        }
    }

    /// The same with one more move; `None` if the rules forbid it.
    pub(super) fn after(&self, m: Move) -> Option<Standing> {
        let mut position = self.position.clone();
        position.play(m).ok()?;
        let ply = self.ply + 1;
        let (mut seen, repeats) = if is_for_good(m) {
            (Vec::new(), None)
        } else {
            (self.seen.clone(), self.find(&position))
        };
        seen.push((ply, identity(&position)));
        Some(Standing {
            start: self.start.clone(),
            position,
            ply,
            seen,
            repeats,
            steps: OnceLock::new(),
        })
    }

    /// When `position` was there before.
    fn find(&self, position: &Position) -> Option<usize> {
        // The last three cannot be it, the sides not having moved twice.
        if self.seen.len() < 4 {
            return None;
        }
        let wanted = identity(position);
        let mut seen = self.seen.iter();
        seen.find(|(_, identity)| *identity == wanted)
            .map(|(ply, _)| *ply)
    }

    /// The moves of the book, in its order.
    pub(super) fn steps(&self, book: &dyn Book) -> Result<&[Step], Error> {
        if let Some(steps) = self.steps.get() {
            return Ok(steps);
        }
        let entry = book.look_up(&self.position)?;
        let moves = entry.iter().flat_map(|entry| &entry.moves);
        let steps = moves.filter_map(|known| self.step(known.m)).collect();
        Ok(self.steps.get_or_init(|| steps))
    }

    fn step(&self, m: Move) -> Option<Step> {
        let mut position = self.position.clone();
        let san = position.play(m).ok()?;
        Some(Step {
            m,
            san,
            repeats: !is_for_good(m) && self.find(&position).is_some(),
        })
    }
}

impl Step {
    /// Its name in `tree/` and elsewhere: the notation without a mark.
    /// `name` is replaced.
    pub(super) fn write_san(&self, name: &mut String) {
        name.clear();
        // Writing to a string does not fail.
        let _ = write!(name, "{}", self.san);
        name.truncate(name.trim_end_matches(['+', '#']).len());
    }

    /// Its name in `uci/`. `name` is replaced.
    pub(super) fn write_uci(&self, name: &mut String) {
        name.clear();
        let _ = write!(name, "{}", self.m.to_uci(shakmaty::CastlingMode::Standard));
    }

    /// Whether somebody may mean it by `wanted`: its notation, with a mark or
    /// without, castling with zeros, or its name in UCI.
    pub(super) fn is_called(&self, wanted: &str) -> bool {
        let mut name = String::with_capacity(8);
        self.write_san(&mut name);
        let plain = wanted.strip_suffix(['+', '#']).unwrap_or(wanted);
        let castling = match plain {
            "0-0" => Some(CastlingSide::KingSide),
            "0-0-0" => Some(CastlingSide::QueenSide),
            _ => None,
        };
        if name == plain || castling.is_some() && self.m.castling_side() == castling {
            return true;
        }
        self.write_uci(&mut name);
        name == wanted
    }
}

/// Whether no position before it can come again.
fn is_for_good(m: Move) -> bool {
    m.is_capture() || m.role() == Role::Pawn || m.is_castle()
}

/// Ends of lines that were looked at last.
#[derive(Debug)]
pub(super) struct Standings(Mutex<LruCache<Key, Arc<Standing>>>);

impl Default for Standings {
    fn default() -> Standings {
        let most = NonZeroUsize::new(MOST).unwrap_or(NonZeroUsize::MIN);
        Standings(Mutex::new(LruCache::new(most)))
    }
}

impl Standings {
    fn lock(&self) -> MutexGuard<'_, LruCache<Key, Arc<Standing>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, line: Key) -> Option<Arc<Standing>> {
        self.lock().get(&line).cloned()
    }

    pub(super) fn put(&self, line: Key, standing: &Arc<Standing>) {
        self.lock().put(line, Arc::clone(standing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Standing {
        Standing::new(Origin::Tree, Position::default())
    }

    fn all_steps(standing: &Standing) -> Vec<Step> {
        use shakmaty::{CastlingMode, Chess, Position as _, Setup};
        let mut setup = Setup::empty();
        setup.board = standing.position.board().into();
        setup.turn = standing.position.turn();
        setup.castling_rights = standing.position.castling_rights();
        let chess: Chess = setup.position(CastlingMode::Standard).unwrap();
        let moves = chess.legal_moves();
        moves
            .into_iter()
            .map(|m| standing.step(m).unwrap())
            .collect()
    }

    fn go(standing: &Standing, name: &str) -> Standing {
        let steps = all_steps(standing);
        let step = steps.iter().find(|step| step.is_called(name));
        standing.after(step.expect(name).m).unwrap()
    }

    #[test]
    fn a_position_that_was_there_before_is_told_with_its_place() {
        let mut standing = start();
        for name in ["e4", "e5", "Nf3", "Nf6", "Ng1"] {
            standing = go(&standing, name);
            assert_eq!(standing.repeats, None);
        }
        let steps = all_steps(&standing);
        let repeating: Vec<_> = steps.iter().filter(|step| step.repeats).collect();
        assert_eq!(repeating.len(), 1);
        assert!(repeating[0].is_called("Ng8"));
        assert_eq!(go(&standing, "Ng8").repeats, Some(2));
        assert_eq!(go(&standing, "Nc6").repeats, None);
    }

    #[test]
    fn who_may_castle_no_more_has_another_position() {
        let mut standing = start();
        for name in ["e4", "e5", "Ke2", "Ke7", "Ke1", "Ke8"] {
            standing = go(&standing, name);
            assert_eq!(standing.repeats, None, "{name}");
        }
        for name in ["Ke2", "Ke7"] {
            standing = go(&standing, name);
        }
        assert_eq!(standing.repeats, Some(4));
    }

    #[test]
    fn a_move_is_called_by_its_notation_or_in_uci() {
        let mut standing = start();
        for name in ["e2e4", "e7e5", "Nf3", "g8f6", "Bc4+", "Bc5"] {
            standing = go(&standing, name);
        }
        let steps = all_steps(&standing);
        let castling = steps.iter().find(|step| step.m.is_castle()).unwrap();
        for name in ["O-O", "0-0", "e1g1", "O-O+"] {
            assert!(castling.is_called(name), "{name}");
        }
        for name in ["O-O-O", "0-0-0", "e1f1", "o-o", "", "O-O++"] {
            assert!(!castling.is_called(name), "{name}");
        }
        let takes = steps.iter().find(|step| step.is_called("Bxf7")).unwrap();
        let mut name = String::new();
        takes.write_san(&mut name);
        assert_eq!(name, "Bxf7");
        takes.write_uci(&mut name);
        assert_eq!(name, "c4f7");
    }
}
