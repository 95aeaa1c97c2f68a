//! Pages about what is in a base: which games, players, events and openings,
//! and what [`picture`](crate::picture) has to know to draw them.
//!
//! | module | what |
//! |---|---|
//! | `game.rs` | pages of games |
//! | `group.rs` | pages of players, events and openings, and their lists |
//! | `index.rs` | the index of a base |
//! | `opening.rs` | the moves that the games of an opening have |
//! | [`site`] | all pages as a folder |
//!
//! The caller provides the file names ([`FileNaming`]).

mod game;
mod group;
mod index;
mod opening;
pub mod site;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::base::Base;
use crate::cbh::{
    Crossref, EntityId, EntityKind, EntityNames, Error, GameGroup, GameId, Grouping, Summary,
};
use crate::game::Eco;
use crate::picture::tables::{GameEntry, GamesRow, Kind, Names, pieces};
use crate::picture::text;
use crate::search::GameSet;

/// A folder of pages about groups of games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Those of players.
    Players,
    /// Those of events.
    Tournaments,
    /// Those of openings.
    Eco,
}

impl Section {
    /// All of them.
    pub const ALL: [Section; 3] = [Section::Players, Section::Tournaments, Section::Eco];

    /// The name of the folder.
    pub fn name(self) -> &'static str {
        match self {
            Section::Players => "players",
            Section::Tournaments => "tournaments",
            Section::Eco => "eco",
        }
    }

    /// The kind of entity that it is about.
    pub fn kind(self) -> Option<EntityKind> {
        match self {
            Section::Players => Some(EntityKind::Player),
            Section::Tournaments => Some(EntityKind::Tournament),
            Section::Eco => None,
        }
    }

    /// The section of a kind of entity, if there is one.
    fn of(kind: EntityKind) -> Option<Section> {
        let mut all = Section::ALL.into_iter();
        all.find(|section| section.kind() == Some(kind))
    }

    /// The group of games with a number on this section.
    pub fn group(self, id: u32) -> Option<GameGroup> {
        if let Some(kind) = self.kind() {
            return Some(GameGroup::Entity(kind, EntityId(id)));
        }
        let code = u16::try_from(id).ok()?;
        let is_code = code <= Eco::COUNT;
        is_code.then(|| GameGroup::Eco(Eco::new(code, 0)))
    }

    fn grouping(self) -> Grouping {
        self.kind().map_or(Grouping::Eco, Grouping::Entity)
    }
}

/// Says what files are called.
pub trait FileNaming: fmt::Debug {
    /// The name of the page of a player or event; `None` if it has none.
    fn file_of_entity(&self, kind: EntityKind, id: EntityId) -> Option<String>;

    /// How many pieces the page of something on a section may have.
    fn most_pieces(&self, section: Section, id: u32) -> usize;
}

/// Makes the pages of a base in one state.
#[derive(Clone, Copy, Debug)]
pub struct Maker<'b> {
    /// The base.
    pub base: &'b dyn Base,
    /// Says what their files are called.
    pub files: &'b dyn FileNaming,
    /// Whether texts of games are shown without private tags and commands.
    pub is_clean: bool,
    /// The games that there are pages of, if not all.
    pub chosen: Option<&'b GameSet>,
}

/// The games of a group that there are pages of.
#[derive(Debug)]
pub struct GamesOf {
    group: GameGroup,
    crossref: Arc<Crossref>,
    /// If not all.
    chosen: Option<Vec<GameId>>,
}

impl GamesOf {
    /// Number of them.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn count(&self) -> Result<usize, Error> {
        match &self.chosen {
            Some(chosen) => Ok(chosen.len()),
            None => self.crossref.count(self.group),
        }
    }

    /// Their numbers, ascending.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn ids(&self) -> Result<Cow<'_, [GameId]>, Error> {
        match &self.chosen {
            Some(chosen) => Ok(chosen.into()),
            None => self.crossref.games(self.group),
        }
    }
}

