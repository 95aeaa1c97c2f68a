//! The start position of a game that does not begin as usual.
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | 1 |
//! | 1 | 1 | bits 0–3 en passant file 1–8, bit 4 Black to move |
//! | 2 | 1 | castling: 1 White long, 2 White short, 4 Black long, 8 Black short |
//! | 3 | 1 | number of the next move; 0 means 1 too |
//! | 4 | 24 | a bit per empty square, five per piece, a1 a2 … h8, from the highest bit |
//!
//! A piece is a 1, its colour (1 Black), and three bits: 1 king, 2 queen,
//! 3 knight, 4 bishop, 5 rook, 6 pawn.
//!
//! Chess960 games add the squares of the white king, black king, White's
//! h-side rook, White's a-side rook, Black's h-side and a-side rook, and the
//! number of the start position (u16, often wrong). A short form ends after
//! White's rooks; Black's stand on the same files.

use shakmaty::{Bitboard, Board, Color, File, Piece, Rank, Role, Setup, Square};

use super::pieces::square;
use crate::bytes::{ByteReader, Malformed};

/// Size of the start position.
pub(super) const SETUP_BYTES: usize = 28;

/// A start position as stored.
#[derive(Clone, Debug)]
pub(super) struct StoredSetup {
    /// Pieces, side to move and en passant square; castling rights are not
    /// in it yet.
    setup: Setup,
    /// The castling bits.
    castling: u8,
    /// Number of the next move, 0 for 1.
    pub(super) move_number: u8,
}

/// The rooks that castle, by the bits of the castling byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CastlingRooks {
    white_long: Option<Square>,
    white_short: Option<Square>,
    black_long: Option<Square>,
    black_short: Option<Square>,
}

impl CastlingRooks {
    /// The corners.
    pub(super) const USUAL: CastlingRooks = CastlingRooks {
        white_long: Some(Square::A1),
        white_short: Some(Square::H1),
        black_long: Some(Square::A8),
        black_short: Some(Square::H8),
    };

    /// Those of a Chess960 block of eight bytes, or four if `short`. A byte
    /// that is no square is a rook that does not castle.
    pub(super) fn decode(
        reader: &mut ByteReader<'_>,
        short: bool,
    ) -> Result<CastlingRooks, Malformed> {
        let rook = |byte: u8| (byte < 64).then(|| square(byte));
        reader.skip(2)?;
        let (white_short, white_long) = (rook(reader.u8()?), rook(reader.u8()?));
        if short {
            let opposite = |rook: Option<Square>| {
                rook.map(|rook| Square::from_coords(rook.file(), Rank::Eighth))
            };
            return Ok(CastlingRooks {
                white_long,
                white_short,
                black_long: opposite(white_long),
                black_short: opposite(white_short),
            });
        }
        let (black_short, black_long) = (rook(reader.u8()?), rook(reader.u8()?));
        reader.skip(2)?;
        Ok(CastlingRooks {
            white_long,
            white_short,
            black_long,
            black_short,
        })
    }
}

impl StoredSetup {
    /// Reads the 28 bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`] for a piece that there is none of, or if the 192 bits
    /// end before h8.
    pub(super) fn decode(reader: &mut ByteReader<'_>) -> Result<StoredSetup, Malformed> {
        let at = reader.position();
        let fault = |what: &str| Malformed::new(at, format!("start position: {what}"));
        reader.skip(1)?;
        let turn_and_file = reader.u8()?;
        let castling = reader.u8()?;
        let move_number = reader.u8()?;
        let mut bits = Bits::new(reader.take(SETUP_BYTES - 4)?);
        let mut setup = Setup::empty();
        setup.board = Board::empty();
        setup.turn = Color::from_white(turn_and_file & 0x10 == 0);
        for number in 0..64 {
            let too_short = || fault("more pieces than its bits can hold");
            if bits.next(1).ok_or_else(too_short)? == 0 {
                continue;
            }
            let color = Color::from_white(bits.next(1).ok_or_else(too_short)? == 0);
            let role = match bits.next(3).ok_or_else(too_short)? {
                1 => Role::King,
                2 => Role::Queen,
                3 => Role::Knight,
                4 => Role::Bishop,
                5 => Role::Rook,
                6 => Role::Pawn,
                _ => return Err(fault("a piece of no kind")),
            };
            setup
                .board
                .set_piece_at(square(number), Piece { color, role });
        }
        setup.ep_square = match turn_and_file & 0x0f {
            file @ 1..=8 => Some(Square::from_coords(
                File::new(u32::from(file) - 1),
                setup.turn.fold_wb(Rank::Sixth, Rank::Third),
            )),
            _ => None,
        };
        Ok(StoredSetup {
            setup,
            castling,
            move_number,
        })
    }

    /// The set-up with castling rights for those of `rooks` that are given
    /// the right, and for the rooks on `added`.
    pub(super) fn with_castling(&self, rooks: CastlingRooks, added: Bitboard) -> Setup {
        let mut setup = self.setup.clone();
        let rights = [
            (1, rooks.white_long),
            (2, rooks.white_short),
            (4, rooks.black_long),
            (8, rooks.black_short),
        ];
        setup.castling_rights = added;
        for (bit, rook) in rights {
            if self.castling & bit != 0
                && let Some(rook) = rook
            {
                setup.castling_rights.add(rook);
            }
        }
        setup.castling_rights &= setup.board.rooks();
        setup
    }
}

/// Reads bits from the highest of each byte on.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0 }
    }

    fn next(&mut self, count: usize) -> Option<u8> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value = value << 1 | byte >> (7 - self.at % 8) & 1;
            self.at += 1;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::fen::Fen;

    use super::*;

    fn fen(hex: &[u8; SETUP_BYTES]) -> String {
        let stored = StoredSetup::decode(&mut ByteReader::new(hex)).unwrap();
        let setup = stored.with_castling(CastlingRooks::USUAL, Bitboard::EMPTY);
        Fen::try_from_setup(setup).unwrap().to_string()
    }

    #[test]
    fn a_stored_position_is_read_square_by_square() {
        // Black to move, f-file en passant, Black may castle long, move 53.
        let mut bytes = [0; SETUP_BYTES];
        bytes[..15].copy_from_slice(&[
            0x01, 0x16, 0x04, 0x35, 0x01, 0xd0, 0x00, 0x00, 0x04, 0x5e, 0x19, 0x16, 0x00, 0x00,
            0x00,
        ]);
        // The a-file is empty but for a8, a black rook: 0000000 11101 …
        assert_eq!(fen(&bytes), "r3k3/8/8/8/4pP2/8/4K3/8 b q f3 0 1");
    }

    #[test]
    fn pieces_of_no_kind_and_too_many_pieces_are_faults() {
        let mut bytes = [0xff; SETUP_BYTES];
        assert!(StoredSetup::decode(&mut ByteReader::new(&bytes)).is_err());
        // 1 0110 white pawns without end: 192 bits hold 38 of them.
        for (at, byte) in bytes[4..].iter_mut().enumerate() {
            *byte = [0xb5, 0xad, 0x6b, 0x5a, 0xd6][at % 5];
        }
        assert!(StoredSetup::decode(&mut ByteReader::new(&bytes)).is_err());
    }
}
