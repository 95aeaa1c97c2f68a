//! Move words: piece, origin, destination, capture and promotion. The meaning
//! of a word does not depend on the position.
//!
//! Squares are counted from a1 up the files: a1 0, a2 1 … h8 63.
//!
//! | words | number | meaning |
//! |---|---|---|
//! | 0001 | 2520, 8736, 2016, 3360, 5376 | White's king, queen, knight, bishop, rook |
//! | 55f9 | the same | Black's |
//! | abf1, ae8d | 668 each | White's pawns, Black's |
//! | b129 | 4 | castling: White long, short, Black long, short |
//! | b12d | 960 × 4 | castling from each start of Chess960, likewise |
//! | c02d | 2 × 5 × 64 | a piece of a set-up: king, queen, knight, bishop, rook of White, of Black; by square |
//! | c2ad | 2 × 48 | a pawn of a set-up, by file and by rank 2 to 7 |
//! | fffa … ffff | | null move, and the [marks](super) |
//!
//! Pieces: by the square they leave, then by direction, then by distance on an
//! empty board; each of these six times: takes nothing, queen, knight, bishop,
//! rook, pawn.
//!
//! Pawns: by file, by rank 2 to 7 (for Black too); straight on: two squares,
//! one square, or promotions to queen, knight, bishop, rook; then captures to
//! the lower and the higher file: of queen, knight, bishop, rook, pawn, and in
//! passing where that is possible; or, promoting, of queen, knight, bishop,
//! rook, each with the four promotions.

use std::sync::LazyLock;

use shakmaty::{CastlingSide, Color, File, Move, Piece, Rank, Role, Square};

/// The null move.
pub(super) const NULL: u16 = 0xfffa;
/// A start section follows.
pub(super) const START: u16 = 0xfffb;
/// The moves follow.
pub(super) const MOVES: u16 = 0xfffc;
/// The move just given has an alternative, which comes later.
pub(super) const ALTERNATIVE: u16 = 0xfffd;
/// The line ends.
pub(super) const END: u16 = 0xffff;

const CASTLING: u16 = 0xb129;
const CASTLING_960: u16 = 0xb12d;
const PLACED_PIECES: u16 = 0xc02d;
const PLACED_PAWNS: u16 = 0xc2ad;
const PLACED_END: u16 = 0xc30d;
const BLACK_PIECES: u16 = 0x55f9;
const PAWNS: u16 = 0xabf1;
const BLACK_PAWNS: u16 = 0xae8d;

/// The meaning of a word of the move section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A piece of this side moves.
    Move(Color, Move),
    /// A side castles; as in Chess960 or not.
    Castle(Color, CastlingSide, bool),
    Null,
    Alternative,
    End,
    /// Nothing.
    Unused,
}

impl Word {
    /// Returns the meaning of a word.
    #[inline]
    pub(super) fn of(word: u16) -> Word {
        match word {
            1..CASTLING => {
                let is_white = word < BLACK_PIECES || (PAWNS..BLACK_PAWNS).contains(&word);
                match TABLE.get(usize::from(word) - 1) {
                    Some(m) => Word::Move(Color::from_white(is_white), *m),
                    None => Word::Unused,
                }
            }
            CASTLING..PLACED_PIECES => {
                // Both blocks have four words to a start, in the same order.
                let number = (word - CASTLING) % 4;
                let color = Color::from_white(number < 2);
                let side = CastlingSide::from_king_side(number % 2 == 1);
                Word::Castle(color, side, word >= CASTLING_960)
            }
            NULL => Word::Null,
            ALTERNATIVE => Word::Alternative,
            END => Word::End,
            _ => Word::Unused,
        }
    }
}

/// Returns the piece of a set-up and its square; `None` for other words.
pub(super) fn placed(word: u16) -> Option<(Piece, Square)> {
    match word {
        PLACED_PIECES..PLACED_PAWNS => {
            let number = word - PLACED_PIECES;
            let color = Color::from_white(number < 5 * 64);
            let role = PIECES.get(usize::from(number / 64 % 5))?;
            Some((role.of(color), square(number % 64)))
        }
        PLACED_PAWNS..PLACED_END => {
            let number = word - PLACED_PAWNS;
            let color = Color::from_white(number < 48);
            let (file, rank) = (number % 48 / 6, number % 6 + 1);
            Some((color.pawn(), square(file * 8 + rank)))
        }
        _ => None,
    }
}

