//! Reads the headers of a game from its record and entities.

use std::fmt::Write as _;

use super::{Cbh2Record, Database, Decoded, Error, FileKind, RecordType, record_offset};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::EntityId;
use crate::cbh2::entities::{self, Entities, LookupError, Type, language_of};
use crate::cbh2::record::NONE;
use crate::game::{Defect, Game, GameResult, PlayerName, Source, Team, Tournament};
use crate::storage::ReadBuffer;

/// Maximum version of a source in the headers; higher ones go to a tag.
const MOST_VERSION: u16 = u8::MAX as u16;

impl Database {
    /// Reads all but moves and annotations.
    pub(super) fn read_headers(
        &self,
        kind: RecordType,
        record: &Cbh2Record<'_>,
        decoded: &mut Decoded,
    ) -> Result<(), Error> {
        let Decoded {
            game,
            defects,
            buffer,
            ..
        } = decoded;
        let Some(summary) = record.summary() else {
            return Ok(());
        };
        let headers = &mut game.headers;
        headers.date = summary.date;
        headers.round = u8::try_from(summary.round).unwrap_or(0);
        headers.subround = u8::try_from(summary.subround).unwrap_or(0);
        headers.line_evaluation = summary.line_evaluation;
        headers.eco = summary.eco;
        headers.white_elo = summary.white_elo;
        headers.black_elo = summary.black_elo;
        headers.medals = summary.medals;
        headers.result = summary.result.unwrap_or(GameResult::Line);
        if summary.result.is_none() {
            defects.push(Defect {
                file: FileKind::Headers.extension(),
                offset: record_offset(record.id) + 0x58,
                what: format!("result {} has no meaning", record.result()),
            });
        }
        if kind == RecordType::Game {
            let [white, black] = record.rating_types();
            headers.white_elo_type = white;
            headers.black_elo_type = black;
            let numbers = [summary.round, summary.subround, record.board()];
            game.foreign_tags.extend(whole_round(numbers));
        }
        self.lookup(buffer, defects).entities_of(kind, record, game)
    }

    /// Returns the reader for the entities of one game or text.
    pub(super) fn lookup<'a>(
        &'a self,
        buffer: &'a mut ReadBuffer,
        defects: &'a mut Vec<Defect>,
    ) -> Lookup<'a> {
        Lookup {
            database: self,
            entities: &self.entities,
            buffer,
            defects,
        }
    }
}

/// Returns the tag for a round that the headers cannot hold: one with a board,
/// such as `3.2.1`, or above 255. A missing number before another is `?`.
fn whole_round(numbers: [u16; 3]) -> Option<(String, String)> {
    let [round, subround, board] = numbers;
    if board == 0 && u8::try_from(round.max(subround)).is_ok() {
        return None;
    }
    let given = numbers.iter().rposition(|number| *number > 0)?;
    let mut value = String::new();
    for (at, number) in numbers.iter().enumerate().take(given + 1) {
        if at > 0 {
            value.push('.');
        }
        // Writing to a string does not fail.
        let _ = match number {
            0 => write!(value, "?"),
            number => write!(value, "{number}"),
        };
    }
    Some(("Round".to_owned(), value))
}

/// Reads the entities of one game or text and notes the unreadable ones.
pub(super) struct Lookup<'a> {
    database: &'a Database,
    entities: &'a Entities,
    buffer: &'a mut ReadBuffer,
    defects: &'a mut Vec<Defect>,
}

