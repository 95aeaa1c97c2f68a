//! Standings of events: cross tables where everyone met everyone, standings by
//! round elsewhere, matches of knock-outs and of teams.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::tables::{Entry, Kind, Site, halves, points};
use crate::game::EventKind;

/// Players of a cross table, at most; those of other standings.
const MOST_OF_CROSS_TABLE: usize = 32;
const MOST_STANDINGS: usize = 2000;

/// Rounds of a table, matches of a list, and bytes of both, at most.
const MOST_ROUNDS: usize = 40;
const MOST_MATCHES: usize = 2000;
const MOST_BYTES: usize = 900_000;

/// One who takes part: a player or a team.
#[derive(Debug, Default)]
struct Participant {
    id: u32,
    halves: u32,
    games: u32,
    /// Sums of the opponents' points, all and by the points got from them, in
    /// quarters.
    buchholz: u32,
    berger: u32,
}

/// Appends what an event came to.
pub(super) fn append(site: &Site<'_>, kind: EventKind, entries: &[Entry], out: &mut String) {
    let are_teams = entries.iter().any(|entry| {
        let [white, black] = entry.teams;
        white.is_some() && black.is_some() && white != black
    });
    if are_teams {
        append_teams(site, entries, out);
    }
    let standings = standings(entries);
    if standings.len() < 2 {
        return;
    }
    let is_cross = standings.len() <= MOST_OF_CROSS_TABLE && is_round_robin(entries, &standings);
    match kind {
        EventKind::KnockOut => append_matches(site, entries, out),
        EventKind::Match if standings.len() == 2 => append_matches(site, entries, out),
        EventKind::Simultaneous => {}
        _ if is_cross => append_cross_table(site, entries, &standings, out),
        _ => append_standings(site, entries, &standings, out),
    }
}

/// The players, best first.
fn standings(entries: &[Entry]) -> Vec<Participant> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut all: Vec<Participant> = Vec::new();
    for entry in entries {
        for (id, is_white) in [(entry.white, true), (entry.black, false)] {
            let place = *places.entry(id).or_insert_with(|| {
                all.push(Participant {
                    id,
                    ..Participant::default()
                });
                all.len() - 1
            });
            if let (Some(one), Some(got)) = (all.get_mut(place), halves(entry.result, is_white)) {
                one.halves += got;
                one.games += 1;
            }
        }
    }
    let sums: HashMap<u32, u32> = all.iter().map(|one| (one.id, one.halves)).collect();
    for entry in entries {
        for (id, other, is_white) in [
            (entry.white, entry.black, true),
            (entry.black, entry.white, false),
        ] {
            let sum = sums.get(&other).copied().unwrap_or(0);
            let one = places.get(&id).and_then(|place| all.get_mut(*place));
            if let (Some(one), Some(got)) = (one, halves(entry.result, is_white)) {
                one.buchholz += sum;
                one.berger += sum * got;
            }
        }
    }
    all.sort_by(|one, other| {
        let keys = |one: &Participant| (one.halves, one.buchholz, one.berger);
        keys(other).cmp(&keys(one)).then(one.id.cmp(&other.id))
    });
    all
}

/// Whether nearly all pairs have met.
fn is_round_robin(entries: &[Entry], standings: &[Participant]) -> bool {
    let pairs: std::collections::BTreeSet<_> = entries
        .iter()
        .filter(|entry| entry.white != entry.black)
        .map(|entry| (entry.white.min(entry.black), entry.white.max(entry.black)))
        .collect();
    let players = standings.len();
    pairs.len() * 10 >= players * (players - 1) / 2 * 8
}

