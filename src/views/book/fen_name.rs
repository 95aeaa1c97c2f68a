//! Positions as file names: a FEN with `:` for `/` and `_` for blanks.

use shakmaty::CastlingMode;
use shakmaty::fen::Fen;

use crate::book::board_fields;
use crate::game::Position;

/// The longest FEN of a position, and more.
const MOST_BYTES: usize = 128;

/// The position that a name means, of four fields or six; `None` if it is no
/// FEN, or that of a position the rules do not allow.
pub(super) fn position(name: &[u8]) -> Option<Position> {
    if name.len() > MOST_BYTES || name.iter().any(|byte| matches!(byte, b'/' | b' ')) {
        return None;
    }
    let fen: Vec<u8> = name.iter().map(|&byte| of_fen(byte)).collect();
    let fields = fen.split(|&byte| byte == b' ').count();
    if fields != 4 && fields != 6 {
        return None;
    }
    let setup = Fen::from_ascii(&fen).ok()?.into_setup();
    let position = Position::from_setup(setup.clone(), CastlingMode::Standard);
    let is_as_said = position.castling_rights() == setup.castling_rights
        && (setup.ep_square.is_none() || position.en_passant_square() == setup.ep_square);
    (position.is_regular() && is_as_said).then_some(position)
}

/// The name of a position: four fields, with a capture in passing where books
/// tell positions by it.
pub(super) fn name(position: &Position) -> String {
    let name = board_fields(position).into_bytes().into_iter().map(of_name);
    name.map(char::from).collect()
}

fn of_fen(byte: u8) -> u8 {
    match byte {
        b':' => b'/',
        b'_' => b' ',
        other => other,
    }
}

fn of_name(byte: u8) -> u8 {
    match byte {
        b'/' => b':',
        b' ' => b'_',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_has_one_name_of_four_fields() {
        let start = "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-";
        for given in [start, &format!("{start}_0_1"), &format!("{start}_12_34")] {
            assert_eq!(name(&position(given.as_bytes()).unwrap()), start, "{given}");
        }
        // Nobody could take in passing, or somebody could.
        for (given, expected) in [
            (
                "rnbqkbnr:pppppppp:8:8:4P3:8:PPPP1PPP:RNBQKBNR_b_KQkq_e3",
                "rnbqkbnr:pppppppp:8:8:4P3:8:PPPP1PPP:RNBQKBNR_b_KQkq_-",
            ),
            (
                "rnbqkbnr:ppp1pppp:8:8:3pP3:8:PPPP1PPP:RNBQKBNR_b_KQkq_e3",
                "rnbqkbnr:ppp1pppp:8:8:3pP3:8:PPPP1PPP:RNBQKBNR_b_KQkq_e3",
            ),
            // A pinned pawn stands beside it: books differ from FEN.
            (
                "8:8:8:8:k2Pp2Q:8:8:3K4_b_-_d3",
                "8:8:8:8:k2Pp2Q:8:8:3K4_b_-_d3",
            ),
        ] {
            assert_eq!(name(&position(given.as_bytes()).unwrap()), expected);
        }
    }

    #[test]
    fn what_is_no_position_has_no_name() {
        for given in [
            "",
            "e4",
            "8:8:8:8:8:8:8:8_w_-_-",
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w",
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq",
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-_0",
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBN1_w_KQkq_-",
            "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_e3",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
            "4k3:8:8:8:8:8:8:R3K2R_w_KQk_-",
            "4k3:8:8:8:8:8:8:4KQ2_b_-_-_0_1_2",
            "4k3:4Q3:8:8:8:8:8:4K3_w_-_-",
        ] {
            assert!(position(given.as_bytes()).is_none(), "{given}");
        }
        assert!(position(&[b'_'; 300]).is_none());
        assert!(position(b"\xff\xfe_w_-_-").is_none());
    }
}
