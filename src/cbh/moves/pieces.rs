//! Which piece is "the second rook".
//!
//! A move names its piece by kind and number. Numbers are given at the start
//! in the order of squares, a1, a2 … h8 (h8 … a1 in reverse-order modes):
//! up to three each of queens, rooks, bishops and knights, eight pawns.
//! A captured piece leaves its number to the next of its kind, so the higher
//! ones move down; a pawn's number stays vacant. A promoted piece takes the
//! lowest vacant number of its kind. Pieces beyond the third have none, and
//! never get one.

use std::ops::Range;

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use crate::game::Board;

/// A numbered piece of one side: king, three queens, rooks, bishops and
/// knights, eight pawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u8);

/// Slots of one side.
pub(crate) const SLOTS: usize = 21;

/// Where the king and the first queen, rook, bishop, knight and pawn stand.
const KING: u8 = 0;
const QUEEN: u8 = 1;
const ROOK: u8 = 4;
const BISHOP: u8 = 7;
const KNIGHT: u8 = 10;
const PAWN: u8 = 13;

/// The kind of piece in each slot.
const ROLES: [Role; PLACES] = roles();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn roles() -> [Role; PLACES] {
    let mut roles = [Role::Pawn; PLACES];
    let mut slot = 0;
    while slot < PAWN {
        roles[slot as usize] = match slot {
            KING => Role::King,
            QUEEN..ROOK => Role::Queen,
            ROOK..BISHOP => Role::Rook,
            BISHOP..KNIGHT => Role::Bishop,
            _ => Role::Knight,
        };
        slot += 1;
    }
    roles
}

/// The next slot of the kind of each, if it is no pawn's.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
static HIGHER: [Slot; PLACES] = {
    let mut higher = [Slot::NONE; PLACES];
    let mut slot = KING;
    while slot + 1 < PAWN {
        let next = Slot(slot + 1);
        if next.role() as u8 == Slot(slot).role() as u8 {
            higher[slot as usize] = next;
        }
        slot += 1;
    }
    higher
};

impl Slot {
    pub(crate) const KING: Slot = Slot(KING);

    /// The slot of no piece, which is always vacant.
    pub(super) const NONE: Slot = Slot(31);

    /// The slot of a kind and number, both trusted.
    pub(crate) const fn new(role: Role, number: u8) -> Slot {
        Slot(first_slot(role) + number)
    }

    /// Its number among the slots of a side, below [`SLOTS`], as an index.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The slot whose piece moves down when this one becomes vacant; none of a pawn.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "an index modulo PLACES is below it"
    )]
    fn higher(self) -> Slot {
        HIGHER[self.index() % PLACES]
    }

    /// The kind of piece in this slot.
    #[inline]
    #[expect(
        clippy::indexing_slicing,
        reason = "an index modulo PLACES is below it"
    )]
    pub(crate) const fn role(self) -> Role {
        ROLES[self.index() % PLACES]
    }
}

/// The first slot of each kind, by the number of the role.
const FIRST_SLOTS: [u8; 8] = [0, PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING, 0];

#[inline]
#[expect(clippy::indexing_slicing, reason = "roles are numbered below 8")]
const fn first_slot(role: Role) -> u8 {
    FIRST_SLOTS[role as usize & 7]
}

/// How many of each kind have numbers.
const CAPACITIES: [u8; 8] = [0, 8, 3, 3, 3, 3, 1, 0];

#[inline]
#[expect(clippy::indexing_slicing, reason = "roles are numbered below 8")]
const fn capacity(role: Role) -> u8 {
    CAPACITIES[role as usize & 7]
}

/// The numbers of the slots of a kind.
const fn slots_of(role: Role) -> Range<u8> {
    let first = first_slot(role);
    first..first + capacity(role)
}

/// The squares of all numbered pieces.
#[derive(Clone, Debug)]
pub(crate) struct PieceList {
    /// The number of the square of each slot, by side; [`VACANT`] for none.
    squares: [[u8; PLACES]; 2],
    /// The slot of the numbered piece that came to each square last; behind the
    /// squares, of the last that came to none.
    slots: [Slot; VACANT as usize + 1],
}

/// More than the slots of a side, and a power of two.
const PLACES: usize = 32;

/// In place of the number of a square.
const VACANT: u8 = 64;

