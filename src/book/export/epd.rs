//! Export to EPD: one line per position.
//!
//! | opcode | meaning |
//! |---|---|
//! | `am` | moves that are not to be played |
//! | `bm` | recommended moves, or the most played one if the book recommends
//! none |
//! | `c0` | number of games, and White's score in percent |

use crate::book::choice::Choice;
use crate::book::line::board_fields;
use crate::book::text::{decimal, unmarked};
use crate::book::walk::Visit;

/// The line of a position.
pub(super) fn line(visit: &Visit) -> String {
    let choices = &visit.choices;
    let list = |chosen: Vec<&Choice>| -> Vec<String> {
        chosen
            .into_iter()
            .map(|choice| unmarked(choice.san))
            .collect()
    };
    let refused = list(
        choices
            .iter()
            .filter(|choice| choice.is_refused())
            .collect(),
    );
    let mut best: Vec<&Choice> = choices
        .iter()
        .filter(|choice| choice.is_recommended())
        .collect();
    if best.is_empty() {
        best = choices
            .iter()
            .filter(|choice| !choice.is_refused())
            .take(1)
            .collect();
    }
    let mut line = board_fields(&visit.position);
    for (opcode, moves) in [("am", refused), ("bm", list(best))] {
        if !moves.is_empty() {
            line = format!("{line} {opcode} {};", moves.join(" "));
        }
    }
    let statistics = &visit.entry.statistics;
    let mut numbers = format!("games {}", statistics.games);
    if let Some(score) = statistics.white_score() {
        numbers = format!("{numbers} score {}", decimal(Some(100.0 * score)));
    }
    line + &format!(" c0 \"{numbers}\";")
}

#[cfg(test)]
mod tests {
    use crate::book::export::{ExportFormat, sample_as};

    #[test]
    fn a_line_has_the_moves_to_play_and_not_to_play_and_the_games() {
        let text = sample_as(ExportFormat::Epd);
        let lines: Vec<&str> = text.lines().take(2).collect();
        let [start, after_e4] = lines[..] else {
            panic!("{text}")
        };
        let (_, fields) = start.split_once(" KQkq - ").unwrap();
        let numbers = "c0 \"games 12 score 58.3\";";
        assert_eq!(fields, format!("am Nf3 d4 a4; bm e4; {numbers}"));
        let (_, fields) = after_e4.split_once(" KQkq - ").unwrap();
        assert_eq!(fields, "bm e6; c0 \"games 7 score 57.1\";");
    }
}
