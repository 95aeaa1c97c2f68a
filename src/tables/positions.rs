//! The table of positions: a row per position of the main line of a game,
//! the start position among them.

use shakmaty::CastlingMode;

use super::buffer::{Cell, RowGroup};
use super::remark::Remark;
use super::schema::{Column, ColumnKind, Table};
use super::uci;
use crate::book::export::polyglot_key;
use crate::cbh::GameId;
use crate::game::{Game, PlyId};

/// The table.
pub(super) const TABLE: Table = Table {
    name: "positions",
    columns: COLUMNS,
    sorted_by: &[],
};

/// The columns in order.
pub const COLUMNS: &[Column] = &[
    Column::new(
        "game",
        ColumnKind::Long,
        "number of the game, as in the table of games",
    ),
    Column::new(
        "ply",
        ColumnKind::Int,
        "number of moves before the position; 0 is the start",
    ),
    Column::new(
        "uci",
        ColumnKind::Text,
        "move that led to the position, such as e2e4",
    ),
    Column::new("san", ColumnKind::Text, "the same move, such as Nxe5+"),
    Column::new(
        "hash",
        ColumnKind::Long,
        "Polyglot key of the position, as a signed number",
    ),
    Column::new(
        "evaluation",
        ColumnKind::Int,
        "centipawns from White's point of view",
    ),
    Column::new(
        "mate",
        ColumnKind::Int,
        "moves to mate; negative if Black mates",
    ),
    Column::new(
        "clock",
        ColumnKind::Real,
        "seconds left to the player who moved",
    ),
    Column::new(
        "elapsed",
        ColumnKind::Real,
        "seconds that the player took for the move",
    ),
    Column::new(
        "remark",
        ColumnKind::LongText,
        "texts about the move, without commands",
    ),
];

/// Appends the positions of a game to a row group.
pub(super) fn push(place: u32, id: GameId, game: &Game, group: &mut RowGroup) {
    let mode = CastlingMode::from_chess960(game.start.is_chess960);
    let remarks = game.annotations.by_ply(game.tree.len());
    let mut position = game.start.position.clone();
    let mut word = Vec::new();
    let line = std::iter::once(PlyId::START).chain(game.tree.main_line());
    for (ply, at) in (0..).zip(line) {
        let played = game.tree.ply(at);
        word.clear();
        if let Some(played) = played {
            match played.mv {
                Some(m) if position.play(m).is_ok() => {}
                Some(_) => return,
                None => position.play_null(),
            }
            uci::append(uci::code(played.mv, mode), &mut word);
        }
        let remark = Remark::of(game, ply, remarks.on(at));
        let san = played.map(|played| played.san.to_string());
        let key = polyglot_key(&position).cast_signed();
        let mut row = group.begin(place);
        let values = [
            Cell::Long(id.0.into()),
            Cell::Int(ply),
            played.map_or(Cell::Null, |_| Cell::Text(&word)),
            san.as_ref()
                .map_or(Cell::Null, |san| Cell::Text(san.as_bytes())),
            Cell::Long(key),
            remark.evaluation.into(),
            remark.mate.into(),
            remark.clock.map_or(Cell::Null, Cell::Real),
            remark.elapsed.map_or(Cell::Null, Cell::Real),
            remark.text(),
        ];
        for (column, value) in values.into_iter().enumerate() {
            row.put(column, value);
        }
    }
}
