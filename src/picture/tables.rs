//! Tables of games: what a page knows of a game, its rows, and how a page that
//! is too long is cut into pieces.

use std::fmt::Write as _;

use super::game::{date_words, result_words, round_words};
use super::page::{append_name, up};
use crate::game::{Date, Eco, GameResult};

/// Games, or other rows, of one piece of a page.
pub const ROWS: usize = 500;

/// Characters of a name in a table.
const MOST_OF_NAME: usize = 60;

/// What a page knows of a game. Players, events and teams are numbers of
/// [`Names`].
#[derive(Clone, Copy, Debug)]
pub struct GameEntry {
    /// Number of the game.
    pub number: u32,
    /// White's player.
    pub white: u32,
    /// Black's player.
    pub black: u32,
    /// The event.
    pub event: u32,
    /// The teams of White and Black.
    pub teams: [Option<u32>; 2],
    /// The ratings of White and Black, 0 if not given.
    pub elo: [u16; 2],
    /// The result.
    pub result: GameResult,
    /// Round and game of the round, 0 if not given.
    pub round: [u16; 2],
    /// The date.
    pub date: Date,
    /// The opening.
    pub eco: Option<Eco>,
    /// Number of moves.
    pub moves: u16,
}

/// A row of a table of games.
#[derive(Clone, Copy, Debug)]
pub enum GamesRow {
    /// What is known of a game.
    Game(GameEntry),
    /// The number of a game of which nothing can be read.
    Unreadable(u32),
}

/// What all games of a page have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// The event.
    Event,
    /// The opening.
    Opening,
}

/// Kind of a named entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A player.
    Player,
    /// An event.
    Tournament,
    /// A team.
    Team,
}

/// Tells names, and where the pages of those who have them lie.
pub trait Names: std::fmt::Debug {
    /// The name, empty if there is none.
    fn name(&self, kind: Kind, id: u32) -> String;

    /// The page, as a path from the index.
    fn path(&self, kind: Kind, id: u32) -> Option<String>;
}

/// What a side got in a game, in half points; `None` without a result.
pub(super) fn halves(result: GameResult, is_white: bool) -> Option<u32> {
    let white = match result {
        GameResult::WhiteWon | GameResult::WhiteWonByForfeit => 2,
        GameResult::Draw | GameResult::DrawByForfeit => 1,
        GameResult::BlackWon | GameResult::BlackWonByForfeit => 0,
        GameResult::BothLost => return Some(0),
        GameResult::Line => return None,
    };
    Some(if is_white { white } else { 2 - white })
}

/// Half points as points: `6½`.
pub(super) fn points(halves: u32) -> String {
    match (halves / 2, halves % 2) {
        (0, 1) => "½".to_owned(),
        (whole, 0) => whole.to_string(),
        (whole, _) => format!("{whole}½"),
    }
}

/// The opening code and the page of it.
pub fn code(eco: Eco) -> String {
    String::from_utf8_lossy(&eco.bytes()).into_owned()
}

/// Games won, drawn, lost, and others, of one who played them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableScore {
    pub(super) won: u32,
    pub(super) drawn: u32,
    pub(super) lost: u32,
    pub(super) other: u32,
}

impl TableScore {
    pub(super) fn add(&mut self, result: GameResult, is_white: bool) {
        match halves(result, is_white) {
            Some(2) => self.won += 1,
            Some(1) => self.drawn += 1,
            Some(_) => self.lost += 1,
            None => self.other += 1,
        }
    }

    pub(super) fn games(&self) -> u32 {
        self.won + self.drawn + self.lost + self.other
    }

    pub(super) fn percent(&self) -> Option<f64> {
        let decided = self.won + self.drawn + self.lost;
        let points = f64::from(self.won) + f64::from(self.drawn) / 2.0;
        (decided > 0).then(|| 100.0 * points / f64::from(decided))
    }

    /// Cells: games, won, drawn, lost, percent.
    pub(super) fn append_cells(&self, out: &mut String) {
        for number in [self.games(), self.won, self.drawn, self.lost] {
            let _ = write!(out, "<td class=\"r\">{number}</td>");
        }
        let percent = self.percent().map(|percent| format!("{percent:.1} %"));
        let _ = write!(out, "<td class=\"r\">{}</td>", percent.unwrap_or_default());
    }

    /// A table of what some have scored.
    pub(super) fn append_table(rows: &[(&str, TableScore)], out: &mut String) {
        let _ = write!(
            out,
            "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Side</th>{}</tr></thead>\n<tbody>\n",
            TableScore::HEADS
        );
        for (name, score) in rows {
            let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
            score.append_cells(out);
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
    }

    pub(super) const HEADS: &'static str = "<th scope=\"col\" class=\"r\">Games</th><th scope=\"col\" class=\"r\">Won</th><th scope=\"col\" class=\"r\">Drawn</th><th scope=\"col\" class=\"r\">Lost</th><th scope=\"col\" class=\"r\">Score</th>";
}

impl std::ops::Add for TableScore {
    type Output = TableScore;

    fn add(self, other: TableScore) -> TableScore {
        TableScore {
            won: self.won + other.won,
            drawn: self.drawn + other.drawn,
            lost: self.lost + other.lost,
            other: self.other + other.other,
        }
    }
}

/// A page's place on the site, and who knows names.
pub(super) struct Site<'n> {
    pub(super) names: &'n dyn Names,
    pub(super) depth: usize,
}

