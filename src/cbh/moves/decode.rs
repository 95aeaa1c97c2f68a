//! Blob → start position and move tree.

use shakmaty::{Bitboard, CastlingMode, CastlingSide, File, Move, Rank, Role, Square};

use super::cipher::Cipher;
use super::opcode::{OPCODES, Opcode};
use super::pieces::{PieceList, Slot};
use super::setup::{CastlingRooks, StoredSetup};
use super::word;
use super::{HEAD_BYTES, MAX_DEPTH, SET_UP};
use crate::bytes::{ByteReader, Malformed};
use crate::game::{Branch, Game, Line, Position, Start};

/// The size of the blob that begins with `head`, its four bytes included.
///
/// # Errors
///
/// [`Malformed`] if fewer than four bytes are there or the size is less.
pub(in crate::cbh) fn blob_size(head: &[u8]) -> Result<usize, Malformed> {
    let mut reader = ByteReader::new(head);
    reader.skip(1)?;
    let size = reader.u24_be()? as usize;
    if size < HEAD_BYTES {
        return Err(Malformed::new(1, format!("blob size is {size}")));
    }
    Ok(size)
}

/// Decodes blobs of games; its memory is reused from game to game.
#[derive(Debug, Default)]
pub struct MoveDecoder {
    /// Places to come back to, with the piece numbers there.
    stack: Vec<(Branch, PieceList)>,
}

/// Why decoding ended before the end of the game.
enum Stop {
    Fault(Malformed),
    /// A side castled with this rook without the right to.
    NoRight(Square, Malformed),
}

impl From<Malformed> for Stop {
    fn from(fault: Malformed) -> Stop {
        Stop::Fault(fault)
    }
}

impl MoveDecoder {
    /// Decodes `blob`, which is exactly one game, into `game`'s start and
    /// tree. `move_count` is the number of moves that the header claims for
    /// the main line; it decides between two readings of Chess960 games.
    ///
    /// Time and memory are linear in the blob.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where decoding ended; what could be read stands in
    /// `game`.
    pub fn decode(
        &mut self,
        blob: &[u8],
        move_count: u8,
        game: &mut Game,
    ) -> Result<(), Malformed> {
        let flags = blob.first().copied().unwrap_or(0);
        let encoding = Encoding::of_mode(flags & 0x3f)?;
        let mut reader = ByteReader::new(blob);
        reader.skip(HEAD_BYTES)?;
        if flags & SET_UP == 0 {
            game.start = Start::default();
            return self.stream(encoding, &reader, game).map_err(Stop::fault);
        }
        let stored = StoredSetup::decode(&mut reader)?;
        if !encoding.is_chess960 {
            return self.set_up(encoding, &stored, CastlingRooks::USUAL, &reader, game);
        }
        let long = self.chess960(encoding, &stored, reader.clone(), false, game);
        if long.is_ok() && claims_fit(game, move_count) {
            return long;
        }
        let short = self.chess960(encoding, &stored, reader.clone(), true, game);
        if short.is_ok() && claims_fit(game, move_count) {
            return short;
        }
        self.chess960(encoding, &stored, reader, false, game)
    }

    fn chess960(
        &mut self,
        encoding: Encoding,
        stored: &StoredSetup,
        mut reader: ByteReader<'_>,
        short: bool,
        game: &mut Game,
    ) -> Result<(), Malformed> {
        let rooks = CastlingRooks::decode(&mut reader, short)?;
        self.set_up(encoding, stored, rooks, &reader, game)
    }

    /// Decodes a game from a set-up position. Some old games castle without
    /// the right: where king and rook stand at home at the start, the right
    /// is added and the game read again.
    fn set_up(
        &mut self,
        encoding: Encoding,
        stored: &StoredSetup,
        rooks: CastlingRooks,
        reader: &ByteReader<'_>,
        game: &mut Game,
    ) -> Result<(), Malformed> {
        let mode = CastlingMode::from_chess960(encoding.is_chess960);
        let mut added = Bitboard::EMPTY;
        loop {
            let setup = stored.with_castling(rooks, added);
            game.start = Start::set_up(setup, mode, u16::from(stored.move_number));
            match self.stream(encoding, reader, game) {
                Err(Stop::NoRight(rook, fault)) if !added.contains(rook) => {
                    let more = stored.with_castling(rooks, added.with(rook));
                    let position = Position::from_setup(more, mode);
                    if !position.castling_rights().contains(rook) {
                        return Err(fault);
                    }
                    added.add(rook);
                }
                other => return other.map_err(Stop::fault),
            }
        }
    }

    fn stream(
        &mut self,
        encoding: Encoding,
        reader: &ByteReader<'_>,
        game: &mut Game,
    ) -> Result<(), Stop> {
        self.stack.clear();
        let start = &game.start.position;
        let mut stream = Stream {
            pieces: PieceList::new(start.board(), encoding.from_h8),
            line: Line::new(&mut game.tree, start),
            reader: reader.clone(),
            encoding,
            count: 0,
            stack: &mut self.stack,
            passed_over: None,
        };
        if encoding.is_compact {
            stream.compact()
        } else {
            stream.simple()
        }
    }
}

