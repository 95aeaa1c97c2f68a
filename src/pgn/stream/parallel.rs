//! Reading the games of a text on all cores.

use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::words::{FoundBeforeGame, Skipped, is_doubtful, look};
use super::{
    Error, Extent, GamePart, GameTexts, InPage, Section, Sections, Spot, TextPlace, next_game,
};
use crate::game::Game;
use crate::pgn::lenient::Understood;
use crate::pgn::lexer::line_begin;
use crate::pgn::{Liberty, Permit};

/// So much text is handed to a core at a time.
const BATCH_BYTES: usize = 1 << 16;

/// Batches that may wait for one core, and that may wait of one.
const WAITING: usize = 2;

/// So many bytes of a section are looked at again for games behind bad ones.
const MOST_AGAIN: usize = 1 << 28;

/// The games of one section, parsed.
#[derive(Debug)]
pub struct Prepared<T> {
    /// The text.
    pub section: Section,
    /// The place of each game in the section, with the prepared game or the
    /// error. Text after an error is another game if it looks like the start of
    /// one; otherwise it belongs to the same game.
    pub games: Vec<(Extent, Result<T, Error>)>,
    /// Liberties, with the place of each in its game.
    pub liberties: Vec<(Spot, Liberty)>,
    /// Text before and between games that is no game.
    pub skipped: Vec<Skipped>,
    /// Line and column of the first byte that is not UTF-8.
    pub not_utf8: Option<(usize, usize)>,
    /// Limits the memory of sections; held until the section is dropped.
    _permit: Permit,
}

type Batch = io::Result<Vec<(Section, Permit)>>;
type Done<T> = io::Result<Vec<Prepared<T>>>;

/// Parses the games of a text on all cores, calls `prepare` for each game
/// there, and passes the results to `take` in the order of the text. Text that
/// is no game is skipped; deviations from strict PGN are accepted as
/// [`Liberty`] lists. Some batches of 64 KiB wait for each core; longer games
/// are processed in parallel as far as [`Permit`] allows. `page_of` returns the
/// code page of a section that is not UTF-8, and is called in the order of the
/// text. Stops before the next game when `is_interrupted` is set.
///
/// # Errors
///
/// The first of the medium, or of `take`, which decides whether a section's
/// error is one; [`io::ErrorKind::Interrupted`] when `is_interrupted` is set.
pub fn for_each_game_in_order<T: Send, E: From<io::Error>>(
    reader: impl BufRead + Send,
    page_of: impl FnMut(&[u8]) -> InPage + Send,
    prepare: impl Fn(Game) -> T + Sync,
    is_interrupted: &AtomicBool,
    mut take: impl FnMut(Prepared<T>) -> Result<(), E>,
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let prepare = &prepare;
        let mut senders = Vec::new();
        let mut receivers: Vec<Receiver<Done<T>>> = Vec::new();
        for _ in 0..cores {
            let (sender, texts) = sync_channel(WAITING);
            let (games, receiver) = sync_channel(WAITING);
            senders.push(sender);
            receivers.push(receiver);
            scope.spawn(move || parse(&texts, &games, is_interrupted, prepare));
        }
        scope.spawn(move || split(reader, page_of, &senders));
        // A closed channel is the end of the text.
        for receiver in receivers.iter().cycle() {
            let Ok(done) = receiver.recv() else {
                break;
            };
            for prepared in done? {
                // What was prepared since then is not whole.
                if is_interrupted.load(Relaxed) {
                    return Err(io::Error::from(io::ErrorKind::Interrupted).into());
                }
                take(prepared)?;
            }
        }
        Ok(())
    })
}

/// Hands out the text, a batch to this core, the next one to the next.
fn split(
    reader: impl BufRead,
    mut page_of: impl FnMut(&[u8]) -> InPage,
    senders: &[SyncSender<Batch>],
) {
    let mut batch = Vec::new();
    let mut bytes = 0;
    let mut senders = senders.iter().cycle();
    // A closed channel: nobody wants more.
    let mut send = |batch: Batch| {
        let sent = senders.next().map(|sender| sender.send(batch));
        sent.is_some_and(|sent| sent.is_ok())
    };
    for section in Sections::new(reader) {
        match section {
            Ok(mut section) => {
                if std::str::from_utf8(&section.text).is_err() {
                    section.page = Some(page_of(&section.text));
                }
                bytes += section.text.len();
                let permit = Permit::wait(section.text.len());
                batch.push((section, permit));
            }
            Err(error) => {
                // What comes before is said first.
                if send(Ok(std::mem::take(&mut batch))) {
                    send(Err(error));
                }
                return;
            }
        }
        if bytes >= BATCH_BYTES {
            bytes = 0;
            if !send(Ok(std::mem::take(&mut batch))) {
                return;
            }
        }
    }
    send(Ok(batch));
}

