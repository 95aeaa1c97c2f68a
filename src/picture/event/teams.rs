//! Teams, their matches and boards.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use super::super::tables::{GameEntry, Kind, Site, halves, points};
use super::{
    MOST_OF_CELL, append_heads, append_key, append_number, append_numbered_heads, append_rank,
    append_rest, append_sign, append_within, elo_words, is_round_robin, rounds,
};
use crate::game::EventKind;

/// Teams of a cross table, at most.
const MOST_OF_CROSS_TABLE: usize = 24;

/// A match of two teams.
struct Match<'e> {
    round: u16,
    teams: [u32; 2],
    halves: [u32; 2],
    /// The games, and whether the first team had White.
    boards: Vec<(&'e GameEntry, bool)>,
}

/// What a team got.
#[derive(Clone, Copy, Debug, Default)]
struct TeamScore {
    id: u32,
    of_matches: u32,
    halves: u32,
    matches: u32,
}

/// Appends what teams came to, if there are any, in so many bytes.
pub(super) fn append(
    site: &Site<'_>,
    kind: EventKind,
    entries: &[GameEntry],
    room: usize,
    out: &mut String,
) {
    let matches = matches(entries);
    if matches.is_empty() {
        return;
    }
    let mut list = String::new();
    let table = TeamTable {
        site,
        matches: &matches,
        scores: &scores(&matches),
        listed: append_matches(site, &matches, room / 2, &mut list),
    };
    let pairs: BTreeSet<_> = matches.iter().map(|one| one.teams).collect();
    let all = table.scores.len();
    if all <= MOST_OF_CROSS_TABLE && is_round_robin(pairs.len(), all, kind) {
        table.append_cross(out);
    } else {
        table.append_by_rounds(room / 2, out);
    }
    out.push_str(&list);
}

/// Matches by round, in the order of their first games.
fn matches(entries: &[GameEntry]) -> Vec<Match<'_>> {
    let mut matches: Vec<Match<'_>> = Vec::new();
    let mut places = HashMap::new();
    for entry in entries {
        let [Some(white), Some(black)] = entry.teams else {
            continue;
        };
        if white == black {
            continue;
        }
        let teams = [white.min(black), white.max(black)];
        let round = entry.round[0];
        // Those without a round are told apart by their days.
        let date = entry.date;
        let day = (round == 0).then_some((date.year, date.month, date.day));
        let place = *places.entry((round, day, teams)).or_insert_with(|| {
            matches.push(Match {
                round,
                teams,
                halves: [0, 0],
                boards: Vec::new(),
            });
            matches.len() - 1
        });
        let Some(one) = matches.get_mut(place) else {
            continue;
        };
        let is_white = teams.first() == Some(&white);
        let [of_first, of_second] = &mut one.halves;
        *of_first += halves(entry.result, is_white).unwrap_or(0);
        *of_second += halves(entry.result, !is_white).unwrap_or(0);
        one.boards.push((entry, is_white));
    }
    matches
}

/// Teams by points of matches, then of boards.
fn scores(matches: &[Match<'_>]) -> Vec<TeamScore> {
    let mut teams: BTreeMap<u32, TeamScore> = BTreeMap::new();
    for one in matches {
        let ([first, second], [a, b]) = (one.teams, one.halves);
        for (id, own, others) in [(first, a, b), (second, b, a)] {
            let score = teams.entry(id).or_default();
            score.id = id;
            score.of_matches += match own.cmp(&others) {
                Ordering::Greater => 2,
                Ordering::Equal => 1,
                Ordering::Less => 0,
            };
            score.halves += own;
            score.matches += 1;
        }
    }
    let mut scores: Vec<_> = teams.into_values().collect();
    scores.sort_by_key(|one| (Reverse((one.of_matches, one.halves)), one.id));
    scores
}

fn append_start(columns: impl IntoIterator<Item = usize>, out: &mut String) {
    out.push_str("<h2>Teams</h2>\n<div class=\"wide\"><table class=\"cross\"><thead><tr>");
    append_heads(&[("r", "Rank"), ("", "Team")], out);
    append_numbered_heads(columns, out);
    append_heads(
        &[
            ("r", "Match points"),
            ("r", "Board points"),
            ("r", "Matches"),
        ],
        out,
    );
    out.push_str("</tr></thead>\n<tbody>\n");
}

fn append_end_of_row(one: &TeamScore, out: &mut String) {
    append_number("r sum", one.of_matches, out);
    append_number("r", points(one.halves), out);
    append_number("r", one.matches, out);
    out.push_str("</tr>\n");
}

/// A match as a team saw it: its place in the list, the opponent, and the half
/// points of both.
struct TeamSide {
    place: usize,
    other: u32,
    own: u32,
    others: u32,
}

fn sides(place: usize, one: &Match<'_>) -> [(u32, TeamSide); 2] {
    let ([first, second], [a, b]) = (one.teams, one.halves);
    let side = |other, own, others| TeamSide {
        place,
        other,
        own,
        others,
    };
    [(first, side(second, a, b)), (second, side(first, b, a))]
}

/// The table of teams.
struct TeamTable<'t> {
    site: &'t Site<'t>,
    matches: &'t [Match<'t>],
    scores: &'t [TeamScore],
    /// So many matches have a place on the page.
    listed: usize,
}

