//! Export to PGN: one game with variations, or several that each go on after
//! their first moves, for programs that read no game of any length.
//!
//! The main line is the most played move of each position. Each position is
//! continued only once, on the first [path](crate::book::walk) to it; at
//! transpositions a comment gives that path.

use std::io::Write;

use shakmaty::Move;

use super::movetext::{Movetext, first_half, write_tags};
use super::{ExportError, Exported};
use crate::book::choice::{Choice, choices};
use crate::book::walk::{Limits, Number, Reached, Walk};
use crate::book::{Book, Line, Statistics};
use crate::game::Position;

/// Options of the export.
#[derive(Clone, Copy, Debug)]
pub struct PgnOptions {
    /// Limits of the walk.
    pub limits: Limits,
    /// Whether each move gets a comment with its statistics.
    pub has_numbers: bool,
}

/// A pending part of the output.
enum Task {
    /// The moves after a position.
    GoOn(Number, Position, u64),
    /// An alternative to the move just written, with its continuation.
    Variation(Number, Box<Choice>, u64),
    EndVariation,
}

/// Writes a line and all that the book has after it.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
pub fn write_pgn(
    book: &dyn Book,
    line: &Line,
    options: PgnOptions,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let walk = Walk::new(book, line.position(), options.limits)?;
    let (reached, is_cut) = walk.finish()?;
    write_tags(event(book), line, out)?;
    TreeWriter {
        book,
        start: line,
        line,
        reached: &reached,
        has_numbers: options.has_numbers,
        plies: options.limits.plies,
        text: Movetext::new(out),
        tasks: Vec::new(),
    }
    .write()?;
    out.flush()?;
    Ok(Exported {
        positions: reached.len() as u64,
        is_cut,
    })
}

/// Most bytes of a game that any program reads: Scid 4.7 reads none of 169,898
/// bytes, and ends an import there.
pub const MOST_GAME_BYTES: usize = 100_000;

/// Writes the whole book as several games: what follows after some first
/// moves, where that has at most `most` bytes; else the moves of that position
/// alone, and games for each of them.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
pub fn write_openings(
    book: &dyn Book,
    limits: Limits,
    most: usize,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    let start = Line::from_start_of(book);
    let (reached, is_cut) = Walk::new(book, start.position(), limits)?.finish()?;
    let mut roots: Vec<Number> = reached.number(start.position()).into_iter().collect();
    while let Some(root) = roots.pop() {
        let mut line = start.clone();
        for m in reached.line(root) {
            // All moves of a path are legal.
            let _ = line.play(m);
        }
        let game = |plies, most| game_after(book, &start, &line, &reached, plies, most);
        if let Some(whole) = game(u32::MAX, most)? {
            out.write_all(&whole)?;
            continue;
        }
        let alone = game(reached.ply(root).saturating_add(1), usize::MAX)?;
        out.write_all(&alone.unwrap_or_default())?;
        let Some(entry) = book.look_up(line.position())? else {
            continue;
        };
        let next = choices(book, line.position(), &entry)?.into_iter().rev();
        roots.extend(next.filter_map(|choice| {
            let to = reached.number(&choice.after)?;
            let is_first = reached.is_first_path(root, choice.book_move.m, to);
            is_first.then_some(to)
        }));
    }
    out.flush()?;
    Ok(Exported {
        positions: reached.len() as u64,
        is_cut,
    })
}

/// The game of a line and of what follows to `plies` from the start; `None` if
/// it is longer than `most` bytes.
fn game_after(
    book: &dyn Book,
    start: &Line,
    line: &Line,
    reached: &Reached,
    plies: u32,
    most: usize,
) -> Result<Option<Vec<u8>>, ExportError> {
    let mut game = Bounded {
        bytes: Vec::new(),
        most,
        is_full: false,
    };
    let moves = first_moves(line);
    let event = format!(
        "{}{}{moves}",
        event(book),
        if moves.is_empty() { "" } else { ": " }
    );
    write_tags(&event, line, &mut game)?;
    let written = TreeWriter {
        book,
        start,
        line,
        reached,
        has_numbers: true,
        plies,
        text: Movetext::new(&mut game),
        tasks: Vec::new(),
    }
    .write();
    match written {
        Err(ExportError::Write(_)) if game.is_full => Ok(None),
        written => written.map(|()| Some(game.bytes)),
    }
}

/// The moves of a line, for a tag.
fn first_moves(line: &Line) -> String {
    let mut words = Vec::new();
    for (half, (_, san)) in (first_half(line)..).zip(line.plies()) {
        if half.is_multiple_of(2) {
            words.push(format!("{}.", half / 2 + 1));
        } else if words.is_empty() {
            words.push(format!("{}...", half / 2 + 1));
        }
        words.push(san.to_string());
    }
    words.join(" ")
}

