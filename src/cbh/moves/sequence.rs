//! The order of plies in the move stream.

use crate::game::{MoveTree, PlyId};

/// The positions of the plies of a game in the move stream, by which annotations name
/// them.
///
/// Positions count from 0; the start, before the first ply, has −1. A tree
/// that was decoded has its ids in that order already, so ply `n` of it has
/// position `n - 1`, and so has a tree without variations. Another one that was read
/// from a text has not: there a variation comes before the rest of its main line.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Number of plies.
    plies: usize,
    /// By number of the ply, the start first; nothing if that is their order.
    positions: Vec<i32>,
}

impl Sequence {
    /// The position of the start.
    const START: i32 = -1;

    /// The sequence of a tree without variations, or that of another one, none of whose
    /// plies is placed yet.
    pub(super) fn of(tree: &MoveTree) -> Sequence {
        let placed = match tree.only_line() {
            Some(_) => 0,
            None => tree.len() + 1,
        };
        Sequence {
            plies: 0,
            positions: vec![Sequence::START; placed],
        }
    }

    /// Places a ply after those that are placed.
    #[inline]
    pub(super) fn push(&mut self, ply: PlyId) {
        if let Some(place) = self.positions.get_mut(ply.index()) {
            *place = position_of(self.plies);
        }
        self.plies += 1;
    }

    /// The position of a ply; `None` for an id of another tree.
    pub fn position(&self, ply: PlyId) -> Option<i32> {
        if !self.positions.is_empty() {
            return self.positions.get(ply.index()).copied();
        }
        match ply.index() {
            0 => Some(Sequence::START),
            index => (index <= self.plies).then(|| position_of(index - 1)),
        }
    }
}

/// The position of a ply that so many others come before.
fn position_of(before: usize) -> i32 {
    // A blob has at most 2^24 bytes, and every ply takes at least one.
    i32::try_from(before).unwrap_or(i32::MAX)
}
