//! What a record says beside its game or text: what a copy in the older format
//! takes over, and what that has no field for.

use std::collections::BTreeSet;
use std::fmt;

use super::{Database, Error, FileKind, GameId, RECORD_BYTES};
use crate::cbh::{CopiedMetadata, EntityId, RecordKind};
use crate::cbh2::entities::{self, LookupError, TournamentDetails, Type};
use crate::cbh2::record::{Cbh2Record, NONE, RecordType, References};
use crate::game::PlayerName;
use crate::storage::ReadBuffer;

/// A record of which a copy is made.
#[derive(Clone, Debug)]
pub struct Original {
    /// What it holds; an analysis is a game.
    pub kind: RecordKind,
    /// What the copy takes over.
    pub past: CopiedMetadata,
    /// What it does not.
    pub lost: Vec<Lost>,
}

/// A fact of a record that the older format has no field for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// That it is an analysis.
    Analysis,
    /// The type of a rating.
    RatingType,
    /// The FIDE id of the annotator.
    AnnotatorId,
    /// The rules for ties of the tournament, which have other numbers there.
    TieBreaks,
    /// The country in which the place of the tournament is today.
    NationToday,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lost::Analysis => "analysis, stored as a game without players",
            Lost::RatingType => {
                "type of a rating (of a server, or bullet), of which the name is kept"
            }
            Lost::AnnotatorId => "FIDE id of the annotator",
            Lost::TieBreaks => "tie-break rules of the tournament",
            Lost::NationToday => "country that the place of the tournament is in today",
        })
    }
}

impl Database {
    /// Reads what a record says beside its content; `None` if it is neither
    /// game nor text nor analysis.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn original(&self, id: GameId, buffer: &mut ReadBuffer) -> Result<Option<Original>, Error> {
        let mut bytes = [0; RECORD_BYTES];
        let (kind, record) = match self.record(id, &mut bytes, buffer) {
            Err(Error::NotUsed(_)) => return Ok(None),
            record => record?,
        };
        let of = record.references(kind);
        let mut lost = Vec::new();
        lost.extend((kind == RecordType::Analysis).then_some(Lost::Analysis));
        let has_newer_rating = kind == RecordType::Game && record.has_newer_rating();
        lost.extend(has_newer_rating.then_some(Lost::RatingType));
        let has_id = self.has_fide_id(of.annotator, buffer)?;
        lost.extend(has_id.then_some(Lost::AnnotatorId));
        let mut past = record.past(kind);
        let details = self.tournament_details(of.tournament, buffer)?;
        past.event = details.event;
        lost.extend(details.has_tie_breaks.then_some(Lost::TieBreaks));
        lost.extend(details.has_other_nation.then_some(Lost::NationToday));
        Ok(Some(Original {
            kind: kind.shown(),
            past,
            lost,
        }))
    }

    fn has_fide_id(&self, player: EntityId, buffer: &mut ReadBuffer) -> Result<bool, Error> {
        let mut fide = None;
        let page = self.page;
        let read = self.entities.read(Type::Player, player, buffer, |reader| {
            fide = entities::player(reader, page, &mut PlayerName::default())?;
            Ok(())
        });
        self.unless_faulty(read)?;
        Ok(fide.is_some())
    }

    fn tournament_details(
        &self,
        id: EntityId,
        buffer: &mut ReadBuffer,
    ) -> Result<TournamentDetails, Error> {
        let mut details = TournamentDetails::default();
        let read = self.entities.read(Type::Tournament, id, buffer, |reader| {
            entities::tournament_details(reader, &mut details)
        });
        self.unless_faulty(read)?;
        Ok(details)
    }

    /// Leaves out a fault, of which the reading of the game tells.
    fn unless_faulty(&self, read: Result<(), LookupError>) -> Result<(), Error> {
        match read {
            Ok(()) | Err(LookupError::Fault(..)) => Ok(()),
            Err(LookupError::Io(source)) => Err(self.io(FileKind::Entities, source)),
        }
    }

    /// Counts the entities that have a name and that no record refers to, by
    /// the name of their type. A copy lacks them.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn unused_entities(&self) -> Result<Vec<(&'static str, u32)>, Error> {
        let mut used = Vec::new();
        for of in Type::ALL {
            let count = self.entities.count(of);
            let count = count.map_err(|source| self.io(FileKind::Entities, source))?;
            used.push((count, BTreeSet::new()));
        }
        self.scan(1..u32::MAX, &mut |record: Cbh2Record<'_>| {
            if let Some(kind) = record.kind() {
                mark(record.references(kind), &mut used);
            }
        })?;
        let mut unused = Vec::new();
        let mut buffer = ReadBuffer::ahead();
        for (of, (all, used)) in Type::ALL.into_iter().zip(&used) {
            let mut count = 0;
            for id in (0..*all).filter(|id| !used.contains(id)).map(EntityId) {
                let mut has_name = false;
                let read = self.entities.read(of, id, &mut buffer, |reader| {
                    has_name = entities::has_name(of, reader)?;
                    Ok(())
                });
                self.unless_faulty(read)?;
                count += u32::from(has_name);
            }
            unused.extend((count > 0).then_some((of.name(), count)));
        }
        Ok(unused)
    }
}

/// Marks the entities of a record, by the order of [`Type::ALL`].
fn mark(of: References, used: &mut [(u32, BTreeSet<u32>)]) {
    let players = [of.white, of.black, of.annotator];
    let teams = [of.white_team, of.black_team];
    let all: [&[EntityId]; 5] = [&players, &[of.tournament], &[of.source], &teams, &[of.tag]];
    for (ids, (_, used)) in all.into_iter().zip(used) {
        for id in ids.iter().filter(|id| **id != NONE) {
            used.insert(id.0);
        }
    }
}
