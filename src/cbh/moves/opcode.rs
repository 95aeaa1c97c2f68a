//! The opcodes of the compact encoding: what each of the 256 values means.
//!
//! | opcode | meaning |
//! |---|---|
//! | 0 | null move |
//! | 1–8 | king, one step |
//! | 9, 10 | castling short, long |
//! | 11–38, 143–170, 171–198 | queen 0, 1, 2 |
//! | 39–52, 53–66, 199–212 | rook 0, 1, 2 |
//! | 67–80, 81–94, 213–226 | bishop 0, 1, 2 |
//! | 95–102, 103–110, 227–234 | knight 0, 1, 2 |
//! | 111–142 | pawn 0 … 7: one step, two steps, taking to its right, to its left |
//! | 235 | the move follows in two bytes |
//! | 236 | nothing: skip |
//! | 254 | begin of a variation: come back here |
//! | 255 | end of a line |
//!
//! Steps are (files, ranks) seen from White, for both sides, counted around
//! the edge of the board for queens, rooks and bishops; a pawn's are relative
//! to its own side.

use shakmaty::{CastlingSide, Color, Role, Square};

use super::pieces::{SLOTS, Slot};

/// The meaning of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// The side to move passes.
    Null,
    /// Castling on the king's side.
    CastleShort,
    /// Castling on the queen's side.
    CastleLong,
    /// The piece of a slot goes so many files and ranks.
    Step(Slot, i8, i8),
    /// As `Step`, for a pawn of the side to move: signs turn for Black.
    PawnStep(Slot, i8, i8),
    /// From, to and promotion follow in two bytes.
    TwoBytes,
    /// Skip; ChessBase left it there.
    Ignore,
    /// Remember this place, then go on with the main move.
    Push,
    /// The line ends; go on from the place remembered last.
    Pop,
    /// No meaning is known.
    Unused,
}

/// The side to move passes.
pub(crate) const NULL: u8 = 0;
/// Castling on the king's side, but not in Chess960.
pub(crate) const CASTLE_SHORT: u8 = 9;
/// Castling on the queen's side, but not in Chess960.
pub(crate) const CASTLE_LONG: u8 = 10;
/// Castling on a side, but not in Chess960.
#[inline]
pub(super) fn castling(side: CastlingSide) -> u8 {
    if side.is_king_side() {
        CASTLE_SHORT
    } else {
        CASTLE_LONG
    }
}

/// A move in two more bytes, see [`word`](super::word).
pub(crate) const TWO_BYTES: u8 = 235;
/// Remember this place.
pub(crate) const PUSH: u8 = 254;
/// The line ends.
pub(crate) const POP: u8 = 255;

/// The opcode that moves the piece of a slot so many files and ranks; a
/// pawn's are relative to its side. `None` if it never goes that way.
#[inline]
pub(crate) fn opcode_of(slot: Slot, files: i8, ranks: i8) -> Option<u8> {
    let of_slot = OPCODES_BY_STEP.get(slot.index())?;
    let opcode = of_slot
        .get(usize::from(step_index(files, ranks)))
        .copied()?;
    (opcode != NO_STEP).then_some(opcode)
}

/// A step of the piece of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// [`Slot::NONE`] if the opcode is no step.
    pub(super) slot: Slot,
    /// That of the slot: so it is not looked up for each move.
    pub(super) role: Role,
    /// The [`step_index`] of its files and ranks, seen from White.
    by: u8,
}

impl Step {
    /// That of an opcode that is no step.
    const NONE: Step = Step {
        slot: Slot::NONE,
        role: Role::Pawn,
        by: 0,
    };

    /// The step that an opcode is for a side.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "256 steps for each side")]
    pub(super) fn of(side: Color, opcode: u8) -> Step {
        STEPS_BY_OPCODE[usize::from(side.is_black())][usize::from(opcode)]
    }

    /// The square to which it goes, around the edges of the board.
    #[inline]
    pub(super) fn target(self, from: Square) -> Square {
        // The number of a square has its rank above the three bits of its file. Both
        // are added at once; the highest bit of each is added apart, so that it
        // carries nothing.
        let from = from as u8;
        let lower = (from & 0o33) + (self.by & 0o33);
        let highest = (from ^ self.by) & 0o44;
        Square::new(u32::from(lower ^ highest))
    }
}

/// The steps by side and opcode.
static STEPS_BY_OPCODE: [[Step; 256]; 2] = [steps_by_opcode(1), steps_by_opcode(-1)];

