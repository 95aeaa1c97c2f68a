//! The moves of a position as a table, and all its numbers as JSON.

use serde_json::{Value, json};
use shakmaty::{CastlingMode, Color, Move};

use super::moves::{Played, Statistics};
use crate::game::Position;
use crate::openings::{self, Opening};

/// The first line of a table of moves: the columns of an opening book, and the
/// year of the latest game.
pub const MOVE_COLUMNS: &str = "san\tuci\tgames\twhite\tdraws\tblack\tscore\tavg\tperf\tweight\tprob\tflags\tannotation\tcomment\tchild\teco\topening\ttransposes\tlast";

/// A move that was played in a position.
#[derive(Clone, Debug)]
pub struct PlayedMove<'p> {
    /// The move; `None` is a null move.
    pub m: Option<Move>,
    /// Its notation, without a mark of check or mate; `--` of a null move.
    pub san: String,
    /// The position after it.
    pub after: Position,
    /// Those of the games that played it.
    pub numbers: &'p Statistics,
    /// How many games reach the position after it, whichever way.
    pub reaching: u32,
}

impl Played {
    /// The moves that were played, most games first. `position` is the one
    /// that they were played in.
    pub fn moves_in(&self, position: &Position) -> Vec<PlayedMove<'_>> {
        let moves = self.moves.iter().filter_map(|(&m, numbers)| {
            let mut after = position.clone();
            let san = if let Some(m) = m {
                after.play(m).ok()?.to_string()
            } else {
                after.play_null();
                "--".to_owned()
            };
            Some(PlayedMove {
                m,
                san: san.trim_end_matches(['+', '#']).to_owned(),
                after,
                numbers,
                reaching: self.children.get(&m).copied().unwrap_or(0),
            })
        });
        let mut moves: Vec<_> = moves.collect();
        moves.sort_by(|one, other| {
            let games = other.numbers.games.cmp(&one.numbers.games);
            games.then_with(|| one.san.cmp(&other.san))
        });
        moves
    }

    /// A line for each move, most games first, after the line of names.
    pub fn table(&self, position: &Position) -> String {
        let mut table = MOVE_COLUMNS.to_owned() + "\n";
        for played in self.moves_in(position) {
            table += &played.row(position);
            table.push('\n');
        }
        table
    }

    /// The numbers of the position, whose FEN is given, and of its moves, with
    /// those that they are made of.
    pub fn json(&self, position: &Position, fen: &str) -> Value {
        let mover = position.turn();
        let moves = self.moves_in(position);
        let moves = moves.iter().map(|played| played.json(position));
        json!({
            "fen": fen,
            "to_move": mover.fold_wb("white", "black"),
            "opening": opening_of(position).map(opening_json),
            "position": self.here.json(mover),
            "moves": moves.collect::<Vec<_>>(),
        })
    }
}

impl PlayedMove<'_> {
    fn uci(&self, mode: CastlingMode) -> String {
        let uci = self.m.map(|m| m.to_uci(mode).to_string());
        uci.unwrap_or_else(|| "0000".to_owned())
    }

    fn transposes(&self) -> bool {
        self.reaching > self.numbers.games
    }

    fn row(&self, position: &Position) -> String {
        let (numbers, mover) = (self.numbers, position.turn());
        let opening = opening_of(&self.after);
        let rounded =
            |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:.0}"));
        let score = numbers.score();
        let fields = [
            self.san.clone(),
            self.uci(position.castling_mode()),
            numbers.games.to_string(),
            numbers.white.to_string(),
            numbers.draws.to_string(),
            numbers.black.to_string(),
            score.map_or(String::new(), |score| format!("{:.1}", 100.0 * score)),
            rounded(numbers.average(mover)),
            rounded(numbers.performance(mover)),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            "1".to_owned(),
            opening.map_or(String::new(), |opening| opening.eco.to_string()),
            opening.map_or(String::new(), |opening| opening.name.to_owned()),
            u8::from(self.transposes()).to_string(),
            match numbers.last {
                0 => String::new(),
                year => year.to_string(),
            },
        ];
        fields.join("\t")
    }

    fn json(&self, position: &Position) -> Value {
        let (numbers, mover) = (self.numbers, position.turn());
        json!({
            "san": self.san,
            "uci": self.uci(position.castling_mode()),
            "avg": numbers.average(mover),
            "perf": numbers.performance(mover),
            "opening": opening_of(&self.after).map(opening_json),
            "transposes": self.transposes(),
            "child_games": self.reaching,
            "played": numbers.json(mover),
        })
    }
}

impl Statistics {
    /// Its numbers in JSON; "own" is `side`.
    fn json(&self, side: Color) -> Value {
        let [white_rated, black_rated] = self.rated;
        let [white_ratings, black_ratings] = self.ratings;
        let share = self.score();
        json!({
            "games": self.games,
            "white": self.white,
            "draws": self.draws,
            "black": self.black,
            "white_score": share,
            "own_wins": side.fold_wb(self.white, self.black),
            "own_losses": side.fold_wb(self.black, self.white),
            "own_score": share.map(|share| side.fold_wb(share, 1.0 - share)),
            "white_ratings": {"players": white_rated, "sum": white_ratings},
            "black_ratings": {"players": black_rated, "sum": black_ratings},
            "white_avg": self.average(Color::White),
            "black_avg": self.average(Color::Black),
            "last": (self.last != 0).then_some(self.last),
        })
    }
}

fn opening_of(position: &Position) -> Option<Opening> {
    match position.castling_mode() {
        CastlingMode::Standard => openings::of_position(position),
        CastlingMode::Chess960 => None,
    }
}

fn opening_json(opening: Opening) -> Value {
    json!({"eco": opening.eco.to_string(), "name": opening.name})
}
