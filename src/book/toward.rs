//! Which positions can still lead to another: what a search for the shortest
//! line to a position leaves out.
//!
//! Nothing here proves that a way exists. What is left out has none, because
//! pieces do not come back, rights to castle are not regained, and pawns move
//! forward only: by files aside only as often as they capture.

use shakmaty::{Bitboard, Color, Role, Square};

use crate::game::Position;

/// A position that a line is to reach.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    position: Position,
}

impl Goal {
    pub(super) fn new(position: Position) -> Goal {
        Goal { position }
    }

    pub(super) fn position(&self) -> &Position {
        &self.position
    }

    /// Returns whether moves from `position` may lead to the target.
    pub(super) fn may_follow(&self, position: &Position) -> bool {
        let rights = self.position.castling_rights() & !position.castling_rights();
        rights.is_empty()
            && Color::ALL
                .into_iter()
                .all(|color| self.fits(position, color))
    }

    /// Whether the pieces of a side may become those of the target.
    fn fits(&self, position: &Position, color: Color) -> bool {
        let (before, after) = (position.board(), self.position.board());
        let count = |board: &crate::game::Board| board.by_color(!color).count();
        let Some(captures) = count(before).checked_sub(count(after)) else {
            return false;
        };
        let pawns = |board: &crate::game::Board| board.by_color(color) & board.by_role(Role::Pawn);
        let (from, to) = (pawns(before), pawns(after));
        if from.count() < to.count() {
            return false;
        }
        let are_all_left = from.count() == to.count();
        let comes = |square| !(behind(color, square, captures) & from).is_empty();
        let goes = |square| !(behind(!color, square, captures) & to).is_empty();
        to.into_iter().all(comes) && (!are_all_left || from.into_iter().all(goes))
    }
}

/// The squares from which a pawn may have come to `square` with at most so many
/// captures, that one too.
fn behind(color: Color, square: Square, captures: usize) -> Bitboard {
    let is_behind = |from: &Square| {
        let ranks = i32::from(square.rank()) - i32::from(from.rank());
        let ranks = color.fold_wb(ranks, -ranks);
        let files = (i32::from(square.file()) - i32::from(from.file())).abs();
        files <= ranks && usize::try_from(files).is_ok_and(|files| files <= captures)
    };
    Square::ALL.into_iter().filter(is_behind).collect()
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;

    use super::*;

    fn position(fen: &str) -> Position {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        Position::from_setup(fen.into_setup(), CastlingMode::Standard)
    }

    #[test]
    fn moves_that_cannot_reach_a_position_are_omitted() {
        let start = Position::default();
        for (fen, expected) in [
            (
                "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -",
                true,
            ),
            // After 1. e4 d5 2. exd5.
            (
                "rnbqkbnr/ppp1pppp/8/3P4/8/8/PPPP1PPP/RNBQKBNR b KQkq -",
                true,
            ),
            // A pawn on another file, and nothing was taken.
            (
                "rnbqkbnr/pppppppp/8/3P4/8/8/PPPP1PPP/RNBQKBNR b KQkq -",
                false,
            ),
            ("4k3/8/8/8/8/8/8/4K2R w K -", true),
        ] {
            assert_eq!(
                Goal::new(position(fen)).may_follow(&start),
                expected,
                "{fen}"
            );
        }
        let target = Goal::new(start);
        for fen in [
            // A move of a pawn, the right to castle, a piece that is gone.
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQk -",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/R1BQKBNR w KQkq -",
        ] {
            assert!(!target.may_follow(&position(fen)), "{fen}");
        }
    }

    #[test]
    fn pawns_come_from_behind_and_aside_by_captures() {
        assert_eq!(behind(Color::White, Square::E4, 0).count(), 4);
        assert_eq!(behind(Color::Black, Square::E4, 0).count(), 5);
        let one = behind(Color::White, Square::E4, 1);
        assert_eq!(one.count(), 4 + 3 + 3);
        assert!(one.contains(Square::D3) && !one.contains(Square::D4));
    }

    #[test]
    fn pawns_do_not_appear_and_each_that_stays_one_has_a_place() {
        for (from, to, expected) in [
            // One of two goes on.
            ("4k3/8/8/8/8/8/P3P3/4K3", "4k3/8/8/8/8/P7/4P3/4K3", true),
            // That on the e-file goes nowhere, whatever else was lost.
            ("4k3/8/8/8/4P3/8/P7/4K3", "4k3/8/8/8/P7/P7/8/4K3", false),
            ("4k3/8/8/8/4P3/8/P7/4K2R", "4k3/8/8/8/P7/P7/8/4K3", false),
            // It may have been lost itself, or have become a queen.
            ("4k3/8/8/8/4P3/8/P7/4K3", "4k3/8/8/8/P7/8/8/4K3", true),
            ("4k3/4P3/8/8/8/8/P7/4K3", "4Q3/k7/8/8/8/8/P7/4K3", true),
            // A pawn changes its file by a capture.
            ("4k2n/8/8/8/8/8/P3P3/4K3", "4k3/8/8/8/8/P2P4/8/4K3", true),
            ("4k3/8/8/8/8/8/P3P3/4K3", "4k3/8/8/8/8/P2P4/8/4K3", false),
            // There are no more than there were.
            ("4k3/8/8/8/8/8/P7/4K2R", "4k3/8/8/8/P7/P7/8/4K3", false),
        ] {
            let [from, to] = [from, to].map(|board| position(&format!("{board} w - -")));
            assert_eq!(Goal::new(to).may_follow(&from), expected, "{from:?}");
        }
    }
}
