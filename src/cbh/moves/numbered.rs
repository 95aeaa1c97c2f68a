//! A board whose squares know the numbers of their pieces.
//!
//! It has what [`PieceList`] and [`Placement`] have, and the way back from a square
//! to the piece there, so that a move is played without a search for what it takes
//! or how it is called. Moves are played without a question whether they are legal.

use shakmaty::{Bitboard, CastlingSide, Color, File, Rank, Role, Square};

use super::pieces::{PieceList, SLOTS, Slot, slots_of};
use crate::game::{MoveEffect, Placement, role_index};

/// The line cannot be followed without the rules.
pub(super) struct Unclear;

/// The effect of a move, and the squares that it changed.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub(super) effect: MoveEffect,
    pub(super) squares: Bitboard,
}

/// A piece of a side: that of a slot, or one of a kind without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceCode(u8);

/// Codes there can be, [`PieceCode::NOTHING`] included: a power of two.
const CODES: usize = 32;

/// The code of a pawn without a number, as those of the other kinds follow.
const WITHOUT_NUMBER: u8 = 21;
const _: () = assert!(WITHOUT_NUMBER as usize == SLOTS);

/// The kind of piece of each code.
static KINDS: [Role; CODES] = kinds();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn kinds() -> [Role; CODES] {
    let mut kinds = [Role::Pawn; CODES];
    let mut at = 0;
    while at < Role::ALL.len() {
        let role = Role::ALL[at];
        kinds[PieceCode::without_number(role).index()] = role;
        let mut slots = slots_of(role);
        while slots.start < slots.end {
            kinds[slots.start as usize] = role;
            slots.start += 1;
        }
        at += 1;
    }
    kinds
}

impl PieceCode {
    /// No piece: the code of an empty square, and of a step that there is not.
    pub(super) const NOTHING: PieceCode = PieceCode::of(Slot::NONE);

    /// The piece of a slot.
    pub(super) const fn of(slot: Slot) -> PieceCode {
        PieceCode(slot.number())
    }

    /// A piece of a kind that has no number.
    const fn without_number(role: Role) -> PieceCode {
        // Roles count from 1.
        PieceCode(WITHOUT_NUMBER + role as u8 - 1)
    }

    /// Its place in arrays by code; the mask tells the compiler so.
    #[inline]
    const fn index(self) -> usize {
        self.0 as usize % CODES
    }

    /// The kind of piece; without a meaning for [`NOTHING`](PieceCode::NOTHING).
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "an index is below CODES")]
    fn role(self) -> Role {
        KINDS[self.index()]
    }
}

/// Pieces on their squares, with the numbers that moves are stored by.
#[derive(Clone, Debug)]
pub(super) struct NumberedBoard {
    placement: Placement,
    /// Number of pieces of both sides.
    count: u8,
    /// The piece on each square.
    codes: [PieceCode; 64],
    /// The square of each piece, by side and code. Pieces without a number share
    /// a code, so theirs have no meaning.
    squares: [[Option<Square>; CODES]; 2],
}

