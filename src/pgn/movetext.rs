//! Moves and variations, the result, and what could not be read.

use super::writer::LineWriter;
use crate::game::{Defect, Game, MoveTree, PlyId};

/// A main move whose variations are being written.
struct Fork {
    main: PlyId,
    variation: PlyId,
    /// Number of the main move in half-moves.
    half_move: u32,
}

/// Appends the moves of `game`, in lines; the last line has no end yet.
pub(super) fn encode(game: &Game, defects: &[Defect], out: &mut Vec<u8>) {
    let mut text = MoveText {
        tree: &game.tree,
        writer: LineWriter::new(out),
    };
    let black_begins = u32::from(game.start.position.turn().is_black());
    text.plies(game.start.first_move_number() * 2 + black_begins);
    text.defects(defects);
    text.writer.word(game.headers.result.pgn().as_bytes());
}

struct MoveText<'g, 'o> {
    tree: &'g MoveTree,
    writer: LineWriter<'o>,
}

impl MoveText<'_, '_> {
    /// Writes the whole tree: each main move, then its variations in
    /// parentheses, then what follows the main move. `half_move` is twice the
    /// number of the first move, plus one if Black begins.
    fn plies(&mut self, mut half_move: u32) {
        let mut forks: Vec<Fork> = Vec::new();
        let mut at = PlyId::START;
        let mut needs_number = true;
        loop {
            if let Some(main) = self.tree.first_child(at) {
                self.number(half_move, needs_number);
                self.ply(main);
                needs_number = false;
                if let Some(variation) = self.tree.next_sibling(main) {
                    self.open(variation, half_move);
                    forks.push(Fork {
                        main,
                        variation,
                        half_move,
                    });
                    at = variation;
                } else {
                    at = main;
                }
                half_move += 1;
            } else if let Some(mut fork) = forks.pop() {
                self.writer.glue(b")");
                half_move = fork.half_move + 1;
                if let Some(next) = self.tree.next_sibling(fork.variation) {
                    self.open(next, fork.half_move);
                    fork.variation = next;
                    forks.push(fork);
                    at = next;
                    needs_number = false;
                } else {
                    at = fork.main;
                    needs_number = true;
                }
            } else {
                return;
            }
        }
    }

    /// Begins a variation with its first move.
    fn open(&mut self, variation: PlyId, half_move: u32) {
        self.writer.word(b"(");
        let (number, len) = move_number(half_move);
        self.writer.glue(number.get(1..=len).unwrap_or_default());
        self.ply(variation);
    }

    /// Writes the move number where one belongs: before White's moves, and
    /// before Black's at a begin.
    #[inline]
    fn number(&mut self, half_move: u32, is_needed: bool) {
        if half_move.is_multiple_of(2) || is_needed {
            let (number, len) = move_number(half_move);
            self.writer.short_word(number, len);
        }
    }

    #[inline]
    fn ply(&mut self, id: PlyId) {
        if let Some(ply) = self.tree.ply(id) {
            self.writer.short_word(ply.san.after_blank(), ply.san.len());
        }
    }

    /// One last comment that says what could not be read.
    fn defects(&mut self, defects: &[Defect]) {
        for (at, defect) in defects.iter().enumerate() {
            self.writer.word(if at == 0 {
                b"{[%cbdefect"
            } else {
                b"[%cbdefect"
            });
            let text = defect.to_string().replace(['{', '}', '[', ']'], "");
            for word in text.split_whitespace() {
                self.writer.word(word.as_bytes());
            }
            self.writer.glue(b"]");
        }
        if !defects.is_empty() {
            self.writer.glue(b"}");
        }
    }
}

/// `12.` for White, `12...` for Black, after a blank in the first of eight
/// bytes; and its length without the blank.
#[inline]
fn move_number(half_move: u32) -> ([u8; 8], usize) {
    // A set-up game begins with move 255 at most. Beyond 9999 the last four
    // digits must do: eight bytes hold them, a blank and three dots.
    let number = half_move / 2 % 10_000;
    let digit = |unit: u32| u64::from(b'0') + u64::from(number / unit % 10);
    let mut text = u64::from(b' ');
    let mut len = 0;
    let mut push = |byte: u64| {
        len += 1;
        text |= byte << (8 * len);
    };
    if number >= 1000 {
        push(digit(1000));
    }
    if number >= 100 {
        push(digit(100));
    }
    if number >= 10 {
        push(digit(10));
    }
    push(digit(1));
    push(u64::from(b'.'));
    if !half_move.is_multiple_of(2) {
        push(u64::from(b'.'));
        push(u64::from(b'.'));
    }
    (text.to_le_bytes(), len)
}

/// Appends a number in decimal digits.
pub(super) fn append_decimal(number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut rest = number;
    let mut first = digits.len();
    for place in digits.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
        first -= 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(first..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn move_numbers_have_one_dot_or_three() {
        let written = |half_move| {
            let (text, len) = move_number(half_move);
            String::from_utf8(text[..=len].to_vec()).unwrap()
        };
        assert_eq!([written(2), written(3)], [" 1.", " 1..."]);
        assert_eq!([written(199), written(510)], [" 99...", " 255."]);
        assert_eq!(written(19_999), " 9999...");
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 255, 65_535, u32::MAX] {
            let mut out = Vec::new();
            append_decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
