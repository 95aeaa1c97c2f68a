//! Pages about what is in a database, as `html/` has them.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use shakmaty::Move;

use super::DatabaseVolume;
use super::directories::{Eco, Shelf};
use super::groups::format_name;
use crate::cbh::{Decoded, EntityId, EntityKind, EntityNames, GameId, Group, Grouping, Summary};
use crate::fs::content::once::Once;
use crate::fs::{Error, TextCache, names};
use crate::game::{EventKind, Position};
use crate::picture::game::{GamePage, Links, date_words};
use crate::picture::groups::{self, Branch, GroupPage, Overview};
use crate::picture::tables::{Entry, Kind, Names, ROWS};
use crate::picture::{page, text};
use crate::{game, pgn};

/// Memory for pages that were made.
const PAGE_BYTES: usize = 8 << 20;

/// What is on each shelf, by name, worked out when first asked.
pub(super) type Shelves = [Once<Arc<Vec<u32>>>; Shelf::ALL.len()];

/// An empty store of pages.
pub(super) fn cache() -> TextCache {
    TextCache::new(PAGE_BYTES)
}

impl DatabaseVolume {
    /// The page of a game; of one that cannot be read, why not.
    pub(super) fn page_of_game(&self, id: GameId) -> Result<String, Error> {
        let mut decoded = Decoded::default();
        let read = self.base.read_game_to_render(id, &mut decoded);
        self.ensure_present()?;
        let _permit = match read {
            Ok(permit) => permit,
            Err(error) => {
                let why = format!("This game cannot be read. {error}");
                return Ok(page::unreadable(&format!("Game {}", id.0), &why, 1));
            }
        };
        let mut pgn = Vec::new();
        if self.is_clean {
            pgn::encode_clean(&decoded.game, &mut pgn);
        } else {
            pgn::encode(&decoded.game, &decoded.defects, &mut pgn);
        }
        let page = GamePage {
            number: id.0,
            game: &decoded.game,
            defects: &decoded.defects,
            pgn: &String::from_utf8_lossy(&pgn),
            links: self.links_of_game(id),
        };
        Ok(page.render())
    }

    /// The pages that belong to a game. What cannot be read has none.
    fn links_of_game(&self, id: GameId) -> Links {
        let Ok(summary) = self.base.summary(id) else {
            return Links::default();
        };
        let player = |id| self.path_of_entity(EntityKind::Player, id);
        Links {
            white: player(summary.white),
            black: player(summary.black),
            tournament: self.path_of_entity(EntityKind::Tournament, summary.tournament),
            eco: summary.eco.map(path_of_eco),
        }
    }

    /// The page of a player or tournament, as a path from the index.
    pub(super) fn path_of_entity(&self, kind: EntityKind, id: EntityId) -> Option<String> {
        let shelf = match kind {
            EntityKind::Player => Shelf::Players,
            EntityKind::Tournament => Shelf::Tournaments,
            _ => return None,
        };
        let mut path = format!("{}/", shelf.name());
        text::append_address(&self.file_of_entity(kind, id)?, &mut path);
        Some(path)
    }

    /// The name of the page of something on a shelf.
    pub(super) fn file_of_page(&self, shelf: Shelf, id: u32) -> Option<String> {
        if let Some(kind) = kind_of(shelf) {
            return self.file_of_entity(kind, EntityId(id));
        }
        let mut name = String::new();
        format_name(group_of(shelf, id)?, &mut name);
        Some(name + ".html")
    }

    fn file_of_entity(&self, kind: EntityKind, id: EntityId) -> Option<String> {
        let named = self.groups.named(self.base.as_ref(), kind)?;
        Some(names::page(named.file_name(id)?, id.0))
    }

    /// The number on a shelf of what has this page.
    pub(super) fn id_of_page(&self, shelf: Shelf, page: &str) -> Option<u32> {
        let stem = names::stem_of_page(page)?;
        let Some(kind) = kind_of(shelf) else {
            return match Eco::parse(stem.as_bytes())? {
                Group::Eco(code) => Some(code.map_or(game::Eco::COUNT, game::Eco::index).into()),
                _ => None,
            };
        };
        let named = self.groups.named(self.base.as_ref(), kind)?;
        let is_named = |id: &EntityId| {
            let name = named.file_name(*id);
            name.is_some_and(|name| names::page(name, id.0) == page)
        };
        let same = named.find(stem.as_bytes()).filter(is_named);
        // If the name was cut, it ends in the id.
        let cut = || names::last_id(stem).map(EntityId).filter(is_named);
        same.or_else(cut).map(|id| id.0)
    }