#[expect(
    clippy::indexing_slicing,
    reason = "sides are two, squares 64, and an index of a code is below CODES"
)]
impl NumberedBoard {
    /// The board of a start position.
    pub(super) fn new(placement: Placement, list: &PieceList) -> NumberedBoard {
        let mut board = NumberedBoard {
            placement,
            count: 0,
            codes: [PieceCode::NOTHING; 64],
            squares: [[None; CODES]; 2],
        };
        for square in placement.occupied() {
            let Some(role) = placement.role_at(square) else {
                continue;
            };
            let side = Color::from_white(placement.side(Color::White).contains(square));
            let slot = list.slot(side, square);
            let code = slot.map_or(PieceCode::without_number(role), PieceCode::of);
            board.stand(side, code, square);
            board.count += 1;
        }
        board
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

    /// The square of a piece that has a number.
    #[inline]
    pub(super) fn square(&self, side: Color, piece: PieceCode) -> Option<Square> {
        self.squares[usize::from(side.is_black())][piece.index()]
    }

    /// The piece on a square.
    #[inline]
    pub(super) fn piece(&self, square: Square) -> PieceCode {
        self.codes[square.to_usize()]
    }

    #[inline]
    fn stand(&mut self, side: Color, piece: PieceCode, on: Square) {
        self.codes[on.to_usize()] = piece;
        self.squares[usize::from(side.is_black())][piece.index()] = Some(on);
    }

    /// Puts pieces on empty squares, or takes them from there.
    #[inline]
    fn toggle(&mut self, side: Color, role: Role, squares: Bitboard) {
        self.placement.roles[role_index(role)] ^= squares;
        self.placement.sides[usize::from(side.is_black())] ^= squares;
    }

    /// Moves a piece of the side to move, which takes what stands there, or a pawn
    /// that it passes.
    ///
    /// # Errors
    ///
    /// [`Unclear`] if that is a piece of its own, a king, or, for a pawn on a
    /// diagonal, nothing.
    #[inline]
    pub(super) fn play(
        &mut self,
        piece: PieceCode,
        from: Square,
        to: Square,
    ) -> Result<Moved, Unclear> {
        let us = self.placement.turn;
        let role = piece.role();
        let mut effect = match role {
            Role::Pawn => MoveEffect::Pawns,
            _ => MoveEffect::Squares,
        };
        let mut squares = Bitboard::from_square(from) | Bitboard::from_square(to);
        self.toggle(us, role, squares);
        if self.piece(to) != PieceCode::NOTHING {
            self.take(to)?;
            effect = MoveEffect::Material;
        } else if role == Role::Pawn && from.file() != to.file() {
            let passed = Square::from_coords(to.file(), from.rank());
            self.ensure(!us, Role::Pawn, passed)?;
            self.take(passed)?;
            self.codes[passed.to_usize()] = PieceCode::NOTHING;
            squares |= Bitboard::from_square(passed);
            effect = MoveEffect::Material;
        }
        self.codes[from.to_usize()] = PieceCode::NOTHING;
        self.stand(us, piece, to);
        self.placement.turn = !us;
        Ok(Moved { effect, squares })
    }

    /// Takes the piece of the other side on a square. A higher number of its kind
    /// moves down, but none of a pawn.
    #[inline]
    fn take(&mut self, on: Square) -> Result<(), Unclear> {
        let them = !self.placement.turn;
        let taken = self.piece(on);
        let role = taken.role();
        if role == Role::King || !self.placement.side(them).contains(on) {
            return Err(Unclear);
        }
        self.toggle(them, role, Bitboard::from_square(on));
        self.count = self.count.saturating_sub(1);
        let side = usize::from(them.is_black());
        let mut vacant = taken;
        if role != Role::Pawn {
            for next in (taken.0 + 1..slots_of(role).end).map(PieceCode) {
                let Some(square) = self.square(them, next) else {
                    break;
                };
                self.stand(them, vacant, square);
                vacant = next;
            }
        }
        self.squares[side][vacant.index()] = None;
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
        let pawn = self.piece(from);
        if from.file() != to.file() && self.piece(to) == PieceCode::NOTHING {
            return Err(Unclear);
        }
        let moved = self.play(pawn, from, to)?;
        let side = usize::from(us.is_black());
        self.toggle(us, Role::Pawn, Bitboard::from_square(to));
        self.toggle(us, role, Bitboard::from_square(to));
        self.squares[side][pawn.index()] = None;
        let vacant = slots_of(role).find(|&slot| self.squares[side][usize::from(slot)].is_none());
        self.stand(
            us,
            vacant.map_or(PieceCode::without_number(role), PieceCode),
            to,
        );
        Ok(Moved {
            effect: MoveEffect::Material,
            ..moved
        })
    }

    /// Castles.
    ///
    /// # Errors
    ///
    /// [`Unclear`] if king and rook are not where they begin.
    #[cold]
    pub(super) fn castle(&mut self, side: CastlingSide) -> Result<Moved, Unclear> {
        let us = self.placement.turn;
        let rank = us.fold_wb(Rank::First, Rank::Eighth);
        let file = if side.is_king_side() {
            File::H
        } else {
            File::A
        };
        let king = Square::from_coords(File::E, rank);
        let rook = Square::from_coords(file, rank);
        self.ensure(us, Role::King, king)?;
        self.ensure(us, Role::Rook, rook)?;
        let mut squares = Bitboard::EMPTY;
        for (from, file) in [(king, side.king_to_file()), (rook, side.rook_to_file())] {
            let to = Square::from_coords(file, rank);
            let piece = self.piece(from);
            if self.piece(to) != PieceCode::NOTHING {
                return Err(Unclear);
            }
            let both = Bitboard::from_square(from) ^ Bitboard::from_square(to);
            self.toggle(us, piece.role(), both);
            self.codes[from.to_usize()] = PieceCode::NOTHING;
            self.stand(us, piece, to);
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
            let mut board = NumberedBoard::new(Placement::of(&position), &list);
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
            assert_eq!(board.square(Color::White, PieceCode::of(slot)), Some(to));
            assert_eq!(board.piece(to), PieceCode::of(slot));
            let pawn = PieceCode::of(Slot::new(Role::Pawn, 0));
            assert_eq!(board.square(Color::White, pawn), None);
        }
    }
}
