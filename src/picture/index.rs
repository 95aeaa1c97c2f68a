//! The index of a base.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::groups::{append_counted_years, count_words};
use super::page::Page;
use super::plot;
use super::tables::{GameEntry, GamesRow, Kind, Names, Site, code};

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
    /// Players with most games: number, and count of games.
    pub players: Vec<(u32, u64)>,
    /// Tournaments with most games: number, and count of games.
    pub tournaments: Vec<(u32, u64)>,
    /// The latest games.
    pub latest: Vec<GameEntry>,
}

impl Overview {
    /// Counts a game.
    pub fn count(&mut self, entry: &GameEntry) {
        self.games += 1;
        *self.years.entry(entry.date.year).or_default() += u64::from(entry.date.year > 0);
        let [white, draws, black, others] = &mut self.results;
        *match entry.result.pgn() {
            "1-0" => white,
            "1/2-1/2" => draws,
            "0-1" => black,
            _ => others,
        } += 1;
        for elo in entry.elo.into_iter().filter(|elo| *elo > 0) {
            *self.ratings.entry(elo / 100 * 100).or_default() += 1;
        }
        if let Some(eco) = entry.eco {
            let tens = code(eco).chars().take(2).collect();
            *self.openings.entry(tens).or_default() += 1;
        }
    }
}

/// The index of a base.
pub fn render(names: &dyn Names, overview: &Overview) -> String {
    let mut page = Page::new(&overview.title, "index", 0);
    page.element("h1", &overview.title);
    page.element("p", &count_words(overview.games));
    page.markup("<div class=\"figures\">\n");
    let out = &mut page.out;
    append_counted_years(&overview.years, out);
    let [white, draws, black, others] = overview.results;
    let mut results = vec![("1–0", white), ("½–½", draws), ("0–1", black)];
    results.extend((others > 0).then_some(("*", others)));
    let results = results.into_iter();
    let results: Vec<_> = results
        .map(|(name, count)| (name.to_owned(), count))
        .collect();
    plot::append_bars("Results", &results, out);
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
    let latest = overview.latest.iter().copied().map(GamesRow::Game);
    site.append_games("Latest games", None, latest, out);
    page.end()
}
