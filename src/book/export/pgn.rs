//! Export to PGN: one game with variations.
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
    let half = first_half(line) + line.plies().len() as u64;
    let mut writer = TreeWriter {
        book,
        line,
        reached: &reached,
        has_numbers: options.has_numbers,
        plies: options.limits.plies,
        text: Movetext::new(out),
        tasks: Vec::new(),
    };
    writer.write_line()?;
    writer.write_tree(half)?;
    writer.text.end()?;
    out.flush()?;
    Ok(Exported {
        positions: reached.len() as u64,
        is_cut,
    })
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
    line: &'a Line,
    reached: &'a Reached,
    has_numbers: bool,
    plies: u32,
    text: Movetext<'a>,
    tasks: Vec<Task>,
}

impl TreeWriter<'_> {
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
        let start = &self.line.start().position;
        let whole = self
            .line
            .plies()
            .iter()
            .map(|(m, _)| *m)
            .chain(moves.iter().copied());
        let mut position = start.clone();
        let mut words = vec!["->".to_owned()];
        let first = first_half(self.line);
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
