//! `tree`, `fen/`, `line/`: positions and what was played there, of the base or
//! of the games of a query; and `find/`, of which [`find`](super::find) knows more.
//!
//! A position and a query each have a block of numbers, of the kinds 41 to 58,
//! see [`InoTable`]. The first block is that of the whole base.

use std::sync::Arc;

use shakmaty::Move;

use super::super::{DatabaseVolume, GAME};
use super::RootView;
use super::find::{DIRECTORY, GAMES, GAMES_TSV};
use crate::base::HeadersTsv;
use crate::base::Selection;
use crate::cbh::{Decoded, GameId};
use crate::fs::volume::{Ino, Listing, Node, NodeKind, NumberListing, Size};
use crate::fs::{Error, Role, Text};
use crate::game::{Game, PlyId, Position, Start, TreeBuilder, board_text};
use crate::pgn;
use crate::picture::board::{Popular, of_moves};
use crate::search::{self, GameSet, first_ply_at};
use crate::views::list_fixed;
use crate::views::positions::{
    self, InoTable, Item, LinkLocation, NodeKey, PositionFile, PositionVolume, Scope, position_fen,
};

/// The kinds of numbers that positions and queries have; 59 is that of drafts.
const FIRST_KIND: u8 = 41;
const END_KIND: u8 = 59;

/// What belongs to the base or to a query, by its place in the block.
pub(super) const TREE: u64 = 5;
pub(super) const FEN: u64 = 6;
pub(super) const LINES: u64 = 7;

/// What is listed in each position.
const ITEMS: [(&str, Item); 9] = [
    ("position.fen", Item::File(PositionFile::Fen)),
    ("board.txt", Item::File(PositionFile::Board)),
    ("board.svg", Item::File(PositionFile::Picture)),
    ("moves.tsv", Item::File(PositionFile::Moves)),
    ("stats.json", Item::File(PositionFile::Stats)),
    ("line.pgn", Item::File(PositionFile::Line)),
    ("games", Item::Games),
    ("games.tsv", Item::File(PositionFile::GamesTsv)),
    ("games.pgn", Item::File(PositionFile::GamesPgn)),
];

/// `tree`, `fen/` or `line/` of the whole base, or `find/`.
#[derive(Debug)]
pub(in super::super) struct Positions(u64);

impl Positions {
    pub(in super::super) const TREE: Positions = Positions(TREE);
    pub(in super::super) const FEN: Positions = Positions(FEN);
    pub(in super::super) const LINES: Positions = Positions(LINES);
    pub(in super::super) const FIND: Positions = Positions(DIRECTORY);

    pub(in super::super) const fn number(&self) -> Ino {
        Ino(Ino::new(FIRST_KIND, 0).0 + self.0)
    }

    /// An empty table of numbers.
    pub(in super::super) fn nodes() -> InoTable {
        InoTable::new(FIRST_KIND, END_KIND)
    }
}

/// Returns the key of the base or of a query, which have no position.
pub(super) fn query(scope: Scope) -> NodeKey {
    NodeKey {
        scope,
        position: None,
    }
}

/// Games that are listed.
enum ListedGames {
    /// Those that reach a position.
    There(Arc<GameSet>),
    /// Those that fit a query.
    Fitting(Arc<Selection>),
}

impl ListedGames {
    fn set(&self) -> &GameSet {
        match self {
            ListedGames::There(games) => games,
            ListedGames::Fitting(selection) => &selection.games,
        }
    }
}

/// A node of this directory.
enum PositionNode {
    /// A node of the base or of a query, by its place in the block.
    Of(Scope, u64),
    /// A node of a position.
    Position(NodeKey, Item),
}

impl DatabaseVolume {
    fn thing(&self, ino: Ino) -> Result<PositionNode, Error> {
        let (key, place) = self.search.common.nodes.key(ino)?;
        if key.position.is_none() {
            return Ok(PositionNode::Of(key.scope, place));
        }
        let item = Item::of(place).ok_or(Error::NotFound)?;
        Ok(PositionNode::Position(key, item))
    }

