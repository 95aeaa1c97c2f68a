//! Groups of games that share a player, an event, an opening or a year.

mod lists;

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;

use self::lists::SortedGroups;
use crate::cbh::base::summary::Summary;
use crate::cbh::entities::{EntityId, EntityKind};
use crate::cbh::{Error, GameId};
use crate::game::Eco;

/// The property by which games are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// A player, tournament …
    Entity(EntityKind),
    /// The ECO code, without the sub-code.
    Eco,
    /// The year of the game.
    Year,
}

/// One group of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameGroup {
    /// Games of a player (on either side), of a tournament …
    Entity(EntityKind, EntityId),
    /// Games of an opening, whatever the sub-code; `None`: without a code.
    Eco(Option<Eco>),
    /// Games of a year; 0: of an unknown one.
    Year(u16),
}

impl GameGroup {
    /// The grouping of this group.
    pub fn grouping(self) -> Grouping {
        match self {
            GameGroup::Entity(kind, _) => Grouping::Entity(kind),
            GameGroup::Eco(_) => Grouping::Eco,
            GameGroup::Year(_) => Grouping::Year,
        }
    }

    /// Returns whether a game, deleted or not, belongs to the group.
    pub fn has(self, game: &Summary) -> bool {
        self.grouping().keys(game).contains(&self.key())
    }

    /// Index of the group in its grouping.
    fn key(self) -> u32 {
        match self {
            GameGroup::Entity(_, id) => id.0,
            GameGroup::Eco(eco) => u32::from(eco.map_or(Eco::COUNT, Eco::index)),
            GameGroup::Year(year) => u32::from(year),
        }
    }
}

/// The index for "in no group".
const NO_KEY: u32 = u32::MAX;

/// Number of years: they have 12 bits.
const YEARS: u32 = 1 << 12;

impl Grouping {
    /// Returns the group with this index.
    fn group(self, key: u32) -> GameGroup {
        let short = u16::try_from(key).unwrap_or(u16::MAX);
        match self {
            Grouping::Entity(kind) => GameGroup::Entity(kind, EntityId(key)),
            Grouping::Eco => GameGroup::Eco(Eco::new(short, 0)),
            Grouping::Year => GameGroup::Year(short),
        }
    }

    /// Number of groups, if the base has `entities` of the kind.
    fn group_count(self, entities: u32) -> u32 {
        match self {
            Grouping::Entity(_) => entities,
            Grouping::Eco => u32::from(Eco::COUNT) + 1,
            Grouping::Year => YEARS,
        }
    }

    /// Returns whether a game can be in two groups.
    fn has_sides(self) -> bool {
        matches!(
            self,
            Grouping::Entity(EntityKind::Player | EntityKind::Team)
        )
    }

    /// Returns whether a game refers to this entity.
    pub(in crate::cbh) fn has(self, game: &Summary, id: EntityId) -> bool {
        self.keys(game).contains(&id.0)
    }

    /// The groups of a game.
    fn keys(self, game: &Summary) -> [u32; 2] {
        let team = |team: Option<EntityId>| team.map_or(NO_KEY, |team| team.0);
        match self {
            Grouping::Entity(EntityKind::Player) => [game.white.0, game.black.0],
            Grouping::Entity(EntityKind::Tournament) => [game.tournament.0, NO_KEY],
            Grouping::Entity(EntityKind::Annotator) => [game.annotator.0, NO_KEY],
            Grouping::Entity(EntityKind::Source) => [game.source.0, NO_KEY],
            Grouping::Entity(EntityKind::Team) => [team(game.white_team), team(game.black_team)],
            Grouping::Eco => [GameGroup::Eco(game.eco).key(), NO_KEY],
            Grouping::Year => [u32::from(game.date.year), NO_KEY],
        }
    }
}

/// The games of every group of one grouping. Deleted games and texts belong to
/// no group. A reference beyond the end of the entity file is ignored.
///
/// It describes the base at the time it was made. After a save there is a new
/// one, which shares nearly all memory with it. More than 262,144 games, of
/// all groups together, lie in a temporary file, of which reading can fail.
#[derive(Clone, Debug)]
pub struct Crossref {
    sorted: Arc<SortedGroups>,
    /// Games that were added to a group or removed from it since the sort.
    changes: OrdMap<(u32, GameId), Change>,
}

/// A change of a game's membership in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Came,
    Left,
}

impl Crossref {
    /// The grouping.
    pub fn grouping(&self) -> Grouping {
        self.sorted.grouping()
    }

