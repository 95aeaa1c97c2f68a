//! The page of one game.

use std::fmt::Write as _;

use super::board::{Picture, append_symbols, squares_of};
use super::moves::{Moves, Room, Written};
use super::page::{MOST_BYTES, Page, append_name, cut, up};
use super::{plot, text};
use crate::game::{Date, Defect, Game, GameResult, Headers, Position};

/// Folders between the index and the pages of games.
const DEPTH: usize = 1;

/// Bytes that the text of the game may take, what is still written when there is
/// no more room for moves (a remark, and the end of the page), and moves without
/// boards.
const MOST_OF_PGN: usize = 300_000;
const END: usize = 530_000;
const WITHOUT_BOARDS: usize = 300_000;

/// A game, and what its page links to.
#[derive(Debug)]
pub struct GamePage<'g> {
    /// Number of the game in its base.
    pub number: u32,
    /// The game.
    pub game: &'g Game,
    /// What is wrong with it.
    pub defects: &'g [Defect],
    /// Its text.
    pub pgn: &'g str,
    /// The pages it links to, as paths from the index.
    pub links: Links,
}

/// Pages about what a game belongs to, as paths from the index.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// White's player.
    pub white: Option<String>,
    /// Black's player.
    pub black: Option<String>,
    /// The event.
    pub tournament: Option<String>,
    /// The opening.
    pub eco: Option<String>,
    /// The name of the opening, if it has one.
    pub opening: Option<&'static str>,
}

impl GamePage<'_> {
    /// Makes the page.
    pub fn render(&self) -> String {
        let headers = &self.game.headers;
        let result = result_words(headers.result);
        let (white, black) = (headers.white.joined(), headers.black.joined());
        let mut page = Page::new(&format!("{white} – {black} {result}"), "game", DEPTH);
        append_symbols(&mut page.out);
        self.append_head(&mut page, result);
        for defect in self.defects.iter().take(20) {
            page.warning(&format!("This game could not be read completely. {defect}"));
        }
        page.markup("<div class=\"view\">\n<div class=\"stage\" id=\"stage\">\n");
        append_last_position(self.game, &mut page.out);
        page.markup("</div>\n<div class=\"notation\">\n");
        let mut plots = String::new();
        plot::append_plots(self.game, &mut plots);
        let whole = MOST_BYTES.saturating_sub(END + plots.len());
        let room = Room {
            with_boards: whole.saturating_sub(WITHOUT_BOARDS),
            whole,
        };
        let written = Moves::new(self.game, room).append_to(&mut page.out);
        warn_of_length(written, &mut page);
        append_result(headers, &mut page.out);
        page.markup("</div>\n</div>\n");
        page.markup(&plots);
        self.append_text(&mut page);
        page.end()
    }

    fn append_head(&self, page: &mut Page, result: &str) {
        let headers = &self.game.headers;
        let (up, out) = (up(DEPTH), &mut page.out);
        let address = |path: &Option<String>| path.as_ref().map(|path| format!("{up}{path}"));
        out.push_str("<header>\n<h1>");
        let white = (&headers.white, headers.white_elo, &self.links.white);
        let black = (&headers.black, headers.black_elo, &self.links.black);
        for ((player, elo, path), end) in [(white, " – "), (black, " ")] {
            append_name(&player.joined(), address(path).as_deref(), out);
            if elo != 0 {
                let _ = write!(out, " <small>{elo}</small>");
            }
            out.push_str(end);
        }
        let _ = writeln!(out, "<span class=\"result\">{result}</span></h1>");
        self.append_facts(
            address(&self.links.tournament).as_deref(),
            address(&self.links.eco).as_deref(),
            out,
        );
        out.push_str("</header>\n");
    }

    fn append_facts(&self, tournament: Option<&str>, eco: Option<&str>, out: &mut String) {
        let headers = &self.game.headers;
        out.push_str("<ul class=\"facts\">\n");
        let event = &headers.tournament;
        if !event.title.is_empty() || !event.place.is_empty() {
            out.push_str("<li>");
            let name = [&event.title, &event.place].map(String::as_str);
            let parts = name.into_iter().filter(|part| !part.is_empty());
            let name = parts.collect::<Vec<_>>().join(", ");
            append_name(&name, tournament, out);
            out.push_str("</li>\n");
        }
        if let Some(round) = round_words(headers.round.into(), headers.subround.into()) {
            let _ = writeln!(out, "<li>Round {round}</li>");
        }
        if let Some(date) = date_words(headers.date) {
            let _ = writeln!(out, "<li>{date}</li>");
        }
        if let Some(code) = headers.eco {
            out.push_str("<li>");
            append_name(&code.to_string(), eco, out);
            if let Some(name) = self.links.opening {
                let _ = write!(out, " {}", text::escaped(name));
            }
            out.push_str("</li>\n");
        }
        let teams = [&headers.white_team, &headers.black_team];
        let teams = teams.map(|team| team.title.as_str());
        if teams.iter().any(|team| !team.is_empty()) {
            fact("Teams: ", &teams.join(" – "), out);
        }
        fact("Annotator: ", &headers.annotator, out);
        fact("Source: ", &headers.source.title, out);
        if self.game.start.is_chess960 {
            out.push_str("<li>Chess960</li>\n");
        }
        let _ = writeln!(out, "<li>Game {}</li>\n</ul>", self.number);
    }

    /// The text of the game, to be copied.
    fn append_text(&self, page: &mut Page) {
        let room = MOST_BYTES.saturating_sub(page.out.len() + 1000);
        let pgn = text::escaped(self.pgn);
        if pgn.len() > room.min(MOST_OF_PGN) {
            return;
        }
        page.markup("<details class=\"pgn\"><summary>PGN</summary>\n<pre tabindex=\"0\">");
        page.markup(&pgn);
        page.markup("</pre></details>\n");
    }
}