#[expect(
    clippy::indexing_slicing,
    reason = "sides are two, an index modulo PLACES is below it, and squares are 64"
)]
impl PieceList {
    /// Numbers the pieces of a start position.
    pub(crate) fn new(board: &Board, reverse: bool) -> PieceList {
        let mut list = PieceList {
            squares: [[VACANT; PLACES]; 2],
            slots: [Slot::NONE; VACANT as usize + 1],
        };
        for step in 0..64 {
            let square = square(if reverse { 63 - step } else { step });
            if let Some(piece) = board.piece_at(square) {
                list.add(piece.color, piece.role, square);
            }
        }
        list
    }

    /// Where the piece of this slot stands; `None` if it is vacant.
    #[inline]
    pub(crate) fn square(&self, color: Color, slot: Slot) -> Option<Square> {
        let number = self.squares[side(color)][slot.index() % PLACES];
        (number != VACANT).then(|| Square::new(u32::from(number % VACANT)))
    }

    /// The slot of a side's piece on `square`; `None` if it has no number.
    #[inline]
    pub(crate) fn slot(&self, color: Color, square: Square) -> Option<Slot> {
        let slot = self.slots[square as usize & 63];
        (self.square(color, slot) == Some(square)).then_some(slot)
    }

    /// Follows a move of `color`.
    pub(crate) fn play(&mut self, color: Color, m: Move) {
        self.take(color, m);
        self.advance(color, m);
    }

    /// Follows the pieces that move themselves, as half of [`play`].
    ///
    /// [`play`]: PieceList::play
    pub(crate) fn advance(&mut self, color: Color, m: Move) {
        match m {
            Move::Normal {
                from,
                to,
                promotion: Some(promoted),
                ..
            } => self.promote(color, from, promoted, to),
            Move::Normal { from, to, .. } | Move::EnPassant { from, to } => {
                self.relocate(color, from, to);
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let to = |file| Square::from_coords(file, king.rank());
                // In Chess960 one can go to where the other comes from.
                let rook = self.slot(color, rook);
                self.relocate(color, king, to(side.king_to_file()));
                if let Some(rook) = rook {
                    self.relocate_slot(color, rook, to(side.rook_to_file()));
                }
            }
            Move::Put { .. } => {}
        }
    }

    /// Removes what a move of `color` takes, the other half.
    #[inline]
    pub(crate) fn take(&mut self, color: Color, m: Move) {
        let on = match m {
            Move::EnPassant { from, to } => Square::from_coords(to.file(), from.rank()),
            _ => m.to(),
        };
        if m.is_capture() {
            self.capture(!color, on);
        }
    }

    /// Moves the piece on `from`, if it has a number.
    pub(super) fn relocate(&mut self, color: Color, from: Square, to: Square) {
        if let Some(slot) = self.slot(color, from) {
            self.relocate_slot(color, slot, to);
        }
    }

    /// Moves the piece in `slot`.
    #[inline]
    pub(crate) fn relocate_slot(&mut self, color: Color, slot: Slot, to: Square) {
        self.squares[side(color)][slot.index() % PLACES] = to.into();
        self.slots[to as usize & 63] = slot;
    }

    /// Removes the captured piece on `square`. Returns the slot that it had.
    #[inline(never)]
    pub(crate) fn capture(&mut self, color: Color, square: Square) -> Option<Slot> {
        let taken = self.slot(color, square)?;
        // No question is asked on the way, whose answer could not be foreseen: a
        // kind has three places at most, and what stands nowhere moves down too.
        let above = taken.higher();
        let highest = above.higher();
        let squares = &mut self.squares[side(color)];
        for (slot, next) in [(taken, above), (above, highest)] {
            let from = squares[next.index() % PLACES];
            squares[slot.index() % PLACES] = from;
            self.slots[usize::from(from.min(VACANT))] = slot;
        }
        squares[highest.index() % PLACES] = VACANT;
        Some(taken)
    }

    /// Makes the pawn on `from` a piece on `to`.
    pub(super) fn promote(&mut self, color: Color, from: Square, role: Role, to: Square) {
        if let Some(slot) = self.slot(color, from) {
            self.vacate(color, slot);
        }
        self.add(color, role, to);
    }

    /// Gives the lowest vacant number, if there is one.
    fn add(&mut self, color: Color, role: Role, square: Square) {
        let mut slots = slots_of(role).map(Slot);
        if let Some(vacant) = slots.find(|slot| self.square(color, *slot).is_none()) {
            self.relocate_slot(color, vacant, square);
        }
    }

    #[inline]
    fn vacate(&mut self, color: Color, slot: Slot) {
        self.squares[side(color)][slot.index() % PLACES] = VACANT;
    }
}

/// White is first.
#[inline]
fn side(color: Color) -> usize {
    usize::from(color.is_black())
}

