//! What events came to.
//!
//! | module | what |
//! |---|---|
//! | `matches.rs` | matches of two, and knock-outs by rounds |
//! | `score.rs` | points of those who take part, tie-breaks, performance |
//! | `standings.rs` | cross tables where everyone met everyone, standings by round elsewhere |
//! | `teams.rs` | teams, their matches and boards |
//!
//! All signs of games are links to them. Those of games with Black are shaded.

mod matches;
mod score;
mod standings;
mod teams;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::groups::EventFacts;
use super::tables::{GameEntry, Kind, Site, halves};
use crate::game::EventKind;

/// Games of a cell, and rounds of a table, at most.
const MOST_OF_CELL: usize = 40;
const MOST_ROUNDS: usize = 40;

/// Appends what an event came to, in so many bytes.
pub(super) fn append(site: &Site<'_>, event: &EventFacts, room: usize, out: &mut String) {
    let mut entries = event.entries.clone();
    // As they were played.
    entries.sort_by_key(|entry| {
        let date = entry.date;
        let day = (date.year, date.month, date.day);
        (entry.round, day, entry.number)
    });
    let start = out.len();
    teams::append(site, event.kind, &entries, room / 2, out);
    let room = room.saturating_sub(out.len() - start);
    let scores = score::of(&entries);
    if scores.len() < 2 || event.kind == EventKind::Simultaneous {
        return;
    }
    match event.kind {
        EventKind::KnockOut => matches::append_knock_out(site, &entries, room, out),
        _ if scores.len() == 2 => matches::append_match(site, &entries, &scores, room, out),
        kind => standings::append(site, kind, &entries, scores, room, out),
    }
}

/// The rounds that have a column each; none if they are too many.
fn rounds(numbers: impl Iterator<Item = u16>) -> BTreeSet<u16> {
    let rounds: BTreeSet<u16> = numbers.filter(|round| *round > 0).collect();
    if rounds.len() > MOST_ROUNDS {
        return BTreeSet::new();
    }
    rounds
}

/// Whether so many pairs of so many who take part are as good as all.
fn is_round_robin(pairs: usize, all: usize, kind: EventKind) -> bool {
    // One that goes on is to be seen as what it will be.
    let percent = match kind {
        EventKind::RoundRobin | EventKind::Scheveningen => 40,
        _ => 80,
    };
    pairs * 100 >= all * all.saturating_sub(1) / 2 * percent
}

/// What one got in a game.
fn sign(entry: &GameEntry, is_white: bool) -> &'static str {
    match halves(entry.result, is_white) {
        Some(0) => "0",
        Some(1) => "½",
        Some(_) => "1",
        None => "*",
    }
}

/// Appends what one got in a game, and whom from.
fn append_sign(site: &Site<'_>, entry: &GameEntry, is_white: bool, from: &str, out: &mut String) {
    let class = if is_white { "w" } else { "k" };
    let address = site.game(entry.number);
    let _ = write!(out, "<a class=\"{class}\" href=\"{address}\">{from}");
    let sign = sign(entry, is_white);
    if sign == "1" || !from.is_empty() {
        let _ = write!(out, "<b>{sign}</b></a>");
    } else {
        let _ = write!(out, "{sign}</a>");
    }
}

/// Appends the heads of a table: their words, and whether they are of numbers.
fn append_heads(heads: &[(&str, &str)], out: &mut String) {
    for (class, head) in heads {
        let _ = match *class {
            "" => write!(out, "<th scope=\"col\">{head}</th>"),
            class => write!(out, "<th scope=\"col\" class=\"{class}\">{head}</th>"),
        };
    }
}

fn append_numbered_heads(numbers: impl IntoIterator<Item = usize>, out: &mut String) {
    for number in numbers {
        let _ = write!(out, "<th scope=\"col\" class=\"g\">{number}</th>");
    }
}

/// Appends the head of a row: a rank, and who has it.
fn append_rank(site: &Site<'_>, rank: usize, kind: Kind, id: u32, out: &mut String) {
    let _ = write!(out, "<tr><td class=\"r\">{rank}</td><th scope=\"row\">");
    site.append(kind, id, out);
    out.push_str("</th>");
}

fn append_number(class: &str, number: impl std::fmt::Display, out: &mut String) {
    let _ = write!(out, "<td class=\"{class}\">{number}</td>");
}

/// A rating as a cell shows it.
fn elo_words(elo: u16) -> String {
    match elo {
        0 => String::new(),
        elo => elo.to_string(),
    }
}

/// Appends what the signs of a table mean.
fn append_key(words: &str, out: &mut String) {
    let _ = writeln!(out, "<p class=\"key\">{words}</p>");
}

/// Appends items until `out` is longer than `limit`, without the one that makes it
/// so. Returns how many it appended.
fn append_within<T>(
    limit: usize,
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut append: impl FnMut(T, &mut String),
) -> usize {
    let mut count = 0;
    for item in items {
        let before = out.len();
        append(item, out);
        if out.len() > limit {
            out.truncate(before);
            break;
        }
        count += 1;
    }
    count
}

fn append_rest(rest: usize, what: &str, out: &mut String) {
    if rest > 0 {
        let _ = writeln!(
            out,
            "<p>{rest} more {what} are not shown here; their games are below.</p>"
        );
    }
}
