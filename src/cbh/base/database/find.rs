//! Search for the games that links mention.

use std::collections::{HashMap, HashSet};

use super::{Database, Error, FileKind, GameId, ReadBuffer, RecordKind};
use crate::cbh::entities::LookupError;
use crate::cbh::record::{self, GameRecord};
use crate::cbh::texts::GameMention;
use crate::game::{Date, PlayerName, Tournament};

/// Maximum number of games of the same two players that are compared. If there
/// are more, none is found: a link without further fields is ambiguous anyway.
const MOST_CANDIDATES: usize = 256;

/// Number of a searched name.
type NameNumber = usize;

/// A search for the games of mentions. It must be given all players, then all
/// games.
pub(crate) struct MentionSearch<'m> {
    mentions: &'m HashSet<GameMention>,
    names: HashMap<(&'m str, &'m str), NameNumber>,
    players: HashMap<u32, NameNumber>,
    candidates: HashMap<(NameNumber, NameNumber), Vec<MentionCandidate>>,
}

impl<'m> MentionSearch<'m> {
    /// Begins a search for all mentions.
    pub(crate) fn new(mentions: &'m HashSet<GameMention>) -> MentionSearch<'m> {
        let names = number_names(mentions);
        let mut search = MentionSearch {
            mentions,
            names,
            players: HashMap::new(),
            candidates: HashMap::new(),
        };
        let pairs = mentions.iter().map(|mention| search.pair(mention));
        search.candidates = pairs.map(|pair| (pair, Vec::new())).collect();
        search
    }

    fn pair(&self, mention: &GameMention) -> (NameNumber, NameNumber) {
        let name = |[last, first]: &[String; 2]| {
            let name = (last.as_str(), first.as_str());
            self.names.get(&name).copied().unwrap_or(usize::MAX)
        };
        (name(&mention.white), name(&mention.black))
    }

    /// Adds a player.
    pub(crate) fn player(&mut self, id: u32, name: &PlayerName) {
        if let Some(name) = self.names.get(&(name.last.trim(), name.first.trim())) {
            self.players.insert(id, *name);
        }
    }

    /// Adds a game that is not deleted, with its players.
    pub(crate) fn game(&mut self, [white, black]: [u32; 2], candidate: MentionCandidate) {
        let (white, black) = (self.players.get(&white), self.players.get(&black));
        let (Some(white), Some(black)) = (white, black) else {
            return;
        };
        if let Some(games) = self.candidates.get_mut(&(*white, *black))
            && games.len() < MOST_CANDIDATES
        {
            games.push(candidate);
        }
    }

    /// Returns the game of each mention that exactly one game fits. `event`
    /// reads a tournament, a damaged one as empty.
    ///
    /// # Errors
    ///
    /// Errors of `event`.
    pub(crate) fn found(
        &self,
        mut event: impl FnMut(u32) -> Result<Tournament, Error>,
    ) -> Result<HashMap<&'m GameMention, GameId>, Error> {
        let mut found = HashMap::new();
        let mut tournaments = HashMap::new();
        for mention in self.mentions {
            let all = self.candidates.get(&self.pair(mention));
            let all = all.map_or(&[][..], Vec::as_slice);
            if all.len() < MOST_CANDIDATES
                && let Some(id) = only_one(mention, all, &mut tournaments, &mut event)?
            {
                found.insert(mention, id);
            }
        }
        Ok(found)
    }
}

fn only_one(
    mention: &GameMention,
    candidates: &[MentionCandidate],
    tournaments: &mut HashMap<u32, Tournament>,
    read: &mut dyn FnMut(u32) -> Result<Tournament, Error>,
) -> Result<Option<GameId>, Error> {
    if let [one] = candidates {
        return Ok(Some(one.id));
    }
    for MentionCandidate { tournament, .. } in candidates {
        if !tournaments.contains_key(tournament) {
            tournaments.insert(*tournament, read(*tournament)?);
        }
    }
    let none = Tournament::default();
    let event =
        |candidate: &MentionCandidate| tournaments.get(&candidate.tournament).unwrap_or(&none);
    let mut left = candidates.to_vec();
    let has_title = |one: &MentionCandidate| event(one).title.trim() == mention.title;
    let has_place = |one: &MentionCandidate| event(one).place.trim() == mention.place;
    let has_date =
        |one: &MentionCandidate| mention.has_date(one.date) || mention.has_date(event(one).start);
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

/// A game of two searched players.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MentionCandidate {
    /// Its id.
    pub(crate) id: GameId,
    /// Id of its tournament.
    pub(crate) tournament: u32,
    /// Date of the game.
    pub(crate) date: Date,
}

impl Database {
    /// Returns the game of each mention that exactly one game fits. Candidates
    /// are the games between players of these names that are not deleted. Each
    /// further field narrows them, unless no game agrees with it.
    ///
    /// Reads the players once and the headers once, for any number of mentions.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn find_games<'m>(
        &self,
        mentions: &'m HashSet<GameMention>,
    ) -> Result<HashMap<&'m GameMention, GameId>, Error> {
        if mentions.is_empty() {
            return Ok(HashMap::new());
        }
        let mut search = MentionSearch::new(mentions);
        self.players
            .for_each(self.page, |id, name| search.player(id, name))
            .map_err(|source| self.io(FileKind::Players, source))?;
        self.for_each_record(&mut |id, bytes| {
            if record::decode_kind(bytes) != Some((RecordKind::Game, false)) {
                return;
            }
            let Ok(record) = GameRecord::decode(bytes) else {
                return;
            };
            let candidate = MentionCandidate {
                id,
                tournament: record.tournament,
                date: record.date,
            };
            search.game([record.white, record.black], candidate);
        })?;
        search.found(|id| self.tournament(id))
    }

    /// Reads a tournament, a damaged one as empty.
    fn tournament(&self, id: u32) -> Result<Tournament, Error> {
        let mut tournament = Tournament::default();
        let buffer = &mut ReadBuffer::default();
        let read = self
            .tournaments
            .read(id, self.page, buffer, &mut tournament);
        match read {
            Ok(()) | Err(LookupError::Fault(..)) => Ok(tournament),
            Err(LookupError::Io(source)) => Err(self.io(FileKind::Tournaments, source)),
        }
    }
}

/// Numbers the names that occur.
fn number_names(mentions: &HashSet<GameMention>) -> HashMap<(&str, &str), NameNumber> {
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

/// Keeps the candidates that agree, if any does.
fn narrow(candidates: &mut Vec<MentionCandidate>, agrees: impl Fn(&MentionCandidate) -> bool) {
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
