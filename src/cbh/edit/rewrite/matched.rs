//! Matches the plies of an edited game with those of the stored one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use shakmaty::Move;

use crate::cbh::edit::diff::compare;
use crate::game::{MoveTree, PlyId};

/// The stored ply of each ply of the edited game.
pub(super) struct Matched {
    /// By index of the edited ply. The start matches the start.
    read: Vec<Option<PlyId>>,
    /// Whether both trees have the same moves in the same order.
    pub(super) is_same: bool,
    /// Whether most moves of both stand behind the same moves in the other.
    pub(super) keeps_most: bool,
}

impl Matched {
    /// Matches plies that are reached by the same moves, of equal
    /// alternatives those that go on alike, else the first with the first;
    /// then, of the others, those that stand in the same order, as behind a
    /// move that was changed, added or taken out.
    pub(super) fn new(read: &MoveTree, edited: &MoveTree) -> Matched {
        let mut matched = Matched {
            read: vec![None; edited.len() + 1],
            is_same: read.len() == edited.len(),
            keeps_most: false,
        };
        let mut alternatives = Alternatives::new(read, edited);
        let mut open = vec![(PlyId::START, PlyId::START)];
        while let Some((old, new)) = open.pop() {
            if let Some(place) = matched.read.get_mut(new.index()) {
                *place = Some(old);
            }
            if let Some(next) = only_child((read, old), (edited, new)) {
                open.push(next);
                continue;
            }
            for (at, (child, was)) in alternatives.matched(old, new).into_iter().enumerate() {
                match was {
                    Some((place, was)) => {
                        matched.is_same &= place == at;
                        open.push((was, child));
                    }
                    None => matched.is_same = false,
                }
            }
        }
        let kept = matched.read.iter().flatten().count();
        matched.keeps_most = 2 * kept > read.len().max(edited.len());
        if !matched.is_same {
            matched.align(read, edited);
        }
        matched
    }

    /// Matches plies that are now reached by other moves.
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
        new.retain(|ply| self.stored_ply(*ply).is_none());
        let moves = |tree: &MoveTree, plies: &[PlyId]| -> Vec<Option<Move>> {
            plies.iter().map(|&ply| move_of(tree, ply)).collect()
        };
        for stretch in compare(&moves(read, &old), &moves(edited, &new)) {
            // Equally many moves were replaced: each was changed.
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

    pub(super) fn stored_ply(&self, edited: PlyId) -> Option<PlyId> {
        *self.read.get(edited.index())?
    }
}

/// The one move after a ply of each game, where neither has others and both are
/// the same: nearly everywhere.
fn only_child(
    (read, old): (&MoveTree, PlyId),
    (edited, new): (&MoveTree, PlyId),
) -> Option<(PlyId, PlyId)> {
    let only = |tree: &MoveTree, parent| {
        let child = tree.first_child(parent)?;
        tree.next_sibling(child).is_none().then_some(child)
    };
    let (was, child) = (only(read, old)?, only(edited, new)?);
    (move_of(read, was) == move_of(edited, child)).then_some((was, child))
}

fn children(tree: &MoveTree, parent: PlyId) -> impl Iterator<Item = PlyId> + '_ {
    std::iter::successors(tree.first_child(parent), |&child| tree.next_sibling(child))
}

fn move_of(tree: &MoveTree, ply: PlyId) -> Option<Move> {
    tree.ply(ply)?.mv
}

/// A ply of the edited game, and with its place among its alternatives the
/// stored one that it was.
type Pair = (PlyId, Option<(usize, PlyId)>);

/// Finds out which of the alternatives of a move each one was.
struct Alternatives<'t> {
    read: &'t MoveTree,
    edited: &'t MoveTree,
    /// Digests of the moves after each ply, of both games; made only where a
    /// game has equal alternatives, which is rare.
    shapes: Option<(Vec<u64>, Vec<u64>)>,
}

impl<'t> Alternatives<'t> {
    fn new(read: &'t MoveTree, edited: &'t MoveTree) -> Alternatives<'t> {
        Alternatives {
            read,
            edited,
            shapes: None,
        }
    }

    /// The plies after one of the edited game.
    fn matched(&mut self, old: PlyId, new: PlyId) -> Vec<Pair> {
        let olds: Vec<PlyId> = children(self.read, old).collect();
        let mut pairs: Vec<Pair> = children(self.edited, new)
            .map(|child| (child, None))
            .collect();
        let mut is_free = vec![true; olds.len()];
        let (read, edited) = (self.read, self.edited);
        let news = pairs.iter().map(|(child, _)| *child);
        if has_equals(read, olds.iter().copied()) || has_equals(edited, news) {
            let shapes = || (shapes_of(read), shapes_of(edited));
            let (old_shapes, new_shapes) = self.shapes.get_or_insert_with(shapes);
            let old_key = |ply: PlyId| (move_of(read, ply), old_shapes.get(ply.index()));
            let new_key = |ply: PlyId| (move_of(edited, ply), new_shapes.get(ply.index()));
            pair(&olds, &mut is_free, old_key, &mut pairs, new_key);
        }
        let old_key = |ply| move_of(read, ply);
        pair(&olds, &mut is_free, old_key, &mut pairs, |ply| {
            move_of(edited, ply)
        });
        pairs
    }
}

/// Pairs plies that are free with the stored ones of the same key, the first
/// with the first.
fn pair<K: Hash + Eq>(
    olds: &[PlyId],
    is_free: &mut [bool],
    old_key: impl Fn(PlyId) -> K,
    pairs: &mut [Pair],
    new_key: impl Fn(PlyId) -> K,
) {
    let mut by_key: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (place, (&ply, _)) in olds
        .iter()
        .zip(&*is_free)
        .enumerate()
        .filter(|(_, (_, free))| **free)
    {
        by_key.entry(old_key(ply)).or_default().push_back(place);
    }
    for (child, was) in pairs.iter_mut().filter(|(_, was)| was.is_none()) {
        let places = by_key.get_mut(&new_key(*child));
        let place = places.and_then(VecDeque::pop_front);
        *was = place.and_then(|place| Some((place, *olds.get(place)?)));
        if let Some(free) = place.and_then(|place| is_free.get_mut(place)) {
            *free = false;
        }
    }
}

fn has_equals(tree: &MoveTree, mut plies: impl Iterator<Item = PlyId>) -> bool {
    let mut moves = HashSet::new();
    plies.any(|ply| !moves.insert(move_of(tree, ply)))
}

/// A number for each ply, by its index, that is the same where the ply and all
/// that follows it are.
fn shapes_of(tree: &MoveTree) -> Vec<u64> {
    let mut shapes = vec![0; tree.len() + 1];
    // A ply was added after the one that it follows.
    for ply in (1..=tree.len()).rev().filter_map(|index| tree.place(index)) {
        let mut shape = DefaultHasher::new();
        move_of(tree, ply).hash(&mut shape);
        for child in children(tree, ply) {
            shapes.get(child.index()).hash(&mut shape);
        }
        if let Some(place) = shapes.get_mut(ply.index()) {
            *place = shape.finish();
        }
    }
    shapes
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
