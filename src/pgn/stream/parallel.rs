//! Reading the games of a text on all cores.

use std::cell::RefCell;
use std::io::{self, BufRead};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use parking_lot::Mutex;

use super::words::{FoundBeforeGame, Skipped, is_doubtful, look};
use super::{
    Error, Extent, GamePart, GameTexts, InPage, Section, Sections, Spot, TextPlace, next_game,
};
use crate::game::Game;
use crate::pgn::lenient::Understood;
use crate::pgn::lexer::line_begin;
use crate::pgn::{Liberty, Permit};

/// So much text is handed to a core at a time; less is [short](for_each_game_of_short).
pub const BATCH_BYTES: usize = 1 << 16;

/// Batches for each core that are read and not yet taken.
const UNDERWAY: usize = 4;

/// So many bytes of a section are looked at again for games behind bad ones.
const MOST_AGAIN: usize = 1 << 28;

/// So many games of a batch are held at once: a game of a few bytes takes kilobytes.
const GAMES_AT_ONCE: usize = 512;

/// The games of one section, or some of many, parsed.
#[derive(Debug)]
pub struct Prepared<T> {
    /// The text.
    pub section: Arc<Section>,
    /// The place of each game in the section, with the prepared game or the
    /// error. Text after an error is another game if it looks like the start of
    /// one; otherwise it belongs to the same game.
    pub games: Vec<(Extent, Result<T, Error>)>,
    /// Liberties, with the place of each in its game.
    pub liberties: Vec<(Spot, Liberty)>,
    /// Text before and between games that is no game.
    pub skipped: Vec<Skipped>,
    /// Line and column of the first byte that is not UTF-8, with the first games.
    pub not_utf8: Option<(usize, usize)>,
    /// Limits the memory of sections; held until the section is dropped.
    permit: Arc<Permit>,
}

type Batch = io::Result<Vec<(Section, Permit)>>;

/// Games of a batch, and where they go when they were taken: memory that one thread
/// frees of another costs both a lock.
type Parsed<T> = (io::Result<Vec<Prepared<T>>>, Sender<Vec<Prepared<T>>>);

/// A batch, and who waits for its games.
type Task<T> = (Batch, SyncSender<Parsed<T>>);

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
    mut take: impl FnMut(&mut Prepared<T>) -> Result<(), E>,
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    // Whichever core is free takes the next batch.
    let (hand_out, tasks) = channel();
    let tasks = Mutex::new(tasks);
    thread::scope(|scope| {
        let (tasks, prepare) = (&tasks, &prepare);
        for _ in 0..cores {
            scope.spawn(move || parse(tasks, is_interrupted, prepare));
        }
        let (expect, in_order) = sync_channel::<Receiver<Parsed<T>>>(UNDERWAY * cores);
        scope.spawn(move || split(reader, page_of, &hand_out, &expect));
        // A closed channel is the end of the text.
        for (games, give_back) in in_order.iter().flatten() {
            let mut games = games?;
            take_each(&mut games, is_interrupted, &mut take)?;
            // The next long text waits for the memory of this one.
            games.retain(|prepared| !prepared.permit.is_of_long_text());
            // A thread that has ended needs none.
            let _ = give_back.send(games);
        }
        Ok(())
    })
}

/// As [`for_each_game_in_order`], of a text in memory that one core reads sooner than
/// others begin.
///
/// # Errors
///
/// As [`for_each_game_in_order`].
pub fn for_each_game_of_short<T, E: From<io::Error>>(
    text: &[u8],
    mut page_of: impl FnMut(&[u8]) -> InPage,
    prepare: impl Fn(Game) -> T,
    is_interrupted: &AtomicBool,
    take: impl FnMut(&mut Prepared<T>) -> Result<(), E>,
) -> Result<(), E> {
    let sections: io::Result<Vec<_>> = Sections::new(text)
        .map(|section| Ok(permitted(section?, &mut page_of)))
        .collect();
    let taking = RefCell::new((take, Ok(())));
    let send = |games: io::Result<Vec<Prepared<T>>>| {
        let (take, taken) = &mut *taking.borrow_mut();
        *taken = games
            .map_err(E::from)
            .and_then(|mut games| take_each(&mut games, is_interrupted, take));
        taken.is_ok()
    };
    parse_batch(sections?, is_interrupted, &prepare, &send);
    taking.into_inner().1
}