    /// What the games of a position's scope played there.
    fn played_at(&self, key: &NodeKey) -> Result<Arc<search::Played>, Error> {
        self.played(&key.scope, &key.position()?)
    }

    /// The games that a directory or file is of.
    fn games_at(&self, thing: &PositionNode) -> Result<ListedGames, Error> {
        match thing {
            PositionNode::Position(key, Item::Games | Item::File(PositionFile::GamesTsv)) => {
                let games = self.games_at_position(&key.scope, &key.position()?);
                Ok(ListedGames::There(games?))
            }
            PositionNode::Of(scope, GAMES | GAMES_TSV) if !scope.is_empty() => {
                Ok(ListedGames::Fitting(self.selection(scope)?))
            }
            _ => Err(Error::NotADirectory),
        }
    }

    /// The text of a small file.
    fn position_text(&self, ino: Ino) -> Result<Text, Error> {
        let (key, file) = match self.thing(ino)? {
            PositionNode::Position(key, Item::File(file)) => (key, file),
            PositionNode::Position(..) => return Err(Error::IsADirectory),
            PositionNode::Of(scope, place) => {
                return Ok(Text::from(self.query_text(&scope, place)?.into_bytes()));
            }
        };
        self.search.texts.get_or_render((key.hash(), ino), || {
            let position = key.position()?;
            let text = match file {
                PositionFile::Fen => position_fen(&self.fields(&position)).into_bytes(),
                PositionFile::Board => board_text(&position).into_bytes(),
                PositionFile::Picture => {
                    let played = self.played_at(&key)?;
                    picture_of(&position, &played).into_bytes()
                }
                PositionFile::Moves => self.played_at(&key)?.table(&position).into_bytes(),
                PositionFile::Stats => {
                    let fen = position_fen(&self.fields(&position));
                    let played = self.played_at(&key)?;
                    let json = played.json(&position, fen.trim_end());
                    format!("{json:#}\n").into_bytes()
                }
                PositionFile::Line => self.line_pgn(&key, &position)?,
                PositionFile::BookPgn
                | PositionFile::Openings
                | PositionFile::GamesTsv
                | PositionFile::GamesPgn => {
                    return Err(Error::NotFound);
                }
            };
            Ok(Text::from(text))
        })
    }

    /// The way of the first game to a position, or a game that begins there.
    fn line_pgn(&self, key: &NodeKey, position: &Position) -> Result<Vec<u8>, Error> {
        let games = self.games_at_position(&key.scope, position)?;
        let mut line = Game {
            start: Start {
                position: position.clone(),
                is_set_up: true,
                is_chess960: position.castling_mode() == shakmaty::CastlingMode::Chess960,
                ..Start::default()
            },
            ..Game::default()
        };
        if let Some(first) = games.from(0).next() {
            let mut decoded = Decoded::default();
            let read = self.base.read_game(GameId(first), &mut decoded);
            self.ensure_present()?;
            read?;
            let in_variations = self.in_variations(&key.scope)?;
            let last = first_ply_at(&decoded.game, position, in_variations);
            line = way(decoded.game, last.ok_or(Error::Stale)?);
        } else if position.key() == Position::default().key() {
            line.start = Start::default();
        }
        line.headers.tournament.title = self.base.location().name.into_owned();
        let mut text = Vec::new();
        pgn::encode_clean(&line, &mut text);
        Ok(text)
    }

    fn file_of_position(&self, ino: Ino, file: PositionFile) -> Result<NodeKind, Error> {
        Ok(NodeKind::File(match file {
            PositionFile::GamesPgn => {
                let (key, _) = self.search.common.nodes.key(ino)?;
                let games = self
                    .search
                    .common
                    .nodes
                    .number(&key, Item::Games.number())?;
                Size::Concatenation(games)
            }
            _ => Size::Computed,
        }))
    }
}

/// `board.svg`, with the moves that were played as arrows.
fn picture_of(position: &Position, played: &search::Played) -> String {
    let moves = played.moves_in(position);
    let moves = moves.into_iter().map(|played| Popular {
        m: played.m,
        games: played.numbers.games,
        score: played.numbers.score(),
        san: played.san,
    });
    of_moves(position, &moves.collect::<Vec<_>>())
}

