//! Start sections.
//!
//! | words | start |
//! |---|---|
//! | one, 0 to 959, of a Chess960 game | the start of Chess960 of this number |
//! | three, then a word for each piece | set-up |
//! | 1000, then as before, of a Chess960 game | set-up of Chess960 |
//!
//! | word of a set-up | meaning |
//! |---|---|
//! | 0 | number of the next move |
//! | 1 | low byte: 1 if Black is to move; high byte: castling, 1 White long, 2 White short, 4 Black long, 8 Black short |
//! | 2 | file of a pawn that may be taken in passing, 1 to 8, or 0 |
//!
//! Unconfirmed: the set-up of Chess960, of which no sample was seen. Some
//! programs seem to write castling and file the other way round; such a set-up
//! does not fit its pieces, and is reported.

use shakmaty::{CastlingMode, Color, File, Rank, Role, Setup, Square};

use super::words;
use crate::bytes::Malformed;
use crate::cbh::chess960_rank;
use crate::game::Start;

/// Stands where the number of a start would, before a set-up.
const NO_NUMBER: u16 = 1000;

const NUMBERS: u16 = 960;

/// Castling rights, a bit each.
const RIGHTS: [(u16, Color, bool); 4] = [
    (1, Color::White, false),
    (2, Color::White, true),
    (4, Color::Black, false),
    (8, Color::Black, true),
];

/// The start of the words of a section, with what of it does not fit and was
/// left out. Offsets count words.
///
/// # Errors
///
/// [`Malformed`] if no position can be made of it.
pub(super) fn decode(
    section: &[u16],
    is_chess960: bool,
) -> Result<(Start, Option<Malformed>), Malformed> {
    if !is_chess960 {
        return set_up(section, CastlingMode::Standard);
    }
    match section {
        [number] => start_of_number(*number).map(|start| (start, None)),
        [NO_NUMBER, rest @ ..] => set_up(rest, CastlingMode::Chess960),
        _ => Err(Malformed::new(0, "no start of Chess960")),
    }
}

fn start_of_number(number: u16) -> Result<Start, Malformed> {
    let fault = || Malformed::new(0, format!("start {number} of Chess960, of {NUMBERS}"));
    let pieces = chess960_rank(number).ok_or_else(fault)?;
    let mut setup = Setup::initial();
    setup.castling_rights = shakmaty::Bitboard::EMPTY;
    for color in Color::ALL {
        let rank = color.fold_wb(Rank::First, Rank::Eighth);
        for (file, role) in File::ALL.into_iter().zip(pieces) {
            let square = Square::from_coords(file, rank);
            setup.board.set_piece_at(square, role.of(color));
            if role == Role::Rook {
                setup.castling_rights.add(square);
            }
        }
    }
    Ok(Start::set_up(setup, CastlingMode::Chess960, 1))
}

fn set_up(section: &[u16], mode: CastlingMode) -> Result<(Start, Option<Malformed>), Malformed> {
    let Some((&[number, turn_and_rights, file], pieces)) = section.split_first_chunk() else {
        return Err(Malformed::new(
            0,
            "a start position without its three words",
        ));
    };
    let (turn, rights) = (turn_and_rights & 0xff, turn_and_rights >> 8);
    if turn > 1 {
        let what = format!("word {turn_and_rights:#06x} of the start position");
        return Err(Malformed::new(1, what));
    }
    let mut setup = Setup::empty();
    setup.turn = Color::from_white(turn == 0);
    for (at, word) in (3..).zip(pieces) {
        let fault = |what: &str| Malformed::new(at, format!("word {word:#06x}: {what}"));
        let (piece, square) = words::placed(*word).ok_or_else(|| fault("no piece"))?;
        if setup.board.piece_at(square).is_some() {
            return Err(fault("a second piece on its square"));
        }
        setup.board.set_piece_at(square, piece);
    }
    if setup.board.occupied().is_empty() {
        return Err(Malformed::new(0, "a start position without pieces"));
    }
    let mut fits = rights < 16 && file <= 8;
    for (bit, color, is_short) in RIGHTS {
        if rights & bit != 0 {
            match rook(&setup, mode, color, is_short) {
                Some(rook) => setup.castling_rights.add(rook),
                None => fits = false,
            }
        }
    }
    if (1..=8).contains(&file) {
        let rank = setup.turn.fold_wb(Rank::Sixth, Rank::Third);
        let file = File::new(u32::from(file) - 1);
        setup.ep_square = Some(Square::from_coords(file, rank));
    }
    let wanted = (setup.castling_rights, setup.ep_square);
    let start = Start::set_up(setup, mode, number);
    let position = &start.position;
    fits &= wanted == (position.castling_rights(), position.en_passant_square());
    let what = format!(
        "castling and en passant {turn_and_rights:#06x} {file:#06x} do not fit the pieces of the \
         start position"
    );
    Ok((start, (!fits).then(|| Malformed::new(1, what))))
}