impl Stop {
    fn fault(self) -> Malformed {
        match self {
            Stop::Fault(fault) | Stop::NoRight(_, fault) => fault,
        }
    }
}

/// Whether the main line has as many moves as the header claims; a claim of
/// 255 means that many or more.
fn claims_fit(game: &Game, claimed: u8) -> bool {
    let black_begins = usize::from(game.start.position.turn().is_black());
    let plies = game.tree.main_line().count();
    let moves = if plies == 0 {
        0
    } else {
        (plies + 1 + black_begins) / 2
    };
    moves.min(255) == usize::from(claimed)
}

/// What an encoding mode means.
#[derive(Clone, Copy, Debug)]
struct Encoding {
    cipher: Cipher,
    is_compact: bool,
    is_chess960: bool,
    /// Pieces are numbered from h8 instead of a1.
    from_h8: bool,
}

impl Encoding {
    fn of_mode(mode: u8) -> Result<Encoding, Malformed> {
        let unsupported = || {
            let game = match mode {
                8 | 9 => " (losing chess)",
                63 => " (an illegal position)",
                _ => "",
            };
            Malformed::new(0, format!("encoding mode {mode}{game} is not supported"))
        };
        if matches!(mode, 8 | 9) {
            return Err(unsupported());
        }
        let is_chess960 = mode >= 10;
        Ok(Encoding {
            cipher: Cipher::of_mode(mode).ok_or_else(unsupported)?,
            is_compact: mode & 1 == 0 || is_chess960,
            is_chess960,
            from_h8: if is_chess960 {
                mode == 11
            } else {
                mode & 2 != 0
            },
        })
    }
}

/// A move stream on its way into a tree.
struct Stream<'a, 'g> {
    encoding: Encoding,
    reader: ByteReader<'a>,
    /// Moves so far, all lines together, modulo 256.
    count: u8,
    pieces: PieceList,
    line: Line<'g>,
    stack: &'a mut Vec<(Branch, PieceList)>,
    /// The first opcode without a meaning.
    passed_over: Option<Malformed>,
}

