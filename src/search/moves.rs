//! The moves played in a position, with frequency and success.

use std::collections::HashMap;

use shakmaty::{Bitboard, CastlingSide, Color, Move, Role};

use super::board::{Bounds, Moment};
use super::index::Reached;
use super::scan::{Collector, Give, ScanEvent};
use super::source::{GamesReader, SearchedHeader};
use super::walk::{Continue, walk};
use crate::game::{
    Game, GameResult, Moments, MoveEffect, Placement, PlyId, Position, PositionKey,
    rating_difference,
};

/// Statistics of a set of games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of games.
    pub games: u32,
    /// Number of games won by White.
    pub white: u32,
    /// Number of drawn games.
    pub draws: u32,
    /// Number of games won by Black.
    pub black: u32,
    /// Number of rated players, with White and with Black.
    pub rated: [u32; 2],
    /// Sum of their ratings.
    pub ratings: [u64; 2],
    /// Year of the latest game, 0 if unknown.
    pub last: u16,
}

impl Statistics {
    /// The count that a result belongs to.
    fn count_of(&mut self, result: GameResult) -> Option<&mut u32> {
        match result {
            GameResult::WhiteWon | GameResult::WhiteWonByForfeit => Some(&mut self.white),
            GameResult::Draw | GameResult::DrawByForfeit => Some(&mut self.draws),
            GameResult::BlackWon | GameResult::BlackWonByForfeit => Some(&mut self.black),
            GameResult::Line | GameResult::BothLost => None,
        }
    }

    pub(super) fn add_game(&mut self, header: &SearchedHeader) {
        self.games = self.games.saturating_add(1);
        if let Some(count) = self.count_of(header.result) {
            *count = count.saturating_add(1);
        }
        let sums = self.rated.iter_mut().zip(&mut self.ratings);
        for ((rated, sum), elo) in sums.zip(header.elo) {
            *rated = rated.saturating_add(u32::from(elo != 0));
            *sum = sum.saturating_add(u64::from(elo));
        }
        self.last = self.last.max(header.date.year);
    }

    /// Takes a game away that was added; the last year stays.
    pub(super) fn take_game(&mut self, header: &SearchedHeader) {
        self.games = self.games.saturating_sub(1);
        if let Some(count) = self.count_of(header.result) {
            *count = count.saturating_sub(1);
        }
        let sums = self.rated.iter_mut().zip(&mut self.ratings);
        for ((rated, sum), elo) in sums.zip(header.elo) {
            *rated -= u32::from(elo != 0).min(*rated);
            *sum = sum.saturating_sub(elo.into());
        }
    }

    /// Adds those of other games. Counts come from a file and may be anything.
    pub(super) fn add(&mut self, other: &Statistics) {
        let counts = [
            (&mut self.games, other.games),
            (&mut self.white, other.white),
            (&mut self.draws, other.draws),
            (&mut self.black, other.black),
        ];
        let rated = self.rated.iter_mut().zip(other.rated);
        for (own, others) in counts.into_iter().chain(rated) {
            *own = own.saturating_add(others);
        }
        for (own, others) in self.ratings.iter_mut().zip(other.ratings) {
            *own = own.saturating_add(others);
        }
        self.last = self.last.max(other.last);
    }

    /// White's score in the games with a result, 0 to 1.
    pub fn score(&self) -> Option<f64> {
        let decided = f64::from(self.white) + f64::from(self.draws) + f64::from(self.black);
        let points = f64::from(self.white) + f64::from(self.draws) / 2.0;
        (decided > 0.0).then(|| points / decided)
    }

    /// Average rating of the rated players of a side.
    pub fn average(&self, side: Color) -> Option<f64> {
        let ([white, black], [of_white, of_black]) = (self.ratings, self.rated);
        let (sum, count) = side.fold_wb((white, of_white), (black, of_black));
        // Ratings have 16 bits, and the number of games 32.
        #[expect(clippy::cast_precision_loss, reason = "sums are below 2^48")]
        let sum = sum as f64;
        (count > 0).then(|| sum / f64::from(count))
    }

    /// Performance rating of a side: the average rating of its opponents plus
    /// the rating difference for its score.
    pub fn performance(&self, side: Color) -> Option<f64> {
        let score = self.score()?;
        let score = side.fold_wb(score, 1.0 - score);
        Some(self.average(!side)? + rating_difference(score))
    }
}

