//! Reads the headers of a game from its records and entities.

use super::{Database, Decoded, record_offset};
use crate::cbh::entities::{EntityFile, EntityLayout, LastRead, LookupError, RecentlyRead};
use crate::cbh::extended::ExtendedRecord;
use crate::cbh::record::GameRecord;
use crate::cbh::{Error, FileKind, GameId};
use crate::game::{Defect, GameLabel, GameResult, Headers, PlayerName, Source, Team, Tournament};
use crate::storage::ReadBuffer;

impl Database {
    /// Reads all but moves and annotations, over the headers of any other game.
    pub(super) fn read_headers(
        &self,
        id: GameId,
        record: &GameRecord,
        extended: &ExtendedRecord,
        decoded: &mut Decoded,
    ) -> Result<(), Error> {
        let Decoded {
            game,
            defects,
            buffer,
            last,
            ..
        } = decoded;
        let headers = &mut game.headers;
        set_fixed(headers, record, extended);
        match record.result() {
            Some(result) => headers.result = result,
            None => defects.push(Defect {
                file: "cbh",
                offset: record_offset(id.0) + 27,
                what: format!("result {} has no meaning", record.result),
            }),
        }
        let mut lookup = Lookup {
            database: self,
            buffer,
            defects,
        };
        lookup.read_or_repeat(
            FileKind::Players,
            &self.players,
            record.white,
            last.players.place(record.white),
            &mut headers.white,
        )?;
        lookup.read_or_repeat(
            FileKind::Players,
            &self.players,
            record.black,
            last.players.place(record.black),
            &mut headers.black,
        )?;
        let tournament = record.tournament;
        lookup.read_or_repeat(
            FileKind::Tournaments,
            &self.tournaments,
            tournament,
            &mut last.tournament,
            &mut headers.tournament,
        )?;
        lookup.read_or_repeat(
            FileKind::Annotators,
            &self.annotators,
            record.annotator,
            &mut last.annotator,
            &mut headers.annotator,
        )?;
        lookup.read_or_repeat(
            FileKind::Sources,
            &self.sources,
            record.source,
            &mut last.source,
            &mut headers.source,
        )?;
        lookup.read_optional(
            FileKind::Teams,
            self.teams.as_ref(),
            extended.white_team,
            &mut last.white_team,
            &mut headers.white_team,
        )?;
        lookup.read_optional(
            FileKind::Teams,
            self.teams.as_ref(),
            extended.black_team,
            &mut last.black_team,
            &mut headers.black_team,
        )?;
        lookup.read_optional(
            FileKind::Tags,
            self.tags.as_ref(),
            extended.tag,
            &mut last.tag,
            &mut headers.tag,
        )?;
        if let Some(top_games) = &self.top_games {
            headers.is_top_game = top_games
                .is_top_game(id.0, buffer)
                .map_err(|source| self.io(FileKind::TopGames, source))?;
        }
        if let Some(extras) = &self.tournament_extras {
            headers.tournament.end = extras
                .end_date(tournament, buffer)
                .map_err(|source| self.io(FileKind::TournamentExtras, source))?;
        }
        Ok(())
    }
}

/// Sets what the records themselves say, but for the result.
fn set_fixed(headers: &mut Headers, record: &GameRecord, extended: &ExtendedRecord) {
    headers.result = GameResult::Line;
    headers.is_top_game = false;
    headers.date = record.date;
    headers.round = record.round;
    headers.subround = record.subround;
    headers.line_evaluation = record.line_evaluation;
    headers.eco = record.eco();
    headers.white_elo = record.white_elo;
    headers.black_elo = record.black_elo;
    headers.white_elo_type = extended.white_elo_type;
    headers.black_elo_type = extended.black_elo_type;
    headers.medals = record.medals;
}

/// The entities of the games that were read last which the next game may share.
#[derive(Debug, Default)]
pub(in crate::cbh) struct LastEntities {
    players: RecentlyRead<PlayerName>,
    tournament: LastRead<Tournament>,
    annotator: LastRead<String>,
    source: LastRead<Source>,
    white_team: LastRead<Team>,
    black_team: LastRead<Team>,
    tag: LastRead<GameLabel>,
}

impl LastEntities {
    /// Has room for the players of many games.
    pub(super) fn of_many() -> LastEntities {
        LastEntities {
            players: RecentlyRead::of_many(),
            ..LastEntities::default()
        }
    }
}

/// Reads the entities of one game and notes the unreadable ones.
pub(super) struct Lookup<'a> {
    pub(super) database: &'a Database,
    pub(super) buffer: &'a mut ReadBuffer,
    pub(super) defects: &'a mut Vec<Defect>,
}

impl Lookup<'_> {
    pub(super) fn read<K: EntityLayout>(
        &mut self,
        kind: FileKind,
        file: &EntityFile<K>,
        id: u32,
        value: &mut K::Value,
    ) -> Result<(), Error> {
        let read = file.read(id, self.database.page, self.buffer, value);
        self.note(kind, read, value)
    }

    /// As [`read`](Lookup::read), unless `last` is this entity.
    fn read_or_repeat<K: EntityLayout>(
        &mut self,
        kind: FileKind,
        file: &EntityFile<K>,
        id: u32,
        last: &mut LastRead<K::Value>,
        value: &mut K::Value,
    ) -> Result<(), Error> {
        let read = file.read_or_repeat(id, self.database.page, self.buffer, last, value);
        self.note(kind, read, value)
    }

    /// Notes that an entity could not be read, in which case nothing is known of it.
    fn note<V: Default>(
        &mut self,
        kind: FileKind,
        read: Result<(), LookupError>,
        value: &mut V,
    ) -> Result<(), Error> {
        match read {
            Ok(()) => Ok(()),
            Err(LookupError::Io(source)) => Err(self.database.io(kind, source)),
            Err(LookupError::Fault(offset, what)) => {
                *value = V::default();
                self.defects.push(Defect {
                    file: kind.extension(),
                    offset,
                    what,
                });
                Ok(())
            }
        }
    }

    /// A negative id means "none". Without the file, the entity is unknown.
    fn read_optional<K: EntityLayout>(
        &mut self,
        kind: FileKind,
        file: Option<&EntityFile<K>>,
        id: i32,
        last: &mut LastRead<K::Value>,
        value: &mut K::Value,
    ) -> Result<(), Error> {
        if let (Ok(id), Some(file)) = (u32::try_from(id), file) {
            return self.read_or_repeat(kind, file, id, last, value);
        }
        *value = K::Value::default();
        Ok(())
    }
}