/// Returns only the moves of a game up to `last`.
fn way(game: Game, last: PlyId) -> Game {
    let mut plies = Vec::new();
    let mut at = last;
    while at != PlyId::START
        && let Some(ply) = game.tree.ply(at)
    {
        plies.push(ply.mv);
        at = game.tree.parent(at).unwrap_or(PlyId::START);
    }
    let mut way = Game {
        start: game.start,
        ..Game::default()
    };
    let mut line = TreeBuilder::new(&mut way.tree, &way.start.position);
    for m in plies.into_iter().rev() {
        match m {
            Some(m) => drop(line.play(m)),
            None => drop(line.play_null()),
        }
    }
    way
}

impl PositionVolume for DatabaseVolume {
    fn items(&self) -> &'static [(&'static str, Item)] {
        &ITEMS
    }

    fn fields(&self, position: &Position) -> String {
        let start = Start {
            position: position.clone(),
            ..Start::default()
        };
        let mut fen = Vec::new();
        start.append_fen_to(&mut fen);
        let fen = String::from_utf8_lossy(&fen);
        fen.split(' ').take(4).collect::<Vec<_>>().join(" ")
    }

    fn start(&self) -> Position {
        Position::default()
    }

    fn moves(&self, scope: &Scope, position: &Position) -> Result<Vec<Option<Move>>, Error> {
        let played = self.played(scope, position)?;
        let moves = played.moves_in(position);
        Ok(moves.into_iter().map(|played| played.m).collect())
    }

    fn nodes(&self) -> &InoTable {
        &self.search.common.nodes
    }

    fn node(&self, ino: Ino, item: Item) -> Node {
        let directory = self.directory_of_moves(ino, 1);
        let kind = match item {
            // It has `games/`.
            Item::Directory => return self.directory_of_moves(ino, 3),
            Item::Games => return self.directory_of_moves(ino, 2),
            Item::File(file) => self.file_of_position(ino, file),
            Item::Link(_) => Ok(NodeKind::Symlink),
        };
        Node {
            kind: kind.unwrap_or(NodeKind::File(Size::Computed)),
            ..directory
        }
    }
}

