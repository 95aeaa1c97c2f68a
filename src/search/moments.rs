//! Matching of terms about moments: positions, squares and material.

use super::board::{Bounds, Moment};
use super::source::Reader;
use super::term::Wanted;
use super::walk::{Continue, walk};
use crate::game::{Game, Glimpse, Placement, PositionKey};

/// A term about moments, prepared.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    wanted: Vec<Condition>,
    is_not: bool,
}

/// A condition, with precomputed values for quick tests.
#[derive(Clone, Debug)]
enum Condition {
    Position {
        placement: Placement,
        bounds: Bounds,
        key: PositionKey,
    },
    Other(Wanted),
}

impl Probe {
    /// A probe that matches if any of the conditions is met, or, with `is_not`,
    /// none.
    pub(super) fn new(wanted: &[Wanted], is_not: bool) -> Probe {
        let sought = wanted.iter().map(|wanted| match wanted {
            Wanted::Position(position) => {
                let placement = Placement::of(position);
                Condition::Position {
                    bounds: Bounds::of([&placement]),
                    placement,
                    key: position.key(),
                }
            }
            other => Condition::Other(other.clone()),
        });
        Probe {
            wanted: sought.collect(),
            is_not,
        }
    }
}

impl Condition {
    fn is_here(&self, moment: &mut Moment) -> bool {
        match self {
            Condition::Position { placement, key, .. } => {
                moment.placement == *placement && moment.key() == *key
            }
            Condition::Other(Wanted::Squares(squares)) => squares.are_so(&moment.placement),
            Condition::Other(Wanted::Material(material)) => material.is_so(&moment.placement),
            Condition::Other(Wanted::Position(_)) => false,
        }
    }

    /// Returns whether the condition cannot be met any more on this line, of
    /// which so many plies are left.
    fn is_past(&self, placement: &Placement, plies: usize) -> bool {
        match self {
            Condition::Position { bounds, .. } => bounds.are_past(placement, plies),
            Condition::Other(Wanted::Squares(squares)) => squares.are_past(placement),
            Condition::Other(Wanted::Material(material)) => material.is_past(placement, plies),
            Condition::Other(Wanted::Position(_)) => true,
        }
    }
}

impl Probe {
    /// Returns whether a condition may be met at a moment.
    fn may_be_here(&self, shown: Glimpse<'_>) -> bool {
        self.wanted.iter().any(|sought| match sought {
            Condition::Position { placement, .. } => shown.placement == placement,
            Condition::Other(Wanted::Squares(squares)) => squares.are_so(shown.placement),
            // Other moves leave the material as it is.
            Condition::Other(Wanted::Material(material)) => {
                shown.is_irreversible && material.is_so(shown.placement)
            }
            Condition::Other(Wanted::Position(_)) => true,
        })
    }

    /// Returns whether no condition can be met from a moment on.
    fn is_past(&self, shown: Glimpse<'_>) -> bool {
        let mut wanted = self.wanted.iter();
        wanted.all(|sought| sought.is_past(shown.placement, shown.most_left))
    }
}

/// Returns whether a glance at the main line of a game shows that it does not
/// match all probes.
pub(super) fn glance_refutes(probes: &[Probe], number: u32, reader: &mut dyn Reader) -> bool {
    // What is shown of a damaged game may be too much, so it does not refute that
    // something is nowhere.
    let mut open: Vec<&Probe> = probes.iter().filter(|probe| !probe.is_not).collect();
    if open.is_empty() {
        return false;
    }
    let is_seen = reader.glance(number, &mut |shown| {
        open.retain(|probe| !probe.may_be_here(shown));
        // Only such moves change what can still come.
        let is_past = shown.is_irreversible && open.iter().any(|probe| probe.is_past(shown));
        !open.is_empty() && !is_past
    });
    is_seen && !open.is_empty()
}

/// Returns whether a game matches all probes.
pub(super) fn all_fit(probes: &[Probe], game: &Game, in_variations: bool) -> bool {
    if probes.is_empty() {
        return true;
    }
    let mut open: Vec<&Probe> = probes.iter().collect();
    let mut is_refuted = false;
    walk(game, in_variations, |moment, _, left| {
        let mut is_alive = false;
        open.retain(|probe| {
            if probe.wanted.iter().any(|sought| sought.is_here(moment)) {
                is_refuted |= probe.is_not;
                return false;
            }
            let is_past = probe
                .wanted
                .iter()
                .all(|sought| sought.is_past(&moment.placement, left));
            is_alive |= !is_past;
            // Without variations, there is no other line where it could be met.
            is_refuted |= is_past && !in_variations && !probe.is_not;
            true
        });
        match (is_refuted || open.is_empty(), is_alive) {
            (true, _) => Continue::End,
            (false, true) => Continue::Go,
            (false, false) => Continue::NextLine,
        }
    });
    !is_refuted && open.iter().all(|probe| probe.is_not)
}
