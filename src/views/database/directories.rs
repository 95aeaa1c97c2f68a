//! The directories of a database: a file for each, and a line in [`TABLE`].
//!
//! What lies below a directory is known by its numbers alone: those of kind 0
//! are there once, the others are a kind and an index among its kind. Games
//! (kind 1) and groups of games lie in several directories and are known to
//! [`DatabaseVolume`] itself.

mod deleted;
mod eco;
mod entities;
mod find;
mod games;
mod headers_tsv;
mod html;
mod import;
mod pgn;
mod positions;
mod texts;
mod years;

use std::fmt::Debug;

use crate::cbh::EntityKind::{Annotator, Player, Source, Team, Tournament};
use crate::fs::volume::{Completeness, Fault, Ino, Listing, Node, NumberListing};
use crate::fs::{Error, Role};

use super::DatabaseVolume;

pub(super) use deleted::Deleted;
pub(super) use eco::Eco;
pub(super) use entities::Entities;
pub(super) use games::Games;
pub(super) use headers_tsv::HeadersFile;
pub(super) use html::{Html, most_pieces};
pub(super) use import::{Import, LENIENT};
pub(super) use pgn::Pgn;
pub(super) use positions::Positions;
pub(super) use texts::{MEDIA_FILE, Texts};
pub(super) use years::{YEARS, Years};

/// All of them, in the order of the root's listing. `-o hide=` chooses from
/// these names. A number never gets another meaning: kernels keep them.
pub(super) static TABLE: &[DirectoryRow] = &[
    row("games", Games::NUMBER, &Games),
    row("players", Entities(Player).number(), &Entities(Player)),
    row(
        "tournaments",
        Entities(Tournament).number(),
        &Entities(Tournament),
    ),
    row(
        "annotators",
        Entities(Annotator).number(),
        &Entities(Annotator),
    ),
    row("sources", Entities(Source).number(), &Entities(Source)),
    row("teams", Entities(Team).number(), &Entities(Team)),
    row("eco", Eco::NUMBER, &Eco),
    row("years", Years::NUMBER, &Years),
    row("pgn", Pgn::NUMBER, &Pgn),
    row("texts", Texts::NUMBER, &Texts),
    row("deleted", Deleted::NUMBER, &Deleted),
    row("import", Import::NUMBER, &Import),
    row("headers.tsv", HeadersFile::NUMBER, &HeadersFile),
    row("tree", Positions::TREE.number(), &Positions::TREE),
    row("fen", Positions::FEN.number(), &Positions::FEN),
    row("line", Positions::LINES.number(), &Positions::LINES),
    row("find", Positions::FIND.number(), &Positions::FIND),
    row("html", Html::NUMBER, &Html),
];

/// A line of the table.
#[derive(Debug)]
pub(super) struct DirectoryRow {
    pub(super) name: &'static str,
    /// The number of the directory, or of the file if it is one.
    pub(super) number: Ino,
    pub(super) view: &'static dyn RootView,
}

const fn row(name: &'static str, number: Ino, view: &'static dyn RootView) -> DirectoryRow {
    DirectoryRow { name, number, view }
}

/// The line of the directory that this number belongs to, or to something in
/// it.
pub(super) fn row_of(ino: Ino) -> Option<&'static DirectoryRow> {
    TABLE
        .iter()
        .find(|row| row.number == ino || row.view.holds(ino))
}

/// A directory of the root, with all that lies below it but games and groups
/// of games. `directory` and `ino` are its own number or one that it
/// [`holds`](RootView::holds).
pub(super) trait RootView: Debug + Sync {
    /// Whether the base has it.
    fn is_there(&self, _: &DatabaseVolume) -> bool {
        true
    }

    /// Whether this is a number of something below it.
    fn holds(&self, _: Ino) -> bool {
        false
    }

    /// What a number stands for.
    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error>;

    /// Returns the parent of a subdirectory. A view without subdirectories need
    /// not implement this.
    fn parent(&self, _: &DatabaseVolume, _: Ino) -> Result<Ino, Error> {
        Err(Error::NotADirectory)
    }

    /// What a name in it stands for. Files are [`Error::NotADirectory`].
    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error>;

    /// See [`Volume::list`](crate::fs::Volume::list).
    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error>;

