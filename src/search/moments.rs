//! Whether something is so at some moment of a game.

use super::board::{Bounds, Moment, Place};
use super::term::Wanted;
use super::walk::{Onward, walk};
use crate::game::{Game, PositionKey};

/// A term about moments, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    wanted: Vec<Sought>,
    is_not: bool,
}

/// What is wanted, with what is quick to ask.
#[derive(Clone, Debug)]
enum Sought {
    Position {
        moment: Moment,
        bounds: Bounds,
        key: PositionKey,
    },
    Other(Wanted),
}

impl Probe {
    /// A probe for any of what is wanted, or for none of it.
    pub(super) fn new(wanted: &[Wanted], is_not: bool) -> Probe {
        let sought = wanted.iter().map(|wanted| match wanted {
            Wanted::Position(position) => {
                let moment = Moment::of(position);
                Sought::Position {
                    bounds: Bounds::of([&moment]),
                    moment,
                    key: position.key(),
                }
            }
            other => Sought::Other(other.clone()),
        });
        Probe {
            wanted: sought.collect(),
            is_not,
        }
    }
}

impl Sought {
    fn is_here(&self, place: &mut Place) -> bool {
        match self {
            Sought::Position { moment, key, .. } => {
                place.moment == *moment && place.key() == Some(*key)
            }
            Sought::Other(Wanted::Squares(squares)) => squares.are_so(&place.moment),
            Sought::Other(Wanted::Material(material)) => material.is_so(&place.moment),
            Sought::Other(Wanted::Position(_)) => false,
        }
    }

    /// Whether it cannot come any more on this line, with so many plies left.
    fn is_past(&self, moment: &Moment, plies: usize) -> bool {
        match self {
            Sought::Position { bounds, .. } => bounds.are_past(moment, plies),
            Sought::Other(Wanted::Squares(squares)) => squares.are_past(moment),
            Sought::Other(Wanted::Material(material)) => material.is_past(moment, plies),
            Sought::Other(Wanted::Position(_)) => true,
        }
    }
}

/// Whether a game fits all probes.
pub(super) fn all_fit(probes: &[Probe], game: &Game, in_variations: bool) -> bool {
    if probes.is_empty() {
        return true;
    }
    let mut open: Vec<&Probe> = probes.iter().collect();
    let mut is_refuted = false;
    walk(game, in_variations, |place, _, left| {
        let mut is_alive = false;
        open.retain(|probe| {
            if probe.wanted.iter().any(|sought| sought.is_here(place)) {
                is_refuted |= probe.is_not;
                return false;
            }
            let is_past = probe
                .wanted
                .iter()
                .all(|sought| sought.is_past(&place.moment, left));
            is_alive |= !is_past;
            // Without variations there is no other line on which it could be.
            is_refuted |= is_past && !in_variations && !probe.is_not;
            true
        });
        match (is_refuted || open.is_empty(), is_alive) {
            (true, _) => Onward::End,
            (false, true) => Onward::Go,
            (false, false) => Onward::NextLine,
        }
    });
    !is_refuted && open.iter().all(|probe| probe.is_not)
}
