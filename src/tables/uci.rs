//! Moves in the notation of the Universal Chess Interface: `e2e4`, `e7e8q`;
//! castling is the king's move, in Chess960 its move onto the rook; a null move
//! is `0000`.

use shakmaty::{CastlingMode, Move, Square};

/// Number of codes: 64 squares from, 64 to, and what a pawn becomes.
pub(super) const CODES: u16 = 64 * 64 * 5;

/// What a pawn becomes, by the upper bits of a code.
const PROMOTIONS: [&str; 5] = ["", "n", "b", "r", "q"];

/// Returns a small number for a move: the square it begins on, that it ends
/// on times 64, and the piece a pawn becomes times 4096. A null move is 0.
pub(super) fn code(m: Option<Move>, mode: CastlingMode) -> u16 {
    let Some((m, from)) = m.and_then(|m| Some((m, m.from()?))) else {
        return 0;
    };
    let to = match (m.castling_side(), mode) {
        (Some(side), CastlingMode::Standard) => {
            Square::from_coords(side.king_to_file(), from.rank())
        }
        _ => m.to(),
    };
    // Roles are numbered in the order of `PROMOTIONS`, the pawn first.
    let piece = m.promotion().map_or(0, |role| role as u16 - 1);
    u16::from(u8::from(from)) | u16::from(u8::from(to)) << 6 | piece << 12
}

/// Appends the move with this code.
pub(super) fn append(code: u16, out: &mut Vec<u8>) {
    if code == 0 {
        return out.extend_from_slice(b"0000");
    }
    for shift in [0, 6] {
        // Six bits are a square.
        let square = Square::new(u32::from(code >> shift & 63));
        out.extend([square.file().char() as u8, square.rank().char() as u8]);
    }
    let promotion = PROMOTIONS.get(usize::from(code >> 12));
    out.extend_from_slice(promotion.copied().unwrap_or_default().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Role;

    #[test]
    fn each_code_has_its_word() {
        let promotion = Move::Normal {
            role: Role::Pawn,
            from: Square::E7,
            capture: Some(Role::Rook),
            to: Square::D8,
            promotion: Some(Role::Knight),
        };
        let castling = Move::Castle {
            king: Square::E1,
            rook: Square::H1,
        };
        for (m, mode, word) in [
            (None, CastlingMode::Standard, "0000"),
            (Some(promotion), CastlingMode::Standard, "e7d8n"),
            (Some(castling), CastlingMode::Standard, "e1g1"),
            (Some(castling), CastlingMode::Chess960, "e1h1"),
        ] {
            let code = code(m, mode);
            assert!(code < CODES);
            let mut written = Vec::new();
            append(code, &mut written);
            assert_eq!(written, word.as_bytes());
        }
    }
}
