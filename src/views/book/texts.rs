//! What is in the files.

use std::io::Write;
use std::sync::Arc;

use super::about::{self, Examination};
use super::numbers::{self, BookNode, Fixed};
use super::{BookVolume, LineTo, MOST_SEARCHED};
use crate::book::choice::choices;
use crate::book::export::{ExportError, ExportFormat, write_cut, write_together};
use crate::book::walk::Limits;
use crate::book::{board_fields, position_files};
use crate::fs::content::once::Once;
use crate::fs::{Error, Ino, Text};
use crate::game::{Position, board_text};
use crate::picture::board::{Popular, of_moves};
use crate::storage::Spool;
use crate::views::positions::PositionFile::{BookPgn, Openings};
use crate::views::positions::{self, Item, NodeKey, position_fen};

/// Exports that are written together, during one walk: who asks for the length
/// of one mostly asks for that of the others next.
pub(super) const TOGETHER: [&[ExportFormat]; 2] = [
    &[ExportFormat::Epd, ExportFormat::Tsv, ExportFormat::Polyglot],
    &[ExportFormat::Pgn, ExportFormat::Openings],
];

/// Under what a text is kept: the hash of a position and which file of it; of
/// others 0 and the inode number.
pub(super) type TextKey = (u64, Ino);

impl BookVolume {
    /// The text of a small file.
    fn text(&self, thing: &BookNode) -> Result<Text, Error> {
        if *thing == BookNode::Fixed(Fixed::Warnings) {
            // Too much work for being done again.
            return Ok(self.examination()?.warnings);
        }
        self.texts.get_or_render(text_key(thing), || {
            let text = match thing {
                BookNode::Fixed(Fixed::Readme) => about::readme(self).into_bytes(),
                BookNode::Fixed(Fixed::Json) => {
                    about::json(self, self.examination()?.checked).into_bytes()
                }
                BookNode::Fixed(Fixed::Sources) => self.games.table()?.into_bytes(),
                BookNode::Position(key, Item::File(file)) => {
                    self.position_text(key, *file)?.into_bytes()
                }
                BookNode::Game(index) => self.games.render(*index)?,
                _ => return Err(Error::IsADirectory),
            };
            Ok(Text::from(text))
        })
    }

    /// The length of a file whose text is there.
    pub(super) fn known_length(&self, thing: &BookNode) -> Option<u64> {
        let key = text_key(thing);
        let text = match thing {
            BookNode::Fixed(Fixed::Export(format)) => return self.export_bytes(*format),
            BookNode::Position(_, Item::File(BookPgn | Openings)) => {
                return self.spools.known_bytes(key);
            }
            BookNode::Fixed(Fixed::Warnings) => {
                let examination = self.examination.get();
                examination.map(|examination| examination.warnings)
            }
            _ => self.texts.get(key),
        };
        text.map(|text| text.len() as u64)
    }

    fn examination(&self) -> Result<Examination, Error> {
        self.examination.get_or_work_out(|| about::examine(self))
    }

    /// A small file of a position.
    fn position_text(&self, key: &NodeKey, file: positions::PositionFile) -> Result<String, Error> {
        let position = key.position()?;
        let book = &*self.book;
        Ok(match file {
            positions::PositionFile::Fen => position_fen(&board_fields(&position)),
            positions::PositionFile::Board => board_text(&position),
            positions::PositionFile::Picture => self.picture(&position)?,
            positions::PositionFile::Moves => position_files::moves_tsv(book, &position)?,
            positions::PositionFile::Stats => position_files::stats_json(book, &position)?,
            positions::PositionFile::Line => {
                let line = self.line(key)?;
                position_files::line_pgn(book, &line.line) + &BookVolume::tell_given_up(&line)
            }
            // The first is not small, the others are of bases.
            BookPgn
            | Openings
            | positions::PositionFile::GamesTsv
            | positions::PositionFile::GamesPgn => {
                return Err(Error::NotFound);
            }
        })
    }

    /// `board.svg`, with the moves of the book as arrows.
    fn picture(&self, position: &Position) -> Result<String, Error> {
        let book = &*self.book;
        let choices = match book.look_up(position)? {
            Some(entry) => choices(book, position, &entry)?,
            None => Vec::new(),
        };
        let moves = choices.iter().map(|choice| Popular {
            m: Some(choice.book_move.m),
            san: format!("{}{}", choice.san, choice.mark()),
            games: choice.games(),
            score: choice
                .child
                .as_ref()
                .and_then(|child| child.statistics.white_score()),
        });
        Ok(of_moves(position, &moves.collect::<Vec<_>>()))
    }

