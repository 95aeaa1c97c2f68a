//! The moments of a game, one after the other.

use std::collections::VecDeque;

use super::board::{Moment, Place};
use crate::game::{Game, PlyId, Position};

/// The first ply after which a game reaches a position; `None` if it does not.
pub fn first_ply_at(game: &Game, position: &Position, in_variations: bool) -> Option<PlyId> {
    let (key, board) = (position.key(), Moment::of(position));
    let mut found = None;
    walk(game, in_variations, |place, at, _| {
        if place.moment == board && place.key() == Some(key) {
            found = Some(at);
            return Onward::End;
        }
        Onward::Go
    });
    found
}

/// How a walk goes on from a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onward {
    /// To the next one.
    Go,
    /// Nothing that follows on this line counts.
    NextLine,
    /// Nothing that follows counts.
    End,
}

/// Gives each moment of the main line, and then, if asked for, those of the
/// variations: line by line, each where it leaves another one. With the ply
/// that led there, and the number of plies of the line that follow, which is
/// not known in variations.
pub(super) fn walk(
    game: &Game,
    in_variations: bool,
    mut visit: impl FnMut(&mut Place, PlyId, usize) -> Onward,
) {
    let tree = &game.tree;
    let mut place = Place::start(&game.start.position);
    let mut left = tree.main_line_len();
    // First plies of variations, each with the place before it.
    let mut lines: VecDeque<(PlyId, Place)> = VecDeque::new();
    let mut at = PlyId::START;
    loop {
        let onward = visit(
            &mut place,
            at,
            if in_variations { usize::MAX } else { left },
        );
        if onward == Onward::End {
            return;
        }
        let next = tree.first_child(at).filter(|_| onward == Onward::Go);
        if let Some(next) = next {
            if in_variations {
                let mut other = tree.next_sibling(next);
                while let Some(first) = other {
                    // Each copy is short: what was played is played once.
                    place.position();
                    lines.push_back((first, place.clone()));
                    other = tree.next_sibling(first);
                }
            }
            place.play(tree.ply(next).and_then(|ply| ply.mv));
            at = next;
            left = left.saturating_sub(1);
            continue;
        }
        let Some((first, before)) = lines.pop_front() else {
            return;
        };
        place = before;
        place.play(tree.ply(first).and_then(|ply| ply.mv));
        at = first;
    }
}
