//! Pages about games that have something in common: a player, an event, an
//! opening.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::board::append_symbols;
use super::event;
use super::opening::{OpeningTally, OpeningTree};
use super::page::{MOST_BYTES, Page};
use super::player::PlayerTally;
use super::plot;
use super::tables::{Common, GameEntry, GamesRow, Names, PagePieces, ROWS, Site, pieces};
use crate::game::EventKind;

/// Bytes that heads of tables and the end of a page take, at most.
const END: usize = 30_000;

/// One piece of a page about a group of games.
#[derive(Debug)]
pub struct GroupPage<'g> {
    /// Tells names.
    pub names: &'g dyn Names,
    /// Name of the group.
    pub title: &'g str,
    /// Last part of the addresses of its pages.
    pub file: &'g str,
    /// The games of this piece.
    pub rows: &'g [GamesRow],
    /// What the games have in common, if that is no player.
    pub common: Option<Common>,
    /// How many games there are in all pieces.
    pub all: usize,
    /// Number of pieces.
    pub pieces: usize,
    /// Number of this piece, from 1.
    pub piece: usize,
}

/// What is known of an event.
#[derive(Debug, Default)]
pub struct EventFacts {
    /// Its kind.
    pub kind: EventKind,
    /// What else is known, in words.
    pub facts: Vec<String>,
    /// Its games.
    pub entries: Vec<GameEntry>,
    /// Number of games that cannot be read.
    pub unreadable: u64,
    /// Whether there are too many games for standings.
    pub is_too_large: bool,
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
    fn games(&self) -> String {
        let mut out = String::new();
        let file = self.file;
        let address = |piece: usize| match (self.piece, piece) {
            (1, 1) => file.to_owned(),
            (1, piece) => format!("{piece}/{file}"),
            (_, 1) => format!("../{file}"),
            (_, piece) => format!("../{piece}/{file}"),
        };
        let rows = self.rows.iter().copied();
        let site = self.site();
        site.append_games("Games", self.common, rows, &mut out);
        PagePieces {
            piece: self.piece,
            count: self.pieces,
            address: &address,
        }
        .append_links(&mut out);
        let rest = self.all.saturating_sub(self.pieces.saturating_mul(ROWS));
        if rest > 0 {
            let games = count_words(rest as u64);
            let _ = writeln!(out, "<p>{games} more have no place in these pages.</p>");
        }
        out
    }

    fn end(&self, mut page: Page) -> String {
        page.markup(&self.games());
        page.end()
    }

    /// A page of games alone: the second piece, the third, and so on.
    pub fn further(&self) -> String {
        self.end(self.begin())
    }

    /// The first page of a player.
    pub fn player(&self, tally: &PlayerTally) -> String {
        let mut page = self.begin();
        warn_of_unreadable(tally.unreadable, &mut page);
        tally.append(&self.site(), &mut page.out);
        self.end(page)
    }

    /// The first page of an event.
    pub fn tournament(&self, event: &EventFacts) -> String {
        let mut page = self.begin();
        page.markup("<ul class=\"facts\">\n");
        for fact in &event.facts {
            page.element("li", fact);
        }
        page.markup("</ul>\n");
        warn_of_unreadable(event.unreadable, &mut page);
        if event.is_too_large {
            page.element("p", "There are too many games for a table of who won.");
        }
        let games = self.games();
        let room = MOST_BYTES.saturating_sub(page.out.len() + games.len() + END);
        event::append(&self.site(), event, room, &mut page.out);
        page.markup(&games);
        page.end()
    }

    /// The first page of an opening: its results, the moves that most games have,
    /// and how they go on.
    pub fn opening(&self, tally: &OpeningTally, tree: &OpeningTree) -> String {
        let mut page = self.begin();
        append_symbols(&mut page.out);
        if let Some(name) = tree.name {
            page.markup("<ul class=\"facts\">\n");
            page.element("li", name);
            page.markup("</ul>\n");
        }
        warn_of_unreadable(tally.unreadable, &mut page);
        tally.append(&mut page.out);
        tree.append(self.all, &mut page.out);
        self.end(page)
    }
}

/// Says that figures leave games out.
fn warn_of_unreadable(count: u64, page: &mut Page) {
    if count > 0 {
        let games = count_words(count);
        page.warning(&format!(
            "{games} cannot be read. The figures leave them out."
        ));
    }
}

/// So many games, in words.
pub fn count_words(games: u64) -> String {
    match games {
        1 => "1 game".to_owned(),
        games => format!("{games} games"),
    }
}

/// A plot of the games of each year, from the first to the last.
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
    PagePieces {
        piece,
        count: pieces(all),
        address: &address,
    }
    .append_links(&mut page.out);
    page.end()
}
