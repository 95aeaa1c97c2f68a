//! The figures of a player.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::groups::append_counted_years;
use super::tables::{GameEntry, Site, TableScore, code};
use super::{plot, text};

/// Openings in the table of a player.
const MOST_OPENINGS: usize = 20;

/// What the games of a player come to. It takes the same memory however many
/// there are.
#[derive(Debug)]
pub struct PlayerTally {
    /// Games that cannot be read.
    pub unreadable: u64,
    player: u32,
    scores: [TableScore; 2],
    years: BTreeMap<u16, u64>,
    /// By year and month: the sum of ratings, and how many they are.
    ratings: BTreeMap<(u16, u8), (u64, u64)>,
    /// As White and as Black, by code.
    openings: [BTreeMap<String, TableScore>; 2],
}

impl PlayerTally {
    /// Of a player without games.
    pub fn of(player: u32) -> PlayerTally {
        PlayerTally {
            player,
            unreadable: 0,
            scores: Default::default(),
            years: BTreeMap::new(),
            ratings: BTreeMap::new(),
            openings: Default::default(),
        }
    }

    /// Counts a game.
    pub fn add(&mut self, entry: &GameEntry) {
        let date = entry.date;
        let sides = [(entry.white, true), (entry.black, false)];
        let scores = self.scores.iter_mut().zip(&mut self.openings);
        for ((id, is_white), (score, openings)) in sides.into_iter().zip(scores) {
            if id != self.player {
                continue;
            }
            score.add(entry.result, is_white);
            if let Some(eco) = entry.eco {
                let opening = openings.entry(code(eco)).or_default();
                opening.add(entry.result, is_white);
            }
        }
        if date.year > 0 {
            *self.years.entry(date.year).or_default() += 1;
        }
        let [white, black] = entry.elo;
        let is_white = entry.white == self.player;
        let elo = if is_white { white } else { black };
        if elo > 0 && date.year > 0 {
            let month = (date.year, date.month.clamp(1, 12));
            let (sum, count) = self.ratings.entry(month).or_default();
            *sum += u64::from(elo);
            *count += 1;
        }
    }

    /// Appends scores and plots.
    pub(super) fn append(&self, site: &Site<'_>, out: &mut String) {
        self.append_scores(out);
        out.push_str("<div class=\"figures\">\n");
        self.append_ratings(out);
        append_counted_years(&self.years, out);
        out.push_str("</div>\n<div class=\"figures\">\n");
        let [white, black] = &self.openings;
        append_openings(site, "White", white, out);
        append_openings(site, "Black", black, out);
        out.push_str("</div>\n");
    }

    fn append_scores(&self, out: &mut String) {
        let [white, black] = self.scores;
        TableScore::append_table(
            &[("White", white), ("Black", black), ("Both", white + black)],
            out,
        );
    }

    /// The rating over time: its mean of each month.
    fn append_ratings(&self, out: &mut String) {
        let (Some((first, _)), Some((last, _))) = (
            self.ratings.first_key_value(),
            self.ratings.last_key_value(),
        ) else {
            return;
        };
        let points = self.ratings.iter().map(|((year, month), (sum, count))| {
            let when = f64::from(*year) * 12.0 + f64::from(*month);
            let mean = u32::try_from(sum / (*count).max(1)).unwrap_or(0);
            (when, f64::from(mean))
        });
        let ends = [first, last].map(|(year, _)| year.to_string());
        let [from, to] = &ends;
        plot::append_line("Rating", [from, to], &points.collect::<Vec<_>>(), out);
    }
}

fn append_openings(
    site: &Site<'_>,
    side: &str,
    openings: &BTreeMap<String, TableScore>,
    out: &mut String,
) {
    let mut openings: Vec<_> = openings.iter().collect();
    openings.sort_by_key(|(_, score)| std::cmp::Reverse(score.games()));
    if openings.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<div><h2>Openings as {side}</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\">Opening</th>{}</tr></thead>\n<tbody>\n",
        TableScore::HEADS
    );
    for (code, score) in openings.into_iter().take(MOST_OPENINGS) {
        let address = site.address(&format!("eco/{code}.html"));
        let code = text::escaped(code);
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><a href=\"{address}\">{code}</a></th>"
        );
        score.append_cells(out);
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></div>\n");
}