impl TeamTable<'_> {
    /// What each team got from each.
    fn append_cross(&self, out: &mut String) {
        let mut cells: HashMap<(u32, u32), Vec<TeamSide>> = HashMap::new();
        for (place, one) in self.matches.iter().enumerate() {
            for (id, side) in sides(place, one) {
                cells.entry((id, side.other)).or_default().push(side);
            }
        }
        append_start(1..=self.scores.len(), out);
        for (rank, one) in (1..).zip(self.scores) {
            append_rank(self.site, rank, Kind::Team, one.id, out);
            for other in self.scores {
                if one.id == other.id {
                    out.push_str("<td class=\"x\">×</td>");
                    continue;
                }
                let met = cells.get(&(one.id, other.id)).map(Vec::as_slice);
                self.append_cell(met.unwrap_or_default(), |_| String::new(), out);
            }
            append_end_of_row(one, out);
        }
        out.push_str("</tbody></table></div>\n");
        append_key("Points of the boards of each match.", out);
    }

    /// What each team did in each round: the opponent's rank, and the board points.
    fn append_by_rounds(&self, room: usize, out: &mut String) {
        let limit = out.len() + room;
        let ranks = (1..).zip(self.scores).map(|(rank, one)| (one.id, rank));
        let ranks: HashMap<u32, usize> = ranks.collect();
        let rounds = rounds(self.matches.iter().map(|one| one.round));
        let mut played: HashMap<(u32, u16), Vec<TeamSide>> = HashMap::new();
        for (place, one) in self.matches.iter().enumerate() {
            for (id, side) in sides(place, one) {
                played.entry((id, one.round)).or_default().push(side);
            }
        }
        append_start(rounds.iter().map(|round| usize::from(*round)), out);
        let shown = append_within(limit, (1..).zip(self.scores), out, |(rank, one), out| {
            append_rank(self.site, rank, Kind::Team, one.id, out);
            for round in &rounds {
                let met = played.get(&(one.id, *round)).map(Vec::as_slice);
                let rank = |side: &TeamSide| ranks.get(&side.other).copied().unwrap_or(0);
                let from = |side: &TeamSide| format!("{}: ", rank(side));
                self.append_cell(met.unwrap_or_default(), from, out);
            }
            append_end_of_row(one, out);
        });
        out.push_str("</tbody></table></div>\n");
        append_key(
            "In a round: the opponent’s rank, and the points of the boards.",
            out,
        );
        append_rest(self.scores.len() - shown, "teams", out);
    }

    /// Appends the board points of matches as links to these.
    fn append_cell(
        &self,
        sides: &[TeamSide],
        from: impl Fn(&TeamSide) -> String,
        out: &mut String,
    ) {
        out.push_str("<td class=\"g\">");
        for side in sides.iter().take(MOST_OF_CELL) {
            let (place, own) = (side.place, points(side.own));
            let words = if side.own > side.others {
                format!("{}<b>{own}</b>", from(side))
            } else {
                format!("{}{own}", from(side))
            };
            let _ = if place < self.listed {
                write!(out, "<a href=\"#m{place}\">{words}</a> ")
            } else {
                write!(out, "{words} ")
            };
        }
        out.push_str("</td>");
    }
}

/// Appends matches with their boards, by round; returns how many there was room
/// for.
fn append_matches(site: &Site<'_>, matches: &[Match<'_>], room: usize, out: &mut String) -> usize {
    let limit = out.len() + room;
    let mut round = None;
    let shown = append_within(
        limit,
        matches.iter().enumerate(),
        out,
        |(place, one), out| {
            if round != Some(one.round) {
                let _ = match one.round {
                    0 => writeln!(out, "<h2>Matches</h2>"),
                    round => writeln!(out, "<h2>Round {round}</h2>"),
                };
                round = Some(one.round);
            }
            append_boards(site, place, one, out);
        },
    );
    append_key("Points of the team on the left. Shaded: with Black.", out);
    append_rest(matches.len() - shown, "matches", out);
    shown
}

fn append_boards(site: &Site<'_>, place: usize, one: &Match<'_>, out: &mut String) {
    let ([first, second], [a, b]) = (one.teams, one.halves.map(points));
    out.push_str("<details class=\"match\"><summary>");
    site.append(Kind::Team, first, out);
    let _ = write!(out, " <b>{a}–{b}</b> ");
    site.append(Kind::Team, second, out);
    let _ = write!(
        out,
        "</summary>\n<div class=\"wide\" id=\"m{place}\"><table class=\"cross\"><thead><tr>"
    );
    append_heads(
        &[
            ("r", "Board"),
            ("", "Player"),
            ("r", "Elo"),
            ("g", "Points"),
            ("", "Player"),
            ("r", "Elo"),
        ],
        out,
    );
    out.push_str("</tr></thead>\n<tbody>\n");
    for (board, (entry, is_white)) in (1..).zip(&one.boards) {
        let [white, black] = [entry.white, entry.black];
        let [white_elo, black_elo] = entry.elo;
        let [own, others] = if *is_white {
            [(white, white_elo), (black, black_elo)]
        } else {
            [(black, black_elo), (white, white_elo)]
        };
        let _ = write!(out, "<tr><td class=\"r\">{board}</td><td>");
        site.append(Kind::Player, own.0, out);
        out.push_str("</td>");
        append_number("r", elo_words(own.1), out);
        out.push_str("<td class=\"g\">");
        append_sign(site, entry, *is_white, "", out);
        out.push_str("</td><td>");
        site.append(Kind::Player, others.0, out);
        out.push_str("</td>");
        append_number("r", elo_words(others.1), out);
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></details>\n");
}
