//! Matches of two, and knock-outs by rounds.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::super::tables::{GameEntry, Kind, Site, halves, points};
use super::score::EventScore;
use super::{
    append_heads, append_key, append_number, append_numbered_heads, append_rank, append_rest,
    append_sign, append_within, elo_words,
};

/// Games of a match that are shown, at most.
const MOST_OF_MATCH: usize = 60;

/// Appends a match of two: a row for each, a column for each game.
pub(super) fn append_match(
    site: &Site<'_>,
    entries: &[GameEntry],
    scores: &[EventScore],
    room: usize,
    out: &mut String,
) {
    // A game has a cell in each of two rows.
    let shown = entries.len().min(MOST_OF_MATCH).min(room / 300);
    out.push_str("<h2>Match</h2>\n<div class=\"wide\"><table class=\"cross\"><thead><tr>");
    append_heads(&[("r", "Rank"), ("", "Player"), ("r", "Elo")], out);
    append_numbered_heads(1..=shown, out);
    append_heads(&[("r", "Points")], out);
    out.push_str("</tr></thead>\n<tbody>\n");
    for (rank, one) in (1..).zip(scores) {
        append_rank(site, rank, Kind::Player, one.id, out);
        append_number("r", elo_words(one.elo), out);
        for entry in entries.iter().take(shown) {
            out.push_str("<td class=\"g\">");
            append_sign(site, entry, entry.white == one.id, "", out);
            out.push_str("</td>");
        }
        append_number("r sum", points(one.halves), out);
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    append_key("Shaded: with Black.", out);
    append_rest(entries.len() - shown, "games", out);
}

/// A match of a knock-out. The first player had White in its first game.
struct Match<'e> {
    players: [u32; 2],
    elo: [u16; 2],
    halves: [u32; 2],
    games: Vec<(&'e GameEntry, bool)>,
    /// How many matches of its players come before it, at least, and one.
    stage: u16,
}

impl Match<'_> {
    /// The round that all its games are of.
    fn round(&self) -> Option<u16> {
        let mut rounds = self.games.iter().map(|(entry, _)| entry.round[0]);
        let first = rounds.next().filter(|round| *round > 0)?;
        rounds.all(|round| round == first).then_some(first)
    }

    /// Puts the winner first.
    fn with_winner_first(mut self) -> Self {
        let [first, second] = self.halves;
        if second > first {
            self.players.reverse();
            self.elo.reverse();
            self.halves.reverse();
            for (_, is_white) in &mut self.games {
                *is_white = !*is_white;
            }
        }
        self
    }
}

/// Appends the matches of a knock-out, the last round first.
pub(super) fn append_knock_out(
    site: &Site<'_>,
    entries: &[GameEntry],
    room: usize,
    out: &mut String,
) {
    let matches = matches(entries);
    // Else their games are numbered in another way.
    let have_rounds = matches.iter().all(|one| one.round().is_some());
    let mut rounds: BTreeMap<u16, Vec<Match<'_>>> = BTreeMap::new();
    for one in matches {
        let round = one.round().filter(|_| have_rounds).unwrap_or(one.stage);
        let of_round = rounds.entry(round).or_default();
        of_round.push(one.with_winner_first());
    }
    let all: usize = rounds.values().map(Vec::len).sum();
    let limit = out.len() + room;
    let mut shown = 0;
    for (round, matches) in rounds.into_iter().rev() {
        if out.len() > limit {
            break;
        }
        let _ = write!(
            out,
            "<h2>Round {round}</h2>\n<div class=\"wide\"><table class=\"cross\"><thead><tr>"
        );
        append_heads(
            &[
                ("", "Player"),
                ("r", "Elo"),
                ("g", "Result"),
                ("", "Player"),
                ("r", "Elo"),
                ("", "Games"),
            ],
            out,
        );
        out.push_str("</tr></thead>\n<tbody>\n");
        shown += append_within(limit, matches, out, |one, out| append_row(site, &one, out));
        out.push_str("</tbody></table></div>\n");
    }
    append_key("Shaded: with Black, as seen by the first player.", out);
    append_rest(all - shown, "matches", out);
}

fn append_row(site: &Site<'_>, one: &Match<'_>, out: &mut String) {
    let [winner, loser] = one.players;
    let [first, second] = one.halves;
    out.push_str(if first > second {
        "<tr><th scope=\"row\">"
    } else {
        "<tr><td>"
    });
    site.append(Kind::Player, winner, out);
    out.push_str(if first > second { "</th>" } else { "</td>" });
    append_number("r", elo_words(one.elo[0]), out);
    append_number(
        "g sum",
        format_args!("{}–{}", points(first), points(second)),
        out,
    );
    out.push_str("<td>");
    site.append(Kind::Player, loser, out);
    out.push_str("</td>");
    append_number("r", elo_words(one.elo[1]), out);
    out.push_str("<td>");
    for (entry, is_white) in one.games.iter().take(MOST_OF_MATCH) {
        append_sign(site, entry, *is_white, "", out);
    }
    out.push_str("</td></tr>\n");
}

/// The matches of a knock-out in the order of their first games. One goes on as
/// long as neither player plays somebody else.
fn matches(entries: &[GameEntry]) -> Vec<Match<'_>> {
    let mut matches: Vec<Match<'_>> = Vec::new();
    let mut latest: HashMap<u32, usize> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.white != entry.black) {
        let pair = [entry.white, entry.black];
        let [of_white, of_black] = pair.map(|id| latest.get(&id).copied());
        let place = match of_white {
            Some(place) if of_black == of_white => place,
            _ => {
                let before = [of_white, of_black].into_iter().flatten();
                let stages = before.filter_map(|place| matches.get(place));
                let stage = stages.map(|one| one.stage).max().unwrap_or(0);
                matches.push(Match {
                    players: pair,
                    elo: entry.elo,
                    halves: [0, 0],
                    games: Vec::new(),
                    stage: stage.saturating_add(1),
                });
                matches.len() - 1
            }
        };
        for id in pair {
            latest.insert(id, place);
        }
        let Some(one) = matches.get_mut(place) else {
            continue;
        };
        let is_first_white = one.players.first() == Some(&entry.white);
        let [of_first, of_second] = &mut one.halves;
        *of_first += halves(entry.result, is_first_white).unwrap_or(0);
        *of_second += halves(entry.result, !is_first_white).unwrap_or(0);
        one.games.push((entry, is_first_white));
    }
    matches
}