/// How a game goes on in a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequel {
    /// It ends there.
    End,
    /// By this move; `None` is a null move.
    Move(Option<Move>),
}

/// Statistics of a position. Each game counts once, with the move it played at
/// its first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// All games that reach the position.
    pub here: Statistics,
    /// The games that continue, by move; `None` is a null move.
    pub moves: HashMap<Option<Move>, Statistics>,
    /// Number of games that reach the position after each move, by any order of
    /// moves.
    pub children: HashMap<Option<Move>, u32>,
}

impl Played {
    /// Adds a game that reaches the position, and then played a move there if it
    /// went on.
    pub(super) fn add_game(&mut self, sequel: Sequel, header: &SearchedHeader) {
        self.here.add_game(header);
        if let Sequel::Move(m) = sequel {
            self.moves.entry(m).or_default().add_game(header);
        }
    }

    /// Adds the statistics of other games.
    pub fn add(&mut self, other: Played) {
        self.here.add(&other.here);
        for (m, statistics) in other.moves {
            self.moves.entry(m).or_default().add(&statistics);
        }
        for (m, count) in other.children {
            *self.children.entry(m).or_default() += count;
        }
    }
}

/// Counter of the moves played in one position.
#[derive(Debug)]
pub struct Counter {
    position: Position,
    in_variations: bool,
    /// The keys of the position (0) and of the positions after each of its
    /// moves.
    targets: HashMap<PositionKey, usize>,
    /// The moves, in the order of the targets from 1 on.
    moves: Vec<Option<Move>>,
    /// A Bloom filter of the placements of all targets.
    boards: Vec<u64>,
    bounds: Bounds,
}

/// Number of bits of the hash for the filter.
const BOARD_BITS: u32 = 14;

fn bit_of(placement: &Placement) -> usize {
    let mixed = (u64::from(placement.occupied())
        ^ u64::from(placement.side(Color::White)).rotate_left(32))
    .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - BOARD_BITS)) as usize
}

impl Counter {
    /// Creates a counter for a position.
    pub fn new(position: &Position, in_variations: bool) -> Counter {
        let mut moves = legal_moves(position);
        let mut positions = vec![position.clone()];
        moves.retain(|m| {
            let mut after = position.clone();
            let is_legal = m.is_none_or(|m| after.play(m).is_ok());
            if m.is_none() {
                after.play_null();
            }
            if is_legal {
                positions.push(after);
            }
            is_legal
        });
        let moments: Vec<Placement> = positions.iter().map(Placement::of).collect();
        let mut boards = vec![0; 1 << (BOARD_BITS - 6)];
        for bit in moments.iter().map(bit_of) {
            if let Some(word) = boards.get_mut(bit / 64) {
                *word |= 1_u64 << (bit % 64);
            }
        }
        let numbered = positions.iter().map(Position::key).zip(0..);
        Counter {
            position: position.clone(),
            in_variations,
            targets: numbered.collect(),
            moves,
            boards,
            bounds: Bounds::of(&moments),
        }
    }

    /// The position.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns whether a glance at the main line of a game shows that it reaches
    /// none of the positions.
    fn glance_refutes(&self, number: u32, reader: &mut dyn GamesReader) -> bool {
        if self.in_variations {
            return false;
        }
        let mut may_be_here = false;
        let is_seen = reader.glance(number, Moments::ALL, &mut |shown| {
            may_be_here = self.may_be_target(shown.placement);
            let is_past = shown.effect > MoveEffect::Squares
                && self.bounds.are_past(shown.placement, shown.max_plies_left);
            !may_be_here && !is_past
        });
        is_seen && !may_be_here
    }

    /// Counts a game; whether it reaches the position.
    pub fn count(&self, header: &SearchedHeader, game: &Game, played: &mut Played) -> bool {
        let mut reached = [false; 256];
        walk(game, self.in_variations, |moment, at, left| {
            if let Some(target) = self.target(moment)
                && let Some(reached) = reached.get_mut(target).filter(|reached| !**reached)
            {
                *reached = true;
                self.note(target, header, game, at, played);
            }
            if self.bounds.are_past(&moment.placement, left) {
                Continue::NextLine
            } else {
                Continue::Go
            }
        });
        reached.first() == Some(&true)
    }

    fn target(&self, moment: &mut Moment) -> Option<usize> {
        if !self.may_be_target(&moment.placement) {
            return None;
        }
        self.targets.get(&moment.key()).copied()
    }

