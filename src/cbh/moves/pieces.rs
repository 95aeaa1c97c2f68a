//! Which piece is "the second rook".
//!
//! A move names its piece by kind and number. Numbers are given at the start
//! in the order of squares, a1, a2 … h8 (h8 … a1 in reverse-order modes):
//! up to three each of queens, rooks, bishops and knights, eight pawns.
//! A captured piece leaves its number to the next of its kind, so the higher
//! ones move down; a pawn's number stays vacant. A promoted piece takes the
//! lowest vacant number of its kind. Pieces beyond the third have none, and
//! never get one.

use shakmaty::{Board, ByColor, Color, Role, Square};

/// A numbered piece of one side: king, three queens, rooks, bishops and
/// knights, eight pawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(u8);

/// Slots of one side.
const SLOTS: usize = 21;

/// Where the king and the first queen, rook, bishop, knight and pawn stand.
const KING: u8 = 0;
const QUEEN: u8 = 1;
const ROOK: u8 = 4;
const BISHOP: u8 = 7;
const KNIGHT: u8 = 10;
const PAWN: u8 = 13;

impl Slot {
    pub(crate) const KING: Slot = Slot(KING);

    /// The slot of a kind and number, both trusted.
    pub(crate) const fn new(role: Role, number: u8) -> Slot {
        Slot(first_slot(role) + number)
    }

    /// The kind of piece in this slot.
    pub(crate) fn role(self) -> Role {
        match self.0 {
            KING => Role::King,
            QUEEN..ROOK => Role::Queen,
            ROOK..BISHOP => Role::Rook,
            BISHOP..KNIGHT => Role::Bishop,
            KNIGHT..PAWN => Role::Knight,
            _ => Role::Pawn,
        }
    }
}

const fn first_slot(role: Role) -> u8 {
    match role {
        Role::King => KING,
        Role::Queen => QUEEN,
        Role::Rook => ROOK,
        Role::Bishop => BISHOP,
        Role::Knight => KNIGHT,
        Role::Pawn => PAWN,
    }
}

/// How many of a kind have numbers.
fn capacity(role: Role) -> u8 {
    match role {
        Role::King => 1,
        Role::Pawn => 8,
        _ => 3,
    }
}

/// The squares of all numbered pieces.
#[derive(Clone, Debug)]
pub(crate) struct PieceList {
    /// By side and slot.
    squares: ByColor<[Option<Square>; SLOTS]>,
}

impl PieceList {
    /// Numbers the pieces of a start position.
    pub(crate) fn new(board: &Board, reverse: bool) -> PieceList {
        let mut list = PieceList {
            squares: ByColor::new_with(|_| [None; SLOTS]),
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
        *self.side(color).get(usize::from(slot.0))?
    }

    /// Moves the piece on `from`, if it has a number.
    #[inline]
    pub(crate) fn relocate(&mut self, color: Color, role: Role, from: Square, to: Square) {
        if let Some(place) = self.place(color, role, from) {
            *place = Some(to);
        }
    }

    /// Moves the piece in `slot`.
    #[inline]
    pub(crate) fn relocate_slot(&mut self, color: Color, slot: Slot, to: Square) {
        let side = self.squares.get_mut(color);
        if let Some(place) = side.get_mut(usize::from(slot.0)) {
            *place = Some(to);
        }
    }

    /// Removes the captured piece on `square`.
    pub(crate) fn capture(&mut self, color: Color, role: Role, square: Square) {
        let slots = self.kind(color, role);
        let index = slots.iter().position(|&place| place == Some(square));
        let Some(places) = index.and_then(|index| slots.get_mut(index..)) else {
            return;
        };
        if let Some(place) = places.first_mut() {
            *place = None;
        }
        if role != Role::Pawn {
            places.rotate_left(1);
        }
    }

    /// Makes the pawn on `from` a piece on `to`.
    pub(crate) fn promote(&mut self, color: Color, from: Square, role: Role, to: Square) {
        if let Some(place) = self.place(color, Role::Pawn, from) {
            *place = None;
        }
        self.add(color, role, to);
    }

    /// Gives the lowest vacant number, if there is one.
    fn add(&mut self, color: Color, role: Role, square: Square) {
        let vacant = self
            .kind(color, role)
            .iter_mut()
            .find(|place| place.is_none());
        if let Some(place) = vacant {
            *place = Some(square);
        }
    }

    fn side(&self, color: Color) -> &[Option<Square>; SLOTS] {
        self.squares.get(color)
    }

    fn kind(&mut self, color: Color, role: Role) -> &mut [Option<Square>] {
        let first = usize::from(first_slot(role));
        self.squares
            .get_mut(color)
            .get_mut(first..first + usize::from(capacity(role)))
            .unwrap_or_default()
    }

    fn place(&mut self, color: Color, role: Role, on: Square) -> Option<&mut Option<Square>> {
        self.kind(color, role)
            .iter_mut()
            .find(|place| **place == Some(on))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let list = PieceList::new(&Board::new(), false);
        assert_eq!(rooks(&list), [Some(Square::A1), Some(Square::H1), None]);
        let pawn = |number| list.square(Color::Black, Slot::new(Role::Pawn, number));
        assert_eq!((pawn(0), pawn(7)), (Some(Square::A7), Some(Square::H7)));
        let reversed = PieceList::new(&Board::new(), true);
        assert_eq!(rooks(&reversed), [Some(Square::H1), Some(Square::A1), None]);
    }

    #[test]
    fn a_captured_rook_renumbers_the_others() {
        let mut list = PieceList::new(&Board::new(), false);
        list.capture(Color::White, Role::Rook, Square::A1);
        assert_eq!(rooks(&list), [Some(Square::H1), None, None]);
    }

    #[test]
    fn a_promoted_piece_takes_the_lowest_vacant_number() {
        let mut list = PieceList::new(&Board::new(), false);
        for square in [Square::A8, Square::B8] {
            list.promote(Color::White, Square::A2, Role::Rook, square);
        }
        let third = Some(Square::A8);
        assert_eq!(rooks(&list), [Some(Square::A1), Some(Square::H1), third]);
        list.capture(Color::White, Role::Rook, Square::B8);
        assert_eq!(rooks(&list)[2], third, "the fourth rook had no number");
        assert_eq!(list.square(Color::White, Slot::new(Role::Pawn, 0)), None);
    }

    #[test]
    fn a_captured_pawn_leaves_its_number_vacant() {
        let mut list = PieceList::new(&Board::new(), false);
        list.capture(Color::White, Role::Pawn, Square::B2);
        let pawn = |number| list.square(Color::White, Slot::new(Role::Pawn, number));
        assert_eq!(
            (pawn(0), pawn(1), pawn(2)),
            (Some(Square::A2), None, Some(Square::C2))
        );
    }

    #[test]
    fn square_numbers_go_up_the_files() {
        assert_eq!((square(0), square(1)), (Square::A1, Square::A2));
        assert_eq!((square(8), square(63)), (Square::B1, Square::H8));
    }
}