impl Stream<'_, '_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = self.reader.u8().ok()?;
        Some(self.encoding.cipher.decode(byte, self.count))
    }

    fn word(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.next()?, self.next()?]))
    }

    fn compact(&mut self) -> Result<(), Stop> {
        while let Some(code) = self.next() {
            match OPCODES
                .get(usize::from(code))
                .copied()
                .unwrap_or(Opcode::Unused)
            {
                Opcode::Step(slot, files, ranks) => self.step(slot, files, ranks)?,
                Opcode::PawnStep(slot, files, ranks) => {
                    let sign = self.line.position().turn().fold_wb(1, -1);
                    self.step(slot, files * sign, ranks * sign)?;
                }
                Opcode::CastleShort => self.castle(CastlingSide::KingSide)?,
                Opcode::CastleLong => self.castle(CastlingSide::QueenSide)?,
                Opcode::Null => self.null(),
                Opcode::TwoBytes => self.two_bytes()?,
                Opcode::Ignore => {}
                Opcode::Push => self.push()?,
                Opcode::Pop => {
                    if !self.pop() {
                        return self.end();
                    }
                }
                Opcode::Unused => self.pass_over(code),
            }
        }
        self.end_of_data()
    }

    fn simple(&mut self) -> Result<(), Stop> {
        while let Some(word) = self.word() {
            if word & 0x8000 != 0 {
                self.push()?;
            }
            let (mut from, mut to) = word::squares(word);
            if (from, to) == (Square::A1, Square::A1) {
                self.null();
            } else {
                if self.encoding.from_h8 {
                    (from, to) = (to, from);
                }
                self.play_squares(from, to, word::promotion(word))?;
            }
            if word & 0x4000 != 0 && !self.pop() {
                return self.end();
            }
        }
        self.end_of_data()
    }

    /// The data may end without an end marker; but not inside a variation.
    fn end_of_data(&self) -> Result<(), Stop> {
        match self.stack.len() {
            0 => self.end(),
            depth => Err(self.fault(format!("the data end inside {depth} variations"))),
        }
    }

    /// The game is complete; but opcodes passed over must be told.
    fn end(&self) -> Result<(), Stop> {
        self.passed_over
            .clone()
            .map_or(Ok(()), |fault| Err(Stop::Fault(fault)))
    }

    #[cold]
    fn pass_over(&mut self, code: u8) {
        let at = self.reader.position().saturating_sub(1);
        self.passed_over
            .get_or_insert_with(|| Malformed::new(at, format!("opcode {code} has no meaning")));
    }

    fn push(&mut self) -> Result<(), Stop> {
        if self.stack.len() == MAX_DEPTH {
            return Err(self.fault(format!("variations nest deeper than {MAX_DEPTH}")));
        }
        self.stack.push((self.line.branch(), self.pieces.clone()));
        Ok(())
    }

    /// Goes back to the last remembered place; false if there is none left.
    fn pop(&mut self) -> bool {
        match self.stack.pop() {
            Some((branch, pieces)) => {
                self.line.resume(branch);
                self.pieces = pieces;
                true
            }
            None => false,
        }
    }

    fn null(&mut self) {
        self.line.play_null();
        self.count = self.count.wrapping_add(1);
    }

    fn castle(&mut self, side: CastlingSide) -> Result<(), Stop> {
        let position = self.line.position();
        let color = position.turn();
        let Some(m) = position.castling_move(side) else {
            let rank = color.fold_wb(Rank::First, Rank::Eighth);
            let file = if side.is_king_side() {
                File::H
            } else {
                File::A
            };
            let rook = Square::from_coords(file, rank);
            let fault = self.illegal("castling without the right");
            return Err(Stop::NoRight(rook, fault));
        };
        self.play(m)?;
        self.pieces.play(color, m);
        Ok(())
    }

    /// From, to and promotion in two bytes. Chess960 castling has from and to
    /// alike, on the square where the king ends.
    fn two_bytes(&mut self) -> Result<(), Stop> {
        let Some(word) = self.word() else {
            return Err(self.fault("the data end inside a move".to_owned()));
        };
        let (from, to) = word::squares(word);
        if from == to {
            return match to {
                Square::G1 | Square::G8 => self.castle(CastlingSide::KingSide),
                Square::C1 | Square::C8 => self.castle(CastlingSide::QueenSide),
                _ => Err(self.illegal("a move that goes nowhere").into()),
            };
        }
        self.play_squares(from, to, word::promotion(word))
    }

    /// Plays a move given by its squares; `promotion` counts only for a pawn
    /// that reaches the last rank.
    fn play_squares(&mut self, from: Square, to: Square, promotion: Role) -> Result<(), Stop> {
        let position = self.line.position();
        let Some(role) = position.board().role_at(from) else {
            return Err(self.illegal("a move from an empty square").into());
        };
        let files = from.file().distance(to.file());
        if role == Role::King && files == 2 && !self.encoding.is_chess960 {
            return self.castle(CastlingSide::from_king_side(from < to));
        }
        let promotes = role == Role::Pawn && Bitboard::BACKRANKS.contains(to);
        let promotion = promotes.then_some(promotion);
        let color = position.turn();
        let m = self.play_piece(role, from, to, promotion)?;
        self.pieces.advance(color, m);
        Ok(())
    }

    /// Plays the piece of a slot so many files and ranks on.
    #[inline]
    fn step(&mut self, slot: Slot, files: i8, ranks: i8) -> Result<(), Stop> {
        let color = self.line.position().turn();
        let Some(from) = self.pieces.square(color, slot) else {
            return Err(self.illegal("a move of a piece that is not there").into());
        };
        let wrapped = |at: u32, by: i8| at.wrapping_add_signed(i32::from(by)) & 7;
        let to = Square::from_coords(
            File::new(wrapped(from.file().to_u32(), files)),
            Rank::new(wrapped(from.rank().to_u32(), ranks)),
        );
        self.play_piece(slot.role(), from, to, None)?;
        self.pieces.relocate_slot(color, slot, to);
        Ok(())
    }

    /// Plays a move that is no castling and takes the captured piece off the
    /// list; the mover's place there is left to the caller.
    #[inline]
    fn play_piece(
        &mut self,
        role: Role,
        from: Square,
        to: Square,
        promotion: Option<Role>,
    ) -> Result<Move, Stop> {
        let position = self.line.position();
        let color = position.turn();
        let board = position.board();
        // Most moves take nothing, which one look at all pieces tells.
        let capture = if board.occupied().contains(to) {
            board.role_at(to)
        } else {
            None
        };
        let m = if role == Role::Pawn && capture.is_none() && from.file() != to.file() {
            Move::EnPassant { from, to }
        } else {
            Move::Normal {
                role,
                from,
                capture,
                to,
                promotion,
            }
        };
        self.play(m)?;
        self.pieces.take(color, m);
        Ok(m)
    }

    #[inline]
    fn play(&mut self, m: Move) -> Result<(), Stop> {
        if self.line.play(m).is_err() {
            return Err(self.illegal("an illegal move").into());
        }
        self.count = self.count.wrapping_add(1);
        Ok(())
    }

    #[cold]
    fn illegal(&self, what: &str) -> Malformed {
        let ply = self.line.at().index() + 1;
        Malformed::new(
            self.reader.position().saturating_sub(1),
            format!("{what} as ply {ply} of the stream"),
        )
    }

    #[cold]
    fn fault(&self, what: String) -> Stop {
        Stop::Fault(Malformed::new(
            self.reader.position().saturating_sub(1),
            what,
        ))
    }
}
