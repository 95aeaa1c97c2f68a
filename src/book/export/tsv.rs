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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::export::{ExportFormat, sample_as};

    #[test]
    fn a_row_has_what_its_columns_say() {
        let text = sample_as(ExportFormat::Tsv);
        let mut rows = text.lines().map(|row| row.split('\t').collect::<Vec<_>>());
        assert_eq!(rows.next().unwrap().join("\t"), COLUMNS);
        let start = rows.next().unwrap();
        assert!(start[0].ends_with(" w KQkq -"), "{start:?}");
        let numbers = ["0", "12", "5", "3", "3", "58.3", "2471", "2351", "0"];
        assert_eq!(start[1..10], numbers);
        let moves: Vec<&str> = start[12].split(' ').collect();
        assert_eq!(moves.len(), 5);
        let after_e4 = rows.next().unwrap();
        assert_eq!(after_e4[9..12], ["99", "green", "$14"]);
        assert!(rows.all(|row| row.len() == start.len()));
    }
}
