//! Export to PGN: one game with variations, or several that each go on after
//! their first moves, for programs that read no game of any length.
//!
//! The main line is the most played move of each position. Each position is
//! continued only once, on the first [path](crate::book::walk) to it; at
//! transpositions a comment gives that path.

use std::io::Write;

use shakmaty::Move;

use super::movetext::{EVENT_WIDTH, Movetext, first_half, write_tags};
use super::{ExportError, Exported};
use crate::book::choice::{Choice, choices};
use crate::book::walk::{BookWalk, Limits, Number, Reached};
use crate::book::{Book, BookLine, BookStatistics, Error};
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

/// Writes a line and all that the book has after it, as one game.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
pub fn write_pgn(
    book: &dyn Book,
    line: &BookLine,
    options: PgnOptions,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    walked(book, line, options, |tree| tree.write_one_game(out))
}

/// Most bytes of a game that any program reads: Scid 4.7 reads none of 169,898
/// bytes, and ends an import there.
pub const MOST_GAME_BYTES: usize = 100_000;

/// Writes a line and all that the book has after it as several games: what
/// follows after some moves, where that has at most `most` bytes; else the
/// moves of that position alone, and games for each of them.
///
/// # Errors
///
/// As [`Book::find`]; errors of the writer.
pub fn write_openings(
    book: &dyn Book,
    line: &BookLine,
    options: PgnOptions,
    most: usize,
    out: &mut dyn Write,
) -> Result<Exported, ExportError> {
    walked(book, line, options, |tree| tree.write_games(most, out))
}

/// Walks through what the book has after a line, and lets `write` write it.
fn walked(
    book: &dyn Book,
    line: &BookLine,
    options: PgnOptions,
    write: impl FnOnce(&ReachedTree<'_>) -> Result<(), ExportError>,
) -> Result<Exported, ExportError> {
    let walk = BookWalk::new(book, line.position(), options.limits)?;
    let (reached, is_cut) = walk.finish()?;
    write(&ReachedTree {
        book,
        start: line,
        reached: &reached,
        plies: options.limits.plies,
        has_numbers: options.has_numbers,
    })?;
    Ok(Exported {
        positions: reached.len() as u64,
        is_cut,
    })
}

/// What a walk has reached in a book, to be written as games.
#[derive(Clone, Copy)]
pub(super) struct ReachedTree<'a> {
    pub(super) book: &'a dyn Book,
    /// Line after which the walk began.
    pub(super) start: &'a BookLine,
    pub(super) reached: &'a Reached,
    /// Most plies after that line.
    pub(super) plies: u32,
    /// Whether each move gets a comment with its statistics.
    pub(super) has_numbers: bool,
}

