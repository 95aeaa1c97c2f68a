//! Pages about games that have something in common: a player, an event, an
//! opening.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::board::{Picture, append_symbols, squares_of};
use super::event;
use super::page::Page;
use super::plot;
use super::tables::{Entry, Kind, Names, Pieces, Score, Site, code};
use super::text;
use crate::game::{EventKind, Position};

/// Openings in the table of a player.
const MOST_OPENINGS: usize = 20;

/// Points of a plot of ratings.
const MOST_POINTS: usize = 1000;

/// One piece of a page about a group of games.
#[derive(Debug)]
pub struct GroupPage<'g> {
    /// Tells names.
    pub names: &'g dyn Names,
    /// The name of the group, and the last part of the addresses of its pages.
    pub title: &'g str,
    /// See above.
    pub file: &'g str,
    /// Its games by number.
    pub entries: &'g [Entry],
    /// Which piece, from 1.
    pub piece: usize,
}

/// A line of the tree of an opening.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The moves that lead to a position, in words.
    pub moves: String,
    /// The position.
    pub position: Position,
    /// The last move.
    pub last: Option<shakmaty::Move>,
    /// Games that have it, of those looked at.
    pub games: u32,
}

impl GroupPage<'_> {
    /// The piece `2` lies in a folder of its own.
    fn site(&self) -> Site<'_> {
        Site {
            names: self.names,
            depth: if self.piece == 1 { 1 } else { 2 },
        }
    }

    fn begin(&self) -> Page {
        let mut page = Page::new(self.title, "group", self.site().depth);
        page.markup("<header>\n<h1>");
        page.name(self.title, None);
        page.markup("</h1>\n</header>\n");
        page
    }

    /// The games of this piece, and links to the others.
    fn end(&self, mut page: Page) -> String {
        let file = self.file;
        let address = |piece: usize| match (self.piece, piece) {
            (1, 1) => file.to_owned(),
            (1, piece) => format!("{piece}/{file}"),
            (_, 1) => format!("../{file}"),
            (_, piece) => format!("../{piece}/{file}"),
        };
        let pieces = Pieces {
            piece: self.piece,
            rows: self.entries.len(),
            address: &address,
        };
        self.site()
            .append_games("Games", pieces.of(self.entries), &mut page.out);
        pieces.append_links(&mut page.out);
        page.end()
    }

    /// The page of a player.
    pub fn player(&self, player: u32) -> String {
        let mut page = self.begin();
        if self.piece == 1 {
            self.append_scores(player, &mut page.out);
            page.markup("<div class=\"figures\">\n");
            self.append_ratings(player, &mut page.out);
            let years = self.entries.iter().map(|entry| entry.date.year);
            append_years(years, &mut page.out);
            page.markup("</div>\n");
            self.append_openings(player, &mut page.out);
        }
        self.end(page)
    }

    fn append_scores(&self, player: u32, out: &mut String) {
        let mut scores = [Score::default(); 2];
        for entry in self.entries {
            let [white, black] = &mut scores;
            if entry.white == player {
                white.add(entry.result, true);
            }
            if entry.black == player {
                black.add(entry.result, false);
            }
        }
        let [white, black] = scores;
        let all = Score {
            won: white.won + black.won,
            drawn: white.drawn + black.drawn,
            lost: white.lost + black.lost,
            other: white.other + black.other,
        };
        let _ = write!(
            out,
            "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Side</th>{}</tr></thead>\n<tbody>\n",
            Score::HEADS
        );
        for (name, score) in [("White", white), ("Black", black), ("Both", all)] {
            let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
            score.append_cells(out);
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn append_ratings(&self, player: u32, out: &mut String) {
        let rated = self.entries.iter().filter_map(|entry| {
            let [white, black] = entry.elo;
            let elo = if entry.white == player { white } else { black };
            let date = entry.date;
            let day = f64::from(date.year) * 372.0
                + f64::from(date.month.max(1)) * 31.0
                + f64::from(date.day);
            (elo > 0 && date.year > 0).then_some((day, f64::from(elo), date.year))
        });
        let mut rated: Vec<_> = rated.collect();
        rated.sort_by(|one, other| one.0.total_cmp(&other.0));
        let step = rated.len().div_ceil(MOST_POINTS).max(1);
        let (Some(first), Some(last)) = (rated.first(), rated.last()) else {
            return;
        };
        let ends = [first.2.to_string(), last.2.to_string()];
        let points: Vec<_> = rated
            .iter()
            .step_by(step)
            .map(|one| (one.0, one.1))
            .collect();
        let [from, to] = &ends;
        plot::append_line("Rating", [from, to], &points, out);
    }

    fn append_openings(&self, player: u32, out: &mut String) {
        let site = self.site();
        for (side, is_white) in [("White", true), ("Black", false)] {
            let mut openings: BTreeMap<String, Score> = BTreeMap::new();
            for entry in self.entries {
                let is_of = if is_white { entry.white } else { entry.black } == player;
                if let Some(eco) = entry.eco.filter(|_| is_of) {
                    openings
                        .entry(code(eco))
                        .or_default()
                        .add(entry.result, is_white);
                }
            }
            let mut openings: Vec<_> = openings.into_iter().collect();
            openings.sort_by_key(|(_, score)| std::cmp::Reverse(score.games()));
            if openings.is_empty() {
                continue;
            }
            let _ = write!(
                out,
                "<h2>Openings as {side}</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\">Opening</th>{}</tr></thead>\n<tbody>\n",
                Score::HEADS
            );
            for (code, score) in openings.into_iter().take(MOST_OPENINGS) {
                let address = site.address(&format!("eco/{code}.html"));
                let _ = write!(
                    out,
                    "<tr><th scope=\"row\"><a href=\"{address}\">{code}</a></th>"
                );
                score.append_cells(out);
                out.push_str("</tr>\n");
            }
            out.push_str("</tbody></table></div>\n");
        }
    }

    /// The page of an event of this kind.
    pub fn tournament(&self, kind: EventKind, facts: &[String]) -> String {
        let mut page = self.begin();
        if self.piece == 1 {
            page.markup("<ul class=\"facts\">\n");
            for fact in facts {
                page.element("li", fact);
            }
            page.markup("</ul>\n");
            event::append(&self.site(), kind, self.entries, &mut page.out);
        }
        self.end(page)
    }

    /// The page of an opening: its results, the moves that most games have, and
    /// how they go on.
    pub fn opening(&self, branches: &[Branch]) -> String {
        let mut page = self.begin();
        if self.piece == 1 {
            append_symbols(&mut page.out);
            let mut score = Score::default();
            for entry in self.entries {
                score.add(entry.result, true);
            }
            let _ = write!(
                page.out,
                "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Side</th>{}</tr></thead>\n<tbody>\n<tr><th scope=\"row\">White</th>",
                Score::HEADS
            );
            score.append_cells(&mut page.out);
            page.markup("</tr>\n</tbody></table></div>\n<div class=\"figures\">\n");
            append_years(
                self.entries.iter().map(|entry| entry.date.year),
                &mut page.out,
            );
            for branch in branches {
                append_branch(branch, &mut page.out);
            }
            page.markup("</div>\n");
        }
        self.end(page)
    }
}

fn append_branch(branch: &Branch, out: &mut String) {
    out.push_str("<figure>");
    Picture {
        last_move: branch.last.and_then(squares_of),
        ..Picture::of(&branch.position)
    }
    .append_to_page("diagram", out);
    out.push_str("<figcaption>");
    text::append(&branch.moves, out);
    let _ = writeln!(out, " ({} games)</figcaption></figure>", branch.games);
}

/// A plot of the games of each year, from the first to the last.
pub(super) fn append_years(years: impl Iterator<Item = u16>, out: &mut String) {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for year in years.filter(|year| *year > 0) {
        *counts.entry(year).or_default() += 1;
    }
    append_counted_years(&counts, out);
}

/// See [`append_years`].
pub(super) fn append_counted_years(counts: &BTreeMap<u16, u64>, out: &mut String) {
    let (Some(first), Some(last)) = (counts.keys().next(), counts.keys().last()) else {
        return;
    };
    let span = last - first + 1;
    // So many bars can be told apart.
    let step = span.div_ceil(120).max(1);
    let bars = (*first..=*last).step_by(step.into()).map(|year| {
        let of = counts.range(year..year.saturating_add(step));
        (year.to_string(), of.map(|(_, count)| *count).sum())
    });
    plot::append_bars("Games by year", &bars.collect::<Vec<_>>(), out);
}

/// A piece of the list of all players, tournaments or openings: names, paths
/// from the index, and how many games each has.
pub fn list(
    title: &str,
    folder: &str,
    rows: &[(String, String, usize)],
    all: usize,
    piece: usize,
) -> String {
    let mut page = Page::new(title, "list", 0);
    page.element("h1", title);
    page.markup("<div class=\"wide\"><table><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" class=\"r\">Games</th></tr></thead>\n<tbody>\n");
    for (name, path, games) in rows {
        page.markup("<tr><td>");
        page.name(name, Some(path));
        let _ = writeln!(page.out, "</td><td class=\"r\">{games}</td></tr>");
    }
    page.markup("</tbody></table></div>\n");
    let address = |piece: usize| match piece {
        1 => format!("{folder}.html"),
        piece => format!("{folder}-{piece}.html"),
    };
    Pieces {
        piece,
        rows: all,
        address: &address,
    }
    .append_links(&mut page.out);
    page.end()
}

/// What the index of a base tells.
#[derive(Debug, Default)]
pub struct Overview {
    /// Name of the base.
    pub title: String,
    /// Games by year, by result and by the first letter of the opening.
    pub years: BTreeMap<u16, u64>,
    /// Won by White, drawn, won by Black, without a result.
    pub results: [u64; 4],
    /// By the hundreds of ratings.
    pub ratings: BTreeMap<u16, u64>,
    /// By the letter and first digit of the opening code.
    pub openings: BTreeMap<String, u64>,
    /// Games.
    pub games: u64,
    /// The players and events with most games: numbers, and how many games.
    pub players: Vec<(u32, u64)>,
    /// See above.
    pub tournaments: Vec<(u32, u64)>,
    /// The latest games.
    pub latest: Vec<Entry>,
}

/// The index of a base.
pub fn index(names: &dyn Names, overview: &Overview) -> String {
    let mut page = Page::new(&overview.title, "index", 0);
    page.element("h1", &overview.title);
    let _ = writeln!(
        page.out,
        "<p>{} games</p>\n<div class=\"figures\">",
        overview.games
    );
    let out = &mut page.out;
    append_counted_years(&overview.years, out);
    let [white, draws, black, others] = overview.results;
    let results = [
        ("1–0", white),
        ("½–½", draws),
        ("0–1", black),
        ("*", others),
    ];
    plot::append_bars(
        "Results",
        &results.map(|(name, count)| (name.to_owned(), count)),
        out,
    );
    let bars = |counts: &BTreeMap<u16, u64>| {
        let bars = counts
            .iter()
            .map(|(name, count)| (name.to_string(), *count));
        bars.collect::<Vec<_>>()
    };
    plot::append_bars("Ratings of players", &bars(&overview.ratings), out);
    let openings = overview.openings.iter();
    let openings: Vec<_> = openings
        .map(|(name, count)| (name.clone(), *count))
        .collect();
    plot::append_bars("Openings", &openings, out);
    out.push_str("</div>\n<div class=\"figures\">\n");
    let site = Site { names, depth: 0 };
    for (title, kind, most) in [
        ("Players", Kind::Player, &overview.players),
        ("Tournaments", Kind::Tournament, &overview.tournaments),
    ] {
        let _ = writeln!(out, "<div><h2>{title} with most games</h2>\n<ol>");
        for (id, games) in most {
            out.push_str("<li>");
            site.append(kind, *id, out);
            let _ = writeln!(out, " ({games})</li>");
        }
        out.push_str("</ol></div>\n");
    }
    out.push_str("</div>\n");
    site.append_games("Latest games", &overview.latest, out);
    page.end()
}
