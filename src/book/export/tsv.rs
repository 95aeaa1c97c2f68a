//! Export to a table: one row per position.

use shakmaty::Color;

use crate::book::line::board_fields;
use crate::book::text::{decimal, remark, rounded, unmarked};
use crate::book::walk::Visit;

/// The names of the columns.
pub(super) const COLUMNS: &str = "fen\tply\tgames\twhite\tdraws\tblack\tscore\twhite_avg\tblack_avg\tweight\tflags\tcomment\tmoves";

/// The row of a position.
pub(super) fn line(visit: &Visit) -> String {
    let entry = &visit.entry;
    let statistics = &entry.statistics;
    let moves: Vec<String> = visit
        .choices
        .iter()
        .map(|choice| unmarked(choice.san) + choice.mark())
        .collect();
    let fields = [
        board_fields(&visit.position),
        visit.ply.to_string(),
        statistics.games.to_string(),
        statistics.white.to_string(),
        statistics.draws.to_string(),
        statistics.black.to_string(),
        decimal(statistics.white_score().map(|score| 100.0 * score)),
        rounded(statistics.average(Color::White)),
        rounded(statistics.average(Color::Black)),
        entry
            .weight
            .map_or(String::new(), |weight| weight.to_string()),
        entry.flags.to_string(),
        remark(entry),
        moves.join(" "),
    ];
    fields.join("\t")
}