/// The rook that castles: that of the corner with the king at home, in
/// Chess960 the outermost one on its side of the king.
fn rook(setup: &Setup, mode: CastlingMode, color: Color, is_short: bool) -> Option<Square> {
    let rank = color.fold_wb(Rank::First, Rank::Eighth);
    let king = setup
        .board
        .king_of(color)
        .filter(|king| king.rank() == rank)?;
    let rooks = setup.board.by_piece(color.rook());
    if mode == CastlingMode::Standard {
        let corner = Square::from_coords(if is_short { File::H } else { File::A }, rank);
        let is_home = king.file() == File::E && rooks.contains(corner);
        return is_home.then_some(corner);
    }
    let mut on_side = rooks
        .into_iter()
        .filter(|rook| rook.rank() == rank && (*rook > king) == is_short);
    if is_short {
        on_side.next_back()
    } else {
        on_side.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fen(section: &[u16], is_chess960: bool) -> (String, bool) {
        let (start, odd) = decode(section, is_chess960).unwrap();
        let mut fen = Vec::new();
        start.append_fen_to(&mut fen);
        (String::from_utf8(fen).unwrap(), odd.is_none())
    }

    #[test]
    fn starts_of_chess960_have_their_usual_numbers() {
        // source: https://en.wikipedia.org/wiki/Fischer_random_chess_numbering_scheme;
        // a real game has 123.
        for (number, rank) in [
            (0, "BBQNNRKR"),
            (518, "RNBQKBNR"),
            (370, "BNRKRBNQ"),
            (959, "RKRNNQBB"),
            (123, "NQRNBKRB"),
        ] {
            let black = rank.to_lowercase();
            let expected = format!("{black}/pppppppp/8/8/8/8/PPPPPPPP/{rank} w KQkq - 0 1");
            assert_eq!(fen(&[number], true), (expected, true));
        }
        assert!(decode(&[960], true).is_err());
        assert!(decode(&[1, 2], true).is_err());
        let mut all: Vec<_> = (0..NUMBERS)
            .map(|number| chess960_rank(number).unwrap())
            .collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), usize::from(NUMBERS), "no two are the same");
    }

    #[test]
    fn set_ups_have_castling_in_the_second_word_and_en_passant_in_the_third() {
        // Ke1 Rh1 Pe5, ke8 pd5; White castles short and takes on d6.
        let section = [20, 0x0200, 4, 0xc04d, 0xc165, 0xc2c8, 0xc194, 0xc2f2];
        let (fen_of, fits) = fen(&section, false);
        assert_eq!(fen_of, "4k3/8/8/3pP3/8/8/8/4K2R w K d6 0 20");
        assert!(fits);
        let mut swapped = section;
        (swapped[1], swapped[2]) = (0x0400, 2);
        let (fen_of, fits) = fen(&swapped, false);
        assert_eq!(fen_of, "4k3/8/8/3pP3/8/8/8/4K2R w - - 0 20");
        assert!(!fits, "the two words were swapped");
    }

    #[test]
    fn set_ups_that_are_none_are_refused() {
        for section in [
            &[][..],
            &[1, 0],
            &[1, 0, 0],
            &[1, 2, 0, 0xc02d],
            &[1, 0, 0, 0xc02c],
            &[1, 0, 0, 0xc02d, 0xc16d],
        ] {
            assert!(decode(section, false).is_err(), "{section:?}");
        }
        // Eight files, and sixteen rights, there are.
        assert!(!fen(&[1, 0, 9, 0xc02d], false).1);
        assert!(!fen(&[1, 0x1000, 0, 0xc02d], false).1);
    }
}