impl Lookup<'_> {
    fn entities_of(
        &mut self,
        kind: RecordType,
        record: &Cbh2Record<'_>,
        game: &mut Game,
    ) -> Result<(), Error> {
        let of = record.references(kind);
        let headers = &mut game.headers;
        let white = self.player(of.white, &mut headers.white)?;
        let black = self.player(of.black, &mut headers.black)?;
        self.tournament(of.tournament, &mut headers.tournament)?;
        headers.annotator = self.annotator(of.annotator)?;
        let version = self.source(of.source, &mut headers.source)?;
        self.team(of.white_team, &mut headers.white_team)?;
        self.team(of.black_team, &mut headers.black_team)?;
        for (nation, title) in self.titles(of.tag)? {
            let language = usize::from(language_of(nation));
            match headers.tag.titles.get_mut(language) {
                Some(place) => *place = title,
                None => self.defects.push(Defect {
                    file: FileKind::Entities.extension(),
                    offset: self.entities.place(Type::Tag, of.tag),
                    what: format!("a label in language {nation}, which is not shown"),
                }),
            }
        }
        let mut tag = |name: &str, value: String| game.foreign_tags.push((name.to_owned(), value));
        for (name, fide) in [("WhiteFideId", white), ("BlackFideId", black)] {
            if let Some(fide) = fide {
                tag(name, fide.to_string());
            }
        }
        if version > MOST_VERSION {
            tag("SourceVersion", version.to_string());
        }
        Ok(())
    }

    /// Reads an entity with `read`; does nothing if there is none.
    fn read(
        &mut self,
        of: Type,
        id: EntityId,
        read: impl FnOnce(&mut ByteReader<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Error> {
        if id == NONE {
            return Ok(());
        }
        match self.entities.read(of, id, self.buffer, read) {
            Ok(()) => Ok(()),
            Err(LookupError::Io(source)) => Err(self.database.io(FileKind::Entities, source)),
            Err(LookupError::Fault(offset, what)) => {
                self.defects.push(Defect {
                    file: FileKind::Entities.extension(),
                    offset,
                    what,
                });
                Ok(())
            }
        }
    }

    /// Reads a player. Returns the FIDE id, if there is one.
    fn player(&mut self, id: EntityId, name: &mut PlayerName) -> Result<Option<u64>, Error> {
        let (page, mut fide) = (self.database.page, None);
        self.read(Type::Player, id, |reader| {
            fide = entities::player(reader, page, name)?;
            Ok(())
        })?;
        Ok(fide)
    }

    /// Returns the name of an annotator, who is stored as a player.
    pub(super) fn annotator(&mut self, id: EntityId) -> Result<String, Error> {
        let mut name = PlayerName::default();
        self.player(id, &mut name)?;
        let mut joined = String::new();
        name.append_to(&mut joined);
        Ok(joined)
    }

    pub(super) fn tournament(&mut self, id: EntityId, value: &mut Tournament) -> Result<(), Error> {
        let page = self.database.page;
        self.read(Type::Tournament, id, |reader| {
            entities::tournament(reader, page, value)
        })
    }

    /// Reads a source. Returns the version.
    pub(super) fn source(&mut self, id: EntityId, value: &mut Source) -> Result<u16, Error> {
        let (page, mut version) = (self.database.page, 0);
        self.read(Type::Source, id, |reader| {
            version = entities::source(reader, page, value)?;
            Ok(())
        })?;
        Ok(version)
    }

    fn team(&mut self, id: EntityId, value: &mut Team) -> Result<(), Error> {
        let page = self.database.page;
        self.read(Type::Team, id, |reader| entities::team(reader, page, value))
    }

    /// Returns the titles of a label, each with the nation of its language.
    pub(super) fn titles(&mut self, id: EntityId) -> Result<Vec<(u32, String)>, Error> {
        let (page, mut found) = (self.database.page, Vec::new());
        self.read(Type::Tag, id, |reader| {
            found = entities::titles(reader, page)?;
            Ok(())
        })?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_has_no_place_is_told_in_a_tag() {
        let round = |numbers| whole_round(numbers).map(|(_, value)| value);
        assert_eq!(round([3, 2, 1]).as_deref(), Some("3.2.1"));
        assert_eq!(round([3, 0, 1]).as_deref(), Some("3.?.1"));
        assert_eq!(round([300, 0, 0]).as_deref(), Some("300"));
        assert_eq!(round([0, 0, 7]).as_deref(), Some("?.?.7"));
        assert_eq!(round([255, 3, 0]), None);
    }
}
