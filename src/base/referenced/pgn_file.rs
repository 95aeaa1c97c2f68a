//! One game of a PGN file, found where a book says it is.
//!
//! A book knows the offset and the length of a game. If the file has changed
//! since, another game may lie there, or a part of one. So what is there must
//! begin and end where a game does; if not, the games of the file are
//! counted, and the one of the same number is taken if it has the players
//! that the book says.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::{Error, MAX_GAME_BYTES};
use crate::book::{GameReference, ReferencedGame};
use crate::storage::{DiskFile, ReadBuffer, Storage};

/// How much is read at once when games are counted.
const WINDOW_BYTES: usize = 1 << 16;

/// Places of games that are remembered of a file.
const MAX_PLACES: usize = 1 << 16;

/// How far the next game may be from the end of one.
const MAX_GAP_BYTES: usize = 4096;

/// What was counted last.
#[derive(Debug, Default)]
pub(super) struct PgnFiles {
    last: Mutex<Option<(PathBuf, FileIdentity, Arc<GameOffsets>)>>,
}

/// What tells whether a file has changed.
type FileIdentity = (u64, Option<SystemTime>);

/// Offsets of every `stride`-th game of a file.
#[derive(Debug, Default, PartialEq, Eq)]
struct GameOffsets {
    stride: u64,
    begins: Vec<u64>,
    games: u64,
}

impl PgnFiles {
    /// The text of a game, ending in an empty line.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], or [`Error::Damaged`] if the file has no such
    /// game or cannot be read.
    pub(super) fn read(
        &self,
        path: &Path,
        reference: GameReference,
        game: &ReferencedGame,
    ) -> Result<Vec<u8>, Error> {
        let io = |why: std::io::Error| Error::Damaged(format!("{}: {why}", path.display()));
        let file = DiskFile::open(path).map_err(io)?;
        let length = usize::try_from(game.length).unwrap_or(usize::MAX);
        if length > MAX_GAME_BYTES {
            return Err(Error::TooLarge);
        }
        if let Some(text) = at_its_place(&file, game.address.into(), length).map_err(io)? {
            return Ok(text);
        }
        let metadata = fs::metadata(path).map_err(io)?;
        let state = (metadata.len(), metadata.modified().ok());
        let places = self.places(path, state, &file).map_err(io)?;
        let found = match places.span(&file, reference.game.into()).map_err(io)? {
            Some((begin, end)) if end - begin > MAX_GAME_BYTES as u64 => {
                return Err(Error::TooLarge);
            }
            Some((begin, end)) => {
                let length = usize::try_from(end - begin).unwrap_or(0);
                let mut buffer = ReadBuffer::default();
                let text = file.read_up_to(begin, length, &mut buffer).map_err(io)?;
                is_between(text, game).then(|| with_an_empty_line(text))
            }
            None => None,
        };
        found.ok_or_else(|| {
            Error::Damaged(format!(
                "{}: the file is not as the book knows it: game {} ({} - {}) is not there any more",
                path.display(),
                reference.game,
                game.white,
                game.black
            ))
        })
    }

    fn places(
        &self,
        path: &Path,
        state: FileIdentity,
        file: &DiskFile,
    ) -> std::io::Result<Arc<GameOffsets>> {
        let lock = || self.last.lock();
        if let Some((known, then, places)) = &*lock()
            && known == path
            && *then == state
        {
            return Ok(Arc::clone(places));
        }
        let places = Arc::new(GameOffsets::count(file)?);
        *lock() = Some((path.to_path_buf(), state, Arc::clone(&places)));
        Ok(places)
    }
}

/// What lies in the file there, if it is one game.
fn at_its_place(file: &dyn Storage, begin: u64, length: usize) -> std::io::Result<Option<Vec<u8>>> {
    let before = begin.min(3);
    let around = usize::try_from(before).unwrap_or(0);
    let mut buffer = ReadBuffer::default();
    let most = around + length + MAX_GAP_BYTES;
    let read = file.read_up_to(begin - before, most, &mut buffer)?;
    let (before, text) = read.split_at_checked(around).unwrap_or((read, &[]));
    let Some((text, after)) = text.split_at_checked(length) else {
        return Ok(None);
    };
    let begins_line = before.is_empty()
        || before == [0xEF, 0xBB, 0xBF]
        || matches!(before.last(), Some(b'\n' | b'\r'))
        || matches!(text.first(), Some(b'\n' | b'\r'));
    let ends_line = matches!(text.last(), Some(b'\n' | b'\r'))
        || matches!(after.first(), None | Some(b'\n' | b'\r' | b' '));
    let first = text.trim_ascii_start().first().copied();
    let has_tags = first == Some(b'[');
    let is_game = has_tags || first.is_some_and(|byte| byte.is_ascii_alphanumeric());
    // A game without tags ends before one without tags.
    let is_end = match after.trim_ascii_start().first() {
        None | Some(b'[' | b'%' | b';') => true,
        Some(_) => !has_tags,
    };
    let is_one = is_game && begins_line && ends_line && is_end && begins_in(text).len() == 1;
    Ok(is_one.then(|| with_an_empty_line(text)))
}

