//! Cross tables where everyone met everyone, standings by round elsewhere.

use std::collections::{BTreeSet, HashMap};

use super::super::tables::{GameEntry, Kind, Site, points};
use super::score::{self, EventScore};
use super::{
    MOST_OF_CELL, append_heads, append_key, append_number, append_numbered_heads, append_rank,
    append_rest, append_sign, append_within, elo_words, is_round_robin, rounds,
};
use crate::game::EventKind;

/// Players of a cross table, and games of a round, at most.
const MOST_OF_CROSS_TABLE: usize = 32;
const MOST_OF_ROUND: usize = 8;

/// Appends a table of all players.
pub(super) fn append(
    site: &Site<'_>,
    kind: EventKind,
    entries: &[GameEntry],
    mut scores: Vec<EventScore>,
    room: usize,
    out: &mut String,
) {
    let pairs: BTreeSet<_> = entries
        .iter()
        .filter(|entry| entry.white != entry.black)
        .map(|entry| (entry.white.min(entry.black), entry.white.max(entry.black)))
        .collect();
    let all = scores.len();
    let is_cross = all <= MOST_OF_CROSS_TABLE && is_round_robin(pairs.len(), all, kind);
    if is_cross {
        score::sort(&mut scores, |one| one.berger);
    }
    let table = StandingsTable {
        site,
        are_rated: scores.iter().any(|one| one.elo > 0),
        scores: &scores,
    };
    if is_cross {
        table.append_cross(entries, out);
    } else {
        table.append_by_rounds(entries, room, out);
    }
}

struct StandingsTable<'t> {
    site: &'t Site<'t>,
    scores: &'t [EventScore],
    are_rated: bool,
}

impl StandingsTable<'_> {
    fn append_start(
        &self,
        title: &str,
        columns: impl IntoIterator<Item = usize>,
        tie_break: &str,
        out: &mut String,
    ) {
        out.push_str("<h2>");
        out.push_str(title);
        out.push_str("</h2>\n<div class=\"wide\"><table class=\"cross\"><thead><tr>");
        append_heads(&[("r", "Rank"), ("", "Player")], out);
        if self.are_rated {
            append_heads(&[("r", "Elo")], out);
        }
        append_numbered_heads(columns, out);
        append_heads(&[("r", "Points"), ("r", "Games"), ("r", tie_break)], out);
        if self.are_rated {
            append_heads(&[("r", "Performance")], out);
        }
        out.push_str("</tr></thead>\n<tbody>\n");
    }

    fn append_start_of_row(&self, rank: usize, one: &EventScore, out: &mut String) {
        append_rank(self.site, rank, Kind::Player, one.id, out);
        if self.are_rated {
            append_number("r", elo_words(one.elo), out);
        }
    }

    fn append_end_of_row(&self, one: &EventScore, tie_break: &str, out: &mut String) {
        append_number("r sum", points(one.halves), out);
        append_number("r", one.games, out);
        append_number("r", tie_break, out);
        if self.are_rated {
            let performance = one.performance().map(|elo| elo.to_string());
            append_number("r", performance.unwrap_or_default(), out);
        }
        out.push_str("</tr>\n");
    }

    /// What each got from each.
    fn append_cross(&self, entries: &[GameEntry], out: &mut String) {
        let mut cells: HashMap<(u32, u32), Vec<(&GameEntry, bool)>> = HashMap::new();
        for entry in entries.iter().filter(|entry| entry.white != entry.black) {
            let (white, black) = (entry.white, entry.black);
            for (pair, is_white) in [((white, black), true), ((black, white), false)] {
                cells.entry(pair).or_default().push((entry, is_white));
            }
        }
        self.append_start(
            "Cross table",
            1..=self.scores.len(),
            "Sonneborn–Berger",
            out,
        );
        for (rank, one) in (1..).zip(self.scores) {
            self.append_start_of_row(rank, one, out);
            for other in self.scores {
                if one.id == other.id {
                    out.push_str("<td class=\"x\">×</td>");
                    continue;
                }
                out.push_str("<td class=\"g\">");
                let met = cells.get(&(one.id, other.id)).map(Vec::as_slice);
                for (entry, is_white) in met.unwrap_or_default().iter().take(MOST_OF_CELL) {
                    append_sign(self.site, entry, *is_white, "", out);
                }
                out.push_str("</td>");
            }
            let berger = f64::from(one.berger) / 4.0;
            self.append_end_of_row(one, &format!("{berger:.2}"), out);
        }
        out.push_str("</tbody></table></div>\n");
        append_key("Shaded: with Black.", out);
    }

    /// What each did in each round: the opponent's rank, the colour, and the
    /// result.
    fn append_by_rounds(&self, entries: &[GameEntry], room: usize, out: &mut String) {
        let ranks = (1..).zip(self.scores).map(|(rank, one)| (one.id, rank));
        let ranks: HashMap<u32, usize> = ranks.collect();
        let rounds = rounds(entries.iter().map(|entry| entry.round[0]));
        let mut played: HashMap<(u32, u16), Vec<(&GameEntry, bool)>> = HashMap::new();
        for entry in entries {
            for (id, is_white) in [(entry.white, true), (entry.black, false)] {
                let of_round = played.entry((id, entry.round[0])).or_default();
                of_round.push((entry, is_white));
            }
        }
        let limit = out.len() + room;
        let columns = rounds.iter().map(|round| usize::from(*round));
        self.append_start("Standings", columns, "Buchholz", out);
        let shown = append_within(limit, (1..).zip(self.scores), out, |(rank, one), out| {
            self.append_start_of_row(rank, one, out);
            for round in &rounds {
                out.push_str("<td class=\"g\">");
                let games = played.get(&(one.id, *round)).map(Vec::as_slice);
                for (entry, is_white) in games.unwrap_or_default().iter().take(MOST_OF_ROUND) {
                    let other = if *is_white { entry.black } else { entry.white };
                    let other = ranks.get(&other).copied().unwrap_or(0);
                    let color = if *is_white { 'w' } else { 'b' };
                    append_sign(self.site, entry, *is_white, &format!("{other}{color}"), out);
                    out.push(' ');
                }
                out.push_str("</td>");
            }
            self.append_end_of_row(one, &points(one.buchholz), out);
        });
        out.push_str("</tbody></table></div>\n");
        append_key(
            "In a round: the opponent’s rank, White or Black, and the result. Shaded: with Black.",
            out,
        );
        append_rest(self.scores.len() - shown, "players", out);
    }
}
