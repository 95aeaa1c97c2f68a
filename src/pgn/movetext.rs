//! Moves and variations with their remarks, the result, and what could not
//! be read.

use super::comment::{self, CommentPlace};
use super::private_tags::PrivateTags;
use super::tags;
use super::writer::LineWriter;
use crate::game::{
    Annotation, Annotations, ByPly, Defect, Game, MoveTree, Ply, PlyId, nags_in_order,
    nags_stand_in_order,
};

/// A main move whose variations are being written.
struct Fork {
    /// What follows the main move.
    next: Option<PlyId>,
    variation: PlyId,
    /// Number of the main move in half-moves.
    half_move: u32,
}

/// Appends the moves of `game`, in lines; the last line has no end yet.
pub(super) fn encode(game: &Game, private: &PrivateTags, defects: &[Defect], out: &mut Vec<u8>) {
    let mut text = MoveText {
        private,
        tree: &game.tree,
        annotations: &game.annotations,
        remarks: (!game.annotations.is_empty()).then(|| game.annotations.by_ply(game.tree.len())),
        writer: LineWriter::new(out),
    };
    text.game_remarks();
    let black_begins = u32::from(game.start.position.turn().is_black());
    text.plies(game.start.first_move_number() * 2 + black_begins);
    text.defects(defects);
    text.writer.word(game.headers.result.pgn().as_bytes());
}

struct MoveText<'g, 'o> {
    tree: &'g MoveTree,
    private: &'g PrivateTags,
    annotations: &'g Annotations,
    /// `None` if the game has no remarks, as most games.
    remarks: Option<ByPly<'g>>,
    writer: LineWriter<'o>,
}