impl ReachedTree<'_> {
    /// Writes all of it as one game.
    pub(super) fn write_one_game(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        write_tags(event(self.book), self.start, out)?;
        self.write_movetext(self.start, self.plies, out)?;
        Ok(out.flush()?)
    }

    fn write_movetext(
        &self,
        line: &BookLine,
        plies: u32,
        out: &mut dyn Write,
    ) -> Result<(), ExportError> {
        TreeWriter {
            tree: self,
            line,
            plies,
            text: Movetext::new(out),
            tasks: Vec::new(),
        }
        .write()
    }

    /// Writes it as games of at most `most` bytes, if the moves of one position
    /// are no more than that.
    pub(super) fn write_games(&self, most: usize, out: &mut dyn Write) -> Result<(), ExportError> {
        let sizes = self.reached.sizes();
        let start = self.start.position();
        let mut roots: Vec<Number> = self.reached.number(start).into_iter().collect();
        if roots.is_empty() {
            return self.write_one_game(out);
        }
        while let Some(root) = roots.pop() {
            let mut line = self.start.clone();
            for m in self.reached.line(root) {
                // All moves of a path are legal.
                let _ = line.play(m);
            }
            let size = sizes.get(root as usize).map_or(0, |size| *size as usize);
            if self.least_bytes(size) <= most
                && let Some(whole) = self.game_after(&line, self.plies, most)?
            {
                out.write_all(&whole)?;
                continue;
            }
            let plies = self.reached.ply(root).saturating_add(1);
            let alone = self.game_after(&line, plies.min(self.plies), usize::MAX)?;
            out.write_all(&alone.unwrap_or_default())?;
            roots.extend(self.continuations(root, line.position())?.into_iter().rev());
        }
        Ok(out.flush()?)
    }

    /// No game of so many positions has fewer bytes than this.
    fn least_bytes(&self, positions: usize) -> usize {
        // At least two letters of a move, and a blank.
        let least_move = if self.has_numbers {
            numbers(&BookStatistics::default()).len() + 3
        } else {
            3
        };
        positions.saturating_sub(1).saturating_mul(least_move)
    }

    /// The positions that the first paths go on to from a position.
    fn continuations(&self, from: Number, position: &Position) -> Result<Vec<Number>, Error> {
        if self.reached.ply(from) >= self.plies {
            return Ok(Vec::new());
        }
        let Some(entry) = self.book.look_up(position)? else {
            return Ok(Vec::new());
        };
        let next = choices(self.book, position, &entry)?.into_iter();
        let next = next.filter_map(|choice| {
            let to = self.reached.number(&choice.after)?;
            let is_first = self.reached.is_first_path(from, choice.book_move.m, to);
            is_first.then_some(to)
        });
        Ok(next.collect())
    }

    /// The game of a line and of what follows to `plies` after the start; `None`
    /// if it is longer than `most` bytes.
    fn game_after(
        &self,
        line: &BookLine,
        plies: u32,
        most: usize,
    ) -> Result<Option<Vec<u8>>, ExportError> {
        let mut game = Bounded {
            bytes: Vec::new(),
            most,
        };
        let event = event_of_moves(event(self.book), &first_moves(line));
        let tags = write_tags(&event, line, &mut game);
        let written = tags.map_err(ExportError::from);
        match written.and_then(|()| self.write_movetext(line, plies, &mut game)) {
            // That there is no more room.
            Err(ExportError::Write(_)) => Ok(None),
            written => written.map(|()| Some(game.bytes)),
        }
    }
}

