//! The key: the encoding of a board in 22 bytes, which also is the sort key of
//! the elements.
//!
//! The bits of [`board_code`](crate::book) come first. Without a gap, they are
//! followed by four bits with the file of a pawn that has just made a double
//! step (0 for none, 1 to 8 for a to h), four bits of castling rights (those of
//! the other side first), and zero bits.

use crate::book::{BitReader, Bits, CanonicalBoard, Castling, push_squares, read_squares};
use crate::bytes::Malformed;

/// Length of a key in bytes.
pub(super) const KEY_BYTES: usize = 22;

/// An encoded board.
pub(super) type KvetkaKey = [u8; KEY_BYTES];

/// Encodes a board; `None` if it needs more than 22 bytes, so that no book can
/// hold it.
pub(super) fn key_of(board: &CanonicalBoard) -> Option<KvetkaKey> {
    let mut bits = Bits::default();
    push_squares(board.squares(), &mut bits)?;
    bits.push(board.en_passant().map_or(0, |file| file + 1), 4)?;
    bits.push(board.castling().0, 4)?;
    if bits.len() > 8 * KEY_BYTES {
        return None;
    }
    bits.to_bytes().first_chunk().copied()
}

/// Decodes a board.
///
/// # Errors
///
/// [`Malformed`] if it is not the board of a position.
pub(super) fn board_of(key: &KvetkaKey) -> Result<CanonicalBoard, Malformed> {
    let wrong = |what: &str| Malformed::new(0, what);
    let ends = || wrong("the key ends before its board");
    let mut bits = BitReader::new(key, 8 * KEY_BYTES);
    let squares = read_squares(&mut bits).ok_or_else(ends)?;
    let stepped = bits.bits(4).ok_or_else(ends)?;
    let castling = bits.bits(4).ok_or_else(ends)?;
    while let Some(bit) = bits.bit() {
        if bit != 0 {
            return Err(wrong("bits follow the board of the key"));
        }
    }
    CanonicalBoard::stored(squares, stepped.checked_sub(1), Castling(castling))
        .ok_or_else(|| wrong("a board that no position has"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "b60f7960f3a60f58b078e0c1e1a60f5960f3b60f70f0";

    fn hex(key: &KvetkaKey) -> String {
        data_encoding::HEXLOWER.encode(key)
    }

    fn board(fen: &str) -> CanonicalBoard {
        CanonicalBoard::from_fen(fen.as_bytes()).unwrap()
    }

    #[test]
    fn the_start_position_has_the_key_that_is_known() {
        let start = board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -");
        assert_eq!(hex(&key_of(&start).unwrap()), START);
    }

    #[test]
    fn a_key_and_its_board_are_the_same() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
            "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6",
            "r3k2r/8/8/8/8/8/8/R3K2R w Kq -",
            "8/8/4k3/8/8/3K4/8/8 w - -",
        ] {
            let board = board(fen);
            let key = key_of(&board).unwrap();
            let again = board_of(&key).unwrap();
            assert_eq!(key_of(&again), Some(key), "{fen}");
            assert_eq!(again.squares(), board.squares(), "{fen}");
            assert_eq!(again.castling(), board.castling(), "{fen}");
            assert_eq!(again.en_passant(), board.en_passant(), "{fen}");
        }
    }

    #[test]
    fn a_board_too_long_for_22_bytes_is_in_no_book() {
        let many = board("qqqqkqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/QQQQKQQQ w - -");
        assert_eq!(key_of(&many), None);
    }

    #[test]
    fn keys_of_no_board_are_refused() {
        for key in [[0; KEY_BYTES], [0xFF; KEY_BYTES]] {
            assert!(board_of(&key).is_err());
        }
        let mut key = key_of(&board("8/8/4k3/8/8/4K3/8/8 w - -")).unwrap();
        key[21] = 1;
        assert!(board_of(&key).is_err());
    }
}