/// Passes games to `take`, unless interrupted.
fn take_each<T, E: From<io::Error>>(
    games: &mut [Prepared<T>],
    is_interrupted: &AtomicBool,
    take: &mut impl FnMut(&mut Prepared<T>) -> Result<(), E>,
) -> Result<(), E> {
    for prepared in games {
        // What was prepared since then is not whole.
        if is_interrupted.load(Relaxed) {
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
        take(prepared)?;
    }
    Ok(())
}

/// A section with its page, and the permit to hold it.
fn permitted(mut section: Section, page_of: &mut impl FnMut(&[u8]) -> InPage) -> (Section, Permit) {
    if std::str::from_utf8(&section.text).is_err() {
        section.page = Some(page_of(&section.text));
    }
    let permit = Permit::wait(section.text.len());
    (section, permit)
}

/// Hands out the text in batches. Waits while many are expected.
fn split<T>(
    reader: impl BufRead,
    mut page_of: impl FnMut(&[u8]) -> InPage,
    hand_out: &Sender<Task<T>>,
    expect: &SyncSender<Receiver<Parsed<T>>>,
) {
    let mut batch = Vec::new();
    let mut bytes = 0;
    // A closed channel: nobody wants more.
    let send = |batch: Batch| {
        let (parsed, next) = sync_channel(1);
        expect.send(next).is_ok() && hand_out.send((batch, parsed)).is_ok()
    };
    for section in Sections::new(reader) {
        match section {
            Ok(section) => {
                bytes += section.text.len();
                batch.push(permitted(section, &mut page_of));
            }
            Err(error) => {
                // What comes before is said first.
                if send(Ok(mem::take(&mut batch))) {
                    send(Err(error));
                }
                return;
            }
        }
        if bytes >= BATCH_BYTES {
            bytes = 0;
            if !send(Ok(mem::take(&mut batch))) {
                return;
            }
        }
    }
    send(Ok(batch));
}

/// Parses batches until there are no more.
fn parse<T>(
    tasks: &Mutex<Receiver<Task<T>>>,
    is_interrupted: &AtomicBool,
    prepare: &impl Fn(Game) -> T,
) {
    let (give_back, used) = channel();
    let next = || tasks.lock().recv();
    let mut is_over = false;
    while let Ok((batch, parsed)) = next() {
        // What is read already must go, or a long text would wait for it forever.
        if is_over {
            continue;
        }
        let send = |games| {
            used.try_iter().for_each(drop);
            parsed.send((games, give_back.clone())).is_ok()
        };
        is_over = match batch {
            Ok(sections) => !parse_batch(sections, is_interrupted, prepare, &send),
            Err(error) => !send(Err(error)),
        };
    }
}

/// Parses the sections of a batch and sends their games, in parts if there are many.
/// Returns whether `send` still accepts games.
fn parse_batch<T>(
    sections: Vec<(Section, Permit)>,
    is_interrupted: &AtomicBool,
    prepare: &impl Fn(Game) -> T,
    send: &dyn Fn(io::Result<Vec<Prepared<T>>>) -> bool,
) -> bool {
    let mut parsed = Vec::with_capacity(sections.len());
    let mut held = 0;
    for (section, permit) in sections {
        let mut take = |part: Prepared<T>| {
            held += part.games.len() + part.skipped.len();
            parsed.push(part);
            if held < GAMES_AT_ONCE {
                return true;
            }
            held = 0;
            send(Ok(mem::take(&mut parsed)))
        };
        if !parse_section(section, permit, is_interrupted, prepare, &mut take) {
            return false;
        }
    }
    send(Ok(parsed))
}

/// Parses a section and passes it to `take`, in parts if it has many games. Returns
/// whether `take` still accepts parts.
fn parse_section<T>(
    section: Section,
    permit: Permit,
    is_interrupted: &AtomicBool,
    prepare: &impl Fn(Game) -> T,
    take: &mut dyn FnMut(Prepared<T>) -> bool,
) -> bool {
    let (section, permit) = (Arc::new(section), Arc::new(permit));
    let mut not_utf8 = section.page.and_then(|_| section.not_utf8());
    let mut games: Vec<(Extent, Result<T, Error>)> = Vec::new();
    let mut liberties = Vec::new();
    let mut part = |games, liberties, skipped| {
        take(Prepared {
            section: Arc::clone(&section),
            games,
            liberties,
            skipped,
            not_utf8: not_utf8.take(),
            permit: Arc::clone(&permit),
        })
    };
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
        if games.len() + skipped.len() >= GAMES_AT_ONCE {
            let (liberties, skipped) = (mem::take(&mut liberties), mem::take(&mut skipped));
            if !part(mem::take(&mut games), liberties, skipped) {
                return false;
            }
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
    part(games, liberties, skipped)
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