    /// What the book has from a position on, as one game or several.
    fn book_pgn(
        &self,
        thing: &BookNode,
        key: &NodeKey,
        file: positions::PositionFile,
    ) -> Result<Arc<Spool>, Error> {
        let line = self.line(key)?;
        let write = match file {
            Openings => position_files::openings_pgn,
            _ => position_files::book_pgn,
        };
        self.spools.get(text_key(thing), |out| {
            let written = write(&*self.book, &line.line, self.options.export_limit, out)?;
            let told = out.write_all(BookVolume::tell_given_up(&line).as_bytes());
            told.map_err(ExportError::from)?;
            if written.is_cut {
                let told = write_cut("%", self.options.export_limit, out);
                told.map_err(ExportError::from)?;
                self.warn_of_cut();
            }
            Ok(())
        })
    }

    /// Whether the text of an export is there.
    pub(super) fn is_written(&self, format: ExportFormat) -> bool {
        self.export_slot(format)
            .is_some_and(|(slot, _)| slot.get().is_some())
    }

    /// How long an export is, if that is known.
    fn export_bytes(&self, format: ExportFormat) -> Option<u64> {
        let (slot, place) = self.export_slot(format)?;
        match slot.get() {
            Some(spools) => spools.get(place).map(Spool::bytes),
            None => self.kept.length(format),
        }
    }

    /// Where an export lies: among those that are written with it.
    fn export_slot(&self, format: ExportFormat) -> Option<(&Once<Arc<[Spool]>>, usize)> {
        let mut slots = self.exports.iter().zip(TOGETHER);
        slots.find_map(|(slot, formats)| {
            let place = formats.iter().position(|written| *written == format)?;
            Some((slot, place))
        })
    }

    /// An export, and all that are written with it.
    fn export(&self, format: ExportFormat) -> Result<(Arc<[Spool]>, usize), Error> {
        let (slot, place) = self.export_slot(format).ok_or(Error::NotFound)?;
        let formats = TOGETHER.into_iter().find(|all| all.contains(&format));
        let spools = slot.get_or_work_out(|| {
            let spools = self.write_together(formats.unwrap_or_default())?;
            let lengths = spools.iter().map(Spool::bytes);
            let lengths = formats.unwrap_or_default().iter().copied().zip(lengths);
            self.kept.keep_lengths(&*self.book, lengths);
            Ok(spools)
        })?;
        Ok((spools, place))
    }

    fn write_together(&self, formats: &[ExportFormat]) -> Result<Arc<[Spool]>, Error> {
        let files = formats.iter().map(|_| Spool::begin());
        let files = files.collect::<Result<Vec<_>, _>>();
        let mut files = files.map_err(ExportError::from)?;
        let outputs = formats.iter().copied().zip(&mut files);
        let mut outputs: Vec<(ExportFormat, &mut dyn Write)> = outputs
            .map(|(format, file)| (format, file as &mut dyn Write))
            .collect();
        let limits = Limits::positions(self.options.export_limit);
        let written = write_together(&*self.book, limits, &mut outputs)?;
        if written.is_cut {
            self.warn_of_cut();
        }
        let spools = files.into_iter().map(Spool::end);
        Ok(spools
            .collect::<Result<_, _>>()
            .map_err(ExportError::from)?)
    }

    fn warn_of_cut(&self) {
        let (stem, limit) = (&self.book.facts().stem, self.options.export_limit);
        log::warn!("{stem}: cut after {limit} positions, see --export-limit");
    }

    /// A line of PGN that says why a line does not begin at the start, if the search may
    /// have missed one.
    fn tell_given_up(line: &LineTo) -> String {
        if !line.is_given_up {
            return String::new();
        }
        format!(
            "% No line to this position is among {MOST_SEARCHED} positions that may lead to it\n"
        )
    }

    /// Asks a file's text, wherever that lies.
    pub(super) fn with_text<T>(
        &self,
        ino: Ino,
        small: impl FnOnce(&Text) -> T,
        large: impl FnOnce(&Spool) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let thing = self.thing(ino)?;
        match &thing {
            BookNode::Fixed(Fixed::Export(format)) => {
                let (spools, place) = self.export(*format)?;
                large(spools.get(place).ok_or(Error::NotFound)?)
            }
            BookNode::Position(key, Item::File(file @ (BookPgn | Openings))) => {
                large(&*self.book_pgn(&thing, key, *file)?)
            }
            _ => Ok(small(&self.text(&thing)?)),
        }
    }

    /// A part of a file's text.
    pub(super) fn part(&self, ino: Ino, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        self.with_text(
            ino,
            |text| text.part(offset, length).to_vec(),
            |spool| Ok(spool.read(offset, length).map_err(ExportError::from)?),
        )
    }
}

/// Under what the text of a file is kept.
fn text_key(thing: &BookNode) -> TextKey {
    match thing {
        BookNode::Position(key, item) => (key.hash(), Ino(item.number())),
        BookNode::Fixed(fixed) => (0, fixed.ino()),
        BookNode::Source(number) => (0, numbers::source(*number)),
        BookNode::Game(index) => (0, numbers::game(*index)),
    }
}

impl From<ExportError> for Error {
    fn from(error: ExportError) -> Error {
        match error {
            ExportError::Book(error) => error.into(),
            ExportError::Write(error) => Error::Damaged(format!("temporary file: {error}")),
        }
    }
}
