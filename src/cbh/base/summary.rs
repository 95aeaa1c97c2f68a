//! A game as its records alone tell it, without names and moves.

use crate::bytes::Malformed;
use crate::cbh::GameId;
use crate::cbh::entities::EntityId;
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::GameRecord;
use crate::game::{Date, Eco, GameResult};

/// What the records of one game say in numbers; the names behind the ids are
/// in [`EntityNames`](crate::cbh::EntityNames).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its number.
    pub id: GameId,
    /// Whether it carries the deleted flag.
    pub is_deleted: bool,
    /// Who had White. Like the ids below, it may point nowhere.
    pub white: EntityId,
    /// Who had Black.
    pub black: EntityId,
    /// In which event.
    pub tournament: EntityId,
    /// Who annotated it.
    pub annotator: EntityId,
    /// Where it was published.
    pub source: EntityId,
    /// White's team, if any.
    pub white_team: Option<EntityId>,
    /// Black's team, if any.
    pub black_team: Option<EntityId>,
    /// When it was played.
    pub date: Date,
    /// How it ended; `None` for numbers that stand for no result.
    pub result: Option<GameResult>,
    /// A NAG that judges the last position of an analysis line; 0 is none.
    pub line_evaluation: u8,
    /// Round, 0 if not given.
    pub round: u16,
    /// Game within the round, 0 if not given.
    pub subround: u16,
    /// White's rating, 0 if not given.
    pub white_elo: u16,
    /// Black's rating, 0 if not given.
    pub black_elo: u16,
    /// Opening code; Chess960 games have none.
    pub eco: Option<Eco>,
    /// Medals, one bit each.
    pub medals: u16,
    /// Moves of the main line; in `.cbh`, 255 for more.
    pub move_count: u16,
}

impl Summary {
    /// Reads the record of a game in `.cbh`, and that in `.cbj`, of which
    /// any part may be missing.
    pub(in crate::cbh) fn decode(
        id: GameId,
        is_deleted: bool,
        record: &[u8],
        extended: &[u8],
    ) -> Result<Summary, Malformed> {
        let record = GameRecord::decode(record)?;
        let [white_team, black_team] = ExtendedRecord::teams(extended);
        Ok(Summary {
            id,
            is_deleted,
            white: EntityId(record.white),
            black: EntityId(record.black),
            tournament: EntityId(record.tournament),
            annotator: EntityId(record.annotator),
            source: EntityId(record.source),
            white_team,
            black_team,
            date: record.date,
            result: record.result(),
            line_evaluation: record.line_evaluation,
            round: record.round.into(),
            subround: record.subround.into(),
            white_elo: record.white_elo,
            black_elo: record.black_elo,
            eco: record.eco(),
            medals: record.medals,
            move_count: record.move_count.into(),
        })
    }
}