    /// How many games a page is about.
    pub(super) fn games_of_page(&self, shelf: Shelf, id: u32) -> Result<usize, Error> {
        let group = group_of(shelf, id).ok_or(Error::NotFound)?;
        let games = self.groups.games(self.base.as_ref(), group)?;
        Ok(games.after(GameId(0)).count())
    }

    /// What pages know of the games of a group. Those that cannot be read are
    /// left out.
    fn entries(&self, group: Group) -> Result<Vec<Entry>, Error> {
        let games = self.groups.games(self.base.as_ref(), group)?;
        let entries = games.after(GameId(0));
        let entries = entries.filter_map(|id| self.base.summary(id).ok());
        let entries = entries.map(|summary| entry_of(&summary)).collect();
        self.ensure_present()?;
        Ok(entries)
    }

    /// A piece of the page of a player, tournament or opening.
    pub(super) fn page_of_group(
        &self,
        shelf: Shelf,
        id: u32,
        piece: usize,
    ) -> Result<String, Error> {
        let group = group_of(shelf, id).ok_or(Error::NotFound)?;
        let entries = self.entries(group)?;
        let names = PageNames::of(self)?;
        let title = DatabaseVolume::title_of(shelf, id, &names);
        let file = self.file_of_page(shelf, id);
        let mut address = String::new();
        text::append_address(&file.ok_or(Error::NotFound)?, &mut address);
        let page = GroupPage {
            names: &names,
            title: &title,
            file: &address,
            entries: &entries,
            piece,
        };
        Ok(match shelf {
            Shelf::Players => page.player(id),
            Shelf::Tournaments => {
                let (kind, facts) = self.facts_of_event(&entries);
                page.tournament(kind, &facts)
            }
            Shelf::Eco => page.opening(&self.branches(&entries)?),
        })
    }

    fn title_of(shelf: Shelf, id: u32, names: &PageNames<'_>) -> String {
        let title = match shelf {
            Shelf::Players => names.name(Kind::Player, id),
            Shelf::Tournaments => names.name(Kind::Tournament, id),
            Shelf::Eco => {
                let mut name = String::new();
                if let Some(group) = group_of(shelf, id) {
                    format_name(group, &mut name);
                }
                name
            }
        };
        if title.trim().is_empty() {
            "(none)".to_owned()
        } else {
            title
        }
    }

    /// The kind of an event, and what else is known of it: its first game that
    /// can be read says so.
    fn facts_of_event(&self, entries: &[Entry]) -> (EventKind, Vec<String>) {
        let mut decoded = Decoded::default();
        let mut first = entries.iter().take(TRIED);
        if !first.any(|entry| {
            self.base
                .read_game(GameId(entry.number), &mut decoded)
                .is_ok()
        }) {
            return (EventKind::Unknown, Vec::new());
        }
        let event = &decoded.game.headers.tournament;
        let kind = match event.kind {
            EventKind::Match => "Match",
            EventKind::RoundRobin => "Round robin",
            EventKind::Swiss => "Swiss system",
            EventKind::Team => "Teams",
            EventKind::KnockOut => "Knock-out",
            EventKind::Simultaneous => "Simultaneous exhibition",
            EventKind::Scheveningen => "Scheveningen system",
            EventKind::Game | EventKind::Unknown => "",
        };
        let mut facts = vec![kind.to_owned(), event.place.clone()];
        for (what, date) in [("from", event.start), ("to", event.end)] {
            facts.extend(date_words(date).map(|date| format!("{what} {date}")));
        }
        if event.category > 0 {
            facts.push(format!("Category {}", event.category));
        }
        facts.push(format!("{} games", entries.len()));
        facts.retain(|fact| !fact.trim().is_empty());
        (event.kind, facts)
    }

