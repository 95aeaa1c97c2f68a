//! Iteration over the moments of a game.

use std::collections::VecDeque;

use super::board::Moment;
use crate::game::{Game, Placement, PlyId, Position};

/// The first ply after which a game reaches a position; `None` if it does not.
pub fn first_ply_at(game: &Game, position: &Position, in_variations: bool) -> Option<PlyId> {
    let (key, board) = (position.key(), Placement::of(position));
    let mut found = None;
    walk(game, in_variations, |moment, at, _| {
        if moment.placement == board && moment.key() == key {
            found = Some(at);
            return Continue::End;
        }
        Continue::Go
    });
    found
}

/// How a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continue {
    /// With the next moment.
    Go,
    /// With the next line; the rest of this line is skipped.
    NextLine,
    /// Not at all.
    End,
}

/// Visits each moment of the main line, and if requested of the variations,
/// line by line. `visit` is given the moment, the ply that led there, and the
/// number of plies left on the line, which is unknown if there are variations.
pub(super) fn walk(
    game: &Game,
    in_variations: bool,
    mut visit: impl FnMut(&mut Moment, PlyId, usize) -> Continue,
) {
    let tree = &game.tree;
    let mut moment = Moment::start(&game.start.position);
    let mut left = tree.main_line_len();
    // First plies of variations, with the moment before each.
    let mut lines: VecDeque<(PlyId, Moment)> = VecDeque::new();
    let mut at = PlyId::START;
    loop {
        let onward = visit(
            &mut moment,
            at,
            if in_variations { usize::MAX } else { left },
        );
        if onward == Continue::End {
            return;
        }
        let next = tree.first_child(at).filter(|_| onward == Continue::Go);
        if let Some(next) = next {
            if in_variations {
                let mut other = tree.next_sibling(next);
                while let Some(first) = other {
                    // Play the pending moves once, before copying.
                    moment.position();
                    lines.push_back((first, moment.clone()));
                    other = tree.next_sibling(first);
                }
            }
            moment.play(tree.ply(next).and_then(|ply| ply.mv));
            at = next;
            left = left.saturating_sub(1);
            continue;
        }
        let Some((first, before)) = lines.pop_front() else {
            return;
        };
        moment = before;
        moment.play(tree.ply(first).and_then(|ply| ply.mv));
        at = first;
    }
}