    /// Gives the numbers of the games in a directory, as
    /// [`Volume::rendered_in`](crate::fs::Volume::rendered_in); `false` if it has
    /// to be listed for that.
    fn page(
        &self,
        _: &DatabaseVolume,
        _: Ino,
        _: u64,
        _: &mut NumberListing<'_>,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    /// Where a symbolic link points.
    fn target(&self, _: &DatabaseVolume, _: Ino) -> Result<Vec<u8>, Error> {
        Err(Error::NotFound)
    }

    /// Returns the meaning of a name, for a writer.
    fn role(&self, _: &DatabaseVolume, _: Ino, _: &[u8]) -> Role {
        Role::Refused
    }

    /// How long a file is that is read in pieces, where that takes a while.
    fn size(&self, _: &DatabaseVolume, _: Ino) -> Result<u64, Error> {
        Err(Error::NotFound)
    }

    /// Appends a piece of a file.
    fn read(
        &self,
        _: &DatabaseVolume,
        _: Ino,
        _: (u64, u32),
        _: &mut Vec<u8>,
    ) -> Result<(), Error> {
        Err(Error::NotFound)
    }

    /// Appends the whole of a file that is rendered.
    fn render(&self, _: &DatabaseVolume, _: Ino, _: &mut Vec<u8>) -> Result<Completeness, Error> {
        Err(Error::NotFound)
    }

    /// Tells what is wrong with a file that is rendered.
    fn faults_of(&self, _: &DatabaseVolume, _: Ino, _: &mut dyn FnMut(Fault)) {}
}

/// Which directories are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether the folders of `html/` list their pages.
    lists_pages: bool,
    /// Whether the names of games describe them.
    describes_games: bool,
    /// Those of the root that are not shown, by their place in [`TABLE`].
    hidden: u32,
}

impl Shown {
    /// Hides the directory or file of this name too.
    ///
    /// # Errors
    ///
    /// The line that says which names there are.
    pub fn hide(&mut self, name: &str) -> Result<(), String> {
        let place = TABLE.iter().position(|row| row.name == name);
        let place = place.ok_or_else(|| {
            let names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
            format!("{name:?} is none of {}", names.join(", "))
        })?;
        self.hidden |= 1 << place;
        Ok(())
    }

    /// Lets the folders of `html/` list their pages.
    pub fn list_pages(&mut self) {
        self.lists_pages = true;
    }

    /// Whether they do.
    pub fn lists_pages(self) -> bool {
        self.lists_pages
    }

    /// Lets the names of games describe them.
    pub fn describe_games(&mut self) {
        self.describes_games = true;
    }

    /// Whether they do.
    pub fn describes_games(self) -> bool {
        self.describes_games
    }

    /// The names that are hidden.
    pub fn hidden(self) -> impl Iterator<Item = &'static str> {
        let all = TABLE.iter().map(|row| row.name);
        all.filter(move |name| self.hides(name))
    }

    /// Whether that of this name is hidden.
    pub(super) fn hides(self, name: &str) -> bool {
        let place = || TABLE.iter().position(|row| row.name == name);
        self.hidden != 0 && place().is_some_and(|place| self.hidden & 1 << place != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::groups::{group_of, number_of};
    use super::*;

    #[test]
    fn each_number_belongs_to_one_directory() {
        let mut found = 0;
        for kind in (0..=40).chain(62..=u8::MAX) {
            for index in [0, 1, 2, 5, 14, 64, 501, 4096, 5000] {
                let ino = Ino::new(kind, index);
                let has = |row: &&DirectoryRow| row.number == ino || row.view.holds(ino);
                let rows = TABLE.iter().filter(has).count();
                let group = group_of(ino);
                assert!(rows + usize::from(group.is_some()) <= 1, "{ino:?}");
                found += rows;
                if let Some(group) = group {
                    assert_eq!(number_of(group), ino);
                }
            }
        }
        assert!(found > 100, "{found}");
        let numbers: BTreeSet<_> = TABLE.iter().map(|row| row.number).collect();
        let names: BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
        assert!(numbers.len() == TABLE.len() && names.len() == TABLE.len());
    }

    #[test]
    fn hidden_directories_use_the_names_of_the_table() {
        let mut shown = Shown::default();
        shown.hide("years").unwrap();
        shown.hide("headers.tsv").unwrap();
        assert_eq!(shown.hidden().collect::<Vec<_>>(), ["years", "headers.tsv"]);
        assert!(shown.hides("years") && !shown.hides("eco") && !shown.hides("x"));
        let why = shown.hide("year").unwrap_err();
        assert!(
            why.starts_with("\"year\" is none of games, players, "),
            "{why}"
        );
    }
}
