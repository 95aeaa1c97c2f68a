//! Placements of pieces that have numbers.
//!
//! Moves are played without a search for what they take, and without a question
//! whether they are legal.

use shakmaty::{Bitboard, CastlingSide, Color, File, Rank, Role, Square};

use super::pieces::{PieceList, Slot};
use crate::game::{MoveEffect, Placement, role_index};

/// The line cannot be followed without the rules.
pub(super) struct Unclear;

/// The effect of a move, and the squares that it changed.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub(super) effect: MoveEffect,
    pub(super) squares: Bitboard,
}

/// Pieces on their squares, with the numbers that moves are stored by.
#[derive(Clone, Debug)]
pub(super) struct NumberedBoard {
    placement: Placement,
    /// Number of pieces of both sides.
    count: u8,
    numbers: PieceList,
}

impl NumberedBoard {
    /// The board of a start position, whose pieces are numbered.
    pub(super) fn new(placement: Placement, numbers: PieceList) -> NumberedBoard {
        NumberedBoard {
            placement,
            count: u8::try_from(placement.occupied().count()).unwrap_or(u8::MAX),
            numbers,
        }
    }

    /// The pieces on their squares.
    #[inline]
    pub(super) fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Number of pieces of both sides.
    #[inline]
    pub(super) fn count(&self) -> u8 {
        self.count
    }

    /// The numbers of the pieces.
    #[inline]
    pub(super) fn numbers(&self) -> &PieceList {
        &self.numbers
    }

    /// Puts pieces on empty squares, or takes them from there.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "sides are two, and kinds are six")]
    fn toggle(&mut self, side: Color, role: Role, squares: Bitboard) {
        self.placement.roles[role_index(role)] ^= squares;
        self.placement.sides[usize::from(side.is_black())] ^= squares;
    }

