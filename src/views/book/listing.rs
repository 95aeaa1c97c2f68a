//! What the directories of a book list, and which names they know.

use super::numbers::{self, Fixed, IN_EXPORTS, IN_ROOT};
use super::{BookVolume, game_files};
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Listing, Node, NodeKind};
use crate::game::Position;
use crate::views::list_fixed;
use crate::views::positions::{self, LinkLocation, Scope};

/// The table in `games/`.
const SOURCES: &str = "sources.tsv";

impl BookVolume {
    /// What a directory lists that is there once itself.
    fn entries(&self, directory: Fixed) -> impl Iterator<Item = (&'static str, Node)> {
        let entries: &[(&'static str, Fixed)] = match directory {
            Fixed::Root => &IN_ROOT,
            Fixed::Exports => &IN_EXPORTS,
            Fixed::Games => &[(SOURCES, Fixed::Sources)],
            // Any position is there, so none is listed.
            _ => &[],
        };
        let has_games = self.games.exist();
        let entries = entries
            .iter()
            .filter(move |(_, fixed)| has_games || *fixed != Fixed::Games);
        entries.map(|(name, fixed)| (*name, self.fixed_node(*fixed)))
    }

    pub(super) fn lookup_in_fixed(&self, directory: Fixed, name: &[u8]) -> Result<Node, Error> {
        let mut entries = self.entries(directory);
        if let Some((_, node)) = entries.find(|(entry, _)| entry.as_bytes() == name) {
            return Ok(node);
        }
        match directory {
            Fixed::Root | Fixed::Exports => Err(Error::NotFound),
            Fixed::Fen => positions::lookup_in_fen(self, &Scope::default(), name),
            Fixed::Lines => positions::lookup_line(self, &Scope::default(), name),
            Fixed::Unreachable => {
                let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
                let position = self.unreachable()?.position(name);
                self.unreachable_link(&position.ok_or(Error::NotFound)?)
            }
            Fixed::Games => {
                let mut sources = self.games.directories()?.into_iter();
                let found = sources.find(|(_, known)| known.as_bytes() == name);
                Ok(self.source_node(found.ok_or(Error::NotFound)?.0))
            }
            _ => Err(Error::NotADirectory),
        }
    }

    pub(super) fn list_fixed(
        &self,
        directory: Fixed,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        match directory {
            Fixed::Root | Fixed::Exports | Fixed::Fen | Fixed::Lines => {
                list_fixed(self.entries(directory), after, listing);
                Ok(())
            }
            Fixed::Unreachable => self.list_unreachable(after, listing),
            Fixed::Games => self.list_sources(after, listing),
            _ => Err(Error::NotADirectory),
        }
    }

    fn unreachable_link(&self, position: &Position) -> Result<Node, Error> {
        positions::link_to(self, &Scope::default(), position, LinkLocation::Lines)
    }

    fn list_unreachable(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let first = after.saturating_sub(2);
        let known = self.unreachable()?;
        let skipped = usize::try_from(first).unwrap_or(usize::MAX);
        for ((name, position), cookie) in known.links(skipped).zip(first + 3..) {
            // A position that no FEN names cannot be linked to.
            let Ok(node) = self.unreachable_link(&position) else {
                continue;
            };
            let name = &name;
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn list_sources(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let table = self.entries(Fixed::Games);
        let table = table.map(|(name, node)| (name.to_owned(), node));
        let sources = self.games.directories()?.into_iter();
        let sources = sources.map(|(number, name)| (name, self.source_node(number)));
        for ((name, node), cookie) in table.chain(sources).zip(3..) {
            let name = &name;
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn source_node(&self, number: u16) -> Node {
        self.node_of(numbers::source(number), NodeKind::Directory, 2)
    }

    pub(super) fn list_games(
        &self,
        source: u16,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let first = after.saturating_sub(2);
        let (start, count) = self.games.readable(source)?;
        for game in u32::try_from(first).unwrap_or(count)..count {
            let node = self.file_node(numbers::game(start + game));
            let (name, cookie) = (&game_files::name(game), u64::from(game) + 3);
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }
}