fn with_an_empty_line(text: &[u8]) -> Vec<u8> {
    let mut text = text.trim_ascii().to_vec();
    text.extend_from_slice(b"\n\n");
    text
}

/// Whether the tags of a text name the players of a game.
fn is_between(text: &[u8], game: &ReferencedGame) -> bool {
    let has = |tag: &str, name: &str| {
        let pair = format!("[{tag} \"{name}\"]");
        let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        lines.any(|line| line == pair.as_bytes() || is_the_page_of(line, &pair))
    };
    has("White", &game.white) && has("Black", &game.black)
}

/// Whether a line that is not UTF-8 is `pair` in the page that Kvetka's books
/// are in.
fn is_the_page_of(line: &[u8], pair: &str) -> bool {
    let (bytes, _, has_unmappable) = encoding_rs::WINDOWS_1251.encode(pair);
    !has_unmappable && *bytes == *line
}

/// Where the games of a text begin.
fn begins_in(text: &[u8]) -> Vec<u64> {
    let mut begins = Vec::new();
    let mut counter = Counter::default();
    let _ = counter.feed(0, text, &mut |begin| {
        begins.push(begin);
        ControlFlow::Continue(())
    });
    begins
}

/// Finds where games begin: with a tag at the start of a line, after moves.
#[derive(Clone, Debug, Default)]
struct Counter {
    place: LexState,
    has_begun: bool,
    has_moves: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LexState {
    #[default]
    LineStart,
    Moves,
    /// In braces.
    Comment,
    /// A tag, `;` or `%`: up to the end of the line.
    Line,
}

impl Counter {
    /// Goes on with `bytes`, which lie at `offset`.
    fn feed(
        &mut self,
        offset: u64,
        bytes: &[u8],
        found: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (at, &byte) in (offset..).zip(bytes) {
            let is_end = matches!(byte, b'\n' | b'\r');
            self.place = match (self.place, byte) {
                (LexState::Comment, b'}') => LexState::Moves,
                (LexState::Comment, _) => LexState::Comment,
                (_, _) if is_end => LexState::LineStart,
                (LexState::Line, _) | (LexState::LineStart, b'%') | (_, b';') => LexState::Line,
                (LexState::LineStart, b'[') => {
                    if !self.has_begun || self.has_moves {
                        self.has_begun = true;
                        self.has_moves = false;
                        found(at)?;
                    }
                    LexState::Line
                }
                // A byte order mark stands before the first line.
                (LexState::LineStart, b' ' | b'\t' | 0xEF | 0xBB | 0xBF) => LexState::LineStart,
                (_, byte) => {
                    if !self.has_begun {
                        self.has_begun = true;
                        found(at)?;
                    }
                    self.has_moves |= !byte.is_ascii_whitespace();
                    if byte == b'{' {
                        LexState::Comment
                    } else {
                        LexState::Moves
                    }
                }
            };
        }
        ControlFlow::Continue(())
    }
}

/// Shows the beginnings of games from `from`, where one begins, to `found`.
fn each_begin(
    file: &dyn Storage,
    from: u64,
    found: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> std::io::Result<()> {
    let mut counter = Counter::default();
    let mut buffer = ReadBuffer::default();
    let mut at = from;
    loop {
        let bytes = file.read_up_to(at, WINDOW_BYTES, &mut buffer)?;
        if bytes.is_empty() || counter.feed(at, bytes, found).is_break() {
            return Ok(());
        }
        at += bytes.len() as u64;
    }
}

impl GameOffsets {
    fn count(file: &dyn Storage) -> std::io::Result<GameOffsets> {
        let mut places = GameOffsets {
            stride: 1,
            ..GameOffsets::default()
        };
        each_begin(file, 0, &mut |begin| {
            places.add(begin);
            ControlFlow::Continue(())
        })?;
        Ok(places)
    }

    fn add(&mut self, begin: u64) {
        if self.games.is_multiple_of(self.stride) {
            if self.begins.len() >= MAX_PLACES {
                let mut number = 0_u64;
                self.begins.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            if self.games.is_multiple_of(self.stride) {
                self.begins.push(begin);
            }
        }
        self.games += 1;
    }

    /// Where a game begins and ends.
    fn span(&self, file: &dyn Storage, game: u64) -> std::io::Result<Option<(u64, u64)>> {
        let near = usize::try_from(game / self.stride.max(1)).ok();
        let Some(&near) = near.and_then(|at| self.begins.get(at)) else {
            return Ok(None);
        };
        let mut left = game % self.stride;
        let mut span = (None, None);
        each_begin(file, near, &mut |begin| {
            if span.0.is_some() {
                span.1 = Some(begin);
                return ControlFlow::Break(());
            }
            if left == 0 {
                span.0 = Some(begin);
            }
            left = left.saturating_sub(1);
            ControlFlow::Continue(())
        })?;
        let Some(begin) = span.0 else {
            return Ok(None);
        };
        let end = match span.1 {
            Some(end) => end,
            None => file.len()?,
        };
        Ok(Some((begin, end.max(begin))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::GameResult;
    use crate::storage::MemoryFile;

    const FIRST: &str =
        "[White \"A\"]\n[Black \"B\"]\n\n1. e4 {a brace;\n[Not \"a tag\"]} e5 1-0\n\n";
    const SECOND: &str = "[White \"C\"]\n[Black \"D\"]\n\n1. d4 ; [ { line\n d5 *\n\n";

    fn file(text: &str) -> MemoryFile {
        MemoryFile::from(text.as_bytes().to_vec())
    }

    fn taken(text: &str, begin: usize, length: usize) -> Option<String> {
        let found = at_its_place(&file(text), begin as u64, length).unwrap();
        found.map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn games_begin_with_tags_after_moves() {
        let text = format!("\u{FEFF}{FIRST}{SECOND}{FIRST}");
        let second = 3 + FIRST.len();
        let third = second + SECOND.len();
        let known = [3, second, third].map(|at| at as u64);
        assert_eq!(begins_in(text.as_bytes()), known);
        assert_eq!(begins_in(b"1. e4 e5 *\n"), [0]);
        assert_eq!(begins_in(b"\n \n"), [0_u64; 0]);
    }

    #[test]
    fn only_a_whole_game_is_taken_from_its_place() {
        let text = format!("{FIRST}{SECOND}{FIRST}");
        let begin = FIRST.len();
        let length = SECOND.len();
        let whole = Some(SECOND.to_owned());
        assert_eq!(taken(&text, begin, length), whole);
        assert_eq!(taken(&text, begin, length - 2), whole);
        assert_eq!(taken(&text, begin - 1, length), whole);
        let text_len = text.len();
        for (begin, length) in [
            (begin + 1, length - 1),
            (begin, length - 4),
            (begin, length + 20),
            (begin + 12, length - 12 - 8),
            (0, text_len),
            (0, text_len + 1),
            (text_len + 5, 10),
            (begin, 0),
        ] {
            assert_eq!(taken(&text, begin, length), None, "{begin} {length}");
        }
    }

    #[test]
    fn a_game_is_found_by_its_number_among_many() {
        let text = [FIRST, SECOND].concat().repeat(700);
        let file = file(&text);
        let begins = begins_in(text.as_bytes());
        for most in [1, 3, 1000] {
            let mut places = GameOffsets {
                stride: 1,
                ..GameOffsets::default()
            };
            for &begin in &begins {
                places.add(begin);
            }
            // As if there were more games than places.
            while places.begins.len() > most {
                places.stride *= 2;
                let mut number = 0;
                places.begins.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
            }
            for game in [0, 1, 2, 699, 1398] {
                let span = places.span(&file, game as u64).unwrap();
                assert_eq!(span, Some((begins[game], begins[game + 1])));
            }
            let last = places.span(&file, 1399).unwrap();
            assert_eq!(last, Some((begins[1399], text.len() as u64)));
            assert_eq!(places.span(&file, 1400).unwrap(), None);
        }
    }

    #[test]
    fn a_game_that_has_moved_is_taken_only_if_its_players_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pgn");
        fs::write(&path, format!("% a new line\n\n{FIRST}{SECOND}")).unwrap();
        let mut game = ReferencedGame {
            address: u32::try_from(FIRST.len()).unwrap(),
            length: u32::try_from(SECOND.len()).unwrap(),
            white: "C".to_owned(),
            black: "D".to_owned(),
            white_elo: 0,
            black_elo: 0,
            result: GameResult::Line,
        };
        let reference = GameReference { source: 0, game: 1 };
        let files = PgnFiles::default();
        let text = files.read(&path, reference, &game).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), SECOND);
        game.white = "Ч".to_owned();
        let why = files.read(&path, reference, &game).unwrap_err().to_string();
        assert!(
            why.contains("game 1 (Ч - D) is not there any more"),
            "{why}"
        );
    }
}