/// Says what a long game has no room for.
fn warn_of_length(written: Written, page: &mut Page) {
    if written.without_boards > 0 {
        let count = written.without_boards;
        page.warning(&format!(
            "This game is longer than a page with boards may be: its last {count} moves are there without."
        ));
    }
    if written.left_out > 0 {
        page.warning("It is longer than any page may be: the rest is in its PGN file.");
    }
}

fn fact(what: &str, words: &str, out: &mut String) {
    if !words.trim().is_empty() {
        let _ = write!(out, "<li>{what}<bdi>");
        text::append(&cut(words), out);
        out.push_str("</bdi></li>\n");
    }
}

/// The board as it is without a script: the last position of the main line.
fn append_last_position(game: &Game, out: &mut String) {
    let mut position = game.start.position.clone();
    let mut last = None;
    for id in game.tree.main_line() {
        let m = game.tree.ply(id).and_then(|ply| ply.mv);
        step(&mut position, m);
        last = m;
    }
    Picture {
        last_move: last.and_then(squares_of),
        ..Picture::of(&position)
    }
    .append_to_page_with_names("board", out);
}

/// Plays a move of a game, which is legal.
pub(super) fn step(position: &mut Position, m: Option<shakmaty::Move>) {
    match m {
        Some(m) => drop(position.play(m)),
        None => position.play_null(),
    }
}

fn append_result(headers: &Headers, out: &mut String) {
    let _ = writeln!(out, "<p class=\"end\">{}</p>", result_words(headers.result));
}

/// A result as pages show it.
pub(super) fn result_words(result: GameResult) -> &'static str {
    match result {
        GameResult::WhiteWon => "1–0",
        GameResult::BlackWon => "0–1",
        GameResult::Draw => "½–½",
        GameResult::WhiteWonByForfeit => "+–−",
        GameResult::BlackWonByForfeit => "−–+",
        GameResult::DrawByForfeit => "=–=",
        GameResult::BothLost => "0–0",
        GameResult::Line => "*",
    }
}

/// A round, and which game of it.
pub(super) fn round_words(round: u32, subround: u32) -> Option<String> {
    match (round, subround) {
        (0, 0) => None,
        (round, 0) => Some(round.to_string()),
        (round, subround) => Some(format!("{round}.{subround}")),
    }
}

/// A date with as much as is known of it.
pub fn date_words(date: Date) -> Option<String> {
    match (date.year, date.month, date.day) {
        (0, _, _) => None,
        (year, 0, _) => Some(format!("{year:04}")),
        (year, month, 0) => Some(format!("{year:04}-{month:02}")),
        (year, month, day) => Some(format!("{year:04}-{month:02}-{day:02}")),
    }
}