/// The square of a number below 64, counted up the files.
pub(in crate::cbh2) fn square(number: u16) -> Square {
    let number = u32::from(number);
    Square::from_coords(File::new(number / 8 % 8), Rank::new(number % 8))
}

/// The pieces in the order of their words.
const PIECES: [Role; 5] = [
    Role::King,
    Role::Queen,
    Role::Knight,
    Role::Bishop,
    Role::Rook,
];

/// The captured pieces, in the order of the words.
const TAKEN: [Role; 5] = [
    Role::Queen,
    Role::Knight,
    Role::Bishop,
    Role::Rook,
    Role::Pawn,
];

/// The promotion pieces, in the order of the words.
const PROMOTIONS: [Role; 4] = [Role::Queen, Role::Knight, Role::Bishop, Role::Rook];

/// Directions: files, ranks.
type Direction = (i32, i32);

const AROUND: [Direction; 8] = [
    (-1, -1),
    (-1, 0),
    (-1, 1),
    (0, -1),
    (0, 1),
    (1, -1),
    (1, 0),
    (1, 1),
];
const LEAPS: [Direction; 8] = [
    (-2, -1),
    (-2, 1),
    (2, -1),
    (2, 1),
    (-1, -2),
    (-1, 2),
    (1, -2),
    (1, 2),
];
const LINES: [Direction; 8] = [
    (-1, -1),
    (1, -1),
    (1, 1),
    (-1, 1),
    (-1, 0),
    (0, -1),
    (1, 0),
    (0, 1),
];

/// The moves of the words from 1 on.
static TABLE: LazyLock<Vec<Move>> = LazyLock::new(|| {
    let mut table = Vec::with_capacity(usize::from(CASTLING) - 1);
    for _ in Color::ALL {
        for role in PIECES {
            add_piece(role, &mut table);
        }
    }
    for color in Color::ALL {
        add_pawns(color, &mut table);
    }
    table
});

fn squares() -> impl Iterator<Item = Square> {
    (0..64).map(square)
}

/// The directions of a piece, and its maximum distance.
fn ways(role: Role) -> (&'static [Direction], usize) {
    let (diagonals, straights) = LINES.split_at(4);
    match role {
        Role::King => (&AROUND, 1),
        Role::Knight => (&LEAPS, 1),
        Role::Bishop => (diagonals, 7),
        Role::Rook => (straights, 7),
        _ => (&LINES, 7),
    }
}

fn beside(square: Square, (files, ranks): Direction) -> Option<Square> {
    Some(Square::from_coords(
        square.file().offset(files)?,
        square.rank().offset(ranks)?,
    ))
}

fn add_piece(role: Role, table: &mut Vec<Move>) {
    let (directions, most) = ways(role);
    for from in squares() {
        for direction in directions {
            let onward = |square: &Square| beside(*square, *direction);
            let way = std::iter::successors(onward(&from), onward);
            for to in way.take(most) {
                let captures = std::iter::once(None).chain(TAKEN.map(Some));
                table.extend(captures.map(|capture| step(role, from, capture, to, None)));
            }
        }
    }
}

fn step(
    role: Role,
    from: Square,
    capture: Option<Role>,
    to: Square,
    promotion: Option<Role>,
) -> Move {
    Move::Normal {
        role,
        from,
        capture,
        to,
        promotion,
    }
}

fn add_pawns(color: Color, table: &mut Vec<Move>) {
    let ranks = 1..7;
    let all = squares().filter(|square| ranks.contains(&u32::from(square.rank())));
    for from in all {
        add_pawn(color, from, table);
    }
}