impl RootView for Positions {
    fn holds(&self, ino: Ino) -> bool {
        let is_first = [TREE, FEN, LINES, DIRECTORY].map(|place| Positions(place).number());
        let is_here = (FIRST_KIND..END_KIND).contains(&ino.kind());
        self.0 == FEN && is_here && !is_first.contains(&ino)
    }

    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        match base.thing(ino)? {
            PositionNode::Of(scope, place) => base.query_node(&scope, place),
            PositionNode::Position(_, item) => Ok(PositionVolume::node(base, ino, item)),
        }
    }

    fn parent(&self, base: &DatabaseVolume, directory: Ino) -> Result<Ino, Error> {
        let nodes = &base.search.common.nodes;
        match base.thing(directory)? {
            PositionNode::Of(scope, DIRECTORY) => {
                nodes.number(&query(DatabaseVolume::shorter(&scope)), DIRECTORY)
            }
            PositionNode::Of(scope, FEN | LINES | GAMES) => nodes.number(&query(scope), DIRECTORY),
            PositionNode::Position(key, Item::Directory) => nodes.number(&query(key.scope), FEN),
            PositionNode::Position(key, Item::Games) => {
                nodes.number(&key, Item::Directory.number())
            }
            _ => Err(Error::NotADirectory),
        }
    }

    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        let thing = base.thing(directory)?;
        match &thing {
            PositionNode::Of(scope, DIRECTORY) => base.lookup_in_query(scope, name),
            PositionNode::Of(scope, FEN) => positions::lookup_in_fen(base, scope, name),
            PositionNode::Of(scope, LINES) => positions::lookup_line(base, scope, name),
            PositionNode::Position(key, Item::Directory) => {
                positions::lookup_in_position(base, key, name)
            }
            _ => {
                let games = base.games_at(&thing)?;
                let id = base.id_of_name(name);
                let id = id.filter(|id| games.set().contains(id.0));
                base.game(id.ok_or(Error::NotFound)?, |_| true)
            }
        }
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let thing = base.thing(directory)?;
        match &thing {
            PositionNode::Of(scope, DIRECTORY) => base.list_query(scope, after, listing),
            // Any position is there, so none is listed.
            PositionNode::Of(_, FEN | LINES) => {
                list_fixed([], after, listing);
                Ok(())
            }
            PositionNode::Position(key, Item::Directory) => {
                positions::list_position(base, key, after, listing)
            }
            _ => base.list_set(base.games_at(&thing)?.set(), after, listing),
        }
    }

    fn page(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        page: &mut NumberListing<'_>,
    ) -> Result<bool, Error> {
        let thing = base.thing(directory)?;
        let is_of_games = matches!(
            thing,
            PositionNode::Position(_, Item::Games) | PositionNode::Of(_, GAMES)
        );
        if is_of_games {
            DatabaseVolume::page_set(base.games_at(&thing)?.set(), after, page);
        }
        Ok(is_of_games)
    }

    fn role(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Role {
        let games = || base.games_at(&base.thing(directory).ok()?).ok();
        let has = |id: &GameId| games().is_some_and(|games| games.set().contains(id.0));
        let id = base.id_of_name(name).filter(has);
        let entry = id.and_then(|id| base.any_entry(id));
        match entry.filter(|entry| super::Games::lists(*entry)) {
            Some(entry) => Role::File(Ino::new(GAME, entry.id.0)),
            None => Role::Refused,
        }
    }

    fn target(&self, base: &DatabaseVolume, link: Ino) -> Result<Vec<u8>, Error> {
        let (name, place) = match base.thing(link)? {
            PositionNode::Of(_, TREE) => {
                let start = positions::name(base, &base.start());
                (start.ok_or(Error::NotFound)?.into(), LinkLocation::Above)
            }
            PositionNode::Position(key, Item::Link(place)) => {
                (key.position.ok_or(Error::NotFound)?, place)
            }
            _ => return Err(Error::NotFound),
        };
        Ok(place.target(&name))
    }

    fn size(&self, base: &DatabaseVolume, ino: Ino) -> Result<u64, Error> {
        if let Some(games) = base.table_at(ino)? {
            return base.size_of_table(ino, games.set());
        }
        Ok(base.position_text(ino)?.len() as u64)
    }

    fn read(
        &self,
        base: &DatabaseVolume,
        ino: Ino,
        piece: (u64, u32),
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(games) = base.table_at(ino)? {
            return base.read_table(ino, games.set(), piece, bytes);
        }
        let (offset, length) = piece;
        bytes.extend_from_slice(&base.position_text(ino)?.part(offset, length));
        Ok(())
    }
}

impl DatabaseVolume {
    /// The games whose headers a file has, if it is a table of headers.
    fn table_at(&self, ino: Ino) -> Result<Option<ListedGames>, Error> {
        let thing = self.thing(ino)?;
        let is_table = matches!(
            thing,
            PositionNode::Position(_, Item::File(PositionFile::GamesTsv))
                | PositionNode::Of(_, GAMES_TSV)
        );
        is_table.then(|| self.games_at(&thing)).transpose()
    }

    fn table(&self, ino: Ino) -> Result<Arc<HeadersTsv>, Error> {
        // A number that was forgotten may become that of another table.
        let (key, _) = self.search.common.nodes.key(ino)?;
        Ok(self.search.table((key.hash(), ino)))
    }

    fn size_of_table(&self, ino: Ino, games: &GameSet) -> Result<u64, Error> {
        let table = self.table(ino)?;
        let size = table.size(self.base.as_ref(), Some(games));
        self.ensure_present()?;
        Ok(size?)
    }

    fn read_table(
        &self,
        ino: Ino,
        games: &GameSet,
        piece: (u64, u32),
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let table = self.table(ino)?;
        let read = table.read(self.base.as_ref(), Some(games), piece, bytes);
        self.ensure_present()?;
        Ok(read?)
    }
}
