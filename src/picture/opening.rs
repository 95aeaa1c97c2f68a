//! The figures of an opening, and the moves of its games.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::board::{Picture, squares_of};
use super::groups::{append_counted_years, count_words};
use super::tables::{GameEntry, TableScore};
use super::text;
use crate::game::Position;

/// What the games of an opening come to. It takes the same memory however many
/// there are.
#[derive(Debug, Default)]
pub struct OpeningTally {
    /// Games that cannot be read.
    pub unreadable: u64,
    score: TableScore,
    years: BTreeMap<u16, u64>,
}

/// The moves that the games of an opening have.
#[derive(Clone, Debug)]
pub struct OpeningTree {
    /// The position that most of them reach, and how they go on from there.
    pub branches: Vec<OpeningBranch>,
    /// The name of the opening, if its games have one in common.
    pub name: Option<&'static str>,
    /// How many games were looked at.
    pub looked_at: usize,
}

/// A line of the tree of an opening.
#[derive(Clone, Debug)]
pub struct OpeningBranch {
    /// The moves that lead to a position, in words.
    pub moves: String,
    /// The position.
    pub position: Position,
    /// The last move.
    pub last: Option<shakmaty::Move>,
    /// Games that have it, of those looked at.
    pub games: u32,
}

impl OpeningTally {
    /// Counts a game.
    pub fn add(&mut self, entry: &GameEntry) {
        self.score.add(entry.result, true);
        if entry.date.year > 0 {
            *self.years.entry(entry.date.year).or_default() += 1;
        }
    }

    pub(super) fn append(&self, out: &mut String) {
        TableScore::append_table(&[("White", self.score)], out);
        out.push_str("<div class=\"figures\">\n");
        append_counted_years(&self.years, out);
        out.push_str("</div>\n");
    }
}

impl OpeningTree {
    /// Appends boards, of `all` games.
    pub(super) fn append(&self, all: usize, out: &mut String) {
        if self.branches.is_empty() {
            return;
        }
        out.push_str("<h2>Moves</h2>\n");
        if self.looked_at < all {
            let _ = writeln!(
                out,
                "<p>Counted in {} of the {all} games, taken evenly.</p>",
                self.looked_at
            );
        }
        out.push_str("<div class=\"boards\">\n");
        for branch in &self.branches {
            branch.append(out);
        }
        out.push_str("</div>\n");
    }
}

impl OpeningBranch {
    fn append(&self, out: &mut String) {
        out.push_str("<figure>");
        Picture {
            last_move: self.last.and_then(squares_of),
            ..Picture::of(&self.position)
        }
        .append_to_page("diagram", out);
        out.push_str("<figcaption>");
        text::append(&self.moves, out);
        let games = count_words(u64::from(self.games));
        let _ = writeln!(out, "({games})</figcaption></figure>");
    }
}