fn add_pawn(color: Color, from: Square, table: &mut Vec<Move>) {
    let up = color.fold_wb(1, -1);
    let pawn = |capture, to, promotion| step(Role::Pawn, from, capture, to, promotion);
    let promotes = from.rank() == color.fold_wb(Rank::Seventh, Rank::Second);
    if let Some(to) = beside(from, (0, up)) {
        if promotes {
            table.extend(PROMOTIONS.map(|role| pawn(None, to, Some(role))));
        } else {
            let is_home = from.rank() == color.fold_wb(Rank::Second, Rank::Seventh);
            let double = beside(from, (0, 2 * up)).filter(|_| is_home);
            table.extend(double.map(|to| pawn(None, to, None)));
            table.push(pawn(None, to, None));
        }
    }
    for to in [-1, 1]
        .into_iter()
        .filter_map(|file| beside(from, (file, up)))
    {
        if promotes {
            let taken = TAKEN.into_iter().filter(|role| *role != Role::Pawn);
            table.extend(
                taken.flat_map(|taken| PROMOTIONS.map(|role| pawn(Some(taken), to, Some(role)))),
            );
            continue;
        }
        table.extend(TAKEN.map(|taken| pawn(Some(taken), to, None)));
        if from.rank() == color.fold_wb(Rank::Fifth, Rank::Fourth) {
            table.push(Move::EnPassant { from, to });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(word: u16) -> String {
        match Word::of(word) {
            Word::Move(color, m) => {
                let kind = |role: Role| color.fold_wb(role.upper_char(), role.char());
                let mut text = kind(m.role()).to_string();
                text.push(' ');
                text.push_str(&m.from().unwrap().to_string());
                let taken = match m {
                    Move::EnPassant { .. } => Some("ep".to_owned()),
                    _ => m.capture().map(|role| role.of(!color).char().to_string()),
                };
                text.push(if taken.is_some() { 'x' } else { '-' });
                text.push_str(&m.to().to_string());
                if let Some(taken) = taken {
                    text += &[" takes ", &taken].concat();
                }
                if let Some(role) = m.promotion() {
                    text.extend(['=', kind(role)]);
                }
                text
            }
            Word::Castle(color, side, is_960) => {
                let king = color.fold_wb('K', 'k');
                let name = if side.is_king_side() { "O-O" } else { "O-O-O" };
                let start = (word - CASTLING).wrapping_sub(4) / 4;
                let start = is_960.then(|| format!(" start {start}"));
                format!("{king} {name}{}", start.unwrap_or_default())
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn blocks_of_words_begin_and_end_where_real_games_have_them() {
        // source: the notes of the descriptions; those from ad3f on are words
        // of games that ChessBase wrote.
        for (word, meaning) in [
            (0x0001, "K a1-a2"),
            (0x09d8, "K h8xh7 takes p"),
            (0x09d9, "Q a1-b2"),
            (0x2bf9, "N a1-c2"),
            (0x33d9, "B a1-b2"),
            (0x40f9, "R a1-b1"),
            (0x55f8, "R h8xh1 takes p"),
            (0x55f9, "k a1-a2"),
            (0x5fd1, "q a1-b2"),
            (0x81f1, "n a1-c2"),
            (0x89d1, "b a1-b2"),
            (0x96f1, "r a1-b1"),
            (0xabf1, "P a2-a4"),
            (0xae8d, "p a2-a1=q"),
            (0xb129, "K O-O-O"),
            (0xb12c, "k O-O"),
            (0xad3f, "P e2-e4"),
            (0xb02d, "p e7-e5"),
            (0x325f, "N g1-f3"),
            (0x836b, "n b8-c6"),
            (0x3c61, "B f1-c4"),
            (0x93eb, "b f8-c5"),
            (0xb03b, "p f2-f1=b"),
            (0xae38, "P g7-g8=R"),
            (0xb016, "p e4xf3 takes ep"),
            (0xba05, "K O-O-O start 566"),
            (0xba08, "k O-O start 566"),
        ] {
            assert_eq!(shown(word), meaning, "{word:#06x}");
        }
        assert_eq!(TABLE.len(), usize::from(CASTLING) - 1);
        for word in [0, 0xc02d, 0xc30d, 0xfff9, 0xfffb, 0xfffc, 0xfffe] {
            assert_eq!(Word::of(word), Word::Unused, "{word:#06x}");
        }
    }

    #[test]
    fn pieces_of_a_set_up_stand_where_real_ones_do() {
        for (word, expected) in [
            (0xc02d, "Ka1"),
            (0xc16d, "ka1"),
            (0xc2ad, "Pa2"),
            (0xc2dd, "pa2"),
            (0xc30c, "ph7"),
            (0xc12d, "Ra1"),
            (0xc2e2, "pa7"),
            (0xc274, "ra8"),
            (0xc15d, "Rg1"),
        ] {
            let (piece, square) = placed(word).unwrap();
            assert_eq!(format!("{}{square}", piece.char()), expected);
        }
        assert_eq!(placed(0xc30d), None);
        assert_eq!(placed(0xc02c), None);
    }
}