    /// The moves that most games of an opening have, and how they go on: of the
    /// first games that can be read.
    fn branches(&self, entries: &[Entry]) -> Result<Vec<Branch>, Error> {
        let mut decoded = Decoded::default();
        let mut lines: Vec<Vec<Move>> = Vec::new();
        let step = entries.len().div_ceil(SAMPLE).max(1);
        for entry in entries.iter().step_by(step) {
            let read = self.base.read_game(GameId(entry.number), &mut decoded);
            self.ensure_present()?;
            if read.is_err() || decoded.game.start.is_set_up {
                continue;
            }
            let tree = &decoded.game.tree;
            let moves = tree.main_line().take(DEEPEST);
            let moves = moves.map_while(|id| tree.ply(id).and_then(|ply| ply.mv));
            lines.push(moves.collect());
        }
        let mut branches = Vec::new();
        let mut stem: Vec<Move> = Vec::new();
        // As far as most games go together.
        while let Some((m, count)) = followers(&lines, &stem).first().copied() {
            let all = lines.iter().filter(|line| line.starts_with(&stem)).count();
            if count * 10 < all * 7 || all < 2 {
                break;
            }
            stem.push(m);
        }
        branches.extend(branch_of(&lines, &stem));
        for (m, count) in followers(&lines, &stem).into_iter().take(BRANCHES) {
            let mut line = stem.clone();
            line.push(m);
            // On to where they part again.
            while let Some((next, most)) = followers(&lines, &line).first().copied() {
                if most * 10 < count * 8 {
                    break;
                }
                line.push(next);
            }
            branches.extend(branch_of(&lines, &line));
        }
        Ok(branches)
    }

    /// What is on a shelf, by name.
    pub(super) fn listed_on(&self, shelf: Shelf) -> Result<Arc<Vec<u32>>, Error> {
        let place = Shelf::ALL.iter().position(|one| *one == shelf);
        let known = place.and_then(|place| self.shelves.get(place));
        known.ok_or(Error::NotFound)?.get_or_work_out(|| {
            let base = self.base.as_ref();
            let mut listed = Vec::new();
            if let Some(kind) = kind_of(shelf) {
                let names = base.entity_names(kind)?;
                let games = base.crossref(Grouping::Entity(kind))?;
                let all = names
                    .iter()
                    .filter(|(id, _)| !games.is_empty(Group::Entity(kind, *id)));
                let mut named: Vec<_> = all.map(|(id, name)| (name, id.0)).collect();
                named.sort_unstable();
                listed.extend(named.into_iter().map(|(_, id)| id));
            } else {
                let games = base.crossref(Grouping::Eco)?;
                let has =
                    |id: &u32| group_of(shelf, *id).is_some_and(|group| !games.is_empty(group));
                listed.extend((0..=u32::from(game::Eco::COUNT)).filter(has));
            }
            self.ensure_present()?;
            Ok(Arc::new(listed))
        })
    }

    /// A piece of the list of what is on a shelf.
    pub(super) fn page_of_list(&self, shelf: Shelf, piece: usize) -> Result<String, Error> {
        let listed = self.listed_on(shelf)?;
        let names = PageNames::of(self)?;
        let first = (piece - 1).saturating_mul(ROWS).min(listed.len());
        let end = first.saturating_add(ROWS).min(listed.len());
        let mut rows = Vec::new();
        for id in listed.get(first..end).unwrap_or_default() {
            let title = DatabaseVolume::title_of(shelf, *id, &names);
            let path = match kind_of(shelf) {
                Some(kind) => self.path_of_entity(kind, EntityId(*id)),
                None => Some(format!("eco/{title}.html")),
            };
            if let Some(path) = path {
                rows.push((title, path, self.games_of_page(shelf, *id)?));
            }
        }
        let title = match shelf {
            Shelf::Players => "Players",
            Shelf::Tournaments => "Tournaments",
            Shelf::Eco => "Openings",
        };
        Ok(groups::list(
            title,
            shelf.name(),
            &rows,
            listed.len(),
            piece,
        ))
    }

    /// The index: what there is in the base, in numbers and plots.
    pub(super) fn page_of_index(&self) -> Result<String, Error> {
        let mut overview = Overview {
            title: self.base.location().name.into_owned(),
            ..Overview::default()
        };
        let mut players: HashMap<u32, u64> = HashMap::new();
        let mut tournaments: HashMap<u32, u64> = HashMap::new();
        let mut latest: BTreeMap<(u16, u8, u8, u32), Entry> = BTreeMap::new();
        let ids = 1..self.base.last_id().saturating_add(1);
        self.base.for_each_summary(ids, false, &mut |summary| {
            if summary.is_deleted {
                return;
            }
            let entry = entry_of(summary);
            count(&mut overview, &entry);
            *players.entry(entry.white).or_default() += 1;
            if entry.black != entry.white {
                *players.entry(entry.black).or_default() += 1;
            }
            *tournaments.entry(entry.event).or_default() += 1;
            let date = entry.date;
            latest.insert((date.year, date.month, date.day, entry.number), entry);
            if latest.len() > LATEST {
                latest.pop_first();
            }
        })?;
        self.ensure_present()?;
        overview.players = most_of(players);
        overview.tournaments = most_of(tournaments);
        overview.latest = latest.into_values().rev().collect();
        Ok(groups::index(&PageNames::of(self)?, &overview))
    }
}