/// The steps of a side whose pawns go `forward`.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn steps_by_opcode(forward: i8) -> [Step; 256] {
    let opcodes = table();
    let mut steps = [Step::NONE; 256];
    let mut at = 0;
    while at < steps.len() {
        let (slot, sign, files, ranks) = match opcodes[at] {
            Opcode::Step(slot, files, ranks) => (slot, 1, files, ranks),
            Opcode::PawnStep(slot, files, ranks) => (slot, forward, files, ranks),
            _ => (Slot::NONE, 0, 0, 0),
        };
        steps[at] = Step {
            slot,
            role: slot.role(),
            by: step_index(files * sign, ranks * sign),
        };
        at += 1;
    }
    steps
}

/// The meaning of every opcode.
pub(crate) static OPCODES: [Opcode; 256] = table();

/// The opcode of each step, by slot and [`step_index`]: `OPCODES` inverted.
static OPCODES_BY_STEP: [[u8; 64]; SLOTS] = inverse(&table());

/// Stands in `OPCODES_BY_STEP` where there is no opcode; 0 itself is no step.
const NO_STEP: u8 = NULL;

/// A step around the edge of the board as a number below 64. Kings, knights
/// and pawns never go round it, but no two of their steps are the same there.
const fn step_index(files: i8, ranks: i8) -> u8 {
    (ranks.rem_euclid(8) << 3 | files.rem_euclid(8)).cast_unsigned()
}

/// Goes through the opcodes from the last to the first, so that of two the
/// lower stays: four squares on a diagonal are the same step as four on the
/// other, around the edge, and ChessBase writes them as (4, 4).
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn inverse(opcodes: &[Opcode; 256]) -> [[u8; 64]; SLOTS] {
    let mut steps = [[NO_STEP; 64]; SLOTS];
    let mut opcode = u8::MAX;
    while opcode > 0 {
        if let Opcode::Step(slot, files, ranks) | Opcode::PawnStep(slot, files, ranks) =
            opcodes[opcode as usize]
        {
            steps[slot.index()][step_index(files, ranks) as usize] = opcode;
        }
        opcode -= 1;
    }
    steps
}

const KING_STEPS: [(i8, i8); 8] = [
    (0, 1),
    (1, 1),
    (1, 0),
    (1, -1),
    (0, -1),
    (-1, -1),
    (-1, 0),
    (-1, 1),
];

const KNIGHT_STEPS: [(i8, i8); 8] = [
    (2, 1),
    (1, 2),
    (-1, 2),
    (-2, 1),
    (-2, -1),
    (-1, -2),
    (1, -2),
    (2, -1),
];

const STRAIGHT: [(i8, i8); 2] = [(0, 1), (1, 0)];
const DIAGONAL: [(i8, i8); 2] = [(1, 1), (1, -1)];

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses an index out of range"
)]
const fn table() -> [Opcode; 256] {
    let mut table = [Opcode::Unused; 256];
    table[NULL as usize] = Opcode::Null;
    steps(&mut table, 1, Slot::KING, &KING_STEPS);
    table[CASTLE_SHORT as usize] = Opcode::CastleShort;
    table[CASTLE_LONG as usize] = Opcode::CastleLong;
    let queens = [11, 143, 171];
    let rooks = [39, 53, 199];
    let bishops = [67, 81, 213];
    let knights = [95, 103, 227];
    let mut number = 0;
    while number < 3 {
        let at = number as usize;
        let queen = Slot::new(Role::Queen, number);
        slides(&mut table, queens[at], queen, STRAIGHT);
        slides(&mut table, queens[at] + 14, queen, DIAGONAL);
        let rook = Slot::new(Role::Rook, number);
        slides(&mut table, rooks[at], rook, STRAIGHT);
        let bishop = Slot::new(Role::Bishop, number);
        slides(&mut table, bishops[at], bishop, DIAGONAL);
        let knight = Slot::new(Role::Knight, number);
        steps(&mut table, knights[at], knight, &KNIGHT_STEPS);
        number += 1;
    }
    let mut number = 0;
    while number < 8 {
        let pawn = Slot::new(Role::Pawn, number);
        let first = 111 + 4 * number as usize;
        table[first] = Opcode::PawnStep(pawn, 0, 1);
        table[first + 1] = Opcode::PawnStep(pawn, 0, 2);
        table[first + 2] = Opcode::PawnStep(pawn, 1, 1);
        table[first + 3] = Opcode::PawnStep(pawn, -1, 1);
        number += 1;
    }
    table[TWO_BYTES as usize] = Opcode::TwoBytes;
    table[236] = Opcode::Ignore;
    table[PUSH as usize] = Opcode::Push;
    table[POP as usize] = Opcode::Pop;
    table
}