    /// Moves a piece of the side to move, that of a slot if it has one. It takes what
    /// stands there, or a pawn that it passes.
    ///
    /// # Errors
    ///
    /// [`Unclear`] if that is a piece of its own, a king, or, for a pawn on a
    /// diagonal, nothing.
    #[inline]
    pub(super) fn play(
        &mut self,
        slot: Option<Slot>,
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<Moved, Unclear> {
        let us = self.placement.turn;
        let mut effect = match role {
            Role::Pawn => MoveEffect::Pawns,
            _ => MoveEffect::Squares,
        };
        let both = Bitboard::from_square(from) | Bitboard::from_square(to);
        let mut squares = both;
        if self.placement.occupied().contains(to) {
            self.take(to)?;
            effect = MoveEffect::Material;
        } else if role == Role::Pawn && from.file() != to.file() {
            let passed = Square::from_coords(to.file(), from.rank());
            self.ensure(!us, Role::Pawn, passed)?;
            self.take(passed)?;
            squares |= Bitboard::from_square(passed);
            effect = MoveEffect::Material;
        }
        self.toggle(us, role, both);
        if let Some(slot) = slot {
            self.numbers.relocate_slot(us, slot, to);
        }
        self.placement.turn = !us;
        Ok(Moved { effect, squares })
    }

    /// Takes the piece of the other side on a square.
    #[inline]
    fn take(&mut self, on: Square) -> Result<(), Unclear> {
        let them = !self.placement.turn;
        if !self.placement.side(them).contains(on) {
            return Err(Unclear);
        }
        let numbered = self.numbers.capture(them, on).map(Slot::role);
        let role = numbered.or_else(|| self.placement.role_at(on));
        let role = role.filter(|role| *role != Role::King).ok_or(Unclear)?;
        self.toggle(them, role, Bitboard::from_square(on));
        self.count = self.count.saturating_sub(1);
        Ok(())
    }

    /// Makes a pawn of the side to move a piece of a kind, which takes the lowest
    /// vacant number, if there is one.
    ///
    /// # Errors
    ///
    /// As [`play`](NumberedBoard::play).
    #[cold]
    pub(super) fn promote(
        &mut self,
        from: Square,
        to: Square,
        role: Role,
    ) -> Result<Moved, Unclear> {
        let us = self.placement.turn;
        if from.file() != to.file() && !self.placement.occupied().contains(to) {
            return Err(Unclear);
        }
        let pawn = self.numbers.slot(us, from);
        let moved = self.play(pawn, Role::Pawn, from, to)?;
        self.toggle(us, Role::Pawn, Bitboard::from_square(to));
        self.toggle(us, role, Bitboard::from_square(to));
        self.numbers.promote(us, to, role, to);
        Ok(Moved {
            effect: MoveEffect::Material,
            ..moved
        })
    }

    /// Castles.
    ///
    /// # Errors
    ///
    /// [`Unclear`] if king and rook are not where they begin, or another piece is
    /// where they go.
    #[cold]
    pub(super) fn castle(&mut self, side: CastlingSide) -> Result<Moved, Unclear> {
        let us = self.placement.turn;
        let rank = us.fold_wb(Rank::First, Rank::Eighth);
        let rook = if side.is_king_side() {
            File::H
        } else {
            File::A
        };
        let mut squares = Bitboard::EMPTY;
        for (role, from, to) in [
            (Role::King, File::E, side.king_to_file()),
            (Role::Rook, rook, side.rook_to_file()),
        ] {
            let [from, to] = [from, to].map(|file| Square::from_coords(file, rank));
            self.ensure(us, role, from)?;
            if self.placement.occupied().contains(to) {
                return Err(Unclear);
            }
            let both = Bitboard::from_square(from) | Bitboard::from_square(to);
            self.toggle(us, role, both);
            self.numbers.relocate(us, from, to);
            squares |= both;
        }
        self.placement.turn = !us;
        Ok(Moved {
            effect: MoveEffect::Squares,
            squares,
        })
    }

    /// The side to move passes.
    pub(super) fn pass(&mut self) -> Moved {
        self.placement.turn = !self.placement.turn;
        Moved {
            effect: MoveEffect::Squares,
            squares: Bitboard::EMPTY,
        }
    }

    fn ensure(&self, side: Color, role: Role, on: Square) -> Result<(), Unclear> {
        let is_there =
            self.placement.side(side).contains(on) && self.placement.role_at(on) == Some(role);
        is_there.then_some(()).ok_or(Unclear)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{CastlingMode, Move};

    use super::*;
    use crate::game::Start;

    #[test]
    fn a_promoted_pawn_is_a_piece_with_the_lowest_vacant_number() {
        use Role::{Bishop, Knight, Queen, Rook};
        use Square::{A7, A8, B8};
        for (fen, to, role, number) in [
            ("8/P7/8/8/8/8/8/K1k5 w - - 0 1", A8, Queen, Some(0)),
            ("8/P7/8/8/8/8/8/K1k5 w - - 0 1", B8, Queen, None),
            ("1n6/P7/8/8/8/8/8/K1k3R1 w - - 0 1", B8, Rook, Some(1)),
            ("1n6/P7/8/8/8/8/8/K1k3B1 w - - 0 1", A8, Bishop, Some(1)),
            ("1n6/P7/8/8/8/8/8/K1k3R1 w - - 0 1", B8, Knight, Some(0)),
        ] {
            let mut position = Start::from_fen(fen, CastlingMode::Standard)
                .unwrap()
                .position;
            let mut list = PieceList::new(position.board(), false);
            let mut board = NumberedBoard::new(Placement::of(&position), list.clone());
            let moved = board.promote(A7, to, role);
            let Some(number) = number else {
                assert!(moved.is_err());
                continue;
            };
            let m = Move::Normal {
                role: Role::Pawn,
                from: A7,
                capture: position.board().role_at(to),
                to,
                promotion: Some(role),
            };
            list.play(Color::White, m);
            position.play(m).unwrap();
            let Ok(moved) = moved else {
                panic!("{role:?} on {to}");
            };
            assert_eq!(moved.effect, MoveEffect::Material);
            assert_eq!(moved.squares, Bitboard::from_square(A7).with(to));
            assert_eq!(*board.placement(), Placement::of(&position));
            let slot = Slot::new(role, number);
            assert_eq!(list.square(Color::White, slot), Some(to));
            assert_eq!(board.numbers().square(Color::White, slot), Some(to));
            let pawn = Slot::new(Role::Pawn, 0);
            assert_eq!(board.numbers().square(Color::White, pawn), None);
        }
    }
}
