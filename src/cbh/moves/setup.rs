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
//! White's rooks; Black's stand on the same files. A rook without the right
//! to castle keeps the square where it stood once; [`encode`] writes its
//! corner.
//!
//! [`encode`]: CastlingRooks::encode

use shakmaty::{Bitboard, CastlingSide, Color, File, Piece, Rank, Role, Setup, Square};

use super::chess960;
use super::pieces::{number, square};
use crate::bytes::{ByteReader, Malformed};
use crate::game::{Board, Position, Start};

/// Size of the start position.
pub(super) const SETUP_BYTES: usize = 28;

/// The castling bits.
const WHITE_LONG: u8 = 1;
const WHITE_SHORT: u8 = 2;
const BLACK_LONG: u8 = 4;
const BLACK_SHORT: u8 = 8;

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

    /// Those that have the right to castle in `position`.
    pub(super) fn of(position: &Position) -> CastlingRooks {
        let rights = position.castling_rights();
        let rook = |color, side: CastlingSide| {
            let king = position.board().king_of(color)?;
            let rooks = rights & Bitboard::from_rank(king.rank());
            let is_there = |rook: &Square| (king < *rook) == side.is_king_side();
            rooks.into_iter().find(is_there)
        };
        CastlingRooks {
            white_long: rook(Color::White, CastlingSide::QueenSide),
            white_short: rook(Color::White, CastlingSide::KingSide),
            black_long: rook(Color::Black, CastlingSide::QueenSide),
            black_short: rook(Color::Black, CastlingSide::KingSide),
        }
    }

    /// Each rook with its castling bit.
    fn with_bits(self) -> [(u8, Option<Square>); 4] {
        [
            (WHITE_LONG, self.white_long),
            (WHITE_SHORT, self.white_short),
            (BLACK_LONG, self.black_long),
            (BLACK_SHORT, self.black_short),
        ]
    }

    /// The castling byte: a bit for every rook.
    fn bits(self) -> u8 {
        let given = self.with_bits().into_iter();
        given
            .filter(|(_, rook)| rook.is_some())
            .fold(0, |bits, (bit, _)| bits | bit)
    }

    /// Appends the eight bytes of Chess960.
    pub(super) fn encode(self, board: &Board, out: &mut Vec<u8>) {
        let king = |color, home| number(board.king_of(color).unwrap_or(home));
        let rook = |rook: Option<Square>, home| number(rook.unwrap_or(home));
        out.extend([
            king(Color::White, Square::E1),
            king(Color::Black, Square::E8),
            rook(self.white_short, Square::H1),
            rook(self.white_long, Square::A1),
            rook(self.black_short, Square::H8),
            rook(self.black_long, Square::A8),
        ]);
        out.extend(chess960::start_number(board).to_be_bytes());
    }

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
    /// The set-up of a start. A move number beyond 255 is stored as 255.
    pub(super) fn of(start: &Start) -> StoredSetup {
        let position = &start.position;
        let mut setup = Setup::empty();
        setup.board = position.board().into();
        setup.turn = position.turn();
        setup.ep_square = position.en_passant_square();
        StoredSetup {
            setup,
            castling: CastlingRooks::of(position).bits(),
            move_number: u8::try_from(start.move_number).unwrap_or(u8::MAX),
        }
    }

    /// Appends the 28 bytes; `None` if the pieces do not fit into them.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Option<()> {
        let file = |square: Square| u8::from(square.file()) + 1;
        let turn = self.setup.turn.fold_wb(0, 0x10);
        let turn_and_file = turn | self.setup.ep_square.map_or(0, file);
        let mut bits = BitsWriter::new();
        for at in 0..64 {
            match self.setup.board.piece_at(square(at)) {
                None => bits.put(1, 0)?,
                Some(Piece { color, role }) => {
                    bits.put(2, color.fold_wb(0b10, 0b11))?;
                    bits.put(3, encode_kind(role))?;
                }
            }
        }
        out.extend([1, turn_and_file, self.castling, self.move_number]);
        out.extend(bits.bytes);
        Some(())
    }

    /// Reads the 28 bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`] for a piece that there is none of, a board without pieces,
    /// or if the 192 bits end before h8.
    pub(super) fn decode(reader: &mut ByteReader<'_>) -> Result<StoredSetup, Malformed> {
        let at = reader.position();
        let fault = |what: &str| Malformed::new(at, format!("start position: {what}"));
        reader.skip(1)?;
        let turn_and_file = reader.u8()?;
        let castling = reader.u8()?;
        let move_number = reader.u8()?;
        let mut bits = SetupBits::new(reader.take(SETUP_BYTES - 4)?);
        let mut setup = Setup::empty();
        setup.board = shakmaty::Board::empty();
        setup.turn = Color::from_white(turn_and_file & 0x10 == 0);
        for number in 0..64 {
            let too_short = || fault("more pieces than its bits can hold");
            if bits.next(1).ok_or_else(too_short)? == 0 {
                continue;
            }
            let color = Color::from_white(bits.next(1).ok_or_else(too_short)? == 0);
            let kind = bits.next(3).ok_or_else(too_short)?;
            let role = decode_kind(kind).ok_or_else(|| fault("a piece of no kind"))?;
            setup
                .board
                .set_piece_at(square(number), Piece { color, role });
        }
        if setup.board.occupied().is_empty() {
            return Err(fault("no piece"));
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
        setup.castling_rights = added;
        for (bit, rook) in rooks.with_bits() {
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

fn decode_kind(kind: u8) -> Option<Role> {
    Some(match kind {
        1 => Role::King,
        2 => Role::Queen,
        3 => Role::Knight,
        4 => Role::Bishop,
        5 => Role::Rook,
        6 => Role::Pawn,
        _ => return None,
    })
}

fn encode_kind(role: Role) -> u8 {
    match role {
        Role::King => 1,
        Role::Queen => 2,
        Role::Knight => 3,
        Role::Bishop => 4,
        Role::Rook => 5,
        Role::Pawn => 6,
    }
}

/// Writes bits into the 192 that there are, from the highest of each byte on.
struct BitsWriter {
    bytes: [u8; SETUP_BYTES - 4],
    at: usize,
}

impl BitsWriter {
    fn new() -> BitsWriter {
        BitsWriter {
            bytes: [0; SETUP_BYTES - 4],
            at: 0,
        }
    }

    /// Appends the lowest `count` bits of `value`; `None` if they do not fit.
    fn put(&mut self, count: usize, value: u8) -> Option<()> {
        for bit in (0..count).rev() {
            let byte = self.bytes.get_mut(self.at / 8)?;
            *byte |= (value >> bit & 1) << (7 - self.at % 8);
            self.at += 1;
        }
        Some(())
    }
}

/// Reads bits from the highest of each byte on.
struct SetupBits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> SetupBits<'a> {
    fn new(bytes: &'a [u8]) -> SetupBits<'a> {
        SetupBits { bytes, at: 0 }
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
    use shakmaty::CastlingMode;
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
        let mut again = Vec::new();
        let stored = StoredSetup::decode(&mut ByteReader::new(&bytes)).unwrap();
        stored.encode(&mut again).unwrap();
        assert_eq!(again, bytes);
    }

    #[test]
    fn kings_and_rooks_of_chess960_are_written_with_the_right_number() {
        let fen: Fen = "bnrkrbnq/pppppppp/8/8/8/8/PPPPPPPP/BNRKRBNQ w KQkq - 0 1"
            .parse()
            .unwrap();
        let start = Start::set_up(fen.into_setup(), CastlingMode::Chess960, 1);
        let rooks = CastlingRooks::of(&start.position);
        let mut bytes = Vec::new();
        rooks.encode(start.position.board(), &mut bytes);
        // Kings d1 d8, White's rooks e1 c1, Black's e8 c8, number 370.
        assert_eq!(bytes, [0x18, 0x1f, 0x20, 0x10, 0x27, 0x17, 0x01, 0x72]);
        let read = CastlingRooks::decode(&mut ByteReader::new(&bytes), false);
        assert_eq!(read.unwrap(), rooks);
        assert_eq!(StoredSetup::of(&start).castling, 0b1111);
    }

    #[test]
    fn thirty_two_pieces_fit_and_thirty_three_do_not() {
        let mut setup = Setup::initial();
        let mut bytes = Vec::new();
        let stored = |setup: &Setup| {
            StoredSetup::of(&Start::set_up(setup.clone(), CastlingMode::Standard, 1))
        };
        assert_eq!(stored(&setup).encode(&mut bytes), Some(()));
        assert_eq!(bytes.len(), SETUP_BYTES);
        setup.board.set_piece_at(Square::E4, Color::White.queen());
        assert_eq!(stored(&setup).encode(&mut bytes), None);
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