/// Parses batches until there are no more.
fn parse<T>(
    texts: &Receiver<Batch>,
    games: &SyncSender<Done<T>>,
    is_interrupted: &AtomicBool,
    prepare: &impl Fn(Game) -> T,
) {
    while let Ok(batch) = texts.recv() {
        let done = batch.map(|sections| {
            let sections = sections.into_iter();
            sections
                .map(|(section, permit)| parse_section(section, permit, is_interrupted, prepare))
                .collect()
        });
        if games.send(done).is_err() {
            return;
        }
    }
}

fn parse_section<T>(
    section: Section,
    permit: Permit,
    is_interrupted: &AtomicBool,
    prepare: &impl Fn(Game) -> T,
) -> Prepared<T> {
    let not_utf8 = section.page.and_then(|_| section.not_utf8());
    let mut games: Vec<(Extent, Result<T, Error>)> = Vec::new();
    let mut liberties = Vec::new();
    if let Some(error) = section.too_long() {
        let bytes = 0..section.text.len();
        let line = section.line;
        games.push((Extent { bytes, line }, Err(error)));
    }
    let text = section.text.as_slice();
    let mut rest = GameTexts::from_line(text, section.line).in_page(section.encoding());
    rest.doubted = section.page;
    let mut looked_at = 0;
    let mut skipped = Vec::new();
    let mut signs_at = 0;
    // Whether the last game goes on up to the next one.
    let mut is_open = false;
    while section.part == GamePart::Whole && !is_interrupted.load(Relaxed) {
        rest.lexer.skip_blanks();
        let begin = rest.lexer.here();
        let line = begin.line;
        if let Some((last, _)) = games.last_mut().filter(|_| is_open) {
            last.bytes.end = begin.offset;
        }
        let (follows, last_line) = (rest.follows, rest.last_line);
        let Some(read) = rest.next_leniently() else {
            break;
        };
        is_open = false;
        let read = match words_at(text, begin, &read, &mut signs_at) {
            FoundBeforeGame::Words(len) => {
                let end = begin.offset + len;
                let words = text.get(begin.offset..end).unwrap_or_default();
                skipped.push(Skipped::new(words, begin, section.encoding()));
                rest.go_on_at(begin, end);
                (rest.follows, rest.last_line) = (follows, last_line);
                continue;
            }
            FoundBeforeGame::Quoted(at) => read.map_err(|_| {
                rest.go_on_at(begin, begin.offset + at);
                let found = "a game in a quotation, behind \">\"".to_owned();
                rest.lexer
                    .error(rest.lexer.here(), found, "lines without that mark")
            }),
            FoundBeforeGame::Game(_) => read,
        };
        is_open = true;
        match read {
            Ok(read) => {
                let taken = read.taken.list().iter();
                let spot = |place: &TextPlace| Spot::new(*place, text);
                liberties.extend(taken.map(|(liberty, place)| (spot(place), *liberty)));
                let bytes = begin.offset..section.text.len();
                games.push((Extent { bytes, line }, Ok(prepare(read.game))));
            }
            Err(error) => {
                let bytes = begin.offset..text.len();
                looked_at += bytes.len();
                let next = next_game(text, begin.offset).filter(|_| looked_at < MOST_AGAIN);
                games.push((Extent { bytes, line }, Err(error)));
                let Some(next) = next else { break };
                rest.go_on_at(begin, next);
            }
        }
    }
    Prepared {
        skipped,
        not_utf8,
        section,
        games,
        liberties,
        _permit: permit,
    }
}

/// Returns what is at `begin`, where a game was read or reading failed: text to be
/// skipped, which can only begin a line, a game, or a quoted game. Up to the offset
/// `signs_at`, signs of a game are known to follow, so that no text is searched twice.
fn words_at(
    text: &[u8],
    begin: TextPlace,
    read: &Result<Understood, Error>,
    signs_at: &mut usize,
) -> FoundBeforeGame {
    let (before, rest) = text.split_at_checked(begin.offset).unwrap_or_default();
    let before = before.get(begin.line_start..).unwrap_or_default();
    let known = FoundBeforeGame::Game(0);
    if !line_begin(before).is_empty() || begin.offset < *signs_at {
        return known;
    }
    let may_be_none = match read {
        Ok(read) => is_doubtful(rest, !read.game.tree.is_empty()),
        Err(_) => true,
    };
    let found = if may_be_none { look(rest) } else { known };
    if let FoundBeforeGame::Game(at) | FoundBeforeGame::Quoted(at) = found {
        *signs_at = begin.offset + at;
    }
    found
}
