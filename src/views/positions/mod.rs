//! Positions as directories: of an opening book, and of the games of a base.
//!
//! | path | what it is |
//! |---|---|
//! | `fen/<FEN>/` | the one directory of a position; `fen/` lists none |
//! | `fen/<FEN>/e4` | a link to the position after a move that was played there |
//! | `fen/<FEN>/e4 c5` | a link to the position after a line, not listed |
//! | `line/e4 c5 Nf3` | likewise, from the start |
//! | `tree` | a link to the start |
//!
//! Since moves are links, a walk over directories ends wherever it begins, and a
//! transposition is one directory. What was played is asked of [`PositionVolume`], which
//! a book and a base are.
//!
//! | file | what is in it |
//! |---|---|
//! | `names.rs` | positions and moves as names |
//! | `nodes.rs` | numbers of positions |
//! | `items.rs` | what belongs to a position |

mod items;
mod names;
mod nodes;

pub(crate) use crate::base::Scope;
pub(crate) use items::{Item, LinkLocation, PositionFile, position_fen};
pub(crate) use nodes::{InoTable, NodeKey};

use shakmaty::Move;

use crate::fs::Error;
use crate::fs::volume::{DirEntry, Ino, Listing, Node};
use crate::game::Position;

/// The cookie of the first move; the files come before.
const FIRST_MOVE: u64 = 32;

/// What was played from positions. Numbers of what belongs to a position are
/// told by the table of [`InoTable`].
pub(crate) trait PositionVolume {
    /// What is listed in each position before its moves.
    fn items(&self) -> &'static [(&'static str, Item)];

    /// The first four fields of the FEN by which a position is named; two that
    /// are the same here have the same.
    fn fields(&self, position: &Position) -> String;

    /// The position that the lines of a scope begin with.
    fn start(&self) -> Position;

    /// The moves that were played in a position, in the order of their listing;
    /// `None` is a null move.
    fn moves(&self, scope: &Scope, position: &Position) -> Result<Vec<Option<Move>>, Error>;

    /// The table of numbers.
    fn nodes(&self) -> &InoTable;

    /// The node of something that belongs to a position.
    fn node(&self, ino: Ino, item: Item) -> Node;
}

/// What a name in `fen/` stands for.
pub(crate) fn lookup_in_fen(
    played: &impl PositionVolume,
    scope: &Scope,
    name: &[u8],
) -> Result<Node, Error> {
    let position = names::position(name)?;
    let canonical = self::name(played, &position).ok_or(Error::NotFound)?;
    let item = if canonical.as_bytes() == name {
        Item::Directory
    } else {
        Item::Link(LinkLocation::Fen)
    };
    node_of(played, scope, canonical, item)
}

/// What a name in `line/` stands for.
pub(crate) fn lookup_line(
    played: &impl PositionVolume,
    scope: &Scope,
    name: &[u8],
) -> Result<Node, Error> {
    let position = names::after(&played.start(), name).ok_or(Error::NotFound)?;
    link_to(played, scope, &position, LinkLocation::Lines)
}

/// The name that a position has in `fen/`; `None` if no name means it.
pub(crate) fn name(played: &impl PositionVolume, position: &Position) -> Option<String> {
    names::name(&played.fields(position))
}

/// A link to a position that lies in this place.
pub(crate) fn link_to(
    played: &impl PositionVolume,
    scope: &Scope,
    position: &Position,
    place: LinkLocation,
) -> Result<Node, Error> {
    let name = self::name(played, position).ok_or(Error::NotFound)?;
    node_of(played, scope, name, Item::Link(place))
}

fn node_of(
    played: &impl PositionVolume,
    scope: &Scope,
    name: String,
    item: Item,
) -> Result<Node, Error> {
    let key = NodeKey {
        scope: scope.clone(),
        position: Some(name.into()),
    };
    let ino = played.nodes().number(&key, item.number())?;
    Ok(played.node(ino, item))
}

/// What a name in the directory of a position stands for.
pub(crate) fn lookup_in_position(
    played: &impl PositionVolume,
    key: &NodeKey,
    name: &[u8],
) -> Result<Node, Error> {
    let mut items = played.items().iter();
    if let Some((_, item)) = items.find(|(known, _)| known.as_bytes() == name) {
        let ino = played.nodes().number(key, item.number())?;
        return Ok(played.node(ino, *item));
    }
    let position = names::after(&key.position()?, name).ok_or(Error::NotFound)?;
    link_to(played, &key.scope, &position, LinkLocation::Position)
}

/// Lists the directory of a position: its files, and its moves.
pub(crate) fn list_position(
    played: &impl PositionVolume,
    key: &NodeKey,
    after: u64,
    listing: &mut Listing<'_>,
) -> Result<(), Error> {
    for (cookie, (name, item)) in (3..).zip(played.items()) {
        let ino = played.nodes().number(key, item.number())?;
        let node = played.node(ino, *item);
        if cookie > after && !listing(&DirEntry { name, node, cookie }) {
            return Ok(());
        }
    }
    let position = key.position()?;
    let moves = played.moves(&key.scope, &position)?;
    for (cookie, m) in (FIRST_MOVE..).zip(moves) {
        if cookie <= after {
            continue;
        }
        let mut next = position.clone();
        let Some(san) = names::play(&mut next, m) else {
            continue;
        };
        // A position that no FEN names cannot be linked to.
        let Ok(node) = link_to(played, &key.scope, &next, LinkLocation::Position) else {
            continue;
        };
        let name = &san;
        if !listing(&DirEntry { name, node, cookie }) {
            break;
        }
    }
    Ok(())
}