/// The square of ChessBase's number: a1, a2 … a8, b1 … h8 from 0.
///
/// # Panics
///
/// Never: the number is taken modulo 64.
pub(crate) fn square(number: u8) -> Square {
    Square::from_coords(
        shakmaty::File::new(u32::from(number >> 3 & 7)),
        shakmaty::Rank::new(u32::from(number & 7)),
    )
}

/// ChessBase's number of a square: [`square`] undone.
pub(crate) fn number(square: Square) -> u8 {
    let (file, rank) = square.coords();
    u8::from(file) << 3 | u8::from(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Position;

    const ROOKS: [Slot; 3] = [
        Slot::new(Role::Rook, 0),
        Slot::new(Role::Rook, 1),
        Slot::new(Role::Rook, 2),
    ];

    fn rooks(list: &PieceList) -> [Option<Square>; 3] {
        ROOKS.map(|slot| list.square(Color::White, slot))
    }

    #[test]
    fn numbers_follow_the_squares_file_by_file() {
        let list = PieceList::new(Position::default().board(), false);
        assert_eq!(rooks(&list), [Some(Square::A1), Some(Square::H1), None]);
        let pawn = |number| list.square(Color::Black, Slot::new(Role::Pawn, number));
        assert_eq!((pawn(0), pawn(7)), (Some(Square::A7), Some(Square::H7)));
        let reversed = PieceList::new(Position::default().board(), true);
        assert_eq!(rooks(&reversed), [Some(Square::H1), Some(Square::A1), None]);
    }

    #[test]
    fn a_captured_rook_renumbers_the_others() {
        let mut list = PieceList::new(Position::default().board(), false);
        list.capture(Color::White, Square::A1);
        assert_eq!(rooks(&list), [Some(Square::H1), None, None]);
    }

    #[test]
    fn a_promoted_piece_takes_the_lowest_vacant_number() {
        let mut list = PieceList::new(Position::default().board(), false);
        for square in [Square::A8, Square::B8] {
            list.promote(Color::White, Square::A2, Role::Rook, square);
        }
        let third = Some(Square::A8);
        assert_eq!(rooks(&list), [Some(Square::A1), Some(Square::H1), third]);
        list.capture(Color::White, Square::B8);
        assert_eq!(rooks(&list)[2], third, "the fourth rook had no number");
        assert_eq!(list.square(Color::White, Slot::new(Role::Pawn, 0)), None);
    }

    #[test]
    fn each_of_three_leaves_its_number_to_the_next() {
        let [a1, h1, a8] = [Square::A1, Square::H1, Square::A8].map(Some);
        for (taken, left) in [
            (Square::A1, [h1, a8, None]),
            (Square::H1, [a1, a8, None]),
            (Square::A8, [a1, h1, None]),
            (Square::B1, [a1, h1, a8]),
        ] {
            let mut list = PieceList::new(Position::default().board(), false);
            list.promote(Color::White, Square::A2, Role::Rook, Square::A8);
            list.capture(Color::White, taken);
            assert_eq!(rooks(&list), left, "{taken}");
            // The slots of bishops follow those of rooks.
            let bishop = Slot::new(Role::Bishop, 0);
            assert_eq!(list.square(Color::White, bishop), Some(Square::C1));
        }
    }

    #[test]
    fn a_captured_pawn_leaves_its_number_vacant() {
        let mut list = PieceList::new(Position::default().board(), false);
        list.capture(Color::White, Square::B2);
        let pawn = |number| list.square(Color::White, Slot::new(Role::Pawn, number));
        assert_eq!(
            (pawn(0), pawn(1), pawn(2)),
            (Some(Square::A2), None, Some(Square::C2))
        );
    }

    #[test]
    fn a_numbered_piece_is_found_by_its_square() {
        let mut list = PieceList::new(Position::default().board(), false);
        let slot = |list: &PieceList, square| list.slot(Color::White, square);
        assert_eq!(slot(&list, Square::H1), Some(ROOKS[1]));
        assert_eq!(slot(&list, Square::B3), None);
        let (king, rook) = (Square::E1, Square::H1);
        list.play(Color::White, Move::Castle { king, rook });
        assert_eq!(slot(&list, Square::F1), Some(ROOKS[1]), "castled");
    }

    #[test]
    fn square_numbers_go_up_the_files() {
        assert_eq!((square(0), square(1)), (Square::A1, Square::A2));
        assert_eq!((square(8), square(63)), (Square::B1, Square::H8));
        for at in 0..64 {
            assert_eq!(number(square(at)), at);
        }
    }
}
