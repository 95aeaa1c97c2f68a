//! Plain moves of a game: a run of them is played without a token for each.
//! Whatever is not as it mostly is ends the run before it, and is read as tokens.

use shakmaty::Move;

use super::{MAX_BYTES, MoveText};
use crate::pgn::lexer::{Lexer, PlainMove};
use crate::pgn::notation::Notation;

impl<'t> MoveText<'_, 't> {
    /// Plays the plain moves that come next, with numbers that fit.
    pub(super) fn plain_moves(&mut self, lexer: &mut Lexer<'t>, begin: usize) {
        if !self.awaits_plain_moves() {
            return;
        }
        let mut end = lexer.here().line_place();
        let mut last = None;
        // Where the line stood before the last two moves, and before the next: three
        // places in turns, since copying one is what a run costs beside playing.
        let mut places = [(); 3].map(|()| self.line.branch());
        let [next, before, earlier] = &mut places;
        let (mut next, mut before, mut earlier) = (next, before, earlier);
        let mut has_two = false;
        while let Some(plain) = lexer.plain_move(end)
            && end.offset - begin <= MAX_BYTES
            && let Some(found) = self.fitting(&plain)
        {
            self.line.branch_into(next);
            if !self.plays(found, &plain) {
                break;
            }
            (next, before, earlier) = (earlier, next, before);
            end = plain.end;
            has_two = last.is_some();
            last = Some(found.1);
        }
        let Some(last) = last else {
            return;
        };
        let first_before = self.before.replace(before.clone());
        self.earlier = if has_two {
            Some(earlier.clone())
        } else {
            first_before
        };
        lexer.go_to(lexer.here().at(end));
        self.took_in_passing = matches!(last, Move::EnPassant { .. });
        self.is_behind_variation = false;
        self.is_behind_number = false;
    }

    /// Whether nothing was read that the next move has to do with, and the line has
    /// begun.
    fn awaits_plain_moves(&self) -> bool {
        !self.leniency.is_on()
            && self.before.is_some()
            && self.follows.is_none()
            && self.bare.is_none()
            && self.waiting.is_empty()
            && self.held.is_empty()
            && self.nags.is_empty()
            && self.numbers.awaits_plain_moves()
    }

    /// The move that is meant if it is legal, and if its number is that of the next one.
    #[inline]
    fn fitting(&self, plain: &PlainMove<'_>) -> Option<(Notation, Move)> {
        if !self.numbers.fits(plain.number) || self.line.is_full() {
            return None;
        }
        let notation = Notation::parse_plain(plain.word)?;
        let found = notation.presume(self.line.position())?;
        Some((notation, found))
    }

    /// Plays a move if it is legal.
    #[inline]
    fn plays(&mut self, (notation, found): (Notation, Move), plain: &PlainMove<'_>) -> bool {
        let Ok(ply) = self.line.play(found) else {
            return false;
        };
        self.numbers.take_fitting(plain.number);
        self.numbers.played(notation, ply);
        true
    }
}