impl Site<'_> {
    /// The address of a path from the index.
    pub(super) fn address(&self, path: &str) -> String {
        up(self.depth) + path
    }

    /// Appends a name with a link to its page.
    pub(super) fn append(&self, kind: Kind, id: u32, out: &mut String) {
        let path = self.names.path(kind, id).map(|path| self.address(&path));
        append_name(&short(self.names.name(kind, id)), path.as_deref(), out);
    }

    /// The table of some games. What they have in common has no column.
    pub(super) fn append_games(
        &self,
        title: &str,
        common: Option<Common>,
        rows: impl IntoIterator<Item = GamesRow>,
        out: &mut String,
    ) {
        let _ = writeln!(out, "<h2>{title}</h2>");
        out.push_str(
            "<div class=\"wide\"><table class=\"games\"><thead><tr><th scope=\"col\">Date</th>\
             <th scope=\"col\">White</th><th scope=\"col\" class=\"r\">Elo</th><th scope=\"col\">Black</th>\
             <th scope=\"col\" class=\"r\">Elo</th><th scope=\"col\">Result</th>",
        );
        if common != Some(Common::Opening) {
            out.push_str("<th scope=\"col\">Opening</th>");
        }
        if common != Some(Common::Event) {
            out.push_str("<th scope=\"col\">Event</th>");
        }
        out.push_str("<th scope=\"col\">Round</th><th scope=\"col\" class=\"r\">Moves</th></tr></thead>\n<tbody>\n");
        for row in rows {
            match row {
                GamesRow::Game(entry) => self.append_game(&entry, common, out),
                GamesRow::Unreadable(number) => self.append_unreadable(number, common, out),
            }
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn append_unreadable(&self, number: u32, common: Option<Common>, out: &mut String) {
        let address = self.game(number);
        let rest = if common.is_some() { 8 } else { 9 };
        let _ = writeln!(
            out,
            "<tr><td></td><td colspan=\"{rest}\"><a href=\"{address}\">Game {number}</a> cannot be read</td></tr>"
        );
    }

    /// The address of a game's page.
    pub(super) fn game(&self, number: u32) -> String {
        self.address(&format!("games/{number:06}.html"))
    }

    fn append_game(&self, entry: &GameEntry, common: Option<Common>, out: &mut String) {
        let elo = |elo: u16| match elo {
            0 => String::new(),
            elo => elo.to_string(),
        };
        let [white_elo, black_elo] = entry.elo.map(elo);
        let date = date_words(entry.date).unwrap_or_default();
        let _ = write!(out, "<tr><td>{date}</td><td>");
        self.append(Kind::Player, entry.white, out);
        let _ = write!(out, "</td><td class=\"r\">{white_elo}</td><td>");
        self.append(Kind::Player, entry.black, out);
        let address = self.game(entry.number);
        let result = result_words(entry.result);
        let _ = write!(
            out,
            "</td><td class=\"r\">{black_elo}</td><td><a href=\"{address}\">{result}</a>"
        );
        if common != Some(Common::Opening) {
            out.push_str("</td><td>");
            self.append_opening(entry, out);
        }
        if common != Some(Common::Event) {
            out.push_str("</td><td>");
            self.append(Kind::Tournament, entry.event, out);
        }
        let [round, game] = entry.round.map(u32::from);
        let round = round_words(round, game).unwrap_or_default();
        let moves = entry.moves;
        let _ = writeln!(
            out,
            "</td><td>{round}</td><td class=\"r\">{moves}</td></tr>"
        );
    }

    fn append_opening(&self, entry: &GameEntry, out: &mut String) {
        let Some(eco) = entry.eco else {
            return;
        };
        let code = code(eco);
        let address = self.address(&format!("eco/{code}.html"));
        let _ = write!(out, "<a href=\"{address}\">{code}</a>");
    }
}

/// A name as far as a table shows it.
fn short(name: String) -> String {
    if name.len() <= MOST_OF_NAME {
        return if name.trim().is_empty() {
            "?".to_owned()
        } else {
            name
        };
    }
    let mut short: String = name.chars().take(MOST_OF_NAME).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}

/// Which piece of a page is shown, and how the others are called.
#[derive(Clone, Copy)]
pub(super) struct PagePieces<'a> {
    /// This piece, from 1.
    pub(super) piece: usize,
    /// How many there are.
    pub(super) count: usize,
    /// The address of a piece.
    pub(super) address: &'a dyn Fn(usize) -> String,
}

/// How many pieces so many rows have; one at least.
pub fn pieces(rows: usize) -> usize {
    rows.div_ceil(ROWS).max(1)
}

/// The rows of a piece of a page.
pub fn piece_of<T>(rows: &[T], piece: usize) -> &[T] {
    let first = piece.saturating_sub(1).saturating_mul(ROWS).min(rows.len());
    let end = first.saturating_add(ROWS).min(rows.len());
    rows.get(first..end).unwrap_or_default()
}

impl PagePieces<'_> {
    /// Links to the others, if there are any: the first and last, and those
    /// near this one.
    pub(super) fn append_links(&self, out: &mut String) {
        let last = self.count;
        if last == 1 {
            return;
        }
        out.push_str("<nav class=\"pieces-of\" aria-label=\"Pieces of this page\"><ul>\n");
        let near = |piece: &usize| {
            *piece <= 2
                || *piece + 2 > last
                || piece.abs_diff(self.piece) <= 5
                || piece.is_multiple_of(50)
        };
        for piece in (1..=last).filter(near) {
            let current = if piece == self.piece {
                " aria-current=\"page\""
            } else {
                ""
            };
            let address = (self.address)(piece);
            let _ = writeln!(out, "<li><a href=\"{address}\"{current}>{piece}</a></li>");
        }
        out.push_str("</ul></nav>\n");
    }
}
