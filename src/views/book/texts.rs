//! What is in the files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use super::lines::{Key, Origin};
use super::numbers::{Export, LineFile, LineId, RootFile, Thing};
use super::spool::{Spool, slice};
use super::{BookVolume, about};
use crate::book::export::{
    ExportError, Exported, PgnOptions, write_epd, write_pgn, write_polyglot, write_positions,
};
use crate::book::walk::Limits;
use crate::book::{Line, position_files};
use crate::fs::{Error, Ino, Text};
use crate::game::board_text;

impl BookVolume {
    /// The text of a small file.
    fn text(&self, thing: Thing) -> Result<Text, Error> {
        if thing == Thing::RootFile(RootFile::Warnings) {
            // Too much work for being done again.
            return self.warnings();
        }
        self.texts.get_or_render(self.text_key(thing)?, || {
            let text = match thing {
                Thing::RootFile(RootFile::Readme) => about::readme(self).into_bytes(),
                Thing::RootFile(RootFile::Json) => about::json(self).into_bytes(),
                Thing::LineFile(line, file) => self.sheet(line, file)?.into_bytes(),
                Thing::Sources => self.games.table()?.into_bytes(),
                Thing::Game(index) => self.games.render(index)?,
                _ => return Err(Error::IsADirectory),
            };
            Ok(Text::from(text))
        })
    }

    /// Under what the text of a small file is kept.
    fn text_key(&self, thing: Thing) -> Result<(u64, Ino), Error> {
        let hash = match thing {
            Thing::LineFile(line, _) => self.lines.key(line)?.0,
            _ => 0,
        };
        Ok((hash, thing.ino()))
    }

    /// The length of a file whose text is there.
    pub(super) fn known_length(&self, thing: Thing) -> Option<u64> {
        let text = match thing {
            Thing::Export(export) => return self.exports.known_bytes(export_key(export)),
            Thing::LineFile(line, LineFile::Pgn) => {
                return self.spools.known_bytes(self.lines.key(line).ok()?);
            }
            Thing::RootFile(RootFile::Warnings) => self.warnings.get(),
            thing => self.texts.get(self.text_key(thing).ok()?),
        };
        text.map(|text| text.len() as u64)
    }

    fn warnings(&self) -> Result<Text, Error> {
        self.warnings
            .get_or_work_out(|| Ok(Text::from(about::warnings(self)?.into_bytes())))
    }

    /// A small file of a position.
    fn sheet(&self, line: LineId, file: LineFile) -> Result<String, Error> {
        let line = self.line(line)?;
        let book = &*self.book;
        Ok(match file {
            LineFile::Fen => position_files::position_fen(&line),
            LineFile::Board => board_text(line.position()),
            LineFile::Moves => position_files::moves_tsv(book, &line)?,
            LineFile::Stats => position_files::stats_json(book, &line)?,
            LineFile::Line => position_files::line_pgn(book, &line),
            // It is not small.
            LineFile::Pgn => return Err(Error::Invalid),
        })
    }

    /// The moves of a line.
    fn line(&self, line: LineId) -> Result<Line, Error> {
        let path = self.lines.path(line)?;
        let mut line = match path.start {
            Origin::Tree | Origin::Uci => self.first_line(),
            start => Line::set_up(self.start(start)?.position),
        };
        for (m, _) in path.moves {
            line.play(m).map_err(|_| Error::Stale)?;
        }
        Ok(line)
    }

    /// The line without moves that the book starts with.
    fn first_line(&self) -> Line {
        let usual = Line::default();
        let start = self.book.start();
        if super::lines::identity(&start) == super::lines::identity(usual.position()) {
            usual
        } else {
            Line::set_up(start)
        }
    }

    /// What the book has from a position on.
    fn line_pgn(&self, line: LineId) -> Result<Arc<Spool>, Error> {
        let moves = self.line(line)?;
        self.spools.get(self.lines.key(line)?, |out| {
            let limit = self.options.export_limit;
            let written = position_files::book_pgn(&*self.book, &moves, limit, out)?;
            self.tell_cut(written, "%", out)
        })
    }

    fn export(&self, export: Export) -> Result<Arc<Spool>, Error> {
        self.exports.get(export_key(export), |out| {
            let book = &*self.book;
            let limits = Limits::positions(self.options.export_limit);
            let (written, mark) = match export {
                Export::Pgn => {
                    let options = PgnOptions {
                        limits,
                        has_numbers: true,
                    };
                    (write_pgn(book, &self.first_line(), options, out)?, "%")
                }
                Export::Epd => (write_epd(book, limits, out)?, "#"),
                Export::Tsv => (write_positions(book, limits, out)?, "#"),
                // There is no room in it for a word.
                Export::Polyglot => (write_polyglot(book, limits, out)?, ""),
            };
            self.tell_cut(written, mark, out)
        })
    }

    /// Says at the end of a text that it is not whole, if so; what begins with
    /// `mark` is a remark there.
    fn tell_cut(
        &self,
        written: Exported,
        mark: &str,
        out: &mut BufWriter<File>,
    ) -> Result<(), Error> {
        if !written.is_cut {
            return Ok(());
        }
        let limit = self.options.export_limit;
        log::warn!(
            "{}: cut after {limit} positions, see --export-limit",
            self.book.facts().stem
        );
        if !mark.is_empty() {
            writeln!(
                out,
                "{mark} The book has more positions than these {limit}; mount it with a larger --export-limit"
            )
            .map_err(ExportError::from)?;
        }
        Ok(())
    }

    /// Asks a file's text, wherever that lies.
    pub(super) fn with_text<T>(
        &self,
        ino: Ino,
        small: impl FnOnce(&[u8]) -> T,
        large: impl FnOnce(&Spool) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match Thing::of(ino).ok_or(Error::NotFound)? {
            Thing::Export(export) => large(&*self.export(export)?),
            Thing::LineFile(line, LineFile::Pgn) => large(&*self.line_pgn(line)?),
            thing => Ok(small(&self.text(thing)?)),
        }
    }

    /// A part of a file's text.
    pub(super) fn part(&self, ino: Ino, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        self.with_text(
            ino,
            |text| slice(text, offset, length).to_vec(),
            |spool| spool.read(offset, length),
        )
    }
}

/// Under what an export is kept.
fn export_key(export: Export) -> Key {
    (export as u64, LineId::TREE)
}

impl From<ExportError> for Error {
    fn from(error: ExportError) -> Error {
        match error {
            ExportError::Book(error) => error.into(),
            ExportError::Write(error) => Error::Damaged(format!("temporary file: {error}")),
        }
    }
}
