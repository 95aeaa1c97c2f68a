//! The order of plies in the move stream.

use crate::game::PlyId;

/// The plies of a game in the order of the move stream, both ways:
/// annotations name a ply by its position there.
///
/// Positions count from 0; the start, before the first ply, has −1. A tree
/// that was decoded has its ids in that order already, so ply `n` of it has
/// position `n - 1`. One that was read from a text has not: there a variation
/// comes before the rest of its main line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// In order of the stream, the start first.
    plies: Vec<PlyId>,
    /// By number of the ply, the start first.
    positions: Vec<i32>,
}

impl Sequence {
    /// The position of the start.
    const START: i32 = -1;

    /// The sequence of a tree of `plies` plies, none of which is placed yet.
    pub(super) fn with_capacity(plies: usize) -> Sequence {
        let mut placed = Vec::with_capacity(plies + 1);
        placed.push(PlyId::START);
        Sequence {
            plies: placed,
            positions: vec![Sequence::START; plies + 1],
        }
    }

    /// Places a ply after those that are placed.
    pub(super) fn push(&mut self, ply: PlyId) {
        // A blob has at most 2^24 bytes, and every ply takes at least one.
        let position = i32::try_from(self.plies.len() - 1).unwrap_or(i32::MAX);
        self.plies.push(ply);
        if let Some(place) = self.positions.get_mut(ply.index()) {
            *place = position;
        }
    }

    /// The position of a ply; `None` for an id of another tree.
    pub fn position(&self, ply: PlyId) -> Option<i32> {
        self.positions.get(ply.index()).copied()
    }

    /// The ply at a position; `None` past the last one.
    pub fn ply(&self, position: i32) -> Option<PlyId> {
        let place = usize::try_from(position.checked_add(1)?).ok()?;
        self.plies.get(place).copied()
    }

    /// The plies in order of the stream, without the start.
    pub fn plies(&self) -> impl ExactSizeIterator<Item = PlyId> + '_ {
        self.plies.iter().skip(1).copied()
    }
}
