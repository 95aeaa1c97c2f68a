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
    use crate::book::Book;
    use crate::book::choice::choices;
    use crate::book::ctg::CtgBook;
    use crate::game::Position;

    #[test]
    fn a_row_tells_a_move_and_what_came_of_it() {
        let sample = std::path::Path::new("fixtures/book/small/small.ctg");
        let book = CtgBook::open(sample).unwrap();
        let start = Position::default();
        let entry = book.look_up(&start).unwrap().unwrap();
        let mut choices = choices(&book, &start, &entry).unwrap();
        let row = move_line(&choices[0]);
        let columns = MOVE_COLUMNS.split('\t').zip(row.split('\t'));
        let told: Vec<String> = columns
            .filter(|(_, value)| !value.is_empty())
            .map(|(column, value)| format!("{column}={value}"))
            .collect();
        let wanted = "san=e4 uci=e2e4 games=7 white=3 draws=2 black=2 score=57.1 avg=2500 \
            perf=2580 weight=99 prob=100.0 flags=green annotation=! comment=$14 child=1 eco=B00 \
            opening=King's Pawn Game";
        assert_eq!(told.join(" "), wanted);
        choices[1].book_move.annotation = 146;
        let marks = choices.iter().map(annotation);
        assert_eq!(marks.collect::<Vec<_>>(), ["!", "$146", "", "!?", "?"]);
    }

    #[test]
    fn a_check_is_not_marked_in_a_name() {
        let fen: shakmaty::fen::Fen = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1".parse().unwrap();
        let mode = shakmaty::CastlingMode::Standard;
        let mut position = Position::from_setup(fen.into_setup(), mode);
        let m = shakmaty::Move::Normal {
            role: shakmaty::Role::Rook,
            from: shakmaty::Square::A1,
            capture: None,
            to: shakmaty::Square::A8,
            promotion: None,
        };
        let san = position.play(m).unwrap();
        assert_eq!(
            (san.to_string(), unmarked(san)),
            ("Ra8+".to_owned(), "Ra8".to_owned())
        );
    }

    #[test]
    fn castling_is_written_as_the_move_of_the_king() {
        let m = shakmaty::Move::Castle {
            king: shakmaty::Square::E1,
            rook: shakmaty::Square::A1,
        };
        let (code, annotation) = (0, 0);
        let castling = BookMove {
            m,
            code,
            annotation,
        };
        assert_eq!(uci(&castling), "e1c1");
    }

    #[test]
    fn numbers_are_rounded_and_unknown_ones_are_empty() {
        assert_eq!(decimal(Some(12.345)), "12.3");
        assert_eq!(rounded(Some(2499.6)), "2500");
        assert_eq!((decimal(None), rounded(None)), Default::default());
        assert_eq!(field("a\tb\r\nc"), "a b  c");
    }
}
