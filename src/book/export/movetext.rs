//! PGN's movetext, in lines of at most 79 characters.

use std::io::{self, Write};

use crate::book::Line;

/// The longest line.
const WIDTH: usize = 79;

/// Writes words, broken into lines at blanks.
pub(super) struct Movetext<'w> {
    out: &'w mut dyn Write,
    column: usize,
    /// What comes next stands without a blank before it.
    is_glued: bool,
    /// The next move needs its number, though it is Black's.
    needs_number: bool,
}

impl<'w> Movetext<'w> {
    /// Begins at the start of a line.
    pub(super) fn new(out: &'w mut dyn Write) -> Movetext<'w> {
        Movetext {
            out,
            column: 0,
            is_glued: true,
            needs_number: true,
        }
    }

    fn word(&mut self, word: &str) -> io::Result<()> {
        let len = word.chars().count();
        if self.is_glued {
            self.is_glued = false;
        } else if self.column + 1 + len > WIDTH {
            self.out.write_all(b"\n")?;
            self.column = 0;
        } else {
            self.out.write_all(b" ")?;
            self.column += 1;
        }
        self.column += len;
        self.out.write_all(word.as_bytes())
    }

    /// A move; `half` counts moves of both sides from White's first.
    pub(super) fn play(&mut self, half: u64, san: &str) -> io::Result<()> {
        let number = half / 2 + 1;
        if half.is_multiple_of(2) {
            self.word(&format!("{number}."))?;
        } else if self.needs_number {
            self.word(&format!("{number}..."))?;
        }
        self.needs_number = false;
        self.word(san)
    }

    pub(super) fn nag(&mut self, nag: u8) -> io::Result<()> {
        self.word(&format!("${nag}"))
    }

    /// A comment that is one command, kept on one line.
    pub(super) fn command(&mut self, command: &str) -> io::Result<()> {
        self.word(&format!("{{{command}}}"))?;
        self.needs_number = true;
        Ok(())
    }

    /// A comment; what would end it is replaced.
    pub(super) fn comment(&mut self, text: &str) -> io::Result<()> {
        let text = text.replace('{', "(").replace('}', ")");
        let mut words = text.split_whitespace().peekable();
        let mut start = "{";
        if words.peek().is_none() {
            return Ok(());
        }
        while let Some(word) = words.next() {
            let end = if words.peek().is_none() { "}" } else { "" };
            self.word(&format!("{start}{word}{end}"))?;
            start = "";
        }
        self.needs_number = true;
        Ok(())
    }

    pub(super) fn begin_variation(&mut self) -> io::Result<()> {
        self.word("(")?;
        self.is_glued = true;
        self.needs_number = true;
        Ok(())
    }

    pub(super) fn end_variation(&mut self) -> io::Result<()> {
        self.column += 1;
        self.needs_number = true;
        self.out.write_all(b")")
    }

    /// The result of a game that has none, and the end of the game.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.word("*")?;
        self.out.write_all(b"\n\n")
    }
}

/// The tags of a game that shows a line of a book.
pub(super) fn write_tags(event: &str, line: &Line, out: &mut dyn Write) -> io::Result<()> {
    let event: String = event.chars().filter(|c| !c.is_control()).collect();
    let event = event.replace('\\', "\\\\").replace('"', "\\\"");
    writeln!(out, "[Event \"{event}\"]")?;
    out.write_all(
        b"[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n[Black \"?\"]\n[Result \"*\"]\n",
    )?;
    if line.start().is_set_up {
        let mut fen = Vec::new();
        line.start().append_fen_to(&mut fen);
        let fen = String::from_utf8_lossy(&fen);
        writeln!(out, "[FEN \"{fen}\"]\n[SetUp \"1\"]")?;
    }
    out.write_all(b"\n")
}

/// The number, counted in half-moves from White's first, of a line's first
/// move.
pub(super) fn first_half(line: &Line) -> u64 {
    let start = line.start();
    let number = u64::from(start.first_move_number()).max(1) - 1;
    2 * number + u64::from(start.position.turn().is_black())
}
