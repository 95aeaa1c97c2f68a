//! `html/`: pages for browsers, made when they are read.
//!
//! The folders in it list nothing, else `du` of a mount would make millions of
//! pages; pages are found by name and by link. `-o html=list` lists them.

mod listing;
mod numbers;

use super::super::DatabaseVolume;
use super::{Games, RootView};
use crate::cbh::GameId;
use crate::fs::volume::{Ino, Listing, Node, NodeKind, Size};
use crate::fs::{Error, Text};
use crate::names;
use crate::pages::Section;
use crate::picture::page;
use crate::picture::tables::pieces;
pub(in super::super) use numbers::most_pieces;
use numbers::{Fixed, HtmlNode, parse_piece};

/// `html/`
#[derive(Debug)]
pub(in super::super) struct Html;

impl Html {
    pub(in super::super) const NUMBER: Ino = Ino::new(10, 0);

    fn thing(ino: Ino) -> Result<HtmlNode, Error> {
        HtmlNode::of(ino).ok_or(Error::NotFound)
    }
}

/// What `html/` lists.
fn listed() -> Vec<(&'static str, HtmlNode)> {
    vec![
        ("index.html", HtmlNode::Fixed(Fixed::Index)),
        ("games", HtmlNode::Fixed(Fixed::Games)),
        ("players", HtmlNode::Folder(Section::Players, 1)),
        ("tournaments", HtmlNode::Folder(Section::Tournaments, 1)),
        ("eco", HtmlNode::Folder(Section::Eco, 1)),
        ("players.html", HtmlNode::List(Section::Players, 1)),
        ("tournaments.html", HtmlNode::List(Section::Tournaments, 1)),
        ("eco.html", HtmlNode::List(Section::Eco, 1)),
        ("cbfs.css", HtmlNode::Fixed(Fixed::Style)),
        ("cbfs.js", HtmlNode::Fixed(Fixed::Script)),
    ]
}

impl RootView for Html {
    fn holds(&self, ino: Ino) -> bool {
        HtmlNode::of(ino).is_some()
    }

    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        base.node_of_page(Html::thing(ino)?)
    }

    fn parent(&self, _: &DatabaseVolume, directory: Ino) -> Result<Ino, Error> {
        match Html::thing(directory)? {
            HtmlNode::Fixed(Fixed::Games) | HtmlNode::Folder(_, 1) => Ok(Html::NUMBER),
            HtmlNode::Folder(section, _) => {
                HtmlNode::Folder(section, 1).ino().ok_or(Error::NotFound)
            }
            _ => Err(Error::NotADirectory),
        }
    }

    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        let found = match Html::thing(directory)? {
            HtmlNode::Fixed(Fixed::Root) => {
                let mut listed = listed().into_iter();
                listed
                    .find(|(known, _)| *known == name)
                    .map(|(_, thing)| thing)
                    .or_else(|| piece_of_list(name))
            }
            HtmlNode::Fixed(Fixed::Games) => names::parse_page(name).map(HtmlNode::Game),
            HtmlNode::Folder(section, 1) if parse_piece(name).is_some() => {
                parse_piece(name).map(|piece| HtmlNode::Folder(section, piece))
            }
            HtmlNode::Folder(section, piece) => {
                let id = base.id_of_page(section, name);
                id.map(|id| HtmlNode::Group(section, id, piece))
            }
            _ => return Err(Error::NotADirectory),
        };
        base.node_of_page(found.ok_or(Error::NotFound)?)
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        match Html::thing(directory)? {
            HtmlNode::Fixed(Fixed::Root) => base.list_html(after, listing),
            _ if !base.shown.lists_pages() => Ok(()),
            HtmlNode::Fixed(Fixed::Games) => base.list_pages_of_games(after, listing),
            HtmlNode::Folder(section, piece) => base.list_section(section, piece, after, listing),
            _ => Err(Error::NotADirectory),
        }
    }

    fn size(&self, base: &DatabaseVolume, ino: Ino) -> Result<u64, Error> {
        Ok(base.page_text(Html::thing(ino)?)?.len() as u64)
    }

    fn read(
        &self,
        base: &DatabaseVolume,
        ino: Ino,
        (offset, length): (u64, u32),
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let text = base.page_text(Html::thing(ino)?)?;
        bytes.extend_from_slice(&text.part(offset, length));
        Ok(())
    }
}

impl DatabaseVolume {
    /// What has a page, or is a folder of pages.
    fn node_of_page(&self, thing: HtmlNode) -> Result<Node, Error> {
        let ino = thing.ino().ok_or(Error::NotFound)?;
        let directory = self.directory_of_moves(ino, 2);
        match thing {
            HtmlNode::Fixed(Fixed::Games) => Ok(directory),
            // It has folders for the other pieces, which nobody counted.
            HtmlNode::Fixed(Fixed::Root) | HtmlNode::Folder(..) => {
                Ok(self.directory_of_moves(ino, 1))
            }
            HtmlNode::Fixed(_) => Ok(file(directory)),
            HtmlNode::Game(id) => {
                let game = self.game(GameId(id), Games::lists)?;
                let modified = game.modified;
                Ok(Node {
                    modified,
                    ..file(directory)
                })
            }
            HtmlNode::Group(section, id, piece) => {
                let is_there = piece as usize <= self.pieces_of_page(section, id)?;
                is_there.then(|| file(directory)).ok_or(Error::NotFound)
            }
            HtmlNode::List(section, piece) => {
                let is_there =
                    piece == 1 || piece as usize <= pieces(self.listed_on(section)?.len());
                is_there.then(|| file(directory)).ok_or(Error::NotFound)
            }
        }
    }

    /// A page, made if it is not at hand.
    fn page_text(&self, thing: HtmlNode) -> Result<Text, Error> {
        let ino = thing.ino().ok_or(Error::NotFound)?;
        self.pages.get_or_render((0, ino), || {
            let text = self.render_page(thing)?;
            Ok(Text::from(text.into_bytes()))
        })
    }

    fn render_page(&self, thing: HtmlNode) -> Result<String, Error> {
        let maker = self.maker();
        let page = match thing {
            HtmlNode::Fixed(Fixed::Style) => page::STYLE.to_owned(),
            HtmlNode::Fixed(Fixed::Script) => page::SCRIPT.to_owned(),
            HtmlNode::Fixed(Fixed::Index) => maker.page_of_index()?,
            HtmlNode::Game(id) => match maker.page_of_game(GameId(id)) {
                // A page that says so would be kept after the error is gone.
                (_, Some(error)) if error.may_pass() => return Err(error.into()),
                (page, _) => page,
            },
            HtmlNode::Group(section, id, piece) => {
                let games = self.games_of_page(section, id)?;
                maker.page_of_group(section, id, &games.ids()?, piece as usize)?
            }
            HtmlNode::List(section, piece) => {
                let listed = self.listed_on(section)?;
                maker.page_of_list(section, &listed, piece as usize)?
            }
            _ => return Err(Error::IsADirectory),
        };
        self.ensure_present()?;
        Ok(page)
    }
}

/// The piece of a list that has this name: `players-2.html`.
fn piece_of_list(name: &str) -> Option<HtmlNode> {
    let (section, piece) = name.strip_suffix(".html")?.rsplit_once('-')?;
    let section = Section::ALL.into_iter().find(|one| one.name() == section)?;
    Some(HtmlNode::List(section, parse_piece(piece)?))
}

fn file(node: Node) -> Node {
    Node {
        kind: NodeKind::File(Size::Computed),
        links: 1,
        ..node
    }
}
