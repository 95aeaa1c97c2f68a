//! Formatting of statistics and moves.

use super::choice::Choice;
use super::{BookEntry, BookMove};
use crate::openings;

/// Column names of the table of moves.
pub const MOVE_COLUMNS: &str = "san\tuci\tgames\twhite\tdraws\tblack\tscore\tavg\tperf\tweight\tprob\tflags\tannotation\tcomment\tchild\teco\topening\ttransposes";

/// Formats a move as a row of that table, without a line end. Missing values
/// are empty.
pub(super) fn move_line(choice: &Choice) -> String {
    let child = choice.child.as_ref();
    let number =
        |of: fn(&BookEntry) -> u32| child.map_or(String::new(), |child| of(child).to_string());
    let score = child.and_then(|child| child.statistics.white_score());
    let opening = openings::of_position(&choice.after);
    let fields = [
        unmarked(choice.san),
        uci(&choice.book_move),
        number(|child| child.statistics.games),
        number(|child| child.statistics.white),
        number(|child| child.statistics.draws),
        number(|child| child.statistics.black),
        decimal(score.map(|score| 100.0 * score)),
        rounded(choice.average()),
        rounded(choice.performance()),
        child
            .and_then(|child| child.weight)
            .map_or(String::new(), |weight| weight.to_string()),
        decimal(choice.share),
        child.map_or(String::new(), |child| child.flags.to_string()),
        annotation(choice),
        child.map_or(String::new(), remark),
        u8::from(child.is_some()).to_string(),
        opening.map_or(String::new(), |opening| opening.eco.to_string()),
        opening.map_or(String::new(), |opening| opening.name.to_owned()),
        // Statistics belong to positions: those of a move and of the position
        // after it are the same.
        String::new(),
    ];
    fields.join("\t")
}

/// Returns the notation of a move without check and mate mark, as in directory
/// names.
pub fn unmarked(san: crate::game::San) -> String {
    san.to_string().trim_end_matches(['+', '#']).to_owned()
}

/// Returns a move in UCI notation; castling as the king's move.
pub fn uci(book_move: &BookMove) -> String {
    book_move
        .m
        .to_uci(shakmaty::CastlingMode::Standard)
        .to_string()
}

/// Formats the NAG of a move, such as `!`; empty if there is none.
fn annotation(choice: &Choice) -> String {
    match (choice.mark(), choice.book_move.nag()) {
        ("", Some(nag)) => format!("${nag}"),
        (mark, _) => mark.to_owned(),
    }
}

/// Formats the remarks on a position: NAG and comment.
pub(super) fn remark(entry: &BookEntry) -> String {
    let nag = entry.nag().map(|nag| format!("${nag}"));
    let words = nag.into_iter().chain(entry.text.clone());
    field(&words.collect::<Vec<_>>().join(" "))
}

/// Escapes text for one field of a table.
pub(super) fn field(text: &str) -> String {
    text.replace(['\t', '\r', '\n'], " ")
}

/// Formats with one decimal.
pub(super) fn decimal(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| format!("{number:.1}"))
}

/// Formats without decimals.
pub(super) fn rounded(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| format!("{number:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_unknown_ones_are_empty() {
        assert_eq!(decimal(Some(12.345)), "12.3");
        assert_eq!(rounded(Some(2499.6)), "2500");
        assert_eq!((decimal(None), rounded(None)), Default::default());
        assert_eq!(field("a\tb\r\nc"), "a b  c");
    }
}
