//! Equality of positions.

use shakmaty::{Color, Role};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Position;

/// Everything that distinguishes positions: the board, the side to move, the
/// rooks that may still castle, and an en passant capture if it is legal.
///
/// Two positions are the same if their keys are equal, regardless of their
/// counters and of the moves that led there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PositionKey([u64; 9]);

impl PositionKey {
    /// A hash of it, another with each seed.
    pub fn digest(&self, seed: u64) -> u64 {
        let bytes = self.0.map(u64::to_le_bytes);
        xxh3_64_with_seed(bytes.as_flattened(), seed)
    }

    /// Returns the key of the pieces and the side to move only, regardless of castling
    /// rights and en passant.
    #[must_use]
    pub fn without_rights(mut self) -> PositionKey {
        let [.., rights, last] = &mut self.0;
        *rights = 0;
        *last |= 0xff;
        self
    }
}

impl Position {
    /// Returns the key of this position.
    pub fn key(&self) -> PositionKey {
        let board = self.board();
        let role = |role| board.by_role(role).into();
        let square = self.en_passant_square();
        let square = square.filter(|_| self.can_take_en_passant());
        let turn = u64::from(self.turn().is_white());
        PositionKey([
            role(Role::Pawn),
            role(Role::Knight),
            role(Role::Bishop),
            role(Role::Rook),
            role(Role::Queen),
            role(Role::King),
            board.by_color(Color::White).into(),
            self.castling_rights().into(),
            turn << 8 | square.map_or(0xff, u64::from),
        ])
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;

    use super::*;

    fn key(fen: &str, mode: CastlingMode) -> PositionKey {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        Position::from_setup(fen.into_setup(), mode).key()
    }

    #[test]
    fn en_passant_distinguishes_positions_only_where_legal() {
        let standard = |fen: &str| key(fen, CastlingMode::Standard);
        // No pawn; a pawn that can capture; a pinned pawn.
        for (fen, is_distinguished) in [
            ("4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1", false),
            ("4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1", true),
            ("8/8/8/8/k2pP2Q/8/8/3K4 b - e3 0 1", false),
        ] {
            let without = fen.replace("e3", "-");
            assert_eq!(
                standard(fen) != standard(&without),
                is_distinguished,
                "{fen}"
            );
        }
    }

    #[test]
    fn castling_rights_count_and_counters_do_not() {
        let chess960 = |fen: &str| key(fen, CastlingMode::Chess960);
        let two = "1k6/8/8/8/8/8/8/1KR4R w";
        assert_ne!(
            chess960(&format!("{two} C - 0 1")),
            chess960(&format!("{two} H - 0 1"))
        );
        assert_eq!(
            chess960(&format!("{two} H - 0 1")),
            chess960(&format!("{two} K - 17 60"))
        );
        let usual = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1";
        assert_eq!(chess960(usual), key(usual, CastlingMode::Standard));
    }
}
