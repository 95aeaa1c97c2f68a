//! The signature: the encoding of a board in a CTG book. A header byte, the
//! bits of the squares, then further properties of the position.
//!
//! | bits of the header byte | meaning |
//! |---|---|
//! | `0x1F` | length of the signature in bytes, this one included, 2 to 31 |
//! | `0x20` | three bits with an en passant file follow |
//! | `0x40` | four bits with castling rights follow, not all zero |
//! | `0x80` | zero |
//!
//! The bits of [`board_code`](crate::book) come first. The further bits are
//! right-aligned in the last byte, with zero bits between. If there are none,
//! at least one zero bit ends the signature.

use crate::book::{BitReader, Bits, CanonicalBoard, Castling, push_squares, read_squares};
use crate::bytes::Malformed;

/// Bits of the header byte.
const LENGTH: u8 = 0x1F;
const EN_PASSANT: u8 = 0x20;
const CASTLING: u8 = 0x40;

/// Maximum length of a signature in bytes.
const MAX_BYTES: usize = 31;

/// An encoded signature.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signature {
    bytes: [u8; MAX_BYTES + 2],
    len: u8,
}

impl Signature {
    /// Encodes the signature of a board; `None` if it needs more than 31 bytes,
    /// so that no book can hold it.
    pub(super) fn of(board: &CanonicalBoard) -> Option<Signature> {
        let mut bits = Bits::default();
        push_squares(board.squares(), &mut bits)?;
        let Castling(castling) = board.castling();
        let tail = 3 * u32::from(board.en_passant().is_some()) + 4 * u32::from(castling != 0);
        if tail == 0 {
            bits.push(0, 1)?;
        }
        let odd = (bits.len() + tail as usize) % 8;
        bits.push(0, u32::try_from((8 - odd) % 8).ok()?)?;
        let mut flags = 0;
        if let Some(file) = board.en_passant() {
            bits.push(file, 3)?;
            flags |= EN_PASSANT;
        }
        if castling != 0 {
            bits.push(castling, 4)?;
            flags |= CASTLING;
        }
        let len = u8::try_from(1 + bits.len() / 8)
            .ok()
            .filter(|&len| len <= LENGTH)?;
        let mut bytes = [0; MAX_BYTES + 2];
        let (first, rest) = bytes.split_first_mut()?;
        *first = len | flags;
        rest.copy_from_slice(&bits.to_bytes());
        Some(Signature { bytes, len })
    }

    /// The bytes as stored in a book.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// Returns the length in bytes of the signature with this first byte.
pub(super) fn len(header: u8) -> usize {
    usize::from(header & LENGTH)
}

/// Decodes the board of a signature.
///
/// # Errors
///
/// [`Malformed`] if it is not the board of a position.
pub(super) fn decode(signature: &[u8]) -> Result<CanonicalBoard, Malformed> {
    let Some((&header, code)) = signature.split_first() else {
        return Err(Malformed::new(0, "an empty signature"));
    };
    let has = |flag: u8| usize::from(header & flag != 0);
    let tail = 3 * has(EN_PASSANT) + 4 * has(CASTLING);
    let Some(len) = (8 * code.len()).checked_sub(tail) else {
        return Err(Malformed::new(0, "a signature without a board"));
    };
    let mut bits = BitReader::new(code, len);
    let squares = read_squares(&mut bits)
        .ok_or_else(|| Malformed::new(0, "the signature ends before its board"))?;
    if bits.left() > 8 {
        return Err(Malformed::new(
            0,
            format!("{} bits follow the board", bits.left()),
        ));
    }
    while let Some(bit) = bits.bit() {
        if bit != 0 {
            return Err(Malformed::new(0, "bits follow the board"));
        }
    }
    let mut bits = BitReader::new(code, 8 * code.len());
    bits.skip(len);
    let en_passant = (header & EN_PASSANT != 0).then(|| bits.bits(3)).flatten();
    let castling = (header & CASTLING != 0).then(|| bits.bits(4)).flatten();
    CanonicalBoard::stored(squares, en_passant, Castling(castling.unwrap_or(0)))
        .ok_or_else(|| Malformed::new(0, "a board that no position has"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_read_from_its_own_signature() {
        for (fen, flags) in [
            ("8/8/8/8/8/4k3/8/4K2R w - -", 0),
            ("4k3/8/8/8/8/8/8/4K2R w K -", CASTLING),
            ("4k3/8/8/3Pp3/8/8/8/4K3 w - e6", EN_PASSANT),
            ("r3k3/8/8/3Pp3/8/8/8/4K2R w Kq e6", EN_PASSANT | CASTLING),
            (
                "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
                CASTLING,
            ),
        ] {
            let board = CanonicalBoard::from_fen(fen.as_bytes()).unwrap();
            let signature = Signature::of(&board).unwrap();
            let bytes = signature.as_bytes();
            assert_eq!(bytes[0] & !LENGTH, flags, "{fen}");
            assert_eq!(len(bytes[0]), bytes.len(), "{fen}");
            assert_eq!(decode(bytes).unwrap().key(), board.key(), "{fen}");
        }
    }

    #[test]
    fn a_signature_that_is_cut_or_goes_on_is_refused() {
        let board = CanonicalBoard::from_fen(b"4k3/8/8/8/8/8/8/4K2R w K -").unwrap();
        let signature = Signature::of(&board).unwrap();
        let whole = signature.as_bytes();
        for end in 0..whole.len() {
            assert!(decode(&whole[..end]).is_err(), "{end}");
        }
        let (last, before) = whole.split_last().unwrap();
        assert!(decode(&[before, &[0, *last]].concat()).is_err());
    }
}