/// The moves of a line, for a tag.
fn first_moves(line: &BookLine) -> String {
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

/// Names a game of a book after its first moves; where these are too many for
/// the line of a tag, after the last of them.
fn event_of_moves(book: &str, moves: &str) -> String {
    if moves.is_empty() {
        return book.to_owned();
    }
    let book: String = book.chars().take(EVENT_WIDTH / 2).collect();
    let whole = format!("{book}: {moves}");
    let starts = moves.match_indices(' ').map(|(blank, _)| blank + 1);
    let tails = starts.filter_map(|start| moves.get(start..));
    let tails = tails.filter(|tail| tail.starts_with(|first: char| first.is_ascii_digit()));
    let mut shorter = tails.map(|tail| format!("{book}: ... {tail}"));
    let fits = |event: &String| event.chars().count() <= EVENT_WIDTH;
    if fits(&whole) {
        return whole;
    }
    shorter.find(fits).unwrap_or(whole)
}

/// A text that takes no more than so many bytes.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.bytes.len()) {
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
pub fn write_line(book: &dyn Book, line: &BookLine, out: &mut dyn Write) -> std::io::Result<()> {
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
    tree: &'a ReachedTree<'a>,
    /// Moves that the game begins with: those of the tree, or a path of the walk
    /// after them.
    line: &'a BookLine,
    /// Most plies after those of the tree.
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
        if let Some(number) = self.tree.reached.number(start) {
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
        let Some(entry) = self.tree.book.look_up(position)? else {
            return Ok(());
        };
        let mut others = choices(self.tree.book, position, &entry)?.into_iter();
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
        let on_position = child.and_then(crate::book::BookEntry::nag);
        for nag in choice.book_move.nag().into_iter().chain(on_position) {
            self.text.nag(nag)?;
        }
        let Some(child) = child else {
            return Ok(());
        };
        if self.tree.has_numbers {
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
        let Some(to) = self.tree.reached.number(&choice.after) else {
            return Ok(());
        };
        if self
            .tree
            .reached
            .is_first_path(from, choice.book_move.m, to)
        {
            if self.tree.reached.ply(to) < self.plies {
                self.tasks
                    .push(Task::GoOn(to, choice.after.clone(), half + 1));
            }
            return Ok(());
        }
        let way = self.written(&self.tree.reached.line(to));
        Ok(self.text.comment(&way)?)
    }

    /// Formats a path from the start of the game.
    fn written(&self, moves: &[Move]) -> String {
        let start = &self.tree.start.start().position;
        let whole = self
            .tree
            .start
            .plies()
            .iter()
            .map(|(m, _)| *m)
            .chain(moves.iter().copied());
        let mut position = start.clone();
        let mut words = vec!["->".to_owned()];
        let first = first_half(self.tree.start);
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
fn numbers(statistics: &BookStatistics) -> String {
    let BookStatistics {
        games,
        white,
        draws,
        black,
        ..
    } = statistics;
    format!("[%cbfs games={games} w={white} d={draws} b={black}]")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::book::ctg::CtgBook;

    /// The sample book after a line: events and moves by turns.
    fn written(line: &BookLine, plies: u32, has_numbers: bool, most: Option<usize>) -> Vec<String> {
        let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        let options = PgnOptions {
            limits: Limits {
                positions: 1000,
                plies,
            },
            has_numbers,
        };
        let mut text = Vec::new();
        let exported = match most {
            None => write_pgn(&book, line, options, &mut text),
            Some(most) => write_openings(&book, line, options, most, &mut text),
        };
        assert!(!exported.unwrap().is_cut);
        let text = String::from_utf8(text).unwrap();
        let parts = text.trim_end().split("\n\n");
        let event = |part: &str| part.lines().next().unwrap().to_owned();
        parts
            .map(|part| match part.strip_prefix("[Event ") {
                Some(tags) => event(tags),
                None => part.replace('\n', " "),
            })
            .collect()
    }

    /// After 1. Nf3, as a position that was set up.
    fn after_nf3() -> BookLine {
        let fen = "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq -";
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        let mode = shakmaty::CastlingMode::Standard;
        BookLine::set_up(Position::from_setup(fen.into_setup(), mode))
    }

    #[test]
    fn each_position_goes_on_once_and_elsewhere_its_first_path_is_told() {
        let game = written(&BookLine::default(), 99, false, None);
        let moves = "1. e4 $1 $14 (1. Nf3 $146 d5 (1... Nf6 2. Ng1 (2. Nc3) 2... Ng8 \
            {-> the start}) 2. h3 d4 3. e4 dxe3) (1. d4 $11 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 \
            5. Qc2 O-O 6. O-O-O) (1. c4 $5 $19 e6 2. d4 Nf6 3. Nc3 d5 \
            {-> 1. d4 d5 2. c4 e6 3. Nc3 Nf6}) (1. a4 $2 b5 2. axb5 a6 3. bxa6 Bb7 4. axb7 Qc8 \
            5. bxa8=Q Qb7 6. Qxb8+ Qc8 7. Qxc7 Qxc7 8. Ra7 Qxa7) 1... e5 $8 $132 \
            (1... c5 $14 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Bg5 e6 7. f4 Qb6 8. Qd2 \
            Qxb2) (1... e6 2. e5 d5 3. exd6 cxd6) (1... d5 2. exd5 Kd7 3. Nf3 Kd6 4. Ke2 Kc5 \
            5. Ng1 Kxd5 6. Nf3 Kd6 7. Ng1 a5 8. b4 axb4 9. a4 bxa3) 2. Nf3 Nc6 3. Bb5 a6 \
            (3... Nf6 4. O-O Nxe4 5. d4 Nd6 6. Bxc6 dxc6 7. dxe5 Nf5 8. Qxd8+ Kxd8) 4. Ba4 Nf6 \
            5. O-O Be7 6. Re1 b5 7. Bb3 O-O *";
        assert_eq!(game, ["\"small\"]", moves]);
        // The number of a first move of Black is told.
        let [_, moves] = &written(&after_nf3(), 10, false, None)[..] else {
            panic!();
        };
        let path = "{-> 1... Nf6 2. Ng1 Ng8 3. d4 d5 4. c4 e6 5. Nc3 Nf6}";
        assert!(moves.contains(path), "{moves}");
    }

    #[test]
    fn numbers_stand_behind_each_move() {
        let [_, moves] = &written(&after_nf3(), 2, true, None)[..] else {
            panic!();
        };
        let expected = "1... d5 {[%cbfs games=1 w=0 d=1 b=0]} \
            (1... Nf6 {[%cbfs games=1 w=0 d=0 b=0]} 2. Ng1 {[%cbfs games=1 w=0 d=0 b=0]} \
            (2. Nc3 {[%cbfs games=1 w=0 d=0 b=0]})) 2. h3 {[%cbfs games=1 w=0 d=1 b=0]} *";
        assert_eq!(moves, expected);
    }

    #[test]
    fn a_game_that_is_too_long_becomes_one_for_each_of_its_first_moves() {
        let games = written(&BookLine::default(), 4, false, Some(330));
        let expected = [
            "\"small\"]",
            "1. e4 $1 $14 (1. Nf3 $146) (1. d4 $11) (1. c4 $5 $19) (1. a4 $2) *",
            "\"small: 1. e4\"]",
            "1. e4 e5 $8 $132 (1... c5 $14 2. Nf3 d6) (1... e6 2. e5 d5) (1... d5 2. exd5 Kd7) \
            2. Nf3 Nc6 *",
            "\"small: 1. Nf3\"]",
            "1. Nf3 d5 (1... Nf6 2. Ng1 (2. Nc3) 2... Ng8 {-> the start}) 2. h3 d4 *",
            "\"small: 1. d4\"]",
            "1. d4 d5 2. c4 e6 *",
            "\"small: 1. c4\"]",
            "1. c4 e6 2. d4 Nf6 *",
            "\"small: 1. a4\"]",
            "1. a4 b5 2. axb5 a6 *",
        ];
        assert_eq!(games, expected);
        let shorter = written(&BookLine::default(), 5, false, Some(180));
        assert_eq!(shorter.len(), 2 * 12);
        assert_eq!(
            shorter[3],
            "1. e4 e5 $8 $132 (1... c5 $14) (1... e6) (1... d5) *"
        );
        assert_eq!(
            shorter[22..],
            ["\"small: 1. a4\"]", "1. a4 b5 2. axb5 a6 3. bxa6 *"]
        );
        // A game of so many bytes is whole.
        let sizes =
            [359, 358].map(|most| written(&BookLine::default(), 4, false, Some(most)).len());
        assert_eq!(sizes, [2, 12]);
        assert!(written(&BookLine::default(), 4, false, Some(1)).len() > 24);
    }

    #[test]
    fn a_game_is_named_after_as_many_of_its_moves_as_a_line_has_room_for() {
        let moves = "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Be3 e5";
        assert_eq!(event_of_moves("Book", ""), "Book");
        assert_eq!(event_of_moves("Book", "1. e4 c5"), "Book: 1. e4 c5");
        let named = event_of_moves("My best book", moves);
        assert_eq!(
            named,
            "My best book: ... 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Be3 e5"
        );
        let named = event_of_moves(&"B".repeat(500), moves);
        assert!(named.chars().count() <= EVENT_WIDTH, "{named}");
        assert!(named.ends_with("B: ... 5. Nc3 a6 6. Be3 e5"), "{named}");
    }
}
