//! Which ply of a stored game each ply of the edited one was.

use std::collections::{HashMap, VecDeque};

use shakmaty::Move;

use crate::cbh::edit::diff::compare;
use crate::game::{MoveTree, PlyId};

/// Which ply of the game that was read each ply of the edited one was.
pub(super) struct Matched {
    /// By index of the edited ply; the start is matched with the start.
    read: Vec<Option<PlyId>>,
    /// The same moves, in the same order everywhere.
    pub(super) is_same: bool,
}

impl Matched {
    /// Matches plies that are reached by the same moves, of equal
    /// alternatives the first with the first; then, of the others, those that
    /// stand in the same order, as behind a move that was changed, added or
    /// taken out.
    pub(super) fn new(read: &MoveTree, edited: &MoveTree) -> Matched {
        let mut matched = Matched {
            read: vec![None; edited.len() + 1],
            is_same: read.len() == edited.len(),
        };
        let mut open = vec![(PlyId::START, PlyId::START)];
        while let Some((old, new)) = open.pop() {
            if let Some(place) = matched.read.get_mut(new.index()) {
                *place = Some(old);
            }
            let mut left = children_by_move(read, old);
            for (at, child) in children(edited, new).enumerate() {
                let same_move = left.get_mut(&move_of(edited, child));
                match same_move.and_then(VecDeque::pop_front) {
                    Some((place, was)) => {
                        matched.is_same &= place == at;
                        open.push((was, child));
                    }
                    None => matched.is_same = false,
                }
            }
        }
        if !matched.is_same {
            matched.align(read, edited);
        }
        matched
    }

    /// Matches plies that are reached by other moves now.
    fn align(&mut self, read: &MoveTree, edited: &MoveTree) {
        let mut is_taken = vec![false; read.len() + 1];
        for ply in self.read.iter().flatten() {
            if let Some(taken) = is_taken.get_mut(ply.index()) {
                *taken = true;
            }
        }
        let mut old = in_stored_order(read);
        old.retain(|ply| is_taken.get(ply.index()) == Some(&false));
        let mut new = in_stored_order(edited);
        new.retain(|ply| self.read_of(*ply).is_none());
        let moves = |tree: &MoveTree, plies: &[PlyId]| -> Vec<Option<Move>> {
            plies.iter().map(|&ply| move_of(tree, ply)).collect()
        };
        for stretch in compare(&moves(read, &old), &moves(edited, &new)) {
            // As many moves instead of others: each was changed.
            if stretch.old.len() == stretch.new.len() {
                let old = old.get(stretch.old).unwrap_or_default();
                let new = new.get(stretch.new).unwrap_or_default();
                for (was, ply) in old.iter().zip(new) {
                    if let Some(place) = self.read.get_mut(ply.index()) {
                        *place = Some(*was);
                    }
                }
            }
        }
    }

    pub(super) fn read_of(&self, edited: PlyId) -> Option<PlyId> {
        *self.read.get(edited.index())?
    }
}

fn children(tree: &MoveTree, parent: PlyId) -> impl Iterator<Item = PlyId> + '_ {
    std::iter::successors(tree.first_child(parent), |&child| tree.next_sibling(child))
}

fn move_of(tree: &MoveTree, ply: PlyId) -> Option<Move> {
    tree.ply(ply)?.mv
}

/// The children of a ply, with their place among them, by their move.
fn children_by_move(
    tree: &MoveTree,
    parent: PlyId,
) -> HashMap<Option<Move>, VecDeque<(usize, PlyId)>> {
    let mut by_move: HashMap<_, VecDeque<_>> = HashMap::new();
    for (at, child) in children(tree, parent).enumerate() {
        by_move
            .entry(move_of(tree, child))
            .or_default()
            .push_back((at, child));
    }
    by_move
}

/// All plies: the main line to its end, then the alternatives, innermost
/// first.
fn in_stored_order(tree: &MoveTree) -> Vec<PlyId> {
    let mut order = Vec::with_capacity(tree.len());
    let mut open: Vec<PlyId> = tree.first_child(PlyId::START).into_iter().collect();
    while let Some(ply) = open.pop() {
        order.push(ply);
        open.extend(tree.next_sibling(ply));
        open.extend(tree.first_child(ply));
    }
    order
}
