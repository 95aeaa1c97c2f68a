//! The moves of a quoted game, by their squares, as a line of PGN.

use std::fmt::Write as _;

use shakmaty::{Bitboard, CastlingSide, Color, Role, Square};

use super::{PieceMove, Position, San, Start};

/// A move of a quoted game: from, to, and the piece that a pawn becomes on the
/// last rank. Castling is the move of the king, from e1 to g1.
pub type QuotedMove = (Square, Square, Role);

/// Appends the moves to `out`, each with a blank before, up to the first that
/// is not legal. Returns how many these are.
pub fn append_quoted(start: &Start, moves: &[QuotedMove], out: &mut String) -> usize {
    let mut position = start.position.clone();
    let mut number = start.first_move_number();
    for (at, quoted) in moves.iter().enumerate() {
        let turn = position.turn();
        let Some(san) = play(&mut position, *quoted) else {
            return at;
        };
        // Writing to a string does not fail.
        let _ = match turn {
            Color::White => write!(out, " {number}.{san}"),
            Color::Black if at == 0 => write!(out, " {number}...{san}"),
            Color::Black => write!(out, " {san}"),
        };
        number += u32::from(turn == Color::Black);
    }
    moves.len()
}

fn play(position: &mut Position, (from, to, becomes): QuotedMove) -> Option<San> {
    let role = position.board().piece_at(from)?.role;
    let is_castling = role == Role::King && from.file().distance(to.file()) == 2;
    let m = if is_castling {
        position.castling_move(CastlingSide::from_king_side(from < to))?
    } else {
        let is_last = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
        let wanted = PieceMove {
            role,
            file: Some(from.file()),
            rank: Some(from.rank()),
            to,
            promotion: is_last.then_some(becomes),
        };
        position.find_move(wanted).ok()?
    };
    position.play(m).ok()
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;

    use super::*;

    fn line(fen: Option<&str>, moves: &[(Square, Square)]) -> (usize, String) {
        let start = fen.map_or_else(Start::default, |fen| {
            Start::from_fen(fen, CastlingMode::Standard).unwrap()
        });
        let moves: Vec<QuotedMove> = moves
            .iter()
            .map(|&(from, to)| (from, to, Role::Knight))
            .collect();
        let mut out = String::new();
        (append_quoted(&start, &moves, &mut out), out)
    }

    #[test]
    fn moves_are_numbered_up_to_one_that_is_not_legal() {
        use Square::{B1, C3, E2, E4, E5, E7};
        let moves = [(E2, E4), (E7, E5), (B1, C3), (E5, E4)];
        assert_eq!(line(None, &moves), (3, " 1.e4 e5 2.Nc3".to_owned()));
    }

    #[test]
    fn a_set_up_game_begins_with_its_number() {
        use Square::{A2, A8, B1, C2, E1, G1, H1};
        let fen = "r5k1/8/8/8/8/8/p7/1N2K2R b K - 0 41";
        let moves = [(A2, B1), (E1, G1), (A8, A2), (G1, H1), (A2, C2)];
        let told = " 41...axb1=N 42.O-O Ra2 43.Kh1 Rc2".to_owned();
        assert_eq!(line(Some(fen), &moves), (5, told));
        assert_eq!(line(Some(fen), &moves[1..]), (0, String::new()));
    }
}
