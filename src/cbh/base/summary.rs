//! The header fields of a game that its records store, without names and moves.

use crate::bytes::Malformed;
use crate::cbh::GameId;
use crate::cbh::entities::EntityId;
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::GameRecord;
use crate::game::{Date, Eco, GameResult};

/// The fields of the records of one game. Names of entities are in
/// [`EntityNames`](crate::cbh::EntityNames).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Id of the game.
    pub id: GameId,
    /// Whether the deleted flag is set.
    pub is_deleted: bool,
    /// White's player. Like the ids below, it may not exist.
    pub white: EntityId,
    /// Black's player.
    pub black: EntityId,
    /// Event.
    pub tournament: EntityId,
    /// Annotator.
    pub annotator: EntityId,
    /// Publication.
    pub source: EntityId,
    /// White's team, if any.
    pub white_team: Option<EntityId>,
    /// Black's team, if any.
    pub black_team: Option<EntityId>,
    /// Date of the game.
    pub date: Date,
    /// Result; `None` if the stored number is none.
    pub result: Option<GameResult>,
    /// A NAG that evaluates the last position of an analysis line; 0 for none.
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
    /// Which kinds of content there are, as the record says: see
    /// [`GameFacts::flags`](crate::cbh::GameFacts). `None` where a format has
    /// other flags.
    pub flags: Option<u32>,
    /// Number of moves of the main line; in `.cbh`, 255 means 255 or more.
    pub move_count: u16,
}

impl Summary {
    /// Decodes the record of a game in `.cbh`, and that in `.cbj`, which may be
    /// cut off or missing.
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
            flags: Some(record.flags),
            move_count: record.move_count.into(),
        })
    }
}
