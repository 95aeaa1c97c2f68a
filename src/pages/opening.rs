//! The moves that the games of an opening have.

use std::fmt::Write as _;

use shakmaty::Move;

use super::Maker;
use crate::cbh::{Decoded, GameId};
use crate::game::Position;
use crate::openings;
use crate::picture::opening::{OpeningBranch, OpeningTree};
use crate::picture::tables::code;

/// Games that are looked at, their plies, and branches that are shown.
const SAMPLE: usize = 400;
const DEEPEST: usize = 24;
const BRANCHES: usize = 5;

impl Maker<'_> {
    /// The moves that most games of an opening have, and how they go on: of a
    /// sample if there are many.
    pub(super) fn branches(&self, code: &str, games: &[GameId]) -> OpeningTree {
        let mut decoded = Decoded::default();
        let mut lines: Vec<Vec<Move>> = Vec::new();
        let step = games.len().div_ceil(SAMPLE).max(1);
        for id in games.iter().step_by(step) {
            if self.base.is_superseded() {
                break;
            }
            let read = self.base.read_game(*id, &mut decoded);
            if read.is_err() || decoded.game.start.is_set_up {
                continue;
            }
            let tree = &decoded.game.tree;
            let moves = tree.main_line().take(DEEPEST);
            let moves = moves.map_while(|id| tree.ply(id).and_then(|ply| ply.mv));
            lines.push(moves.collect());
        }
        let branches = branches_of(&lines);
        OpeningTree {
            name: name_of(code, &lines),
            branches,
            looked_at: games.len().div_ceil(step),
        }
    }
}

/// The moves that most games have in common.
fn stem_of(lines: &[Vec<Move>]) -> Vec<Move> {
    let mut stem: Vec<Move> = Vec::new();
    while let Some((m, count)) = followers(lines, &stem).first().copied() {
        let all = lines.iter().filter(|line| line.starts_with(&stem)).count();
        if count * 10 < all * 7 || all < 2 {
            break;
        }
        stem.push(m);
    }
    stem
}

/// The name of an opening: that of the first position with its code that most
/// games reach together.
fn name_of(wanted: &str, lines: &[Vec<Move>]) -> Option<&'static str> {
    let mut position = Position::default();
    for m in stem_of(lines) {
        position.play(m).ok()?;
        let found = openings::of_position(&position);
        if let Some(found) = found.filter(|found| code(found.eco) == wanted) {
            return Some(found.name);
        }
    }
    None
}

fn branches_of(lines: &[Vec<Move>]) -> Vec<OpeningBranch> {
    let stem = stem_of(lines);
    let stem_board = (!stem.is_empty())
        .then(|| branch_of(lines, &stem))
        .flatten();
    let mut branches: Vec<OpeningBranch> = stem_board.into_iter().collect();
    for (m, count) in followers(lines, &stem).into_iter().take(BRANCHES) {
        let mut line = stem.clone();
        line.push(m);
        // On to where they part again.
        while let Some((next, most)) = followers(lines, &line).first().copied() {
            if most * 10 < count * 8 {
                break;
            }
            line.push(next);
        }
        branches.extend(branch_of(lines, &line));
    }
    branches
}

/// The moves that lines have behind a stem, most first.
fn followers(lines: &[Vec<Move>], stem: &[Move]) -> Vec<(Move, usize)> {
    let mut counts: Vec<(Move, usize)> = Vec::new();
    for line in lines.iter().filter(|line| line.starts_with(stem)) {
        let Some(next) = line.get(stem.len()) else {
            continue;
        };
        match counts.iter_mut().find(|(m, _)| m == next) {
            Some((_, count)) => *count += 1,
            None => counts.push((*next, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The position after moves, which games have.
fn branch_of(lines: &[Vec<Move>], moves: &[Move]) -> Option<OpeningBranch> {
    let games = lines.iter().filter(|line| line.starts_with(moves)).count();
    let mut position = Position::default();
    let mut words = String::new();
    for (ply, m) in moves.iter().enumerate() {
        let san = position.play(*m).ok()?;
        if ply % 2 == 0 {
            let _ = write!(words, "{}. ", ply / 2 + 1);
        }
        let _ = write!(words, "{san} ");
    }
    Some(OpeningBranch {
        moves: words,
        position,
        last: moves.last().copied(),
        games: u32::try_from(games).ok()?,
    })
}
