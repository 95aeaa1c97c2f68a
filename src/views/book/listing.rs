//! What the directories of a book list, and which names they know.

use std::sync::Arc;

use super::lines::Origin;
use super::numbers::{Export, LineFile, LineId, RootFile, Thing, Top};
use super::standing::{Standing, Step};
use super::{BookVolume, fen_name, game_files};
use crate::fs::Error;
use crate::fs::volume::{DirEntry, Listing, Node, NodeKind};

/// The table in `games/`.
const SOURCES: &str = "sources.tsv";

/// The cookie of the first move; the files come before.
const FIRST_STEP: u64 = 16;

impl BookVolume {
    /// What the root lists, in order.
    fn in_root(&self) -> Vec<(&'static str, Thing)> {
        let mut entries = vec![
            ("tree", Thing::Line(LineId::TREE)),
            ("uci", Thing::Line(LineId::UCI)),
            ("fen", Thing::Top(Top::Fen)),
            ("unreachable", Thing::Top(Top::Unreachable)),
            ("export", Thing::Top(Top::Export)),
        ];
        if self.games.exist() {
            entries.push(("games", Thing::Top(Top::Games)));
        }
        let files = RootFile::ALL.map(|(name, file)| (name, Thing::RootFile(file)));
        entries.extend(files);
        entries
    }

    pub(super) fn lookup_in_top(&self, top: Top, name: &[u8]) -> Result<Node, Error> {
        let thing = match top {
            Top::Root => {
                let mut entries = self.in_root().into_iter();
                let found = entries.find(|(entry, _)| entry.as_bytes() == name);
                found.ok_or(Error::NotFound)?.1
            }
            Top::Export => {
                let mut entries = Export::ALL.into_iter();
                let found = entries.find(|(entry, _)| entry.as_bytes() == name);
                Thing::Export(found.ok_or(Error::NotFound)?.1)
            }
            Top::Fen => {
                let position = fen_name::position(name).ok_or(Error::NotFound)?;
                let origin = Origin::Fen(fen_name::name(&position).into());
                Thing::Line(self.lines.number(&origin)?)
            }
            Top::Unreachable => {
                let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
                let known = self.unreachable()?;
                known.position(name).ok_or(Error::NotFound)?;
                Thing::Line(self.lines.number(&Origin::Unreachable(name.into()))?)
            }
            Top::Games if name == SOURCES.as_bytes() => Thing::Sources,
            Top::Games => {
                let names = self.games.directories()?;
                let found = names
                    .into_iter()
                    .find(|(_, known)| known.as_bytes() == name);
                Thing::Source(found.ok_or(Error::NotFound)?.0)
            }
        };
        Ok(self.node_of_thing(thing))
    }

    /// The node of something that is there, and no repetition.
    fn node_of_thing(&self, thing: Thing) -> Node {
        match thing {
            Thing::Top(top) => self.top_node(top),
            Thing::Line(line) => self.line_node(line, false),
            Thing::Source(_) => self.node_of(thing.ino(), NodeKind::Directory, 2),
            file => self.file_node(file.ino()),
        }
    }

    pub(super) fn lookup_in_line(&self, line: LineId, name: &[u8]) -> Result<Node, Error> {
        let standing = self.directory(line)?;
        let mut files = LineFile::ALL.into_iter();
        if let Some((_, file)) = files.find(|(file, _)| file.as_bytes() == name) {
            return Ok(self.file_node(file.ino(line)));
        }
        // The longest is `Qa1xb2#`.
        let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
        let mut steps = standing.steps(&*self.book)?.iter();
        let step = steps.find(|step| step.is_called(name));
        self.step_node(line, step.ok_or(Error::NotFound)?)
    }

    fn step_node(&self, line: LineId, step: &Step) -> Result<Node, Error> {
        let next = self.lines.number(&Origin::Move(line, step.m))?;
        Ok(self.line_node(next, step.repeats))
    }

    /// The end of a line that is a directory.
    fn directory(&self, line: LineId) -> Result<Arc<Standing>, Error> {
        let standing = self.standing(line)?;
        match standing.repeats {
            None => Ok(standing),
            Some(_) => Err(Error::NotADirectory),
        }
    }

    pub(super) fn list_top(
        &self,
        top: Top,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let things = match top {
            Top::Root => self.in_root(),
            Top::Export => Export::ALL
                .map(|(name, export)| (name, Thing::Export(export)))
                .into(),
            Top::Unreachable => return self.list_unreachable(after, listing),
            Top::Games => return self.list_sources(after, listing),
            // Any position is there, so none is listed.
            Top::Fen => Vec::new(),
        };
        for ((name, thing), cookie) in things.into_iter().zip(3..) {
            let node = self.node_of_thing(thing);
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn list_unreachable(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let first = after.saturating_sub(2);
        let known = self.unreachable()?;
        let names = known.names();
        let skipped = usize::try_from(first).unwrap_or(usize::MAX);
        for (name, cookie) in names.skip(skipped).zip(first + 3..) {
            let line = self
                .lines
                .number(&Origin::Unreachable(name.as_str().into()))?;
            let node = self.line_node(line, false);
            let name = &name;
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    fn list_sources(&self, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let entries = self.games.directories()?.into_iter();
        let entries = entries.map(|(number, name)| (name, Thing::Source(number)));
        let all = [(SOURCES.to_owned(), Thing::Sources)]
            .into_iter()
            .chain(entries);
        for ((name, thing), cookie) in all.zip(3..) {
            let node = self.node_of_thing(thing);
            let name = &name;
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
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
            let node = self.file_node(Thing::Game(start + game).ino());
            let (name, cookie) = (&game_files::name(game), u64::from(game) + 3);
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn list_line(
        &self,
        line: LineId,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let standing = self.directory(line)?;
        for ((name, file), cookie) in LineFile::ALL.into_iter().zip(3..) {
            let node = self.file_node(file.ino(line));
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                return Ok(());
            }
        }
        let is_uci = matches!(standing.start, Origin::Uci);
        let mut name = String::with_capacity(8);
        for (step, cookie) in standing.steps(&*self.book)?.iter().zip(FIRST_STEP..) {
            if cookie <= after {
                continue;
            }
            if is_uci {
                step.write_uci(&mut name);
            } else {
                step.write_san(&mut name);
            }
            let node = self.step_node(line, step)?;
            let name = &name;
            if !listing(&DirEntry { name, node, cookie }) {
                break;
            }
        }
        Ok(())
    }
}