/// Games that are tried for what they say of their event.
const TRIED: usize = 10;

/// Games that are looked at for the moves of an opening, their plies, and
/// branches that are shown.
const SAMPLE: usize = 400;
const DEEPEST: usize = 24;
const BRANCHES: usize = 5;

/// Entries of the lists of the index.
const MOST: usize = 20;
const LATEST: usize = 20;

fn count(overview: &mut Overview, entry: &Entry) {
    overview.games += 1;
    *overview.years.entry(entry.date.year).or_default() += u64::from(entry.date.year > 0);
    let [white, draws, black, others] = &mut overview.results;
    *match entry.result.pgn() {
        "1-0" => white,
        "1/2-1/2" => draws,
        "0-1" => black,
        _ => others,
    } += 1;
    for elo in entry.elo.into_iter().filter(|elo| *elo > 0) {
        *overview.ratings.entry(elo / 100 * 100).or_default() += 1;
    }
    if let Some(eco) = entry.eco {
        let code = eco.bytes();
        let tens = code.get(..2).unwrap_or_default();
        let tens = String::from_utf8_lossy(tens).into_owned();
        *overview.openings.entry(tens).or_default() += 1;
    }
}

/// Those with most games.
fn most_of(counts: HashMap<u32, u64>) -> Vec<(u32, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(id, games)| (std::cmp::Reverse(*games), *id));
    counts.truncate(MOST);
    counts
}

/// The moves that lines have behind a stem, most first.
fn followers(lines: &[Vec<Move>], stem: &[Move]) -> Vec<(Move, usize)> {
    let mut counts: Vec<(Move, usize)> = Vec::new();
    for line in lines.iter().filter(|line| line.starts_with(stem)) {
        let Some(next) = line.get(stem.len()) else {
            continue;
        };
        match counts.iter_mut().find(|(m, _)| m == next) {
            Some((_, count)) => *count += 1,
            None => counts.push((*next, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// The position after moves, which games have.
fn branch_of(lines: &[Vec<Move>], moves: &[Move]) -> Option<Branch> {
    let games = lines.iter().filter(|line| line.starts_with(moves)).count();
    let mut position = Position::default();
    let mut words = String::new();
    for (ply, m) in moves.iter().enumerate() {
        let san = position.play(*m).ok()?;
        if ply % 2 == 0 {
            let _ = write!(words, "{}. ", ply / 2 + 1);
        }
        let _ = write!(words, "{san} ");
    }
    Some(Branch {
        moves: words,
        position,
        last: moves.last().copied(),
        games: u32::try_from(games).ok()?,
    })
}

fn kind_of(shelf: Shelf) -> Option<EntityKind> {
    match shelf {
        Shelf::Players => Some(EntityKind::Player),
        Shelf::Tournaments => Some(EntityKind::Tournament),
        Shelf::Eco => None,
    }
}

/// The group with a number on a shelf.
fn group_of(shelf: Shelf, id: u32) -> Option<Group> {
    if let Some(kind) = kind_of(shelf) {
        return Some(Group::Entity(kind, EntityId(id)));
    }
    let code = u16::try_from(id).ok()?;
    let is_code = code <= game::Eco::COUNT;
    is_code.then(|| Group::Eco(game::Eco::new(code, 0)))
}

fn entry_of(summary: &Summary) -> Entry {
    Entry {
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
struct PageNames<'v> {
    volume: &'v DatabaseVolume,
    players: Arc<EntityNames>,
    tournaments: Arc<EntityNames>,
    teams: Arc<EntityNames>,
}

impl PageNames<'_> {
    fn of(volume: &DatabaseVolume) -> Result<PageNames<'_>, Error> {
        let base = volume.base.as_ref();
        Ok(PageNames {
            players: base.entity_names(EntityKind::Player)?,
            tournaments: base.entity_names(EntityKind::Tournament)?,
            teams: base.entity_names(EntityKind::Team)?,
            volume,
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
        self.volume.path_of_entity(kind, EntityId(id))
    }
}

/// The page of an opening, as a path from the index.
fn path_of_eco(eco: game::Eco) -> String {
    let code = eco.bytes();
    format!("eco/{}.html", String::from_utf8_lossy(&code))
}