    /// The games of `group`, ascending and each once, even if a player plays
    /// himself. None for a group of another grouping.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn games(&self, group: GameGroup) -> Result<Cow<'_, [GameId]>, Error> {
        self.games_after(group, GameId(0))
    }

    /// As [`games`](Crossref::games), only those with an id above `after`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn games_after(&self, group: GameGroup, after: GameId) -> Result<Cow<'_, [GameId]>, Error> {
        if self.has_changes(group) {
            return self.iter_after(group, after).collect();
        }
        self.sorted.games_after(self.key(group), after)
    }

    /// As [`games_after`](Crossref::games_after), as an iterator; after an error
    /// games may be missing.
    pub fn iter_after(
        &self,
        group: GameGroup,
        after: GameId,
    ) -> impl Iterator<Item = Result<GameId, Error>> {
        let mut sorted = self.sorted.iter_after(self.key(group), after).peekable();
        let mut changes = self.changes_after(group, after).peekable();
        std::iter::from_fn(move || {
            loop {
                let next = match sorted.peek() {
                    Some(Ok(id)) => Some(*id),
                    Some(Err(_)) => return sorted.next(),
                    None => None,
                };
                let Some((changed, change)) = changes.peek().copied() else {
                    return sorted.next();
                };
                if next.is_some_and(|next| next < changed) {
                    return sorted.next();
                }
                if next == Some(changed) {
                    sorted.next();
                }
                changes.next();
                if change == Change::Came {
                    return Some(Ok(changed));
                }
            }
        })
    }

    /// Returns whether `group` contains the game.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn contains(&self, group: GameGroup, id: GameId) -> Result<bool, Error> {
        let key = self.key(group);
        let change = key.and_then(|key| self.changes.get(&(key, id)));
        match change {
            Some(change) => Ok(*change == Change::Came),
            None => self.sorted.contains(key, id),
        }
    }

    /// Returns whether `group` has no games.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn is_empty(&self, group: GameGroup) -> Result<bool, Error> {
        if self.has_changes(group) {
            let mut games = self.iter_after(group, GameId(0));
            return Ok(games.next().transpose()?.is_none());
        }
        Ok(self.sorted.range(self.key(group)).is_empty())
    }

    /// Number of games of `group`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn count(&self, group: GameGroup) -> Result<usize, Error> {
        if self.has_changes(group) {
            let mut games = self.iter_after(group, GameId(0));
            return games.try_fold(0, |count, game| game.map(|_| count + 1));
        }
        Ok(self.sorted.range(self.key(group)).len())
    }

    /// The non-empty groups with their numbers of games, by ascending id, code
    /// (none comes last) or year (unknown comes first). The record of an entity
    /// among them may be deleted.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn groups(&self) -> Result<Vec<(GameGroup, usize)>, Error> {
        let last = self.changes.get_max().map_or(0, |((key, _), _)| key + 1);
        let keys = 0..self.sorted.group_count().max(last);
        let groups = keys.map(|key| self.grouping().group(key));
        let counts = groups.map(|group| Ok((group, self.count(group)?)));
        let has_games = |counted: &Result<_, _>| !matches!(counted, Ok((_, 0)));
        counts.filter(has_games).collect()
    }

    /// Memory it takes in bytes, without the changes.
    pub fn size(&self) -> usize {
        self.sorted.size()
    }

    /// Returns the crossref after a save that changed the summary `before` to
    /// `after`. The base then has `entities` of the kind.
    pub(in crate::cbh) fn change(
        &mut self,
        before: Option<&Summary>,
        after: Option<&Summary>,
        entities: u32,
    ) {
        let grouping = self.grouping();
        let count = grouping.group_count(entities);
        let keys = |game: Option<&Summary>| {
            let shown = game.filter(|game| !game.is_deleted);
            let keys = shown.map_or([NO_KEY; 2], |game| grouping.keys(game));
            keys.map(|key| if key < count { key } else { NO_KEY })
        };
        let (old, new) = (keys(before), keys(after));
        let id = before.or(after).map_or(GameId(0), |game| game.id);
        for key in old
            .iter()
            .filter(|key| **key != NO_KEY && !new.contains(key))
        {
            self.changes.insert((*key, id), Change::Left);
        }
        for key in new
            .iter()
            .filter(|key| **key != NO_KEY && !old.contains(key))
        {
            self.changes.insert((*key, id), Change::Came);
        }
    }

    fn key(&self, group: GameGroup) -> Option<u32> {
        (group.grouping() == self.grouping()).then(|| group.key())
    }

    fn has_changes(&self, group: GameGroup) -> bool {
        self.changes_after(group, GameId(0)).next().is_some()
    }

    fn changes_after(
        &self,
        group: GameGroup,
        after: GameId,
    ) -> impl Iterator<Item = (GameId, Change)> {
        let key = self.key(group);
        let from = (key.unwrap_or(NO_KEY), after);
        let changes = self
            .changes
            .range((Bound::Excluded(from), Bound::Unbounded));
        let of_group = changes.take_while(move |((of, _), _)| Some(*of) == key);
        of_group.map(|((_, id), change)| (*id, *change))
    }
}

