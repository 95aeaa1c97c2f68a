//! Openings by position: ECO code and English name.
//!
//! The table, `openings/openings.tsv`, is the chess-openings data set of
//! lichess (<https://github.com/lichess-org/chess-openings>), which is in the
//! public domain (CC0). A line of it names the position after its moves, by
//! whatever moves that is reached. The opening of a game is that of its last
//! named position.

use std::collections::HashMap;
use std::sync::LazyLock;

use shakmaty::{Bitboard, CastlingSide, Color, Move, Square};

use crate::game::{Eco, Game, Ply, Position, PositionKey};
use crate::pgn;

/// One line per opening, with the columns ECO code, name, moves; the first line
/// names the columns.
const TABLE: &str = include_str!("openings/openings.tsv");

/// Seed of the hashes of positions. Of two positions of the table with
/// the same one only the first would be found; a test says that there are none.
const SEED: u64 = 0;

/// Number of bits of a mark that tell words of 64 bits apart. One bit in three
/// hundred of these words is set.
const WORD_BITS: u32 = 14;

/// The name of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The ECO code, without a sub-code.
    pub eco: Eco,
    /// The name in English, such as `Sicilian Defense: Najdorf Variation`.
    pub name: &'static str,
}

/// All named positions.
struct Openings {
    /// By a hash of the position, which is held against the position itself.
    by_digest: HashMap<u64, (PositionKey, Opening)>,
    /// A bit for the mark of each named position.
    seen: Vec<u64>,
    /// Number of plies of the longest line of moves.
    longest: usize,
}

static OPENINGS: LazyLock<Openings> = LazyLock::new(|| Openings::read(TABLE));

/// Returns the opening that names this position.
pub fn of_position(position: &Position) -> Option<Opening> {
    // Most positions have no name.
    if !OPENINGS.may_name(Occupied::of(position).mark()) {
        return None;
    }
    named(position)
}

fn named(position: &Position) -> Option<Opening> {
    let key = position.key();
    let digest = key.digest(SEED);
    let (named, opening) = OPENINGS.by_digest.get(&digest)?;
    (*named == key).then_some(*opening)
}

/// Returns the opening of a game: that of the last named position of its main
/// line. `None` for Chess960.
pub fn of_game(game: &Game) -> Option<Opening> {
    if game.start.is_chess960 {
        return None;
    }
    let mut candidates = candidates(game);
    while let Some(last) = candidates.checked_ilog2() {
        // Another position may have its squares.
        let plies = last as usize + 1;
        let opening = named(&position_after(game, plies));
        if opening.is_some() {
            return opening;
        }
        candidates ^= 1 << last;
    }
    None
}

/// The position after so many plies of the main line.
fn position_after(game: &Game, plies: usize) -> Position {
    let mut position = game.start.position.clone();
    let line = game.tree.main_line().take(plies);
    position.follow(line.filter_map(|id| game.tree.ply(id)?.mv));
    position
}

/// A bit for each ply of the main line after which the position may have a name, by
/// the squares that are occupied. To find them costs far less than to play.
fn candidates(game: &Game) -> u64 {
    let tree = &game.tree;
    match tree.only_line() {
        Some(plies) => candidates_of(game, plies),
        None => candidates_of(game, tree.main_line().filter_map(|id| tree.ply(id))),
    }
}

fn candidates_of<'g>(game: &Game, line: impl IntoIterator<Item = &'g Ply>) -> u64 {
    let mut occupied = Occupied::of(&game.start.position);
    let mut turn = game.start.position.turn();
    let mut candidates = 0;
    for (bit, ply) in (0..OPENINGS.longest.min(64)).zip(line) {
        let Some(m) = ply.mv else {
            break;
        };
        occupied.play(m, turn);
        turn = turn.other();
        candidates |= u64::from(OPENINGS.may_name(occupied.mark())) << bit;
    }
    candidates
}

impl Openings {
    /// Returns false only if no position with this mark has a name.
    fn may_name(&self, mark: u64) -> bool {
        let word = self.seen.get(word_of(mark));
        word.is_some_and(|word| word & bit_of(mark) != 0)
    }

    fn read(table: &'static str) -> Openings {
        let mut openings = Openings {
            by_digest: HashMap::new(),
            seen: vec![0; 1 << WORD_BITS],
            longest: 0,
        };
        for line in table.lines().skip(1) {
            openings.add(line);
        }
        openings
    }

