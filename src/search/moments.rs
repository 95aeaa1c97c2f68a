//! Matching of terms about moments: positions, squares and material.

use shakmaty::Bitboard;

use super::board::{Bounds, Moment};
use super::source::GamesReader;
use super::term::{Material, Squares, Wanted};
use super::walk::{Continue, walk};
use crate::game::{Game, Moments, MoveEffect, Placement, PositionKey};

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
    Squares(Squares),
    Material(Material),
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
            Wanted::Squares(squares) => Condition::Squares(*squares),
            Wanted::Material(material) => Condition::Material(*material),
        });
        Probe {
            wanted: sought.collect(),
            is_not,
        }
    }
}

impl Condition {
    /// Returns whether the pieces allow the condition to be met.
    fn may_be_here(&self, there: &Placement) -> bool {
        match self {
            Condition::Position { placement, .. } => there == placement,
            Condition::Squares(squares) => squares.are_so(there),
            Condition::Material(material) => material.is_so(there),
        }
    }

    /// The moves after which the condition may be met, or turn out to be out of
    /// reach.
    fn moments(&self) -> Moments {
        match self {
            Condition::Position { .. } => Moments::ALL,
            Condition::Squares(squares) => Moments {
                least: None,
                squares: squares.all(),
                most_pieces: u8::MAX,
            },
            Condition::Material(material) => Moments {
                least: Some(MoveEffect::Material),
                squares: Bitboard::EMPTY,
                most_pieces: material.most_pieces(),
            },
        }
    }

    fn is_here(&self, moment: &mut Moment) -> bool {
        self.may_be_here(&moment.placement)
            && match self {
                Condition::Position { key, .. } => moment.key() == *key,
                Condition::Squares(_) | Condition::Material(_) => true,
            }
    }

    /// Returns whether the condition cannot be met any more on this line, of
    /// which so many plies are left.
    fn is_past(&self, placement: &Placement, plies: usize) -> bool {
        match self {
            Condition::Position { bounds, .. } => bounds.are_past(placement, plies),
            Condition::Squares(squares) => squares.are_past(placement),
            Condition::Material(material) => material.is_past(placement, plies),
        }
    }
}

impl Probe {
    fn may_be_here(&self, there: &Placement) -> bool {
        self.wanted.iter().any(|sought| sought.may_be_here(there))
    }

    fn is_past(&self, placement: &Placement, plies: usize) -> bool {
        let mut wanted = self.wanted.iter();
        wanted.all(|sought| sought.is_past(placement, plies))
    }
}

/// Returns whether a glance at the main line of a game shows that it does not
/// match all probes.
pub(super) fn glance_refutes(probes: &[Probe], number: u32, reader: &mut dyn GamesReader) -> bool {
    // What is shown of a damaged game may be too much, so it does not refute that
    // something is nowhere.
    let mut open: Vec<&Probe> = probes.iter().filter(|probe| !probe.is_not).collect();
    if open.is_empty() {
        return false;
    }
    let conditions = open.iter().flat_map(|probe| &probe.wanted);
    let Some(moments) = conditions.map(Condition::moments).reduce(Moments::or) else {
        return false;
    };
    let is_seen = reader.glance(number, moments, &mut |shown| {
        let may_match = |probe: &&Probe| probe.may_be_here(shown.placement);
        if open.iter().any(may_match) {
            open.retain(|probe| !may_match(probe));
        }
        // A piece that only moves can come back.
        let is_past = |probe: &&Probe| probe.is_past(shown.placement, shown.max_plies_left);
        let brings_no_end = shown.effect == MoveEffect::Squares || !open.iter().any(is_past);
        !open.is_empty() && brings_no_end
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
            let is_past = probe.is_past(&moment.placement, left);
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
