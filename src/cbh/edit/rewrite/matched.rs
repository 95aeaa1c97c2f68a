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

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;
    use crate::cbh::edit::rewrite::has_same_moves;
    use crate::game::{Position, TreeBuilder};

    /// The tree of moves without captures; a variation stands behind the move that it
    /// replaces.
    fn tree(moves: &str) -> MoveTree {
        let mut tree = MoveTree::default();
        let mut line = TreeBuilder::new(&mut tree, &Position::default());
        let (mut before, mut open) = (line.branch(), Vec::new());
        for word in moves.split_whitespace() {
            match word {
                "(" => {
                    open.push((line.branch(), before.clone()));
                    line.resume(before.clone());
                }
                ")" => {
                    let (here, earlier) = open.pop().unwrap();
                    line.resume(here);
                    before = earlier;
                }
                squares => {
                    let (from, to) = squares.split_at(2);
                    let [from, to] = [from, to].map(|square| square.parse::<Square>().unwrap());
                    before = line.branch();
                    let role = line.position().board().role_at(from).unwrap();
                    line.play(Move::Normal {
                        role,
                        from,
                        capture: None,
                        to,
                        promotion: None,
                    })
                    .unwrap();
                }
            }
        }
        tree
    }

    #[test]
    fn each_ply_of_an_edited_game_is_matched_with_what_it_was() {
        let four = "e2e4 e7e5 g1f3 b8c6";
        let equals = "e2e4 ( e2e4 c7c5 ) e7e5";
        for (stored, edited, wanted, is_same, keeps_most) in [
            ("", "", "", true, true),
            (four, four, "1 2 3 4", true, true),
            (four, "e2e4 e7e5", "1 2", false, true),
            (four, "e2e4", "1", false, false),
            ("e2e4", "e2e4 e7e5", "1 -", false, true),
            ("e2e4", four, "1 - - -", false, false),
            // Moves that were changed, put in and taken out.
            (four, "d2d4 e7e5 g1f3 b8c6", "1 2 3 4", false, false),
            (four, "e2e4 e7e5 g1f3 g8f6", "1 2 3 4", false, true),
            (
                four,
                "e2e4 e7e5 h2h3 a7a6 g1f3 b8c6",
                "1 2 - - 3 4",
                false,
                false,
            ),
            (four, "e2e4 e7e5 a2a3", "1 2 -", false, true),
            ("a2a3 a7a6 e2e4 e7e5", "e2e4 e7e5", "3 4", false, false),
            // Alternatives in another order.
            (
                "e2e4 ( d2d4 d7d5 ) e7e5",
                "e2e4 ( d2d4 d7d5 ) e7e5",
                "1 2 3 4",
                true,
                true,
            ),
            (
                "d2d4 ( e2e4 e7e5 )",
                "e2e4 ( d2d4 ) e7e5",
                "2 1 3",
                false,
                true,
            ),
            ("e2e4 ( d2d4 )", "e2e4", "1", false, true),
            ("e2e4", "e2e4 ( d2d4 )", "1 -", false, true),
            (
                "e2e4 ( d2d4 d7d5 ) e7e5",
                "a2a3 ( h2h3 d7d5 ) e7e5",
                "1 2 3 4",
                false,
                false,
            ),
            (
                "e2e4 e7e5 ( c7c5 ( d7d5 ) )",
                "d2d4 e7e5 ( c7c5 ( d7d5 ) )",
                "1 2 3 4",
                false,
                false,
            ),
            // Equal alternatives are told by what follows, else by their order.
            (equals, equals, "1 2 3 4", true, true),
            (equals, "e2e4 ( e2e4 e7e5 ) c7c5", "2 1 4 3", false, true),
            (equals, "e2e4 c7c5", "2 3", false, true),
            ("e2e4 c7c5", equals, "- 1 2 -", false, true),
            ("e2e4 ( e2e4 )", "e2e4 ( e2e4 ) e7e5", "2 1 -", false, true),
        ] {
            let (read, edited_tree) = (tree(stored), tree(edited));
            let matched = Matched::new(&read, &edited_tree);
            let plies = (1..=edited_tree.len()).map(|index| {
                let was = matched.stored_ply(edited_tree.place(index).unwrap());
                was.map_or("-".to_owned(), |was| was.index().to_string())
            });
            let found = plies.collect::<Vec<_>>().join(" ");
            assert_eq!(found, wanted, "{stored} | {edited}");
            let found = (matched.is_same, matched.keeps_most);
            assert_eq!(found, (is_same, keeps_most), "{stored} | {edited}");
            assert_eq!(has_same_moves(&read, &edited_tree), is_same);
            assert_eq!(matched.stored_ply(PlyId::START), Some(PlyId::START));
        }
    }
}
