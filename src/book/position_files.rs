//! The texts of the files in the directory of one position.

use std::io::Write;

use serde_json::{Value, json};
use shakmaty::Color;

use super::choice::{Choice, choices};
use super::export::{
    ExportError, Exported, MOST_GAME_BYTES, PgnOptions, write_line, write_openings, write_pgn,
};
use super::text::{MOVE_COLUMNS, move_line, uci, unmarked};
use super::walk::Limits;
use super::{
    Book, BookEntry, BookLine, BookStatistics, Error, GameReference, RatingSum, board_fields,
};
use crate::game::Position;

/// Number of plies that `book.pgn` continues after the position.
pub const BOOK_PLIES: u32 = 12;

/// `line.pgn`: the moves that lead to the position.
pub fn line_pgn(book: &dyn Book, line: &BookLine) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = write_line(book, line, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `book.pgn`: the moves that lead to the position, and twelve plies of the
/// book after it.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
pub fn book_pgn(
    book: &dyn Book,
    line: &BookLine,
    positions: u32,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    write_pgn(book, line, options(positions), out)
}

/// `openings.pgn`: the same as games that are no longer than Scid reads.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
pub fn openings_pgn(
    book: &dyn Book,
    line: &BookLine,
    positions: u32,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    write_openings(book, line, options(positions), MOST_GAME_BYTES, out)
}

fn options(positions: u32) -> PgnOptions {
    PgnOptions {
        limits: Limits {
            positions,
            plies: BOOK_PLIES,
        },
        has_numbers: true,
    }
}

/// `moves.tsv`: a row for each move, sorted by games. Only the column names if
/// the position is not in the book.
///
/// # Errors
///
/// As [`Book::find`].
pub fn moves_tsv(book: &dyn Book, position: &Position) -> Result<String, Error> {
    let mut text = MOVE_COLUMNS.to_owned() + "\n";
    if let Some(entry) = book.look_up(position)? {
        for choice in choices(book, position, &entry)? {
            text += &move_line(&choice);
            text.push('\n');
        }
    }
    Ok(text)
}

/// `stats.json`: all statistics of the position and of its moves, with the raw
/// values.
///
/// # Errors
///
/// As [`Book::find`].
pub fn stats_json(book: &dyn Book, position: &Position) -> Result<String, Error> {
    let found = book.look_up(position)?;
    let mut value = json!({
        "fen": format!("{} 0 1", board_fields(position)),
        "in_book": found.is_some(),
        "to_move": position.turn().fold_wb("white", "black"),
    });
    if let (Some(entry), Value::Object(fields)) = (found, &mut value) {
        let choices = choices(book, position, &entry)?;
        fields.insert("position".to_owned(), entry_json(&entry, position.turn()));
        let moves = choices
            .iter()
            .map(|choice| choice_json(choice, position.turn()));
        fields.insert("moves".to_owned(), moves.collect());
        let refused = entry.refused.iter();
        let refused = refused.map(|refused| {
            json!({"code": refused.code, "annotation": refused.annotation, "why": refused.to_string()})
        });
        fields.insert("no_moves".to_owned(), refused.collect());
    }
    Ok(format!("{value:#}\n"))
}

fn choice_json(choice: &Choice, mover: Color) -> Value {
    json!({
        "san": unmarked(choice.san),
        "uci": uci(&choice.book_move),
        "code": choice.book_move.code,
        "annotation": choice.book_move.annotation,
        "polyglot_weight": choice.weight,
        "prob": choice.share,
        "avg": choice.average(),
        "perf": choice.performance(),
        "child": choice.child.as_ref().map(|child| entry_json(child, mover)),
    })
}

/// An entry in JSON; "own" is `side`.
fn entry_json(entry: &BookEntry, side: Color) -> Value {
    let BookStatistics {
        games,
        white,
        draws,
        black,
        score,
        ratings,
    } = entry.statistics;
    let statistics = &entry.statistics;
    let share = statistics.white_score();
    json!({
        "games": games,
        "white": white,
        "draws": draws,
        "black": black,
        "white_points_tenths": score,
        "white_score": share,
        "own_wins": statistics.wins_of(side),
        "own_losses": statistics.wins_of(!side),
        "own_score": share.map(|share| side.fold_wb(share, 1.0 - share)),
        "white_ratings": ratings.map(|ratings| ratings_json(ratings.white)),
        "black_ratings": ratings.map(|ratings| ratings_json(ratings.black)),
        "white_avg": statistics.average(Color::White),
        "black_avg": statistics.average(Color::Black),
        "flags": entry.flags.0,
        "recommendation": entry.flags.to_string(),
        "weight": entry.weight,
        "comment": entry.comment,
        "text": entry.text,
        "last_here": entry.last_here.iter().copied().map(reference_json).collect::<Vec<_>>(),
        "sample": entry.sample.map(reference_json),
    })
}

fn ratings_json(RatingSum { players, sum }: RatingSum) -> Value {
    json!({"players": players, "sum": sum})
}

fn reference_json(GameReference { source, game }: GameReference) -> Value {
    json!({"source": source, "game": game})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::PositionRecord;
    use crate::book::ctg::CtgBook;

    fn sample() -> CtgBook {
        let sample = std::path::Path::new("fixtures/book/small/small.ctg");
        CtgBook::open(sample).unwrap()
    }

    /// A line of the sample book, 1. e4, and one that it has not, 1. h3.
    fn lines() -> [BookLine; 2] {
        use shakmaty::Square;
        [(Square::E2, Square::E4), (Square::H2, Square::H3)].map(|(from, to)| {
            let mut line = BookLine::default();
            let m = shakmaty::Move::Normal {
                role: shakmaty::Role::Pawn,
                from,
                capture: None,
                to,
                promotion: None,
            };
            line.play(m).unwrap();
            line
        })
    }

    #[test]
    fn statistics_are_told_of_a_position_that_is_in_the_book() {
        let book = sample();
        let [known, other] = lines().map(|line| {
            let text = stats_json(&book, line.position()).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        });
        assert_eq!(
            (&known["in_book"], &other["in_book"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(known["to_move"], "black");
        assert!(known["fen"].as_str().unwrap().ends_with(" b KQkq - 0 1"));
        let position = &known["position"];
        assert_eq!(position["games"], 7);
        assert_eq!(position["own_wins"], position["black"]);
        let shares = ["own_score", "white_score"].map(|name| position[name].as_f64().unwrap());
        assert!((shares[0] + shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(known["moves"][0]["san"], "e5");
        assert_eq!(known["moves"][0]["uci"], "e7e5");
        assert!(known["moves"][0]["child"]["games"].as_u64() > Some(0));
        assert!(other.get("position").is_none());
    }

    #[test]
    fn moves_of_a_position_have_a_row_each() {
        let book = sample();
        let [known, other] = lines();
        let rows = |line: &BookLine| {
            let text = moves_tsv(&book, line.position()).unwrap();
            assert!(text.starts_with(MOVE_COLUMNS));
            let rows = text
                .lines()
                .skip(1)
                .map(|row| row.split_once('\t').unwrap().0.to_owned());
            rows.collect::<Vec<_>>()
        };
        assert_eq!(rows(&known), ["e5", "c5", "e6", "d5"]);
        assert!(rows(&other).is_empty());
    }

    #[test]
    fn games_begin_with_the_line_and_go_on_as_the_book_does() {
        let book = sample();
        let [line, _] = lines();
        let alone = line_pgn(&book, &line);
        assert!(alone.ends_with("\n1. e4 *\n\n"), "{alone}");
        let (mut one, mut several) = (Vec::new(), Vec::new());
        assert!(!book_pgn(&book, &line, 1000, &mut one).unwrap().is_cut);
        assert!(openings_pgn(&book, &line, 3, &mut several).unwrap().is_cut);
        let text = String::from_utf8(one).unwrap();
        assert!(text.contains("\n1. e4 e5 "), "{text}");
        // Twelve plies after that of the line.
        assert!(text.contains(" 6... ") && text.contains(" 7. ") && !text.contains(" 7... "));
        assert!(String::from_utf8(several).unwrap().contains("\n1. e4 e5 "));
    }

    #[test]
    fn ratings_are_told_as_players_and_the_sum_of_their_ratings() {
        let entry = BookEntry {
            statistics: BookStatistics {
                ratings: Some(shakmaty::ByColor {
                    white: RatingSum {
                        players: 2,
                        sum: 5001,
                    },
                    black: RatingSum { players: 0, sum: 0 },
                }),
                ..BookStatistics::default()
            },
            ..BookEntry::without_moves(Color::White, PositionRecord::default())
        };
        let told = entry_json(&entry, Color::White);
        assert_eq!(told["white_ratings"], json!({"players": 2, "sum": 5001}));
        assert_eq!(told["white_avg"], json!(2500.5));
        assert_eq!(told["black_avg"], Value::Null);
    }
}