/// Fills in one opcode per step, from `first` on.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn steps(table: &mut [Opcode; 256], first: usize, slot: Slot, steps: &[(i8, i8); 8]) {
    let mut at = 0;
    while at < steps.len() {
        table[first + at] = Opcode::Step(slot, steps[at].0, steps[at].1);
        at += 1;
    }
}

/// Fills in seven distances per direction, from `first` on.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn slides(table: &mut [Opcode; 256], first: usize, slot: Slot, directions: [(i8, i8); 2]) {
    let mut at = 0;
    while at < directions.len() {
        let (files, ranks) = directions[at];
        let mut distance: i8 = 1;
        while distance <= 7 {
            let place = first + at * 7 + distance.unsigned_abs() as usize - 1;
            table[place] = Opcode::Step(slot, files * distance, ranks * distance);
            distance += 1;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_mean_what_real_games_show() {
        // 1.e4 e5 2.Nf3 Nc6 3.Bb5 … of a base written by ChessBase.
        let pawn_e = Slot::new(Role::Pawn, 4);
        assert_eq!(OPCODES[128], Opcode::PawnStep(pawn_e, 0, 2));
        assert_eq!(
            OPCODES[105],
            Opcode::Step(Slot::new(Role::Knight, 1), -1, 2)
        );
        assert_eq!(
            OPCODES[101],
            Opcode::Step(Slot::new(Role::Knight, 0), 1, -2)
        );
        assert_eq!(OPCODES[84], Opcode::Step(Slot::new(Role::Bishop, 1), 4, 4));
        assert_eq!(OPCODES[9], Opcode::CastleShort);
        assert_eq!(OPCODES[253], Opcode::Unused);
    }

    #[test]
    fn every_step_has_its_opcode_again() {
        for (opcode, meaning) in (0..=u8::MAX).zip(OPCODES) {
            if let Opcode::Step(slot, files, ranks) | Opcode::PawnStep(slot, files, ranks) = meaning
            {
                // Four squares on the second diagonal are as many on the first.
                let is_second = (files, ranks) == (4, -4);
                let expected = if is_second { opcode - 7 } else { opcode };
                assert_eq!(opcode_of(slot, files, ranks), Some(expected));
                assert_eq!(opcode_of(slot, files - 8, ranks), Some(expected));
            }
        }
        assert_eq!(opcode_of(Slot::KING, 0, 2), None);
        assert_eq!(opcode_of(Slot::new(Role::Knight, 0), 0, 0), None);
    }

    #[test]
    fn a_step_goes_around_the_edges_of_the_board() {
        let sides = [(Color::White, 1), (Color::Black, -1)];
        let mut seen = 0;
        for (opcode, meaning) in (0..=u8::MAX).zip(OPCODES) {
            for (side, forward) in sides {
                let (slot, files, ranks) = match meaning {
                    Opcode::Step(slot, files, ranks) => (slot, files, ranks),
                    Opcode::PawnStep(slot, files, ranks) => {
                        (slot, files * forward, ranks * forward)
                    }
                    _ => continue,
                };
                let step = Step::of(side, opcode);
                assert_eq!((step.slot, step.role), (slot, slot.role()));
                for from in Square::ALL {
                    let to = step.target(from);
                    let on = |line: u32, by: i8| (line.cast_signed() + i32::from(by)).rem_euclid(8);
                    let (file, rank) = from.coords();
                    let expected = (on(file.into(), files), on(rank.into(), ranks));
                    let (file, rank) = to.coords();
                    let reached = (u32::from(file).cast_signed(), u32::from(rank).cast_signed());
                    assert_eq!(reached, expected, "{opcode} from {from}");
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, 2 * 64 * (256 - 17 - 7));
    }

    #[test]
    fn no_two_opcodes_mean_the_same() {
        let known: Vec<_> = OPCODES
            .iter()
            .filter(|&&code| code != Opcode::Unused)
            .collect();
        assert_eq!(known.len(), 256 - 17);
        for (at, code) in known.iter().enumerate() {
            assert!(!known[..at].contains(code), "{code:?}");
        }
    }
}
