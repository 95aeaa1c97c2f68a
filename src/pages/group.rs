//! Pages of players, events and openings, and the lists of these.

use super::{Maker, PageNames, Section};
use crate::cbh::{Decoded, EntityId, Error, GameGroup, GameId};
use crate::game::{Eco, EventKind, Tournament};
use crate::picture::game::date_words;
use crate::picture::groups::{self, EventFacts, GroupPage};
use crate::picture::opening::OpeningTally;
use crate::picture::player::PlayerTally;
use crate::picture::tables::{Common, GameEntry, GamesRow, Kind, Names as _, ROWS, piece_of};
use crate::picture::text;

/// Games that are tried for what they say of their event.
const TRIED: usize = 10;

/// Games of an event that standings are made of; more have none.
const MOST_OF_EVENT: usize = 100_000;

impl Maker<'_> {
    /// A piece of the page of a player, event or opening. `games` are its games.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn page_of_group(
        &self,
        section: Section,
        id: u32,
        games: &[GameId],
        piece: usize,
    ) -> Result<String, Error> {
        let names = PageNames::of(*self)?;
        let mut address = String::new();
        text::append_address(&self.file(section, id).unwrap_or_default(), &mut address);
        let rows = piece_of(games, piece).iter().map(|id| self.row(*id));
        let page = GroupPage {
            names: &names,
            title: &title_of(section, id, &names),
            file: &address,
            rows: &rows.collect::<Vec<_>>(),
            common: match section {
                Section::Players => None,
                Section::Tournaments => Some(Common::Event),
                Section::Eco => Some(Common::Opening),
            },
            all: games.len(),
            pieces: self.pieces(section, id, games.len()),
            piece,
        };
        if piece > 1 {
            return Ok(page.further());
        }
        Ok(match section {
            Section::Players => page.player(&self.tally_of_player(id, games)),
            Section::Tournaments => page.tournament(&self.event(games)),
            Section::Eco => {
                let tree = self.branches(&title_of(section, id, &names), games);
                page.opening(&self.tally_of_opening(games), &tree)
            }
        })
    }

    /// Gives what can be read of games; returns how many cannot.
    fn for_each_entry(&self, games: &[GameId], mut take: impl FnMut(GameEntry)) -> u64 {
        let mut unreadable = 0;
        for id in games {
            match self.row(*id) {
                GamesRow::Game(entry) => take(entry),
                GamesRow::Unreadable(_) => unreadable += 1,
            }
        }
        unreadable
    }

    fn tally_of_player(&self, player: u32, games: &[GameId]) -> PlayerTally {
        let mut tally = PlayerTally::of(player);
        tally.unreadable = self.for_each_entry(games, |entry| tally.add(&entry));
        tally
    }

    fn tally_of_opening(&self, games: &[GameId]) -> OpeningTally {
        let mut tally = OpeningTally::default();
        tally.unreadable = self.for_each_entry(games, |entry| tally.add(&entry));
        tally
    }

    fn event(&self, games: &[GameId]) -> EventFacts {
        let (kind, mut facts) = self.facts_of_event(games);
        facts.push(groups::count_words(games.len() as u64));
        let mut event = EventFacts {
            kind,
            facts,
            ..EventFacts::default()
        };
        if games.len() > MOST_OF_EVENT {
            event.is_too_large = true;
            return event;
        }
        event.unreadable = self.for_each_entry(games, |entry| event.entries.push(entry));
        event
    }

    /// The kind of an event, and what else is known of it: its first game that
    /// can be read says so.
    fn facts_of_event(&self, games: &[GameId]) -> (EventKind, Vec<String>) {
        let mut decoded = Decoded::default();
        let mut first = games.iter().take(TRIED);
        if !first.any(|id| self.base.read_game(*id, &mut decoded).is_ok()) {
            return (EventKind::Unknown, Vec::new());
        }
        let event = &decoded.game.headers.tournament;
        let mut facts = vec![words_of_kind(event), event.place.clone()];
        let days = [event.start, event.end].map(date_words);
        facts.extend(match days {
            [Some(first), Some(last)] if first != last => Some(format!("{first} to {last}")),
            [first, last] => first.or(last),
        });
        if event.category > 0 {
            facts.push(format!("Category {}", event.category));
        }
        facts.retain(|fact| !fact.trim().is_empty());
        (event.kind, facts)
    }

    /// What is on a section, by name.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn listed(&self, section: Section) -> Result<Vec<u32>, Error> {
        let games = self.base.crossref(section.grouping())?;
        let Some(kind) = section.kind() else {
            let mut codes = Vec::new();
            for id in 0..=u32::from(Eco::COUNT) {
                if let Some(group) = section.group(id)
                    && self.has_games(&games, group)?
                {
                    codes.push(id);
                }
            }
            return Ok(codes);
        };
        let names = self.base.entity_names(kind)?;
        let mut named = Vec::new();
        for (id, name) in names.iter() {
            if self.has_games(&games, GameGroup::Entity(kind, id))? {
                named.push((name, id.0));
            }
        }
        named.sort_unstable();
        Ok(named.into_iter().map(|(_, id)| id).collect())
    }

    /// A piece of the list of what is on a section.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn page_of_list(
        &self,
        section: Section,
        listed: &[u32],
        piece: usize,
    ) -> Result<String, Error> {
        let names = PageNames::of(*self)?;
        let mut rows = Vec::with_capacity(ROWS);
        for id in piece_of(listed, piece) {
            let title = title_of(section, *id, &names);
            let path = match section.kind() {
                Some(kind) => self.path_of_entity(kind, EntityId(*id)),
                None => Some(format!("eco/{title}.html")),
            };
            if let Some(path) = path {
                rows.push((title, path, self.games(section, *id)?.count()?));
            }
        }
        let title = match section {
            Section::Players => "Players",
            Section::Tournaments => "Tournaments",
            Section::Eco => "Openings",
        };
        let count = listed.len();
        Ok(groups::list(title, section.name(), &rows, count, piece))
    }
}

fn title_of(section: Section, id: u32, names: &PageNames<'_>) -> String {
    let title = match section {
        Section::Players => names.name(Kind::Player, id),
        Section::Tournaments => names.name(Kind::Tournament, id),
        Section::Eco => match section.group(id) {
            Some(GameGroup::Eco(Some(eco))) => eco.to_string(),
            _ => "none".to_owned(),
        },
    };
    if title.trim().is_empty() {
        "(none)".to_owned()
    } else {
        title
    }
}

/// Returns the form of an event, as far as it is known: "Round robin, teams, rapid".
fn words_of_kind(event: &Tournament) -> String {
    let kind = match event.kind {
        EventKind::Match => "match",
        EventKind::RoundRobin => "round robin",
        EventKind::Swiss => "Swiss system",
        EventKind::Team => "teams",
        EventKind::KnockOut => "knock-out",
        EventKind::Simultaneous => "simultaneous exhibition",
        EventKind::Scheveningen => "Scheveningen system",
        EventKind::Game | EventKind::Unknown => "",
    };
    let (kind_of_teams, speed) = (event.kind == EventKind::Team, event.speed);
    let words = [
        (true, kind),
        (event.is_team_event && !kind_of_teams, "teams"),
        (speed.blitz, "blitz"),
        (speed.rapid, "rapid"),
        (speed.correspondence, "correspondence"),
    ];
    let said = words
        .into_iter()
        .filter(|(is, word)| *is && !word.is_empty());
    let said: Vec<&str> = said.map(|(_, word)| word).collect();
    let said = said.join(", ");
    let mut letters = said.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}
