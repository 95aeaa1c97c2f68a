//! Games found by what a link says of them.

use std::collections::{HashMap, HashSet};

use super::{Database, Error, FileKind, GameId, ReadBuffer, RecordKind};
use crate::cbh::entities::LookupError;
use crate::cbh::record::{self, GameRecord};
use crate::cbh::texts::GameMention;
use crate::game::{Date, Tournament};

/// Games of the same two players that are told apart. Where there are more,
/// none is found: links without further fields lead nowhere anyway.
const MOST_CANDIDATES: usize = 256;

/// Number of a wanted name.
type Name = usize;

/// A game of two wanted players.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    id: GameId,
    tournament: u32,
    date: Date,
}

impl Database {
    /// The game that each mention means, where it is the only one: of the
    /// games between players of these names that are not deleted, those that
    /// agree with the further fields, each asked in turn unless no game
    /// agrees with it.
    ///
    /// Reads the players once and the headers once, however many mentions
    /// there are.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn find_games<'m>(
        &self,
        mentions: &'m HashSet<GameMention>,
    ) -> Result<HashMap<&'m GameMention, GameId>, Error> {
        let mut found = HashMap::new();
        if mentions.is_empty() {
            return Ok(found);
        }
        let names = number_names(mentions);
        let pair = |mention: &GameMention| {
            let name = |[last, first]: &[String; 2]| {
                let name = (last.as_str(), first.as_str());
                names.get(&name).copied().unwrap_or(usize::MAX)
            };
            (name(&mention.white), name(&mention.black))
        };
        let mut candidates: HashMap<(Name, Name), Vec<Candidate>> = mentions
            .iter()
            .map(|mention| (pair(mention), Vec::new()))
            .collect();
        self.collect_candidates(&names, &mut candidates)?;
        let mut tournaments = HashMap::new();
        for mention in mentions {
            let all = candidates
                .get(&pair(mention))
                .map_or(&[][..], Vec::as_slice);
            if all.len() < MOST_CANDIDATES
                && let Some(id) = self.only_one(mention, all, &mut tournaments)?
            {
                found.insert(mention, id);
            }
        }
        Ok(found)
    }

    fn collect_candidates(
        &self,
        names: &HashMap<(&str, &str), Name>,
        candidates: &mut HashMap<(Name, Name), Vec<Candidate>>,
    ) -> Result<(), Error> {
        let mut players = HashMap::new();
        self.players
            .for_each(self.page, |id, name| {
                if let Some(name) = names.get(&(name.last.trim(), name.first.trim())) {
                    players.insert(id, *name);
                }
            })
            .map_err(|source| self.io(FileKind::Players, source))?;
        self.for_each_record(&mut |id, bytes| {
            if record::decode_kind(bytes) != Some((RecordKind::Game, false)) {
                return;
            }
            let Ok(record) = GameRecord::decode(bytes) else {
                return;
            };
            let (white, black) = (players.get(&record.white), players.get(&record.black));
            let (Some(white), Some(black)) = (white, black) else {
                return;
            };
            if let Some(games) = candidates.get_mut(&(*white, *black))
                && games.len() < MOST_CANDIDATES
            {
                games.push(Candidate {
                    id,
                    tournament: record.tournament,
                    date: record.date,
                });
            }
        })
    }

    fn only_one(
        &self,
        mention: &GameMention,
        candidates: &[Candidate],
        tournaments: &mut HashMap<u32, Tournament>,
    ) -> Result<Option<GameId>, Error> {
        if let [one] = candidates {
            return Ok(Some(one.id));
        }
        for candidate in candidates {
            self.keep_tournament(candidate.tournament, tournaments)?;
        }
        let none = Tournament::default();
        let event = |candidate: &Candidate| tournaments.get(&candidate.tournament).unwrap_or(&none);
        let mut left = candidates.to_vec();
        let has_title = |one: &Candidate| event(one).title.trim() == mention.title;
        let has_place = |one: &Candidate| event(one).place.trim() == mention.place;
        let has_date =
            |one: &Candidate| mention.has_date(one.date) || mention.has_date(event(one).start);
        if !mention.title.is_empty() {
            narrow(&mut left, has_title);
        }
        if !mention.place.is_empty() {
            narrow(&mut left, has_place);
        }
        narrow(&mut left, has_date);
        Ok(match left[..] {
            [one] => Some(one.id),
            _ => None,
        })
    }

    /// Reads a tournament into `tournaments`, a damaged one as empty.
    fn keep_tournament(
        &self,
        id: u32,
        tournaments: &mut HashMap<u32, Tournament>,
    ) -> Result<(), Error> {
        if tournaments.contains_key(&id) {
            return Ok(());
        }
        let mut tournament = Tournament::default();
        let buffer = &mut ReadBuffer::default();
        match self
            .tournaments
            .read(id, self.page, buffer, &mut tournament)
        {
            Ok(()) | Err(LookupError::Fault(..)) => {
                tournaments.insert(id, tournament);
                Ok(())
            }
            Err(LookupError::Io(source)) => Err(self.io(FileKind::Tournaments, source)),
        }
    }
}

/// A number for each name that occurs.
fn number_names(mentions: &HashSet<GameMention>) -> HashMap<(&str, &str), Name> {
    let mut names = HashMap::new();
    for [last, first] in mentions
        .iter()
        .flat_map(|mention| [&mention.white, &mention.black])
    {
        let next = names.len();
        names.entry((last.as_str(), first.as_str())).or_insert(next);
    }
    names
}

/// Leaves those that agree, if any does.
fn narrow(candidates: &mut Vec<Candidate>, agrees: impl Fn(&Candidate) -> bool) {
    if candidates.iter().any(&agrees) {
        candidates.retain(agrees);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cbh::{Link, Options};

    #[test]
    fn a_mention_finds_the_only_game_it_can_mean() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cbh/texts/texts.cbh");
        let database = Database::open(&path, &Options::default()).unwrap();
        let cases = [
            ("Between,,Texts,,,, 0 0   0,0,0,0", Some(4)),
            ("Between,,Texts,,Renamed,Elsewhere, 0 0   0", Some(4)),
            ("Twin,A,Twin,B,Second,Oslo, 0 0   0", Some(10)),
            ("Twin,A,Twin,B,First,,", Some(9)),
            ("Twin,A,Twin,B,,, 7112003", Some(9)),
            ("Twin,A,Twin,B,,, 0 02003", Some(9)),
            ("Twin,A,Twin,B,,, 0 0   0", None),
            ("Twin,A,Twin,B,Third,,", None),
            ("Twin,B,Twin,A,First,,", None),
            ("Texts,,Between,,,,", None),
            ("Nobody,,Texts,,,,", None),
        ];
        let mention =
            |fields: &str| match Link::parse(&format!("javascript:CBLink(tag_game,{fields})")) {
                Some(Link::Game(mention)) => mention,
                other => panic!("{fields}: {other:?}"),
            };
        let mentions = cases.iter().map(|(fields, _)| mention(fields)).collect();
        let found = database.find_games(&mentions).unwrap();
        for (fields, id) in cases {
            let is = found.get(&mention(fields)).map(|id| id.0);
            assert_eq!(is, id, "{fields}");
        }
    }
}