impl<'g> MoveText<'g, '_> {
    #[inline]
    fn remarks(&self, id: PlyId) -> &'g [(PlyId, Annotation)] {
        self.remarks.as_ref().map_or(&[], |remarks| remarks.on(id))
    }

    /// Writes the whole tree: each main move, then its variations in
    /// parentheses, then what follows the main move. `half_move` is twice the
    /// number of the first move, plus one if Black begins.
    fn plies(&mut self, mut half_move: u32) {
        let mut forks: Vec<Fork> = Vec::new();
        let mut next = self.tree.first_child(PlyId::START);
        let mut needs_number = true;
        let mut is_main_line = true;
        if self.remarks.is_none()
            && let Some(moves) = self.tree.only_line()
        {
            return self.only_line(moves, half_move);
        }
        loop {
            while let Some((main, visit)) = next.and_then(|id| Some((id, self.tree.visit(id)?))) {
                let remarks = self.remarks(main);
                if remarks.iter().any(|(_, remark)| remark.is_text_before()) {
                    let place = self.place_before(main);
                    needs_number |= self.remarks_before(remarks, place);
                }
                self.numbered_ply(half_move, needs_number, visit.ply);
                needs_number = !remarks.is_empty() && self.remarks_after(remarks);
                next = visit.next;
                if let Some(variation) = visit.alternative {
                    needs_number = self.open(variation, half_move);
                    forks.push(Fork {
                        next,
                        variation,
                        half_move,
                    });
                    next = self.tree.first_child(variation);
                }
                half_move += 1;
            }
            if forks.is_empty() && is_main_line {
                is_main_line = false;
                self.stray_remarks();
            }
            let Some(mut fork) = forks.pop() else {
                return;
            };
            self.writer.glue(b")");
            half_move = fork.half_move + 1;
            if let Some(variation) = self.tree.next_sibling(fork.variation) {
                needs_number = self.open(variation, fork.half_move);
                fork.variation = variation;
                next = self.tree.first_child(variation);
                forks.push(fork);
            } else {
                next = fork.next;
                needs_number = true;
            }
        }
    }

    /// Writes moves that have no variations and no remarks, as most games. A function of
    /// its own, so that what it counts stays in registers.
    #[inline(never)]
    fn only_line(&mut self, moves: &[Ply], half_move: u32) {
        let Some((first, others)) = moves.split_first() else {
            return;
        };
        self.numbered_ply(half_move, true, first);
        let word = |ply: &Ply| (ply.san.after_blank(), ply.san.len());
        let is_white_first = half_move.is_multiple_of(2);
        let (black, pairs) = others.split_at(usize::from(is_white_first).min(others.len()));
        // A move and a number at most.
        self.writer.short_words(2 * moves.len(), |words| {
            if let [black] = black {
                words.write(word(black));
            }
            let (pairs, last) = pairs.as_chunks();
            let mut number = half_move / 2;
            for [white, black] in pairs {
                number = number.wrapping_add(1);
                words.write_three([white_number(number), word(white), word(black)]);
            }
            if let [white] = last {
                words.write(white_number(number.wrapping_add(1)));
                words.write(word(white));
            }
        });
    }

    /// Begins a variation with its first move; true if the next move needs
    /// its number.
    fn open(&mut self, variation: PlyId, half_move: u32) -> bool {
        self.writer.open(b"(");
        let remarks = self.remarks(variation);
        self.remarks_before(remarks, CommentPlace::Opening);
        let Some(first) = self.tree.ply(variation) else {
            return false;
        };
        self.numbered_ply(half_move, true, first);
        !remarks.is_empty() && self.remarks_after(remarks)
    }

    /// Writes a move, and its number where one belongs: before White's moves, and
    /// before Black's at a begin.
    #[expect(
        clippy::inline_always,
        reason = "for each move of most annotated games"
    )]
    #[inline(always)]
    fn numbered_ply(&mut self, half_move: u32, needs_number: bool, ply: &Ply) {
        let word = (ply.san.after_blank(), ply.san.len());
        if half_move.is_multiple_of(2) || needs_number {
            self.writer.two_short_words([move_number(half_move), word]);
        } else {
            self.writer.short_word(word.0, word.1);
        }
    }

    /// Writes what is remarked after a move; true if that was a comment.
    #[inline(never)]
    fn remarks_after(&mut self, remarks: &'g [(PlyId, Annotation)]) -> bool {
        let symbols = remarks.iter().find_map(|(_, remark)| match remark {
            Annotation::Symbols(symbols) => Some(*symbols),
            _ => None,
        });
        let mut place = CommentPlace::After;
        let mut before = self.writer.position();
        if let Some(symbols) = symbols {
            let homeless = self.homeless_nags(symbols, remarks);
            if !homeless.is_empty() {
                place = CommentPlace::AfterNags;
            }
            let is_told = !self.nags(symbols, &homeless) && !self.private.is_clean;
            before = self.writer.position();
            if is_told {
                comment::encode_symbols(symbols, &mut self.writer);
            }
        }
        let remarks = remarks.iter().map(|(_, remark)| remark);
        self.comments(remarks, place);
        self.writer.position() > before
    }

    /// Writes the NAGs of a ply, those without a place too; false if their order does not
    /// tell their places.
    fn nags(&mut self, symbols: [u8; 3], homeless: &[u8]) -> bool {
        let in_places = symbols.into_iter().filter(|nag| *nag != 0);
        if homeless.is_empty() && nags_stand_in_order(symbols) {
            // As nearly all do.
            in_places.for_each(|nag| self.nag(nag));
            return true;
        }
        let in_order = nags_in_order(symbols, homeless);
        let is_told = in_order.is_some();
        let as_stored = || in_places.chain(homeless.iter().copied()).collect();
        for nag in in_order.unwrap_or_else(as_stored) {
            self.nag(nag);
        }
        is_told
    }

    fn nag(&mut self, nag: u8) {
        let (digits, len) = short_decimal(nag.into());
        let word = digits << 16 | u64::from(u16::from_le_bytes(*b" $"));
        self.writer.short_word(word.to_le_bytes(), 1 + len);
    }

    /// The NAGs for which a ply had no place, if they are in its last text as a
    /// reader puts them there.
    fn homeless_nags(&self, symbols: [u8; 3], remarks: &[(PlyId, Annotation)]) -> Vec<u8> {
        let mut texts = remarks.iter().filter_map(|(_, remark)| match remark {
            Annotation::TextAfter(text) => Some(text),
            _ => None,
        });
        let Some(text) = texts.next_back().filter(|_| !symbols.contains(&0)) else {
            return Vec::new();
        };
        let style = self.private.style;
        let is_usual = text.language == style.language && text.lead == style.lead;
        let (_, nags) = comment::parted_nags(&text.text);
        let mut all: Vec<u8> = symbols.into_iter().chain(nags.iter().copied()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        let is_plain = all.len() == count && !all.contains(&0);
        if is_plain && (is_usual || self.private.is_clean) {
            nags
        } else {
            Vec::new()
        }
    }

    /// Where comments before a move in a line stand.
    fn place_before(&self, id: PlyId) -> CommentPlace {
        if self.private.names(id) {
            CommentPlace::Named
        } else {
            CommentPlace::Before
        }
    }

    /// True if there was a comment.
    fn remarks_before(&mut self, remarks: &'g [(PlyId, Annotation)], place: CommentPlace) -> bool {
        let before = self.writer.position();
        let remarks = remarks.iter().map(|(_, remark)| remark);
        self.comments(remarks, place);
        self.writer.position() > before
    }

    /// Writes the comments of one place.
    fn comments(
        &mut self,
        remarks: impl Iterator<Item = &'g Annotation> + Clone,
        place: CommentPlace,
    ) {
        comment::encode(remarks, place, self.private, &mut self.writer);
    }

    /// Remarks on the whole game, but for those that are tags.
    fn game_remarks(&mut self) {
        let remarks = self.annotations.on(PlyId::START);
        let not_tags = remarks.filter(|remark| !tags::is_tag(remark));
        self.comments(not_tags, CommentPlace::After);
    }

    /// Remarks at positions without a ply, a comment each.
    fn stray_remarks(&mut self) {
        for (position, remark) in self.annotations.stray() {
            let one = std::iter::once(remark);
            self.comments(one, CommentPlace::Stray(position));
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
fn move_number(half_move: u32) -> ([u8; 8], usize) {
    let (text, len) = white_number(half_move / 2);
    if half_move.is_multiple_of(2) {
        return (text, len);
    }
    // In place of the length.
    let text = u64::from_le_bytes(text) << 8 >> 8;
    let dots = u64::from(u16::from_le_bytes(*b"..")) << (8 * (len + 1));
    ((text | dots).to_le_bytes(), len + 2)
}

/// As [`move_number`] for White's move of this number.
#[expect(clippy::inline_always, reason = "for every second move")]
#[inline(always)]
fn white_number(number: u32) -> ([u8; 8], usize) {
    let known = NUMBERS.get(number as usize).copied();
    let text = known.unwrap_or_else(|| numbered(number));
    // Behind text and blank stands the length.
    (text.to_le_bytes(), (text >> 56) as usize)
}

/// The texts of the move numbers of nearly all games, as [`numbered`] gives them.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
static NUMBERS: [u64; 256] = {
    let mut numbers = [0; 256];
    let mut number = 0;
    while number < 256 {
        numbers[number as usize] = numbered(number);
        number += 1;
    }
    numbers
};

/// `12.` after a blank, first byte lowest, and its length without the blank in the
/// highest byte.
#[cold]
const fn numbered(number: u32) -> u64 {
    // A set-up game begins with move 255 at most. Beyond 9999 the last four
    // digits must do: seven bytes hold them, a blank and a dot.
    let (digits, len) = short_decimal(number % 10_000);
    let dot = (b'.' as u64) << (8 * (len + 1));
    let len = (len as u64 + 1) << 56;
    len | dot | digits << 8 | b' ' as u64
}

/// Appends a number in decimal digits.
pub(crate) fn append_decimal(number: u32, out: &mut Vec<u8>) {
    if number < 10_000 {
        // As ratings, rounds and counts are.
        let (digits, len) = short_decimal(number);
        let end = out.len() + len;
        out.extend_from_slice(&digits.to_le_bytes());
        return out.truncate(end);
    }
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

/// The digits of a number below 10000, first one lowest, and how many they are. There
/// is no loop, whose end is hard to foresee.
const fn short_decimal(number: u32) -> (u64, usize) {
    let digits = two_digits(number / 100) | two_digits(number % 100) << 16;
    let zeros = (number < 10) as usize + (number < 100) as usize + (number < 1000) as usize;
    (digits >> (8 * zeros), 4 - zeros)
}

/// A number below 100 as two digits, first one lowest.
#[expect(clippy::indexing_slicing, reason = "there are 100")]
const fn two_digits(number: u32) -> u64 {
    TWO_DIGITS[(number % 100) as usize] as u64
}

/// The digits of each number below 100.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
static TWO_DIGITS: [u16; 100] = {
    let mut all = [0; 100];
    let mut number: u8 = 0;
    while number < 100 {
        all[number as usize] = u16::from_le_bytes([b'0' + number / 10, b'0' + number % 10]);
        number += 1;
    }
    all
};

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
        for number in (0..=10_001).chain([65_535, u32::MAX]) {
            let mut out = Vec::new();
            append_decimal(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
        }
    }
}
