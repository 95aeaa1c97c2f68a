//! The moves of a quoted game: the main line only, in the simple encoding,
//! then a null move at which the line ends. Before them, if a flag says so, the
//! position that it begins from.

use super::cipher::Cipher;
use super::setup::{CastlingRooks, StoredSetup};
use super::word;
use crate::bytes::{ByteReader, Malformed};
use crate::game::{QuotedMove, Start};
use shakmaty::{Bitboard, CastlingMode, Square};

/// The null move, with the bit for the end of a line.
const END: u16 = 0x4000;

/// Returns the stored form of the moves of a quoted game.
pub(crate) fn encode_quoted(moves: &[QuotedMove]) -> Vec<u8> {
    let words = moves
        .iter()
        .map(|&(from, to, role)| word::encode(from, to, Some(role)));
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

/// Returns the moves up to a null move.
pub(in crate::cbh) fn decode_quoted(stored: &[u8]) -> Vec<QuotedMove> {
    let (words, _) = stored.as_chunks();
    let mut moves = Vec::with_capacity(words.len());
    let mut count: u8 = 0;
    for word in words {
        let word = word.map(|byte| Cipher::QUOTATION.decode(byte, count));
        let word = u16::from_be_bytes(word);
        let (from, to) = word::squares(word);
        if (from, to) == (Square::A1, Square::A1) {
            break;
        }
        moves.push((from, to, word::promotion(word)));
        count = count.wrapping_add(1);
    }
    moves
}

/// Reads the position that a quoted game begins from.
///
/// # Errors
///
/// [`Malformed`] if there is none.
pub(in crate::cbh) fn quoted_start(reader: &mut ByteReader<'_>) -> Result<Start, Malformed> {
    let stored = StoredSetup::decode(reader)?;
    let setup = stored.with_castling(CastlingRooks::USUAL, Bitboard::EMPTY);
    let number = u16::from(stored.move_number);
    Ok(Start::set_up(setup, CastlingMode::Standard, number))
}

#[cfg(test)]
mod tests {
    use shakmaty::Role;

    use super::*;

    #[test]
    fn quoted_moves_end_in_a_null_move() {
        // source: quotations without moves in real bases.
        assert_eq!(encode_quoted(&[]), [0xb5, 0xaf]);
        assert_eq!(decode_quoted(&[0xb5, 0xaf]), []);
        // source: an independent decoder reads 1.e4 e5 2.Nf3 from this.
        let moves = [
            (Square::E2, Square::E4, Role::Queen),
            (Square::E7, Square::E5, Role::Queen),
            (Square::G1, Square::F3, Role::Queen),
        ];
        let bytes = encode_quoted(&moves);
        assert_eq!(data_encoding::HEXLOWER.encode(&bytes), "df936cd8f859b8b2");
        assert_eq!(decode_quoted(&bytes), moves);
        assert_eq!(decode_quoted(&bytes[..5]), moves[..2]);
    }

    #[test]
    fn a_quoted_game_may_begin_from_a_position() {
        let fen = "r3k3/8/8/8/4pP2/8/4K3/8 b q f3 0 53";
        let start = Start::from_fen(fen, CastlingMode::Standard).unwrap();
        let mut stored = Vec::new();
        StoredSetup::of(&start).encode(&mut stored).unwrap();
        let length = stored.len();
        stored.extend([1, 2]);
        let mut reader = ByteReader::new(&stored);
        let read = quoted_start(&mut reader).unwrap();
        assert_eq!(read.position, start.position);
        assert_eq!(reader.rest(), [1, 2]);
        assert!(quoted_start(&mut ByteReader::new(&stored[..length - 1])).is_err());
    }
}