/// Collects the groups of all games, with four bytes for each possible group of
/// a game, and sorts the games by group.
#[derive(Debug)]
pub(crate) struct CrossrefBuilder {
    grouping: Grouping,
    group_count: u32,
    /// The groups of game 1, of game 2 …; one or two per game.
    keys: Vec<u32>,
}

impl CrossrefBuilder {
    /// For a base with `games` records and `entities` of the kind.
    pub(crate) fn new(grouping: Grouping, games: u32, entities: u32) -> CrossrefBuilder {
        let sides = 1 + usize::from(grouping.has_sides());
        CrossrefBuilder {
            grouping,
            group_count: grouping.group_count(entities),
            keys: Vec::with_capacity(games as usize * sides),
        }
    }

    /// Adds a game. Ids must ascend.
    pub(crate) fn add(&mut self, game: &Summary) {
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
    pub(crate) fn build(self) -> Crossref {
        let sides = 1 + usize::from(self.grouping.has_sides());
        // The counts are stored two places ahead. After the sums, the place
        // between them holds the index of the group's next game.
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
            sorted: Arc::new(SortedGroups::new(self.grouping, starts, games)),
            changes: OrdMap::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::record::RECORD_BYTES;

    const PLAYERS: Grouping = Grouping::Entity(EntityKind::Player);

    fn game(id: u32, white: u32, black: u32) -> Summary {
        let blank = Summary::decode(GameId(id), false, &[0; RECORD_BYTES], &[]);
        Summary {
            white: EntityId(white),
            black: EntityId(black),
            ..blank.unwrap()
        }
    }

    fn player(id: u32) -> GameGroup {
        GameGroup::Entity(EntityKind::Player, EntityId(id))
    }

    /// The games of players 0 to 3: game 2 is of no two of them, in game 4 a
    /// player plays himself, and game 5 has one beyond the end of the file.
    fn crossref() -> Crossref {
        let mut builder = CrossrefBuilder::new(PLAYERS, 5, 4);
        for (id, white, black) in [(1, 0, 1), (3, 1, 2), (4, 1, 1), (5, 4, 0)] {
            builder.add(&game(id, white, black));
        }
        builder.build()
    }

    fn ids(crossref: &Crossref, group: GameGroup) -> Vec<u32> {
        crossref
            .games(group)
            .unwrap()
            .iter()
            .map(|id| id.0)
            .collect()
    }

    #[test]
    fn each_player_has_his_games_once_and_in_order() {
        let crossref = crossref();
        let games = [0, 1, 2, 3, 4].map(|id| ids(&crossref, player(id)));
        assert_eq!(games, [vec![1, 5], vec![1, 3, 4], vec![3], vec![], vec![]]);
        let counts = crossref.groups().unwrap();
        assert_eq!(counts, [(player(0), 2), (player(1), 3), (player(2), 1)]);
        assert!(crossref.contains(player(1), GameId(3)).unwrap());
        assert!(!crossref.contains(player(1), GameId(5)).unwrap());
        let is_empty = |group| crossref.is_empty(group).unwrap();
        assert!(is_empty(player(3)) && !is_empty(player(2)));
        assert!(is_empty(GameGroup::Year(0)));
        let after = crossref.games_after(player(1), GameId(3)).unwrap();
        assert_eq!(after.as_ref(), [GameId(4)]);
        // Five bounds of four groups, one place ahead, and six games.
        assert_eq!(crossref.size(), 4 * (6 + 6));
    }

    #[test]
    fn a_save_moves_a_game_to_other_groups() {
        let mut crossref = crossref();
        let (old, new) = (game(3, 1, 2), game(3, 1, 0));
        crossref.change(Some(&old), Some(&new), 4);
        let games = [0, 1, 2].map(|id| ids(&crossref, player(id)));
        assert_eq!(games, [vec![1, 3, 5], vec![1, 3, 4], vec![]]);
        let deleted = Summary {
            is_deleted: true,
            ..new
        };
        crossref.change(Some(&new), Some(&deleted), 4);
        crossref.change(None, Some(&game(6, 4, 5)), 5);
        let games = [0, 1, 4, 5].map(|id| ids(&crossref, player(id)));
        assert_eq!(games, [vec![1, 5], vec![1, 4], vec![6], vec![]]);
        assert!(crossref.contains(player(4), GameId(6)).unwrap());
        assert!(!crossref.contains(player(1), GameId(3)).unwrap());
        let groups = crossref.groups().unwrap();
        assert_eq!(groups.last(), Some(&(player(4), 1)));
        let after = crossref.games_after(player(0), GameId(1)).unwrap();
        assert_eq!(after.as_ref(), [GameId(5)]);
    }

    #[test]
    fn a_game_belongs_to_the_groups_of_its_record() {
        let mut game = game(1, 7, 8);
        game.black_team = Some(EntityId(3));
        game.eco = Eco::from_code("C89");
        game.date.year = 1999;
        let has = |kind, id| Grouping::Entity(kind).has(&game, EntityId(id));
        assert!(has(EntityKind::Player, 7) && has(EntityKind::Player, 8));
        assert!(!has(EntityKind::Player, 3) && has(EntityKind::Team, 3));
        assert!(has(EntityKind::Source, 0) && !has(EntityKind::Source, 7));
        assert!(GameGroup::Eco(game.eco).has(&game));
        assert!(!GameGroup::Eco(None).has(&game));
        assert!(GameGroup::Year(1999).has(&game));
        assert!(!GameGroup::Year(0).has(&game));
    }

    #[test]
    fn games_without_a_code_come_after_all_codes() {
        let mut builder = CrossrefBuilder::new(Grouping::Eco, 2, 0);
        for (id, code) in [(1, None), (2, Eco::from_code("E99"))] {
            builder.add(&Summary {
                eco: code,
                ..game(id, 0, 0)
            });
        }
        let groups = builder.build().groups().unwrap();
        let last = GameGroup::Eco(Eco::from_code("E99"));
        assert_eq!(groups, [(last, 1), (GameGroup::Eco(None), 1)]);
    }

    #[test]
    fn a_game_is_among_those_of_each_grouping() {
        let mut game = game(2, 7, 8);
        (game.tournament, game.annotator, game.source) = (EntityId(4), EntityId(5), EntityId(6));
        (game.white_team, game.black_team) = (Some(EntityId(2)), Some(EntityId(9)));
        game.date.year = 4095;
        let of = |kind, id| GameGroup::Entity(kind, EntityId(id));
        for (grouping, groups) in [
            (PLAYERS, vec![player(7), player(8)]),
            (
                Grouping::Entity(EntityKind::Tournament),
                vec![of(EntityKind::Tournament, 4)],
            ),
            (
                Grouping::Entity(EntityKind::Annotator),
                vec![of(EntityKind::Annotator, 5)],
            ),
            (
                Grouping::Entity(EntityKind::Source),
                vec![of(EntityKind::Source, 6)],
            ),
            (
                Grouping::Entity(EntityKind::Team),
                vec![of(EntityKind::Team, 2), of(EntityKind::Team, 9)],
            ),
            (Grouping::Eco, vec![GameGroup::Eco(None)]),
            (Grouping::Year, vec![GameGroup::Year(4095)]),
        ] {
            let mut builder = CrossrefBuilder::new(grouping, 2, 10);
            builder.add(&game);
            let mut crossref = builder.build();
            let expected: Vec<_> = groups.iter().map(|&group| (group, 1)).collect();
            assert_eq!(crossref.groups().unwrap(), expected);
            for group in groups {
                assert_eq!(group.grouping(), grouping);
                assert_eq!(ids(&crossref, group), [2]);
                assert!(group.has(&game));
            }
            crossref.change(Some(&game), None, 10);
            assert_eq!(crossref.groups().unwrap(), []);
        }
    }

    #[test]
    fn games_of_a_group_that_changed_are_those_above_a_number() {
        let mut crossref = crossref();
        // It was in game 3 as well, and is now in 2 and 6 beside 1 and 4.
        for (id, white) in [(2, 1), (6, 1)] {
            crossref.change(None, Some(&game(id, white, 2)), 4);
        }
        let (old, new) = (game(3, 1, 2), game(3, 0, 2));
        crossref.change(Some(&old), Some(&new), 4);
        for (after, wanted) in [
            (0, &[1, 2, 4, 6][..]),
            (1, &[2, 4, 6]),
            (2, &[4, 6]),
            (3, &[4, 6]),
            (4, &[6]),
            (6, &[]),
        ] {
            let games = crossref.games_after(player(1), GameId(after)).unwrap();
            let games: Vec<u32> = games.iter().map(|id| id.0).collect();
            assert_eq!(games, wanted, "{after}");
        }
        assert_eq!(crossref.count(player(1)).unwrap(), 4);
        assert_eq!(crossref.count(player(0)).unwrap(), 3);
        assert_eq!(crossref.count(player(3)).unwrap(), 0);
    }
}