/// A text that takes no more than so many bytes.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.bytes.len()) {
            self.is_full = true;
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a line alone.
///
/// # Errors
///
/// Errors of the writer.
pub fn write_line(book: &dyn Book, line: &Line, out: &mut dyn Write) -> std::io::Result<()> {
    write_tags(event(book), line, out)?;
    let mut text = Movetext::new(out);
    for (half, (_, san)) in (first_half(line)..).zip(line.plies()) {
        text.play(half, &san.to_string())?;
    }
    text.end()
}

fn event(book: &dyn Book) -> &str {
    let facts = book.facts();
    facts.title.as_deref().unwrap_or(&facts.stem)
}

struct TreeWriter<'a> {
    book: &'a dyn Book,
    /// Line after which the walk began.
    start: &'a Line,
    /// Moves that the game begins with: `start`, or a path of the walk after
    /// it.
    line: &'a Line,
    reached: &'a Reached,
    has_numbers: bool,
    plies: u32,
    text: Movetext<'a>,
    tasks: Vec<Task>,
}

impl TreeWriter<'_> {
    fn write(mut self) -> Result<(), ExportError> {
        self.write_line()?;
        let half = first_half(self.line) + self.line.plies().len() as u64;
        self.write_tree(half)?;
        Ok(self.text.end()?)
    }

    /// Writes the moves from the start of the game to the root of the tree.
    fn write_line(&mut self) -> Result<(), ExportError> {
        for (half, (_, san)) in (first_half(self.line)..).zip(self.line.plies()) {
            self.text.play(half, &san.to_string())?;
        }
        Ok(())
    }

    fn write_tree(&mut self, half: u64) -> Result<(), ExportError> {
        let start = self.line.position();
        if let Some(number) = self.reached.number(start) {
            self.tasks.push(Task::GoOn(number, start.clone(), half));
        }
        while let Some(task) = self.tasks.pop() {
            match task {
                Task::EndVariation => self.text.end_variation()?,
                Task::Variation(from, choice, half) => {
                    self.text.begin_variation()?;
                    self.tasks.push(Task::EndVariation);
                    self.write_move(&choice, half)?;
                    self.after(from, &choice, half)?;
                }
                Task::GoOn(number, position, half) => self.go_on(number, &position, half)?,
            }
        }
        Ok(())
    }

    /// Writes the main move of a position, and queues its variations and its
    /// continuation.
    fn go_on(&mut self, number: Number, position: &Position, half: u64) -> Result<(), ExportError> {
        let Some(entry) = self.book.look_up(position)? else {
            return Ok(());
        };
        let mut others = choices(self.book, position, &entry)?.into_iter();
        let Some(main) = others.next() else {
            return Ok(());
        };
        self.write_move(&main, half)?;
        self.after(number, &main, half)?;
        let variations = others.map(|choice| Task::Variation(number, Box::new(choice), half));
        self.tasks.extend(variations.rev());
        Ok(())
    }

    fn write_move(&mut self, choice: &Choice, half: u64) -> Result<(), ExportError> {
        self.text.play(half, &choice.san.to_string())?;
        let child = choice.child.as_ref();
        let on_position = child.and_then(crate::book::Entry::nag);
        for nag in choice.book_move.nag().into_iter().chain(on_position) {
            self.text.nag(nag)?;
        }
        let Some(child) = child else {
            return Ok(());
        };
        if self.has_numbers {
            self.text.command(&numbers(&child.statistics))?;
        }
        if let Some(text) = &child.text {
            self.text.comment(text)?;
        }
        Ok(())
    }

    /// Handles the position after a move: queues its moves, or comments where
    /// they are.
    fn after(&mut self, from: Number, choice: &Choice, half: u64) -> Result<(), ExportError> {
        let Some(to) = self.reached.number(&choice.after) else {
            return Ok(());
        };
        if self.reached.is_first_path(from, choice.book_move.m, to) {
            if self.reached.ply(to) < self.plies {
                self.tasks
                    .push(Task::GoOn(to, choice.after.clone(), half + 1));
            }
            return Ok(());
        }
        let way = self.written(&self.reached.line(to));
        Ok(self.text.comment(&way)?)
    }

    /// Formats a path from the start of the game.
    fn written(&self, moves: &[Move]) -> String {
        let start = &self.start.start().position;
        let whole = self
            .start
            .plies()
            .iter()
            .map(|(m, _)| *m)
            .chain(moves.iter().copied());
        let mut position = start.clone();
        let mut words = vec!["->".to_owned()];
        let first = first_half(self.start);
        for (half, m) in (first..).zip(whole) {
            let Ok(san) = position.play(m) else {
                break;
            };
            let number = half / 2 + 1;
            if half.is_multiple_of(2) {
                words.push(format!("{number}."));
            } else if half == first {
                words.push(format!("{number}..."));
            }
            words.push(san.to_string());
        }
        if words.len() == 1 {
            words.push("the start".to_owned());
        }
        words.join(" ")
    }
}

/// Formats the statistics of a position as a command.
fn numbers(statistics: &Statistics) -> String {
    let Statistics {
        games,
        white,
        draws,
        black,
        ..
    } = statistics;
    format!("[%cbfs games={games} w={white} d={draws} b={black}]")
}
