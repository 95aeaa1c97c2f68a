//! All pages of a base as a folder on disk, for a web server.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::{Maker, Section};
use crate::cbh::{Entry, Error, GameId, RecordKind};
use crate::picture::page;
use crate::picture::tables::pieces;
use crate::storage::make_folder;

/// Records that are looked at together.
const STRETCH: u32 = 1024;

/// Is told how many records are done; `false` ends the work.
type Progress<'p> = dyn FnMut(u32) -> bool + 'p;

/// What was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Files.
    pub files: u64,
    /// Games that have a page.
    pub games: u64,
    /// Those of them that cannot be read: their pages say so.
    pub unreadable: u64,
}

/// Writes the pages of a base to the new folder `to`: all of them, or none. Names
/// of files are those of `html/`, so none lies outside of the folder.
///
/// # Errors
///
/// `AlreadyExists` if there is something other than an empty folder at `to`,
/// `Interrupted` if `progress` ended the work; that of reading or writing.
pub fn write(maker: Maker<'_>, to: &Path, progress: &mut Progress<'_>) -> io::Result<Written> {
    make_folder(to, |root| {
        let mut site = Site {
            maker,
            root,
            written: Written::default(),
        };
        site.write_all(progress)?;
        maker.base.ensure_unchanged()?;
        Ok(site.written)
    })
}

struct Site<'s> {
    maker: Maker<'s>,
    root: &'s Path,
    written: Written,
}

impl Site<'_> {
    fn write_all(&mut self, progress: &mut Progress<'_>) -> io::Result<()> {
        for folder in ["games", "players", "tournaments", "eco"] {
            DirBuilder::new().create(self.root.join(folder))?;
        }
        self.write(Path::new("cbfs.css"), page::STYLE)?;
        self.write(Path::new("cbfs.js"), page::SCRIPT)?;
        let index = self.maker.page_of_index().map_err(failed)?;
        self.write(Path::new("index.html"), &index)?;
        self.write_games(progress)?;
        for section in Section::ALL {
            self.write_section(section, progress)?;
        }
        Ok(())
    }

    fn write_games(&mut self, progress: &mut Progress<'_>) -> io::Result<()> {
        let maker = self.maker;
        let last = maker.base.last_id();
        let mut entries = Vec::new();
        for first in (1..=last).step_by(STRETCH as usize) {
            entries.clear();
            let read = maker.base.entries(GameId(first), STRETCH, &mut entries);
            read.map_err(failed)?;
            for entry in entries.iter().filter(|entry| is_listed(maker, **entry)) {
                let (page, unreadable) = maker.page_of_game(entry.id);
                let name = format!("games/{:06}.html", entry.id.0);
                self.write(Path::new(&name), &page)?;
                self.written.games += 1;
                self.written.unreadable += u64::from(unreadable.is_some());
                ensure_wanted(progress(entry.id.0))?;
            }
        }
        Ok(())
    }

    /// The pages of players, events or openings, and their list.
    fn write_section(&mut self, section: Section, progress: &mut Progress<'_>) -> io::Result<()> {
        let listed = self.maker.listed(section).map_err(failed)?;
        let last = self.maker.base.last_id();
        for id in listed.iter().copied() {
            let Some(file) = self.maker.file(section, id) else {
                continue;
            };
            let games = self.maker.games(section, id).map_err(failed)?;
            let games = games.ids().map_err(failed)?;
            for piece in 1..=self.maker.pieces(section, id, games.len()) {
                let folder = Path::new(section.name());
                let folder = match piece {
                    1 => folder.to_path_buf(),
                    piece => folder.join(piece.to_string()),
                };
                let page = self.maker.page_of_group(section, id, &games, piece);
                fs::create_dir_all(self.root.join(&folder))?;
                self.write(&folder.join(&file), &page.map_err(failed)?)?;
                ensure_wanted(progress(last))?;
            }
        }
        for piece in 1..=pieces(listed.len()) {
            let page = self.maker.page_of_list(section, &listed, piece);
            let name = match piece {
                1 => format!("{}.html", section.name()),
                piece => format!("{}-{piece}.html", section.name()),
            };
            self.write(Path::new(&name), &page.map_err(failed)?)?;
        }
        Ok(())
    }

    fn write(&mut self, name: &Path, page: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true);
        let mut file = options.open(self.root.join(name))?;
        file.write_all(page.as_bytes())?;
        self.written.files += 1;
        Ok(())
    }
}

fn is_listed(maker: Maker<'_>, entry: Entry) -> bool {
    entry.kind == RecordKind::Game && !entry.is_deleted && maker.has(entry.id)
}

fn ensure_wanted(is_wanted: bool) -> io::Result<()> {
    if is_wanted {
        return Ok(());
    }
    Err(io::ErrorKind::Interrupted.into())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn failed(error: Error) -> io::Error {
    io::Error::other(error.to_string())
}
