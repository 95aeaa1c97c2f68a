//! What the folders of `html/` list.

use super::super::super::DatabaseVolume;
use super::super::Games;
use super::numbers::{Fixed, HtmlNode};
use super::{file, listed};
use crate::cbh::{Entry, GameId};
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Listing, Node};
use crate::names;
use crate::pages::Section;
use crate::picture::tables::pieces;

/// Records that are read together.
const STRETCH: u32 = 1024;

/// Cookies of the entries behind `.` and `..`.
const FIRST: u64 = 3;

impl DatabaseVolume {
    /// What `html/` lists; the further pieces of lists only with all pages.
    pub(super) fn list_html(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let mut cookie = FIRST;
        for (name, thing) in listed() {
            let node = self.node_of_page(thing)?;
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                return Ok(());
            }
            cookie += 1;
        }
        if !self.shown.lists_pages() {
            return Ok(());
        }
        for section in Section::ALL {
            let all = u32::try_from(pieces(self.listed_on(section)?.len()));
            for piece in 2..=all.unwrap_or(u32::MAX) {
                let name = format!("{}-{piece}.html", section.name());
                let node = self.node_of_page(HtmlNode::List(section, piece))?;
                let entry = DirEntry {
                    name: &name,
                    node,
                    cookie,
                };
                if cookie > after && !listing(&entry) {
                    return Ok(());
                }
                cookie += 1;
            }
        }
        Ok(())
    }

    /// A page for each game.
    pub(super) fn list_pages_of_games(
        &self,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let directory = self.node_of_page(HtmlNode::Fixed(Fixed::Games))?;
        let skipped = u32::try_from((after + 1).saturating_sub(FIRST)).unwrap_or(u32::MAX);
        let mut first = skipped.saturating_add(1);
        let mut entries = Vec::new();
        while first <= self.base.last_id() {
            entries.clear();
            self.base.entries(GameId(first), STRETCH, &mut entries)?;
            let pages = entries.iter().filter(|entry| Games::lists(**entry));
            for Entry { id, .. } in pages {
                let name = names::format_text(id.0, None, "html");
                let ino = HtmlNode::Game(id.0).ino().ok_or(Error::NotFound)?;
                let entry = DirEntry {
                    name: &name,
                    node: Node {
                        ino,
                        ..file(directory)
                    },
                    cookie: u64::from(id.0) + FIRST - 1,
                };
                if !listing(&entry) {
                    return Ok(());
                }
            }
            first = first.saturating_add(STRETCH);
        }
        Ok(())
    }

    /// The pages that have this piece; beside the first ones, the folders of the
    /// others.
    pub(super) fn list_section(
        &self,
        section: Section,
        piece: u32,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let in_section = self.listed_on(section)?;
        let skipped = usize::try_from((after + 1).saturating_sub(FIRST)).unwrap_or(usize::MAX);
        let rest = (FIRST..).zip(in_section.iter()).skip(skipped);
        for (cookie, id) in rest {
            let (Some(name), pieces) = (
                self.maker().file(section, *id),
                self.pieces_of_page(section, *id)?,
            ) else {
                continue;
            };
            if pieces < piece as usize {
                continue;
            }
            let name = &name;
            let node = self.node_of_page(HtmlNode::Group(section, *id, piece))?;
            if !listing(&DirEntry { name, node, cookie }) {
                return Ok(());
            }
        }
        if piece > 1 {
            return Ok(());
        }
        let mut most = 1;
        for id in in_section.iter() {
            most = most.max(self.pieces_of_page(section, *id)?);
        }
        let first = FIRST + in_section.len() as u64;
        for (cookie, piece) in (first..).zip(2..=u32::try_from(most).unwrap_or(u32::MAX)) {
            let name = &piece.to_string();
            let node = self.node_of_page(HtmlNode::Folder(section, piece))?;
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    /// How many pieces a page has; none if there are no games.
    pub(super) fn pieces_of_page(&self, section: Section, id: u32) -> Result<usize, Error> {
        let games = self.games_of_page(section, id)?.count()?;
        if games == 0 {
            return Ok(0);
        }
        Ok(self.maker().pieces(section, id, games))
    }
}
