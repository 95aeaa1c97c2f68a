//! Stands in for the room `pgn` until it is furnished.

use crate::cbh::Defect;
use crate::game::Game;

/// Appends a text as long as that of a usual game.
pub fn encode(_game: &Game, _defects: &[Defect], out: &mut Vec<u8>) {
    out.extend_from_slice(b"[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"?\"]\n[Black \"?\"]\n[Result \"*\"]\n\n");
    for _ in 0..8 {
        out.extend_from_slice(
            b"1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3\n",
        );
    }
    out.extend_from_slice(b"*\n\n");
}
