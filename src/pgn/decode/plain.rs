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
        while let Some(plain) = lexer.plain_move()
            && lexer.offset() - begin <= MAX_BYTES
            && self.plays(&plain)
        {
            lexer.go_to(plain.end());
        }
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

    /// Plays a move if it is legal, and its number that of the next one; otherwise
    /// nothing is changed.
    fn plays(&mut self, plain: &PlainMove<'_>) -> bool {
        if !self.numbers.fits(plain.number) || self.line.is_full() {
            return false;
        }
        let Some(notation) = Notation::parse_plain(plain.word) else {
            return false;
        };
        let Ok(Some(found)) = notation.find(self.line.position()) else {
            return false;
        };
        let before = self.line.branch();
        let Ok(ply) = self.line.play(found) else {
            return false;
        };
        self.earlier = self.before.replace(before);
        self.leniency.here = plain.place;
        self.took_in_passing = matches!(found, Move::EnPassant { .. });
        self.is_behind_variation = false;
        self.is_behind_number = false;
        self.numbers.take_fitting(plain.number);
        self.numbers.played(notation, ply);
        true
    }
}
