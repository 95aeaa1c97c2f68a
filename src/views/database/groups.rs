//! Directories of games that have something in common.

use std::fmt::Write as _;

use super::directories::{Eco, Entities, Games, YEARS, Years};
use super::{DatabaseVolume, GAME};
use crate::cbh::{EntityId, EntityKind, GameGroup, Summary};
use crate::fs::volume::{DirEntry, Ino, Listing, Node};
use crate::fs::{Error, Role};
use crate::game;

/// The kinds of numbers that directories of groups have: of the first kind of
/// entity, the others follow; of opening codes; of years.
const FIRST_ENTITY: u8 = 2;
const ECO_CODE: u8 = 8;
const YEAR: u8 = 9;

/// The group whose directory has this number; whether it has games is not
/// asked.
pub(super) fn group_of(ino: Ino) -> Option<GameGroup> {
    let short = u16::try_from(ino.index()).ok();
    match ino.kind() {
        ECO_CODE => Some(GameGroup::Eco(match short? {
            game::Eco::COUNT => None,
            code => Some(game::Eco::new(code, 0)?),
        })),
        YEAR => Some(GameGroup::Year(short.filter(|year| *year < YEARS)?)),
        kind => {
            let place = usize::from(kind.checked_sub(FIRST_ENTITY)?);
            let kind = EntityKind::ALL.get(place).copied()?;
            Some(GameGroup::Entity(kind, EntityId(ino.index())))
        }
    }
}

/// The number of a group's directory.
pub(super) fn number_of(group: GameGroup) -> Ino {
    match group {
        GameGroup::Entity(kind, id) => Ino::new(FIRST_ENTITY + kind as u8, id.0),
        GameGroup::Eco(eco) => {
            let code = eco.map_or(game::Eco::COUNT, game::Eco::index);
            Ino::new(ECO_CODE, u32::from(code))
        }
        GameGroup::Year(year) => Ino::new(YEAR, u32::from(year)),
    }
}

/// The directory that a group's lies in.
pub(super) fn parent_of(group: GameGroup) -> Ino {
    match group {
        GameGroup::Entity(kind, _) => Entities(kind).number(),
        GameGroup::Eco(code) => Eco::parent_of(code),
        GameGroup::Year(_) => Years::NUMBER,
    }
}

/// Writes the name that the directory of a code or a year has; those of
/// entities have the names of the base. `name` is replaced.
pub(super) fn format_name(group: GameGroup, name: &mut String) {
    name.clear();
    // Writing to a string does not fail.
    let _ = match group {
        GameGroup::Eco(Some(eco)) => write!(name, "{eco}"),
        GameGroup::Eco(None) => write!(name, "none"),
        GameGroup::Year(0) => write!(name, "unknown"),
        GameGroup::Year(year) => write!(name, "{year:04}"),
        GameGroup::Entity(..) => Ok(()),
    };
}

impl DatabaseVolume {
    /// In how many directories a game is listed, but for those that are
    /// hidden; one at least.
    pub(super) fn count_listings(&self, game: &Summary) -> u32 {
        // In `deleted/`.
        if game.is_deleted {
            return 1;
        }
        let is_shown = |name| u32::from(!self.shown.hides(name));
        let has = |name, kind, id: Option<EntityId>| {
            // What cannot be read now is not listed now.
            let has_entity = |id| self.groups.has_entity(self.base.as_ref(), kind, id);
            let is_there = id.is_some_and(|id| has_entity(id).unwrap_or(false));
            is_shown(name) * u32::from(is_there)
        };
        let other =
            |first: Option<EntityId>, second: Option<EntityId>| second.filter(|_| second != first);
        let second_player = other(Some(game.white), Some(game.black));
        let entities = has("players", EntityKind::Player, Some(game.white))
            + has("players", EntityKind::Player, second_player)
            + has("tournaments", EntityKind::Tournament, Some(game.tournament))
            + has("annotators", EntityKind::Annotator, Some(game.annotator))
            + has("sources", EntityKind::Source, Some(game.source))
            + has("teams", EntityKind::Team, game.white_team)
            + has(
                "teams",
                EntityKind::Team,
                other(game.white_team, game.black_team),
            );
        // Every game has an opening and a year, be it none and unknown.
        let all = is_shown("games") + is_shown("eco") + is_shown("years") + entities;
        all.max(1)
    }

    /// Whether a group has games.
    pub(super) fn has_games(&self, group: GameGroup) -> Result<bool, Error> {
        Ok(!self.groups.games(self.base.as_ref(), group)?.is_empty()?)
    }

    /// The directory of a group, if that has games.
    pub(super) fn group_node(&self, group: GameGroup) -> Result<Node, Error> {
        if !self.has_games(group)? {
            return Err(Error::NotFound);
        }
        Ok(self.directory_node(number_of(group), 2))
    }

    /// The game of this name, if it is in the group.
    pub(super) fn lookup_in_group(&self, group: GameGroup, name: &[u8]) -> Result<Node, Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        let id = self.id_of_name(name).ok_or(Error::NotFound)?;
        games.contains(id)?.then_some(()).ok_or(Error::NotFound)?;
        self.game(id, Games::lists)
    }

    /// Lists codes or years that have games, with their cookies.
    pub(super) fn list_groups(
        &self,
        groups: impl IntoIterator<Item = (u64, GameGroup)>,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let mut name = String::new();
        let groups = groups.into_iter();
        for (cookie, group) in groups.filter(|(cookie, _)| *cookie > after) {
            if !self.has_games(group)? {
                continue;
            }
            format_name(group, &mut name);
            let (name, node) = (&name, self.directory_node(number_of(group), 2));
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    /// What a name among the games of a group means for one who would write.
    pub(super) fn role_in_group(&self, group: GameGroup, name: &[u8]) -> Role {
        let Some(id) = self.id_of_name(name) else {
            return Role::Scratch;
        };
        let ino = Ino::new(GAME, id.0);
        let games = self.groups.games(self.base.as_ref(), group);
        if games.and_then(|games| games.contains(id)).unwrap_or(false) {
            return Role::File(ino);
        }
        let summary = self.base.summary(id);
        let is_deleted = summary.is_ok_and(|game| game.is_deleted && group.has(&game));
        if is_deleted {
            Role::Deleted(ino)
        } else {
            Role::Refused
        }
    }
}