    fn may_be_target(&self, placement: &Placement) -> bool {
        let bit = bit_of(placement);
        let word = self.boards.get(bit / 64);
        word.is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    fn note(
        &self,
        target: usize,
        header: &SearchedHeader,
        game: &Game,
        at: PlyId,
        played: &mut Played,
    ) {
        let Some(before) = target.checked_sub(1) else {
            let next = game.tree.first_child(at);
            let sequel = next.map_or(Sequel::End, |next| {
                Sequel::Move(game.tree.ply(next).and_then(|ply| ply.mv))
            });
            return played.add_game(sequel, header);
        };
        if let Some(m) = self.moves.get(before) {
            *played.children.entry(*m).or_default() += 1;
        }
    }
}

impl Collector for Counter {
    type Collected = Reached;

    fn reads_games(&self) -> bool {
        true
    }

    fn make(
        &self,
        games: &[SearchedHeader],
        reader: &mut dyn GamesReader,
        give: Give<'_, Reached>,
    ) {
        let mut reached = Reached::default();
        for header in games {
            if self.glance_refutes(header.number, reader) {
                continue;
            }
            match reader.read_moves(header.number) {
                Ok(game) => {
                    if self.count(header, game, &mut reached.played) {
                        reached.games.add(header.number);
                    }
                }
                Err(fault) => {
                    if !give(ScanEvent::Unreadable(header.number, fault)) {
                        return;
                    }
                }
            }
        }
        give(ScanEvent::Piece(reached));
    }
}

/// All legal moves and the null move.
fn legal_moves(position: &Position) -> Vec<Option<Move>> {
    let board = position.board();
    let (own, others) = (position.turn(), !position.turn());
    let mut moves = vec![None];
    for side in [CastlingSide::KingSide, CastlingSide::QueenSide] {
        moves.push(position.castling_move(side));
    }
    for from in board.by_color(own) {
        let Some(role) = board.role_at(from) else {
            continue;
        };
        for to in !board.by_color(own) {
            let capture = board
                .role_at(to)
                .filter(|_| board.by_color(others).contains(to));
            let promotes = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
            let promotions: &[Option<Role>] = if promotes {
                &[
                    Some(Role::Queen),
                    Some(Role::Rook),
                    Some(Role::Bishop),
                    Some(Role::Knight),
                ]
            } else {
                &[None]
            };
            for promotion in promotions {
                moves.push(Some(Move::Normal {
                    role,
                    from,
                    capture,
                    to,
                    promotion: *promotion,
                }));
            }
        }
        if let Some(to) = position.en_passant_square().filter(|_| role == Role::Pawn) {
            moves.push(Some(Move::EnPassant { from, to }));
        }
    }
    let mut null = true;
    moves.retain(|m| m.is_some() || std::mem::take(&mut null));
    moves.retain(|m| m.is_none_or(|m| position.is_legal(m)));
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::{CastlingMode, Chess, EnPassantMode, Position as _, fen::Fen};

    #[test]
    fn all_legal_moves_are_found() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
        ] {
            let setup = fen.parse::<Fen>().unwrap().into_setup();
            let rules: Chess = setup.clone().position(CastlingMode::Standard).unwrap();
            let mut expected: Vec<String> = rules
                .legal_moves()
                .iter()
                .map(|m| format!("{m:?}"))
                .collect();
            let ours = Position::from_setup(
                rules.to_setup(EnPassantMode::Always),
                CastlingMode::Standard,
            );
            let found = legal_moves(&ours);
            assert_eq!(found.iter().filter(|m| m.is_none()).count(), 1);
            let mut found: Vec<String> = found.iter().flatten().map(|m| format!("{m:?}")).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{fen}");
        }
    }

    #[test]
    fn a_score_is_of_games_with_a_result() {
        let mut numbers = Statistics::default();
        assert_eq!(
            (numbers.score(), numbers.performance(Color::White)),
            (None, None)
        );
        for result in [GameResult::WhiteWon, GameResult::Draw, GameResult::Line] {
            numbers.add_game(&SearchedHeader {
                result,
                elo: [0, 2400],
                ..SearchedHeader::default()
            });
        }
        assert_eq!((numbers.games, numbers.score()), (3, Some(0.75)));
        assert_eq!(numbers.average(Color::White), None);
        let performance = numbers.performance(Color::White).unwrap();
        assert!((performance - 2590.848).abs() < 0.01, "{performance}");
    }
}
