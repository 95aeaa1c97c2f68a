//! The numbers of the 960 start positions.

use shakmaty::{Bitboard, Color, File, Rank, Role, Square};

use crate::game::Board;

/// Number that is stored if the position is none of the 960. Unconfirmed:
/// ChessBase stores it in all four games of the one known base with such
/// positions.
const NO_NUMBER: u16 = 253;

/// The number of the position to be stored with it.
pub(in crate::cbh) fn start_number(board: &Board) -> u16 {
    number_of(board).unwrap_or(NO_NUMBER)
}

/// The number (0–959, the usual position has 518) of a start position of
/// Chess960; `None` if the board is none of them.
///
/// It is made up, from its lowest place on, of the place of the bishop on b,
/// d, f, h (of four), of the one on a, c, e, g (of four), of the queen among
/// the files left (of six), and of the knights among the files left then.
fn number_of(board: &Board) -> Option<u16> {
    let mut left: Vec<(u16, Role)> = (0..).zip(start_array(board)?).collect();
    let bishops = take(&mut left, Role::Bishop);
    let queen = take(&mut left, Role::Queen);
    let knights = take(&mut left, Role::Knight);
    let rest: Vec<Role> = left.iter().map(|(_, role)| *role).collect();
    let light = bishops.iter().find(|(_, file)| file % 2 == 1)?.1 / 2;
    let dark = bishops.iter().find(|(_, file)| file % 2 == 0)?.1 / 2;
    let (&[(queen, _)], &[(first, _), (second, _)]) = (&*queen, &*knights) else {
        return None;
    };
    if rest != [Role::Rook, Role::King, Role::Rook] {
        return None;
    }
    let knights = (0..)
        .zip(KNIGHTS)
        .find(|(_, pair)| *pair == (first, second))?
        .0;
    Some(96 * knights + 16 * queen + 4 * dark + light)
}

/// Takes the pieces of a kind out of the files left: for each its place among
/// those, and its file.
fn take(left: &mut Vec<(u16, Role)>, kind: Role) -> Vec<(u16, u16)> {
    let placed = (0..).zip(&*left).filter(|(_, (_, role))| *role == kind);
    let taken = placed.map(|(place, (file, _))| (place, *file)).collect();
    left.retain(|(_, role)| *role != kind);
    taken
}

/// The places of the knights among five, in the order of their numbers.
const KNIGHTS: [(u16, u16); 10] = [
    (0, 1),
    (0, 2),
    (0, 3),
    (0, 4),
    (1, 2),
    (1, 3),
    (1, 4),
    (2, 3),
    (2, 4),
    (3, 4),
];

/// White's first rank in the start of a number (518: the usual one): the
/// bishop on b, d, f, h, that on a, c, e, g, the queen on one of the six files
/// left, the knights on two of five; rook, king and rook on the rest.
pub(crate) fn first_rank(number: u16) -> Option<[Role; 8]> {
    let number = usize::from(number);
    let (first, second) = *KNIGHTS.get(number / 96)?;
    let (first, second) = (usize::from(first), usize::from(second));
    let bishops = [2 * (number % 4) + 1, 2 * (number / 4 % 4)];
    let mut rank = [None; 8];
    for file in bishops {
        *rank.get_mut(file)? = Some(Role::Bishop);
    }
    *free(&mut rank, number / 16 % 6)? = Some(Role::Queen);
    // The second is one nearer once the first is there.
    *free(&mut rank, first)? = Some(Role::Knight);
    *free(&mut rank, second - 1)? = Some(Role::Knight);
    let mut rest = [Role::Rook, Role::King, Role::Rook].into_iter();
    let mut pieces = [Role::Rook; 8];
    for (piece, placed) in pieces.iter_mut().zip(rank) {
        *piece = placed.or_else(|| rest.next())?;
    }
    Some(pieces)
}

/// The free place of this number.
fn free(rank: &mut [Option<Role>; 8], number: usize) -> Option<&mut Option<Role>> {
    rank.iter_mut().filter(|place| place.is_none()).nth(number)
}

/// The kinds on White's first rank, if Black's stand opposite and all pawns
/// are at home.
fn start_array(board: &Board) -> Option<[Role; 8]> {
    let at_home = |color: Color, rank| board.by_piece(color.pawn()) == Bitboard::from_rank(rank);
    let is_full = board.occupied().count() == 32
        && at_home(Color::White, Rank::Second)
        && at_home(Color::Black, Rank::Seventh);
    let mut array = [Role::Pawn; 8];
    for (file, role) in File::ALL.into_iter().zip(&mut array) {
        let white = board.piece_at(Square::from_coords(file, Rank::First))?;
        let black = board.piece_at(Square::from_coords(file, Rank::Eighth))?;
        let is_opposite =
            white == white.role.of(Color::White) && black == white.role.of(Color::Black);
        if !is_full || !is_opposite {
            return None;
        }
        *role = white.role;
    }
    Some(array)
}

#[cfg(test)]
mod tests {
    use shakmaty::fen::Fen;

    use super::*;

    fn number(array: &str) -> Option<u16> {
        let black = array.to_lowercase();
        let fen = format!("{black}/pppppppp/8/8/8/8/PPPPPPPP/{array} w - - 0 1");
        number_of(&fen.parse::<Fen>().unwrap().into_setup().board.into())
    }

    #[test]
    fn the_numbers_are_the_usual_ones() {
        // source: the tables of Chess960, https://en.wikipedia.org/wiki/Fischer_random_chess_numbering_scheme
        for (array, expected) in [
            ("BBQNNRKR", 0),
            ("RNBQKBNR", 518),
            ("BNRKRBNQ", 370),
            ("RKRNNQBB", 959),
        ] {
            assert_eq!(number(array), Some(expected), "{array}");
        }
    }

    #[test]
    fn each_number_is_that_of_its_rank() {
        for expected in 0..960 {
            let rank = first_rank(expected).unwrap().map(Role::upper_char);
            assert_eq!(number(&String::from_iter(rank)), Some(expected));
        }
        assert_eq!(first_rank(960), None);
    }

    #[test]
    fn other_boards_have_no_number() {
        for array in ["KRBQRBNN", "RNBQKBRR", "RNBQQBNR", "RBNBKQNR", "NNBBKQQR"] {
            assert_eq!(number(array), None, "{array}");
        }
        assert_eq!(start_number(&shakmaty::Board::empty().into()), NO_NUMBER);
    }
}
