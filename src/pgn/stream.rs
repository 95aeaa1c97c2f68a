//! PGN of any size, game by game, in bounded memory.
//!
//! A text is split before each tag pair at the begin of a line that follows
//! moves. So a piece, a [`Section`], is one game with its tags, or some games
//! of which all but the first have none. Nothing of the text is left out, and
//! nothing is understood here: what is no PGN is refused by
//! [`Section::games`], at its place in the whole text.

mod parallel;

use std::fmt;
use std::io::{self, BufRead};

use super::Games;
use super::braces::begins_tag_pair;
use super::decode::MAX_BYTES;
use super::error::Error;
use super::place::Place;

pub use parallel::{Prepared, for_each_game_in_order};

/// A part of a text that a game begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The line of the text that its first byte stands in, from 1.
    pub line: usize,
    /// The bytes, line ends as they were.
    pub text: Vec<u8>,
}

impl Section {
    /// The games in it; places are those in the whole text.
    pub fn games(&self) -> Games<'_> {
        Games::from_line(&self.text, self.line)
    }

    /// Line and column of the first byte that is no UTF-8, if there is one:
    /// it is read as Windows-1252.
    pub fn not_utf8(&self) -> Option<(usize, usize)> {
        let valid = std::str::from_utf8(&self.text).err()?.valid_up_to();
        let before = self.text.get(..valid).unwrap_or_default();
        let mut place = Place {
            line: self.line,
            ..Place::START
        };
        for (at, &byte) in before.iter().enumerate() {
            if ends_line(byte, self.text.get(at + 1).copied()) {
                place.line += 1;
                place.line_start = at + 1;
            }
        }
        place.offset = valid;
        Some((place.line, place.column(&self.text)))
    }
}

/// Why the games of a text cannot be had.
#[derive(Debug)]
pub enum StreamError {
    /// The medium's reason.
    Io(io::Error),
    /// What is no PGN, with its place.
    Pgn(Error),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Io(source) => write!(f, "{source}"),
            StreamError::Pgn(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StreamError::Io(source) => Some(source),
            StreamError::Pgn(error) => Some(error),
        }
    }
}

impl From<io::Error> for StreamError {
    fn from(source: io::Error) -> StreamError {
        StreamError::Io(source)
    }
}

impl From<Error> for StreamError {
    fn from(error: Error) -> StreamError {
        StreamError::Pgn(error)
    }
}

/// Splits a text into sections; none after the first error. Memory is that of
/// one section, 16 MiB at most, and the reader's.
#[derive(Debug)]
pub struct Sections<R> {
    reader: R,
    /// What was read of the next section.
    text: Vec<u8>,
    /// The line that `text` begins with, and the one that is read next.
    line: usize,
    next_line: usize,
    state: State,
    is_over: bool,
}

/// What was seen of a section.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    in_comment: bool,
    /// Whether something stands there that is neither tag pair nor comment.
    has_moves: bool,
}

impl<R: BufRead> Sections<R> {
    /// Begins at the first line.
    pub fn new(reader: R) -> Sections<R> {
        Sections {
            reader,
            text: Vec::new(),
            line: 1,
            next_line: 1,
            state: State::default(),
            is_over: false,
        }
    }

    fn next_section(&mut self) -> Result<Option<Section>, StreamError> {
        loop {
            let start = self.text.len();
            if !self.read_line()? {
                self.is_over = true;
                let text = std::mem::take(&mut self.text);
                let is_blank = text.iter().all(u8::is_ascii_whitespace);
                let line = self.line;
                return Ok((!is_blank).then_some(Section { line, text }));
            }
            let line = self.text.get(start..).unwrap_or_default();
            let line = if start == 0 { without_mark(line) } else { line };
            let begins_game = self.state.begins_game(line);
            if begins_game {
                self.state = State::default();
            }
            self.state.look_at(line);
            let number = self.next_line;
            self.next_line += 1;
            if begins_game {
                let rest = self.text.split_off(start);
                let text = std::mem::replace(&mut self.text, rest);
                let line = std::mem::replace(&mut self.line, number);
                return Ok(Some(Section { line, text }));
            }
        }
    }

    /// Appends one line with its end to the text; whether there was one.
    fn read_line(&mut self) -> Result<bool, StreamError> {
        let start = self.text.len();
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            let after_cr = self.text.len() > start && self.text.last() == Some(&b'\r');
            let Some(&first) = available.first() else {
                return Ok(self.text.len() > start);
            };
            if after_cr {
                // The line feed belongs to the line that the return ended.
                if first == b'\n' {
                    self.text.push(first);
                    self.reader.consume(1);
                }
                return Ok(true);
            }
            let end = available
                .iter()
                .position(|&byte| byte == b'\n' || byte == b'\r');
            let part = available.get(..end.map_or(available.len(), |end| end + 1));
            let part = part.unwrap_or_default();
            self.text.extend_from_slice(part);
            let read = part.len();
            self.reader.consume(read);
            if self.text.len() > MAX_BYTES {
                return Err(self.too_long().into());
            }
            if self.text.last() == Some(&b'\n') {
                return Ok(true);
            }
        }
    }

    fn too_long(&self) -> Error {
        Error {
            line: self.line,
            column: 1,
            found: "a game of more than 16 MiB".to_owned(),
            expected: "a shorter text",
        }
    }
}

impl<R: BufRead> Iterator for Sections<R> {
    type Item = Result<Section, StreamError>;

    fn next(&mut self) -> Option<Result<Section, StreamError>> {
        if self.is_over {
            return None;
        }
        let next = self.next_section();
        self.is_over |= next.is_err();
        next.transpose()
    }
}

/// Gives each section of a text to `take`, in order.
///
/// # Errors
///
/// The first of the medium, of a game of more than 16 MiB, or of `take`.
pub fn for_each_game<E: From<StreamError>>(
    reader: impl BufRead,
    mut take: impl FnMut(Section) -> Result<(), E>,
) -> Result<(), E> {
    Sections::new(reader).try_for_each(|section| take(section?))
}

impl State {
    /// Whether a line begins another game than what came before it.
    fn begins_game(self, line: &[u8]) -> bool {
        self.has_moves && !self.in_comment && begins_tag_pair(line.trim_ascii_start())
    }

    /// Takes note of what stands in a line.
    fn look_at(&mut self, line: &[u8]) {
        let mut rest = line;
        if !self.in_comment {
            if line.first() == Some(&b'%') {
                return;
            }
            rest = after_tag_pairs(rest.trim_ascii_start());
        }
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'}' if self.in_comment => self.in_comment = false,
                _ if self.in_comment => {}
                b'{' => self.in_comment = true,
                b';' => return,
                _ => self.has_moves |= !byte.is_ascii_whitespace(),
            }
        }
    }
}

/// What of a line follows its tag pairs.
fn after_tag_pairs(line: &[u8]) -> &[u8] {
    if !begins_tag_pair(line) {
        return line;
    }
    let end = line.iter().rposition(|&byte| byte == b']');
    end.and_then(|end| line.get(end + 1..)).unwrap_or_default()
}

/// A line without the mark that some texts begin with.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

fn ends_line(byte: u8, next: Option<u8>) -> bool {
    byte == b'\n' || (byte == b'\r' && next != Some(b'\n'))
}

#[cfg(test)]
mod tests;