    /// Adds a line of the table. Returns `None` and adds nothing if it is
    /// malformed.
    fn add(&mut self, line: &'static str) -> Option<()> {
        let mut columns = line.split('\t');
        let (code, name, moves) = (columns.next()?, columns.next()?, columns.next()?);
        let eco = Eco::from_code(code)?;
        let game = pgn::decode(format!("{moves} *").as_bytes()).ok()?;
        let plies = game.tree.main_line_len();
        self.longest = self.longest.max(plies);
        let last = position_after(&game, plies);
        let mark = Occupied::of(&last).mark();
        if let Some(word) = self.seen.get_mut(word_of(mark)) {
            *word |= bit_of(mark);
        }
        let key = last.key();
        let digest = key.digest(SEED);
        self.by_digest
            .entry(digest)
            .or_insert((key, Opening { eco, name }));
        Some(())
    }
}

/// The squares that each side has.
#[derive(Clone, Copy, Debug)]
struct Occupied {
    white: Bitboard,
    black: Bitboard,
}

impl Occupied {
    fn of(position: &Position) -> Occupied {
        Occupied {
            white: position.board().by_color(Color::White),
            black: position.board().by_color(Color::Black),
        }
    }

    /// Plays a legal move of the side `turn`.
    fn play(&mut self, m: Move, turn: Color) {
        let (own, other) = match turn {
            Color::White => (&mut self.white, &mut self.black),
            Color::Black => (&mut self.black, &mut self.white),
        };
        match m {
            Move::Normal { from, to, .. } => {
                own.discard(from);
                own.add(to);
                other.discard(to);
            }
            Move::EnPassant { from, to } => {
                own.discard(from);
                own.add(to);
                other.discard(Square::from_coords(to.file(), from.rank()));
            }
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                own.discard(king);
                own.discard(rook);
                own.add(side.king_to(turn));
                own.add(side.rook_to(turn));
            }
            Move::Put { to, .. } => own.add(to),
        }
    }

    /// A number that tells positions apart by which squares the sides have, mostly.
    /// It costs far less than a digest.
    fn mark(self) -> u64 {
        let mixed = u64::from(self.white) ^ u64::from(self.black).rotate_left(29);
        mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Which word of [`Openings::seen`] has the bit of a mark.
fn word_of(mark: u64) -> usize {
    usize::try_from(mark >> (u64::BITS - WORD_BITS)).unwrap_or(0)
}

/// The bit of a mark in its word.
fn bit_of(mark: u64) -> u64 {
    1 << (mark >> (u64::BITS - WORD_BITS - 6) & 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(moves: &str) -> String {
        let game = pgn::decode(format!("{moves} *").as_bytes()).unwrap();
        match of_game(&game) {
            Some(Opening { eco, name }) => format!("{eco} {name}"),
            None => String::new(),
        }
    }

    #[test]
    fn every_line_of_the_table_names_a_position() {
        let lines = TABLE.lines().skip(1).count();
        assert!(lines > 3000);
        assert!(OPENINGS.longest <= u64::BITS as usize, "a bit for each ply");
        for line in TABLE.lines().skip(1) {
            let mut columns = line.split('\t');
            let code = columns.next().unwrap();
            let moves = columns.nth(1).unwrap();
            assert!(name_of(moves).starts_with(code), "{line}");
        }
    }

    #[test]
    fn no_two_positions_have_the_same_digest() {
        let mut keys = std::collections::HashSet::new();
        for line in TABLE.lines().skip(1) {
            let moves = line.split('\t').nth(2).unwrap();
            let game = pgn::decode(format!("{moves} *").as_bytes()).unwrap();
            keys.insert(position_after(&game, usize::MAX).key());
        }
        assert_eq!(OPENINGS.by_digest.len(), keys.len());
    }

    #[test]
    fn a_game_has_the_name_of_its_last_named_position() {
        let najdorf = "B90 Sicilian Defense: Najdorf Variation";
        let moves = "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6";
        assert_eq!(name_of(moves), najdorf);
        // By another way, and with moves behind that no book has.
        let other = "1. Nf3 c5 2. e4 d6 3. Nc3 Nf6 4. d4 cxd4 5. Nxd4 a6 6. Qd3 h5 7. Ke2 h4";
        assert_eq!(name_of(other), najdorf);
        assert_eq!(name_of(""), "");
    }

    #[test]
    fn no_opening_is_told_of_chess960() {
        let moves = "[Variant \"Chess960\"]\n\n1. e4 c5";
        assert_eq!(name_of(moves), "");
    }
}
