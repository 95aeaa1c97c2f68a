//! A writer of PGN movetext with lines of at most 79 characters.

use std::io::{self, Write};

use crate::book::BookLine;
use crate::game::shown_in_comment;

/// Maximum length of a line.
const WIDTH: usize = 79;

/// Room for a value in the line of its tag, `[Event "…"]`.
pub(super) const EVENT_WIDTH: usize = WIDTH - 10;

/// Writes words and breaks lines between them.
pub(super) struct Movetext<'w> {
    out: &'w mut dyn Write,
    /// Characters of the current line.
    column: usize,
    /// The last word, which what follows may still be part of.
    word: String,
    /// Whether the next word follows without a blank, if a line has room for
    /// both.
    is_glued: bool,
    /// Whether the next move needs its number although it is Black's.
    needs_number: bool,
}

impl<'w> Movetext<'w> {
    /// Begins at the start of a line.
    pub(super) fn new(out: &'w mut dyn Write) -> Movetext<'w> {
        Movetext {
            out,
            column: 0,
            word: String::new(),
            is_glued: true,
            needs_number: true,
        }
    }

    fn word(&mut self, word: &str) -> io::Result<()> {
        let len = self.word.chars().count() + word.chars().count();
        if !self.is_glued || len > WIDTH {
            self.write_word()?;
        }
        self.is_glued = false;
        self.word.push_str(word);
        Ok(())
    }

    /// Writes the last word, on a line that has room for it.
    fn write_word(&mut self) -> io::Result<()> {
        let len = self.word.chars().count();
        if self.column > 0 && self.column + 1 + len > WIDTH {
            self.out.write_all(b"\n")?;
            self.column = 0;
        } else if self.column > 0 {
            self.out.write_all(b" ")?;
            self.column += 1;
        }
        self.column += len;
        self.out.write_all(self.word.as_bytes())?;
        self.word.clear();
        Ok(())
    }

    /// Writes a move. `half` counts half-moves from White's first.
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

    /// Writes a comment that consists of one command, on one line.
    pub(super) fn command(&mut self, command: &str) -> io::Result<()> {
        self.word(&format!("{{{command}}}"))?;
        self.needs_number = true;
        Ok(())
    }

    /// Writes a comment. Characters that would end it, or that no line has, are
    /// replaced; a word that begins with `%` begins no line, where it would end the
    /// comment for some readers.
    pub(super) fn comment(&mut self, text: &str) -> io::Result<()> {
        let shown: String = text.chars().map(shown_in_comment).collect();
        let mut words = shown.split_whitespace().peekable();
        let mut start = "{";
        if words.peek().is_none() {
            return Ok(());
        }
        while let Some(word) = words.next() {
            let end = if words.peek().is_none() { "}" } else { "" };
            if start.is_empty() && word.starts_with('%') {
                start = " ";
                self.is_glued = true;
            }
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
        self.is_glued = true;
        self.needs_number = true;
        self.word(")")
    }

    /// Writes the result `*` and the end of the game.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.word("*")?;
        self.write_word()?;
        self.out.write_all(b"\n\n")
    }
}

/// Writes the tags of a game that shows a line of a book. What is too long of
/// `event` for a line is left out.
pub(super) fn write_tags(event: &str, line: &BookLine, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "[Event \"{}\"]", quoted(event, EVENT_WIDTH))?;
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

/// The value of a tag, of at most `width` characters.
fn quoted(value: &str, width: usize) -> String {
    let characters = value.chars().filter(|c| !c.is_control());
    let escaped: Vec<String> = characters
        .map(|c| match c {
            '\\' | '"' => format!("\\{c}"),
            c => c.to_string(),
        })
        .collect();
    let whole = escaped.concat();
    if whole.chars().count() <= width {
        return whole;
    }
    let mut cut = String::new();
    let mut room = width.saturating_sub(3);
    for character in escaped {
        let Some(left) = room.checked_sub(character.chars().count()) else {
            break;
        };
        room = left;
        cut += &character;
    }
    cut + "..."
}

/// Half-move number of a line's first move, counted from White's first move of
/// the game.
pub(super) fn first_half(line: &BookLine) -> u64 {
    let start = line.start();
    let number = u64::from(start.first_move_number()).max(1) - 1;
    2 * number + u64::from(start.position.turn().is_black())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Start;

    #[test]
    fn a_tag_is_no_longer_than_a_line() {
        assert_eq!(quoted("a\n\"b\\", 6), r#"a\"b\\"#);
        assert_eq!(quoted("a\"bcdefgh", 7), r#"a\"b..."#);
        assert_eq!(quoted("abc\"defgh", 7), "abc...");
        assert_eq!(quoted("ёжик", 4), "ёжик");
        let mut out = Vec::new();
        write_tags(&"\"".repeat(99), &BookLine::default(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.lines().all(|line| line.len() <= WIDTH), "{out}");
    }

    #[test]
    fn half_moves_are_counted_from_the_first_move_of_white() {
        let first = |rest: &str| {
            let fen = format!("4k3/8/8/8/8/8/8/4K2R {rest}");
            let start = Start::from_fen(&fen, shakmaty::CastlingMode::Standard);
            first_half(&BookLine::new(start.unwrap()))
        };
        let fens = ["w - - 0 1", "b - - 0 1", "w - - 0 40", "b - - 0 40"];
        assert_eq!(fens.map(first), [0, 1, 78, 79]);
    }

    #[test]
    fn a_line_is_filled_to_its_last_character() {
        for (is_glued, last, lines) in
            [(false, 39, 1), (false, 40, 2), (true, 40, 1), (true, 41, 2)]
        {
            let mut out = Vec::new();
            let mut text = Movetext::new(&mut out);
            for length in [39, last] {
                text.is_glued = is_glued;
                text.word(&"x".repeat(length)).unwrap();
            }
            text.write_word().unwrap();
            assert_eq!(String::from_utf8(out).unwrap().lines().count(), lines);
        }
    }

    #[test]
    fn no_line_is_too_long_where_variations_end() {
        for words in 0..100 {
            let mut out = Vec::new();
            let mut text = Movetext::new(&mut out);
            for _ in 0..100 {
                text.begin_variation().unwrap();
            }
            text.nag(10).unwrap();
            text.comment(&"x ".repeat(words)).unwrap();
            for _ in 0..100 {
                text.end_variation().unwrap();
                text.nag(5).unwrap();
            }
            for _ in 0..100 {
                text.end_variation().unwrap();
            }
            text.end().unwrap();
            let out = String::from_utf8(out).unwrap();
            let longest = out.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(WIDTH), "{words}: {longest:?}");
            assert_eq!(out.matches(['(', ')']).count(), 300);
            assert!(out.ends_with(" *\n\n") || out.ends_with("\n*\n\n"));
        }
    }

    #[test]
    fn no_word_of_a_comment_ends_it_or_its_line() {
        for length in 60..80 {
            let mut out = Vec::new();
            let mut text = Movetext::new(&mut out);
            let first = "x".repeat(length);
            text.comment(&format!("%{first} 50 % {{of}} 9\u{1b}[0m\n%z"))
                .unwrap();
            text.end().unwrap();
            let out = String::from_utf8(out).unwrap();
            assert!(out.lines().all(|line| !line.starts_with('%')), "{out}");
            assert!(out.lines().all(|line| line.len() <= WIDTH + 3), "{out}");
            let words: Vec<&str> = out.split_whitespace().collect();
            let first = format!("{{%{first}");
            let wanted = [&*first, "50", "%", "(of)", "9", "[0m", "%z}", "*"];
            assert_eq!(words, wanted);
        }
    }
}
