//! The moves of a quoted game: the main line only, in the simple encoding,
//! then a null move at which the line ends.

use shakmaty::{Role, Square};

use super::cipher::Cipher;
use super::word;

/// The null move, with the bit for the end of a line.
const END: u16 = 0x4000;

/// A move of a quoted game: from, to, and what a pawn becomes. Castling is the
/// move of the king, from e1 to g1.
pub(crate) type QuotedMove = (Square, Square, Option<Role>);

/// Returns the stored form of the moves of a quoted game.
pub(crate) fn encode_quoted(moves: &[QuotedMove]) -> Vec<u8> {
    let words = moves
        .iter()
        .map(|&(from, to, role)| word::encode(from, to, role));
    let mut bytes = Vec::with_capacity(2 * moves.len() + 2);
    let mut count: u8 = 0;
    for word in words.chain([END]) {
        // Both bytes have the same shift.
        bytes.extend(
            word.to_be_bytes()
                .map(|byte| Cipher::QUOTATION.encode(byte, count)),
        );
        count = count.wrapping_add(1);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_moves_end_in_a_null_move() {
        // source: quotations without moves in real bases.
        assert_eq!(encode_quoted(&[]), [0xb5, 0xaf]);
        // source: an independent decoder reads 1.e4 e5 2.Nf3 from this.
        let moves = [
            (Square::E2, Square::E4, None),
            (Square::E7, Square::E5, None),
            (Square::G1, Square::F3, None),
        ];
        let bytes = encode_quoted(&moves);
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), "df936cd8f859b8b2");
        let shifted = (0_u8..).zip(bytes.chunks_exact(2));
        let words = shifted.map(|(count, word)| {
            let plain = [word[0], word[1]].map(|byte| Cipher::QUOTATION.decode(byte, count));
            u16::from_be_bytes(plain)
        });
        let words: Vec<u16> = words.collect();
        assert_eq!(
            words[..3]
                .iter()
                .map(|word| word::squares(*word))
                .collect::<Vec<_>>(),
            moves.map(|(from, to, _)| (from, to))
        );
        assert_eq!(words[3], END);
    }
}
