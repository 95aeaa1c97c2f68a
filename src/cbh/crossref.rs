//! Which games have something in common: a player, an event, an opening, a
//! year.

use std::ops::Range;

use super::GameId;
use super::entities::{EntityId, EntityKind};
use super::summary::Summary;
use crate::game::Eco;

/// What to group the games of a base by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// Their players, tournaments …
    Entity(EntityKind),
    /// Their opening code, without the sub-code.
    Eco,
    /// The year they were played in.
    Year,
}

/// One group of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Games of a player (on either side), of a tournament …
    Entity(EntityKind, EntityId),
    /// Games of an opening, whatever the sub-code; `None`: without a code.
    Eco(Option<Eco>),
    /// Games of a year; 0: of an unknown one.
    Year(u16),
}

impl Group {
    /// The grouping that this is a group of.
    pub fn grouping(self) -> Grouping {
        match self {
            Group::Entity(kind, _) => Grouping::Entity(kind),
            Group::Eco(_) => Grouping::Eco,
            Group::Year(_) => Grouping::Year,
        }
    }

    /// Number of the group in its grouping.
    fn key(self) -> u32 {
        match self {
            Group::Entity(_, id) => id.0,
            Group::Eco(eco) => u32::from(eco.map_or(Eco::COUNT, Eco::index)),
            Group::Year(year) => u32::from(year),
        }
    }
}

/// Stands for "in no group".
const NO_KEY: u32 = u32::MAX;

/// Years have 12 bits.
const YEARS: u32 = 1 << 12;

impl Grouping {
    /// The group with this number.
    fn group(self, key: u32) -> Group {
        let short = u16::try_from(key).unwrap_or(u16::MAX);
        match self {
            Grouping::Entity(kind) => Group::Entity(kind, EntityId(key)),
            Grouping::Eco => Group::Eco(Eco::new(short, 0)),
            Grouping::Year => Group::Year(short),
        }
    }

    /// How many groups there are, if `entities` of the kind are in the base.
    fn group_count(self, entities: u32) -> u32 {
        match self {
            Grouping::Entity(_) => entities,
            Grouping::Eco => u32::from(Eco::COUNT) + 1,
            Grouping::Year => YEARS,
        }
    }

    /// Whether a game may be in two groups.
    fn has_sides(self) -> bool {
        matches!(
            self,
            Grouping::Entity(EntityKind::Player | EntityKind::Team)
        )
    }

    /// The groups that a game is in.
    fn keys(self, game: &Summary) -> [u32; 2] {
        let team = |team: Option<EntityId>| team.map_or(NO_KEY, |team| team.0);
        match self {
            Grouping::Entity(EntityKind::Player) => [game.white.0, game.black.0],
            Grouping::Entity(EntityKind::Tournament) => [game.tournament.0, NO_KEY],
            Grouping::Entity(EntityKind::Annotator) => [game.annotator.0, NO_KEY],
            Grouping::Entity(EntityKind::Source) => [game.source.0, NO_KEY],
            Grouping::Entity(EntityKind::Team) => [team(game.white_team), team(game.black_team)],
            Grouping::Eco => [Group::Eco(game.eco).key(), NO_KEY],
            Grouping::Year => [u32::from(game.date.year), NO_KEY],
        }
    }
}

/// The games of every group of one grouping. Deleted games and texts are in
/// none; a game whose player or the like lies beyond the entity file is not
/// in that group, for there is none.
///
/// It tells what the base was when it was made; a base that changed is opened
/// anew.
#[derive(Debug)]
pub struct Crossref {
    grouping: Grouping,
    /// Where the games of each group begin in `games`, and one more: where
    /// those of the last end.
    starts: Vec<u32>,
    /// Ascending in each group.
    games: Vec<GameId>,
}

impl Crossref {
    /// What the games are grouped by.
    pub fn grouping(&self) -> Grouping {
        self.grouping
    }