impl Maker<'_> {
    /// The games of what has a number on a section.
    ///
    /// # Errors
    ///
    /// That of reading the base.
    pub fn games(&self, section: Section, id: u32) -> Result<GamesOf, Error> {
        let group = section.group(id).unwrap_or(GameGroup::Eco(None));
        let crossref = self.base.crossref(section.grouping())?;
        let chosen = self.chosen.map(|chosen| {
            let games = crossref.iter_after(group, GameId(0));
            let is_chosen =
                |id: &Result<GameId, _>| id.as_ref().map_or(true, |id| chosen.contains(id.0));
            games.filter(is_chosen).collect::<Result<_, _>>()
        });
        let chosen = chosen.transpose()?;
        Ok(GamesOf {
            group,
            crossref,
            chosen,
        })
    }

    /// Whether a group has games that there are pages of.
    fn has_games(&self, crossref: &Crossref, group: GameGroup) -> Result<bool, Error> {
        if self.chosen.is_none() {
            return Ok(!crossref.is_empty(group)?);
        }
        for id in crossref.iter_after(group, GameId(0)) {
            if self.has(id?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is a page of this game.
    pub fn has(&self, id: GameId) -> bool {
        self.chosen.is_none_or(|chosen| chosen.contains(id.0))
    }

    /// How many pieces a page of so many games has.
    pub fn pieces(&self, section: Section, id: u32, games: usize) -> usize {
        pieces(games).min(self.files.most_pieces(section, id))
    }

    /// The file of something on a section.
    pub fn file(&self, section: Section, id: u32) -> Option<String> {
        if let Some(kind) = section.kind() {
            return self.files.file_of_entity(kind, EntityId(id));
        }
        match section.group(id)? {
            GameGroup::Eco(Some(eco)) => Some(format!("{eco}.html")),
            GameGroup::Eco(None) => Some("none.html".to_owned()),
            _ => None,
        }
    }

    /// The page of a player or event, as a path from the index.
    fn path_of_entity(&self, kind: EntityKind, id: EntityId) -> Option<String> {
        let mut path = format!("{}/", Section::of(kind)?.name());
        text::append_address(&self.files.file_of_entity(kind, id)?, &mut path);
        Some(path)
    }

    /// What a page tells of a game.
    fn row(&self, id: GameId) -> GamesRow {
        match self.base.summary(id) {
            Ok(summary) => GamesRow::Game(entry_of(&summary)),
            Err(error) => {
                log::debug!("game {}: {error}", id.0);
                GamesRow::Unreadable(id.0)
            }
        }
    }
}

fn entry_of(summary: &Summary) -> GameEntry {
    GameEntry {
        number: summary.id.0,
        white: summary.white.0,
        black: summary.black.0,
        event: summary.tournament.0,
        teams: [summary.white_team, summary.black_team].map(|team| team.map(|id| id.0)),
        elo: [summary.white_elo, summary.black_elo],
        result: summary.result.unwrap_or_default(),
        round: [summary.round, summary.subround],
        date: summary.date,
        eco: summary.eco,
        moves: summary.move_count,
    }
}

/// The names of a base, for pages.
#[derive(Debug)]
struct PageNames<'b> {
    maker: Maker<'b>,
    players: Arc<EntityNames>,
    tournaments: Arc<EntityNames>,
    teams: Arc<EntityNames>,
}

impl<'b> PageNames<'b> {
    fn of(maker: Maker<'b>) -> Result<PageNames<'b>, Error> {
        let names = |kind| maker.base.entity_names(kind);
        Ok(PageNames {
            players: names(EntityKind::Player)?,
            tournaments: names(EntityKind::Tournament)?,
            teams: names(EntityKind::Team)?,
            maker,
        })
    }
}

impl Names for PageNames<'_> {
    fn name(&self, kind: Kind, id: u32) -> String {
        let names = match kind {
            Kind::Player => &self.players,
            Kind::Tournament => &self.tournaments,
            Kind::Team => &self.teams,
        };
        names.get(EntityId(id)).unwrap_or_default().to_owned()
    }

    fn path(&self, kind: Kind, id: u32) -> Option<String> {
        let kind = match kind {
            Kind::Player => EntityKind::Player,
            Kind::Tournament => EntityKind::Tournament,
            Kind::Team => return None,
        };
        self.maker.path_of_entity(kind, EntityId(id))
    }
}
