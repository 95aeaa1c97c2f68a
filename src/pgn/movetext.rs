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
        digits: Vec::new(),
    };
    let black_begins = u32::from(game.start.position.turn().is_black());
    text.plies(game.start.first_move_number() * 2 + black_begins);
    text.defects(defects);
    text.writer.word(game.headers.result.pgn().as_bytes());
}

struct MoveText<'g, 'o> {
    tree: &'g MoveTree,
    writer: LineWriter<'o>,
    digits: Vec<u8>,
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
        self.digits.clear();
        self.digits.push(b'(');
        append_number(half_move, &mut self.digits);
        self.writer.word(&self.digits);
        self.ply(variation);
    }

    /// Writes the move number where one belongs: before White's moves, and
    /// before Black's at a begin.
    #[inline]
    fn number(&mut self, half_move: u32, is_needed: bool) {
        if half_move.is_multiple_of(2) || is_needed {
            self.digits.clear();
            append_number(half_move, &mut self.digits);
            self.writer.word(&self.digits);
        }
    }

    #[inline]
    fn ply(&mut self, id: PlyId) {
        if let Some(ply) = self.tree.ply(id) {
            self.writer.word(ply.san.as_bytes());
        }
    }

    /// One last comment that says what could not be read.
    fn defects(&mut self, defects: &[Defect]) {
        for (at, defect) in defects.iter().enumerate() {
            self.writer.word(if at == 0 { b"{[%cbdefect" } else { b"[%cbdefect" });
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

/// `12.` for White, `12...` for Black.
fn append_number(half_move: u32, out: &mut Vec<u8>) {
    append_decimal(half_move / 2, out);
    let dots: &[u8] = if half_move.is_multiple_of(2) { b"." } else { b"..." };
    out.extend_from_slice(dots);
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
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 255, 65_535, u32::MAX] {
            let mut out = Vec::new();
            append_decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