    /// The games of `group`, ascending: each once, also where a player plays
    /// himself. None for a group of another grouping.
    pub fn games(&self, group: Group) -> &[GameId] {
        if group.grouping() != self.grouping {
            return &[];
        }
        self.range(group.key())
            .and_then(|range| self.games.get(range))
            .unwrap_or_default()
    }

    /// As [`games`](Crossref::games), those with a higher id than `after`.
    pub fn games_after(&self, group: Group, after: GameId) -> &[GameId] {
        let games = self.games(group);
        let from = games.partition_point(|&id| id <= after);
        games.get(from..).unwrap_or_default()
    }

    /// Whether `group` has the game.
    pub fn contains(&self, group: Group, id: GameId) -> bool {
        self.games(group).binary_search(&id).is_ok()
    }

    /// The groups that have games, by ascending id, code (none comes last) or
    /// year (unknown comes first), and how many they have. The record of an
    /// entity among them may be deleted.
    pub fn groups(&self) -> impl Iterator<Item = (Group, usize)> {
        let keys = 0..u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        keys.filter_map(|key| {
            let range = self.range(key).filter(|range| !range.is_empty())?;
            Some((self.grouping.group(key), range.len()))
        })
    }

    /// Bytes of memory it takes.
    pub fn size(&self) -> usize {
        4 * (self.starts.capacity() + self.games.capacity())
    }

    fn range(&self, key: u32) -> Option<Range<usize>> {
        let key = key as usize;
        let (from, to) = (self.starts.get(key)?, self.starts.get(key + 1)?);
        Some(*from as usize..*to as usize)
    }
}

/// Memory is kept ready for no more games than a base can have, whatever it
/// claims: other files name them with three bytes.
const MOST_GAMES: u32 = 1 << 24;

/// Collects the groups of all games, four bytes for each that a game may be
/// in, and sorts the games into them.
#[derive(Debug)]
pub(super) struct CrossrefBuilder {
    grouping: Grouping,
    group_count: u32,
    /// The groups of game 1, of game 2 …; one or two each.
    keys: Vec<u32>,
}

impl CrossrefBuilder {
    /// For a base with `games` records and `entities` of the kind.
    pub(super) fn new(grouping: Grouping, games: u32, entities: u32) -> CrossrefBuilder {
        let sides = 1 + usize::from(grouping.has_sides());
        CrossrefBuilder {
            grouping,
            group_count: grouping.group_count(entities),
            keys: Vec::with_capacity(games.min(MOST_GAMES) as usize * sides),
        }
    }

    /// Adds a game; by ascending id.
    pub(super) fn add(&mut self, game: &Summary) {
        let keys = self.grouping.keys(game);
        let sides = 1 + usize::from(self.grouping.has_sides());
        let before = game.id.0.saturating_sub(1) as usize * sides;
        self.keys.resize(before, NO_KEY);
        let [first, second] = keys.map(|key| if key < self.group_count { key } else { NO_KEY });
        self.keys.push(first);
        if sides == 2 {
            self.keys
                .push(if first == second { NO_KEY } else { second });
        }
    }

    /// Sorts the games into their groups.
    pub(super) fn build(self) -> Crossref {
        let sides = 1 + usize::from(self.grouping.has_sides());
        // Counted two places on, so that after the sums the place between
        // tells where the next game of the group goes.
        let mut starts = vec![0_u32; self.group_count as usize + 2];
        let mut count = 0;
        for key in self.keys.iter().filter(|&&key| key != NO_KEY) {
            if let Some(start) = starts.get_mut(*key as usize + 2) {
                *start += 1;
                count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut games = vec![GameId(0); count];
        for (id, keys) in (1..).zip(self.keys.chunks(sides)) {
            for &key in keys.iter().filter(|&&key| key != NO_KEY) {
                if let Some(next) = starts.get_mut(key as usize + 1)
                    && let Some(place) = games.get_mut(*next as usize)
                {
                    *place = GameId(id);
                    *next += 1;
                }
            }
        }
        starts.pop();
        Crossref {
            grouping: self.grouping,
            starts,
            games,
        }
    }
}