fn append_cross_table(
    site: &Site<'_>,
    entries: &[Entry],
    standings: &[Participant],
    out: &mut String,
) {
    let mut cells: HashMap<(u32, u32), Vec<(&Entry, bool)>> = HashMap::new();
    for entry in entries {
        let (white, black) = (entry.white, entry.black);
        cells.entry((white, black)).or_default().push((entry, true));
        if white != black {
            cells
                .entry((black, white))
                .or_default()
                .push((entry, false));
        }
    }
    out.push_str("<h2>Cross table</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\" class=\"r\">Rank</th><th scope=\"col\">Player</th>");
    for rank in 1..=standings.len() {
        let _ = write!(out, "<th scope=\"col\" class=\"g\">{rank}</th>");
    }
    out.push_str("<th scope=\"col\" class=\"r\">Points</th><th scope=\"col\" class=\"r\">Games</th><th scope=\"col\" class=\"r\">Berger</th></tr></thead>\n<tbody>\n");
    for (rank, one) in (1..).zip(standings) {
        append_start_of_row(site, rank, one, out);
        for other in standings {
            if one.id == other.id {
                out.push_str("<td class=\"x\">×</td>");
                continue;
            }
            out.push_str("<td class=\"g\">");
            let met = cells.get(&(one.id, other.id)).map(Vec::as_slice);
            for (entry, is_white) in met.unwrap_or_default().iter().take(40) {
                site.append_result(entry, sign(entry, *is_white), out);
            }
            out.push_str("</td>");
        }
        let berger = f64::from(one.berger) / 4.0;
        append_points(one, out);
        let _ = writeln!(
            out,
            "<td class=\"r\">{}</td><td class=\"r\">{berger:.2}</td></tr>",
            one.games
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn append_start_of_row(site: &Site<'_>, rank: usize, one: &Participant, out: &mut String) {
    let _ = write!(out, "<tr><td class=\"r\">{rank}</td><th scope=\"row\">");
    site.append(Kind::Player, one.id, out);
    out.push_str("</th>");
}

fn append_points(one: &Participant, out: &mut String) {
    let _ = write!(out, "<td class=\"r\"><b>{}</b></td>", points(one.halves));
}

/// What one got in a game.
fn sign(entry: &Entry, is_white: bool) -> &'static str {
    match halves(entry.result, is_white) {
        Some(0) => "0",
        Some(1) => "½",
        Some(_) => "1",
        None => "*",
    }
}

/// Standings with what each did in each round: the opponent's rank, the colour
/// and the result.
fn append_standings(
    site: &Site<'_>,
    entries: &[Entry],
    standings: &[Participant],
    out: &mut String,
) {
    let ranks: HashMap<u32, usize> = (1..)
        .zip(standings)
        .map(|(rank, one)| (one.id, rank))
        .collect();
    let mut rounds: Vec<u16> = entries.iter().map(|entry| entry.round[0]).collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds.retain(|round| *round > 0);
    if rounds.len() > MOST_ROUNDS {
        rounds.clear();
    }
    let mut played: HashMap<(u32, u16), Vec<(&Entry, bool)>> = HashMap::new();
    for entry in entries {
        for (id, is_white) in [(entry.white, true), (entry.black, false)] {
            played
                .entry((id, entry.round[0]))
                .or_default()
                .push((entry, is_white));
        }
    }
    out.push_str("<h2>Standings</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\" class=\"r\">Rank</th><th scope=\"col\">Player</th>");
    for round in &rounds {
        let _ = write!(out, "<th scope=\"col\" class=\"g\">{round}</th>");
    }
    out.push_str("<th scope=\"col\" class=\"r\">Points</th><th scope=\"col\" class=\"r\">Games</th><th scope=\"col\" class=\"r\">Buchholz</th></tr></thead>\n<tbody>\n");
    let limit = out.len() + MOST_BYTES;
    let mut shown = 0;
    for (rank, one) in (1..).zip(standings.iter().take(MOST_STANDINGS)) {
        if out.len() > limit {
            break;
        }
        shown = rank;
        append_start_of_row(site, rank, one, out);
        for round in &rounds {
            out.push_str("<td class=\"g\">");
            let games = played.get(&(one.id, *round)).map(Vec::as_slice);
            for (entry, is_white) in games.unwrap_or_default().iter().take(8) {
                let other = if *is_white { entry.black } else { entry.white };
                let other = ranks.get(&other).copied().unwrap_or(0);
                let color = if *is_white { 'w' } else { 'b' };
                site.append_result(
                    entry,
                    &format!("{other}{color}{}", sign(entry, *is_white)),
                    out,
                );
                out.push(' ');
            }
            out.push_str("</td>");
        }
        append_points(one, out);
        let buchholz = points(one.buchholz);
        let _ = writeln!(
            out,
            "<td class=\"r\">{}</td><td class=\"r\">{buchholz}</td></tr>",
            one.games
        );
    }
    out.push_str("</tbody></table></div>\n");
    append_rest(standings.len() - shown, "players", out);
}

fn append_rest(rest: usize, what: &str, out: &mut String) {
    if rest > 0 {
        let _ = writeln!(
            out,
            "<p>{rest} more {what} are not shown here; their games are below.</p>"
        );
    }
}

/// A match of two: who, and what each got.
#[derive(Default)]
struct Match<'e> {
    halves: [u32; 2],
    games: Vec<(&'e Entry, bool)>,
}

/// Matches by pairs, in the order of their rounds.
fn append_matches(site: &Site<'_>, entries: &[Entry], out: &mut String) {
    let mut matches: BTreeMap<(u16, u32, u32), Match<'_>> = BTreeMap::new();
    let mut first_rounds: HashMap<(u32, u32), u16> = HashMap::new();
    for entry in entries {
        let pair = (entry.white.min(entry.black), entry.white.max(entry.black));
        let round = first_rounds.entry(pair).or_insert(entry.round[0]);
        let one = matches.entry((*round, pair.0, pair.1)).or_default();
        let is_first_white = entry.white == pair.0;
        let [first, second] = &mut one.halves;
        *first += halves(entry.result, is_first_white).unwrap_or(0);
        *second += halves(entry.result, !is_first_white).unwrap_or(0);
        one.games.push((entry, is_first_white));
    }
    out.push_str("<h2>Matches</h2>\n");
    append_table_of_matches(site, Kind::Player, &matches, out);
}

fn append_table_of_matches(
    site: &Site<'_>,
    kind: Kind,
    matches: &BTreeMap<(u16, u32, u32), Match<'_>>,
    out: &mut String,
) {
    out.push_str("<div class=\"wide\"><table><thead><tr><th scope=\"col\">Round</th><th scope=\"col\">Winner or first</th><th scope=\"col\">Second</th><th scope=\"col\">Result</th><th scope=\"col\">Games</th></tr></thead>\n<tbody>\n");
    let limit = out.len() + MOST_BYTES;
    let mut shown = 0;
    for ((round, one, other), played) in matches.iter().take(MOST_MATCHES) {
        if out.len() > limit {
            break;
        }
        shown += 1;
        let [first, second] = played.halves;
        let turns = second > first;
        let (one, other, first, second) = if turns {
            (other, one, second, first)
        } else {
            (one, other, first, second)
        };
        let round = if *round == 0 {
            String::new()
        } else {
            round.to_string()
        };
        let _ = write!(out, "<tr><td>{round}</td><td>");
        site.append(kind, *one, out);
        out.push_str("</td><td>");
        site.append(kind, *other, out);
        let _ = write!(
            out,
            "</td><td class=\"g\">{} : {}</td><td>",
            points(first),
            points(second)
        );
        for (entry, is_first_white) in played.games.iter().take(60) {
            site.append_result(entry, sign(entry, *is_first_white != turns), out);
            out.push(' ');
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    append_rest(matches.len() - shown, "matches", out);
}

/// Teams by points of matches, then of boards; and their matches.
fn append_teams(site: &Site<'_>, entries: &[Entry], out: &mut String) {
    let mut matches: BTreeMap<(u16, u32, u32), Match<'_>> = BTreeMap::new();
    for entry in entries {
        let [Some(white), Some(black)] = entry.teams else {
            continue;
        };
        if white == black {
            continue;
        }
        let (first, second) = (white.min(black), white.max(black));
        let one = matches.entry((entry.round[0], first, second)).or_default();
        let is_first_white = white == first;
        let [of_first, of_second] = &mut one.halves;
        *of_first += halves(entry.result, is_first_white).unwrap_or(0);
        *of_second += halves(entry.result, !is_first_white).unwrap_or(0);
        one.games.push((entry, is_first_white));
    }
    // Points of matches, half points of boards, matches.
    let mut teams: BTreeMap<u32, (u32, u32, u32)> = BTreeMap::new();
    for ((_, first, second), played) in &matches {
        let [a, b] = played.halves;
        for (team, own, others) in [(first, a, b), (second, b, a)] {
            let sums = teams.entry(*team).or_default();
            sums.0 += match own.cmp(&others) {
                std::cmp::Ordering::Greater => 2,
                std::cmp::Ordering::Equal => 1,
                std::cmp::Ordering::Less => 0,
            };
            sums.1 += own;
            sums.2 += 1;
        }
    }
    let mut teams: Vec<_> = teams.into_iter().collect();
    teams.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    out.push_str("<h2>Teams</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\" class=\"r\">Rank</th><th scope=\"col\">Team</th><th scope=\"col\" class=\"r\">Matches</th><th scope=\"col\" class=\"r\">Match points</th><th scope=\"col\" class=\"r\">Board points</th></tr></thead>\n<tbody>\n");
    let all = teams.len();
    let most = MOST_OF_TEAMS.min(all);
    for (rank, (team, (of_matches, of_boards, count))) in (1..).zip(teams.into_iter().take(most)) {
        let _ = write!(out, "<tr><td class=\"r\">{rank}</td><th scope=\"row\">");
        site.append(Kind::Team, team, out);
        let of_boards = points(of_boards);
        let _ = writeln!(
            out,
            "</th><td class=\"r\">{count}</td><td class=\"r\"><b>{of_matches}</b></td><td class=\"r\">{of_boards}</td></tr>"
        );
    }
    out.push_str("</tbody></table></div>\n<h2>Matches of teams</h2>\n");
    append_table_of_matches(site, Kind::Team, &matches, out);
    append_rest(all - most, "teams", out);
}

/// Teams in a table.
const MOST_OF_TEAMS: usize = 500;
